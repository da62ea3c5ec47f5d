// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of a computation, whatever it computes.

use std::path::PathBuf;

use clap::Args;

use super::choice::one_of;
use super::file_args::{FileArgs, Series};
use super::number::{steps, whole};
use super::sharing::SharingArgs;
use compute::engine::EngineRequest;
use compute::run::Time;
use problem::check::verify::Verify;
use problem::{Depth, Dtype};

/// How to compute, and what to do with the result.
#[derive(Args, Clone, Debug, Default)]
pub struct ComputationArgs {
    /// Points: N on every axis, or one number per axis, slowest first [default: those of the input, or of a system's file]
    #[arg(long, value_name = "N|NYxNX|NZxNYxNX", allow_hyphen_values = true)]
    pub size: Option<String>,
    /// Time steps [default: 1, or those of a system's file]; a warning tells from which step on values may outgrow the
    /// element type, and where a stencil is not made to be repeated
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub steps: Option<usize>,
    /// Element type of the grid [default: that of the input, the checkpoint or a system's file; else f32 where values are
    /// given or kept, by --weights, --start, --output, --every, --until or --checkpoint; else f16, for speed]
    #[arg(long, value_name = "TYPE", ignore_case = true, value_parser = one_of::<Dtype>())]
    pub dtype: Option<Dtype>,
    /// Of a system: other values of constants of its file, numbers or expressions: D=3,k=2*pi
    #[arg(long, value_name = "NAME=VALUE,...", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Of a system: the time of a step, a number or an expression, instead of that of its file
    #[arg(long, value_name = "DT", allow_hyphen_values = true)]
    pub dt: Option<String>,
    /// What computes
    #[arg(long, default_value = "auto", value_parser = one_of::<EngineRequest>())]
    pub engine: EngineRequest,
    /// Sweeps to chain on chip, of as many time steps each as --fuse says; of a system, steps to take in one launch of a GPU, or together on the CPU
    #[arg(long, value_name = "C|auto", default_value_t)]
    pub chain: Depth,
    /// Time steps to take at once by Fourier transforms, at most, with --engine fft or auto
    #[arg(long, value_name = "T|auto", default_value_t, value_parser = steps)]
    pub jump: Depth,
    /// The grid to start from: a .npy array, of which integers become f4 or f8; a grey .png, black 0 and
    /// white 1; - is standard input, as .npy. Random values in [0, 1) if not given. Of a system values of a field
    /// instead of its own start, with several fields FIELD=FILE,FIELD=FILE
    #[arg(long, value_name = "[FIELD=]FILE", conflicts_with = "resume")]
    pub input: Option<PathBuf>,
    /// Of a system: write what its receivers recorded, a row for the start and each step, with the time and a value for
    /// each, as .npy or else as .csv
    #[arg(long, value_name = "FILE")]
    pub receivers: Option<PathBuf>,
    /// Of a system: write its totals every K steps, a row with the step, the time and each total, as .npy or else as .csv
    /// [default: about a thousand rows]
    #[arg(long, value_name = "FILE[,K]", allow_hyphen_values = true)]
    pub series: Option<Series>,
    /// What to compare with the plain stencil in f64 [default: every point after all steps if that
    /// takes about a second, else a sample]; of a system, which steps with f64: full, every one at every point;
    /// sample, the default, the first, the middle and the last one
    #[arg(long, value_name = "HOW", value_parser = one_of::<Verify>())]
    pub verify: Option<Verify>,
    /// What to measure: off, only the time of the run itself; N, the run again N times (a part of it,
    /// if it is short), in turns with a copy of the grid; auto, the copy, and a run of less than half
    /// a second again; with --quiet and without --json nothing
    #[arg(long, value_name = "off|N|auto", default_value = "auto")]
    pub time: Time,
    /// Write the report as JSON; - prints it instead of the readable one
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print no report and no progress, only warnings and errors
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub sharing: SharingArgs,
    #[command(flatten)]
    pub files: FileArgs,
}

impl ComputationArgs {
    /// What is measured: nothing where nobody would see it.
    pub fn measured(&self) -> Time {
        let unseen = self.quiet && self.json.is_none() && self.time == Time::Auto;
        if unseen { Time::Off } else { self.time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ComputationArgs,
    }

    #[test]
    fn what_nobody_sees_is_not_measured_unless_it_is_asked_for() {
        for (more, time) in [
            ("", Time::Auto),
            ("--quiet", Time::Off),
            ("--quiet --json -", Time::Auto),
            ("--quiet --json report.json", Time::Auto),
            ("--quiet --time 3", Time::Repeat(3)),
            ("--time off", Time::Off),
            ("--time off --json -", Time::Off),
        ] {
            let line = format!("run {more}");
            let Line { args } = Line::parse_from(line.split_whitespace());
            assert_eq!(args.measured(), time, "{more}");
        }
    }
}
