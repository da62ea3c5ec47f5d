// SPDX-License-Identifier: MIT OR Apache-2.0
//! How strongly a layer damps at each depth.
//!
//! With w the width and z the depth in the layer, d(z) = d0 (z/w)^2 and d0 = -3 c ln R / (2 w). Here c is the largest
//! speed, and R what a wave that meets the layer straight on brings back out of it. Source: Collino, Tsogka, "Application
//! of the perfectly matched absorbing layer model to the linear elastodynamic problem in anisotropic heterogeneous media"
//! (2001), section 4.
//! Waves far below a frequency f are left alone by alpha(z) = pi f (1 - z/w) (Komatitsch, Martin, "An unsplit convolutional
//! perfectly matched layer improved at grazing incidence for the seismic wave equation" (2007), section "C-PML").

use crate::expression::{Array, Function, Node};
use crate::layer::End;
use crate::vanishing::Vanishing;
use problem::Shape;

/// The grid, and how time goes on.
#[derive(Clone, Copy)]
pub struct Steps {
    /// Its points.
    pub shape: Shape,
    /// Their distance along z, y, x.
    pub spacing: [f64; 3],
    /// Time of a step.
    pub dt: f64,
    /// Whether rates are integrated by several stages.
    pub by_stages: bool,
}

/// A layer in numbers.
pub struct Profile {
    /// The sides at which it lies.
    pub ends: Vec<End>,
    /// Its width in points.
    pub width: usize,
    /// d0 of each axis (z, y, x), in 1 over time.
    pub strength: [f64; 3],
    /// The largest alpha, in 1 over time.
    pub alpha: f64,
    /// The grid, and how time goes on.
    pub steps: Steps,
}

/// What comes back of a wave, if nothing else is asked for: what Collino and Tsogka take for 5, 10 and 20 points, and what lies on
/// a line with them.
pub fn usual_reflection(width: usize) -> f64 {
    let power = -((width as f64).log10() - 1.0) / 2f64.log10() - 3.0;
    10f64.powf(power).min(0.1)
}

impl Profile {
    /// Whether a layer lies at an end of each axis.
    pub fn layered(&self) -> [bool; 3] {
        [0, 1, 2].map(|axis| self.ends.iter().any(|end| end.axis == axis))
    }

    /// d + alpha so many points after each point, along an axis: the rate at which a memory fades.
    fn fading(&self, axis: usize, place: f64) -> Node {
        call(Function::Add, self.damping(axis, place), self.shift(axis, place))
    }

    /// By what part of itself a memory fades: in a step, 1 - exp(-(d + alpha) dt), or by rates in the time of 1, d + alpha.
    pub fn loss(&self, axis: usize, place: f64) -> Node {
        if self.steps.by_stages {
            return self.fading(axis, place);
        }
        let exponent =
            call(Function::Multiply, Node::Number(-self.steps.dt), self.fading(axis, place));
        let left = Node::call(Function::Exp, vec![exponent]);
        call(Function::Subtract, Node::Number(1.0), left)
    }

    /// d / (d + alpha): which part of a derivative a memory takes up; none where it is all of it.
    pub fn share(&self, axis: usize, place: f64) -> Option<Node> {
        let all = self.fading(axis, place);
        (self.alpha > 0.0).then(|| call(Function::Divide, self.damping(axis, place), all))
    }

    /// Where an array vanishes that is multiplied by the damping so many points after each point of an axis: outside of the layers there.
    pub fn vanishing(&self, array: Array, (axis, place): (usize, f64)) -> Vanishing {
        let lies = |high: bool| self.ends.iter().any(|end| end.axis == axis && end.high == high);
        let (points, width) = (self.steps.shape.extents()[axis] as i64, self.width as f64);
        let from = if lies(false) { (width - place).ceil() as i64 } else { i64::MIN };
        let last = (points - 1) as f64 - width - place;
        let to = if lies(true) { last.floor() as i64 + 1 } else { i64::MAX };
        Vanishing { array, axis, from, to }
    }

    /// The largest d + alpha along an axis, in 1 over time.
    pub fn fastest_fading(&self, axis: usize, place: f64) -> f64 {
        let width = self.width as f64;
        let deepest = 1.0 + place.abs() / width;
        self.strength[axis] * deepest * deepest + self.alpha
    }

    fn damping(&self, axis: usize, place: f64) -> Node {
        let width = self.width as f64;
        let square = Node::call(Function::PowerOf(2), vec![self.depth(axis, place)]);
        call(Function::Multiply, Node::Number(self.strength[axis] / (width * width)), square)
    }

    fn shift(&self, axis: usize, place: f64) -> Node {
        if self.alpha == 0.0 {
            return Node::Number(0.0);
        }
        let of_width = Node::Number(self.width as f64);
        let depth = call(Function::Divide, self.depth(axis, place), of_width);
        let above = call(Function::Subtract, Node::Number(1.0), depth);
        let above = call(Function::Max, above, Node::Number(0.0));
        call(Function::Multiply, Node::Number(self.alpha), above)
    }

    /// In points, so many of them after each point.
    fn depth(&self, axis: usize, place: f64) -> Node {
        let at = call(Function::Add, Node::Index(axis), Node::Number(place));
        let of_axis = self.ends.iter().filter(|end| end.axis == axis);
        // Of layers at both ends a point lies in one.
        let depths = of_axis.map(|end| end.depth(self.width, at.clone(), self.steps.shape));
        let sum = depths.reduce(|a, b| call(Function::Add, a, b));
        sum.unwrap_or(Node::Number(0.0))
    }
}

fn call(function: Function, a: Node, b: Node) -> Node {
    Node::call(function, vec![a, b])
}
