// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library, loaded: its version, identifiers, and what its statuses mean.

use crate::api::{Api, SUCCESS};
use crate::error::Error;
use crate::id::UniqueId;
use libloading::Library;
use std::ffi::{c_char, c_int};
use std::fmt;

/// NCCL, from [`crate::load`].
pub struct Nccl {
    pub(crate) api: Api,
    /// Keeps the functions where they are.
    _library: Library,
}

impl Nccl {
    /// The functions of a library, which stays loaded.
    pub(crate) fn new(api: Api, library: Library) -> Self {
        Self { api, _library: library }
    }

    /// Its version: major, minor, patch.
    ///
    /// # Errors
    /// NCCL refuses.
    pub fn version(&self) -> Result<(u32, u32, u32), Error> {
        let mut version = 0;
        // SAFETY: `version` is writable.
        self.check("tell its version", unsafe { (self.api.ncclGetVersion)(&mut version) })?;
        Ok(parts(version.unsigned_abs()))
    }

    /// Makes an identifier for a communicator, and opens a port of this machine on which its ranks will meet:
    /// for the one rank that tells the others.
    ///
    /// # Errors
    /// NCCL refuses; it finds no network interface, for instance.
    pub fn unique_id(&self) -> Result<UniqueId, Error> {
        let mut id = UniqueId::from_bytes([0; UniqueId::BYTES]);
        // SAFETY: `id` is writable and has the size that NCCL writes.
        self.check("make an identifier", unsafe { (self.api.ncclGetUniqueId)(&mut id) })?;
        Ok(id)
    }

    /// Turns NCCL's status into a result.
    pub(crate) fn check(&self, action: impl fmt::Display, code: c_int) -> Result<(), Error> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: takes any number, and returns a static text or nothing.
        let mut reason = unsafe { text((self.api.error_string)(code)) };
        if let Some(last_error) = self.api.last_error {
            // SAFETY: takes no communicator as well, and returns a text that is never freed, or nothing.
            let last = unsafe { text(last_error(std::ptr::null_mut())) };
            let last = last.trim();
            if !last.is_empty() {
                reason = format!("{reason}: {last}");
            }
        }
        Err(Error { action: action.to_string(), code, reason })
    }
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nccl").finish_non_exhaustive()
    }
}

/// The parts of a version number, which is written otherwise up to 2.8.
fn parts(version: u32) -> (u32, u32, u32) {
    let major = if version < 10_000 { 1_000 } else { 10_000 };
    (version / major, version % major / 100, version % 100)
}

/// A text of NCCL's. It is read byte by byte, once each: another thread may be writing a new one there.
///
/// # Safety
/// `start` is null or begins a text that stays allocated and has a zero within the first `LONGEST` bytes.
unsafe fn text(start: *const c_char) -> String {
    /// The length of NCCL's buffer for its last error.
    const LONGEST: usize = 1024;
    let mut bytes = Vec::new();
    if !start.is_null() {
        for at in 0..LONGEST {
            // SAFETY: no zero came before, so this byte is of the text.
            match unsafe { start.add(at).read_volatile() } as u8 {
                0 => break,
                byte => bytes.push(byte),
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_both_ways_they_are_written() {
        assert_eq!(
            [2708, 2804, 20908, 22304, 30102].map(parts),
            [(2, 7, 8), (2, 8, 4), (2, 9, 8), (2, 23, 4), (3, 1, 2)]
        );
    }

    #[test]
    fn a_text_ends_at_its_zero() {
        // SAFETY: both are as demanded.
        let texts = unsafe { [text(c"a\xff".as_ptr()), text(std::ptr::null())] };
        assert_eq!(texts, ["a\u{fffd}", ""]);
    }
}
