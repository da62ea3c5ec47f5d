// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that holds the bytes of the moment, for readers that take a path.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use tempfile::NamedTempFile;

/// A temporary file with these bytes and this extension; gone when it is dropped.
pub fn holding(data: &[u8], extension: &str) -> NamedTempFile {
    // In memory where there is such a folder: targets run thousands of times a second.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let mut file = tempfile::Builder::new()
        .suffix(extension)
        .tempfile_in(folder)
        .expect("a temporary folder can be written");
    file.write_all(data).expect("a temporary file can be written");
    file.seek(SeekFrom::Start(0)).expect("a file can be read from its start");
    file
}
