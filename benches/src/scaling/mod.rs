// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/benchmarks/scaling.md` and its picture: strong and weak curves to 4,096 GPUs as `host plan --gpus` predicts them, and the
//! model beside what was measured on a few.
//!
//! What stands in the page between `<!-- generated: NAME -->` and `<!-- end of NAME -->` is made here.

mod chart;
mod measurements;
mod tables;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use stencil::plan::RunTarget;
use stencil::plan::scale::{Cluster, Curves};
use stencil::{Dtype, Job, catalogue};
use transform::machine::Machine;
use transform::network::Network;

use crate::markdown::with_sections;
pub use measurements::{Measured, TOLERANCE, compare, parse};

/// The page, from the repository's root.
pub const PAGE: &str = "docs/benchmarks/scaling.md";
/// Its picture.
pub const PICTURE: &str = "docs/benchmarks/scaling.svg";
/// What was measured on one GPU and on two.
pub const MEASUREMENTS: &str = "tests/measurements/scaling-h200.csv";
/// How both are made anew.
pub const COMMAND: &str = "cargo run --release -p benches -- scaling";

/// A stencil in a type, on a grid that all GPUs share, and on one for each.
pub struct Workload {
    stencil: &'static str,
    dtype: Dtype,
    strong: &'static str,
    weak: &'static str,
}

/// What is drawn: memory-bound in 2D, the fastest launches in 2D, and 3D.
const WORKLOADS: [Workload; 3] = [
    Workload { stencil: "star2d1r", dtype: Dtype::F64, strong: "32768x32768", weak: "10240x10240" },
    Workload { stencil: "box2d1r", dtype: Dtype::F16, strong: "65536x65536", weak: "20480x20480" },
    Workload {
        stencil: "star3d1r",
        dtype: Dtype::F32,
        strong: "2048x2048x2048",
        weak: "1024x1024x1024",
    },
];

/// The curves of a workload.
pub struct WorkloadCurves {
    workload: &'static Workload,
    curves: Curves,
}

/// A job of a thousand steps with zeros around its grid.
fn job(stencil: &str, size: &str, dtype: Dtype) -> Result<Job> {
    let stencil = catalogue::find(stencil).with_context(|| format!("no stencil '{stencil}'"))?;
    let shape = size.parse::<stencil::Shape>()?.spread(stencil.dims())?;
    Ok(Job::new(stencil, shape, dtype, 1000))
}

/// What the page is made of.
pub struct ScalingPage {
    /// All of [`PAGE`], Markdown.
    pub page: String,
    /// All of [`PICTURE`], SVG.
    pub picture: String,
}

/// Makes page and picture. Writes nothing.
///
/// # Errors
/// A file that cannot be read; measurements that are none, with the line; a page without its markers.
pub fn generate(root: &Path) -> Result<ScalingPage> {
    let read = |name: &str| {
        let path = root.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let written = read(PAGE)?;
    let measured = parse(&read(MEASUREMENTS)?).with_context(|| MEASUREMENTS.to_owned())?;
    let (target, network) = (RunTarget::described(Machine::h200()), Network::h200_ndr());
    let draw = |workload: &'static Workload| {
        let Workload { stencil, dtype, strong, weak } = workload;
        let of = |size| {
            let job = job(stencil, size, *dtype)?;
            Curves::new(&job, &target, &network, Cluster::USUAL).map_err(anyhow::Error::from)
        };
        let curves = Curves { strong: of(strong)?.strong, weak: of(weak)?.weak };
        Ok(WorkloadCurves { workload, curves })
    };
    let drawn: Result<Vec<WorkloadCurves>> = WORKLOADS.iter().map(draw).collect();
    let drawn = drawn?;
    let sections = [
        ("strong", tables::curves(&drawn, |curves| &curves.strong, |of| of.strong)),
        ("weak", tables::curves(&drawn, |curves| &curves.weak, |of| of.weak)),
        ("measured", tables::measured(&compare(&measured)?)),
    ];
    let page = with_sections(&written, &sections).with_context(|| PAGE.to_owned())?;
    Ok(ScalingPage { page, picture: chart::draw(&drawn)? })
}
