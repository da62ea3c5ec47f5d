// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register-window layout: how the kernels `sweep2d` of `kernels-gpu` order K.
//!
//! A tile is 2 rows × 8 columns of outputs (r1 = 8 along x, r2 = 2 along y: 16 rows of A). Each step
//! of the product takes two input rows of two chunks of 8 columns, starting [`SHIFT`] columns left
//! of the outputs. K is ordered so that a lane's B fragment is one chunk: slot `k = 8j + 2t + e` is
//! input row `t / 2` of the step, column `8·(t mod 2) + 2j' + e`. Where a lane reads its chunk whole,
//! `j' = j`. Where it reads halves, `j' = j xor 2` in the second row of the pair: its lanes load the
//! two halves in the other order, so that no two lanes of an 8-byte load meet in a bank.
//!
//! This is strided swapping (SPIDER §3.1) at no cost: a group of four slots holds columns c, c + 1,
//! c + 8 and c + 9 of one row, and a row of A has nonzeros in at most 2r + 1 ≤ 8 neighbouring
//! columns, so c and c + 8 are never both among them: always 2:4.

use crate::encode::{Encoded, encode_f16};
use crate::fragment::M16N8K32;
use crate::morph::{Morphed, morph};
use crate::sparsify::Sparse24;
use crate::stencil::Stencil;
use thiserror::Error;

/// Outputs of a tile along x: one 16-byte chunk of f16.
pub const CHUNK: usize = 8;

/// Outputs of a tile along y.
pub const ROWS: usize = 2;

/// Columns between the window's start and the first output.
pub const SHIFT: usize = CHUNK / 2;

/// The largest radius whose window fits two chunks.
pub const MAX_RADIUS: usize = 3;

/// A stencil in the register-window layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Radius of the kernel that runs it: that of the stencil, at least 1.
    pub radius: usize,
    /// A', before permutation.
    pub morphed: Morphed,
    /// A'' in the slot order of [`Reading::Halves`]: 16 × 32·(radius + 1).
    pub sparse: Sparse24,
}

/// Why a stencil has no register-window layout.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoWindow {
    /// Not a 2D stencil.
    #[error("the register-window layout is for 2D stencils; this one has {0} dimensions")]
    Dimensions(usize),
    /// The window would be wider than two chunks.
    #[error("the register-window layout takes radius 1 to {MAX_RADIUS}; this stencil has {0}")]
    Radius(usize),
}

/// How a lane reads its chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// By two 8-byte loads, because windows start in the middle of a chunk of memory; in the second
    /// row of a pair the upper half first.
    Halves,
    /// By one 16-byte load.
    Whole,
}

/// Input of a slot of one step, relative to the first output: (y, x).
#[must_use]
pub const fn input_of_slot(
    reading: Reading,
    radius: usize,
    step: usize,
    slot: usize,
) -> (i32, i32) {
    let (j, t, e) = (slot / 8, slot % 8 / 2, slot % 2);
    let j = match reading {
        Reading::Halves => j ^ (t / 2 * 2),
        Reading::Whole => j,
    };
    let row = ROWS * step + t / 2;
    let column = CHUNK * (t % 2) + 2 * j + e;
    (row as i32 - radius as i32, column as i32 - SHIFT as i32)
}

/// Lays a stencil out for the register-window kernels.
///
/// # Errors
/// Stencils of other than 2 dimensions or of radius above [`MAX_RADIUS`].
///
/// # Panics
/// Never: the layout is 2:4 for every radius it takes.
pub fn window(stencil: &Stencil) -> Result<Window, NoWindow> {
    if stencil.dims() != 2 {
        return Err(NoWindow::Dimensions(stencil.dims()));
    }
    let radius = stencil.radius().max(1);
    if radius > MAX_RADIUS {
        return Err(NoWindow::Radius(radius));
    }
    let morphed = morph(stencil, [1, ROWS, CHUNK]);
    let sparse = arrange(&morphed, radius, Reading::Halves);
    Ok(Window { radius, morphed, sparse })
}

/// The columns of A' in slot order.
fn arrange(morphed: &Morphed, radius: usize, reading: Reading) -> Sparse24 {
    let column_of = |slot: usize| {
        let (y, x) = input_of_slot(reading, radius, slot / M16N8K32.k, slot % M16N8K32.k);
        morphed.inputs.iter().position(|input| *input == [0, y, x])
    };
    let order = (0..M16N8K32.k * (radius + 1)).map(column_of).collect();
    Sparse24::new(&morphed.matrix, order).expect("columns 8 apart never conflict")
}

impl Window {
    /// Operand A and metadata for windows that are read by halves, with the weights rounded to f16.
    #[must_use]
    pub fn encode_f16(&self) -> Encoded {
        encode_f16(&self.sparse)
    }

    /// Operand A and metadata for windows that are read whole.
    #[must_use]
    pub fn encode_whole_f16(&self) -> Encoded {
        encode_f16(&arrange(&self.morphed, self.radius, Reading::Whole))
    }

    /// `mma.sp` instructions for 128 outputs: one for each step.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.radius + 1
    }
}
