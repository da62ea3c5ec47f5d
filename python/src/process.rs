// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads after `fork`. The library computes with the threads of rayon's global pool, which is made once in a
//! process. A copy of that process believes that the pool is there, and would wait for ever for its threads, which
//! `fork` does not copy.

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::Python;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that loaded the package.
static LOADED_BY: OnceLock<u32> = OnceLock::new();

/// The threads of a process that `fork` made, and which that is. Whoever has it locked has Python's lock, too, so that no `fork`
/// finds it locked.
static OWN: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Notes which process loads the package.
pub fn loaded() {
    LOADED_BY.get_or_init(std::process::id);
}

/// The pool for calls that end, in a copy of the process that loaded the package: made by the first of them. That process itself
/// has the global one.
pub fn pool(_: Python<'_>) -> io::Result<Option<Arc<ThreadPool>>> {
    let process = std::process::id();
    if LOADED_BY.get_or_init(std::process::id) == &process {
        return Ok(None);
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    match &*own {
        Some((of, pool)) if *of == process => return Ok(Some(Arc::clone(pool))),
        _ => {}
    }
    // Nobody would end a wait for threads of another process.
    mem::forget(own.take());
    let pool = Arc::new(made()?);
    *own = Some((process, Arc::clone(&pool)));
    Ok(Some(pool))
}

/// A pool for a computation that keeps one of its threads as long as it lives, in a copy of the process that loaded the package.
pub fn own_pool() -> io::Result<Option<ThreadPool>> {
    match LOADED_BY.get_or_init(std::process::id) == &std::process::id() {
        true => Ok(None),
        false => made().map(Some),
    }
}

fn made() -> io::Result<ThreadPool> {
    ThreadPoolBuilder::new().build().map_err(io::Error::other)
}
