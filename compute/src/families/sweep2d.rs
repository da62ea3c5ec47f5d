// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the register-window sweep (`kernels_gpu::sweep2d`).

use super::occupancy::{exclusive_bytes, resident_blocks};
use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Device, Launch, Memory, MemoryRows, Plane, StartOrder};
use cuda_driver::Extents;
use cuda_mma::fragment::Element;
use kernels_gpu::layout::{Layout, STRIP};
use kernels_gpu::product::Form;
use kernels_gpu::ring::MAX_STAGES;
use kernels_gpu::sweep2d::{self, Steps, Sweep2dKernels, Tiles};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::cell::Cell;
use std::ops::RangeInclusive;
use transform::factors::Factors;
use transform::window::{Window, window};

/// How a sweep is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Stages of the ring in shared memory.
    pub stages: u32,
    /// Blocks on each multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Rows of a tile.
    pub tile_rows: u32,
}

impl Config {
    /// What was fastest on an H200 (`docs/developers/notebook.md`); of tf32 about as many bytes in flight. Split
    /// products take longer than a copy, and rows above and below a tile cost them, too, so tiles are
    /// tall.
    #[must_use]
    pub fn tuned(factors: Factors, radius: usize) -> Self {
        let (stages, blocks_per_multiprocessor, tile_rows) = match (factors, radius) {
            (Factors::One(Element::F16 | Element::Bf16), 1) => (5, 2, 26),
            (Factors::One(Element::F16 | Element::Bf16), 2) => (4, 2, 26),
            (Factors::One(Element::F16 | Element::Bf16), _) => (4, 2, 18),
            (Factors::One(Element::Tf32), 1) => (3, 2, 18),
            (Factors::One(Element::Tf32), 2) => (2, 2, 26),
            (Factors::One(Element::Tf32), _) => (2, 2, 18),
            (Factors::Split, 1) => (4, 2, 26),
            (Factors::Split, 2) => (5, 2, 98),
            (Factors::Split, _) => (4, 1, 130),
        };
        Self { stages, blocks_per_multiprocessor, tile_rows }
    }

    /// The tiles of a grid.
    fn tiles(&self, plane: &Plane) -> Tiles {
        let Self { stages, tile_rows, .. } = *self;
        Tiles { grid: plane.layout().grid_2d(), tile_rows, stages }
    }

    /// Of one block with the stages of two, where a block takes the registers of more than half a multiprocessor.
    #[must_use]
    fn for_registers(self, form: Form, factors: Factors, radius: usize) -> Self {
        match (form, factors, radius) {
            (Form::Dense, Factors::One(Element::Tf32), 3) => {
                Self { stages: 2 * self.stages, blocks_per_multiprocessor: 1, ..self }
            }
            _ => self,
        }
    }

    /// Cuts tiles down until every block has one, if the grid is small. Rows are kept such that the tile's row pairs
    /// fill whole stages: `rows / 2 + radius = stages · (radius + 1)`.
    #[must_use]
    pub fn for_grid(self, radius: usize, ny: u32, nx: u32, blocks: u32) -> Self {
        let steps = radius as u32 + 1;
        let tiles = |rows: u32| ny.div_ceil(rows) * nx.div_ceil(sweep2d::TILE_COLUMNS);
        let mut tile_rows = self.tile_rows;
        while tile_rows > 2 * steps && tiles(tile_rows) < blocks {
            tile_rows -= 2 * steps;
        }
        Self { tile_rows, ..self }
    }
}

/// How the steps of one launch follow each other (`kernels_gpu::progress::TileOrder`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wavefronts {
    /// How each step is spread over the GPU.
    pub config: Config,
    /// Steps of a wavefront.
    pub depth: u32,
    /// Rows of tiles from a step of a wavefront to the next, or as few as can be; if `None`, those that most
    /// blocks are at work on.
    pub lag: Option<u32>,
    /// Whether there are none: every step is launched by itself.
    pub separate: bool,
}

