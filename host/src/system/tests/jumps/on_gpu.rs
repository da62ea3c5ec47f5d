// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps by the kernels of a GPU, in the emulator: against the same jumps on the CPU, and against steps.

use rayon::prelude::*;

use super::{BUMP, checked, described, difference, draw, on};
use crate::device::{Device, Emulator};
use crate::engine::EngineRequest;
use crate::observe::Nobody;
use crate::system::start::Beginning;
use crate::system::{Description, FieldText, System, SystemSimulation, fft};

/// Cases, unless `JUMP_CASES` says more.
const CASES: u64 = 60;

fn emulated(system: &System, seed: u64) -> SystemSimulation {
    let device: Box<dyn Device> = Box::new(Emulator::new().with_multiprocessors(3).with_seed(seed));
    let stepper = fft::stepper_on(system, device, || Beginning::new(system)).unwrap();
    SystemSimulation::with(system, stepper).unwrap()
}

/// Any system that is diagonal, stable or not, for some steps.
#[test]
fn jumps_on_a_gpu_are_steps() {
    let cases = std::env::var("JUMP_CASES").map_or(CASES, |text| text.parse().unwrap());
    let of_case = |seed: u64| {
        let drawn = draw::system(seed);
        let system = checked(&drawn.description);
        let mut jumping = emulated(&system, seed);
        let mut stepping = on(&system, EngineRequest::Cpu);
        for steps in [drawn.steps, 1] {
            jumping.step(steps).unwrap();
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
        compared.run(last, &[0, last / 2, last - 1], &mut Nobody).unwrap();
        let report = compared.report();
        assert!(report.verified, "seed {seed}: {report}");
    };
    (0..cases).into_par_iter().for_each(of_case);
}

/// A run on a device and one on the CPU, which differ by what rounding in transforms explains.
fn agree(description: &Description, steps: usize, most: f64) -> SystemSimulation {
    let system = checked(description);
    let mut jumping = emulated(&system, 1);
    jumping.run(steps, &[0, steps / 2, steps - 1], &mut Nobody).unwrap();
    let report = jumping.report();
    assert!(report.verified && report.device.contains("emulating a GPU"), "{report}");
    let mut on_the_cpu = on(&system, EngineRequest::Cpu);
    if steps > 10_000 {
        on_the_cpu = SystemSimulation::with(
            &system,
            fft::stepper(&system, || Beginning::new(&system)).unwrap(),
        )
        .unwrap();
    }
    on_the_cpu.step(steps).unwrap();
    let (error, largest) = difference(&mut jumping, &mut on_the_cpu);
    assert!(
        error <= most * largest && largest > 1e-3,
        "{error:e} of {largest:e}: {}",
        report.title
    );
    jumping
}

#[test]
fn waves_after_a_hundred_thousand_steps_are_those_of_the_cpu() {
    for (boundary, order) in
        [("periodic", 4), ("reflect", 6), ("zero", 2), ("y:reflect,x-:zero,x+:reflect", 2)]
    {
        let wave = described(boundary, &[7, 20]).derivative("laplace", "laplace", order);
        let next = "2*u - prev(u) + 0.2*laplace(u)";
        let wave = wave.field(FieldText::new("u", BUMP, next).boundary(boundary));
        agree(&wave, 100_000, 1e-10);
    }
    let next = "1.999*u - 0.999*prev(u) + 0.2*laplace(u) + 1e-5";
    let damped = described("damped", &[31]).derivative("laplace", "laplace", 2);
    let damped =
        damped.field(FieldText::new("u", BUMP, next).boundary("x-:constant=1,x+:constant=-0.5"));
    agree(&damped.source("u", &[9], "0.001"), 100_000, 1e-10);
}
