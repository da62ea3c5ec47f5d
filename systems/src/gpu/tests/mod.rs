// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels, read and executed instruction by instruction, against the oracle; and by NVIDIA's assembler, where
//! the variable `PTXAS` names it.

mod chain;
mod functions;
mod many;
mod march;
mod on_the_gpu;
mod replaced;
mod stages;
mod sweep;

use super::emulated::Emulated;
use super::kernel::GeneratedKernel;
use super::{OnTarget, ptx};
use crate::checked::System;
use crate::examples::EXAMPLES;
use crate::start::StartValues;
use crate::tests::tier::{cases, is_thorough};
use crate::tests::{composed, draw};
use crate::{Description, FieldText, SystemSimulation};
use problem::Dtype;
use rayon::prelude::*;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A system whose kernel is executed by reading it.
fn simulation(system: &System) -> SystemSimulation {
    let beginning = StartValues::new(system).unwrap();
    let system = &system.with_sources_that_count(&beginning);
    let kernel = GeneratedKernel::new(system).unwrap();
    on_a_machine(system, kernel, beginning)
}

fn on_a_machine(
    system: &System,
    kernel: GeneratedKernel,
    beginning: StartValues,
) -> SystemSimulation {
    let target = Emulated::new(&kernel);
    let target = OnTarget::new(system.clone(), kernel, beginning, target).unwrap();
    SystemSimulation::with(system, Box::new(target)).unwrap()
}

#[test]
fn any_kernel_agrees_with_the_oracle() {
    agree(cases(25, 15), draw::system);
}

#[test]
fn kernels_of_stages_agree_with_the_oracle() {
    agree(cases(12, 8), |seed| draw::in_stages(seed, 3));
}

#[test]
fn kernels_beside_solves_agree_with_the_oracle() {
    agree(cases(8, 5), |seed| draw::with_solves(seed, 3, false));
}

/// Checks the kernels of so many systems that are drawn so.
fn agree(cases: u64, draw: impl Fn(u64) -> Description + Sync) {
    (0..cases).into_par_iter().for_each(|seed| {
        let system = System::new(&draw(seed), Path::new("")).unwrap();
        let mut simulation = simulation(&system);
        for _ in 0..if is_thorough() { 3 } else { 2 } {
            let check = simulation.checked_step();
            let check = check.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(check.undecided * 100 <= check.points, "seed {seed}: {check:?}");
        }
    });
}

/// Grids with tiles inside, of the built-in systems.
#[test]
fn the_built_in_kernels_agree_with_the_oracle() {
    for example in EXAMPLES {
        let mut description = Description::parse(example.name, example.text).unwrap();
        let small: &[usize] = if description.size.len() == 3 { &[5, 11, 17] } else { &[24, 41] };
        description.size = small.to_vec();
        let system = System::new(&description, Path::new("")).unwrap();
        let mut simulation = simulation(&system);
        for _ in 0..2 {
            simulation.checked_step().unwrap_or_else(|error| panic!("{}: {error}", example.name));
        }
    }
}

/// More than threads compare one by one, some at the same point, in tiles and near sides.
#[test]
fn many_sources_agree_with_the_oracle() {
    for (size, dtype) in [([1, 23, 45], Dtype::F16), ([4, 19, 30], Dtype::F32)] {
        let size = if size[0] == 1 { &size[1..] } else { &size[..] };
        let mut description = Description::new(size)
            .dtype(dtype)
            .derivative("laplace", "laplace", 2)
            .field(FieldText::new("u", "0", "u + 0.1*laplace(u)"))
            .field(FieldText::new("v", "1", "0.5*v + u"));
        for number in 0..60 {
            let at: Vec<usize> =
                size.iter().enumerate().map(|(axis, n)| number * (7 + 4 * axis) % n).collect();
            let field = ["u", "v"][number % 2];
            let add = ["0.25", "sin(t + 1)", "n/8"][number % 3];
            description = description.source(field, &at, add).source(field, &at, "0.5");
        }
        let system = System::new(&description, Path::new("")).unwrap();
        let mut simulation = simulation(&system);
        for _ in 0..3 {
            simulation.checked_step().unwrap();
        }
    }
}

