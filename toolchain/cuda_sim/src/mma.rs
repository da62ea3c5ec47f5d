// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse matrix multiply-accumulate, as [`cuda_mma::emulate`] defines it.

use crate::block::{Operands, Results};
use crate::config::LANES;
use crate::fault::FaultKind;
use crate::lane::collective;
use cuda_mma::emulate::mma_sp;
use cuda_mma::fragment::{Element, SparseMma};
use std::array;

/// `mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32`, selector 0.
#[must_use]
#[track_caller]
pub fn sp_m16n8k32_f16_f32(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4] {
    sums(collective("mma::sp_m16n8k32_f16_f32", pack(a, metadata, b, c), |_, _, words| {
        multiply(Element::F16, words)
    }))
}

/// `mma.sp::ordered_metadata.m16n8k32.f32.bf16.bf16.f32`, selector 0.
#[must_use]
#[track_caller]
pub fn sp_m16n8k32_bf16_f32(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4] {
    sums(collective("mma::sp_m16n8k32_bf16_f32", pack(a, metadata, b, c), |_, _, words| {
        multiply(Element::Bf16, words)
    }))
}

/// `mma.sp::ordered_metadata.m16n8k16.f32.tf32.tf32.f32`, selector 0.
#[must_use]
#[track_caller]
pub fn sp_m16n8k16_tf32_f32(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> [f32; 4] {
    sums(collective("mma::sp_m16n8k16_tf32_f32", pack(a, metadata, b, c), |_, _, words| {
        multiply(Element::Tf32, words)
    }))
}

/// One lane's operands.
fn pack(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> Operands {
    let mut operands = [0; 16];
    operands[..4].copy_from_slice(&a);
    operands[4..8].copy_from_slice(&b);
    operands[8..12].copy_from_slice(&c.map(f32::to_bits));
    operands[12] = metadata;
    operands
}

/// One lane's D.
fn sums([d0, d1, d2, d3, ..]: Results) -> [f32; 4] {
    [d0, d1, d2, d3].map(f32::from_bits)
}

/// The deepest shape of a type, selector 0, with the operands that [`pack`] packed.
fn multiply(
    element: Element,
    words: &[Operands; LANES],
) -> Result<[Results; LANES], (usize, FaultKind)> {
    let four = |first: usize| words.map(|words| array::from_fn(|i| words[first + i]));
    let c = four(8).map(|c: [u32; 4]| c.map(f32::from_bits));
    let metadata = words.map(|words| words[12]);
    let d = mma_sp::<4>(SparseMma::deepest(element), 0, &four(0), &metadata, &four(4), &c);
    // Row g's metadata is in the lanes of group g % 8.
    let d =
        d.map_err(|unordered| (unordered.row % 8 * 4 + unordered.group / 4, unordered.into()))?;
    let mut results = [[0; 8]; LANES];
    for (results, d) in results.iter_mut().zip(d) {
        results[..4].copy_from_slice(&d.map(f32::to_bits));
    }
    Ok(results)
}
