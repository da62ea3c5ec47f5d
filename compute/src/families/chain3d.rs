// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of chained steps of 3D stars (`kernels_gpu::chain3d`).

use super::boxes::Boxes;
use super::occupancy::{exclusive_bytes, resident_blocks};
use super::sweep3d::element_of_3d;
use super::sweep3d::{MOST_SEGMENTS, START};
use super::{Family, Fields, HaloSupport, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Chip, Device, Launch, Memory, Plane, StartOrder};
use cuda_driver::Extents;
use kernels_gpu::chain3d;
use kernels_gpu::chain3d::{Kernel, MOST_ACROSS, MOST_DOWN, WarpGrid, lost_columns, lost_rows};
use kernels_gpu::layout::Layout;
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::encode::Encoded;
use transform::star3d::star3d;

/// How a launch is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The warps of a block.
    pub tile: WarpGrid,
    /// Blocks on each multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// How many tiles are streamed through as a whole, and the output planes of segments through the
    /// others; by default, [`Config::best_segments`].
    pub segments: Option<[u32; 2]>,
}

impl Config {
    /// What was fastest on an H200 (`docs/developers/notebook.md`).
    #[must_use]
    pub fn tuned(kernel: &Kernel) -> Self {
        let tile = WarpGrid { across: 4, down: 3, units: kernel.units };
        Self { tile, blocks_per_multiprocessor: 1, segments: None }
    }

    /// Cuts the tile down so that it has no more rows than a plane of the grid, and not many more columns.
    #[must_use]
    pub fn for_grid(self, kernel: &Kernel, [_, ny, nx]: [u32; 3]) -> Self {
        let WarpGrid { mut across, mut down, units } = self.tile;
        while across > 1 && (WarpGrid { across: across - 1, down, units }).columns() >= nx {
            across -= 1;
        }
        while down > 1 && (WarpGrid { across, down, units }).rows() > ny {
            down -= 1;
        }
        assert!(units == kernel.units, "the tile is the kernel's");
        assert!(across <= MOST_ACROSS && down <= MOST_DOWN, "exchange memory is for smaller tiles");
        Self { tile: WarpGrid { across, down, units }, ..self }
    }

    /// The segments with which the busiest of so many places for blocks computes the fewest planes. All
    /// tiles are streamed through in pieces of one length, so that blocks that run at the same time work on
    /// a contiguous part of the same planes: pieces of few tiles beside each other along z take several
    /// times as long (`docs/decisions/0013-chained-stars.md`).
    #[must_use]
    pub fn best_segments(&self, kernel: &Kernel, extents: [u32; 3], places: u32) -> [u32; 2] {
        let [nz, ny, nx] = extents;
        let tiles: u32 = self.tile.tiles(kernel.steps, ny, nx).iter().product();
        // Rounds before the first plane is stored.
        let before = u64::from(3 * (kernel.steps - 1)) + START;
        let rounds = |planes: u32| {
            let segments = u64::from(tiles) * u64::from(nz.div_ceil(planes));
            segments.div_ceil(u64::from(places)) * (u64::from(planes) + before)
        };
        let lengths = (1..=nz.min(MOST_SEGMENTS)).map(|segments| nz.div_ceil(segments));
        // Of equally good ones the longest: they compute least in all.
        [0, lengths.min_by_key(|&planes| rounds(planes)).unwrap_or(1)]
    }
}

/// One stencil on one size of grid, ready to be launched.
pub struct Chain3d {
    kernel: &'static Kernel,
    fragments: Memory,
    boxes: Boxes,
    extents: [u32; 3],
    tile: WarpGrid,
    segments: [u32; 2],
    shared_bytes: u32,
    blocks: u32,
}

impl Chain3d {
    /// Uploads the operand, in the kernel's type, and checks that the launch fits the GPU.
    ///
    /// # Errors
    /// The device refuses, or a block would not fit a multiprocessor.
    ///
    /// # Panics
    /// Where the grid has fewer rows than [`Kernel::least_rows`].
    pub fn new(
        device: &dyn Device,
        kernel: &'static Kernel,
        operand: &Encoded,
        extents: [u32; 3],
        config: Config,
    ) -> Result<Self, Error> {
        let config = config.for_grid(kernel, extents);
        let Config { tile, blocks_per_multiprocessor: blocks, .. } = config;
        let bytes = tile.shared_bytes(kernel.steps).max(exclusive_bytes(device, blocks));
        let places = resident_blocks(device, &kernel.entry, tile.threads(), bytes, blocks)?;
        let [whole, planes] =
            config.segments.unwrap_or_else(|| config.best_segments(kernel, extents, places));
        assert!(extents[1] >= tile.rows(), "tiles end with the grid");
        let blocks = tile.blocks(kernel.steps, extents, whole, planes);
        let fragments = device.constants("weights", &operand.words)?;
        Ok(Self {
            kernel,
            fragments,
            boxes: Boxes::new(tile.input_box()),
            extents,
            tile,
            segments: [whole, planes],
            shared_bytes: bytes,
            blocks,
        })
    }

    /// Tiles that are streamed through as a whole, output planes of other segments, and the blocks of a
    /// launch.
    #[must_use]
    pub fn shape(&self) -> ([u32; 2], u32) {
        (self.segments, self.blocks)
    }
}

