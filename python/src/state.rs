// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a system came to, as a dict of arrays, for `pickle` and copies.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stencil::observe::ArrayName;
use stencil::problem::Clock;
use stencil::system::SystemState;

use crate::arrays;

/// A state that is kept in this process, to go back to.
#[pyclass(frozen, module = "stencil._stencil")]
pub struct KeptState(pub SystemState);

/// A dict of a state.
pub fn written(py: Python<'_>, left: SystemState) -> PyResult<Bound<'_, PyDict>> {
    let SystemState { step, arrays: fields, records, series, rows_of, clock } = left;
    let dict = PyDict::new(py);
    let fields = fields
        .into_iter()
        .map(|(ArrayName { field, level }, grid)| Ok((field, level, arrays::kept(py, grid)?)));
    dict.set_item("step", step)?;
    dict.set_item("arrays", fields.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("records", rows(py, records)?)?;
    dict.set_item("series", rows(py, series)?)?;
    dict.set_item("rows_of", rows_of)?;
    dict.set_item("clock", clock.map(<[u64; 4]>::from))?;
    Ok(dict)
}

/// The state of a dict.
pub fn read(dict: &Bound<'_, PyDict>) -> PyResult<SystemState> {
    let item = |name: &str| dict.as_any().get_item(name);
    let fields: Vec<(String, usize, Bound<'_, PyAny>)> = item("arrays")?.extract()?;
    let fields = fields.into_iter().map(|(field, level, array)| {
        Ok((ArrayName { field, level }, arrays::grid(&array, "an array of the state")?))
    });
    let table = |name: &str| item(name)?.call_method0("tolist")?.extract::<Vec<Vec<f64>>>();
    Ok(SystemState {
        step: item("step")?.extract()?,
        arrays: fields.collect::<PyResult<_>>()?,
        records: table("records")?,
        series: table("series")?,
        rows_of: item("rows_of")?.extract()?,
        clock: item("clock")?.extract::<Option<[u64; 4]>>()?.map(Clock::from),
    })
}

/// Rows of one length as an array of two axes.
pub fn rows(py: Python<'_>, rows: Vec<Vec<f64>>) -> PyResult<Py<PyAny>> {
    let extents = [rows.len(), rows.first().map_or(0, Vec::len)];
    arrays::shaped(py, rows.into_iter().flatten().collect(), &extents)
}
