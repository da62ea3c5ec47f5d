// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times the 3D sweep on a GPU over its launch configurations: the harness behind its
//! `Config::tuned`. Every line is checked against the f64 stencil at random points, in the corners and
//! where tiles meet before it is printed; the copy is measured in the same run.

use clap::Args;
use cuda_mma::fragment::Element;
use kernels_gpu::chain3d as kernels;
use kernels_gpu::sweep3d::WarpGrid;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::PathBuf;
use std::time::Duration;
use stencil::device::{Device, Gpu, Plane};
use stencil::families::Pass;
use stencil::families::chain3d::{self, Chain3d};
use stencil::families::sweep3d::{Config, Sweep3d};
use stencil::{Dtype, Error, Grid, Shape};
use transform::catalogue;
use transform::fuse::fuse;
use transform::star3d::star3d;
use transform::stencil::Stencil;
use transform::window3d::{Window3d, window3d};

/// Times the 3D sweep over launch configurations.
#[derive(Clone, Args, Debug)]
pub struct Arguments {
    /// Planes, rows and columns of the grid
    #[arg(long, num_args = 3, value_names = ["NZ", "NY", "NX"], default_values_t = [1024; 3])]
    extents: Vec<u32>,
    /// Names of 3D stencils of radius 1 or 2; `star3d1r^2` is two fused steps
    #[arg(long, value_delimiter = ',', default_value = "star3d1r,box3d1r")]
    stencil: Vec<String>,
    /// Chain steps, in kernels that can; of the configuration, the stages are theirs
    #[arg(long)]
    chain: bool,
    /// Compare nothing, which takes longer than the timing; check the same launches on a smaller grid
    #[arg(long)]
    unchecked: bool,
    /// PTX files to take the kernels from, instead of those that this program carries
    #[arg(long, value_name = "PTX", value_delimiter = ',')]
    kernels: Vec<PathBuf>,
    /// Units of a warp in chained kernels, where they are not this program's
    #[arg(long)]
    units: Option<u32>,
    /// f16 or bf16
    #[arg(long, value_enum, default_value = "f16")]
    dtype: Dtype,
    /// Tiles, as warps across and down
    #[arg(long, value_delimiter = ',', value_parser = tile, default_value = "4x2")]
    tile: Vec<WarpGrid>,
    /// Stages of the ring
    #[arg(long, value_delimiter = ',', default_value = "3")]
    stages: Vec<u32>,
    /// Warps of a block that copy
    #[arg(long, value_delimiter = ',', default_value = "1")]
    producers: Vec<u32>,
    /// Blocks on each multiprocessor
    #[arg(long, value_delimiter = ',', default_value = "2")]
    blocks: Vec<u32>,
    /// Output planes of a segment; 0 for those that keep all blocks busy
    #[arg(long, value_delimiter = ',', default_value = "0")]
    segment: Vec<u32>,
    /// Tiles that chained kernels stream through as a whole, where `--segment` is given
    #[arg(long, default_value_t = 0)]
    whole: u32,
    /// Launches in a timed sample
    #[arg(long, default_value_t = 10)]
    launches: usize,
    /// Timed samples; the median counts
    #[arg(long, default_value_t = 5)]
    samples: usize,
}

fn tile(text: &str) -> Result<WarpGrid, String> {
    let parsed = text.split_once('x').and_then(|(across, down)| {
        Some(WarpGrid { across: across.parse().ok()?, down: down.parse().ok()? })
    });
    parsed.ok_or_else(|| "a tile is such as 4x2".into())
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    let extents: [u32; 3] = arguments.extents.clone().try_into().expect("clap takes three");
    let shape = Shape::new(&extents.map(|extent| extent as usize))?;
    let mut grid = Grid::random(shape, arguments.dtype, 1)?;
    if arguments.kernels.is_empty() {
        return time(Gpu::open()?, grid, arguments, extents).map(drop);
    }
    for path in &arguments.kernels {
        println!("{}:", path.display());
        let gpu = Gpu::open_with(0, &std::fs::read_to_string(path).expect("a readable PTX"))?;
        grid = time(gpu, grid, arguments.clone(), extents)?;
    }
    Ok(())
}

