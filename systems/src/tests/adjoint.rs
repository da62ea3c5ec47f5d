// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients of random systems: of linear ones by the dot-product test, of others by Taylor's.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::draw::smooth::{SmoothKind, differentiable};
use crate::simulation::{Cotangents, GradientBy};
use crate::start::StartValues;
use crate::{Description, Simulation, System, SystemState, Table, TableText, Text};
use problem::memory::Bytes;
use problem::observe::ArrayName;
use problem::{Error, Grid};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

mod cases;
mod runs;
mod totals;

const STEPS: usize = 4;

type Arrays = Vec<(ArrayName, Grid)>;

fn cases() -> u64 {
    super::tier::cases(40, 24)
}

fn of(description: &Description) -> System {
    let system = System::new(description, Path::new(""));
    system.unwrap_or_else(|error| panic!("{error}: {description:#?}"))
}

/// Numbers from -1 to 1, of the shape of arrays.
fn like(arrays: &Arrays, random: &mut ChaCha8Rng) -> Arrays {
    let own = |(name, grid): &(ArrayName, Grid)| {
        let values = (0..grid.shape.points()).map(|_| random.random_range(-1.0..1.0));
        (name.clone(), on(grid, values.collect()))
    };
    arrays.iter().map(own).collect()
}

fn on(grid: &Grid, values: Vec<f64>) -> Grid {
    let dims = grid.shape.dims();
    Grid::new(&grid.shape.extents()[3 - dims..], values).unwrap()
}

fn values(grid: &Grid) -> impl Iterator<Item = f64> + '_ {
    (0..grid.shape.points()).map(|index| grid.get(index))
}

/// `a + factor b`
fn plus(a: &Grid, factor: f64, b: &Grid) -> Grid {
    on(a, values(a).zip(values(b)).map(|(a, b)| a + factor * b).collect())
}

fn all_plus(a: &Arrays, factor: f64, b: &Arrays) -> Arrays {
    let both = a.iter().zip(b);
    both.map(|((name, a), (_, b))| (name.clone(), plus(a, factor, b))).collect()
}

/// The sum of products, and of their magnitudes.
fn dot<'a>(a: impl Iterator<Item = &'a Grid>, b: impl Iterator<Item = &'a Grid>) -> [f64; 2] {
    let (mut sum, mut magnitude) = (0.0, 0.0);
    for (a, b) in a.zip(b) {
        for (a, b) in values(a).zip(values(b)) {
            sum += a * b;
            magnitude += (a * b).abs();
        }
    }
    [sum, magnitude]
}

fn grids(arrays: &Arrays) -> impl Iterator<Item = &Grid> {
    arrays.iter().map(|(_, grid)| grid)
}

/// A simulation that begins with these values.
fn from(system: &System, arrays: Arrays) -> Simulation {
    let (records, series, rows_of) = Default::default();
    let state = SystemState { step: 0, arrays, records, series, rows_of, clock: None };
    Simulation::of(system).state(state).series(1).build().unwrap()
}

/// The totals of the start and after each step.
fn totals(simulation: &Simulation) -> Vec<Vec<f64>> {
    simulation.series().iter().map(|row| row[2..].to_vec()).collect()
}

/// The records without times.
fn records(simulation: &Simulation) -> Vec<Vec<f64>> {
    simulation.records().iter().map(|row| row[1..].to_vec()).collect()
}

/// What is refused, unless nothing is wrong with that.
fn refused(seed: u64, error: &Error, description: &Description) {
    let told = error.to_string();
    let known = ["a stencil takes here", "over 10000"];
    assert!(known.iter().any(|why| told.contains(why)), "seed {seed}: {told}: {description:#?}");
}

