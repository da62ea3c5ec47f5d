// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many steps a launch takes: what is predicted to be fastest, from the bytes that a launch moves, what a step
//! costs on chip, the halo that is computed more than once, and what launches and barriers take.

use transform::machine::Machine;

use super::swept::Swept;
use super::tile::{Held, Tile, instructions};
use crate::problem::job::Depth;
use crate::system::checked::System;
use crate::{Dtype, Error};

/// The most steps that are tried.
const MOST_STEPS: usize = 16;
/// Seconds of a launch whatever it does: loads that wait for memory, the end of the last block.
const LAUNCH: f64 = 4e-6;
/// Seconds of a step of a block whatever it does: two barriers, and loads from shared memory that wait.
const STEP: f64 = 0.5e-6;
/// Part of the rates of a multiprocessor that kernels reach.
const ON_CHIP: f64 = 0.8;
/// Part of a copy's rate that single steps reach.
const OF_A_COPY: f64 = 0.92;
/// Part of the shorter of both, on chip and memory, that the other one does not hide.
const NOT_HIDDEN: f64 = 0.5;
/// 32-bit words that a thread's points may keep in registers.
const WORDS: usize = 56;
/// Instructions of a thread's step.
const INSTRUCTIONS: usize = 3000;
/// Part of a GPU's memory that may be taken for it.
const MEMORY: f64 = 0.9;
/// Gain from which on it is worth it.
const GAIN: f64 = 1.05;

/// Which cores are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// Those that are predicted to be faster.
    Any,
    /// CUDA cores.
    Cuda,
    /// Sparse tensor cores.
    Sparse,
}

impl Cores {
    /// The engine's name.
    pub fn engine(self) -> &'static str {
        match self {
            Self::Any | Self::Cuda => "cuda",
            Self::Sparse => "sparse",
        }
    }
}

/// A way to take steps.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The sweep that computes all but what is near sides; nothing on CUDA cores.
    pub swept: Option<Swept>,
    /// What a block holds; nothing for one step a launch.
    pub tile: Option<Tile>,
    /// Predicted seconds of a step.
    pub seconds: f64,
    /// The same on CUDA cores with one step a launch.
    pub single_seconds: f64,
    /// Why several steps a launch are not possible.
    pub why: Option<String>,
}

/// The way that is asked for, or predicted to be fastest.
///
/// # Errors
/// [`Error::Unsupported`]: so many steps are asked for as are not possible, or cores that cannot compute this.
pub fn choose(system: &System, machine: &Machine, cores: Cores) -> Result<Choice, Error> {
    let swept = |swept: Swept| {
        let seconds = swept.seconds(system, machine);
        let (tile, why) = (None, Some("a sweep is one step".to_owned()));
        let single_seconds = single(system, machine);
        Choice { swept: Some(swept), tile, seconds, single_seconds, why }
    };
    if cores == Cores::Sparse {
        let unsupported = |reason| Error::Unsupported { engine: "sparse", reason };
        return Swept::new(system, machine).map(swept).map_err(unsupported);
    }
    let on_cuda_cores = on_cuda_cores(system, machine)?;
    let possible = (cores == Cores::Any).then(|| Swept::new(system, machine).ok()).flatten();
    let faster = |it: &Choice| it.seconds * GAIN < on_cuda_cores.seconds;
    Ok(possible.map(swept).filter(faster).unwrap_or(on_cuda_cores))
}

/// The same on CUDA cores.
fn on_cuda_cores(system: &System, machine: &Machine) -> Result<Choice, Error> {
    let single_seconds = single(system, machine);
    let one =
        |why| Choice { swept: None, tile: None, seconds: single_seconds, single_seconds, why };
    let held = match (Held::new(system), system.chain) {
        (_, Depth::Steps(0 | 1)) => return Ok(one(None)),
        (Ok(held), _) => held,
        (Err(why), Depth::Auto) => return Ok(one(Some(why))),
        (Err(reason), Depth::Steps(_)) => {
            return Err(Error::Unsupported { engine: "cuda", reason });
        }
    };
    let steps = match system.chain {
        // Of a run that is shorter the halo would be wider than it need be.
        Depth::Auto if system.steps > 0 => 2..=MOST_STEPS.min(system.steps),
        Depth::Auto => 2..=MOST_STEPS,
        Depth::Steps(steps) => steps..=steps,
    };
    let ways = steps.flat_map(|steps| tiles(system, &held, machine, steps));
    let ways = ways.map(|tile| (chained(system, &held, machine, &tile), tile));
    let best = ways.min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((seconds, tile)) = best else {
        let reason = "no part of the grid that fits a multiprocessor is right after so many steps";
        return match system.chain {
            Depth::Auto => Ok(one(Some(reason.into()))),
            Depth::Steps(_) => Err(Error::Unsupported { engine: "cuda", reason: reason.into() }),
        };
    };
    // A chain has all levels twice.
    let arrays = held.states.len() + system.arrays();
    let bytes = (arrays * system.shape.points() * system.dtype.bytes()) as f64;
    if system.chain == Depth::Auto && bytes > MEMORY * machine.memory_bytes as f64 {
        return Ok(one(Some("there is no memory for all levels twice".into())));
    }
    if system.chain == Depth::Auto && seconds * GAIN > single_seconds {
        return Ok(one(Some("it would not be faster".into())));
    }
    Ok(Choice { swept: None, tile: Some(tile), seconds, single_seconds, why: None })
}

