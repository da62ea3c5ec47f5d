// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time of a whole plan: the kernel of the catalogue that takes longest, the median one, some that
//! take each way through the planner, and all of them.

use criterion::{Criterion, criterion_group, criterion_main};
use cuda_mma::fragment::Element;
use std::hint::black_box;
use std::time::{Duration, Instant};
use transform::catalogue;
use transform::explore::Request;
use transform::machine::Machine;
use transform::plan::plan;
use transform::stencil::Stencil;

/// Points of a grid on each axis, by the number of axes.
const EXTENTS: [[usize; 3]; 3] = [[1, 1, 100_000_000], [1, 10_240, 10_240], [1024, 1024, 1024]];

/// A register window, a larger one, word pairs.
const NAMED: [&str; 3] = ["star2d1r", "box2d3r", "star3d2r"];

fn whole_plan(machine: &Machine, stencil: &Stencil) -> f64 {
    let extents = EXTENTS[stencil.dims() - 1];
    let element = Element::F16;
    let request = Request { stencil, extents, element, machine, most_steps: 1 };
    plan(&request).expect("the catalogue can be planned").seconds
}

/// The shortest of three: which kernels are the median and the longest.
fn rough(machine: &Machine, stencil: &Stencil) -> Duration {
    let once = |_| {
        let start = Instant::now();
        black_box(whole_plan(machine, stencil));
        start.elapsed()
    };
    (0..3).map(once).min().expect("three times")
}

fn plans(criterion: &mut Criterion) {
    let machine = Machine::h200();
    let mut all: Vec<Stencil> = catalogue::entries().iter().map(|entry| entry.stencil()).collect();
    all.sort_by_cached_key(|stencil| rough(&machine, stencil));
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    for name in NAMED {
        let stencil = catalogue::find(name).expect("the name is one of the catalogue's");
        group.bench_function(name, |b| b.iter(|| whole_plan(&machine, black_box(&stencil))));
    }
    for (place, stencil) in [("median", &all[all.len() / 2]), ("longest", &all[all.len() - 1])] {
        let label = format!("{place}: {}", stencil.name());
        group.bench_function(label, |b| b.iter(|| whole_plan(&machine, black_box(stencil))));
    }
    group.bench_function("the whole catalogue", |b| {
        b.iter(|| all.iter().map(|stencil| whole_plan(&machine, stencil)).sum::<f64>())
    });
    group.finish();
}

criterion_group!(benches, plans);
criterion_main!(benches);
