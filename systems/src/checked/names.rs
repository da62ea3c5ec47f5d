// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of a system, and the texts of its equations.

use std::collections::BTreeMap;
use std::iter::repeat_n;

use crate::constants;
use crate::description::Description;
use crate::expression::{Scope, is_name, is_taken, is_value};
use crate::parts::SOLID;
use crate::text::Text;
use problem::error::Mistake;

/// The names of a system, each of which means one thing.
pub fn names(description: &Description, dims: usize) -> Result<Scope, Mistake> {
    let Description { constants, terms, stencils, tables, fields, coefficients, .. } = description;
    let Description { works, totals, solid, .. } = description;
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    seen.insert("dt".to_owned(), "a number that every system has");
    if solid.is_some() {
        seen.insert(SOLID.to_owned(), "the mask of solid points");
    }
    let mut list = |what: &'static str, names: &mut dyn Iterator<Item = &Text>| {
        let mut list = Vec::new();
        for text in names {
            let name = text.as_str();
            if !is_name(name) {
                let what = format!("'{name}' is no name for {what}");
                return Err(text.wrong(what).hint("names have letters, digits and _"));
            }
            if is_taken(name) {
                return Err(text.wrong(format!("'{name}' is a word of the language")));
            }
            // A constant of this name would be taken for the grid's.
            let is_of_grid = constants::OF_GRID.contains(&name);
            if what == "a total" && is_value(name) {
                let wrong = text.wrong(format!("'{name}' is a value that every system has"));
                return Err(wrong.hint("give the total another name"));
            }
            if ["a constant", "a total"].contains(&what) && is_of_grid {
                let wrong = text.wrong(format!("'{name}' is a number that every system has"));
                return Err(wrong.hint("it follows from [grid]"));
            }
            if let Some(before) = seen.insert(name.to_owned(), what) {
                return Err(text.wrong(format!("'{name}' is {before} already")));
            }
            list.push(name.to_owned());
        }
        Ok(list)
    };
    list("a constant", &mut constants.iter().map(|(name, _)| name))?;
    list("a term", &mut terms.iter().map(|(name, _)| name))?;
    let stencils = list("a stencil", &mut stencils.iter().map(|(name, _)| name))?;
    let tables = list("a table", &mut tables.iter().map(|(name, _)| name))?;
    let mut coefficients = list("a coefficient", &mut coefficients.iter().map(|it| &it.name))?;
    coefficients.extend(solid.as_ref().map(|_| SOLID.to_owned()));
    let works = list("a work field", &mut works.iter().map(|it| &it.name))?;
    list("a total", &mut totals.iter().map(|it| &it.name))?;
    let names = list("a field", &mut fields.iter().map(|it| &it.name))?;
    if names.is_empty() {
        let nothing = Text::new("the system", &description.title);
        return Err(nothing.wrong("there is no field").hint("give one under [fields]"));
    }
    let terms = terms.iter().map(|(name, text)| (name.as_str().to_owned(), text.clone()));
    let constants = BTreeMap::new();
    let fields = names;
    let (terms, totals) = (terms.collect(), Vec::new());
    Ok(Scope {
        dims,
        points: 0.0,
        constants,
        terms,
        fields,
        coefficients,
        works,
        stencils,
        tables,
        totals,
        varies_steps: false,
    })
}

/// The texts of all equations: of fields, of so many memories of a layer, then of work fields.
pub fn texts(description: &Description, memories: usize) -> Vec<&Text> {
    let fields = description.fields.iter().map(|field| field.change.text());
    let of_layer = description.pml.iter().flat_map(|pml| repeat_n(&pml.at, memories));
    fields.chain(of_layer).chain(description.works.iter().map(|work| &work.value)).collect()
}
