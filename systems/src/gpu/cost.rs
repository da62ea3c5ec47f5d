// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a step is predicted to take, from the bytes that a launch moves, what a step costs on chip, the halo that is
//! computed more than once, and what launches and barriers take.

use transform::machine::Machine;

use super::geometry::Geometry;
use super::held::TileState;
use super::tile::{BlockTile, instructions};
use super::windows;
use crate::checked::System;
use crate::expression::Array;
use crate::speeds::{GPU, seconds};
use compute::engine::fft::on_gpu::solve;
use compute::engine::fft::solve::Solve;
use problem::{Dtype, Region};

/// Words of a value that is computed.
pub fn words(system: &System) -> usize {
    if system.dtype == Dtype::F64 { 2 } else { 1 }
}

/// About how many instructions a step of a point takes, in all of its stages.
pub fn point_instructions(system: &System) -> usize {
    system.stages.iter().flat_map(|stage| &stage.operations).map(instructions).sum()
}

/// Predicted seconds of a step with one a launch, where each thread has points of its own; of systems side by side of all of
/// them.
pub fn tiled(system: &System, machine: &Machine) -> f64 {
    let (read, written) = system.moved();
    let arrays = read + written;
    let launches = system.stages.len() as f64;
    let points = (system.members() * system.shape.points()) as f64;
    let bytes = (arrays * system.dtype.bytes()) as f64 * points;
    let speeds = &GPU.single;
    let geometry = Geometry::of(system);
    let of_a_copy = match geometry.finds_sides {
        true => speeds.of_many,
        false => speeds.of_a_copy[system.shape.dims() - 1],
    };
    let memory = bytes / (of_a_copy * machine.copy_bytes_per_s);
    // Of f64 a multiprocessor issues half as many.
    let cycles = (point_instructions(system) * words(system)) as f64 / GPU.cycle.instructions;
    let rate = speeds.on_chip * machine.clock_hz * machine.multiprocessors as f64;
    let near_sides = near_sides(system, machine, &geometry);
    let solves = solves(system, machine).unwrap_or_default();
    (launches * GPU.launch()).max(memory).max(cycles * points / rate) + near_sides + solves
}

/// Predicted seconds of the solves of a step: transforms of all points of a torus.
///
/// # Errors
/// Why a GPU takes one of them not.
pub fn solves(system: &System, machine: &Machine) -> Result<f64, String> {
    /// Transforms along each axis, there and back.
    const LAUNCHES: f64 = 8.0;
    let number = if system.dtype == Dtype::F64 { 8.0 } else { 4.0 };
    let of_solve = |(_, solve, _): (usize, Solve, [Array; 2])| {
        solve::bytes(&solve, system.dtype, machine.shared_bytes_per_block)?;
        let lengths = solve.axes()?.map(|axis| axis.length as f64);
        let moved = lengths.iter().product::<f64>() * GPU.jump.moved * number;
        Ok(moved / machine.copy_bytes_per_s + LAUNCHES * GPU.launch())
    };
    system.solves().map(of_solve).sum()
}

/// Of that of a grid of three axes what points near sides take, which look up where their neighbours are.
pub fn near_sides(system: &System, machine: &Machine, geometry: &Geometry) -> f64 {
    if system.shape.dims() < 3 {
        return 0.0;
    }
    let points: usize = geometry.edges.iter().map(Region::points).sum();
    let points = system.members() * points;
    let neighbours = (points * point_instructions(system)) as f64;
    let rate = GPU.cycle.instructions * machine.multiprocessors as f64 * machine.clock_hz;
    GPU.single.of_a_place * neighbours / rate
}

/// Predicted seconds of a step with a chain of steps in a launch.
pub fn chained(system: &System, held: &TileState, machine: &Machine, tile: &BlockTile) -> f64 {
    match tile.planes {
        Some(_) => by_planes(system, held, machine, tile),
        None => by_parts(system, held, machine, tile),
    }
}

