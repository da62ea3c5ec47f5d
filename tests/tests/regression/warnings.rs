// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings: false alarms of an overflow, none where a stencil is not made to be repeated, none with
//! `--quiet`.

use std::fs;

use transform::catalogue::{self, ApplicationKind, Entry};

use super::support::{Folder, ProgramOutput};

const FILE: &str = "\
[smooth]
dense = [[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]]
[spread]
dense = [1, 1, 1]
[heat]
dense = [[0, 0.3, 0], [0.3, -0.2, 0.3], [0, 0.3, 0]]
";

fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path("own.toml"), FILE).unwrap();
    folder
}

fn run(folder: &Folder, arguments: &str) -> ProgramOutput {
    folder.host(&format!("run {arguments} --size 40 --engine cpu --verify off"))
}

fn own(folder: &Folder, arguments: &str) -> ProgramOutput {
    run(folder, &format!("--weights own.toml --stencil {arguments}"))
}

/// Then: "spread has weights whose absolute values sum to 3.0000; in 20 steps values may outgrow
/// f64", which ends at 3^646, and the like for every stencil whose weights are not all positive.
#[test]
fn values_that_stay_far_from_the_largest_are_no_reason_to_warn() {
    let folder = folder();
    for arguments in
        ["spread --steps 20 --dtype f64", "spread --steps 60 --dtype f32", "smooth --steps 3000"]
    {
        let outcome = own(&folder, arguments);
        assert_eq!((outcome.stderr.as_str(), outcome.code), ("", Some(0)), "{arguments}");
    }
    // Steps that are stable, though the absolute values of their weights sum to more than 1; own
    // weights, so that nothing is known of them but the numbers.
    let stable =
        |entry: &&Entry| entry.kind == ApplicationKind::Update && entry.stencil().gain() > 1.1;
    let entries: Vec<&Entry> = catalogue::entries().iter().filter(stable).collect();
    assert!(entries.len() > 10);
    let table = |entry: &&Entry| {
        let stencil = entry.stencil();
        let from = 3 - stencil.dims();
        let offsets: Vec<_> = stencil.taps().iter().map(|tap| &tap.offset[from..]).collect();
        let weights: Vec<f64> = stencil.taps().iter().map(|tap| tap.weight).collect();
        format!("[{}]\noffsets = {offsets:?}\nweights = {weights:?}\n", entry.name)
    };
    fs::write(folder.path("stable.toml"), entries.iter().map(table).collect::<String>()).unwrap();
    for entry in entries.iter().step_by(5) {
        let name = entry.name;
        let steps = "--steps 500 --size 9 --dtype f32 --engine cpu --verify off";
        folder.succeed(&format!("run --weights stable.toml --stencil {name} {steps}"));
    }
}

/// The step that is told is that at which the values do outgrow the type, from random ones.
#[test]
fn an_overflow_is_foretold_with_its_step() {
    let folder = folder();
    let told = "warning: the weights of spread sum to 3.0000; values may pass 65504, the most that \
                f16 holds, from about step 11 of 20 on\n";
    let outcome = own(&folder, "spread --steps 20 --dtype f16");
    assert!(outcome.stderr.starts_with(told), "{}", outcome.stderr);
    assert_eq!(outcome.code, Some(4));
    for (steps, code) in [(10, 0), (12, 4)] {
        let outcome = own(&folder, &format!("spread --steps {steps} --dtype f16"));
        assert_eq!(outcome.code, Some(code), "{steps} steps: {}", outcome.stderr);
    }
}

/// Then: nothing with `--quiet`.
#[test]
fn quiet_does_not_hide_that_a_step_is_unstable() {
    let folder = folder();
    let outcome = own(&folder, "heat --steps 40 --dtype f32 --quiet");
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", Some(0)));
    let outcome = own(&folder, "heat --steps 300 --dtype f32 --quiet");
    let told = "warning: heat is unstable: a step grows waves of 2.0 points along y and 2.0 points \
                along x by 1.4000; values may pass 3.4e38, the most that f32 holds, from about step \
                264 of 300 on\n";
    assert!(outcome.stderr.starts_with(told), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");
}

/// Then: silence, and diffusion instead of waves.
#[test]
fn first_steps_from_rest_say_that_they_compute_diffusion() {
    let folder = Folder::new();
    let first = |entry: &&Entry| entry.kind == ApplicationKind::FirstStep;
    let names: Vec<&str> =
        catalogue::entries().iter().filter(first).map(|entry| entry.name).collect();
    for start in ["wave1d", "wave2d-dablain", "seismic2d-tti", "seismic3d-vti", "fdtd24-ez-2d"] {
        assert!(names.contains(&start), "{start}");
    }
    for name in names.iter().step_by(4) {
        let outcome = folder.host(&format!("run --stencil {name} --size 6 --steps 3 --quiet"));
        let told = format!(
            "warning: {name} is the first step from rest of a scheme with two time levels; 3 steps \
             of it compute diffusion, not waves\n"
        );
        assert_eq!((outcome.stderr, outcome.code), (told, Some(0)));
        folder.succeed(&format!("run --stencil {name} --size 6 --quiet"));
    }
    let listed = folder.succeed("list --domain wave").stdout;
    let row = |line: &&str| line.split_whitespace().next() == Some("wave2d");
    assert!(listed.lines().find(row).unwrap().contains(" first step "), "{listed}");
    assert!(listed.contains("computes diffusion, not waves"), "{listed}");
}

#[test]
fn differences_say_that_they_are_applied_once() {
    let folder = Folder::new();
    let outcome = run(&folder, "--stencil laplace2d --steps 3");
    let told = "warning: laplace2d is a difference, made to be applied once; 3 steps apply it 3 \
                times, which is no step in time\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (told, Some(0)));
    assert_eq!(run(&folder, "--stencil laplace2d").stderr, "");
    // A file's stencil of that name is another one.
    fs::write(folder.path("own.toml"), "[laplace2d]\ndense = [0.25, 0.5, 0.25]\n").unwrap();
    assert_eq!(own(&folder, "laplace2d --steps 3").stderr, "");
}

/// Then: the example summed to 8, which f16 holds for five steps.
#[test]
fn the_example_of_every_error_in_a_file_is_a_stable_step() {
    let folder = Folder::new();
    fs::write(folder.path("own.toml"), "").unwrap();
    let outcome = folder.host("run --weights own.toml --size 8");
    let (_, example) = outcome.stderr.split_once("dense = ").unwrap();
    let (example, _) = example.split_once(", or with").unwrap();
    fs::write(folder.path("own.toml"), format!("[smooth]\ndense = {example}\n")).unwrap();
    folder.succeed("run --weights own.toml --size 30 --steps 1000 --engine cpu --quiet");
}
