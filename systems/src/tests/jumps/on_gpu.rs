// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps by the kernels of a GPU, in the emulator: against the same jumps on the CPU, and against steps.

use rayon::prelude::*;
use transform::Stencil;

use super::{BUMP, checked, described, difference, draw, has_faded, on, seeds};
use crate::start::StartValues;
use crate::{Description, FieldText, System, SystemSimulation, fft};
use compute::device::{Device, Emulator};
use compute::engine::EngineRequest;
use compute::report::Report;
use problem::Error;
use problem::observe::NoObserver;

/// Cases, unless `JUMP_CASES` says how many.
const CASES: u64 = 40;

fn emulated(system: &System, seed: u64) -> SystemSimulation {
    let device: Box<dyn Device> = Box::new(Emulator::new().with_multiprocessors(3).with_seed(seed));
    let session = fft::session_on(system, device, || StartValues::new(system)).unwrap();
    SystemSimulation::with(system, session).unwrap()
}

/// Any system that is diagonal, stable or not, for some steps.
#[test]
fn jumps_on_a_gpu_are_steps() {
    let of_case = |seed: u64| {
        let drawn = draw::system(seed);
        let system = checked(&drawn.description);
        let mut jumping = emulated(&system, seed);
        let mut stepping = on(&system, EngineRequest::Cpu);
        for steps in [drawn.steps, 1] {
            let taken = jumping.step(steps);
            taken.unwrap_or_else(|error| panic!("seed {seed}: {error}: {:#?}", drawn.description));
            stepping.step(steps).unwrap();
            let (error, _) = difference(&mut jumping, &mut stepping);
            let allowed = drawn.allowed(jumping.steps());
            assert!(
                error <= allowed,
                "seed {seed}, after {} steps: {error:e} > {allowed:e}: {:#?}",
                jumping.steps(),
                drawn.description
            );
        }
        // What a run compares.
        let mut compared = emulated(&system, seed);
        let last = drawn.steps + 3;
        compared.run(last, &[0, last / 2, last - 1], &mut NoObserver).unwrap();
        let report = compared.report();
        let is_right = report.verified || has_faded(&mut compared, drawn.allowed(last));
        assert!(is_right, "seed {seed}: {report}");
    };
    seeds(CASES).into_par_iter().for_each(of_case);
}

/// A run on a device and one on the CPU, which differ by what rounding in transforms explains.
fn agree(description: &Description, steps: usize, most: f64) -> SystemSimulation {
    let system = checked(description);
    let mut jumping = emulated(&system, 1);
    jumping.run(steps, &[0, steps / 2, steps - 1], &mut NoObserver).unwrap();
    let report = jumping.report();
    assert!(report.verified && report.device.contains("emulating a GPU"), "{report}");
    let mut on_the_cpu = on(&system, EngineRequest::Cpu);
    if steps >= 1000 {
        on_the_cpu = SystemSimulation::with(
            &system,
            fft::session(&system, StartValues::new(&system).unwrap()).unwrap(),
        )
        .unwrap();
    }
    on_the_cpu.step(steps).unwrap();
    let (error, largest) = difference(&mut jumping, &mut on_the_cpu);
    assert!(
        error <= most * largest && largest > 1e-3,
        "{error:e} of {largest:e}: {:?}",
        report.title
    );
    jumping
}

#[test]
fn waves_are_those_of_the_cpu() {
    // Of small grids, for each access is checked.
    for (boundary, order, size, steps) in [
        ("periodic", 4, &[7, 12][..], 1000),
        ("reflect", 6, &[4, 10], 1000),
        ("zero", 2, &[15], 100_000),
        ("y:reflect,x-:zero,x+:reflect", 2, &[4, 5], 1000),
    ] {
        let wave = described(boundary, size).derivative("laplace", "laplace", order);
        let next = "2*u - prev(u) + 0.2*laplace(u)";
        let wave = wave.field(FieldText::new("u", BUMP, next).boundary(boundary));
        agree(&wave, steps, 1e-10);
    }
    let next = "1.999*u - 0.999*prev(u) + 0.2*laplace(u) + 1e-5";
    let damped = described("damped", &[14]).derivative("laplace", "laplace", 2);
    let damped =
        damped.field(FieldText::new("u", BUMP, next).boundary("x-:constant=1,x+:constant=-0.5"));
    agree(&damped.source("u", &[9], "0.001"), 100_000, 1e-10);
}