impl Pass for Chain3d {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        let layout = Layout { dims: 3, extents: self.extents };
        Plane::check_pair(from, to, layout, size_of::<u16>());
        let (blocks, shared_bytes) = (self.blocks, self.shared_bytes);
        let extents = Extents { blocks, threads: self.tile.threads(), shared_bytes };
        let [whole, segment_planes] = self.segments;
        let launch = chain3d::Chain3dLaunch {
            grid: from.layout().grid_3d(),
            across: self.tile.across,
            down: self.tile.down,
            whole,
            segment_planes,
        };
        let (input, fragments) = (self.boxes.of(device, from)?, self.fragments.as_ptr());
        let call = self.kernel.entry.with((input, to.origin_mut(), fragments, launch));
        // As the kernel's contract demands: two different planes of one size, in their layout; the operand;
        // shared memory and threads as it states.
        device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
    }

    fn seams(&self) -> Seams {
        seams(self.tile, self.kernel.steps, self.extents, self.segments[1])
    }
}

/// Of tiles, whose outer rows and columns are lost but at the ends of the grid, and of segments.
fn seams(tile: WarpGrid, steps: u32, extents: [u32; 3], segment_planes: u32) -> Seams {
    let [nz, ny, nx] = extents.map(|extent| extent as usize);
    let tiles = |seams: Seams, axis, size: u32, lost: u32, extent| {
        let (first, distance) = (size - lost, size - 2 * lost);
        seams.spaced(axis, first as usize, distance as usize, extent)
    };
    let planes = Seams::none().every(0, segment_planes as usize, nz);
    let rows = tiles(planes, 1, tile.rows(), lost_rows(steps), ny);
    tiles(rows, 2, tile.columns(), lost_columns(steps), nx)
}

/// Several steps of stars of 3D in one launch.
pub struct Chain3dFamily;

impl Family for Chain3dFamily {
    fn name(&self) -> &'static str {
        "chain3d"
    }

    fn about(&self) -> &'static str {
        "3D stars of radius 1, 3 steps chained on chip"
    }

    fn unit(&self) -> Unit {
        Unit::SparseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        3..=3
    }

    fn chained(&self) -> RangeInclusive<usize> {
        3..=3
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<super::FamilyKernel, Refusal> {
        let element = element_of_3d(asked, self)?;
        let kernel = chain3d::kernel(&element.to_string(), asked.chain as u32);
        let kernel = kernel.ok_or_else(|| asked.no_chain())?;
        let operand = star3d(asked.fused, element).map_err(Refusal::no_layout)?;
        let (extents, config) = (asked.extents(), Config::tuned(kernel));
        let [ny, least] = [extents[1], kernel.least_rows()];
        let prepare =
            move |device: &dyn Device| Chain3d::new(device, kernel, &operand, extents, config);
        Ok(super::FamilyKernel {
            chip: Chip::Sm90,
            shared_bytes: config.for_grid(kernel, extents).tile.shared_bytes(kernel.steps),
            around: HaloSupport::Zeros,
            grid: (ny < least).then(|| {
                format!("it chains steps in 3D of at least {least} rows; this grid has {ny}")
            }),
            ..super::FamilyKernel::new(kernel.name, prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |dtype| Sample::of(dtype, [1; 3]).star().chained(3);
        [Dtype::F16, Dtype::Bf16].map(of).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels_gpu::chain3d::kernel;

    #[test]
    fn segments_keep_all_blocks_busy() {
        let kernel = kernel("f16", 3).unwrap();
        let segments = |extents, places| {
            Config::tuned(kernel).for_grid(kernel, extents).best_segments(kernel, extents, places)
        };
        // 288 tiles in 5 pieces each fill 132 places 10.9 times, 168 tiles in 3 pieces 3.8 times.
        assert_eq!(segments([1024; 3], 132), [0, 205]);
        assert_eq!(segments([768; 3], 132), [0, 256]);
        assert_eq!(segments([1, 12, 1], 132), [0, 1]);
    }

    #[test]
    fn tiles_have_no_more_rows_than_the_grid() {
        let kernel = kernel("f16", 3).unwrap();
        let tile = |extents| {
            let WarpGrid { across, down, .. } =
                Config::tuned(kernel).for_grid(kernel, extents).tile;
            (across, down)
        };
        assert_eq!(tile([64, 1024, 1024]), (4, 3));
        assert_eq!(tile([64, 35, 100]), (4, 2));
        assert_eq!(tile([64, 12, 32]), (1, 1));
    }

    /// As many tiles as the kernel has, each storing what lies between its seams.
    #[test]
    fn seams_lie_between_tiles() {
        let kernel = kernel("f16", 3).unwrap();
        let extents = [64, 200, 300];
        let tile = Config::tuned(kernel).for_grid(kernel, extents).tile;
        let seams = seams(tile, kernel.steps, extents, 30);
        assert_eq!(seams.along(0), [30, 60]);
        let [down, across] = tile.tiles(kernel.steps, 200, 300);
        for (axis, size, lost, tiles, extent) in
            [(1, tile.rows(), 2, down, 200), (2, tile.columns(), 8, across, 300)]
        {
            let [first, last] =
                [1, tiles - 1].map(|tile| (tile * (size - 2 * lost) + lost) as usize);
            let found = seams.along(axis);
            assert_eq!((found[0], found[found.len() - 1]), (first, last), "axis {axis}");
            assert!(last < extent && tiles > 2);
        }
    }
}
