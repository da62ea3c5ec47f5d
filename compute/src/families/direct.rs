// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of one time step on CUDA cores (`kernels_gpu::direct`).

use super::domain::{dense, domain, is_star, push_real, taps};
use super::{
    Family, FamilyKernel, Fields, HaloSupport, LaunchRequest, Pass, Refusal, Sample, Unit,
};
use crate::device::plane::layout;
use crate::device::{Device, Launch, Memory, Plane, Sharing, StartOrder};
use cuda_driver::{AnyCall, Extents};
use kernels_gpu::boundary::Domain;
use kernels_gpu::direct::points::{self, PointsLaunch};
use kernels_gpu::direct::rows::{self, RowsLaunch};
use kernels_gpu::direct::stream::{self, StreamLines};
use kernels_gpu::direct::tile::{self, BlockOrder};
use kernels_gpu::direct::{THREADS, WARPS, warp_columns};
use kernels_gpu::layout::{HALO, Layout};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Boundary, Dtype, Error, Job, Shape};
use std::ops::RangeInclusive;
use transform::Stencil;

/// The most blocks of a launch.
const MOST_BLOCKS: u64 = i32::MAX as u64;

/// Which kernel takes a stencil, and what it is given.
#[derive(Clone, Debug)]
pub enum Variant {
    /// `kernels_gpu::direct::tile`: 1D, and small radius and few neighbours.
    Tile {
        /// The kernel.
        kernel: &'static tile::Kernel,
        /// What its blocks are.
        tiles: BlockOrder,
        /// The stencil as the kernel takes it.
        weights: Vec<f64>,
    },
    /// `kernels_gpu::direct::stream`: small radius and more neighbours.
    Stream {
        /// The kernel.
        kernel: &'static stream::Kernel,
        /// Where warps run.
        lines: StreamLines,
        /// The stencil as the kernel takes it.
        weights: Vec<f64>,
    },
    /// `kernels_gpu::direct::rows`.
    Rows {
        /// The kernel.
        kernel: &'static rows::Kernel,
        /// What the launch is given.
        rows: RowsLaunch,
        /// The rows of neighbours.
        table: Vec<u32>,
    },
    /// `kernels_gpu::direct::points`.
    Points {
        /// The kernel.
        kernel: &'static points::Kernel,
        /// What the launch is given.
        points: PointsLaunch<f64>,
        /// The neighbours.
        taps: Vec<u32>,
    },
}

impl Variant {
    /// The fastest kernel that takes the stencil, whose weights the element type can hold: of small
    /// radius, as the launch's parameters; others from a table of rows, or one by one where a radius is
    /// larger than the halo in memory.
    #[must_use]
    pub fn new(stencil: &Stencil, boundary: &Boundary, shape: Shape, dtype: Dtype) -> Self {
        if stencil.radius() > HALO as usize {
            let domain = domain(stencil, boundary, shape, dtype);
            let count = stencil.taps().len() as u32;
            let element = dtype.stored().to_string();
            return Self::Points {
                kernel: points::kernel(&element).expect("a kernel for every type"),
                points: PointsLaunch { domain, taps: count },
                taps: taps(stencil, dtype),
            };
        }
        let element = dtype.stored().to_string();
        let (dims, radius) = (stencil.dims(), stencil.radius());
        if let Some(kernel) = tile::kernel(&element, dims, is_star(stencil), radius) {
            return Self::tile(kernel, stencil, shape, dtype);
        }
        match stream::kernel(&element, dims, radius) {
            Some(kernel) => Self::stream(kernel, stencil, shape, dtype),
            None => Self::rows(stencil, shape, dtype),
        }
    }

    /// The variant of a kernel of `kernels_gpu::direct::tile`, which takes the stencil.
    #[must_use]
    pub fn tile(
        kernel: &'static tile::Kernel,
        stencil: &Stencil,
        shape: Shape,
        dtype: Dtype,
    ) -> Self {
        let [nz, ny, nx] = shape.extents().map(|extent| extent as i32);
        let Domain { pitch, plane, .. } = domain(stencil, &Boundary::default(), shape, dtype);
        let [down, deep] = kernel.block;
        let rows = (ny as u32).div_ceil(kernel.rows * down);
        let band = rows.div_ceil(bands(kernel, shape, dtype)) as i32;
        let tiles =
            BlockOrder { nx, ny, nz, down: down as i32, deep: deep as i32, band, pitch, plane };
        Self::Tile { kernel, tiles, weights: dense(stencil, kernel.radius) }
    }

