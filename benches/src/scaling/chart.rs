// SPDX-License-Identifier: MIT OR Apache-2.0
//! The picture: efficiency over the number of GPUs, a panel for strong scaling and one for weak.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use stencil::bench::chart::text;
use stencil::plan::scale::{CurvePoint, MOST_GPUS};

use super::WorkloadCurves;

/// Pixels.
const WIDTH: u32 = 960;
const LEGEND: u32 = 40;
const PANEL: u32 = 320;

const GRID: RGBColor = RGBColor(225, 225, 225);
const AXIS: RGBColor = RGBColor(60, 60, 60);
const COLORS: [RGBColor; 3] =
    [RGBColor(33, 102, 172), RGBColor(217, 119, 20), RGBColor(27, 120, 55)];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Fault<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// The picture as SVG.
pub fn draw(drawn: &[WorkloadCurves]) -> Result<String> {
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, (WIDTH, LEGEND + PANEL)).into_drawing_area();
    // The backend writes to a string, and its errors borrow from it.
    render(&root, drawn).map_err(|error| anyhow!("the picture: {error}"))?;
    drop(root);
    Ok(svg.trim_end().to_owned() + "\n")
}

fn render<'a>(root: &Area<'a>, drawn: &[WorkloadCurves]) -> Result<(), Fault<'a>> {
    root.fill(&WHITE)?;
    let (top, rest) = root.split_vertically(LEGEND);
    let style = text(13, HPos::Left, VPos::Center);
    for ((WorkloadCurves { workload, .. }, color), x) in
        drawn.iter().zip(COLORS).zip([30, 180, 330])
    {
        top.draw(&PathElement::new([(x, 18), (x + 22, 18)], color.stroke_width(2)))?;
        let name = format!("{}, {}", workload.stencil, workload.dtype);
        top.draw_text(&name, &style, (x + 28, 18))?;
    }
    top.draw_text("across: GPUs; up: efficiency, %; predicted", &style, (480, 18))?;
    let areas = rest.split_evenly((1, 2));
    let curves = || drawn.iter().map(|drawn| &drawn.curves);
    panel(&areas[0], "strong: one grid, shared", curves().map(|of| &of.strong))?;
    panel(&areas[1], "weak: as many points for each GPU", curves().map(|of| &of.weak))?;
    root.present()
}

fn panel<'a, 'b>(
    area: &Area<'a>,
    title: &str,
    curves: impl Iterator<Item = &'b Vec<CurvePoint>>,
) -> Result<(), Fault<'a>> {
    let mut chart = ChartBuilder::on(area)
        .margin_right(20)
        .margin_top(28)
        .x_label_area_size(28)
        .y_label_area_size(44)
        .build_cartesian_2d((0.9..1.1 * MOST_GPUS as f64).log_scale().base(2.0), 0.0..105.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(AXIS)
        .x_label_style(text(10, HPos::Center, VPos::Top))
        .y_label_style(text(10, HPos::Right, VPos::Center))
        .draw()?;
    area.draw_text(title, &text(13, HPos::Left, VPos::Top), (8, 6))?;
    for (rows, color) in curves.zip(COLORS) {
        let at = |row: &CurvePoint| {
            let efficiency = row.prediction.as_ref()?.way().times.efficiency;
            Some((row.cluster.gpus as f64, 100.0 * efficiency))
        };
        let points: Vec<(f64, f64)> = rows.iter().filter_map(at).collect();
        chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
        chart.draw_series(points.iter().map(|&at| Circle::new(at, 3, color.filled())))?;
    }
    Ok(())
}
