// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fits the planner's efficiencies to what `gpu-candidates` measured, and prints them as
//! `compute/data/calibration.toml` has them; on stderr, how far predictions are off. Needs no GPU.

use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use stencil::families::cost::Cost;
use stencil::families::find;
use stencil::plan::calibration::{Calibration, Efficiency, RimEfficiency};
use stencil::plan::{RunTarget, on_gpu};
use stencil::{Boundary, Depth, Job, Shape};
use transform::catalogue;
use transform::machine::Machine;

/// Fit the planner to measurements.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What `gpu-candidates` printed, a file for each GPU, called as `host plan --machine` calls it: h200.csv
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Kernels to fit, also for points near the boundary, by how their names start; all others stay as the program
    /// has them
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Commit of the kernels
    #[arg(long)]
    commit: String,
    /// Version of the driver
    #[arg(long)]
    driver: String,
    /// Year, month and day of the measurement
    #[arg(long)]
    date: String,
}

/// How often kernels and those for points near the boundary are fitted in turns.
const ROUNDS: usize = 10;

/// Starts of the first search; later ones go on from what was found.
const STARTS: usize = 12;

/// A line of `gpu-candidates`.
#[derive(Deserialize)]
struct Line {
    stencil: String,
    shape: String,
    dtype: String,
    boundary: String,
    engine: String,
    kernel: String,
    fuse: usize,
    chain: usize,
    seconds_per_step: f64,
}

/// A measured candidate with what it costs.
struct Sample {
    machine: &'static Machine,
    cost: Cost,
    seconds: f64,
    name: String,
    /// What is computed: stencil, grid, type, sides.
    problem: String,
    /// Whether it is far from square: of few rows, which says little of other grids of its size.
    is_narrow: bool,
}

impl Sample {
    /// Predicted seconds of a step.
    fn predicted(&self, calibration: &Calibration) -> f64 {
        calibration.seconds_per_step(&self.cost, self.machine)
    }
}

/// Runs the command.
pub fn run(arguments: Arguments) {
    let samples: Vec<Sample> = arguments.files.iter().flat_map(|file| read(file)).collect();
    let machines: BTreeSet<&str> = samples.iter().map(|one| &*one.machine.name).collect();
    let mut calibration = Calibration {
        machines: machines.into_iter().map(str::to_owned).collect(),
        commit: arguments.commit,
        driver: arguments.driver,
        date: arguments.date,
        kernels: BTreeMap::new(),
        rims: BTreeMap::new(),
    };
    if !arguments.only.is_empty() {
        let classes = |one: &Sample| {
            let rim = one.cost.rim.as_ref().map(|rim| rim.class(one.cost.dims));
            [Some(one.cost.class.clone()), rim]
        };
        let sampled: BTreeSet<String> = samples.iter().flat_map(classes).flatten().collect();
        let is_fitted = |class: &str| {
            let is_named = arguments.only.iter().any(|start| class.starts_with(start));
            is_named && sampled.contains(class)
        };
        let Calibration { kernels, rims, .. } = Calibration::built_in().clone();
        calibration.kernels = kernels;
        calibration.kernels.retain(|class, _| !is_fitted(class));
        calibration.rims = rims;
        calibration.rims.retain(|class, _| !is_fitted(class));
    }
    let known = calibration.clone();
    for sample in &samples {
        let start = Efficiency {
            start_us: 2.0,
            start_each_us: 0.0,
            cached: 1.5,
            streamed: 0.9,
            cycles: 20.0,
            cycles_each: 0.0,
            sizes: Vec::new(),
        };
        calibration.kernels.entry(sample.cost.class.clone()).or_insert(start);
        if let Some(rim) = &sample.cost.rim {
            let start = RimEfficiency { start_us: 1.0, step_us: 0.3, in_a_cycle: 100.0 };
            calibration.rims.entry(rim.class(sample.cost.dims)).or_insert(start);
        }
    }
    for round in 0..ROUNDS {
        let starts = if round == 0 { STARTS } else { 1 };
        fit_rims(&mut calibration, &known, &samples, starts);
        fit_kernels(&mut calibration, &known, &samples, starts);
    }
    fit_sizes(&mut calibration, &known, &samples);
    report(&calibration, &samples);
    regret(&calibration, &samples);
    print!("{}", toml::to_string(&calibration).expect("plain data"));
}

fn read(path: &Path) -> Vec<Sample> {
    let key = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let known = Machine::known().iter().find(|known| known.key == key);
    let machine = &known.expect("the file is called after a GPU that is described").machine;
    let mut reader = csv::Reader::from_path(path).expect("a file that can be read");
    let lines = reader.deserialize().map(|line| line.expect("a line of gpu-candidates"));
    lines.filter_map(|line| sample(line, machine)).collect()
}

