// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time of a whole plan: the largest kernel of the catalogue, a median one, and all of them.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use transform::catalogue;
use transform::explore::Request;
use transform::fragment::Element;
use transform::machine::Machine;
use transform::plan::plan;
use transform::stencil::Stencil;

/// Points of a grid on each axis, by the number of axes.
const EXTENTS: [[usize; 3]; 3] = [[1, 1, 100_000_000], [1, 10_240, 10_240], [1024, 1024, 1024]];

fn whole_plan(machine: &Machine, stencil: &Stencil) -> f64 {
    let extents = EXTENTS[stencil.dims() - 1];
    let element = Element::F16;
    let request = Request { stencil, extents, element, machine, most_steps: 1 };
    plan(&request).expect("the catalogue can be planned").seconds
}

fn plans(criterion: &mut Criterion) {
    let machine = Machine::h200();
    let all: Vec<Stencil> = catalogue::entries().iter().map(|entry| entry.stencil()).collect();
    let largest = all.iter().max_by_key(|stencil| stencil.taps().len()).expect("there are kernels");
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    let names = ["star2d1r", "box2d3r", "star3d2r", "wave3d-dablain", largest.name()];
    for name in names {
        let stencil = catalogue::find(name).expect("the name is one of the catalogue's");
        group.bench_function(name, |b| b.iter(|| whole_plan(&machine, black_box(&stencil))));
    }
    group.bench_function("the whole catalogue", |b| {
        b.iter(|| all.iter().map(|stencil| whole_plan(&machine, stencil)).sum::<f64>())
    });
    group.finish();
}

criterion_group!(benches, plans);
criterion_main!(benches);