/// A wave between mirrors whose period has a large prime factor: images of some steps, and jumps one after the other. What each
/// of them is off by does not grow from one to the next, for the wave does not.
#[test]
fn waves_stay_certain_over_several_jumps() {
    let wave = described("mirrors", &[20]).derivative("laplace", "laplace", 6);
    let field = FieldText::new("u", BUMP, "2*u - prev(u) + 0.2*laplace(u)").boundary("reflect");
    let system = checked(&Description { steps: 24_000, ..wave.field(field) });
    let cores = fft::session(&system, StartValues::new(&system).unwrap()).unwrap();
    let mut jumping = emulated(&system, 1);
    let mut on_cores = SystemSimulation::with(&system, cores).unwrap();
    jumping.step(24_000).unwrap();
    on_cores.step(24_000).unwrap();
    let (error, _) = difference(&mut jumping, &mut on_cores);
    let Report { jump, noise, .. } = jumping.report();
    let (growth, noise) = (jump.unwrap().growth.unwrap(), noise.unwrap());
    assert!(growth < 24_001.0 && noise < 3e-6 && error < noise, "{growth:e} {noise:e} {error:e}");
}

/// Columns in two parts, with images and without, in each place.
#[test]
fn long_columns() {
    for (size, boundary) in [
        (&[1890, 2][..], "periodic"),
        (&[1811, 2], "y:periodic,x:reflect"),
        (&[1, 1811, 2], "periodic"),
        (&[1811, 1, 2], "z:periodic,y:reflect,x:periodic"),
    ] {
        let heat = described(boundary, size).derivative("laplace", "laplace", 2);
        let next = "u + 0.1*laplace(u) + 0.01";
        let field = FieldText::new("u", "exp(-0.1*((y - 4)^2))", next).boundary(boundary);
        let system = checked(&Description { steps: 3, ..heat.field(field) });
        let mut simulations = [emulated(&system, 1), on(&system, EngineRequest::Cpu)];
        simulations.iter_mut().for_each(|it| it.step(3).unwrap());
        let [jumping, stepping] = &mut simulations;
        let (error, _) = difference(jumping, stepping);
        assert!(error < 1e-14, "{size:?} {boundary}: {error:e}");
    }
}

/// As many variables as there may be, with matrices that are complex, and sources.
#[test]
fn twelve_variables() {
    let mut many = described("twelve", &[9])
        .stencil("s", Stencil::dense("s", &[3], &[0.5, 0.25, -0.125]).unwrap());
    for field in 0..4 {
        let next = format!(
            "0.5*s(u{field}) + 0.25*prev2(u{}) - 0.125*prev(u{field}) + {}",
            (field + 1) % 4,
            0.1 * field as f64
        );
        let field = FieldText::new(&format!("u{field}"), BUMP, next).boundary("periodic");
        many = many.field(field);
    }
    agree(&many.source("u1", &[4], "0.5"), 40, 1e-12);
}

/// Lines that have room for the images of some steps only.
#[test]
fn several_jumps_where_lines_are_too_long() {
    let wave = described("long", &[9001]).derivative("dx", "x+", 2).constant("c", 0.5);
    let wave = wave.field(FieldText::new("u", BUMP, "u + c*dx(u)").boundary("periodic"));
    let mut simulation = agree(&Description { steps: 12_000, ..wave }, 12_000, 1e-11);
    let jump = simulation.report().jump.unwrap();
    assert!(jump.toruses[0][0] > 9001 && jump.toruses[0][0] < 29_056, "{jump:?}");
    simulation.step(1).unwrap();
}

fn refused(description: &Description) -> String {
    let system = checked(description);
    let device: Box<dyn Device> = Box::new(Emulator::new());
    match fft::session_on(&system, device, || StartValues::new(&system)) {
        Err(Error::Unsupported { engine: "fft", reason }) => reason,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is taken"),
    }
}

#[test]
fn what_a_gpu_does_not_take_is_left_to_the_cpu() {
    let of = |size: &[usize]| {
        let heat = described("", size).derivative("laplace", "laplace", 2);
        let field = FieldText::new("u", "0", "u + 0.1*laplace(u)").boundary("periodic");
        Description { steps: 10, ..heat.field(field) }
    };
    assert_eq!(
        refused(&of(&[40_009])),
        "10 steps at once are not possible on a grid of 40009: a transformed line must be a product of 2, 3, 5 and 7 and fit \
         227.0 KiB of shared memory"
    );
    let large = refused(&of(&[262_144, 28_000]));
    assert!(large.contains("of GPU memory; the GPU has"), "{large}");
    let receiver = of(&[8]).receiver("u", &[3]);
    assert!(refused(&receiver).starts_with("receivers record each step"));
}
