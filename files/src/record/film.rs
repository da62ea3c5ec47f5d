// SPDX-License-Identifier: MIT OR Apache-2.0
//! A field that changes, as an animated PNG.
//!
//! A film says in its beginning how many pictures it has, which is not known before the end: somebody may see enough
//! early. So it grows in a file without a name, and is copied to its place with the right number. Nor is it known
//! before the end which values there are: where the colours span those of all pictures, the values wait in another file
//! without a name, and are drawn in the end.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write as _};
use std::path::Path;

use png::Writer;

use crate::io::colours::{ColourRange, NO_VALUES, PictureStyle, widest};
use crate::io::format::{encoder, ends, pixels};
use crate::io::{Output, Staged, folder};
use problem::{Dtype, Error, Grid, Shape, Values, with_dtype, with_values};

/// Pictures of a second.
const RATE: u16 = 12;
/// What is to be corrected lies behind the signature of 8 bytes and the size of the pictures, 25 bytes, and has
/// 20 bytes: a length, `acTL`, the number of pictures, of repetitions, a checksum.
const CONTROL: usize = 8 + 25;

/// A film in the making.
pub struct Film {
    look: PictureStyle,
    drawn: DrawnPictures,
    /// Pictures that are drawn when all are known, if so.
    waiting: Option<PendingPictures>,
}

/// Pictures that are drawn.
struct DrawnPictures {
    file: File,
    writer: Option<Writer<BufWriter<File>>>,
    pictures: u32,
}

/// Values of pictures that are not drawn yet, one after the other in a file.
struct PendingPictures {
    file: File,
    /// The shape and the type of each.
    kinds: Vec<(Shape, Dtype)>,
    /// The least and the largest of all.
    ends: [f64; 2],
}

impl Film {
    /// One that is to lie there and to look so, without pictures.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(place: &Path, look: PictureStyle) -> Result<Self, Error> {
        let failed = |source| Error::Write { path: place.to_owned(), source };
        let file = || tempfile::tempfile_in(folder(place)).map_err(failed);
        let drawn = DrawnPictures { file: file()?, writer: None, pictures: 0 };
        let waiting = match Self::waits(&look) {
            true => Some(PendingPictures { file: file()?, kinds: Vec::new(), ends: NO_VALUES }),
            false => None,
        };
        Ok(Self { look, drawn, waiting })
    }

    /// Whether the values of a film that looks so wait until all are known.
    #[must_use]
    pub fn waits(look: &PictureStyle) -> bool {
        look.range == ColourRange::Auto
    }

    /// Adds a picture.
    ///
    /// # Errors
    /// The system refuses.
    pub fn add(&mut self, grid: &Grid) -> io::Result<()> {
        let of_it = ends(&[&grid.values]);
        match &mut self.waiting {
            Some(waiting) => waiting.add(grid, of_it),
            None => self.drawn.add(&grid.values, grid.shape, of_it, &self.look),
        }
    }

    /// Draws what waits, when there are no more pictures.
    ///
    /// # Errors
    /// The system refuses.
    pub fn end(&mut self) -> io::Result<()> {
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        let of_all = waiting.ends;
        waiting.each(|values, shape| self.drawn.add(&values, shape, of_all, &self.look))
    }

    /// Writes one that has ended beside its place.
    ///
    /// # Errors
    /// The system refuses.
    pub fn stage(mut self, output: &Output) -> Result<Staged<'_>, Error> {
        output.stage(|to| self.drawn.copy(to))
    }
}

impl DrawnPictures {
    /// Adds a picture of values, by the least and the largest that are to have the first and the last colour.
    fn add(
        &mut self,
        values: &Values,
        shape: Shape,
        ends: [f64; 2],
        look: &PictureStyle,
    ) -> io::Result<()> {
        let pixels = pixels(&[values], look.range.of(ends, look.colours));
        if self.writer.is_none() {
            let to = BufWriter::new(self.file.try_clone()?);
            let mut encoder = encoder(to, shape, look)?;
            encoder.set_animated(u32::MAX, 0)?;
            encoder.set_frame_delay(1, RATE)?;
            self.writer = Some(encoder.write_header()?);
        }
        let Some(writer) = &mut self.writer else { unreachable!("it has just been made") };
        writer.write_image_data(&pixels)?;
        self.pictures += 1;
        Ok(())
    }

    /// Copies all pictures to their place, with their right number.
    fn copy(&mut self, to: &mut dyn io::Write) -> io::Result<()> {
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
    }
}

impl PendingPictures {
    /// Keeps the values of a picture, of which these are the least and the largest.
    fn add(&mut self, grid: &Grid, ends: [f64; 2]) -> io::Result<()> {
        with_values!(&grid.values, values => self.file.write_all(bytemuck::cast_slice(values)))?;
        self.kinds.push((grid.shape, grid.dtype()));
        self.ends = widest(self.ends, ends);
        Ok(())
    }

    /// Hands on the values of each picture, in their order.
    fn each(mut self, mut visit: impl FnMut(Values, Shape) -> io::Result<()>) -> io::Result<()> {
        self.file.rewind()?;
        for (shape, dtype) in self.kinds {
            let values = with_dtype!(dtype, T => {
                let mut values = vec![T::default(); shape.points()];
                self.file.read_exact(bytemuck::cast_slice_mut(&mut values))?;
                Values::from(values)
            });
            visit(values, shape)?;
        }
        Ok(())
    }
}