    /// The variant of a kernel of `kernels_gpu::direct::stream`, which takes the stencil.
    #[must_use]
    pub fn stream(
        kernel: &'static stream::Kernel,
        stencil: &Stencil,
        shape: Shape,
        dtype: Dtype,
    ) -> Self {
        let [nz, ny, nx] = shape.extents().map(|extent| extent as i32);
        let Domain { pitch, plane, .. } = domain(stencil, &Boundary::default(), shape, dtype);
        let (count, length, stride) =
            if kernel.dims == 3 { (ny, nz, plane) } else { (1, ny, pitch) };
        let mut lines = StreamLines { nx, count, length, segment: length, stride, pitch };
        let columns = warp_columns(dtype.bytes() as u32);
        lines.segment = segment(lines.side_by_side(columns, kernel.rows), length, kernel.dims);
        Self::Stream { kernel, lines, weights: dense(stencil, kernel.radius) }
    }

    /// The variant of the kernels of `kernels_gpu::direct::rows`.
    ///
    /// # Panics
    /// With a radius larger than 8.
    #[must_use]
    pub fn rows(stencil: &Stencil, shape: Shape, dtype: Dtype) -> Self {
        let [nz, ny, nx] = shape.extents().map(|extent| extent as i32);
        let Domain { pitch, plane, .. } = domain(stencil, &Boundary::default(), shape, dtype);
        let radius = stencil.radii()[2];
        let kernel = rows::kernel(&dtype.stored().to_string(), radius).expect("a radius up to 8");
        let mut starts: Vec<[i32; 2]> =
            stencil.taps().iter().map(|tap| [tap.offset[0], tap.offset[1]]).collect();
        starts.dedup();
        let is_narrow = |&[dz, dy]: &[i32; 2]| {
            let mut taps = stencil.taps().iter();
            taps.all(|tap| tap.offset == [dz, dy, 0] || tap.offset[..2] != [dz, dy])
        };
        let (narrow, wide): (Vec<_>, Vec<_>) = starts.into_iter().partition(is_narrow);
        let mut table = Vec::new();
        let reach = kernel.class as i32;
        for (rows, columns) in [(&wide, -reach..=reach), (&narrow, 0..=0)] {
            for &[dz, dy] in rows {
                let offset = i64::from(dz) * plane + i64::from(dy) * pitch;
                table.extend([offset as u32, (offset >> 32) as u32]);
                for dx in columns.clone() {
                    push_real(&mut table, dtype, stencil.weight([dz, dy, dx]));
                }
            }
        }
        let across = if ny < WARPS as i32 { WARPS as i32 } else { 1 };
        let (wide, narrow) = (wide.len() as u32, narrow.len() as u32);
        let rows = RowsLaunch { nx, ny, nz, across, pitch, plane, wide, narrow };
        Self::Rows { kernel, rows, table }
    }

    /// Whether the kernel reads zeros all around the grid, whatever the boundary.
    #[must_use]
    pub fn needs_rim(&self) -> bool {
        !matches!(self, Self::Points { .. })
    }

