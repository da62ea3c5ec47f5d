// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the gather kernels (`kernels_gpu::gather`).

use super::cost::LowerBound;
use super::occupancy::{exclusive_bytes, resident_blocks};
use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::plane::layout;
use crate::device::{Device, Launch, Memory, Plane, StartOrder};
use cuda_driver::{Entry, Extents};
use cuda_mma::fragment::Element;
use kernels_gpu::gather::{
    self, Derived, MORE_STEPS, MOST_WARPS, MOST_WARPS_OF_MORE, REACH, STACK, STEP_WORDS, lead,
};
use kernels_gpu::layout::Layout;
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error, Shape};
use std::ops::RangeInclusive;
use transform::Stencil;
use transform::gather::{Footprint, Gather, OutputTile, Pitch, gather_tiles};

/// Cycles in which a producer warp starts the copy of one row: measured, 77 to 83.
const ROW_CYCLES: f64 = 80.0;

/// The part of the shorter of computing and copying that the longer does not hide.
const OVERLAP: f64 = 0.25;

/// Warps that keep a multiprocessor busy.
const BUSY_WARPS: u32 = 8;

/// What the L1 cache should have besides tables.
const L1_BYTES: u32 = 16 << 10;

/// Cycles of a multiprocessor for 128 outputs: lines through what was measured
/// (`docs/decisions/0012-gather.md`). A step is shorter where its table stays in registers.
#[must_use]
pub fn cycles(element: Element, dims: u32, steps: usize) -> f64 {
    let step = match steps as u32 {
        steps if steps < *MORE_STEPS.start() => 3.4,
        steps if steps <= *MORE_STEPS.end() => 4.5,
        _ => 5.7,
    };
    // Planes are handed over one by one, and tf32 is rounded when it is loaded.
    let planes = if dims == 3 { 1.2 } else { 1.0 };
    let rounding = if element == Element::Tf32 { 1.5 } else { 1.0 };
    (24.0 + step * steps as f64) * planes * rounding
}

/// What starting a segment costs, in planes: about the latency of its first copies.
const START: u64 = 4;

/// The most segments along z that are worth a try.
const MOST_SEGMENTS: u32 = 4096;

/// How a sweep is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Units of a block's tile, down and across; a warp computes one at a time.
    pub tile: [u32; 2],
    /// Stages of the ring, each a plane of the tile with its halo.
    pub stages: u32,
    /// Warps of a block that compute.
    pub warps: u32,
    /// Blocks on each multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Output planes of a segment; by default, those with which the busiest block loads the fewest planes.
    pub segment: Option<u32>,
}

/// Rows and columns of a unit: its [`STACK`] groups are below each other, or beside each other in 1D.
fn unit(footprint: &Footprint, dims: u32) -> [u32; 2] {
    let [rows, columns] = tile(footprint);
    if dims == 1 { [rows, STACK * 8 * columns] } else { [STACK * rows, 8 * columns] }
}

/// Rows and columns of a tile.
fn tile(footprint: &Footprint) -> [u32; 2] {
    [footprint.tile.rows(), footprint.tile.columns()].map(|n| n as u32)
}

/// Multiprocessors share 228 KB of memory among their blocks, and the driver keeps 1 KB of each.
const MULTIPROCESSOR_BYTES: u32 = 228 << 10;

