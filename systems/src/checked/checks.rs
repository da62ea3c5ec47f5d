// SPDX-License-Identifier: MIT OR Apache-2.0
//! What fits no other part of a system is refused, with its place.

use crate::description::{Description, StartText};
use crate::expression::Node;
use crate::parts::{Field, Walls};
use crate::text::Text;
use problem::error::Mistake;

use super::System;

impl System {
    /// Checks that nothing is asked for that has no walls.
    pub(super) fn check_beside_solid(&self, description: &Description) -> Result<(), Mistake> {
        let Some(_) = self.solid else { return Ok(()) };
        for (work, text) in self.works.iter().zip(&description.works) {
            if matches!(work.value, Node::Solve(..)) {
                let wrong = text.value.wrong("a solve does not go with solid points");
                return Err(wrong.hint("transforms solve for all points of the grid"));
            }
        }
        match &description.pml {
            Some(text) => {
                let wrong = text.at.wrong("a [pml] layer does not go with solid points");
                Err(wrong.hint("a [sponge] absorbs waves beside solid points"))
            }
            None => Ok(()),
        }
    }

    /// Checks that the time is known of whatever lies beyond sides: not of earlier values, where steps are as long as the
    /// values say.
    pub(super) fn check_earlier_sides(&self, dt: &Text) -> Result<(), Mistake> {
        let wall_varies = |field: &Field| match &field.walls {
            Some(Walls::Value(value)) => !value.is_number(),
            _ => false,
        };
        let is_unknown =
            |field: &&Field| field.levels > 1 && (field.boundary.varies() || wall_varies(field));
        match self.fields.iter().find(is_unknown).filter(|_| self.varies_steps()) {
            None => Ok(()),
            Some(field) => {
                let what = format!(
                    "with steps of varying length, the sides of '{}' one step ago are not known",
                    field.name
                );
                Err(dt.wrong(what).hint("take steps of one length, or sides that do not change"))
            }
        }
    }

    /// Checks that equations read all earlier values that are given, and no others of a field that has some.
    pub(super) fn check_before(&self, description: &Description) -> Result<(), Mistake> {
        for (field, text) in self.fields.iter().zip(&description.fields) {
            let (read, given) = (field.levels - 1, text.before.len());
            if given > 0 && given != read {
                let name = &field.name;
                let what = match read {
                    0 => format!("no equation reads earlier values of '{name}'"),
                    1 => format!("{given} are given, and equations read prev({name}) only"),
                    _ => format!("{given} is given, and equations read prev2({name}), too"),
                };
                let place = match &text.before[given - 1] {
                    StartText::Expression(text) | StartText::File(text) => text,
                    StartText::Values(_) | StartText::OnDevice(_) => &text.name,
                };
                let hint =
                    "before = [values one step before the start, values two steps before it]";
                return Err(place.wrong(what).hint(hint));
            }
        }
        Ok(())
    }
}
