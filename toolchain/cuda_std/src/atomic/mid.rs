// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations on numbers at pointers, with an order and a scope, and fences. Each is one instruction, where the order
//! is known when the kernel is compiled; `SeqCst` has a fence before it.
//!
//! They share a contract: the pointer is valid and aligned, and others access the number by atomic operations only. Where
//! the scope is the block, no thread of another block does at the same time.

#![allow(clippy::missing_safety_doc, reason = "the module has the contract")]

use super::intrinsics;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, SeqCst};
#[cfg(target_arch = "nvptx64")]
use core::{
    arch::asm,
    sync::atomic::Ordering::{AcqRel, Release},
};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::atomic::{Scope, load, store, update};

macro_rules! fences {
    ($($name:ident $sc:ident $acq_rel:ident)*) => {$(
        /// Orders what the thread does before it and after it, as others in the scope see it; nothing where it is `Relaxed`.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name(ordering: Ordering) {
            // SAFETY: none is needed.
            unsafe {
                match ordering {
                    Relaxed => {}
                    SeqCst => intrinsics::$sc(),
                    _ => intrinsics::$acq_rel(),
                }
            }
        }
    )*};
}
fences! {
    block_thread_fence fence_sc_block fence_acqrel_block
    device_thread_fence fence_sc_device fence_acqrel_device
    system_thread_fence fence_sc_system fence_acqrel_system
}

macro_rules! loads_and_stores {
    ($($load:ident $store:ident $word:ident $register:ident $type:literal $scope:literal $of:ident $sc:ident)*) => {$(
        /// The number. The order is none that releases.
        #[inline(always)]
        #[must_use]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $load(at: *mut $word, ordering: Ordering) -> $word {
            if !matches!(ordering, Relaxed | Acquire | SeqCst) {
                panic!("a load releases nothing");
            }
            // SAFETY: as the caller promises.
            #[cfg(not(target_arch = "nvptx64"))]
            return unsafe { load(at, ordering, Scope::$of) };
            #[cfg(target_arch = "nvptx64")]
            {
                let number;
                // SAFETY: as the caller promises.
                unsafe {
                    if ordering == SeqCst {
                        intrinsics::$sc();
                    }
                    match ordering {
                        Relaxed => asm!(concat!("ld.relaxed.", $scope, ".", $type, " {}, [{}];"),
                            out($register) number, in(reg64) at, options(nostack)),
                        _ => asm!(concat!("ld.acquire.", $scope, ".", $type, " {}, [{}];"),
                            out($register) number, in(reg64) at, options(nostack)),
                    }
                }
                number
            }
        }

        /// Sets the number. The order is none that acquires.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $store(at: *mut $word, ordering: Ordering, number: $word) {
            if !matches!(ordering, Relaxed | Ordering::Release | SeqCst) {
                panic!("a store acquires nothing");
            }
            // SAFETY: as the caller promises.
            #[cfg(not(target_arch = "nvptx64"))]
            unsafe {
                store(at, number, ordering, Scope::$of);
            }
            // SAFETY: as the caller promises.
            #[cfg(target_arch = "nvptx64")]
            unsafe {
                if ordering == SeqCst {
                    intrinsics::$sc();
                }
                match ordering {
                    Release => asm!(concat!("st.release.", $scope, ".", $type, " [{}], {};"),
                        in(reg64) at, in($register) number, options(nostack)),
                    _ => asm!(concat!("st.relaxed.", $scope, ".", $type, " [{}], {};"),
                        in(reg64) at, in($register) number, options(nostack)),
                }
            }
        }
    )*};
}
loads_and_stores! {
    atomic_load_32_block atomic_store_32_block u32 reg32 "b32" "cta" Block fence_sc_block
    atomic_load_32_device atomic_store_32_device u32 reg32 "b32" "gpu" Device fence_sc_device
    atomic_load_32_system atomic_store_32_system u32 reg32 "b32" "sys" System fence_sc_system
    atomic_load_64_block atomic_store_64_block u64 reg64 "b64" "cta" Block fence_sc_block
    atomic_load_64_device atomic_store_64_device u64 reg64 "b64" "gpu" Device fence_sc_device
    atomic_load_64_system atomic_store_64_system u64 reg64 "b64" "sys" System fence_sc_system
}

