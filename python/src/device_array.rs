// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stencil.DeviceArray`: a result in the memory of a GPU, for torch, CuPy and whoever else takes arrays by DLPack or
//! `__cuda_array_interface__`.

use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyCapsule, PyDict, PyTuple};
use stencil::Dtype;
use stencil::device::{DeviceBytes, DeviceGrid};
use stencil::filter::ValueType;

use crate::dlpack::{self, CUDA, ExportedArray};
use crate::{arrays, worker};

/// An array in the memory of a GPU, in C order: a copy of a field, or what a filter gave.
///
/// It is ready when anybody has this, so that any stream may read it at once. Its memory lives as long as it, or anything
/// that was made of it.
///
///     >>> tensor = torch.from_dlpack(simulation.field(device="cuda"))  # doctest: +SKIP
#[pyclass(frozen, module = "stencil._stencil")]
pub struct DeviceArray {
    memory: Arc<DeviceBytes>,
    extents: Vec<usize>,
    kind: ValueType,
}

impl DeviceArray {
    /// A copy of a field.
    pub fn new(grid: DeviceGrid) -> Self {
        let kind = match grid.dtype() {
            Dtype::F16 => ValueType::F16,
            Dtype::Bf16 => ValueType::BF16,
            Dtype::Tf32 | Dtype::F32 => ValueType::F32,
            Dtype::F64 => ValueType::F64,
        };
        let extents = grid.shape().axes().to_vec();
        Self::of(grid.into_bytes(), extents, kind)
    }

    /// Values in C order.
    pub fn of(memory: DeviceBytes, extents: Vec<usize>, kind: ValueType) -> Self {
        Self { memory: Arc::new(memory), extents, kind }
    }
}

#[pymethods]
impl DeviceArray {
    /// Its extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.extents)
    }

    /// The name of the type of its values, as numpy and torch have it.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.kind.name()
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
            owner: Arc::clone(&self.memory),
            address: self.memory.address(),
            device: own,
            extents: self.extents.clone(),
            dtype: self.kind.of_dlpack(),
        };
        dlpack::capsule(py, given, max_version)
    }

    /// DLPack's numbers of the kind of device, and of the GPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CUDA, self.memory.gpu())
    }

    /// For CuPy, numba and others. It has no bfloat16.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Some(kind) = self.kind.of_numpy() else {
            let text = "__cuda_array_interface__ has no bfloat16: take it by DLPack";
            return Err(pyo3::exceptions::PyAttributeError::new_err(text));
        };
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (self.memory.address(), false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", py.None())?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }

    /// An array of numpy with the same values; of bfloat16 one of the package `ml_dtypes`, or of float32 without it.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let memory = Arc::clone(&self.memory);
        let bytes = worker::once(py, move |_| memory.download())?;
        let numpy = py.import("numpy")?;
        let bits = PyByteArray::new(py, &bytes);
        let raw = self.kind.of_numpy().unwrap_or("<u2");
        let array = numpy.call_method1("frombuffer", (bits, raw))?;
        let array = array.call_method1("reshape", (PyTuple::new(py, &self.extents)?,))?;
        if self.kind == ValueType::BF16 { arrays::of_bf16(&array) } else { Ok(array) }
    }

    fn __repr__(&self) -> String {
        let extents: Vec<String> = self.extents.iter().map(usize::to_string).collect();
        let gpu = self.memory.gpu();
        format!("stencil.DeviceArray({}, {}, GPU {gpu})", extents.join("x"), self.dtype())
    }
}
