// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tensor maps: descriptors of arrays in device memory for the tensor memory accelerator (TMA).
//!
//! A TMA load copies one box of the array to shared memory and writes zeros for what lies outside of
//! the array. Beyond the rules checked here, a kernel keeps two more: the shared-memory destination is
//! 128-byte aligned, and the box's inner start coordinate times the element size is a multiple of 16
//! bytes (it may be negative or beyond the end).

use crate::call::{CallError, check};
use crate::load::function;
use bytemuck::{Pod, Zeroable};
pub use cuda_mma::warpgroup::Swizzle;
use std::ffi::c_void;

/// A 2D tensor map: the driver's opaque 128 bytes, for the device's global memory or as a kernel
/// parameter. Needs compute capability 9.0.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct TensorMap([u64; 16]);

// SAFETY: any 128 bytes are a value.
unsafe impl Zeroable for TensorMap {}
// SAFETY: plain bytes, without padding and without host pointers.
unsafe impl Pod for TensorMap {}
// SAFETY: as above.
#[cfg(feature = "cust")]
unsafe impl cust::memory::DeviceCopy for TensorMap {}

/// An address in device memory.
pub trait DeviceAddress {
    /// As a number.
    fn address(self) -> u64;
}

/// As [`crate::Allocation::address`] returns it.
impl DeviceAddress for u64 {
    fn address(self) -> u64 {
        self
    }
}

/// As [`crate::Buffer::as_ptr`] returns it.
impl<T> DeviceAddress for *const T {
    fn address(self) -> u64 {
        self as u64
    }
}

#[cfg(feature = "cust")]
impl<T: cust::memory::DeviceCopy> DeviceAddress for cust::memory::DevicePointer<T> {
    fn address(self) -> u64 {
        self.as_raw()
    }
}

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl ElementType {
    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The driver's number (`CUtensorMapDataType`).
    const fn code(self) -> u32 {
        match self {
            Self::F16 => 6,
            Self::F32 => 7,
            Self::F64 => 8,
            Self::Bf16 => 9,
        }
    }
}

/// How much the L2 cache fetches when a box misses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum L2Promotion {
    /// What was asked for.
    #[default]
    None,
    /// Whole 64-byte pieces.
    Bytes64,
    /// Whole 128-byte lines.
    Bytes128,
    /// Pairs of lines.
    Bytes256,
}

/// A row-major 2D array in device memory, and the box that one TMA load copies from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap2d {
    /// The elements' type.
    pub element: ElementType,
    /// Columns of the array (the inner dimension).
    pub width: u64,
    /// Rows of the array.
    pub height: u64,
    /// Bytes from one row to the next.
    pub row_bytes: u64,
    /// Columns of the box.
    pub box_width: u32,
    /// Rows of the box.
    pub box_height: u32,
    /// Fetch granularity of the L2 cache.
    pub l2_promotion: L2Promotion,
    /// How pieces of the box's rows change places in shared memory.
    pub swizzle: Swizzle,
}

/// Why a tensor map cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorMapError {
    /// A value breaks one of the hardware's rules.
    #[error("tensor map: {what} is {value}, but must be {rule}")]
    Invalid {
        /// The value's meaning.
        what: &'static str,
        /// The value.
        value: u64,
        /// What the hardware asks for.
        rule: &'static str,
    },
    /// There is no driver, or it has no tensor maps.
    #[error(
        "tensor map: there is no CUDA driver, or it is older than CUDA 12.0; \
         install or update the NVIDIA driver"
    )]
    Unsupported,
    /// The driver refused.
    #[error("tensor map: {0}")]
    Driver(#[from] CallError),
}

/// `cuTensorMapEncodeTiled`, which drivers before CUDA 12 lack.
type Encode = unsafe extern "C" fn(
    map: *mut TensorMap,
    element: u32,
    rank: u32,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    box_dims: *const u32,
    element_strides: *const u32,
    interleave: u32,
    swizzle: u32,
    l2_promotion: u32,
    out_of_bounds_fill: u32,
) -> u32;

