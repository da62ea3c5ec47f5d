// SPDX-License-Identifier: MIT OR Apache-2.0
//! What names mean, and with them the check of an expression.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::function::{NAMED, Type};
use super::node::Node;
use super::parse::{SyntaxKind, parse};
use super::reduction::{self, Reduction};
use crate::error::Mistake;
use crate::text::Text;
use check::{Check, Reductions};

mod check;
mod functions;
mod solve;

/// What an expression is for, and with that what may stand in it: each allows at least what one before it does,
/// but for what its words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Purpose {
    /// A number that is known before anything else is: numbers and constants.
    Constant,
    /// A number for each step: also the time, tables and totals.
    EachStep,
    /// A total: a number for each step, also made of sums over the grid and the like.
    Total,
    /// Values that a coefficient has: of each point, at a time.
    Start,
    /// Values that a field starts with: also made of coefficients, and by stencils.
    StartOfField,
    /// Which points something is for: of each point, also coefficients; they never change.
    Points,
    /// What is recorded after a step: of present values.
    Recorded,
    /// A field's next values: anything but random numbers that do not change.
    Next,
    /// What a total sums, or seeks the largest or smallest value of: what a step has left, what it began with, and other totals of
    /// that.
    Reduced,
}

/// A place of which coordinates are.
#[derive(Clone, Copy, Debug)]
pub struct CoordinateScope {
    /// Along z, y, x in points.
    pub points: [f64; 3],
    /// Distance of points along z, y, x.
    pub spacing: [f64; 3],
}

/// Steps back that a field may be read.
pub const MOST_LEVELS: usize = 2;
/// Parts of an expression with all terms written out.
const MOST_PARTS: usize = 10_000;
/// Levels of it, one inside of the other.
const MOST_DEPTH: usize = 400;

/// What names mean.
#[derive(Debug, Default)]
pub struct Scope {
    /// Axes of the grid.
    pub dims: usize,
    /// Its points.
    pub points: f64,
    /// Numbers, by name.
    pub constants: BTreeMap<String, f64>,
    /// Expressions that are written out where their names stand.
    pub terms: BTreeMap<String, Text>,
    /// Fields, in their order.
    pub fields: Vec<String>,
    /// Coefficients, in their order.
    pub coefficients: Vec<String>,
    /// Work fields, in their order.
    pub works: Vec<String>,
    /// Stencils, in their order.
    pub stencils: Vec<String>,
    /// Tables, in their order.
    pub tables: Vec<String>,
    /// Totals, each after those that it is made of.
    pub totals: Vec<(String, Node)>,
    /// Whether `dt` follows from the values, so that it is no constant.
    pub varies_steps: bool,
}

/// What other languages call things, and what is written here.
const FOREIGN: [(&str, &str); 14] = [
    ("log10", "write ln(a)/ln(10)"),
    ("pow", "a power is written a^b"),
    ("power", "a power is written a^b"),
    ("fmod", "what is left after whole numbers of b is mod(a, b)"),
    ("where", "write if(condition, value where it holds, value elsewhere)"),
    ("select", "write if(condition, value where it holds, value elsewhere)"),
    ("laplacian", "name it under [stencils]: laplace = { derivative = \"laplace\", order = 2 }"),
    ("lap", "name it under [stencils]: lap = { derivative = \"laplace\", order = 2 }"),
    ("dx", "name it under [stencils]: dx = { derivative = \"x\", order = 2 }"),
    ("dy", "name it under [stencils]: dy = { derivative = \"y\", order = 2 }"),
    ("dz", "name it under [stencils]: dz = { derivative = \"z\", order = 2 }"),
    (
        "sum",
        "a sum over the grid is a total: [totals] NAME = \"sum(u)\"; an equation may hold NAME",
    ),
    (
        "mean",
        "a mean over the grid is a total: [totals] NAME = \"mean(u)\"; an equation may hold NAME",
    ),
    ("norm", "a norm is a total: [totals] NAME = \"norm(u)\"; an equation may hold NAME"),
];

/// The words of the language that no system may call anything.
const WORDS: [&str; 6] = ["and", "or", "not", "prev", "prev2", "random"];
/// Values that every system has, unless it calls something else so.
const VALUES: [&str; 9] = ["x", "y", "z", "t", "n", "pi", "ix", "iy", "iz"];
/// Functions besides those of numbers, unless the system calls something so.
const OTHERS: [&str; 4] = ["new", "noise", "normal", "solve"];

/// Whether a name means one thing in every system, so that nothing else may have it.
#[must_use]
pub fn is_taken(name: &str) -> bool {
    name == "ricker" || WORDS.contains(&name) || NAMED.iter().any(|(known, _)| *known == name)
}

/// Whether every system has a value of this name, unless it calls something else so.
#[must_use]
pub fn is_value(name: &str) -> bool {
    VALUES.contains(&name)
}

/// Whether a name can be written in an expression.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first == '_' || first.is_ascii_alphabetic())
        && letters.all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}

