// SPDX-License-Identifier: MIT OR Apache-2.0
//! Totals: of any system and engine what its values make, whoever shares them, and what equations make of them.

use std::path::Path;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::draw;
use super::tier::cases;
use crate::description::Change;
use crate::evaluate::{Evaluator, PlainF64};
use crate::expression::{Fold, Node};
use crate::{ComputeOptions, Description, FieldText, System, SystemSimulation, SystemState, Text};
use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::engine::Ranks;
use problem::observe::Snapshot;
use problem::{Dtype, Error, Grid, Region};

/// A description with totals of its fields; `fed`: an equation is made of them, too.
pub fn with_totals(mut description: Description, seed: u64, fed: bool) -> Description {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x7074);
    let names: Vec<String> =
        description.fields.iter().map(|field| field.name.as_str().to_owned()).collect();
    let coefficients = description.coefficients.iter().map(|it| it.name.as_str().to_owned());
    let coefficients: Vec<String> = coefficients.collect();
    let stencils: Vec<String> =
        description.stencils.iter().map(|(name, _)| name.as_str().to_owned()).collect();
    let totals = random.random_range(1..=3);
    for number in 0..totals {
        let a = pick(&names, &mut random);
        let b = pick(&names, &mut random);
        let value = match random.random_range(0..12) {
            0 => format!("sum({a})"),
            1 => format!("sum({a}*{b})/2"),
            2 => format!("max(abs({a} - {b})) - min({a})"),
            3 => format!("mean({a}^2 + x)"),
            4 => format!("norm({a})*exp(-t)"),
            5 if !stencils.is_empty() => format!("sum({}({a}))", pick(&stencils, &mut random)),
            6 if !stencils.is_empty() => {
                format!("max({}({a}*{b} + x))", pick(&stencils, &mut random))
            }
            7 => format!("sum(({a} - prev({b}))^3)"),
            8 if !coefficients.is_empty() => {
                format!("sum({}*{a}) + max({b})", pick(&coefficients, &mut random))
            }
            // Of another total, which may come later: the first one is of none.
            9 | 11 if number > 0 => format!("mean(({a} - total0)^2)"),
            10 if number == 1 && totals > 2 => format!("max({a}*{b} + tanh(total2)) + total0"),
            _ => format!("min(max({a}), sum({b}/(1 + {a}^2))) + n"),
        };
        let name = format!("total{number}");
        description = match random.random_range(0..3) {
            0 => description.total_where(&name, value, "x < 3 or x > 5"),
            _ => description.total(&name, value),
        };
    }
    if fed {
        let field = random.random_range(0..description.fields.len());
        let change = &mut description.fields[field].change;
        // What stays small stays so.
        let fed = |text: &Text| Text::new("fed", &format!("({})*tanh(total0)", text.as_str()));
        *change = match change {
            Change::Next(text) => Change::Next(fed(text)),
            Change::Rate(text) => Change::Rate(fed(text)),
        };
    }
    description
}

fn pick(names: &[String], random: &mut impl Rng) -> String {
    names[random.random_range(0..names.len())].clone()
}

fn system(description: &Description, seed: u64) -> System {
    System::new(description, Path::new(""))
        .unwrap_or_else(|error| panic!("seed {seed}: {error}: {description:#?}"))
}

/// A sum of thousands to more digits than adding one by one has: what each addition loses is added in the end (Neumaier).
fn sum(values: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for value in values {
        let next = sum + value;
        let [large, small] = if sum.abs() >= value.abs() { [sum, *value] } else { [*value, sum] };
        lost += (large - next) + small;
        sum = next;
    }
    if sum.is_finite() { sum + lost } else { sum }
}

