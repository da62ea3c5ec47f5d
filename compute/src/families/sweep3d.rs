// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of the 3D sweep (`kernels_gpu::sweep3d`).

use super::occupancy::{exclusive_bytes, resident_blocks};
use super::{Family, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::{Chip, Device, Launch, Memory, Plane, StartOrder};
use cuda_driver::Extents;
use cuda_mma::fragment::Element;
use kernels_gpu::layout::{Layout, STRIP};
use kernels_gpu::sweep3d::{self, Kernel, Reach, WarpGrid};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error};
use std::ops::RangeInclusive;
use transform::window3d::{Window3d, window3d};

/// What starting a block costs, in planes: about the latency of its first copies.
pub(super) const START: u64 = 4;

/// The most segments along z that are worth a try.
pub(super) const MOST_SEGMENTS: u32 = 4096;

/// How a sweep is spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The warps of a block.
    pub tile: WarpGrid,
    /// Stages of the ring in shared memory, a plane of the tile each.
    pub stages: u32,
    /// Warps of a block that copy.
    pub producers: u32,
    /// Blocks on each multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Output planes of a segment; by default, [`Config::best_segment`].
    pub segment_planes: Option<u32>,
}

impl Config {
    /// What was fastest on an H200 (`docs/developers/notebook.md`).
    #[must_use]
    pub fn tuned(radius: u32) -> Self {
        let tile = WarpGrid { across: 4, down: if radius == 1 { 4 } else { 2 } };
        Self { tile, stages: 4, producers: 3, blocks_per_multiprocessor: 1, segment_planes: None }
    }

    /// Cuts the tile down so that it is not much larger than a plane of the grid.
    #[must_use]
    pub fn for_grid(self, extents: [u32; 3]) -> Self {
        let [_, ny, nx] = extents;
        let WarpGrid { mut across, mut down } = self.tile;
        while across > 1 && across.div_ceil(2) * STRIP >= nx {
            (across, down) = (across.div_ceil(2), down * across / across.div_ceil(2));
        }
        while down > 1 && (WarpGrid { across, down: down - 1 }).rows() >= ny {
            down -= 1;
        }
        Self { tile: WarpGrid { across, down }, ..self }
    }

    /// Output planes of a segment with which the busiest of so many places for blocks loads the fewest
    /// planes. All segments load 2 · radius planes more than they compute.
    #[must_use]
    pub fn best_segment(&self, radius: u32, extents: [u32; 3], blocks: u32) -> u32 {
        let nz = extents[0];
        let [_, down, across] = self.tile.segments(extents, nz);
        let tiles = down * across;
        let loads = |planes: u32| {
            let segments = u64::from(tiles) * u64::from(nz.div_ceil(planes));
            let rounds = (planes + 2 * radius).div_ceil(2 * radius + 1);
            segments.div_ceil(u64::from(blocks)) * (u64::from(rounds * (2 * radius + 1)) + START)
        };
        // Of equally good ones the longest: they load least in all.
        let segments = (1..=nz.min(MOST_SEGMENTS)).map(|segments| nz.div_ceil(segments));
        segments.min_by_key(|&planes| loads(planes)).unwrap_or(1)
    }
}

/// One stencil on one size of grid, ready to be launched.
pub struct Sweep3d {
    kernel: &'static Kernel,
    fragments: Memory,
    extents: [u32; 3],
    tile: WarpGrid,
    stages: u32,
    producers: u32,
    segment_planes: u32,
    shared_bytes: u32,
    blocks: u32,
}

impl Sweep3d {
    /// Uploads the operand and checks that the launch fits the GPU.
    ///
    /// # Errors
    /// The device refuses, or a block would not fit a multiprocessor.
    ///
    /// # Panics
    /// Where the type has not 16 bits.
    pub fn new(
        device: &dyn Device,
        window: &Window3d,
        element: Element,
        extents: [u32; 3],
        config: Config,
    ) -> Result<Self, Error> {
        let radius = window.radius as u32;
        let reach = if window.is_diamond() { Reach::Diamond } else { Reach::Box };
        let kernel = sweep3d::kernel(&element.to_string(), radius, reach)
            .unwrap_or_else(|| panic!("no 3D sweep of radius {radius} in {element}"));
        Self::by(device, kernel, window, element, extents, config)
    }

    /// Uploads the operand for a given kernel that takes the stencil, which need not be the kernel with the fewest
    /// products.
    ///
    /// # Errors
    /// The device refuses, or a block would not fit a multiprocessor.
    ///
    /// # Panics
    /// Where the operand is for another radius.
    pub fn by(
        device: &dyn Device,
        kernel: &'static Kernel,
        window: &Window3d,
        element: Element,
        extents: [u32; 3],
        config: Config,
    ) -> Result<Self, Error> {
        let radius = kernel.radius;
        assert_eq!(window.radius, radius as usize, "an operand for the kernel");
        let config = config.for_grid(extents);
        let Config { tile, stages, producers, blocks_per_multiprocessor: blocks, .. } = config;
        let needed = tile.shared_bytes(radius, stages);
        let bytes = needed.max(exclusive_bytes(device, blocks));
        let places =
            resident_blocks(device, &kernel.entry, tile.threads(producers), bytes, blocks)?;
        let segment_planes = config
            .segment_planes
            .unwrap_or_else(|| config.best_segment(radius, extents, places))
            .clamp(1, extents[0]);
        let blocks = tile.segments(extents, segment_planes).iter().product();
        let fragments = device.constants("weights", &window.encode(element).words)?;
        Ok(Self {
            kernel,
            fragments,
            extents,
            tile,
            stages,
            producers,
            segment_planes,
            shared_bytes: bytes,
            blocks,
        })
    }

