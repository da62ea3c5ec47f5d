// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the conformance cases of every kernel on a GPU and compares every point with the emulator; then
//! whole computations, the catalogue's and random ones, and compares every point with the plain stencil.
//! Exit codes: 0 all agree, 1 one does not, 3 no GPU.

use clap::{Parser, ValueEnum};
use host::Error;
use host::device::sweep2d::{Bands, Config, Sweep};
use host::device::{Chip, Gpu, Pass, Plane, chain2d::Chain};
use kernels_gpu::chain2d::Inner;
use kernels_gpu::{chain3d, sweep3d};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::process::ExitCode;
use tests::cases::{Case, Difference, Kernel, cases};
use tests::whole::{self, Outcome, Whole};
use tests::{cases_chain3d, cases3d, gather};
use transform::window::window;

/// Compare every kernel on this machine's GPU with its emulation
#[derive(Parser)]
#[command(name = "gpu-suite", version)]
struct Arguments {
    /// Run only so many cases of each kernel, such as 2 under a sanitizer
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    cases: usize,
    /// Run only these, separated by commas
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Random computations to run
    #[arg(long, value_name = "N", default_value_t = 1000)]
    random: usize,
    /// Of the first random computation, and of the grids of the catalogue's
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// A part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Every kernel against its emulation
    Kernels,
    /// Every stencil of the catalogue, in every type, at several boundaries
    Catalogue,
    /// Random stencils on random grids
    Random,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}\n  help: {}", error.help());
            ExitCode::from(error.exit_code())
        }
    }
}

/// Runs the parts that were asked for, all if none were; whether all results hold.
fn run(arguments: &Arguments) -> Result<bool, Error> {
    // Kept open, because opening the first one takes long.
    let gpu = Gpu::open()?;
    println!("{}", gpu.describe());
    let asked = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut holds = true;
    if asked(Part::Kernels) {
        holds &= kernels(&gpu, arguments)?;
    }
    if asked(Part::Catalogue) {
        holds &= wholes("the catalogue", &whole::catalogue(arguments.seed));
    }
    if asked(Part::Random) {
        holds &= wholes("random stencils", &whole::random(arguments.random, arguments.seed));
    }
    println!("{}", if holds { "all cases agree" } else { "FAILED" });
    Ok(holds)
}

/// Whole computations, some at a time; prints those that fail and what became of all.
fn wholes(name: &str, all: &[Whole]) -> bool {
    let outcomes: Vec<_> = all.par_iter().map(|whole| (whole, whole.run())).collect();
    let (mut compared, mut refused, mut outgrown, mut failed) = (0, 0, 0, 0);
    let mut worst = 0.0f64;
    let mut kernels: BTreeMap<String, usize> = BTreeMap::new();
    for (whole, outcome) in outcomes {
        match outcome {
            Ok(Outcome::Compared(of_bound, kernel)) => {
                compared += 1;
                worst = worst.max(of_bound);
                *kernels.entry(kernel.unwrap_or("on CUDA cores".into())).or_default() += 1;
                if of_bound > 1.0 {
                    failed += 1;
                    println!("FAILED: {whole}: {of_bound:.3} of the bound");
                }
            }
            Ok(Outcome::Refused(_)) => refused += 1,
            Ok(Outcome::Outgrown) => outgrown += 1,
            Err(error) => {
                failed += 1;
                println!("FAILED: {whole}: {error}");
            }
        }
    }
    println!(
        "{name}: {compared} compared at every point, {worst:.2} of the bound; {refused} refused, \
         {outgrown} outgrow their type; {failed} FAILED"
    );
    for (kernel, count) in kernels {
        println!("    {kernel:24} {count:>6}");
    }
    failed == 0
}

/// Prints a line for each kernel; whether all results hold.
fn kernels(gpu: &Gpu, arguments: &Arguments) -> Result<bool, Error> {
    println!(
        "{:20} {:>6} {:>9} | {:>6} {:>9} {:>9} {:>5} {:>9} {:>9}",
        "kernel", "exact", "differ", "random", "points", "differ", "ulps", "error", "of bound"
    );
    let mut holds = true;
    let loaded = |kernel: &Kernel| gpu.chip() != Some(Chip::Sm80) || kernel.runs_on_sm_80();
    for kernel in Kernel::all().into_iter().filter(loaded) {
        let cases: Vec<Case> = cases(kernel).into_iter().take(arguments.cases).collect();
        let emulated: Result<Vec<Vec<f64>>, _> = cases.par_iter().map(Case::emulate).collect();
        let (mut sums, mut count) = ([Difference::default(); 2], [0; 2]);
        for (case, want) in cases.iter().zip(emulated?) {
            let difference = case.compare(&on_gpu(gpu, case)?, &want);
            let class = usize::from(!case.exact);
            sums[class] = sums[class].and(difference);
            count[class] += 1;
            if !difference.holds() {
                holds = false;
                let Case { ny, nx, launches, exact, .. } = case;
                println!(
                    "FAILED: {kernel} on {ny}x{nx}, {launches} launches, exact: {exact}: \
                     {difference:?}"
                );
            }
        }
        let [exact, random] = sums;
        println!(
            "{kernel:20} {:>6} {:>9} | {:>6} {:>9} {:>9} {:>5} {:>9.1e} {:>9.2}",
            count[0],
            exact.differ,
            count[1],
            random.points,
            random.differ,
            random.ulps,
            random.error,
            random.of_bound
        );
    }
    if gpu.chip() != Some(Chip::Sm80) {
        holds &= sweeps_3d(gpu, arguments.cases)?;
        holds &= chains_3d(gpu, arguments.cases)?;
    }
    holds &= gathers(gpu, arguments.cases)?;
    Ok(holds)
}

