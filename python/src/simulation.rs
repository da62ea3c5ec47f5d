// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.run` and `stencil.Simulation`: a stencil on an array.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stencil::check::verify::Verify;
use stencil::names::UnknownName;
use stencil::run::{FIELD, InputMemory, Options, Run, Time, checked};
use stencil::{Error, Simulation};

use crate::choices::{self, Arguments, Choices, named};
use crate::device_array::DeviceArray;
use crate::dlpack::ImportedArray;
use crate::looks::Looks;
use crate::numbers::count;
use crate::planning::value;
use crate::worker::{self, Worker};
use crate::{arrays, errors};

/// Steps that are planned for, if nothing is said.
const PORTION: usize = 1000;

/// Takes time steps; see `stencil/__init__.py`.
#[pyfunction]
#[pyo3(signature = (weights, u, steps, verify, options))]
pub fn run(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    u: &Bound<'_, PyAny>,
    steps: &Bound<'_, PyAny>,
    verify: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let steps = count("steps", steps, 0)?;
    let stencil = choices::stencil(weights)?;
    let choices = Choices::read(py, options.extract::<Arguments>()?)?;
    let verify: Verify = named("verify", verify)?;
    let grid = match arrays::ArrayInput::read(u)? {
        arrays::ArrayInput::Grid(grid) => grid,
        arrays::ArrayInput::Array(taken) if verify == Verify::Off => {
            let ImportedArray { array, capsule } = taken;
            let grid = worker::once(py, move |control| {
                let kind = (array.shape(), array.dtype());
                let job = choices.job(stencil.clone(), kind.0, kind.1, steps)?;
                let builder = Simulation::of_array(stencil, array);
                let mut simulation = choices.builder(builder, job, control).build()?;
                simulation.step(steps)?;
                simulation.field_on_device(FIELD)
            })?;
            // The producer kept the array until here.
            drop(capsule);
            return Ok(DeviceArray::new(grid).into_pyobject(py)?.into_any().unbind());
        }
        arrays::ArrayInput::Array(_) => {
            let text = format!("verify='{verify}' compares arrays of the host");
            return Err(errors::input(
                py,
                &text,
                "give a copy there, as by tensor.cpu(), or verify=\"off\"",
            ));
        }
    };
    let grid = worker::once(py, move |control| {
        let job = checked(choices.job(stencil, grid.shape, grid.dtype(), steps)?)?;
        let grid = grid.stored_as(job.dtype)?;
        let options = Options {
            engine: choices.engine,
            verify: Some(verify),
            time: Time::Off,
            control,
            ..Options::default()
        };
        let run = Run::plan(job, options, InputMemory::Given)?;
        let mut computed = run.compute(Cow::Owned(grid))?;
        let grid = computed.grid()?;
        computed.verify()?;
        match computed.verdict().failure() {
            None => Ok(grid),
            Some(found) => Err(Error::Verification {
                from_step: found.from_step,
                to_step: found.to_step,
                error: found.max_abs_err,
                bound: found.bound,
            }),
        }
    })?;
    arrays::array(py, grid)
}

/// A stencil on an array, as many steps at a time as its owner likes.
#[pyclass(frozen, subclass, name = "Simulation", module = "stencil._stencil")]
pub struct PySimulation {
    worker: Worker<Simulation>,
}

#[pymethods]
impl PySimulation {
    #[new]
    #[pyo3(signature = (weights, u, portions, options))]
    fn new(
        py: Python<'_>,
        weights: &Bound<'_, PyAny>,
        u: &Bound<'_, PyAny>,
        portions: Option<Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let stencil = choices::stencil(weights)?;
        let choices = Choices::read(py, options.extract::<Arguments>()?)?;
        let portions = match portions {
            Some(portions) => count("portions", &portions, 1)?,
            None => PORTION,
        };
        let worker = match arrays::ArrayInput::read(u)? {
            arrays::ArrayInput::Grid(grid) => Worker::start(py, move |control| {
                let job = choices.job(stencil.clone(), grid.shape, grid.dtype(), portions)?;
                choices.builder(Simulation::new(stencil, grid), job, control).build()
            })?,
            // The array is copied when this is done; its producer keeps it until then.
            arrays::ArrayInput::Array(ImportedArray { array, capsule }) => {
                let worker = Worker::start(py, move |control| {
                    let kind = (array.shape(), array.dtype());
                    let job = choices.job(stencil.clone(), kind.0, kind.1, portions)?;
                    let builder = Simulation::of_array(stencil, array);
                    choices.builder(builder, job, control).build()
                })?;
                drop(capsule);
                worker
            }
        };
        Ok(Self { worker })
    }

    /// Takes so many time steps, at least 0. Ctrl-C ends them; `steps` says how many were done.
    #[pyo3(signature = (steps = None), text_signature = "($self, steps=1)")]
    fn step(&self, py: Python<'_>, steps: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let steps = steps.map_or(Ok(1), |steps| count("steps", &steps, 0))?;
        self.worker.ask(py, move |simulation| simulation.step(steps))
    }

    /// A loop that takes so many steps, and is given the simulation whenever the number of all steps is a multiple of
    /// `every`.
    fn observe(
        own: &Bound<'_, Self>,
        steps: &Bound<'_, PyAny>,
        every: &Bound<'_, PyAny>,
    ) -> PyResult<Looks> {
        let done = own.get().steps(own.py())?;
        Looks::new(own.as_any(), done, steps, every)
    }

    /// Time steps that are done.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<usize> {
        self.worker.ask(py, |simulation| Ok(simulation.steps()))
    }

    /// The names of its fields.
    #[getter]
    fn fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.worker
            .ask(py, |simulation| Ok(simulation.fields().into_iter().map(str::to_owned).collect()))
    }

    /// A copy of a field as it is now: an array of numpy, or with `device="cuda"` a `DeviceArray`.
    #[pyo3(signature = (name = "u", device = "cpu"))]
    fn field(&self, py: Python<'_>, name: &str, device: &str) -> PyResult<Py<PyAny>> {
        let name = name.to_owned();
        match device {
            "cpu" => {}
            "cuda" => {
                let grid = self.worker.ask(py, move |own| own.field_on_device(&name))?;
                return Ok(DeviceArray::new(grid).into_pyobject(py)?.into_any().unbind());
            }
            other => {
                let known = ["cpu", "cuda"].map(str::to_owned).to_vec();
                let error = UnknownName { name: other.to_owned(), known };
                return Err(errors::unknown(py, "device", &error));
            }
        }
        let grid = self.worker.ask(py, move |simulation| simulation.field(&name))?;
        arrays::array(py, grid)
    }

    /// What computes, and how fast: a dict, as `host run --json` writes it.
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let report = self.worker.ask(py, |simulation| Ok(simulation.report()))?;
        value(py, &report)
    }

    /// The same for people.
    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.worker.ask(py, |simulation| Ok(simulation.report().to_string()))
    }
}
