// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of sources and receivers: one that is written, or all of a file.

use std::path::Path;

use super::description::AtText;
use super::expression::{Node, Purpose, Scope};
use super::points::Units;
use super::text::Text;
use files::io::columns::Columns;
use problem::error::Mistake;
use problem::{Error, Shape};

/// The expressions or the file that say where places are.
pub struct PlaceExpressions<'a> {
    /// The grid.
    pub shape: Shape,
    /// Distance of points along z, y, x.
    pub spacing: [f64; 3],
    /// What names mean.
    pub scope: &'a Scope,
    /// Where files are looked for.
    pub folder: &'a Path,
}

impl PlaceExpressions<'_> {
    /// Places among the points of the grid as (z, y, x), each in points; `owner` is what has them.
    ///
    /// # Errors
    /// [`Error::System`] with the place in the text, [`Error::Columns`] with the line or row of a file: other numbers
    /// than the grid has axes, or one beyond the grid. A file cannot be read.
    pub fn of(&self, owner: &Text, at: &AtText, units: Units) -> Result<Vec<[f64; 3]>, Error> {
        match at {
            AtText::One(numbers) => Ok(vec![self.one(owner, numbers, units)?]),
            AtText::File(file) => {
                let rows = Columns::read(&self.folder.join(file.as_str()))?;
                let dims = self.shape.dims();
                if rows.count() != dims {
                    let found = rows.count();
                    let what = format!("rows of {found} numbers, the grid has {dims} axes");
                    return Err(rows.refused(&what));
                }
                let of_row = |(row, numbers): (usize, &[f64])| {
                    let mut place = [0.0; 3];
                    for (axis, number) in (3 - dims..).zip(numbers) {
                        place[axis] = self
                            .point(axis, *number, units)
                            .map_err(|what| rows.wrong(row, &what))?;
                    }
                    Ok(place)
                };
                rows.rows().enumerate().map(of_row).collect()
            }
        }
    }

    /// A place that is written.
    fn one(&self, owner: &Text, at: &[Text], units: Units) -> Result<[f64; 3], Mistake> {
        let dims = self.shape.dims();
        if at.len() != dims {
            let what = format!("its place has {} numbers, the grid has {dims} axes", at.len());
            return Err(owner.wrong(what));
        }
        let mut place = [0.0; 3];
        for (axis, text) in (3 - dims..).zip(at) {
            let Node::Number(at) = self.scope.number(text, Purpose::Constant)? else {
                return Err(text.wrong("this is no constant number"));
            };
            place[axis] = self.point(axis, at, units).map_err(|what| text.wrong(what))?;
        }
        Ok(place)
    }

    /// A number along an axis in points.
    ///
    /// # Errors
    /// It lies beyond the grid.
    fn point(&self, axis: usize, number: f64, units: Units) -> Result<f64, String> {
        /// What dividing by a spacing makes of a point is that point.
        const NEAR: f64 = 1e-9;
        let last = (self.shape.extents()[axis] - 1) as f64;
        let at = match units {
            Units::Points => number,
            Units::Coordinates => {
                let at = number / self.spacing[axis];
                if (at - at.round()).abs() < NEAR { at.round() } else { at }
            }
        };
        match units {
            _ if (0.0..=last).contains(&at) => Ok(at),
            Units::Points => Err(format!("{at} is outside the points 0 to {last} of this axis")),
            Units::Coordinates => {
                let end = last * self.spacing[axis];
                Err(format!("{number} is outside the coordinates 0 to {end} of this axis"))
            }
        }
    }
}
