// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of ConvStencil as published (`kernels_gpu::convstencil`).

mod operand;

use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::plane::layout;
use crate::device::{Device, Launch, Memory, Plane, Sharing, StartOrder};
use cuda_driver::{AnyCall, Entry, Extents};
use kernels_gpu::convstencil::space::{self, Planes, SpaceLaunch};
use kernels_gpu::convstencil::{BlockTile, THREADS, line, plane};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Dtype, Error, Shape};
use std::ops::RangeInclusive;
use transform::Stencil;

/// The largest radius of 1D stencils, and of the others.
const MOST_RADIUS_1D: usize = 4;
const MOST_RADIUS: usize = 3;

/// The most blocks of a launch.
const MOST_BLOCKS: u64 = i32::MAX as u64;

/// Blocks for each multiprocessor below which a grid is cut along z.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;

/// The fewest planes that such a part has.
const FEWEST_PLANES: u32 = 8;

/// The kernel of a stencil.
#[derive(Clone, Copy, Debug)]
enum Variant {
    Line(Entry<line::Parameters>),
    Plane(Entry<plane::Parameters>),
    Space(Entry<space::Parameters>, Planes),
}

impl Variant {
    /// The kernel of a stencil, for some radius.
    fn new(stencil: &Stencil, radius: u32) -> Self {
        let planes = operand::planes(stencil);
        let found = match stencil.dims() {
            1 => line::kernel(radius).map(Self::Line),
            2 => plane::kernel(radius).map(Self::Plane),
            _ => space::kernel(planes, radius).map(|entry| Self::Space(entry, planes)),
        };
        found.expect("a kernel for each radius that the family takes")
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Line(entry) => entry.name(),
            Self::Plane(entry) => entry.name(),
            Self::Space(entry, _) => entry.name(),
        }
    }

    /// What a block computes, in 3D of one plane.
    fn tile(&self, radius: u32) -> BlockTile {
        match self {
            Self::Line(_) => line::tile(radius),
            Self::Plane(_) => plane::tile(radius),
            Self::Space(..) => space::tile(radius),
        }
    }

    fn shared_bytes(&self, radius: u32) -> u32 {
        match self {
            Self::Space(..) => space::shared_bytes(radius),
            _ => self.tile(radius).bytes(),
        }
    }
}

/// Blocks that lie side by side and one below the other.
fn tiles(tile: &BlockTile, shape: Shape) -> [u32; 2] {
    let [_, ny, nx] = shape.extents().map(|extent| extent as u32);
    [ny.div_ceil(tile.rows), nx.div_ceil(tile.columns())]
}

/// Output planes of a block: all, as published, unless that leaves multiprocessors idle.
fn segment(tile: &BlockTile, shape: Shape, multiprocessors: u32) -> u32 {
    let nz = shape.extents()[0] as u32;
    let [down, across] = tiles(tile, shape);
    let wanted =
        (BLOCKS_PER_MULTIPROCESSOR * multiprocessors).div_ceil(down.saturating_mul(across));
    nz.div_ceil(wanted.min(nz.div_ceil(FEWEST_PLANES)).max(1))
}

/// One stencil on one size of grid, ready to be launched.
struct ConvStencil {
    variant: Variant,
    tile: BlockTile,
    shape: Shape,
    /// Output planes of a block, in 3D.
    segment: u32,
    /// Where the neighbours of each plane end among those for CUDA cores, in 3D.
    ends: [u32; 7],
    table: Memory,
    weights: Memory,
    taps: Memory,
    extents: Extents,
}

impl ConvStencil {
    /// Uploads the tables.
    ///
    /// # Errors
    /// The device refuses.
    fn new(
        device: &dyn Device,
        variant: Variant,
        stencil: &Stencil,
        radius: u32,
        shape: Shape,
    ) -> Result<Self, Error> {
        device.load(variant.name(), Sharing::Any)?;
        let tile = variant.tile(radius);
        let (planes, dz) = match variant {
            Variant::Space(_, planes) => (planes, operand::planes_of_products(planes, radius)),
            _ => (Planes::Products, vec![0]),
        };
        let (taps, ends) = operand::taps(stencil, planes, radius);
        let segment = segment(&tile, shape, device.multiprocessors());
        let [down, across] = tiles(&tile, shape);
        let blocks = (shape.extents()[0] as u32).div_ceil(segment) * down * across;
        let shared_bytes = variant.shared_bytes(radius);
        Ok(Self {
            variant,
            tile,
            shape,
            segment,
            ends,
            table: device.constants("lookup table", &operand::lookup(&tile))?,
            weights: device.constants("weights", &operand::weights(stencil, radius, &dz))?,
            taps: device.constants("neighbours", &taps)?,
            extents: Extents { blocks, threads: THREADS, shared_bytes },
        })
    }

