// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C in the middle of a run.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::support::{Folder, Outcome};

#[cfg(unix)]
#[test]
fn ctrl_c_ends_cleanly_and_leaves_the_old_output() {
    let folder = Folder::new();
    fs::write(folder.path("out.npy"), "old").unwrap();
    let run = "run --stencil star2d1r --size 300 --steps 100000000 --engine cpu --output out.npy";
    let mut command = folder.command(run);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_secs(1));
    let start = Instant::now();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    let text = "error: interrupted\n  help: nothing was written; existing files are as they were\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (text, Some(130)));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(fs::read_to_string(folder.path("out.npy")).unwrap(), "old");
    assert_eq!(folder.files(), ["out.npy"]);
}
