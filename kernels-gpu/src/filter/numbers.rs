// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types of the values of arrays, as numbers that a launch has, and the two types that sums are computed in.

use crate::element::Real;
use cuda_std::{global, math, matrix};

/// uint8, and bools.
pub const U8: u32 = 0;
/// int8.
pub const I8: u32 = 1;
/// uint16.
pub const U16: u32 = 2;
/// int16.
pub const I16: u32 = 3;
/// uint32.
pub const U32: u32 = 4;
/// int32.
pub const I32: u32 = 5;
/// uint64.
pub const U64: u32 = 6;
/// int64.
pub const I64: u32 = 7;
/// IEEE half precision.
pub const F16: u32 = 8;
/// bfloat16.
pub const BF16: u32 = 9;
/// IEEE single precision.
pub const F32: u32 = 10;
/// IEEE double precision.
pub const F64: u32 = 11;

/// A type of values, as launches have it.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueType {
    /// Which.
    pub number: u32,
    /// Bytes of a value. Kernels have it from here: a table of them would lie in global memory, which kernels that are loaded
    /// one by one have none of.
    pub bytes: u32,
}

impl ValueType {
    /// Of a number.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub const fn of(number: u32) -> Self {
        Self { number, bytes: bytes(number) }
    }
}

/// Bytes of a value of a type.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub const fn bytes(kind: u32) -> u32 {
    match kind {
        U8 | I8 => 1,
        U16 | I16 | F16 | BF16 => 2,
        U32 | I32 | F32 => 4,
        _ => 8,
    }
}

/// Whether values of a type are whole numbers.
#[inline(always)]
#[must_use]
pub const fn is_whole(kind: u32) -> bool {
    kind < F16
}

/// The bits of a value of at most four bytes.
///
/// # Safety
/// The array has that place, which is written, and is aligned to its values.
#[inline(always)]
#[track_caller]
unsafe fn word(kind: ValueType, from: *const u8, at: usize) -> u32 {
    // SAFETY: as the caller promises.
    unsafe {
        match kind.bytes {
            1 => u32::from(global::load_u8(from.wrapping_add(at))),
            2 => u32::from(global::load_u16(from.cast::<u16>().wrapping_add(at))),
            _ => global::load(from.cast::<u32>().wrapping_add(at)),
        }
    }
}

/// A type that sums are computed in.
pub trait SumType: Real {
    /// The bits of a value of an array.
    type Bits: Copy;
    /// The bits of zero.
    const NOTHING: Self::Bits;
    /// Arrays of this type.
    const OWN: ValueType;

    /// The bits of a value.
    ///
    /// # Safety
    /// The array has that place, which is written, and is aligned to its values, which are not wider than these bits.
    unsafe fn load(kind: ValueType, from: *const u8, at: usize) -> Self::Bits;

    /// The value of bits.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn widen(kind: u32, bits: Self::Bits) -> Self;

    /// As a value of a type; of whole numbers, the digits behind the point are cut off.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn cut(self, kind: u32) -> u64;

    /// The number that a value of a type is, of those bits.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    unsafe fn cut_off(self, kind: u32) -> Self {
        let _ = kind;
        self
    }

    /// Puts four values into an array of them.
    ///
    /// # Safety
    /// There are such places, aligned to 16 bytes, which no other thread accesses.
    unsafe fn store_four(to: *mut u8, values: [Self; 4]);

    /// `self` / `by`, rounded once.
    #[must_use]
    fn over(self, by: Self) -> Self;

    /// Whether it is 1.
    #[must_use]
    fn is_one(self) -> bool;

    /// `self` · `factor`, rounded by itself, whatever is added to it.
    ///
    /// # Safety
    /// Only in a kernel.
    unsafe fn rounded_product(self, factor: Self) -> Self;
}

/// Puts a value into an array.
///
/// # Safety
/// The array has that place, and is aligned to its values; no other thread accesses it.
#[inline(always)]
#[track_caller]
pub unsafe fn store(kind: ValueType, to: *mut u8, at: usize, bits: u64) {
    // SAFETY: as the caller promises.
    unsafe {
        match kind.bytes {
            1 => global::store_u8(to.wrapping_add(at), bits as u8),
            2 => global::store_u16(to.cast::<u16>().wrapping_add(at), bits as u16),
            4 => global::store(to.cast::<u32>().wrapping_add(at), bits as u32),
            _ => global::store_v2(
                to.cast::<u32>().wrapping_add(2 * at),
                [bits as u32, (bits >> 32) as u32],
            ),
        }
    }
}

impl SumType for f32 {
    type Bits = u32;
    const NOTHING: u32 = 0;
    const OWN: ValueType = ValueType { number: F32, bytes: 4 };

