// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels in the emulator against the plain loop.

use super::plate::{DT, Plate, operand};
use super::{diffusion, reaction};
use cuda_mma::fragment::Element::F16;
use cuda_mma::number::{bits, value};
use cuda_sim::{LaunchConfig, Memory, launch};

mod places;

/// A step by an emulated GPU. Each seed is another order of events; every access is checked: bounds, races, waits …
fn step(plate: Plate, before: &[f64], seed: u64, grows: bool) -> Vec<f64> {
    let mut memory = Memory::new();
    let input = memory.in_out("input", &plate.lay_out(before));
    let fragments = memory.input("operand", &operand());
    let output = memory.in_out("output", &plate.lay_out(&vec![0.0; before.len()]));
    let [blocks, threads, shared_bytes] = plate.extents(2);
    let config = LaunchConfig { blocks, threads, shared_bytes, seed, ..LaunchConfig::default() };
    let upwards = seed % 2 == 1;
    let step = plate.step(input.as_mut_ptr(), output.as_mut_ptr(), fragments.as_ptr(), upwards);
    launch("reaction", config, &mut memory, || {
        // SAFETY: two arrays in the plate's layout, and the operand of its stencil.
        unsafe { if grows { reaction(step, DT) } else { diffusion(step) } }
    })
    .unwrap_or_else(|fault| panic!("{fault}"));
    plate.read(&memory.read(output))
}

/// Values in [0, 1) that are multiples of 1/64.
fn start(plate: Plate, seed: u64) -> Vec<f64> {
    let points = u64::from(plate.ny) * u64::from(plate.nx);
    let value = |point: u64| (point + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
    (0..points).map(|point| value(point) as f64 / 64.0).collect()
}

#[test]
fn steps_are_those_of_the_plain_loop() {
    for (seed, [ny, nx]) in (0..).zip([[1, 1], [3, 70], [61, 130], [30, 515]]) {
        let plate = Plate { ny, nx };
        let mut before = start(plate, seed);
        for _ in 0..2 {
            let after = step(plate, &before, seed, true);
            let used = plate.used(&before, &after, DT);
            assert!(used <= 1.0, "{plate:?}: {used} of what rounding explains");
            before = after;
        }
        let after = step(plate, &before, seed, false);
        let used = plate.used(&before, &after, 0.0);
        assert!(used <= 1.0, "{plate:?} without growth: {used} of what rounding explains");
    }
}

/// Of multiples of 1/64 every operation in f32 is exact, so there is one right result.
#[test]
fn where_sums_are_exact_every_bit_is_right() {
    let plate = Plate { ny: 29, nx: 72 };
    let before = start(plate, 5);
    let after = step(plate, &before, 1, true);
    let nx = plate.nx as usize;
    for (y, x) in [(0, 0), (13, 17), (28, 71), (7, 64)] {
        let at = |dy: isize, dx: isize| {
            let (y, x) = (y as isize + dy, x as isize + dx);
            let inside = (0..29).contains(&y) && (0..72).contains(&x);
            if inside { before[y as usize * nx + x as usize] } else { 0.0 }
        };
        let (u, around) = (at(0, 0), at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1));
        let exact = 0.75 * u + around / 16.0 + u * (1.0 - u) / 16.0;
        assert_eq!(after[y * nx + x], value(F16, bits(F16, exact)), "({y}, {x})");
    }
}

#[test]
fn a_step_without_its_growth_would_be_noticed() {
    let plate = Plate { ny: 5, nx: 20 };
    let before = start(plate, 9);
    let after = step(plate, &before, 0, false);
    assert!(plate.used(&before, &after, DT) > 10.0);
}

/// The program carries none of the kernels that `kernels-gpu` has.
#[test]
fn the_program_carries_its_own_kernels_and_no_others() {
    let Some(code) = cuda_driver::kernels!().codes().next() else {
        let needed = std::env::var_os("REQUIRE_DEVICE_COMPILER").is_some();
        assert!(!needed, "it was built without kernels");
        return;
    };
    let ptx = code.ptx();
    let names = ptx.split(".entry ").skip(1).filter_map(|rest| rest.split('(').next());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["diffusion", "reaction"]);
}
