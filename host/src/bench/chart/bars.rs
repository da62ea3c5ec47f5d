// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars of GStencil/s, a group for each stencil and grid, and over each group the line of a copy: what goes beyond
//! it uses values again on chip.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::{Area, Drawn, FRAME, GRID, Picture, Scale, digits, draw_title, places, series};
use crate::bench::{Measurement, Row, Workload};
use problem::{Dtype, Shape};

/// Of a group, which has the width 1, what its bars take together.
const TAKEN: f64 = 0.86;
/// Height of the numbers over bars, in pixels.
const DIGITS: i32 = 14;
/// Pixels of a bar from which on its speed fits above it.
const LEGIBLE: f64 = 19.0;

/// A stencil on a grid.
pub struct Group<'a> {
    pub workload: &'static Workload,
    pub shape: Shape,
    /// For each series its row, if it was measured.
    pub rows: Vec<Option<&'a Row>>,
}

impl Group<'_> {
    /// GStencil/s that a copy of the grid allows one step a sweep, on the device of the fastest: the median of the copies
    /// beside these runs.
    pub fn limit(&self) -> Option<f64> {
        let measured = || self.rows.iter().flatten().filter_map(|row| row.measurement());
        let speed = |measured: &&Measurement| measured.gstencils_per_s;
        let fastest = measured().max_by(|one, other| speed(one).total_cmp(&speed(other)))?;
        let beside = |row: &&&Row| {
            row.measurement().is_some_and(|measured| measured.device == fastest.device)
        };
        let beside = self.rows.iter().flatten().filter(beside);
        let mut limits: Vec<f64> = beside.filter_map(|row| limit(row)).collect();
        limits.sort_by(f64::total_cmp);
        limits.get(limits.len() / 2).copied()
    }
}

/// Points of a copy in a second, in 10^9: each is read and written once.
fn limit(row: &Row) -> Option<f64> {
    let measured = row.measurement()?;
    let copy = measured.effective_gb_per_s / measured.fraction_of_copy;
    Some(copy / (2 * row.case.dtype.bytes()) as f64)
}

/// The groups of a type, in the order of the rows.
pub fn groups<'a>(picture: &Picture<'a>, dtype: Dtype) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for row in picture.results.rows.iter().filter(|row| row.case.dtype == dtype) {
        let name = series::name(picture.results, row);
        let Some(place) = picture.series.iter().position(|series| series.name == name) else {
            continue;
        };
        let (workload, shape) = (row.case.workload, row.case.shape);
        let is_it = |group: &Group| group.workload == workload && group.shape == shape;
        let index = groups.iter().position(is_it).unwrap_or_else(|| {
            groups.push(Group { workload, shape, rows: vec![None; picture.series.len()] });
            groups.len() - 1
        });
        if row.measurement().is_some() {
            groups[index].rows[place] = Some(row);
        }
    }
    groups.retain(|group| group.rows.iter().any(Option::is_some));
    groups
}

pub fn draw<DB: DrawingBackend>(
    area: &Area<DB>,
    picture: &Picture,
    dtype: Dtype,
    scale: Scale,
) -> Drawn<DB> {
    let groups = groups(picture, dtype);
    let speeds = groups.iter().flat_map(|group| {
        let speeds = group.rows.iter().flatten().filter_map(|row| row.speed());
        speeds.chain(group.limit())
    });
    let highest = speeds.fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin_right(scale.px(8))
        .margin_top(scale.px(24))
        .x_label_area_size(scale.px(42))
        .y_label_area_size(scale.px(56))
        .build_cartesian_2d(0.0..groups.len() as f64, 0.0..highest * 1.1)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(FRAME)
        .y_labels(5)
        .y_label_formatter(&|speed| if *speed == 0.0 { "0".into() } else { digits(*speed) })
        .y_label_style(scale.text(11, HPos::Right, VPos::Center))
        .draw()?;
    let title = format!("{dtype}, GStencil/s");
    draw_title(area, &title, scale)?;
    let plot = chart.plotting_area();
    let at = places(area, plot);
    let bar = TAKEN / picture.series.len() as f64;
    let group_pixels = f64::from(at((1.0, 0.0)).0 - at((0.0, 0.0)).0);
    let legible = bar * group_pixels >= LEGIBLE * f64::from(scale.0);
    for (index, group) in groups.iter().enumerate() {
        let first = index as f64 + (1.0 - TAKEN) / 2.0;
        for (place, (row, series)) in group.rows.iter().zip(&picture.series).enumerate() {
            let Some(speed) = row.and_then(Row::speed) else { continue };
            let from = first + place as f64 * bar;
            let fill = series.color.filled();
            plot.draw(&Rectangle::new([(from, 0.0), (from + bar * 0.94, speed)], fill))?;
            if legible {
                let (x, top) = at((from + bar * 0.47, speed));
                // Over the line that would go through it.
                let line = group.limit().map(|limit| at((from, limit)).1);
                let digits = top - scale.px(DIGITS)..=top;
                let y = line.filter(|line| digits.contains(line)).unwrap_or(top);
                let style = scale.text(10, HPos::Center, VPos::Bottom);
                area.draw_text(&super::digits(speed), &style, (x, y - scale.px(2)))?;
            }
        }
        if let Some(limit) = group.limit() {
            let line = [(first - 0.03, limit), (first + TAKEN + 0.03, limit)];
            plot.draw(&PathElement::new(line, scale.stroke(FRAME, 2)))?;
        }
        let (x, y) = at((index as f64 + 0.5, 0.0));
        let lines = [group.workload.stencil.to_owned(), extents(group.shape)];
        for (line, (text, pixels)) in lines.iter().zip([11, 9]).enumerate() {
            let style = scale.text(pixels, HPos::Center, VPos::Top);
            area.draw_text(text, &style, (x, y + scale.px(6 + 15 * line as i32)))?;
        }
    }
    Ok(())
}

/// Extents in letters that every font has.
fn extents(shape: Shape) -> String {
    let axes = shape.axes();
    let all_alike = axes.iter().all(|extent| *extent == axes[0]);
    match axes.len() {
        dims @ 2.. if all_alike => format!("{}^{dims}", axes[0]),
        _ => axes.iter().map(usize::to_string).collect::<Vec<String>>().join("x"),
    }
}
