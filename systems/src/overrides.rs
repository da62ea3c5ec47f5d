// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is given to a description in the place of its own: constants, values to start with, what lies around.

use std::path::Path;

use super::checked::System;
use super::description::{Description, FieldText, StartText};
use super::text::Text;
use problem::error::Mistake;
use problem::similar_names::near;
use problem::{Grid, Values};

impl Description {
    /// Gives a constant another value.
    ///
    /// # Errors
    /// There is no such constant; `name` says where that is written.
    pub fn set_constant(&mut self, name: &Text, value: Text) -> Result<(), Mistake> {
        let names: Vec<String> = names(self.constants.iter().map(|(name, _)| name));
        let mut constants = self.constants.iter_mut();
        match constants.find(|(constant, _)| constant.as_str() == name.as_str().trim()) {
            Some((_, own)) => *own = value,
            None => return Err(unknown("constant", name, &names, "[constants]")),
        }
        Ok(())
    }

    /// Gives a field or a coefficient other values to start with.
    ///
    /// # Errors
    /// There is neither of this name.
    pub fn set_start(&mut self, name: &str, start: impl Into<StartText>) -> Result<(), Mistake> {
        let start = start.into();
        if let Some(own) = self.coefficients.iter_mut().find(|own| own.name.as_str() == name) {
            own.start = start;
            return Ok(());
        }
        self.field_mut(name)?.start = start;
        Ok(())
    }

    /// Gives a coefficient values, which is a new one if there is none of this name. Returns whether it is new: something has to read
    /// it ([`Description::check_reads`]).
    pub fn set_coefficient(&mut self, name: &str, start: impl Into<StartText>) -> bool {
        let own = self.coefficients.iter_mut().find(|own| own.name.as_str() == name);
        let is_new = own.is_none();
        match own {
            Some(own) => own.start = start.into(),
            None => *self = std::mem::replace(self, Self::new(&[])).coefficient(name, start),
        }
        is_new
    }

    /// Checks that something reads a coefficient: without it the system makes no sense. `folder` is that of its files.
    ///
    /// # Errors
    /// Nothing reads it.
    pub fn check_reads(&self, name: &str, folder: &Path) -> Result<(), Mistake> {
        let mut without = self.clone();
        without.coefficients.retain(|own| own.name.as_str() != name);
        if System::new(&without, folder).is_err() {
            return Ok(());
        }
        let names = names(without.coefficients.iter().map(|own| &own.name));
        let mut wrong =
            unknown("coefficient", &Text::new("a name", name), &names, "[coefficients]");
        wrong.what += ", and no equation reads one";
        Err(wrong)
    }

    /// Gives a field other values before the start: one step before, two steps before.
    ///
    /// # Errors
    /// There is no such field.
    pub fn set_before(&mut self, name: &str, before: Vec<StartText>) -> Result<(), Mistake> {
        self.field_mut(name)?.before = before;
        Ok(())
    }

    /// Says what lies around a field, a coefficient or a work field, as [`FieldText::boundary`] takes it.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn set_boundary(&mut self, name: &str, boundary: &str) -> Result<(), Mistake> {
        let text = Text::new(&format!("the boundary of '{name}'"), boundary);
        if let Some(own) = self.coefficients.iter_mut().find(|own| own.name.as_str() == name) {
            own.boundary = Some(text);
        } else if let Some(own) = self.works.iter_mut().find(|own| own.name.as_str() == name) {
            own.boundary = text;
        } else {
            self.field_mut(name)?.boundary = text;
        }
        Ok(())
    }

    /// Says which points of a field keep their values: a condition of coordinates and coefficients, or values that are not 0
    /// there, which a coefficient holds.
    ///
    /// # Errors
    /// There is no such field; a file is named, which only a coefficient can hold.
    pub fn set_keep(&mut self, name: &str, points: impl Into<StartText>) -> Result<(), Mistake> {
        let of = format!("the kept points of '{name}'");
        let condition = match points.into() {
            StartText::Expression(text) => text,
            StartText::File(text) => {
                let wrong = text.wrong("'keep' is a condition or an array, not a file");
                return Err(wrong
                    .hint("name the file as the start of a coefficient, and keep = \"c > 0.5\""));
            }
            StartText::OnDevice(_) => {
                let wrong = Text::new(&of, "an array")
                    .wrong("'keep' needs an array in this machine's memory");
                return Err(wrong.hint("copy the array to the host first"));
            }
            StartText::Values(grid) => {
                let mut mask = format!("{name}_kept");
                while self.has(&mask) {
                    mask.push('_');
                }
                let kept = |index| f32::from(u8::from(grid.get(index) != 0.0));
                let kept: Vec<f32> = (0..grid.shape.points()).map(kept).collect();
                self.set_coefficient(&mask, Grid { shape: grid.shape, values: Values::F32(kept) });
                Text::new(&of, &format!("{mask} > 0.5"))
            }
        };
        self.field_mut(name)?.keep = Some(condition);
        Ok(())
    }

    fn field_mut(&mut self, name: &str) -> Result<&mut FieldText, Mistake> {
        let names = names(self.fields.iter().map(|own| &own.name));
        let found = self.fields.iter_mut().find(|own| own.name.as_str() == name);
        found.ok_or_else(|| unknown("field", &Text::new("a name", name), &names, "[fields]"))
    }

    /// Whether something is called so.
    fn has(&self, name: &str) -> bool {
        let named = self.constants.iter().chain(&self.terms).map(|(name, _)| name);
        let named = named.chain(self.stencils.iter().map(|(name, _)| name));
        let named = named.chain(self.tables.iter().map(|(name, _)| name));
        let named = named.chain(self.fields.iter().map(|own| &own.name));
        let named = named.chain(self.coefficients.iter().map(|own| &own.name));
        let named = named.chain(self.works.iter().map(|own| &own.name));
        let mut named = named.chain(self.totals.iter().map(|own| &own.name));
        named.any(|own| own.as_str() == name)
    }
}

