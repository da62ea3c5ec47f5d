// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.DeviceArray`: a result in the memory of a GPU, for torch, CuPy and whoever else takes arrays by DLPack or
//! `__cuda_array_interface__`.

use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use stencil::Dtype;
use stencil::device::DeviceGrid;

use crate::dlpack::{self, CUDA, ExportedArray};
use crate::{arrays, worker};

/// A copy of a field in the memory of a GPU, in C order.
///
/// The copy has ended before anybody has this, so that any stream may read it at once. Its memory lives as long as it, or anything
/// that was made of it.
///
///     >>> tensor = torch.from_dlpack(simulation.field(device="cuda"))  # doctest: +SKIP
#[pyclass(frozen, module = "stencil._stencil")]
pub struct DeviceArray {
    grid: Arc<DeviceGrid>,
}

impl DeviceArray {
    pub fn new(grid: DeviceGrid) -> Self {
        Self { grid: Arc::new(grid) }
    }
}

#[pymethods]
impl DeviceArray {
    /// Its extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.grid.shape().axes())
    }

    /// The name of the type of its values, as numpy and torch have it.
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.grid.dtype() {
            Dtype::F16 => "float16",
            Dtype::Bf16 => "bfloat16",
            Dtype::Tf32 | Dtype::F32 => "float32",
            Dtype::F64 => "float64",
        }
    }

    /// A capsule. Whoever takes it over keeps the memory.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Nothing is under way that a stream would have to wait for.
        let _ = stream;
        let own = self.__dlpack_device__();
        if dl_device.is_some_and(|wanted| wanted != own) {
            let text =
                format!("the array lies on device {own:?} and goes to no other: {dl_device:?}");
            return Err(PyBufferError::new_err(text));
        }
        if copy == Some(true) {
            return Err(PyBufferError::new_err("it is given as it lies: copy what you get"));
        }
        let given = ExportedArray {
            owner: Arc::clone(&self.grid),
            address: self.grid.address(),
            device: own,
            extents: self.grid.shape().axes().to_vec(),
            dtype: self.grid.dtype(),
        };
        dlpack::capsule(py, given, max_version)
    }

    /// DLPack's numbers of the kind of device, and of the GPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CUDA, self.grid.gpu())
    }

    /// For CuPy, numba and others. It has no bfloat16.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kind = match self.grid.dtype() {
            Dtype::F16 => "<f2",
            Dtype::Tf32 | Dtype::F32 => "<f4",
            Dtype::F64 => "<f8",
            Dtype::Bf16 => {
                let text = "__cuda_array_interface__ has no bfloat16: take it by DLPack";
                return Err(pyo3::exceptions::PyAttributeError::new_err(text));
            }
        };
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (self.grid.address(), false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", py.None())?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }

    /// An array of numpy with the same values.
    fn numpy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let grid = Arc::clone(&self.grid);
        let grid = worker::once(py, move |_| grid.download())?;
        arrays::array(py, grid)
    }

    fn __repr__(&self) -> String {
        let (shape, gpu) = (self.grid.shape(), self.grid.gpu());
        format!("stencil.DeviceArray({shape}, {}, GPU {gpu})", self.dtype())
    }
}
