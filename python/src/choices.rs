// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands for a choice in Python: a stencil by name or weights, an element type, an engine, a number of steps.

use std::str::FromStr;

use pyo3::prelude::*;
use stencil::control::Control;
use stencil::engine::EngineRequest;
use stencil::families::{self, Family};
use stencil::simulation::Builder;
use stencil::{Boundary, Depth, Dtype, Error, Job, Shape, Stencil, catalogue};

use crate::{arrays, errors};

/// What may be asked for of a simulation besides stencil and grid.
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
pub struct Given<'py> {
    boundary: String,
    dtype: Option<Bound<'py, PyAny>>,
    engine: String,
    kernel: Option<String>,
    fuse: Option<usize>,
    chain: Option<usize>,
    jump: Option<usize>,
}

impl Choices {
    /// Reads them.
    pub fn read(py: Python<'_>, given: Given) -> PyResult<Self> {
        let Given { boundary, dtype, engine, kernel, fuse, chain, jump } = given;
        let steps = |steps: Option<usize>| match steps {
            None => Ok(Depth::Auto),
            Some(steps) => named(py, &steps.to_string()),
        };
        Ok(Self {
            boundary,
            dtype: dtype.map(|dtype| element(&dtype)).transpose()?,
            engine: named(py, &engine)?,
            kernel: kernel
                .map(|kernel| {
                    families::find(&kernel).map_err(|error| errors::input(py, &error.to_string()))
                })
                .transpose()?,
            fuse: steps(fuse)?,
            chain: steps(chain)?,
            jump: steps(jump)?,
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
pub fn named<T: FromStr<Err: ToString>>(py: Python<'_>, name: &str) -> PyResult<T> {
    name.parse().map_err(|error: T::Err| errors::input(py, &error.to_string()))
}

/// An element type: a name, or a type of numpy.
pub fn element(dtype: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    let py = dtype.py();
    let name: String = match dtype.extract() {
        Ok(name) => name,
        Err(_) => {
            let dtype = py.import("numpy")?.getattr("dtype")?.call1((dtype,))?;
            dtype.getattr("name")?.extract()?
        }
    };
    named(py, &name)
}

/// A stencil: a name of the catalogue, or its weights, the centre in the middle.
pub fn stencil(weights: &Bound<'_, PyAny>) -> PyResult<Stencil> {
    let py = weights.py();
    if let Ok(name) = weights.extract::<String>() {
        return catalogue::find(&name).ok_or_else(|| unknown(py, &name));
    }
    let grid = arrays::grid(weights)?;
    let extents = grid.shape.axes().to_vec();
    let values = grid.into_vec::<f64>().map_err(|error| errors::raised(py, &error))?;
    Stencil::dense("weights", &extents, &values)
        .map_err(|error| errors::input(py, &format!("the weights: {error}")))
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
              radius, such as star2d3r"
            .to_owned(),
    };
    errors::input(py, &format!("there is no stencil '{name}'; {hint}"))
}
