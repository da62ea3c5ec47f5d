// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parcels go through this machine's memory, as messages: where devices cannot reach each other.

use super::messenger::{Messenger, receive_ghosts, send_ghosts};
use super::parcel::{Parcel, ParcelCarrier};
use crate::device::{Device, MemoryRows};
use problem::Error;
use std::rc::Rc;

/// Carries parcels as messages between ranks.
pub struct MessageCarrier {
    post: Rc<dyn Messenger>,
    /// The device, or the stream of edges, that what is sent is queued on.
    device: Rc<dyn Device>,
}

impl MessageCarrier {
    /// Of a device, or a stream of it, that what is sent is queued on.
    pub fn new(post: Rc<dyn Messenger>, device: Rc<dyn Device>) -> Self {
        Self { post, device }
    }
}

impl ParcelCarrier for MessageCarrier {
    fn describe(&self) -> String {
        "messages through this machine's memory".into()
    }

    fn send(&mut self, _: &[Parcel], _: &[Parcel]) -> Result<(), Error> {
        // While the host waits for the parcels, the launch beside them should have begun.
        Ok(())
    }

    fn receive(&mut self, sends: &[Parcel], receives: &[Parcel]) -> Result<usize, Error> {
        let device = &*self.device;
        device.wait()?;
        for Parcel { with, memory, bytes } in sends {
            let mut message = vec![0; *bytes];
            device.read(memory, MemoryRows::first(*bytes), &mut message)?;
            send_ghosts(&*self.post, *with, message)?;
        }
        for Parcel { with, memory, bytes } in receives {
            let message = receive_ghosts(&*self.post, *with)?;
            device.write(memory, MemoryRows::first(*bytes), &message)?;
        }
        Ok(0)
    }
}
