// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checked expressions as texts of the language, which mean the expressions again.

use std::collections::BTreeSet;

use crate::expression::{Array, Function, Node, is_taken};
use problem::boundary::Side;
use problem::{Boundary, Clock};

/// Names that mean something in every system.
const OWN: [&str; 23] = [
    "x", "y", "z", "t", "n", "pi", "ix", "iy", "iz", "dt", "h", "hx", "hy", "hz", "nx", "ny", "nz",
    "new", "noise", "normal", "solve", "solid", "last",
];

/// Names that nothing else has.
#[derive(Default)]
pub struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// A name like this one.
    pub fn like(&mut self, wanted: &str) -> String {
        let letter = |c: char| if c == '_' || c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = wanted.chars().map(letter).collect();
        name = name.trim_end_matches('_').to_owned();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name.insert(0, '_');
        }
        while OWN.contains(&name.as_str()) || is_taken(&name) || self.taken.contains(&name) {
            name.push('_');
        }
        self.taken.insert(name.clone());
        name
    }
}

/// What things in an expression are called.
pub struct Writer<'a> {
    pub array: &'a dyn Fn(Array) -> String,
    pub stencils: &'a [String],
    pub tables: &'a [String],
    pub totals: &'a [String],
    /// Axes of the grid.
    pub dims: usize,
}

impl Writer<'_> {
    /// An expression.
    ///
    /// # Errors
    /// What it holds that no text says.
    pub fn text(&self, node: &Node) -> Result<String, String> {
        self.within(node, 0)
    }

    /// In parentheses, unless it binds at least so strongly.
    fn within(&self, node: &Node, around: u8) -> Result<String, String> {
        const ATOM: u8 = 9;
        let (text, binds) = match node {
            Node::Number(value) if *value < 0.0 || value.is_sign_negative() => {
                (format!("{value:?}"), 0)
            }
            Node::Number(value) => (format!("{value:?}"), ATOM),
            Node::Time => ("t".to_owned(), ATOM),
            Node::Step => ("n".to_owned(), ATOM),
            Node::Coordinate(axis) | Node::Index(axis) if *axis < 3 - self.dims => {
                ("0".to_owned(), ATOM)
            }
            Node::Coordinate(axis) => (["z", "y", "x"][*axis].to_owned(), ATOM),
            Node::Index(axis) => (["iz", "iy", "ix"][*axis].to_owned(), ATOM),
            Node::Random(seed) => (format!("random({seed})"), ATOM),
            Node::Read(array) => ((self.array)(*array), ATOM),
            Node::Stencil(number, of) => {
                (format!("{}({})", self.stencils[*number], self.text(of)?), ATOM)
            }
            Node::Table(number, of) => {
                (format!("{}({})", self.tables[*number], self.text(of)?), ATOM)
            }
            Node::Call(function, parts) => self.call(*function, parts)?,
            Node::Noise(_) => return Err("random numbers".into()),
            Node::Total(number) => match self.totals.get(*number) {
                Some(name) => (name.clone(), ATOM),
                None => return Err("a total".into()),
            },
            Node::StepLength => return Err("the length of a step".into()),
            Node::Solve(number, of) => {
                (format!("solve({}, {})", self.stencils[*number], self.text(of)?), ATOM)
            }
        };
        Ok(if binds < around { format!("({text})") } else { text })
    }

    /// A function of others, and how strongly it binds.
    fn call(&self, function: Function, parts: &[Node]) -> Result<(String, u8), String> {
        let infix = |sign: &str, binds: u8| -> Result<(String, u8), String> {
            let [a, b] = [self.within(&parts[0], binds)?, self.within(&parts[1], binds + 1)?];
            Ok((format!("{a}{sign}{b}"), binds))
        };
        match function {
            Function::Or => infix(" or ", 1),
            Function::And => infix(" and ", 2),
            Function::Not => Ok((format!("not {}", self.within(&parts[0], 4)?), 3)),
            // Comparisons do not follow each other.
            Function::Less | Function::LessEqual | Function::Equal => {
                let sign = match function {
                    Function::Less => "<",
                    Function::LessEqual => "<=",
                    _ => "==",
                };
                let [a, b] = [self.within(&parts[0], 5)?, self.within(&parts[1], 5)?];
                Ok((format!("{a} {sign} {b}"), 4))
            }
            Function::Add => infix(" + ", 5),
            Function::Subtract => infix(" - ", 5),
            Function::Multiply => infix("*", 6),
            Function::Divide => infix("/", 6),
            Function::Negate => Ok((format!("-{}", self.within(&parts[0], 8)?), 5)),
            Function::PowerOf(power) => {
                let base = self.within(&parts[0], 9)?;
                Ok((
                    if power < 0 { format!("{base}^({power})") } else { format!("{base}^{power}") },
                    8,
                ))
            }
            Function::Power => {
                let [a, b] = [self.within(&parts[0], 9)?, self.within(&parts[1], 9)?];
                Ok((format!("{a}^{b}"), 8))
            }
            named => {
                let name = crate::expression::NAMED.iter().find(|(_, known)| *known == named);
                let (name, _) = name.expect("what is no operator has a name");
                let parts: Vec<String> =
                    parts.iter().map(|part| self.text(part)).collect::<Result<_, _>>()?;
                Ok((format!("{name}({})", parts.join(", ")), 9))
            }
        }
    }

    /// A boundary; expressions of its sides are these, `spacing` is that of the points.
    ///
    /// # Errors
    /// As [`Writer::text`].
    pub fn boundary(
        &self,
        boundary: &Boundary,
        spacing: [f64; 3],
        expression: &dyn Fn(usize) -> Node,
    ) -> Result<String, String> {
        let side = |side: Side, axis: usize| {
            Ok::<_, String>(match side {
                Side::Constant(value) => format!("constant={value:?}"),
                Side::Flux(value) => format!("flux={value:?}"),
                Side::Robin([a, b, c]) => format!("robin={a:?},{:?},{c:?}", b * spacing[axis]),
                Side::Varying(number) => format!("value={}", self.text(&expression(number))?),
                Side::VaryingFlux(number) => format!("slope={}", self.text(&expression(number))?),
                other => other.to_string(),
            })
        };
        let mut parts = Vec::new();
        for axis in 3 - self.dims..3 {
            let name = ["z", "y", "x"][axis];
            let [low, high] = boundary.sides[axis];
            parts.push(match (low, high) {
                (Side::Periodic, _) => format!("{name}:periodic"),
                _ => format!("{name}-:{},{name}+:{}", side(low, axis)?, side(high, axis)?),
            });
        }
        Ok(parts.join(","))
    }
}

