// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of FlashFFTStencil as published (`kernels_gpu::flashfft`).

mod tables;

use super::occupancy::resident;
use super::spread::Spread;
use super::{Family, FamilyKernel, Fields, LaunchRequest, Pass, Refusal, Sample, Unit};
use crate::device::plane::layout;
use crate::device::{Device, Launch, Memory, Plane, StartOrder};
use cuda_driver::{AnyCall, Extents};
use kernels_gpu::flashfft::{SHARED_BYTES, SIDE, THREADS, WARPS, line, plane, space};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Arithmetic, Dtype, Error, Job, Shape};
use std::ops::RangeInclusive;
use transform::spectral::error;
use transform::{Stencil, fuse};

/// The most steps of a launch: sums in 1D reach no farther.
const MOST_STEPS: usize = fuse::MAX_RADIUS_1D;

/// The most pairs of tiles of a launch.
const MOST_PAIRS: u64 = i32::MAX as u64;

/// Products of the hardware for 16 × 16 complex numbers along one axis: three real ones for a complex one, of 8 columns
/// each.
const PRODUCTS: usize = 3 * 2;

/// Cycles of a multiprocessor for one of them: each of its four units takes 64.
const CYCLES: f64 = 16.0;

/// Points that steps reach along each axis (z, y, x) before and behind an output.
type Reach = [[usize; 2]; 3];

/// Sides (z, y, x) of a tile.
fn sides(dims: usize) -> [usize; 3] {
    let side = SIDE as usize;
    [[1, 1, line::POINTS as usize], [1, side, side], [side; 3]][dims - 1]
}

/// What so many steps of a stencil reach.
fn reach(stencil: &Stencil, steps: usize) -> Reach {
    std::array::from_fn(|axis| {
        let offsets = || stencil.taps().iter().map(|tap| tap.offset[axis]);
        let [before, behind] = [offsets().map(|at| -at).max(), offsets().max()];
        [before, behind].map(|far| far.unwrap_or(0).max(0) as usize * steps)
    })
}

/// Outputs along each axis of a tile; none if steps reach too far.
fn outputs(dims: usize, reach: Reach) -> Option<[usize; 3]> {
    let mut outputs = sides(dims);
    for (outputs, reach) in outputs.iter_mut().zip(reach) {
        *outputs = outputs.checked_sub(reach[0] + reach[1]).filter(|left| *left > 0)?;
    }
    Some(outputs)
}

/// How a grid is cut into tiles.
#[derive(Clone, Copy, Debug)]
enum TileCut {
    Line(line::LineTiling),
    Plane(plane::PlaneTiling),
    Space(space::SpaceTiling),
}

impl TileCut {
    /// For a grid whose tiles there are not too many of.
    fn new(shape: Shape, reach: Reach) -> Self {
        let extents @ [_, ny, nx] = shape.extents().map(|extent| extent as u32);
        let reach @ [_, y, x] = reach.map(|ends| ends.map(|end| end as u32));
        let layout = layout(shape);
        let pitches = [layout.pitch(), layout.pitch() * layout.plane_rows()].map(i64::from);
        match shape.dims() {
            1 => Self::Line(line::LineTiling::new(nx, x)),
            2 => Self::Plane(plane::PlaneTiling::new(pitches[0], [ny, nx], [y, x])),
            _ => Self::Space(space::SpaceTiling::new(pitches, extents, reach)),
        }
    }

    /// The kernel's name, and how many registers it states.
    fn kernel(&self) -> (&'static str, Option<u32>) {
        match self {
            Self::Line(_) => (line::kernel().name(), line::kernel().registers()),
            Self::Plane(_) => (plane::kernel().name(), plane::kernel().registers()),
            Self::Space(_) => (space::kernel().name(), space::kernel().registers()),
        }
    }

