// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C in the middle of a run.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::support::{Folder, ProgramOutput, catches};

#[cfg(unix)]
#[test]
fn ctrl_c_ends_cleanly_and_leaves_the_old_output() {
    let folder = Folder::new();
    fs::write(folder.path("out.npy"), "old").unwrap();
    let run = "run --stencil star2d1r --size 300 --steps 100000000 --engine cpu --output out.npy";
    let mut command = folder.command(run);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !catches(child.id(), 2) {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(10));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let outcome = ProgramOutput::from(child.wait_with_output().unwrap());
    let text = "error: interrupted\n  help: nothing was written; existing files are as they were\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (text, Some(130)));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(fs::read_to_string(folder.path("out.npy")).unwrap(), "old");
    assert_eq!(folder.files(), ["out.npy"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_benchmark_and_keeps_what_was_measured() {
    let folder = Folder::new();
    let bench =
        "bench --quick --engine cpu --dtype f32 --mode step --steps 400 --json a.json --csv a.csv";
    let mut command = folder.command(bench);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !folder.path("a.csv").exists() {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(10));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let outcome = ProgramOutput::from(child.wait_with_output().unwrap());
    let file: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path("a.json")).unwrap()).unwrap();
    let rows = file["rows"].as_array().unwrap().len();
    assert!(rows > 0 && file["complete"] == serde_json::json!(false));
    let csv = fs::read_to_string(folder.path("a.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + rows);
    assert_eq!(outcome.stdout.lines().count(), 2 + rows, "{}", outcome.stdout);
    let start = format!("error: interrupted after {rows} of ");
    let help = "help: the table, and the files of --json and --csv, hold the measurements that were made\n";
    assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with(help), "{}", outcome.stderr);
    assert_eq!(outcome.code, Some(130));
    assert_eq!(folder.files(), ["a.csv", "a.json"]);
}
