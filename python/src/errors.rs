// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library's errors as Python's exceptions: a class for each kind (`stencil/errors.py`), with the facts.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stencil::{Error, ErrorKind};

/// The module that defines the classes.
const MODULE: &str = "stencil.errors";

/// An error as it is raised, with `kind` and `facts`.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let (class, kind) = class(error.kind());
    exception(py, class, kind, &error.to_string(), |facts| state(error, facts))
}

/// What was asked for is not possible.
pub fn input(py: Python<'_>, text: &str) -> PyErr {
    let (class, kind) = class(ErrorKind::Input);
    exception(py, class, kind, text, |_| Ok(()))
}

fn exception(
    py: Python<'_>,
    class: &str,
    kind: &str,
    text: &str,
    state: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyErr {
    let made = || {
        let facts = PyDict::new(py);
        state(&facts)?;
        py.import(MODULE)?.getattr(class)?.call1((text, kind, facts))
    };
    made().map_or_else(|other| other, PyErr::from_value)
}

fn class(kind: ErrorKind) -> (&'static str, &'static str) {
    match kind {
        ErrorKind::Wrong => ("WrongError", "wrong"),
        ErrorKind::Input => ("InputError", "input"),
        // Another rank's device, of which a package without MPI has none.
        ErrorKind::Device | ErrorKind::Lost => ("DeviceError", "device"),
        ErrorKind::NotFinite => ("NotFiniteError", "not finite"),
        ErrorKind::File => ("FileError", "file"),
        ErrorKind::Memory => ("OutOfMemoryError", "memory"),
        ErrorKind::Stopped => ("StoppedError", "stopped"),
    }
}

/// What an error states besides its text.
fn state(error: &Error, facts: &Bound<'_, PyDict>) -> PyResult<()> {
    match error {
        Error::Verification { from_step, to_step, error, bound } => {
            facts.set_item("from_step", from_step)?;
            facts.set_item("to_step", to_step)?;
            facts.set_item("error", error)?;
            facts.set_item("bound", bound)
        }
        Error::Size { size, reason } => {
            facts.set_item("size", size)?;
            facts.set_item("reason", reason)
        }
        Error::SizeAxes { size, axes, dims } => {
            facts.set_item("size", size)?;
            facts.set_item("axes", axes)?;
            facts.set_item("dims", dims)
        }
        Error::Boundary { boundary, reason, .. } => {
            facts.set_item("boundary", boundary)?;
            facts.set_item("reason", reason)
        }
        Error::UnknownField { name, known } => {
            facts.set_item("name", name)?;
            facts.set_item("known", known)
        }
        Error::System(mistake) => {
            facts.set_item("place", &mistake.place)?;
            facts.set_item("line", mistake.line)?;
            facts.set_item("column", mistake.column)?;
            facts.set_item("hint", mistake.hint.as_deref())
        }
        Error::Memory { need, free, .. } => {
            facts.set_item("need", need.0)?;
            facts.set_item("free", free.0)
        }
        Error::GpuMemory { need, total, .. } => {
            facts.set_item("need", need.0)?;
            facts.set_item("total", total.0)
        }
        Error::Unsupported { engine, reason } => {
            facts.set_item("engine", engine)?;
            facts.set_item("reason", reason)
        }
        Error::Asked { engine, .. } => facts.set_item("engine", engine),
        Error::Driver { action, reason } => {
            facts.set_item("action", action)?;
            facts.set_item("reason", reason)
        }
        Error::NotFinite { value, position, .. } => {
            facts.set_item("value", value)?;
            facts.set_item("position", position)
        }
        Error::Overflow { step, finite, value, position } => {
            facts.set_item("step", step)?;
            facts.set_item("finite", finite)?;
            facts.set_item("value", value)?;
            facts.set_item("position", position)
        }
        Error::FieldOverflow { field, step, finite, value, position } => {
            facts.set_item("field", field)?;
            facts.set_item("step", step)?;
            facts.set_item("finite", finite)?;
            facts.set_item("value", value)?;
            facts.set_item("position", position)
        }
        // Their text has all there is.
        _ => Ok(()),
    }
}
