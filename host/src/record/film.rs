// SPDX-License-Identifier: MIT OR Apache-2.0
//! A field that changes, as an animated PNG.
//!
//! A film says in its beginning how many pictures it has, which nobody knows before the end: somebody may see enough
//! early. So it grows in a file without a name, and is copied to its place with the right number.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek};
use std::path::Path;

use png::Writer;

use super::recording::Recording;
use crate::Error;
use crate::io::format::{draw, encoder};
use crate::io::{Content, Output, Staged, folder};

/// Pictures of a second.
const RATE: u16 = 12;
/// What is to be corrected lies behind the signature of 8 bytes and the size of the pictures, 25 bytes, and has
/// 20 bytes: a length, `acTL`, the number of pictures, of repetitions, a checksum.
const CONTROL: usize = 8 + 25;

/// A film in the making.
pub struct Film {
    file: File,
    writer: Option<Writer<BufWriter<File>>>,
    pictures: u32,
}

impl Film {
    /// One that is to lie there, without pictures.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(place: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write { path: place.to_owned(), source };
        let file = tempfile::tempfile_in(folder(place)).map_err(failed)?;
        Ok(Self { file, writer: None, pictures: 0 })
    }

    /// Adds a picture of a field, given by its place in the content.
    ///
    /// # Errors
    /// The system refuses, or those of the content.
    pub fn add(
        &mut self,
        recording: &Recording,
        content: &mut Content,
        field: usize,
    ) -> io::Result<()> {
        let look = recording.look();
        let pixels = draw(content, field, &look)?;
        if self.writer.is_none() {
            let to = BufWriter::new(self.file.try_clone()?);
            let mut encoder = encoder(to, content.shape, &look)?;
            encoder.set_animated(u32::MAX, 0)?;
            encoder.set_frame_delay(1, RATE)?;
            self.writer = Some(encoder.write_header()?);
        }
        let Some(writer) = &mut self.writer else { unreachable!("it has just been made") };
        writer.write_image_data(&pixels)?;
        self.pictures += 1;
        Ok(())
    }

    /// Writes it beside its place.
    ///
    /// # Errors
    /// The system refuses.
    pub fn stage(mut self, output: &Output) -> Result<Staged<'_>, Error> {
        output.stage(|to| {
            if let Some(writer) = self.writer.take() {
                writer.finish()?;
            }
            self.file.rewind()?;
            let mut start = [0; CONTROL + 20];
            self.file.read_exact(&mut start)?;
            let control = &mut start[CONTROL..];
            control[8..12].copy_from_slice(&self.pictures.to_be_bytes());
            let checksum = crc32fast::hash(&control[4..16]);
            control[16..].copy_from_slice(&checksum.to_be_bytes());
            to.write_all(&start)?;
            io::copy(&mut self.file, to)?;
            Ok(())
        })
    }
}