impl Wavefronts {
    /// What was fastest on an H200 for a grid of so many bytes (`docs/developers/notebook.md`).
    #[must_use]
    pub fn tuned(factors: Factors, radius: usize, bytes: usize) -> Self {
        let (Factors::One(element), true) = (factors, bytes > SMALL) else {
            // On large grids split products were timed one step a launch only.
            let config = Config::tuned(factors, radius);
            return Self { config, depth: 1, lag: None, separate: bytes > SMALL };
        };
        // To wait for one's neighbours costs a part of every tile: tall ones.
        let (stages, tile_rows, depth) = match (element, radius) {
            (Element::F16 | Element::Bf16, 1) => (8, 66, 4),
            (Element::F16 | Element::Bf16, 2) => (6, 62, 4),
            (Element::F16 | Element::Bf16, _) => (7, 82, 2),
            (Element::Tf32, 1) => (5, 18, 5),
            (Element::Tf32, _) => (3, 26, 4),
        };
        let config = Config { stages, blocks_per_multiprocessor: 2, tile_rows };
        Self { config, depth: if bytes <= MEDIUM { 1 } else { depth }, lag: None, separate: false }
    }
}

/// Bytes of a grid up to which low tiles were faster on an H200: there would be too few tall ones.
const SMALL: usize = 16 << 20;

/// Bytes of a grid up to which one step after the other was faster on an H200 than wavefronts, whose blocks
/// are at work on much of it at a time.
const MEDIUM: usize = 96 << 20;

/// The most steps of a launch: times the tiles in a row they are less than 2^31.
const MOST_STEPS: usize = 1000;

/// The extents of a launch.
struct Spread {
    config: Config,
    shared_bytes: u32,
    /// As many as run at once: those of a launch of several steps wait for each other.
    blocks: u32,
}

impl Spread {
    fn new(
        device: &dyn Device,
        kernels: &Sweep2dKernels,
        factors: Factors,
        radius: usize,
        many: bool,
        [ny, nx]: [u32; 2],
        config: Config,
    ) -> Result<Self, Error> {
        let Config { stages, .. } = config;
        if stages > MAX_STAGES {
            let reason = format!("{stages} stages are more than {MAX_STAGES}");
            return Err(Error::Driver { action: "launch the sweep".into(), reason });
        }
        let most = config.blocks_per_multiprocessor;
        let needed = sweep2d::shared_bytes(factors.bytes() as u32, radius as u32, config.stages);
        let shared_bytes = needed.max(exclusive_bytes(device, most));
        let threads = sweep2d::threads(many);
        let blocks = if many {
            resident_blocks(device, &kernels.many, threads, shared_bytes, most)?
        } else {
            resident_blocks(device, &kernels.one, threads, shared_bytes, most)?
        };
        let config = config.for_grid(radius, ny, nx, blocks);
        let blocks = dealing_evenly(blocks, ny.div_ceil(config.tile_rows), nx);
        Ok(Self { config, shared_bytes, blocks })
    }

    fn extents(&self, many: bool) -> Extents {
        let &Self { blocks, shared_bytes, .. } = self;
        Extents { blocks, threads: sweep2d::threads(many), shared_bytes }
    }
}

/// One stencil on one size of grid, ready to be launched.
pub struct Sweep2d {
    kernels: Sweep2dKernels,
    factors: Factors,
    fragments: Memory,
    nx: u32,
    ny: u32,
    /// Of one step.
    one: Spread,
    /// Of many steps.
    many: Spread,
    /// Steps of a wavefront, and rows of tiles from one to the next.
    wavefronts: (u32, u32),
    /// A counter for each row of tiles: finished tiles of all steps but the last ones of launches.
    progress: Memory,
    /// What all counters hold after the launches queued so far; they wrap around.
    counted: Cell<u32>,
    /// Whether every step is launched by itself.
    separate: bool,
}

impl Sweep2d {
    /// As [`Sweep2d::of`], of sparse products.
    ///
    /// # Errors
    /// The driver refuses, or a block would not fit a multiprocessor.
    pub fn new(
        device: &dyn Device,
        window: &Window,
        factors: Factors,
        extents: [u32; 2],
        config: Config,
        wavefronts: Wavefronts,
    ) -> Result<Self, Error> {
        Self::of(Form::Sparse, device, window, factors, extents, config, wavefronts)
    }

