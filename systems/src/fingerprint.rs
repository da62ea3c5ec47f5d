// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tells a system from others: all that its values depend on but for the steps that are taken.

use super::checked::System;
use super::expression::Array;
use super::parts::{Recorded, Start, Trace};
use super::totals::Totals;
use files::io::checkpoint::hash_of;
use problem::{Grid, with_values};

impl System {
    /// Digits that are equal for systems whose values are the same after any number of steps, and differ for others.
    /// Another version of this program may give other digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let Self { shape, dtype, spacing, stencils, tables, sources, receivers, .. } = self;
        let dt = match &self.length {
            None => format!("{:?}", self.clock.dt),
            Some(length) => format!("{length:?} {:?}", self.totals.reductions),
        };
        let numbers = format!("{shape} {dtype} {spacing:?} {dt}");
        let parts = format!("{stencils:?} {tables:?} {sources:?} {receivers:?}");
        let mut all = vec![numbers.into_bytes(), parts.into_bytes()];
        for field in &self.fields {
            let (name, boundary, next, keep) =
                (&field.name, field.boundary, &field.next, &field.keep);
            all.push(format!("{name} {boundary:?} {next:?} {keep:?}").into_bytes());
            all.push(start(&field.start));
            all.extend(field.before.iter().map(start));
        }
        // Each receiver by itself needs no further word.
        let is_own = |(number, trace): (usize, &Trace)| match &trace.of {
            Recorded::Receivers(parts) => *parts == [(number, 1.0)],
            Recorded::Expression(..) => false,
        };
        if !self.traces.iter().enumerate().all(is_own) {
            let word = |trace: &Trace| match &trace.of {
                Recorded::Receivers(parts) => format!("{parts:?}"),
                Recorded::Expression(node, points) => format!("{node:?} {points:?}"),
            };
            let words: Vec<String> = self.traces.iter().map(word).collect();
            all.push(format!("[{}]", words.join(", ")).into_bytes());
        }
        if !self.side_values.is_empty() {
            all.push(format!("{:?}", self.side_values).into_bytes());
        }
        let walls = self.fields.iter().map(|field| &field.walls);
        let walls = walls.chain(self.works.iter().map(|work| &work.walls));
        if self.solid.is_some() {
            all.push(format!("{:?} {:?}", self.solid, walls.collect::<Vec<_>>()).into_bytes());
        }
        for work in &self.works {
            let (name, boundary, value) = (&work.name, work.boundary, &work.value);
            all.push(format!("{name} {boundary:?} {value:?}").into_bytes());
        }
        for coefficient in &self.coefficients {
            all.push(format!("{} {:?}", coefficient.name, coefficient.boundary).into_bytes());
            all.push(start(&coefficient.start));
        }
        // Totals that only are told need no word, unless they ask for earlier levels.
        let levels: Vec<usize> = self.fields.iter().map(|field| field.levels).collect();
        let earlier = |(array, _)| matches!(array, Array::Field { level: 1.., .. });
        if self.waits_for_totals() || self.totals.reads().any(earlier) {
            all.push(format!("{:?} {levels:?}", self.totals.reductions).into_bytes());
        }
        let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        hash_of(&all)
    }

    /// Digits that tell the rows of these totals, one every so many steps, from those of others.
    pub(crate) fn rows_of(&self, every: usize) -> String {
        let Totals { names, values, reductions, .. } = &self.totals;
        hash_of(&[format!("{every} {names:?} {values:?} {reductions:?}").as_bytes()])
    }
}

/// An expression as it was understood, or values as they are stored.
fn start(start: &Start) -> Vec<u8> {
    match start {
        Start::Expression(node) => format!("{node:?}").into_bytes(),
        Start::Values(grid, _) => bytes(grid),
        // Of values that cannot be had nothing is known: no other problem is this one.
        Start::OnDevice(given) => {
            given.grid().map_or_else(|error| error.to_string().into_bytes(), |grid| bytes(&grid))
        }
    }
}

