// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/benchmarks/criteria.md` and its picture are what the recorded measurements make of them; what was not measured is not
//! there, and what is no measurement makes none.

mod current;

use std::fs;
use std::path::Path;

use benches::criteria::{COMMAND, CriteriaPage, MEASUREMENTS, PAGE, PICTURE, generate};
use current::{is_current, root};
use tempfile::TempDir;

#[test]
fn the_page_and_its_picture_are_those_of_the_measurements() {
    let report = generate(&root(), &root().join(MEASUREMENTS), MEASUREMENTS).unwrap();
    is_current(PAGE, &report.page, COMMAND);
    is_current(PICTURE, &report.picture, COMMAND);
}

const HEADER: &str = "stencil,shape,dtype,boundary,engine,kernel,fuse,chain,seconds_per_step\n";

/// What the page of this repository becomes with other measurements.
fn made_of(lines: &str) -> anyhow::Result<CriteriaPage> {
    let folder: TempDir = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("docs/benchmarks")).unwrap();
    fs::copy(root().join(PAGE), folder.path().join(PAGE)).unwrap();
    let file = folder.path().join("own.csv");
    fs::write(&file, HEADER.to_owned() + lines).unwrap();
    generate(folder.path(), &file, "own.csv")
}

/// The row of a section that starts so, as its cells.
fn row(report: &CriteriaPage, section: &str, start: &str) -> Vec<String> {
    let (_, text) = report.page.split_once(&format!("<!-- generated: {section} -->")).unwrap();
    let (text, _) = text.split_once("<!-- end of").unwrap();
    let found = text.lines().find(|line| line.starts_with(start));
    let found = found.unwrap_or_else(|| panic!("no '{start}' in {text}"));
    found.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// On the grid of 10240² one of 10⁻⁴ seconds a step is 1,049 GStencil/s, which [`SLOW`] takes twice as long for.
const FAST: &str = "0.0001";
const SLOW: &str = "0.0002";

#[test]
fn what_was_measured_stands_beside_what_was_predicted() {
    let case_1 = |cuda: &str, dense: &str| {
        format!(
            "box2d1r,10240x10240,f64,zero,cuda,temporal2d_f64_mirrored1_t3,1,3,{cuda}\n\
             box2d1r,10240x10240,f64,zero,cuda,temporal2d_f64_mirrored1_t8,1,8,{FAST}\n\
             box2d1r,10240x10240,f64,zero,dense,convstencil_f64_r3,3,1,{dense}\n"
        )
    };
    // Scenario 1 on an H200: both are to be as fast.
    let report = made_of(&case_1(FAST, SLOW)).unwrap();
    let lost = row(&report, "cases", "| 1 |");
    assert_eq!(&lost[13..], ["0.50", "no"], "{lost:?}");
    let report = made_of(&case_1(FAST, FAST)).unwrap();
    let same = row(&report, "cases", "| 1 |");
    assert_eq!(&same[13..], ["1.00", "yes"], "{same:?}");
    let roles = row(&report, "roles", "| 1 | EBISU");
    assert_eq!(roles[6], "1,049, t = 3, `temporal2d_f64_mirrored1_t3`");
    assert_eq!(roles[7], "1,049, t = 8, `temporal2d_f64_mirrored1_t8`");
    assert!(
        report.page.contains(
            "Of 1 places, the units measured to be the fastest are those predicted at 1;"
        )
    );
    let best = row(&report, "depths", "| box2d1r |");
    let fastest = "dense 1,049, t = 3; CUDA cores 1,049, t = 8";
    assert_eq!(&best[1..], ["10240×10240", fastest, "", ""]);
}

/// In 3D the roofs of f64 leave CUDA cores alone in front.
#[test]
fn a_prediction_that_was_missed_has_a_row() {
    let measured = |cuda: &str, dense: &str| {
        made_of(&format!(
            "star3d1r,768x768x768,f64,zero,cuda,temporal3d_f64_star1_t3,1,3,{cuda}\n\
             star3d1r,768x768x768,f64,zero,dense,convstencil_f64_r3,3,1,{dense}\n"
        ))
        .unwrap()
    };
    let spot = row(&measured(SLOW, FAST), "spots", "| star3d1r |");
    assert_eq!(&spot[1..3], ["f64", "3"]);
    assert_eq!(&spot[5..], ["–", "CUDA cores", "dense"], "sparse tensor cores have no f64");
    assert!(!measured(FAST, SLOW).page.contains("| star3d1r | f64 | 3 |"));
}

/// One unit alone, another boundary, another depth or a chain in SPIDER's role: no outcome.
#[test]
fn what_was_not_measured_has_no_outcome() {
    let report = made_of(&format!(
        "box2d1r,10240x10240,f32,zero,cuda,,1,1,{SLOW}\n\
         box2d1r,10240x10240,f32,periodic,cuda,temporal2d_f32_box1_t7,1,7,{FAST}\n\
         box2d1r,10240x10240,tf32,zero,sparse,gather_tf32_1x16,6,1,{SLOW}\n\
         box2d3r,10240x10240,f64,zero,cuda,,1,1,{SLOW}\n\
         box3d1r,768x768x768,tf32,zero,sparse,chain3d_tf32_c7,1,7,{FAST}\n"
    ))
    .unwrap();
    for case in 1..=6 {
        let cells = row(&report, "cases", &format!("| {case} |"));
        assert_eq!(&cells[13..], ["not measured", "–"], "{cells:?}");
    }
    let sparse = row(&report, "roles", "| 3 | SPIDER");
    assert_eq!(&sparse[6..], ["not measured", "524, t = 6, `gather_tf32_1x16`"]);
    assert_eq!(&row(&report, "roles", "| 6 | SPIDER")[6..], ["not measured", ""]);
    assert!(report.page.contains("Not measured: of no stencil and depth"));
}

/// CUDA cores have kernels of some depths only: of these the one that is nearest to the case's.
#[test]
fn the_role_of_ebisu_is_played_by_the_nearest_depth() {
    let report = made_of(&format!(
        "box2d1r,10240x10240,f32,zero,cuda,,1,1,{FAST}\n\
         box2d1r,10240x10240,f32,zero,cuda,temporal2d_f32_mirrored1_t8,1,8,{FAST}\n\
         box2d1r,10240x10240,tf32,zero,sparse,gather_tf32_1x16,7,1,{SLOW}\n"
    ))
    .unwrap();
    let cuda = row(&report, "roles", "| 3 | EBISU");
    let there = "1,049, t = 8, `temporal2d_f32_mirrored1_t8`";
    assert_eq!(&cuda[6..], [there, "1,049, t = 1, `direct`"]);
    // Scenario 4 on an H200, outside the sweet spot.
    assert_eq!(&row(&report, "cases", "| 3 |")[13..], ["0.50", "yes"]);
}

/// A kernel that was measured again has its last speed.
#[test]
fn the_last_measurement_of_a_kernel_counts() {
    let twice = |first: &str, last: &str| {
        let line = "box2d3r,10240x10240,f64,zero,cuda,,1,1,";
        row(&made_of(&format!("{line}{first}\n{line}{last}\n")).unwrap(), "roles", "| 2 | EBISU")
    };
    assert_eq!(twice(FAST, SLOW)[6], "524, t = 1, `direct`");
    assert_eq!(twice(SLOW, FAST)[6], "1,049, t = 1, `direct`");
}

#[test]
fn what_is_no_measurement_is_refused() {
    let good = "box2d1r,10240x10240,f64,zero,cuda,,1,1,0.0004\n";
    let fails = |line: &str, text: &str| {
        let error = made_of(&format!("{good}{line}")).err().expect("a refusal");
        let error = format!("{error:#}");
        assert!(error.contains("own.csv") && error.contains(text), "no '{text}' in '{error}'");
    };
    fails("box2d1r,10240x10240,f64,zero,cpu,,1,1,0.1\n", "line 3: 'cpu' is no engine of a GPU");
    fails("box2d1r,10240x10240,f64,zero,cuda,,0,1,0.1\n", "line 3: fuse and chain count from 1");
    fails("box2d1r,10240x10240,f64,zero,cuda,,1,1,0\n", "line 3: a step took 0 s");
    fails("box2d1r,10240x10240,f64,zero,cuda,,1,1,nan\n", "line 3: a step took NaN s");
    fails("box2d1r,10240x10240,f65,zero,cuda,,1,1,0.1\n", "line 3: ");
    fails("box2d1r,10240x0,f64,zero,cuda,,1,1,0.1\n", "line 3: ");
    fails("box2d1r,10240x10240,f64,zero,cuda,,1,1\n", "line: 3");
    fails("box2d1r,10240x10240,f64,zero,cuda,,1,1,fast\n", "line: 3");
    let none = made_of("").err().expect("a refusal");
    assert!(format!("{none:#}").contains("no measurement with boundary zero"), "{none:#}");
    let gone = generate(&root(), Path::new("none.csv"), "none.csv").err().expect("a refusal");
    assert!(format!("{gone:#}").contains("cannot read none.csv"), "{gone:#}");
}
