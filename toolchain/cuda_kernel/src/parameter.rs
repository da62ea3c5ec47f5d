// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel may take, and what a launch passes for it.

use core::ffi::c_void;
use core::{ptr, slice};

/// A value that a launch passes as it is: a number, a raw pointer, an array or a `#[repr(C)]` structure of such, or a
/// slice in device memory, which is two parameters. `#[derive(cuda_std::Parameter)]` implements it for a structure.
///
/// # Safety
/// The bytes mean the same on the host and the GPU, and `each` gives a valid pointer for each parameter, to
/// as many bytes as `sizes` says.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel",
    note = "numbers, raw pointers, and `#[repr(C)]` structures of these with `#[derive(cuda_std::Parameter)]` can"
)]
pub unsafe trait Passed: Copy {
    /// Calls `add` with the address of each parameter.
    fn each(&self, add: &mut dyn FnMut(*mut c_void)) {
        add(ptr::from_ref(self).cast_mut().cast());
    }

    /// Calls `add` with how many bytes each parameter has.
    fn sizes(add: &mut dyn FnMut(usize)) {
        add(size_of::<Self>());
    }
}

/// A type that a kernel may have as a parameter.
///
/// # Safety
/// [`Parameter::First`] and [`Parameter::Second`], if it has a size, are the parameters that [`Parameter::Passed`] gives.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter",
    note = "a kernel takes numbers, raw pointers, references, slices of sized elements, and `#[repr(C)]` structures with \
            `#[derive(cuda_std::Parameter)]`"
)]
pub unsafe trait Parameter: Sized {
    /// What a launch passes for it.
    type Passed: Passed;

    /// The parameter of the entry point.
    type First: Copy;

    /// A second parameter, or `()`, which is none.
    type Second: Copy;

    /// What the kernel gets, of the entry point's parameters.
    ///
    /// # Safety
    /// A pointer that becomes a reference or a slice is valid for it as long as the kernel runs.
    unsafe fn join(first: Self::First, second: Self::Second) -> Self;

    /// What the kernel gets, of what a launch passes.
    ///
    /// # Safety
    /// As [`Parameter::join`].
    unsafe fn receive(passed: Self::Passed) -> Self;
}

/// A [`Parameter`] that is one parameter of the entry point: all but slices.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter",
    note = "a kernel takes numbers, raw pointers, references, and `#[repr(C)]` structures with \
            `#[derive(cuda_std::Parameter)]`; a slice is two parameters, so write it as one: `&[T]` or `&mut [T]`"
)]
pub trait OneParameter: Parameter<Second = ()> {}

/// A slice in device memory, for a kernel that takes `&[T]`: an address and a number of elements.
#[repr(C)]
#[derive(Debug)]
pub struct Slice<T> {
    /// The first element.
    pub start: *const T,
    /// How many.
    pub len: usize,
}

/// A slice in device memory, for a kernel that takes `&mut [T]`.
#[repr(C)]
#[derive(Debug)]
pub struct SliceMut<T> {
    /// The first element.
    pub start: *mut T,
    /// How many.
    pub len: usize,
}

macro_rules! slices {
    ($($slice:ident)*) => {$(
        impl<T> Clone for $slice<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $slice<T> {}

        // SAFETY: an address and a length, one after the other.
        unsafe impl<T> Passed for $slice<T> {
            fn each(&self, add: &mut dyn FnMut(*mut c_void)) {
                add(ptr::from_ref(&self.start).cast_mut().cast());
                add(ptr::from_ref(&self.len).cast_mut().cast());
            }

            fn sizes(add: &mut dyn FnMut(usize)) {
                add(size_of::<*const T>());
                add(size_of::<usize>());
            }
        }
    )*};
}
slices! { Slice SliceMut }

macro_rules! as_they_are {
    ($([$($generic:ident)?] $parameter:ty;)*) => {$(
        // SAFETY: host and GPU have one representation of it.
        unsafe impl$(<$generic>)? Passed for $parameter {}

        impl$(<$generic>)? OneParameter for $parameter {}

        // SAFETY: it is passed as it is.
        unsafe impl$(<$generic>)? Parameter for $parameter {
            type Passed = Self;
            type First = Self;
            type Second = ();
            #[inline(always)]
            unsafe fn join(first: Self, (): ()) -> Self {
                first
            }
            unsafe fn receive(passed: Self) -> Self {
                passed
            }
        }
    )*};
}
as_they_are! {
    [] u8; [] u16; [] u32; [] u64; [] u128; [] usize;
    [] i8; [] i16; [] i32; [] i64; [] i128; [] isize;
    [] f32; [] f64; [] bool; [] char;
    [T] *const T; [T] *mut T;
}

// SAFETY: its elements, one after the other.
unsafe impl<T: Passed, const N: usize> Passed for [T; N] {}

impl<T> OneParameter for &T {}

// SAFETY: a reference is an address.
unsafe impl<T> Parameter for &T {
    type Passed = *const T;
    type First = *const T;
    type Second = ();
    #[inline(always)]
    unsafe fn join(first: *const T, (): ()) -> Self {
        // SAFETY: as the caller promises.
        unsafe { &*first }
    }
    unsafe fn receive(passed: *const T) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::join(passed, ()) }
    }
}

impl<T> OneParameter for &mut T {}

// SAFETY: a reference is an address.
unsafe impl<T> Parameter for &mut T {
    type Passed = *mut T;
    type First = *mut T;
    type Second = ();
    #[inline(always)]
    unsafe fn join(first: *mut T, (): ()) -> Self {
        // SAFETY: as the caller promises.
        unsafe { &mut *first }
    }
    unsafe fn receive(passed: *mut T) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::join(passed, ()) }
    }
}

// SAFETY: a slice is an address and a length, which kernels take as two parameters.
unsafe impl<T> Parameter for &[T] {
    type Passed = Slice<T>;
    type First = *const T;
    type Second = usize;
    #[inline(always)]
    unsafe fn join(start: *const T, len: usize) -> Self {
        // SAFETY: as the caller promises.
        unsafe { slice::from_raw_parts(start, len) }
    }
    unsafe fn receive(Slice { start, len }: Slice<T>) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::join(start, len) }
    }
}

// SAFETY: a slice is an address and a length, which kernels take as two parameters.
unsafe impl<T> Parameter for &mut [T] {
    type Passed = SliceMut<T>;
    type First = *mut T;
    type Second = usize;
    #[inline(always)]
    unsafe fn join(start: *mut T, len: usize) -> Self {
        // SAFETY: as the caller promises.
        unsafe { slice::from_raw_parts_mut(start, len) }
    }
    unsafe fn receive(SliceMut { start, len }: SliceMut<T>) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::join(start, len) }
    }
}
