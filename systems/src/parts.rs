// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a checked system consists of.

use std::sync::Arc;

use super::expression::{Array, Node};
use super::start_on_device::DeviceStart;
use super::text::Text;
use problem::check::rounded::Losses;
use problem::error::Mistake;
use problem::similar_names::near;
use problem::{Boundary, Grid, Shape};
use serde::{Deserialize, Serialize};

/// The name of the coefficient that is 1 at solid points.
pub const SOLID: &str = "solid";

/// A field: values that change with the steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub boundary: Boundary,
    /// How many levels its equations need: 1 if only the present one.
    pub levels: usize,
    #[serde(skip)]
    pub start: Start,
    /// Its values one step before the start, and two, if they are given.
    #[serde(skip)]
    pub before: Vec<Start>,
    /// Its next value, but for sources.
    pub next: Node,
    /// Where it keeps its values.
    pub keep: Option<Node>,
    /// The coefficient that is 1 there and 0 elsewhere.
    pub kept: Option<usize>,
    /// Whether it is what a layer remembers of a derivative: a part of the state that nobody asks for by name.
    pub is_memory: bool,
    /// Whether no step changes it, so that none computes it: whoever takes the steps gives it values ([`crate::System`]'s `hold`).
    pub is_held: bool,
    /// What it has at solid points, where there are some.
    pub walls: Option<Walls>,
}

/// What a field or a work field has at solid points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Walls {
    /// This value, which is stored there.
    Value(Node),
    /// A value of the point that reads there, whose own is 0.
    Image(WallImage),
}

/// What is read at solid points is a value of the point that reads: a wall lies in the middle between the two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WallImage {
    /// The array whose value it is: of a field, of all of its levels and of what comes after the step the one that is read.
    pub of: Array,
    /// What it is multiplied by: 1 or -1.
    pub factor: f64,
    /// The coefficient that is 1 at solid points and 0 elsewhere, and beyond the grid what the sides make of that: the sides of
    /// what has these walls, without what they add.
    pub mask: usize,
}

/// A coefficient: values that do not change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Coefficient {
    /// Those that equations cannot name, such as `sponge`, too.
    pub name: String,
    pub boundary: Boundary,
    #[serde(skip)]
    pub start: Start,
}

/// What is computed in each step, and read around points.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepWork {
    pub name: String,
    pub boundary: Boundary,
    /// Its value at a point.
    pub value: Node,
    /// The field whose values it has inside of a step, if it does.
    pub of: Option<usize>,
    /// Steps, or parts of one, from the time before the step to that of its values.
    pub later: f64,
    /// What it has at solid points, where there are some and it is read around points.
    pub walls: Option<Walls>,
}

/// The grid of which a rank has a part, and on which it solves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WholeGrid {
    pub shape: Shape,
    /// What lies around each work field.
    pub boundaries: Vec<Boundary>,
}

/// Values to start with.
#[derive(Clone, Debug)]
pub enum Start {
    Expression(Node),
    /// As they are stored, and what that made of them.
    Values(Arc<Grid>, Losses),
    /// Values of a field or a coefficient as they are stored, in the memory of a GPU.
    OnDevice(Arc<DeviceStart>),
}

/// Of a system that another rank sent: ranks are sent the values themselves.
impl Default for Start {
    fn default() -> Self {
        Self::Expression(Node::Number(0.0))
    }
}

/// What is added at a point after each step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    pub field: usize,
    /// The point as (z, y, x).
    pub at: [usize; 3],
    pub add: Node,
}

/// A place where something is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// What is: the name of a field, or an expression as it is written.
    pub name: String,
    /// The place along the axes of the grid, in points.
    pub at: Vec<f64>,
    pub of: Recorded,
}

/// What is recorded at a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Recorded {
    /// Values of receivers, each with its weight.
    Receivers(Vec<(usize, f64)>),
    /// An expression of what receivers receive and of coefficients, at points (z, y, x), each with its weight.
    Expression(Node, Vec<([usize; 3], f64)>),
}

/// What is known of the systems that one kernel computes side by side ([`crate::batch`]): they differ in numbers only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchNumbers {
    /// How many there are.
    pub members: usize,
    /// Of the program's numbers, and after them of what sources add, those that differ among them.
    pub numbers: Vec<bool>,
    /// Of the numbers of what totals reduce those that differ among them.
    pub of_totals: Vec<bool>,
}

/// A point whose values are recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Receiver {
    pub field: usize,
    /// The point as (z, y, x).
    pub at: [usize; 3],
}

/// The place of a name in a list.
pub fn index(what: &str, name: &Text, known: &[String]) -> Result<usize, Mistake> {
    known.iter().position(|known| known == name.as_str()).ok_or_else(|| {
        let wrong = name.wrong(format!("there is no {what} '{}'", name.as_str()));
        match near(name.as_str(), known.iter().map(|known| (known.as_str(), known.as_str()))) {
            near if near.is_empty() => wrong.hint(format!("there is {}", known.join(", "))),
            near => wrong.hint(format!("did you mean {}?", near.join(", "))),
        }
    })
}