/// Records of many steps at once are those of one after the other, also of a field that no equation reads.
#[test]
fn receivers_receive_the_values_after_each_step() {
    for dtype in [Dtype::F64, Dtype::F16] {
        let mut description = Description::new(&[19, 30])
            .dtype(dtype)
            .derivative("laplace", "laplace", 2)
            .field(FieldText::new("u", "x + 2*y", "u + 0.125*laplace(u)"))
            .field(FieldText::new("v", "1", "u - n"));
        for number in 0..150 {
            let field = ["u", "v"][number % 2];
            description = description.receiver(field, &[number * 7 % 19, number * 11 % 30]);
        }
        let system = System::new(&description, Path::new("")).unwrap();
        let [mut together, mut singly] = [(); 2].map(|()| simulation(&system));
        together.step(8).unwrap();
        (0..8).for_each(|_| singly.step(1).unwrap());
        assert_eq!(together.records().len(), 9);
        assert_eq!(together.records(), singly.records());
    }
}

/// Assembles a kernel as the driver does: whether all values found registers, if there is an assembler.
fn assemble(name: &str, text: &str, chip: &str) -> Option<bool> {
    let Some(assembler) = std::env::var_os("PTXAS") else {
        println!("PTXAS names no assembler: nothing is assembled");
        return None;
    };
    let registers = format!("-maxrregcount={}", kernels_gpu::MOST_REGISTERS);
    let mut file = tempfile::NamedTempFile::with_suffix(".ptx").unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let output = tempfile::NamedTempFile::with_suffix(".cubin").unwrap();
    let run = Command::new(&assembler)
        .args(["-v", "-arch", chip, &registers, "-o"])
        .args([output.path(), file.path()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{name} for {chip}: {said}");
    let used = said.lines().find(|line| line.contains("registers")).unwrap_or_default();
    println!("{name} for {chip}: {}", used.trim());
    Some(said.contains("0 bytes spill stores, 0 bytes spill loads"))
}

/// What the assembler says of registers; it refuses what is no PTX.
#[test]
fn kernels_are_assembled_without_spills() {
    let no_spills = |name: &str, system: &System, chip| {
        assemble(name, &ptx(system).unwrap(), chip).unwrap_or(true)
    };
    for example in EXAMPLES {
        let description = Description::parse(example.name, example.text).unwrap();
        let system = System::new(&description, Path::new("")).unwrap();
        for chip in ["sm_80", "sm_90a"] {
            assert!(no_spills(example.name, &system, chip), "{} spills", example.name);
        }
    }
    let mut spills = Vec::new();
    for seed in 0..cases(4, 4) {
        let system = System::new(&draw::system(seed), Path::new("")).unwrap();
        if !no_spills(&format!("seed {seed}"), &system, "sm_90a") {
            spills.push(seed);
        }
    }
    assert!(spills.is_empty(), "{spills:?}");
}

/// Rounds of the random numbers are instructions that the assembler knows.
#[test]
fn noise_is_assembled() {
    for (dtype, size) in
        [(Dtype::F64, &[40, 50][..]), (Dtype::F32, &[90]), (Dtype::F16, &[9, 40, 50])]
    {
        let description = Description::new(size)
            .dtype(dtype)
            .derivative("laplace", "laplace", 2)
            .field(FieldText::new("u", "0", "u + 0.1*laplace(u) + normal(1)"))
            .field(FieldText::new("v", "0", "noise(1)*ix + 0.5*normal(1)"));
        let system = System::new(&description, Path::new("")).unwrap();
        for chip in ["sm_80", "sm_90a"] {
            let no_spills = assemble(&format!("noise, {dtype}"), &ptx(&system).unwrap(), chip);
            assert!(no_spills.unwrap_or(true), "{dtype} for {chip} spills");
        }
    }
}

#[test]
fn functions_that_are_made_of_others_agree_with_the_oracle() {
    for dtype in [Dtype::F64, Dtype::F32] {
        let system = System::new(&composed::description(dtype), Path::new("")).unwrap();
        let mut simulation = simulation(&system);
        for _ in 0..3 {
            simulation.checked_step().unwrap_or_else(|error| panic!("{dtype}: {error}"));
        }
    }
}
