// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads after `fork`. The library computes with the threads of rayon's global pool, which is made once in a
//! process. A copy of that process believes that the pool is there, and would wait for ever for its threads, which
//! `fork` does not copy.

use std::io;
use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that loaded the package.
static LOADED_BY: OnceLock<u32> = OnceLock::new();

/// Notes which process loads the package.
pub fn loaded() {
    LOADED_BY.get_or_init(std::process::id);
}

/// A pool for one computation, in a copy of the process that loaded the package. That process itself has the global
/// one.
pub fn pool() -> io::Result<Option<ThreadPool>> {
    if LOADED_BY.get_or_init(std::process::id) == &std::process::id() {
        return Ok(None);
    }
    ThreadPoolBuilder::new().build().map(Some).map_err(io::Error::other)
}