/// An `atom` instruction with the order.
#[cfg(target_arch = "nvptx64")]
macro_rules! atom {
    ($scope:literal $sc:ident $ordering:ident $register:ident $text:expr, $at:expr, $($value:expr),+) => {{
        let before;
        // SAFETY: as the caller promises.
        unsafe {
            match $ordering {
                Relaxed => asm!(concat!("atom.relaxed.", $scope, ".", $text),
                    out($register) before, in(reg64) $at, $(in($register) $value,)+ options(nostack)),
                Acquire => asm!(concat!("atom.acquire.", $scope, ".", $text),
                    out($register) before, in(reg64) $at, $(in($register) $value,)+ options(nostack)),
                Release => asm!(concat!("atom.release.", $scope, ".", $text),
                    out($register) before, in(reg64) $at, $(in($register) $value,)+ options(nostack)),
                AcqRel => asm!(concat!("atom.acq_rel.", $scope, ".", $text),
                    out($register) before, in(reg64) $at, $(in($register) $value,)+ options(nostack)),
                _ => {
                    intrinsics::$sc();
                    asm!(concat!("atom.acquire.", $scope, ".", $text),
                        out($register) before, in(reg64) $at, $(in($register) $value,)+ options(nostack));
                }
            }
        }
        before
    }};
}

/// An `atom` instruction of one operand.
#[cfg(target_arch = "nvptx64")]
macro_rules! counted {
    ($text:literal, $at:expr, $bound:expr) => {{
        let before: u32;
        // SAFETY: as the caller promises.
        unsafe {
            asm!(concat!("atom.relaxed.gpu.", $text, " {}, [{}], {};"),
                out(reg32) before, in(reg64) $at, in(reg32) $bound, options(nostack));
        }
        before
    }};
}

/// A number as a word.
trait Number: Copy {
    type Word;
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    fn same(self) -> Self {
        self
    }
    fn word(self) -> Self::Word;
    fn number(word: Self::Word) -> Self;
    #[cfg(not(target_arch = "nvptx64"))]
    fn plus(self, other: Self) -> Self;
    fn negative(self) -> Self;
}

macro_rules! numbers {
    (whole: $($number:ident $word:ident)*) => {$(
        impl Number for $number {
            type Word = $word;
            #[inline(always)]
            fn word(self) -> $word {
                self as $word
            }
            #[inline(always)]
            fn number(word: $word) -> Self {
                word as $number
            }
            #[cfg(not(target_arch = "nvptx64"))]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
        }
    )*};
    (float: $($number:ident $word:ident)*) => {$(
        impl Number for $number {
            type Word = $word;
            #[inline(always)]
            fn word(self) -> $word {
                self.to_bits()
            }
            #[inline(always)]
            fn number(word: $word) -> Self {
                Self::from_bits(word)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn negative(self) -> Self {
                -self
            }
        }
    )*};
}
numbers! { whole: u32 u32 u64 u64 i32 u32 i64 u64 }
numbers! { float: f32 u32 f64 u64 }

/// A function for both sides: the instruction, what it is given and gives, and what it does.
macro_rules! fetch {
    (
        $doc:literal $name:ident $number:ident $register:ident $scope:literal $of:ident $sc:ident
        $instruction:expr, $given:ident $taken:ident $new:expr
    ) => {
        #[doc = concat!($doc, ", and gives the number before.")]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(at: *mut $number, ordering: Ordering, number: $number) -> $number {
            // SAFETY: as the caller promises.
            #[cfg(not(target_arch = "nvptx64"))]
            return unsafe { update(at, ordering, Scope::$of, |before: $number| Some(($new)(before, number))) };
            #[cfg(target_arch = "nvptx64")]
            Number::$taken(atom!($scope $sc ordering $register concat!($instruction, " {}, [{}], {};"),
                at, number.$given()))
        }
    };
}

