// SPDX-License-Identifier: MIT OR Apache-2.0
//! The roofline: a measurement's GFLOP/s over the FLOP that it does for each byte that its sweeps move. What memory
//! allows is a slope, what the units compute at most are level lines; the slope is that of the copies that were measured
//! beside it, so that a point's distance below it is what `fraction_of_copy` says.
//!
//! FLOP are those of the stencil that was asked for: 2 for each of its points and each step. What fusing and padding
//! add is no work, so that points stay comparable.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use transform::catalogue;
use transform::machine::{Machine, Precision};

use super::{Area, Drawn, FRAME, GRID, Picture, Scale, draw_title, places, series};
use crate::bench::{Measurement, Row};
use problem::Dtype;

/// Height of the names of units, in pixels.
const LETTERS: i32 = 14;

/// A measurement's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// FLOP for each byte that goes through memory.
    pub intensity: f64,
    /// 10^9 FLOP in a second.
    pub gflops: f64,
}

impl Point {
    /// None of a system, whose operations are not counted.
    fn of(row: &Row, measured: &Measurement) -> Option<Self> {
        let stencil = catalogue::find(row.case.workload.stencil)?;
        let gflops = measured.gstencils_per_s * (2 * stencil.taps().len()) as f64;
        Some(Self { intensity: gflops / measured.effective_gb_per_s, gflops })
    }
}

/// What one device allows.
#[derive(Debug, PartialEq)]
pub struct Roof {
    /// GB/s of a copy, the median of those that were measured.
    pub copy: f64,
    /// Name and GFLOP/s of its units, where they are known, the slowest first.
    pub peaks: Vec<(&'static str, f64)>,
}

/// The rows of a type that were measured for themselves, with their places.
pub fn points<'a>(picture: &Picture<'a>, dtype: Dtype) -> Vec<(&'a Row, Point)> {
    let rows = picture.results.rows.iter().filter(|row| row.case.dtype == dtype);
    let rows = rows.filter(|row| !picture.results.repeats(row));
    rows.filter_map(|row| Some((row, Point::of(row, row.measurement()?)?))).collect()
}

/// A roof for each device.
pub fn roofs(picture: &Picture, dtype: Dtype) -> Vec<Roof> {
    let points = points(picture, dtype);
    let of = |device: &&str| {
        let measured = points.iter().filter_map(|(row, _)| row.measurement());
        let of_it = measured.filter(|measured| measured.device == *device);
        let mut copies: Vec<f64> =
            of_it.map(|measured| measured.effective_gb_per_s / measured.fraction_of_copy).collect();
        copies.sort_by(f64::total_cmp);
        let copy = *copies.get(copies.len() / 2)?;
        Some(Roof { copy, peaks: peaks(device, dtype) })
    };
    picture.results.devices().iter().filter_map(of).collect()
}

/// What the units of a described GPU compute at most in a type, in GFLOP/s.
fn peaks(device: &str, dtype: Dtype) -> Vec<(&'static str, f64)> {
    let name = device.split(',').next().unwrap_or_default();
    let Some(known) = Machine::known().iter().find(|known| known.machine.name == name) else {
        return Vec::new();
    };
    let machine = &known.machine;
    let precision = match dtype {
        Dtype::F16 | Dtype::Bf16 => Precision::Half,
        Dtype::Tf32 | Dtype::F32 => Precision::Single,
        Dtype::F64 => Precision::Double,
    };
    let rates = machine.rates(precision);
    let mut peaks = vec![("CUDA cores", rates.cuda)];
    // Tensor cores have no f32.
    if dtype != Dtype::F32 {
        peaks.push(("dense tensor cores", rates.dense));
        peaks.extend(rates.sparse.map(|rate| ("sparse tensor cores", rate)));
    }
    peaks.iter().map(|(unit, flops)| (*unit, flops / 1e9)).collect()
}

/// The least and the greatest of some positive numbers.
fn span(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, 0.0], |[least, most], value| [least.min(value), most.max(value)])
}

