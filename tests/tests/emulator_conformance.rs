// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cases that `gpu-suite` runs on a GPU, in the emulator against the plain stencil.

use tests::cases::{Case, Difference, Kernel, cases};

fn check(case: &Case) {
    let Case { kernel, ny, nx, launches, seed, .. } = case;
    let name = format!("{kernel} on {ny}x{nx}, {launches} launches, seed {seed}");
    let got = case.emulate().unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let difference = Difference::of(&got, &case.plain());
    assert!(difference.error <= case.bound(), "{name}: {difference:?}");
    assert!(!case.exact || difference.differ == 0, "{name}: {difference:?}");
}

#[test]
fn every_sweep_gives_the_stencil() {
    let sweeps =
        Kernel::all().into_iter().filter(|kernel| matches!(kernel, Kernel::Sweep2d { .. }));
    sweeps.flat_map(cases).for_each(|case| check(&case));
}

#[test]
fn every_chain_gives_the_stencil_step_by_step() {
    let chains =
        Kernel::all().into_iter().filter(|kernel| matches!(kernel, Kernel::Chain2d { .. }));
    chains.flat_map(cases).for_each(|case| check(&case));
}

#[test]
fn a_difference_is_counted_in_bits_and_in_numbers() {
    let of = |got: f32, want: f32| {
        Difference::of(&[half::f16::from_f32(got)], &[half::f16::from_f32(want)])
    };
    assert_eq!(of(1.0, 1.0), Difference { points: 1, ..Difference::default() });
    assert_eq!((of(1.0, 1.0 - 2f32.powi(-11)).ulps, of(0.0, -0.0).differ), (1, 1));
    assert_eq!(of(f32::NAN, 0.0).error, f64::INFINITY);
}
