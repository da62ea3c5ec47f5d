// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single steps by machine code that is written for a stencil: rows go to memory past the caches where these would drop
//! them, which no vector instruction of safe Rust does.

use transform::Tap;
use x86_writer::{
    FloatType, InputRows, Instruction, InstructionInput, OutputRows, Program, RowFunction,
};

use crate::caches;
use crate::padded::PaddedLayout;

/// Neighbours at most: of more, tiles are as fast, whose rows share what they load.
const MOST: usize = 32;

/// A function that computes rows of a plane.
pub trait Machine<T>: Send + Sync {
    /// Computes rows; `from` begins with what the first row's first point reads first, and goes on from row to row as the
    /// grid does.
    fn rows(&self, from: &[T], to: &mut [&mut [T]]);

    /// How far behind a point what it reads first lies; negative before it.
    fn first(&self) -> isize;
}

/// The function of a stencil.
struct StencilFunction<T> {
    row: RowFunction<T>,
    first: isize,
    pitch: usize,
}

/// The function of a stencil on grids of a layout; none where the processor is of another kind, or tiles are as fast. Neighbours count in the
/// order of [`crate::runs::NeighbourRuns`], so that values have the bits of those of tiles.
pub fn machine<T: FloatType>(
    taps: &[Tap],
    layout: &PaddedLayout,
    weight: impl Fn(f64) -> T,
) -> Option<Box<dyn Machine<T>>> {
    if taps.len() > MOST {
        return None;
    }
    let distance = |tap: &Tap| {
        let [z, y, x] = tap.offset.map(|it| it as isize);
        z * layout.plane() as isize + y * layout.pitch as isize + x
    };
    let first = taps.iter().map(distance).min()?;
    let mut taps = taps.to_vec();
    taps.sort_by_key(|tap| {
        let [z, y, x] = tap.offset;
        (z, x, y)
    });
    let source =
        |tap: &Tap| InstructionInput::Input { number: 0, place: (distance(tap) - first) as usize };
    let sum = taps.iter().map(|tap| (source(tap), weight(tap.weight))).collect();
    // The row that comes last is not in the caches yet.
    let last = taps.iter().max_by_key(|tap| [tap.offset[0], tap.offset[1]])?;
    let bytes = layout.planes() * layout.plane() * size_of::<T>();
    let row = RowFunction::new(Program {
        inputs: 1,
        outputs: 1,
        slots: 0,
        shared: 0,
        ahead: vec![(0, (distance(last) - first) as usize)],
        // What a step writes is not there when the next one reads it.
        streams: 2 * bytes > caches::last_level(),
        instructions: vec![Instruction::Sum(sum), Instruction::Write(0)],
    })?;
    Some(Box::new(StencilFunction { row, first, pitch: layout.pitch }))
}

impl<T: FloatType> Machine<T> for StencilFunction<T> {
    fn rows(&self, from: &[T], to: &mut [&mut [T]]) {
        let mut room = self.row.room(&[]);
        for (number, to) in to.iter_mut().enumerate() {
            let (pitch, points) = (self.pitch, to.len());
            let from = InputRows { values: &from[number * pitch..], pitch };
            let to = OutputRows { values: to, pitch: points };
            self.row.compute(&mut room, [1, points], &[from], &mut [to]);
        }
    }

    fn first(&self) -> isize {
        self.first
    }
}
