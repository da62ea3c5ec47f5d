// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands for a choice in Python: a stencil by name or weights, an element type, an engine, a number of steps.

use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stencil::control::Control;
use stencil::engine::EngineRequest;
use stencil::families::{self, Family};
use stencil::names::UnknownName;
use stencil::simulation::Builder;
use stencil::{Boundary, Depth, Dtype, Error, Grid, Job, Shape, Stencil, catalogue};

use crate::numbers::count;
use crate::{arrays, errors, help};

/// What may be asked for of a simulation besides stencil and grid.
#[derive(Clone)]
pub struct Choices {
    pub boundary: String,
    pub dtype: Option<Dtype>,
    pub engine: EngineRequest,
    pub kernel: Option<&'static dyn Family>,
    pub fuse: Depth,
    pub chain: Depth,
    pub jump: Depth,
}

/// They, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Arguments<'py> {
    boundary: Bound<'py, PyAny>,
    dtype: Option<Bound<'py, PyAny>>,
    engine: Bound<'py, PyAny>,
    kernel: Option<Bound<'py, PyAny>>,
    fuse: Option<Bound<'py, PyAny>>,
    chain: Option<Bound<'py, PyAny>>,
    jump: Option<Bound<'py, PyAny>>,
}

impl Choices {
    /// Reads them.
    pub fn read(py: Python<'_>, given: Arguments) -> PyResult<Self> {
        let Arguments { boundary, dtype, engine, kernel, fuse, chain, jump } = given;
        let kernel = match kernel {
            None => None,
            Some(kernel) => {
                let found = families::find(&text("kernel", &kernel, "a name")?);
                Some(found.map_err(|error| errors::unknown(py, "kernel", &error))?)
            }
        };
        Ok(Self {
            boundary: written(&boundary)?,
            dtype: dtype.map(|dtype| element(&dtype)).transpose()?,
            engine: named("engine", &engine)?,
            kernel,
            fuse: depth("fuse", fuse)?,
            chain: depth("chain", chain)?,
            jump: depth("jump", jump)?,
        })
    }

    /// The job of so many steps.
    pub fn job(
        &self,
        stencil: Stencil,
        shape: Shape,
        own: Dtype,
        steps: usize,
    ) -> Result<Job, Error> {
        let boundary = Boundary::parse(&self.boundary, stencil.dims())?;
        let &Self { fuse, chain, jump, .. } = self;
        let kernel = self.kernel.map(Family::name);
        let job = Job::new(stencil, shape, self.dtype.unwrap_or(own), steps);
        Ok(Job { boundary, fuse, chain, jump, kernel, ..job })
    }

    /// A simulation with the choices of a job.
    pub fn builder(&self, builder: Builder, job: Job, control: Control) -> Builder {
        let builder = builder
            .boundary(job.boundary)
            .dtype(job.dtype)
            .engine(self.engine)
            .fuse(job.fuse)
            .chain(job.chain)
            .jump(job.jump)
            .portions(job.steps)
            .control(control);
        match self.kernel {
            Some(kernel) => builder.kernel(kernel),
            None => builder,
        }
    }
}

/// A value of a choice by its name.
pub fn named<T: FromStr<Err = UnknownName>>(
    argument: &str,
    name: &Bound<'_, PyAny>,
) -> PyResult<T> {
    let read = text(argument, name, "a name")?.parse();
    read.map_err(|error| errors::unknown(name.py(), argument, &error))
}

/// An argument that is text.
pub fn text(argument: &str, given: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    given.extract().map_err(|_| {
        errors::of_type(argument, given, what, &format!("write it in quotes: {argument}=\"…\""))
    })
}

