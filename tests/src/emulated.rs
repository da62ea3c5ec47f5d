// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of this project's kernels in the emulator, on the buffers that the GPU would get.

use cuda_sim::{Buffer, Config, Fault, Memory, Stats};
use half::f16;
use kernels_gpu::{layout, sweep2d};
use transform::Stencil;
use transform::window::window;

/// A launch of a register-window sweep.
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
    /// Runs time steps, back and forth between the buffers; `values` is a grid in C order. Also says
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
        let window = window(stencil).expect("a stencil of radius 1 to 3");
        let mut memory = Memory::new();
        let words = window.encode_f16().words;
        let fragments = memory.input("fragments", &words);
        let empty = vec![0u16; layout::elements(self.nx, self.ny)];
        let mut filled = empty.clone();
        self.write(&mut filled, values);
        let planes = [memory.in_out("plane 0", &filled), memory.in_out("plane 1", &empty)];
        let mut stats = Stats::default();
        for step in 0..steps {
            let ends = (planes[step % 2], planes[(step + 1) % 2]);
            stats = self.launch(&mut memory, window.radius, ends.0, ends.1, fragments)?;
        }
        Ok((self.read(&memory.read(planes[steps % 2])), stats))
    }

    fn launch(
        &self,
        memory: &mut Memory,
        radius: usize,
        input: Buffer<u16>,
        output: Buffer<u16>,
        fragments: Buffer<u32>,
    ) -> Result<Stats, Fault> {
        let &Self { ny, nx, blocks, stages, tile_rows, seed, .. } = self;
        let (name, kernel): (_, unsafe fn(_, _, _, _, _, _, _, _)) = match radius {
            1 => ("sweep2d_f16_r1", sweep2d::sweep2d_f16_r1),
            2 => ("sweep2d_f16_r2", sweep2d::sweep2d_f16_r2),
            _ => ("sweep2d_f16_r3", sweep2d::sweep2d_f16_r3),
        };
        let origin = layout::position(nx, 0, 0);
        let from = input.as_ptr().wrapping_add(origin);
        let to = output.as_mut_ptr().wrapping_add(origin);
        let shared_bytes = sweep2d::shared_bytes(radius as u32, stages);
        let config = Config { blocks, threads: sweep2d::THREADS, shared_bytes, seed };
        let words = fragments.as_ptr();
        cuda_sim::launch(name, config, memory, || {
            // SAFETY: the emulator checks every access.
            unsafe { kernel(from, to, words, nx, ny, layout::pitch(nx), tile_rows, stages) };
        })
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
