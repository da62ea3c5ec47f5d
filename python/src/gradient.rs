// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients: what a function of Python says of the values after the steps, and what the adjoint makes of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stencil::memory::Bytes;
use stencil::observe::ArrayName;
use stencil::simulation::{Cotangents, Gradient, GradientBy, ShotGradients, TapeStorage};
use stencil::{Dtype, Error, Simulation};

use crate::worker::Worker;
use crate::{arrays, state};

/// What a misfit says: derivatives by fields, and by records without times and by totals, as arrays.
type MisfitResult<'py> =
    (Vec<(String, usize, Bound<'py, PyAny>)>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Takes so many steps, asks `misfit`, and goes back over them.
pub fn gradient<'py>(
    py: Python<'py>,
    worker: &Worker<Simulation>,
    (steps, by): (usize, GradientBy),
    misfit: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let noted = Arc::clone(&raised);
    let task = move |simulation: &mut Simulation| {
        simulation.gradient(steps, &by, |after| {
            // The thread that waits has let go of Python's lock.
            Python::attach(|py| asked(py, after, (&misfit, by.totals), None)).map_err(|error| {
                *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Error::Gradient { reason: "the misfit raised an exception".into() }
            })
        })
    };
    let found = worker.ask(py, task);
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    written(py, found?)
}

/// Takes so many steps for each shot, asks `misfit` with its number, and goes back over them: the sum of the gradients.
pub fn of_shots<'py>(
    py: Python<'py>,
    worker: &Worker<Simulation>,
    (steps, by): (usize, GradientBy),
    shots: Vec<Vec<Vec<f64>>>,
    misfit: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let noted = Arc::clone(&raised);
    let task = move |simulation: &mut Simulation| {
        // A function of Python is asked by one thread at a time, from beginning to end.
        let turn = Mutex::new(());
        simulation.gradient_of_shots((steps, &shots), &by, |after, shot| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let said = Python::attach(|py| asked(py, after, (&misfit, by.totals), Some(shot)));
            said.map_err(|error| {
                noted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                Error::Gradient { reason: "the misfit raised an exception".into() }
            })
        })
    };
    let found = worker.ask(py, task);
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let ShotGradients { sum, sources } = found?;
    let dict = written(py, sum)?;
    let rows = sources.into_iter().map(|rows| state::rows(py, rows));
    dict.set_item("sources", rows.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

/// What a function says of the values as they are now, which is told the totals, too, if it is one of them.
fn asked(
    py: Python<'_>,
    after: &mut Simulation,
    (misfit, is_of_totals): (&Py<PyAny>, bool),
    shot: Option<usize>,
) -> PyResult<Cotangents> {
    let told = |error: Error| crate::errors::raised(py, &error);
    let state = after.state().map_err(told)?;
    let dict = PyDict::new(py);
    for (ArrayName { field, level }, grid) in state.arrays {
        dict.set_item((field, level), arrays::array(py, grid)?)?;
    }
    let records = state::rows(py, after.records().to_vec())?;
    let totals = match is_of_totals {
        true => after.totals().map_err(told)?.into_iter().map(|(_, total)| total).collect(),
        false => Vec::new(),
    };
    let said = misfit.bind(py).call1((dict, records, totals, shot))?;
    let (fields, records, totals): MisfitResult<'_> = said.extract()?;
    let fields = fields.into_iter().map(|(field, level, array)| {
        Ok((ArrayName { field, level }, arrays::grid(&array, "misfit")?))
    });
    let records = match records {
        None => Vec::new(),
        Some(rows) => rows_of(&rows).map_err(|_| {
            PyTypeError::new_err(
                "records must be an array of a row for each step and a column for each receiver",
            )
        })?,
    };
    let totals = totals.map(|rows| rows_of(&rows)).transpose()?.unwrap_or_default();
    Ok(Cotangents { fields: fields.collect::<PyResult<_>>()?, records, totals })
}

/// The rows of an array, or of lists in a list.
fn rows_of(rows: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<f64>>> {
    match rows.hasattr("tolist")? {
        true => rows.call_method0("tolist")?.extract(),
        false => rows.extract(),
    }
}

/// A dict of a gradient.
fn written(py: Python<'_>, found: Gradient) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let start = PyDict::new(py);
    for (ArrayName { field, level }, grid) in found.start {
        start.set_item((field, level), arrays::array(py, grid)?)?;
    }
    let coefficients = PyDict::new(py);
    for (name, grid) in found.coefficients {
        coefficients.set_item(name, arrays::array(py, grid)?)?;
    }
    let parameters = PyDict::new(py);
    for (name, value) in found.parameters {
        parameters.set_item(name, value)?;
    }
    dict.set_item("start", start)?;
    dict.set_item("coefficients", coefficients)?;
    dict.set_item("parameters", parameters)?;
    dict.set_item("sources", state::rows(py, found.sources)?)?;
    dict.set_item("constants", found.constants)?;
    dict.set_item("steps_again", found.steps_again)?;
    Ok(dict)
}

/// Names of coefficients and of parameters, whether totals count, and the bytes of kept states.
pub type GradientOptions = (Vec<String>, Vec<String>, bool, Option<u64>);

/// Where states are kept, and as which type: `gpu`, `memory`, or nothing; or a folder.
pub type StateStorage = (Option<String>, Option<PathBuf>, Option<String>);

/// By what is differentiated, with how many bytes, and where states are kept.
pub fn by(
    (coefficients, parameters, totals, memory): GradientOptions,
    (place, folder, rounded): StateStorage,
) -> Result<GradientBy, Error> {
    let place = match (place.as_deref(), folder) {
        (_, Some(folder)) => TapeStorage::Folder(folder),
        (Some("gpu"), None) => TapeStorage::Device,
        (Some("memory"), None) => TapeStorage::Memory,
        _ => TapeStorage::WhereTheyLie,
    };
    let rounded = rounded.map(|name| {
        let reason = || format!("states are kept as f32, f16 or bf16, not as {name:?}");
        name.parse::<Dtype>().map_err(|_| Error::Gradient { reason: reason() })
    });
    let (memory, rounded) = (memory.map(Bytes), rounded.transpose()?);
    Ok(GradientBy { coefficients, parameters, totals, memory, place, rounded })
}
