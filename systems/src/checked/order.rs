// SPDX-License-Identifier: MIT OR Apache-2.0
//! In which order a step computes, and what of it is computed at all.

use std::collections::BTreeSet;

use crate::description::Description;
use crate::expression::{Array, Node};
use crate::program::Equation;
use crate::stages;
use crate::text::Text;
use problem::error::Mistake;

use super::System;
use super::names::texts;

impl System {
    /// Finds out in which order a step computes, and makes programs of it.
    pub(super) fn order(&mut self, description: &Description) -> Result<(), Mistake> {
        let texts = texts(description, self.memories());
        let inner = Text::new("an equation that was made of others", "");
        // What a work field is solved for is a part of its text.
        let own = self.fields.len();
        let solved_by: Vec<Option<usize>> =
            (0..self.works.len()).map(|work| self.solved_by(work)).collect();
        let text = |number: usize| {
            let work = number.checked_sub(own).and_then(|it| solved_by[it]);
            texts.get(work.map_or(number, |work| own + work)).copied().unwrap_or(&inner)
        };
        let fields = self.fields.iter().enumerate().map(|(number, field)| Equation {
            computes: Array::New(number),
            value: &field.next,
            text: text(number),
        });
        let read = self.read_works();
        let works = self.works.iter().enumerate().filter(|(number, _)| read.contains(number));
        let works = works.map(|(number, work)| Equation {
            computes: Array::Work(number),
            value: &work.value,
            text: text(self.fields.len() + number),
        });
        let equations: Vec<Equation> = fields.chain(works).collect();
        let has_source = |array| match array {
            Array::New(number) => self.sources.iter().any(|source| source.field == number),
            _ => false,
        };
        let name = |array| self.name_of(array).to_owned();
        let around = |array| self.around(array);
        let walls = |array| self.wall_image(array);
        let by = (self.stencils.as_slice(), &self.sides(&around, &walls));
        let wanted = |array| matches!(array, Array::Work(work) if self.keeps(work));
        let programs = stages::programs(by, &equations, (has_source, wanted), name)?;
        (self.program, self.stages) = programs;
        self.check_solves(|work| text(own + work))?;
        let mut totals = std::mem::take(&mut self.totals);
        let (around, walls) = (|array| self.around(array), |array| self.wall_image(array));
        let texts: Vec<&Text> = description.totals.iter().map(|total| &total.value).collect();
        let of_steps = description.tolerance.as_ref().unwrap_or(&description.dt);
        let texts = [&texts[..], &[of_steps]].concat();
        totals.compile((&self.stencils, &self.sides(&around, &walls)), &texts)?;
        self.totals = totals;
        Ok(())
    }

    /// Has no step compute fields, by name, whose next values are those that they have: their arrays stay as they are, and nobody reads
    /// what they become.
    pub(crate) fn hold(&mut self, held: &[&str]) {
        for field in &mut self.fields {
            field.is_held = held.contains(&field.name.as_str());
        }
        let is_kept =
            |array: Array| !matches!(array, Array::New(field) if self.fields[field].is_held);
        self.program.keep(is_kept);
        self.stages.iter_mut().for_each(|stage| stage.keep(is_kept));
        self.stages.retain(|stage| !stage.writes.is_empty());
    }

    /// Checks that steps compute all fields.
    ///
    /// # Errors
    /// A field is held.
    pub(crate) fn check_holds_nothing(&self) -> Result<(), String> {
        match self.fields.iter().find(|field| field.is_held) {
            None => Ok(()),
            Some(field) => Err(format!("the field '{}' is given before each step", field.name)),
        }
    }

    /// Calls `see` with all parts of all equations that a step computes.
    pub(crate) fn visit(&self, mut see: impl FnMut(&Node)) {
        self.fields.iter().for_each(|field| field.next.visit(&mut see));
        self.read_works().into_iter().for_each(|work| self.works[work].value.visit(&mut see));
    }

    /// The work fields that a field's next values are made of.
    pub(super) fn read_works(&self) -> BTreeSet<usize> {
        let (around, walls) = (|array| self.around(array), |array| self.wall_image(array));
        let sides = self.sides(&around, &walls);
        let mut found = BTreeSet::new();
        let mut left: Vec<&Node> = self.fields.iter().map(|field| &field.next).collect();
        let kept = (0..self.works.len()).filter(|work| self.keeps(*work));
        for work in kept {
            found.insert(work);
            left.push(&self.works[work].value);
        }
        while let Some(node) = left.pop() {
            for (array, _) in sides.computed_reads(node) {
                if let Array::Work(work) = array
                    && found.insert(work)
                {
                    left.push(&self.works[work].value);
                }
            }
        }
        found
    }

    /// A sentence on each work field that no field's next values are made of, and no receiver records.
    pub(crate) fn unread(&self) -> Vec<String> {
        let mut read = self.read_works();
        read.extend(self.recorded_works());
        let works = self.works.iter().enumerate().filter(|(number, _)| !read.contains(number));
        let works = works.filter(|(number, _)| self.solved_by(*number).is_none());
        let told = works.map(|(_, work)| {
            format!("no field is made of the work field '{}', so it is not computed", work.name)
        });
        told.collect()
    }
}
