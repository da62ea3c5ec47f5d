// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps as a loop of Python: whoever iterates is given the simulation every so many steps.

use crate::numbers::count;
use pyo3::prelude::*;

/// The loop of `observe`.
#[pyclass(frozen, module = "stencil")]
pub struct Looks {
    simulation: Py<PyAny>,
    every: usize,
    /// Steps that are done at the end.
    last: usize,
}

impl Looks {
    /// So many more steps of an object that has done `done`, with a look at each multiple of `every`, at least 1.
    pub fn new(
        simulation: &Bound<'_, PyAny>,
        done: usize,
        steps: &Bound<'_, PyAny>,
        every: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (steps, every) = (count("steps", steps, 0)?, count("every", every, 1)?);
        let simulation = simulation.clone().unbind();
        Ok(Self { simulation, every, last: done.saturating_add(steps) })
    }
}

#[pymethods]
impl Looks {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    /// Takes the steps to the next look, at a multiple of `every` of all steps; those after the last one, too.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let done: usize = self.simulation.getattr(py, "steps")?.extract(py)?;
        if done >= self.last {
            return Ok(None);
        }
        let look = (done / self.every + 1).saturating_mul(self.every);
        self.simulation.call_method1(py, "step", (look.min(self.last) - done,))?;
        Ok((look <= self.last).then(|| self.simulation.clone_ref(py)))
    }
}