fn by_parts(system: &System, held: &TileState, machine: &Machine, tile: &BlockTile) -> f64 {
    let [_, down, across] = tile.extents();
    let (middle, words) = (tile.middle(), words(system) as f64);
    let blocks: usize = tile.blocks(system.shape.extents()).iter().product();
    let blocks = system.members() * blocks;
    let again = (down * across) as f64 / (middle[1] * middle[2]) as f64;
    let fields: usize = system.arrays();
    let points = (system.members() * system.shape.points()) as f64;
    let states = held.states.len() as f64;
    let moved = states * again + fields as f64;
    let bytes = moved * system.dtype.bytes() as f64 * points;
    let memory = bytes / machine.copy_bytes_per_s;

    // Cycles of a multiprocessor for a point and step: of f64 it issues half as many instructions as of f32.
    let (speeds, cycle) = (&GPU.parts, &GPU.cycle);
    let exchanged = held.exchanged(system, tile.rows);
    // Values of 16 bits are rounded by each stage that computes some.
    let (_, computed) = system.moved();
    let stored = if system.dtype.bytes() == 2 { 2 * computed } else { 0 };
    let own = (point_instructions(system) + stored) as f64 * words + exchanged + states;
    let cycles = (own / cycle.instructions).max(exchanged * words / cycle.shared_words);
    let cycles = cycles / (speeds.on_chip * machine.clock_hz);
    let shared = held.slots() as f64 * tile.values() as f64 * words * 4.0;
    let threads = tile.threads() as f64;
    let registers = 32.0 + 1.3 * held.registers as f64 * tile.rows as f64 * words;
    let (waves, together) = waves(machine, blocks, [threads, shared, registers]);
    // All threads wait for each other after each stage.
    let stages = system.stages.len() as f64;
    let step = (stages * seconds(speeds.step_us)).max(cycles * (down * across) as f64 * together);
    let of_wave = bytes / blocks as f64 * together;
    let loads = seconds(speeds.loads_us).max(of_wave / (1e9 * speeds.loads_gb_per_s));
    let on_chip = waves * (step * tile.steps as f64 + loads);
    let all = GPU.launch() + on_chip.max(memory) + speeds.not_hidden * on_chip.min(memory);
    all / tile.steps as f64
}

/// With blocks that go through planes.
fn by_planes(system: &System, held: &TileState, machine: &Machine, tile: &BlockTile) -> f64 {
    let (speeds, cycle) = (&GPU.planes, &GPU.cycle);
    let ([_, down, across], middle) = (tile.extents(), tile.middle());
    let [steps, planes, reach] = [tile.steps, middle[0], tile.reach[0]].map(|it| it as f64);
    let words = words(system) as f64;
    let computed = system.stages.iter().map(|stage| stage.writes.len()).sum::<usize>();
    let (fields, levels) = (computed as f64, system.arrays() as f64);
    let stages = system.stages.len() as f64;
    let delay = stages * tile.delay() as f64;
    let points = (system.members() * system.shape.points()) as f64;
    let cells = (down * across) as f64;
    let blocks: usize = tile.blocks(system.shape.extents()).iter().product();
    let blocks = system.members() * blocks;

    let beside = cells / (middle[1] * middle[2]) as f64;
    let again = beside * (planes + 2.0 * reach * steps) / planes;
    let coefficients = held.states.len() as f64 - levels;
    let loaded = levels * again + coefficients * beside * (1.0 + speeds.from_cache * (steps - 1.0));
    let bytes = (loaded + levels) * system.dtype.bytes() as f64;
    let memory = bytes * points / machine.copy_bytes_per_s;

    let rows = tile.rows as f64;
    let exchanged = windows::read(system, tile.rows) + fields + levels / steps;
    let stored = if system.dtype.bytes() == 2 { 2.0 * fields } else { 0.0 };
    let own = (point_instructions(system) as f64 + stored) * words + exchanged + fields;
    let own = own + coefficients + speeds.turn / rows;
    let cycles = (own / cycle.instructions).max(exchanged * words / cycle.shared_words);
    let cycles = cycles / (speeds.on_chip * machine.clock_hz);
    let shared = windows::shared_values(system, held, tile) as f64 * words * 4.0;
    let registers = 48.0 + rows * words * (levels + 2.0 * fields);
    let threads = tile.threads() as f64;
    let (waves, together) = waves(machine, blocks, [threads, shared, registers]);
    let wait_us =
        speeds.step_us + if coefficients > 0.0 { speeds.coefficients_us * together } else { 0.0 };
    let waits =
        (planes + steps * (reach + delay)) * seconds(speeds.plane_us + stages * steps * wait_us);
    let computes = (planes + reach * (steps - 1.0)) * steps * cells * cycles * together;
    let staged = if system.is_staged() { speeds.staged } else { 1.0 };
    let on_chip = staged * waves * waits.max(computes);
    let all = GPU.launch() + on_chip.max(memory) + speeds.not_hidden * on_chip.min(memory);
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
