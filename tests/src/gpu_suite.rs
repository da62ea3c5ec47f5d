// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the conformance cases of every kernel on a GPU and compares every point with the emulator, of most
//! kernels also with the plain stencil; then whole computations, the catalogue's and random ones, and
//! compares every point with the plain stencil. Exit codes: 0 all agree, 1 one does not, 3 no GPU.

use crate::computations::{self, Computation, ComputationOutcome};
use crate::suite::{Difference, TestCase};
use crate::{
    cases, cases_chain3d, cases_direct, cases_rim, cases3d, families, gather, jumps, rows,
};
use clap::{Args, ValueEnum};
use cuda_sim::Fault;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::process::ExitCode;
use stencil::Error;
use stencil::device::{Chip, Device, Gpu};

/// Compare every kernel on this machine's GPU with its emulation
#[derive(Args, Debug)]
pub struct Arguments {
    /// Run only so many cases of each kernel, such as 2 under a sanitizer
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    cases: usize,
    /// Run only kernels whose names begin so, such as temporal3d
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    kernel: String,
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

/// Runs what is asked for, and says by the exit code whether all cases agree.
#[must_use]
pub fn run(arguments: &Arguments) -> ExitCode {
    match compare(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => stencil::cli::fail(&error.into()),
    }
}

/// Runs the parts that were asked for, all if none were; whether all results hold.
fn compare(arguments: &Arguments) -> Result<bool, Error> {
    // Kept open, because opening the first one takes long.
    let gpu = Gpu::open()?;
    println!("{}", gpu.describe());
    let asked = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut holds = true;
    if asked(Part::Kernels) {
        holds &= kernels(&gpu, arguments)?;
    }
    if asked(Part::Catalogue) {
        holds &= wholes("the catalogue", &computations::catalogue(arguments.seed));
    }
    if asked(Part::Random) {
        holds &= wholes("random stencils", &computations::random(arguments.random, arguments.seed));
    }
    println!("{}", if holds { "all cases agree" } else { "FAILED" });
    Ok(holds)
}

/// Whole computations, some at a time; prints those that fail and what became of all.
fn wholes(name: &str, all: &[Computation]) -> bool {
    let outcomes: Vec<_> = all.par_iter().map(|whole| (whole, whole.run())).collect();
    let (mut compared, mut refused, mut outgrown, mut failed) = (0, 0, 0, 0);
    let mut worst = 0.0f64;
    let mut kernels: BTreeMap<String, usize> = BTreeMap::new();
    for (whole, outcome) in outcomes {
        match outcome {
            Ok(ComputationOutcome::Compared(of_bound, kernel)) => {
                compared += 1;
                worst = worst.max(of_bound);
                *kernels.entry(kernel.unwrap_or("on CUDA cores".into())).or_default() += 1;
                if of_bound > 1.0 {
                    failed += 1;
                    println!("FAILED: {whole}: {of_bound:.3} of the bound");
                }
            }
            Ok(ComputationOutcome::Refused(_)) => refused += 1,
            Ok(ComputationOutcome::Outgrown) => outgrown += 1,
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

/// Runs the cases of every family; whether all results hold.
fn kernels(gpu: &Gpu, asked: &Arguments) -> Result<bool, Error> {
    println!("{:22} {:>6} {:>9} {:>9} {:>9}", "kernel", "cases", "points", "differ", "of bound");
    let mut holds = run_cases(gpu, cases::all(), asked)?;
    holds &= run_cases(gpu, cases3d::cases(), asked)?;
    holds &= run_cases(gpu, cases_chain3d::cases(), asked)?;
    holds &= run_cases(gpu, rows::cases(), asked)?;
    holds &= run_cases(gpu, gather::cases(), asked)?;
    holds &= run_cases(gpu, cases_direct::cases(), asked)?;
    holds &= run_cases(gpu, cases_rim::cases(), asked)?;
    println!("every family, by its own samples:");
    holds &= run_cases(gpu, families::cases(), asked)?;
    println!("jumps, rim and all:");
    holds &= run_cases(gpu, jumps::cases(), asked)?;
    Ok(holds)
}

/// Runs at most so many cases as asked for of each kernel that the GPU has, and prints a line for each: points, how many
/// have other bits than in the emulator, and the largest part of what rounding explains.
fn run_cases<C: TestCase>(gpu: &Gpu, cases: Vec<C>, asked: &Arguments) -> Result<bool, Error> {
    let mut kernels: BTreeMap<String, Vec<C>> = BTreeMap::new();
    for case in cases {
        let exists = gpu.chip() != Some(Chip::Sm80) || case.runs_on_sm_80();
        if exists && case.kernel().starts_with(&asked.kernel) {
            kernels.entry(case.kernel()).or_default().push(case);
        }
    }
    for cases in kernels.values_mut() {
        cases.truncate(asked.cases);
    }
    let mut holds = true;
    // The emulator takes far longer than the GPU: it is given as many kernels at a time as keep all cores busy.
    let kernels: Vec<(String, Vec<C>)> = kernels.into_iter().collect();
    for some in kernels.chunks(2 * rayon::current_num_threads()) {
        let emulate =
            |(_, cases): &(String, Vec<C>)| cases.par_iter().map(TestCase::emulate).collect();
        let emulated: Vec<Result<Vec<_>, Fault>> = some.par_iter().map(emulate).collect();
        for ((kernel, cases), emulated) in some.iter().zip(emulated) {
            let mut all = Difference::default();
            for (case, emulated) in cases.iter().zip(emulated?) {
                let difference = case.compare(&case.run(gpu)?, &emulated);
                all = all.and(difference);
                if !difference.holds() {
                    holds = false;
                    println!("FAILED: {case}: {difference:?}");
                }
            }
            let Difference { points, differ, of_bound } = all;
            println!("{kernel:22} {:>6} {points:>9} {differ:>9} {of_bound:>9.2}", cases.len());
        }
    }
    Ok(holds)
}
