// SPDX-License-Identifier: MIT OR Apache-2.0
//! The check of an expression: what each of its parts is, and whether it may stand there.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use super::{
    CoordinateScope, FOREIGN, MOST_DEPTH, MOST_LEVELS, MOST_PARTS, OTHERS, Purpose, Scope, VALUES,
    WORDS,
};
use crate::error::Mistake;
use crate::expression::composed::COMPOSED;
use crate::expression::function::{Function, NAMED, Type};
use crate::expression::node::{Array, Node};
use crate::expression::parse::{Syntax, SyntaxKind, parse};
use crate::expression::reduction::Reduction;
use crate::similar_names::near;
use crate::text::Text;

/// The sums and the like of totals.
#[derive(Clone, Copy)]
pub(super) struct Reductions<'a> {
    /// Where the points are that count, if not everywhere.
    pub(super) region: Option<&'a Node>,
    pub(super) found: &'a RefCell<Vec<Reduction>>,
}

/// A check of one text.
pub(super) struct Check<'a> {
    pub(super) scope: &'a Scope,
    pub(super) purpose: Purpose,
    /// Of a total, what it is made of.
    pub(super) reductions: Option<Reductions<'a>>,
    /// The only place that it is of, if it is.
    pub(super) place: Option<CoordinateScope>,
    pub(super) text: &'a Text,
    /// The terms that are being written out.
    pub(super) open: &'a RefCell<Vec<String>>,
    pub(super) parts: &'a Cell<usize>,
    pub(super) depth: &'a Cell<usize>,
}

