// SPDX-License-Identifier: MIT OR Apache-2.0
//! What jumps of a system would take on this machine.

use std::fmt;

use num_complex::Complex64;
use serde::Serialize;
use transform::machine::Machine;
use transform::spectral::coupled::{Coupled, Levels, Scratch};

use super::on_gpu::{self, Abilities};
use super::torus::Group;
use super::{Parts, parts, toruses};
use crate::checked::System;
use crate::program::Operation;
use crate::speeds::CORE;
use compute::device;
use compute::engine::fft::length;

/// Whether a system's steps can be taken at once, and in which time. Serialised, it is part of what `host plan`
/// writes as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JumpPlan {
    /// Why they cannot; null if they can.
    pub why_not: Option<String>,
    /// Points of the torus of each group of fields that depend on each other, slowest axis first.
    pub toruses: Vec<Vec<usize>>,
    /// Steps of a jump: those of the file.
    pub steps: usize,
    /// Predicted seconds of that jump on all cores of this machine; null if there is none.
    pub seconds: Option<f64>,
    /// The same on the GPU; null if there is none.
    pub seconds_on_gpu: Option<f64>,
    /// Why a GPU does not take it, which takes jumps of some systems; null if it does.
    pub why_not_on_gpu: Option<String>,
}

/// What jumps of a system would take, on this machine's cores and on a GPU.
#[must_use]
pub fn plan(system: &System, machine: &Machine) -> JumpPlan {
    let steps = system.steps;
    let none = JumpPlan {
        why_not: None,
        toruses: Vec::new(),
        steps,
        seconds: None,
        seconds_on_gpu: None,
        why_not_on_gpu: None,
    };
    let parts = match parts(system) {
        Ok(parts) => parts,
        Err(why) => return JumpPlan { why_not: Some(why), ..none },
    };
    let on_gpu = on_gpu::check(system, &parts, Abilities::of(machine));
    JumpPlan {
        toruses: toruses(system, &parts.groups),
        seconds: Some(of_jump(system, &parts, steps)),
        seconds_on_gpu: match on_gpu {
            Ok(()) => on_gpu::seconds(system, &parts, steps, machine),
            Err(_) => None,
        },
        why_not_on_gpu: on_gpu.err(),
        ..none
    }
}

/// About how many seconds a jump of so many steps takes on what this machine has, and whether that is a GPU; none if there is
/// none, or waves grow so much that little would be certain.
#[must_use]
pub fn seconds_here(system: &System, steps: usize) -> Option<(f64, bool)> {
    let parts = parts(system).ok()?;
    if !parts.groups.iter().all(|group| is_stable(system, group, steps)) {
        return None;
    }
    let on_gpu = || {
        let info = device::first().ok().filter(|info| info.limits().is_ok())?;
        let machine = info.machine();
        on_gpu::check(system, &parts, Abilities::of(&machine)).ok()?;
        on_gpu::seconds(system, &parts, steps, &machine)
    };
    let of_gpu = on_gpu().map(|seconds| (seconds, true));
    of_gpu.or_else(|| Some((of_jump(system, &parts, steps), false)))
}

fn of_jump(system: &System, parts: &Parts, steps: usize) -> f64 {
    let of_group = |group: &Group| {
        let n = variables(system, group) as f64;
        let points: f64 = group.lengths().into_iter().map(|it| it as f64).product();
        // Half of the waves; of each bit of T one and a half products of matrices.
        let powers =
            0.5 * points * 1.5 * (steps.max(2) as f64).log2() * n.powi(3) * CORE.product_ns * 1e-9;
        n * length::of_transforms(group.lengths()) + powers
    };
    parts.groups.iter().map(of_group).sum::<f64>() / cores(system)
}

/// About how many seconds so many steps take, one after the other, on the CPU.
#[must_use]
pub fn stepped(system: &System, steps: usize) -> f64 {
    let speeds = &CORE.step;
    let of_operation = |of: &Operation| match of {
        Operation::Sum(_, taps) => speeds.neighbour_ns * taps.len() as f64,
        Operation::Call(..) => speeds.operation_ns,
    };
    let one: f64 = system.program.operations.iter().map(of_operation).sum();
    let one = one + speeds.field_ns * system.fields.len() as f64;
    steps as f64 * system.shape.points() as f64 * one * 1e-9 / cores(system)
}

/// Rows are what cores share.
fn cores(system: &System) -> f64 {
    let rows = system.shape.points() / system.shape.extents()[2];
    rayon::current_num_threads().min(rows) as f64
}

fn variables(system: &System, group: &Group) -> usize {
    group.fields.iter().map(|it| system.fields[*it].levels).sum()
}

/// Whether so many steps grow no wave but those that drift, as far as some of them tell.
fn is_stable(system: &System, group: &Group, steps: usize) -> bool {
    /// Waves along an axis.
    const WAVES: usize = 24;
    /// What differences of levels make of drifting waves.
    const DRIFT: f64 = 100.0;
    let levels: Vec<usize> = group.fields.iter().map(|it| system.fields[*it].levels).collect();
    let lengths = group.lengths().map(|length| length.min(WAVES));
    let levels = Levels::new(&levels);
    let n = levels.variables();
    let most = levels.all().map(|(_, level)| level).max().unwrap_or_default() as i32;
    let coupled = Coupled::new(levels, &group.couplings, lengths, [false; 3], &[], steps);
    let mut largest = coupled.largest();
    let mut lines = vec![vec![Complex64::ONE; lengths[2]]; n];
    for z in 0..lengths[0] {
        for y in 0..lengths[1] {
            let mut lines: Vec<&mut [Complex64]> =
                lines.iter_mut().map(Vec::as_mut_slice).collect();
            let of_line = coupled.multiply(2, [z, y, 0], &mut lines, &mut Scratch::default());
            largest.merge(&of_line);
        }
    }
    let entries = (0..n).flat_map(|to| (0..n).map(move |from| (to, from)));
    let mut grown = entries.map(|(to, from)| coupled.of_power(&largest, to, from));
    grown.all(|grown| grown <= DRIFT * (steps.max(1) as f64).powi(most))
}

impl fmt::Display for JumpPlan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (Some(seconds), None) = (self.seconds, &self.why_not) else {
            let why = self.why_not.as_deref().unwrap_or_default();
            return writeln!(f, "jump       no, by --engine fft: {why}");
        };
        let torus =
            |torus: &Vec<usize>| torus.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        let toruses: Vec<String> = self.toruses.iter().map(torus).collect();
        let on_gpu = match (self.seconds_on_gpu, &self.why_not_on_gpu) {
            (Some(seconds), _) => format!("{seconds:.4} s on the GPU, "),
            (None, Some(why)) => format!("on the CPU, for on the GPU {why}; "),
            (None, None) => String::new(),
        };
        writeln!(
            f,
            "jump       any number of steps at once by --engine fft, on a torus of {}; {} steps in about {on_gpu}{seconds:.2} s \
             on this machine's cores",
            toruses.join(", "),
            self.steps
        )
    }
}
