// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launch of a sum of bytes over a small box with exact weights.

use cuda_driver::{AnyCall, Extents};
use devices::Memory;
use kernels_gpu::filter::byte_strips::{self, ByteSum};
use kernels_gpu::filter::bytes::{BLOCK, BytesLaunch, SPAN, SUM};
use kernels_gpu::filter::numbers::U8;
use problem::Error;
use transform::Tap;

use super::super::kind::ValueType;
use super::{FilterContext, FilterLaunch, reach};

/// Weights along y, at most.
const ROWS: usize = 32;
/// The largest power of two that sums are divided by.
const SHIFT: u32 = 20;

/// Whole numbers of eight bits, and the power of two that they are to be divided by to be weights.
pub(super) struct ByteWeights {
    /// Weights by their row and column.
    pub(super) weights: Vec<([i32; 2], i8)>,
    /// The exponent of that power.
    pub(super) shift: u32,
}

impl ByteWeights {
    /// These weights, if they are such.
    fn of(taps: &[Tap]) -> Option<Self> {
        (0..=SHIFT).find_map(|shift| {
            let whole = |tap: &Tap| {
                let weight = tap.weight * f64::from(1 << shift);
                let [_, row, column] = tap.offset;
                let fits = weight.fract() == 0.0 && weight.abs() <= f64::from(i8::MAX);
                fits.then_some(([row, column], weight as i8))
            };
            Some(Self { weights: taps.iter().map(whole).collect::<Option<_>>()?, shift })
        })
    }

    /// That power of two, less one; 0 where no sum is below 0.
    pub(super) fn below(&self) -> i32 {
        if self.weights.iter().all(|(_, weight)| *weight >= 0) { 0 } else { (1 << self.shift) - 1 }
    }

    /// Weights whose sums have their quotients in whole bytes, if there are such.
    pub(super) fn up_to_bytes(self) -> Self {
        let shift = self.shift.next_multiple_of(8);
        let larger = |(at, weight): &([i32; 2], i8)| {
            let factor = i8::try_from(1 << (shift - self.shift)).ok()?;
            Some((*at, weight.checked_mul(factor)?))
        };
        match self.weights.iter().map(larger).collect() {
            Some(weights) => Self { weights, shift },
            None => self,
        }
    }
}

impl FilterContext<'_> {
    /// A sum of bytes, if there is a kernel for it.
    pub(super) fn bytes(
        &self,
        taps: &[Tap],
        divisor: f64,
        kinds: [ValueType; 2],
    ) -> Result<Option<FilterLaunch>, Error> {
        let [_, _, ny, nx] = self.filter.extents.map(|extent| extent as u32);
        let [z, y, x] = reach(taps.iter().map(|tap| &tap.offset));
        let fits = z == (0, 1) && y.1 <= ROWS && x.1 <= SPAN as usize && self.filter.step == 1;
        let is_byte = self.outside.fract() == 0.0 && (0.0..256.0).contains(&self.outside);
        if !fits
            || !is_byte
            || divisor != 1.0
            || !nx.is_multiple_of(4)
            || kinds.iter().any(|kind| kind.number() != U8)
        {
            return Ok(None);
        }
        let Some(whole) = ByteWeights::of(taps) else { return Ok(None) };
        if let Some(shape) = strip_shape([y, x]).filter(|_| self.has_strips()) {
            return self.byte_strips(whole.up_to_bytes(), shape, y).map(Some);
        }
        let words = x.1.div_ceil(4);
        let mut bytes = vec![0; 4 * words * y.1];
        for ([row, column], weight) in &whole.weights {
            let at = (row - y.0) as usize * 4 * words + (column - x.0) as usize;
            bytes[at] = *weight as u8;
        }
        let of_words = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes are a word")));
        let weights = self.device.constants("weights", &of_words.collect::<Vec<_>>())?;
        let launch = BytesLaunch {
            columns: std::ptr::null(),
            rows: std::ptr::null(),
            weights: weights.as_ptr(),
            outside: self.outside as u32,
            ny,
            nx,
            first: [y.0, x.0],
            span: y.1 as u32,
            words: words as u32,
            shift: whole.shift,
            below: whole.below(),
            is_aligned: 0,
        };
        let [rows, columns] = launch.tables();
        let rows = self.place(1, y, rows)?;
        // Weights that fill a word up reach further than the sum does.
        let columns = self.place(2, x, columns)?;
        let launch = BytesLaunch { columns: columns.as_ptr(), rows: rows.as_ptr(), ..launch };
        let [across, down] = launch.blocks();
        let extents =
            Extents { blocks: self.blocks([across, down])?, threads: BLOCK, shared_bytes: 0 };
        let tables: Vec<Memory> = vec![rows, columns, weights];
        let launch = move |from: *const u8, to: *mut u8| {
            let is_word = |at: usize| at.is_multiple_of(4);
            let is_aligned = u32::from(is_word(from as usize) && is_word(to as usize));
            Box::new(SUM.with((from, to, BytesLaunch { is_aligned, ..launch }))) as Box<dyn AnyCall>
        };
        Ok(Some(FilterLaunch { launch: Box::new(launch), extents, tables }))
    }
}

/// The kernel of bytes for sums from where to where along y and x.
fn strip_shape([y, x]: [(i32, usize); 2]) -> Option<&'static ByteSum> {
    byte_strips::SUMS.iter().find(|(shape, _)| {
        let end = x.0 + x.1 as i32;
        y.1 <= shape.span && x.0 >= shape.first() && end <= shape.first() + shape.span as i32
    })
}
