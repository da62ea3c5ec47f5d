// SPDX-License-Identifier: MIT OR Apache-2.0
//! NCCL, which carries bytes between GPUs of processes, of one machine or several.

use super::super::{Memory, failed};
use super::{Link, TimedPoint};
use cuda_nccl::{Communicator, Message, UniqueId};
use problem::Error;

/// GPUs of ranks that can reach each other by NCCL.
pub struct Nccl {
    // Ends before what its work lies on.
    communicator: Communicator,
    link: Link,
}

/// The version of NCCL that is found here.
///
/// # Errors
/// Why there is none.
pub fn nccl_version() -> Result<String, String> {
    let nccl = cuda_nccl::load().map_err(|error| error.to_string())?;
    let (major, minor, patch) = nccl.version().map_err(|error| error.to_string())?;
    Ok(format!("{major}.{minor}.{patch}"))
}

/// The bytes by which ranks find each other: rank 0 makes them, all are told.
///
/// # Errors
/// There is no NCCL, or it refuses.
pub fn nccl_id() -> Result<Vec<u8>, Error> {
    let nccl = cuda_nccl::load().map_err(failed("load NCCL"))?;
    let id = nccl.unique_id().map_err(failed("begin with NCCL"))?;
    Ok(id.to_bytes().to_vec())
}

impl Nccl {
    /// Waits until all ranks have come here with the same bytes.
    ///
    /// # Errors
    /// There is no NCCL, it refuses, or these are no such bytes.
    pub fn new(link: Link, rank: usize, ranks: usize, id: &[u8]) -> Result<Self, Error> {
        let nccl = cuda_nccl::load().map_err(failed("load NCCL"))?;
        let id = id.try_into().map_err(failed("read NCCL's identifier"))?;
        let id = UniqueId::from_bytes(id);
        let communicator = Communicator::new(nccl, rank as u32, ranks as u32, id);
        Ok(Self { communicator: communicator.map_err(failed("join by NCCL"))?, link })
    }

    /// Queues that the first bytes of memories go to ranks, and come from ranks, all at once.
    ///
    /// # Errors
    /// NCCL refuses, or another rank is gone.
    ///
    /// # Panics
    /// Where a memory has fewer bytes.
    pub fn exchange(
        &self,
        sends: &[(usize, &Memory, usize)],
        receives: &[(usize, &Memory, usize)],
    ) -> Result<(), Error> {
        let message = |&(peer, memory, bytes): &(usize, &Memory, usize)| {
            assert!(bytes <= memory.bytes(), "as many bytes");
            Message { address: memory.address(), bytes, peer: peer as u32 }
        };
        let (sends, receives): (Vec<_>, Vec<_>) =
            (sends.iter().map(message).collect(), receives.iter().map(message).collect());
        self.check()?;
        let stream = self.link.stream().as_raw().cast();
        // SAFETY: the memories hold the bytes, and the stream orders the exchange with all other work on them.
        let queued = unsafe { self.communicator.exchange(&sends, &receives, stream) };
        queued.map_err(failed("exchange points by NCCL"))
    }

    /// The end of all exchanges that are queued so far.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn stamp(&self) -> Result<TimedPoint, Error> {
        self.link.stamp()
    }

    /// That nothing has failed since it was queued, as far as NCCL knows.
    ///
    /// # Errors
    /// Something has.
    pub fn check(&self) -> Result<(), Error> {
        self.communicator.check().map_err(failed("go on with NCCL"))
    }

    /// Ends what is queued, done or not.
    ///
    /// # Errors
    /// NCCL cannot give back everything.
    pub fn abort(self) -> Result<(), Error> {
        self.communicator.abort().map_err(failed("end NCCL"))
    }
}
