// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole numbers that Python gives: steps, extents.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors;

/// A whole number that is at least `least`, the value of an argument.
pub fn count(argument: &str, given: &Bound<'_, PyAny>, least: usize) -> PyResult<usize> {
    let py = given.py();
    match given.extract() {
        Ok(number) if number >= least => Ok(number),
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            let help = format!("convert it, as by {argument}=int(…)");
            Err(errors::of_type(argument, given, "a whole number", &help))
        }
        _ => {
            let text =
                format!("{argument}={} is no number from {least} to {}", given.str()?, usize::MAX);
            let help = format!("give {argument} a whole number of at least {least}");
            Err(errors::input(py, &text, &help))
        }
    }
}

/// The extents of an array, slowest axis first; a single number is that of a single axis, as in numpy.
pub fn extents(shape: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let Ok(axes) = shape.try_iter() else { return Ok(vec![count("shape", shape, 1)?]) };
    axes.map(|extent| count("shape", &extent?, 1)).collect()
}
