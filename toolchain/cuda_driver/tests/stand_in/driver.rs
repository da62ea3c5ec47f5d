// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stands for NVIDIA's driver in tests: its device memory is the host's, and it has three kernels: `add`,
//! `fail`, and `extents`, which writes down how it was launched. `rustc --crate-type=cdylib` makes a library of it.

#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

type Handle = *mut c_void;

/// The first device's context; each other device has the next one.
const CONTEXT: usize = 0xc0;
/// The first device.
const DEVICE: c_int = 40;
const MODULE: usize = 0x40;
const ADD: usize = 1;
const FAIL: usize = 2;
const EXTENTS: usize = 3;

/// What was made in which context, and not given back.
static MADE: Mutex<Vec<(u64, usize)>> = Mutex::new(Vec::new());
/// Contexts, once for each time that they were retained and not released.
static RETAINED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static MOST_SHARED: AtomicU32 = AtomicU32::new(48 << 10);
/// How many events were made.
#[cfg(not(own_events))]
static EVENTS: AtomicU32 = AtomicU32::new(1);
/// The failure of a kernel, which the next call reports.
static FAILED: AtomicU32 = AtomicU32::new(0);
thread_local! {
    /// The contexts that the thread has entered, the current one last.
    static ENTERED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The context that is current, or 0.
pub fn current() -> usize {
    ENTERED.with_borrow(|entered| entered.last().copied().unwrap_or(0))
}

pub fn status() -> u32 {
    match current() {
        0 => 201,
        context if !RETAINED.lock().unwrap().contains(&context) => 709,
        _ => FAILED.swap(0, Relaxed),
    }
}

/// Notes what is made in the current context, if there is one.
pub fn make(handle: u64) -> u32 {
    let status = status();
    if status == 0 {
        MADE.lock().unwrap().push((handle, current()));
    }
    status
}

/// Takes back what was made in the current context.
pub fn take(handle: u64) -> u32 {
    let status = status();
    let mut made = MADE.lock().unwrap();
    match made.iter().position(|&thing| thing == (handle, current())) {
        Some(at) => {
            made.remove(at);
            status
        }
        None if current() == 0 => 201,
        None => 1,
    }
}

fn context(device: c_int) -> usize {
    CONTEXT + (device - DEVICE) as usize
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: u32) -> u32 {
    flags
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> u32 {
    unsafe { *version = 13000 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(status: u32, text: *mut *const c_char) -> u32 {
    let known = match status {
        1 => c"from the library",
        _ => c"another error",
    };
    unsafe { *text = known.as_ptr() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> u32 {
    unsafe { *count = 1 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> u32 {
    unsafe { *device = DEVICE + ordinal };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int) -> u32 {
    assert!(bytes >= 8 && device == DEVICE);
    unsafe { name.copy_from(c"Stand-In".as_ptr(), 9) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _: c_int) -> u32 {
    unsafe { *value = if attribute == 75 { 8 } else { 9 } };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(to: *mut Handle, device: c_int) -> u32 {
    RETAINED.lock().unwrap().push(context(device));
    unsafe { *to = context(device) as Handle };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> u32 {
    let (context, mut retained) = (context(device), RETAINED.lock().unwrap());
    let at = retained.iter().position(|&one| one == context).expect("it was retained");
    retained.remove(at);
    let outlives = |&(_, of): &(u64, usize)| of == context && !retained.contains(&context);
    assert!(!MADE.lock().unwrap().iter().any(outlives), "what lies in a context outlives it");
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: Handle) -> u32 {
    ENTERED.with_borrow_mut(|entered| {
        entered.pop();
        entered.push(context as usize);
    });
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPushCurrent_v2(context: Handle) -> u32 {
    ENTERED.with_borrow_mut(|entered| entered.push(context as usize));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut Handle) -> u32 {
    match ENTERED.with_borrow_mut(Vec::pop) {
        Some(popped) => unsafe { *context = popped as Handle },
        None => return 201,
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> u32 {
    status()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut Handle,
    image: *const c_char,
    count: u32,
    options: *const c_int,
    values: *const Handle,
) -> u32 {
    let ptx = unsafe { CStr::from_ptr(image) };
    if !ptx.to_bytes().starts_with(b".version") {
        assert!(count == 2 && unsafe { (*options, *options.add(1)) } == (5, 6));
        let (log, size) = unsafe { ((*values).cast::<c_char>(), *values.add(1) as usize) };
        assert!(size > 40);
        unsafe { log.copy_from(c"ptxas fatal: no version".as_ptr(), 24) };
        return 218;
    }
    unsafe { *module = MODULE as Handle };
    make(MODULE as u64)
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: Handle) -> u32 {
    take(module as u64)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> u32 {
    assert_eq!(module as usize, MODULE);
    let found = match unsafe { CStr::from_ptr(name) }.to_str() {
        Ok("add") => ADD,
        Ok("fail") => FAIL,
        Ok("extents") => EXTENTS,
        _ => return 500,
    };
    unsafe { *function = found as Handle };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(_: Handle, attribute: c_int, value: c_int) -> u32 {
    assert_eq!(attribute, 8);
    if value > 227 << 10 {
        return 1;
    }
    MOST_SHARED.store(value as u32, Relaxed);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    _stream: Handle,
    parameters: *const *const c_void,
    extra: *mut u32,
) -> u32 {
    match function as usize {
        ADD if shared_bytes <= MOST_SHARED.load(Relaxed) => unsafe {
            assert_eq!((grid_y, grid_z, block_y, block_z), (1, 1, 1, 1));
            let a: *const f32 = **parameters.cast::<*const *const f32>();
            let b: *const f32 = **parameters.add(1).cast::<*const *const f32>();
            let out: *mut f32 = **parameters.add(2).cast::<*const *mut f32>();
            let n = **parameters.add(3).cast::<*const u32>();
            assert!(grid_x * block_x >= n);
            for i in 0..n as usize {
                *out.add(i) = *a.add(i) + *b.add(i);
            }
        },
        ADD => return 1,
        EXTENTS => unsafe {
            let to: *mut u32 = **parameters.cast::<*const *mut u32>();
            let extents = [grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes];
            to.copy_from(extents.as_ptr(), extents.len());
        },
        FAIL => FAILED.store(700, Relaxed),
        // A call that only looks whether its last argument arrives.
        _ => unsafe { *extra = 7 },
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> u32 {
    if bytes == 0 {
        return 1;
    }
    if bytes > 1 << 40 {
        return 2;
    }
    let memory = vec![0xffu8; bytes + 16].leak();
    let start = memory.as_mut_ptr().align_offset(16);
    let start = unsafe { memory.as_mut_ptr().add(start) } as u64;
    unsafe { *address = start };
    make(start)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> u32 {
    take(address)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize) -> u32 {
    unsafe { (to as *mut u8).copy_from(from, bytes) };
    status()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, bytes: usize) -> u32 {
    unsafe { to.copy_from(from as *const u8, bytes) };
    status()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8_v2(to: u64, byte: u8, count: usize) -> u32 {
    unsafe { (to as *mut u8).write_bytes(byte, count) };
    status()
}

/// An event is a number: how many were made before.
#[cfg(not(own_events))]
#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(event: *mut Handle, _flags: u32) -> u32 {
    let number = EVENTS.fetch_add(1, Relaxed);
    unsafe { *event = number as usize as Handle };
    make(number.into())
}

#[cfg(not(own_events))]
#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: Handle) -> u32 {
    take(event as u64)
}

#[cfg(not(own_events))]
#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(_event: Handle, _stream: Handle) -> u32 {
    status()
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(_event: Handle) -> u32 {
    status()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    start: Handle,
    end: Handle,
) -> u32 {
    unsafe { *milliseconds = (end as usize - start as usize) as f32 };
    status()
}

/// How much is not given back; the driver has no such function.
#[unsafe(no_mangle)]
extern "C" fn standInLive() -> u32 {
    (MADE.lock().unwrap().len() + RETAINED.lock().unwrap().len()) as u32
}

/// The last name of `cust_raw`.
#[unsafe(no_mangle)]
extern "C" fn cuWaitExternalSemaphoresAsync(_: usize, _: usize, n: u32, _: usize) -> u32 {
    n
}
