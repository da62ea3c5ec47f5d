// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program `benches`: harnesses that time kernels, the conformance suite on a GPU, and what renews the pages of
//! measurements. One program, so that the kernels are in it once.

use std::process::ExitCode;

use benches::commands::{
    calibrate, criteria, crossover, gpu_candidates, gpu_chain, gpu_gather, gpu_rows, gpu_split,
    gpu_sweep, gpu_sweep3d, peers, performance, scaling,
};
use clap::{Parser, Subcommand};
use tests::gpu_suite;

/// Time kernels, compare them on this machine's GPU with their emulation, and renew pages of measurements
///
/// Exit codes: 0 done, 1 a measurement or comparison failed, 2 bad arguments, 3 no GPU.
#[derive(Parser)]
#[command(name = "benches", version)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Calibrate(calibrate::Arguments),
    Criteria(criteria::Arguments),
    Crossover(crossover::Arguments),
    GpuCandidates(gpu_candidates::Arguments),
    GpuChain(gpu_chain::Arguments),
    GpuGather(gpu_gather::Arguments),
    GpuRows(gpu_rows::Arguments),
    GpuSplit(gpu_split::Arguments),
    GpuSweep(gpu_sweep::Arguments),
    #[command(name = "gpu-sweep3d")]
    GpuSweep3d(gpu_sweep3d::Arguments),
    Peers(peers::Arguments),
    Performance(performance::Arguments),
    Scaling(scaling::Arguments),
    GpuSuite(gpu_suite::Arguments),
}

fn main() -> ExitCode {
    let command = Program::parse().command;
    if let Command::GpuSuite(arguments) = &command {
        return gpu_suite::run(arguments);
    }
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast::<stencil::Error>() {
            Ok(error) => stencil::cli::fail(&error.into()),
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            }
        },
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Criteria(arguments) => criteria::run(arguments)?,
        Command::Crossover(arguments) => crossover::run(arguments)?,
        Command::GpuCandidates(arguments) => gpu_candidates::run(arguments)?,
        Command::GpuChain(arguments) => gpu_chain::run(arguments)?,
        Command::GpuGather(arguments) => gpu_gather::run(arguments)?,
        Command::GpuRows(arguments) => gpu_rows::run(arguments)?,
        Command::GpuSplit(arguments) => gpu_split::run(arguments)?,
        Command::GpuSweep(arguments) => gpu_sweep::run(arguments)?,
        Command::GpuSweep3d(arguments) => gpu_sweep3d::run(arguments)?,
        Command::Peers(arguments) => peers::run(arguments)?,
        Command::Performance(arguments) => performance::run(arguments)?,
        Command::Scaling(arguments) => scaling::run(arguments)?,
        Command::GpuSuite(_) => unreachable!("it has an exit code of its own"),
    }
    Ok(())
}
