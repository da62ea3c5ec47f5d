// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes that leave a device while it goes on.

use std::ops::Deref;
use std::sync::mpsc::Sender;

use problem::Error;

/// Bytes on their way from a device. Where this is dropped, they have come, too.
pub trait Fetch {
    /// Waits for them.
    ///
    /// # Errors
    /// The device failed.
    fn wait(self: Box<Self>) -> Result<Fetched, Error>;
}

/// Bytes that have come, in memory that goes back to be used again.
pub struct Fetched {
    /// The memory; its first bytes are they.
    memory: Vec<u8>,
    count: usize,
    home: Option<Sender<Vec<u8>>>,
}

impl Fetched {
    /// The first bytes of a memory, which goes home in the end if it has one.
    pub(super) fn new(memory: Vec<u8>, count: usize, home: Option<Sender<Vec<u8>>>) -> Self {
        Self { memory, count, home }
    }
}

impl Deref for Fetched {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.count]
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            // If nobody is at home any more, the memory is freed.
            let _ = home.send(std::mem::take(&mut self.memory));
        }
    }
}

/// Bytes that are here already.
impl Fetch for Fetched {
    fn wait(self: Box<Self>) -> Result<Fetched, Error> {
        Ok(*self)
    }
}
