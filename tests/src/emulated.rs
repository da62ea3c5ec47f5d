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
        let mut filled = empty.clone();
        self.write(&mut filled, values);
        let planes = [memory.in_out("plane 0", &filled), memory.in_out("plane 1", &empty)];
        let mut stats = Stats::default();
        for step in 0..steps {
            let (from, to) = (planes[step % 2], planes[(step + 1) % 2]);
            stats = launch.launch(&mut memory, from, to, fragments)?;
        }
        Ok((self.read(&memory.read(planes[steps % 2])), stats))
    }

    fn write(&self, plane: &mut [u16], values: &[f16]) {
        for (y, row) in values.chunks(self.nx as usize).enumerate() {
            let start = layout::position(self.nx, y as u32, 0);
            for (to, from) in plane[start..].iter_mut().zip(row) {
                *to = from.to_bits();
            }
        }
    }

    /// The grid in a plane.
    ///
    /// # Panics
    /// Where the frame beside the grid is no longer zero.
    fn read(&self, plane: &[u16]) -> Vec<f16> {
        let mut rest = plane.to_vec();
        let mut values = Vec::new();
        for y in 0..self.ny {
            let start = layout::position(self.nx, y, 0);
            let row = &mut rest[start..][..self.nx as usize];
            values.extend(row.iter().map(|&bits| f16::from_bits(bits)));
            row.fill(0);
        }
        assert!(rest.iter().all(|&bits| bits == 0), "the frame stays zero");
        values
    }
}
