// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks that are ended in the middle: a message that names the rank, an exit code, a whole checkpoint.

use super::launch::{end_of, is_open_mpi, is_there, mpirun, succeed};
use super::support::{Folder, ProgramOutput};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const RUN: &str =
    "run star2d1r --size 60x70 --dtype f32 --boundary periodic --engine cpu --quiet --verify off";
/// A variable by which the processes of a test are known.
const MARK: &str = "HOST_TEST_RANKS";

/// Starts four ranks that never get done, and waits for their first checkpoint.
fn start(folder: &Folder) -> Child {
    let line = format!("{RUN} --steps 1e9 --checkpoint state --checkpoint-every 40 --output u.npy");
    let mut command = mpirun(folder, &[(4, &line)]);
    // A busy machine may take more than the second that Open MPI gives ranks to say what happened.
    command.env(MARK, folder.path("")).env("OMPI_MCA_odls_base_sigkill_timeout", "4");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let start = Instant::now();
    while !folder.path("state").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "there is no checkpoint");
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(50));
    child
}

/// The process of a rank.
fn process(folder: &Folder, rank: usize) -> String {
    let mark = format!("{MARK}={}", folder.path("").display());
    let numbers = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].map(|name| format!("{name}={rank}"));
    let is_rank = |process: &fs::DirEntry| {
        let variables = fs::read(process.path().join("environ")).unwrap_or_default();
        let variables = String::from_utf8_lossy(&variables).into_owned();
        let has = |wanted: &String| variables.split('\0').any(|variable| variable == wanted);
        has(&mark) && numbers.iter().any(has)
    };
    let processes = fs::read_dir("/proc").unwrap().map(Result::unwrap);
    let found = processes.into_iter().find(is_rank).expect("the rank runs");
    found.file_name().into_string().unwrap()
}

fn signal(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

/// Steps that the checkpoint has.
fn steps(folder: &Folder) -> usize {
    let refused = folder.host(&format!("{RUN} --steps 1 --resume state"));
    let number =
        refused.stderr.split(" steps are done").next().and_then(|text| text.rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{}", refused.stderr))
}

/// Goes on from the checkpoint on so many ranks: the bits of a run that nobody ended.
fn resume(folder: &Folder, ranks: usize) {
    let steps = steps(folder) + 30;
    assert!(!folder.path("u.npy").exists());
    succeed(folder, ranks, &format!("{RUN} --steps {steps} --resume state --output resumed.npy"));
    folder.succeed(&format!("{RUN} --steps {steps} --output whole.npy"));
    let [resumed, whole] =
        ["resumed", "whole"].map(|name| fs::read(folder.path(&format!("{name}.npy"))));
    assert!(resumed.unwrap() == whole.unwrap());
}

#[test]
fn a_rank_that_is_killed_is_named_and_the_checkpoint_is_whole() {
    if !is_there() {
        return;
    }
    for (rank, resumed_on) in [(2, 3), (0, 2)] {
        let folder = Folder::new();
        let child = start(&folder);
        signal("-KILL", &process(&folder, rank));
        let killed = Instant::now();
        let ProgramOutput { code, stderr, .. } = end_of(child);
        assert!(killed.elapsed() < Duration::from_secs(30), "{:?}", killed.elapsed());
        assert!(stderr.contains(&format!("error: rank {rank} is gone")), "{stderr}");
        if is_open_mpi() {
            assert_eq!(code, Some(137), "{stderr}");
        }
        assert_ne!(code, Some(0));
        resume(&folder, resumed_on);
    }
}

#[test]
fn a_request_to_end_leaves_a_checkpoint_of_the_last_step() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let child = start(&folder);
    signal("-TERM", &process(&folder, 0));
    let ProgramOutput { code, stderr, .. } = end_of(child);
    assert_eq!(code, Some(143), "{stderr}");
    let said = format!(
        "error: interrupted by SIGTERM; state holds the state after step {}\n",
        steps(&folder)
    );
    assert!(stderr.contains(&said), "{stderr}");
    resume(&folder, 1);
}

/// As a batch system asks all of them, or `mpirun` that somebody interrupts.
#[test]
fn only_rank_0_heeds_a_request_to_end() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let child = start(&folder);
    for rank in [3, 2, 1, 0] {
        signal("-TERM", &process(&folder, rank));
    }
    let ProgramOutput { code, stderr, .. } = end_of(child);
    assert_eq!(code, Some(143), "{stderr}");
    assert!(stderr.contains("error: interrupted by SIGTERM; state holds the state"), "{stderr}");
    resume(&folder, 8);
}

#[test]
fn what_a_run_fails_with_is_the_exit_code_of_all_ranks() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    fs::write(folder.path("weights.toml"), "[grows]\noffsets = [[0], [1]]\nweights = [9.0, 9.0]\n")
        .unwrap();
    let line =
        "run --weights weights.toml --size 100 --dtype f16 --steps 50 --engine cpu --output u.npy";
    let outcome = super::launch::outcome(mpirun(&folder, &[(3, line)]));
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("error: after step ").count(), 1, "{}", outcome.stderr);
    assert_eq!(folder.files(), ["weights.toml"]);
}
