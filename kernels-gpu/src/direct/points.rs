// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any stencil and boundary, point by point: each neighbour outside the grid is found by the rule of
//! its side.

use crate::boundary::Domain;
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::overlap;
use crate::rim::{tap_words, unpack_offset};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{AnyCall, Entry};
use cuda_std::{global, kernel, thread};

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct PointsLaunch<V> {
    /// The grid and what lies around it.
    pub domain: Domain<V>,
    /// Neighbours of the stencil.
    pub taps: u32,
}

impl<V> PointsLaunch<V> {
    /// Blocks of a launch: those of a row, then the next row.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        let Domain { z, y, x, .. } = &self.domain;
        self.tiles() as u64 * z.extent as u64 * y.extent as u64 * (x.extent > 0) as u64
    }

    #[inline(always)]
    const fn tiles(&self) -> u32 {
        (self.domain.x.extent as u32).div_ceil(super::THREADS)
    }
}

/// The kernel for one element type.
#[inline(always)]
#[track_caller]
unsafe fn points<E: Element>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &PointsLaunch<E::Real>,
    taps: *const u32,
) {
    let domain = &launch.domain;
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        let block = thread::block_idx_x();
        let (tile, row) = (block % launch.tiles(), block / launch.tiles());
        let x = (tile * super::THREADS + thread::thread_idx_x()) as i32;
        let rows = domain.y.extent as u32;
        let (z, y) = ((row / rows) as i32, (row % rows) as i32);
        if !domain.x.holds(x) {
            return;
        }
        overlap::wait_for_previous();
        overlap::start_next();
        let deep = domain.z.is_deep(z) && domain.y.is_deep(y) && domain.x.is_deep(x);
        let mut sum = E::Real::ZERO;
        let mut tap = 0;
        while tap < launch.taps {
            let words = taps.wrapping_add((tap * tap_words(E::Real::BYTES)) as usize);
            let [dz, dy, dx] = unpack_offset(global::load_constant(words));
            let weight = E::Real::load_constant(words.wrapping_add(1));
            let [z, y, x] = [z + dz, y + dy, x + dx];
            let value = if deep {
                E::widen(E::load(input.wrapping_offset(domain.position(z, y, x))))
            } else {
                let value = match domain.resolve(z, y, x) {
                    Ok(position) => E::widen(E::load(input.wrapping_offset(position))),
                    Err(value) => value,
                };
                if domain.rises() { value + domain.rise(z, y, x) } else { value }
            };
            sum = value.multiply_add(weight, sum);
            tap += 1;
        }
        E::store(output.wrapping_offset(domain.position(z, y, x)), sum);
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $type:literal, $real:ty;)*) => {$(
        /// One step of any stencil on a grid of
        #[doc = stringify!($element)]
        /// .
        ///
        /// # Safety
        /// Launch with [`super::THREADS`] threads and as many blocks as [`PointsLaunch::blocks`] says.
        /// `input` and `output` point at grid point (0, 0, 0) of two different arrays laid out as in
        /// [`crate::layout`]. `taps` has [`tap_words`] words for each neighbour.
        #[kernel]
        pub unsafe fn $name(
            input: *const u8,
            output: *mut u8,
            launch: PointsLaunch<$real>,
            taps: *const u32,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe { points::<$element>(input.cast(), output.cast(), &launch, taps) };
        }
    )*

    /// Every kernel of this module.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const KERNELS: &[Kernel] = &[$(Kernel {
        name: stringify!($name),
        element: $type,
        call: |input, output, launch, taps| {
            let domain = launch.domain.map(|value| value as $real);
            let launch = PointsLaunch { domain, taps: launch.taps };
            Box::new(Entry::of::<$name>().with((input, output, launch, taps)))
        },
    },)*];
    };
}

kernels! {
    points_f16: F16, "f16", f32;
    points_bf16: Bf16, "bf16", f32;
    points_f32: F32, "f32", f32;
    points_f64: F64, "f64", f64;
}

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// The kernel with input, output, what it computes, which it takes in the type of its sums, and the
    /// neighbours.
    pub call: fn(*const u8, *mut u8, &PointsLaunch<f64>, *const u32) -> Box<dyn AnyCall>,
}

/// The kernel for a stored type, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(element: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.element == element)
}
