// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of one time step on CUDA cores (`kernels_gpu::plain`).

use super::domain::{domain, push_real, taps};
use super::plane::layout;
use super::{Gpu, Pass, Plane, failed, parameter, upload_words};
use crate::{Boundary, Dtype, Error, Shape};
use cuda_driver::cust::memory::{DeviceBuffer, DeviceMemory};
use cuda_driver::{Extents, launch_overlapping};
use kernels_gpu::boundary::Domain;
use kernels_gpu::layout::{HALO, Layout};
use kernels_gpu::plain::march::{Lines, March};
use kernels_gpu::plain::points::Points;
use kernels_gpu::plain::rows::{CLASSES, Rows};
use kernels_gpu::plain::{THREADS, WARPS, warp_columns};
use std::array;
use std::ffi::c_void;
use transform::Stencil;

/// The most blocks of a launch.
const MOST_BLOCKS: u64 = i32::MAX as u64;

/// Which kernel takes a stencil, and what it is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// `kernels_gpu::plain::march`: 2D with radius 1 to 3, 3D with radius 1.
    March {
        /// The radius.
        radius: usize,
        /// Where warps march.
        lines: Lines,
        /// The dense stencil in C order.
        weights: Vec<f64>,
    },
    /// `kernels_gpu::plain::rows`.
    Rows {
        /// The class of radius along x.
        class: usize,
        /// What the launch is given.
        rows: Rows,
        /// The rows of neighbours.
        table: Vec<u32>,
    },
    /// `kernels_gpu::plain::points`.
    Points {
        /// What the launch is given.
        points: Points<f64>,
        /// The neighbours.
        taps: Vec<u32>,
    },
}

impl Plan {
    /// The fastest kernel that takes the stencil, whose weights the element type can hold: a dense one's
    /// neighbours in registers, a sparse one's from a table, one by one where a radius is larger than
    /// the frame in memory.
    #[must_use]
    pub fn new(stencil: &Stencil, boundary: &Boundary, shape: Shape, dtype: Dtype) -> Self {
        let (radius, dims) = (stencil.radius(), stencil.dims());
        let width = 2 * radius + 1;
        let dense = radius == 1 || 2 * stencil.taps().len() >= width.pow(dims as u32);
        if radius > HALO as usize {
            let domain = domain(stencil, boundary, shape, dtype);
            let count = stencil.taps().len() as u32;
            Self::Points { points: Points { domain, taps: count }, taps: taps(stencil, dtype) }
        } else if dense && matches!((dims, radius), (2, 1..=3) | (3, 1)) {
            Self::march(stencil, shape, dtype)
        } else {
            Self::rows(stencil, shape, dtype)
        }
    }

    /// That of `kernels_gpu::plain::march`.
    #[must_use]
    pub fn march(stencil: &Stencil, shape: Shape, dtype: Dtype) -> Self {
        let radius = stencil.radius().max(1);
        let [nz, ny, nx] = shape.extents().map(|extent| extent as i32);
        let Domain { pitch, plane, .. } = domain(stencil, &Boundary::default(), shape, dtype);
        let (count, length, stride) =
            if stencil.dims() == 3 { (ny, nz, plane) } else { (1, ny, pitch) };
        let across = (nx as u32).div_ceil(warp_columns(dtype.bytes() as u32));
        let segment = segment(i64::from(across) * i64::from(count), length);
        let lines = Lines { nx, count, length, segment, stride, pitch };
        let reach = radius as i32;
        let planes = if stencil.dims() == 3 { -reach..=reach } else { 0..=0 };
        let mut weights = Vec::new();
        for dz in planes {
            for dy in -reach..=reach {
                for dx in -reach..=reach {
                    weights.push(stencil.weight([dz, dy, dx]));
                }
            }
        }
        Self::March { radius, lines, weights }
    }

    /// That of `kernels_gpu::plain::rows`.
    ///
    /// # Panics
    /// With a radius larger than 8.
    #[must_use]
    pub fn rows(stencil: &Stencil, shape: Shape, dtype: Dtype) -> Self {
        let [nz, ny, nx] = shape.extents().map(|extent| extent as i32);
        let Domain { pitch, plane, .. } = domain(stencil, &Boundary::default(), shape, dtype);
        let radius = stencil.radii()[2];
        let class = CLASSES.into_iter().find(|class| *class >= radius).expect("a radius up to 8");
        let mut starts: Vec<[i32; 2]> =
            stencil.taps().iter().map(|tap| [tap.offset[0], tap.offset[1]]).collect();
        starts.dedup();
        let is_narrow = |&[dz, dy]: &[i32; 2]| {
            let mut taps = stencil.taps().iter();
            taps.all(|tap| tap.offset == [dz, dy, 0] || tap.offset[..2] != [dz, dy])
        };
        let (narrow, wide): (Vec<_>, Vec<_>) = starts.into_iter().partition(is_narrow);
        let mut table = Vec::new();
        let reach = class as i32;
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
        let rows = Rows { nx, ny, nz, across, pitch, plane, wide, narrow };
        Self::Rows { class, rows, table }
    }

    /// Whether the kernel reads zeros all around the grid, whatever the boundary.
    #[must_use]
    pub fn needs_frame(&self) -> bool {
        !matches!(self, Self::Points { .. })
    }

    /// The name of the kernel.
    #[must_use]
    pub fn kernel(&self, dtype: Dtype) -> String {
        let dtype = dtype.stored();
        match self {
            Self::March { radius, weights, .. } => {
                let dims = if weights.len() == (2 * radius + 1).pow(2) { 2 } else { 3 };
                format!("march_{dims}d_{dtype}_r{radius}")
            }
            Self::Rows { class, .. } => format!("rows_{dtype}_r{class}"),
            Self::Points { .. } => format!("points_{dtype}"),
        }
    }

