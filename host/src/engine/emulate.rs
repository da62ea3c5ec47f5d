// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine that runs the GPU's own kernels on the CPU, in the emulator `cuda_sim`: every load,
//! barrier and product as on the GPU, checked for mistakes that a GPU would not report.

use super::{Engine, Job, Session};
use crate::device::sweep2d::Config;
use crate::{Dtype, Error, Grid, Shape, Values};
use cuda_sim::{Buffer, Memory};
use half::f16;
use kernels_gpu::sweep2d::TILE_COLUMNS;
use kernels_gpu::{emulated::Sweep2d, layout::Layout};
use std::time::{Duration, Instant};
use transform::encode::Encoded;
use transform::window::{self, Window};

/// 2048², in tiles: at about 0.7 µs and 90 bytes a point, a step of so many takes 3 s and 0.4 GB.
const MOST_POINTS: usize = 1 << 22;

/// Blocks of a launch: few, so that each takes several tiles even of a small grid.
const BLOCKS: u32 = 4;

/// The kernels in the emulator.
pub struct Emulate;

/// The stencil in the layout of the kernels, or why it has none.
fn window(job: &Job) -> Result<Window, Error> {
    let unsupported = |reason| Error::Unsupported { engine: Emulate.name(), reason };
    if job.dtype != Dtype::F16 {
        return Err(unsupported(format!("it stores f16, not {}", job.dtype)));
    }
    if !job.boundary.is_zero() {
        let boundary = job.boundary.describe(job.shape.dims());
        return Err(unsupported(format!("its boundary is zero, not {boundary}")));
    }
    let stencil = job.dtype.round_weights(&job.stencil);
    window::window(&stencil).map_err(|reason| unsupported(reason.to_string()))
}

impl Engine for Emulate {
    fn name(&self) -> &'static str {
        "emulate"
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        if let Err(reason) = window(job) {
            return Some(reason);
        }
        if let Some(reason) = super::reject_depths(self.name(), job) {
            return Some(reason);
        }
        let [_, ny, nx] = job.shape.extents();
        let points = ny.saturating_mul(nx.next_multiple_of(TILE_COLUMNS as usize));
        (points > MOST_POINTS).then(|| {
            let reason = format!(
                "a grid of {} takes tiles of {points} points; it emulates at most {MOST_POINTS}, \
                 which takes 3 s and 0.4 GB a step",
                job.shape
            );
            Error::Unsupported { engine: self.name(), reason }
        })
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        if let Some(reason) = self.reject(job) {
            return Err(reason);
        }
        let window = window(job)?;
        let [_, ny, nx] = job.shape.extents().map(|extent| extent as u32);
        let radius = window.radius;
        let Config { stages, tile_rows, .. } =
            Config::tuned(radius).for_grid(radius, ny, nx, BLOCKS);
        let radius = radius as u32;
        let launch = Sweep2d { radius, ny, nx, blocks: BLOCKS, stages, tile_rows, seed: 0 };
        let input = vec![f16::NAN; job.shape.points()];
        let encoded = window.encode_f16();
        let device = Device::new(launch, &encoded, &input);
        Ok(Box::new(InEmulator { shape: job.shape, encoded, input, device }))
    }
}

/// The emulated GPU's memory, and the launch of a step on it.
struct Device {
    launch: Sweep2d,
    memory: Memory,
    fragments: Buffer<u32>,
    /// The first holds the grid.
    planes: [Buffer<u16>; 2],
}

impl Device {
    /// With the grid in one plane and NaN in the other.
    fn new(launch: Sweep2d, encoded: &Encoded, values: &[f16]) -> Self {
        let Sweep2d { ny, nx, .. } = launch;
        let mut memory = Memory::new();
        let fragments = memory.input("fragments", &encoded.words);
        let poison = vec![f16::NAN; values.len()];
        let planes = [
            memory.in_out("plane 0", &to_plane(ny, nx, values)),
            memory.in_out("plane 1", &to_plane(ny, nx, &poison)),
        ];
        Self { launch, memory, fragments, planes }
    }

    /// One time step, in another interleaving than the last.
    fn step(&mut self) -> Result<(), Error> {
        let [input, output] = self.planes;
        self.launch.launch(&mut self.memory, input, output, self.fragments)?;
        self.launch.seed += 1;
        self.planes = [output, input];
        Ok(())
    }

    fn values(&self) -> Vec<f16> {
        from_plane(self.launch.ny, self.launch.nx, &self.memory.read(self.planes[0]))
    }
}

/// A grid in C order, laid out as the kernels take it ([`kernels_gpu::layout`]), in its frame of zeros.
#[must_use]
pub fn to_plane(ny: u32, nx: u32, values: &[f16]) -> Vec<u16> {
    let layout = Layout::plane_2d(ny, nx);
    let mut plane = vec![0u16; layout.elements()];
    for (y, row) in values.chunks(nx as usize).enumerate() {
        let start = layout.position(0, y as u32, 0);
        for (to, from) in plane[start..].iter_mut().zip(row) {
            *to = from.to_bits();
        }
    }
    plane
}

/// The grid in a plane, in C order.
#[must_use]
pub fn from_plane(ny: u32, nx: u32, plane: &[u16]) -> Vec<f16> {
    let layout = Layout::plane_2d(ny, nx);
    let row = |y| &plane[layout.position(0, y, 0)..][..nx as usize];
    (0..ny).flat_map(row).map(|&bits| f16::from_bits(bits)).collect()
}

struct InEmulator {
    shape: Shape,
    encoded: Encoded,
    input: Vec<f16>,
    device: Device,
}

impl Session for InEmulator {
    fn device(&self) -> String {
        "CPU, 1 thread, emulating a GPU".into()
    }

    fn arithmetic(&self) -> &'static str {
        "f16 storage, f16 products, f32 sums"
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let Values::F16(values) = &input.values else {
            let reason = format!("it stores {}, but was given {}", Dtype::F16, input.dtype());
            return Err(Error::Unsupported { engine: Emulate.name(), reason });
        };
        self.input.clone_from(values);
        self.restart()
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.device = Device::new(self.device.launch, &self.encoded, &self.input);
        Ok(())
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        (0..steps).try_for_each(|_| self.device.step())?;
        Ok(start.elapsed())
    }

    fn store(&mut self) -> Result<Grid, Error> {
        Ok(Grid { shape: self.shape, values: Values::F16(self.device.values()) })
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let mut to = self.input.clone();
        let start = Instant::now();
        for _ in 0..count {
            to.copy_from_slice(&self.input);
            std::hint::black_box(&to);
        }
        Ok(start.elapsed() / count as u32)
    }
}
