// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `stencil.Simulation` and `stencil.System` have in common: steps, fields, records and reports.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use stencil::Simulation;
use stencil::io::colours::PictureStyle;
use stencil::names::UnknownName;
use stencil::problem::Slice;
use stencil::simulation::SaveRequest;

use crate::choices::named;
use crate::device_array::DeviceArray;
use crate::dlpack::ImportedArray;
use crate::numbers::count;
use crate::planning::value;
use crate::worker::Worker;
use crate::{arrays, errors, gradient, help, state};

/// A stencil or a system, as many steps at a time as its owner likes.
#[pyclass(frozen, subclass, module = "stencil._stencil")]
pub struct Computation {
    worker: Worker<Simulation>,
}

/// What is known of a computation besides its values.
struct ComputationInfo {
    title: String,
    spacing: Vec<f64>,
    dt: Option<f64>,
    /// What each records, and where.
    receivers: Vec<(String, Vec<f64>)>,
    totals: Vec<String>,
    warnings: Vec<String>,
}

impl ComputationInfo {
    fn of(simulation: &Simulation) -> Self {
        let Some(system) = simulation.system() else {
            return Self {
                title: String::new(),
                spacing: Vec::new(),
                dt: None,
                receivers: Vec::new(),
                totals: Vec::new(),
                warnings: Vec::new(),
            };
        };
        let dims = system.shape().dims();
        Self {
            title: system.title().to_owned(),
            spacing: system.spacing()[3 - dims..].to_vec(),
            dt: Some(system.dt()),
            receivers: system
                .receivers()
                .map(|(name, at)| (name.to_owned(), at.to_vec()))
                .collect(),
            totals: system.totals().map(str::to_owned).collect(),
            warnings: system.warnings().to_vec(),
        }
    }
}

impl Computation {
    pub fn new(worker: Worker<Simulation>) -> Self {
        Self { worker }
    }

    /// The thread that computes.
    pub fn worker(&self) -> &Worker<Simulation> {
        &self.worker
    }
}

#[pymethods]
impl Computation {
    /// Takes so many time steps, at least 0. Ctrl-C ends them; `steps` says how many were done.
    /// `told` is called now and then with the number of them that are done.
    #[pyo3(signature = (steps, told))]
    fn _step(
        &self,
        py: Python<'_>,
        steps: &Bound<'_, PyAny>,
        told: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let steps = count("steps", steps, 0)?;
        let step = move |simulation: &mut Simulation| simulation.step(steps);
        match told {
            None => self.worker.ask(py, step),
            Some(told) => {
                self.worker.ask_with_progress(py, step, |done| told.call1((done,)).map(|_| ()))
            }
        }
    }

    /// A whole number of at least so much, the value of an argument.
    #[staticmethod]
    fn _count(argument: &str, given: &Bound<'_, PyAny>, least: usize) -> PyResult<usize> {
        count(argument, given, least)
    }

    /// Time steps that are done.
    ///
    ///     >>> import numpy as np, stencil
    ///     >>> rod = stencil.Simulation("star1d1r", np.ones(8), engine="cpu")
    ///     >>> rod.step(3)
    ///     >>> rod.steps
    ///     3
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<usize> {
        self.worker.ask(py, |simulation| Ok(simulation.steps()))
    }