    #[inline(always)]
    #[track_caller]
    unsafe fn load(kind: ValueType, from: *const u8, at: usize) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { word(kind, from, at) }
    }

    #[inline(always)]
    unsafe fn widen(kind: u32, bits: u32) -> Self {
        match kind {
            U8 => bits as u8 as Self,
            I8 => bits as i8 as Self,
            U16 => bits as u16 as Self,
            I16 => bits as i16 as Self,
            U32 => bits as Self,
            I32 => bits as i32 as Self,
            // SAFETY: in a kernel, as the caller promises.
            F16 => unsafe { math::f32_from_f16(bits as u16) },
            BF16 => Self::from_bits(bits << 16),
            _ => Self::from_bits(bits),
        }
    }

    #[inline(always)]
    unsafe fn cut(self, kind: u32) -> u64 {
        // SAFETY: in a kernel, as the caller promises.
        let bits = unsafe {
            match kind {
                // Single precision is for sums below 2²⁴.
                U8 | I8 | U16 | I16 | U32 | I32 => self as i32 as u32,
                F16 => matrix::pack_f16(self, 0.0),
                BF16 => matrix::pack_bf16(self, 0.0),
                F32 => self.to_bits(),
                F64 => return f64::from(self).to_bits(),
                _ => return self as i64 as u64,
            }
        };
        u64::from(bits)
    }

    #[inline(always)]
    unsafe fn cut_off(self, kind: u32) -> Self {
        match kind {
            U8 => self as i32 as u8 as Self,
            I8 => self as i32 as i8 as Self,
            U16 => self as i32 as u16 as Self,
            I16 => self as i32 as i16 as Self,
            U32 => self as i32 as u32 as Self,
            I32 => self as i32 as Self,
            U64 => self as i64 as u64 as Self,
            I64 => self as i64 as Self,
            _ => self,
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_four(to: *mut u8, values: [Self; 4]) {
        let [a, b, c, d] = values.map(Self::to_bits);
        // SAFETY: as the caller promises.
        unsafe { global::store_v4(to.cast(), [a, b, c, d]) };
    }

    #[inline(always)]
    fn over(self, by: Self) -> Self {
        self / by
    }

    #[inline(always)]
    fn is_one(self) -> bool {
        self == 1.0
    }

    #[inline(always)]
    unsafe fn rounded_product(self, factor: Self) -> Self {
        // SAFETY: in a kernel, as the caller promises. A sum with -0 is the product, rounded.
        unsafe { math::fma_f32(self, factor, -0.0) }
    }
}

/// A sum as a whole number: its lowest bits, where it has more than a type holds.
#[inline(always)]
fn whole(sum: f64, kind: u32) -> u64 {
    // By way of whole numbers with a sign, which hold all but the upper half of u64.
    match kind {
        U64 if sum >= 9.2e18 => sum as u64,
        _ => sum as i64 as u64,
    }
}

impl SumType for f64 {
    type Bits = u64;
    const NOTHING: u64 = 0;
    const OWN: ValueType = ValueType { number: F64, bytes: 8 };

    #[inline(always)]
    #[track_caller]
    unsafe fn load(kind: ValueType, from: *const u8, at: usize) -> u64 {
        // SAFETY: as the caller promises.
        unsafe {
            if kind.bytes == 8 {
                let [low, high] = global::load_v2(from.cast::<u32>().wrapping_add(2 * at));
                return u64::from(high) << 32 | u64::from(low);
            }
            u64::from(word(kind, from, at))
        }
    }

    #[inline(always)]
    unsafe fn widen(kind: u32, bits: u64) -> Self {
        match kind {
            U64 => bits as Self,
            I64 => bits as i64 as Self,
            U32 => bits as u32 as Self,
            I32 => bits as i32 as Self,
            F64 => Self::from_bits(bits),
            // SAFETY: in a kernel, as the caller promises.
            _ => Self::from(unsafe { <f32 as SumType>::widen(kind, bits as u32) }),
        }
    }

    #[inline(always)]
    unsafe fn cut(self, kind: u32) -> u64 {
        match kind {
            F64 => self.to_bits(),
            F32 => u64::from((self as f32).to_bits()),
            // SAFETY: in a kernel, as the caller promises.
            F16 | BF16 => unsafe { (self as f32).cut(kind) },
            _ => whole(self, kind),
        }
    }

    #[inline(always)]
    unsafe fn cut_off(self, kind: u32) -> Self {
        let bits = whole(self, kind);
        match kind {
            U8 => bits as u8 as Self,
            I8 => bits as i8 as Self,
            U16 => bits as u16 as Self,
            I16 => bits as i16 as Self,
            U32 => bits as u32 as Self,
            I32 => bits as i32 as Self,
            U64 => bits as Self,
            I64 => bits as i64 as Self,
            _ => self,
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_four(to: *mut u8, values: [Self; 4]) {
        let [a, b, c, d] = values.map(crate::element::to_words);
        // SAFETY: as the caller promises.
        unsafe {
            global::store_v4(to.cast(), [a[0], a[1], b[0], b[1]]);
            global::store_v4(to.wrapping_add(16).cast(), [c[0], c[1], d[0], d[1]]);
        }
    }

    #[inline(always)]
    fn over(self, by: Self) -> Self {
        self / by
    }

    #[inline(always)]
    fn is_one(self) -> bool {
        self == 1.0
    }

    #[inline(always)]
    unsafe fn rounded_product(self, factor: Self) -> Self {
        // SAFETY: in a kernel, as the caller promises. A sum with -0 is the product, rounded.
        unsafe { math::fma_f64(self, factor, -0.0) }
    }
}
