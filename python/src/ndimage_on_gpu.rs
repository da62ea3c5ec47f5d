// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `stencil.ndimage` computes of arrays of a GPU: by kernels that read an array where it lies, and write another one. They,
//! and the tables of what was filtered last, are kept by the process.
//!
//! Where the streams of both arrays are known, a filter is queued between their work and nobody waits. Else it waits for all work of
//! the GPU, and its caller for the filter.

#![allow(unsafe_code, reason = "arrays that other libraries own")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use stencil::Error;
use stencil::device::cuda::{CurrentContext, give_back, synchronise};
use stencil::device::{DeviceBytes, Gpu};
use stencil::filter::{FilterOnDevice, ValueType};
use tiles::filter::Filter;

use crate::device_array::DeviceArray;
use crate::dlpack::{self, ArrayDescription, CUDA};
use crate::errors;

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
    kind: ValueType,
    address: u64,
    is_writable: bool,
    /// The stream that its owner's work on it is in, if that is known.
    stream: Option<u64>,
    /// A copy in C order, if its owner has it otherwise.
    copy: Option<Arc<DeviceBytes>>,
    /// Keeps the array of its owner.
    _capsule: Py<PyCapsule>,
}

#[pymethods]
impl DeviceInput {
    /// Of an array that gives itself by DLPack, or a capsule of one and the stream of its owner's work.
    #[new]
    fn new(array: &Bound<'_, PyAny>, stream: Option<u64>) -> PyResult<Self> {
        let py = array.py();
        let described = match array.cast::<PyCapsule>() {
            Ok(capsule) => dlpack::read(capsule)?,
            Err(_) => dlpack::describe(array, array.call_method0("__dlpack_device__")?.extract()?)?,
        };
        let ArrayDescription { device, address, extents, strides, dtype, is_writable, capsule } =
            described;
        if device.0 != CUDA {
            let text = format!("an array on device {device:?} of DLPack is none of a GPU");
            return Err(errors::input(py, &text, "give an array that lies on a CUDA device"));
        }
        let number = device.1;
        let (code, bits, lanes) = dtype;
        let known = ValueType::from_dlpack((code, bits)).filter(|_| lanes == 1);
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
            // SAFETY: the producer gave such an array, which the capsule keeps; a copy waits for all work of the GPU.
            unsafe { DeviceBytes::packed(number, address, &at, given.as_deref(), kind.bytes()) }
        };
        let needs_copy = strides.is_some_and(|strides| !is_packed(&extents, &strides));
        if needs_copy && extents.len() > 3 {
            let text = format!("an array of {} axes that does not lie in C order", extents.len());
            return Err(errors::input(py, &text, CONTIGUOUS));
        }
        let copy = if needs_copy || number != 0 { filters(py, pack)? } else { None };
        let address = copy.as_ref().map_or(address, DeviceBytes::address);
        Ok(Self {
            extents,
            kind,
            address,
            is_writable,
            stream,
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

    /// Whether it has memory in common with another one.
    fn overlaps(&self, other: &Self) -> bool {
        let range = |of: &Self| {
            let bytes = of.extents.iter().product::<usize>() * of.kind.bytes();
            (of.address, of.address + bytes as u64)
        };
        let ((begin, end), (from, to)) = (range(self), range(other));
        begin < to && from < end
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
    kept: Vec<(Arc<Filter>, [ValueType; 2], FilterOnDevice)>,
    /// For values between two steps of a filter. Steps follow one another on the GPU, so that all filters share it.
    between: Option<DeviceBytes>,
}

/// The filters that the process keeps.
struct FilterCache(Filters);

// SAFETY: whatever it shares with others lies in it, and it is used by one thread at a time, whose context is the GPU's meanwhile.
unsafe impl Send for FilterCache {}

/// Nobody waits for it, or has it, together with Python's lock: work of a GPU may wait for functions of Python.
static KEPT: Mutex<Option<FilterCache>> = Mutex::new(None);
/// The process that has the GPU, or is about to; 0 while there is none.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Does something with the GPU's filters, in this thread, without Python's lock.
fn filters<R: Send>(
    py: Python<'_>,
    task: impl FnOnce(&mut Filters) -> Result<R, Error> + Send,
) -> PyResult<R> {
    let own = std::process::id();
    let owner = PROCESS.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
    if owner.is_err_and(|owner| owner != own) {
        // A thread of the parent may have had it locked when the process was copied.
        let text = "this process is a copy by fork of one that used the GPU, which CUDA does not allow\n\
             help: start processes by spawn, as by multiprocessing.set_start_method(\"spawn\"), or filter arrays of the host here";
        return Err(PyRuntimeError::new_err(text));
    }
    py.detach(|| using(task)).map_err(|error| errors::raised(py, &error))
}

fn using<R>(task: impl FnOnce(&mut Filters) -> Result<R, Error>) -> Result<R, Error> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let opened =
        || Ok((CurrentContext::new()?, if kept.is_none() { Some(Gpu::open()?) } else { None }));
    let (_here, gpu) = opened().inspect_err(|_: &Error| {
        if kept.is_none() {
            PROCESS.store(0, Ordering::Relaxed);
        }
    })?;
    if let Some(gpu) = gpu {
        *kept = Some(FilterCache(Filters { gpu, kept: Vec::new(), between: None }));
    }
    let FilterCache(filters) = kept.as_mut().expect("it was made");
    task(filters)
}

impl Filters {
    /// Queues a filter of an array at an address into one at another. What is not ordered by the arrays' streams has to be waited for:
    /// before it, all work of the GPU, and after it, the GPU.
    ///
    /// # Safety
    /// The contract of [`FilterOnDevice::queue`], for these extents and types; streams are those of the GPU's context.
    unsafe fn run(
        &mut self,
        filter: &Arc<Filter>,
        kinds: [ValueType; 2],
        [from, to]: [u64; 2],
        streams: &[u64],
    ) -> Result<(), Error> {
        self.prepare(filter, kinds)?;
        let wanted = self.kept.last().map_or(0, |(.., prepared)| prepared.between());
        if self.between.as_ref().map_or(0, DeviceBytes::bytes) < wanted {
            // The driver waits for the work that uses it.
            self.between = None;
            self.between = Some(self.memory(wanted, DeviceBytes::allocate)?);
        }
        if streams.is_empty() {
            // Whatever others may still do with memory that is used again, or is read.
            synchronise()?;
        }
        let Some((.., prepared)) = self.kept.last() else { return Ok(()) };
        let at = self.between.as_ref().map_or(0, DeviceBytes::address);
        // SAFETY: as the caller promises.
        unsafe {
            streams.iter().try_for_each(|stream| self.gpu.wait_for_stream(*stream))?;
            prepared.queue(&self.gpu, [from, to], at)?;
            streams.iter().try_for_each(|stream| self.gpu.let_stream_wait(*stream))?;
        }
        Ok(())
    }

    /// Makes a filter the one that was used last.
    fn prepare(&mut self, filter: &Arc<Filter>, kinds: [ValueType; 2]) -> Result<(), Error> {
        let is_it = |kept: &Arc<Filter>| Arc::ptr_eq(kept, filter) || kept == filter;
        let known = self.kept.iter().position(|(kept, own, _)| *own == kinds && is_it(kept));
        if let Some(at) = known {
            self.kept[at..].rotate_left(1);
            return Ok(());
        }
        let prepared = match FilterOnDevice::new(&self.gpu, filter, kinds) {
            Err(Error::GpuFull { .. }) => {
                self.kept.clear();
                give_back();
                FilterOnDevice::new(&self.gpu, filter, kinds)?
            }
            other => other?,
        };
        self.kept.push((Arc::clone(filter), kinds, prepared));
        let bytes = |kept: &[(Arc<Filter>, [ValueType; 2], FilterOnDevice)]| {
            kept.iter().map(|it| it.2.table_bytes()).sum::<usize>()
        };
        while self.kept.len() > 1 && (self.kept.len() > MOST || bytes(&self.kept) > MOST_BYTES) {
            self.kept.remove(0);
        }
        Ok(())
    }

    /// Memory for a result, or for values between two.
    fn memory(
        &mut self,
        bytes: usize,
        make: fn(usize) -> Result<DeviceBytes, Error>,
    ) -> Result<DeviceBytes, Error> {
        match make(bytes) {
            Err(Error::GpuFull { .. }) => {
                // The one that is about to be used stays.
                let last = self.kept.len().saturating_sub(1);
                self.kept.drain(..last);
                give_back();
                make(bytes)
            }
            other => other,
        }
    }
}

/// A filter, which the process may keep the tables of.
#[pyclass(frozen, module = "stencil._stencil")]
pub struct DeviceFilter {
    filter: Arc<Filter>,
}

#[pymethods]
impl DeviceFilter {
    /// The arguments are those of `filter`, without the arrays.
    #[new]
    fn new(
        folded: ([usize; 4], usize),
        outside: ([String; 3], f64),
        stages: Vec<super::ndimage::GivenStage>,
    ) -> PyResult<Self> {
        let filter = super::ndimage::filter_of(folded, outside, stages)?;
        Ok(Self { filter: Arc::new(filter) })
    }
}

/// Filters an array of a GPU into another one, or a new one of a type.
#[pyfunction]
#[pyo3(signature = (input, output, dtype, filter))]
pub fn filter_on_gpu(
    py: Python<'_>,
    input: &DeviceInput,
    output: Option<&DeviceInput>,
    dtype: &str,
    filter: &DeviceFilter,
) -> PyResult<Option<DeviceArray>> {
    let filter = &filter.filter;
    let unknown = || {
        let text = format!("data type {dtype} not supported of arrays of a GPU");
        PyRuntimeError::new_err(text)
    };
    let kind = match output {
        Some(output) => output.kind,
        None => ValueType::named(dtype).ok_or_else(unknown)?,
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
            let memory = filters(py, |_| DeviceBytes::allocate(0))?;
            Ok(DeviceArray::of(memory, input.extents.clone(), kind))
        };
        return if output.is_none() { empty().map(Some) } else { Ok(None) };
    }
    let (from, kinds, bytes) = (input.address, [input.kind, kind], points * kind.bytes());
    let overlaps = output.is_some_and(|output| output.overlaps(input));
    let given = output.map(|output| output.address);
    let streams: Option<Vec<u64>> = match output {
        Some(output) if !overlaps => [input.stream, output.stream].into_iter().collect(),
        _ => None,
    };
    let mut streams = streams.unwrap_or_default();
    streams.dedup();
    let (known, waits) = (streams.clone(), streams.is_empty());
    let run = move |filters: &mut Filters| {
        let new = match given {
            Some(_) if !overlaps => None,
            _ => Some(filters.memory(bytes, DeviceBytes::reused)?),
        };
        let to = new.as_ref().map(DeviceBytes::address).or(given).unwrap_or(0);
        // SAFETY: both arrays have as many values of their types, in C order, and do not overlap. Who waits for the end keeps
        // what they are of until then; else their owners use memory again after the work of their streams.
        unsafe { filters.run(filter, kinds, [from, to], &known)? };
        Ok(new)
    };
    let new = filters(py, run)?;
    if waits {
        let end = py.detach(|| CurrentContext::new().and_then(|_here| synchronise()));
        end.map_err(|error| errors::raised(py, &error))?;
    }
    match (new, given) {
        (Some(new), Some(given)) => {
            // SAFETY: both memories have as many bytes, and the sum that used them has ended.
            let copied = py.detach(|| unsafe { new.copy_to(given, bytes) });
            copied.map(|()| None).map_err(|error| errors::raised(py, &error))
        }
        (new, _) => Ok(new.map(|new| DeviceArray::of(new, input.extents.clone(), kind))),
    }
}
