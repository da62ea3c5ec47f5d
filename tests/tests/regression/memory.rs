// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that runs take.

#[cfg(target_os = "linux")]
use std::fs;
#[cfg(target_os = "linux")]
use std::process::Stdio;

use crate::support::Folder;

/// The most memory that a run had, in KiB, as the system tells while it runs.
#[cfg(target_os = "linux")]
fn peak(folder: &Folder, run: &str) -> u64 {
    let mut child = folder.command(run).stdout(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(peak.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success(), "{run}");
    assert!(most > 0, "the system tells it");
    most
}

/// A run held 5 copies of its grid, 13 with f16 and a full verification, and bf16 took three times its
/// memory to be written.
#[cfg(target_os = "linux")]
#[test]
fn a_run_takes_three_grids_and_parts_of_others() {
    let folder = Folder::new();
    // The program, its threads, and what it reads at a time.
    const PROGRAM: u64 = 40 << 10;
    for (run, bytes) in [
        ("--size 2000 --dtype f64 --steps 6 --verify off --output a.npy", 8),
        ("--size 4000 --dtype bf16 --steps 3 --verify off --output a.npy", 2),
        ("--size 4000 --dtype f16 --steps 2 --verify full", 2),
    ] {
        let size: u64 = if run.contains("2000") { 2000 } else { 4000 };
        let grid = size * size * bytes / 1024;
        let run = format!("run --stencil star2d1r --engine cpu --quiet {run}");
        let peak = peak(&folder, &run);
        println!("{run}: {:.2} grids and {PROGRAM} KiB", (peak - PROGRAM) as f64 / grid as f64);
        // 24 bytes for each of the 2^21 points of a slab.
        let slab = if run.contains("full") { 24 << 11 } else { 0 };
        assert!(
            peak < 3 * grid + grid / 8 + slab + PROGRAM,
            "{run}: {peak} KiB, a grid {grid} KiB"
        );
    }
}

/// Too little memory was bad input, exit code 2.
#[test]
fn memory_has_an_exit_code_of_its_own() {
    let outcome = Folder::new().host("run --stencil star1d1r --size 100000000000000 --dtype f64");
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let text = "error: a run on 100000000000000 f64 values with engine cpu needs 1.4 PiB; ";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
}
