// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.System`: a system of fields, as its file describes it.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use stencil::engine::EngineRequest;
use stencil::system::{Description, examples};
use stencil::{Error, Simulation, System};

use crate::choices::named;
use crate::looks::Looks;
use crate::numbers::count;
use crate::planning::value;
use crate::worker::Worker;
use crate::{arrays, errors, help};

/// Where a system is described.
enum Source {
    File(PathBuf),
    Text(String),
    Example(&'static examples::Example),
}

/// A system of fields.
#[pyclass(frozen, subclass, name = "System", module = "stencil._stencil")]
pub struct PySystem {
    worker: Worker<Simulation>,
}

#[pymethods]
impl PySystem {
    /// `source` is the name of an example, a path that ends in `.toml`, or the text itself.
    #[new]
    #[pyo3(signature = (source, engine))]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>, engine: &Bound<'_, PyAny>) -> PyResult<Self> {
        let engine: EngineRequest = named("engine", engine)?;
        let source = Source::of(source)?;
        let worker = Worker::start(py, move |control| {
            let system = source.read()?;
            Simulation::of(&system).engine(engine).control(control).build()
        })?;
        Ok(Self { worker })
    }

    /// Takes so many time steps, at least 0. Ctrl-C ends them; `steps` says how many were done.
    #[pyo3(signature = (steps = None), text_signature = "($self, steps=1)")]
    fn step(&self, py: Python<'_>, steps: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let steps = steps.map_or(Ok(1), |steps| count("steps", &steps, 0))?;
        self.worker.ask(py, move |simulation| simulation.step(steps))
    }

    /// A loop that takes so many steps, and is given the system whenever the number of all steps is a multiple of
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

    /// A copy of a field as it is now, an array of numpy.
    fn field(&self, py: Python<'_>, name: String) -> PyResult<Py<PyAny>> {
        let grid = self.worker.ask(py, move |simulation| simulation.field(&name))?;
        arrays::array(py, grid)
    }

    /// What receivers recorded: a row for the start and for each step, the time and the value at each receiver.
    fn records(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let rows = self.worker.ask(py, |simulation| Ok(simulation.records().to_vec()))?;
        let extents = [rows.len(), rows.first().map_or(0, Vec::len)];
        arrays::shaped(py, rows.into_iter().flatten().collect(), &extents)
    }

    /// What computes, and how fast: a dict.
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let report = self.worker.ask(py, |simulation| Ok(simulation.report()))?;
        value(py, &report)
    }

    /// The same for people.
    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.worker.ask(py, |simulation| Ok(simulation.report().to_string()))
    }
}

impl Source {
    fn of(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let is_text = source.extract::<String>();
        let Ok(text) = is_text else {
            let path = source.extract();
            return path.map(Self::File).map_err(|_| {
                errors::of_type("source", source, "a name, a path or a text", help::SYSTEM)
            });
        };
        if text.contains('\n') {
            return Ok(Self::Text(text));
        }
        if text.ends_with(".toml") {
            return Ok(Self::File(text.into()));
        }
        examples::find(&text).map(Self::Example).ok_or_else(|| {
            let known: Vec<&str> = examples::EXAMPLES.iter().map(|example| example.name).collect();
            let text = format!("there is no system '{text}'; there is {}", known.join(", "));
            errors::input(source.py(), &text, help::SYSTEM)
        })
    }

    /// The system; files that it names lie beside its own, or in the folder where Python runs.
    fn read(&self) -> Result<System, Error> {
        let here = Path::new("");
        match self {
            Self::File(path) => {
                System::new(&Description::read(path)?, path.parent().unwrap_or(here))
            }
            Self::Text(text) => System::new(&Description::parse("the text", text)?, here),
            Self::Example(example) => {
                System::new(&Description::parse(example.name, example.text)?, here)
            }
        }
    }
}