/// How the steps of an adjoint follow those that it goes back over.
pub struct ReverseSteps<'a> {
    /// The step that its first one goes back over.
    pub last: isize,
    /// When the steps are.
    pub clock: &'a Clock,
    /// Where their length follows from the values the numbers of the tables of their times and lengths, by steps from this one on.
    pub paced: Option<([usize; 2], usize)>,
}

impl ReverseSteps<'_> {
    /// An expression of a step in steps of the adjoint: its step n is the step `last` - n.
    pub fn of(&self, node: &Node) -> Node {
        let Self { last, clock, paced } = *self;
        let minus = |a: Node, b: f64| Node::call(Function::Subtract, vec![a, Node::Number(b)]);
        let step = || Node::call(Function::Subtract, vec![Node::Number(last as f64), Node::Step]);
        let tabled = |which: usize| {
            paced.map(|(tables, first)| {
                Node::Table(tables[which], Box::new(minus(step(), first as f64)))
            })
        };
        node.replaced(&|part| match part {
            Node::Step => Some(step()),
            Node::Time if paced.is_some() => tabled(0),
            Node::StepLength => tabled(1),
            Node::Time => {
                let since = match clock.step {
                    0 => step(),
                    first => minus(step(), first as f64),
                };
                let since = Node::call(Function::Multiply, vec![since, Node::Number(clock.dt)]);
                Some(match clock.time == 0.0 {
                    true => since,
                    false => Node::call(Function::Add, vec![Node::Number(clock.time), since]),
                })
            }
            _ => None,
        })
    }
}
