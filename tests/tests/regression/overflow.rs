// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that outgrow their type.

use std::time::{Duration, Instant};

use crate::support::Folder;

/// A run went on to its last step and said only that the result holds infinity.
#[test]
fn the_step_is_told_soon_after_it_was_taken() {
    let folder = Folder::new();
    folder.write("grow.npy", &[1, 1], &[1.01]);
    folder.write("in.npy", &[1, 2], &[0.0, 1.0]);
    let growing = std::iter::successors(Some(1.0f64), |value| Some(1.01 * value));
    let step = growing.take_while(|value| value.is_finite()).count();
    let run = "run --weights grow.npy --input in.npy --engine cpu --steps 1000000000 --quiet";
    let start = Instant::now();
    let outcome = folder.host(run);
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    let text = format!(
        "error: after step {step} the grid holds inf at (y, x) = (0, 1); after step {} all values \
         were finite\n",
        step - 1
    );
    assert!(outcome.stderr.contains(&text), "{step}: {}", outcome.stderr);
}