fn names<'a>(texts: impl Iterator<Item = &'a Text>) -> Vec<String> {
    texts.map(|text| text.as_str().to_owned()).collect()
}

fn unknown(what: &str, at: &Text, names: &[String], table: &str) -> Mistake {
    let name = at.as_str().trim();
    let wrong = at.wrong(format!("the system has no {what} '{name}'"));
    match near(name, names.iter().map(|name| (name.as_str(), name.as_str()))).first() {
        Some(near) => wrong.hint(format!("did you mean {near}?")),
        None if names.is_empty() => wrong.hint(format!("its file has none under {table}")),
        None => wrong.hint(format!("it has {}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described() -> Description {
        Description::new(&[4])
            .constant("D", 2)
            .coefficient("c", 1.0)
            .field(FieldText::new("u", 1.0, "D*c*u"))
    }

    fn grid(values: [f64; 4]) -> Grid {
        Grid::new(&[4], values.to_vec()).unwrap()
    }

    #[test]
    fn what_is_given_is_in_the_place_of_what_was_there() {
        let mut own = described();
        own.set_constant(&Text::new("here", "D"), Text::new("here", "3")).unwrap();
        own.set_start("u", grid([1.0, 2.0, 3.0, 4.0])).unwrap();
        own.set_start("c", "x").unwrap();
        own.set_keep("u", grid([0.0, 0.0, 1.0, 0.0])).unwrap();
        let system = System::new(&own, Path::new("")).unwrap();
        let mut simulation = crate::Simulation::of(&system).build().unwrap();
        simulation.step(1).unwrap();
        let found = simulation.field("u").unwrap();
        let found: Vec<f64> = (0..4).map(|index| found.get(index)).collect();
        assert_eq!(found, [0.0, 6.0, 3.0, 36.0]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let mut own = described();
        let wrong = own.set_start("v", "x").unwrap_err();
        assert!(wrong.to_string().contains("the system has no field 'v'"), "{wrong}");
        let wrong = own.set_before("c", Vec::new()).unwrap_err();
        assert!(wrong.to_string().contains("the system has no field 'c'"), "{wrong}");
        let wrong = own.set_constant(&Text::new("here", "E"), Text::new("here", "3"));
        assert!(wrong.unwrap_err().to_string().contains("no constant 'E'"));
        own.set_keep("u", grid([1.0; 4])).unwrap();
        own.set_keep("u", "x < 1").unwrap();
    }

    #[test]
    fn a_new_coefficient_is_one_that_is_read() {
        let mut own = described();
        assert!(!own.set_coefficient("c", 2.0));
        assert!(own.set_coefficient("cc", grid([1.0; 4])));
        let wrong = own.check_reads("cc", Path::new("")).unwrap_err();
        assert_eq!(wrong.what, "the system has no coefficient 'cc', and no equation reads one");
        assert_eq!(wrong.hint.as_deref(), Some("did you mean c?"));
        own.set_keep("u", "cc > 2").unwrap();
        own.check_reads("cc", Path::new("")).unwrap();
        own.check_reads("c", Path::new("")).unwrap();
    }
}
