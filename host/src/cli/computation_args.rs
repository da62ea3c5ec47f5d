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
    /// Points of the grid: N on every axis, or one number per axis, slowest first, such as 480x640 [default: the
    /// size of the input, or of a system's file]
    #[arg(long, value_name = "N|NYxNX|NZxNYxNX", allow_hyphen_values = true)]
    pub size: Option<String>,
    /// Number of time steps [default: 1, or that of a system's file]. A warning comes first if values may outgrow
    /// the element type, or if the stencil is not made to be repeated
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub steps: Option<usize>,
    /// Type in which values are stored [default: that of the input, the checkpoint or a system's file; otherwise
    /// f32 if --weights, --start, --output, --every, --until or --checkpoint is given, else f16]
    #[arg(long, value_name = "TYPE", ignore_case = true, value_parser = one_of::<Dtype>())]
    pub dtype: Option<Dtype>,
    /// Replace constants of a system's file by numbers or expressions, such as D=3,k=2*pi
    #[arg(long, value_name = "NAME=VALUE,...", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Replace the time step of a system's file by a number or an expression
    #[arg(long, value_name = "DT", allow_hyphen_values = true)]
    pub dt: Option<String>,
    /// The part of the program that computes. auto takes the one that is predicted to be fastest
    #[arg(long, default_value = "auto", value_parser = one_of::<EngineRequest>())]
    pub engine: EngineRequest,
    /// Keep the grid on chip for this many passes, each of as many time steps as --fuse says. Of a system: the
    /// number of time steps in one launch of a GPU, or together on the CPU. auto takes what is predicted to be
    /// fastest
    #[arg(long, value_name = "C|auto", default_value_t)]
    pub chain: Depth,
    /// With --engine fft or auto: take at most this many time steps at once by Fourier transforms. auto takes as
    /// many as are predicted to be fastest
    #[arg(long, value_name = "T|auto", default_value_t, value_parser = steps)]
    pub jump: Depth,
    /// File with the start values: a .npy array (integers become f32 or f64), a grey .png (black is 0, white 1), or -
    /// for .npy from standard input [default: random values from 0 to 1]. Of a system with several fields:
    /// FIELD=FILE,FIELD=FILE; the other fields keep their own start
    #[arg(long, value_name = "[FIELD=]FILE", conflicts_with = "resume")]
    pub input: Option<PathBuf>,
    /// Write what the receivers of a system recorded: a row for the start and each step, with the time and a value
    /// for each receiver. A name that does not end in .npy gets .csv text
    #[arg(long, value_name = "FILE")]
    pub receivers: Option<PathBuf>,
    /// Write the totals of a system every K steps: a row with the step, the time and each total. A name that does
    /// not end in .npy gets .csv text [default: K for about a thousand rows]
    #[arg(long, value_name = "FILE[,K]", allow_hyphen_values = true)]
    pub series: Option<Series>,
    /// How much of the result to compare with the plain stencil in f64 [default: every point after all steps if
    /// that takes about a second, else a sample]. Of a system: full compares every step at every point; sample, the
    /// default, the first, the middle and the last step
    #[arg(long, value_name = "HOW", value_parser = one_of::<Verify>())]
    pub verify: Option<Verify>,
    /// How to measure the speed. off: only the time of the run itself. N: repeat the run N times, in turns with a
    /// copy of the grid; of a run of less than half a second as many steps as take 0.2 s. auto: measure the copy,
    /// and repeat runs of less than half a second; with --quiet and without --json nothing
    #[arg(long, value_name = "off|N|auto", default_value = "auto")]
    pub time: Time,
    /// Write the report as JSON to this file; - prints it in place of the readable report
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print only warnings and errors: no report, no progress
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