fn bytes(grid: &Grid) -> Vec<u8> {
    with_values!(&grid.values, values => bytemuck::cast_slice::<_, u8>(values).to_vec())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::Description;

    /// A system that has a part of every kind.
    const SYSTEM: &str = r#"
        title = "waves"
        [grid]
        size = [12, 16]
        spacing = 2.0
        dtype = "f32"
        [time]
        dt = 0.5
        steps = 3
        [constants]
        k = 0.25
        [terms]
        lifted = "p + 1"
        [tables.bent]
        arguments = [0, 1]
        values = [2, 3]
        [stencils]
        laplace = { derivative = "laplace", order = 2 }
        [coefficients.c]
        start = "1 + x"
        boundary = "edge"
        [fields.p]
        start = "y"
        boundary = "zero"
        next = "2*p - prev(p) + k*c*laplace(p)"
        keep = "x > 20"
        [fields.q]
        start = 0
        next = "lifted + 0*c"
        [[sources]]
        field = "p"
        at = [5, 4]
        add = "bent(t)"
        [[receivers]]
        field = "p"
        at = [5, 6]
        [sponge]
        width = 3
        strength = 0.01
        sides = ["x-"]
        fields = ["p"]
    "#;

    fn fingerprint(text: &str) -> String {
        let description = Description::parse("system.toml", text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let system = System::new(&description, Path::new(""));
        system.unwrap_or_else(|error| panic!("{error}\n{text}")).fingerprint()
    }

    fn changed(from: &str, to: &str) -> String {
        assert_eq!(SYSTEM.matches(from).count(), 1, "{from}");
        SYSTEM.replace(from, to)
    }

    #[test]
    fn each_part_that_values_depend_on_changes_it() {
        let mut known = BTreeMap::from([(fingerprint(SYSTEM), "none")]);
        for (from, to) in [
            ("size = [12, 16]", "size = [16, 12]"),
            ("spacing = 2.0", "spacing = [2.0, 1.0]"),
            ("dtype = \"f32\"", "dtype = \"f64\""),
            ("dt = 0.5", "dt = 0.25"),
            ("k = 0.25", "k = 0.125"),
            ("\"p + 1\"", "\"p + 2\""),
            ("arguments = [0, 1]", "arguments = [0, 2]"),
            ("values = [2, 3]", "values = [2, 4]"),
            ("order = 2", "order = 4"),
            ("start = \"1 + x\"", "start = \"2 + x\""),
            ("boundary = \"edge\"", "boundary = \"reflect\""),
            ("start = \"y\"", "start = \"x\""),
            ("boundary = \"zero\"", "boundary = \"periodic\""),
            ("keep = \"x > 20\"", "keep = \"x > 24\""),
            ("keep = \"x > 20\"", ""),
            ("start = 0", "start = 1"),
            ("0*c", "1*c"),
            ("fields.q", "fields.r"),
            ("start = \"y\"", "start = \"y\"\n        before = \"y + 1\""),
            ("start = \"y\"", "start = \"y\"\n        before = \"y + 2\""),
            ("field = \"p\"\n        at = [5, 6]", "value = \"2*p\"\n        at = [5, 6]"),
            ("field = \"p\"\n        at = [5, 6]", "value = \"3*p\"\n        at = [5, 6]"),
            ("field = \"p\"\n        at = [5, 4]", "field = \"q\"\n        at = [5, 4]"),
            ("at = [5, 4]", "at = [4, 4]"),
            ("add = \"bent(t)\"", "add = \"bent(2*t)\""),
            ("[[sources]]", "[[sources]]\nfield = \"q\"\nat = [1, 1]\nadd = 1\n[[sources]]"),
            ("at = [5, 6]", "at = [6, 6]"),
            ("at = [5, 6]", "at = [5, 6]\n[[receivers]]\nfield = \"p\"\nat = [5, 6]"),
            ("at = [5, 6]", "at = [5, 6.5]"),
            ("at = [5, 6]", "at = [5, 6.25]"),
            ("width = 3", "width = 4"),
            ("strength = 0.01", "strength = 0.02"),
            ("sides = [\"x-\"]", "sides = [\"x+\"]"),
            ("fields = [\"p\"]", "fields = [\"q\"]"),
        ] {
            let other = known.insert(fingerprint(&changed(from, to)), to);
            assert_eq!(other, None, "{from}, changed to {to}");
        }
    }

    #[test]
    fn what_values_do_not_depend_on_leaves_it() {
        for (from, to) in [
            ("title = \"waves\"", "title = \"others\""),
            ("steps = 3", "steps = 30"),
            ("k = 0.25", "k = \"1/4\""),
            ("\"p + 1\"", "\"p+1\""),
        ] {
            assert_eq!(fingerprint(&changed(from, to)), fingerprint(SYSTEM), "{from}");
        }
    }
}
