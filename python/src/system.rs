// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.System`: a system of fields, as its description has it.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stencil::engine::EngineRequest;
use stencil::{Error, Simulation};

use crate::choices::named;
use crate::computation::Computation;
use crate::numbers::count;
use crate::recipe::Recipe;
use crate::state::{self, KeptState};
use crate::worker::Worker;
use crate::{arrays, errors, gradient};

/// A system of fields.
#[pyclass(frozen, subclass, extends = Computation, name = "System", module = "stencil._stencil")]
pub struct PySystem {
    recipe: Mutex<Recipe>,
}

#[pymethods]
impl PySystem {
    /// `recipe` is what [`Recipe::read`] takes, `left` what `_state` gave; or a system to be copied as it stands, whose given arrays
    /// both have then.
    #[new]
    #[pyo3(signature = (recipe, engine, every, left = None))]
    fn new(
        py: Python<'_>,
        recipe: &Bound<'_, PyAny>,
        engine: &Bound<'_, PyAny>,
        every: Option<Bound<'_, PyAny>>,
        left: Option<Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let engine: EngineRequest = named("engine", engine)?;
        let every = every.map(|every| count("totals_every", &every, 1)).transpose()?;
        let (recipe, left) = match recipe.cast::<Self>() {
            Ok(other) => {
                let other = other.borrow();
                let state = other.as_super().worker().ask(py, Simulation::state)?;
                (other.recipe(), Some(state))
            }
            Err(_) => {
                let left = left.map(|left| state::read(&left)).transpose()?;
                (Recipe::read(recipe.cast()?)?, left)
            }
        };
        let made = recipe.clone();
        let worker = Worker::start(py, move |control| {
            let system = made.system()?;
            let mut builder = Simulation::of(&system).engine(engine).control(control);
            if let Some(every) = every {
                builder = builder.series(every);
            }
            if let Some(mut left) = left {
                // A state keeps arrays of bf16 values as f32.
                let arrays = left.arrays.into_iter();
                let stored = arrays.map(|(name, grid)| Ok((name, grid.stored_as(system.dtype())?)));
                left.arrays = stored.collect::<Result<_, Error>>()?;
                builder = builder.state(left);
            }
            builder.build()
        })?;
        let own = Self { recipe: Mutex::new(recipe) };
        Ok(PyClassInitializer::from(Computation::new(worker)).add_subclass(own))
    }

    /// What it is made of.
    fn _recipe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.recipe().written(py)
    }

    /// Names of fields that begin with earlier values of their own.
    fn _with_before(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.recipe().with_before().map_err(|error| errors::raised(py, &error))
    }

    /// Its state, to go back to.
    fn _keep(own: PyRef<'_, Self>) -> PyResult<KeptState> {
        Ok(KeptState(own.as_super().worker().ask(own.py(), Simulation::state)?))
    }

    /// Goes back to a state, from which sources add other numbers: a row for each.
    fn _begin_shot(
        own: PyRef<'_, Self>,
        kept: &Bound<'_, KeptState>,
        series: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let state = kept.get().0.clone();
        let series = arrays::rows(&arrays::grid(series, "what sources add")?);
        let (first, rows) = (state.step, series.clone());
        let begin = move |simulation: &mut Simulation| simulation.begin_shot(&state, &series);
        own.as_super().worker().ask(own.py(), begin)?;
        let mut recipe = own.recipe.lock().unwrap_or_else(PoisonError::into_inner);
        recipe.series(first, &rows).map_err(|error| errors::raised(own.py(), &error))
    }

    /// Takes steps for each shot, asks a function with its number how a number changes with what they left, and goes back over them.
    fn _gradient_of_shots<'py>(
        own: PyRef<'py, Self>,
        steps: usize,
        misfit: Py<PyAny>,
        by: gradient::GradientOptions,
        keeping: gradient::StateStorage,
        shots: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = own.py();
        let by = gradient::by(by, keeping).map_err(|error| errors::raised(py, &error))?;
        let rows = |shot: &Bound<'_, PyAny>| {
            Ok::<_, PyErr>(arrays::rows(&arrays::grid(shot, "what sources add")?))
        };
        let shots = shots.iter().map(rows).collect::<PyResult<Vec<_>>>()?;
        let (last, worker) = (shots.last().cloned(), own.as_super().worker());
        let first = worker.ask(py, |simulation| Ok(simulation.steps()))?;
        let found = gradient::of_shots(py, worker, (steps, by), shots, misfit)?;
        if let Some(last) = last {
            let mut recipe = own.recipe.lock().unwrap_or_else(PoisonError::into_inner);
            recipe.series(first, &last).map_err(|error| errors::raised(py, &error))?;
        }
        Ok(found)
    }

    /// Gives constants other values, expressions: all of them or none.
    fn _set_parameters(own: PyRef<'_, Self>, all: Vec<(String, String)>) -> PyResult<()> {
        let (py, computation, values) = (own.py(), own.as_super(), all.clone());
        computation.worker().ask(py, move |simulation| simulation.set_parameters(&values))?;
        own.recipe.lock().unwrap_or_else(PoisonError::into_inner).parameters(all);
        Ok(())
    }
}

impl PySystem {
    /// A copy, which shares given arrays.
    fn recipe(&self) -> Recipe {
        self.recipe.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
