// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes into an adjoint system by tables, and what is recorded of it: where receivers were it has sources, where sources were
//! receivers; derivatives by totals, and the times of steps.

use std::collections::BTreeMap;

use super::AdjointBuilder;
use crate::adjoint::{AtSource, Misfit};
use crate::description::{Description, Table, TableText};
use crate::expression::Array;
use crate::parts::Recorded;
use crate::text::Text;
use problem::Error;

impl AdjointBuilder<'_> {
    /// Where receivers were the adjoint has sources.
    pub(super) fn sources(
        &self,
        mut description: Description,
        adjoints: &[Vec<Array>],
        steps: usize,
        misfit: &Misfit,
    ) -> Result<Description, Error> {
        let system = self.reverse.system;
        let dims = system.shape.dims();
        for number in (0..system.totals.names.len()).filter(|_| !misfit.totals.is_empty()) {
            // The first step may look at the values after the last one, and tells nothing of later ones.
            let values = misfit.totals.iter().map(|row| row[number]).chain([0.0]);
            let name = &self.tables[system.tables.len() + system.traces.len() + number];
            let arguments = (0..=misfit.totals.len()).map(|step| step as f64).collect();
            let table = TableText::Points(Table { arguments, values: values.collect() });
            description.tables.push((Text::new("a name", name), table));
        }
        if system.varies_steps() {
            description.tables.extend(self.paces(misfit));
        }
        if misfit.records.is_empty() {
            return Ok(description);
        }
        for (number, trace) in system.traces.iter().enumerate() {
            // The adjoint's step n makes the adjoint of the values before the forward step `last - n`.
            let values = (0..steps).map(|row| misfit.records[row][number]);
            let mut values: Vec<f64> = match trace.of {
                // The step that completes goes back over none.
                Recorded::Receivers(_) => {
                    values.rev().chain(self.completes.then_some(0.0)).collect()
                }
                Recorded::Expression(..) => values.collect(),
            };
            if values.windows(2).all(|pair| pair[0] == pair[1]) {
                values.truncate(1);
            }
            let arguments = (0..values.len()).map(|step| step as f64).collect();
            let name = &self.tables[system.tables.len() + number];
            let table = TableText::Points(Table { arguments, values });
            if steps > 0 {
                description.tables.push((Text::new("a name", name), table));
                let Recorded::Receivers(parts) = &trace.of else { continue };
                for (receiver, weight) in parts {
                    let receiver = &system.receivers[*receiver];
                    let field = &self.names[&adjoints[receiver.field][0]];
                    let at = &receiver.at[3 - dims..];
                    let add = format!("{weight:?}*{name}(n)");
                    description = description.source(field, at, add);
                }
            }
        }
        Ok(description)
    }

    /// Tables of the times and lengths of steps, from the one before the first, which takes no time, to the one after the last.
    fn paces(&self, misfit: &Misfit) -> [(Text, TableText); 2] {
        let begin = misfit.paces.first().map_or(0.0, |pace| pace[0]);
        let end = misfit.paces.last().map_or(0.0, |pace| pace[0] + pace[1]);
        let paces = misfit.paces.iter().copied();
        let all: Vec<[f64; 2]> =
            [[begin, 0.0]].into_iter().chain(paces).chain([[end, 0.0]]).collect();
        let names = self.tables[self.tables.len() - 2..].iter().enumerate();
        let table = |(which, name): (usize, &String)| {
            let arguments = (0..all.len()).map(|step| step as f64 - 1.0).collect();
            let values = all.iter().map(|pace| pace[which]).collect();
            (Text::new("a name", name), TableText::Points(Table { arguments, values }))
        };
        let mut tables = names.map(table);
        std::array::from_fn(|_| tables.next().expect("there are two"))
    }

    /// Where sources were the adjoint has receivers.
    pub(super) fn receivers(
        &self,
        mut description: Description,
        adjoints: &[Vec<Array>],
        at_sources: &BTreeMap<usize, Array>,
    ) -> (Description, Vec<AtSource>) {
        let system = self.reverse.system;
        let dims = system.shape.dims();
        let [_, ny, nx] = system.shape.extents();
        let mut sources = Vec::new();
        let shares = self.asked.shares.iter().zip(&self.counts);
        for (source, ((number, weight), counts)) in self.asked.sources.iter().zip(shares) {
            let [z, y, x] = source.at;
            let index = (z * ny + y) * nx + x;
            let weight = if *counts { *weight } else { 0.0 };
            let recorded = at_sources[&source.field];
            let is_made = recorded != adjoints[source.field][0];
            let field = self.names[&recorded].clone();
            description = description.receiver(&field, &source.at[3 - dims..]);
            sources.push(AtSource { field, place: index, source: *number, weight, is_made });
        }
        (description, sources)
    }
}
