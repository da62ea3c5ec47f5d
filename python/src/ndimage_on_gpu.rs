// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `stencil.ndimage` computes of arrays of a GPU: by kernels that read an array where it lies, and write another one. They,
//! and the tables of what was filtered last, are kept by a thread of the process.

#![allow(unsafe_code, reason = "arrays that other libraries own")]

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use stencil::Error;
use stencil::device::cuda::{give_back, settle};
use stencil::device::{Device, DeviceBytes, Gpu};
use stencil::filter::{Kind, OnDevice};
use tiles::filter::Filter;

use crate::device_array::DeviceArray;
use crate::dlpack::{self, CUDA, Described};
use crate::errors;
use crate::worker::{self, Worker};

/// Filters whose tables are kept, at most.
const MOST: usize = 32;
/// And bytes of those tables, but of the filter used last.
const MOST_BYTES: usize = 256 << 20;
/// How an array comes to lie in C order.
const CONTIGUOUS: &str = "make a copy of it in C order, as by tensor.contiguous()";

/// An array of a GPU, in C order.
#[pyclass(frozen, module = "stencil._stencil")]
pub struct DeviceInput {
    extents: Vec<usize>,
    kind: Kind,
    address: u64,
    is_writable: bool,
    /// A copy in C order, if its owner has it otherwise.
    copy: Option<Arc<DeviceBytes>>,
    /// Keeps the array of its owner.
    _capsule: Py<PyCapsule>,
}

#[pymethods]
impl DeviceInput {
    /// Of an array that gives itself by DLPack.
    #[new]
    fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = array.py();
        let device: (i32, i32) = array.call_method0("__dlpack_device__")?.extract()?;
        if device.0 != CUDA {
            let text = format!("an array on device {device:?} of DLPack is none of a GPU");
            return Err(errors::input(py, &text, "give an array that lies on a CUDA device"));
        }
        let Described { number, address, extents, strides, dtype, is_writable, capsule } =
            dlpack::describe(array, device)?;
        let (code, bits, lanes) = dtype;
        let known = Kind::from_dlpack((code, bits)).filter(|_| lanes == 1);
        let Some(kind) = known else {
            let text = format!(
                "values of DLPack's code {code} of {bits} bits in {lanes} lanes are not filtered"
            );
            return Err(errors::input(py, &text, "convert it on the GPU, as by tensor.float()"));
        };
        if !address.is_multiple_of(kind.bytes() as u64) {
            let text = format!("its values lie at no multiple of their {} bytes", kind.bytes());
            return Err(errors::input(py, &text, CONTIGUOUS));
        }
        let (at, given) = (extents.clone(), strides.clone());
        let pack = move |_: &mut Filters| {
            // SAFETY: the producer gave such an array, which the capsule keeps, after having the default stream wait for
            // its own work on it.
            unsafe { DeviceBytes::packed(number, address, &at, given.as_deref(), kind.bytes()) }
        };
        let needs_copy = strides.is_some_and(|strides| !is_packed(&extents, &strides));
        if needs_copy && extents.len() > 3 {
            let text = format!("an array of {} axes that does not lie in C order", extents.len());
            return Err(errors::input(py, &text, CONTIGUOUS));
        }
        let copy = if needs_copy || number != 0 { filters(py)?.ask(py, pack)? } else { None };
        let address = copy.as_ref().map_or(address, DeviceBytes::address);
        Ok(Self {
            extents,
            kind,
            address,
            is_writable,
            copy: copy.map(Arc::new),
            _capsule: capsule,
        })
    }

    /// Its extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.extents)
    }

    /// The name of the type of its values, as numpy has it.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.kind.name()
    }
}

fn is_packed(extents: &[usize], strides: &[i64]) -> bool {
    let mut packed = 1;
    extents.iter().zip(strides).rev().all(|(extent, stride)| {
        let is_next = *extent < 2 || *stride == packed;
        packed *= *extent as i64;
        is_next
    })
}

/// The GPU, and what is kept of filters, the least recently used first.
struct Filters {
    gpu: Gpu,
    kept: Vec<(Filter, [Kind; 2], OnDevice)>,
}

/// The thread that computes. Whoever has it locked has Python's lock, too, so that no `fork` finds it locked.
static FILTERS: Mutex<Option<Arc<Worker<Filters>>>> = Mutex::new(None);

/// The thread, started by the first who asks.
fn filters(py: Python<'_>) -> PyResult<Arc<Worker<Filters>>> {
    let known = FILTERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(known) = known.filter(|known| known.is_alive()) {
        return Ok(known);
    }
    let started =
        Worker::start(py, |_| Ok(Filters { gpu: Gpu::open()?, kept: Vec::new() })).map(Arc::new)?;
    *FILTERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&started));
    Ok(started)
}

