// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library's errors as Python's exceptions: a class for each kind (`stencil/errors.py`), with the facts.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stencil::names::UnknownName;
use stencil::{Error, ErrorKind};

use crate::help;

/// The module that defines the classes.
const MODULE: &str = "stencil.errors";

/// An error as it is raised, with `kind`, `facts` and `help`.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error.kind(), &error.to_string(), &help::of_error(error), |facts| {
        state(error, facts)
    })
}

/// What was asked for is not possible; `help` says what is.
pub fn input(py: Python<'_>, text: &str, help: &str) -> PyErr {
    exception(py, ErrorKind::Input, text, help, |_| Ok(()))
}

/// An argument that is none of the names that there are. `facts["known"]` has them.
pub fn unknown(py: Python<'_>, argument: &str, error: &UnknownName) -> PyErr {
    let near = || {
        let near =
            py.import("difflib")?.call_method1("get_close_matches", (&error.name, &error.known))?;
        near.extract::<Vec<String>>()
    };
    let help = match near() {
        Ok(near) if !near.is_empty() => {
            format!("did you mean {argument}=\"{}\"?", near.join("\", \""))
        }
        _ => format!("give {argument} one of these names, or leave it out"),
    };
    exception(py, ErrorKind::Input, &format!("{argument}: {error}"), &help, |facts| {
        facts.set_item("argument", argument)?;
        facts.set_item("name", &error.name)?;
        facts.set_item("known", &error.known)
    })
}

/// An argument of a type that it cannot have.
pub fn of_type(argument: &str, given: &Bound<'_, PyAny>, wanted: &str, help: &str) -> PyErr {
    let name = given.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    PyTypeError::new_err(format!("{argument} must be {wanted}, not {name}\nhelp: {help}"))
}

fn exception(
    py: Python<'_>,
    kind: ErrorKind,
    text: &str,
    help: &str,
    state: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyErr {
    let (class, kind) = class(kind);
    let made = || {
        let facts = PyDict::new(py);
        state(&facts)?;
        py.import(MODULE)?.getattr(class)?.call1((text, kind, facts, help))
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