/// The names in an expression, terms written out.
///
/// # Errors
/// It is no expression.
pub fn names_in(text: &Text, terms: &BTreeMap<String, Text>) -> Result<Vec<String>, Mistake> {
    let mut names = Vec::new();
    let mut texts = vec![text.clone()];
    while let Some(text) = texts.pop() {
        let mut parts = vec![parse(&text)?];
        while let Some(part) = parts.pop() {
            let name = match part.kind {
                SyntaxKind::Number(_) => continue,
                SyntaxKind::Name(name) => name,
                SyntaxKind::Call(_, inner) | SyntaxKind::Operator(_, inner) => {
                    parts.extend(inner);
                    continue;
                }
            };
            if !names.contains(&name) {
                texts.extend(terms.get(&name).cloned());
                names.push(name);
            }
        }
    }
    Ok(names)
}

impl Scope {
    /// A number of an expression.
    ///
    /// # Errors
    /// It is no expression for this purpose.
    pub fn number(&self, text: &Text, purpose: Purpose) -> Result<Node, Mistake> {
        self.check(text, purpose, Type::Number)
    }

    /// A number of an expression of which coordinates and indices are those of one place.
    ///
    /// # Errors
    /// It is no expression for this purpose.
    pub fn number_at(
        &self,
        text: &Text,
        purpose: Purpose,
        at: CoordinateScope,
    ) -> Result<Node, Mistake> {
        let syntax = parse(text)?;
        self.begin(text, purpose, |check| {
            Check { place: Some(at), ..*check }.typed(&syntax, Type::Number)
        })
    }

    /// Whether an expression means something, of whichever type, in an equation or as a start.
    ///
    /// # Errors
    /// What is wrong with it in both places.
    pub fn anything(&self, text: &Text) -> Result<(), Mistake> {
        let syntax = parse(text)?;
        let of = |purpose| self.begin(text, purpose, |check| check.node(&syntax).map(|_| ()));
        let Err(in_an_equation) = of(Purpose::Next) else { return Ok(()) };
        let Err(as_a_start) = of(Purpose::StartOfField) else { return Ok(()) };
        // Random numbers stand in starts only: then what else is wrong there counts.
        let of_places = in_an_equation.what.contains("cannot stand in");
        Err(if of_places { as_a_start } else { in_an_equation })
    }

    /// A condition of an expression.
    ///
    /// # Errors
    /// It is no expression for this purpose.
    pub fn condition(&self, text: &Text, purpose: Purpose) -> Result<Node, Mistake> {
        self.check(text, purpose, Type::Condition)
    }

    /// A total, whose sums and the like are added to those of others; of the points where a condition holds, if there is one.
    ///
    /// # Errors
    /// It is no expression of a total.
    pub fn total(
        &self,
        text: &Text,
        region: Option<&Node>,
        reductions: &mut Vec<Reduction>,
    ) -> Result<Node, Mistake> {
        let syntax = parse(text)?;
        let found = RefCell::new(std::mem::take(reductions));
        let wanted = Some(Reductions { region, found: &found });
        let node = self
            .reducing(text, (Purpose::Total, wanted), |check| check.typed(&syntax, Type::Number));
        *reductions = found.into_inner();
        node
    }

    /// Whether the system has something of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let Self { fields, coefficients, works, stencils, tables, .. } = self;
        let lists = [fields, coefficients, works, stencils, tables];
        lists.into_iter().flatten().any(|known| known == name)
            || self.totals.iter().any(|(known, _)| known == name)
            || self.constants.contains_key(name)
            || self.terms.contains_key(name)
    }

    /// Whether an expression, terms written out, holds a sum over the grid or the like.
    ///
    /// # Errors
    /// It is no expression.
    pub fn has_reduction(&self, text: &Text) -> Result<bool, Mistake> {
        let mut parts = vec![parse(text)?];
        // Terms that are made of themselves are found elsewhere.
        let mut left = MOST_PARTS;
        while let Some(part) = parts.pop() {
            match part.kind {
                SyntaxKind::Call(name, inner) => {
                    let is_one = reduction::ReductionKind::named(&name, inner.len()).is_some();
                    if is_one && !self.has(&name) {
                        return Ok(true);
                    }
                    parts.extend(inner);
                }
                SyntaxKind::Operator(_, inner) => parts.extend(inner),
                SyntaxKind::Name(name) if left > 0 => {
                    left -= 1;
                    parts.extend(self.terms.get(&name).map(parse).transpose()?);
                }
                _ => (),
            }
        }
        Ok(false)
    }

    fn check(&self, text: &Text, purpose: Purpose, wanted: Type) -> Result<Node, Mistake> {
        let syntax = parse(text)?;
        self.begin(text, purpose, |check| check.typed(&syntax, wanted))
    }

    fn begin<T>(&self, text: &Text, purpose: Purpose, check: impl FnOnce(&Check) -> T) -> T {
        self.reducing(text, (purpose, None), check)
    }

    fn reducing<T>(
        &self,
        text: &Text,
        (purpose, reductions): (Purpose, Option<Reductions>),
        check: impl FnOnce(&Check) -> T,
    ) -> T {
        let open = RefCell::default();
        check(&Check {
            scope: self,
            purpose,
            reductions,
            place: None,
            text,
            open: &open,
            parts: &Cell::default(),
            depth: &Cell::default(),
        })
    }
}
