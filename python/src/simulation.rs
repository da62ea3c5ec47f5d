// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.run` and `stencil.Simulation`: a stencil on an array.

use std::borrow::Cow;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stencil::check::verify::Verify;
use stencil::run::{FIELD, InputMemory, Options, Run, Time, checked};
use stencil::{Error, Grid, Job, Simulation};

use crate::arrays::HostArray;
use crate::choices::{self, Arguments, Choices, Weights, named};
use crate::computation::Computation;
use crate::device_array::DeviceArray;
use crate::dlpack::ImportedArray;
use crate::numbers::count;
use crate::worker::{self, Worker};
use crate::{arrays, errors, prepared};

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
    let weights = Weights::read(weights)?;
    let choices = Choices::read(py, options.extract::<Arguments>()?)?;
    let verify: Verify = named("verify", verify)?;
    match arrays::ArrayInput::read(u)? {
        arrays::ArrayInput::Host(array) => {
            if verify != Verify::Off {
                return by_session(py, &weights, &choices, &array, (steps, verify));
            }
            let kind = (array.shape, array.dtype);
            match prepared::find(py, &weights, &choices, kind, steps)? {
                Some(sweeps) => prepared::take(py, &sweeps, &array),
                None => by_session(py, &weights, &choices, &array, (steps, verify)),
            }
        }
        arrays::ArrayInput::Array(taken) if verify == Verify::Off => {
            let ImportedArray { array, capsule } = taken;
            let stencil = weights.stencil(py)?;
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
            Ok(DeviceArray::new(grid).into_pyobject(py)?.into_any().unbind())
        }
        arrays::ArrayInput::Array(_) => {
            let text = format!("verify='{verify}' compares arrays of the host");
            let help = "give a copy there, as by tensor.cpu(), or verify=\"off\"";
            Err(errors::input(py, &text, help))
        }
    }
}

/// So many steps on a grid of an engine's own.
fn by_session(
    py: Python<'_>,
    weights: &Weights,
    choices: &Choices,
    array: &HostArray<'_>,
    (steps, verify): (usize, Verify),
) -> PyResult<Py<PyAny>> {
    let stencil = weights.stencil(py)?;
    let run = |drops_input| {
        let (grid, stencil, choices) = (array.grid()?, stencil.clone(), choices.clone());
        worker::once(py, move |control| {
            let job = checked(choices.job(stencil, grid.shape, grid.dtype(), steps)?)?;
            let engine = choices.engine;
            let (verify, time) = (Some(verify), Time::Off);
            let options =
                Options { engine, verify, time, drops_input, control, ..Options::default() };
            match computed(job, options, grid) {
                Err(error @ Error::Overflow { .. }) => Ok(Err(error)),
                other => other.map(Ok),
            }
        })
    };
    // Nobody goes back to the input, but who searches for the step at which values outgrew their type.
    let error = match run(verify == Verify::Off)? {
        Ok(grid) => return arrays::array(py, grid),
        Err(error) => error,
    };
    let Error::Overflow { step, finite, .. } = error else { unreachable!("no other is given") };
    if verify != Verify::Off || finite + 1 == step {
        return Err(errors::raised(py, &error));
    }
    // Whatever becomes of the search, the first run overflowed.
    let told = match run(false) {
        Ok(Err(narrower)) => narrower,
        Err(stopped) if !stopped.is_instance_of::<PyException>(py) => return Err(stopped),
        Ok(Ok(_)) | Err(_) => error,
    };
    Err(errors::raised(py, &told))
}

/// The grid after all steps of a job.
fn computed(job: Job, options: Options, grid: Grid) -> Result<Grid, Error> {
    let grid = grid.stored_as(job.dtype)?;
    let mut computed = Run::plan(job, options, InputMemory::Given)?.compute(Cow::Owned(grid))?;
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
}

/// A stencil on an array, as many steps at a time as its owner likes.
#[pyclass(frozen, subclass, extends = Computation, name = "Simulation", module = "stencil._stencil")]
pub struct PySimulation;

#[pymethods]
impl PySimulation {
    #[new]
    #[pyo3(signature = (weights, u, portions, options, done = 0))]
    fn new(
        py: Python<'_>,
        weights: &Bound<'_, PyAny>,
        u: &Bound<'_, PyAny>,
        portions: Option<Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
        done: usize,
    ) -> PyResult<PyClassInitializer<Self>> {
        let stencil = choices::stencil(weights)?;
        let choices = Choices::read(py, options.extract::<Arguments>()?)?;
        let portions = match portions {
            Some(portions) => count("portions", &portions, 1)?,
            None => PORTION,
        };
        let worker = match arrays::ArrayInput::read(u)? {
            arrays::ArrayInput::Host(array) => {
                let grid = array.grid()?;
                Worker::start(py, move |control| {
                    let job = choices.job(stencil.clone(), grid.shape, grid.dtype(), portions)?;
                    choices.builder(Simulation::new(stencil, grid), job, control).done(done).build()
                })?
            }
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
        Ok(PyClassInitializer::from(Computation::new(worker)).add_subclass(Self))
    }
}
