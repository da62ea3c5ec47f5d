// SPDX-License-Identifier: MIT OR Apache-2.0
//! The chart: a panel for each element type, in it bars for each workload.

use std::ops::Range;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use stencil::Dtype;
use stencil::bench::DepthMode;
use stencil::bench::chart::text;

use super::peers::Peers;
use crate::markdown::count;
use crate::records::Records;

/// The types that have a panel; the tables have all.
const TYPES: [Dtype; 3] = [Dtype::F16, Dtype::F32, Dtype::F64];
/// Pixels.
const WIDTH: u32 = 960;
const LEGEND: u32 = 40;
const PANEL: u32 = 250;
/// Height of the numbers over bars.
const DIGITS: i32 = 14;

const STEP: RGBColor = RGBColor(158, 188, 218);
const AUTO: RGBColor = RGBColor(33, 102, 172);
const PEER: RGBColor = RGBColor(230, 145, 56);
const LIMIT: RGBColor = RGBColor(60, 60, 60);
const GRID: RGBColor = RGBColor(225, 225, 225);

/// Width of a bar; a workload has the width 1.
const BAR: f64 = 0.27;

/// A workload in a type: GStencil/s, where they are known.
struct Group {
    names: [&'static str; 2],
    /// One sweep, what the program takes by itself, published code of others.
    speeds: [Option<f64>; 3],
    /// What a copy of the grid allows one sweep.
    limit: Option<f64>,
}

/// The chart as SVG.
pub fn draw(records: &Records, peers: &Peers) -> Result<String> {
    let panels: Vec<(Dtype, Vec<Group>)> = TYPES
        .into_iter()
        .map(|dtype| (dtype, groups(records, peers, dtype)))
        .filter(|(_, groups)| !groups.is_empty())
        .collect();
    let mut svg = String::new();
    let height = LEGEND + PANEL * panels.len() as u32;
    let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    // The backend writes to a string, and its errors borrow from it.
    render(&root, &panels).map_err(|error| anyhow!("the chart: {error}"))?;
    drop(root);
    Ok(svg.trim_end().to_owned() + "\n")
}

fn groups(records: &Records, peers: &Peers, dtype: Dtype) -> Vec<Group> {
    let is_same_gpu = records.device().is_some_and(|device| peers.are_of(device));
    let grids = records.largest_grids().into_iter();
    let groups = grids.map(|grid| {
        let step = records.measurement(grid, dtype, DepthMode::Step);
        let auto = records.measurement(grid, dtype, DepthMode::Auto);
        let peer = peers.find(grid.0, dtype).filter(|_| is_same_gpu);
        Group {
            names: [grid.0.stencil, grid.0.paper],
            speeds: [
                step.map(|step| step.gstencils_per_s),
                auto.map(|auto| auto.gstencils_per_s),
                peer.map(|peer| peer.gstencils_per_s),
            ],
            limit: step.map(|step| step.gstencils_per_s / step.fraction_of_copy),
        }
    });
    groups.filter(|group| group.speeds[0].or(group.speeds[1]).is_some()).collect()
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn render<'a>(root: &Area<'a>, panels: &[(Dtype, Vec<Group>)]) -> Drawn<'a> {
    root.fill(&WHITE)?;
    let (top, rest) = root.split_vertically(LEGEND);
    legend(&top)?;
    for (area, (dtype, groups)) in rest.split_evenly((panels.len(), 1)).iter().zip(panels) {
        panel(area, *dtype, groups)?;
    }
    root.present()
}

fn legend<'a>(area: &Area<'a>) -> Drawn<'a> {
    let (y, style) = (18, text(13, HPos::Left, VPos::Center));
    let entries = [
        (60, STEP, "one time step a sweep"),
        (270, AUTO, "what the program takes by itself"),
        (530, PEER, "published code of others"),
    ];
    for (x, color, what) in entries {
        area.draw(&Rectangle::new([(x, y - 6), (x + 12, y + 6)], color.filled()))?;
        area.draw_text(what, &style, (x + 18, y))?;
    }
    area.draw(&PathElement::new([(735, y), (757, y)], LIMIT.stroke_width(2)))?;
    area.draw_text("a copy of the grid", &style, (763, y))
}

fn panel<'a>(area: &Area<'a>, dtype: Dtype, groups: &[Group]) -> Drawn<'a> {
    let highest = groups.iter().flat_map(|group| group.speeds.into_iter().chain([group.limit]));
    let highest = highest.flatten().fold(0.0, f64::max);
    let width: Range<f64> = 0.0..groups.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .margin_right(10)
        .margin_top(22)
        .x_label_area_size(38)
        .y_label_area_size(58)
        .build_cartesian_2d(width, 0.0..highest * 1.08)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(LIMIT)
        .y_labels(6)
        .y_label_formatter(&|speed| if *speed == 0.0 { "0".into() } else { count(*speed) })
        .y_label_style(text(11, HPos::Right, VPos::Center))
        .draw()?;
    area.draw_text(&format!("{dtype}, GStencil/s"), &text(14, HPos::Left, VPos::Top), (8, 2))?;
    let plot = chart.plotting_area();
    for (index, group) in groups.iter().enumerate() {
        let left = index as f64 + (1.0 - 3.0 * BAR) / 2.0;
        for (place, (speed, color)) in group.speeds.iter().zip([STEP, AUTO, PEER]).enumerate() {
            let Some(speed) = *speed else { continue };
            let from = left + place as f64 * BAR;
            plot.draw(&Rectangle::new([(from, 0.0), (from + BAR * 0.94, speed)], color.filled()))?;
            let (x, top) = plot.map_coordinate(&(from + BAR * 0.47, speed));
            // Over the line that would go through it.
            let line = group.limit.map(|limit| plot.map_coordinate(&(from, limit)).1);
            let y = line.filter(|line| (top - DIGITS..=top).contains(line)).unwrap_or(top);
            area_text(area, &count(speed), &text(10, HPos::Center, VPos::Bottom), (x, y - 2))?;
        }
        if let Some(limit) = group.limit {
            let line = [(left - 0.03, limit), (left + 3.0 * BAR + 0.01, limit)];
            plot.draw(&PathElement::new(line, LIMIT.stroke_width(2)))?;
        }
        let (x, y) = plot.map_coordinate(&(index as f64 + 0.5, 0.0));
        for (line, name) in group.names.iter().enumerate() {
            let at = (x, y + 6 + 15 * line as i32);
            area_text(area, name, &text(12, HPos::Center, VPos::Top), at)?;
        }
    }
    Ok(())
}

/// Text at a place of the whole drawing.
fn area_text<'a>(area: &Area<'a>, what: &str, style: &TextStyle, (x, y): (i32, i32)) -> Drawn<'a> {
    let (left, top) = area.get_base_pixel();
    area.draw_text(what, style, (x - left, y - top))
}