    /// Points of each transform of a tile that has a matrix of its own.
    fn transforms(&self) -> &'static [usize] {
        match self {
            Self::Line(_) => &[SIDE as usize, line::ROWS as usize],
            Self::Plane(_) | Self::Space(_) => &[SIDE as usize],
        }
    }

    /// Blocks that have something to do, and what each takes.
    fn extents(&self) -> Extents {
        let of_warps = |pairs: u32| Extents {
            blocks: pairs.div_ceil(WARPS),
            threads: THREADS,
            shared_bytes: SHARED_BYTES,
        };
        match self {
            Self::Line(line) => of_warps(line.pairs),
            Self::Plane(plane) => of_warps(plane.pairs),
            Self::Space(space) => Extents {
                blocks: space.pairs,
                threads: space::THREADS,
                shared_bytes: space::SHARED_BYTES,
            },
        }
    }
}

/// So many steps of a stencil on one size of grid, ready to be launched.
struct FlashFft {
    cut: TileCut,
    shape: Shape,
    outputs: [usize; 3],
    matrices: Memory,
    symbols: Memory,
    extents: Extents,
}

impl FlashFft {
    /// Uploads the tables.
    ///
    /// # Errors
    /// The device refuses.
    fn new(
        device: &dyn Device,
        stencil: &Stencil,
        steps: usize,
        shape: Shape,
        outputs: [usize; 3],
    ) -> Result<Self, Error> {
        let cut = TileCut::new(shape, reach(stencil, steps));
        let ((name, registers), most) = (cut.kernel(), cut.extents());
        let places = resident(device, name, registers, most.threads, most.shared_bytes)?;
        let matrices: Vec<u32> =
            cut.transforms().iter().flat_map(|points| tables::matrix(*points)).collect();
        let symbols = tables::symbols(stencil, sides(shape.dims()), steps);
        Ok(Self {
            cut,
            shape,
            outputs,
            matrices: device.constants("matrices", &matrices)?,
            symbols: device.constants("symbol", &symbols)?,
            extents: Extents { blocks: places.min(most.blocks), ..most },
        })
    }

    /// The kernel with its parameters.
    fn call(&self, input: *const f64, output: *mut f64) -> Box<dyn AnyCall> {
        let (matrices, symbols) = (self.matrices.as_ptr(), self.symbols.as_ptr());
        match self.cut {
            TileCut::Line(line) => {
                Box::new(line::kernel().with((input, output, matrices, symbols, line)))
            }
            TileCut::Plane(plane) => {
                Box::new(plane::kernel().with((input, output, matrices, symbols, plane)))
            }
            TileCut::Space(space) => {
                Box::new(space::kernel().with((input, output, matrices, symbols, space)))
            }
        }
    }
}

impl Pass for FlashFft {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, layout(self.shape), size_of::<f64>());
        let call = self.call(from.origin(), to.origin_mut());
        // As the kernels' contracts demand: two different planes of one size, in their layout; the tables of this
        // stencil; threads and shared memory as they state.
        device.launch(&Launch {
            call: &*call,
            extents: self.extents,
            order: StartOrder::Overlapping,
        })
    }

    /// Of tiles and of pairs of them.
    fn seams(&self) -> Seams {
        let extents = self.shape.extents();
        let tiles = (0..3).fold(Seams::none(), |seams, axis| {
            seams.every(axis, self.outputs[axis], extents[axis])
        });
        tiles.every(2, 2 * self.outputs[2], extents[2])
    }
}

/// Steps that reach no farther than a part of a tile, as FlashFFTStencil computes them.
pub struct FlashFftFamily;