    /// Uploads the operand of products of a form and checks that the launches fit the GPU: those of one step as
    /// `config` says, those of many as `wavefronts` say.
    ///
    /// # Errors
    /// The driver refuses, or a block would not fit a multiprocessor.
    ///
    /// # Panics
    /// Where there is no kernel for the form and the factors.
    pub fn of(
        form: Form,
        device: &dyn Device,
        window: &Window,
        factors: Factors,
        [ny, nx]: [u32; 2],
        config: Config,
        wavefronts: Wavefronts,
    ) -> Result<Self, Error> {
        let radius = window.radius;
        let kernels = sweep2d::kernels(form, factors, radius as u32).expect("a kernel");
        let launch =
            |many, config| Spread::new(device, &kernels, factors, radius, many, [ny, nx], config);
        let (one, many) = (launch(false, config)?, launch(true, wavefronts.config)?);
        let Config { tile_rows, .. } = many.config;
        let reach = (radius as u32).div_ceil(tile_rows);
        let columns = nx.div_ceil(sweep2d::TILE_COLUMNS);
        let at_work = (3 * many.blocks).div_ceil(2 * wavefronts.depth * columns);
        let lag = wavefronts.lag.unwrap_or(reach + at_work).max(reach + 1);
        let operand = match (form, factors) {
            (Form::Dense, Factors::One(element)) => window.encode(element).dense(),
            _ => window.operand(factors),
        };
        Ok(Self {
            kernels,
            factors,
            fragments: device.constants("weights", &operand)?,
            nx,
            ny,
            one,
            wavefronts: (wavefronts.depth, lag),
            progress: device
                .allocate("progress", ny.div_ceil(tile_rows) as usize * size_of::<u32>())?,
            counted: Cell::new(0),
            separate: wavefronts.separate,
            many,
        })
    }

    /// Sets the counters of finished tiles to a value, as after launches of many steps.
    ///
    /// # Errors
    /// The device refuses.
    pub fn counted(self, device: &dyn Device, start: u32) -> Result<Self, Error> {
        let bytes = start.to_ne_bytes().repeat(self.progress.bytes() / size_of::<u32>());
        device.write(&self.progress, MemoryRows::first(bytes.len()), &bytes)?;
        self.counted.set(start);
        Ok(self)
    }

    fn check(&self, from: &Plane, to: &Plane) {
        Plane::check_pair(from, to, Layout::plane_2d(self.ny, self.nx), self.factors.bytes());
    }

    /// Queues one launch of several time steps, which ends in `planes[steps % 2]`.
    fn launch_many(
        &self,
        device: &dyn Device,
        planes: [&Plane; 2],
        steps: u32,
    ) -> Result<(), Error> {
        let [from, to] = planes;
        self.check(from, to);
        let (depth, lag) = self.wavefronts;
        let start = self.counted.get();
        let (many, progress) = (Steps { start, steps, depth, lag }, self.progress.as_mut_ptr());
        let call = self.kernels.many.with((
            from.origin_mut(),
            to.origin_mut(),
            self.fragments.as_ptr(),
            progress,
            many,
            self.many.config.tiles(from),
        ));
        // As the kernel's contract demands: two different planes of one size and type, in their layout; the
        // operand of this radius; shared memory and threads as it states; blocks that run at once, and
        // counters that hold `start` by then.
        let extents = self.many.extents(true);
        device.launch(&Launch { call: &call, extents, order: StartOrder::Cooperative })?;
        let counted = (steps - 1) * self.nx.div_ceil(sweep2d::TILE_COLUMNS);
        self.counted.set(start.wrapping_add(counted));
        Ok(())
    }
}

impl Pass for Sweep2d {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        self.check(from, to);
        let (input, output) = (from.origin_mut::<u8>(), to.origin_mut::<u8>());
        // Back and forth: every other sweep begins where the one before it ended.
        let upwards = u32::from(input > output);
        let (fragments, tiles) = (self.fragments.as_ptr(), self.one.config.tiles(from));
        let call = self.kernels.one.with((input, output, fragments, tiles, upwards));
        // As above, but for the counters.
        let extents = self.one.extents(false);
        device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
    }

    fn repeat(&self, device: &dyn Device, planes: [&Plane; 2], count: usize) -> Result<(), Error> {
        let most = if self.separate { 1 } else { MOST_STEPS };
        for done in (0..count).step_by(most) {
            let [from, to] = [planes[done % 2], planes[(done + 1) % 2]];
            match most.min(count - done) {
                1 => self.launch(
                    device,
                    Fields { before: from, after: to },
                    Region::whole(from.shape()),
                )?,
                steps => self.launch_many(device, [from, to], steps as u32)?,
            }
        }
        Ok(())
    }

    /// Of tiles of one step and of many, and of their warps.
    fn seams(&self) -> Seams {
        let [ny, nx] = [self.ny, self.nx].map(|extent| extent as usize);
        let [one, many] = [&self.one, &self.many].map(|launch| launch.config.tile_rows as usize);
        let rows = Seams::none().every(1, one, ny).every(1, many, ny);
        rows.every(2, sweep2d::TILE_COLUMNS as usize, nx).every(2, STRIP as usize, nx)
    }
}

