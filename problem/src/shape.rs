// SPDX-License-Identifier: MIT OR Apache-2.0
//! The extents of a grid.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

use crate::Error;

/// Extents of a grid of 1, 2 or 3 axes, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    dims: usize,
    extents: [usize; 3],
}

impl Shape {
    /// A shape from its extents, slowest axis first.
    ///
    /// # Errors
    /// No axis or more than 3, an extent of 0, or more points than 8-byte values can be addressed.
    pub fn new(extents: &[usize]) -> Result<Self, Error> {
        let joined = || extents.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        let refuse = |reason: &str| Error::Size { size: joined(), reason: reason.to_owned() };
        let dims = extents.len();
        if !(1..=3).contains(&dims) {
            return Err(refuse(&format!("{dims} axes; 1, 2 or 3 are supported")));
        }
        if extents.contains(&0) {
            return Err(refuse("every axis needs at least one point"));
        }
        let points = extents.iter().try_fold(1usize, |points, &n| points.checked_mul(n));
        if points.is_none_or(|points| points > isize::MAX as usize / 8) {
            return Err(refuse("more points than this machine can address"));
        }
        let mut padded = [1; 3];
        padded[3 - dims..].copy_from_slice(extents);
        Ok(Self { dims, extents: padded })
    }

    /// This shape for a stencil of `dims` axes: a single number stands for every axis.
    ///
    /// # Errors
    /// More than one axis, but not `dims`; or too many points.
    pub fn spread(self, dims: usize) -> Result<Self, Error> {
        match self.dims {
            1 => Self::new(&vec![self.extents[2]; dims]),
            own if own == dims => Ok(self),
            own => Err(Error::SizeAxes { size: self.to_string(), axes: own, dims }),
        }
    }

    /// Number of axes.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Extents as (z, y, x), with leading ones for the axes that it lacks.
    #[must_use]
    pub fn extents(&self) -> [usize; 3] {
        self.extents
    }

    /// Extents of the axes that it has, slowest first.
    #[must_use]
    pub fn axes(&self) -> &[usize] {
        &self.extents[3 - self.dims..]
    }

    /// Number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.extents.iter().product()
    }

    /// The position (z, y, x) of a point in C order, as text without the axes that it lacks.
    #[must_use]
    pub fn position(&self, index: usize) -> String {
        let [_, ny, nx] = self.extents;
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        let at: Vec<String> = at[3 - self.dims..].iter().map(usize::to_string).collect();
        let names = &["z", "y", "x"][3 - self.dims..];
        format!("({}) = ({})", names.join(", "), at.join(", "))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let axes: Vec<String> = self.axes().iter().map(usize::to_string).collect();
        f.write_str(&axes.join("x"))
    }
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Size { size: text.to_owned(), reason };
        let extents: Result<Vec<usize>, Error> = text
            .split(['x', 'X'])
            .map(|part| match part.trim().parse().or_else(|_| power(part.trim())) {
                Ok(extent) => Ok(extent),
                Err(_) if !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()) => {
                    Err(refuse(format!("'{part}' is too large")))
                }
                Err(_) => Err(refuse(format!("'{part}' is not a whole number"))),
            })
            .collect();
        Self::new(&extents?)
    }
}

/// A whole number with an exponent, such as 1e3.
fn power(text: &str) -> Result<usize, ()> {
    let number = text.parse::<f64>().map_err(|_| ())?;
    let is_whole = (1.0..=1e15).contains(&number) && number.fract() == 0.0;
    let is_written = text.contains(['e', 'E']);
    if is_whole && is_written { Ok(number as usize) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_printed() {
        for text in ["7", "7x5", "2x3x4"] {
            assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
        }
        for (text, shape) in [("1e3", "1000"), ("1e2x2.5e2", "100x250"), ("1E3x7", "1000x7")] {
            assert_eq!(text.parse::<Shape>().unwrap().to_string(), shape);
        }
        for wrong in ["1.5e0", "1e-1", "8.0", "-1e3", "1e99", "nan", "e3"] {
            assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
        }
        let shape: Shape = "7x5".parse().unwrap();
        assert_eq!((shape.dims(), shape.extents(), shape.points()), (2, [1, 7, 5], 35));
        assert_eq!(shape.position(34), "(y, x) = (6, 4)");
    }

    #[test]
    fn one_number_stands_for_every_axis() {
        let spread = |text: &str, dims| text.parse::<Shape>().unwrap().spread(dims);
        assert_eq!(spread("8", 3).unwrap().to_string(), "8x8x8");
        assert_eq!(spread("8x9", 2).unwrap().to_string(), "8x9");
        assert!(matches!(spread("8x9", 3), Err(Error::SizeAxes { dims: 3, .. })));
    }

    #[test]
    fn bad_sizes_are_refused_with_the_reason() {
        let reason = |text: &str| text.parse::<Shape>().unwrap_err().to_string();
        assert_eq!(reason("0"), "size '0': every axis needs at least one point");
        assert_eq!(reason("8xabc"), "size '8xabc': 'abc' is not a whole number");
        assert_eq!(reason("-3"), "size '-3': '-3' is not a whole number");
        assert_eq!(reason("8x"), "size '8x': '' is not a whole number");
        assert_eq!(reason("1x1x1x1"), "size '1x1x1x1': 4 axes; 1, 2 or 3 are supported");
        let large = "99999999999999999999999";
        assert_eq!(reason(large), format!("size '{large}': '{large}' is too large"));
        assert!(reason("4294967295x4294967295").contains("than this machine can address"));
    }
}