    /// The name of the kernel.
    #[must_use]
    pub fn kernel(&self) -> &'static str {
        match self {
            Self::Tile { kernel, .. } => kernel.name,
            Self::Stream { kernel, .. } => kernel.name,
            Self::Rows { kernel, .. } => kernel.entry.name(),
            Self::Points { kernel, .. } => kernel.name,
        }
    }

    /// Neighbours of an output that a table holds, with zeros in between; 0 without a table.
    #[must_use]
    pub fn work(&self) -> usize {
        match self {
            Self::Tile { .. } | Self::Stream { .. } => 0,
            Self::Rows { kernel, rows, .. } => {
                rows.wide as usize * (2 * kernel.class + 1) + rows.narrow as usize
            }
            Self::Points { points, .. } => points.taps as usize,
        }
    }

    /// Blocks of a launch.
    #[must_use]
    pub fn blocks(&self, dtype: Dtype) -> u64 {
        let columns = warp_columns(dtype.bytes() as u32);
        match self {
            Self::Tile { kernel, tiles, .. } => tiles.blocks([columns, kernel.rows, kernel.planes]),
            Self::Stream { kernel, lines, .. } => lines.blocks(columns, kernel.rows),
            Self::Rows { rows, .. } => rows.blocks(columns),
            Self::Points { points, .. } => points.blocks(),
        }
    }

    /// Where the parts of a grid meet that its warps and blocks compute.
    #[must_use]
    pub fn seams(&self, shape: Shape, dtype: Dtype) -> Seams {
        let [nz, ny, nx] = shape.extents();
        let columns = warp_columns(dtype.bytes() as u32) as usize;
        let warps = Seams::none().every(2, columns, nx);
        match self {
            Self::Tile { kernel, tiles, .. } => {
                let [rows, planes] = [kernel.rows, kernel.planes].map(|count| count as usize);
                let [down, deep] = [tiles.down, tiles.deep].map(|warps| warps as usize);
                let band = tiles.band as usize;
                let tiles = warps.every(1, rows, ny).every(1, down * rows, ny);
                tiles.every(1, band * down * rows, ny).every(0, deep * planes, nz)
            }
            Self::Stream { kernel, lines, .. } => {
                let segment = lines.segment as usize;
                if kernel.dims == 3 {
                    warps.every(1, kernel.rows as usize, ny).every(0, segment, nz)
                } else {
                    warps.every(1, segment, ny)
                }
            }
            Self::Rows { rows, .. } => {
                let across = rows.across as usize;
                warps.every(2, across * columns, nx).every(1, WARPS as usize / across, ny)
            }
            Self::Points { .. } => Seams::none().every(2, THREADS as usize, nx),
        }
    }

    fn table(&self) -> &[u32] {
        match self {
            Self::Tile { .. } | Self::Stream { .. } => &[],
            Self::Rows { table, .. } => table,
            Self::Points { taps, .. } => taps,
        }
    }
}

/// In how many bands of rows the blocks of a 3D grid come: what they read and write before they get to the
/// next planes, some of which they read again, should stay in the L2 cache.
fn bands(kernel: &tile::Kernel, shape: Shape, dtype: Dtype) -> u32 {
    const CACHE: u64 = 32 << 20;
    let [_, ny, nx] = shape.extents();
    let planes = kernel.planes * kernel.block[1];
    let planes = 2 * planes as usize + 2 * kernel.radius;
    let bytes = (planes * dtype.bytes()) as u64 * (nx as u64 * ny as u64);
    if kernel.dims < 3 { 1 } else { bytes.div_ceil(CACHE).min(ny as u64) as u32 }
}

/// How many outputs of a line a warp takes, where so many lie side by side: as many as leave each
/// multiprocessor a few times what it holds, but not so few that the rows read twice tell.
fn segment(side_by_side: u64, length: i32, dims: usize) -> i32 {
    let wanted: u64 = if dims == 3 { 132 * 16 * 10 } else { 132 * 28 * 3 };
    let segments = wanted.div_ceil(side_by_side).min(length as u64) as i32;
    ((length + segments - 1) / segments).max(8)
}

impl Variant {
    /// The kernel with its parameters, for a launch from one grid to another with a table in device memory.
    #[must_use]
    pub fn call(&self, input: *const u8, output: *mut u8, table: *const u32) -> Box<dyn AnyCall> {
        match self {
            Self::Tile { kernel, tiles, weights } => (kernel.call)(input, output, *tiles, weights),
            Self::Stream { kernel, lines, weights } => {
                (kernel.call)(input, output, *lines, weights)
            }
            Self::Rows { kernel, rows, .. } => {
                Box::new(kernel.entry.with((input, output, *rows, table)))
            }
            Self::Points { kernel, points, .. } => (kernel.call)(input, output, points, table),
        }
    }
}

/// One stencil on one size of grid, ready to be launched.
pub struct Direct {
    variant: Variant,
    shape: Shape,
    layout: Layout,
    dtype: Dtype,
    blocks: u32,
    table: Memory,
}

