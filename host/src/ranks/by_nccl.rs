// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parcels go by NCCL: between processes, of one machine or several, or threads that ask for it.

use super::parcel::{Carry, Parcel};
use super::post::{Post, receive_ghosts, send_ghosts};
use crate::Error;
use crate::device::{Link, Memory, Nccl, nccl_id, nccl_version};

/// NCCL on all ranks.
pub struct ByNccl {
    nccl: Nccl,
    version: String,
}

impl ByNccl {
    /// Joins all ranks; all of them have to come here.
    ///
    /// # Errors
    /// NCCL refuses, or another rank has failed.
    pub fn new(link: Link, post: &dyn Post) -> Result<Self, Error> {
        let (rank, ranks) = (post.rank(), post.ranks());
        let id = if rank == 0 {
            let id = nccl_id()?;
            (1..ranks).try_for_each(|to| send_ghosts(post, to, id.clone()))?;
            // NCCL waits for the others to have it.
            post.flush();
            id
        } else {
            receive_ghosts(post, 0)?
        };
        let nccl = Nccl::new(link, rank, ranks, &id)?;
        Ok(Self { nccl, version: nccl_version().unwrap_or_default() })
    }

    /// Whether all ranks find NCCL; all of them have to ask.
    ///
    /// # Errors
    /// Another rank has failed.
    pub fn is_there(post: &dyn Post) -> Result<bool, Error> {
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

impl Carry for ByNccl {
    fn describe(&self) -> String {
        format!("NCCL {}", self.version)
    }

    /// Whatever is sent before was unpacked long ago, for the stream of edges waits for that of launches.
    fn send(&mut self, sends: &[Parcel], receives: &[Parcel]) -> Result<(), Error> {
        self.nccl.exchange(&listed(sends), &listed(receives))
    }

    fn receive(&mut self, _: &[Parcel], _: &[Parcel]) -> Result<usize, Error> {
        Ok(0)
    }
}

fn listed(parcels: &[Parcel]) -> Vec<(usize, &Memory, usize)> {
    parcels.iter().map(|one| (one.with, &one.memory, one.bytes)).collect()
}
