// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `#[kernel]` makes of a function on the host.

use cuda_sim::{Config, FaultKind, Memory, launch};
use cuda_std::{AnyCall, Entry, Kernel, global, kernel};

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

/// Writes a number.
///
/// # Safety
/// `at` is valid.
#[kernel(registers = 40)]
pub unsafe fn set(at: *mut u32, number: u32) {
    // SAFETY: as the caller promises.
    unsafe { global::store(at, number) };
}

#[test]
fn a_kernel_is_a_value_that_an_emulator_runs_with_its_parameters() {
    const ENTRY: Entry<(*mut u32, u32)> = Entry::of::<set>();
    assert_eq!((ENTRY.name(), ENTRY.registers()), ("set", Some(40)));
    assert_eq!(Entry::of::<too_far>().registers(), None);
    let mut memory = Memory::new();
    let word = memory.output("word", 1);
    let call = ENTRY.with((word.as_mut_ptr(), 7));
    let call: &dyn AnyCall = &call;
    let one = || {
        // SAFETY: the emulator checks every access.
        unsafe { call.run() }
    };
    let fault = launch(call.name(), Config::default(), &mut memory, one).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "32 threads write it: {fault}");
    let mut parameters = 0;
    call.with_pointers(&mut |at| parameters = at.len());
    assert_eq!(parameters, 2);
}
