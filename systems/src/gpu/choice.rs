// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many steps a launch takes: what is predicted to be fastest ([`super::cost`]).

use transform::machine::Machine;

use super::cost::{chained, point_instructions, single, words};
use super::swept::Swept;
use super::tile::{Tile, TileState};
use super::windows::shared_values;
use crate::checked::System;
use problem::Error;
use problem::job::Depth;

/// The most steps that are tried.
const MOST_STEPS: usize = 16;
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
    let held = match (TileState::new(system), system.chain) {
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
    let ways = steps.filter_map(|steps| best(system, &held, machine, steps));
    let best = ways.min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((seconds, tile)) = best else {
        let reason = NO_PART;
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

/// Why there is no chain of so many steps.
const NO_PART: &str = "no part of the grid that fits a multiprocessor is right after so many steps";

/// The part with which so many steps are predicted to take least, and how long a step then takes.
fn best(system: &System, held: &TileState, machine: &Machine, steps: usize) -> Option<(f64, Tile)> {
    let ways = tiles(system, held, machine, steps).into_iter();
    let ways = ways.map(|tile| (chained(system, held, machine, &tile), tile));
    ways.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// On CUDA cores, by the steps of a launch: predicted seconds of a step, or why there is no such launch.
pub fn chains(system: &System, machine: &Machine) -> Vec<(usize, Result<f64, String>)> {
    let one = (1, Ok(single(system, machine)));
    let held = match TileState::new(system) {
        Ok(held) => held,
        Err(why) => return vec![one, (2, Err(why))],
    };
    let several = (2..=MOST_STEPS).map(|steps| {
        let best = best(system, &held, machine, steps);
        (steps, best.map(|(seconds, _)| seconds).ok_or_else(|| NO_PART.to_owned()))
    });
    [one].into_iter().chain(several).collect()
}

/// The parts with which so many steps are possible.
fn tiles(system: &System, held: &TileState, machine: &Machine, steps: usize) -> Vec<Tile> {
    /// In how many parts z may be cut.
    const CHUNKS: [usize; 12] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64];
    let [nz, ny, _] = system.shape.extents();
    let reach @ [_, y, _] = system.program.reach(|_| true);
    let shapes: &[[usize; 3]] = match (system.shape.dims(), ny, y) {
        (3, ..) => {
            &[[32, 4, 8], [64, 4, 8], [32, 4, 16], [32, 2, 8], [32, 2, 16], [64, 8, 8], [64, 2, 8]]
        }
        (_, 1, 0) => &[[512, 1, 1], [256, 1, 1], [1024, 1, 1]],
        _ => &[[64, 8, 8], [128, 8, 4], [64, 8, 4], [64, 4, 8], [32, 8, 8], [32, 8, 4], [32, 4, 8]],
    };
    let words = words(system);
    let mut chunks: Vec<Option<usize>> = match system.shape.dims() {
        3 => CHUNKS.iter().map(|parts| Some(nz.div_ceil(*parts))).collect(),
        _ => vec![None],
    };
    chunks.dedup();
    let of_shape = |&[lanes, rows, down]: &[usize; 3]| {
        let of_chunk =
            move |&planes: &Option<usize>| Tile { steps, lanes, rows, down, planes, reach };
        chunks.iter().map(of_chunk)
    };
    let fits = |tile: &Tile| {
        let (middle, extents) = (tile.middle(), tile.extents());
        // What is right in the end has neighbours in the part, and is not too little of it.
        let wide = [1, 2].into_iter().all(|axis| {
            let (middle, reach, extent) = (middle[axis], tile.reach[axis], extents[axis]);
            middle > 0 && middle >= 2 * reach && middle * 3 >= extent
        });
        let small = tile.rows == 1
            || held.states.len() * tile.rows * words <= WORDS
                && point_instructions(system) * tile.rows * words <= INSTRUCTIONS;
        let shared = || shared_values(system, held, tile) * words * 4;
        wide && small
            && point_instructions(system) * tile.rows * words <= 4 * INSTRUCTIONS
            && shared() <= machine.shared_bytes_per_block as usize
    };
    shapes.iter().flat_map(of_shape).filter(fits).collect()
}
