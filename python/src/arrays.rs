// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays of numpy as grids, and the reverse. An array is copied once, since a grid owns its values; the array that
//! is given back takes the grid's memory over.
//!
//! Arrays of a GPU are not copied to the host (`dlpack.rs`).
//!
//! numpy itself has no bf16. Arrays of it are of the package `ml_dtypes`; where that is not installed, they are given
//! back as f32, which holds each of their values.

use half::{bf16, f16};
use numpy::{Element, IntoPyArray, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use stencil::{Grid, Values};

use crate::dlpack::{self, ImportedArray};
use crate::{errors, help};

/// The values to start from.
pub enum ArrayInput {
    /// A copy of them.
    Grid(Grid),
    /// Where they lie on a GPU.
    Array(ImportedArray),
}

impl ArrayInput {
    /// What is given: an array of a GPU, by DLPack, or whatever numpy takes for an array.
    pub fn read(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        if array.hasattr("__dlpack_device__")? {
            let device: (i32, i32) = array.call_method0("__dlpack_device__")?.extract()?;
            if device.0 == dlpack::CUDA {
                return Ok(Self::Array(dlpack::take(array, device)?));
            }
        }
        Ok(Self::Grid(grid(array)?))
    }
}

/// A grid of whatever numpy takes for an array. Whole numbers become f32, those of four and eight bytes f64.
pub fn grid(array: &Bound<'_, PyAny>) -> PyResult<Grid> {
    let py = array.py();
    let array = on_the_host(array)?;
    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    let (extents, values) = match &*name {
        "float16" => values::<f16>(&array)?,
        "float32" => values::<f32>(&array)?,
        "float64" => values::<f64>(&array)?,
        "bfloat16" => {
            let (extents, bits) = taken::<u16>(&array.call_method1("view", ("uint16",))?)?;
            (extents, Values::Bf16(bytemuck::cast_vec(bits)))
        }
        _ if is_whole(&array)? => {
            match array.getattr("dtype")?.getattr("itemsize")?.extract::<usize>()? {
                // As of files: f32 holds those of two bytes.
                1..=2 => values::<f32>(&array)?,
                _ => values::<f64>(&array)?,
            }
        }
        other => {
            let text = format!("an array of {other} has no values to compute with");
            return Err(errors::input(py, &text, help::DTYPE));
        }
    };
    Grid::new(&extents, values).map_err(|error| errors::raised(py, &error))
}

/// An array of numpy with the same values, and where it can be with the same memory: of what numpy knows, or of
/// whatever gives its memory by DLPack.
fn on_the_host<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let numpy = py.import("numpy")?;
    if array.hasattr("__dlpack_device__")? && !array.hasattr("__array__")? {
        return numpy.call_method1("from_dlpack", (array,));
    }
    numpy.call_method1("asarray", (array,))
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
            Err(_) => shaped(py, values.into_iter().map(f32::from).collect(), extents),
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

fn is_whole(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
    Ok(matches!(kind, 'b' | 'i' | 'u'))
}

fn values<T: Element + Copy>(array: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Values)>
where
    Values: From<Vec<T>>,
{
    let (extents, values) = taken::<T>(array)?;
    Ok((extents, values.into()))
}

/// The values in C order. Another order of bytes or another type is converted by numpy first.
fn taken<T: Element + Copy>(array: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Vec<T>)> {
    let wanted = numpy::dtype::<T>(array.py());
    let array = array.py().import("numpy")?.call_method1("asarray", (array, wanted))?;
    let array = array.cast_into::<PyArrayDyn<T>>().map_err(PyErr::from)?;
    let read = array.readonly();
    let values = match read.as_slice() {
        // A slice there is of Fortran's order, too.
        Ok(values) if array.is_c_contiguous() => values.to_vec(),
        _ => read.as_array().iter().copied().collect(),
    };
    Ok((array.shape().to_vec(), values))
}
