// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.System`: a system of fields, as its file describes it.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use stencil::engine::EngineRequest;
use stencil::system::{Description, examples};
use stencil::{Error, Simulation, System};

use crate::choices::named;
use crate::computation::Computation;
use crate::worker::Worker;
use crate::{errors, help};

/// Where a system is described.
enum Source {
    File(PathBuf),
    Text(String),
    Example(&'static examples::Example),
}

/// A system of fields.
#[pyclass(frozen, subclass, extends = Computation, name = "System", module = "stencil._stencil")]
pub struct PySystem;

#[pymethods]
impl PySystem {
    /// `source` is the name of an example, a path that ends in `.toml`, or the text itself.
    #[new]
    #[pyo3(signature = (source, engine))]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        engine: &Bound<'_, PyAny>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let engine: EngineRequest = named("engine", engine)?;
        let source = Source::of(source)?;
        let worker = Worker::start(py, move |control| {
            let system = source.read()?;
            Simulation::of(&system).engine(engine).control(control).build()
        })?;
        Ok(PyClassInitializer::from(Computation::new(worker)).add_subclass(Self))
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