    /// The time in what is simulated, in the units of the system; of a stencil its steps.
    ///
    ///     >>> import stencil
    ///     >>> spots = stencil.System("gray-scott", size=(32, 48), dt=0.5, engine="cpu")
    ///     >>> spots.step(3)
    ///     >>> spots.time
    ///     1.5
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.worker.ask(py, |simulation| Ok(simulation.time()))
    }

    /// Extents, spacing, time of a step, places and names of receivers, names of totals.
    fn _about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = self.worker.ask(py, |simulation| Ok(ComputationInfo::of(simulation)))?;
        let dict = PyDict::new(py);
        dict.set_item("spacing", about.spacing)?;
        dict.set_item("dt", about.dt)?;
        dict.set_item("title", about.title)?;
        dict.set_item("receivers", about.receivers)?;
        dict.set_item("totals", about.totals)?;
        dict.set_item("warnings", about.warnings)?;
        Ok(dict)
    }

    /// The constants of a system, with their values.
    fn _parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.worker.ask(py, |simulation| Ok(simulation.parameters()))?.into_py_dict(py)
    }

    /// A copy of a field so many steps before now.
    fn _level(&self, py: Python<'_>, name: String, level: usize) -> PyResult<Py<PyAny>> {
        let grid = self.worker.ask(py, move |simulation| simulation.level(&name, level))?;
        arrays::array(py, grid)
    }

    /// A copy of it in the memory of the GPU.
    fn _level_on_device(
        &self,
        py: Python<'_>,
        name: String,
        level: usize,
    ) -> PyResult<DeviceArray> {
        let grid = self.worker.ask(py, move |own| own.level_on_device(&name, level))?;
        Ok(DeviceArray::new(grid))
    }

    /// Gives a field other values, so many steps before now; an array of a GPU stays there where that is possible.
    fn _set(
        &self,
        py: Python<'_>,
        name: String,
        level: usize,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        match arrays::ArrayInput::read(values)? {
            arrays::ArrayInput::Host(array) => {
                let grid = array.grid()?;
                self.worker.ask(py, move |own| own.set_level(&name, level, grid))
            }
            arrays::ArrayInput::Array(ImportedArray { array, capsule }) => {
                let set = move |own: &mut Simulation| match level {
                    0 => own.set_field_array(&name, &array),
                    _ => own.set_level_array(&name, level, &array),
                };
                let done = self.worker.ask(py, set);
                // The producer kept the array until here.
                drop(capsule);
                done
            }
        }
    }

    /// Takes steps, asks a function how a number changes with what they left, and goes back over them.
    fn _gradient<'py>(
        &self,
        py: Python<'py>,
        steps: &Bound<'_, PyAny>,
        misfit: Py<PyAny>,
        by: gradient::GradientOptions,
        keeping: gradient::StateStorage,
    ) -> PyResult<Bound<'py, PyDict>> {
        let steps = count("steps", steps, 0)?;
        let by = gradient::by(by, keeping).map_err(|error| errors::raised(py, &error))?;
        gradient::gradient(py, &self.worker, (steps, by), misfit)
    }

    /// All that is needed to go on from here.
    fn _state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        state::written(py, self.worker.ask(py, Simulation::state)?)
    }

    /// Keeps all that is needed to go on in a file.
    fn _checkpoint(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.worker.ask(py, move |simulation| simulation.checkpoint(&path))
    }

    /// Goes on from such a file.
    fn _resume(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.worker.ask(py, move |simulation| simulation.resume(&path))
    }

    /// Writes fields as they are now; the names of the files.
    #[pyo3(signature = (path, fields, slice, stride, look))]
    fn _save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        fields: Option<Vec<String>>,
        slice: Option<String>,
        stride: &Bound<'_, PyAny>,
        look: (Bound<'_, PyAny>, String),
    ) -> PyResult<Vec<PathBuf>> {
        let (colours, range) = look;
        let parsed =
            |name: &str, wrong: String| errors::input(py, &format!("{name}: {wrong}"), help::SAVED);
        let slice: Option<Slice> = slice
            .map(|slice| slice.parse().map_err(|wrong: String| parsed("slice", wrong)))
            .transpose()?;
        let range = range.parse().map_err(|wrong: String| parsed("range", wrong))?;
        let look = PictureStyle { colours: named("colours", &colours)?, range };
        let stride = count("stride", stride, 1)?;
        let wanted = SaveRequest { path, slice, stride, fields, look };
        self.worker.ask(py, move |simulation| simulation.save(&wanted))
    }

    /// The rows of totals.
    fn _series(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let rows = self.worker.ask(py, |simulation| Ok(simulation.series().to_vec()))?;
        state::rows(py, rows)
    }

    /// The names of its fields; that of a stencil is `u`.
    ///
    ///     >>> import stencil
    ///     >>> stencil.System("gray-scott", size=(32, 48), engine="cpu").fields
    ///     ['u', 'v']
    #[getter]
    fn fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.worker
            .ask(py, |simulation| Ok(simulation.fields().into_iter().map(str::to_owned).collect()))
    }

    /// A copy of a field as it is now: an array of numpy, or with `device="cuda"` a `DeviceArray`. The first field, if none
    /// is named.
    ///
    /// Its shape is that of the grid, the slowest axis first, its type that in which values are stored. Raises `InputError`
    /// for a name that no field has, `NotFiniteError` for values that are infinite or not a number, `DeviceError` where there
    /// is no GPU for `device="cuda"`.
    ///
    ///     >>> import numpy as np, stencil
    ///     >>> rod = stencil.Simulation(np.array([0.25, 0.5, 0.25]), np.array([0.0, 0, 16, 0, 0]))
    ///     >>> rod.step()
    ///     >>> rod.field().tolist()
    ///     [0.0, 4.0, 8.0, 4.0, 0.0]
    #[pyo3(signature = (name = None, device = "cpu"), text_signature = "($self, name=None, device=\"cpu\")")]
    fn field(&self, py: Python<'_>, name: Option<String>, device: &str) -> PyResult<Py<PyAny>> {
        let first =
            |own: &Simulation| own.fields().first().map_or_else(String::new, |it| (*it).to_owned());
        let name = match name {
            Some(name) => name,
            None => self.worker.ask(py, move |own| Ok(first(own)))?,
        };
        match device {
            "cpu" => {}
            "cuda" => {
                let grid = self.worker.ask(py, move |own| own.field_on_device(&name))?;
                return Ok(DeviceArray::new(grid).into_pyobject(py)?.into_any().unbind());
            }
            other => {
                let known = ["cpu", "cuda"].map(str::to_owned).to_vec();
                let error = UnknownName { name: other.to_owned(), known };
                return Err(errors::unknown(py, "device", &error));
            }
        }
        let grid = self.worker.ask(py, move |simulation| simulation.field(&name))?;
        arrays::array(py, grid)
    }

    /// What receivers recorded: a row for the start and for each step, the time and the value at each receiver. A stencil has
    /// none.
    ///
    /// An array of float64 with two axes, of which the first column is the time. Where a field or a parameter was changed
    /// between steps, the row of that step is of before.
    ///
    ///     >>> import stencil
    ///     >>> falling = stencil.System({
    ///     ...     "grid": {"size": [4]}, "fields": {"u": {"start": "x", "next": "u/2"}},
    ///     ...     "receivers": [{"field": "u", "at": [1]}, {"field": "u", "at": [3]}],
    ///     ... })
    ///     >>> falling.step()
    ///     >>> falling.records().tolist()
    ///     [[0.0, 1.0, 3.0], [1.0, 0.5, 1.5]]
    fn records(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let rows = self.worker.ask(py, |simulation| Ok(simulation.records().to_vec()))?;
        state::rows(py, rows)
    }

    /// The totals of a system as the values are now: a dict of numbers by name. A stencil has none.
    ///
    ///     >>> import stencil
    ///     >>> falling = stencil.System({
    ///     ...     "grid": {"size": [4]}, "fields": {"u": {"start": "x", "next": "u/2"}}, "totals": {"mass": "sum(u)"},
    ///     ... })
    ///     >>> falling.totals()
    ///     {'mass': 6.0}
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.worker.ask(py, Simulation::totals)?.into_py_dict(py)
    }

    /// What computes, and how fast: a dict, as `host run --json` writes it.
    ///
    ///     >>> import numpy as np, stencil
    ///     >>> report = stencil.Simulation("star1d1r", np.ones(8), engine="cpu").report()
    ///     >>> report["engine"], report["shape"], report["steps"]
    ///     ('cpu', [8], 0)
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let report = self.worker.ask(py, |simulation| Ok(simulation.report()))?;
        value(py, &report)
    }

    /// The report as text.
    fn _report_text(&self, py: Python<'_>) -> PyResult<String> {
        self.worker.ask(py, |simulation| Ok(simulation.report().to_string()))
    }
}
