// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every seed through its target, on any machine: past mistakes stay mended.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn every_target_keeps_its_promises_on_its_seeds() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (name, target) in fuzz::TARGETS {
        let mut files = 0;
        for file in fs::read_dir(seeds.join(name)).expect(name) {
            let path = file.expect(name).path();
            println!("{}", path.display());
            let data = fs::read(&path).expect(name);
            let start = Instant::now();
            target(&data);
            let taken = start.elapsed();
            assert!(taken < Duration::from_secs(5), "{}: {taken:?}", path.display());
            files += 1;
        }
        assert!(files > 0, "{name} has no seeds");
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