/// As [`run`], for the 3D sweeps.
fn sweeps_3d(gpu: &Gpu, most: usize) -> Result<bool, Error> {
    let cases = cases3d::cases();
    let mut holds = true;
    for kernel in sweep3d::KERNELS {
        let cases = cases.iter().filter(|case| case.launch.kernel.name == kernel.name);
        let cases: Vec<_> = cases.take(most).collect();
        let emulated: Result<Vec<_>, _> = cases.par_iter().map(|case| case.emulate()).collect();
        let compare = |(case, want): (&&cases3d::Case, Vec<u16>)| {
            let of_bound = case.compare(&case.on_gpu(gpu)?, &want);
            Ok((of_bound, format!("{:?}, exact: {}", case.launch, case.exact)))
        };
        holds &= judge(kernel.name, cases.iter().zip(emulated?).map(compare))?;
    }
    Ok(holds)
}

/// As [`run`], for the chained steps of 3D stars.
fn chains_3d(gpu: &Gpu, most: usize) -> Result<bool, Error> {
    let cases = cases_chain3d::cases();
    let mut holds = true;
    for kernel in chain3d::KERNELS {
        let cases = cases.iter().filter(|case| case.launch.kernel.name == kernel.name);
        let cases: Vec<_> = cases.take(most).collect();
        let emulated: Result<Vec<_>, _> = cases.par_iter().map(|case| case.emulate()).collect();
        let compare = |(case, want): (&&cases_chain3d::Case, Vec<u16>)| {
            let of_bound = case.compare(&case.on_gpu(gpu)?, &want);
            Ok((of_bound, format!("{:?}, exact: {}", case.launch, case.exact)))
        };
        holds &= judge(kernel.name, cases.iter().zip(emulated?).map(compare))?;
    }
    Ok(holds)
}

/// Prints what the cases of a kernel gave: the part of the bound that each differs by, and what it is.
fn judge(
    kernel: &str,
    results: impl Iterator<Item = Result<(f64, String), Error>>,
) -> Result<bool, Error> {
    let (mut worst, mut count, mut holds) = (0.0f64, 0, true);
    for result in results {
        let (of_bound, case) = result?;
        (worst, count) = (worst.max(of_bound), count + 1);
        if of_bound.is_nan() || of_bound > 1.0 {
            holds = false;
            println!("FAILED: {case}: {of_bound} of the bound");
        }
    }
    println!("{kernel:20} {count:>6} cases, {worst:.2} of the bound");
    Ok(holds)
}

/// As [`run`], for the gather kernels, of which the plain stencil is the measure.
fn gathers(gpu: &Gpu, most: usize) -> Result<bool, Error> {
    let cases = gather::cases();
    let mut holds = true;
    for kernel in gather::entries() {
        let cases = cases.iter().filter(|case| case.kernel() == kernel);
        let compare = |case: &gather::Case| {
            let (of_bound, point) = case.of_bound(&case.on_gpu(gpu)?);
            Ok((of_bound, format!("{case}: point {point:?}")))
        };
        holds &= judge(&kernel, cases.take(most).map(compare))?;
    }
    Ok(holds)
}

/// The result of a case on the GPU.
fn on_gpu(gpu: &Gpu, case: &Case) -> Result<Vec<f64>, Error> {
    let &Case { kernel, ny, nx, stages, launches, .. } = case;
    let window = window(&case.stencil).expect("a stencil of radius 1 to 3");
    let factors = kernel.dtype().factors().expect("a type of tensor cores");
    let input = case.grid();
    let plane = || Plane::new(gpu, input.shape, kernel.dtype());
    let mut planes = [plane()?, plane()?];
    planes[1].poison()?;
    planes[0].upload(&input)?;
    let turns = [&planes[0], &planes[1]];
    match kernel {
        Kernel::Sweep2d { .. } => {
            let config = Config {
                stages: stages.input,
                blocks_per_multiprocessor: 2,
                tile_rows: case.tile_rows(),
            };
            // As close behind each other as steps can be.
            let bands = Bands { config, depth: case.depth, lag: Some(0), separate: false };
            let sweep = Sweep::new(gpu, &window, factors, [ny, nx], config, bands)?;
            sweep.repeat(gpu, turns, launches)?;
            gpu.wait()?;
        }
        Kernel::Chain2d { chain, .. } => {
            let element = factors.element().expect("as a kernel takes");
            let (chain, inner) = (chain as usize, Inner::all(ny, nx));
            let chain = Chain::new(gpu, element, &window, chain, [ny, nx], stages, inner)?;
            chain.repeat(gpu, turns, launches)?;
            gpu.wait()?;
        }
    }
    let output = planes[launches % 2].download()?;
    Ok((0..input.shape.points()).map(|index| output.get(index)).collect())
}
