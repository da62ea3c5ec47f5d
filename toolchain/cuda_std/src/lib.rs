// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
//!
//! ## Modules
//! | module | what |
//! | --- | --- |
//! | [`chip`] | what the chip can do |
//! | [`thread`], [`warp`], [`grid`] | who am I, wait for the others |
//! | [`shared`], [`global`] | typed access to the two memories |
//! | [`atomic`] | numbers that several threads change |
//! | [`float`], [`io`] | the functions of `std` on f32 and f64; printing and assertions |
//! | [`barrier`] | `mbarrier`: wait for asynchronous copies and for other warps |
//! | [`copy`] | asynchronous copies: `cp.async`, bulk rows, TMA boxes |
//! | [`matrix`] | `ldmatrix`, `movmatrix`, packing of pairs |
//! | [`mma`] | matrix multiply-accumulate, sparse and dense |
//! | [`wgmma`] | asynchronous products of four warps, dense and sparse |
//! | [`math`] | multiply-add, rounding to tf32 |
//! | [`splice`] | places for instructions that come when a kernel is loaded |
//!
//! Wrappers state the PTX version and the oldest chip (*floor*). **Collective** means that all 32 lanes
//! of the warp must execute it together; such `asm!` is never marked `pure` or `nomem`, because LLVM,
//! which does not know that inline assembly is convergent, would then move it into divergent branches.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(allow_internal_unstable, asm_experimental_arch, core_intrinsics, stdarch_nvptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub use cuda_kernel::{
    AnyCall, Call, Entry, Kernel, OneParameter, Parameter, Passed, Slice, SliceMut,
};
pub use cuda_std_macros::{Parameter, address_space, host_only, kernel, shared_array};

#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub use cuda_sim::{enter, static_shared};

#[cfg(feature = "glam")]
pub use glam;

/// What a kernel may not take is refused by what it is, not by how it is spelled.
///
/// A structure of which host and GPU need not agree where its fields are:
/// ```compile_fail
/// #[derive(Clone, Copy, cuda_std::Parameter)]
/// pub struct Loose { a: u8, b: u32 }
/// ```
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// pub struct Loose { a: u8, b: u32 }
/// type Hidden = Loose;
/// #[cuda_std::kernel]
/// pub unsafe fn k(loose: Hidden) {}
/// ```
/// A structure with a field that means nothing on the other side:
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, cuda_std::Parameter)]
/// #[repr(C)]
/// pub struct Text { a: &'static str }
/// ```
/// Pointers with more than an address, but for slices of sized elements:
/// ```compile_fail,E0277
/// type Hidden = &'static str;
/// #[cuda_std::kernel]
/// pub unsafe fn k(text: Hidden) {}
/// ```
/// ```compile_fail,E0277
/// #[cuda_std::kernel]
/// pub unsafe fn k(numbers: *const [f32]) {}
/// ```
/// ```compile_fail,E0277
/// #[cuda_std::kernel]
/// pub unsafe fn k(call: &dyn Fn(u32) -> u32) {}
/// ```
/// Tuples, whose fields are where the compiler likes:
/// ```compile_fail,E0277
/// type Hidden = (u8, u32);
/// #[cuda_std::kernel]
/// pub unsafe fn k(pair: Hidden) {}
/// ```
/// Shared memory that would have to be initialised, is not to be written, or is in another memory:
/// ```compile_fail,E0277
/// #[cuda_std::address_space(shared)]
/// static mut TILE: [f32; 16] = [0.0; 16];
/// ```
/// ```compile_fail
/// # use core::mem::MaybeUninit;
/// #[cuda_std::address_space(shared)]
/// static TILE: [MaybeUninit<f32>; 16] = [MaybeUninit::uninit(); 16];
/// ```
/// ```compile_fail
/// # use core::mem::MaybeUninit;
/// #[cuda_std::address_space(constant)]
/// static mut TILE: [MaybeUninit<f32>; 16] = [MaybeUninit::uninit(); 16];
/// ```
/// Shared memory without `unsafe`:
/// ```compile_fail,E0133
/// # use core::mem::MaybeUninit;
/// #[cuda_std::address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 16] = [MaybeUninit::uninit(); 16];
/// TILE[0].write(1.0);
/// ```
/// ```compile_fail,E0133
/// # use core::mem::MaybeUninit;
/// #[cuda_std::address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 16] = [MaybeUninit::uninit(); 16];
/// __shared_TILE::Place::new()[0].write(1.0);
/// ```
/// ```compile_fail,E0603
/// # use core::mem::MaybeUninit;
/// #[cuda_std::address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 16] = [MaybeUninit::uninit(); 16];
/// __shared_TILE::Place(())[0].write(1.0);
/// ```
/// ```compile_fail,E0507
/// # use core::mem::MaybeUninit;
/// #[cuda_std::address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 16] = [MaybeUninit::uninit(); 16];
/// let mut copy = unsafe { TILE };
/// copy[0].write(1.0);
/// ```
/// A structure without size, which is no parameter on the GPU, so that those after it would shift:
/// ```compile_fail,E0080
/// #[derive(Clone, Copy, cuda_std::Parameter)]
/// #[repr(C)]
/// pub struct Nothing { a: [u32; 0] }
/// #[cuda_std::kernel]
/// pub unsafe fn k(nothing: Nothing, n: u32) {}
/// ```
/// ```compile_fail,E0080
/// #[derive(Clone, Copy, cuda_std::Parameter)]
/// #[repr(C)]
/// pub struct Some<T> { a: T }
/// #[cuda_std::kernel]
/// pub unsafe fn k(nothing: Some<[u32; 0]>, n: u32) {}
/// ```
/// A slice of which one does not see that it is two parameters:
/// ```compile_fail,E0277
/// type Hidden = &'static [f32];
/// #[cuda_std::kernel]
/// pub unsafe fn k(numbers: Hidden) {}
/// ```
/// What is accepted, under names of its own:
/// ```
/// use core::mem::MaybeUninit;
/// type Hidden = *mut f32;
/// #[derive(Clone, Copy, cuda_std::Parameter)]
/// #[repr(C, align(16))]
/// pub struct Fixed { a: u8, b: [u32; 3], c: [u32; 0] }
/// #[cuda_std::kernel]
/// pub unsafe fn k<'a>(numbers: Hidden, fixed: Fixed, one: &'a u32, all: &'a mut [f32]) {
///     #[cuda_std::address_space(shared)]
///     static mut TILE: [MaybeUninit<f32>; 16] = [MaybeUninit::uninit(); 16];
///     # let _ = (numbers, fixed.a, fixed.b, fixed.c, one, all);
/// }
/// # fn main() {}
/// ```
#[cfg(doctest)]
pub struct Refusals;

