// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step: every point from its neighbours.
//!
//! A row is computed in blocks whose sums stay in vector registers over all neighbours. Products
//! and sums are separate operations, so results are the same on every machine.

use std::ops::{Add, Mul};

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use transform::Stencil;

use super::padded::{Padded, Tile};
use crate::Dtype;
use crate::grid::Element;

/// A type of stored values, and how to compute with them.
pub trait Storage: Element {
    /// The type of products and sums.
    type Sum: Element + Add<Output = Self::Sum> + Mul<Output = Self::Sum>;
    /// Columns of a tile: long enough to stream from memory, few enough that a tile, its halo and
    /// whatever is made of them stay in a core's second-level cache.
    const TILE_COLUMNS: usize;

    /// Computes one tile of the next time step.
    fn tile(sweep: &Sweep<Self>, from: &Padded<Self>, scratch: &mut Scratch, tile: Tile<Self>);
}

/// Buffers of one thread, reused from tile to tile.
#[derive(Default)]
pub struct Scratch {
    window: Vec<f32>,
    row: Vec<f32>,
}

/// A stencil, ready to be applied to grids of type `T`.
pub struct Sweep<T: Storage> {
    arch: Arch,
    taps: Vec<([i32; 3], T::Sum)>,
    radii: [usize; 3],
}

impl<T: Storage> Sweep<T> {
    /// Weights are rounded to `dtype`, whatever the type of the products.
    pub fn new(stencil: &Stencil, dtype: Dtype) -> Self {
        let stencil = dtype.round_weights(stencil);
        let taps =
            stencil.taps().iter().map(|tap| (tap.offset, T::Sum::from_f64(tap.weight))).collect();
        Self { arch: Arch::new(), taps, radii: stencil.radii() }
    }

    /// Writes the next time step.
    pub fn run(&self, from: &Padded<T>, to: &mut Padded<T>) {
        to.tiles().into_par_iter().for_each_init(Scratch::default, |scratch, tile| {
            T::tile(self, from, scratch, tile);
        });
    }

    /// Distances to the neighbours, with their weights, where rows and planes are that far apart.
    fn distances(&self, pitch: usize, plane: usize) -> Vec<(isize, T::Sum)> {
        let strides = [plane as isize, pitch as isize, 1];
        let distance = |offset: &[i32; 3]| {
            offset.iter().zip(strides).map(|(&o, stride)| o as isize * stride).sum()
        };
        self.taps.iter().map(|(offset, weight)| (distance(offset), *weight)).collect()
    }
}

macro_rules! stored_as_computed {
    ($type:ty) => {
        impl Storage for $type {
            type Sum = Self;
            const TILE_COLUMNS: usize = 4096;

            fn tile(sweep: &Sweep<Self>, from: &Padded<Self>, _: &mut Scratch, tile: Tile<Self>) {
                let taps = sweep.distances(from.pitch, from.plane);
                let start = from.index(tile.at);
                from.fetch(tile.at, tile.rows.len(), tile.rows[0].len());
                for (y, to) in tile.rows.into_iter().enumerate() {
                    let origin = start + y * from.pitch;
                    sweep.arch.dispatch(Row { taps: &taps, from: &from.values, origin, to });
                }
            }
        }
    };
}
stored_as_computed!(f32);
stored_as_computed!(f64);

macro_rules! stored_narrow {
    ($type:ty) => {
        impl Storage for $type {
            type Sum = f32;
            const TILE_COLUMNS: usize = 1024;

            /// Widens the tile and its halo once, in cache, and rounds each result once.
            fn tile(
                sweep: &Sweep<Self>,
                from: &Padded<Self>,
                scratch: &mut Scratch,
                tile: Tile<Self>,
            ) {
                let [rz, ry, rx] = sweep.radii;
                let (rows, columns) = (tile.rows.len(), tile.rows[0].len());
                let pitch = columns + 2 * rx;
                let plane = pitch * (rows + 2 * ry);
                scratch.window.resize(plane * (2 * rz + 1), 0.0);
                scratch.row.resize(columns, 0.0);
                let [z, y, x] = tile.at;
                for (index, wide) in scratch.window.chunks_exact_mut(pitch).enumerate() {
                    let (dz, dy) = (index / (rows + 2 * ry), index % (rows + 2 * ry));
                    let start = from.corner([z + dz, y + dy, x]);
                    from.values[start..start + pitch].convert_to_f32_slice(wide);
                }
                let taps = sweep.distances(pitch, plane);
                for (y, to) in tile.rows.into_iter().enumerate() {
                    let origin = rz * plane + (ry + y) * pitch + rx;
                    let (from, row) = (&scratch.window, &mut scratch.row);
                    sweep.arch.dispatch(Row { taps: &taps, from, origin, to: row });
                    to.convert_from_f32_slice(&scratch.row);
                }
            }
        }
    };
}
stored_narrow!(f16);
stored_narrow!(bf16);

/// Points whose sums are held in registers together: eight 32-byte registers of f32.
const BLOCK: usize = 64;
/// Points of a block near the end of a row.
const SMALL_BLOCK: usize = 8;

/// `to[i] = Σ weight · from[origin + i + distance]`. Compiled once for each instruction set; the
/// best one that the machine has runs.
struct Row<'a, A> {
    taps: &'a [(isize, A)],
    from: &'a [A],
    origin: usize,
    to: &'a mut [A],
}

impl<A> WithSimd for Row<'_, A>
where
    A: Element + Add<Output = A> + Mul<Output = A>,
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { taps, from, mut origin, to } = self;
        let (blocks, rest) = to.as_chunks_mut::<BLOCK>();
        for to in blocks {
            block(taps, from, origin, to);
            origin += BLOCK;
        }
        let (blocks, rest) = rest.as_chunks_mut::<SMALL_BLOCK>();
        for to in blocks {
            block(taps, from, origin, to);
            origin += SMALL_BLOCK;
        }
        for to in rest.as_chunks_mut::<1>().0 {
            block(taps, from, origin, to);
            origin += 1;
        }
    }
}

#[inline(always)]
fn block<A, const N: usize>(taps: &[(isize, A)], from: &[A], origin: usize, to: &mut [A; N])
where
    A: Element + Add<Output = A> + Mul<Output = A>,
{
    let mut sums = [A::default(); N];
    for &(distance, weight) in taps {
        let start = origin.wrapping_add_signed(distance);
        let neighbours: &[A; N] = from[start..start + N].try_into().expect("N values");
        for (sum, &neighbour) in sums.iter_mut().zip(neighbours) {
            *sum = *sum + weight * neighbour;
        }
    }
    *to = sums;
}
