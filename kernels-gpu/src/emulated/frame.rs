// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of [`crate::frame`] in the emulator.

use super::{LAUNCH, launch};
use crate::frame::{self, BOX_WORDS, Frame};
use crate::layout::Layout;
use cuda_sim::{Buffer, Config, Fault, Memory, Stats};

/// The kernel of an element type: `S` is how it is stored, `V` how it is summed.
pub type Kernel<S, V> = unsafe fn(*const S, *mut S, Frame<V>, *const u32, *const u32);

macro_rules! kernels {
    ($($function:ident $stored:ty: $any:ident $r1:ident $r2:ident $r3:ident $cube:ident;)*) => {$(
        /// The kernel of a type, with its name: for any stencil, or for a dense one of so many dimensions
        /// and this radius.
        ///
        /// # Panics
        /// Where there is none.
        #[must_use]
        pub fn $function(
            dense: Option<(usize, usize)>,
        ) -> (&'static str, Kernel<$stored, f32>) {
            match dense {
                None => (stringify!($any), frame::$any),
                Some((2, 1)) => (stringify!($r1), frame::$r1),
                Some((2, 2)) => (stringify!($r2), frame::$r2),
                Some((2, 3)) => (stringify!($r3), frame::$r3),
                Some((3, 1)) => (stringify!($cube), frame::$cube),
                Some(other) => panic!("no kernel for {other:?}"),
            }
        }
    )*};
}

kernels! {
    kernel_f16 u16: frame_f16 frame_f16_2d_r1 frame_f16_2d_r2 frame_f16_2d_r3 frame_f16_3d_r1;
    kernel_bf16 u16: frame_bf16 frame_bf16_2d_r1 frame_bf16_2d_r2 frame_bf16_2d_r3 frame_bf16_3d_r1;
    kernel_f32 u32: frame_f32 frame_f32_2d_r1 frame_f32_2d_r2 frame_f32_2d_r3 frame_f32_3d_r1;
}

/// A launch of [`crate::frame`].
#[derive(Clone, Copy, Debug)]
pub struct Launch<S, V> {
    /// The kernel and its name.
    pub kernel: (&'static str, Kernel<S, V>),
    /// What it computes.
    pub frame: Frame<V>,
    /// Where the points of both grids lie.
    pub layout: Layout,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

impl<S, V: Copy> Launch<S, V> {
    /// Computes the points of the boxes.
    ///
    /// # Errors
    /// The kernel's first mistake.
    pub fn launch(
        &self,
        memory: &mut Memory,
        [input, output]: [Buffer<S>; 2],
        boxes: Buffer<u32>,
        taps: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let &Self { kernel: (name, kernel), frame, layout, shared_bytes, seed } = self;
        let blocks = (boxes.len() / BOX_WORDS) as u32;
        let from = input.as_ptr().wrapping_add(layout.origin());
        let to = output.as_mut_ptr().wrapping_add(layout.origin());
        let (boxes, taps) = (boxes.as_ptr(), taps.as_ptr());
        let config = Config { blocks, threads: frame::THREADS, shared_bytes, seed, ..LAUNCH };
        // The launch before only reads it, like this one.
        memory.freeze(input);
        if !frame.again {
            memory.share(output);
        }
        let launched = launch(name, config, memory, || {
            // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks
            // every such access.
            unsafe { kernel(from, to, frame, boxes, taps) };
        });
        memory.thaw(input);
        memory.unshare(output);
        launched
    }
}
