// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that a description reads.

use super::description::{AtText, Description, StartText, TableText};
use super::text::Text;

impl Description {
    /// The names of the files that it reads, as they are written there: of starts, coefficients, tables, places and solid points.
    #[must_use]
    pub fn files(&self) -> Vec<&Text> {
        let fields = self.fields.iter().flat_map(|field| field.before.iter().chain([&field.start]));
        let coefficients = self.coefficients.iter().map(|own| &own.start);
        let starts =
            fields.chain(coefficients).chain(&self.solid).filter_map(|start| match start {
                StartText::File(name) => Some(name),
                StartText::Expression(_) | StartText::Values(_) | StartText::OnDevice(_) => None,
            });
        let tables = self.tables.iter().filter_map(|(_, table)| match table {
            TableText::File { file, .. } => Some(file),
            TableText::Points(_) => None,
        });
        let sources = self.sources.iter().map(|source| &source.at);
        let receivers = self.receivers.iter().map(|receiver| &receiver.at);
        let places = sources.chain(receivers).filter_map(|at| match at {
            AtText::File(name) => Some(name),
            AtText::One(_) => None,
        });
        starts.chain(tables).chain(places).collect()
    }
}