#[test]
fn any_linear_system_has_its_transpose() {
    let of_case = |seed: u64| {
        let description = differentiable(seed, SmoothKind::Linear);
        let system = of(&description);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let start = Simulation::of(&system).build().unwrap().state().unwrap().arrays;
        let direction = like(&start, &mut random);
        let run = |arrays: Arrays| -> (Arrays, Vec<Vec<f64>>) {
            let mut simulation = from(&system, arrays);
            simulation.step(STEPS).unwrap();
            let noted = records(&simulation).into_iter().chain(totals(&simulation)).collect();
            (simulation.state().unwrap().arrays, noted)
        };
        let (left, noted) = run(start.clone());
        let (moved, noted_then) = run(all_plus(&start, 1.0, &direction));
        let change = all_plus(&moved, -1.0, &left);
        let cotangents = like(&left, &mut random);
        let by_records: Vec<Vec<f64>> = noted
            .iter()
            .map(|row| row.iter().map(|_| random.random_range(-1.0..1.0)).collect())
            .collect();
        let mut simulation = from(&system, start);
        let by = GradientBy { totals: system.totals().len() > 0, ..GradientBy::default() };
        let found = simulation.gradient(STEPS, &by, |after| {
            let (records, totals) = by_records.split_at(after.records().len());
            let (records, totals) = (records.to_vec(), totals.to_vec());
            Ok(Cotangents { fields: cotangents.clone(), records, totals })
        });
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                refused(seed, &error, &description);
                return None;
            }
        };
        let [mut forward, mut size] = dot(grids(&change), grids(&cotangents));
        for (row, own) in by_records.iter().enumerate() {
            for (receiver, weight) in own.iter().enumerate() {
                let part = weight * (noted_then[row][receiver] - noted[row][receiver]);
                (forward, size) = (forward + part, size + part.abs());
            }
        }
        let [backward, other] = dot(grids(&direction), grids(&found.start));
        // Changes are differences of values that are rounded.
        let size =
            size.max(other).max(grids(&left).flat_map(values).fold(0.0, |a, b| b.abs().max(a)));
        let off = (forward - backward).abs() / size.max(f64::MIN_POSITIVE);
        assert!(
            off < 1e-12,
            "seed {seed}: {forward} forwards, {backward} backwards, {off:e}: {description:#?}"
        );
        Some(off)
    };
    let cases = cases();
    let solves = |seed: &u64| {
        of(&differentiable(*seed, SmoothKind::Linear)).stages.iter().any(|stage| stage.solves)
    };
    let solving = (0..cases).filter(solves).count();
    let summing = |seed: &u64| of(&differentiable(*seed, SmoothKind::Linear)).waits_for_totals();
    let summing = (0..cases).filter(summing).count();
    assert!(summing as u64 * 8 >= cases, "{summing} compute with totals");
    let solid =
        (0..cases).filter(|seed| differentiable(*seed, SmoothKind::Linear).solid.is_some()).count();
    assert!(solid as u64 * 5 >= cases, "{solid} have solid points");
    assert!(solving as u64 * 50 >= cases, "{solving} solve");
    let found: Vec<Option<f64>> = (0..cases).into_par_iter().map(of_case).collect();
    let worst = found.iter().flatten().fold(0.0, |worst: f64, off| worst.max(*off));
    let refused = found.iter().filter(|it| it.is_none()).count();
    println!(
        "{cases} linear systems, {refused} refused, {solving} solve, {summing} compute with totals, {solid} with solid points, off by {worst:e} at most"
    );
    assert!(refused as u64 * 4 <= cases, "{refused} are refused");
}

/// Half the sum of squares of what fields and records are.
fn half_squares(simulation: &mut Simulation) -> (f64, Cotangents) {
    let fields: Arrays = simulation.state().unwrap().arrays;
    let fields: Arrays = fields.into_iter().filter(|(name, _)| name.level == 0).collect();
    let records = records(simulation);
    let of_fields: f64 = grids(&fields).flat_map(values).map(|value| value * value).sum();
    let of_records: f64 = records.iter().flatten().map(|value| value * value).sum();
    let totals = Vec::new();
    (0.5 * (of_fields + of_records), Cotangents { fields, records, totals })
}

/// With the squares of what totals are.
fn half_squares_and_totals(simulation: &mut Simulation) -> (f64, Cotangents) {
    let (value, own) = half_squares(simulation);
    let totals = totals(simulation);
    let of_totals: f64 = totals.iter().flatten().map(|value| value * value).sum();
    (value + 0.5 * of_totals, Cotangents { totals, ..own })
}

/// Everything that can be changed of a system, changed so far in some direction.
struct Direction {
    start: Arrays,
    coefficients: Vec<(String, Arc<Grid>, Grid)>,
    parameter: Option<f64>,
    source: Vec<f64>,
}

impl Direction {
    fn moved(&self, description: &Description, k: f64, far: f64) -> Description {
        let mut moved = description.clone();
        for (name, grid, along) in &self.coefficients {
            moved.set_start(name, plus(grid, far, along)).unwrap();
        }
        if let Some(along) = self.parameter {
            let value = Text::new("k", &format!("{:?}", k + far * along));
            moved.set_constant(&Text::new("a name", "k"), value).unwrap();
        }
        let arguments = (0..STEPS).map(|step| step as f64).collect();
        let values = self.source.iter().map(|along| far * along).collect();
        let table = TableText::Points(Table { arguments, values });
        let own = moved.tables.iter_mut().find(|(name, _)| name.as_str() == "dir");
        own.expect("each has it").1 = table;
        moved
    }
}

