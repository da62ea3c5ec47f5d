// SPDX-License-Identifier: MIT OR Apache-2.0
//! Benchmarks of host code and GPU kernels, and what the GPU harnesses share.

use half::f16;
use host::device::{Gpu, Plane};
use host::{Dtype, Error, Grid, Values};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::time::Duration;
use transform::stencil::Stencil;

/// Launches in a timed sample.
pub const LAUNCHES: usize = 20;

/// Opens the GPU with this program's kernels, or with those of a PTX file.
///
/// # Errors
/// No GPU, no such file, or the driver refuses the kernels.
pub fn open(kernels: Option<&Path>) -> Result<Gpu, Error> {
    let Some(path) = kernels else { return Gpu::open() };
    let read = std::fs::read_to_string(path);
    let ptx = read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Gpu::open_with(&ptx)
}

/// Random f16 values of a square grid.
///
/// # Errors
/// No memory.
///
/// # Panics
/// Never: the values are f16 because f16 was asked for.
pub fn random_values(size: u32) -> Result<Vec<f16>, Error> {
    let shape = host::Shape::new(&[size as usize, size as usize])?;
    let Values::F16(values) = Grid::random(shape, Dtype::F16, 1)?.values else {
        unreachable!("asked for f16")
    };
    Ok(values)
}

/// GB/s, read and written, of the driver's copy between two buffers of a square f16 grid.
///
/// # Errors
/// The driver refuses.
pub fn copy_speed(gpu: &Gpu, size: u32, samples: usize) -> Result<f64, Error> {
    let planes = [Plane::new(gpu, size, size)?, Plane::new(gpu, size, size)?];
    let seconds = median(samples, || {
        gpu.time(|| {
            (0..LAUNCHES)
                .try_for_each(|i| Plane::copy_points(gpu, &planes[i % 2], &planes[(i + 1) % 2]))
        })
    })?;
    Ok(4.0 * f64::from(size).powi(2) / seconds / 1e9)
}

/// A box with random positive weights that sum to about 1, exact in f16.
///
/// # Panics
/// Never: the box is a valid stencil.
#[must_use]
pub fn random_stencil(radius: usize) -> Stencil {
    let mut rng = ChaCha8Rng::seed_from_u64(radius as u64);
    let extent = 2 * radius + 1;
    let mut random = || f64::from(rng.next_u32() % 2000 + 24) / 1024.0;
    let weights: Vec<f64> = (0..extent * extent).map(|_| random()).collect();
    let sum: f64 = weights.iter().sum();
    let exact = |weight: &f64| f16::from_f64(weight / sum).to_f64();
    let weights: Vec<f64> = weights.iter().map(exact).collect();
    Stencil::dense("random", &[extent, extent], &weights).expect("a valid box")
}

/// Median seconds of one of the [`LAUNCHES`] launches that `run` times, after one warm-up.
///
/// # Errors
/// Those of `run`.
pub fn median(
    samples: usize,
    mut run: impl FnMut() -> Result<Duration, Error>,
) -> Result<f64, Error> {
    let mut times = Vec::new();
    for sample in 0..=samples {
        let time = run()?.as_secs_f64() / LAUNCHES as f64;
        if sample > 0 {
            times.push(time);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
