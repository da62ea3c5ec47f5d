// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launches of sums over boxes by threads that go down strips of rows.

use cuda_driver::{AnyCall, Extents};
use kernels_gpu::filter::byte_strips::{self, BEFORE, ByteStripsLaunch, ByteSum};
use kernels_gpu::filter::numbers::F32;
use kernels_gpu::filter::strips::{self, SPAN, StripsLaunch};
use problem::Error;
use transform::Tap;

use super::super::kind::ValueType;
use super::bytes::ByteWeights;
use super::{FilterContext, FilterLaunch, Reach, reach, row_is_aligned};

/// Rows of a strip, at least: fewer are little work for a thread.
const ROWS: u32 = 8;
/// Strips of a plane, at most.
const STRIPS: u32 = 4096;
/// Registers of a multiprocessor.
const REGISTERS: u32 = 65536;
/// Blocks that a multiprocessor has at a time, at most.
const BLOCKS: u32 = 32;

/// Rows of a strip, and what a launch takes: steps of all warps that a multiprocessor has at a time, one after the other.
pub(super) struct Strip {
    pub(super) height: u32,
    pub(super) time: u64,
}

/// The largest coordinate of the array in these kernels: with the columns of a block it is one of 32 bits.
const LARGEST: usize = i32::MAX as usize - 4096;

/// Whether arrays are of f32.
pub(super) fn is_single(kinds: [ValueType; 2]) -> bool {
    kinds.iter().all(|kind| kind.number() == F32)
}

impl FilterContext<'_> {
    /// Whether threads may go down strips of the array.
    pub(super) fn has_strips(&self) -> bool {
        self.filter.step == 1 && self.filter.extents.iter().all(|extent| *extent <= LARGEST)
    }

    /// Rows of a strip: those of the launch that takes least. A strip takes as many rows more as weights do, and a multiprocessor has
    /// some blocks at a time.
    pub(super) fn strip(&self, across: u32, span: u32, [threads, registers]: [u32; 2]) -> Strip {
        let [outer, nz, ny, _] = self.filter.extents;
        let each = (outer * nz) as u64 * u64::from(across);
        let blocks = (REGISTERS / (threads * registers)).min(BLOCKS);
        let at_a_time = u64::from(self.device.multiprocessors() * blocks);
        let ny = ny as u32;
        let of = |height: u32| {
            let all = each * u64::from(ny.div_ceil(height));
            let steps = all.div_ceil(at_a_time) * u64::from(height + span - 1);
            Strip { height, time: steps * u64::from(blocks * threads) }
        };
        let most = ny.div_ceil(ROWS).min(STRIPS);
        let heights = (1..=most).map(|strips| of(ny.div_ceil(strips).max(1)));
        heights.min_by_key(|strip| strip.time).unwrap_or_else(|| of(1))
    }

    /// A sum of f32 over a box, if there is a kernel for it.
    pub(super) fn strips(
        &self,
        taps: &[Tap],
        divisor: f64,
        kinds: [ValueType; 2],
    ) -> Result<Option<FilterLaunch>, Error> {
        let [_, _, ny, nx] = self.filter.extents.map(|extent| extent as u32);
        let reach: Reach = reach(taps.iter().map(|tap| &tap.offset));
        let [z, y, x] = reach;
        // What is infinite reaches no further than weights that are not 0.
        let is_dense = taps.len() == y.1 * x.1 && taps.iter().all(|tap| tap.weight != 0.0);
        if !is_single(kinds) || !is_dense || divisor != 1.0 || !self.has_strips() || z != (0, 1) {
            return Ok(None);
        }
        let mut all = strips::SUMS.iter().copied();
        let Some((_, most, kernel)) = all.find(|(along, most, _)| *along == x.1 && y.1 <= *most)
        else {
            return Ok(None);
        };
        let mut weights = [0.0; SPAN * SPAN];
        for tap in taps {
            let [_, row, column] = tap.offset;
            let row = y.1 - 1 - (row - y.0) as usize;
            weights[row * x.1 + (column - x.0) as usize] = tap.weight as f32;
        }
        let across = nx.div_ceil(strips::COLUMNS);
        let span = y.1 as u32;
        let mut launch = StripsLaunch {
            columns: std::ptr::null(),
            rows: std::ptr::null(),
            outside: self.outside as f32,
            ny,
            nx,
            first: [y.0, x.0],
            span,
            height: self.strip(across, span, [strips::BLOCK, strips::registers(most)]).height,
            is_aligned: 0,
            weights,
        };
        let [rows, columns] = launch.tables();
        let rows = self.place(1, y, rows)?;
        let columns = self.place(2, x, columns)?;
        (launch.columns, launch.rows) = (columns.as_ptr(), rows.as_ptr());
        let blocks = self.blocks(launch.blocks())?;
        let extents = Extents { blocks, threads: strips::BLOCK, shared_bytes: 0 };
        let row_is_aligned = row_is_aligned(nx, 1);
        let launch = move |from: *const u8, to: *mut u8| {
            let mut launch = launch;
            launch.is_aligned = u32::from(row_is_aligned && (to as usize).is_multiple_of(16));
            Box::new(kernel.with((from, to, launch))) as Box<dyn AnyCall>
        };
        Ok(Some(FilterLaunch { launch: Box::new(launch), extents, tables: vec![rows, columns] }))
    }

    /// A sum of bytes with exact weights, of a shape that fits its rows and columns.
    pub(super) fn byte_strips(
        &self,
        whole: ByteWeights,
        (shape, kernel): &ByteSum,
        y: (i32, usize),
    ) -> Result<FilterLaunch, Error> {
        let [_, _, ny, nx] = self.filter.extents.map(|extent| extent as u32);
        let (shape, kernel) = (*shape, *kernel);
        let mut bytes = [0; 40];
        for (at, weight) in &whole.weights {
            let row = y.1 - 1 - (at[0] - y.0) as usize;
            bytes[4 * shape.words * row + (at[1] - shape.first()) as usize] = *weight as u8;
        }
        let mut weights = [0; 10];
        for (word, bytes) in weights.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes(bytes.try_into().expect("four bytes are a word"));
        }
        let span = y.1 as u32;
        let across = nx.div_ceil(shape.columns());
        let launch = ByteStripsLaunch {
            columns: std::ptr::null(),
            rows: std::ptr::null(),
            outside: self.outside as u32,
            ny,
            nx,
            first: y.0,
            span,
            height: self.strip(across, span, [byte_strips::BLOCK, shape.registers]).height,
            shift: whole.shift,
            below: whole.below(),
            aligned: 1,
            weights,
        };
        let [rows, columns] = launch.tables(shape);
        let rows = self.place(1, y, rows)?;
        let columns = self.place(2, (BEFORE, 2 * BEFORE.unsigned_abs() as usize + 1), columns)?;
        let launch = ByteStripsLaunch { columns: columns.as_ptr(), rows: rows.as_ptr(), ..launch };
        let blocks = self.blocks(launch.blocks(shape))?;
        let extents = Extents { blocks, threads: byte_strips::BLOCK, shared_bytes: 0 };
        let launch = move |from: *const u8, to: *mut u8| {
            let all = from as usize | to as usize | nx as usize;
            let aligned = [16, 4].into_iter().find(|bytes| all.is_multiple_of(*bytes)).unwrap_or(1);
            let launch = ByteStripsLaunch { aligned: aligned as u32, ..launch };
            Box::new(kernel.with((from, to, launch))) as Box<dyn AnyCall>
        };
        Ok(FilterLaunch { launch: Box::new(launch), extents, tables: vec![rows, columns] })
    }
}