    /// Output planes of a segment, and the blocks of a launch.
    #[must_use]
    pub fn shape(&self) -> (u32, u32) {
        (self.segment_planes, self.blocks)
    }
}

impl Pass for Sweep3d {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        let layout = Layout { dims: 3, extents: self.extents };
        Plane::check_pair(from, to, layout, size_of::<u16>());
        let (blocks, shared_bytes) = (self.blocks, self.shared_bytes);
        let extents = Extents { blocks, threads: self.tile.threads(self.producers), shared_bytes };
        let (input, output) = (from.origin::<u16>(), to.origin_mut::<u16>());
        // Back and forth: every other sweep begins where the one before it ended.
        let upwards = u32::from(input > output.cast_const());
        let launch = sweep3d::Sweep3dLaunch {
            grid: from.layout().grid_3d(),
            tile: self.tile,
            segment_planes: self.segment_planes,
            stages: self.stages,
            upwards,
        };
        let call = self.kernel.entry.with((input, output, self.fragments.as_ptr(), launch));
        // As the kernel's contract demands: two different planes of one size, in their layout; the operand of
        // this radius; shared memory and threads as it states.
        device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
    }

    /// Of tiles, of their warps, and of segments.
    fn seams(&self) -> Seams {
        let [nz, ny, nx] = self.extents.map(|extent| extent as usize);
        let planes = Seams::none().every(0, self.segment_planes as usize, nz);
        let rows = planes.every(1, self.tile.rows() as usize, ny);
        rows.every(2, self.tile.columns() as usize, nx).every(2, STRIP as usize, nx)
    }
}

/// Small stencils of 3D.
pub struct Sweep3dFamily;

/// The stored types that kernels of 3D multiply.
pub(super) fn element_of_3d(
    asked: &LaunchRequest,
    family: &dyn Family,
) -> Result<Element, Refusal> {
    match asked.element(family)? {
        Element::Tf32 => Err(Refusal::Type("in 3D it multiplies f16 or bf16, not tf32".into())),
        element => Ok(element),
    }
}

impl Family for Sweep3dFamily {
    fn name(&self) -> &'static str {
        "sweep3d"
    }

    fn about(&self) -> &'static str {
        "3D, radius 1 and 2"
    }

    fn unit(&self) -> Unit {
        Unit::SparseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        3..=3
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=7
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<super::FamilyKernel, Refusal> {
        let element = element_of_3d(asked, self)?;
        let window = window3d(asked.fused).map_err(Refusal::no_layout)?;
        let radius = window.radius as u32;
        let reach = if window.is_diamond() { Reach::Diamond } else { Reach::Box };
        let kernel = sweep3d::kernel(&element.to_string(), radius, reach);
        let kernel = kernel.ok_or_else(|| Refusal::no_kernel(self, element))?;
        let (extents, config) = (asked.extents(), Config::tuned(radius));
        let Config { tile, stages, .. } = config.for_grid(extents);
        let prepare = move |device: &dyn Device| {
            Sweep3d::by(device, kernel, &window, element, extents, config)
        };
        Ok(super::FamilyKernel {
            chip: Chip::Sm90,
            shared_bytes: tile.shared_bytes(radius, stages),
            ..super::FamilyKernel::new(kernel.name, prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |dtype| {
            let boxes = [1, 2].map(|radius| Sample::of(dtype, [radius; 3]));
            boxes
                .into_iter()
                .chain([Sample::of(dtype, [2; 3]).diamond(), Sample::of(dtype, [1; 3]).diamond()])
        };
        [Dtype::F16, Dtype::Bf16].into_iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_keep_all_blocks_busy() {
        let segment = |radius, extents, blocks| {
            Config::tuned(radius).for_grid(extents).best_segment(radius, extents, blocks)
        };
        // 172 tiles: 3 segments for each of them are nearly 4 for each place.
        assert_eq!(segment(1, [1024; 3], 132), 342);
        // 96 tiles: 4 segments for each of them are nearly 3 for each place.
        assert_eq!(segment(1, [768; 3], 132), 192);
        assert_eq!(segment(1, [1; 3], 132), 1);
    }

    #[test]
    fn tiles_fit_small_grids() {
        let tile = |extents| {
            let WarpGrid { across, down } = Config::tuned(1).for_grid(extents).tile;
            (across, down)
        };
        assert_eq!(tile([64, 1024, 1024]), (4, 4));
        assert_eq!(tile([64, 64, 100]), (2, 8));
        assert_eq!(tile([64, 9, 64]), (1, 2));
        assert_eq!(tile([1, 1, 1]), (1, 1));
    }
}
