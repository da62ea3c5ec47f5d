// SPDX-License-Identifier: MIT OR Apache-2.0
//! What jumps of a system would take on this machine.

use num_complex::Complex64;
use transform::spectral::coupled::{Coupled, Levels, Scratch};

use super::Parts;
use super::torus::Group;
use crate::checked::System;
use crate::cpu;
use crate::inside::{InnerPrograms, Inside};
use crate::program::{Operation, Program};
use crate::speeds::CORE;
use compute::engine::fft::length;
use problem::noise::ROUNDS;

/// About how many seconds a jump of so many steps takes on all cores of this machine.
#[must_use]
pub fn seconds(system: &System, parts: &Parts, steps: usize) -> f64 {
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
    let fields = system.fields.len();
    let one = of_a_point(system, &system.program, fields) * share_that_is_computed(system);
    let one = system.shape.points() as f64 * one * 1e-9;
    let solves = system.solves().filter_map(|(_, solve, _)| solve.axes().ok());
    let solves = solves.map(|axes| length::of_transforms(axes.map(|axis| axis.length)));
    steps as f64 * (one + solves.sum::<f64>()) / cores(system)
}

/// About how many nanoseconds a point takes whose equations are such a program, of so many results.
fn of_a_point(system: &System, program: &Program, results: usize) -> f64 {
    let speeds = &CORE.step;
    let of_operation = |of: &Operation| match of {
        Operation::Sum(_, taps) => speeds.neighbour_ns * taps.len() as f64,
        Operation::Call(..) => speeds.operation_ns,
        Operation::Noise(..) => f64::from(ROUNDS) * speeds.operation_ns,
    };
    let one: f64 = program.operations.iter().map(of_operation).sum();
    // Steps that are taken together move what one would.
    let arrays = program.arrays().len() + results;
    let together = cpu::depth(system).unwrap_or(1) as f64;
    let moved = speeds.byte_ns * (arrays * system.dtype.bytes()) as f64 / together;
    one + speeds.field_ns * results as f64 + moved
}

/// What part of the time that all points would take takes what is computed: less than all where layers lie along sides, or where sides of
/// adjoints are told by their indices.
fn share_that_is_computed(system: &System) -> f64 {
    let (mut all, mut computed) = (0.0, 0.0);
    let mut vanishing = system.vanishing.clone();
    for stage in &system.stages {
        let whole = of_a_point(system, stage, stage.writes.len());
        all += whole;
        computed += match InnerPrograms::new(stage, &mut vanishing) {
            None => whole,
            Some(inner) => {
                let shares = inner.shares(system.shape.extents());
                let of_set = shares.iter().zip(&inner.of_set).map(|(share, inside)| {
                    let own = |it: &Inside| of_a_point(system, &it.program, it.writes.len());
                    share * inside.as_ref().map_or(whole, own)
                });
                of_set.sum()
            }
        };
    }
    if all > 0.0 { computed / all } else { 1.0 }
}

/// Rows are what cores share.
fn cores(system: &System) -> f64 {
    let rows = system.shape.points() / system.shape.extents()[2];
    rayon::current_num_threads().min(rows) as f64
}

fn variables(system: &System, group: &Group) -> usize {
    group.fields.iter().map(|it| system.fields[*it].levels).sum()
}

impl Parts {
    /// Whether so many steps grow no wave but those that drift, as far as some of them tell.
    #[must_use]
    pub fn are_stable(&self, system: &System, steps: usize) -> bool {
        self.groups.iter().all(|group| is_stable(system, group, steps))
    }
}

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
