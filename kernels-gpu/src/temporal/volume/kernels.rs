// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every kernel of temporal blocking in 3D.

use super::{VolumeLaunch, march};
use crate::element::{Bf16, Element, F16, F32, F64};
use crate::temporal::step::{BOX, MIRRORED, STAR};
use crate::temporal::words;
use cuda_std::kernel;
#[cfg(not(target_arch = "nvptx64"))]
use {
    super::Tiles,
    super::walk::{EDGES, slots},
    crate::element::Real,
    crate::temporal::{margin, step::Form},
    cuda_std::{AnyCall, Entry, warp},
};

macro_rules! kernels {
    ($($name:ident: $element:ty, $type:literal, $real:ty, $form:ident, $radius:literal, $steps:literal, $warps:literal, $rows:literal, $vector:literal, $registers:literal;)*) => {
        $(
            /// Some time steps of a 3D stencil.
            ///
            /// # Safety
            /// Launch with [`Kernel::threads`] threads, as many blocks as [`Tiles::blocks`] says, and the shared memory
            /// of [`Kernel::shared_bytes`]. `input` and `output` point at grid point (0, 0, 0) of two different arrays
            /// laid out as in [`crate::layout`], of which `launch` has the strides; outputs lie in the grid.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                launch: VolumeLaunch<$real, { (2 * $radius + 1) * (2 * $radius + 1) * (2 * $radius + 1) }>,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    march::<
                        $element,
                        { $form },
                        $radius,
                        { 2 * $radius },
                        $steps,
                        $warps,
                        $rows,
                        $vector,
                        { words($vector, <$element as Element>::BYTES) },
                        { (2 * $radius + 1) * (2 * $radius + 1) * (2 * $radius + 1) },
                    >(input.cast(), output.cast(), &launch);
                }
            }
        )*

        /// Every kernel of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: stringify!($name),
            element: $type,
            form: Form::of($form),
            radius: $radius,
            steps: $steps,
            warps: $warps,
            rows: $rows,
            vector: $vector,
            registers: $registers,
            bytes: <$element as Element>::BYTES,
            real_bytes: <$real as Real>::BYTES,
            call: |input, output, tiles, weights| {
                let weights = core::array::from_fn(|index| weights[index] as $real);
                Box::new(Entry::of::<$name>().with((input, output, VolumeLaunch { tiles, weights })))
            },
        },)*];
    };
}

// Kernel: element, its name, type of sums, form, radius, time steps, warps, rows and columns of a thread, registers.
kernels! {
    temporal3d_f64_star1_t2: F64, "f64", f64, STAR, 1, 2, 12, 4, 2, 168;
    temporal3d_f64_star1_t4: F64, "f64", f64, STAR, 1, 4, 8, 4, 2, 255;
    temporal3d_f64_mirrored1_t3: F64, "f64", f64, MIRRORED, 1, 3, 8, 4, 2, 255;
    temporal3d_f64_box1_t2: F64, "f64", f64, BOX, 1, 2, 8, 4, 2, 255;
    temporal3d_f32_star1_t2: F32, "f32", f32, STAR, 1, 2, 12, 4, 4, 168;
    temporal3d_f32_star1_t4: F32, "f32", f32, STAR, 1, 4, 8, 4, 4, 255;
    temporal3d_f32_mirrored1_t3: F32, "f32", f32, MIRRORED, 1, 3, 8, 4, 4, 255;
    temporal3d_f32_box1_t2: F32, "f32", f32, BOX, 1, 2, 12, 4, 4, 168;
    temporal3d_f16_box1_t2: F16, "f16", f32, BOX, 1, 2, 12, 2, 8, 168;
    temporal3d_bf16_box1_t2: Bf16, "bf16", f32, BOX, 1, 2, 12, 2, 8, 168;
}

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// What it knows of the weights.
    pub form: Form,
    /// The largest radius of a stencil.
    pub radius: usize,
    /// Time steps.
    pub steps: usize,
    /// Warps of a block.
    pub warps: u32,
    /// Rows of a thread.
    pub rows: u32,
    /// Columns of a thread.
    pub vector: u32,
    /// The most registers of a thread.
    pub registers: u32,
    /// Bytes of an element.
    pub bytes: u32,
    /// Bytes of a sum.
    pub real_bytes: u32,
    /// The kernel with input, output, where it computes, and the weights in C order, as many as it has, which
    /// it takes in the type of its sums.
    pub call: fn(*const u8, *mut u8, Tiles, &[f64]) -> Box<dyn AnyCall>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Kernel {
    /// Threads of a block.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.warps * warp::SIZE
    }

    /// Rows on either side that all steps reach.
    #[must_use]
    pub const fn reach(&self) -> u32 {
        (self.radius * self.steps) as u32
    }

    /// Rows of a tile.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.warps * self.rows
    }

    /// Rows and columns of outputs of a tile in the middle of the grid.
    #[must_use]
    pub const fn tile(&self) -> [u32; 2] {
        let columns = warp::SIZE * self.vector - 2 * margin(self.reach(), self.vector);
        [self.height() - 2 * self.reach(), columns]
    }

    /// Dynamic shared memory of a block.
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        let (steps, radius, columns) =
            (self.steps as u32, self.radius as u32, warp::SIZE * self.vector);
        let shown = 2 * steps * EDGES * radius * columns * self.real_bytes;
        let slots = slots(self.warps, self.rows, columns * self.bytes);
        self.warps * (slots.shared_bytes() + shown) + radius * columns * self.real_bytes
    }
}
