// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/benchmarks/scaling.md` and its picture are what the model makes of them, and the model is near what was measured.

mod current;

use std::fs;

use benches::scaling::{COMMAND, MEASUREMENTS, PAGE, PICTURE, TOLERANCE, compare, generate, parse};
use current::{is_current, root};

#[test]
fn the_page_and_its_picture_are_those_of_the_model() {
    let report = generate(&root()).unwrap();
    is_current(PAGE, &report.page, COMMAND);
    is_current(PICTURE, &report.picture, COMMAND);
}

/// Whatever was measured; there may be nothing yet.
#[test]
fn the_model_is_near_what_was_measured() {
    let text = fs::read_to_string(root().join(MEASUREMENTS)).unwrap();
    let measured = parse(&text).unwrap();
    for (of, prediction) in compare(&measured).unwrap() {
        let ratio = of.seconds_per_step / prediction.way().times.seconds_per_step;
        println!("{ratio:.3} {of:?}");
        assert!(
            (1.0 / TOLERANCE..TOLERANCE).contains(&ratio),
            "{ratio:.3} times what is predicted: {of:?}, {prediction:?}"
        );
    }
}

const HEADER: &str = "stencil,size,dtype,gpus,mode,seconds_per_step,commit\n";

#[test]
fn measurements_are_read_and_what_is_none_is_refused() {
    let good = "star3d1r,512x512x512,f32,2,weak,1e-4,c0ffee1\n";
    let read = parse(&format!("{HEADER}{good}{good}")).unwrap();
    assert_eq!((read.len(), read[0].gpus, read[1].seconds_per_step), (2, 2, 1e-4));
    let compared = compare(&read).unwrap();
    assert_eq!(compared[0].1.grid, "1024x512x512");
    assert!(parse(HEADER).unwrap().is_empty());
    let fails = |from: &str, to: &str, text: &str| {
        let error = parse(&format!("{HEADER}{good}{}", good.replace(from, to))).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains("line") && error.contains(text), "no '{text}' in '{error}'");
    };
    fails("weak", "week", "'week' is neither strong nor weak");
    fails("1e-4", "0", "a step took 0 s");
    fails("f32,2", "f32,0", "0 GPUs");
    fails("c0ffee1", "now", "'now' is no commit");
    fails("f32", "f33", "f33");
    fails("512x512x512", "512x0x512", "every axis needs at least one point");
    fails("1e-4", "fast", "");
}
