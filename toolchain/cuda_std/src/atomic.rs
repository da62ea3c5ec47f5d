// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that several threads change, each after the other: floating-point ones, and in [`mid`] those of every type, by
//! pointers. Whole numbers have the types of `core::sync::atomic`, too, which are `atom` instructions.
//!
//! A *scope* says to whom a change is one after the other, and for whom it orders what was done before: the threads of a
//! *block*, those of a *device*, or the whole *system* with its other GPUs and the host. A narrow one is quicker, and wrong
//! between two blocks. The emulator reports that, and what no order orders, of numbers that lie in buffers.

pub use core::sync::atomic::Ordering;
use core::sync::atomic::{AtomicU32, AtomicU64};

pub mod intrinsics;
pub mod mid;

macro_rules! atomic_float {
    (
        $name:ident $float:ident $bits:ident $whom:literal $safety:literal [$($unsafe:ident)?]
        $load:ident $store:ident $swap:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident $compare:ident
    ) => {
        #[doc = concat!("An `", stringify!($float), "` that ", $whom, " change one after the other.")]
        #[repr(transparent)]
        #[derive(Debug, Default)]
        pub struct $name($bits);

        impl $name {
            /// With a value.
            #[must_use]
            pub const fn new(value: $float) -> Self {
                Self($bits::new(value.to_bits()))
            }

            /// The number at a pointer.
            ///
            /// # Safety
            /// It is valid and aligned for this long, and others access it by atomic operations only.
            #[inline(always)]
            pub const unsafe fn from_ptr<'a>(at: *mut $float) -> &'a Self {
                // SAFETY: both are one number of these bits; the rest is as the caller promises.
                unsafe { &*at.cast() }
            }

            /// The value, of which nobody else knows.
            #[must_use]
            pub fn into_inner(self) -> $float {
                $float::from_bits(self.0.into_inner())
            }

            /// The value. The order is none that releases.
            #[doc = $safety]
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub $($unsafe)? fn load(&self, order: Ordering) -> $float {
                // SAFETY: the number lives as long as the reference.
                $float::from_bits(unsafe { mid::$load(self.0.as_ptr(), order) })
            }

            /// Sets the value. The order is none that acquires.
            #[doc = $safety]
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub $($unsafe)? fn store(&self, value: $float, order: Ordering) {
                // SAFETY: as above.
                unsafe { mid::$store(self.0.as_ptr(), order, value.to_bits()) }
            }

            atomic_float! { @one $float $safety [$($unsafe)?]
                "Sets the value and gives the one before." swap $swap }
            atomic_float! { @one $float $safety [$($unsafe)?]
                "Adds, and gives the value before: one instruction." fetch_add $add }
            atomic_float! { @one $float $safety [$($unsafe)?]
                "Subtracts, and gives the value before." fetch_sub $sub }
            atomic_float! { @one $float $safety [$($unsafe)?]
                "Keeps the bits that the other number has, too, and gives the value before." fetch_and $and }
            atomic_float! { @one $float $safety [$($unsafe)?]
                "Sets the bits that the other number has, and gives the value before." fetch_or $or }
            atomic_float! { @one $float $safety [$($unsafe)?]
                "Changes the bits that the other number has, and gives the value before." fetch_xor $xor }

            /// Keeps the smaller value, and gives the one before.
            #[doc = $safety]
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub $($unsafe)? fn fetch_min(&self, value: $float, order: Ordering) -> $float {
                self.update(order, |before| before.min(value))
            }

            /// Keeps the larger value, and gives the one before.
            #[doc = $safety]
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub $($unsafe)? fn fetch_max(&self, value: $float, order: Ordering) -> $float {
                self.update(order, |before| before.max(value))
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            fn update(&self, order: Ordering, with: impl Fn($float) -> $float) -> $float {
                // SAFETY: the number lives as long as the reference.
                let mut before = $float::from_bits(unsafe { mid::$load(self.0.as_ptr(), Ordering::Relaxed) });
                loop {
                    let at = self.0.as_ptr().cast();
                    // SAFETY: as above.
                    let found = unsafe { mid::$compare(at, before, with(before), order) };
                    if found.to_bits() == before.to_bits() {
                        return found;
                    }
                    before = found;
                }
            }
        }
    };
    (@one $float:ident $safety:literal [$($unsafe:ident)?] $doc:literal $name:ident $mid:ident) => {
        #[doc = $doc]
        #[doc = $safety]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub $($unsafe)? fn $name(&self, value: $float, order: Ordering) -> $float {
            // SAFETY: the number lives as long as the reference.
            unsafe { mid::$mid(self.0.as_ptr().cast(), order, value) }
        }
    };
}

atomic_float! {
    BlockAtomicF32 f32 AtomicU32 "the threads of a block"
    "\n# Safety\nNo thread of another block accesses the number at the same time." [unsafe]
    atomic_load_32_block atomic_store_32_block atomic_fetch_exch_f32_block
    atomic_fetch_add_f32_block atomic_fetch_sub_f32_block
    atomic_fetch_and_f32_block atomic_fetch_or_f32_block atomic_fetch_xor_f32_block
    atomic_compare_and_swap_f32_block
}

atomic_float! {
    BlockAtomicF64 f64 AtomicU64 "the threads of a block"
    "\n# Safety\nNo thread of another block accesses the number at the same time." [unsafe]
    atomic_load_64_block atomic_store_64_block atomic_fetch_exch_f64_block
    atomic_fetch_add_f64_block atomic_fetch_sub_f64_block
    atomic_fetch_and_f64_block atomic_fetch_or_f64_block atomic_fetch_xor_f64_block
    atomic_compare_and_swap_f64_block
}

atomic_float! {
    AtomicF32 f32 AtomicU32 "the threads of a GPU"
    "" []
    atomic_load_32_device atomic_store_32_device atomic_fetch_exch_f32_device
    atomic_fetch_add_f32_device atomic_fetch_sub_f32_device
    atomic_fetch_and_f32_device atomic_fetch_or_f32_device atomic_fetch_xor_f32_device
    atomic_compare_and_swap_f32_device
}

atomic_float! {
    AtomicF64 f64 AtomicU64 "the threads of a GPU"
    "" []
    atomic_load_64_device atomic_store_64_device atomic_fetch_exch_f64_device
    atomic_fetch_add_f64_device atomic_fetch_sub_f64_device
    atomic_fetch_and_f64_device atomic_fetch_or_f64_device atomic_fetch_xor_f64_device
    atomic_compare_and_swap_f64_device
}

atomic_float! {
    SystemAtomicF32 f32 AtomicU32 "the threads of all GPUs and of the host"
    "" []
    atomic_load_32_system atomic_store_32_system atomic_fetch_exch_f32_system
    atomic_fetch_add_f32_system atomic_fetch_sub_f32_system
    atomic_fetch_and_f32_system atomic_fetch_or_f32_system atomic_fetch_xor_f32_system
    atomic_compare_and_swap_f32_system
}

atomic_float! {
    SystemAtomicF64 f64 AtomicU64 "the threads of all GPUs and of the host"
    "" []
    atomic_load_64_system atomic_store_64_system atomic_fetch_exch_f64_system
    atomic_fetch_add_f64_system atomic_fetch_sub_f64_system
    atomic_fetch_and_f64_system atomic_fetch_or_f64_system atomic_fetch_xor_f64_system
    atomic_compare_and_swap_f64_system
}
