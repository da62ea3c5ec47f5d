// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register-window layout of 3D stencils: how the kernels `sweep3d` of `kernels-gpu` order K.
//!
//! Each plane of the stencil (an offset along z) is a 2D window as in [`crate::window`], read by
//! halves: r + 1 steps of two input rows × 16 columns for tiles of 2 rows × 8 columns. A kernel
//! multiplies an input plane into 2r + 1 output planes, so the steps of all offsets are its operand:
//! first offset −r, then −r + 1, up to r.
//!
//! Which slots a row of A keeps depends on their columns alone: those at most r away from its output.
//! So all steps share their metadata, at the price of keeping zeros where rows are out of reach.

use crate::encode::{Encoded, encode_as};
use crate::morph::{Morphed, morph};
use crate::sparsify::Sparse24;
use crate::stencil::Stencil;
use crate::window::{CHUNK, ROWS, Reading, input_of_slot};
use cuda_mma::fragment::{Element, SparseMma};
use thiserror::Error;

/// The largest radius for which a kernel has registers.
pub const MAX_RADIUS: usize = 2;

/// Columns of a step.
const K: usize = 32;

/// A 3D stencil in the register-window layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Window3d {
    /// Radius of the kernel that runs it: that of the stencil, at least 1.
    pub radius: usize,
    /// A', before permutation.
    pub morphed: Morphed,
    /// A'' in the order of slots: 16 × 32·(2·radius + 1)·(radius + 1).
    pub sparse: Sparse24,
}

/// Why a stencil has no such layout.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoWindow3d {
    /// Not a 3D stencil.
    #[error(
        "the layout of register windows in space is for 3D stencils; this one has {0} dimensions"
    )]
    Dimensions(usize),
    /// The operand and the open sums would not fit the registers.
    #[error("register windows in space take radius 1 to {MAX_RADIUS}; this stencil has {0}")]
    Radius(usize),
}

/// Input of a slot, relative to the first output: (z, y, x).
#[must_use]
pub const fn input(radius: usize, slot: usize) -> [i32; 3] {
    let (step, slot) = (slot / K, slot % K);
    let (y, x) = input_of_slot(Reading::Halves, radius, step % (radius + 1), slot);
    [(step / (radius + 1)) as i32 - radius as i32, y, x]
}

/// Lays a stencil out for the kernels that stream along z.
///
/// # Errors
/// Stencils of other than 3 dimensions or of radius above [`MAX_RADIUS`].
///
/// # Panics
/// Never: the layout is 2:4 for every radius it takes.
pub fn window3d(stencil: &Stencil) -> Result<Window3d, NoWindow3d> {
    if stencil.dims() != 3 {
        return Err(NoWindow3d::Dimensions(stencil.dims()));
    }
    let radius = stencil.radius().max(1);
    if radius > MAX_RADIUS {
        return Err(NoWindow3d::Radius(radius));
    }
    let morphed = morph(stencil, [1, ROWS, CHUNK]);
    let column_of = |slot| morphed.inputs.iter().position(|known| *known == input(radius, slot));
    let slots = K * (radius + 1) * (2 * radius + 1);
    let sparse = Sparse24::new(&morphed.matrix, (0..slots).map(column_of).collect())
        .expect("columns 8 apart never conflict");
    Ok(Window3d { radius, morphed, sparse })
}

impl Window3d {
    /// Operand A and metadata, the same for all steps, with the weights rounded to a 16-bit type.
    ///
    /// # Panics
    /// On another type.
    #[must_use]
    pub fn encode(&self, element: Element) -> Encoded {
        let mma = SparseMma::deepest(element);
        assert_eq!(mma.k, K, "the layout is for 16-bit types");
        encode_as(&self.sparse, mma, 0, |row, slot| {
            let [_, _, x] = input(self.radius, slot);
            x.abs_diff((row % CHUNK) as i32) as usize <= self.radius
        })
    }

    /// Whether the distances along z and y of all neighbours add up to at most the radius.
    #[must_use]
    pub fn is_diamond(&self) -> bool {
        let weight = |column| (0..self.morphed.outputs.len()).map(move |row| (row, column));
        let columns = 0..self.morphed.inputs.len();
        columns.flat_map(weight).all(|(row, column)| {
            let (output, input) = (self.morphed.outputs[row], self.morphed.inputs[column]);
            let distance = |axis: usize| input[axis].abs_diff(output[axis]) as usize;
            self.morphed.matrix.at(row, column) == 0.0 || distance(0) + distance(1) <= self.radius
        })
    }

    /// `mma.sp` instructions for 128 outputs, where all neighbours have weights.
    #[must_use]
    pub fn steps(&self) -> usize {
        (self.radius + 1) * (2 * self.radius + 1)
    }
}
