// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stand-in with what programs of several GPUs call besides. It writes down these calls and does the
//! copies at once.

#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

#[path = "driver.rs"]
mod driver;

use driver::{current, make, status, take};
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

type Handle = *mut c_void;

static CALLS: Mutex<String> = Mutex::new(String::new());
static NEXT_HANDLE: AtomicU32 = AtomicU32::new(0xe1);
static PEERS_ENABLED: AtomicBool = AtomicBool::new(false);
/// Whether the event has been asked for since it was recorded.
static ASKED: AtomicBool = AtomicBool::new(true);

macro_rules! note {
    ($($text:tt)*) => {{
        let mut calls = CALLS.lock().unwrap();
        calls.push_str(&format!($($text)*));
        calls.push('\n');
    }};
}

/// Hands over the calls so far, which are forgotten; the driver has no such function.
#[unsafe(no_mangle)]
unsafe extern "C" fn standInCalls(to: *mut u8, most: usize) -> usize {
    let calls = std::mem::take(&mut *CALLS.lock().unwrap());
    assert!(calls.len() <= most);
    unsafe { to.copy_from(calls.as_ptr(), calls.len()) };
    calls.len()
}

fn new(to: *mut Handle) -> u32 {
    let handle = NEXT_HANDLE.fetch_add(1, Relaxed);
    unsafe { *to = handle as usize as Handle };
    make(handle.into())
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> u32 {
    unsafe { *can = c_int::from(device < peer) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCurrent(context: *mut Handle) -> u32 {
    unsafe { *context = current() as Handle };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxEnablePeerAccess(peer: Handle, flags: u32) -> u32 {
    note!("enable {peer:?} {flags}");
    if PEERS_ENABLED.swap(true, Relaxed) { 704 } else { status() }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: c_int) -> u32 {
    let done = new(stream);
    note!("create {:?} {flags} {priority}", unsafe { *stream });
    done
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: Handle) -> u32 {
    take(stream as u64)
}

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: *mut Handle, flags: u32) -> u32 {
    let done = new(event);
    note!("event {:?} {flags}", unsafe { *event });
    done
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: Handle) -> u32 {
    take(event as u64)
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> u32 {
    note!("record {event:?} {stream:?}");
    ASKED.store(false, Relaxed);
    status()
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(_: Handle) -> u32 {
    if ASKED.swap(true, Relaxed) { status() } else { 600 }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) -> u32 {
    note!("wait {stream:?} {event:?} {flags}");
    status()
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) -> u32 {
    note!("copy {bytes} {stream:?}");
    unsafe { (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes) };
    status()
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    to_context: Handle,
    from: u64,
    from_context: Handle,
    bytes: usize,
    stream: Handle,
) -> u32 {
    note!("peer {to_context:?} {from_context:?} {bytes} {stream:?}");
    unsafe { (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes) };
    status()
}

/// One side of `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[repr(C)]
struct Side {
    offsets_and_level: [usize; 4],
    memory_type: u32,
    host: usize,
    device: u64,
    array: usize,
    context: Handle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[repr(C)]
struct Copy {
    from: Side,
    to: Side,
    width: usize,
    rows: usize,
    planes: usize,
}

unsafe fn copy(copy: &Copy) -> u32 {
    let &Copy { ref from, ref to, width, rows, planes } = copy;
    for side in [from, to] {
        assert_eq!((side.offsets_and_level, side.memory_type, side.host), ([0; 4], 2, 0));
        if side.pitch < width || side.pitch > i32::MAX as usize || side.height < rows {
            return 1;
        }
    }
    for plane in 0..planes {
        for row in 0..rows {
            let start = |side: &Side| side.device as usize + (plane * side.height + row) * side.pitch;
            let (from, to) = (start(from) as *const u8, start(to) as *mut u8);
            unsafe { to.copy_from_nonoverlapping(from, width) };
        }
    }
    status()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpy3DAsync_v2(given: *const Copy, stream: Handle) -> u32 {
    let given = unsafe { &*given };
    assert!(given.from.context.is_null() && given.to.context.is_null(), "reserved");
    note!("box {}x{}x{} {stream:?}", given.width, given.rows, given.planes);
    unsafe { copy(given) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpy3DPeerAsync(given: *const Copy, stream: Handle) -> u32 {
    let given = unsafe { &*given };
    let Copy { from, to, width, rows, planes } = given;
    note!("peer box {:?} {:?} {width}x{rows}x{planes} {stream:?}", to.context, from.context);
    unsafe { copy(given) }
}