    /// Blocks of a launch.
    #[must_use]
    pub fn blocks(&self, dtype: Dtype) -> u64 {
        let columns = warp_columns(dtype.bytes() as u32);
        match self {
            Self::March { lines, .. } => lines.blocks(columns),
            Self::Rows { rows, .. } => rows.blocks(columns),
            Self::Points { points, .. } => points.blocks(),
        }
    }

    fn table(&self) -> &[u32] {
        match self {
            Self::March { .. } => &[],
            Self::Rows { table, .. } => table,
            Self::Points { taps, .. } => taps,
        }
    }
}

/// How many outputs of a line a warp takes, where so many lie side by side: as many as leave each
/// multiprocessor several times what it holds, but not so few that the rows read twice tell.
fn segment(side_by_side: i64, length: i32) -> i32 {
    const WARPS_WANTED: i64 = 132 * 32 * 4;
    let segments = (WARPS_WANTED / side_by_side).clamp(1, i64::from(length)) as i32;
    ((length + segments - 1) / segments).clamp(8, 64)
}

/// Weights as a launch takes them.
#[must_use]
pub fn weights<V, const N: usize>(weights: &[f64], to: impl Fn(f64) -> V) -> [V; N] {
    array::from_fn(|index| to(weights[index]))
}

/// One stencil on one size of grid, ready to be launched.
pub struct Plain {
    plan: Plan,
    layout: Layout,
    dtype: Dtype,
    name: String,
    blocks: u32,
    table: DeviceBuffer<u32>,
}

impl Plain {
    /// Uploads what [`Plan::new`] says.
    ///
    /// # Errors
    /// The grid takes more blocks than a launch has, or the driver refuses.
    pub fn new(
        gpu: &Gpu,
        stencil: &Stencil,
        boundary: &Boundary,
        shape: Shape,
        dtype: Dtype,
    ) -> Result<Self, Error> {
        let plan = Plan::new(stencil, boundary, shape, dtype);
        let blocks = plan.blocks(dtype);
        if blocks > MOST_BLOCKS {
            let reason =
                format!("a grid of {shape} takes {blocks} blocks, of at most {MOST_BLOCKS}");
            return Err(Error::Unsupported { engine: "cuda", reason });
        }
        let name = plan.kernel(dtype);
        gpu.modules.function(&name)?;
        // An empty buffer has no address.
        let table = if plan.table().is_empty() { &[0] } else { plan.table() };
        let table = upload_words(table)?;
        Ok(Self { plan, layout: layout(shape), dtype, name, blocks: blocks as u32, table })
    }

    /// Whether it reads zeros all around the grid, whatever the boundary.
    #[must_use]
    pub fn needs_frame(&self) -> bool {
        self.plan.needs_frame()
    }

    /// Launches with the parameters after input and output.
    fn launch_with(
        &self,
        gpu: &Gpu,
        from: &Plane,
        to: &Plane,
        more: &[*mut c_void],
    ) -> Result<(), Error> {
        let kernel = gpu.modules.function(&self.name)?;
        let (input, output) = (from.origin(), to.origin());
        let mut parameters = vec![parameter(&input), parameter(&output)];
        parameters.extend(more);
        let extents = Extents { blocks: self.blocks, threads: THREADS, shared_bytes: 0 };
        // SAFETY: the kernel waits for the launch before it. As its contract demands: two different
        // planes of one size, in their layout, which the plan was made for; its table, blocks and
        // threads.
        unsafe { launch_overlapping(&kernel, extents, &gpu.stream, &mut parameters) }
            .map_err(failed("launch the step"))
    }

    fn march<const N: usize>(
        &self,
        (gpu, from, to): (&Gpu, &Plane, &Plane),
        lines: Lines,
        of: &[f64],
    ) -> Result<(), Error> {
        if self.dtype == Dtype::F64 {
            let march: March<f64, N> = March { lines, weights: weights(of, |weight| weight) };
            self.launch_with(gpu, from, to, &[parameter(&march)])
        } else {
            let march: March<f32, N> =
                March { lines, weights: weights(of, |weight| weight as f32) };
            self.launch_with(gpu, from, to, &[parameter(&march)])
        }
    }
}

impl Pass for Plain {
    fn launch(&self, gpu: &Gpu, from: &Plane, to: &Plane) -> Result<(), Error> {
        Plane::check_pair(from, to, self.layout, self.dtype.bytes());
        let table = self.table.as_raw_ptr();
        match &self.plan {
            Plan::March { lines, weights, .. } => {
                let planes = (gpu, from, to);
                match weights.len() {
                    9 => self.march::<9>(planes, *lines, weights),
                    25 => self.march::<25>(planes, *lines, weights),
                    27 => self.march::<27>(planes, *lines, weights),
                    _ => self.march::<49>(planes, *lines, weights),
                }
            }
            Plan::Rows { rows, .. } => {
                self.launch_with(gpu, from, to, &[parameter(rows), parameter(&table)])
            }
            Plan::Points { points, .. } => {
                let &Points { domain, taps } = points;
                let single = Points { domain: domain.map(|value| value as f32), taps };
                let launch =
                    if self.dtype == Dtype::F64 { parameter(points) } else { parameter(&single) };
                self.launch_with(gpu, from, to, &[launch, parameter(&table)])
            }
        }
    }
}
