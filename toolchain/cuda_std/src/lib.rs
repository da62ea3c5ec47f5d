// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
//!
//! ## Modules
//! | module | what |
//! | --- | --- |
//! | [`chip`] | what the chip can do |
//! | [`thread`], [`warp`], [`grid`] | who am I, wait for the others |
//! | [`shared`], [`global`] | typed access to the two memories |
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
    feature(allow_internal_unstable, asm_experimental_arch, stdarch_nvptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub use cuda_kernel::{AnyCall, Call, Entry, Kernel};
pub use cuda_std_macros::{host_only, kernel};

#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub use cuda_sim::enter;

/// What [`macro@kernel`] makes of a function. It is here, and not in the attribute, so that crates with
/// kernels need not ask for the unstable features that only it uses.
#[doc(hidden)]
#[macro_export]
#[cfg(target_arch = "nvptx64")]
#[allow_internal_unstable(abi_ptx, asm_experimental_arch)]
macro_rules! __entry {
    (
        [$($request:literal)?] $(#[$attribute:meta])*
        $vis:vis fn $name:ident($($parameters:tt)*) $body:block
    ) => {
        $(::core::arch::global_asm!($request);)?

        $(#[$attribute])*
        #[unsafe(no_mangle)]
        $vis unsafe extern "ptx-kernel" fn $name($($parameters)*) $body
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
}

pub mod barrier;
pub mod chip;
pub mod copy;
pub mod global;
pub mod grid;
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
