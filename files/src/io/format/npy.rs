// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields as numpy's arrays.

use std::io::{self, Write};

use super::FileFormat;
use crate::io::colours::PictureStyle;
use crate::io::content::Content;
use crate::io::rows::SharedFields;
use crate::io::{Output, Staged, npy};
use problem::observe::{FileRegion, PartContent, PartFile};
use problem::{Dtype, Error, Region, Shape};

/// A field as a `.npy` array of its element type, of bf16 as f4.
pub struct Npy;

impl FileFormat for Npy {
    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn bytes(&self, shape: Shape, dtype: Dtype, _: usize) -> Option<u64> {
        let value = if dtype == Dtype::Bf16 { 4 } else { dtype.bytes() };
        Some(shape.points() as u64 * value as u64 + 128)
    }

    fn has_parts(&self, _: Shape, _: Dtype, _: &[Region]) -> bool {
        true
    }

    fn stage_parts<'a>(
        &self,
        output: &'a Output,
        shared: &mut SharedFields,
    ) -> Result<Staged<'a>, Error> {
        let SharedFields { shape, dtype, ref parts, ref mut by, .. } = *shared;
        output.stage_by(|file, path| {
            let failed = |source| Error::Write { path: output.path().to_owned(), source };
            let mut header = Vec::new();
            npy::write_header(&mut header, shape, dtype).map_err(failed)?;
            let rows =
                FileRegion { start: header.len() as u64, of: Region::whole(shape), wide: false };
            file.write_all(&header).map_err(failed)?;
            file.set_len(rows.start + rows.bytes(dtype)).map_err(failed)?;
            let own = |_: &Region| PartFile {
                name: output.path().to_owned(),
                path: path.to_owned(),
                what: PartContent::Rows(rows),
            };
            by.write_parts(&parts.iter().map(own).collect::<Vec<_>>()).map(drop)
        })
    }

    fn write(&self, content: &mut Content, _: &PictureStyle, to: &mut dyn Write) -> io::Result<()> {
        npy::write_header(to, content.shape, content.dtype)?;
        content.values(0, &mut |values| npy::write_values(to, values))
    }
}
