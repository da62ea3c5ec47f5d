// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading and writing at places of a file, whatever others do with it.

use std::fs::File;
use std::io;

/// Fills `bytes` from a place on.
///
/// # Errors
/// The system refuses, or the file ends before.
#[cfg(unix)]
pub fn read(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Writes all of `bytes` from a place on.
///
/// # Errors
/// The system refuses.
#[cfg(unix)]
pub fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

/// Fills `bytes` from a place on.
///
/// # Errors
/// The system refuses, or the file ends before.
#[cfg(not(unix))]
pub fn read(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    use io::{Read, Seek};
    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(bytes)
}

/// Writes all of `bytes` from a place on.
///
/// # Errors
/// The system refuses.
#[cfg(not(unix))]
pub fn write(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use io::{Seek, Write};
    file.seek(io::SeekFrom::Start(at))?;
    file.write_all(bytes)
}
