// SPDX-License-Identifier: MIT OR Apache-2.0
//! Terms that a stencil takes beyond the grid. A term is no field and has no boundary: what it is there is computed
//! from what lies around its fields, which of a field that is updated in it is seldom what was meant.

use super::expression::{Scope, Syntax, SyntaxKind, names_in, parse};
use super::parts::Field;
use super::text::Text;
use problem::boundary::Side;
use problem::error::Mistake;
use transform::Stencil;

/// The sides of a grid along each axis.
const SIDES: [[&str; 2]; 3] = [["z-", "z+"], ["y-", "y+"], ["x-", "x+"]];

/// A sentence on each such term of these equations: those that hold a field, changed by a stencil.
///
/// # Errors
/// An equation or a term cannot be parsed; equations that were checked before can.
pub fn terms<'a>(
    (fields, stencils): (&[Field], &[Stencil]),
    scope: &Scope,
    equations: impl Iterator<Item = &'a Text>,
) -> Result<Vec<String>, Mistake> {
    let mut seen = Seen { fields, stencils, scope, found: Vec::new() };
    for equation in equations {
        seen.visit(&parse(equation)?, None)?;
    }
    Ok(seen.found)
}

struct Seen<'a> {
    fields: &'a [Field],
    stencils: &'a [Stencil],
    scope: &'a Scope,
    found: Vec<String>,
}

impl Seen<'_> {
    /// A part of an equation, and the stencil of which it is an argument.
    fn visit(&mut self, part: &Syntax, under: Option<usize>) -> Result<(), Mistake> {
        match &part.kind {
            SyntaxKind::Number(_) => Ok(()),
            SyntaxKind::Name(name) => {
                let Some(text) = self.scope.terms.get(name) else { return Ok(()) };
                if let Some(stencil) = under
                    && self.changes_a_field(text)?
                {
                    return self.note(name, text, stencil);
                }
                self.visit(&parse(text)?, under)
            }
            SyntaxKind::Call(name, parts) => {
                let own = self.scope.stencils.iter().position(|known| known == name);
                parts.iter().try_for_each(|part| self.visit(part, own.or(under)))
            }
            SyntaxKind::Operator(_, parts) => {
                parts.iter().try_for_each(|part| self.visit(part, under))
            }
        }
    }

    /// Whether a term has a stencil, and a field that stands under none.
    fn changes_a_field(&self, text: &Text) -> Result<bool, Mistake> {
        let Scope { terms, fields, stencils, .. } = self.scope;
        if !names_in(text, terms)?.iter().any(|name| fields.contains(name)) {
            return Ok(false);
        }
        let (mut at_the_point, mut by_a_stencil) = (false, false);
        let mut parts = vec![parse(text)?];
        while let Some(part) = parts.pop() {
            match part.kind {
                SyntaxKind::Number(_) => (),
                SyntaxKind::Name(name) => match terms.get(&name) {
                    Some(term) => parts.push(parse(term)?),
                    None => at_the_point |= fields.contains(&name),
                },
                SyntaxKind::Call(name, _) if stencils.contains(&name) => by_a_stencil = true,
                SyntaxKind::Call(_, inner) | SyntaxKind::Operator(_, inner) => parts.extend(inner),
            }
        }
        Ok(at_the_point && by_a_stencil)
    }

    fn note(&mut self, name: &str, text: &Text, stencil: usize) -> Result<(), Mistake> {
        let Self { fields, stencils, .. } = self;
        let names = names_in(text, &self.scope.terms)?;
        let own = fields.iter().filter(|field| names.contains(&field.name));
        let own: Vec<_> = own.collect();
        let taps = stencils[stencil].taps();
        let reaches = |axis: usize, end: usize| {
            taps.iter()
                .any(|tap| if end == 0 { tap.offset[axis] < 0 } else { tap.offset[axis] > 0 })
        };
        let ends = (0..3).rev().flat_map(|axis| [(axis, 0), (axis, 1)]);
        let open = ends.filter(|(axis, end)| {
            let has_an_end = |side: Side| side != Side::Periodic;
            let ends = own.iter().any(|field| has_an_end(field.boundary.sides[*axis][*end]));
            reaches(*axis, *end) && ends
        });
        let sides: Vec<&str> = open.map(|(axis, end)| SIDES[axis][end]).collect();
        if sides.is_empty() {
            return Ok(());
        }
        let around: Vec<String> = own.iter().map(|field| format!("'{}'", field.name)).collect();
        let (stencil, around) = (&self.scope.stencils[stencil], around.join(", "));
        let sentence = format!(
            "'{stencil}' reads the term '{name}' beyond {}: there it is computed from what lies around {around}, and \
             need not be what lies around a field",
            sides.join(", ")
        );
        if !self.found.contains(&sentence) {
            self.found.push(sentence);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Description, FieldText, System};

    /// A pressure, from a velocity that is a term.
    fn warnings(velocity: &str, next: &str, boundary: &str) -> Vec<String> {
        let wave = Description::new(&[5, 6])
            .derivative("dxp", "x+", 2)
            .derivative("dxm", "x-", 2)
            .derivative("dxx", "xx", 2)
            .coefficient("k", 2.0)
            .term("new", velocity)
            .term("more", "2*new")
            .field(FieldText::new("v", "0", "new").boundary(boundary))
            .field(FieldText::new("p", "x", next).boundary(boundary));
        System::new(&wave, Path::new("")).unwrap().warnings().to_vec()
    }

    #[test]
    fn a_velocity_that_is_a_term_is_told_with_the_side() {
        for boundary in ["zero", "reflect", "edge", "constant=1", "y:periodic,x:zero"] {
            for next in ["p + 0.1*dxm(new)", "p + dxm(k*new)", "p + dxm(2*new) + dxm(new)"] {
                let found = warnings("v + 0.1*dxp(p)", next, boundary);
                let expected = "'dxm' reads the term 'new' beyond x-: there it is computed from what lies around \
                                'v', 'p', and need not be what lies around a field";
                assert_eq!(found, [expected], "{boundary} {next}");
            }
        }
        let found = warnings("v + 0.1*dxp(p)", "p + dxx(more)", "zero");
        assert!(found[0].starts_with("'dxx' reads the term 'more' beyond x-, x+: "), "{found:?}");
    }

    #[test]
    fn nothing_is_told_of_other_terms() {
        for (velocity, next, boundary) in [
            // No end, no stencil of it, no stencil in it, a flux.
            ("v + 0.1*dxp(p)", "p + dxm(new)", "periodic"),
            ("v + 0.1*dxp(p)", "p + dxm(new)", "y:zero,x:periodic"),
            ("v + 0.1*dxp(p)", "p + new", "zero"),
            ("v - 0.1*p*v", "p + dxm(new)", "zero"),
            ("k*dxp(p)", "p + dxm(new)", "zero"),
            ("k*x", "p + dxm(new)", "zero"),
            // A stencil that is written out where it is meant.
            ("v", "p + dxm(v + 0.1*dxp(p))", "zero"),
        ] {
            assert!(warnings(velocity, next, boundary).is_empty(), "{velocity} {next} {boundary}");
        }
    }
}
