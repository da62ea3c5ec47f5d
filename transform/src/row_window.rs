// SPDX-License-Identifier: MIT OR Apache-2.0
//! The row window: the register-window layout for rows of up to 15 weights, in any dimension.
//!
//! A tile is 16 outputs along x. Each input row (z, y) that a weight reaches takes one step of the
//! product (two in tf32): 32 inputs, from [`SHIFT`] left of the outputs on. A lane loads 16 bytes of a
//! row as they lie, and keeps them while the warp streams along y: of each plane, only the newest row
//! is loaded. Lanes t and t + 1 (t even) of a quad take chunks 16 inputs apart, so a group of slots
//! holds inputs c (and c + 1) and c + 16 (and c + 17), of which a row of A reaches at most one side:
//! always 2:4 (1:2 in tf32). Rows that no weight reaches cost nothing: a 3D star of radius 1 takes 5
//! steps, a box 9.

use crate::conflict::Pattern;
use crate::lookup::{LoadCost, wavefronts_16_bytes};
use crate::matching::ColumnOrder;
use cuda_mma::fragment::{LANES, M, SparseMma};
use thiserror::Error;

/// Inputs of a row that a tile takes.
pub const WIDTH: usize = 2 * M;

/// Inputs left of the first output.
pub const SHIFT: usize = M / 2;

/// The most weights of a row.
pub const MAX_LENGTH: usize = M - 1;

/// Registers of a thread, and those that addresses, sums and counters need.
const REGISTERS: usize = 255;
const OTHERS: usize = 24;

/// Bytes of a lane's load.
const CHUNK_BYTES: usize = 16;

/// A stencil's rows as steps.
#[derive(Clone, Debug, PartialEq)]
pub struct RowWindow {
    /// The order of the columns of A'.
    pub order: ColumnOrder,
    /// What loading the new rows costs, 16 bytes a lane, for each 16 × 8 outputs.
    pub load: LoadCost,
}

/// Why a stencil has no row window.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoRowWindow {
    /// Rows are too long or too far off the centre.
    #[error(
        "the row window takes up to {MAX_LENGTH} weights of a row, within {SHIFT} of the output; here \
         are {length}, up to {far} away"
    )]
    Length {
        /// Extent along x.
        length: usize,
        /// The farthest along x.
        far: usize,
    },
    /// Operand A and the rows that are kept need too many registers.
    #[error("the row window would take {needed} registers; a thread has {REGISTERS}")]
    Registers {
        /// Registers.
        needed: usize,
    },
}

/// Orders the columns of a pattern for tiles of 1 × 1 × 16 outputs.
///
/// # Errors
/// Rows that are too long, or too many of them.
///
/// # Panics
/// Where the tile is another.
pub fn row_window(pattern: &Pattern, mma: SparseMma) -> Result<RowWindow, NoRowWindow> {
    assert_eq!(pattern.factors, [1, 1, M], "the row window has tiles of its own");
    let beyond = |x: i32| if x < 0 { -x } else { (x - (M as i32 - 1)).max(0) } as usize;
    let far = pattern.inputs.iter().map(|input| beyond(input[2])).max().unwrap_or(0);
    let length = pattern.lengths[2];
    if length > MAX_LENGTH || far > SHIFT {
        return Err(NoRowWindow::Length { length, far });
    }
    let rows: Vec<&[[i32; 3]]> = pattern.inputs.chunk_by(|a, b| a[..2] == b[..2]).collect();
    let row_steps = WIDTH / mma.k;
    let step_registers = mma.a_words() + 1;
    let held = held_rows(&rows);
    let needed = row_steps * (rows.len() * step_registers + held * mma.b_words()) + OTHERS;
    if needed > REGISTERS {
        return Err(NoRowWindow::Registers { needed });
    }
    let mut slots = Vec::with_capacity(rows.len() * WIDTH);
    let mut first = 0;
    for row in &rows {
        for step in 0..row_steps {
            let mut of_step = vec![None; mma.k];
            for (slot, x) in inputs_of_step(mma, step) {
                let at = row.binary_search_by_key(&x, |input| input[2]);
                of_step[slot] = at.ok().map(|at| first + at);
            }
            slots.extend(of_step);
        }
        first += row.len();
    }
    let planes = rows.chunk_by(|a, b| a[0][0] == b[0][0]).count();
    let zero_columns = slots.len() - pattern.columns.len();
    let wavefronts: usize = (0..row_steps).map(|step| wavefronts(mma, step)).sum();
    let load = LoadCost { loads: planes * row_steps, wavefronts: planes * wavefronts };
    Ok(RowWindow { order: ColumnOrder { slots, zero_columns }, load })
}