impl Family for FlashFftFamily {
    fn name(&self) -> &'static str {
        "flashfft"
    }

    fn about(&self) -> &'static str {
        "f64, steps by Fourier transforms of tiles: FlashFFTStencil as published, to be compared with"
    }

    fn unit(&self) -> Unit {
        Unit::DenseTensorCores
    }

    fn dims(&self) -> RangeInclusive<usize> {
        1..=3
    }

    fn fused(&self) -> RangeInclusive<usize> {
        1..=MOST_STEPS
    }

    fn only_if_asked(&self) -> bool {
        true
    }

    fn arithmetic(&self, dtype: Dtype, fuse: usize) -> Arithmetic {
        Arithmetic { fuse, ..Arithmetic::spectral(dtype) }
    }

    fn spread(&self, job: &Job, fuse: usize) -> Option<Spread> {
        let gain = |steps: usize| match steps {
            0 => 1.0,
            _ => fuse::fuse(&job.stencil, steps).map_or(f64::INFINITY, |fused| fused.gain()),
        };
        let dims = job.stencil.dims();
        let points: usize = sides(dims).iter().product();
        let gains = [job.stencil.gain(), gain(fuse - 1), gain(fuse)];
        // A line is a matrix.
        let relative = error::of_tiles(points, dims.max(2), fuse, gains);
        Some(Spread { relative, gain: gain(fuse) })
    }

    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal> {
        let &LaunchRequest { job, fuse: steps, .. } = asked;
        let (dtype, shape, dims) = (job.dtype, job.shape, job.stencil.dims());
        if dtype != Dtype::F64 {
            return Err(Refusal::Type(format!("{} transforms f64, not {dtype}", self.name())));
        }
        let reach = reach(&job.stencil, steps);
        let Some(outputs) = outputs(dims, reach) else {
            let side = sides(dims)[2];
            let most = reach.iter().map(|ends| ends[0] + ends[1]).max().unwrap_or(0);
            let reason = format!(
                "flashfft has tiles of {side} points along an axis in {dims}D; steps may reach {} to both sides together, and {steps} steps of this stencil reach {most}",
                side - 1
            );
            return Err(Refusal::Fuse(reason));
        };
        let extents = shape.extents();
        let tiles = (0..3).map(|axis| extents[axis].div_ceil(outputs[axis]) as u64);
        // Rounded up to pairs.
        let pairs = tiles.fold(1u64, u64::saturating_mul);
        let too_many = || {
            format!(
                "a grid of {shape} takes up to {pairs} pairs of tiles; at most {MOST_PAIRS} are possible"
            )
        };
        let cut = TileCut::new(Shape::new(&[1, 1, 1][3 - dims..]).expect("a point"), reach);
        let stencil = job.stencil.clone();
        let prepare =
            move |device: &dyn Device| FlashFft::new(device, &stencil, steps, shape, outputs);
        // There and back, along each axis; a line is a matrix.
        let squares = if dims == 3 { SIDE as usize } else { 1 };
        let products = 2 * dims.max(2) * squares * PRODUCTS;
        let of_pair = 2.0 * outputs.iter().product::<usize>() as f64;
        Ok(FamilyKernel {
            shared_bytes: cut.extents().shared_bytes,
            grid: (pairs > MOST_PAIRS).then(too_many),
            // Of 128 outputs, in cycles of tensor cores: how many there are depends on how far steps reach.
            work: products as f64 * CYCLES * 128.0 / of_pair,
            ..FamilyKernel::new(cut.kernel().0, prepare)
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let one = |radii| Sample::of(Dtype::F64, radii);
        vec![
            one([0, 0, 1]).fused(14),
            one([0, 0, 3]).fused(2),
            one([0, 1, 1]).star().fused(2),
            one([0, 1, 2]),
            one([1, 1, 1]).star().fused(2),
            one([1, 2, 1]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    #[test]
    fn tiles_have_outputs_as_far_as_steps_leave_some() {
        let heat = catalogue::find("star1d1r").unwrap();
        assert_eq!(outputs(1, reach(&heat, 14)), Some([1, 1, 212]));
        assert_eq!(outputs(1, reach(&heat, 60)), Some([1, 1, 120]));
        let upwind = Stencil::dense("upwind", &[3], &[0.7, 0.3, 0.0]).unwrap();
        assert_eq!(reach(&upwind, 60), [[0, 0], [0, 0], [60, 0]]);
        assert_eq!(outputs(1, reach(&upwind, 60)), Some([1, 1, 180]));
        let plane = catalogue::find("star2d1r").unwrap();
        assert_eq!(outputs(2, reach(&plane, 7)), Some([1, 2, 2]));
        assert_eq!(outputs(2, reach(&plane, 8)), None);
    }
}
