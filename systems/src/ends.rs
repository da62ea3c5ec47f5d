// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies around a coefficient whose boundary is not given: the grid goes on for it as it does for the fields.

use super::expression::Array;
use super::parts::{Coefficient, Field};
use super::program::Program;
use super::text::Text;
use problem::Boundary;
use problem::boundary::{Side, SideSource};
use problem::error::Mistake;

/// Axes by their letters.
const AXES: [&str; 3] = ["z", "y", "x"];

/// The boundary of a coefficient that no equation reads beyond the grid.
pub const UNREAD: Boundary = Boundary { sides: [[Side::Reflect; 2]; 3] };

/// What equations make of coefficients, on a grid of `dims` axes.
pub struct Equations<'a> {
    /// The fields.
    pub fields: &'a [Field],
    /// Their equations, and what is summed over the grid.
    pub programs: [&'a Program; 2],
    /// Axes of the grid.
    pub dims: usize,
}

/// Gives a coefficient of this number the ends of the fields, at the sides beyond which equations read it. `name` is
/// where the description names it; one without a name is a sponge.
///
/// # Errors
/// The fields differ in how the grid goes on there, and the coefficient has a name.
pub fn follow(
    equations: &Equations,
    number: usize,
    coefficient: &mut Coefficient,
    name: Option<&Text>,
) -> Result<(), Mistake> {
    let Equations { fields, programs, dims } = *equations;
    let mut boundary = coefficient.boundary;
    for axis in 3 - dims..3 {
        for (end, side) in boundary.sides[axis].iter_mut().enumerate() {
            if !is_read_beyond(programs, number, axis, end) {
                continue;
            }
            *side = match (of_fields(fields, axis, end), name) {
                (Ok(common), _) => common,
                (Err(_), None) => Side::Reflect,
                (Err(pair), Some(name)) => return Err(differ(name, pair, axis, end)),
            };
        }
    }
    // Only a whole axis is periodic.
    for [low, high] in &mut boundary.sides {
        if (*low == Side::Periodic) != (*high == Side::Periodic) {
            (*low, *high) = (Side::Periodic, Side::Periodic);
        }
    }
    coefficient.boundary = boundary;
    Ok(())
}

/// Whether equations read a coefficient beyond the low (0) or the high (1) end of an axis.
fn is_read_beyond(programs: [&Program; 2], coefficient: usize, axis: usize, end: usize) -> bool {
    programs.into_iter().flat_map(Program::reads).any(|(array, offset)| {
        let beyond = if end == 0 { offset[axis] < 0 } else { offset[axis] > 0 };
        array == Array::Coefficient(coefficient) && beyond
    })
}

/// How the grid goes on for all fields at a side. A constant says nothing of what lies there; mirrors do beside it.
///
/// # Errors
/// Two fields for which it goes on in different ways.
fn of_fields(fields: &[Field], axis: usize, end: usize) -> Result<Side, [&Field; 2]> {
    let goes_on = |field: &Field| match field.boundary.sides[axis][end].source() {
        SideSource::Nowhere => None,
        SideSource::OtherEnd => Some(Side::Periodic),
        SideSource::Mirror => Some(Side::Reflect),
        SideSource::HalfMirror => Some(Side::Symmetric),
        SideSource::Nearest => Some(Side::Edge),
    };
    let mut common: Option<&Field> = None;
    for field in fields {
        let Some(before) = common else {
            common = Some(field);
            continue;
        };
        match (goes_on(before), goes_on(field)) {
            (a, b) if a == b => (),
            (Some(Side::Periodic), _) | (_, Some(Side::Periodic)) | (Some(_), Some(_)) => {
                return Err([before, field]);
            }
            (None, _) => common = Some(field),
            (_, None) => (),
        }
    }
    Ok(common.and_then(goes_on).unwrap_or(Side::Reflect))
}

fn differ(name: &Text, fields: [&Field; 2], axis: usize, end: usize) -> Mistake {
    let axis_name = AXES[axis];
    let side = ["-", "+"][end];
    let [a, b] =
        fields.map(|field| format!("'{}' {}", field.name, field.boundary.sides[axis][end]));
    let what = format!(
        "'{}' is read beyond {axis_name}{side} and has no boundary; the fields there have different ones: {a} and {b}",
        name.as_str()
    );
    name.wrong(what).hint(format!("give it one, such as boundary = \"{axis_name}:reflect\""))
}

#[cfg(test)]
mod tests;
