// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layers along sides of a grid: at which sides they lie, and how deep a place lies in one.

use super::expression::{Function, Node};
use super::text::Text;
use problem::Shape;
use problem::error::Mistake;

/// An end of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// Its name, such as `x-`.
    pub name: &'static str,
    /// 0 to 2 for z, y, x.
    pub axis: usize,
    /// Whether it is that of the last point.
    pub high: bool,
}

/// The ends of all axes, the low one first.
const ENDS: [End; 6] = [
    End { name: "z-", axis: 0, high: false },
    End { name: "z+", axis: 0, high: true },
    End { name: "y-", axis: 1, high: false },
    End { name: "y+", axis: 1, high: true },
    End { name: "x-", axis: 2, high: false },
    End { name: "x+", axis: 2, high: true },
];

/// The ends of a grid that are named; all, if none is.
///
/// # Errors
/// A name that no end of the grid has.
pub fn ends(named: &[Text], shape: Shape) -> Result<Vec<End>, Mistake> {
    let own = 3 - shape.dims();
    let all: Vec<End> = ENDS.into_iter().filter(|end| end.axis >= own).collect();
    for side in named {
        if !all.iter().any(|end| end.name == side.as_str()) {
            let wrong = side.wrong(format!("there is no side '{}'", side.as_str()));
            let known: Vec<&str> = all.iter().map(|end| end.name).collect();
            return Err(wrong.hint(format!("it may be {}", known.join(", "))));
        }
    }
    let wanted = |end: &End| named.is_empty() || named.iter().any(|side| side.as_str() == end.name);
    Ok(all.into_iter().filter(wanted).collect())
}

impl End {
    /// How many points deep a place lies in a layer of this width (in points) at this end, and 0 outside of it; `place`
    /// counts points from the first one of the axis on.
    #[must_use]
    pub fn depth(self, width: usize, place: Node, shape: Shape) -> Node {
        let call = |function, a, b| Node::call(function, vec![a, b]);
        let last = Node::Number((shape.extents()[self.axis] - 1) as f64);
        let away = if self.high { call(Function::Subtract, last, place) } else { place };
        let depth = call(Function::Subtract, Node::Number(width as f64), away);
        call(Function::Max, depth, Node::Number(0.0))
    }
}
