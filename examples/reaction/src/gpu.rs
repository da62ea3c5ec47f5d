// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels on a GPU: a front that spreads, and what the growth costs.

use super::plate::{DT, Plate, operand};
use super::{diffusion, reaction};
use cuda_driver::{Buffer, Extents, Gpu, Module};
use std::error::Error;
use std::time::Instant;

/// A plate on a GPU.
struct OnGpu<'gpu> {
    gpu: &'gpu Gpu,
    kernels: &'gpu Module<'gpu>,
    plate: Plate,
    arrays: [Buffer<'gpu, u16>; 2],
    operand: Buffer<'gpu, u32>,
    extents: Extents,
    done: usize,
}

impl<'gpu> OnGpu<'gpu> {
    /// With its first rows full, and the others empty.
    fn new(
        gpu: &'gpu Gpu,
        kernels: &'gpu Module<'gpu>,
        plate: Plate,
    ) -> Result<Self, Box<dyn Error>> {
        let full = plate.ny as usize / 4 * plate.nx as usize;
        let points = plate.ny as usize * plate.nx as usize;
        let start: Vec<f64> = (0..points).map(|point| f64::from(u8::from(point < full))).collect();
        let start = plate.lay_out(&start);
        let arrays = [gpu.upload(&start)?, gpu.zeros(start.len())?];
        // As many blocks as run at once: two of them take the registers of a multiprocessor.
        let [blocks, threads, shared_bytes] = plate.extents(2 * gpu.multiprocessors()?);
        let extents = Extents { blocks, threads, shared_bytes };
        Ok(Self { gpu, kernels, plate, arrays, operand: gpu.upload(&operand())?, extents, done: 0 })
    }

    /// Takes so many steps.
    fn steps(&mut self, steps: usize, grows: bool) -> Result<(), cuda_driver::Error> {
        for _ in 0..steps {
            let [even, odd] = self.arrays.each_mut().map(Buffer::as_mut_ptr);
            let upwards = self.done % 2 == 1;
            let [from, to] = if upwards { [odd, even] } else { [even, odd] };
            let step = self.plate.step(from, to, self.operand.as_ptr(), upwards);
            // SAFETY: two arrays in the plate's layout, and the operand of its stencil.
            unsafe {
                match grows {
                    true => self.kernels.launch::<reaction>(self.extents, (step, DT))?,
                    false => self.kernels.launch::<diffusion>(self.extents, (step,))?,
                }
            }
            self.done += 1;
        }
        Ok(())
    }

    fn values(&self) -> Result<Vec<f64>, cuda_driver::Error> {
        Ok(self.plate.read(&self.arrays[self.done % 2].read()?))
    }

    /// Takes a step and compares every point with the plain loop.
    fn checked_step(&mut self, grows: bool) -> Result<(), Box<dyn Error>> {
        let before = self.values()?;
        self.steps(1, grows)?;
        let used = self.plate.used(&before, &self.values()?, if grows { DT } else { 0.0 });
        println!("step {} is right: {used:.2} of what rounding explains", self.done);
        if used > 1.0 {
            return Err(format!("step {} is wrong by {used:.2} times that", self.done).into());
        }
        Ok(())
    }

    /// Seconds of a step, of so many.
    fn time(&mut self, steps: usize, grows: bool) -> Result<f64, cuda_driver::Error> {
        self.gpu.wait()?;
        let start = Instant::now();
        self.steps(steps, grows)?;
        self.gpu.wait()?;
        Ok(start.elapsed().as_secs_f64() / steps as f64)
    }
}

/// A front that spreads. Its speed comes from below to 2·√(1/16 · dt), an eighth of a point in a step.
pub fn front() -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::open()?;
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let mut on_gpu = OnGpu::new(&gpu, &kernels, Plate { ny: 1000, nx: 1003 })?;
    let rows =
        |values: Vec<f64>| values.iter().skip(500).step_by(1003).filter(|u| **u > 0.5).count();
    let before = rows(on_gpu.values()?);
    on_gpu.checked_step(true)?;
    on_gpu.steps(1998, true)?;
    on_gpu.checked_step(true)?;
    let moved = rows(on_gpu.values()?) - before;
    println!("in {} steps the front has moved by {moved} points on {}", on_gpu.done, gpu.name());
    Ok(())
}

/// What the growth costs: steps with and without it in turns, on a square plate.
pub fn bench(size: u32) -> Result<(), Box<dyn Error>> {
    const ROUNDS: usize = 15;
    const STEPS: usize = 40;

    let gpu = Gpu::open()?;
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let mut on_gpu = OnGpu::new(&gpu, &kernels, Plate { ny: size, nx: size })?;
    let mut seconds = [const { Vec::new() }; 2];
    for grows in [false, true] {
        on_gpu.checked_step(grows)?;
        on_gpu.time(STEPS, grows)?;
    }
    for _ in 0..ROUNDS {
        for (seconds, grows) in seconds.iter_mut().zip([false, true]) {
            seconds.push(on_gpu.time(STEPS, grows)?);
        }
    }
    on_gpu.checked_step(true)?;
    let [without, with] = seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        seconds[ROUNDS / 2]
    });
    let points = f64::from(size) * f64::from(size);
    println!(
        "{size}x{size} points in f16 on {}, medians of {ROUNDS} times {STEPS} steps",
        gpu.name()
    );
    for (what, seconds) in [("without growth", without), ("with growth", with)] {
        let (speed, bytes) = (points / seconds / 1e9, 4.0 * points / seconds / 1e9);
        println!(
            "{what:15} {:8.2} µs a step, {speed:7.1} GStencil/s, {bytes:6.0} GB/s",
            seconds * 1e6
        );
    }
    println!("the growth costs {:.1} %", (with / without - 1.0) * 100.0);
    Ok(())
}
