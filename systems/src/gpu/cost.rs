// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a step is predicted to take, from the bytes that a launch moves, what a step costs on chip, the halo that is
//! computed more than once, and what launches and barriers take.

use transform::machine::Machine;

use super::tile::{Held, Tile, instructions};
use super::windows;
use crate::checked::System;
use problem::Dtype;

/// Seconds of a launch whatever it does: loads that wait for memory, the end of the last block.
pub const LAUNCH: f64 = 4e-6;
/// Seconds of a step of a block whatever it does: two barriers, and loads from shared memory that wait.
const STEP: f64 = 0.5e-6;
/// Part of the rates of a multiprocessor that kernels reach.
const ON_CHIP: f64 = 0.8;
/// Part of a copy's rate that single steps reach, by the axes of the grid: in 3D planes come back from memory, not from
/// the cache.
const OF_A_COPY: [f64; 3] = [0.92, 0.92, 0.68];
/// Part of the shorter of both, on chip and memory, that the other one does not hide.
const NOT_HIDDEN: f64 = 0.5;
/// Seconds of a plane of a block that goes through planes, whatever it does: a barrier, loads that wait; and of each step
/// of it.
const PLANE: f64 = 0.4e-6;
const PLANE_STEP: f64 = 0.25e-6;
/// What is waited besides in each such step for coefficients, which every step of every block loads.
const COEFFICIENTS: f64 = 0.75e-6;
/// Part of the rates of a multiprocessor that blocks which go through planes reach.
const ON_CHIP_BY_PLANES: f64 = 0.65;
/// Instructions of a thread's step of a plane beside those of its points.
const TURN: f64 = 40.0;
/// Part of the shorter of both that is not hidden where a plane is loaded while others are computed.
const NOT_HIDDEN_BY_PLANES: f64 = 0.35;
/// Part of what a coefficient's loads cost that each later step of a launch pays: they come from caches.
const FROM_CACHE: f64 = 0.25;

/// Words of a value that is computed.
pub fn words(system: &System) -> usize {
    if system.dtype == Dtype::F64 { 2 } else { 1 }
}

/// About how many instructions a step of a point takes.
pub fn point_instructions(system: &System) -> usize {
    system.program.operations.iter().map(instructions).sum()
}

/// Predicted seconds of a step with one a launch.
pub fn single(system: &System, machine: &Machine) -> f64 {
    let arrays = system.program.arrays().len() + system.fields.len();
    let points = system.shape.points() as f64;
    let bytes = (arrays * system.dtype.bytes()) as f64 * points;
    let memory = bytes / (OF_A_COPY[system.shape.dims() - 1] * machine.copy_bytes_per_s);
    // A multiprocessor issues 128 instructions of f32 in a cycle, or half as many of f64.
    let cycles = (point_instructions(system) * words(system)) as f64 / 128.0;
    let rate = ON_CHIP * machine.clock_hz * machine.multiprocessors as f64;
    LAUNCH.max(memory).max(cycles * points / rate)
}

/// The same with a chain.
pub fn chained(system: &System, held: &Held, machine: &Machine, tile: &Tile) -> f64 {
    match tile.planes {
        Some(_) => by_planes(system, held, machine, tile),
        None => by_parts(system, held, machine, tile),
    }
}

