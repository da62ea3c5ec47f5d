// SPDX-License-Identifier: MIT OR Apache-2.0
//! DLPack, the way in which libraries hand each other arrays: a capsule of Python with a structure of C in it, of
//! version 0 (`dltensor`) or 1 (`dltensor_versioned`).
//!
//! What is read is not renamed `used_…`: the capsule keeps its producer's array as long as it lives, and frees it
//! then. What is made keeps its owner until whoever took the capsule over calls `deleter`, or until the capsule goes
//! without anybody having done so.

#![allow(unsafe_code, reason = "the border to the structures that other libraries make, and read")]

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};
use std::slice;

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCapsule};
use stencil::Dtype;
use stencil::device::DeviceArray;

use crate::{errors, help};

/// DLPack's number for memory of an NVIDIA GPU.
pub const CUDA: i32 = 2;
/// The newest version that is understood: later ones of the same first number have the same structures.
pub const VERSION: (u32, u32) = (1, 0);
/// What a consumer on the default stream asks its producer to wait for; `take` copies there.
const DEFAULT_STREAM: usize = 1;

/// Flags of version 1.
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

const OLD: &CStr = c"dltensor";
const NEW: &CStr = c"dltensor_versioned";

#[repr(C)]
struct Device {
    kind: i32,
    number: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    axes: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct UnversionedTensor {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut UnversionedTensor)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct VersionedTensor {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut VersionedTensor)>,
    flags: u64,
    tensor: Tensor,
}

/// An array of a GPU, and the capsule that keeps it.
pub struct ImportedArray {
    pub array: DeviceArray,
    /// Until then the producer keeps the memory.
    pub capsule: Py<PyCapsule>,
}

/// An array of a GPU as its producer describes it.
pub struct ArrayDescription {
    /// Kind and number.
    pub device: (i32, i32),
    pub address: u64,
    pub extents: Vec<usize>,
    /// In values; none of an array in C order.
    pub strides: Option<Vec<i64>>,
    /// DLPack's code, the bits of a value, and its lanes.
    pub dtype: (u8, u8, u16),
    /// Whether the producer has its own array written to: it is none that is only read, and no copy.
    pub is_writable: bool,
    /// Until then the producer keeps the memory.
    pub capsule: Py<PyCapsule>,
}

/// Asks whoever has an array on a GPU for it, once its work on it is ordered before that of the default stream.
pub fn describe(
    array: &Bound<'_, PyAny>,
    (device, number): (i32, i32),
) -> PyResult<ArrayDescription> {
    let py = array.py();
    let named = [("stream", DEFAULT_STREAM)].into_py_dict(py)?;
    named.set_item("max_version", VERSION)?;
    let method = array.getattr("__dlpack__")?;
    let capsule = match method.call((), Some(&named)) {
        // Arrays of a DLPack before version 1 know no other argument than the stream.
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => {
            named.del_item("max_version")?;
            method.call((), Some(&named))?
        }
        other => other?,
    };
    let described = read(&capsule.cast_into::<PyCapsule>().map_err(PyErr::from)?)?;
    let (kind, own) = described.device;
    if (kind, own) != (device, number) {
        let text = format!(
            "the array says that it lies on device {number} of kind {device}, and gives one of device {own} of kind \
             {kind}"
        );
        return Err(errors::input(py, &text, help::TO_HOST));
    }
    Ok(described)
}