impl TensorMap2d {
    /// Encodes the map of an array that starts at `address`; elements outside of it read as zero.
    ///
    /// The map holds the address only: the caller keeps the memory allocated while kernels use it.
    pub fn encode(&self, address: impl DeviceAddress) -> Result<TensorMap, TensorMapError> {
        let address = address.address();
        self.validate(address)?;
        let encode = function(c"cuTensorMapEncodeTiled").ok_or(TensorMapError::Unsupported)?;
        // SAFETY: the driver function of this name has this signature.
        let encode: Encode = unsafe { std::mem::transmute(encode) };
        let mut map = TensorMap([0; 16]);
        let (no_interleave, fill_with_zeros) = (0, 0);
        let swizzle = match self.swizzle {
            Swizzle::None => 0,
            Swizzle::Bytes32 => 1,
            Swizzle::Bytes64 => 2,
            Swizzle::Bytes128 => 3,
        };
        // SAFETY: the arrays have the lengths that rank 2 asks for, and `map` is 64-byte aligned.
        // The driver stores the address and does not follow it.
        let status = unsafe {
            encode(
                &mut map,
                self.element.code(),
                2,
                address as *mut c_void,
                [self.width, self.height].as_ptr(),
                [self.row_bytes].as_ptr(),
                [self.box_width, self.box_height].as_ptr(),
                [1, 1].as_ptr(),
                no_interleave,
                swizzle,
                self.l2_promotion as u32,
                fill_with_zeros,
            )
        };
        check("cuTensorMapEncodeTiled", status)?;
        Ok(map)
    }

    /// Checks the rules that the hardware has for an array at `address`.
    pub fn validate(&self, address: u64) -> Result<(), TensorMapError> {
        let width_bytes = self.width.saturating_mul(self.element.bytes());
        let box_bytes = u64::from(self.box_width) * self.element.bytes();
        let extent = 1..=1 << 32;
        let box_extent = 1..=256;
        let rules = [
            (address.is_multiple_of(16), "the array's address", address, "a multiple of 16 bytes"),
            (extent.contains(&self.width), "the array's width", self.width, "1 to 2^32"),
            (extent.contains(&self.height), "the array's height", self.height, "1 to 2^32"),
            (
                self.row_bytes.is_multiple_of(16) && self.row_bytes < 1 << 40,
                "the row pitch in bytes",
                self.row_bytes,
                "a multiple of 16 below 2^40",
            ),
            (
                self.row_bytes >= width_bytes,
                "the row pitch in bytes",
                self.row_bytes,
                "at least the width times the element size",
            ),
            (
                box_extent.contains(&self.box_width),
                "the box's width",
                self.box_width.into(),
                "1 to 256",
            ),
            (
                box_extent.contains(&self.box_height),
                "the box's height",
                self.box_height.into(),
                "1 to 256",
            ),
            (
                box_bytes.is_multiple_of(16),
                "the box's width in bytes",
                box_bytes,
                "a multiple of 16",
            ),
            (
                self.swizzle == Swizzle::None || box_bytes == self.swizzle.row_bytes().into(),
                "the box's width in bytes",
                box_bytes,
                "a row of the swizzle",
            ),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            None => Ok(()),
            Some((_, what, value, rule)) => Err(TensorMapError::Invalid { what, value, rule }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: TensorMap2d = TensorMap2d {
        element: ElementType::F16,
        width: 10240,
        height: 333,
        row_bytes: 20496,
        box_width: 72,
        box_height: 16,
        l2_promotion: L2Promotion::None,
        swizzle: Swizzle::None,
    };

    #[test]
    fn the_map_is_what_the_hardware_reads() {
        assert_eq!((size_of::<TensorMap>(), align_of::<TensorMap>()), (128, 64));
    }

    #[test]
    fn each_rule_is_checked_with_its_value() {
        assert_eq!(GOOD.validate(0x7f00_0010), Ok(()));
        let text = |map: TensorMap2d, address| map.validate(address).unwrap_err().to_string();
        assert_eq!(
            text(GOOD, 24),
            "tensor map: the array's address is 24, but must be a multiple of 16 bytes"
        );
        let cases = [
            (TensorMap2d { width: 0, ..GOOD }, "the array's width is 0, "),
            (TensorMap2d { height: (1 << 32) + 1, ..GOOD }, "the array's height is 4294967297, "),
            (TensorMap2d { row_bytes: 20482, ..GOOD }, "must be a multiple of 16 below 2^40"),
            (TensorMap2d { row_bytes: 1 << 40, ..GOOD }, "must be a multiple of 16 below 2^40"),
            (TensorMap2d { row_bytes: 20464, ..GOOD }, "at least the width times"),
            (TensorMap2d { box_width: 264, ..GOOD }, "the box's width is 264, "),
            (TensorMap2d { box_height: 0, ..GOOD }, "the box's height is 0, "),
            (TensorMap2d { box_width: 68, ..GOOD }, "the box's width in bytes is 136, "),
            (TensorMap2d { swizzle: Swizzle::Bytes128, ..GOOD }, "must be a row of the swizzle"),
        ];
        for (map, expected) in cases {
            let text = text(map, 0);
            assert!(text.contains(expected), "{text} does not contain {expected}");
        }
    }

    #[test]
    fn without_a_driver_encoding_says_so() {
        let error = GOOD.encode(std::ptr::null::<u16>());
        if crate::load().is_err() {
            let text = error.unwrap_err().to_string();
            assert!(text.contains("there is no CUDA driver"), "{text}");
        }
    }
}
