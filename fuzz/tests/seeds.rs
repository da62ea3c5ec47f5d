// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every seed through its target, on any machine: past mistakes stay mended. And every seed a little
//! damaged, the same way each time; `cargo xtask fuzz` looks for more.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One that takes longer, in a build that is not optimised for it, hangs.
const LONGEST: Duration = Duration::from_secs(5);

/// The seeds of a target, in the order of their names.
fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let files = fs::read_dir(folder).expect(name).map(|file| file.expect(name).path());
    let mut seeds: Vec<_> = files.map(|path| (path.clone(), fs::read(path).expect(name))).collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "{name} has no seeds");
    seeds
}

fn run(target: fuzz::Target, data: &[u8], what: &str) {
    println!("{what}");
    let start = Instant::now();
    target(data);
    let taken = start.elapsed();
    assert!(taken < LONGEST, "{what}: {taken:?}");
}

/// Cuts off the end, changes some bytes, or doubles a part.
fn damage(data: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut damaged = data.to_vec();
    let place = |rng: &mut ChaCha8Rng| rng.random_range(0..data.len().max(1)).min(data.len());
    match rng.random_range(0..3) {
        0 => damaged.truncate(place(rng)),
        1 => {
            for _ in 0..rng.random_range(1..=3) {
                let at = place(rng);
                damaged[at..].iter_mut().take(1).for_each(|byte| *byte = rng.random());
            }
        }
        _ => {
            let (from, to) = (place(rng), place(rng));
            let part = data[from.min(to)..from.max(to)].to_vec();
            let at = place(rng);
            damaged.splice(at..at, part);
        }
    }
    damaged
}

#[test]
fn every_target_keeps_its_promises_on_its_seeds() {
    for (name, target) in fuzz::TARGETS {
        for (path, data) in seeds(name) {
            run(target, &data, &path.display().to_string());
        }
    }
}

#[test]
fn every_target_keeps_its_promises_on_damaged_seeds() {
    for (name, target) in fuzz::TARGETS {
        // A plan takes a thousand times as long as what the others do.
        let times = if name == "stencil_plan" { 1 } else { 20 };
        for (number, (path, data)) in seeds(name).into_iter().enumerate() {
            let rng = &mut ChaCha8Rng::seed_from_u64(number as u64);
            for time in 0..times {
                let what = format!("{}, damaged, number {time}", path.display());
                run(target, &damage(&data, rng), &what);
            }
        }
    }
}

#[test]
fn every_target_has_its_program() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs = fs::read_dir(here.join("fuzz_targets"))
        .expect("fuzz_targets")
        .map(|file| file.expect("fuzz_targets").path().file_stem().expect("a name").to_owned());
    let mut programs: Vec<_> = programs.map(|name| name.into_string().expect("text")).collect();
    let mut targets = fuzz::TARGETS.map(|(name, _)| name);
    programs.sort();
    targets.sort_unstable();
    assert_eq!(programs, targets);
}
