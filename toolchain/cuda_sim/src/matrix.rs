// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moving 8×8 matrices of 16-bit elements. In registers, lane `4g + t` holds elements `2t` and
//! `2t + 1` of row `g`.

use crate::block::OPERANDS;
use crate::config::LANES;
use crate::fault::aligned;
use crate::lane::{collective, with};
use crate::products::is_mark;
use half::{bf16, f16};

/// `ldmatrix.x4`.
#[must_use]
#[track_caller]
pub fn load_x4(row: u32) -> [u32; 4] {
    let mut operands = [0; OPERANDS];
    operands[0] = row;
    let [a, b, c, d, ..] = collective("matrix::load_x4", operands, |block, warp, rows| {
        let mut words = [[0; 8]; LANES];
        for (source, [row, ..]) in rows.iter().enumerate() {
            aligned("the row address of an ldmatrix", (*row).into(), 16)
                .map_err(|fault| (source, fault))?;
            // Each lane reads its own piece of the row, whoever gave the address.
            for piece in 0..4 {
                let lane = source % 8 * 4 + piece;
                let thread = warp * LANES + lane;
                let event = block.event(thread);
                let at = row + 4 * piece as u32;
                let bytes = block.shared.read(at, event, &block.threads[thread].clock);
                let bytes = bytes.map_err(|fault| (source, fault))?;
                words[lane][source / 8] = u32::from_ne_bytes(bytes);
            }
        }
        Ok(words)
    });
    [a, b, c, d]
}

/// `movmatrix.trans`.
#[must_use]
#[track_caller]
pub fn transpose(word: u32) -> u32 {
    let mut operands = [0; OPERANDS];
    operands[0] = word;
    collective("matrix::transpose", operands, |_, _, words| {
        let element = |row: usize, column: usize| {
            words[4 * row + column / 2][0] >> (16 * (column % 2)) & 0xffff
        };
        let mut transposed = [[0; 8]; LANES];
        for (lane, word) in transposed.iter_mut().enumerate() {
            let (row, column) = (lane / 4, lane % 4 * 2);
            word[0] = element(column, row) | element(column + 1, row) << 16;
        }
        Ok(transposed)
    })[0]
}

/// `stmatrix.x2.trans`.
#[track_caller]
pub fn store_transposed_x2(row: u32, first: u32, second: u32) {
    with(|block, _| block.needs_sm_90("stmatrix"));
    let mut operands = [0; OPERANDS];
    operands[..3].copy_from_slice(&[row, first, second]);
    collective("matrix::store_transposed_x2", operands, |block, warp, lanes| {
        for target in 0..16 {
            let [row, ..] = lanes[target];
            aligned("the row address of an stmatrix", row.into(), 16)
                .map_err(|fault| (target, fault))?;
            let (matrix, column) = (target / 8, target % 8);
            let element = |row: usize| {
                let word = lanes[4 * row + column / 2][1 + matrix];
                (word >> (16 * (column % 2))) as u16
            };
            let bytes = std::array::from_fn::<u16, 8, _>(element);
            let thread = warp * LANES + target;
            let event = block.event(thread);
            let clock = &block.threads[thread].clock;
            let stored = block.shared.write(row, bytemuck::bytes_of(&bytes), event, clock);
            stored.map_err(|fault| (target, fault))?;
        }
        Ok([[0; 8]; LANES])
    });
}

/// `cvt.rn.f16x2.f32`.
#[must_use]
#[track_caller]
pub fn pack_f16(low: f32, high: f32) -> u32 {
    pack(low, high, |value| f16::from_f32(value).to_bits())
}

/// `cvt.rn.bf16x2.f32`.
#[must_use]
#[track_caller]
pub fn pack_bf16(low: f32, high: f32) -> u32 {
    pack(low, high, |value| bf16::from_f32(value).to_bits())
}

/// `cvt.rn.satfinite.bf16x2.f32`.
#[must_use]
#[track_caller]
pub fn pack_finite_bf16(low: f32, high: f32) -> u32 {
    let finite = |bits: u16| if bits & 0x7fff == 0x7f80 { bits - 1 } else { bits };
    pack(low, high, |value| finite(bf16::from_f32(value).to_bits()))
}

/// `prmt.b32` with selector 0x7632.
#[must_use]
pub fn upper_halves(low: u32, high: u32) -> u32 {
    low >> 16 | high & 0xffff_0000
}

/// Two rounded numbers in a word; NaN becomes the canonical one of both types.
#[track_caller]
fn pack(low: f32, high: f32, bits: impl Fn(f32) -> u16) -> u32 {
    const NAN: u16 = 0x7fff;
    if is_mark(low) || is_mark(high) {
        with(|block, thread| block.check_sums(thread, bytemuck::bytes_of(&[low, high])));
    }
    let round = |value: f32| u32::from(if value.is_nan() { NAN } else { bits(value) });
    round(low) | round(high) << 16
}
