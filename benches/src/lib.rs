// SPDX-License-Identifier: MIT OR Apache-2.0
//! Benchmarks of host code and GPU kernels, with what the GPU harnesses share and the comparison with Devito. Pages
//! that are made of records: speeds, the criteria by which a unit is chosen, the number of steps from which jumps are
//! faster, and many GPUs.

pub mod commands;
pub mod criteria;
pub mod crossover;
mod markdown;
mod page;
pub mod peers;
pub mod performance;
mod records;
pub mod scaling;

use anyhow::{Context, Result};
use clap::Args;
use cuda_mma::fragment::Element;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use stencil::device::{Device, Gpu, Plane};
use stencil::families::Pass;
use stencil::{Dtype, Error, Grid, Shape};
use transform::factors::Factors;
use transform::stencil::Stencil;

/// Writes generated files, by their places in the repository, and says which.
///
/// # Errors
/// One cannot be written.
pub fn renew<const N: usize>(root: &Path, files: [(&str, String); N]) -> Result<()> {
    for (name, text) in files {
        let path = root.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{name}");
    }
    Ok(())
}

/// The repository.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The records that a page is made of.
#[derive(Args, Debug)]
pub struct Records {
    /// Files of benches/results, by name, all of one commit and machine, instead of those that the page
    /// names; it names these from then on
    #[arg(value_name = "FILE.json", value_parser = record_name)]
    files: Vec<String>,
}

impl Records {
    /// Those that were given; none if the page's own are meant.
    #[must_use]
    pub fn given(&self) -> Option<&[String]> {
        (!self.files.is_empty()).then_some(&self.files[..])
    }
}

/// The name of a record without its folder: pages find them in one place.
///
/// # Errors
/// It is another place, or no JSON file.
pub fn record_name(text: &str) -> Result<String, String> {
    let path = text.strip_prefix("benches/results/").unwrap_or(text);
    if path.contains(['/', ' ']) || !path.ends_with(".json") {
        return Err("give the name of a JSON file in benches/results, without blanks".into());
    }
    Ok(path.to_owned())
}

/// Launches in a timed sample.
const LAUNCHES: usize = 20;

/// What every GPU harness asks for.
#[derive(Args, Debug)]
pub struct Setup {
    /// Rows and columns of the grid
    #[arg(long, default_value_t = 10240)]
    pub size: u32,
    /// Radii to time
    #[arg(long, value_delimiter = ',', default_value = "1,2,3")]
    pub radius: Vec<usize>,
    /// Element type: f16, bf16 or tf32
    #[arg(long, default_value = "f16")]
    pub dtype: Dtype,
    /// Kernels to time instead of this program's own
    #[arg(long, value_name = "PTX")]
    kernels: Option<PathBuf>,
    /// Timed samples of 20 launches; the median counts
    #[arg(long, default_value_t = 7)]
    samples: usize,
}

impl Setup {
    /// A square grid of that size.
    ///
    /// # Errors
    /// The size is 0.
    pub fn square(&self) -> Result<Shape, Error> {
        Shape::new(&[self.size as usize; 2])
    }

    /// How values are multiplied.
    ///
    /// # Errors
    /// Tensor cores do not.
    pub fn factors(&self) -> Result<Factors, Error> {
        self.dtype.factors().ok_or_else(|| self.unsupported("f16, bf16, tf32 or f32"))
    }

    /// The type of the products, where they are those of values.
    ///
    /// # Errors
    /// Tensor cores have no such products.
    pub fn element(&self) -> Result<Element, Error> {
        let element = self.dtype.factors().and_then(Factors::element);
        element.ok_or_else(|| self.unsupported("f16, bf16 or tf32"))
    }

    fn unsupported(&self, types: &str) -> Error {
        let reason = format!("it multiplies {types}, not {}", self.dtype);
        Error::Unsupported { engine: "sparse", reason }
    }
}

/// A GPU with a random grid, two planes for it, and the speed of a copy between them.
pub struct Harness {
    /// The GPU.
    pub gpu: Gpu,
    /// The grid that every measurement starts from.
    pub grid: Grid,
    planes: [Plane; 2],
    samples: usize,
    /// Billions of points that the copy moves in a second.
    copied: f64,
}

impl Harness {
    /// Opens the GPU, fills the grid, measures the copy and prints it.
    ///
    /// # Errors
    /// No GPU, no memory, no such kernels.
    pub fn new(setup: &Setup, shape: Shape) -> Result<Self, Error> {
        let gpu = match &setup.kernels {
            None => Gpu::open()?,
            Some(path) => {
                let read = std::fs::read_to_string(path);
                let ptx = read.map_err(|source| Error::Read { path: path.clone(), source })?;
                Gpu::open_with(0, &ptx)?
            }
        };
        let (dtype, samples) = (setup.dtype, setup.samples);
        let grid = Grid::random(shape, dtype, 1)?;
        let plane = || Plane::new(&gpu, shape, dtype);
        let planes = [plane()?, plane()?];
        let seconds = median(samples, || {
            gpu.time(&mut || {
                (0..LAUNCHES).try_for_each(|i| {
                    Plane::copy_points(&gpu, &planes[i % 2], &planes[(i + 1) % 2])
                })
            })
        })?;
        let copied = shape.points() as f64 / seconds / 1e9;
        let bandwidth = 2.0 * dtype.bytes() as f64 * copied;
        println!("{}: copy {bandwidth:.0} GB/s, {LAUNCHES} launches a sample", gpu.info().name);
        // A copy in the layout of neither plane has ruined their halos.
        let planes = [plane()?, plane()?];
        Ok(Self { gpu, grid, planes, samples, copied })
    }

