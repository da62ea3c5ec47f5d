// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results that are finished are kept, whatever comes after.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Folder, ProgramOutput, catches, hang_ups_are_ignored};

/// Longer than any of these runs takes to get there.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a run, waits until `is_there`, sends a signal, and returns how it ended.
fn end(folder: &Folder, run: &str, signal: &str, is_there: impl Fn(u32) -> bool) -> ProgramOutput {
    let mut command = folder.command(run);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !is_there(child.id()) {
        assert!(start.elapsed() < PATIENCE, "{run}");
        assert!(child.try_wait().unwrap().is_none(), "{run}: {:?}", finished(child));
        thread::sleep(Duration::from_millis(5));
    }
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    finished(child)
}

fn finished(child: Child) -> ProgramOutput {
    ProgramOutput::from(child.wait_with_output().unwrap())
}

/// Whether the file beside the output's place has all of so many bytes.
fn is_staged(folder: &Folder, bytes: u64) -> bool {
    let sizes = folder.files().into_iter().filter(|name| name.starts_with(".host-"));
    let size = |name: String| fs::metadata(folder.path(&name)).map_or(0, |about| about.len());
    sizes.map(size).any(|size| size >= bytes)
}

const COMPUTE: &str = "run --stencil star2d1r --size 200 --steps 20000 --dtype f64 --engine cpu";
const BYTES: u64 = 200 * 200 * 8;

/// The result of [`COMPUTE`].
fn expected(folder: &Folder) -> Vec<f64> {
    folder.succeed(&format!("{COMPUTE} --verify off --quiet --output expected.npy"));
    let (_, values) = folder.read("expected.npy");
    fs::remove_file(folder.path("expected.npy")).unwrap();
    values
}

/// A signal while the result was being verified lost it; SIGTERM and SIGHUP left a hidden file as well.
#[test]
fn a_signal_during_verification_keeps_the_result() {
    let folder = Folder::new();
    let expected = expected(&folder);
    for (signal, code, by) in
        [("-INT", 130, ""), ("-TERM", 143, " by SIGTERM"), ("-HUP", 129, " by SIGHUP")]
    {
        if signal == "-HUP" && hang_ups_are_ignored() {
            continue;
        }
        fs::write(folder.path("out.npy"), "old").unwrap();
        let run = format!("{COMPUTE} --verify full --output out.npy --json out.json");
        let outcome = end(&folder, &run, signal, |_| is_staged(&folder, BYTES));
        let text = format!("error: interrupted{by} while the result was being verified\n");
        assert!(outcome.stderr.starts_with(&text), "{}", outcome.stderr);
        assert_eq!(outcome.code, Some(code));
        assert_eq!(folder.files(), ["out.json", "out.npy"]);
        assert_eq!(folder.read::<f64>("out.npy").1, expected);
        let report: Value =
            serde_json::from_slice(&fs::read(folder.path("out.json")).unwrap()).unwrap();
        assert_eq!(
            (&report["verified"], &report["verification"]["complete"]),
            (&false.into(), &false.into())
        );
        assert!(outcome.stdout.contains("NOT VERIFIED AFTER ALL STEPS: interrupted"));
    }
}

/// SIGKILL leaves no process to tidy up: the next run into the folder does. What others write there is left alone.
#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_run_left_is_removed_by_the_next_one() {
    let folder = Folder::new();
    fs::write(folder.path("out.npy"), "old").unwrap();
    let run = format!("{COMPUTE} --verify full --output out.npy");
    let mut command = folder.command(&run);
    let mut other = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !is_staged(&folder, BYTES) {
        assert!(start.elapsed() < PATIENCE && other.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(5));
    }
    let hidden = || folder.files().into_iter().filter(|name| name.starts_with(".host-")).count();
    let small = "run --stencil star2d1r --size 20 --engine cpu --quiet --output small.npy";
    folder.succeed(small);
    assert_eq!(hidden(), 1, "{:?}", folder.files());
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(hidden(), 1, "{:?}", folder.files());
    folder.succeed(small);
    assert_eq!(folder.files(), ["out.npy", "small.npy"]);
    assert_eq!(fs::read_to_string(folder.path("out.npy")).unwrap(), "old");
}

/// Ctrl-C while the speed was being measured lost a verified result.
#[test]
fn a_signal_during_the_measurement_keeps_the_result_and_the_report() {
    let folder = Folder::new();
    let expected = expected(&folder);
    let run = format!("{COMPUTE} --verify sample --time 1000 --output out.npy");
    let outcome = end(&folder, &run, "-INT", |_| folder.path("out.npy").exists());
    let text = "error: interrupted while the speed was being measured\n";
    assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
    assert_eq!(outcome.code, Some(130));
    assert_eq!(folder.read::<f64>("out.npy").1, expected);
    assert_eq!(folder.files(), ["out.npy"]);
    assert!(outcome.stdout.contains("\nspeed "), "{}", outcome.stdout);
}

/// SIGTERM and SIGHUP ended the program wherever it was.
#[test]
fn a_signal_while_it_computes_leaves_everything_as_it_was() {
    let folder = Folder::new();
    fs::write(folder.path("out.npy"), "old").unwrap();
    let run = "run --stencil star2d1r --size 300 --steps 100000000 --engine cpu --output out.npy";
    for (signal, number, code, by) in
        [("-TERM", 15, 143, " by SIGTERM"), ("-HUP", 1, 129, " by SIGHUP")]
    {
        if signal == "-HUP" && hang_ups_are_ignored() {
            continue;
        }
        let outcome = end(&folder, run, signal, |process| catches(process, number));
        let text = format!(
            "error: interrupted{by}\n  help: nothing was written; existing files are as they were\n"
        );
        assert_eq!((outcome.stderr, outcome.code), (text, Some(code)));
        assert_eq!(fs::read_to_string(folder.path("out.npy")).unwrap(), "old");
        assert_eq!(folder.files(), ["out.npy"]);
    }
}

/// A hang-up that `nohup` had switched off ends nothing.
#[test]
fn nohup_is_respected() {
    let folder = Folder::new();
    let program = folder.command("").get_program().to_owned();
    let mut command = Command::new("nohup");
    command.arg(program).args(COMPUTE.split_whitespace()).args(["--verify", "off", "--quiet"]);
    command.current_dir(folder.path("")).env("CUDA_VISIBLE_DEVICES", "");
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !catches(child.id(), 15) {
        assert!(start.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(5));
    }
    let kill = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(finished(child).code, Some(0));
}

/// A report that could not be written lost the result, which came after it.
#[test]
fn a_report_that_cannot_be_written_does_not_lose_the_result() {
    let folder = Folder::new();
    let run =
        "run --stencil star2d1r --size 30 --engine cpu --quiet --output out.npy --json /dev/full";
    let outcome = folder.host(run);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("error: cannot write /dev/full: "), "{}", outcome.stderr);
    assert_eq!(folder.files(), ["out.npy"]);
}
