// SPDX-License-Identifier: MIT OR Apache-2.0
//! `solve(S, f)`: the field w with S(w) = f. It is the whole value of a work field, whose sides are those of w.

use super::check::Check;
use super::{Purpose, Scope};
use crate::error::Mistake;
use crate::expression::function::Type;
use crate::expression::node::Node;
use crate::expression::parse::{Syntax, SyntaxKind, parse};
use crate::similar_names::near;
use crate::text::Text;

/// The word.
const SOLVE: &str = "solve";

impl Scope {
    /// The value of a work field: an expression of an equation, or what is solved for.
    ///
    /// # Errors
    /// It is neither.
    pub fn work(&self, text: &Text) -> Result<Node, Mistake> {
        let syntax = parse(text)?;
        self.begin(text, Purpose::Next, |check| match &syntax.kind {
            SyntaxKind::Call(name, arguments) if name == SOLVE && !self.has(SOLVE) => {
                check.solve(arguments, &syntax)
            }
            _ => check.typed(&syntax, Type::Number),
        })
    }
}

impl Check<'_> {
    fn solve(&self, arguments: &[Syntax], syntax: &Syntax) -> Result<Node, Mistake> {
        self.count(SOLVE, arguments, 2, syntax)?;
        let [stencil, right] = [&arguments[0], &arguments[1]];
        let stencils = &self.scope.stencils;
        let number = match &stencil.kind {
            SyntaxKind::Name(name) => {
                stencils.iter().position(|known| known == name).ok_or_else(|| {
                    let wrong = self.wrong(stencil, format!("there is no stencil '{name}'"));
                    match near(name, stencils.iter().map(|known| (known.as_str(), known.as_str())))
                    {
                        near if near.is_empty() => {
                            wrong.hint("stencils have their names in [stencils]")
                        }
                        near => wrong.hint(format!("did you mean {}?", near.join(", "))),
                    }
                })?
            }
            _ => {
                let what = "'solve' takes the name of a stencil, then the right-hand side";
                return Err(self.wrong(stencil, what).hint("as in solve(laplace, -w)"));
            }
        };
        Ok(Node::Solve(number, Box::new(self.typed(right, Type::Number)?)))
    }

    /// The refusal of a solve within an expression.
    pub(super) fn no_solve(&self, syntax: &Syntax) -> Mistake {
        self.wrong(syntax, "'solve' must be the whole value of a work field").hint(
            "[work.p] value = \"solve(laplace, f)\", boundary = \"periodic\": then p can be read as any work field",
        )
    }
}
