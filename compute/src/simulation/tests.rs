// SPDX-License-Identifier: MIT OR Apache-2.0
//! Portions of steps, against the plain stencil.

use super::*;
use problem::check::verify;
use problem::control::{Meter, Progress, Work};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

const BOUNDARIES: [&str; 6] =
    ["zero", "periodic", "reflect", "x-:constant=0.5,x+:reflect", "edge", "x-:edge,x+:flux=0.25"];

/// A random stencil of 1 to 3 axes whose values do not grow, on a random grid, with something around it.
fn draw(rng: &mut ChaCha8Rng) -> (Stencil, Grid, Dtype, Boundary) {
    let dims = rng.random_range(1..=3);
    let extents: Vec<usize> = (0..dims).map(|_| 2 * rng.random_range(0..=2) + 1).collect();
    let mut weights: Vec<f64> =
        (0..extents.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let sum: f64 = weights.iter().map(|weight| weight.abs()).sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    let stencil = Stencil::dense("random", &extents, &weights).unwrap();
    let shape: Vec<usize> = (0..dims).map(|_| rng.random_range(1..=20)).collect();
    let dtype = Dtype::ALL[rng.random_range(0..Dtype::ALL.len())];
    let boundary =
        Boundary::parse(BOUNDARIES[rng.random_range(0..BOUNDARIES.len())], dims).unwrap();
    let shape = problem::Shape::new(&shape).unwrap();
    (stencil, Grid::random(shape, dtype, rng.random()).unwrap(), dtype, boundary)
}

/// The oracle is the plain stencil in f64, step by step; portions of steps give the same bits as one.
#[test]
fn steps_in_any_portions_are_those_of_the_plain_stencil() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for _ in 0..40 {
        let (stencil, grid, dtype, boundary) = draw(&mut rng);
        let portions: Vec<usize> =
            (0..rng.random_range(1..=4)).map(|_| rng.random_range(0..=5)).collect();
        let build = || {
            let simulation = SumSimulation::new(stencil.clone(), grid.clone()).dtype(dtype);
            simulation.boundary(boundary).engine(EngineRequest::Cpu).build().unwrap()
        };
        let (mut in_portions, mut at_once) = (build(), build());
        portions.iter().for_each(|portion| in_portions.step(*portion).unwrap());
        let steps = portions.iter().sum();
        at_once.step(steps).unwrap();
        assert_eq!((in_portions.steps(), at_once.steps()), (steps, steps));
        let output = in_portions.field("u").unwrap();
        assert_eq!(output, at_once.field("u").unwrap(), "{dtype} in {portions:?}");

        let job = Job { steps, ..in_portions.run.job.clone() };
        let arithmetic = in_portions.run.session.arithmetic();
        let found = verify::whole(&job, (arithmetic, None), &grid, &output).unwrap();
        assert!(found.holds(), "{dtype} in {portions:?}: {found:?}");
    }
}

/// Launches of several steps, and smaller ones for what is left of a portion.
#[test]
fn portions_of_fused_and_chained_steps_stay_within_what_rounding_explains() {
    let stencil = transform::catalogue::find("star2d1r").unwrap();
    let grid = Grid::random("40x70".parse().unwrap(), Dtype::F16, 3).unwrap();
    let emulated = SumSimulation::new(stencil, grid.clone()).engine(EngineRequest::Emulate);
    let mut simulation = emulated.build().unwrap();
    [7, 0, 1, 16].iter().for_each(|portion| simulation.step(*portion).unwrap());
    let output = simulation.field("u").unwrap();
    let report = simulation.report();
    assert!(report.fuse * report.chain > 1, "{report}");
    let job = Job { steps: 24, ..simulation.run.job.clone() };
    let arithmetic = simulation.run.session.arithmetic();
    let found = verify::whole(&job, (arithmetic, None), &grid, &output).unwrap();
    assert!(found.holds(), "{found:?}");
}

