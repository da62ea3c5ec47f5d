// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays of numpy: read and written where they lie, or as grids. A grid owns its values, so it is a copy of an array; the
//! array that is given back takes the grid's memory over.
//!
//! Arrays of a GPU are not copied to the host (`dlpack.rs`).
//!
//! numpy itself has no bf16. Arrays of it are of the package `ml_dtypes`; where that is not installed, they are given
//! back as f32, which holds each of their values.

use bytemuck::Pod;
use half::{bf16, f16};
use numpy::{
    Element, IntoPyArray, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyTuple};
use stencil::{Dtype, Grid, Shape, Values, with_dtype};

use crate::dlpack::{self, ImportedArray};
use crate::{errors, help};

/// The values to start from.
pub enum ArrayInput<'py> {
    /// Where they lie on the host.
    Host(HostArray<'py>),
    /// Where they lie on a GPU.
    Array(ImportedArray),
}

impl<'py> ArrayInput<'py> {
    /// What is given: an array of a GPU, by DLPack, or whatever numpy takes for an array.
    pub fn read(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        if !array.is_exact_instance_of::<PyUntypedArray>() && array.hasattr("__dlpack_device__")? {
            let device: (i32, i32) = array.call_method0("__dlpack_device__")?.extract()?;
            if device.0 == dlpack::CUDA {
                return Ok(Self::Array(dlpack::take(array, device)?));
            }
        }
        Ok(Self::Host(HostArray::read(array, "the array")?))
    }
}

/// A stored type, and the type of numpy whose arrays hold its bits.
pub trait StoredType: stencil::values::Element {
    type Raw: Element + Pod;
}

impl StoredType for f16 {
    type Raw = Self;
}

impl StoredType for bf16 {
    type Raw = u16;
}

impl StoredType for f32 {
    type Raw = Self;
}

impl StoredType for f64 {
    type Raw = Self;
}

/// An array of numpy in C order, of a type that is computed with: that which was given, where it is one, or else a copy.
pub struct HostArray<'py> {
    /// Of bf16 the bits.
    array: Bound<'py, PyAny>,
    pub dtype: Dtype,
    pub shape: Shape,
}

impl<'py> HostArray<'py> {
    /// Of whatever numpy takes for an array. Whole numbers become f32, those of four and eight bytes f64. `what` names it in errors.
    pub fn read(array: &Bound<'py, PyAny>, what: &str) -> PyResult<Self> {
        let py = array.py();
        let array = on_the_host(array, what)?;
        let dtype = if array.cast::<PyArrayDyn<f32>>().is_ok() {
            Dtype::F32
        } else if array.cast::<PyArrayDyn<f64>>().is_ok() {
            Dtype::F64
        } else {
            element(&array)?
        };
        let array = match dtype {
            Dtype::F16 => laid_out::<f16>(&array)?,
            Dtype::Bf16 => laid_out::<u16>(&array.call_method1("view", ("uint16",))?)?,
            Dtype::Tf32 | Dtype::F32 => laid_out::<f32>(&array)?,
            Dtype::F64 => laid_out::<f64>(&array)?,
        };
        let extents = array.cast::<PyUntypedArray>()?.shape().to_vec();
        let shape = Shape::new(&extents).map_err(|error| errors::raised(py, &error))?;
        Ok(Self { array, dtype, shape })
    }

    /// Looks at its values.
    ///
    /// # Panics
    /// If they are of another type.
    pub fn values<T: StoredType, R>(&self, look: impl FnOnce(&[T]) -> R) -> PyResult<R> {
        let array = self.array.cast::<PyArrayDyn<T::Raw>>().expect("an array of its type");
        let read =
            array.try_readonly().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(look(bytemuck::cast_slice(read.as_slice()?)))
    }

    /// A copy of its values.
    pub fn grid(&self) -> PyResult<Grid> {
        let values = with_dtype!(self.dtype, T => self.values(<[T]>::to_vec)?.into());
        Ok(Grid { shape: self.shape, values })
    }
}