fn by_parts(system: &System, held: &Held, machine: &Machine, tile: &Tile) -> f64 {
    let [_, down, across] = tile.extents();
    let (middle, words) = (tile.middle(), words(system) as f64);
    let blocks: usize = tile.blocks(system.shape.extents()).iter().product();
    let again = (down * across) as f64 / (middle[1] * middle[2]) as f64;
    let fields: usize = system.arrays();
    let (states, points) = (held.states.len() as f64, system.shape.points() as f64);
    let moved = states * again + fields as f64;
    let memory = moved * system.dtype.bytes() as f64 * points / machine.copy_bytes_per_s;

    // Cycles of a multiprocessor for a point and step: it issues 128 instructions of f32 or half as many of f64, and
    // reads 32 words of shared memory.
    let exchanged = held.exchanged(system, tile.rows);
    let stored = if system.dtype.bytes() == 2 { 2 * system.fields.len() } else { 0 };
    let own = (point_instructions(system) + stored) as f64 * words + exchanged + states;
    let cycles = (own / 128.0).max(exchanged * words / 32.0) / (ON_CHIP * machine.clock_hz);
    let shared = held.shared.len() as f64 * tile.values() as f64 * words * 4.0;
    let threads = tile.threads() as f64;
    let registers = 32.0 + 1.3 * states * tile.rows as f64 * words;
    let (waves, together) = waves(machine, blocks, [threads, shared, registers]);
    let step = STEP.max(cycles * (down * across) as f64 * together);
    let on_chip = waves * step * tile.steps as f64;
    // Some of the loads and stores of a block pass while another computes.
    let all = LAUNCH + on_chip.max(memory) + NOT_HIDDEN * on_chip.min(memory);
    all / tile.steps as f64
}

/// With blocks that go through planes.
fn by_planes(system: &System, held: &Held, machine: &Machine, tile: &Tile) -> f64 {
    let ([_, down, across], middle) = (tile.extents(), tile.middle());
    let [steps, planes, reach] = [tile.steps, middle[0], tile.reach[0]].map(|it| it as f64);
    let words = words(system) as f64;
    let (fields, levels) = (system.fields.len() as f64, system.arrays() as f64);
    let (cells, points) = ((down * across) as f64, system.shape.points() as f64);
    let blocks: usize = tile.blocks(system.shape.extents()).iter().product();

    let beside = cells / (middle[1] * middle[2]) as f64;
    let again = beside * (planes + 2.0 * reach * steps) / planes;
    let coefficients = held.states.len() as f64 - levels;
    let loaded = levels * again + coefficients * beside * (1.0 + FROM_CACHE * (steps - 1.0));
    let bytes = (loaded + levels) * system.dtype.bytes() as f64;
    let memory = bytes * points / machine.copy_bytes_per_s;

    let rows = tile.rows as f64;
    let exchanged = windows::read(system, tile.rows) + fields + levels / steps;
    let stored = if system.dtype.bytes() == 2 { 2.0 * fields } else { 0.0 };
    let own = (point_instructions(system) as f64 + stored) * words + exchanged + fields;
    let own = own + coefficients + TURN / rows;
    let cycles =
        (own / 128.0).max(exchanged * words / 32.0) / (ON_CHIP_BY_PLANES * machine.clock_hz);
    let shared = windows::shared_values(system, held, tile) as f64 * words * 4.0;
    let registers = 48.0 + rows * words * (levels + 2.0 * fields);
    let threads = tile.threads() as f64;
    let (waves, together) = waves(machine, blocks, [threads, shared, registers]);
    let wait = PLANE_STEP + if coefficients > 0.0 { COEFFICIENTS * together } else { 0.0 };
    let waits = (planes + steps * (2.0 * reach + 1.0)) * (PLANE + steps * wait);
    let computes = (planes + reach * (steps - 1.0)) * steps * cells * cycles * together;
    let on_chip = waves * waits.max(computes);
    let all = LAUNCH + on_chip.max(memory) + NOT_HIDDEN_BY_PLANES * on_chip.min(memory);
    all / steps
}

/// How often a multiprocessor takes as many blocks as it holds, of so many threads, bytes of shared memory and registers
/// a thread; and how many it holds.
fn waves(machine: &Machine, blocks: usize, [threads, shared, registers]: [f64; 3]) -> (f64, f64) {
    let resident = (machine.shared_bytes_per_block as f64 / shared.max(1.0))
        .min(2048.0 / threads)
        .min(65536.0 / (registers * threads))
        .floor()
        .max(1.0);
    let multiprocessors = machine.multiprocessors as f64;
    let waves = (blocks as f64 / (multiprocessors * resident)).ceil();
    (waves, (blocks as f64 / multiprocessors).min(resident).ceil())
}
