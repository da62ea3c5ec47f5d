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
//!
//! **tf32.** An instruction is half as deep and an element twice as wide: a step of the product takes
//! one input row of the same 16 columns, and a lane's fragment is a quarter of it, 16 bytes. Slot
//! `k = t + 4j` is column `4q + j` with q = 0, 2, 1, 3 for t = 0 to 3 ([`tf32_quarter`]), so the slots
//! of a pair hold columns c and c + 8: always 1:2.

use crate::encode::{Encoded, encode, encode_as};
use crate::factors::Factors;
use crate::matrix::Matrix;
use crate::morph::{Morphed, morph};
use crate::sparsify::{Granularity, Sparse24};
use crate::split;
use crate::stencil::Stencil;
use cuda_mma::fragment::{Element, SparseMma};
use thiserror::Error;

/// Outputs of a tile along x: one 16-byte chunk of a 16-bit type.
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

/// Input of a slot of one step in a 16-bit type, relative to the first output: (y, x).
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

/// Input of a slot of one step in tf32, relative to the first output: (y, x).
#[must_use]
pub const fn input_of_tf32_slot(radius: usize, step: usize, slot: usize) -> (i32, i32) {
    let column = 4 * tf32_quarter(slot % 4) + slot / 4;
    (step as i32 - radius as i32, column as i32 - SHIFT as i32)
}

/// The quarter of a window that lane t of a group of four holds in tf32.
#[must_use]
pub const fn tf32_quarter(t: usize) -> usize {
    t % 2 * 2 + t / 2
}

/// The chunk of outputs, of the 8 side by side, that is column `n` of a product in tf32.
///
/// Even columns are the first four chunks, odd ones the others: of the two neighbouring columns that
/// a lane holds, a warp stores one after the other, each time 128 consecutive bytes. The order of the
/// odd ones lets the windows of columns 2i and 2i + 1, which a load reads together, meet in no bank.
#[must_use]
pub const fn tf32_chunk(n: usize) -> usize {
    (n / 2) ^ (n % 2 * 6)
}

/// The output that is row `m` of A in f32: (y, x).
///
/// A lane holds rows g and g + 8 of a product: neighbouring columns, which it stores together.
#[must_use]
pub const fn split_output(m: usize) -> (usize, usize) {
    let (group, half) = (m % 8, m / 8);
    (group / 4, group % 4 * 2 + half)
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
    Ok(Window { radius, morphed })
}

impl Window {
    /// A'' in slot order: 16 × 32·(radius + 1). Windows of 16-bit types are read by halves.
    #[must_use]
    pub fn sparse(&self, element: Element) -> Sparse24 {
        self.arrange(element, |step, slot| match element {
            Element::F16 | Element::Bf16 => input_of_slot(Reading::Halves, self.radius, step, slot),
            Element::Tf32 => input_of_tf32_slot(self.radius, step, slot),
        })
    }

    /// Operand A and metadata of [`Window::sparse`], with the weights rounded to the type.
    #[must_use]
    pub fn encode(&self, element: Element) -> Encoded {
        encode(&self.sparse(element), SparseMma::deepest(element), 0)
    }

    /// Operand A and metadata for chained sweeps: windows of 16-bit types are read whole, and which
    /// slots a row of A keeps depends on their columns alone, those at most r away from its output. So
    /// all steps share their metadata, at the price of keeping zeros where rows are out of reach.
    #[must_use]
    pub fn encode_chained(&self, element: Element) -> Encoded {
        let input = |step, slot| match element {
            Element::F16 | Element::Bf16 => input_of_slot(Reading::Whole, self.radius, step, slot),
            Element::Tf32 => input_of_tf32_slot(self.radius, step, slot),
        };
        let mma = SparseMma::deepest(element);
        encode_as(&self.arrange(element, input), mma, 0, |row, slot| {
            let (_, x) = input(slot / mma.k, slot % mma.k);
            x.abs_diff((row % CHUNK) as i32) as usize <= self.radius
        })
    }

    /// What the kernels `sweep2d` take: words of A and metadata, each for 32 lanes.
    #[must_use]
    pub fn operand(&self, factors: Factors) -> Vec<u32> {
        match factors {
            Factors::One(element) => self.encode(element).words,
            Factors::Split => self.split(),
        }
    }

    /// For each piece of the weights, from the first on, and each step 4 words of A, whose rows are
    /// [`split_output`]s, in the order of bf16; then one word of metadata. It is the same for all of them because slots are kept by their
    /// columns.
    fn split(&self) -> Vec<u32> {
        let mma = SparseMma::deepest(Element::Bf16);
        let input = |step, slot| input_of_slot(Reading::Halves, self.radius, step, slot);
        let keep = |row: usize, slot: usize| {
            let (_, x) = input(0, slot % mma.k);
            x.abs_diff(split_output(row).1 as i32) as usize <= self.radius
        };
        let weights = &self.morphed.matrix;
        let mut words = Vec::new();
        let mut metadata = Vec::new();
        for piece in 0..split::PIECES {
            let matrix = Matrix::new(weights.rows(), weights.columns(), |row, column| {
                let (y, x) = split_output(row);
                split::pieces(weights.at(y * CHUNK + x, column) as f32)[piece].to_f64()
            });
            let morphed = Morphed { matrix, ..self.morphed.clone() };
            let pieces = Self { radius: self.radius, morphed };
            let encoded = encode_as(&pieces.arrange(mma.element, input), mma, 0, keep);
            for step in 0..encoded.steps {
                words.extend((0..mma.a_words()).flat_map(|word| encoded.word(step, word)));
                metadata.push(encoded.word(step, mma.a_words()).to_vec());
            }
        }
        metadata.dedup();
        assert_eq!(metadata.len(), 1, "slots are kept by their columns");
        words.extend(metadata.concat());
        words
    }

    /// `mma.sp` instructions for 128 outputs: one for each pair of input rows, in tf32 for each row.
    #[must_use]
    pub const fn steps(&self, element: Element) -> usize {
        (self.radius + 1) * ROWS / element.per_word()
    }

    /// The columns of A' in slot order, given the input of a slot of a step.
    fn arrange(&self, element: Element, input: impl Fn(usize, usize) -> (i32, i32)) -> Sparse24 {
        let k = SparseMma::deepest(element).k;
        let column_of = |slot: usize| {
            let (y, x) = input(slot / k, slot % k);
            self.morphed.inputs.iter().position(|input| *input == [0, y, x])
        };
        let order = (0..k * self.steps(element)).map(column_of).collect();
        Sparse24::with(Granularity::of(element), &self.morphed.matrix, order)
            .expect("columns 8 apart never conflict")
    }
}
