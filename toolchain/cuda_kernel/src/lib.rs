// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![no_std]

use core::ffi::c_void;
use core::ptr;

mod entry;
mod parameter;

pub use entry::{AnyCall, Call, Entry};
pub use parameter::{OneParameter, Parameter, Passed, Slice, SliceMut};

/// A kernel. The attribute `cuda_std::kernel` implements it for a type of the kernel's own name.
///
/// # Safety
/// Device code has an entry point of this name that takes these parameters, one after the other.
pub unsafe trait Kernel {
    /// The types of its parameters, as a tuple.
    type Parameters: Parameters;

    /// The name of the entry point.
    const NAME: &'static str;

    /// The most registers of a thread, if the kernel states a number of its own.
    const REGISTERS: Option<u32> = None;

    /// Runs the kernel's code on the host, as one thread of a launch that an emulator runs.
    ///
    /// # Panics
    /// Where there is none: the kernel is known by its name only.
    ///
    /// # Safety
    /// The kernel's contract, as far as the emulator does not check it.
    unsafe fn run(_: Self::Parameters) {
        panic!("{} has no code for the host", Self::NAME);
    }
}

/// Parameters of a launch: a tuple of scalars, raw pointers and `#[repr(C)]` structures of such, which a
/// kernel takes as they are, and of slices, each of which is two. Up to 16 of them, slices counted once.
///
/// # Safety
/// `with_pointers` gives a valid pointer for each parameter, in their order, to as many bytes as `sizes` says.
pub unsafe trait Parameters: Copy {
    /// Calls `launch` with the address of each parameter, as the driver's launch functions want them.
    fn with_pointers<T>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> T) -> T;

    /// Calls `add` with how many bytes each parameter has.
    fn sizes(add: &mut dyn FnMut(usize));
}

macro_rules! tuples {
    ($($name:ident)*) => {
        // SAFETY: the addresses are those of the fields, which outlive the call.
        unsafe impl<$($name: Passed),*> Parameters for ($($name,)*) {
            #[allow(non_snake_case)]
            fn with_pointers<T>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> T) -> T {
                let ($($name,)*) = self;
                let (mut all, mut count) = ([ptr::null_mut(); 2 * MOST], 0);
                let mut add = |at| {
                    all[count] = at;
                    count += 1;
                };
                let _ = &mut add;
                $($name.each(&mut add);)*
                launch(&mut all[..count])
            }

            fn sizes(add: &mut dyn FnMut(usize)) {
                let _ = &add;
                $($name::sizes(add);)*
            }
        }
    };
}

/// The most members of a tuple of parameters.
const MOST: usize = 16;

/// For a list of names and each shorter one.
macro_rules! all_tuples {
    () => { tuples! {} };
    ($first:ident $($rest:ident)*) => {
        tuples! { $first $($rest)* }
        all_tuples! { $($rest)* }
    };
}
all_tuples! { A B C D E F G H I J K L M N O P }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_passed_in_its_place() {
        let read = |parameters: (u32, f64, *const u8)| {
            parameters.with_pointers(|at| {
                assert_eq!(at.len(), 3);
                // SAFETY: these are the types of the tuple.
                unsafe { (*at[0].cast(), *at[1].cast(), *at[2].cast::<*const u8>()) }
            })
        };
        assert_eq!(read((7, 0.5, ptr::null())), (7u32, 0.5f64, ptr::null()));
        ().with_pointers(|at| assert!(at.is_empty()));
        let slice = Slice { start: ptr::without_provenance::<f32>(64), len: 5 };
        (1u8, slice, 2u8).with_pointers(|at| {
            assert_eq!(at.len(), 4);
            // SAFETY: a slice is an address and a length.
            let passed = unsafe { (*at[1].cast::<usize>(), *at[2].cast(), *at[3].cast()) };
            assert_eq!(passed, (64, 5usize, 2u8));
        });
        let sixteen = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15u64);
        // SAFETY: the last one is a `u64`.
        assert_eq!(sixteen.with_pointers(|at| unsafe { *at[15].cast::<u64>() }), 15);
    }
}
