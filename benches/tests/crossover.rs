// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/benchmarks/crossover.md` and its picture are what the recorded results make of them.

mod current;

use benches::crossover::{COMMAND, PAGE, PICTURE, generate};
use current::{is_current, root};

#[test]
fn the_page_and_its_picture_are_those_of_the_records() {
    let report = generate(&root(), None).unwrap();
    is_current(PAGE, &report.page, COMMAND);
    is_current(PICTURE, &report.picture, COMMAND);
}

/// Jumps take about as long for any number of steps, so that they are slow for a few and fast for many.
#[test]
fn jumps_become_faster_once() {
    let page = generate(&root(), None).unwrap().page;
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| star2d1r |")).collect();
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in rows {
        let cells: Vec<f64> = row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!(cells.len(), 4, "{row}");
        assert!(cells[..2].iter().all(|steps| (1.0..16.0).contains(steps)), "{row}");
        assert!(cells[2..].iter().all(|steps| (16.0..1000.0).contains(steps)), "{row}");
    }
}