/// Times all configurations; gives the grid back.
fn time(gpu: Gpu, grid: Grid, arguments: Arguments, extents: [u32; 3]) -> Result<Grid, Error> {
    let (shape, dtype) = (grid.shape, arguments.dtype);
    let plane = || Plane::new(&gpu, shape, dtype);
    let planes = [plane()?, plane()?];
    let mut bench = Bench { gpu, grid, planes, arguments };
    let copied = bench.copy()?;
    println!("{}: copy {copied:.0} GB/s", bench.gpu.info().name);
    for name in bench.arguments.stencil.clone() {
        let (base, steps) = name.split_once('^').unwrap_or((&name, "1"));
        let stencil = catalogue::find(base).expect("the name of a stencil");
        let steps = steps.parse().expect("a number of steps");
        let stencil = fuse(&stencil, steps).expect("few steps");
        let dtype = bench.arguments.dtype;
        let stencil = dtype.round_weights(&stencil);
        if bench.arguments.chain {
            let element = element(dtype).to_string();
            for kernel in kernels::KERNELS.iter().filter(|kernel| kernel.element == element) {
                let units = bench.arguments.units.unwrap_or(kernel.units);
                let kernel = Box::leak(Box::new(kernels::Kernel { units, ..*kernel }));
                for config in configs(&bench.arguments) {
                    bench.run_chain(&stencil, kernel, extents, config, copied)?;
                }
            }
            continue;
        }
        let window = window3d(&stencil).expect("a 3D stencil of radius 1 or 2");
        for config in configs(&bench.arguments) {
            bench.run(&stencil, &window, extents, config, copied)?;
        }
    }
    Ok(bench.grid)
}

fn element(dtype: Dtype) -> Element {
    if dtype == Dtype::Bf16 { Element::Bf16 } else { Element::F16 }
}

fn configs(arguments: &Arguments) -> Vec<Config> {
    let mut configs = Vec::new();
    for &tile in &arguments.tile {
        for &stages in &arguments.stages {
            for &blocks_per_multiprocessor in &arguments.blocks {
                for &segment_planes in &arguments.segment {
                    let segment_planes = (segment_planes > 0).then_some(segment_planes);
                    configs.extend(arguments.producers.iter().map(|&producers| Config {
                        tile,
                        stages,
                        producers,
                        blocks_per_multiprocessor,
                        segment_planes,
                    }));
                }
            }
        }
    }
    configs
}

/// A GPU with a random grid and two planes for it.
struct Bench {
    gpu: Gpu,
    grid: Grid,
    planes: [Plane; 2],
    arguments: Arguments,
}

impl Bench {
    /// Bytes per second of a copy, in billions. Renews the planes, whose halos it ruins.
    fn copy(&mut self) -> Result<f64, Error> {
        let Self { gpu, grid, planes, arguments } = self;
        let seconds = median(arguments, || {
            gpu.time(&mut || {
                (0..arguments.launches)
                    .try_for_each(|i| Plane::copy_points(gpu, &planes[i % 2], &planes[(i + 1) % 2]))
            })
        })?;
        for plane in planes {
            *plane = Plane::new(gpu, grid.shape, grid.dtype())?;
        }
        let bytes = (grid.shape.points() * grid.dtype().bytes()) as f64;
        Ok(2.0 * bytes / seconds / 1e9)
    }

    /// Checks and times one configuration, and prints a line.
    fn run(
        &mut self,
        stencil: &Stencil,
        window: &Window3d,
        extents: [u32; 3],
        config: Config,
        copied: f64,
    ) -> Result<(), Error> {
        let Self { gpu, grid, planes, arguments } = self;
        let Config { tile: WarpGrid { across, down }, stages, producers, .. } = config;
        let blocks = config.blocks_per_multiprocessor;
        let name = format!(
            "{} {across}x{down} stages {stages} producers {producers} blocks {blocks}",
            stencil.name()
        );
        let element = element(arguments.dtype);
        let sweep = match Sweep3d::new(gpu, window, element, extents, config) {
            Ok(sweep) => sweep,
            Err(reason) => {
                println!("{name}: {reason}");
                return Ok(());
            }
        };
        planes[0].upload(gpu, grid)?;
        planes[1].poison(gpu)?;
        sweep.repeat(gpu, [&planes[0], &planes[1]], 1)?;
        gpu.wait()?;
        let error = relative_error(stencil, grid, &planes[1].download(gpu)?);
        let seconds = median(arguments, || {
            gpu.time(&mut || sweep.repeat(gpu, [&planes[0], &planes[1]], arguments.launches))
        })?;
        let speed = grid.shape.points() as f64 / seconds / 1e9;
        let of_copy = 2.0 * grid.dtype().bytes() as f64 * speed / copied;
        let (segment, blocks) = sweep.shape();
        println!(
            "{name} ({blocks}) segment {segment:4}: {speed:7.1} G points/s, {of_copy:.3} of copy, \
             relative error {error:.1e}"
        );
        Ok(())
    }
}