impl Config {
    /// What was fastest on an H200 (`docs/decisions/0012-gather.md`), within so many bytes of shared memory for
    /// a block.
    #[must_use]
    pub fn tuned(footprint: &Footprint, steps: usize, shape: Shape, shared_bytes: u32) -> Self {
        let dims = layout(shape).dims;
        let more = MORE_STEPS.contains(&(steps as u32));
        // In 1D and 2D two blocks that compute and wait in turns; in 3D the planes of a window leave room for
        // one.
        let (blocks_per_multiprocessor, ahead, most_warps, rounds) = match (dims, more) {
            (3, false) => (1, 3, MOST_WARPS, 1),
            (3, true) => (1, 3, MOST_WARPS_OF_MORE, 1),
            (_, false) => (2, 2, MOST_WARPS / 2, dims + 1),
            (_, true) => (2, 2, MOST_WARPS_OF_MORE / 2, dims + 1),
        };
        let stages = footprint.extent[0] as u32 + ahead;
        // Tables that are loaded again and again should find room beside, in the L1 cache.
        let streamed = if steps as u32 > *MORE_STEPS.end() {
            L1_BYTES + 4 * STEP_WORDS * steps as u32
        } else {
            0
        };
        let budget = MULTIPROCESSOR_BYTES.saturating_sub(streamed) / blocks_per_multiprocessor;
        let most = shared_bytes.min(budget.saturating_sub(1024));
        let config =
            |tile| Self { tile, stages, warps: 1, blocks_per_multiprocessor, segment: None };
        let fits =
            |tile: &[u32; 2]| config(*tile).launch(footprint, 1, shape).shared_bytes() <= most;
        let [rows, columns] = unit(footprint, dims);
        let [_, ny, nx] = shape.extents().map(|extent| extent as u32);
        let most_units = most_warps * rounds;
        let all = (1..=most_units.min(ny.div_ceil(rows))).flat_map(|down| {
            let most_across = (most_units / down).min(nx.div_ceil(columns));
            (1..=most_across).map(move |across| [down, across])
        });
        // Cycles of a tile for each of its outputs that are in the grid.
        let cost = |&[down, across]: &[u32; 2]| {
            let units = down * across;
            let (tile_rows, tile_columns) = (down * rows, across * columns);
            let idle = if units > most_warps {
                f64::from(units.next_multiple_of(most_warps)) / f64::from(units)
            } else {
                1.0
            };
            // Few warps cannot hide their latencies: they take as long as some more would.
            let busy = f64::from(units.max(BUSY_WARPS) * STACK);
            let computed = idle * busy * cycles(footprint.element, dims, steps);
            let halo = footprint.extent[1] as u32 - footprint.tile.rows() as u32;
            let copies =
                ROW_CYCLES * f64::from(tile_rows + halo) / f64::from(blocks_per_multiprocessor);
            let beyond = |tile: u32, extent: u32| {
                f64::from(extent.next_multiple_of(tile)) / f64::from(extent)
            };
            let outputs = f64::from(tile_rows * tile_columns);
            let time = computed.max(copies) + OVERLAP * computed.min(copies);
            time / outputs * beyond(tile_rows, ny) * beyond(tile_columns, nx)
        };
        match all.filter(fits).min_by(|a, b| cost(a).total_cmp(&cost(b))) {
            Some(tile) => Self { warps: (tile[0] * tile[1]).min(most_warps), ..config(tile) },
            None => Self::least(footprint),
        }
    }

    /// What takes the least shared memory.
    #[must_use]
    pub fn least(footprint: &Footprint) -> Self {
        let stages = footprint.extent[0] as u32;
        Self { tile: [1, 1], stages, warps: 1, blocks_per_multiprocessor: 1, segment: None }
    }

    /// What the kernel is given for so many steps, in segments of a single plane.
    #[must_use]
    pub fn launch(&self, footprint: &Footprint, steps: usize, shape: Shape) -> gather::Gather {
        let layout = layout(shape);
        let [planes, extent] = footprint.extent.map(|n| n as u32);
        let [rows, columns] = tile(footprint);
        let pitch = self.pitch(footprint, shape);
        gather::Gather {
            extents: layout.extents,
            pitch: layout.pitch(),
            plane_rows: layout.plane_rows(),
            steps: steps as u32,
            first: footprint.first,
            window: planes,
            halo_rows: extent - rows,
            rows_below: layout.halo_rows(),
            tile: self.tile,
            stack: if layout.dims == 1 { [0, 8 * columns] } else { [rows, 0] },
            segment: 1,
            row_bytes: pitch.row as u32,
            stage_bytes: pitch.plane as u32,
            stages: self.stages,
            derived: Derived::default(),
        }
        .derive([rows, columns], footprint.element.bytes() as u32)
    }

    /// How a tile lies in shared memory.
    #[must_use]
    pub fn pitch(&self, footprint: &Footprint, shape: Shape) -> Pitch {
        let &Footprint { element, tile, extent, .. } = footprint;
        let [rows, columns] = unit(footprint, layout(shape).dims);
        let [down, across] = self.tile;
        let bytes = element.bytes() as u32;
        let row_bytes = lead(bytes) + (across * columns + 2 * REACH) * bytes;
        let rows = (down * rows) as usize + extent[1] - tile.rows();
        Pitch::fitting(tile, element, row_bytes as usize, rows)
    }
}

/// Output planes of a segment with which the busiest of so many blocks loads the fewest planes.
fn best_segment(launch: gather::Gather, blocks: u32) -> u32 {
    let nz = launch.extents[0];
    let [_, down, across] = launch.derived.segments;
    let loads = |segment: u32| {
        let segments = u64::from(down * across) * u64::from(nz.div_ceil(segment));
        segments.div_ceil(u64::from(blocks)) * (u64::from(segment + launch.window - 1) + START)
    };
    let segments = (1..=nz.min(MOST_SEGMENTS)).map(|segments| nz.div_ceil(segments));
    segments.min_by_key(|&segment| loads(segment)).unwrap_or(1)
}