/// The reductions of a system straight from the trees, with the sum of all magnitudes; those that they are made of are known.
fn by_definition(simulation: &mut SystemSimulation, known: &[f64]) -> Vec<(f64, f64)> {
    let (system, step) = (simulation.system().clone(), simulation.steps());
    let [nz, ny, nx] = system.shape.extents();
    let values = simulation.session().values(None).unwrap();
    let evaluator = Evaluator::new(&system, PlainF64, &*values, step as f64).with_totals(known);
    let of = |fold: Fold, node: &Node| {
        let points = (0..nz * ny * nx).map(|index| {
            let place = [index / (ny * nx), index / nx % ny, index % nx].map(|at| at as isize);
            evaluator.at(node, place)
        });
        let points: Vec<f64> = points.collect();
        let size = points.iter().map(|value| value.abs()).sum();
        let value = match fold {
            Fold::Sum => sum(&points),
            Fold::Min => points.into_iter().fold(f64::MAX, f64::min),
            Fold::Max => points.into_iter().fold(f64::MIN, f64::max),
        };
        // Of no points there is none.
        (if value.abs() == f64::MAX { f64::NAN } else { value }, size)
    };
    system.totals.reductions.iter().map(|it| of(it.fold, &it.value)).collect()
}

/// Whether the reductions of a simulation are those of its values.
fn assert_defined(simulation: &mut SystemSimulation, what: &str) -> Vec<u64> {
    let (system, step) = (simulation.system().clone(), simulation.steps());
    let reduced = simulation.session().reduced(&system, step).unwrap();
    let defined = by_definition(simulation, &reduced);
    for ((found, (expected, size)), reduction) in
        reduced.iter().zip(defined).zip(&system.totals.reductions)
    {
        let allowed = 1e-13 * size + f64::MIN_POSITIVE;
        let is_right = (found - expected).abs() <= allowed || !expected.is_finite();
        assert!(is_right, "{what}: {found} instead of {expected}: {reduction:?}");
    }
    reduced.iter().map(|number| number.to_bits()).collect()
}

/// Whether the reductions of a simulation are those of its values, to the bits of what this machine makes of a copy of them.
pub fn assert_equal_bits(simulation: &mut SystemSimulation, what: &str) {
    let found = assert_defined(simulation, what);
    let (system, step) = (simulation.system().clone(), simulation.steps());
    let values = simulation.session().values(None).unwrap();
    let whole = system.whole();
    let own = system.totals.find(|known| {
        Ok::<_, Error>(vec![crate::reduced::reduce(&system, &*values, whole, (step, known))])
    });
    let own = own.unwrap().into_iter().map(f64::to_bits);
    assert_eq!(found, own.collect::<Vec<_>>(), "{what}");
}

#[test]
fn any_totals_are_those_of_the_values() {
    (0..cases(60, 32)).into_par_iter().for_each(|seed| {
        let description = match seed % 3 {
            0 => draw::in_stages(seed, 3),
            _ => draw::system(seed),
        };
        let system = system(&with_totals(description, seed, false), seed);
        let mut simulation = SystemSimulation::new(&system).unwrap();
        for _ in 0..3 {
            assert_defined(&mut simulation, &format!("seed {seed}"));
            simulation.step(1).unwrap();
        }
    });
}