    /// The kernel with its parameters.
    fn call(&self, input: *const u8, output: *mut u8) -> Box<dyn AnyCall> {
        let (table, weights) = (self.table.as_ptr(), self.weights.as_ptr());
        let layout = layout(self.shape);
        let ([_, ny, nx], pitch) = (layout.extents, layout.pitch());
        match &self.variant {
            Variant::Line(entry) => Box::new(entry.with((input, output, table, weights, nx))),
            Variant::Plane(entry) => {
                Box::new(entry.with((input, output, table, weights, nx, ny, pitch)))
            }
            Variant::Space(entry, _) => {
                let launch = SpaceLaunch {
                    extents: layout.extents,
                    pitch,
                    plane_rows: layout.plane_rows(),
                    segment: self.segment,
                    ends: self.ends,
                };
                let taps = self.taps.as_ptr();
                Box::new(entry.with((input, output, table, weights, taps, launch)))
            }
        }
    }
}

impl Pass for ConvStencil {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, layout(self.shape), size_of::<f64>());
        let call = self.call(from.origin(), to.origin_mut());
        // As the kernels' contracts demand: two different planes of one size, in their layout; the tables of this
        // stencil; a block for each tile and segment, with its shared memory.
        device.launch(&Launch {
            call: &*call,
            extents: self.extents,
            order: StartOrder::Overlapping,
        })
    }

    /// Of products and of blocks.
    fn seams(&self) -> Seams {
        let [nz, ny, nx] = self.shape.extents();
        let product = self.tile.columns() / (self.tile.groups / 8);
        let columns = [product, self.tile.columns()].map(|columns| columns as usize);
        let seams = columns.into_iter().fold(Seams::none(), |seams, size| seams.every(2, size, nx));
        seams.every(1, self.tile.rows as usize, ny).every(0, self.segment as usize, nz)
    }
}

/// Stencils of small radius, as ConvStencil computes them.
pub struct ConvStencilFamily;

impl Family for ConvStencilFamily {
    fn name(&self) -> &'static str {
        "convstencil"
    }

    fn about(&self) -> &'static str {
        "radius up to 3 (1D: 4), f64: ConvStencil as published, to be compared with"
    }

    fn unit(&self) -> Unit {
        Unit::DenseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        1..=3
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=MOST_RADIUS_1D
    }

    fn only_if_asked(&self) -> bool {
        true
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let (dtype, shape) = (asked.job.dtype, asked.job.shape);
        if dtype != Dtype::F64 {
            return Err(Refusal::Type(format!("{} multiplies f64, not {dtype}", self.name())));
        }
        let (dims, radius) = (asked.fused.dims(), asked.fused.radius());
        let most = if dims == 1 { MOST_RADIUS_1D } else { MOST_RADIUS };
        if radius > most {
            let name = self.name();
            let whose = match asked.fuse {
                1 => "this stencil has".to_owned(),
                steps => format!("{steps} fused steps of this stencil have"),
            };
            return Err(Refusal::Stencil(format!(
                "{name} takes weights up to {most} points away in {dims}D; {whose} some {radius} away"
            )));
        }
        let radius = radius.max(1) as u32;
        let variant = Variant::new(asked.fused, radius);
        let tile = variant.tile(radius);
        let nz = shape.extents()[0] as u64;
        let blocks = tiles(&tile, shape).map(u64::from).iter().product::<u64>()
            * nz.div_ceil(u64::from(FEWEST_PLANES));
        let too_many = format!(
            "a grid of {shape} takes up to {blocks} blocks; at most {MOST_BLOCKS} are possible"
        );
        let stencil = asked.fused.clone();
        let prepare =
            move |device: &dyn Device| ConvStencil::new(device, variant, &stencil, radius, shape);
        Ok(FamilyKernel {
            shared_bytes: variant.shared_bytes(radius),
            grid: (blocks > MOST_BLOCKS).then_some(too_many),
            ..FamilyKernel::new(variant.name(), prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let one = |radii| Sample::of(Dtype::F64, radii);
        vec![
            one([0, 0, 1]),
            one([0, 0, 2]),
            one([0, 0, 3]),
            one([0, 0, 4]),
            one([0, 0, 1]).fused(3),
            one([0, 0, 2]).fused(2),
            one([0, 1, 1]),
            one([0, 2, 2]),
            one([0, 3, 3]).star(),
            one([0, 1, 3]),
            one([0, 1, 1]).fused(3),
            one([1, 1, 1]),
            one([2, 2, 2]),
            one([1, 2, 3]),
            one([1, 1, 1]).mirrored(&[0]),
            one([2, 2, 2]).mirrored(&[0]),
            one([1, 3, 3]).mirrored(&[0]),
            one([1, 1, 1]).star(),
            one([2, 2, 2]).star(),
            one([1, 1, 1]).star().fused(3),
        ]
    }
}
