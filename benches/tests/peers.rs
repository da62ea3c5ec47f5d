// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the command `peers` says without Devito, and how it compares two results.

use benches::peers::distance;
use std::process::Command;
use stencil::Grid;

#[test]
fn the_distance_is_relative_and_sees_one_wrong_value() {
    let grid = |values: Vec<f64>| Grid::new(&[4], values).unwrap();
    let one = grid(vec![1.0; 4]);
    assert_eq!(distance(&one, &one), 0.0);
    assert_eq!(distance(&grid(vec![1.0, 1.0, 2.0, 1.0]), &one), 0.5);
    assert!(distance(&grid(vec![f64::NAN; 4]), &one).is_nan());
}

/// Its exit code and what it says on standard error.
fn fail(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_benches"))
        .arg("peers")
        .args(arguments)
        .env("PATH", "")
        .env_remove("RUST_BACKTRACE")
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    let (code, text) = fail(&[]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("no gcc was found, with which others' code is compiled: install it"),
        "{text}"
    );
    let (code, text) = fail(&["--single", "star2d"]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("no stencil is called \"star2d\"; `host list` has their names"),
        "{text}"
    );
    let (code, text) = fail(&["--dtype", "f16"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("Devito computes in f32 and f64"), "{text}");
    let (code, text) = fail(&["--suite", "swashes", "--size", "64"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("leave out --size and --turns"), "{text}");
    let (code, text) = fail(&["--suite", "exponax", "--steps", "3"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("cannot be used with"), "{text}");
}