/// The launch in segments of so many planes, or as many as there are.
fn in_segments(launch: gather::Gather, footprint: &Footprint, segment: u32) -> gather::Gather {
    let segment = segment.min(launch.extents[0]);
    gather::Gather { segment, ..launch }.derive(tile(footprint), footprint.element.bytes() as u32)
}

/// One stencil on one size of grid, ready to be launched.
pub struct Gathered {
    kernel: Entry<gather::Parameters>,
    launch: gather::Gather,
    /// Rows and columns of a warp's part of a tile.
    unit: [u32; 2],
    layout: Layout,
    bytes: usize,
    table: Memory,
    threads: u32,
    shared_bytes: u32,
    blocks: u32,
}

impl Gathered {
    /// Uploads the table and checks that the launch fits the GPU.
    ///
    /// # Errors
    /// The device refuses, or a block would not fit a multiprocessor.
    pub fn new(
        device: &dyn Device,
        gather: &Gather,
        shape: Shape,
        config: Config,
    ) -> Result<Self, Error> {
        let footprint = &gather.footprint;
        let kernel = gather::kernel(footprint.element, footprint.tile, gather.steps.len() as u32);
        let blocks = config.blocks_per_multiprocessor;
        let launch = config.launch(footprint, gather.steps.len(), shape);
        let shared_bytes = launch.shared_bytes().max(exclusive_bytes(device, blocks));
        let threads = 32 * (config.warps + 1);
        let places = resident_blocks(device, &kernel, threads, shared_bytes, blocks)?;
        let segment = config.segment.unwrap_or_else(|| best_segment(launch, places));
        let launch = in_segments(launch, footprint, segment);
        let blocks = places.min(launch.derived.segments.iter().product());
        let table = device.constants("table", &gather.table(config.pitch(footprint, shape)))?;
        let (layout, bytes) = (layout(shape), footprint.element.bytes());
        let unit = unit(footprint, layout.dims);
        Ok(Self { kernel, launch, unit, layout, bytes, table, threads, shared_bytes, blocks })
    }

    /// What the kernel is given, and the blocks of a launch.
    #[must_use]
    pub fn shape(&self) -> (&gather::Gather, u32) {
        (&self.launch, self.blocks)
    }
}

impl Pass for Gathered {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, self.layout, self.bytes);
        let &Self { threads, shared_bytes, blocks, .. } = self;
        let extents = Extents { blocks, threads, shared_bytes };
        let parameters = (from.origin(), to.origin_mut(), self.table.as_ptr(), self.launch);
        let call = self.kernel.with(parameters);
        // As the kernel's contract demands: two different planes of one size, in their layout; a table for
        // that launch; shared memory and threads as it states.
        device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
    }

    /// Of blocks, of their units, and of segments.
    fn seams(&self) -> Seams {
        let [nz, ny, nx] = self.launch.extents.map(|extent| extent as usize);
        let [rows, columns] = self.unit.map(|extent| extent as usize);
        let [down, across] = self.launch.tile.map(|units| units as usize);
        let planes = Seams::none().every(0, self.launch.segment as usize, nz);
        let units = planes.every(1, rows, ny).every(2, columns, nx);
        units.every(1, down * rows, ny).every(2, across * columns, nx)
    }
}

/// The gather kernels, which take any stencil.
pub struct GatherFamily;

impl GatherFamily {
    /// The layout with fewer products; of as many, that whose tiles have two rows.
    fn best(fused: &Stencil, element: Element) -> Result<Gather, Refusal> {
        let of_tile = |tile| gather_tiles(fused, element, tile).map_err(Refusal::no_layout);
        let row = of_tile(OutputTile::Row)?;
        // In 1D the second row would be empty.
        if fused.dims() == 1 {
            return Ok(row);
        }
        let block = of_tile(OutputTile::Block)?;
        Ok(if row.steps.len() < block.steps.len() { row } else { block })
    }
}

/// What is calibrated together: kernels whose planes are handed over one by one in 3D, and those whose long
/// tables are loaded again and again, each by themselves.
fn class(kernel: &str, dims: usize, steps: usize) -> String {
    let long = if steps as u32 > *MORE_STEPS.end() { "_long" } else { "" };
    format!("{kernel}_{dims}d{long}")
}

