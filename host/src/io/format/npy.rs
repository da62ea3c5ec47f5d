// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields as numpy's arrays.

use std::io::{self, Write};

use super::Format;
use crate::io::colours::Look;
use crate::io::content::Content;
use crate::io::npy;
use crate::{Dtype, Shape};

/// A field as a `.npy` array of its element type, of bf16 as f4.
pub struct Npy;

impl Format for Npy {
    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn bytes(&self, shape: Shape, dtype: Dtype, _: usize) -> Option<u64> {
        let value = if dtype == Dtype::Bf16 { 4 } else { dtype.bytes() };
        Some(shape.points() as u64 * value as u64 + 128)
    }

    fn write(&self, content: &mut Content, _: &Look, to: &mut dyn Write) -> io::Result<()> {
        npy::write_header(to, content.shape, content.dtype)?;
        content.values(0, &mut |values| npy::write_values(to, values))
    }
}
