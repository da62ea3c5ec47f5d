// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine that runs the GPU's own kernels on the CPU, in the emulator `cuda_sim`: every load,
//! barrier and product as on the GPU, checked for mistakes that a GPU would not report.

use super::sparse::schedule::{Schedule, schedules};
use super::{Arithmetic, Engine, Input, Job, Session, State};
use crate::device::plane::layout;
use crate::grid::Element;
use crate::region::Region;
use crate::seams::Seams;
use crate::{Error, Grid, Shape, Values, with_dtype};
use cuda_sim::{Buffer, Memory};
use kernels_gpu::layout::STRIP;
use kernels_gpu::sweep2d::TILE_COLUMNS;
use std::time::{Duration, Instant};

mod launch;
mod plane;

use launch::Advance;
pub use plane::{from_plane, to_plane};

/// 2048², in tiles: at about 0.7 µs and 90 bytes a point, a step of so many takes 3 s and 0.4 GB.
const MOST_POINTS: usize = 1 << 22;
const POINT_BYTES: u128 = 90;

/// The kernels in the emulator.
pub struct Emulate;

impl Engine for Emulate {
    fn name(&self) -> &'static str {
        "emulate"
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        let unsupported = |reason| Some(Error::Unsupported { engine: self.name(), reason });
        let [nz, ny, nx] = job.shape.extents();
        let columns = nx.next_multiple_of(TILE_COLUMNS as usize);
        let points = nz.saturating_mul(ny).saturating_mul(columns);
        if points <= MOST_POINTS {
            return schedules(self.name(), job).err();
        }
        unsupported(format!(
            "a grid of {} takes tiles of {points} points; it emulates at most {MOST_POINTS}, \
             which takes 3 s and 0.4 GB a step",
            job.shape
        ))
    }

    fn host_bytes(&self, job: &Job, _: Input) -> u128 {
        let [nz, ny, nx] = job.shape.extents();
        let columns = nx.next_multiple_of(TILE_COLUMNS as usize);
        POINT_BYTES * nz as u128 * ny as u128 * columns as u128
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        if let Some(reason) = self.reject(job) {
            return Err(reason);
        }
        let schedules = schedules(self.name(), job)?;
        with_dtype!(job.dtype, T => {
            let input = vec![T::from_f64(f64::NAN); job.shape.points()];
            let device = Device::new(job, &schedules, &input)?;
            Ok(Box::new(InEmulator { job: job.clone(), schedules, input, device }))
        })
    }
}

/// The emulated GPU's memory, and the launches on it.
struct Device<T> {
    memory: Memory,
    /// Those of most steps first.
    advances: Vec<Advance>,
    /// The first holds the grid.
    planes: [Buffer<T>; 2],
    /// Of the next launch.
    seed: u64,
}

impl<T: Element> Device<T> {
    /// With the grid in one plane and NaN in the other.
    fn new(job: &Job, schedules: &[Schedule], values: &[T]) -> Result<Self, Error> {
        let layout = layout(job.shape);
        let mut memory = Memory::new();
        let advances: Result<Vec<Advance>, Error> =
            schedules.iter().map(|schedule| Advance::new(&mut memory, job, schedule)).collect();
        let poison = vec![T::from_f64(f64::NAN); values.len()];
        let planes = [
            memory.in_out("plane 0", &to_plane(layout, values)),
            memory.in_out("plane 1", &to_plane(layout, &poison)),
        ];
        Ok(Self { memory, advances: advances?, planes, seed: 0 })
    }

    /// So many time steps, each launch in another interleaving than the last.
    fn advance(&mut self, job: &Job, steps: usize) -> Result<(), Error> {
        let mut left = steps;
        for advance in &self.advances {
            while left >= advance.steps {
                advance.launch(job, &mut self.memory, self.planes, self.seed)?;
                self.planes.reverse();
                self.seed += 1;
                left -= advance.steps;
            }
        }
        Ok(())
    }
}

struct InEmulator<T> {
    job: Job,
    schedules: Vec<Schedule>,
    input: Vec<T>,
    device: Device<T>,
}

impl<T: Element> Session for InEmulator<T> {
    fn device(&self) -> String {
        "CPU, 1 thread, emulating a GPU".into()
    }

    fn shape(&self) -> Shape {
        self.job.shape
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::on_tensor_cores(self.job.dtype, self.schedules[0].fuse)
    }

    /// Of strips and of tiles of the sweeps.
    fn seams(&self) -> Seams {
        let columns = self.job.shape.extents()[2];
        let strips = Seams::none().every(2, STRIP as usize, columns);
        strips.every(2, TILE_COLUMNS as usize, columns)
    }

    fn chain(&self) -> usize {
        self.schedules[0].chain
    }

    fn kernel(&self) -> Option<String> {
        Some(self.schedules[0].kernel.to_string())
    }

    fn sweeps(&self, steps: usize) -> usize {
        super::launches(self.schedules.iter().map(Schedule::steps), steps)
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let values = T::unwrap(&input.values).expect("the input has the job's element type");
        self.input.copy_from_slice(values);
        self.restart()
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.device = Device::new(&self.job, &self.schedules, &self.input)?;
        Ok(())
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        self.device.advance(&self.job, steps)?;
        Ok(start.elapsed())
    }

    fn read(&mut self, state: State, region: Region) -> Result<Values, Error> {
        let shape = self.job.shape;
        if state == State::Loaded {
            return Ok(T::wrap(region.of(&self.input, shape)));
        }
        let plane = self.device.memory.read(self.device.planes[0]);
        Ok(T::wrap(region.of(&from_plane(layout(shape), &plane), shape)))
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
