// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system as it is described, in a file or in Rust: names and expressions, nothing checked yet.

use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::sync::Arc;

use transform::Stencil;

use super::integrate::Method;
use super::points::{Interpolation, Units};
use super::start_on_device::DeviceStart;
use super::text::Text;
use problem::{Dtype, Grid};

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

impl Description {
    /// A grid of so many points along each axis, slowest first.
    #[must_use]
    pub fn new(size: &[usize]) -> Self {
        Self {
            title: String::new(),
            size: size.to_vec(),
            spacing: vec![text("the spacing", 1)],
            dtype: Dtype::F32,
            solid: None,
            dt: text("the time step", 1),
            dt_every: None,
            tolerance: None,
            steps: 0,
            until: None,
            end: None,
            constants: Vec::new(),
            terms: Vec::new(),
            stencils: Vec::new(),
            tables: Vec::new(),
            fields: Vec::new(),
            coefficients: Vec::new(),
            works: Vec::new(),
            totals: Vec::new(),
            method: Method::default(),
            sources: Vec::new(),
            receivers: Vec::new(),
            sponge: None,
            pml: None,
        }
    }

    /// Distance of points, of all axes.
    #[must_use]
    pub fn spacing(mut self, spacing: impl Display) -> Self {
        self.spacing = vec![text("the spacing", spacing)];
        self
    }

    /// How fields and coefficients are stored.
    #[must_use]
    pub fn dtype(mut self, dtype: Dtype) -> Self {
        self.dtype = dtype;
        self
    }

    /// The points that are solid: a condition of coordinates such as `x^2 + y^2 < 9`, or values that are not 0 there.
    #[must_use]
    pub fn solid(mut self, points: impl Into<StartText>) -> Self {
        self.solid = Some(points.into());
        self
    }

    /// Time of a step: a number, or an expression of constants and the spacing `h`.
    #[must_use]
    pub fn time_step(mut self, dt: impl Display) -> Self {
        self.dt = text("the time step", dt);
        self
    }

    /// A number with a name.
    #[must_use]
    pub fn constant(mut self, name: &str, value: impl Display) -> Self {
        self.constants.push((own(name), text(&format!("the constant '{name}'"), value)));
        self
    }

    /// An expression with a name.
    #[must_use]
    pub fn term(mut self, name: &str, expression: impl Display) -> Self {
        self.terms.push((own(name), text(&format!("the term '{name}'"), expression)));
        self
    }

    /// A stencil with a name, called as in `smooth(u)`.
    #[must_use]
    pub fn stencil(mut self, name: &str, stencil: Stencil) -> Self {
        self.stencils.push((own(name), StencilText::Weights(stencil)));
        self
    }

    /// A central difference with a name: of `laplace`, `x`, `yy` and the like, of an even order of accuracy.
    #[must_use]
    pub fn derivative(mut self, name: &str, of: &str, order: usize) -> Self {
        let of = text(&format!("the stencil '{name}'"), of);
        self.stencils.push((own(name), StencilText::Derivative { of, order }));
        self
    }

    /// The value half a point beside with a name: `x+`, `y-` and the like, of an even order of accuracy; of order 2
    /// it is the mean of two points.
    #[must_use]
    pub fn average(mut self, name: &str, of: &str, order: usize) -> Self {
        let of = text(&format!("the stencil '{name}'"), of);
        self.stencils.push((own(name), StencilText::Average { of, order }));
        self
    }

    /// A field: see [`FieldText::new`].
    #[must_use]
    pub fn field(mut self, field: FieldText) -> Self {
        self.fields.push(field);
        self
    }

    /// A coefficient with these values, for which the grid goes on as for the fields.
    #[must_use]
    pub fn coefficient(mut self, name: &str, start: impl Into<StartText>) -> Self {
        let boundary = None;
        self.coefficients.push(CoefficientText { name: own(name), start: start.into(), boundary });
        self
    }

    /// A coefficient with these values, and what lies around it, as [`FieldText::boundary`] takes it.
    #[must_use]
    pub fn coefficient_with(
        mut self,
        name: &str,
        start: impl Into<StartText>,
        boundary: &str,
    ) -> Self {
        let boundary = Some(text(&format!("the boundary of '{name}'"), boundary));
        self.coefficients.push(CoefficientText { name: own(name), start: start.into(), boundary });
        self
    }

    /// A work field with zeros around it, computed in each step at every point.
    #[must_use]
    pub fn work(self, name: &str, value: impl Display) -> Self {
        self.work_with(name, value, "zero")
    }

    /// A work field, and what lies around it, as [`FieldText::boundary`] takes it.
    #[must_use]
    pub fn work_with(mut self, name: &str, value: impl Display, boundary: &str) -> Self {
        self.works.push(WorkText {
            name: own(name),
            boundary: text(&format!("the boundary of '{name}'"), boundary),
            walls: None,
            value: text(&format!("the work field '{name}'"), value),
        });
        self
    }

    /// What the last work field has at solid points, as [`FieldText::walls`] takes it.
    #[must_use]
    pub fn work_walls(mut self, walls: &str) -> Self {
        if let Some(work) = self.works.last_mut() {
            work.walls = Some(text(&format!("the walls of '{}'", work.name.as_str()), walls));
        }
        self
    }

    /// A number that all points make together: `sum(u)*h^2`, `max(abs(u))`.
    #[must_use]
    pub fn total(mut self, name: &str, value: impl Display) -> Self {
        let value = text(&format!("the total '{name}'"), value);
        self.totals.push(TotalText { name: own(name), value, region: None });
        self
    }

