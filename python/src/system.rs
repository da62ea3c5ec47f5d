// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.System`: a system of fields, as its description has it.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stencil::Simulation;
use stencil::engine::EngineRequest;

use crate::choices::named;
use crate::computation::Computation;
use crate::numbers::count;
use crate::recipe::Recipe;
use crate::state;
use crate::worker::Worker;

/// A system of fields.
#[pyclass(frozen, subclass, extends = Computation, name = "System", module = "stencil._stencil")]
pub struct PySystem {
    recipe: Mutex<Recipe>,
}

#[pymethods]
impl PySystem {
    /// `recipe` is what [`Recipe::read`] takes, `left` what `_state` gave.
    #[new]
    #[pyo3(signature = (recipe, engine, every, left = None))]
    fn new(
        py: Python<'_>,
        recipe: &Bound<'_, PyTuple>,
        engine: &Bound<'_, PyAny>,
        every: Option<Bound<'_, PyAny>>,
        left: Option<Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let engine: EngineRequest = named("engine", engine)?;
        let every = every.map(|every| count("totals_every", &every, 1)).transpose()?;
        let recipe = Recipe::read(recipe)?;
        let left = left.map(|left| state::read(&left)).transpose()?;
        let made = recipe.clone();
        let worker = Worker::start(py, move |control| {
            let mut builder = Simulation::of(&made.system()?).engine(engine).control(control);
            if let Some(every) = every {
                builder = builder.series(every);
            }
            if let Some(left) = left {
                builder = builder.state(left);
            }
            builder.build()
        })?;
        let own = Self { recipe: Mutex::new(recipe) };
        Ok(PyClassInitializer::from(Computation::new(worker)).add_subclass(own))
    }

    /// What it is made of.
    fn _recipe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.recipe.lock().unwrap_or_else(PoisonError::into_inner).written(py)
    }

    /// Gives a constant another value, an expression.
    fn _set_parameter(own: PyRef<'_, Self>, name: String, value: String) -> PyResult<()> {
        let (py, computation) = (own.py(), own.as_super());
        let (to, text) = (name.clone(), value.clone());
        computation.worker().ask(py, move |simulation| simulation.set_parameter(&to, text))?;
        own.recipe.lock().unwrap_or_else(PoisonError::into_inner).parameter(&name, value);
        Ok(())
    }
}
