// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids through this project's kernels in the emulator.

use cuda_sim::{Fault, Memory, Stats};
use host::Dtype;
use host::engine::emulate::{from_plane, to_plane};
use host::grid::Element;
use kernels_gpu::emulated::{self, Steps};
use kernels_gpu::{layout::Layout, sweep2d};
use transform::Stencil;
use transform::window::window;

/// A grid and how a register-window sweep is launched on it.
#[derive(Clone, Copy, Debug)]
pub struct Sweep2d {
    /// Element type.
    pub dtype: Dtype,
    /// Rows of the grid.
    pub ny: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Rows of a tile.
    pub tile_rows: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Sweep2d {
    /// Runs time steps, back and forth between two buffers; `values` is a grid in C order. Also says
    /// what the last launch did.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where no kernel of this family takes the stencil.
    pub fn run<T: Element>(
        &self,
        stencil: &Stencil,
        values: &[T],
        steps: usize,
    ) -> Result<(Vec<T>, Stats), Fault> {
        self.run_together(stencil, values, steps, 1, 1)
    }

    /// As [`Sweep2d::run`], with so many steps of `steps` in a launch, except perhaps the last one, and
    /// so many of those in a band.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where no kernel of this family takes the stencil, or finished tiles are not counted.
    pub fn run_together<T: Element>(
        &self,
        stencil: &Stencil,
        values: &[T],
        steps: usize,
        together: usize,
        depth: u32,
    ) -> Result<(Vec<T>, Stats), Fault> {
        let &Self { dtype, ny, nx, blocks, stages, tile_rows, seed } = self;
        let factors = dtype.factors().expect("a type of tensor cores");
        let window = window(stencil).expect("a stencil of radius 1 to 3");
        let radius = window.radius as u32;
        let launch = emulated::Sweep2d { factors, radius, ny, nx, blocks, stages, tile_rows, seed };
        let mut memory = Memory::new();
        let fragments = memory.input("fragments", &window.operand(factors));
        let empty = vec![T::default(); Layout::plane_2d(ny, nx).elements()];
        let filled = to_plane(Layout::plane_2d(ny, nx), values);
        let planes = [memory.in_out("plane 0", &filled), memory.in_out("plane 1", &empty)];
        let (rows, columns) = (ny.div_ceil(tile_rows), nx.div_ceil(sweep2d::TILE_COLUMNS));
        let lag = radius.div_ceil(tile_rows) + 1;
        // The counters are about to wrap around.
        let mut start = 3u32.wrapping_neg();
        let progress = memory.in_out("progress", &vec![start; rows as usize]);
        let mut stats = Stats::default();
        for done in (0..steps).step_by(together) {
            let (from, to) = (planes[done % 2], planes[(done + 1) % 2]);
            let count = together.min(steps - done) as u32;
            let steps = Steps { count, depth, lag, progress, start };
            stats = launch.launch(&mut memory, from, to, fragments, steps)?;
            start = start.wrapping_add((count - 1) * columns);
            let counted = memory.read(progress);
            assert!(counted.iter().all(|&count| count == start), "{counted:?}, not {start}");
        }
        Ok((grid(ny, nx, &memory.read(planes[steps % 2])), stats))
    }
}

/// Launches of chained sweeps, back and forth between two buffers, on a grid of `launch.ny` ×
/// `launch.nx`; the radius is the stencil's.
///
/// # Errors
/// The kernel's first mistake.
///
/// # Panics
/// Where no kernel of this family takes the stencil, or the frame beside the grid does not stay zero.
pub fn chain<T: Element>(
    launch: emulated::Chain2d,
    stencil: &Stencil,
    values: &[T],
    launches: usize,
) -> Result<Vec<T>, Fault> {
    let window = window(stencil).expect("a stencil of radius 1 to 3");
    let mut memory = Memory::new();
    let fragments = memory.input("fragments", &window.encode_chained(launch.element).words);
    let (ny, nx) = (launch.ny, launch.nx);
    let empty = vec![T::default(); Layout::plane_2d(ny, nx).elements()];
    let filled = to_plane(Layout::plane_2d(ny, nx), values);
    let planes = [memory.in_out("plane 0", &filled), memory.in_out("plane 1", &empty)];
    for pass in 0..launches {
        let (from, to) = (planes[pass % 2], planes[(pass + 1) % 2]);
        launch.launch(&mut memory, from, to, fragments)?;
    }
    Ok(grid(ny, nx, &memory.read(planes[launches % 2])))
}

/// The grid in a plane.
///
/// # Panics
/// Where the frame beside the grid is no longer zero.
fn grid<T: Element>(ny: u32, nx: u32, plane: &[T]) -> Vec<T> {
    let values = from_plane(Layout::plane_2d(ny, nx), plane);
    let bits = |value: &T| value.to_f64().to_bits();
    let framed = to_plane(Layout::plane_2d(ny, nx), &values);
    assert!(framed.iter().map(bits).eq(plane.iter().map(bits)), "the frame stays zero");
    values
}
