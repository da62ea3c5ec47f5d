// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions in Rust, piece by piece.

use std::fmt::Display;

use transform::Stencil;

use crate::integrate::Method;
use crate::points::{Interpolation, Units};
use crate::text::Text;
use problem::{Dtype, Grid};

use super::{
    AtText, Change, CoefficientText, Description, FieldText, PmlText, ReceiverText, RecordText,
    SourceText, SpongeText, StartText, StencilText, TotalText, WorkText,
};

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
