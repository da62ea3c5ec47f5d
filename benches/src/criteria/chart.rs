// SPDX-License-Identifier: MIT OR Apache-2.0
//! The picture of the sweet spot: a row of panels for each kind of shape, a column for each precision; in a panel a
//! cell for each radius and number of steps, in the colour of the unit that is to be the fastest, and in it a disc in
//! that of the unit that was.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use stencil::bench::chart::text;
use stencil::families::Unit;
use transform::catalogue::Family;
use transform::machine::{Machine, Precision};

use super::measurements::Measurements;
use super::spots::{PRECISIONS, RANGES, Range, Spot, shapes, spots};

/// Pixels.
const WIDTH: i32 = 960;
const LEGEND: i32 = 84;
const TITLE: i32 = 26;
const AXIS: i32 = 34;
const LEFT: i32 = 36;
const CELL: i32 = 19;
const GAP: i32 = 8;

const CUDA: RGBColor = RGBColor(33, 102, 172);
const DENSE: RGBColor = RGBColor(217, 119, 20);
const SPARSE: RGBColor = RGBColor(35, 139, 69);
const TENSOR: RGBColor = RGBColor(140, 132, 40);
const ALIKE: RGBColor = RGBColor(150, 150, 150);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// The picture as SVG.
pub fn draw(machine: &Machine, measurements: &Measurements) -> Result<String> {
    let mut svg = String::new();
    let height = LEGEND + RANGES.iter().map(height).sum::<i32>();
    let root = SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32)).into_drawing_area();
    // The backend writes to a string, and its errors borrow from it.
    render(&root, machine, measurements).map_err(|error| anyhow!("the picture: {error}"))?;
    drop(root);
    Ok(svg.trim_end().to_owned() + "\n")
}

/// Of a row of panels.
fn height(range: &Range) -> i32 {
    TITLE + CELL * range.radius as i32 + AXIS
}

fn render<'a>(root: &Area<'a>, machine: &Machine, measurements: &Measurements) -> Drawn<'a> {
    root.fill(&WHITE)?;
    legend(root)?;
    let mut top = LEGEND;
    let width = WIDTH / PRECISIONS.len() as i32;
    for range in &RANGES {
        for (column, precision) in PRECISIONS.into_iter().enumerate() {
            let panel = Panel { range, precision, left: width * column as i32, top, width };
            panel.draw(root, machine, measurements)?;
        }
        top += height(range);
    }
    root.present()
}

fn legend<'a>(root: &Area<'a>) -> Drawn<'a> {
    let style = text(13, HPos::Left, VPos::Center);
    let entries = [
        (36, CUDA, "CUDA cores"),
        (150, DENSE, "dense tensor cores"),
        (310, SPARSE, "sparse tensor cores"),
        (475, TENSOR, "dense and sparse alike"),
        (655, ALIKE, "CUDA and tensor cores alike"),
    ];
    for (x, color, what) in entries {
        root.draw(&Rectangle::new([(x, 10), (x + 14, 24)], pale(color).filled()))?;
        root.draw(&Circle::new((x + 7, 17), 4, color.filled()))?;
        root.draw_text(what, &style, (x + 20, 17))?;
    }
    let said = "cell: the fastest by the criteria; disc: the fastest as measured";
    root.draw_text(said, &style, (36, 42))?;
    root.draw(&Circle::new((490, 42), 4, BLACK.stroke_width(2)))?;
    root.draw_text("ring: only this unit was measured", &style, (502, 42))?;
    root.draw_text("across: time steps in a sweep, t; up: radius", &style, (36, 64))
}

fn pale(color: RGBColor) -> RGBColor {
    let mixed = |part: u8| (u16::from(part) * 2 / 5 + 153) as u8;
    RGBColor(mixed(color.0), mixed(color.1), mixed(color.2))
}

/// The colour of the units that are the fastest.
fn color(units: &[Unit]) -> RGBColor {
    match units {
        [Unit::CudaCores] => CUDA,
        [Unit::DenseTensorCores] => DENSE,
        [Unit::SparseTensorCores] => SPARSE,
        units if units.contains(&Unit::CudaCores) => ALIKE,
        _ => TENSOR,
    }
}

/// A kind of shape in a precision, at a place of the picture.
struct Panel<'a> {
    range: &'a Range,
    precision: Precision,
    left: i32,
    top: i32,
    width: i32,
}

impl Panel<'_> {
    fn draw<'a>(
        &self,
        root: &Area<'a>,
        machine: &Machine,
        measurements: &Measurements,
    ) -> Drawn<'a> {
        let Self { range, precision, left, top, .. } = *self;
        let title = format!("{}, {}", kind(range), types(precision));
        root.draw_text(
            &title,
            &text(13, HPos::Left, VPos::Bottom),
            (left + LEFT, top + TITLE - 5),
        )?;
        let centered = text(10, HPos::Center, VPos::Center);
        for shape in shapes(range) {
            let row = shape.radius();
            let (_, y) = self.corner(row, 1);
            root.draw_text(&row.to_string(), &centered, (left + LEFT - 10, y + CELL / 2))?;
            for spot in spots(shape, range.steps, precision, machine, measurements) {
                self.cell(root, row, &spot)?;
            }
        }
        let every = if range.steps > 16 { 4 } else { 1 };
        for steps in (1..=range.steps).filter(|steps| *steps == 1 || steps % every == 0) {
            let (x, _) = self.corner(1, steps);
            let (next, _) = self.corner(1, steps + 1);
            let below = top + TITLE + CELL * range.radius as i32 + 9;
            root.draw_text(&steps.to_string(), &centered, (i32::midpoint(x, next), below))?;
        }
        Ok(())
    }

    /// The upper left corner of a cell.
    fn corner(&self, radius: usize, steps: usize) -> (i32, i32) {
        let across = (self.width - LEFT - GAP) * (steps as i32 - 1) / self.range.steps as i32;
        let down = CELL * (self.range.radius - radius) as i32;
        (self.left + LEFT + across, self.top + TITLE + down)
    }

    fn cell<'a>(&self, root: &Area<'a>, radius: usize, spot: &Spot) -> Drawn<'a> {
        let (x, y) = self.corner(radius, spot.case.steps);
        let (next, _) = self.corner(radius, spot.case.steps + 1);
        let fill = pale(color(&spot.predicted_fastest())).filled();
        root.draw(&Rectangle::new([(x, y), (next - 1, y + CELL - 1)], fill))?;
        if spot.measured.is_empty() {
            return Ok(());
        }
        let color = color(&spot.measured_fastest());
        let size = 5.min((next - x) / 2 - 1);
        let is_alone = spot.measured.len() == 1;
        let style = if is_alone { color.stroke_width(2) } else { color.filled() };
        root.draw(&Circle::new((i32::midpoint(x, next), y + CELL / 2), size, style))
    }
}

fn kind(range: &Range) -> String {
    let family = match range.family {
        Family::Star => "stars",
        Family::Box => "boxes",
        Family::Diamond => "diamonds",
    };
    if range.dims == 1 { "1D".into() } else { format!("{family} in {}D", range.dims) }
}

/// What is computed in.
fn types(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "f64",
        Precision::Single => "f32 on CUDA, tf32 on tensor cores",
        Precision::Half => "f16",
    }
}