/// What a capsule says of the array in it.
pub fn read(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrayDescription> {
    let refused = |text: String| errors::input(capsule.py(), &text, help::TO_HOST);
    let mut flags = 0;
    let tensor = if capsule.is_valid_checked(Some(OLD)) {
        let pointer = capsule.pointer_checked(Some(OLD))?;
        // SAFETY: a capsule of this name has this structure, and keeps it.
        unsafe { &pointer.cast::<UnversionedTensor>().as_ref().tensor }
    } else if capsule.is_valid_checked(Some(NEW)) {
        let pointer = capsule.pointer_checked(Some(NEW))?;
        // SAFETY: a capsule of this name begins with a version, whatever it is.
        let [major, minor] = unsafe { pointer.cast::<[u32; 2]>().read() };
        if major != VERSION.0 {
            return Err(refused(format!(
                "the array is given by DLPack {major}.{minor}, and this takes versions 0 and {}",
                VERSION.0
            )));
        }
        // SAFETY: those of version 1 have this structure; the capsule keeps it.
        let new = unsafe { pointer.cast::<VersionedTensor>().as_ref() };
        flags = new.flags;
        &new.tensor
    } else {
        return Err(refused("what `__dlpack__` gave is no array that nobody has taken yet".into()));
    };
    let DataType { code, bits, lanes } = tensor.dtype;
    let axes = usize::try_from(tensor.axes).unwrap_or(0);
    let all = |values: *const i64| match axes {
        0 => &[],
        // SAFETY: there are as many as axes.
        _ => unsafe { slice::from_raw_parts(values, axes) },
    };
    let extents = all(tensor.shape).iter().map(|extent| usize::try_from(*extent).unwrap_or(0));
    let described = ArrayDescription {
        device: (tensor.device.kind, tensor.device.number),
        address: tensor.data as u64 + tensor.byte_offset,
        extents: extents.collect(),
        strides: (!tensor.strides.is_null()).then(|| all(tensor.strides).to_vec()),
        dtype: (code, bits, lanes),
        is_writable: flags & (READ_ONLY | IS_COPIED) == 0,
        capsule: capsule.clone().unbind(),
    };
    Ok(described)
}

/// An array of a type that steps are computed with.
pub fn take(array: &Bound<'_, PyAny>, device: (i32, i32)) -> PyResult<ImportedArray> {
    let py = array.py();
    let ArrayDescription { address, extents, strides, dtype, capsule, .. } =
        describe(array, device)?;
    let number = device.1;
    let dtype = match dtype {
        (2, 16, 1) => Dtype::F16,
        (2, 32, 1) => Dtype::F32,
        (2, 64, 1) => Dtype::F64,
        (4, 16, 1) => Dtype::Bf16,
        (code, bits, lanes) => {
            let text = format!(
                "an array on a GPU must hold float16, bfloat16, float32 or float64, not values of DLPack's code \
                 {code} of {bits} bits in {lanes} lanes"
            );
            return Err(errors::input(py, &text, "convert it on the GPU, as by tensor.float()"));
        }
    };
    if !(1..=3).contains(&extents.len()) {
        let text = format!("an array has 1 to 3 axes, not {}", extents.len());
        return Err(errors::input(py, &text, help::TO_HOST));
    }
    // SAFETY: the producer gave such an array, which the capsule keeps, after having the default stream wait for its
    // own work on it; whoever has the array besides leaves it alone until it is taken over, as DLPack demands.
    let array = unsafe { DeviceArray::new(number, address, &extents, strides.as_deref(), dtype) };
    let array = array.map_err(|error| errors::raised(py, &error))?;
    Ok(ImportedArray { array, capsule })
}

/// An array to be given away.
pub struct ExportedArray<O> {
    /// Keeps the memory.
    pub owner: O,
    pub address: u64,
    /// DLPack's numbers.
    pub device: (i32, i32),
    pub extents: Vec<usize>,
    /// DLPack's code, and the bits of a value.
    pub dtype: (u8, u8),
}

/// What a structure keeps until it is not needed.
struct CapsuleOwner<O> {
    _owner: O,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// A capsule of an array in C order, of version 1 for consumers that know it.
pub fn capsule<O: Send + 'static>(
    py: Python<'_>,
    given: ExportedArray<O>,
    version: Option<(u32, u32)>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let ExportedArray { owner, address, device: (kind, number), extents, dtype } = given;
    let shape: Vec<i64> = extents.iter().map(|extent| *extent as i64).collect();
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    let mut kept = Box::new(CapsuleOwner { _owner: owner, shape, strides });
    let tensor = Tensor {
        data: ptr::without_provenance_mut(address as usize),
        device: Device { kind, number },
        axes: kept.shape.len() as i32,
        dtype: DataType { code: dtype.0, bits: dtype.1, lanes: 1 },
        shape: kept.shape.as_mut_ptr(),
        strides: kept.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = Box::into_raw(kept).cast();
    if version.is_some_and(|(major, _)| major >= VERSION.0) {
        let deleter = Some(delete_new::<O> as unsafe extern "C" fn(*mut VersionedTensor));
        let version = [VERSION.0, VERSION.1];
        let new = Box::new(VersionedTensor { version, context, deleter, flags: 0, tensor });
        let pointer = NonNull::from(Box::leak(new)).cast();
        // SAFETY: the name says which structure it is; `drop_new` frees it where nobody took it over.
        unsafe { PyCapsule::new_with_pointer_and_destructor(py, pointer, NEW, Some(drop_new)) }
    } else {
        let deleter = Some(delete_old::<O> as unsafe extern "C" fn(*mut UnversionedTensor));
        let old = Box::new(UnversionedTensor { tensor, context, deleter });
        let pointer = NonNull::from(Box::leak(old)).cast();
        // SAFETY: as above.
        unsafe { PyCapsule::new_with_pointer_and_destructor(py, pointer, OLD, Some(drop_old)) }
    }
}

/// The `deleter` of what [`capsule`] makes.
unsafe extern "C" fn delete_old<O>(own: *mut UnversionedTensor) {
    // SAFETY: `capsule` made both boxes, and whoever took the structure over calls this once.
    unsafe {
        let own = Box::from_raw(own);
        drop(Box::from_raw(own.context.cast::<CapsuleOwner<O>>()));
    }
}

/// The `deleter` of a structure of version 1 that [`capsule`] makes.
unsafe extern "C" fn delete_new<O>(own: *mut VersionedTensor) {
    // SAFETY: `capsule` made both boxes, and whoever took the structure over calls this once.
    unsafe {
        let own = Box::from_raw(own);
        drop(Box::from_raw(own.context.cast::<CapsuleOwner<O>>()));
    }
}

/// Frees what nobody took over: whoever did has renamed the capsule.
unsafe extern "C" fn drop_old(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: Python calls this with the capsule, of which a valid name says what it has.
    unsafe {
        if pyo3::ffi::PyCapsule_IsValid(capsule, OLD.as_ptr()) == 0 {
            return;
        }
        let own: *mut UnversionedTensor =
            pyo3::ffi::PyCapsule_GetPointer(capsule, OLD.as_ptr()).cast();
        if let Some(delete) = (*own).deleter {
            delete(own);
        }
    }
}

/// Frees a structure of version 1 that nobody took over: whoever did has renamed the capsule.
unsafe extern "C" fn drop_new(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: Python calls this with the capsule, of which a valid name says what it has.
    unsafe {
        if pyo3::ffi::PyCapsule_IsValid(capsule, NEW.as_ptr()) == 0 {
            return;
        }
        let own: *mut VersionedTensor =
            pyo3::ffi::PyCapsule_GetPointer(capsule, NEW.as_ptr()).cast();
        if let Some(delete) = (*own).deleter {
            delete(own);
        }
    }
}
