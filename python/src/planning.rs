// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.plan`, and what is built in.

use std::iter;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use stencil::families::Refusal;
use stencil::names::UnknownName;
use stencil::plan::{RunTarget, on_gpu, on_this_machine};
use stencil::run::checked;
use stencil::system::examples::EXAMPLES;
use stencil::transform::machine::Machine;
use stencil::{Dtype, Shape};

use crate::choices::{self, Arguments, Choices};
use crate::numbers::{count, extents};
use crate::{arrays, errors, worker};

/// Every way to compute a job; see `stencil/__init__.py`.
#[pyfunction]
#[pyo3(signature = (weights, shape, steps, machine, options))]
pub fn plan(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
    steps: &Bound<'_, PyAny>,
    machine: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let stencil = choices::stencil(weights)?;
    let choices = Choices::read(py, options.extract::<Arguments>()?)?;
    let (shape, steps) = (extents(shape)?, count("steps", steps, 0)?);
    let machine = choices::text("machine", machine, "a name")?;
    let described = match &*machine.to_ascii_lowercase() {
        "this" => None,
        key => match Machine::find(key) {
            None => {
                let known = Machine::known().iter().map(|known| known.key);
                let known = iter::once("this").chain(known).map(str::to_owned).collect();
                return Err(errors::unknown(py, "machine", &UnknownName { name: machine, known }));
            }
            found => found,
        },
    };
    let planned = worker::once(py, move |_| {
        let shape = Shape::new(&shape)?;
        let job = checked(choices.job(stencil, shape, Dtype::F32, steps)?)?;
        Ok(match described {
            Some(machine) => on_gpu(&RunTarget::described(machine), &job),
            None => on_this_machine(RunTarget::here().map_err(Refusal::of), &job),
        })
    })?;
    value(py, &planned)
}

/// A dict from the names of stencils to what each is.
///
///     >>> import stencil
///     >>> "star2d1r" in stencil.catalogue()
///     True
#[pyfunction]
pub fn catalogue(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    for entry in stencil::catalogue::entries() {
        names.set_item(entry.name, entry.about)?;
    }
    Ok(names)
}

/// A dict from the names of systems to what each is.
///
///     >>> import stencil
///     >>> "gray-scott" in stencil.examples()
///     True
#[pyfunction]
pub fn examples(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    for example in EXAMPLES {
        names.set_item(example.name, example.about)?;
    }
    Ok(names)
}

/// The weights of a stencil, a name or weights, as an array of float64, the centre in the middle.
///
///     >>> import stencil
///     >>> stencil.weights("star1d1r").shape
///     (3,)
#[pyfunction]
pub fn weights(py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let stencil = choices::stencil(name)?;
    let radii = stencil.radii();
    let reach = |axis: usize| radii[axis] as i32;
    let extents = radii.map(|radius| 2 * radius + 1);
    let mut values = Vec::with_capacity(extents.iter().product());
    for z in -reach(0)..=reach(0) {
        for y in -reach(1)..=reach(1) {
            for x in -reach(2)..=reach(2) {
                values.push(stencil.weight([z, y, x]));
            }
        }
    }
    arrays::shaped(py, values, &extents[3 - stencil.dims()..])
}

/// Plain data as Python has it.
pub fn value(py: Python<'_>, plain: &impl Serialize) -> PyResult<Py<PyAny>> {
    let text = serde_json::to_string(plain).expect("plain data");
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}
