// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `stencil.Simulation` and `stencil.System` have in common: steps, fields, records and reports.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use stencil::Simulation;
use stencil::names::UnknownName;

use crate::device_array::DeviceArray;
use crate::looks::Looks;
use crate::numbers::count;
use crate::planning::value;
use crate::worker::Worker;
use crate::{arrays, errors};

/// A stencil or a system, as many steps at a time as its owner likes.
#[pyclass(frozen, subclass, module = "stencil._stencil")]
pub struct Computation {
    worker: Worker<Simulation>,
}

impl Computation {
    pub fn new(worker: Worker<Simulation>) -> Self {
        Self { worker }
    }
}

#[pymethods]
impl Computation {
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

    /// A copy of a field as it is now: an array of numpy, or with `device="cuda"` a `DeviceArray`. The first field, if none
    /// is named.
    #[pyo3(signature = (name = None, device = "cpu"), text_signature = "($self, name=None, device=\"cpu\")")]
    fn field(&self, py: Python<'_>, name: Option<String>, device: &str) -> PyResult<Py<PyAny>> {
        let first =
            |own: &Simulation| own.fields().first().map_or_else(String::new, |it| (*it).to_owned());
        let name = match name {
            Some(name) => name,
            None => self.worker.ask(py, move |own| Ok(first(own)))?,
        };
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

    /// What receivers recorded: a row for the start and for each step, the time and the value at each receiver. A stencil has
    /// none.
    fn records(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let rows = self.worker.ask(py, |simulation| Ok(simulation.records().to_vec()))?;
        let extents = [rows.len(), rows.first().map_or(0, Vec::len)];
        arrays::shaped(py, rows.into_iter().flatten().collect(), &extents)
    }

    /// The totals of a system as the values are now: a dict of numbers by name. A stencil has none.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.worker.ask(py, Simulation::totals)?.into_py_dict(py)
    }

    /// What computes, and how fast: a dict, as `host run --json` writes it.
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let report = self.worker.ask(py, |simulation| Ok(simulation.report()))?;
        value(py, &report)
    }

    /// The report as text.
    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.worker.ask(py, |simulation| Ok(simulation.report().to_string()))
    }
}
