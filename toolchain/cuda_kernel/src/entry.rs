// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels as values: those of one signature in a table, and a kernel with its parameters.

use crate::{Kernel, Parameters};
use core::ffi::c_void;
use core::fmt;

/// A kernel that takes the parameters `P`, a tuple. Kernels with the same parameters are values of one
/// type, so that a table of them can be chosen from.
pub struct Entry<P> {
    name: &'static str,
    registers: Option<u32>,
    run: unsafe fn(P),
}

impl<P> Clone for Entry<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Entry<P> {}

impl<P> fmt::Debug for Entry<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<P> Entry<P> {
    /// The name of the entry point.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The most registers of a thread, if the kernel states a number of its own.
    #[must_use]
    pub const fn registers(&self) -> Option<u32> {
        self.registers
    }
}

impl<P: Parameters> Entry<P> {
    /// The entry point of a kernel.
    #[must_use]
    pub const fn of<K: Kernel<Parameters = P>>() -> Self {
        Self { name: K::NAME, registers: K::REGISTERS, run: K::run }
    }

    /// The kernel with its parameters.
    #[must_use]
    pub const fn with(self, parameters: P) -> Call<P> {
        Call { entry: self, parameters }
    }
}

/// A kernel with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Call<P> {
    entry: Entry<P>,
    parameters: P,
}

/// A [`Call`], whatever its parameters are: what a device is given to launch.
pub trait AnyCall {
    /// The name of the entry point.
    fn name(&self) -> &'static str;

    /// The most registers of a thread, if the kernel states a number of its own.
    fn registers(&self) -> Option<u32>;

    /// Calls `launch` with the address of each parameter, as the driver's launch functions want them.
    fn with_pointers(&self, launch: &mut dyn FnMut(&mut [*mut c_void]));

    /// Calls `add` with how many bytes each parameter has.
    fn sizes(&self, add: &mut dyn FnMut(usize));

    /// Runs the kernel's code on the host, as one thread of a launch that an emulator runs.
    ///
    /// # Safety
    /// The kernel's contract, as far as the emulator does not check it.
    unsafe fn run(&self);
}

impl<P: Parameters> AnyCall for Call<P> {
    fn name(&self) -> &'static str {
        self.entry.name
    }

    fn registers(&self) -> Option<u32> {
        self.entry.registers
    }

    fn with_pointers(&self, launch: &mut dyn FnMut(&mut [*mut c_void])) {
        self.parameters.with_pointers(|pointers| launch(pointers));
    }

    fn sizes(&self, add: &mut dyn FnMut(usize)) {
        P::sizes(add);
    }

    unsafe fn run(&self) {
        // SAFETY: as the caller promises.
        unsafe { (self.entry.run)(self.parameters) }
    }
}
