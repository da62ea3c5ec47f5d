// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pixels that charts are drawn on, with letters that the program carries: which fonts a machine has does not matter.

use std::convert::Infallible;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use plotters::backend::DrawingBackend;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendTextStyle, DrawingErrorKind};

use files::io::rgb::Rgb;

/// What the font lacks.
const UNKNOWN: char = '?';
const WEIGHT: FontWeight = FontWeight::Regular;

/// A white picture.
pub struct Pixels(Rgb);

impl Pixels {
    pub fn new(width: u32, height: u32) -> Self {
        Self(Rgb::filled([width, height].map(|extent| extent as usize), [255; 3]))
    }

    /// The picture as a PNG file.
    pub fn png(&self) -> Vec<u8> {
        self.0.png()
    }

    /// Mixes a colour into a pixel; beside the picture nothing.
    fn mix(&mut self, (x, y): BackendCoord, color: BackendColor) {
        let place = usize::try_from(x).ok().zip(usize::try_from(y).ok());
        let Some(pixel) = place.and_then(|(x, y)| self.0.pixel([x, y])) else { return };
        let alpha = color.alpha.clamp(0.0, 1.0);
        let new = [color.rgb.0, color.rgb.1, color.rgb.2];
        for (old, new) in pixel.iter_mut().zip(new) {
            *old = (f64::from(*old) * (1.0 - alpha) + f64::from(new) * alpha).round() as u8;
        }
    }
}

impl DrawingBackend for &mut Pixels {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.0.size().map(|extent| extent as u32).into()
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        point: BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.mix(point, color);
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let height = height(style.size());
        let (wide, high) = extent(text, height);
        let anchor = style.anchor();
        let left = x - match anchor.h_pos {
            HPos::Left => 0,
            HPos::Center => wide / 2,
            HPos::Right => wide,
        };
        let top = y - match anchor.v_pos {
            VPos::Top => 0,
            VPos::Center => high / 2,
            VPos::Bottom => high,
        };
        let color = style.color();
        for (index, letter) in text.chars().enumerate() {
            let raster = get_raster(letter, WEIGHT, height)
                .or_else(|| get_raster(UNKNOWN, WEIGHT, height))
                .expect("the font has a question mark");
            let start = left + (index * raster.width()) as i32;
            for (row, line) in raster.rows().enumerate() {
                for (column, cover) in line.iter().enumerate() {
                    let alpha = color.alpha * f64::from(*cover) / 255.0;
                    let place = (start + column as i32, top + row as i32);
                    self.mix(place, BackendColor { alpha, ..color });
                }
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let (wide, high) = extent(text, height(style.size()));
        Ok((wide.unsigned_abs(), high.unsigned_abs()))
    }
}

/// The height of letters that is nearest to a size: 1.24 times the pixels that were asked for, as SVG has it.
fn height(size: f64) -> RasterHeight {
    match size {
        ..22.5 => RasterHeight::Size16,
        ..27.0 => RasterHeight::Size20,
        _ => RasterHeight::Size24,
    }
}

/// Pixels of a text across and down.
fn extent(text: &str, height: RasterHeight) -> (i32, i32) {
    let letters = text.chars().count();
    ((letters * get_raster_width(WEIGHT, height)) as i32, height.val() as i32)
}
