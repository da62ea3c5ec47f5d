// SPDX-License-Identifier: MIT OR Apache-2.0
//! Into how many driver calls a box is cut, and that the parts are the box.

use super::*;

fn extent(width: usize, rows: usize, planes: usize) -> BoxExtent {
    BoxExtent { width, rows, planes }
}

fn place(row_pitch: usize, plane_pitch: usize) -> BoxPlace {
    BoxPlace { address: 1 << 40, row_pitch, plane_pitch }
}

/// The bytes of a box in order, as a copy by its definition takes them.
fn bytes(extent: BoxExtent, place: BoxPlace) -> Vec<u64> {
    let mut found = Vec::new();
    for plane in 0..extent.planes {
        for row in 0..extent.rows {
            let start = plane * place.plane_pitch + row * place.row_pitch;
            found.extend((start..start + extent.width).map(|byte| place.address + byte as u64));
        }
    }
    found
}

/// The parts' extents, after a look whether each is one that the driver takes and whether together they
/// copy each byte to where it belongs.
fn cut(whole: BoxExtent, from: BoxPlace, to: BoxPlace) -> Vec<BoxExtent> {
    let parts = parts(whole, from, to);
    let mut copied = Vec::new();
    for &Part { extent, from, to } in &parts {
        for place in [from, to] {
            if extent.rows > 1 {
                assert!((extent.width..=MAX_PITCH).contains(&place.row_pitch));
            }
            if extent.planes > 1 {
                assert_eq!(height(extent, place) * place.row_pitch, place.plane_pitch);
                assert!(height(extent, place) >= extent.rows);
            }
        }
        copied.extend(bytes(extent, from).into_iter().zip(bytes(extent, to)));
    }
    let expected: Vec<_> = bytes(whole, from).into_iter().zip(bytes(whole, to)).collect();
    assert_eq!(copied, expected);
    parts.into_iter().map(|part| part.extent).collect()
}

#[test]
fn what_has_no_gaps_is_one_row() {
    assert_eq!(cut(extent(8, 3, 5), place(8, 24), place(8, 24)), [extent(120, 1, 1)]);
    assert_eq!(cut(extent(8, 3, 5), place(8, 32), place(8, 48)), [extent(24, 5, 1)]);
    assert_eq!(cut(extent(8, 3, 5), place(10, 30), place(9, 27)), [extent(8, 15, 1)]);
    assert_eq!(cut(extent(8, 1, 5), place(0, 30), place(0, 8)), [extent(8, 5, 1)]);
    assert_eq!(cut(extent(8, 1, 5), place(0, 8), place(99, 8)), [extent(40, 1, 1)]);
    assert_eq!(cut(extent(8, 1, 1), place(0, 0), place(1, 2)), [extent(8, 1, 1)]);
    assert_eq!(cut(extent(8, 3, 1), place(8, 0), place(8, 7)), [extent(24, 1, 1)]);
}

#[test]
fn a_box_with_gaps_is_one_call() {
    assert_eq!(cut(extent(8, 3, 5), place(16, 64), place(10, 40)), [extent(8, 3, 5)]);
    assert_eq!(cut(extent(8, 3, 1), place(16, 1), place(10, 7)), [extent(8, 3, 1)]);
}

#[test]
fn planes_that_are_no_whole_rows_apart_are_copied_one_by_one() {
    assert_eq!(cut(extent(8, 3, 2), place(16, 60), place(10, 40)), [extent(8, 3, 1); 2]);
    assert_eq!(cut(extent(8, 3, 2), place(16, 64), place(10, 41)), [extent(8, 3, 1); 2]);
    // Planes between each other's rows.
    assert_eq!(cut(extent(8, 3, 2), place(16, 8), place(10, 40)), [extent(8, 3, 1); 2]);
}

#[test]
fn rows_too_far_apart_are_copied_one_by_one() {
    let far = MAX_PITCH + 1;
    assert_eq!(cut(extent(8, 2, 1), place(far, 0), place(8, 0)), [extent(8, 1, 1); 2]);
    assert_eq!(cut(extent(8, 2, 2), place(16, 32), place(far, 2 * far)), [extent(8, 1, 1); 4]);
    // Rows that share bytes may be read.
    assert_eq!(cut(extent(8, 2, 1), place(4, 0), place(8, 0)), [extent(8, 1, 1); 2]);
}

#[test]
fn nothing_is_no_call() {
    for none in [extent(0, 2, 2), extent(2, 0, 2), extent(2, 2, 0)] {
        assert_eq!(cut(none, place(8, 16), place(8, 16)), []);
    }
}
