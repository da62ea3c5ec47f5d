// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids through this project's kernels in the emulator.

use cuda_sim::{Fault, Memory, Stats};
use half::f16;
use kernels_gpu::{emulated, layout};
use transform::Stencil;
use transform::window::window;

/// A grid and how a register-window sweep is launched on it.
#[derive(Clone, Copy, Debug)]
pub struct Sweep2d {
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
    pub fn run(
        &self,
        stencil: &Stencil,
        values: &[f16],
        steps: usize,
    ) -> Result<(Vec<f16>, Stats), Fault> {
        let &Self { ny, nx, blocks, stages, tile_rows, seed } = self;
        let window = window(stencil).expect("a stencil of radius 1 to 3");
        let radius = window.radius as u32;
        let launch = emulated::Sweep2d { radius, ny, nx, blocks, stages, tile_rows, seed };
        let mut memory = Memory::new();
        let fragments = memory.input("fragments", &window.encode_f16().words);
        let empty = vec![0u16; layout::elements(nx, ny)];
        let filled = plane(ny, nx, values);
        let planes = [memory.in_out("plane 0", &filled), memory.in_out("plane 1", &empty)];
        let mut stats = Stats::default();
        for step in 0..steps {
            let (from, to) = (planes[step % 2], planes[(step + 1) % 2]);
            stats = launch.launch(&mut memory, from, to, fragments)?;
        }
        Ok((grid(ny, nx, &memory.read(planes[steps % 2])), stats))
    }
}

/// One launch of chained sweeps on a grid of `launch.ny` × `launch.nx`; its radius is the stencil's.
///
/// # Errors
/// The kernel's first mistake.
///
/// # Panics
/// Where no kernel of this family takes the stencil, or the frame beside the grid does not stay zero.
pub fn chain(
    launch: emulated::Chain2d,
    stencil: &Stencil,
    values: &[f16],
) -> Result<Vec<f16>, Fault> {
    let window = window(stencil).expect("a stencil of radius 1 to 3");
    let mut memory = Memory::new();
    let mut words = window.encode_whole_f16().words;
    words.extend(window.encode_f16().words);
    let fragments = memory.input("fragments", &words);
    let (ny, nx) = (launch.ny, launch.nx);
    let from = memory.in_out("plane 0", &plane(ny, nx, values));
    let to = memory.in_out("plane 1", &vec![0u16; layout::elements(nx, ny)]);
    launch.launch(&mut memory, from, to, fragments)?;
    Ok(grid(ny, nx, &memory.read(to)))
}

/// A grid in C order in its frame of zeros.
fn plane(ny: u32, nx: u32, values: &[f16]) -> Vec<u16> {
    let mut plane = vec![0u16; layout::elements(nx, ny)];
    for (y, row) in values.chunks(nx as usize).enumerate() {
        let start = layout::position(nx, y as u32, 0);
        for (to, from) in plane[start..].iter_mut().zip(row) {
            *to = from.to_bits();
        }
    }
    plane
}

/// The grid in a plane.
///
/// # Panics
/// Where the frame beside the grid is no longer zero.
fn grid(ny: u32, nx: u32, plane: &[u16]) -> Vec<f16> {
    let mut rest = plane.to_vec();
    let mut values = Vec::new();
    for y in 0..ny {
        let start = layout::position(nx, y, 0);
        let row = &mut rest[start..][..nx as usize];
        values.extend(row.iter().map(|&bits| f16::from_bits(bits)));
        row.fill(0);
    }
    assert!(rest.iter().all(|&bits| bits == 0), "the frame stays zero");
    values
}
