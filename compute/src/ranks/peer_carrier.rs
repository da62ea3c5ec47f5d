// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parcels go from one GPU's memory to the other's, by copies that the giver queues: for threads of one
//! process.
//!
//! A message says no more than that a copy has been queued: the taker's stream then waits for it. Each parcel that is taken has two
//! halves, used in turns. Before a giver writes a half again it waits for the taker to have unpacked it; that the taker has
//! queued that is known from its message of the turn between.

use super::messenger::{Messenger, receive_ghosts, send_ghosts};
use super::parcel::{Parcel, ParcelCarrier};
use crate::device::{Link, RemoteMemory, RemoteSyncPoint, SyncPoint};
use problem::Error;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::rc::Rc;

/// What a taker tells a giver once.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct PeerTarget {
    halves: [RemoteMemory; 2],
    /// Where each half has been unpacked.
    unpacked: [RemoteSyncPoint; 2],
}

/// Copies between GPUs of one process.
pub struct PeerCarrier {
    /// The stream of edges.
    giving: Link,
    /// The stream of launches.
    taking: Link,
    post: Rc<dyn Messenger>,
    takers: Vec<PeerTarget>,
    /// Of all parcels of a turn that are given.
    given: [SyncPoint; 2],
    /// Of each parcel that is taken, the marks that its giver sets, one for each half.
    givers: Vec<[RemoteSyncPoint; 2]>,
    /// Of all parcels of a turn that are taken.
    unpacked: [SyncPoint; 2],
    turn: usize,
    /// Whether all copies go straight.
    direct: bool,
}

impl PeerCarrier {
    /// Makes itself known to the ranks that parcels are exchanged with.
    ///
    /// # Errors
    /// The driver refuses, or another rank has failed.
    pub fn new(
        [mut giving, taking]: [Link; 2],
        post: Rc<dyn Messenger>,
        sends: &[Parcel],
        receives: &[Parcel],
    ) -> Result<Self, Error> {
        let marks = || Ok::<_, Error>([taking.mark()?, taking.mark()?]);
        let (given, unpacked) = (marks()?, marks()?);
        let far = |marks: &[SyncPoint; 2]| marks.each_ref().map(SyncPoint::to_remote);
        for parcel in receives {
            let half = |half| taking.name(&parcel.memory, parcel.half(half), parcel.bytes);
            let taker = PeerTarget { halves: [half(0), half(1)], unpacked: far(&unpacked) };
            send_ghosts(&*post, parcel.with, write(&taker))?;
        }
        for parcel in sends {
            send_ghosts(&*post, parcel.with, write(&far(&given)))?;
        }
        let read =
            |parcel: &Parcel| read::<PeerTarget>(&receive_ghosts(&*post, parcel.with)?, parcel);
        let takers = sends.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        let read = |parcel: &Parcel| self::read(&receive_ghosts(&*post, parcel.with)?, parcel);
        let givers = receives.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        let mut direct = true;
        for taker in &takers {
            direct &= giving.reach(taker.halves[0])?;
        }
        Ok(Self { giving, taking, post, takers, given, givers, unpacked, turn: 0, direct })
    }
}

fn write(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("numbers")
}

fn read<T: DeserializeOwned>(bytes: &[u8], parcel: &Parcel) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|_| Error::Gone { rank: parcel.with })
}

impl ParcelCarrier for PeerCarrier {
    fn describe(&self) -> String {
        let how = if self.direct {
            "copies between GPUs"
        } else {
            "copies through this machine's memory"
        };
        how.into()
    }

    fn send(&mut self, sends: &[Parcel], _: &[Parcel]) -> Result<(), Error> {
        let (half, again) = (self.turn % 2, self.turn >= 2);
        for (parcel, taker) in sends.iter().zip(&self.takers) {
            if again {
                self.giving.wait_for(taker.unpacked[half])?;
            }
            self.giving.give(&parcel.memory, taker.halves[half])?;
        }
        self.giving.set(&self.given[half])?;
        sends.iter().try_for_each(|parcel| send_ghosts(&*self.post, parcel.with, Vec::new()))
    }

    fn receive(&mut self, _: &[Parcel], receives: &[Parcel]) -> Result<usize, Error> {
        let half = self.turn % 2;
        for (parcel, giver) in receives.iter().zip(&self.givers) {
            receive_ghosts(&*self.post, parcel.with)?;
            self.taking.wait_for(giver[half])?;
        }
        Ok(half)
    }

    fn unpacked(&mut self) -> Result<(), Error> {
        self.taking.set(&self.unpacked[self.turn % 2])?;
        self.turn += 1;
        Ok(())
    }
}