fn rod() -> Builder {
    let stencil = Stencil::dense("heat", &[3], &[0.25, 0.5, 0.25]).unwrap();
    let values = vec![1.0, 0.0, 0.0, 0.0];
    SumSimulation::new(stencil, Grid::new(&[4], values).unwrap()).engine(EngineRequest::Cpu)
}

#[test]
fn a_report_says_what_computes_and_how_many_steps_are_done() {
    let mut simulation = rod().build().unwrap();
    simulation.step(3).unwrap();
    let report = simulation.report();
    let Report { engine, why, steps, verified, seconds, .. } = &report;
    assert_eq!((*engine, why.as_deref(), *steps, *verified), ("cpu", Some("asked for"), 3, false));
    assert!(*seconds > 0.0);
}

#[test]
fn what_cannot_be_is_refused_with_what_there_is() {
    let mut simulation = rod().build().unwrap();
    let refused = simulation.field("v").unwrap_err().to_string();
    assert_eq!(refused, "there is no field 'v'; there is u");
    let refused = Grid::new(&[2, 3], vec![1.0; 5]).unwrap_err().to_string();
    assert_eq!(refused, "a grid of 2x3 has 6 points, but 5 values were given");
    let wide = Grid::new(&[2, 3], vec![1.0; 6]).unwrap();
    let heat = Stencil::dense("heat", &[3], &[0.25, 0.5, 0.25]).unwrap();
    let refused = SumSimulation::new(heat, wide).build().err().unwrap().to_string();
    assert_eq!(refused, "size 2x3 has 2 axes, the stencil has 1");
    let few = Grid { shape: "4".parse().unwrap(), values: vec![1.0; 3].into() };
    let heat = Stencil::dense("heat", &[3], &[0.25, 0.5, 0.25]).unwrap();
    let refused = SumSimulation::new(heat, few).build().err().unwrap().to_string();
    assert_eq!(refused, "a grid of 4 has 4 points, but 3 values were given");
    let large = Boundary::parse("constant=1e6", 1).unwrap();
    let refused = rod().dtype(Dtype::F16).boundary(large).build().err().unwrap().to_string();
    assert_eq!(refused, "boundary 'constant=1000000': f16 cannot hold its constant");
}

#[test]
fn growth_beyond_the_type_is_an_error_that_names_the_steps() {
    let grid = Grid::new(&[1], vec![1.0]).unwrap();
    let double = Stencil::dense("double", &[1], &[2.0]).unwrap();
    let double = SumSimulation::new(double, grid).dtype(Dtype::F16).engine(EngineRequest::Cpu);
    let mut double = double.build().unwrap();
    double.step(15).unwrap();
    assert_eq!(double.field("u").unwrap().get(0), 32768.0);
    double.step(2).unwrap();
    let text = double.field("u").unwrap_err().to_string();
    let start =
        "after step 17 the grid holds inf at (x) = (0); after step 15 all values were finite";
    assert_eq!(text, start);
}

/// Asks for an end as soon as it is told of a step.
struct Impatient(Control);

impl Progress for Impatient {
    fn begin(&self, work: Work, steps: usize) -> Box<dyn Meter> {
        assert_eq!((work, steps), (Work::Computing, 1_000_000_000));
        Box::new(Self(self.0.clone()))
    }
}

impl Meter for Impatient {
    fn reached(&mut self, done: usize) {
        assert!(done > 0);
        self.0.stop.request();
    }
}

#[test]
fn steps_end_where_somebody_asks_for_it() {
    let (stop, progress) = (Control::default().stop, None);
    let impatient = Impatient(Control { stop: stop.clone(), progress });
    let control = Control { stop, progress: Some(Arc::new(impatient)) };
    let mut simulation = rod().control(control).build().unwrap();
    let stopped = simulation.step(1_000_000_000).unwrap_err();
    assert!(matches!(stopped, Error::Stopped { .. }));
    assert!((1..1_000_000_000).contains(&simulation.steps()));
    simulation.field("u").unwrap();
}
