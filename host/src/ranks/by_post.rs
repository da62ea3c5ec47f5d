// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parcels go through this machine's memory, as messages: where devices cannot reach each other.

use super::on_device::{Carry, Parcel};
use super::post::{Post, receive_ghosts, send_ghosts};
use crate::Error;
use crate::device::{Device, Rows};
use std::rc::Rc;

/// Parcels as messages.
pub struct ByPost(pub Rc<dyn Post>);

impl Carry for ByPost {
    fn describe(&self) -> String {
        "messages through this machine's memory".into()
    }

    fn carry(
        &mut self,
        device: &dyn Device,
        sends: &[Parcel],
        receives: &[Parcel],
    ) -> Result<usize, Error> {
        device.wait()?;
        for Parcel { with, memory, bytes } in sends {
            let mut message = vec![0; *bytes];
            device.read(memory, Rows::first(*bytes), &mut message)?;
            send_ghosts(&*self.0, *with, message)?;
        }
        for Parcel { with, memory, bytes } in receives {
            let message = receive_ghosts(&*self.0, *with)?;
            device.write(memory, Rows::first(*bytes), &message)?;
        }
        Ok(0)
    }
}