/// Steps at a time, as many as are fastest where nothing is said.
fn depth(argument: &str, steps: Option<Bound<'_, PyAny>>) -> PyResult<Depth> {
    let Some(steps) = steps else { return Ok(Depth::Auto) };
    let read = count(argument, &steps, 1)?.to_string().parse();
    read.map_err(|error: String| {
        let what = format!("{argument}: {error}");
        errors::input(steps.py(), &what, &format!("leave {argument} out to take what is fastest"))
    })
}

/// A boundary as the library reads it, of a text or of a dict from axes and sides to kinds.
fn written(boundary: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = boundary.extract() {
        return Ok(text);
    }
    let refused =
        || errors::of_type("boundary", boundary, "text or a dict of texts", help::BOUNDARY);
    let sides = boundary.cast::<PyDict>().map_err(|_| refused())?;
    let mut parts: Vec<(String, String)> = Vec::with_capacity(sides.len());
    for (place, kind) in sides.iter() {
        match (place.extract(), kind.extract()) {
            (Ok(place), Ok(kind)) => parts.push((place, kind)),
            _ => {
                let entry = format!("boundary[{}]", place.repr()?);
                return Err(errors::of_type(&entry, &kind, "a text under a text", help::BOUNDARY));
            }
        }
    }
    if parts.is_empty() {
        // Sides that nothing is said of are zero.
        return Ok("zero".into());
    }
    // What is for an axis stands before what is for one of its sides; a dict has no such order.
    parts.sort_by_key(|(place, _)| place.trim_end().ends_with(['-', '+']));
    let parts: Vec<String> = parts.iter().map(|(place, kind)| format!("{place}:{kind}")).collect();
    Ok(parts.join(","))
}

/// An element type: a name, or a type of numpy.
pub fn element(dtype: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    let py = dtype.py();
    if dtype.extract::<String>().is_ok() {
        return named("dtype", dtype);
    }
    let known = py.import("numpy")?.getattr("dtype")?.call1((dtype,));
    let known = known
        .map_err(|_| errors::of_type("dtype", dtype, "a name or a type of numpy", help::DTYPE))?;
    named("dtype", &known.getattr("name")?)
}

/// A stencil as it is given: a name of the catalogue, or its weights, the centre in the middle.
#[derive(Clone, PartialEq)]
pub enum Weights {
    Name(String),
    Values(Grid),
}

impl Weights {
    pub fn read(weights: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(name) = weights.extract::<String>() {
            return Ok(Self::Name(name));
        }
        arrays::grid(weights, "the weights").map(Self::Values)
    }

    pub fn stencil(&self, py: Python<'_>) -> PyResult<Stencil> {
        let grid = match self {
            Self::Name(name) => return catalogue::find(name).ok_or_else(|| unknown(py, name)),
            Self::Values(grid) => grid,
        };
        // One after the other: the threads that the library has for many are another process's after a fork.
        let values: Vec<f64> = (0..grid.shape.points()).map(|index| grid.get(index)).collect();
        Stencil::dense("weights", grid.shape.axes(), &values).map_err(|error| {
            errors::input(py, &format!("the weights: {error}"), help::of_weights(&error))
        })
    }
}

/// The stencil of what is given.
pub fn stencil(weights: &Bound<'_, PyAny>) -> PyResult<Stencil> {
    Weights::read(weights)?.stencil(weights.py())
}

/// No stencil has that name; similar ones may be meant.
fn unknown(py: Python<'_>, name: &str) -> PyErr {
    let names: Vec<&str> = catalogue::entries().iter().map(|entry| entry.name).collect();
    let near = || {
        let near = py.import("difflib")?.call_method1("get_close_matches", (name, names))?;
        near.extract::<Vec<String>>()
    };
    let hint = match near() {
        Ok(near) if !near.is_empty() => format!("did you mean {}?", near.join(", ")),
        _ => "stencil.catalogue() has all names, and star, box and diamond are of any dimensions and \
              radius, such as star2d3r; your own weights are an array"
            .to_owned(),
    };
    errors::input(py, &format!("there is no stencil '{name}'"), &hint)
}
