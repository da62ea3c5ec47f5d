// SPDX-License-Identifier: MIT OR Apache-2.0
//! In which order totals are found: each after those that it is made of.

use crate::description::TotalText;
use crate::expression::{Scope, names_in};
use problem::error::Mistake;

/// The order, by their numbers; those that are made of none that follows keep theirs.
///
/// # Errors
/// One is no expression, or is made of itself.
pub fn of(texts: &[TotalText], scope: &Scope) -> Result<Vec<usize>, Mistake> {
    let number = |name: &str| texts.iter().position(|text| text.name.as_str() == name);
    let made_of = |TotalText { value, region, .. }: &TotalText| {
        let mut names = names_in(value, &scope.terms)?;
        if let Some(region) = region {
            names.extend(names_in(region, &scope.terms)?);
        }
        Ok::<_, Mistake>(names.iter().filter_map(|name| number(name)).collect::<Vec<_>>())
    };
    let made_of: Vec<Vec<usize>> = texts.iter().map(made_of).collect::<Result<_, _>>()?;
    let mut order = Order { texts, made_of, open: Vec::new(), found: Vec::new() };
    (0..texts.len()).try_for_each(|number| order.add(number))?;
    Ok(order.found)
}

struct Order<'a> {
    texts: &'a [TotalText],
    made_of: Vec<Vec<usize>>,
    /// Totals that are being added, each made of the next.
    open: Vec<usize>,
    found: Vec<usize>,
}

impl Order<'_> {
    fn add(&mut self, number: usize) -> Result<(), Mistake> {
        if self.found.contains(&number) {
            return Ok(());
        }
        if let Some(first) = self.open.iter().position(|open| *open == number) {
            let circle = self.open[first..].iter().chain([&number]);
            let names = circle.map(|it| format!("'{}'", self.texts[*it].name.as_str()));
            let names = names.collect::<Vec<_>>().join(", of ");
            let text = &self.texts[number].value;
            return Err(text.wrong(format!("this total depends on itself: {names}")));
        }
        self.open.push(number);
        for of in self.made_of[number].clone() {
            self.add(of)?;
        }
        self.open.pop();
        self.found.push(number);
        Ok(())
    }
}