impl Bench {
    /// As [`Bench::run`], for chained steps: the error is that of the last of the steps.
    fn run_chain(
        &mut self,
        stencil: &Stencil,
        kernel: &'static kernels::Kernel,
        extents: [u32; 3],
        config: Config,
        copied: f64,
    ) -> Result<(), Error> {
        let Self { gpu, grid, planes, arguments } = self;
        let Config { tile: WarpGrid { across, down }, segment_planes, .. } = config;
        let blocks = config.blocks_per_multiprocessor;
        let name = format!("{} {across}x{down} blocks {blocks}", kernel.name);
        let element = element(arguments.dtype);
        let operand = star3d(stencil, element).expect("a star of radius 1");
        let config = chain3d::Config {
            tile: kernels::WarpGrid { across, down, units: kernel.units },
            blocks_per_multiprocessor: blocks,
            segments: segment_planes.map(|planes| [arguments.whole, planes]),
        };
        let chain = match Chain3d::new(gpu, kernel, &operand, extents, config) {
            Ok(chain) => chain,
            Err(reason) => {
                println!("{name}: {reason}");
                return Ok(());
            }
        };
        let error = if arguments.unchecked {
            planes[0].upload(gpu, grid)?;
            f64::NAN
        } else {
            difference_from_steps(gpu, &chain, kernel, stencil, grid, planes)?
        };
        let seconds = median(arguments, || {
            gpu.time(&mut || chain.repeat(gpu, [&planes[0], &planes[1]], arguments.launches))
        })?;
        let speed = grid.shape.points() as f64 / seconds / 1e9;
        let of_copy = 2.0 * grid.dtype().bytes() as f64 * speed / copied;
        let (segment, blocks) = chain.shape();
        println!(
            "{name} ({blocks}) segment {segment:?}: {:7.1} GStencil/s, {of_copy:.3} of copy, \
             relative difference from single steps {error:.1e}",
            speed * f64::from(kernel.steps)
        );
        Ok(())
    }
}

/// Relative L2 difference of a launch from single steps, which are checked as such.
fn difference_from_steps(
    gpu: &dyn Device,
    chain: &Chain3d,
    kernel: &kernels::Kernel,
    stencil: &Stencil,
    grid: &Grid,
    planes: &mut [Plane; 2],
) -> Result<f64, Error> {
    let window = window3d(stencil).expect("a star of radius 1");
    let element = element(grid.dtype());
    let extents = grid.shape.extents().map(|extent| extent as u32);
    let sweep = Sweep3d::new(gpu, &window, element, extents, Config::tuned(1))?;
    let steps = kernel.steps as usize;
    planes[0].upload(gpu, grid)?;
    planes[1].poison(gpu)?;
    sweep.repeat(gpu, [&planes[0], &planes[1]], steps)?;
    gpu.wait()?;
    let expected = planes[steps % 2].download(gpu)?;
    planes[0].upload(gpu, grid)?;
    planes[1].poison(gpu)?;
    chain.repeat(gpu, [&planes[0], &planes[1]], 1)?;
    gpu.wait()?;
    let found = planes[1].download(gpu)?;
    let (mut error, mut norm) = (0.0, 0.0);
    for point in 0..grid.shape.points() {
        let (found, expected) = (found.get(point), expected.get(point));
        error += (found - expected).powi(2);
        norm += expected.powi(2);
    }
    Ok(f64::sqrt(error / norm))
}

/// Relative L2 error at random points and in blocks at the corners and in the middle; infinite if a
/// value is not finite.
fn relative_error(stencil: &Stencil, input: &Grid, output: &Grid) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let [nz, ny, nx] = input.shape.extents();
    let random = |_| (rng.next_u64() % input.shape.points() as u64) as usize;
    let mut points: Vec<usize> = (0..200_000).map(random).collect();
    let near = |extent: usize| {
        let places = [0, extent / 2, extent.saturating_sub(8)];
        let near: Vec<usize> =
            places.into_iter().flat_map(|first| first..(first + 8).min(extent)).collect();
        near
    };
    for z in near(nz) {
        for y in near(ny) {
            points.extend(near(nx).into_iter().map(|x| (z * ny + y) * nx + x));
        }
    }
    let (mut error, mut norm) = (0.0, 0.0);
    for point in points {
        let here = [point / (ny * nx), point / nx % ny, point % nx];
        let mut expected = 0.0;
        for tap in stencil.taps() {
            let [z, y, x]: [i64; 3] =
                std::array::from_fn(|axis| here[axis] as i64 + i64::from(tap.offset[axis]));
            let inside = (0..nz as i64).contains(&z)
                && (0..ny as i64).contains(&y)
                && (0..nx as i64).contains(&x);
            if inside {
                expected +=
                    tap.weight * input.get(((z as usize * ny) + y as usize) * nx + x as usize);
            }
        }
        let found = output.get(point);
        if !found.is_finite() {
            return f64::INFINITY;
        }
        error += (found - expected).powi(2);
        norm += expected.powi(2);
    }
    f64::sqrt(error / norm)
}

/// Median seconds of one of the launches that `run` times, after one warm-up.
fn median(
    arguments: &Arguments,
    mut run: impl FnMut() -> Result<Duration, Error>,
) -> Result<f64, Error> {
    let mut times = Vec::new();
    for sample in 0..=arguments.samples {
        let time = run()?.as_secs_f64() / arguments.launches as f64;
        if sample > 0 {
            times.push(time);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
