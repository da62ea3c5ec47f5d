// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating-point numbers that several threads of a GPU change. Whole numbers have the types of `core::sync::atomic`,
//! which are `atom` instructions on the GPU. In the emulator these types work, unchecked: lanes take turns.

pub use core::sync::atomic::Ordering;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// `atom.add` with an order that fences around it make.
#[cfg(target_arch = "nvptx64")]
macro_rules! add {
    ($instruction:literal, $register:ident, $at:expr, $value:expr, $order:expr) => {{
        use core::sync::atomic::fence;
        if !matches!($order, Ordering::Relaxed | Ordering::Acquire) {
            fence($order);
        }
        let before;
        // SAFETY: `at` is a number of this type, which lives as long as the reference to it.
        unsafe {
            core::arch::asm!(concat!($instruction, " {}, [{}], {};"), out($register) before, in(reg64) $at,
                in($register) $value, options(nostack));
        }
        if !matches!($order, Ordering::Relaxed | Ordering::Release) {
            fence($order);
        }
        before
    }};
}

macro_rules! atomic_float {
    ($name:ident $float:ident $bits:ident $register:ident $instruction:literal) => {
        #[doc = concat!("An `", stringify!($float), "` that threads change one after the other.")]
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

            /// The value.
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $float {
                $float::from_bits(self.0.load(order))
            }

            /// Sets the value.
            #[inline(always)]
            pub fn store(&self, value: $float, order: Ordering) {
                self.0.store(value.to_bits(), order);
            }

            /// Sets the value and gives the one before.
            #[inline(always)]
            pub fn swap(&self, value: $float, order: Ordering) -> $float {
                $float::from_bits(self.0.swap(value.to_bits(), order))
            }

            /// Adds, and gives the value before: one instruction.
            #[inline(always)]
            pub fn fetch_add(&self, value: $float, order: Ordering) -> $float {
                #[cfg(target_arch = "nvptx64")]
                return add!($instruction, $register, self.0.as_ptr(), value, order);
                #[cfg(not(target_arch = "nvptx64"))]
                self.update(order, |before| before + value)
            }

            /// Subtracts, and gives the value before.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $float, order: Ordering) -> $float {
                self.fetch_add(-value, order)
            }

            /// Keeps the smaller value, and gives the one before.
            #[inline(always)]
            pub fn fetch_min(&self, value: $float, order: Ordering) -> $float {
                self.update(order, |before| before.min(value))
            }

            /// Keeps the larger value, and gives the one before.
            #[inline(always)]
            pub fn fetch_max(&self, value: $float, order: Ordering) -> $float {
                self.update(order, |before| before.max(value))
            }

            #[inline(always)]
            fn update(&self, order: Ordering, with: impl Fn($float) -> $float) -> $float {
                let (mut before, found) = (
                    self.0.load(Ordering::Relaxed),
                    match order {
                        Ordering::Release => Ordering::Relaxed,
                        Ordering::AcqRel => Ordering::Acquire,
                        order => order,
                    },
                );
                loop {
                    let after = with($float::from_bits(before)).to_bits();
                    match self.0.compare_exchange_weak(before, after, order, found) {
                        Ok(before) => return $float::from_bits(before),
                        Err(other) => before = other,
                    }
                }
            }
        }
    };
}
atomic_float! { AtomicF32 f32 AtomicU32 reg32 "atom.add.f32" }
atomic_float! { AtomicF64 f64 AtomicU64 reg64 "atom.add.f64" }
