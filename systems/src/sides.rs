// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sides whose values or slopes are expressions. What reads beyond one finds 0, or the value of the nearest point; equations add
//! the rest, as any other expression of coordinates and time, so that engines know nothing of it.
//!
//! ```text
//! u[-1] beyond x-:value=E    is    u[-1] + if(x < -h/2, E, 0),    with E and x of the place that is read
//! ```

use super::expression::{Array, Function, Node};
use super::parts::WallImage;
use problem::boundary::{NeighbourPlace, Side};
use problem::{Boundary, Shape};

/// The expressions at the sides of a system, and what it takes to add them.
pub struct Sides<'a> {
    /// The expressions, by their numbers.
    pub expressions: &'a [Node],
    /// The whole grid.
    pub shape: Shape,
    /// Distance of points along z, y, x.
    pub spacing: [f64; 3],
    /// Time of a step: a number, or that of the clock.
    pub dt: Node,
    /// The boundary of an array, and of how many steps later than those before the step its values are.
    pub of: &'a dyn Fn(Array) -> (Boundary, f64),
    /// What is read instead of an array at solid points, if anything is.
    pub walls: &'a dyn Fn(Array) -> Option<WallImage>,
}

/// Where a coordinate outside leads, as far as expressions are concerned.
struct OutsidePath {
    /// What becomes of what other axes lead to; nothing where the way ends at a value.
    factor: Option<f64>,
    /// Expressions on the way, and how often each is added.
    added: Vec<(usize, f64)>,
}

impl OutsidePath {
    fn new(boundary: &Boundary, axis: usize, coordinate: isize, extent: usize) -> Self {
        let mut added = Vec::new();
        let passed = &mut |side, distance: usize, image: problem::boundary::Image| match side {
            Side::Varying(expression) => added.push((expression, image.factor)),
            Side::VaryingFlux(expression) => {
                added.push((expression, image.factor * distance as f64));
            }
            _ => (),
        };
        let place = boundary.resolve_by(axis, coordinate, extent, passed);
        let factor = match place {
            NeighbourPlace::Inside(_, image) => Some(image.factor),
            NeighbourPlace::Value(_) => None,
        };
        Self { factor, added }
    }
}

/// An expression so many steps later: time is the number of the step times its length, as for the step itself, unless that
/// follows from the values.
pub fn later(node: &Node, steps: f64, dt: &Node) -> Node {
    if steps == 0.0 {
        return node.clone();
    }
    let step = || Node::call(Function::Add, vec![Node::Step, Node::Number(steps)]);
    node.replaced(&|part| match part {
        Node::Time if dt.is_number() => {
            Some(Node::call(Function::Multiply, vec![step(), dt.clone()]))
        }
        Node::Time => {
            let after = Node::call(Function::Multiply, vec![Node::Number(steps), dt.clone()]);
            Some(Node::call(Function::Add, vec![Node::Time, after]))
        }
        Node::Step => Some(step()),
        _ => None,
    })
}

fn times(factor: f64, node: &Node) -> Node {
    match factor {
        1.0 => node.clone(),
        _ => Node::call(Function::Multiply, vec![Node::Number(factor), node.clone()]),
    }
}

impl Sides<'_> {
    /// The arrays that a step computes and an expression reads, each with whether it is read at the point only, beside solid
    /// points too.
    pub fn computed_reads(&self, node: &Node) -> Vec<(Array, bool)> {
        let mut all = node.computed_reads();
        let around = all.iter().filter(|(_, at_point)| !at_point);
        let images: Vec<_> = around.filter_map(|(array, _)| (self.walls)(*array)).collect();
        for WallImage { of, .. } in images {
            if all.iter().all(|(known, _)| *known != of) {
                all.push((of, true));
            }
        }
        all
    }

    /// What equations add to a value that they read so far (z, y, x) from a point: an expression at the place that is read.
    /// Nothing where no expression lies that way.
    pub fn added(&self, array: Array, offset: [i32; 3]) -> Option<Node> {
        if self.expressions.is_empty() {
            return None;
        }
        let (boundary, steps) = (self.of)(array);
        if !boundary.varies() {
            return None;
        }
        let nothing = Node::Number(0.0);
        let mut total: Option<Node> = None;
        for axis in [2, 1, 0] {
            let sum = |way: &OutsidePath| {
                let parts = way.added.iter().map(|(number, factor)| {
                    times(*factor, &later(&self.expressions[*number], steps, &self.dt))
                });
                let sum = parts.reduce(|a, b| Node::call(Function::Add, vec![a, b]));
                sum.unwrap_or(Node::Number(0.0))
            };
            let mut added = self.along(&boundary, axis, offset[axis], nothing.clone(), sum);
            if added == nothing {
                continue;
            }
            // The rule of x is the outermost one.
            for (before, far) in offset.iter().enumerate().skip(axis + 1) {
                let own = added.clone();
                let becomes = |way: &OutsidePath| match way.factor {
                    Some(factor) => times(factor, &own),
                    None => Node::Number(0.0),
                };
                added = self.along(&boundary, before, *far, added, becomes);
            }
            total = Some(match total {
                Some(total) => Node::call(Function::Add, vec![total, added]),
                None => added,
            });
        }
        total
    }

    /// What has one value inside, and another one for each number of points outside, as far as a read along an axis comes.
    fn along(
        &self,
        boundary: &Boundary,
        axis: usize,
        offset: i32,
        inside: Node,
        outside: impl Fn(&OutsidePath) -> Node,
    ) -> Node {
        let extent = self.shape.extents()[axis];
        let (mut node, mut last) = (inside.clone(), inside);
        for distance in 1..=offset.unsigned_abs() as usize {
            let coordinate = match offset < 0 {
                true => -(distance as isize),
                false => (extent - 1 + distance) as isize,
            };
            let own = outside(&OutsidePath::new(boundary, axis, coordinate, extent));
            if own == last {
                continue;
            }
            // Half a point nearer, where no rounding of coordinates comes.
            let nearer = coordinate as f64 - 0.5 * f64::from(offset.signum());
            let limit = Node::Number(nearer * self.spacing[axis]);
            let sides = match offset < 0 {
                true => vec![Node::Coordinate(axis), limit],
                false => vec![limit, Node::Coordinate(axis)],
            };
            let is_outside = Node::call(Function::Less, sides);
            node = Node::call(Function::If, vec![is_outside, own.clone(), node]);
            last = own;
        }
        node
    }
}