/// How many blocks to launch of those that fit the GPU at once. No more than there are tiles in a step;
/// and where those of the last column are narrow, so many that all blocks take equally many of them.
fn dealing_evenly(most: u32, rows: u32, nx: u32) -> u32 {
    let columns = nx.div_ceil(sweep2d::TILE_COLUMNS);
    if rows * columns <= most || nx.is_multiple_of(sweep2d::TILE_COLUMNS) {
        return most.min(rows * columns);
    }
    let divides = |n: u32, blocks: u32| columns.is_multiple_of(n) && blocks.is_multiple_of(n);
    let meets_all = |&blocks: &u32| !(2..=columns).any(|n| divides(n, blocks));
    (1..=most).rev().find(meets_all).expect("1 has no other divisor")
}

/// Small stencils of 2D.
pub struct Sweep2dFamily(
    /// Of which products: dense ones are there to be compared with.
    pub Form,
);

impl Family for Sweep2dFamily {
    fn name(&self) -> &'static str {
        match self.0 {
            Form::Sparse => "sweep2d",
            Form::Dense => "dense_sweep2d",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Form::Sparse => "2D, radius up to 3",
            Form::Dense => "2D, radius up to 3: sweep2d of dense products, to compare with",
        }
    }

    fn unit(&self) -> Unit {
        Unit::of(self.0)
    }

    fn only_if_asked(&self) -> bool {
        self.0 == Form::Dense
    }

    fn dims(&self) -> RangeInclusive<usize> {
        2..=2
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=7
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let (form, factors) = (self.0, asked.factors(self)?);
        if form == Form::Dense && factors == Factors::Split {
            return Err(Refusal::Type(format!(
                "{} multiplies f16, bf16 or tf32, not f32",
                self.name()
            )));
        }
        let window = window(asked.fused).map_err(Refusal::no_layout)?;
        let (radius, [_, ny, nx]) = (window.radius, asked.extents());
        let config = Config::tuned(factors, radius).for_registers(form, factors, radius);
        let bytes = asked.job.shape.points().saturating_mul(factors.bytes());
        let mut wavefronts = Wavefronts::tuned(factors, radius, bytes);
        wavefronts.config = wavefronts.config.for_registers(form, factors, radius);
        let stages = config.stages.max(wavefronts.config.stages);
        let prepare = move |device: &dyn Device| {
            Sweep2d::of(form, device, &window, factors, [ny, nx], config, wavefronts)
        };
        Ok(FamilyKernel {
            shared_bytes: sweep2d::shared_bytes(factors.bytes() as u32, radius as u32, stages),
            takes_many: !wavefronts.separate,
            ..FamilyKernel::new(format!("{}_{factors}_r{radius}", self.name()), prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |dtype| (1..=3).map(move |radius| Sample::of(dtype, [0, radius, radius]));
        let all = [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32];
        let takes = |dtype: &Dtype| self.0 == Form::Sparse || *dtype != Dtype::F32;
        all.into_iter().filter(takes).flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::dealing_evenly;

    #[test]
    fn every_block_has_a_tile_or_meets_every_column() {
        assert_eq!(dealing_evenly(264, 394, 10240), 264);
        assert_eq!(dealing_evenly(264, 394, 10000), 263);
        assert_eq!(dealing_evenly(264, 400, 700), 263);
        assert_eq!(dealing_evenly(264, 400, 500), 264);
        assert_eq!(dealing_evenly(264, 3, 1024), 6);
        assert_eq!(dealing_evenly(264, 3, 1000), 6);
    }
}
