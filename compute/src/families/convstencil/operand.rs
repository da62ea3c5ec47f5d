// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of the ConvStencil kernels: where points go, and what they are multiplied with.

use crate::families::domain::push_real;
use kernels_gpu::convstencil::space::Planes;
use kernels_gpu::convstencil::{BlockTile, THREADS, half};
use problem::Dtype;
use transform::Stencil;
use transform::stencil2row::Stencil2row;

/// The most neighbours of a plane that is small enough for CUDA cores, in 3D: what the paper's program gives them of
/// three fused steps of the star of radius 1. The paper gives no number, only that it is smaller than others.
const MOST_ON_CORES: usize = 13;

/// The lookup table: for each point that a thread loads, also those behind the last, its places in both matrices.
#[must_use]
pub fn lookup(tile: &BlockTile) -> Vec<u32> {
    let layout = Stencil2row::new(tile.radius as usize);
    let [rows, columns] = tile.input();
    let spare = tile.pitch() - tile.used();
    let word = |point: u32| {
        // A thread's place in the padding of either matrix, whose rows follow each other.
        let thread = point % THREADS;
        let dirty = thread / spare * tile.pitch() + tile.used() + thread % spare;
        let place = |found: Option<[usize; 2]>, first: u32| match found
            .map(|at| at.map(|n| n as u32))
        {
            Some([group, column]) if group < tile.groups => first + group * tile.pitch() + column,
            _ => dirty,
        };
        if point >= rows * columns {
            return dirty | dirty << 16;
        }
        let [row, column] = [point / columns, point % columns].map(|n| n as usize);
        let [a, b] = [layout.a(row, column), layout.b(row, column)];
        place(a, 0) | place(b, tile.matrix()) << 16
    };
    (0..tile.rounds() as u32 * THREADS).map(word).collect()
}

/// Weights of matrix A and then B, step by step, of each product: those of 32 lanes.
#[must_use]
pub fn weights(stencil: &Stencil, radius: u32, planes: &[i32]) -> Vec<u32> {
    let layout = Stencil2row::new(radius as usize);
    let products: Vec<_> = planes.iter().map(|dz| layout.weights(stencil, *dz)).collect();
    let mut words = Vec::new();
    for matrix in 0..2 {
        for step in 0..products[0][matrix].rows() / 4 {
            for product in &products {
                for lane in 0..32 {
                    let weight = product[matrix].at(4 * step + lane % 4, lane / 4);
                    push_real(&mut words, Dtype::F64, weight);
                }
            }
        }
    }
    words
}

/// What multiplies the planes of a 3D stencil.
#[must_use]
pub fn planes(stencil: &Stencil) -> Planes {
    let reach = stencil.radii()[0] as i32;
    let count = |dz: i32| stencil.taps().iter().filter(|tap| tap.offset[0] == dz).count();
    let mut others = (-reach..=reach).filter(|dz| *dz != 0);
    let mirrored = |[z, y, x]: [i32; 3]| stencil.weight([-z, y, x]);
    if others.all(|dz| count(dz) <= MOST_ON_CORES && count(dz) < count(0)) {
        Planes::Cores
    } else if stencil.taps().iter().all(|tap| tap.weight == mirrored(tap.offset)) {
        Planes::Symmetric
    } else {
        Planes::Products
    }
}

/// The planes dz whose weights an input plane is multiplied with, in the order of the kernel's products.
#[must_use]
pub fn planes_of_products(planes: Planes, radius: u32) -> Vec<i32> {
    let reach = radius as i32;
    match planes {
        Planes::Products => (-reach..=reach).rev().collect(),
        Planes::Symmetric => (0..=reach).collect(),
        Planes::Cores => vec![0],
    }
}

