// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants as coefficients: what is differentiated by is read at each point.

use std::collections::BTreeMap;

use super::refused;
use crate::checked::System;
use crate::description::{CoefficientText, StartText};
use crate::expression::names_in;
use crate::text::Text;
use problem::Error;
use problem::boundary::Side;

/// The system with coefficients of one value in the places of these constants. Constants that are made of them are written out.
///
/// # Errors
/// There is no such constant, or it is needed as a number.
pub fn as_coefficients(system: &System, names: &[String]) -> Result<System, Error> {
    let Some(origin) = &system.source else {
        return Err(refused("the description of this system is not known".into()));
    };
    let mut description = origin.description.clone();
    let texts: BTreeMap<String, Text> = description
        .constants
        .iter()
        .map(|(name, text)| (name.as_str().to_owned(), text.clone()))
        .collect();
    let is_made_of = |text: &Text| -> Result<bool, Error> {
        Ok(names_in(text, &texts)?.iter().any(|name| names.contains(name)))
    };
    for name in names {
        let Some(text) = texts.get(name) else {
            return Err(refused(format!("there is no constant '{name}'")));
        };
        if is_made_of(text)? {
            let what =
                format!("'{name}' depends on another constant by which the gradient is asked for");
            return Err(refused(what));
        }
        let value = origin.constants.iter().find(|(known, _)| known == name);
        let value = value.map(|(_, value)| *value).unwrap_or_default();
        description.coefficients.push(CoefficientText {
            name: Text::new("a name", name),
            start: StartText::Expression(Text::new("a parameter", &format!("{value:?}"))),
            boundary: Some(Text::new("a boundary", &goes_on(system))),
        });
    }
    let mut constants = Vec::new();
    for (name, text) in std::mem::take(&mut description.constants) {
        if names.iter().any(|known| known == name.as_str()) {
            continue;
        }
        match is_made_of(&text)? {
            true => description.terms.push((name, text)),
            false => constants.push((name, text)),
        }
    }
    description.constants = constants;
    let told = names.join("', '");
    let found = System::new(&description, &origin.folder);
    let found = found.map(|found| found.with_clock_of(Some(system.clock)));
    found.map_err(|error| {
        refused(format!(
            "no gradient by '{told}': it is needed as a number, not only in equations: {error}"
        ))
    })
}

/// The sides of what has one value everywhere: beside fields that are all periodic along an axis it is periodic, too, for a stencil reads both.
fn goes_on(system: &System) -> String {
    let along = (3 - system.shape.dims()..3).map(|axis| {
        let is_periodic =
            system.fields.iter().all(|field| field.boundary.sides[axis][0] == Side::Periodic);
        let kind = if is_periodic { "periodic" } else { "edge" };
        format!("{}:{kind}", ["z", "y", "x"][axis])
    });
    along.collect::<Vec<_>>().join(",")
}
