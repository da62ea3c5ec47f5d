// SPDX-License-Identifier: MIT OR Apache-2.0
//! A conservative stencil keeps the mass of the grid, however often it is applied, but for what storing
//! the values in their type loses or gains.

use stencil::Job;
use stencil::engine::{Engine, cpu::Cpu, fft::Fft};
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

/// The part of its mass that a periodic grid gains with these weights as they are and sums in f64, rounded only to be
/// stored.
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

/// A rod after so many steps, from these values.
fn rod(engine: &dyn Engine, boundary: &str, values: &[f64], steps: usize) -> Vec<f64> {
    let heat = Stencil::dense("heat", &[3], &[0.25, 0.5, 0.25]).unwrap();
    let input = Grid::new(&[values.len()], values.to_vec()).unwrap();
    let boundary = Boundary::parse(boundary, 1).unwrap();
    let job = Job { boundary, ..Job::new(heat, input.shape, Dtype::F64, steps) };
    let mut session = engine.prepare(&job).unwrap();
    session.load(&input).unwrap();
    session.advance(steps).unwrap();
    self::values(&session.store().unwrap()).collect()
}

const ENGINES: [&dyn Engine; 2] = [&Cpu, &Fft];

/// Walls half a point beyond the last points let nothing through: the rod ends at its mean.
#[test]
fn an_insulated_rod_keeps_its_heat() {
    let hot: Vec<f64> = (0..40).map(|at| f64::from(at * at % 17)).collect();
    let heat = mass(hot.iter().copied());
    for engine in ENGINES {
        for steps in [1, 10, 20_000] {
            let after = rod(engine, "edge", &hot, steps);
            let off = mass(after.iter().copied()) / heat - 1.0;
            assert!(off.abs() < 1e-12, "{} {steps}: {off:e}", engine.name());
            let mean = heat / 40.0;
            let flat = after.iter().all(|value| (value / mean - 1.0).abs() < 1e-11);
            assert_eq!(flat, steps == 20_000, "{}", engine.name());
        }
        // Walls at the last points let through what these points have half of.
        let off = mass(rod(engine, "reflect", &hot, 10).into_iter()) / heat - 1.0;
        assert!(off.abs() > 1e-3, "{off:e}");
    }
}

/// A quarter of each slope flows in with each step.
#[test]
fn what_flows_in_is_what_the_slopes_say() {
    let hot: Vec<f64> = (0..40).map(|at| f64::from(at * at % 17)).collect();
    for engine in ENGINES {
        for steps in [1, 10, 1000] {
            let after = rod(engine, "x-:flux=0.5,x+:flux=-0.125", &hot, steps);
            let gained = mass(after.into_iter()) - mass(hot.iter().copied());
            let expected = steps as f64 * 0.25 * (0.5 - 0.125);
            assert!((gained - expected).abs() < 1e-10, "{} {steps}: {gained}", engine.name());
        }
    }
}

/// Between a given value and a given slope heat ends as a straight line; between two slopes that agree it stays one.
#[test]
fn a_slope_ends_as_a_straight_line() {
    for engine in ENGINES {
        let line = |at: usize| 1.0 + 0.25 * (at + 1) as f64;
        let off = |found: &[f64]| {
            let off = found.iter().enumerate().map(|(at, value)| (value - line(at)).abs());
            off.fold(0.0, f64::max)
        };
        let found = rod(engine, "x-:constant=1,x+:flux=0.25", &[0.0; 20], 20_000);
        assert!(off(&found) < 1e-11, "{}: {found:?}", engine.name());
        let straight: Vec<f64> = (0..20).map(line).collect();
        let found = rod(engine, "x-:flux=-0.25,x+:flux=0.25", &straight, 1000);
        assert!(off(&found) < 1e-12, "{}: {found:?}", engine.name());
    }
}
