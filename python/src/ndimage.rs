// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `stencil.ndimage` computes with: weighted sums of an array of numpy, one after the other, written into another.
//! `python/stencil/ndimage/` has the arguments of scipy.

use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stencil::problem::boundary::Side;
use tiles::filter::{Filter, Stage, Term, Value};

use crate::process;

/// Offsets along z, y and x with their weights, whether they lie on one line, and what their sum is divided by.
pub type GivenStage = (Vec<([i32; 3], f64)>, bool, f64);

/// Filters an array into another of as many values, both in C order, of numbers of machines. `folded` has the extents of the
/// array with axes folded, and how many values of the last belong together; `outside` names of modes, one for each axis, and
/// the constant.
#[pyfunction]
pub fn filter(
    py: Python<'_>,
    input: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    folded: ([usize; 4], usize),
    outside: ([String; 3], f64),
    stages: Vec<GivenStage>,
) -> PyResult<()> {
    read(py, &filter_of(folded, outside, stages)?, input, output)
}

/// The filter of such arguments.
pub fn filter_of(
    (extents, step): ([usize; 4], usize),
    (modes, cval): ([String; 3], f64),
    stages: Vec<GivenStage>,
) -> PyResult<Filter> {
    let mut sides = [Side::Zero; 3];
    for (side, mode) in sides.iter_mut().zip(&modes) {
        *side = match &**mode {
            "reflect" => Side::Symmetric,
            "mirror" => Side::Reflect,
            "nearest" => Side::Edge,
            "wrap" => Side::Periodic,
            "constant" => Side::Constant(cval),
            other => return Err(PyValueError::new_err(format!("no mode is named {other}"))),
        };
    }
    let stage = |(terms, is_line, divisor): GivenStage| {
        let terms = terms.into_iter().map(|(offset, weight)| Term { offset, weight }).collect();
        Stage { terms, is_line, divisor }
    };
    Ok(Filter { extents, step, sides, stages: stages.into_iter().map(stage).collect() })
}

/// Does something with an array whose type is one of these.
macro_rules! with_type {
    ($array:expr, $read:ident => $body:expr, [$($type:ty)*]) => {{
        $(if let Ok($read) = $array.cast::<PyArrayDyn<$type>>() {
            return $body;
        })*
        Err(not_known($array))
    }};
}

fn read(
    py: Python<'_>,
    filter: &Filter,
    input: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
) -> PyResult<()> {
    with_type!(input, array => write(py, filter, array.readonly(), output),
        [u8 i8 u16 i16 u32 i32 u64 i64 f32 f64])
}

fn write<I: Element + Value>(
    py: Python<'_>,
    filter: &Filter,
    input: PyReadonlyArrayDyn<'_, I>,
    output: &Bound<'_, PyAny>,
) -> PyResult<()> {
    with_type!(output, array => compute(py, filter, &input, array.readwrite()),
        [u8 i8 u16 i16 u32 i32 u64 i64 f32 f64])
}

fn compute<I: Element + Value, O: Element + Value>(
    py: Python<'_>,
    filter: &Filter,
    input: &PyReadonlyArrayDyn<'_, I>,
    mut output: PyReadwriteArrayDyn<'_, O>,
) -> PyResult<()> {
    let is_ordered = input.is_c_contiguous() && output.is_c_contiguous();
    let points: usize = filter.extents.iter().product();
    if !is_ordered || [input.len(), output.len()] != [points; 2] || filter.stages.is_empty() {
        let text =
            "the arrays are to be in C order, of the extents that are given, and the stages some";
        return Err(PyValueError::new_err(text));
    }
    let (input, output) = (input.as_slice()?, output.as_slice_mut()?);
    without_lock(py, &mut || filter.run(input, output))
}

/// Does something without Python's lock, in the pool of the process. By a reference, since this would else be compiled for each
/// pair of types.
fn without_lock(py: Python<'_>, work: &mut (dyn FnMut() + Send)) -> PyResult<()> {
    let pool = process::pool(py)?;
    py.detach(|| match pool {
        None => work(),
        Some(pool) => pool.install(work),
    });
    Ok(())
}

fn not_known(array: &Bound<'_, PyAny>) -> PyErr {
    let name = array.getattr("dtype").and_then(|dtype| dtype.str().map(|it| it.to_string()));
    let name = name.unwrap_or_else(|_| "another type".into());
    PyValueError::new_err(format!("an array of {name} is not filtered"))
}
