// SPDX-License-Identifier: MIT OR Apache-2.0
//! A time step of the CPU engine, by boundary, element type and size: from grids that stay in a
//! register's reach to one that comes from memory.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::{Duration, Instant};
use stencil::Job;
use stencil::engine::{Engine, SumSession, cpu::Cpu};
use stencil::{Boundary, Dtype, Grid, Shape};
use transform::catalogue;

/// Steps from the same input before it is loaded again: a grid must not decay into the slow numbers
/// below the normal ones.
const STEPS: u64 = 64;

const SIZES: [&str; 4] = ["16x16", "32x32", "256x256", "4096x4096"];

fn session(dtype: Dtype, boundary: &str, size: &str) -> (Box<dyn SumSession>, usize) {
    let stencil = catalogue::find("star2d3r").expect("the name is one of the catalogue's");
    let shape: Shape = size.parse().expect("a size");
    let boundary = Boundary::parse(boundary, shape.dims()).expect("a boundary");
    let job = Job { boundary, ..Job::new(stencil, shape, dtype, 1) };
    let mut session = Cpu.prepare(&job).expect("it fits in memory");
    session.load(&Grid::random(shape, dtype, 1).expect("it fits in memory")).expect("a grid");
    (session, shape.points())
}

fn time(session: &mut dyn SumSession, steps: u64) -> Duration {
    let start = Instant::now();
    for first in (0..steps).step_by(STEPS as usize) {
        session.restart().expect("a grid");
        session.advance(STEPS.min(steps - first) as usize).expect("no device to refuse");
    }
    start.elapsed()
}

fn steps(criterion: &mut Criterion) {
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        let mut group = criterion.benchmark_group(format!("cpu step, star2d3r, {dtype}"));
        group.sample_size(10);
        for boundary in ["zero", "periodic"] {
            for size in SIZES {
                let (mut session, points) = session(dtype, boundary, size);
                group.throughput(Throughput::Elements(points as u64));
                let label = format!("{boundary}, {size}");
                group.bench_function(label, |b| b.iter_custom(|n| time(session.as_mut(), n)));
            }
        }
        group.finish();
    }
}

criterion_group!(benches, steps);
criterion_main!(benches);
