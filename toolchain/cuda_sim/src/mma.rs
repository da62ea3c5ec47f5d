// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrix multiply-accumulate, sparse and dense, as [`cuda_mma::emulate`] defines it.

use crate::block::{LaneOperands, LaneResults, OPERANDS};
use crate::config::LANES;
use crate::fault::FaultKind;
use crate::lane::{collective, with};
use cuda_mma::dense::{DenseMma, Factor};
use cuda_mma::emulate::{dense, mma_sp};
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

/// `mma.m16n8k16.f32.f16.f16.f32`.
#[must_use]
#[track_caller]
pub fn m16n8k16_f16_f32(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    sums(collective("mma::m16n8k16_f16_f32", pack_dense(a, b, c), |_, _, words| {
        Ok(multiply_dense(DenseMma { m: 16, k: 16, factor: Factor::F16 }, words))
    }))
}

/// `mma.m16n8k16.f32.bf16.bf16.f32`.
#[must_use]
#[track_caller]
pub fn m16n8k16_bf16_f32(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    sums(collective("mma::m16n8k16_bf16_f32", pack_dense(a, b, c), |_, _, words| {
        Ok(multiply_dense(DenseMma { m: 16, k: 16, factor: Factor::Bf16 }, words))
    }))
}

/// `mma.m16n8k8.f32.tf32.tf32.f32`.
#[must_use]
#[track_caller]
pub fn m16n8k8_tf32_f32(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    sums(collective("mma::m16n8k8_tf32_f32", pack_dense(a, b, c), |_, _, words| {
        Ok(multiply_dense(DenseMma { m: 16, k: 8, factor: Factor::Tf32 }, words))
    }))
}

/// `mma.m16n8k16.f64.f64.f64.f64`.
#[must_use]
#[track_caller]
pub fn m16n8k16_f64(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
    with(|block, _| block.needs_sm_90("mma.m16n8k16 of f64"));
    let operands = pack_f64(&a, &b, &c);
    numbers(collective("mma::m16n8k16_f64", operands, |_, _, words| {
        Ok(multiply_f64::<8, 4, 4>(DenseMma { m: 16, k: 16, factor: Factor::F64 }, words))
    }))
}

/// `mma.m8n8k4.f64.f64.f64.f64`.
#[must_use]
#[track_caller]
pub fn m8n8k4_f64(a: f64, b: f64, c: [f64; 2]) -> [f64; 2] {
    let operands = pack_f64(&[a], &[b], &c);
    numbers(collective("mma::m8n8k4_f64", operands, |_, _, words| {
        Ok(multiply_f64::<1, 1, 2>(DenseMma { m: 8, k: 4, factor: Factor::F64 }, words))
    }))
}

/// One lane's operands.
fn pack(a: [u32; 4], metadata: u32, b: [u32; 4], c: [f32; 4]) -> LaneOperands {
    let mut operands = [0; OPERANDS];
    operands[..4].copy_from_slice(&a);
    operands[4..8].copy_from_slice(&b);
    operands[8..12].copy_from_slice(&c.map(f32::to_bits));
    operands[12] = metadata;
    operands
}

/// One lane's D.
fn sums([d0, d1, d2, d3, ..]: LaneResults) -> [f32; 4] {
    [d0, d1, d2, d3].map(f32::from_bits)
}

/// The deepest shape of a type, selector 0, with the operands that [`pack`] packed.
fn multiply(
    element: Element,
    words: &[LaneOperands; LANES],
) -> Result<[LaneResults; LANES], (usize, FaultKind)> {
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

/// One lane's operands of a dense product.
fn pack_dense(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> LaneOperands {
    let [b0, b1] = b;
    pack(a, 0, [b0, b1, 0, 0], c)
}

/// A dense product of the operands that [`pack_dense`] packed.
fn multiply_dense(mma: DenseMma, words: &[LaneOperands; LANES]) -> [LaneResults; LANES] {
    let a = words.map(|words| array::from_fn(|i| words[i]));
    let b = words.map(|words| array::from_fn(|i| words[4 + i]));
    let c = words.map(|words| array::from_fn(|i| f32::from_bits(words[8 + i])));
    let mut results = [[0; 8]; LANES];
    for (results, d) in results.iter_mut().zip(dense::mma::<4, 2>(mma, &a, &b, &c)) {
        results[..4].copy_from_slice(&d.map(f32::to_bits));
    }
    results
}

/// One lane's operands of a product of f64, each number in two words, the lower one first.
fn pack_f64(a: &[f64], b: &[f64], c: &[f64]) -> LaneOperands {
    let mut operands = [0; OPERANDS];
    let numbers = a.iter().chain(b).chain(c);
    for (words, number) in operands.chunks_exact_mut(2).zip(numbers) {
        words.copy_from_slice(&split(*number));
    }
    operands
}

/// The words of a number, the lower one first.
fn split(number: f64) -> [u32; 2] {
    let bits = number.to_bits();
    [bits as u32, (bits >> 32) as u32]
}

/// The number in words `2 * index` and after it.
fn number(words: &[u32], index: usize) -> f64 {
    f64::from_bits(u64::from(words[2 * index + 1]) << 32 | u64::from(words[2 * index]))
}

/// One lane's D of a product of f64.
fn numbers<const C: usize>(results: LaneResults) -> [f64; C] {
    array::from_fn(|i| number(&results, i))
}

/// A product of the operands that [`pack_f64`] packed.
fn multiply_f64<const A: usize, const B: usize, const C: usize>(
    mma: DenseMma,
    words: &[LaneOperands; LANES],
) -> [LaneResults; LANES] {
    let a = words.map(|words| array::from_fn(|i| number(&words, i)));
    let b = words.map(|words| array::from_fn(|i| number(&words, A + i)));
    let c = words.map(|words| array::from_fn(|i| number(&words, A + B + i)));
    let mut results = [[0; 8]; LANES];
    for (results, d) in results.iter_mut().zip(dense::mma_f64::<A, B, C>(mma, &a, &b, &c)) {
        for (words, number) in results.chunks_exact_mut(2).zip(d) {
            words.copy_from_slice(&split(number));
        }
    }
    results
}
