// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tensor maps: arrays in global memory from which TMA copies boxes.

pub use cuda_mma::warpgroup::Swizzle;
use std::ops::Range;
use thiserror::Error;

/// An array of up to five dimensions, innermost first, and the box of one TMA copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// First element.
    pub address: *const u8,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Elements along each dimension.
    pub dims: Vec<u64>,
    /// Bytes from one index to the next, for each dimension but the innermost.
    pub strides: Vec<u64>,
    /// Elements of the box along each dimension.
    pub box_dims: Vec<u32>,
    /// How pieces of the box's rows change places in shared memory.
    pub swizzle: Swizzle,
}

/// Why a tensor map cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TensorMapError {
    /// The array is not inside one buffer.
    #[error("tensor map: the array is not inside one buffer of this memory")]
    NoBuffer,
    /// A number of dimensions that does not fit.
    #[error("tensor map: 1 to 5 dimensions, as many in the box, one stride less")]
    Dimensions,
    /// A value breaks a rule of the hardware.
    #[error("tensor map: {what} is {value}, but must be {rule}")]
    Invalid {
        /// The value's meaning.
        what: &'static str,
        /// The value.
        value: u64,
        /// What the hardware asks for.
        rule: &'static str,
    },
}

/// A run of bytes of a box: in the box, and its source, or zeros.
pub(crate) struct ByteRun {
    pub bytes: Range<usize>,
    pub source: Option<usize>,
}

impl TensorMap {
    /// Bytes from the first element to the end of the last.
    pub(crate) fn bytes(&self) -> usize {
        let inner = self.dims.first().copied().unwrap_or(0) * u64::from(self.element_bytes);
        let outer = self.dims.iter().skip(1).zip(&self.strides);
        let offset: u64 = outer.map(|(&dim, stride)| dim.saturating_sub(1) * stride).sum();
        (offset + inner) as usize
    }

    /// Bytes of a box.
    pub(crate) fn box_bytes(&self) -> u32 {
        self.box_dims.iter().product::<u32>() * self.element_bytes
    }

    /// Checks the rules that the hardware has.
    pub(crate) fn validate(&self) -> Result<(), TensorMapError> {
        let rank = self.dims.len();
        if !(1..=5).contains(&rank) || self.box_dims.len() != rank || self.strides.len() != rank - 1
        {
            return Err(TensorMapError::Dimensions);
        }
        let fail = |what, value, rule| Err(TensorMapError::Invalid { what, value, rule });
        let address = self.address as u64;
        if !address.is_multiple_of(16) {
            return fail("the array's address", address, "a multiple of 16");
        }
        if let Some(&dim) = self.dims.iter().find(|dim| !(1..=1 << 32).contains(*dim)) {
            return fail("a dimension", dim, "1 to 2^32");
        }
        let fits = |stride: &u64| stride.is_multiple_of(16) && *stride < 1 << 40;
        if let Some(&stride) = self.strides.iter().find(|stride| !fits(stride)) {
            return fail("a stride in bytes", stride, "a multiple of 16 below 2^40");
        }
        if let Some(&dim) = self.box_dims.iter().find(|dim| !(1..=256).contains(*dim)) {
            return fail("a dimension of the box", dim.into(), "1 to 256");
        }
        let inner = self.box_dims[0] * self.element_bytes;
        if !inner.is_multiple_of(16) {
            return fail("the box's inner dimension in bytes", inner.into(), "a multiple of 16");
        }
        if self.swizzle != Swizzle::None && inner != self.swizzle.row_bytes() {
            return fail("the box's inner dimension in bytes", inner.into(), "a swizzled row");
        }
        Ok(())
    }

    /// The box at these coordinates, run by run; what is outside of the array has no source.
    pub(crate) fn runs(&self, at: &[i32]) -> Vec<ByteRun> {
        let element = self.element_bytes as usize;
        let width = self.box_dims[0] as usize;
        let rows: u32 = self.box_dims[1..].iter().product();
        // The columns of the box that are in the array.
        let column = i64::from(at[0]);
        let clip =
            |x: i64| (x.clamp(0, self.dims[0] as i64) - column).clamp(0, width as i64) as usize;
        let inside = clip(column)..clip(column + width as i64);
        let mut runs = Vec::new();
        for row in 0..rows {
            let mut rest = row;
            let mut source = Some(self.address as usize);
            for (dimension, &stride) in self.strides.iter().enumerate() {
                let size = self.box_dims[dimension + 1];
                let index = i64::from(at[dimension + 1]) + i64::from(rest % size);
                rest /= size;
                let exists = (0..self.dims[dimension + 1] as i64).contains(&index);
                source = source.filter(|_| exists).map(|at| at + index as usize * stride as usize);
            }
            let start = row as usize * width;
            let mut run = |columns: Range<usize>, source| {
                let bytes = (start + columns.start) * element..(start + columns.end) * element;
                if !bytes.is_empty() {
                    runs.push(ByteRun { bytes, source });
                }
            };
            match source {
                Some(row) if !inside.is_empty() => {
                    let first = column + inside.start as i64;
                    run(0..inside.start, None);
                    run(inside.clone(), Some(row + first as usize * element));
                    run(inside.end..width, None);
                }
                _ => run(0..width, None),
            }
        }
        runs
    }
}

/// The pieces of a box that goes to an address, each where the swizzle has it.
pub(crate) fn swizzled(runs: Vec<ByteRun>, to: u32, swizzle: Swizzle) -> Vec<ByteRun> {
    if swizzle == Swizzle::None {
        return runs;
    }
    let mut pieces = Vec::new();
    for ByteRun { bytes, source } in runs {
        let mut at = bytes.start;
        while at < bytes.end {
            let end = bytes.end.min((at / 16 + 1) * 16);
            let start = (swizzle.apply(to + at as u32) - to) as usize;
            let source = source.map(|source| source + at - bytes.start);
            pieces.push(ByteRun { bytes: start..start + end - at, source });
            at = end;
        }
    }
    pieces
}