/// What a line says, if the planner still has the candidate.
fn sample(line: Line, machine: &'static Machine) -> Option<Sample> {
    let stencil = catalogue::find(&line.stencil).expect("a name of the catalogue");
    let shape: Shape = line.shape.parse().expect("a grid");
    // Kernels of `direct` are not named after their family, and had no names once.
    let family = line.kernel.split('_').next().and_then(|name| find(name).ok());
    let direct = (line.engine == "cuda").then_some("direct");
    let family = family.map(|family| family.name()).or(direct);
    let dtype = line.dtype.parse().expect("an element type");
    let (fuse, chain) = (Depth::Steps(line.fuse), Depth::Steps(line.chain));
    let boundary = Boundary::parse(&line.boundary, shape.dims()).expect("a boundary");
    let job = Job::new(stencil, shape, dtype, 1 << 20);
    let job = Job { boundary, fuse, chain, kernel: family, ..job };
    let planned = on_gpu(&RunTarget::described(machine.clone()), &job);
    let found = planned.ranked.into_iter().find(|candidate| {
        let of_engine = candidate.engine == line.engine;
        of_engine && (line.kernel.is_empty() || candidate.kernel == line.kernel)
    })?;
    let problem =
        format!("{} {shape} {} {} {}", line.stencil, line.dtype, line.boundary, machine.name);
    let name = format!("{} fuse {} chain {}", found.kernel, line.fuse, line.chain);
    let is_narrow = shape.dims() == 2 && 100 * shape.extents()[1] < shape.extents()[2];
    let seconds = line.seconds_per_step;
    Some(Sample { machine, cost: found.cost?, seconds, name, problem, is_narrow })
}

/// The mean of how far off predictions are, as logarithms.
fn off<'a>(calibration: &Calibration, samples: impl Iterator<Item = &'a Sample>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for sample in samples {
        let predicted = sample.predicted(calibration);
        let ratio = (predicted / sample.seconds).ln();
        sum += ratio * ratio / (1.0 + ratio.abs());
        count += 1.0;
    }
    sum / f64::max(count, 1.0)
}

/// Each kernel that is not known by the samples in which it is alone; where there are few, by all of its samples.
fn fit_kernels(
    calibration: &mut Calibration,
    known: &Calibration,
    samples: &[Sample],
    starts: usize,
) {
    let names: Vec<String> = calibration.kernels.keys().cloned().collect();
    for name in names.into_iter().filter(|name| !known.kernels.contains_key(name)) {
        let own: Vec<&Sample> = samples.iter().filter(|one| one.cost.class == name).collect();
        let alone: Vec<&Sample> =
            own.iter().copied().filter(|one| one.cost.rim.is_none()).collect();
        let by_table = own.iter().any(|one| one.cost.work > 0.0);
        let own = if alone.len() >= 4 && !by_table { alone } else { own };
        let now = &calibration.kernels[&name];
        let start = match starts {
            1 => [
                now.start_us,
                now.cached,
                now.streamed,
                now.cycles,
                now.cycles_each.max(1e-6),
                now.start_each_us.max(1e-6),
            ],
            _ => [3.0, 1.5, 0.9, 10.0, 4.0, 0.02],
        };
        let mut value = |p: &[f64]| {
            let efficiency = Efficiency {
                start_us: p[0],
                cached: p[1].max(p[2]),
                streamed: p[2],
                cycles: p[3],
                cycles_each: if by_table { p[4] } else { 0.0 },
                start_each_us: if by_table { p[5] } else { 0.0 },
                sizes: Vec::new(),
            };
            *calibration.kernels.get_mut(&name).expect("it has an entry") = efficiency;
            off(calibration, own.iter().copied())
        };
        let best = search(&start, starts, &mut value);
        value(&best);
    }
}

fn fit_rims(calibration: &mut Calibration, known: &Calibration, samples: &[Sample], starts: usize) {
    let names: Vec<String> = calibration.rims.keys().cloned().collect();
    for name in names.into_iter().filter(|name| !known.rims.contains_key(name)) {
        let is_own = |one: &&Sample| {
            one.cost.rim.as_ref().is_some_and(|rim| rim.class(one.cost.dims) == name)
        };
        let own: Vec<&Sample> = samples.iter().filter(is_own).collect();
        let now = &calibration.rims[&name];
        let start = match starts {
            1 => [now.start_us, now.step_us, now.in_a_cycle],
            _ => [3.0, 0.7, 20.0],
        };
        let mut value = |p: &[f64]| {
            *calibration.rims.get_mut(&name).expect("it has an entry") =
                RimEfficiency { start_us: p[0], step_us: p[1], in_a_cycle: p[2] };
            off(calibration, own.iter().copied())
        };
        let best = search(&start, starts, &mut value);
        value(&best);
    }
}