pub fn draw<DB: DrawingBackend>(
    area: &Area<DB>,
    picture: &Picture,
    dtype: Dtype,
    scale: Scale,
) -> Drawn<DB> {
    let (points, roofs) = (points(picture, dtype), roofs(picture, dtype));
    let [least_x, most_x] = span(points.iter().map(|(_, point)| point.intensity));
    let peaks = || roofs.iter().flat_map(|roof| roof.peaks.iter().map(|(_, peak)| *peak));
    // Whole decades, beyond the points and up to where the slope meets the peaks.
    let meet = roofs.iter().flat_map(|roof| roof.peaks.iter().map(|(_, peak)| peak / roof.copy));
    let [_, meet] = span(meet);
    let xs = decade(least_x * 0.8, f64::floor)..decade(f64::max(most_x, meet) * 1.25, f64::ceil);
    let [least_y, most_y] = span(points.iter().map(|(_, point)| point.gflops).chain(peaks()));
    let ys = decade(least_y * 0.8, f64::floor)..decade(most_y * 1.5, f64::ceil);
    let mut chart = ChartBuilder::on(area)
        .margin_right(scale.px(14))
        .margin_top(scale.px(24))
        .x_label_area_size(scale.px(30))
        .y_label_area_size(scale.px(46))
        .build_cartesian_2d(xs.clone().log_scale(), ys.clone().log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(FRAME)
        .x_label_formatter(&power)
        .y_label_formatter(&power)
        .x_label_style(scale.text(10, HPos::Center, VPos::Top))
        .y_label_style(scale.text(10, HPos::Right, VPos::Center))
        .draw()?;
    let title = format!("{dtype}, GFLOP/s over FLOP/byte");
    draw_title(area, &title, scale)?;
    let plot = chart.plotting_area();
    let at = places(area, plot);
    for roof in &roofs {
        // Level lines start where the slope reaches them, the slope ends at the highest.
        let [_, peak] = span(roof.peaks.iter().map(|(_, peak)| *peak));
        let highest = if roof.peaks.is_empty() { ys.end } else { peak };
        let end = xs.end.min(highest / roof.copy);
        let start = xs.start.max(ys.start / roof.copy);
        let slope = [(start, start * roof.copy), (end, end * roof.copy)];
        plot.draw(&PathElement::new(slope, scale.stroke(FRAME, 2)))?;
        let mut above = None;
        for (unit, peak) in roof.peaks.iter().rev() {
            let from = (peak / roof.copy).max(xs.start);
            let line = [(from, *peak), (xs.end, *peak)];
            plot.draw(&PathElement::new(line, scale.stroke(FRAME, 1)))?;
            let (x, y) = at((xs.end, *peak));
            // Over its line, or below where another one is close above.
            let is_free = above.is_none_or(|above| y - above > scale.px(LETTERS));
            let (side, gap) = if is_free { (VPos::Bottom, -2) } else { (VPos::Top, 2) };
            let style = scale.text(9, HPos::Right, side);
            area.draw_text(unit, &style, (x - scale.px(2), y + scale.px(gap)))?;
            above = Some(y);
        }
    }
    for (row, point) in &points {
        let name = series::name(picture.results, row);
        let series = picture.series.iter().find(|series| series.name == name);
        let Some(series) = series else { continue };
        let place = (point.intensity, point.gflops);
        plot.draw(&Circle::new(place, scale.px(4), series.color.filled()))?;
        plot.draw(&Circle::new(place, scale.px(4), scale.stroke(FRAME, 1)))?;
    }
    Ok(())
}

/// The power of ten below or above.
fn decade(value: f64, round: impl Fn(f64) -> f64) -> f64 {
    10f64.powf(round(value.log10()))
}

/// A label of a logarithmic axis.
fn power(value: &f64) -> String {
    if (0.01..1e5).contains(value) { format!("{value}") } else { format!("{value:.0e}") }
}