impl Family for GatherFamily {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn about(&self) -> &'static str {
        "Any shape of radius up to 8 on each axis, by a lookup table"
    }

    fn unit(&self) -> Unit {
        Unit::SparseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        1..=3
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=7
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let element = asked.element(self)?;
        let gather = Self::best(asked.fused, element)?;
        let (footprint, steps) = (gather.footprint, gather.steps.len());
        let shape = asked.job.shape;
        let name = gather::kernel(element, footprint.tile, steps as u32).name();
        let prepare = move |device: &dyn Device| {
            let config = Config::tuned(&footprint, steps, shape, device.shared_bytes());
            Gathered::new(device, &gather, shape, config)
        };
        Ok(FamilyKernel {
            class: class(name, asked.fused.dims(), steps),
            work: steps as f64,
            shared_bytes: Config::least(&footprint).launch(&footprint, steps, shape).shared_bytes(),
            ..FamilyKernel::new(name, prepare)
        })
    }

    /// A product of either tile holds so many weights of a row of the operand.
    fn least(&self, asked: &LaunchRequest) -> Vec<LowerBound> {
        let Ok(element) = asked.element(self) else { return Vec::new() };
        let kept = if element == Element::Tf32 { 8 } else { 16 };
        let (dims, steps) = (asked.fused.dims(), asked.fused.taps().len().div_ceil(kept));
        let tiles =
            if dims == 1 { &[OutputTile::Row][..] } else { &[OutputTile::Row, OutputTile::Block] };
        let of_tile = |&tile: &OutputTile| {
            let kernel = gather::kernel(element, tile, steps as u32).name();
            LowerBound { class: class(kernel, dims, steps), work: steps as f64 }
        };
        tiles.iter().map(of_tile).collect()
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |dtype| {
            let one = |radii| Sample::of(dtype, radii);
            [
                one([0, 0, 8]),
                one([0, 1, 1]),
                one([0, 1, 6]),
                one([0, 3, 5]),
                one([0, 2, 4]),
                one([0, 3, 3]),
                one([0, 8, 8]),
                one([1, 1, 1]).star(),
                one([4, 4, 4]).star(),
                one([1, 2, 3]),
            ]
        };
        [Dtype::F16, Dtype::Bf16, Dtype::Tf32].into_iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    fn tuned(name: &str, tile: OutputTile, size: &str, shared_bytes: u32) -> (Config, u32) {
        let gather = gather_tiles(&catalogue::find(name).unwrap(), Element::F16, tile).unwrap();
        let (shape, steps) = (size.parse().unwrap(), gather.steps.len());
        let config = Config::tuned(&gather.footprint, steps, shape, shared_bytes);
        (config, config.launch(&gather.footprint, steps, shape).shared_bytes())
    }

    #[test]
    fn tiles_fit_shared_memory_and_small_grids() {
        for most in [99 << 10, 163 << 10, 227 << 10] {
            for (name, tile, size) in [
                ("star2d8r", OutputTile::Block, "10240x10240"),
                ("box2d8r", OutputTile::Row, "10240x10240"),
                ("star3d4r", OutputTile::Block, "1024x1024x1024"),
                ("box1d8r", OutputTile::Row, "1000000"),
            ] {
                let (config, bytes) = tuned(name, tile, size, most);
                assert!(bytes <= most, "{name}: {config:?} takes {bytes} of {most} bytes");
                assert!((1..=MOST_WARPS).contains(&config.warps), "{name}: {config:?}");
            }
        }
        let (config, _) = tuned("star3d2r", OutputTile::Block, "3x3x3", 227 << 10);
        assert_eq!((config.tile, config.warps), ([1, 1], 1));
    }

    #[test]
    fn tiles_in_3d_are_wide() {
        let (config, _) = tuned("star3d4r", OutputTile::Block, "1024x1024x1024", 227 << 10);
        assert_eq!(config.tile, [1, 8]);
    }

    #[test]
    fn segments_keep_all_blocks_busy() {
        let stencil = catalogue::find("star3d2r").unwrap();
        let footprint = gather_tiles(&stencil, Element::F16, OutputTile::Block).unwrap().footprint;
        let shape = "768x768x768".parse().unwrap();
        let config = Config::tuned(&footprint, 5, shape, 227 << 10);
        let launch = config.launch(&footprint, 5, shape);
        let launch = in_segments(launch, &footprint, best_segment(launch, 132));
        let segments: u32 = launch.derived.segments.iter().product();
        assert!(segments.next_multiple_of(132) <= segments + segments / 4, "{segments} segments");
    }
}
