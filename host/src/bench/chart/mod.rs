// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as a picture: a row of panels for each element type. On the left bars of GStencil/s against what a copy of
//! the grid allows a step; on the right the roofline: how far each measurement is from the speed of memory.

mod bars;
mod pixels;
mod roofline;
mod series;

use std::fmt;
use std::path::Path;

use plotters::coord::{CoordTranslate, Shift};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Results;
use pixels::Pixels;
use problem::Dtype;
use problem::names::UnknownName;
use series::Series;

/// Pixels of an SVG; a PNG has twice as many.
const WIDTH: i32 = 960;
const PANEL: i32 = 260;
/// Of a row of panels, what the roofline takes.
const ROOFLINE: i32 = 380;
/// A line of the legend or of what stands above it.
const LINE: i32 = 22;
/// Rooflines beside each other, where there are no bars.
const COLUMNS: usize = 3;
/// Pixels of a PNG for one of an SVG: letters and lines would be coarse.
const SCALE: i32 = 2;

const FRAME: RGBColor = RGBColor(60, 60, 60);
const GRID: RGBColor = RGBColor(225, 225, 225);

/// Which file a picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// Lines and letters, for pages.
    Svg,
    /// Pixels, for slides and messages.
    Png,
}

impl ImageFormat {
    /// By a file's extension, in capitals too.
    ///
    /// # Errors
    /// The extension and those that are known.
    pub fn of(path: &Path) -> Result<Self, UnknownName> {
        let extension = path.extension().map(|name| name.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => {
                let name = extension.unwrap_or_default();
                Err(UnknownName { name, known: vec![".svg".into(), ".png".into()] })
            }
        }
    }
}

/// The picture as a file: bars and rooflines. Without a measurement it says so.
#[must_use]
pub fn render(results: &Results, format: ImageFormat) -> Vec<u8> {
    let picture = Picture::new(results, true);
    match format {
        ImageFormat::Svg => picture.svg().into_bytes(),
        ImageFormat::Png => picture.png(),
    }
}

/// The rooflines alone, as SVG.
#[must_use]
pub fn rooflines(results: &Results) -> String {
    Picture::new(results, false).svg()
}

/// Text of so many pixels: the backend divides sizes by 1.24.
#[must_use]
pub fn text(pixels: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    let font = ("sans-serif", f64::from(pixels) * 1.24).into_font();
    font.color(&BLACK).pos(Pos::new(horizontal, vertical))
}

type Area<DB> = DrawingArea<DB, Shift>;
type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Draws what stands above a panel.
fn draw_title<DB: DrawingBackend>(area: &Area<DB>, title: &str, scale: Scale) -> Drawn<DB> {
    let style = scale.text(14, HPos::Left, VPos::Top);
    area.draw_text(title, &style, (scale.px(8), scale.px(2)))
}

/// Where points of a plot lie in the area around it.
fn places<DB: DrawingBackend, C: CoordTranslate>(
    area: &Area<DB>,
    plot: &DrawingArea<DB, C>,
) -> impl Fn(C::From) -> (i32, i32) {
    let (left, top) = area.get_base_pixel();
    move |point| {
        let (x, y) = plot.map_coordinate(&point);
        (x - left, y - top)
    }
}

/// What is to be drawn.
struct Picture<'a> {
    results: &'a Results,
    types: Vec<Dtype>,
    series: Vec<Series>,
    with_bars: bool,
}

/// Pixels of the file for those of the constants.
#[derive(Clone, Copy)]
struct Scale(i32);

impl Scale {
    fn px(self, pixels: i32) -> i32 {
        pixels * self.0
    }

    fn text(self, pixels: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
        text(pixels * self.0.unsigned_abs(), horizontal, vertical)
    }

    fn stroke(self, color: RGBColor, pixels: i32) -> ShapeStyle {
        color.stroke_width(self.px(pixels).unsigned_abs())
    }
}

impl<'a> Picture<'a> {
    fn new(results: &'a Results, with_bars: bool) -> Self {
        let measured = |dtype: &Dtype| {
            let mut rows = results.rows.iter().filter(|row| row.measurement().is_some());
            rows.any(|row| row.case.dtype == *dtype)
        };
        let types = Dtype::ALL.iter().copied().filter(measured).collect();
        Self { results, types, series: series::of(results), with_bars }
    }

    fn svg(&self) -> String {
        let mut svg = String::new();
        let size = self.size(Scale(1));
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        self.draw(&root, Scale(1)).unwrap_or_else(|error| unreachable(&error));
        drop(root);
        svg.trim_end().to_owned() + "\n"
    }

