// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the ranks of a communicator find each other by.

use std::fmt;

/// Names a communicator that is to be. [`crate::Nccl::unique_id`] makes one, on one rank; every rank needs the same
/// bytes. It serves for one communicator.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct UniqueId([u8; Self::BYTES]);

impl UniqueId {
    /// How many bytes it has.
    pub const BYTES: usize = 128;

    /// From the bytes that another rank sent.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes to send to the other ranks.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }
}

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UniqueId").finish_non_exhaustive()
    }
}
