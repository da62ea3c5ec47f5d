// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text in pictures.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Black text of so many pixels: the backend divides sizes by 1.24.
pub fn text(pixels: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    ("sans-serif", f64::from(pixels) * 1.24)
        .into_font()
        .color(&BLACK)
        .pos(Pos::new(horizontal, vertical))
}
