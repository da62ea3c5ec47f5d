// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transformation by itself: a stencil becomes the 2:4-sparse operand of a matrix product, whose columns are
//! 8 tiles of 2 × 8 outputs. `mma.sp` in software multiplies it, and must give the weighted sums.

use cuda_mma::emulate::mma_sp;
use cuda_mma::fragment::{self, Element::F16, N};
use cuda_mma::number::bits;
use std::array::from_fn;
use std::error::Error;
use transform::{Tap, catalogue, window};

/// Some values: multiples of 1/64, so that sums are exact.
fn u(y: i32, x: i32) -> f64 {
    f64::from((37 * y + 11 * x).rem_euclid(64)) / 64.0
}

// Not private, because the tests call it.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let stencil = catalogue::find("star2d3r").expect("a name of the catalogue");
    // A': a row for each output of a tile, a column for each input.
    let window = window::window(&stencil)?;
    // A'': its columns in an order of slots that makes it 2:4.
    let sparse = window.sparse(F16);
    for row in 0..sparse.matrix.rows() {
        let groups = sparse.matrix.row(row).chunks(4);
        assert!(groups.into_iter().all(|group| group.iter().filter(|w| **w != 0.0).count() <= 2));
    }
    // Kept values and metadata, as 32 lanes load them.
    let operand = window.encode(F16);
    println!("{}: {} slots, {} products", stencil.name(), sparse.order.len(), operand.steps);

    // B: a slot of tile n is the input of its column of A'; tiles are 8 columns apart.
    let b = |slot: usize, n: usize| {
        let input = sparse.order[slot].map(|column| window.morphed.inputs[column]);
        input.map_or(0.0, |[_, y, x]| u(y, x + 8 * n as i32))
    };
    let mut sums = [[0.0; 4]; 32];
    for step in 0..operand.steps {
        let a = from_fn(|lane| from_fn(|word| operand.word(step, word)[lane]));
        let metadata = from_fn(|lane| operand.word(step, 4)[lane]);
        let half = |lane, word, i| {
            let (row, column) = operand.mma.b(lane, word, i);
            bits(F16, b(32 * step + row, column)) << (16 * i)
        };
        let b = from_fn(|lane| from_fn(|word| half(lane, word, 0) | half(lane, word, 1)));
        sums = mma_sp::<4>(operand.mma, operand.selector, &a, &metadata, &b, &sums)?;
    }
    for (lane, sums) in sums.iter().enumerate() {
        for (word, &sum) in sums.iter().enumerate() {
            let (row, n) = fragment::c(lane, word);
            let [_, y, x] = window.morphed.outputs[row];
            let u = |tap: &Tap| u(y + tap.offset[1], x + 8 * n as i32 + tap.offset[2]);
            let exact: f64 = stencil.taps().iter().map(|tap| tap.weight * u(tap)).sum();
            assert_eq!(f64::from(sum), exact, "row {row}, tile {n}");
        }
    }
    println!("all {} outputs are the weighted sums", 16 * N);
    Ok(())
}