macro_rules! fetches {
    ($(
        $number:ident $register:ident $bits:literal $add:literal $scope:literal $of:ident $sc:ident:
        $and:ident $or:ident $xor:ident $plus:ident $minus:ident $exchange:ident $compare:ident
    )*) => {$(
        fetch! { "Keeps the bits that the other number has, too" $and $number $register $scope $of $sc
            concat!("and.", $bits), word number
            |before: $number, with: $number| Number::number(before.word() & with.word()) }
        fetch! { "Sets the bits that the other number has" $or $number $register $scope $of $sc
            concat!("or.", $bits), word number
            |before: $number, with: $number| Number::number(before.word() | with.word()) }
        fetch! { "Changes the bits that the other number has" $xor $number $register $scope $of $sc
            concat!("xor.", $bits), word number
            |before: $number, with: $number| Number::number(before.word() ^ with.word()) }
        fetch! { "Adds" $plus $number $register $scope $of $sc
            concat!("add.", $add), same same |before: $number, with| before.plus(with) }
        fetch! { "Subtracts" $minus $number $register $scope $of $sc
            concat!("add.", $add), negative same |before: $number, with: $number| before.plus(with.negative()) }
        fetch! { "Sets the number" $exchange $number $register $scope $of $sc
            concat!("exch.", $bits), word number |_, with| with }

        /// Sets the number to `new`, if it has the bits of `current`, and gives the number before.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $compare(
            at: *mut $number,
            current: $number,
            new: $number,
            ordering: Ordering,
        ) -> $number {
            let (current, word) = (current.word(), new.word());
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = word;
                let swapped = |before: $number| (before.word() == current).then_some(new);
                // SAFETY: as the caller promises.
                unsafe { update(at, ordering, Scope::$of, swapped) }
            }
            #[cfg(target_arch = "nvptx64")]
            Number::number(atom!($scope $sc ordering $register concat!("cas.", $bits, " {}, [{}], {}, {};"),
                at, current, word))
        }
    )*};
}
fetches! {
    u32 reg32 "b32" "u32" "cta" Block fence_sc_block:
        atomic_fetch_and_u32_block atomic_fetch_or_u32_block atomic_fetch_xor_u32_block
        atomic_fetch_add_u32_block atomic_fetch_sub_u32_block atomic_fetch_exch_u32_block
        atomic_compare_and_swap_u32_block
    u32 reg32 "b32" "u32" "gpu" Device fence_sc_device:
        atomic_fetch_and_u32_device atomic_fetch_or_u32_device atomic_fetch_xor_u32_device
        atomic_fetch_add_u32_device atomic_fetch_sub_u32_device atomic_fetch_exch_u32_device
        atomic_compare_and_swap_u32_device
    u32 reg32 "b32" "u32" "sys" System fence_sc_system:
        atomic_fetch_and_u32_system atomic_fetch_or_u32_system atomic_fetch_xor_u32_system
        atomic_fetch_add_u32_system atomic_fetch_sub_u32_system atomic_fetch_exch_u32_system
        atomic_compare_and_swap_u32_system
    u64 reg64 "b64" "u64" "cta" Block fence_sc_block:
        atomic_fetch_and_u64_block atomic_fetch_or_u64_block atomic_fetch_xor_u64_block
        atomic_fetch_add_u64_block atomic_fetch_sub_u64_block atomic_fetch_exch_u64_block
        atomic_compare_and_swap_u64_block
    u64 reg64 "b64" "u64" "gpu" Device fence_sc_device:
        atomic_fetch_and_u64_device atomic_fetch_or_u64_device atomic_fetch_xor_u64_device
        atomic_fetch_add_u64_device atomic_fetch_sub_u64_device atomic_fetch_exch_u64_device
        atomic_compare_and_swap_u64_device
    u64 reg64 "b64" "u64" "sys" System fence_sc_system:
        atomic_fetch_and_u64_system atomic_fetch_or_u64_system atomic_fetch_xor_u64_system
        atomic_fetch_add_u64_system atomic_fetch_sub_u64_system atomic_fetch_exch_u64_system
        atomic_compare_and_swap_u64_system
    i32 reg32 "b32" "u32" "cta" Block fence_sc_block:
        atomic_fetch_and_i32_block atomic_fetch_or_i32_block atomic_fetch_xor_i32_block
        atomic_fetch_add_i32_block atomic_fetch_sub_i32_block atomic_fetch_exch_i32_block
        atomic_compare_and_swap_i32_block
    i32 reg32 "b32" "u32" "gpu" Device fence_sc_device:
        atomic_fetch_and_i32_device atomic_fetch_or_i32_device atomic_fetch_xor_i32_device
        atomic_fetch_add_i32_device atomic_fetch_sub_i32_device atomic_fetch_exch_i32_device
        atomic_compare_and_swap_i32_device
    i32 reg32 "b32" "u32" "sys" System fence_sc_system:
        atomic_fetch_and_i32_system atomic_fetch_or_i32_system atomic_fetch_xor_i32_system
        atomic_fetch_add_i32_system atomic_fetch_sub_i32_system atomic_fetch_exch_i32_system
        atomic_compare_and_swap_i32_system
    i64 reg64 "b64" "u64" "cta" Block fence_sc_block:
        atomic_fetch_and_i64_block atomic_fetch_or_i64_block atomic_fetch_xor_i64_block
        atomic_fetch_add_i64_block atomic_fetch_sub_i64_block atomic_fetch_exch_i64_block
        atomic_compare_and_swap_i64_block
    i64 reg64 "b64" "u64" "gpu" Device fence_sc_device:
        atomic_fetch_and_i64_device atomic_fetch_or_i64_device atomic_fetch_xor_i64_device
        atomic_fetch_add_i64_device atomic_fetch_sub_i64_device atomic_fetch_exch_i64_device
        atomic_compare_and_swap_i64_device
    i64 reg64 "b64" "u64" "sys" System fence_sc_system:
        atomic_fetch_and_i64_system atomic_fetch_or_i64_system atomic_fetch_xor_i64_system
        atomic_fetch_add_i64_system atomic_fetch_sub_i64_system atomic_fetch_exch_i64_system
        atomic_compare_and_swap_i64_system
    f32 reg32 "b32" "f32" "cta" Block fence_sc_block:
        atomic_fetch_and_f32_block atomic_fetch_or_f32_block atomic_fetch_xor_f32_block
        atomic_fetch_add_f32_block atomic_fetch_sub_f32_block atomic_fetch_exch_f32_block
        atomic_compare_and_swap_f32_block
    f32 reg32 "b32" "f32" "gpu" Device fence_sc_device:
        atomic_fetch_and_f32_device atomic_fetch_or_f32_device atomic_fetch_xor_f32_device
        atomic_fetch_add_f32_device atomic_fetch_sub_f32_device atomic_fetch_exch_f32_device
        atomic_compare_and_swap_f32_device
    f32 reg32 "b32" "f32" "sys" System fence_sc_system:
        atomic_fetch_and_f32_system atomic_fetch_or_f32_system atomic_fetch_xor_f32_system
        atomic_fetch_add_f32_system atomic_fetch_sub_f32_system atomic_fetch_exch_f32_system
        atomic_compare_and_swap_f32_system
    f64 reg64 "b64" "f64" "cta" Block fence_sc_block:
        atomic_fetch_and_f64_block atomic_fetch_or_f64_block atomic_fetch_xor_f64_block
        atomic_fetch_add_f64_block atomic_fetch_sub_f64_block atomic_fetch_exch_f64_block
        atomic_compare_and_swap_f64_block
    f64 reg64 "b64" "f64" "gpu" Device fence_sc_device:
        atomic_fetch_and_f64_device atomic_fetch_or_f64_device atomic_fetch_xor_f64_device
        atomic_fetch_add_f64_device atomic_fetch_sub_f64_device atomic_fetch_exch_f64_device
        atomic_compare_and_swap_f64_device
    f64 reg64 "b64" "f64" "sys" System fence_sc_system:
        atomic_fetch_and_f64_system atomic_fetch_or_f64_system atomic_fetch_xor_f64_system
        atomic_fetch_add_f64_system atomic_fetch_sub_f64_system atomic_fetch_exch_f64_system
        atomic_compare_and_swap_f64_system
}

