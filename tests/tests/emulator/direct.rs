// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step on CUDA cores in the emulator, against the plain stencil.

use rayon::prelude::*;
use stencil::families::direct::Variant;
use stencil::{Boundary, Dtype, Shape};
use tests::cases_direct::{Case, points, rows, streams, tiles};

fn check(cases: &[Case]) {
    cases.par_iter().for_each(Case::check);
}

#[test]
fn tiles_give_the_stencil() {
    check(&tiles());
}

#[test]
fn streaming_kernels_give_the_stencil() {
    check(&streams());
}

#[test]
fn rows_give_the_stencil() {
    check(&rows());
}

#[test]
fn points_know_every_boundary() {
    check(&points());
}

#[test]
fn every_stencil_has_a_kernel() {
    let shape = |dims| Shape::new(&vec![70; dims]).unwrap();
    let kernel = |name: &str, dtype| {
        let stencil = transform::catalogue::find(name).unwrap();
        Variant::new(&stencil, &Boundary::default(), shape(stencil.dims()), dtype).kernel()
    };
    assert_eq!(kernel("star1d1r", Dtype::F16), "tile1d_f16_r2");
    assert_eq!(kernel("star2d1r", Dtype::Bf16), "tile2d_bf16_r1");
    assert_eq!(kernel("box2d3r", Dtype::Tf32), "stream2d_f32_r3");
    assert_eq!(kernel("star2d3r", Dtype::F64), "tile2d_f64_r3_star");
    assert_eq!(kernel("star2d4r", Dtype::F64), "rows_f64_r4");
    assert_eq!(kernel("star3d1r", Dtype::F32), "tile3d_f32_r1_star");
}
