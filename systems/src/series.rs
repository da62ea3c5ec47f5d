// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sources add as series of numbers, one for each step, which may be others from run to run: the shots of a survey.

use std::path::PathBuf;
use std::sync::Arc;

use super::checked::System;
use super::description::{AtText, Description, Table, TableText};
use super::origin::Origin;
use super::text::Text;
use problem::Error;
use problem::error::Mistake;

impl Description {
    /// Gives each source a number for each step to add, in the place of what it adds: a row for each source, in their order. Beyond
    /// its end a row goes on with its last number.
    ///
    /// # Errors
    /// There are more rows than sources, or fewer; a source is at the places of a file.
    pub fn set_series(&mut self, rows: &[Vec<f64>]) -> Result<(), Mistake> {
        let at = Text::new("the series of sources", "");
        check_count(&at, self.sources.len(), rows.len())?;
        for (number, row) in rows.iter().enumerate() {
            let name = name(number);
            if self.tables.iter().any(|(own, _)| own.as_str() == name) {
                let what = format!("the table '{name}' has the name of a source's series");
                return Err(at.wrong(what).hint("give it another name"));
            }
            let source = &mut self.sources[number];
            if let AtText::File(file) = &source.at {
                let wrong =
                    file.wrong("a source with a series is at one place, not at places of a file");
                return Err(wrong.hint("write a source for each place"));
            }
            source.add =
                Text::new(&format!("the series of source {number}"), &format!("{name}(n)"));
            self.tables.push((Text::new("a name", &name), TableText::Points(table(0, row))));
        }
        Ok(())
    }
}

impl System {
    /// A system like it whose sources add other numbers ([`Description::set_series`]), from the step of a number on.
    ///
    /// # Errors
    /// It was made without series; there are more rows than sources, or fewer; a number is not finite.
    pub fn with_series(&self, first: usize, rows: &[Vec<f64>]) -> Result<Self, Error> {
        let at = Text::new("the series of sources", "");
        let origin = self.source.as_deref();
        let tables = origin.map_or(&[][..], |origin| &origin.description.tables);
        let numbers: Vec<usize> = (0..)
            .map_while(|number| tables.iter().position(|(own, _)| own.as_str() == name(number)))
            .collect();
        let Some(origin) = origin.filter(|_| !numbers.is_empty()) else {
            let wrong = at.wrong("the system was made without series for its sources");
            let hint = "what its sources add follows from equations; give each a row: System(…, sources=array) in Python, Description::set_series in Rust";
            return Err(wrong.hint(hint).into());
        };
        check_count(&at, numbers.len(), rows.len())?;
        let mut own = self.clone();
        let mut description = origin.description.clone();
        for (number, (place, row)) in numbers.into_iter().zip(rows).enumerate() {
            if let Some(value) = row.iter().find(|value| !value.is_finite()) {
                return Err(at.wrong(format!("a number of source {number} is {value}")).into());
            }
            let table = table(first, row);
            own.tables[place] = table.clone();
            description.tables[place].1 = TableText::Points(table);
        }
        let (folder, constants): (PathBuf, _) = (origin.folder.clone(), origin.constants.clone());
        own.source = Some(Arc::new(Origin { description, folder, constants }));
        Ok(own)
    }
}

/// The name of the table of a source's series.
fn name(number: usize) -> String {
    format!("source_series_{number}")
}

/// The table of a row whose first number is of this step.
fn table(first: usize, row: &[f64]) -> Table {
    let values = if row.is_empty() { vec![0.0] } else { row.to_vec() };
    let arguments = (first..first + values.len()).map(|step| step as f64).collect();
    Table { arguments, values }
}

fn check_count(at: &Text, sources: usize, rows: usize) -> Result<(), Mistake> {
    if sources == rows && rows > 0 {
        return Ok(());
    }
    let what = format!("{rows} rows of numbers are given for {sources} sources");
    Err(at.wrong(what).hint("give a row for each source, in their order"))
}