macro_rules! extremes {
    ($($number:ident $register:ident $type:literal $scope:literal $of:ident $sc:ident: $min:ident $max:ident)*) => {$(
        fetch! { "Keeps the smaller number" $min $number $register $scope $of $sc
            concat!("min.", $type), same same |before: $number, with| before.min(with) }
        fetch! { "Keeps the larger number" $max $number $register $scope $of $sc
            concat!("max.", $type), same same |before: $number, with| before.max(with) }
    )*};
}
extremes! {
    u32 reg32 "u32" "cta" Block fence_sc_block: atomic_fetch_min_u32_block atomic_fetch_max_u32_block
    u32 reg32 "u32" "gpu" Device fence_sc_device: atomic_fetch_min_u32_device atomic_fetch_max_u32_device
    u32 reg32 "u32" "sys" System fence_sc_system: atomic_fetch_min_u32_system atomic_fetch_max_u32_system
    u64 reg64 "u64" "cta" Block fence_sc_block: atomic_fetch_min_u64_block atomic_fetch_max_u64_block
    u64 reg64 "u64" "gpu" Device fence_sc_device: atomic_fetch_min_u64_device atomic_fetch_max_u64_device
    u64 reg64 "u64" "sys" System fence_sc_system: atomic_fetch_min_u64_system atomic_fetch_max_u64_system
    i32 reg32 "s32" "cta" Block fence_sc_block: atomic_fetch_min_i32_block atomic_fetch_max_i32_block
    i32 reg32 "s32" "gpu" Device fence_sc_device: atomic_fetch_min_i32_device atomic_fetch_max_i32_device
    i32 reg32 "s32" "sys" System fence_sc_system: atomic_fetch_min_i32_system atomic_fetch_max_i32_system
    i64 reg64 "s64" "cta" Block fence_sc_block: atomic_fetch_min_i64_block atomic_fetch_max_i64_block
    i64 reg64 "s64" "gpu" Device fence_sc_device: atomic_fetch_min_i64_device atomic_fetch_max_i64_device
    i64 reg64 "s64" "sys" System fence_sc_system: atomic_fetch_min_i64_system atomic_fetch_max_i64_system
}

/// Counts up to `bound`, after which comes 0, and gives the number before: CUDA's `atomicInc`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn atomic_inc_bounded_relaxed_u32_device(at: *mut u32, bound: u32) -> u32 {
    // SAFETY: as the caller promises.
    #[cfg(not(target_arch = "nvptx64"))]
    return unsafe {
        let next = |before| Some(if before >= bound { 0 } else { before + 1 });
        update(at, Relaxed, Scope::Device, next)
    };
    #[cfg(target_arch = "nvptx64")]
    counted!("inc.u32", at, bound)
}

/// Counts down to 0, after which comes `bound`, and gives the number before: CUDA's `atomicDec`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn atomic_dec_bounded_relaxed_u32_device(at: *mut u32, bound: u32) -> u32 {
    // SAFETY: as the caller promises.
    #[cfg(not(target_arch = "nvptx64"))]
    return unsafe {
        let next = |before| Some(if before == 0 || before > bound { bound } else { before - 1 });
        update(at, Relaxed, Scope::Device, next)
    };
    #[cfg(target_arch = "nvptx64")]
    counted!("dec.u32", at, bound)
}