/// A copy of whatever numpy takes for an array, which `what` names in errors.
pub fn grid(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Grid> {
    HostArray::read(array, what)?.grid()
}

/// The rows of an array of two axes.
pub fn rows(grid: &Grid) -> Vec<Vec<f64>> {
    let [_, count, long] = grid.shape.extents();
    (0..count).map(|row| (0..long).map(|at| grid.get(row * long + at)).collect()).collect()
}

/// The type that an array of numpy is computed in.
fn element(array: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    let dtype = array.getattr("dtype")?;
    let name: String = dtype.getattr("name")?.extract()?;
    let kind: char = dtype.getattr("kind")?.extract()?;
    Ok(match &*name {
        "float16" => Dtype::F16,
        "float32" => Dtype::F32,
        "float64" => Dtype::F64,
        "bfloat16" => Dtype::Bf16,
        _ if matches!(kind, 'b' | 'i' | 'u') => {
            match dtype.getattr("itemsize")?.extract::<usize>()? {
                // f32 holds every whole number of two bytes, as it does where files have them.
                1..=2 => Dtype::F32,
                _ => Dtype::F64,
            }
        }
        other => {
            let text = format!("an array of {other} has no values to compute with");
            return Err(errors::input(array.py(), &text, help::DTYPE));
        }
    })
}

/// The array, or where it is of another type or order of bytes or values a copy that is not.
fn laid_out<'py, T: Element>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(array) = array.cast::<PyArrayDyn<T>>()
        && array.is_c_contiguous()
        && array.data().is_aligned()
    {
        return Ok(array.clone().into_any());
    }
    let py = array.py();
    // One of Fortran's order would keep it.
    let order = [("order", "C")].into_py_dict(py)?;
    py.import("numpy")?.call_method("array", (array, numpy::dtype::<T>(py)), Some(&order))
}

/// An array of numpy in C order of so many values of one type, written by `fill`, which is not told what is there before.
pub fn filled<'py, T: StoredType, R>(
    py: Python<'py>,
    extents: &[usize],
    fill: impl FnOnce(&mut [T]) -> PyResult<R>,
) -> PyResult<Py<PyAny>> {
    let wanted = numpy::dtype::<T::Raw>(py);
    let shape = PyTuple::new(py, extents)?;
    let array = py.import("numpy")?.call_method1("empty", (shape, wanted))?;
    let array = array.cast_into::<PyArrayDyn<T::Raw>>().map_err(PyErr::from)?;
    fill(bytemuck::cast_slice_mut(array.readwrite().as_slice_mut()?))?;
    if T::DTYPE != Dtype::Bf16 {
        return Ok(array.into_any().unbind());
    }
    Ok(of_bf16(array.as_any())?.unbind())
}

/// An array of bf16 by its bits: of the package `ml_dtypes`, or else of f32.
pub fn of_bf16<'py>(bits: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match bits.py().import("ml_dtypes") {
        Ok(types) => bits.call_method1("view", (types.getattr("bfloat16")?,)),
        // Shifted up, the bits are those of an f32.
        Err(_) => {
            let bits = bits.call_method1("astype", ("uint32",))?;
            let bits = bits.call_method1("__lshift__", (16u32,))?;
            bits.call_method1("view", ("float32",))
        }
    }
}

/// An array of numpy with the same values, and where it can be with the same memory: see `stencil/_arrays.py`.
fn on_the_host<'py>(array: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyAny>> {
    if array.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    array.py().import("stencil._arrays")?.call_method1("on_host", (what, array))
}

/// An array of a grid for those who may lack `ml_dtypes`: of bf16 in f32, which holds each of its values.
pub fn kept(py: Python<'_>, grid: Grid) -> PyResult<Py<PyAny>> {
    let Grid { shape, values } = grid;
    match values {
        Values::Bf16(values) => {
            shaped::<f32>(py, values.into_iter().map(f32::from).collect(), shape.axes())
        }
        values => array(py, Grid { shape, values }),
    }
}

/// An array of a grid, without a copy, but for bf16 without `ml_dtypes`.
pub fn array(py: Python<'_>, grid: Grid) -> PyResult<Py<PyAny>> {
    let Grid { shape, values } = grid;
    let extents = shape.axes();
    match values {
        Values::F16(values) => shaped(py, values, extents),
        Values::F32(values) => shaped(py, values, extents),
        Values::F64(values) => shaped(py, values, extents),
        Values::Bf16(values) => match py.import("ml_dtypes") {
            Ok(types) => {
                let bits = shaped(py, bytemuck::cast_vec::<bf16, u16>(values), extents)?;
                bits.call_method1(py, "view", (types.getattr("bfloat16")?,))
            }
            Err(_) => kept(py, Grid { shape, values: Values::Bf16(values) }),
        },
    }
}

/// An array of f64 numbers.
pub fn shaped<T: Element>(
    py: Python<'_>,
    values: Vec<T>,
    extents: &[usize],
) -> PyResult<Py<PyAny>> {
    Ok(values.into_pyarray(py).reshape(extents)?.into_any().unbind())
}
