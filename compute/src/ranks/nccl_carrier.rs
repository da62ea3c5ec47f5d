// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parcels go by NCCL: between processes, of one machine or several, or threads that ask for it.
//!
//! What NCCL waits for never comes from a rank that is gone or has failed. So whoever waits for work that may wait for an
//! exchange asks now and then whether all are well, and aborts NCCL if not; and no more exchanges are queued than the
//! driver takes without waiting itself.

use super::messenger::{Messenger, receive_ghosts, send_ghosts};
use super::parcel::{Parcel, ParcelCarrier};
use crate::device::{
    Device, Link, Memory, Nccl, TimedPoint, Watch, nccl_id, nccl_version, wait_until,
};
use problem::Error;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

/// Exchanges that are queued and not done, at most.
const QUEUED: usize = 2;
/// How long NCCL may know of a failure before messages or the system do.
const GRACE: Duration = Duration::from_secs(2);

/// NCCL, until a rank is known to have failed.
type SharedNccl = Rc<RefCell<Option<Nccl>>>;

/// NCCL on all ranks.
pub struct NcclCarrier {
    nccl: SharedNccl,
    watch: Watch,
    /// The ends of the last exchanges.
    queued: VecDeque<TimedPoint>,
    version: String,
}

impl NcclCarrier {
    /// Joins all ranks, all of which have to come here, and connects those that have parcels for each other. From now on the
    /// devices, on whose streams others' work is waited for, wait in vain for nobody.
    ///
    /// # Errors
    /// NCCL refuses, or another rank has failed.
    pub fn new(
        link: Link,
        post: &Rc<dyn Messenger>,
        devices: &[Rc<dyn Device>],
        sends: &[Parcel],
        receives: &[Parcel],
    ) -> Result<Self, Error> {
        let (rank, ranks) = (post.rank(), post.ranks());
        let id = if rank == 0 {
            let id = nccl_id()?;
            (1..ranks).try_for_each(|to| send_ghosts(&**post, to, id.clone()))?;
            // NCCL waits for the others to have it.
            post.flush();
            id
        } else {
            receive_ghosts(&**post, 0)?
        };
        let nccl = Rc::new(RefCell::new(Some(Nccl::new(link, rank, ranks, &id)?)));
        let watch = watch(Rc::clone(post), Rc::clone(&nccl));
        devices.iter().for_each(|device| device.watch(&watch));
        let version = nccl_version().unwrap_or_default();
        let mut all = Self { nccl, watch, queued: VecDeque::new(), version };
        // The first exchange between two ranks waits for both to have come to it: now nobody is far.
        all.send(sends, receives)?;
        Ok(all)
    }

    /// Whether all ranks find NCCL; all of them have to ask.
    ///
    /// # Errors
    /// Another rank has failed.
    pub fn is_there(post: &dyn Messenger) -> Result<bool, Error> {
        let own = [u8::from(nccl_version().is_ok())];
        if post.rank() > 0 {
            send_ghosts(post, 0, own.to_vec())?;
            return Ok(receive_ghosts(post, 0)? == [1]);
        }
        let mut all = own;
        for from in 1..post.ranks() {
            all[0] &= receive_ghosts(post, from)?[0];
        }
        (1..post.ranks()).try_for_each(|to| send_ghosts(post, to, all.to_vec()))?;
        Ok(all == [1])
    }
}

/// Looks whether all ranks and NCCL are well. If not, it aborts NCCL, so that what is queued ends: memory is given back no
/// sooner.
fn watch(post: Rc<dyn Messenger>, nccl: SharedNccl) -> Watch {
    Rc::new(move || {
        let of_nccl = || nccl.borrow().as_ref().map_or(Ok(()), Nccl::check);
        let found = post.check().and_then(|()| of_nccl().map_err(|error| reason(&*post, error)));
        if found.is_err() {
            abort(&nccl);
        }
        found
    })
}

/// Ends what is queued.
fn abort(nccl: &SharedNccl) {
    if let Some(nccl) = nccl.take() {
        // A failure matters more than what NCCL cannot give back.
        let _ = nccl.abort();
    }
}

/// Which rank NCCL failed for, if that gets known.
fn reason(post: &dyn Messenger, error: Error) -> Error {
    let start = Instant::now();
    while start.elapsed() < GRACE {
        if let Err(known) = post.check() {
            return known;
        }
        thread::sleep(GRACE / 100);
    }
    error
}

impl Drop for NcclCarrier {
    fn drop(&mut self) {
        // Of a rank that fails itself: nobody answers what it has queued.
        if !self.queued.iter().all(|end| end.is_passed().unwrap_or(false)) {
            abort(&self.nccl);
        }
    }
}

impl ParcelCarrier for NcclCarrier {
    fn describe(&self) -> String {
        format!("NCCL {}", self.version)
    }

    /// Whatever is sent before was unpacked long ago, for the stream of edges waits for that of launches.
    fn send(&mut self, sends: &[Parcel], receives: &[Parcel]) -> Result<(), Error> {
        if self.queued.len() == QUEUED
            && let Some(first) = self.queued.pop_front()
        {
            wait_until(|| first.is_passed(), &self.watch)?;
        }
        let queue = |nccl: &Nccl| {
            nccl.exchange(&listed(sends), &listed(receives))?;
            nccl.stamp()
        };
        let queued = self.nccl.borrow().as_ref().map(queue);
        match queued {
            Some(Ok(end)) => self.queued.push_back(end),
            None => (self.watch)()?,
            Some(Err(error)) => {
                let failed = (self.watch)();
                abort(&self.nccl);
                return failed.and(Err(error));
            }
        }
        Ok(())
    }

    fn receive(&mut self, _: &[Parcel], _: &[Parcel]) -> Result<usize, Error> {
        Ok(0)
    }
}

fn listed(parcels: &[Parcel]) -> Vec<(usize, &Memory, usize)> {
    parcels.iter().map(|one| (one.with, &one.memory, one.bytes)).collect()
}
