// SPDX-License-Identifier: MIT OR Apache-2.0
//! A conservative stencil keeps the mass of the grid, however often it is applied, but for what storing
//! the values in their type loses or gains.

use stencil::Job;
use stencil::engine::{Engine, cpu::Cpu};
use stencil::{Boundary, Dtype, Grid};
use transform::Stencil;

const STEPS: usize = 10_000;
const NY: usize = 24;
const NX: usize = 40;

fn input(dtype: Dtype) -> Grid {
    Grid::random(format!("{NY}x{NX}").parse().unwrap(), dtype, 5).unwrap()
}

fn mass(values: impl Iterator<Item = f64>) -> f64 {
    values.sum()
}

fn values(grid: &Grid) -> impl Iterator<Item = f64> {
    (0..grid.shape.points()).map(|index| grid.get(index))
}

/// The part of its mass that a periodic grid gains on the CPU.
fn gain(stencil: &Stencil, dtype: Dtype) -> f64 {
    let (input, boundary) = (input(dtype), Boundary::parse("periodic", 2).unwrap());
    let job = Job { boundary, ..Job::new(stencil.clone(), input.shape, dtype, STEPS) };
    let mut session = Cpu.prepare(&job).unwrap();
    session.load(&input).unwrap();
    session.advance(STEPS).unwrap();
    mass(values(&session.store().unwrap())) / mass(values(&input)) - 1.0
}

/// The same with these weights as they are and sums in f64, rounded only to be stored.
fn stored_gain(stencil: &Stencil, dtype: Dtype) -> f64 {
    let mut grid: Vec<f64> = values(&input(dtype)).collect();
    let before = mass(grid.iter().copied());
    let taps: Vec<(usize, usize, f64)> = stencil
        .taps()
        .iter()
        .map(|tap| {
            let [_, y, x] = tap.offset;
            let wrap = |offset: i32, n: usize| offset.rem_euclid(n as i32) as usize;
            (wrap(y, NY), wrap(x, NX), tap.weight)
        })
        .collect();
    for _ in 0..STEPS {
        let sum = |i: usize| {
            let value = |y, x| grid[(i / NX + y) % NY * NX + (i % NX + x) % NX];
            taps.iter().map(|&(y, x, weight)| weight * value(y, x)).sum()
        };
        grid = (0..grid.len()).map(|i| dtype.round(sum(i))).collect();
    }
    mass(grid.into_iter()) / before - 1.0
}

/// Weights that no binary type holds, and that sum to 1.
fn conservative() -> [Stencil; 2] {
    let heat = [0.0, 0.1, 0.0, 0.1, 0.6, 0.1, 0.0, 0.1, 0.0];
    let heat = Stencil::dense("heat", &[3, 3], &heat).unwrap();
    [heat, Stencil::dense("mean", &[7, 7], &[1.0 / 49.0; 49]).unwrap()]
}

#[test]
fn mass_neither_decays_nor_grows_but_by_storing_it() {
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::Tf32] {
        for stencil in conservative() {
            let (gain, stored) = (gain(&stencil, dtype), stored_gain(&stencil, dtype));
            println!("{} {dtype}: {gain:.1e}, exact weights {stored:.1e}", stencil.name());
            // Rounding once at the start, and to f32 sums at every step.
            let once = dtype.weights().unwrap().spacing(0.5) + STEPS as f64 * 2f64.powi(-24);
            let most = 1.5 * stored.abs() + once;
            assert!(gain.abs() <= most, "{} {dtype}: {gain:e}, {stored:e}", stencil.name());
        }
    }
}

/// Why weights are not simply rounded to the nearest.
#[test]
fn weights_rounded_to_the_nearest_lose_mass() {
    let [heat, mean] = conservative();
    for (stencil, dtype) in [(&mean, Dtype::F16), (&mean, Dtype::Bf16), (&heat, Dtype::Bf16)] {
        let format = dtype.weights().unwrap();
        let gain = stored_gain(&stencil.map_weights(|weight| format.round(weight)), dtype);
        println!("{} {dtype}: {gain:.1e} with the nearest weights", stencil.name());
        assert!(gain.abs() > 0.02, "{} in {dtype}: {gain:e}", stencil.name());
    }
}
