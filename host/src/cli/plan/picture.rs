// SPDX-License-Identifier: MIT OR Apache-2.0
//! A', A'' and the permutation between them, as a picture.

use transform::matrix::Matrix;
use transform::plan::LayoutPlan;
use transform::sparsify::Granularity;

use files::io::rgb::{Colour, Rgb};

/// Groups of four that a line of text takes.
const GROUPS: usize = 24;

/// The matrices as text: `#` for a weight, `.` for a zero; A'' in its groups.
pub fn text(plan: &LayoutPlan) -> String {
    let group = Granularity::of(plan.element).group();
    let mut text = String::from("\nA'\n");
    text += &rows(&plan.morphed.matrix, plan.morphed.matrix.columns().max(1), 4 * GROUPS);
    text += "\nA''\n";
    text += &rows(&plan.sparse.matrix, group, 4 * GROUPS);
    text
}

/// The rows of a matrix in groups of columns, at most `width` columns beside each other.
fn rows(matrix: &Matrix, group: usize, width: usize) -> String {
    let mut text = String::new();
    for first in (0..matrix.columns()).step_by(width) {
        if first > 0 {
            text += &format!("columns from {first}\n");
        }
        for row in 0..matrix.rows() {
            let part = &matrix.row(row)[first..(first + width).min(matrix.columns())];
            let marks = |values: &[f64]| -> String {
                values.iter().map(|value| if *value == 0.0 { '.' } else { '#' }).collect()
            };
            let groups: Vec<String> = part.chunks(group).map(marks).collect();
            text += &groups.join(" ");
            text += "\n";
        }
    }
    text
}

/// Widest picture, in pixels.
const WIDTH: usize = 4096;

/// Between the matrices there is room for this many cells of lines.
const GAP: usize = 12;

const WHITE: Colour = [255; 3];
const ZERO: Colour = [232; 3];
const ZERO_COLUMN: Colour = [205; 3];

/// The picture as a PNG file: A' above, A'' below, a line for each column, each with its own colour.
pub fn png(plan: &LayoutPlan) -> Vec<u8> {
    let (before, after) = (&plan.morphed.matrix, &plan.sparse.matrix);
    let widest = before.columns().max(after.columns());
    let cell = (WIDTH / widest).clamp(2, 16);
    let height = before.rows() + GAP + after.rows();
    let mut image = Rgb::filled([widest, height].map(|cells| cells * cell), WHITE);
    let colour = |column: usize| hue(column as f64 / before.columns() as f64);
    draw(&mut image, before, 0, cell, |column| Some(colour(column)));
    let below = before.rows() + GAP;
    draw(&mut image, after, below, cell, |slot| plan.permutation[slot].map(colour));
    for (slot, column) in plan.permutation.iter().enumerate() {
        let Some(column) = *column else { continue };
        let middle = |column: usize| column * cell + cell / 2;
        let (top, bottom) = (before.rows() * cell, below * cell);
        line(&mut image, [middle(column), top], [middle(slot), bottom], colour(column));
    }
    image.png()
}

/// Draws a matrix from a row of cells on; a column without a colour is a zero column.
fn draw(
    image: &mut Rgb,
    matrix: &Matrix,
    first_row: usize,
    cell: usize,
    colour: impl Fn(usize) -> Option<Colour>,
) {
    for row in 0..matrix.rows() {
        for column in 0..matrix.columns() {
            let fill = match colour(column) {
                None => ZERO_COLUMN,
                Some(_) if matrix.at(row, column) == 0.0 => ZERO,
                Some(colour) => colour,
            };
            // The last pixels of a cell stay white: a grid.
            for y in 0..cell - 1 {
                for x in 0..cell - 1 {
                    let at = [column * cell + x, (first_row + row) * cell + y];
                    *image.pixel(at).expect("the picture has all cells") = fill;
                }
            }
        }
    }
}

/// A line from above to below: one pixel in each row.
fn line(image: &mut Rgb, from: [usize; 2], to: [usize; 2], colour: Colour) {
    let rows = to[1] - from[1];
    let slope = (to[0] as f64 - from[0] as f64) / rows as f64;
    for row in 0..rows {
        let x = from[0] as f64 + slope * row as f64;
        let at = [x.round() as usize, from[1] + row];
        *image.pixel(at).expect("lines are between the matrices") = colour;
    }
}

/// A colour of the circle, for a fraction of a turn.
fn hue(turn: f64) -> Colour {
    let channel = |offset: f64| {
        let distance = ((turn + offset).rem_euclid(1.0) * 6.0 - 3.0).abs() - 1.0;
        (40.0 + 170.0 * distance.clamp(0.0, 1.0)) as u8
    };
    [channel(0.0), channel(2.0 / 3.0), channel(1.0 / 3.0)]
}