    /// What one launch makes of the grid, and the points per second, in billions, of launches in a
    /// row.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn measure(&mut self, pass: &dyn Pass) -> Result<(Grid, f64), Error> {
        let Self { gpu, grid, planes, samples, .. } = self;
        planes[0].upload(gpu, grid)?;
        planes[1].poison(gpu)?;
        pass.repeat(gpu, [&planes[0], &planes[1]], 1)?;
        gpu.wait()?;
        let output = planes[1].download(gpu)?;
        let seconds = median(*samples, || {
            planes[0].upload(gpu, grid)?;
            gpu.time(&mut || pass.repeat(gpu, [&planes[0], &planes[1]], LAUNCHES))
        })?;
        Ok((output, grid.shape.points() as f64 / seconds / 1e9))
    }

    /// What so many launches in a row make of the grid.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn after(&mut self, pass: &dyn Pass, count: usize) -> Result<Grid, Error> {
        let Self { gpu, grid, planes, .. } = self;
        planes[0].upload(gpu, grid)?;
        planes[1].poison(gpu)?;
        pass.repeat(gpu, [&planes[0], &planes[1]], count)?;
        gpu.wait()?;
        planes[count % 2].download(gpu)
    }

    /// Billions of points per second as a fraction of the copy.
    #[must_use]
    pub fn of_copy(&self, speed: f64) -> f64 {
        speed / self.copied
    }
}

/// A box with random positive weights that sum to about 1, exact in an element type.
///
/// # Panics
/// Never: the box is a valid stencil.
#[must_use]
pub fn random_stencil(radius: usize, dtype: Dtype) -> Stencil {
    let mut rng = ChaCha8Rng::seed_from_u64(radius as u64);
    let extent = 2 * radius + 1;
    let mut random = || f64::from(rng.next_u32() % 2000 + 24) / 1024.0;
    let weights: Vec<f64> = (0..extent * extent).map(|_| random()).collect();
    let sum: f64 = weights.iter().sum();
    let weights: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    let stencil = Stencil::dense("random", &[extent, extent], &weights).expect("a valid box");
    dtype.round_weights(&stencil)
}

/// Relative L2 error at random points and in the corners; infinite if a value is not finite. For one
/// step with zeros around the grid.
#[must_use]
pub fn error(stencil: &Stencil, input: &Grid, output: &Grid) -> f64 {
    let (mut error, mut norm) = (0.0, 0.0);
    for Sample { found, expected, .. } in samples(stencil, input, output) {
        if !found.is_finite() {
            return f64::INFINITY;
        }
        error += (found - expected).powi(2);
        norm += expected.powi(2);
    }
    f64::sqrt(error / norm)
}

/// The largest error at such points, as a multiple of Σ|w||x|.
#[must_use]
pub fn worst_error(stencil: &Stencil, input: &Grid, output: &Grid) -> f64 {
    let errors = samples(stencil, input, output).into_iter().map(|sample| {
        let error = (sample.found - sample.expected).abs() / sample.magnitude;
        if error.is_nan() { f64::INFINITY } else { error }
    });
    errors.fold(0.0, f64::max)
}

/// A point of a result.
struct Sample {
    found: f64,
    expected: f64,
    /// Σ|w||x|.
    magnitude: f64,
}

fn samples(stencil: &Stencil, input: &Grid, output: &Grid) -> Vec<Sample> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let [nz, ny, nx] = input.shape.extents();
    let random = |_| (rng.next_u64() % input.shape.points() as u64) as usize;
    // As many as take a fraction of a second.
    let count = 200_000.min(20_000_000 / stencil.taps().len());
    let mut points: Vec<usize> = (0..count).map(random).collect();
    let corners = |extent: usize| {
        let edge = 8.min(extent);
        (0..edge).chain(extent - edge..extent)
    };
    for z in corners(nz) {
        for y in corners(ny) {
            points.extend(corners(nx).map(|x| (z * ny + y) * nx + x));
        }
    }
    let sample = |point: usize| {
        let here = [point / (ny * nx), point / nx % ny, point % nx];
        let (mut expected, mut magnitude) = (0.0, 0.0);
        for tap in stencil.taps() {
            let [z, y, x]: [usize; 3] = std::array::from_fn(|axis| {
                // Wraps where it lies before the grid.
                here[axis].wrapping_add_signed(tap.offset[axis] as isize)
            });
            if z < nz && y < ny && x < nx {
                let product = tap.weight * input.get((z * ny + y) * nx + x);
                expected += product;
                magnitude += product.abs();
            }
        }
        Sample { found: output.get(point), expected, magnitude }
    };
    points.into_iter().map(sample).collect()
}

/// Median seconds of one of the [`LAUNCHES`] launches that `run` times, after one warm-up.
fn median(samples: usize, mut run: impl FnMut() -> Result<Duration, Error>) -> Result<f64, Error> {
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
