// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes of grids, as `--size` takes them.

use crate::promise;
use stencil::Shape;

/// Reads a size, prints it and reads it again; what it names can be addressed.
///
/// # Panics
/// A promise is broken.
pub fn size(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let shape = match text.parse::<Shape>() {
        Ok(shape) => shape,
        Err(error) => return promise::of_an_error(error),
    };
    assert_eq!(shape.to_string().parse::<Shape>().ok(), Some(shape));
    assert_eq!(shape.dims(), shape.axes().len());
    let points = shape.axes().iter().map(|extent| *extent as u128).product::<u128>();
    assert_eq!(shape.points() as u128, points);
    assert!(points > 0 && points <= isize::MAX as u128 / 8);
    let last = shape.axes().iter().map(|extent| (extent - 1).to_string()).collect::<Vec<_>>();
    let position = shape.position(shape.points() - 1);
    assert!(position.ends_with(&format!("({})", last.join(", "))), "{position}");
    for dims in 1..=3 {
        match shape.spread(dims) {
            Ok(spread) => assert_eq!(spread.dims(), dims),
            Err(error) => promise::of_an_error(error),
        }
    }
}
