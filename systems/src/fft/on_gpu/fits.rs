// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which systems a GPU takes by jumps, what memory that needs, and how long it is predicted to take.

use transform::machine::Machine;
use transform::spectral::coupled::{self, Coupled, Levels};

use super::mix::{COMPLEX_BYTES, needs_work};
use super::torus::{self, Torus};
use crate::checked::System;
use crate::fft::Parts;
use crate::fft::torus::Group;
use crate::speeds::{GPU, seconds as of_us};
use compute::device::plane::layout;
use problem::memory::Bytes;

/// What jumps need to know of a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Abilities {
    /// Shared memory that one block can ask for.
    pub shared_bytes: u32,
    /// Its memory.
    pub memory_bytes: u64,
}

impl Abilities {
    /// Of a machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let Machine { shared_bytes_per_block: shared_bytes, memory_bytes, .. } = *machine;
        Self { shared_bytes, memory_bytes }
    }
}

/// Checks that a GPU takes as many steps at once as a run has.
///
/// # Errors
/// Why not.
pub fn check(system: &System, parts: &Parts, abilities: Abilities) -> Result<(), String> {
    let (shape, dims) = (system.shape, system.shape.dims());
    compute::engine::on_gpu::check_extents("fft", shape).map_err(|why| why.to_string())?;
    for group in &parts.groups {
        let steps = system.steps.max(1);
        let Some(steps) = Torus::steps_at_once(group, dims, steps, abilities.shared_bytes) else {
            let shared = Bytes(abilities.shared_bytes.into());
            return Err(format!(
                "{steps} steps at once are not possible on a grid of {shape}: a transformed line must be a product of 2, 3, 5 and 7 and fit {shared} of shared memory"
            ));
        };
        let torus = Torus::of(group, dims, steps, abilities.shared_bytes).expect("found above");
        let reach = torus::reach(group);
        let is_near =
            |axis: usize| torus.spectra.lengths()[axis] as u64 * (reach[axis] as u64) < 1 << 32;
        if !(0..3).all(is_near) {
            return Err(format!("a step reads too far for a grid of {shape}"));
        }
    }
    let (need, total) = (bytes(system, parts, abilities), u128::from(abilities.memory_bytes));
    if need > total {
        let need = Bytes(u64::try_from(need).unwrap_or(u64::MAX));
        let total = Bytes(abilities.memory_bytes);
        return Err(format!(
            "{} fields on {shape} points and their spectra need {need} of GPU memory; the GPU has {total}",
            system.fields.len()
        ));
    }
    Ok(())
}

/// Memory for jumps: of each variable two planes and a spectrum, of sources one of each, and tables.
fn bytes(system: &System, parts: &Parts, abilities: Abilities) -> u128 {
    let plane = 8 * layout(system.shape).elements() as u128;
    let dims = system.shape.dims();
    let of_group = |group: &Group| {
        let steps = Torus::steps_at_once(group, dims, system.steps.max(1), abilities.shared_bytes)?;
        let torus = Torus::of(group, dims, steps, abilities.shared_bytes)?;
        let sources = added(parts, group).count();
        let variables = variables(system, group);
        let spectra = (variables + sources) as u128 * torus.spectra.values_of_torus() as u128;
        let work = if needs_work(&torus) { torus.spectra.values() as u128 } else { 0 };
        let tables = coupled::bytes(torus.spectra.lengths());
        Some(((2 * variables + sources) as u128 * plane + tables, [spectra, work]))
    };
    let all: Vec<_> = parts.groups.iter().filter_map(of_group).collect();
    let most = |which: usize| all.iter().map(|(_, of)| of[which]).max().unwrap_or_default();
    all.iter().map(|(own, _)| own).sum::<u128>() + (most(0) + most(1)) * COMPLEX_BYTES as u128
}

/// Fields of a group to which something may be added in each step.
fn added<'a>(parts: &'a Parts, group: &'a Group) -> impl Iterator<Item = &'a usize> {
    group.fields.iter().filter(|field| {
        let has_source = parts.sources.iter().any(|(of, ..)| of == *field);
        // Of fields without images only what their equation adds.
        let is_odd = group.odd() != [false; 3];
        has_source || is_odd || parts.sums[**field].constant.value() != 0.0
    })
}

fn variables(system: &System, group: &Group) -> usize {
    group.fields.iter().map(|field| system.fields[*field].levels).sum()
}

/// About how many seconds a jump of so many steps takes on a GPU, after the first; none where it has none.
pub fn seconds(system: &System, parts: &Parts, steps: usize, machine: &Machine) -> Option<f64> {
    let speeds = &GPU.jump;
    let of_group = |group: &Group| {
        let dims = system.shape.dims();
        let piece = Torus::steps_at_once(group, dims, steps, machine.shared_bytes_per_block)?;
        let torus = Torus::of(group, dims, piece, machine.shared_bytes_per_block)?;
        let lengths = torus.spectra.lengths();
        let points: f64 = lengths.iter().map(|length| *length as f64).product();
        let (n, is_even) = (variables(system, group) as f64, even(group));
        // Half of the waves, and of them those that have no opposite one along z and y.
        let own = (0..2).filter(|&axis| is_even[axis] && lengths[axis] > 2).count();
        let waves = 0.5 * points * 0.5f64.powi(own as i32);
        let numbers = if is_even == [true; 3] { 1.0 } else { 3.5 };
        let powers =
            waves * 1.5 * (piece.max(2) as f64).log2() * n.powi(3) * numbers * speeds.product;
        let rate = GPU.cycle.doubles * speeds.of_doubles;
        let powers = powers / (rate * machine.multiprocessors as f64 * machine.clock_hz);
        let moved = n * points * speeds.moved * 8.0 / machine.copy_bytes_per_s;
        let launches = 2.0 * n * (1.0 + 2.0 * dims as f64) + 1.0;
        let one = moved + powers + of_us(speeds.host_us) + launches * GPU.launch();
        Some(one * steps.div_ceil(piece) as f64)
    };
    parts.groups.iter().map(of_group).sum()
}

/// Along which axes matrices are the same for opposite waves.
fn even(group: &Group) -> [bool; 3] {
    // Of any levels, which do not matter for it.
    let levels = group.couplings.iter().map(|coupling| coupling.from.1 + 1).max().unwrap_or(1);
    let levels = Levels::new(&vec![levels; group.fields.len()]);
    Coupled::new(levels, &group.couplings, [1; 3], [false; 3], &[], 1).even()
}