#[test]
fn any_smooth_system_passes_the_test_of_taylor() {
    let of_case = |seed: u64| {
        let description = differentiable(seed, SmoothKind::Smooth);
        let system = of(&description);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let start = Simulation::of(&system).build().unwrap().state().unwrap().arrays;
        let beginning = StartValues::new(&system).unwrap();
        let state = grids(&start).map(|grid| 8 * grid.shape.points() as u64).sum::<u64>();
        let mut coefficients = Vec::new();
        for (text, grid) in description.coefficients.iter().zip(&beginning.coefficients) {
            let along = (0..grid.shape.points()).map(|_| random.random_range(-1.0..1.0));
            let along = on(grid, along.collect());
            // Kept points follow a coefficient, which is a condition.
            let is_condition = description.fields.iter().any(|field| field.keep.is_some());
            if !is_condition {
                coefficients.push((text.name.as_str().to_owned(), Arc::clone(grid), along));
            }
        }
        let (name, k) = system.constants().next().unwrap();
        assert_eq!(name, "k");
        let source = (0..STEPS).map(|_| random.random_range(-1.0..1.0)).collect();
        let along = like(&start, &mut random);
        let mut direction = Direction {
            start: along,
            coefficients,
            parameter: Some(random.random_range(-1.0..1.0)),
            source,
        };
        let mut by = GradientBy {
            coefficients: direction.coefficients.iter().map(|(name, ..)| name.clone()).collect(),
            parameters: vec!["k".into()],
            totals: system.totals().len() > 0,
            // Of one state, two, or more than there are steps.
            memory: Some(Bytes((1 + seed % 3 * (seed % 3)) * state)),
            ..GradientBy::default()
        };
        let gradient = |by: &GradientBy| {
            let moved = of(&direction.moved(&description, k, 0.0));
            let mut simulation = from(&moved, start.clone());
            let mut value = 0.0;
            let found = simulation.gradient(STEPS, by, |after| {
                let (own, cotangents) = half_squares_and_totals(after);
                value = own;
                Ok(cotangents)
            });
            found.map(|found| (value, found))
        };
        let found = match gradient(&by) {
            Err(error) if error.to_string().contains("is needed as a number") => {
                by.parameters.clear();
                gradient(&by)
            }
            found => found,
        };
        if by.parameters.is_empty() {
            direction.parameter = None;
        }
        let (value, found) = match found {
            Ok(found) => found,
            Err(error) => {
                refused(seed, &error, &description);
                return [0, 1, 0, 0];
            }
        };
        let [mut slope, _] = dot(grids(&direction.start), grids(&found.start));
        let own = direction.coefficients.iter().map(|(_, _, along)| along);
        slope += dot(own, found.coefficients.iter().map(|(_, grid)| grid))[0];
        for (_, by_k) in &found.parameters {
            slope += by_k * direction.parameter.unwrap();
        }
        for (along, by_source) in direction.source.iter().zip(&found.sources[0]) {
            slope += along * by_source;
        }
        // What is left of the change, and of that without what the gradient tells.
        let left = |far: f64| {
            let moved = of(&direction.moved(&description, k, far));
            let mut simulation = from(&moved, all_plus(&start, far, &direction.start));
            simulation.step(STEPS).unwrap();
            let (there, _) = half_squares_and_totals(&mut simulation);
            [(there - value).abs(), (there - value - far * slope).abs()]
        };
        let fars: Vec<f64> = (0..6).map(|half| 1e-2 * 0.25f64.powi(half)).collect();
        let all: Vec<[f64; 2]> = fars.iter().map(|far| left(*far)).collect();
        let rounding = 1e-13 * (1.0 + value.abs());
        let rate = |which: usize| {
            let pairs = all.windows(2).map(|pair| [pair[0][which], pair[1][which]]);
            let rates = pairs.filter(|pair| pair[1] > 30.0 * rounding);
            rates.map(|[far, near]| (far / near).log(4.0)).next_back()
        };
        if let Some(second) = rate(1) {
            assert!(
                second > 1.8,
                "seed {seed}: slope {slope}, rates {:?} and {second}: {all:?}: {description:#?}",
                rate(0)
            );
        } else {
            let most = all.iter().map(|pair| pair[1]).fold(0.0, f64::max);
            assert!(most < 1e-3 * (1.0 + value), "seed {seed}: {all:?}");
        }
        let is_first = rate(0).is_some_and(|first| (first - 1.0).abs() < 0.1);
        let mut by_coefficients = found.coefficients.iter().flat_map(|(_, grid)| values(grid));
        let counts = [
            found.parameters.iter().any(|(_, by_k)| *by_k != 0.0),
            by_coefficients.any(|value| value != 0.0),
        ];
        [usize::from(is_first), 0, usize::from(counts[0]), usize::from(counts[1])]
    };
    let cases = cases() / 2;
    let found: Vec<[usize; 4]> = (0..cases).into_par_iter().map(of_case).collect();
    let sums = [0, 1, 2, 3].map(|of| found.iter().map(|it| it[of]).sum::<usize>());
    let [first, refused, by_constants, by_coefficients] = sums;
    println!(
        "{cases} smooth systems, {refused} refused, {first} with a first slope of 1; \
         {by_constants} change with a constant, {by_coefficients} with a coefficient"
    );
    assert!(refused as u64 * 4 <= cases, "{refused} are refused");
    // Where points are kept, which a coefficient says, no coefficient is changed.
    let told = format!("{by_constants} and {by_coefficients} of {cases}");
    assert!(by_constants as u64 * 4 >= cases && by_coefficients as u64 * 20 >= cases, "{told}");
}
