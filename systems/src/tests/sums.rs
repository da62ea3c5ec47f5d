// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems that are a stencil: what the engines of stencils make of them against the equations in f64.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use rayon::prelude::*;

use super::draw;
use crate::{Description, System, SystemSimulation, sum};
use compute::engine::EngineRequest;
use compute::run::{InputMemory, Options, Run};
use problem::check::verify::Verify;
use problem::{Dtype, Grid, Job};

/// Cases, unless `SUM_CASES` says more.
const CASES: u64 = 240;

fn computed(job: &Job, input: &Grid, engine: EngineRequest, what: &str) -> Grid {
    let options = Options { engine, verify: Some(Verify::Full), ..Options::default() };
    let run = Run::plan(job.clone(), options, InputMemory::Lent);
    let run = run.unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut computed = run.compute(Cow::Borrowed(input)).unwrap();
    let right = computed.verify().unwrap();
    assert!(right, "{what}: {:?}", computed.verdict());
    computed.grid().unwrap()
}

/// In f64 they are what the equations make of them, step by step and with any sides; in any type what the verification
/// of stencils says.
#[test]
fn what_is_a_stencil_is_computed_as_one() {
    /// Roundings of a step.
    const ROUNDINGS: f64 = 400.0;
    let cases = std::env::var("SUM_CASES").map_or(CASES, |text| text.parse().unwrap());
    let of_case = |seed: u64| {
        let description = draw::sum(seed);
        let dtype = description.dtype;
        let system = System::new(&description, Path::new("")).unwrap();
        let what = format!("seed {seed}: {description:#?}");
        let taken = match sum::job(&system) {
            Ok(job) => {
                let input = sum::start(&system, &[]).unwrap();
                computed(&job, &input, EngineRequest::Cpu, &what);
                if seed.is_multiple_of(8) {
                    computed(&job, &input, EngineRequest::Emulate, &what);
                }
                true
            }
            Err(why) => {
                let told = ["cannot hold all weights", "no weights", "times as large"];
                assert!(told.iter().any(|part| why.contains(part)), "{what}: {why}");
                false
            }
        };
        let exact =
            System::new(&Description { dtype: Dtype::F64, ..description }, Path::new("")).unwrap();
        let Ok(job) = sum::job(&exact) else { return (dtype, taken) };
        let grid = computed(&job, &sum::start(&exact, &[]).unwrap(), EngineRequest::Cpu, &what);
        let mut stepped = SystemSimulation::new(&exact).unwrap();
        stepped.step(job.steps).unwrap();
        let right = stepped.field("u").unwrap();
        let value = |grid: &Grid, index: usize| grid.get(index).abs();
        let points = 0..grid.shape.points();
        let largest = points.clone().map(|index| value(&right, index)).fold(2.0, f64::max);
        let growth = job.stencil.gain().max(1.0).powf(job.steps as f64);
        let allowed = ROUNDINGS * f64::EPSILON * (1 + job.steps) as f64 * growth * largest;
        for index in points {
            let error = (grid.get(index) - right.get(index)).abs();
            assert!(error <= allowed, "{what}: {error:e} at {index}, {allowed:e} is allowed");
        }
        (dtype, taken)
    };
    let cases: Vec<(Dtype, bool)> = (0..cases).into_par_iter().map(of_case).collect();
    let taken = cases.iter().filter(|(_, taken)| *taken).map(|(dtype, _)| dtype.to_string());
    let types: BTreeSet<String> = taken.collect();
    assert_eq!(types.len(), 4, "{types:?}");
}
