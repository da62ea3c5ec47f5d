// SPDX-License-Identifier: MIT OR Apache-2.0
//! `.npy` arrays: grids and weights.

use crate::{file, promise};
use stencil::io::{Output, npy};
use stencil::{Grid, with_values};

/// Reads a grid of 1, 2 or 3 axes, writes it, and reads it again, bit by bit the same.
///
/// # Panics
/// A promise is broken.
pub fn npy_grid(data: &[u8]) {
    let input = file::holding(data, ".npy");
    let mut taken = 0;
    for dims in 1..=3 {
        let grid = match npy::read_grid(input.path(), dims) {
            Ok(grid) => grid,
            Err(error) => {
                promise::of_an_error(error);
                continue;
            }
        };
        taken += 1;
        assert_eq!(grid.shape.dims(), dims);
        // A byte may become four.
        assert!(bytes(&grid).len() <= 4 * data.len(), "more values than the file has");
        let output = file::holding(&[], ".npy");
        let to = Output::new(output.path()).expect("the folder exists");
        let whole = |_| Ok(grid.values.clone());
        let staged = npy::stage(&to, grid.shape, grid.dtype(), usize::MAX, whole);
        let staged = staged.expect("the folder can be written");
        staged.publish().expect("the folder can be written");
        let again = npy::read_grid(output.path(), dims).expect("our own file");
        assert_eq!((again.shape, again.dtype()), (grid.shape, grid.dtype()));
        assert_eq!(bytes(&again), bytes(&grid));
    }
    assert!(taken <= 1, "an array with {taken} numbers of axes");
}

/// Reads weights; those of a stencil are finite, and as a grid of the same file they are the same.
///
/// # Panics
/// A promise is broken.
pub fn npy_weights(data: &[u8]) {
    let input = file::holding(data, ".npy");
    let stencil = match npy::read_weights(input.path()) {
        Ok(stencil) => stencil,
        Err(error) => return promise::of_an_error(error),
    };
    let grid = npy::read_grid(input.path(), stencil.dims()).expect("weights are an array");
    let [_, ny, nx] = grid.shape.extents();
    let mut taps = 0;
    for index in 0..grid.shape.points() {
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        let centre = grid.shape.extents().map(|extent| extent / 2);
        let offset = std::array::from_fn(|axis| at[axis] as i32 - centre[axis] as i32);
        assert_eq!(stencil.weight(offset), grid.get(index));
        taps += usize::from(grid.get(index) != 0.0);
    }
    assert_eq!(stencil.taps().len(), taps);
}

/// The values as they lie in memory, which tells not-a-numbers apart.
fn bytes(grid: &Grid) -> Vec<u8> {
    with_values!(&grid.values, values => {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    })
}