    fn png(&self) -> Vec<u8> {
        let (width, height) = self.size(Scale(SCALE));
        let mut pixels = Pixels::new(width, height);
        let root = (&mut pixels).into_drawing_area();
        self.draw(&root, Scale(SCALE)).unwrap_or_else(|error| unreachable(&error));
        drop(root);
        pixels.png()
    }

    fn size(&self, scale: Scale) -> (u32, u32) {
        let height = self.head() + PANEL * self.lines() as i32;
        (scale.px(WIDTH).unsigned_abs(), scale.px(height).unsigned_abs())
    }

    /// Rows of panels.
    fn lines(&self) -> usize {
        if self.with_bars { self.types.len() } else { self.types.len().div_ceil(COLUMNS) }
    }

    /// What stands above the panels: where it was measured, the legend, and what lines mean.
    fn head(&self) -> i32 {
        LINE * (2 + self.series.len().div_ceil(series::BESIDE) as i32) + 8
    }

    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>, scale: Scale) -> Drawn<DB> {
        root.fill(&WHITE)?;
        let (head, rest) = root.split_vertically(scale.px(self.head()));
        self.draw_head(&head, scale)?;
        if self.types.is_empty() {
            return root.present();
        }
        if self.with_bars {
            for (area, dtype) in rest.split_evenly((self.lines(), 1)).iter().zip(&self.types) {
                let (left, right) = area.split_horizontally(scale.px(WIDTH - ROOFLINE));
                bars::draw(&left, self, *dtype, scale)?;
                roofline::draw(&right, self, *dtype, scale)?;
            }
        } else {
            let areas = rest.split_evenly((self.lines(), COLUMNS));
            for (area, dtype) in areas.iter().zip(&self.types) {
                roofline::draw(area, self, *dtype, scale)?;
            }
        }
        root.present()
    }

    fn draw_head<DB: DrawingBackend>(&self, area: &Area<DB>, scale: Scale) -> Drawn<DB> {
        let style = scale.text(13, HPos::Left, VPos::Center);
        let middle = |line: i32| scale.px(6 + LINE * line + LINE / 2);
        area.draw_text(&self.title(), &style, (scale.px(16), middle(0)))?;
        for (index, series) in self.series.iter().enumerate() {
            let (line, column) = ((index / series::BESIDE) as i32, (index % series::BESIDE) as i32);
            let (x, y) =
                (scale.px(16 + column * (WIDTH - 32) / series::BESIDE as i32), middle(1 + line));
            let half = scale.px(6);
            let square =
                Rectangle::new([(x, y - half), (x + 2 * half, y + half)], series.color.filled());
            area.draw(&square)?;
            area.draw_text(&series.name, &style, (x + scale.px(18), y))?;
        }
        let y = middle(1 + self.series.len().div_ceil(series::BESIDE) as i32);
        let line = PathElement::new([(scale.px(16), y), (scale.px(36), y)], scale.stroke(FRAME, 2));
        area.draw(&line)?;
        area.draw_text(self.legend(), &style, (scale.px(42), y))
    }

    fn legend(&self) -> &'static str {
        if self.with_bars {
            "what a copy of the grid in the same run allows; thin: peaks of arithmetic; flop: 2 for each point of the stencil"
        } else {
            "the speed of a copy, median; thin: peaks of arithmetic; flop: 2 for each point of the stencil"
        }
    }

    /// On what, of which commit and when it was measured.
    fn title(&self) -> String {
        let Results { origin, .. } = self.results;
        if self.types.is_empty() {
            return "nothing was measured".into();
        }
        let mut parts = vec![self.results.devices().join("; ")];
        parts.extend(origin.driver.iter().map(|driver| format!("driver {driver}")));
        parts.extend(origin.commit.iter().map(|commit| format!("commit {commit}")));
        parts.extend(origin.date.clone());
        if !self.results.complete {
            parts.push("not complete".into());
        }
        match self.results.failures() {
            0 => {}
            failed => parts.push(format!("{failed} failed")),
        }
        parts.join(", ")
    }
}

/// A string and pixels in memory take whatever is drawn.
fn unreachable(error: &dyn fmt::Display) {
    unreachable!("drawing in memory failed: {error}");
}

/// Three digits of a speed, all of those before the point.
fn digits(speed: f64) -> String {
    match speed {
        100.0.. => format!("{speed:.0}"),
        10.0.. => format!("{speed:.1}"),
        0.1.. => format!("{speed:.2}"),
        _ => format!("{speed:.1e}"),
    }
}

#[cfg(test)]
mod tests;