/// The table for CUDA cores, and where in it the neighbours of each plane end, from dz = r on down.
#[must_use]
pub fn taps(stencil: &Stencil, planes: Planes, radius: u32) -> (Vec<u32>, [u32; 7]) {
    let (mut words, mut ends, mut count) = (Vec::new(), [0; 7], 0);
    let reach = radius as i32;
    for (end, dz) in ends.iter_mut().zip((-reach..=reach).rev()) {
        let wanted = planes == Planes::Cores && dz != 0;
        for tap in stencil.taps().iter().filter(|tap| wanted && tap.offset[0] == dz) {
            let [_, row, column] = tap.offset.map(|offset| (offset + reach) as u32);
            words.extend([row * half(radius) * 8, column]);
            push_real(&mut words, Dtype::F64, tap.weight);
            count += 1;
        }
        *end = count;
    }
    (words, ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels_gpu::convstencil::{line, outputs, plane, space, steps};
    use std::collections::BTreeMap;
    use transform::catalogue;

    fn tiles() -> Vec<BlockTile> {
        let of_1d = (1..=4).map(line::tile);
        of_1d.chain((1..=3).flat_map(|radius| [plane::tile(radius), space::tile(radius)])).collect()
    }

    #[test]
    fn the_kernels_have_the_layout_of_the_transformation() {
        for tile in tiles() {
            let layout = Stencil2row::new(tile.radius as usize);
            assert_eq!(outputs(tile.radius) as usize, layout.outputs());
            assert_eq!(half(tile.radius) as usize, layout.half());
            let name = format!("box{}d{}r", if tile.kernel_rows == 1 { 1 } else { 2 }, tile.radius);
            let [a, b] = layout.weights(&catalogue::find(&name).unwrap(), 0);
            let rows = 4 * steps(tile.radius, tile.kernel_rows);
            assert_eq!([a.rows(), b.rows()], [rows; 2], "{name}");
        }
    }

    /// Figure 5, but for the padding, which has room for every thread.
    #[test]
    fn radius_3_has_the_rows_of_the_paper() {
        let tile = plane::tile(3);
        assert_eq!((tile.rows, tile.columns(), tile.used()), (32, 64, 266));
        assert_eq!(line::tile(3).columns(), 1024);
        assert_eq!((space::tile(3).rows, space::tile(3).columns()), (8, 64));
    }

    /// Every place that is read is written once, and no two threads write one; half a warp meets no bank twice.
    #[test]
    fn points_fill_the_matrices_and_what_is_dirty_the_padding() {
        for tile in tiles() {
            let mut writers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (point, word) in (0..).zip(lookup(&tile)) {
                for place in [word & 0xffff, word >> 16] {
                    writers.entry(place).or_default().push(point % THREADS);
                }
            }
            for place in 0..2 * tile.matrix() {
                let by = writers.remove(&place).unwrap_or_default();
                let padding = place % tile.pitch() >= tile.used();
                let ok = if padding { by.iter().all(|one| *one == by[0]) } else { by.len() == 1 };
                assert!(ok, "{tile:?}: {place} by threads {by:?}");
            }
            assert!(writers.is_empty(), "{tile:?}: outside of the matrices");
            let mut banks: Vec<u32> =
                (0..16).map(|lane| (lane / 4 * tile.pitch() + lane % 4) % 16).collect();
            banks.sort_unstable();
            assert_eq!(banks, (0..16).collect::<Vec<u32>>(), "{tile:?}");
        }
    }

    #[test]
    fn planes_of_few_neighbours_are_for_cuda_cores() {
        let kind = |name: &str, steps| {
            let stencil = catalogue::find(name).unwrap();
            planes(&transform::fuse::fuse(&stencil, steps).unwrap())
        };
        assert_eq!(kind("star3d1r", 1), Planes::Cores);
        // Of 1, 5, 13, 25, 13, 5 and 1 neighbours.
        assert_eq!(kind("star3d1r", 3), Planes::Cores);
        // Of as many as the middle one.
        assert_eq!(kind("box3d1r", 1), Planes::Symmetric);
        assert_eq!(kind("box3d1r", 3), Planes::Symmetric);
    }
}
