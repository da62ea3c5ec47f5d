// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system as it is described, in a file or in Rust: names and expressions, nothing checked yet.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use transform::Stencil;

use super::integrate::Method;
use super::points::{Interpolation, Units};
use super::start_on_device::DeviceStart;
use super::text::Text;
use problem::{Dtype, Grid};

mod building;

/// A system as it is described. Whatever is not said has a default: a spacing and a time step of 1, f32, zeros
/// around every field, no steps.
///
/// Expressions are texts of the language of `docs/reference/system-files.md`, or numbers.
#[derive(Clone, Debug)]
pub struct Description {
    /// What it is, for people.
    pub title: String,
    /// Points of each axis, slowest first, or one number for all of `dims`.
    pub size: Vec<usize>,
    /// Distance of points: one for all axes, or one for each, slowest first.
    pub spacing: Vec<Text>,
    /// How fields and coefficients are stored.
    pub dtype: Dtype,
    /// The points that are solid: a condition of coordinates, a `.npy` or `.png` file, or values that are not 0 there.
    pub solid: Option<StartText>,
    /// Time of a step.
    pub dt: Text,
    /// What a step may be off by, at most, over 1 + |u|: then steps are as long as that allows, and `dt` is the length of the first
    /// one.
    pub tolerance: Option<Text>,
    /// After how many steps a time step that follows from totals is found anew: 10, if nothing is said.
    pub dt_every: Option<usize>,
    /// Steps to take, if nothing else is said; at most, where they are as long as the values say and the run ends at a time.
    pub steps: usize,
    /// The time at which a run ends, instead of [`Description::steps`]: the time step is made as much shorter as a whole number of
    /// steps needs.
    pub until: Option<Text>,
    /// A condition on totals, after which a run has come to its end, such as `change < 1e-9`.
    pub end: Option<Text>,
    /// Numbers by name.
    pub constants: Vec<(Text, Text)>,
    /// Expressions by name.
    pub terms: Vec<(Text, Text)>,
    /// Stencils by name.
    pub stencils: Vec<(Text, StencilText)>,
    /// Tables by name.
    pub tables: Vec<(Text, TableText)>,
    /// What evolves.
    pub fields: Vec<FieldText>,
    /// What does not change.
    pub coefficients: Vec<CoefficientText>,
    /// What is computed in each step.
    pub works: Vec<WorkText>,
    /// What all points make together.
    pub totals: Vec<TotalText>,
    /// How rates of change are integrated.
    pub method: Method,
    /// What is added at points.
    pub sources: Vec<SourceText>,
    /// Where values are recorded.
    pub receivers: Vec<ReceiverText>,
    /// A layer that absorbs waves by multiplying fields.
    pub sponge: Option<SpongeText>,
    /// A perfectly matched layer, which absorbs waves by stretching derivatives.
    pub pml: Option<PmlText>,
}

/// Values to start with.
#[derive(Clone, Debug)]
pub enum StartText {
    /// An expression of coordinates and time.
    Expression(Text),
    /// A `.npy` file.
    File(Text),
    /// These values.
    Values(Arc<Grid>),
    /// Values of an array in the memory of a GPU.
    OnDevice(Arc<DeviceStart>),
}

/// A field of a system, as it is described.
#[derive(Clone, Debug)]
pub struct FieldText {
    /// Its name.
    pub name: Text,
    /// Its values at the start. Earlier ones, where the equations ask for them, are those of the expression at
    /// earlier times, or the same, unless they are given.
    pub start: StartText,
    /// Its values one step before the start, and two; an expression is that of its own time. None, or as many as equations ask for.
    pub before: Vec<StartText>,
    /// What lies around it, as on the command line.
    pub boundary: Text,
    /// How it changes.
    pub change: Change,
    /// Which points keep their values.
    pub keep: Option<Text>,
    /// What it has at solid points; `no-flux` if nothing is said.
    pub walls: Option<Text>,
}

/// How a field changes.
#[derive(Clone, Debug)]
pub enum Change {
    /// Its values after a step.
    Next(Text),
    /// Its derivative with respect to time, which a [`Method`] integrates.
    Rate(Text),
}

impl Change {
    /// The equation as it is written.
    #[must_use]
    pub fn text(&self) -> &Text {
        match self {
            Self::Next(text) | Self::Rate(text) => text,
        }
    }
}

/// A work field: computed in each step at every point, and read around points as fields are.
#[derive(Clone, Debug)]
pub struct WorkText {
    /// Its name.
    pub name: Text,
    /// What lies around it, as on the command line.
    pub boundary: Text,
    /// What it has at solid points; `no-flux` if nothing is said.
    pub walls: Option<Text>,
    /// Its value.
    pub value: Text,
}