/// Slot of a step and its input along x, relative to the first output.
pub(crate) fn inputs_of_step(mma: SparseMma, step: usize) -> impl Iterator<Item = (usize, i32)> {
    let chunk = CHUNK_BYTES / mma.element.bytes();
    let chunks = WIDTH / chunk;
    let elements =
        move |t| (0..mma.b_words()).flat_map(move |w| (0..mma.per_word()).map(move |i| (t, w, i)));
    (0..4).flat_map(elements).map(move |(t, word, i)| {
        let first = chunk * (t % 2 * (chunks / 2) + 2 * step + t / 2);
        let (slot, _) = mma.b(t, word, i);
        (slot, (first + mma.per_word() * word + i) as i32 - SHIFT as i32)
    })
}

/// Wavefronts of one load: lane 4g + t reads the chunk of its first input, for tile g.
fn wavefronts(mma: SparseMma, step: usize) -> usize {
    let inputs: Vec<(usize, i32)> = inputs_of_step(mma, step).collect();
    let chunk = CHUNK_BYTES / mma.element.bytes();
    let addresses: [u32; LANES] = std::array::from_fn(|lane| {
        let (g, t) = (lane / 4, lane % 4);
        let x = (inputs[t * chunk].1 + SHIFT as i32) as usize + g * M;
        (x * mma.element.bytes()) as u32
    });
    wavefronts_16_bytes(&addresses)
}

/// Rows that a warp keeps while it streams along y: in each plane, from the first to the last.
fn held_rows(rows: &[&[[i32; 3]]]) -> usize {
    let y = |row: &[[i32; 3]]| row[0][1];
    let planes = rows.chunk_by(|a, b| a[0][0] == b[0][0]);
    planes.map(|plane| (y(plane[plane.len() - 1]) - y(plane[0])) as usize + 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use cuda_mma::fragment::{Element, M16N8K32};

    fn window(name: &str, element: Element) -> Result<RowWindow, NoRowWindow> {
        let pattern = Pattern::new(&catalogue::find(name).unwrap(), [1, 1, M]).unwrap();
        row_window(&pattern, SparseMma::deepest(element))
    }

    /// In tf32 chunks 8 apart, of neighbouring tiles, meet in a bank: twice the wavefronts.
    #[test]
    fn steps_and_loads_are_those_of_the_rows() {
        let figures = |name, element: Element| {
            let window = window(name, element).unwrap();
            let steps = window.order.slots.len() / SparseMma::deepest(element).k;
            (steps, window.load.loads, window.load.wavefronts)
        };
        assert_eq!(figures("box1d7r", Element::F16), (1, 1, 4));
        assert_eq!(figures("box2d7r", Element::F16), (15, 1, 4));
        assert_eq!(figures("star3d1r", Element::F16), (5, 3, 12));
        assert_eq!(figures("box3d1r", Element::F16), (9, 3, 12));
        assert_eq!(figures("box2d1r", Element::Tf32), (6, 2, 16));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_numbers() {
        assert_eq!(
            window("box2d8r", Element::F16).unwrap_err().to_string(),
            "the row window takes up to 15 weights of a row, within 8 of the output; here are 17, up \
             to 8 away"
        );
        assert_eq!(
            window("box3d3r", Element::F16).unwrap_err().to_string(),
            "the row window would take 465 registers; a thread has 255"
        );
    }

    #[test]
    fn a_lane_loads_16_bytes_as_they_lie() {
        let inputs: Vec<_> = inputs_of_step(M16N8K32, 0).collect();
        for (lane, loaded) in inputs.chunks(8).enumerate() {
            let first = [-8, 8, 0, 16][lane];
            let columns: Vec<i32> = loaded.iter().map(|(_, x)| *x).collect();
            assert_eq!(columns, (first..first + 8).collect::<Vec<_>>());
        }
        let mut slots: Vec<_> = inputs.iter().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        assert_eq!(slots, (0..32).collect::<Vec<_>>());
    }
}
