// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `#[kernel]` makes of a function on the host.

use cuda_sim::{Config, FaultKind, Memory, launch};
use cuda_std::{Kernel, global, kernel};

/// Reads a word too far.
///
/// # Safety
/// Never.
#[kernel]
pub unsafe fn too_far(words: *const u32, n: u32) {
    // SAFETY: the emulator reports it.
    let _ = unsafe { global::load(words.add(n as usize)) };
}
const LINE: u32 = line!() - 2;

#[test]
fn a_fault_names_its_line_in_the_kernel() {
    let mut memory = Memory::new();
    let words = memory.input("words", &[1, 2, 3]);
    let fault = launch("too_far", Config::default(), &mut memory, || {
        // SAFETY: the emulator reports what is wrong.
        unsafe { too_far(words.as_ptr(), 3) }
    })
    .unwrap_err();
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    let location = fault.site.location;
    assert!(location.file().ends_with("kernel.rs") && location.line() == LINE, "{fault}");
}

#[test]
fn a_kernel_is_launched_by_its_name_with_its_parameters() {
    fn is<K: Kernel<Parameters = P>, P>(name: &str) -> bool {
        K::NAME == name
    }
    assert!(is::<too_far, (*const u32, u32)>("too_far"));
}