/// Words of a value that is computed.
fn words(system: &System) -> usize {
    if system.dtype == Dtype::F64 { 2 } else { 1 }
}

/// About how many instructions a step of a point takes.
fn point_instructions(system: &System) -> usize {
    system.program.operations.iter().map(instructions).sum()
}

/// The parts with which so many steps are possible.
fn tiles(system: &System, held: &Held, machine: &Machine, steps: usize) -> Vec<Tile> {
    let [_, ny, _] = system.shape.extents();
    let [_, y, x] = system.program.reach(|_| true);
    let shapes: &[[usize; 3]] = match (ny, y) {
        (1, 0) => &[[512, 1, 1], [256, 1, 1], [1024, 1, 1]],
        _ => &[[64, 8, 8], [128, 8, 4], [64, 8, 4], [64, 4, 8], [32, 8, 8], [32, 8, 4], [32, 4, 8]],
    };
    let words = words(system);
    let of_shape =
        |&[lanes, rows, down]: &[usize; 3]| Tile { steps, lanes, rows, down, reach: [y, x] };
    let fits = |tile: &Tile| {
        let (middle, extents) = (tile.middle(), tile.extents());
        let shared = held.shared.len() * tile.values() * words * 4;
        // What is right in the end has neighbours in the part, and is not too little of it.
        let wide = [0, 1]
            .into_iter()
            .all(|axis| middle[axis] >= 2 * tile.reach[axis] && middle[axis] * 3 >= extents[axis]);
        let small = tile.rows == 1
            || held.states.len() * tile.rows * words <= WORDS
                && point_instructions(system) * tile.rows * words <= INSTRUCTIONS;
        wide && middle[0] > 0
            && middle[1] > 0
            && small
            && shared <= machine.shared_bytes_per_block as usize
            && point_instructions(system) * tile.rows * words <= 4 * INSTRUCTIONS
    };
    shapes.iter().map(of_shape).filter(fits).collect()
}

/// Predicted seconds of a step with one a launch.
fn single(system: &System, machine: &Machine) -> f64 {
    let arrays = system.program.arrays().len() + system.fields.len();
    let points = system.shape.points() as f64;
    let memory =
        (arrays * system.dtype.bytes()) as f64 * points / (OF_A_COPY * machine.copy_bytes_per_s);
    // A multiprocessor issues 128 instructions of f32 in a cycle, or half as many of f64.
    let cycles = (point_instructions(system) * words(system)) as f64 / 128.0;
    let rate = ON_CHIP * machine.clock_hz * machine.multiprocessors as f64;
    LAUNCH.max(memory).max(cycles * points / rate)
}

/// The same with a chain.
fn chained(system: &System, held: &Held, machine: &Machine, tile: &Tile) -> f64 {
    let [down, across] = tile.extents();
    let (middle, words) = (tile.middle(), words(system) as f64);
    let blocks: usize = tile.blocks(system.shape.extents()).iter().product();
    let again = (down * across) as f64 / (middle[0] * middle[1]) as f64;
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
    // How many blocks a multiprocessor holds at a time.
    let resident = (machine.shared_bytes_per_block as f64 / shared.max(1.0))
        .min(2048.0 / threads)
        .min(65536.0 / (registers * threads))
        .floor()
        .max(1.0);
    let multiprocessors = machine.multiprocessors as f64;
    let waves = (blocks as f64 / (multiprocessors * resident)).ceil();
    let together = (blocks as f64 / multiprocessors).min(resident).ceil();
    let step = STEP.max(cycles * (down * across) as f64 * together);
    let on_chip = waves * step * tile.steps as f64;
    // Some of the loads and stores of a block pass while another computes.
    let all = LAUNCH + on_chip.max(memory) + NOT_HIDDEN * on_chip.min(memory);
    all / tile.steps as f64
}
