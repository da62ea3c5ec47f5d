// SPDX-License-Identifier: MIT OR Apache-2.0
//! How ranks begin: all the same, and one of them speaks.

use super::launch::{fail, is_there, succeed};
use super::support::{Folder, ProgramOutput};

#[test]
fn ranks_that_differ_are_refused() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let (line, other) =
        ("run heat-2d --size 40 --output u.npy", "run heat-2d --size 41 --output u.npy");
    let words = format!(
        "error: rank 1 was started with another command line than rank 0: `{other}` instead of `{line}`"
    );
    fail(&folder, &[(1, line), (2, other)], 2, &words);
    // What rank 0 alone would print and be done with.
    fail(
        &folder,
        &[(1, "list"), (1, line)],
        2,
        "error: rank 1 was started with another command line",
    );
    assert!(folder.files().is_empty());
}

#[test]
fn what_is_wrong_is_said_once() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    for (line, words) in [
        ("run --nonsense", "error: unexpected argument '--nonsense'"),
        ("run no-such-stencil --size 9", "error: there is no stencil named 'no-such-stencil'"),
        ("run heat-2d --size 2x1 --engine cpu", "error: a grid of 2x1 cannot be cut into 3 parts"),
        ("bench --quick", "error: `host bench` runs on one rank, not on 3"),
    ] {
        fail(&folder, &[(3, line)], 2, words);
    }
}

#[test]
fn what_is_printed_is_printed_once() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    for (line, words) in [
        ("list heat-2d", "also heat-2d"),
        ("--version", "host "),
        ("run --help", "Exit codes: "),
        ("run heat-2d --size 9 --print-toml", "size = 9"),
        ("doctor", "; 3 ranks, 3 on this machine"),
    ] {
        let ProgramOutput { stdout, .. } = succeed(&folder, 3, line);
        assert_eq!(stdout.matches(words).count(), 1, "{line}: {stdout}");
    }
}

/// Started by another launcher than that of the library, or built without one: copies of one computation.
#[test]
fn processes_that_nothing_connects_are_refused() {
    let folder = Folder::new();
    let run = |rank: &str, line: &str| {
        let mut command = folder.command(line);
        command.env("PMI_SIZE", "4").env("PMI_RANK", rank);
        ProgramOutput::from(command.output().unwrap())
    };
    let line = "run heat-2d --size 40 --output u.npy";
    let first = run("0", line);
    assert_eq!(first.code, Some(2));
    let said = "error: PMI_SIZE says that this is one of 4 processes, but ";
    assert!(first.stderr.contains(said), "{}", first.stderr);
    let other = run("3", line);
    assert_eq!((other.code, other.stderr.as_str()), (Some(2), ""));
    assert!(folder.files().is_empty());
    assert!(run("0", "list heat-2d").stdout.contains("also heat-2d"));
    let silent = run("2", "list heat-2d");
    assert_eq!((silent.code, silent.stdout.as_str()), (Some(0), ""));
}
