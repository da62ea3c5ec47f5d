// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which part of the grid a block holds for several steps: the one that is predicted to be fastest ([`super::cost`]).

use transform::machine::Machine;

use super::cost::{chained, point_instructions, words};
use super::held::TileState;
use super::tile::BlockTile;
use super::windows::shared_values;
use crate::checked::System;

/// 32-bit words that a thread's points may keep in registers.
const WORDS: usize = 56;
/// Words of values before and after a step that a thread may have where fields are many: sm_80 found no registers for a
/// stream around a cylinder with 80.
const WORDS_OF_MANY: usize = 64;
/// Those where a step has several stages: sm_90 found no registers for elastic waves with 80.
const WORDS_OF_STAGES: usize = 72;
/// Registers of a multiprocessor.
const REGISTERS: usize = 1 << 16;
/// Of a thread those beside what it holds, where a step has several stages.
const BESIDE: usize = 40;
/// Fields that are many.
const MANY: usize = 8;
/// Instructions of a thread's step.
const INSTRUCTIONS: usize = 3000;

/// The part with which so many steps are predicted to take least, and how long a step then takes; none where no part is
/// right after so many steps.
pub fn fastest(
    system: &System,
    held: &TileState,
    machine: &Machine,
    steps: usize,
) -> Option<(f64, BlockTile)> {
    let ways = tiles(system, held, machine, steps).into_iter();
    let ways = ways.map(|tile| (chained(system, held, machine, &tile), tile));
    ways.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// The parts with which so many steps are possible.
fn tiles(system: &System, held: &TileState, machine: &Machine, steps: usize) -> Vec<BlockTile> {
    /// In how many parts z may be cut.
    const CHUNKS: [usize; 12] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64];
    let [nz, ny, _] = system.shape.extents();
    let [_, y, _] = system.reach();
    let shapes: &[[usize; 3]] = match (system.shape.dims(), ny, y) {
        (3, ..) => {
            &[[32, 4, 8], [64, 4, 8], [32, 4, 16], [32, 2, 8], [32, 2, 16], [64, 8, 8], [64, 2, 8]]
        }
        (_, 1, 0) => &[[512, 1, 1], [256, 1, 1], [1024, 1, 1]],
        _ => &[[64, 8, 8], [128, 8, 4], [64, 8, 4], [64, 4, 8], [32, 8, 8], [32, 8, 4], [32, 4, 8]],
    };
    // What stages have computed takes registers besides.
    let of_few_rows: &[[usize; 3]] = match system.shape.dims() == 2 && system.is_staged() {
        true => &[[64, 2, 8], [32, 2, 16]],
        false => &[],
    };
    let words = words(system);
    let mut chunks: Vec<Option<usize>> = match system.shape.dims() {
        3 => CHUNKS.iter().map(|parts| Some(nz.div_ceil(*parts))).collect(),
        _ => vec![None],
    };
    chunks.dedup();
    let of_shape = |&[lanes, rows, down]: &[usize; 3]| {
        let of_chunk = move |planes: &Option<usize>| {
            BlockTile::of(system, steps, [lanes, rows, down], *planes)
        };
        chunks.iter().map(of_chunk)
    };
    let fits = |tile: &BlockTile| {
        let (middle, extents) = (tile.middle(), tile.extents());
        // What is right in the end has neighbours in the part, and is not too little of it.
        let wide = [1, 2].into_iter().all(|axis| {
            let (middle, reads, extent) = (middle[axis], tile.reads[axis], extents[axis]);
            middle > 0 && middle >= 2 * reads && middle * 3 >= extent
        });
        let small = tile.rows == 1
            || held.registers * tile.rows * words <= WORDS
                && point_instructions(system) * tile.rows * words <= INSTRUCTIONS;
        let shared = || shared_values(system, held, tile) * words * 4;
        let fields = system.fields.len();
        let of_threads = (REGISTERS / tile.threads()).saturating_sub(BESIDE).min(WORDS_OF_STAGES);
        let most = match (system.is_staged(), fields < MANY) {
            (true, true) => of_threads,
            (true, false) => of_threads.min(WORDS_OF_MANY),
            (false, true) => usize::MAX,
            (false, false) if tile.rows == 1 => usize::MAX,
            (false, false) => WORDS_OF_MANY,
        };
        let finds_registers = held.with_results * tile.rows * words <= most;
        wide && small
            && finds_registers
            && point_instructions(system) * tile.rows * words <= 4 * INSTRUCTIONS
            && shared() <= machine.shared_bytes_per_block as usize
    };
    shapes.iter().chain(of_few_rows).flat_map(of_shape).filter(fits).collect()
}
