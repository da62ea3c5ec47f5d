// SPDX-License-Identifier: MIT OR Apache-2.0
//! An adjoint system as a file.

use std::fmt::Write;

use super::Adjoint;
use crate::description::{AtText, RecordText, StartText, StencilText, TableText};
use crate::text::Text;

impl Adjoint {
    /// The file of the values of a coefficient, beside the adjoint's own file STEM.toml: STEM-NAME.npy.
    #[must_use]
    pub fn array_file(stem: &str, name: &str) -> String {
        format!("{stem}-{name}.npy")
    }

    /// It as TOML, of a file STEM.toml. Values of coefficients, those of [`Adjoint::arrays`], are in files of their own
    /// ([`Adjoint::array_file`]), which whoever writes the file writes, too.
    #[must_use]
    pub fn file(&self, stem: &str) -> String {
        let of = &self.description;
        let mut to = String::new();
        let mut line = |text: String| writeln!(to, "{text}").expect("a string takes any text");
        line(format!("title = {:?}", of.title));
        for given in &self.given {
            let when = match given.when {
                1 => "after the step that is gone back over".to_owned(),
                0 => "before the step that is gone back over".to_owned(),
                earlier => {
                    format!("before the step that is gone back over, {} before that", -earlier)
                }
            };
            line(format!(
                "# {} is to be given before each step: the forward field {} {when}",
                given.name, given.field
            ));
        }
        let spacing = list(of.spacing.iter().map(|it| it.as_str().to_owned()));
        line(format!(
            "\n[grid]\nsize = {:?}\nspacing = {spacing}\ndtype = \"{}\"",
            of.size, of.dtype
        ));
        line(format!("\n[time]\ndt = {}\nsteps = {}", of.dt.as_str(), of.steps));
        if !of.stencils.is_empty() {
            line("\n[stencils]".into());
        }
        let dims = of.size.len();
        for (name, stencil) in &of.stencils {
            let StencilText::Weights(stencil) = stencil else {
                unreachable!("an adjoint's stencils have weights")
            };
            let taps = stencil.taps();
            let offsets = list(taps.iter().map(|tap| format!("{:?}", &tap.offset[3 - dims..])));
            let weights = list(taps.iter().map(|tap| format!("{:?}", tap.weight)));
            line(format!("{} = {{ offsets = {offsets}, weights = {weights} }}", name.as_str()));
        }
        for (name, table) in &of.tables {
            let TableText::Points(table) = table else {
                unreachable!("an adjoint's tables have points")
            };
            let [arguments, values] = [&table.arguments, &table.values]
                .map(|all| list(all.iter().map(|number| format!("{number:?}"))));
            line(format!(
                "\n[tables.{}]\narguments = {arguments}\nvalues = {values}",
                name.as_str()
            ));
        }
        for own in &of.coefficients {
            let name = own.name.as_str();
            let start = match &own.start {
                StartText::Expression(text) | StartText::File(text) => text.as_str().to_owned(),
                StartText::Values(_) | StartText::OnDevice(_) => Self::array_file(stem, name),
            };
            let boundary = own.boundary.as_ref().map_or("zero", Text::as_str);
            line(format!("\n[coefficients.{name}]\nstart = {start:?}\nboundary = {boundary:?}"));
        }
        for own in &of.works {
            let [value, boundary] = [own.value.as_str(), own.boundary.as_str()];
            let name = own.name.as_str();
            line(format!("\n[work.{name}]\nvalue = {value:?}\nboundary = {boundary:?}"));
        }
        for own in &of.fields {
            let [name, boundary] = [own.name.as_str(), own.boundary.as_str()];
            let next = own.change.text().as_str();
            line(format!("\n[fields.{name}]\nstart = 0\nnext = {next:?}\nboundary = {boundary:?}"));
        }
        if !of.totals.is_empty() {
            line("\n[totals]".into());
        }
        for own in &of.totals {
            line(format!("{} = {:?}", own.name.as_str(), own.value.as_str()));
        }
        for own in &of.sources {
            let (field, at, add) = (own.field.as_str(), place(&own.at), own.add.as_str());
            line(format!("\n[[sources]]\nfield = {field:?}\nat = {at}\nadd = {add:?}"));
        }
        for own in &of.receivers {
            let (RecordText::Field(field) | RecordText::Value(field)) = &own.record;
            let at = place(&own.at);
            line(format!("\n[[receivers]]\nfield = {:?}\nat = {at}", field.as_str()));
        }
        to
    }
}

fn list(parts: impl Iterator<Item = String>) -> String {
    format!("[{}]", parts.collect::<Vec<_>>().join(", "))
}

fn place(at: &AtText) -> String {
    match at {
        AtText::One(place) => list(place.iter().map(|it| it.as_str().to_owned())),
        AtText::File(text) => format!("{:?}", text.as_str()),
    }
}