impl Filters {
    /// Filters an array at an address into one at another.
    ///
    /// # Safety
    /// The contract of [`OnDevice::queue`], for these extents and types.
    unsafe fn run(
        &mut self,
        filter: Filter,
        kinds: [Kind; 2],
        [from, to]: [u64; 2],
    ) -> Result<(), Error> {
        self.prepare(filter, kinds)?;
        let between = self.kept.last().map_or(0, |(.., prepared)| prepared.between());
        let between = if between > 0 { Some(self.memory(between)?) } else { None };
        // Whatever others may still do with memory that is used again, or is read.
        settle()?;
        let Some((.., prepared)) = self.kept.last() else { return Ok(()) };
        let at = between.as_ref().map_or(0, DeviceBytes::address);
        // SAFETY: as the caller promises.
        unsafe { prepared.queue(&self.gpu, [from, to], at)? };
        self.gpu.wait()
    }

    /// Makes a filter the one that was used last.
    fn prepare(&mut self, filter: Filter, kinds: [Kind; 2]) -> Result<(), Error> {
        let known = self.kept.iter().position(|(kept, own, _)| (kept, own) == (&filter, &kinds));
        if let Some(at) = known {
            self.kept[at..].rotate_left(1);
            return Ok(());
        }
        let prepared = match OnDevice::new(&self.gpu, &filter, kinds) {
            Err(Error::GpuFull { .. }) => {
                self.kept.clear();
                give_back();
                OnDevice::new(&self.gpu, &filter, kinds)?
            }
            other => other?,
        };
        self.kept.push((filter, kinds, prepared));
        let bytes = |kept: &[(Filter, [Kind; 2], OnDevice)]| {
            kept.iter().map(|it| it.2.table_bytes()).sum::<usize>()
        };
        while self.kept.len() > 1 && (self.kept.len() > MOST || bytes(&self.kept) > MOST_BYTES) {
            self.kept.remove(0);
        }
        Ok(())
    }

    /// Memory for a result, or for values between two.
    fn memory(&mut self, bytes: usize) -> Result<DeviceBytes, Error> {
        match DeviceBytes::reused(bytes) {
            Err(Error::GpuFull { .. }) => {
                // The one that is about to be used stays.
                let last = self.kept.len().saturating_sub(1);
                self.kept.drain(..last);
                DeviceBytes::reused(bytes)
            }
            other => other,
        }
    }
}

/// Filters an array of a GPU into another one, or a new one of a type. The other arguments are those of `filter`.
#[pyfunction]
#[pyo3(signature = (input, output, dtype, folded, outside, stages))]
pub fn filter_on_gpu(
    py: Python<'_>,
    input: &DeviceInput,
    output: Option<&DeviceInput>,
    dtype: &str,
    folded: ([usize; 4], usize),
    outside: ([String; 3], f64),
    stages: Vec<super::ndimage::GivenStage>,
) -> PyResult<Option<DeviceArray>> {
    let filter = super::ndimage::filter_of(folded, outside, stages)?;
    let unknown = || {
        let text = format!("data type {dtype} not supported of arrays of a GPU");
        pyo3::exceptions::PyRuntimeError::new_err(text)
    };
    let kind = match output {
        Some(output) => output.kind,
        None => Kind::named(dtype).ok_or_else(unknown)?,
    };
    if output.is_some_and(|output| !output.is_writable) {
        let text = "output is an array that its owner gives only to be read, or a copy of one";
        return Err(errors::input(py, text, "give an array that may be written to"));
    }
    let points: usize = filter.extents.iter().product();
    let count = |extents: &[usize]| extents.iter().product::<usize>();
    let fits = output.is_none_or(|it| count(&it.extents) == points && it.copy.is_none());
    if count(&input.extents) != points || !fits {
        let text = "the arrays are to be in C order, of the extents that are given";
        return Err(errors::input(py, text, CONTIGUOUS));
    }
    if points == 0 {
        let empty = || {
            let memory = worker::once(py, |_| DeviceBytes::allocate(0))?;
            Ok(DeviceArray::of(memory, input.extents.clone(), kind))
        };
        return if output.is_none() { empty().map(Some) } else { Ok(None) };
    }
    let (from, kinds, bytes) = (input.address, [input.kind, kind], points * kind.bytes());
    let ends = |at: u64, kind: Kind| at + (points * kind.bytes()) as u64;
    let given = output.map(|output| output.address);
    let overlaps = given.is_some_and(|to| to < ends(from, input.kind) && from < ends(to, kind));
    let run = move |filters: &mut Filters| {
        let new = match given {
            Some(_) if !overlaps => None,
            _ => Some(filters.memory(bytes)?),
        };
        let to = new.as_ref().map(DeviceBytes::address).or(given).unwrap_or(0);
        // SAFETY: both arrays have as many values of their types, in C order, and do not overlap. The caller keeps what
        // they are of until there is an answer.
        unsafe {
            filters.run(filter, kinds, [from, to])?;
            match (new, given) {
                (Some(new), Some(given)) => new.copy_to(given, bytes).map(|()| None),
                (new, _) => Ok(new),
            }
        }
    };
    let new = filters(py)?.ask(py, run)?;
    Ok(new.map(|new| DeviceArray::of(new, input.extents.clone(), kind)))
}