impl Check<'_> {
    pub(super) fn typed(&self, syntax: &Syntax, wanted: Type) -> Result<Node, Mistake> {
        let (node, found) = self.node(syntax)?;
        if found == wanted {
            return Ok(node);
        }
        Err(match wanted {
            Type::Number => self
                .wrong(syntax, "a number is expected here, this is a condition")
                .hint("if(condition, 1, 0) makes a number of a condition"),
            Type::Condition => self
                .wrong(syntax, "a condition is expected here, this is a number")
                .hint("compare it with something, as in x > 0.5"),
        })
    }

    pub(super) fn node(&self, syntax: &Syntax) -> Result<(Node, Type), Mistake> {
        self.parts.set(self.parts.get() + 1);
        if self.parts.get() > MOST_PARTS {
            let what =
                format!("with its terms written out the expression has over {MOST_PARTS} parts");
            return Err(self.wrong(syntax, what));
        }
        if self.depth.get() == MOST_DEPTH {
            return Err(
                self.wrong(syntax, "with its terms written out the expression is nested too deep")
            );
        }
        self.depth.set(self.depth.get() + 1);
        let node = match &syntax.kind {
            SyntaxKind::Number(number) => Ok((Node::Number(*number), Type::Number)),
            SyntaxKind::Name(name) => self.name(name, syntax),
            SyntaxKind::Call(name, arguments) => self.call(name, arguments, syntax),
            SyntaxKind::Operator(function, operands) => self.function(*function, operands, syntax),
        };
        self.depth.set(self.depth.get() - 1);
        node
    }

    pub(super) fn function(
        &self,
        function: Function,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<(Node, Type), Mistake> {
        let each = arguments.iter().zip(function.takes());
        let arguments: Vec<Node> =
            each.map(|(syntax, wanted)| self.typed(syntax, *wanted)).collect::<Result<_, _>>()?;
        match Node::call(function, arguments) {
            Node::Number(number) if !number.is_finite() => {
                Err(self.wrong(syntax, format!("this is always {number}")))
            }
            node => Ok((node, function.gives())),
        }
    }

    pub(super) fn name(&self, name: &str, syntax: &Syntax) -> Result<(Node, Type), Mistake> {
        let scope = self.scope;
        let is = |names: &[String]| names.iter().position(|known| known == name);
        let axis = |letter: &str| ["z", "y", "x"].iter().position(|axis| *axis == letter);
        let axis = |letter: &str| axis(letter).filter(|axis| *axis >= 3 - scope.dims);
        let node = if let Some(number) = scope.constants.get(name) {
            Node::Number(*number)
        } else if let Some(term) = scope.terms.get(name) {
            return self.term(name, term, syntax);
        } else if let Some(field) = is(&scope.fields) {
            self.allow(self.purpose >= Purpose::Recorded, syntax)?;
            Node::Read(Array::Field { field, level: 0 })
        } else if let Some(coefficient) = is(&scope.coefficients) {
            self.allow(self.purpose >= Purpose::StartOfField, syntax)?;
            Node::Read(Array::Coefficient(coefficient))
        } else if let Some(work) = is(&scope.works) {
            self.allow(matches!(self.purpose, Purpose::Next | Purpose::Recorded), syntax)?;
            Node::Read(Array::Work(work))
        } else if let Some((_, total)) = scope.totals.iter().find(|(known, _)| known == name) {
            use Purpose::{EachStep, Next, Reduced, Total};
            self.allow(matches!(self.purpose, EachStep | Total | Next | Reduced), syntax)?;
            total.clone()
        } else if name == "pi" {
            Node::Number(std::f64::consts::PI)
        } else if name == "t" {
            self.allow(
                self.purpose >= Purpose::EachStep && self.purpose != Purpose::Points,
                syntax,
            )?;
            Node::Time
        } else if name == "n" || name == "dt" && scope.varies_steps {
            use Purpose::{EachStep, Next, Recorded, Reduced, Total};
            let steps = matches!(self.purpose, EachStep | Total | Recorded | Next | Reduced);
            self.allow(steps, syntax)?;
            if name == "n" { Node::Step } else { Node::StepLength }
        } else if let Some(axis) = axis(name) {
            self.allow(self.purpose >= Purpose::Start, syntax)?;
            let of =
                |place: CoordinateScope| Node::Number(place.points[axis] * place.spacing[axis]);
            self.place.map_or(Node::Coordinate(axis), of)
        } else if let Some(axis) = name.strip_prefix('i').and_then(axis) {
            self.allow(self.purpose >= Purpose::Start, syntax)?;
            let of = |place: CoordinateScope| Node::Number(place.points[axis]);
            self.place.map_or(Node::Index(axis), of)
        } else {
            return Err(self.unknown(name, syntax));
        };
        Ok((node, Type::Number))
    }

    /// A term, written out.
    pub(super) fn term(
        &self,
        name: &str,
        text: &Text,
        syntax: &Syntax,
    ) -> Result<(Node, Type), Mistake> {
        if self.open.borrow().iter().any(|open| open == name) {
            return Err(self.wrong(syntax, format!("the term '{name}' depends on itself")));
        }
        self.open.borrow_mut().push(name.to_owned());
        let syntax = parse(text)?;
        let result = Check { text, ..*self }.node(&syntax);
        self.open.borrow_mut().pop();
        result
    }

    pub(super) fn call(
        &self,
        name: &str,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<(Node, Type), Mistake> {
        let is = |names: &[String]| names.iter().position(|known| known == name);
        let named = NAMED.iter().find(|(known, _)| *known == name);
        if let Some(node) = self.reduction(name, arguments, syntax)? {
            return Ok((node, Type::Number));
        }
        if let Some((_, function)) = named {
            if let (Function::Min | Function::Max, [_, _, _, ..]) = (function, arguments) {
                return self.of_many(*function, arguments);
            }
            self.count(name, arguments, function.takes().len(), syntax)?;
            return self.function(*function, arguments, syntax);
        }
        let node = if let Some(stencil) = is(&self.scope.stencils) {
            self.count(name, arguments, 1, syntax)?;
            use Purpose::{Next, Recorded, Reduced, StartOfField};
            let takes = [Next, Recorded, Reduced, StartOfField];
            self.allow(takes.contains(&self.purpose), syntax)?;
            let argument = self.typed(&arguments[0], Type::Number)?;
            let mut hint = None;
            argument.visit(&mut |part| match part {
                Node::Random(_) => {
                    hint = Some("give them to a coefficient, which has a boundary");
                }
                Node::Noise(_) => {
                    hint = Some("give them to a work field, which has a boundary");
                }
                _ => (),
            });
            if let Some(hint) = hint {
                let what = "a stencil reads beyond the grid, where there are no random numbers";
                return Err(self.wrong(&arguments[0], what).hint(hint));
            }
            Node::Stencil(stencil, Box::new(argument))
        } else if let Some(table) = is(&self.scope.tables) {
            self.allow(self.purpose != Purpose::Constant, syntax)?;
            self.count(name, arguments, 1, syntax)?;
            let argument = self.typed(&arguments[0], Type::Number)?;
            if !argument.is_uniform() {
                let what =
                    format!("'{name}' is a table: its argument is one number for all points");
                return Err(self.wrong(&arguments[0], what).hint("it may hold t, n and constants"));
            }
            Node::Table(table, Box::new(argument))
        } else {
            match name {
                "prev" => self.earlier(name, 1, arguments, syntax)?,
                "prev2" => self.earlier(name, MOST_LEVELS, arguments, syntax)?,
                "new" => self.after_the_step(arguments, syntax)?,
                "random" => self.random(arguments, syntax)?,
                "noise" | "normal" if !self.scope.has(name) => {
                    self.noise(name, arguments, syntax)?
                }
                "ricker" => self.ricker(arguments, syntax)?,
                "solve" if !self.scope.has(name) => return Err(self.no_solve(syntax)),
                _ => self.composed(name, arguments, syntax)?,
            }
        };
        Ok((node, Type::Number))
    }

    pub(super) fn count(
        &self,
        name: &str,
        arguments: &[Syntax],
        wanted: usize,
        syntax: &Syntax,
    ) -> Result<(), Mistake> {
        let found = arguments.len();
        if found == wanted {
            return Ok(());
        }
        let plural = if wanted == 1 { "argument" } else { "arguments" };
        let wrong = self.wrong(syntax, format!("'{name}' takes {wanted} {plural}, not {found}"));
        Err(match name {
            "if" => wrong.hint("if(condition, value where it holds, value elsewhere)"),
            "ricker" => wrong.hint("ricker(peak frequency, time from its middle on)"),
            "min" | "max" if found == 1 => wrong.hint(format!(
                "the {name} of the grid is a total: [totals] NAME = \"{name}(u)\"; an equation may hold NAME"
            )),
            _ => wrong,
        })
    }

    /// Refuses what is not for this purpose.
    pub(super) fn allow(&self, allowed: bool, syntax: &Syntax) -> Result<(), Mistake> {
        if allowed {
            return Ok(());
        }
        let what = &self.text.whole()[syntax.at.clone()];
        let (place, may_hold) = match self.purpose {
            Purpose::Constant => ("a constant", "numbers and other constants"),
            Purpose::EachStep => {
                ("what is one number for each step", "t, n, constants, tables and totals")
            }
            Purpose::Total => (
                "a total outside of a sum over the grid",
                "sum(...), mean(...), norm(...), min(...), max(...) of fields, other totals, t, n and constants",
            ),
            Purpose::Reduced => (
                "what is summed over the grid",
                "fields, prev(field), coefficients, stencils, coordinates, t, n and constants",
            ),
            Purpose::Start => {
                ("a value of a coefficient", "coordinates, t, constants and random(seed)")
            }
            Purpose::StartOfField => (
                "a value to start with",
                "coordinates, t, constants, coefficients, stencils and random(seed)",
            ),
            Purpose::Points => ("a condition on points", "coordinates, constants and coefficients"),
            Purpose::Recorded => (
                "what a receiver records",
                "fields, work fields, coefficients, stencils, coordinates, t, n, constants and tables",
            ),
            Purpose::Next => (
                "an equation",
                "all but random(seed); noise(seed) is a new random number in each step",
            ),
        };
        let wrong = self.wrong(syntax, format!("'{what}' cannot stand in {place}"));
        Err(wrong.hint(format!("it may hold {may_hold}")))
    }

    pub(super) fn unknown(&self, name: &str, syntax: &Syntax) -> Mistake {
        let scope = self.scope;
        let Scope { fields, coefficients, works, stencils, tables, .. } = scope;
        let lists = [fields, coefficients, works, stencils, tables];
        let named = lists.into_iter().flatten().map(String::as_str);
        let keyed = scope.constants.keys().chain(scope.terms.keys()).map(String::as_str);
        let keyed = keyed.chain(scope.totals.iter().map(|(name, _)| name.as_str()));
        let named_functions = NAMED.iter().map(|(known, _)| *known);
        let functions = named_functions.chain(COMPOSED.iter().map(|it| it.name));
        let words = WORDS.into_iter().chain(VALUES).chain(OTHERS);
        let own = words.chain(functions).chain(["ricker"]);
        let known = || named.clone().chain(keyed.clone()).chain(own.clone());
        let wrong =
            |what: String| self.mistake(syntax.at.start..syntax.at.start + name.len(), what);
        if ["x", "y", "z", "ix", "iy", "iz"].contains(&name) {
            return wrong(format!("there is no {name} on a grid of {} axes", scope.dims));
        }
        if known().any(|known| known == name) {
            return match syntax.kind {
                SyntaxKind::Call(..) => wrong(format!("'{name}' is no function"))
                    .hint(format!("a product needs its sign: {name}*(...)")),
                _ => wrong(format!("'{name}' is a function; its argument is missing"))
                    .hint(format!("as in {name}(u)")),
            };
        }
        let wrong = wrong(format!("there is no '{name}'"));
        if let Some((_, meant)) = FOREIGN.iter().find(|(foreign, _)| *foreign == name) {
            // The system may have the stencil under a name that looks alike.
            let stencils = scope.stencils.iter().map(|known| (known.as_str(), known.as_str()));
            return match near(name, stencils) {
                near if near.is_empty() => wrong.hint(*meant),
                near => wrong.hint(format!("did you mean {}?", near.join(", "))),
            };
        }
        match near(name, known().map(|known| (known, known))) {
            near if near.is_empty() => wrong,
            near => wrong.hint(format!("did you mean {}?", near.join(", "))),
        }
    }

    pub(super) fn wrong(&self, syntax: &Syntax, what: impl Into<String>) -> Mistake {
        self.mistake(syntax.at.clone(), what)
    }

    pub(super) fn mistake(&self, at: Range<usize>, what: impl Into<String>) -> Mistake {
        self.text.mistake(at, what)
    }
}