/// What the fits miss by the size of the grid.
fn fit_sizes(calibration: &mut Calibration, known: &Calibration, samples: &[Sample]) {
    let mut found: BTreeMap<&str, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    let is_fitted = |one: &&Sample| !one.is_narrow && !known.kernels.contains_key(&one.cost.class);
    for sample in samples.iter().filter(is_fitted) {
        let missed = sample.seconds / sample.predicted(calibration);
        let sizes = found.entry(&sample.cost.class).or_default();
        sizes.entry(sample.cost.points as u64).or_default().push(missed);
    }
    for (class, sizes) in found {
        let factor = |(points, mut missed): (u64, Vec<f64>)| {
            missed.sort_by(f64::total_cmp);
            let factor = missed[missed.len() / 2];
            [points as f64, (1e3 * factor).round() / 1e3]
        };
        let sizes = sizes.into_iter().map(factor).collect();
        calibration.kernels.get_mut(class).expect("it has an entry").sizes = sizes;
    }
}

/// Positive numbers with the least value, from several starts, one number after the other.
fn search(start: &[f64], starts: usize, value: &mut impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut best = (f64::INFINITY, start.to_vec());
    for trial in 0..starts {
        let mut at = start.to_vec();
        if trial > 0 {
            at.iter_mut().for_each(|number| *number *= random.random_range(-2.5f64..2.5).exp());
        }
        let mut least = value(&at);
        let mut step = 2.0f64;
        while step > 1.01 {
            let mut better = false;
            for index in 0..at.len() {
                for change in [step, 1.0 / step] {
                    let mut next = at.clone();
                    next[index] *= change;
                    let found = value(&next);
                    if found < least - 1e-9 {
                        (least, at, better) = (found, next, true);
                    }
                }
            }
            if !better {
                step = step.sqrt();
            }
        }
        if least < best.0 {
            best = (least, at);
        }
    }
    best.1
}

fn report(calibration: &Calibration, samples: &[Sample]) {
    let mut all: Vec<(f64, &Sample, f64)> = samples
        .iter()
        .map(|sample| {
            let predicted = sample.predicted(calibration);
            ((predicted / sample.seconds).ln(), sample, predicted)
        })
        .collect();
    all.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let at = |part: f64| all[((all.len() - 1) as f64 * part) as usize].0.abs().exp() - 1.0;
    eprintln!(
        "{} samples: off by {:.1} % (median), {:.1} % (90 of 100), {:.1} % (99 of 100), {:.1} % (all)",
        all.len(),
        100.0 * at(0.5),
        100.0 * at(0.9),
        100.0 * at(0.99),
        100.0 * at(1.0)
    );
    for (ratio, sample, predicted) in all.iter().rev().take(40) {
        eprintln!(
            "{:+.2} {} {} predicted {predicted:.2e} measured {:.2e}",
            ratio, sample.problem, sample.name, sample.seconds
        );
    }
}

/// How much slower than the best one measured what the planner takes is, and how far off its prediction.
fn regret(calibration: &Calibration, samples: &[Sample]) {
    let mut problems: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        problems.entry(&sample.problem).or_default().push(sample);
    }
    let mut regrets = Vec::new();
    let mut errors = Vec::new();
    for (problem, samples) in problems {
        let seconds = |one: &Sample| one.predicted(calibration);
        let taken = samples.iter().copied().min_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let best = samples.iter().copied().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let (taken, best) = (taken.expect("a sample"), best.expect("a sample"));
        regrets.push((taken.seconds / best.seconds, problem, taken, best));
        errors.push((seconds(taken) / taken.seconds).ln().abs().exp() - 1.0);
    }
    regrets.sort_by(|a, b| b.0.total_cmp(&a.0));
    errors.sort_by(f64::total_cmp);
    let within = |most: f64| regrets.iter().filter(|(regret, ..)| *regret <= most).count();
    eprintln!(
        "{} problems: taken within 1.05 of the best in {}, 1.1 in {}, 1.3 in {}; predictions of what is taken \
         off by {:.1} % (median), {:.1} % (90 of 100), {:.1} % (worst)",
        regrets.len(),
        within(1.05),
        within(1.1),
        within(1.3),
        100.0 * errors[errors.len() / 2],
        100.0 * errors[errors.len() * 9 / 10],
        100.0 * errors[errors.len() - 1]
    );
    for (regret, problem, taken, best) in regrets.iter().take(40) {
        eprintln!(
            "{regret:.2} {problem}: {} {:.2e} predicted {:.2e}; best {} {:.2e} predicted {:.2e}",
            taken.name,
            taken.seconds,
            taken.predicted(calibration),
            best.name,
            best.seconds,
            best.predicted(calibration)
        );
    }
}