/// A total: a number that all points make together.
#[derive(Clone, Debug)]
pub struct TotalText {
    /// Its name.
    pub name: Text,
    /// What it is: an expression of `sum`, `mean`, `norm`, `min` and `max` over the grid, and of totals before it.
    pub value: Text,
    /// A condition on the points that count; all do without one.
    pub region: Option<Text>,
}

/// A coefficient of a system, as it is described.
#[derive(Clone, Debug)]
pub struct CoefficientText {
    /// Its name.
    pub name: Text,
    /// Its values.
    pub start: StartText,
    /// What lies around it. Without one the grid goes on for it as for the fields: periodic, mirrored or with the
    /// nearest value as they are, and mirrored beside constants.
    pub boundary: Option<Text>,
}

/// A stencil to be called by a name.
#[derive(Clone, Debug)]
pub enum StencilText {
    /// Of the catalogue.
    Catalogue(Text),
    /// These weights.
    Weights(Stencil),
    /// A finite difference.
    Derivative {
        /// Along which axes, once for each time: `x`, `yy`, `xxy`; `laplace`; `x+` and `x-` half a point
        /// beside.
        of: Text,
        /// Even order of accuracy.
        order: usize,
    },
    /// The value half a point beside, of its neighbours.
    Average {
        /// Along which axis and to which side: `x+`, `y-`.
        of: Text,
        /// Even order of accuracy; 2 is the mean of two points.
        order: usize,
    },
}

/// A function of one number, and where it is.
#[derive(Clone, Debug)]
pub enum TableText {
    /// These points.
    Points(Table),
    /// A `.csv` or `.npy` file: arguments and values in two columns, or values in one.
    File {
        /// Its name.
        file: Text,
        /// From one argument to the next, where there is one column.
        step: Option<Text>,
        /// The first argument there; 0 if it is not given.
        first: Option<Text>,
    },
}

/// A function of one number: straight lines between points, and the value of the nearest end beyond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Arguments, increasing.
    pub arguments: Vec<f64>,
    /// Values.
    pub values: Vec<f64>,
}

/// A place, or several.
#[derive(Clone, Debug)]
pub enum AtText {
    /// One, slowest axis first, from 0: numbers, or expressions of constants.
    One(Vec<Text>),
    /// The places of a `.csv` or `.npy` file: a row for each, slowest axis first.
    File(Text),
}

/// What is added to a field at a place after each step.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The field.
    pub field: Text,
    /// The place.
    pub at: AtText,
    /// What it is measured in.
    pub units: Units,
    /// How it is shared among points around a place between them.
    pub interpolation: Interpolation,
    /// What is added: as an equation, of which coordinates are those of the place.
    pub add: Text,
}

/// A place where something is recorded.
#[derive(Clone, Debug)]
pub struct ReceiverText {
    /// What is recorded.
    pub record: RecordText,
    /// The place.
    pub at: AtText,
    /// What it is measured in.
    pub units: Units,
    /// How it is made of points around a place between them.
    pub interpolation: Interpolation,
}

/// What a receiver records.
#[derive(Clone, Debug)]
pub enum RecordText {
    /// A field.
    Field(Text),
    /// An expression of present values.
    Value(Text),
}

/// A layer along sides of the grid that damps fields, after Cerjan and others, "A nonreflecting boundary
/// condition for discrete acoustic and elastic wave equations" (1985): after each step all levels are
/// multiplied by exp(-(strength * depth)^2), with the depth in points.
#[derive(Clone, Debug)]
pub struct SpongeText {
    /// Its width in points.
    pub width: usize,
    /// Its strength; 0.015 in the paper, for a width of 20.
    pub strength: f64,
    /// The sides, such as `x-`; empty: all.
    pub sides: Vec<Text>,
    /// The fields; empty: all.
    pub fields: Vec<Text>,
}

/// A perfectly matched layer along sides of the grid (`docs/reference/system-files.md`, "Absorbing layers"): derivatives across it
/// are stretched, each with a field that remembers it.
#[derive(Clone, Debug)]
pub struct PmlText {
    /// Its width in points.
    pub width: usize,
    /// Where that is written, for errors.
    pub at: Text,
    /// The speed of the fastest wave: a number, or an expression of constants.
    pub speed: Text,
    /// What a wave that meets it straight on brings back, as part of the amplitude; without one it follows from the width.
    pub reflection: Option<Text>,
    /// The frequency, in 1 over time, below which waves are less absorbed; 0 without one.
    pub frequency: Option<Text>,
    /// The sides, such as `x-`; empty: all that are not periodic.
    pub sides: Vec<Text>,
    /// The fields and work fields in whose equations derivatives are stretched; empty: all.
    pub fields: Vec<Text>,
}
