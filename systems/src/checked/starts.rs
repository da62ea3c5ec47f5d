// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields, with what they start from and what lies around them.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use crate::description::{Change, FieldText, StartText};
use crate::expression::{Array, Node, Purpose, Scope};
use crate::parts::{Field, Start};
use crate::program::MOST_REACH;
use crate::text::Text;
use files::io::npy;
use problem::boundary::Side;
use problem::check::rounded::Losses;
use problem::error::{Hint, Mistake};
use problem::{Boundary, Dtype, Error, Grid};

use super::System;

/// Points of an axis whose coordinates f32 tells apart well enough to know those outside.
const MOST_COORDINATES: usize = 1 << 22;

impl System {
    pub(super) fn field(
        &mut self,
        text: &FieldText,
        scope: &Scope,
        folder: &Path,
    ) -> Result<Field, Error> {
        let boundary = self.boundary(&text.boundary, scope, Purpose::Next)?;
        let own = Array::Field { field: self.fields.len(), level: 0 };
        let walls = self.walls(text.walls.as_ref(), own, scope)?;
        let start = |text| self.start(text, (scope, Purpose::StartOfField), folder);
        Ok(Field {
            name: text.name.as_str().to_owned(),
            boundary,
            levels: 1,
            start: start(&text.start)?,
            before: text.before.iter().map(start).collect::<Result<_, _>>()?,
            next: match &text.change {
                Change::Next(next) => scope.number(next, Purpose::Next)?,
                Change::Rate(_) => Node::Number(0.0),
            },
            keep: match &text.keep {
                Some(keep) => Some(scope.condition(keep, Purpose::Points)?),
                None => None,
            },
            kept: None,
            is_memory: false,
            is_held: false,
            walls,
        })
    }

    pub(super) fn start(
        &self,
        text: &StartText,
        (scope, purpose): (&Scope, Purpose),
        folder: &Path,
    ) -> Result<Start, Error> {
        let grid: Arc<Grid> = match text {
            StartText::Expression(text) => {
                return Ok(Start::Expression(scope.number(text, purpose)?));
            }
            StartText::File(name) => {
                npy::read_grid(&folder.join(name.as_str()), self.shape.dims())?.into()
            }
            StartText::Values(grid) => Arc::clone(grid),
            StartText::OnDevice(given) => {
                let is_as_stored =
                    given.shape() == self.shape && given.dtype() == self.dtype.stored();
                if is_as_stored && matches!(purpose, Purpose::StartOfField | Purpose::Start) {
                    return Ok(Start::OnDevice(Arc::clone(given)));
                }
                given.grid()?
            }
        };
        if grid.shape != self.shape {
            let (found, shape) = (grid.shape, self.shape);
            let what = format!("this holds {found} values, the grid has {shape} points");
            let text = match text {
                StartText::File(name) => name.clone(),
                _ => Text::new("values to start with", &found.to_string()),
            };
            return Err(text.wrong(what).into());
        }
        let given = |index: usize| grid.get(index);
        let losses = |stored: &Grid| {
            let of = |index| Losses::of(index, given(index), stored.get(index));
            let all = (0..stored.shape.points()).into_par_iter().map(of);
            all.reduce(Losses::default, Losses::and)
        };
        if self.dtype.stored() == grid.dtype() {
            return Ok(Start::Values(grid, Losses::default()));
        }
        let stored = Grid::clone(&grid).stored_as(self.dtype)?;
        let losses = losses(&stored);
        Ok(Start::Values(stored.into(), losses))
    }

    /// A boundary with its constants as they are stored, and expressions for some purpose.
    pub(super) fn boundary(
        &mut self,
        text: &Text,
        scope: &Scope,
        purpose: Purpose,
    ) -> Result<Boundary, Error> {
        let (dims, mut mistake) = (self.shape.dims(), None);
        let mut varying = |part: &str, is_slope: bool| {
            let start = part.as_ptr() as usize - text.as_str().as_ptr() as usize;
            let start = text.range().start + start;
            let part = text.part(start..start + part.len());
            let node = scope.number(&part, purpose);
            let side = node.and_then(|node| self.side(node, is_slope, &part));
            side.map_err(|error| mistake = Some(error)).ok()
        };
        let boundary = Boundary::parse_with(text.as_str(), dims, &mut varying);
        let boundary =
            boundary.map_err(|error| mistake.unwrap_or_else(|| explain(text, &error)))?;
        let stored = boundary.map_constants(|value| self.dtype.round(value));
        let stored = stored.with_spacing(self.spacing);
        let is_finite = |side: &Side| match side {
            Side::Constant(value) | Side::Flux(value) => value.is_finite(),
            Side::Robin(_) => self.dtype.round(side.image(MOST_REACH as usize).added).is_finite(),
            _ => true,
        };
        if !stored.sides.iter().flatten().all(is_finite) {
            return Err(text.wrong(format!("{} cannot hold this constant", self.dtype)).into());
        }
        Ok(stored)
    }

    /// The side of an expression, which is a slope or else a value: of a number, or of what equations add.
    pub(super) fn side(
        &mut self,
        node: Node,
        is_slope: bool,
        text: &Text,
    ) -> Result<Side, Mistake> {
        if let Node::Number(value) = node {
            return Ok(if is_slope { Side::Flux(value) } else { Side::Constant(value) });
        }
        Self::check_of_sides(&node, "a side's value", text)?;
        let longest = self.shape.extents().into_iter().max().unwrap_or(1);
        if self.dtype != Dtype::F64 && longest > MOST_COORDINATES {
            let what = format!("an axis of over {MOST_COORDINATES} points takes this in f64 only");
            return Err(text.wrong(what));
        }
        let number = self.side_values.len();
        self.side_values.push(node);
        Ok(if is_slope { Side::VaryingFlux(number) } else { Side::Varying(number) })
    }

    /// Checks that what lies outside of the equations needs no array.
    pub(crate) fn check_of_sides(node: &Node, what: &str, text: &Text) -> Result<(), Mistake> {
        let mut other = false;
        node.visit(&mut |part| {
            other |= matches!(part, Node::Read(_) | Node::Noise(_) | Node::Total(_));
        });
        match other {
            false => Ok(()),
            true => Err(text.wrong(format!(
                "{what} is made of coordinates, time, constants and tables; this reads a field, a coefficient or a total, or is random"
            ))),
        }
    }
}

/// A mistake in a boundary, at its place.
fn explain(text: &Text, error: &Error) -> Mistake {
    let Error::Boundary { reason, hint, .. } = error else { return text.wrong(error.to_string()) };
    let wrong = text.wrong(reason);
    match hint {
        Some(Hint::Meant(meant)) => wrong.hint(format!("did you mean {meant}?")),
        Some(Hint::Open) => wrong.hint(
            "no kind lets waves out: zero is a wall that reflects them. Give the system a [pml] or a [sponge]",
        ),
        Some(Hint::Slope) => wrong.hint("did you mean edge? For another slope than 0: flux=G"),
        _ => wrong.hint("such as periodic, or x:periodic,y-:constant=1,y+:reflect"),
    }
}