#[test]
fn equations_that_are_made_of_totals_agree_with_the_oracle() {
    (0..cases(40, 20)).into_par_iter().for_each(|seed| {
        let description = match seed % 3 {
            0 => draw::in_stages(seed, 3),
            _ => draw::system(seed),
        };
        let system = system(&with_totals(description, seed, true), seed);
        let mut checked = SystemSimulation::new(&system).unwrap();
        for _ in 0..4 {
            checked.checked_step().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        let mut stepped = SystemSimulation::new(&system).unwrap();
        stepped.step(4).unwrap();
        for name in system.fields() {
            assert_eq!(stepped.field(name).unwrap(), checked.field(name).unwrap(), "seed {seed}");
        }
    });
}

/// On any number of ranks, whose values have the bits of one, totals have them, too.
#[test]
fn any_cut_gives_the_totals_of_one_rank() {
    let (mut cut, all) = (0, cases(30, 16));
    for seed in 0..all {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let system = system(&with_totals(draw::system(seed), seed, seed % 2 == 0), seed);
        let split = system.shape.extents().map(|extent| random.random_range(1..=extent.min(2)));
        let period = [None, Some(1), Some(2)][random.random_range(0..3)];
        let ranks = Ranks::Threads(split.iter().product());
        let sharing = Sharing { split: Some(split), period, ..Sharing::among(ranks) };
        let engine = if seed % 5 == 4 { EngineRequest::Emulate } else { EngineRequest::Cpu };
        let asked = ComputeOptions { engine, sharing: Some(sharing), ..ComputeOptions::default() };
        let mut shared = match SystemSimulation::asked(&system, &asked) {
            Ok(shared) => shared.with_series(2).unwrap(),
            Err(Error::Split { .. }) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let alone = SystemSimulation::on(&system, engine).unwrap();
        let mut alone = alone.with_series(2).unwrap();
        shared.step(5).unwrap();
        alone.step(5).unwrap();
        let bits = |rows: &[Vec<f64>]| rows.iter().flatten().map(|it| it.to_bits()).collect();
        let [a, b]: [Vec<u64>; 2] = [&shared, &alone].map(|it| bits(it.series()));
        assert_eq!(a, b, "seed {seed}: {split:?} {period:?}");
        assert_eq!(shared.totals().unwrap().len(), system.totals().len());
        cut += 1;
    }
    println!("{cut} of {all} systems were cut");
    assert!(2 * cut > all, "{cut} of {all}");
}

/// Kernels reduce what lies on the device to the bits of what this machine makes of a copy, where no function is called that
/// each machine has by itself.
#[test]
fn kernels_reduce_to_the_bits_of_this_machine() {
    (0..cases(25, 13)).into_par_iter().for_each(|seed| {
        let description = match seed % 4 {
            0 => draw::in_stages(seed, 2),
            1 => draw::many(seed),
            _ => draw::system(seed),
        };
        let system = system(&with_totals(description, seed, false), seed);
        let emulated = SystemSimulation::on(&system, EngineRequest::Emulate).unwrap();
        let mut emulated = emulated.with_series(2).unwrap();
        for _ in 0..2 {
            assert_equal_bits(&mut emulated, &format!("seed {seed}"));
            emulated.step(3).unwrap();
        }
        let steps: Vec<f64> = emulated.series().iter().map(|row| row[0]).collect();
        assert_eq!(steps, [0.0, 2.0, 4.0, 6.0], "seed {seed}");
    });
}

/// Rows that are longer than what a block takes at once, of values of any size, also from a point on that is no multiple of what is
/// loaded together.
#[test]
fn kernels_reduce_long_rows_to_the_bits_of_this_machine() {
    for dtype in [Dtype::F16, Dtype::F32, Dtype::F64] {
        for (size, reads) in [([1, 3001], "u"), ([3, 1100], "u"), ([2, 1030], "wide(u)")] {
            let description = Description::new(&size)
                .dtype(dtype)
                .derivative("wide", "xx", 4)
                .derivative("near", "xx", 2)
                .field(FieldText::new("u", "sin(x) + y", "u + 0.1*near(u)").boundary("edge"))
                .total("all", format!("sum({reads}^2 + x)"))
                .total("ends", format!("max({reads}) - min({reads})"));
            let system = System::new(&description, Path::new("")).unwrap();
            let mut alone = SystemSimulation::on(&system, EngineRequest::Emulate).unwrap();
            assert_equal_bits(&mut alone, &format!("{dtype}: {size:?}, {reads}"));
            let sharing = Sharing { split: Some([1, 1, 2]), ..Sharing::among(Ranks::Threads(2)) };
            let (engine, sharing) = (EngineRequest::Emulate, Some(sharing));
            let asked = ComputeOptions { engine, sharing, ..ComputeOptions::default() };
            let mut shared = SystemSimulation::asked(&system, &asked).unwrap();
            for _ in 0..2 {
                let totals = [&mut alone, &mut shared].map(|it| it.totals().unwrap());
                assert_eq!(totals[0], totals[1], "{dtype}: {size:?}, {reads}");
                alone.step(1).unwrap();
                shared.step(1).unwrap();
            }
        }
    }
}

/// A step that waits for totals does not overwrite those of an earlier look.
#[test]
fn rows_of_totals_that_equations_are_made_of_are_those_of_single_steps() {
    for seed in 0..cases(6, 4) {
        let system = system(&with_totals(draw::system(seed), seed, true), seed);
        for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
            let together = SystemSimulation::on(&system, engine).unwrap();
            let mut together = together.with_series(2).unwrap();
            together.step(1).unwrap();
            together.step(8).unwrap();
            let mut singly = SystemSimulation::on(&system, engine).unwrap();
            for row in together.series() {
                singly.step(row[0] as usize - singly.steps()).unwrap();
                let bits = |values: &[f64]| values.iter().map(|it| it.to_bits()).collect();
                let [a, b]: [Vec<u64>; 2] = [&row[2..], &singly.totals().unwrap()].map(bits);
                assert_eq!(a, b, "seed {seed}: {engine:?}, step {}", row[0]);
            }
            assert_eq!(together.series().len(), 5, "seed {seed}");
        }
    }
}

#[test]
fn kernels_of_equations_that_are_made_of_totals_agree_with_the_oracle() {
    (0..cases(15, 9)).into_par_iter().for_each(|seed| {
        let system = system(&with_totals(draw::system(seed), seed, true), seed);
        let mut emulated = SystemSimulation::on(&system, EngineRequest::Emulate).unwrap();
        for _ in 0..3 {
            emulated.checked_step().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    });
}

/// Fields may have the names of numbers of the grid.
#[test]
fn totals_count_points_whatever_fields_are_called() {
    let description = Description::new(&[4, 5])
        .field(FieldText::new("nx", "3", "nx"))
        .field(FieldText::new("ny", "2", "ny"))
        .total("mean_of_both", "mean(nx + ny)");
    let system = System::new(&description, Path::new("")).unwrap();
    let mut simulation = SystemSimulation::new(&system).unwrap();
    assert_eq!(simulation.totals().unwrap(), [5.0]);
}

fn heat() -> Description {
    Description::new(&[7, 9])
        .dtype(Dtype::F64)
        .spacing(0.5)
        .time_step(0.05)
        .derivative("laplace", "laplace", 2)
        .field(
            FieldText::new("u", "if(x == 2 and y == 1.5, 1, 0)", "u + dt*laplace(u)")
                .boundary("edge"),
        )
}

#[test]
fn mass_is_kept_and_the_largest_value_falls() {
    let description = heat()
        .total("mass", "sum(u)*h^2")
        .total("hottest", "max(u)")
        .total_where("left", "mean(u)", "x < 1")
        .total("both", "mass + hottest")
        .receiver("u", &[3, 4]);
    let system = System::new(&description, Path::new("")).unwrap();
    for receivers in [true, false] {
        let mut system = system.clone();
        if !receivers {
            system.receivers.clear();
            system.traces.clear();
        }
        let mut simulation = SystemSimulation::new(&system).unwrap().with_series(5).unwrap();
        simulation.step(12).unwrap();
        simulation.checked_step().unwrap();
        simulation.step(3).unwrap();
        let rows = simulation.series();
        let steps: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        assert_eq!(steps, [0.0, 5.0, 10.0, 15.0]);
        for (before, after) in rows.iter().zip(&rows[1..]) {
            assert!((before[2] - 0.25).abs() < 1e-15 && after[3] < before[3], "{rows:?}");
            assert_eq!(after[5], after[2] + after[3]);
            assert!(after[4] > before[4]);
        }
        assert_eq!(rows[1][1], 0.25);
    }
}

/// The growth of a population whose food is shared: an equation of a mean.
#[test]
fn a_total_limits_growth() {
    let description = Description::new(&[10])
        .dtype(Dtype::F64)
        .time_step(0.1)
        .field(FieldText::new("u", "0.1 + 0.01*x", "u + dt*u*(1 - crowd)"))
        .total("crowd", "mean(u)")
        .end("crowd > 0.999");
    let system = System::new(&description, Path::new("")).unwrap();
    let mut simulation = SystemSimulation::new(&system).unwrap();
    // The total of later steps is unknown, so no growth is foreseen.
    assert!(simulation.predict_growth(100).is_none());
    let mut u: Vec<f64> = (0..10).map(|x| 0.1 + 0.01 * f64::from(x)).collect();
    for _ in 0..200 {
        let mean = u.iter().sum::<f64>() / 10.0;
        assert_eq!(simulation.has_ended().unwrap(), mean > 0.999);
        simulation.step(1).unwrap();
        u.iter_mut().for_each(|u| *u += 0.1 * *u * (1.0 - mean));
    }
    let grid = simulation.field("u").unwrap();
    for (x, u) in u.iter().enumerate() {
        assert!((grid.get(x) - u).abs() < 1e-13, "{x}: {} {u}", grid.get(x));
    }
    assert!(simulation.has_ended().unwrap());
}

/// A run that goes on from what a checkpoint keeps of another one has its rows; one that had none begins with its own.
#[test]
fn rows_of_totals_go_on_with_a_run() {
    let system = System::new(&heat().total("mass", "sum(u)"), Path::new("")).unwrap();
    let begun = |series: bool| {
        let simulation = SystemSimulation::new(&system).unwrap();
        if series { simulation.with_series(4).unwrap() } else { simulation }
    };
    let mut whole = begun(true);
    whole.step(18).unwrap();
    for (done, series) in [(8, true), (10, true), (10, false)] {
        let mut first = begun(series);
        first.step(done).unwrap();
        let mut left = {
            let mut snapshot = first.snapshot();
            let (shape, region) = (snapshot.shape(), Region::whole(snapshot.shape()));
            let names = snapshot.arrays().into_iter().enumerate();
            let grid = |(array, name)| {
                (name, Grid { shape, values: snapshot.read(array, region).unwrap() })
            };
            let arrays = names.map(grid).collect();
            let records = Vec::new();
            SystemState {
                step: done,
                arrays,
                records,
                series: Vec::new(),
                rows_of: String::new(),
                clock: None,
            }
        };
        left.series = first.snapshot().series().to_vec();
        left.rows_of = first.snapshot().rows_of();
        let after = SystemSimulation::resumed(&system, &ComputeOptions::default(), left).unwrap();
        assert!(after.series().is_empty());
        let mut after = after.with_series(4).unwrap();
        after.step(18 - done).unwrap();
        let steps: Vec<f64> = after.series().iter().map(|row| row[0]).collect();
        match series {
            true => assert_eq!(after.series(), whole.series(), "{done}"),
            false => assert_eq!(steps, [10.0, 12.0, 16.0]),
        }
    }
}

/// A total that is made of others is found with them, whichever comes first.
#[test]
fn a_variance_is_made_of_a_mean() {
    let description = heat()
        .total("variance", "mean((u - m)^2)")
        .total_where("above", "sum(u - m)", "u > m")
        .total("m", "mean(u)")
        .total("skewness", "mean(((u - m)/sqrt(variance))^3)");
    let system = System::new(&description, Path::new("")).unwrap();
    assert_eq!(system.totals.looks(), 3);
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let simulation = SystemSimulation::on(&system, engine).unwrap();
        let mut simulation = simulation.with_series(2).unwrap();
        simulation.step(4).unwrap();
        let grid = simulation.field("u").unwrap();
        let u: Vec<f64> = (0..63).map(|index| grid.get(index)).collect();
        let mean = |of: &dyn Fn(f64) -> f64| u.iter().map(|u| of(*u)).sum::<f64>() / 63.0;
        let m = mean(&|u| u);
        let variance = mean(&|u| (u - m).powi(2));
        let above = 63.0 * mean(&|u| if u > m { u - m } else { 0.0 });
        let skewness = mean(&|u| ((u - m) / variance.sqrt()).powi(3));
        let rows = simulation.series();
        assert_eq!(rows.len(), 3);
        for (found, expected) in rows[2][2..].iter().zip([variance, above, m, skewness]) {
            assert!((found - expected).abs() <= 1e-14 * expected.abs(), "{found} {expected}");
        }
    }
    let circle = |a: &str, b: &str| {
        let description = heat().total("a", a).total("b", b);
        System::new(&description, Path::new("")).unwrap_err().to_string()
    };
    let found = circle("sum(u - b)", "mean(u^2) + a");
    assert!(found.contains("this total depends on itself: 'a', of 'b', of 'a'"), "{found}");
    let found = circle("sum(u - a)", "mean(u)");
    assert!(found.contains("this total depends on itself: 'a', of 'a'"), "{found}");
}

/// What a wrong total is told.
#[test]
fn a_wrong_total_is_told_with_its_place() {
    let told = |total: &str| {
        let description = heat().total("m", total);
        System::new(&description, Path::new("")).unwrap_err().to_string()
    };
    for (total, why) in [
        ("u", "'u' cannot stand in a total outside of a sum over the grid"),
        ("sum(max(u))", "a sum over the grid cannot contain another one"),
        ("sum(u", "this ( is not closed"),
        ("sum(new(u))", "cannot stand in what is summed over the grid"),
        ("sum(u, 2)", "'sum' takes 1 argument, not 2"),
        ("x + sum(u)", "'x' cannot stand in a total"),
        ("summ(u)", "there is no 'summ'"),
        ("2*t", "a total needs a sum over the grid"),
    ] {
        let found = told(total);
        assert!(found.contains(why), "{total}: {found}");
    }
    for (name, why) in
        [("h", "'h' is a number that every system has"), ("t", "'t' is a value that")]
    {
        let found = System::new(&heat().total(name, "sum(u)"), Path::new("")).unwrap_err();
        assert!(found.to_string().contains(why), "{found}");
    }
    let mut side = heat().total("m", "sum(u)");
    side.fields[0] = FieldText::new("u", "1", "u + dt*laplace(u)").boundary("x-:value=m");
    let found = System::new(&side, Path::new("")).unwrap_err().to_string();
    assert!(found.contains("this reads a field, a coefficient or a total"), "{found}");
    let sums = heat().term("energy", "sum(u^2)");
    let found = System::new(&sums, Path::new("")).unwrap_err().to_string();
    assert!(found.contains("there is no 'sum'"), "{found}");
    let max = heat().term("high", "max(u)");
    let found = System::new(&max, Path::new("")).unwrap_err().to_string();
    assert!(found.contains("'max' takes 2 arguments, not 1"), "{found}");
}

/// Rows of other totals, or of other steps, are none of a run that goes on.
#[test]
fn rows_of_other_totals_are_left_out() {
    let of = |total: &str| {
        let description = Description::new(&[12]).field(FieldText::new("u", "x", "0.5*u"));
        System::new(&description.total("mass", total), Path::new("")).unwrap()
    };
    let rows = |total: &str, every: usize| {
        let system = of("sum(u)");
        let first = SystemSimulation::new(&system).unwrap();
        let mut first = first.with_series(2).unwrap();
        first.step(4).unwrap();
        assert_eq!(first.series().len(), 3);
        let (series, rows_of) = (first.series().to_vec(), first.snapshot().rows_of());
        let arrays = first.snapshot().arrays();
        let arrays = arrays.into_iter().map(|name| (name, first.field("u").unwrap())).collect();
        let left = SystemState { step: 4, arrays, records: vec![], series, rows_of, clock: None };
        let next = SystemSimulation::resumed(&of(total), &ComputeOptions::default(), left).unwrap();
        next.with_series(every).unwrap().series().len()
    };
    assert_eq!(rows("sum(u)", 2), 3);
    assert_eq!(rows("sum(u)", 4), 1);
    assert_eq!(rows("2*sum(u)", 2), 1);
}