impl Direct {
    /// Uploads the table of a variant for this size of grid.
    ///
    /// # Errors
    /// The grid takes more blocks than a launch has, or the device refuses.
    pub fn new(
        device: &dyn Device,
        variant: Variant,
        shape: Shape,
        dtype: Dtype,
    ) -> Result<Self, Error> {
        let blocks = variant.blocks(dtype);
        if blocks > MOST_BLOCKS {
            let reason = format!(
                "a grid of {shape} takes {blocks} blocks; at most {MOST_BLOCKS} are possible"
            );
            return Err(Error::Unsupported { engine: "cuda", reason });
        }
        device.load(variant.kernel(), Sharing::Any)?;
        let table = device.constants("table", variant.table())?;
        Ok(Self { variant, shape, layout: layout(shape), dtype, blocks: blocks as u32, table })
    }

    /// Whether it reads zeros all around the grid, whatever the boundary.
    #[must_use]
    pub fn needs_rim(&self) -> bool {
        self.variant.needs_rim()
    }
}

impl Pass for Direct {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, self.layout, self.dtype.bytes());
        let call = self.variant.call(from.origin(), to.origin_mut(), self.table.as_ptr());
        let extents = Extents { blocks: self.blocks, threads: THREADS, shared_bytes: 0 };
        // As the kernel's contract demands: two different planes of one size, in their layout, which the variant
        // was made for; its table, blocks and threads.
        device.launch(&Launch { call: &*call, extents, order: StartOrder::Overlapping })
    }

    fn seams(&self) -> Seams {
        self.variant.seams(self.shape, self.dtype)
    }
}

/// Any stencil, of any type, on CUDA cores: one time step a launch.
pub struct DirectFamily;

impl Family for DirectFamily {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn about(&self) -> &'static str {
        "Any shape and type on CUDA cores, neighbour by neighbour"
    }

    fn unit(&self) -> Unit {
        Unit::CudaCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        1..=3
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let &Job { ref boundary, shape, dtype, .. } = asked.job;
        let variant = Variant::new(asked.fused, boundary, shape, dtype);
        let (name, work, needs_rim) =
            (variant.kernel(), variant.work() as f64, variant.needs_rim());
        let prepare = move |device: &dyn Device| Direct::new(device, variant.clone(), shape, dtype);
        Ok(FamilyKernel {
            work,
            around: if needs_rim { HaloSupport::FirstZeros } else { HaloSupport::All },
            ..FamilyKernel::new(name, prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |dtype| {
            let boxes = [
                [0, 0, 2],
                [0, 0, 8],
                [0, 1, 1],
                [0, 2, 2],
                [0, 3, 3],
                [1, 1, 1],
                [0, 5, 1],
                [2, 2, 2],
                [0, 4, 3],
                [0, 5, 8],
            ];
            let stars = [[0, 2, 2], [0, 3, 3], [1, 1, 1], [0, 0, 9], [0, 9, 1]];
            let boxes = boxes.map(|radii| Sample::of(dtype, radii));
            boxes.into_iter().chain(stars.map(|radii| Sample::of(dtype, radii).star()))
        };
        Dtype::ALL.iter().copied().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    #[test]
    fn seams_are_those_of_warps_and_segments() {
        let seams = |name: &str, size: &str, dtype| {
            let (stencil, shape) = (catalogue::find(name).unwrap(), size.parse().unwrap());
            let variant = Variant::new(&stencil, &Boundary::default(), shape, dtype);
            (variant.seams(shape, dtype), variant)
        };
        // A warp has 16 bytes of each of 32 lanes.
        for (dtype, columns) in [(Dtype::F16, 256), (Dtype::F32, 128), (Dtype::F64, 64)] {
            for name in ["star2d1r", "box2d3r", "star2d8r"] {
                let (seams, variant) = seams(name, "500x1000", dtype);
                assert_eq!(seams.along(2)[0], columns, "{name}");
                let rows = match variant {
                    Variant::Tile { kernel, .. } => kernel.rows,
                    Variant::Stream { lines, .. } => lines.segment as u32,
                    _ => WARPS,
                };
                assert_eq!(seams.along(1)[0], rows as usize, "{name}");
            }
        }
        let (seams, _) = seams("star3d1r", "50x60x70", Dtype::F64);
        assert!(!seams.along(0).is_empty() && !seams.along(1).is_empty());
        assert_eq!(seams.along(2), [64]);
    }
}
