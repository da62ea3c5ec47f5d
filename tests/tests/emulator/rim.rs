// SPDX-License-Identifier: MIT OR Apache-2.0
//! The points near the boundary in the emulator, against the plain stencil step by step.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use stencil::device::Limits;
use stencil::families::rim::{GridSurroundings, RimPlan, SharedBudget};
use stencil::{Boundary, Dtype, Shape};
use tests::cases_rim::{Case, budgets, dense_cases, random_cases};
use tests::draw;
use transform::Stencil;

/// Checks cases that together have so many points near the boundary.
fn check(cases: &[Case], least: usize) {
    let computed: usize = cases.par_iter().map(Case::check).sum();
    assert!(computed >= least, "only {computed} points");
}

#[test]
fn random_1d() {
    check(&random_cases(1, 24), 500);
}

#[test]
fn random_2d() {
    check(&random_cases(2, 18), 8_000);
}

#[test]
fn random_3d() {
    check(&random_cases(3, 10), 5_000);
}

/// Dense stencils, which have kernels of their own.
#[test]
fn random_dense() {
    let cases = dense_cases();
    check(&cases, 6_000);
    assert!(
        cases.iter().any(|case| case.plan.kernel.dense.is_none()),
        "some reach less far on an axis"
    );
}

/// The rim of the fastest 2D launches, in a grid that has an inside.
#[test]
fn twelve_steps_of_radius_one() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for boundary in ["zero", "x:periodic,y:reflect", "symmetric,x-:edge", "edge,x+:flux=0.125"] {
        let stencil = draw::stencil(&mut random, 2, [0, 1, 1]);
        let boundary = Boundary::parse(boundary, 2).unwrap();
        let of = (&stencil, boundary, "90x150".parse().unwrap(), Dtype::F16);
        for budget in budgets() {
            assert!(Case::new(&mut random, of, 12, budget).unwrap().check() > 4_500);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let weights = vec![1.0 / 4913.0; 17 * 17 * 17];
    let stencil = Stencil::dense("wide", &[17; 3], &weights).unwrap();
    let boundary = Boundary::parse("periodic", 3).unwrap();
    let shape: Shape = "99x99x99".parse().unwrap();
    let plan = |steps, most| {
        RimPlan::new(
            &stencil,
            GridSurroundings::whole(&boundary),
            shape,
            Dtype::F64,
            steps,
            SharedBudget::after(most),
        )
    };
    let check = |steps, most| {
        RimPlan::check(
            &stencil,
            GridSurroundings::whole(&boundary),
            shape,
            Dtype::F64,
            steps,
            SharedBudget::after(most),
        )
    };
    let most = Limits::H200.shared_bytes;
    assert!(check(1, most).is_ok());
    let reason = "the points that 5 steps of radius 8 need do not fit into shared memory";
    assert_eq!(plan(5, most).unwrap_err(), reason);
    assert_eq!(check(5, most).unwrap_err(), reason);
    // Boxes are cut to what the GPU has, and there is a plan as long as one point fits.
    let needed = plan(1, most).unwrap().unwrap().shared_bytes;
    for most in (0..=most).step_by(8 << 10).chain([needed - 1, needed]) {
        let plan = plan(1, most);
        assert_eq!(plan.is_ok(), check(1, most).is_ok(), "{most}");
        let Ok(Some(plan)) = plan else { continue };
        assert!(plan.shared_bytes <= most, "{most}");
    }
    assert!(check(1, needed).is_ok() && check(1, 16 << 10).is_err());
}
