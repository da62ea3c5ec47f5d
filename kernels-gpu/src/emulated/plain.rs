// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of [`crate::plain`] in the emulator.

use super::{LAUNCH, launch};
use crate::layout::Layout;
use crate::plain::march::{self, March};
use crate::plain::points::Points;
use crate::plain::rows::Rows;
use crate::plain::tile::{self, Tiled};
use crate::plain::{MOST_WEIGHTS, THREADS, warp_columns};
use cuda_sim::{Buffer, Config, Fault, Memory, Stats};

/// A kernel of [`crate::plain::rows`].
pub type RowsKernel<S> = unsafe fn(*const S, *mut S, Rows, *const u32);

/// A kernel of [`crate::plain::points`].
pub type PointsKernel<S, V> = unsafe fn(*const S, *mut S, Points<V>, *const u32);

/// The planes of a launch, and how it is launched.
#[derive(Clone, Copy, Debug)]
pub struct Launch<S> {
    /// Input and output.
    pub planes: [Buffer<S>; 2],
    /// Where the points of both lie.
    pub layout: Layout,
    /// Seed of the emulator.
    pub seed: u64,
}

impl<S> Launch<S> {
    /// A launch of a kernel of [`crate::plain::tile`], which takes the address of its parameter, as the
    /// driver does.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where `V` is not the type of the kernel's sums.
    pub fn tile<V>(
        &self,
        memory: &mut Memory,
        kernel: &tile::Kernel,
        launch: &Tiled<V, MOST_WEIGHTS>,
    ) -> Result<Stats, Fault> {
        assert_eq!(kernel.element == "f64", size_of::<V>() == 8, "sums of {}", kernel.name);
        let columns = warp_columns(size_of::<S>() as u32);
        let blocks = launch.tiles.blocks([columns, kernel.rows, kernel.planes]);
        // SAFETY: the kernel accesses memory through `cuda_std` only, and the emulator checks every
        // such access. Its parameter has the same sums and no more weights.
        self.run(memory, kernel.name, blocks, |from, to| unsafe {
            (kernel.entry)(from.cast(), to.cast(), std::ptr::from_ref(launch).cast());
        })
    }

    /// A launch of a kernel of [`crate::plain::march`], likewise.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where `V` is not the type of the kernel's sums.
    pub fn march<V>(
        &self,
        memory: &mut Memory,
        kernel: &march::Kernel,
        launch: &March<V, MOST_WEIGHTS>,
    ) -> Result<Stats, Fault> {
        assert_eq!(kernel.element == "f64", size_of::<V>() == 8, "sums of {}", kernel.name);
        let blocks = launch.lines.blocks(warp_columns(size_of::<S>() as u32), kernel.rows);
        // SAFETY: as above.
        self.run(memory, kernel.name, blocks, |from, to| unsafe {
            (kernel.entry)(from.cast(), to.cast(), std::ptr::from_ref(launch).cast());
        })
    }

    /// A launch of a kernel of [`crate::plain::rows`], given with its name.
    ///
    /// # Errors
    /// The kernel's first mistake.
    pub fn rows(
        &self,
        memory: &mut Memory,
        (name, kernel): (&str, RowsKernel<S>),
        rows: Rows,
        table: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let blocks = rows.blocks(warp_columns(size_of::<S>() as u32));
        // SAFETY: as above.
        self.run(memory, name, blocks, |from, to| unsafe { kernel(from, to, rows, table.as_ptr()) })
    }

    /// A launch of a kernel of [`crate::plain::points`], given with its name.
    ///
    /// # Errors
    /// The kernel's first mistake.
    pub fn points<V: Copy>(
        &self,
        memory: &mut Memory,
        (name, kernel): (&str, PointsKernel<S, V>),
        points: Points<V>,
        taps: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let blocks = points.blocks();
        // SAFETY: as above.
        self.run(memory, name, blocks, |from, to| unsafe {
            kernel(from, to, points, taps.as_ptr());
        })
    }

    fn run(
        &self,
        memory: &mut Memory,
        name: &str,
        blocks: u64,
        kernel: impl Fn(*const S, *mut S),
    ) -> Result<Stats, Fault> {
        let blocks = u32::try_from(blocks).expect("a small grid");
        let config = Config { blocks, threads: THREADS, seed: self.seed, ..LAUNCH };
        let [input, output] = self.planes;
        let from = input.as_ptr().wrapping_add(self.layout.origin());
        let to = output.as_mut_ptr().wrapping_add(self.layout.origin());
        launch(name, config, memory, || kernel(from, to))
    }
}
