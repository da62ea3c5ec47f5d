// SPDX-License-Identifier: MIT OR Apache-2.0
//! The jump table: every driver function as one jump through one slot of a table in memory.
//!
//! `cust` links to plain C symbols. Defining them here, instead of linking to `libcuda.so.1`, lets a
//! program start on a machine with no driver. Slots, jumps and names come from one list in one
//! assembly block, so their order agrees and whoever links one of them links all.

use super::driver;
use super::symbols::with_symbols;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The status of a call that no driver answered: `CUDA_ERROR_STUB_LIBRARY`.
pub const NOT_LOADED: c_int = 34;

/// What a slot holds until a driver is loaded. The caller cleans up its arguments in both C calling
/// conventions concerned, so a function without parameters may stand for every other one.
extern "C" fn not_loaded() -> c_int {
    NOT_LOADED
}

/// Stands for `cuGetErrorName` and `cuGetErrorString`, so that `cust`'s errors can be displayed.
unsafe extern "C" fn error_text(_status: c_int, text: *mut *const c_char) -> c_int {
    // SAFETY: the driver's contract for both functions: `text` points to a writable pointer.
    unsafe { *text = c"the CUDA driver is not loaded (cuda_driver::load says why)".as_ptr() };
    0
}

/// Stands for `cuInit`, with which every program starts: loads the driver and does what it does there.
extern "C" fn load_first(flags: u32) -> c_int {
    let Ok(driver) = driver() else { return NOT_LOADED };
    // SAFETY: `cuInit` has no precondition.
    let done = unsafe { driver.api.cuInit(flags) };
    done.map_or_else(|error| error.status as c_int, |()| 0)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
macro_rules! jump {
    ($name:ident) => {
        concat!("jmp qword ptr [rip + cuda_driver_slot_", stringify!($name), "]\n")
    };
}

#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
macro_rules! jump {
    // x16 is the scratch register that the platform leaves to such veneers.
    ($name:ident) => {
        concat!(
            "adrp x16, cuda_driver_slot_",
            stringify!($name),
            "\n",
            "ldr x16, [x16, :lo12:cuda_driver_slot_",
            stringify!($name),
            "]\n",
            "br x16\n"
        )
    };
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("cuda_driver knows the CUDA driver of Linux on x86-64 and aarch64 only");

macro_rules! define {
    ($($initial:ident: $($name:ident)*;)*) => {
        std::arch::global_asm!(
            ".pushsection .data.rel.cuda_driver, \"aw\", %progbits",
            ".balign 8",
            ".hidden cuda_driver_table",
            ".globl cuda_driver_table",
            "cuda_driver_table:",
            $($(concat!(
                "cuda_driver_slot_", stringify!($name), ": .quad {", stringify!($initial), "}",
            ),)*)*
            ".popsection",
            ".pushsection .text.cuda_driver, \"ax\", %progbits",
            // Hidden, so that the driver's own library keeps calling its own functions.
            $($(concat!(
                ".balign 16\n",
                ".hidden ", stringify!($name), "\n",
                ".globl ", stringify!($name), "\n",
                ".type ", stringify!($name), ", %function\n",
                stringify!($name), ":\n",
                jump!($name),
            ),)*)*
            ".popsection",
            $($initial = sym $initial,)*
        );

        /// The functions' names, in the order of the table.
        pub const NAMES: &[&CStr] = &[$($(
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            },
        )*)*];
    };
}
with_symbols!(define);

unsafe extern "C" {
    // The jumps read a slot with one aligned load, which an atomic store never tears.
    static cuda_driver_table: [AtomicPtr<c_void>; NAMES.len()];
}

/// Points every function to what `find` returns for its name; one not found keeps its old target.
///
/// # Safety
/// `find` returns the address of the driver function of that name, valid for the rest of the process.
pub unsafe fn fill(find: impl Fn(&CStr) -> Option<*mut c_void>) {
    // SAFETY: the assembly above defines exactly one slot for each name, 8-byte aligned.
    let table = unsafe { &cuda_driver_table };
    for (slot, name) in table.iter().zip(NAMES) {
        if let Some(address) = find(name) {
            slot.store(address, Ordering::Release);
        }
    }
}