    /// A number that the points make together where a condition holds, such as `x < 0.5`.
    #[must_use]
    pub fn total_where(mut self, name: &str, value: impl Display, region: &str) -> Self {
        let value = text(&format!("the total '{name}'"), value);
        let region = Some(text(&format!("the points of the total '{name}'"), region));
        self.totals.push(TotalText { name: own(name), value, region });
        self
    }

    /// With a condition on totals, after which a run has come to its end.
    #[must_use]
    pub fn end(self, condition: &str) -> Self {
        Self { end: Some(text("the end", condition)), ..self }
    }

    /// How rates of change are integrated.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// What is added to a field at a point after each step.
    #[must_use]
    pub fn source(mut self, field: &str, at: &[usize], add: impl Display) -> Self {
        let add = text(&format!("a source of '{field}'"), add);
        let (field, at) = (own(field), place(at));
        let (units, interpolation) = Default::default();
        self.sources.push(SourceText { field, at, units, interpolation, add });
        self
    }

    /// What is added to a field after each step at a place that may lie between points.
    #[must_use]
    pub fn source_between(
        mut self,
        field: &str,
        at: &[f64],
        interpolation: Interpolation,
        add: impl Display,
    ) -> Self {
        let add = text(&format!("a source of '{field}'"), add);
        let (field, at, units) = (own(field), place(at), Units::default());
        self.sources.push(SourceText { field, at, units, interpolation, add });
        self
    }

    /// A point where a field is recorded.
    #[must_use]
    pub fn receiver(mut self, field: &str, at: &[usize]) -> Self {
        let (record, at) = (RecordText::Field(own(field)), place(at));
        let (units, interpolation) = Default::default();
        self.receivers.push(ReceiverText { record, at, units, interpolation });
        self
    }

    /// A point where an expression of present values is recorded.
    #[must_use]
    pub fn receiver_of(mut self, value: impl Display, at: &[usize]) -> Self {
        let record = RecordText::Value(text("what a receiver records", value));
        let (units, interpolation) = Default::default();
        self.receivers.push(ReceiverText { record, at: place(at), units, interpolation });
        self
    }

    /// A place where a field is recorded, which may lie between points.
    #[must_use]
    pub fn receiver_between(
        mut self,
        field: &str,
        at: &[f64],
        interpolation: Interpolation,
    ) -> Self {
        let (record, units) = (RecordText::Field(own(field)), Units::default());
        self.receivers.push(ReceiverText { record, at: place(at), units, interpolation });
        self
    }

    /// A layer along all sides that absorbs waves, of so many points and a strength (0.015 for 20 points).
    #[must_use]
    pub fn sponge(mut self, width: usize, strength: f64) -> Self {
        let (sides, fields) = Default::default();
        self.sponge = Some(SpongeText { width, strength, sides, fields });
        self
    }

    /// A perfectly matched layer of so many points along all sides that are not periodic, for waves of at most this speed: a
    /// number, or an expression of constants.
    #[must_use]
    pub fn pml(mut self, width: usize, speed: impl Display) -> Self {
        let at = text("the width of the layer", width);
        let speed = text("the speed of the layer", speed);
        let (reflection, frequency) = Default::default();
        let (sides, fields) = Default::default();
        self.pml = Some(PmlText { width, at, speed, reflection, frequency, sides, fields });
        self
    }
}

impl FieldText {
    /// A field that starts with values, has zeros around it, and an equation for what comes next.
    #[must_use]
    pub fn new(name: &str, start: impl Into<StartText>, next: impl Display) -> Self {
        Self {
            name: own(name),
            start: start.into(),
            before: Vec::new(),
            boundary: text(&format!("the boundary of '{name}'"), "zero"),
            change: Change::Next(text(&format!("the equation of '{name}'"), next)),
            keep: None,
            walls: None,
        }
    }

    /// A field that starts with values, has zeros around it, and a derivative with respect to time.
    #[must_use]
    pub fn rate(name: &str, start: impl Into<StartText>, rate: impl Display) -> Self {
        let change = Change::Rate(text(&format!("the rate of '{name}'"), rate));
        Self { change, ..Self::new(name, start, 0) }
    }

    /// What lies around it, as on the command line: `x:periodic,y:reflect`.
    #[must_use]
    pub fn boundary(mut self, boundary: &str) -> Self {
        self.boundary = text(&format!("the boundary of '{}'", self.name.as_str()), boundary);
        self
    }

    /// What it has at solid points: `no-flux`, `odd`, `value=E`, `bounce=FIELD`.
    #[must_use]
    pub fn walls(mut self, walls: &str) -> Self {
        self.walls = Some(text(&format!("the walls of '{}'", self.name.as_str()), walls));
        self
    }

    /// Its values one step before the start; called again, two steps.
    #[must_use]
    pub fn before(mut self, values: impl Into<StartText>) -> Self {
        self.before.push(values.into());
        self
    }

    /// The points that keep their values: a condition of coordinates and coefficients.
    #[must_use]
    pub fn keep(mut self, points: &str) -> Self {
        self.keep = Some(text(&format!("the kept points of '{}'", self.name.as_str()), points));
        self
    }
}

impl From<&str> for StartText {
    fn from(expression: &str) -> Self {
        Self::Expression(text("a value to start with", expression))
    }
}

impl From<f64> for StartText {
    fn from(number: f64) -> Self {
        Self::Expression(text("a value to start with", number))
    }
}

impl From<Grid> for StartText {
    fn from(values: Grid) -> Self {
        Self::Values(values.into())
    }
}

fn text(place: &str, expression: impl Display) -> Text {
    Text::new(place, &expression.to_string())
}

fn place(at: &[impl Display]) -> AtText {
    AtText::One(at.iter().map(|number| text("a place", number)).collect())
}

fn own(name: &str) -> Text {
    Text::new(&format!("the name '{name}'"), name)
}
