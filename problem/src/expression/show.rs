// SPDX-License-Identifier: MIT OR Apache-2.0
//! A checked expression as text again, to be named in a message.

use super::function::{Function, NAMED};
use super::node::{Array, Node};

/// Characters of a text beyond which parts are left out.
const MOST: usize = 60;

/// It, with these names of arrays and stencils.
#[must_use]
pub fn show(
    node: &Node,
    array: &dyn Fn(Array) -> String,
    stencil: &dyn Fn(usize) -> String,
) -> String {
    let text = Names { array, stencil }.text(node, 0);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

struct Names<'a> {
    array: &'a dyn Fn(Array) -> String,
    stencil: &'a dyn Fn(usize) -> String,
}

impl Names<'_> {
    /// With parentheses where what is around it binds more.
    fn text(&self, node: &Node, around: usize) -> String {
        let inner = |node: &Node| self.text(node, 0);
        match node {
            Node::Number(number) => number.to_string(),
            Node::Time => "t".into(),
            Node::Step => "n".into(),
            Node::StepLength => "dt".into(),
            Node::Total(_) => "a total".into(),
            Node::Coordinate(axis) => ["z", "y", "x"][*axis].into(),
            Node::Index(axis) => ["iz", "iy", "ix"][*axis].into(),
            Node::Random(seed) => format!("random({seed})"),
            Node::Noise(noise) if noise.is_of_normal() => {
                format!("a part of normal({})", noise.seed())
            }
            Node::Noise(noise) => format!("noise({})", noise.seed()),
            Node::Read(read @ Array::Field { level: 1, .. }) => {
                format!("prev({})", (self.array)(*read))
            }
            Node::Read(read @ Array::Field { level: 2, .. }) => {
                format!("prev2({})", (self.array)(*read))
            }
            Node::Read(read @ Array::New(_)) => format!("new({})", (self.array)(*read)),
            Node::Read(read) => (self.array)(*read),
            Node::Stencil(stencil, part) => {
                format!("{}({})", (self.stencil)(*stencil), inner(part))
            }
            Node::Solve(stencil, part) => {
                format!("solve({}, {})", (self.stencil)(*stencil), inner(part))
            }
            Node::Table(_, part) => format!("a table of {}", inner(part)),
            Node::Call(Function::PowerOf(power), parts) => {
                format!("{}^{power}", self.text(&parts[0], 9))
            }
            Node::Call(function, parts) => match (operator(*function), parts.as_slice()) {
                (Some((sign, binds)), [a, b]) => {
                    let text = format!("{}{sign}{}", self.text(a, binds), self.text(b, binds + 1));
                    if binds < around { format!("({text})") } else { text }
                }
                (Some((sign, binds)), [a]) => format!("{sign}{}", self.text(a, binds)),
                _ => {
                    let named = NAMED.iter().find(|(_, known)| known == function);
                    let parts: Vec<String> = parts.iter().map(inner).collect();
                    format!("{}({})", named.map_or("", |(name, _)| name), parts.join(", "))
                }
            },
        }
    }
}

/// How an operator is written, and how much it binds.
fn operator(function: Function) -> Option<(&'static str, usize)> {
    Some(match function {
        Function::Or => (" or ", 1),
        Function::And => (" and ", 2),
        Function::Not => ("not ", 3),
        Function::Less => (" < ", 4),
        Function::LessEqual => (" <= ", 4),
        Function::Equal => (" == ", 4),
        Function::Add => (" + ", 5),
        Function::Subtract => (" - ", 5),
        Function::Multiply => ("*", 6),
        Function::Divide => ("/", 6),
        Function::Negate => ("-", 7),
        Function::Power => ("^", 8),
        _ => return None,
    })
}
