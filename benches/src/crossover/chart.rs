// SPDX-License-Identifier: MIT OR Apache-2.0
//! The picture: a panel for each stencil, grid and type, in it milliseconds of a run over its steps, lines as predicted,
//! discs as measured.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use stencil::bench::chart::text;

use super::curves::{Curves, SteppingMethod, TimeSource};

/// Pixels.
const WIDTH: u32 = 960;
const LEGEND: u32 = 40;
const PANEL: u32 = 260;
const COLUMNS: usize = 3;

const GRID: RGBColor = RGBColor(225, 225, 225);
const AXIS: RGBColor = RGBColor(60, 60, 60);

fn color(way: SteppingMethod) -> RGBColor {
    match way {
        SteppingMethod::Single => RGBColor(120, 120, 120),
        SteppingMethod::Several => RGBColor(33, 102, 172),
        SteppingMethod::Jump => RGBColor(217, 119, 20),
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// The picture as SVG.
pub fn draw(panels: &[Curves]) -> Result<String> {
    let mut svg = String::new();
    let rows = panels.len().div_ceil(COLUMNS);
    let size = (WIDTH, LEGEND + PANEL * rows as u32);
    let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    // The backend writes to a string, and its errors borrow from it.
    render(&root, panels, rows).map_err(|error| anyhow!("the picture: {error}"))?;
    drop(root);
    Ok(svg.trim_end().to_owned() + "\n")
}

fn render<'a>(root: &Area<'a>, panels: &[Curves], rows: usize) -> Drawn<'a> {
    root.fill(&WHITE)?;
    let (top, rest) = root.split_vertically(LEGEND);
    let style = text(13, HPos::Left, VPos::Center);
    for (way, x) in SteppingMethod::ALL.into_iter().zip([30, 160, 360]) {
        top.draw(&PathElement::new([(x, 18), (x + 22, 18)], color(way).stroke_width(2)))?;
        top.draw(&Circle::new((x + 11, 18), 4, color(way).filled()))?;
        top.draw_text(&way.to_string(), &style, (x + 28, 18))?;
    }
    top.draw_text(
        "line: predicted; disc: measured; across: time steps; up: ms",
        &style,
        (480, 18),
    )?;
    for (area, curves) in rest.split_evenly((rows, COLUMNS)).iter().zip(panels) {
        panel(area, curves)?;
    }
    root.present()
}

fn panel<'a>(area: &Area<'a>, curves: &Curves) -> Drawn<'a> {
    let of = |way, source| curves.curve(way, source).map(|(steps, s)| (steps as f64, 1e3 * s));
    let sources = [TimeSource::Predicted, TimeSource::Measured];
    let all =
        || SteppingMethod::ALL.into_iter().flat_map(|way| sources.map(|source| (way, source)));
    let points = || all().flat_map(|(way, source)| of(way, source));
    let most = points().fold((1.0, 0.0), |(x, y), (a, b)| (f64::max(x, a), f64::max(y, b)));
    let least = points().fold(f64::INFINITY, |least, (_, y)| least.min(y));
    let mut chart = ChartBuilder::on(area)
        .margin_right(12)
        .margin_top(24)
        .x_label_area_size(24)
        .y_label_area_size(50)
        .build_cartesian_2d(
            (0.9..most.0 * 1.2).log_scale(),
            (least * 0.8..most.1 * 1.3).log_scale(),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(AXIS)
        .x_label_style(text(10, HPos::Center, VPos::Top))
        .y_label_style(text(10, HPos::Right, VPos::Center))
        .draw()?;
    let title = format!("{}, {}, {}", curves.stencil, curves.shape, curves.dtype);
    area.draw_text(&title, &text(13, HPos::Left, VPos::Top), (8, 4))?;
    for way in SteppingMethod::ALL {
        let color = color(way);
        chart
            .draw_series(LineSeries::new(of(way, TimeSource::Predicted), color.stroke_width(2)))?;
        let discs = of(way, TimeSource::Measured).map(|at| Circle::new(at, 4, color.filled()));
        chart.draw_series(discs)?;
    }
    Ok(())
}