/// What rust-cuda's kernels bring by `use cuda_std::prelude::*`.
pub mod prelude {
    pub use crate::float::GpuFloat;
    pub use crate::{kernel, thread};
    // `std` has them on the host, and two macros of one name would be ambiguous. So would `assert_eq`, which `core` has:
    // name `cuda_std::assert_eq` for one that says what failed.
    #[cfg(target_arch = "nvptx64")]
    pub use crate::{print, println};
}

/// What [`macro@kernel`] makes of a function. It is here, and not in the attribute, so that crates with
/// kernels need not ask for the unstable features that only it uses.
#[doc(hidden)]
#[macro_export]
#[cfg(target_arch = "nvptx64")]
#[allow_internal_unstable(abi_ptx, asm_experimental_arch)]
macro_rules! __entry {
    (
        [$($request:literal)?] $(#[$attribute:meta])*
        $vis:vis fn $name:ident [$($generics:tt)*] ($($parameters:tt)*) $body:block
    ) => {
        $(::core::arch::global_asm!($request);)?

        $(#[$attribute])*
        #[unsafe(no_mangle)]
        $vis unsafe extern "ptx-kernel" fn $name $($generics)* ($($parameters)*) $body
    };
}

/// Defines device functions: the body on the GPU; elsewhere a call of the function of the same name
/// in `sim`, the module of `cuda_sim` that the surrounding module imports under that name.
macro_rules! device {
    ($($(#[$attribute:meta])* pub unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $out:ty)? $body:block)*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        #[cfg(target_arch = "nvptx64")]
        pub unsafe fn $name($($arg: $ty),*) $(-> $out)? $body

        $(#[$attribute])*
        #[track_caller]
        #[cfg(not(target_arch = "nvptx64"))]
        pub unsafe fn $name($($arg: $ty),*) $(-> $out)? {
            sim::$name($($arg.into()),*).into()
        }
    )*};
    ($($(#[$attribute:meta])* pub fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $out:ty)? $body:block)*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        #[cfg(target_arch = "nvptx64")]
        pub fn $name($($arg: $ty),*) $(-> $out)? $body

        $(#[$attribute])*
        #[track_caller]
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn $name($($arg: $ty),*) $(-> $out)? {
            sim::$name($($arg.into()),*).into()
        }
    )*};
}

pub mod atomic;
pub mod barrier;
pub mod chip;
pub mod copy;
pub mod float;
pub mod global;
pub mod grid;
pub mod io;
pub mod math;
pub mod matrix;
pub mod mma;
pub mod shared;
pub mod splice;
pub mod thread;
pub mod warp;
pub mod wgmma;

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: `trap` ends the kernel with an error that the host sees; it has no precondition.
    unsafe { core::arch::nvptx::trap() }
}
