// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches that recompute the points near the boundary (`kernels_gpu::rim`).

use super::domain::{domain, push_real, real_bytes, taps};
use super::{Fields, Pass};
use crate::device::plane::layout;
use crate::device::{Device, Launch, Memory, Plane, Sharing, StartOrder};
use cuda_chip::RESERVED_SHARED_BYTES;
use cuda_driver::{AnyCall, Extents};
use kernels_gpu::boundary::{Axis, Domain, Range};
use kernels_gpu::layout::{CHUNK, Layout};
use kernels_gpu::rim::{self, BOX_WORDS, Box3, ROWS, TABLE_ROWS};
use problem::boundary::Side;
use problem::check::seams::Seams;
use problem::region::Region;
use problem::{Boundary, Dtype, Error, Shape};
use transform::Stencil;

/// Lanes of a warp.
const WARP: u32 = 32;

/// Blocks on a multiprocessor that registers leave room for.
const MOST_RESIDENT: u32 = 4;

/// The least shared memory in which boxes are worth it beside another kernel.
const LEAST_BESIDE: u32 = 24 << 10;

/// What a launch may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBudget {
    /// The most shared memory of a block.
    pub most_bytes: u32,
    /// Where the launch before leaves out the rim's points: the shared memory that it leaves on a
    /// multiprocessor, and registers for one block. Otherwise its end must come before the last stores.
    pub beside: Option<u32>,
}

impl SharedBudget {
    /// After a launch that writes all points.
    #[must_use]
    pub const fn after(most_bytes: u32) -> Self {
        Self { most_bytes, beside: None }
    }

    /// Beside a launch that has so many blocks on each multiprocessor, each with so much shared memory.
    #[must_use]
    pub const fn beside(most_bytes: u32, blocks: u32, bytes: u32) -> Self {
        let taken = blocks * (bytes + RESERVED_SHARED_BYTES);
        Self { most_bytes, beside: Some(most_bytes.saturating_sub(taken)) }
    }

    /// Shared memory of a block and blocks of a multiprocessor: what to try in turn.
    fn blocks(self) -> impl Iterator<Item = (u32, u32)> {
        let beside = self.beside.filter(|&bytes| bytes >= LEAST_BESIDE).map(|bytes| (bytes, 1));
        beside.into_iter().chain([(self.most_bytes, MOST_RESIDENT)])
    }
}

/// The parameters of a launch of a rim kernel.
#[derive(Clone, Debug)]
pub struct RimPlan {
    /// What it computes.
    pub rim: rim::Rim<f64>,
    /// The points that are right without: where the launch before leaves out the others, whole chunks of
    /// columns. One box, but for a part of a larger grid whose ends meet in it.
    pub inner: Vec<Box3>,
    /// The boxes, [`BOX_WORDS`] words each.
    pub boxes: Vec<u32>,
    /// The neighbours, or the columns of a dense stencil.
    pub taps: Vec<u32>,
    /// The kernel, for any stencil or for a dense one.
    pub kernel: &'static rim::Kernel,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
}

/// What surrounds a grid, or a part of a larger one.
#[derive(Clone, Copy, Debug)]
pub struct GridSurroundings<'a> {
    /// What lies around it.
    pub boundary: &'a Boundary,
    /// On each axis (z, y, x) where the ends of the larger grid meet in it, whose points are computed there as near its
    /// sides.
    pub seams: &'a [Vec<usize>; 3],
}

impl<'a> GridSurroundings<'a> {
    /// Of a whole grid.
    #[must_use]
    pub fn whole(boundary: &'a Boundary) -> Self {
        Self { boundary, seams: const { &[const { Vec::new() }; 3] } }
    }
}

impl RimPlan {
    /// Plans all points that a kernel gets wrong which computes `steps` time steps at once as if nothing but zeros lay
    /// around the grid before the first. `None` where there are none.
    ///
    /// # Errors
    /// Why not: the patch of not even one point fits shared memory.
    pub fn new(
        stencil: &Stencil,
        around: GridSurroundings,
        shape: Shape,
        dtype: Dtype,
        steps: usize,
        budget: SharedBudget,
    ) -> Result<Option<Self>, String> {
        let (mut plan, slabs) = Self::uncut(stencil, around, shape, dtype, steps, budget);
        let sides = slabs.len() as f64;
        for slab in slabs {
            let (size, bytes) = (budget.blocks())
                .find_map(|blocks| best_size(&plan, dtype, slab, sides, blocks))
                .ok_or_else(|| does_not_fit(stencil, steps))?;
            plan.shared_bytes = plan.shared_bytes.max(bytes);
            cut(slab, size, &mut plan.boxes);
        }
        Ok((!plan.boxes.is_empty()).then_some(plan))
    }

    /// Whether [`RimPlan::new`] has one, without its boxes: boxes of one point need the least.
    ///
    /// # Errors
    /// As there.
    pub fn check(
        stencil: &Stencil,
        around: GridSurroundings,
        shape: Shape,
        dtype: Dtype,
        steps: usize,
        budget: SharedBudget,
    ) -> Result<(), String> {
        let (Self { rim, .. }, slabs) = Self::uncut(stencil, around, shape, dtype, steps, budget);
        let fits = |slab: &Box3| {
            let patch = largest_reach(&rim, *slab, [1; 3], rim.steps);
            shared_bytes(&rim, dtype, patch, budget.most_bytes).is_some()
        };
        if slabs.iter().all(fits) { Ok(()) } else { Err(does_not_fit(stencil, steps)) }
    }

    /// Without boxes, and the slabs to cut into them.
    fn uncut(
        stencil: &Stencil,
        around: GridSurroundings,
        shape: Shape,
        dtype: Dtype,
        steps: usize,
        budget: SharedBudget,
    ) -> (Self, Vec<Box3>) {
        let domain = domain(stencil, around.boundary, shape, dtype);
        let kernel = kernel(stencil, dtype);
        let (taps, count) = match kernel.dense {
            Some((dims, radius)) => {
                let (planes, width) = (if dims == 3 { 3 } else { 1 }, 2 * radius as u32 + 1);
                (columns(stencil, radius as i32, dtype), rim::dense_taps(planes, width))
            }
            None => (taps(stencil, dtype), stencil.taps().len() as u32),
        };
        let again = budget.beside.is_none();
        let rim = rim::Rim { domain, steps: steps as i32, taps: count, again };
        let (slabs, inner) = slabs(stencil, around, shape, steps, if again { 1 } else { CHUNK });
        (Self { rim, inner, boxes: vec![], taps, kernel, shared_bytes: 0 }, slabs)
    }

    /// The points that are left to the launch before: of one that writes nothing else those boxes, of others a box
    /// around them.
    #[must_use]
    pub fn left(&self) -> Vec<Region> {
        let region = |&Box3 { z, y, x }: &Box3| {
            let ends = [z, y, x].map(|Range { low, high }| [low as isize, high.max(low) as isize]);
            Region { low: ends.map(|[low, _]| low), high: ends.map(|[_, high]| high) }
        };
        let boxes = self.inner.iter().map(region);
        if self.rim.again { boxes.reduce(hull).into_iter().collect() } else { boxes.collect() }
    }

    /// The kernel with its parameters, for a launch from one grid to another with the tables in device
    /// memory.
    #[must_use]
    pub fn call(
        &self,
        input: *const u8,
        output: *mut u8,
        boxes: *const u32,
        taps: *const u32,
    ) -> Box<dyn AnyCall> {
        (self.kernel.call)(input, output, &self.rim, boxes, taps)
    }

    /// The name of the kernel.
    #[must_use]
    pub fn kernel(&self) -> &'static str {
        self.kernel.name
    }

    /// The kernel for a stencil, and whether it takes a dense one without being made for it.
    #[must_use]
    pub fn kernel_for(stencil: &Stencil, dtype: Dtype) -> (&'static rim::Kernel, bool) {
        let kernel = kernel(stencil, dtype);
        (kernel, kernel.dense.is_none() && dense(stencil).is_some_and(|(dims, _)| dims > 1))
    }

    /// Blocks of the launch.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        (self.boxes.len() / BOX_WORDS) as u32
    }
}

/// The kernel for a stencil.
fn kernel(stencil: &Stencil, dtype: Dtype) -> &'static rim::Kernel {
    let element = dtype.stored().to_string();
    let any = || rim::kernel(&element, None).expect("a kernel for every type");
    dense(stencil).and_then(|dense| rim::kernel(&element, Some(dense))).unwrap_or_else(any)
}

fn does_not_fit(stencil: &Stencil, steps: usize) -> String {
    let radius = stencil.radius();
    format!("the points that {steps} steps of radius {radius} need do not fit into shared memory")
}

/// Dimensions and radius of a stencil that is dense enough for a kernel of its own. That kernel reads as
/// far along every axis, and a block has loaded only what the stencil's own radius on each axis reaches,
/// so the radii must be equal.
fn dense(stencil: &Stencil) -> Option<(usize, usize)> {
    let (dims, radius) = (stencil.dims(), stencil.radius());
    let square = stencil.radii()[3 - dims..].iter().all(|&on_axis| on_axis == radius);
    let full = (2 * radius + 1).pow(dims as u32);
    (square && 3 * stencil.taps().len() >= full).then_some((dims, radius))
}

/// The weights of a dense stencil, column by column, with zeros at the end of each.
fn columns(stencil: &Stencil, radius: i32, dtype: Dtype) -> Vec<u32> {
    let planes = if stencil.dims() == 3 { -radius..=radius } else { 0..=0 };
    let length = rim::column_weights(2 * radius as u32 + 1) as i32;
    let mut words = Vec::new();
    for dz in planes {
        for dx in -radius..=radius {
            for dy in -radius..length - radius {
                push_real(&mut words, dtype, stencil.weight([dz, dy, dx]));
            }
        }
    }
    words
}

/// A box around two.
fn hull(a: Region, b: Region) -> Region {
    let low = std::array::from_fn(|axis| a.low[axis].min(b.low[axis]));
    Region { low, high: std::array::from_fn(|axis| a.high[axis].max(b.high[axis])) }
}

/// The points nearer to a side than its steps reach, in boxes that do not meet: those of z, then the
/// rest of those of y, then of x; and what is left, which along x starts and ends with whole chunks.
fn slabs(
    stencil: &Stencil,
    around: GridSurroundings,
    shape: Shape,
    steps: usize,
    chunk: u32,
) -> (Vec<Box3>, Vec<Box3>) {
    let extents = shape.extents().map(|extent| extent as i32);
    let mut inner = vec![extents.map(|high| Range { low: 0, high })];
    let mut slabs = Vec::new();
    for axis in 0..3 {
        let chunk = if axis == 2 { chunk as i32 } else { 1 };
        let (near, far) = along(stencil.radii()[axis], around, axis, extents[axis], steps, chunk);
        let with = |all: &[[Range; 3]], ranges: &[Range]| -> Vec<[Range; 3]> {
            let one = |of: &[Range; 3], range: Range| {
                let mut part = *of;
                part[axis] = range;
                part
            };
            let parts = all.iter().flat_map(|of| ranges.iter().map(move |range| one(of, *range)));
            parts.collect()
        };
        slabs.extend(with(&inner, &near));
        inner = with(&inner, &far);
    }
    let box3 = |[z, y, x]: [Range; 3]| Box3 { z, y, x };
    slabs.retain(|slab| !slab.iter().any(|range| range.is_empty()));
    (slabs.into_iter().map(box3).collect(), inner.into_iter().map(box3).collect())
}

/// What of an axis lies nearer to a side, or to where ends meet, than so many steps reach; and the rest, one range of it
/// at least. The rest begins and ends with whole chunks.
fn along(
    radius: usize,
    around: GridSurroundings,
    axis: usize,
    extent: i32,
    steps: usize,
    chunk: i32,
) -> (Vec<Range>, Vec<Range>) {
    let reach = |steps: usize| radius.saturating_mul(steps).min(extent as usize) as i32;
    let depth = |side: Side| match side {
        Side::Open => 0,
        // Zeros are right before the first step, whoever holds them.
        Side::Zero | Side::Constant(0.0) => reach(steps - 1),
        _ => reach(steps),
    };
    let [low, high] = around.boundary.sides[axis].map(depth);
    let seams =
        around.seams[axis].iter().map(|&at| [at as i32 - reach(steps), at as i32 + reach(steps)]);
    let mut ends: Vec<[i32; 2]> = seams.chain([[0, low], [extent - high, extent]]).collect();
    for [low, high] in &mut ends {
        *low = low.div_euclid(chunk) * chunk;
        *high = -(-*high).div_euclid(chunk) * chunk;
    }
    ends.sort_unstable();
    let (mut near, mut far, mut at) = (Vec::new(), Vec::new(), 0);
    for [low, high] in ends {
        let [low, high] = [low, high].map(|end| end.clamp(at, extent));
        if low > at {
            far.push(Range { low: at, high: low });
        }
        near.push(Range { low, high });
        at = high;
    }
    if far.is_empty() {
        let at = near[0].high;
        far.push(Range { low: at, high: at });
    }
    (near, far)
}

/// The extents of boxes that let so many slabs like this one be done first, and the shared memory of a
/// block.
fn best_size(
    plan: &RimPlan,
    dtype: Dtype,
    slab: Box3,
    slabs: f64,
    (most_bytes, most_resident): (u32, u32),
) -> Option<([i32; 3], u32)> {
    let rim = &plan.rim;
    let rows = if plan.kernel.dense.is_some() { ROWS } else { TABLE_ROWS };
    let sizes = |range: Range| {
        let powers = (0..5).map(|power| 1 << power).chain((32..=256).step_by(32));
        let powers = powers.take_while(move |size| *size < range.len());
        powers.chain((range.len() <= 128).then_some(range.len()))
    };
    let mut best: Option<(f64, [i32; 3], u32)> = None;
    for z in sizes(slab.z) {
        for y in sizes(slab.y) {
            for x in sizes(slab.x) {
                let reach = |left| largest_reach(rim, slab, [z, y, x], left);
                let patch = reach(rim.steps);
                let Some(bytes) = shared_bytes(rim, dtype, patch, most_bytes) else { continue };
                let boxes = slabs * pieces(slab.z.len(), z) * pieces(slab.y.len(), y);
                let boxes = boxes * pieces(slab.x.len(), x);
                let fitting =
                    (most_bytes + RESERVED_SHARED_BYTES) / (bytes + RESERVED_SHARED_BYTES);
                let resident = fitting.min(most_resident);
                let cost = cost(boxes, (0..rim.steps).map(reach), rows, resident);
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, [z, y, x], bytes));
                }
            }
        }
    }
    best.map(|(_, size, bytes)| (size, bytes))
}

/// The most that a box of some size in a slab depends on so many steps before: its extents.
fn largest_reach(rim: &rim::Rim<f64>, slab: Box3, [z, y, x]: [i32; 3], steps: i32) -> [i32; 3] {
    let Domain { z: along_z, y: along_y, x: along_x, .. } = &rim.domain;
    let reach = |axis: &Axis<f64>, range: Range, size: i32| {
        (size + 2 * steps * axis.radius).min(axis.reach(range, steps).len())
    };
    [reach(along_z, slab.z, z), reach(along_y, slab.y, y), reach(along_x, slab.x, x)]
}

fn pieces(whole: i32, size: i32) -> f64 {
    f64::from((whole + size - 1) / size)
}

/// The shared memory of a block, if it has as much.
fn shared_bytes(
    rim: &rim::Rim<f64>,
    dtype: Dtype,
    patch: [i32; 3],
    most_bytes: u32,
) -> Option<u32> {
    let cells = patch.into_iter().map(i64::from).product::<i64>();
    let cells = u32::try_from(cells).ok().filter(|cells| *cells < most_bytes)?;
    let bytes = rim::shared_bytes(real_bytes(dtype), rim.taps, rim.steps, cells);
    (bytes <= most_bytes).then_some(bytes)
}

/// The cycles of a launch: what the instructions of a multiprocessor's boxes take, or what one box after
/// the other takes alone, if that is more. Of each step it is given the extents of what a box computes,
/// of which a thread takes some rows of a column at a time; of a multiprocessor, how many blocks it
/// holds.
///
/// Calibrated with the machine code of the dense kernel of radius 1 and two measurements for 12 steps
/// on an H200: 1,920 boxes of 16 × 11 points took 62 µs, that is 2.6 instructions a cycle; 320 boxes of
/// 128 × 11 points 43 µs, 1.8 instructions of 10 warps.
fn cost(boxes: f64, steps: impl Iterator<Item = [i32; 3]>, rows: usize, resident: u32) -> f64 {
    const MULTIPROCESSORS: f64 = 132.0;
    /// Instructions in a cycle, of a warp and at most.
    const OF_A_WARP: f64 = 0.19;
    const AT_MOST: f64 = 2.6;
    /// Of a warp in each step, and for each round of columns.
    const STEP: f64 = 160.0;
    const ROUND: f64 = 200.0;
    /// Cycles of a round and of the barrier, where nothing hides them.
    const ROUND_ALONE: f64 = 600.0;
    const STEP_ALONE: f64 = 250.0;
    let (mut instructions, mut alone) = (0.0, 0.0);
    for [z, y, x] in steps {
        let columns = f64::from(z) * pieces(y, rows as i32) * f64::from(x);
        let warps = (columns / f64::from(WARP)).ceil();
        instructions += f64::from(rim::WARPS) * STEP + warps * ROUND;
        alone += STEP_ALONE + (warps / f64::from(rim::WARPS)).ceil() * ROUND_ALONE;
    }
    let boxes = (boxes / MULTIPROCESSORS).ceil();
    let resident = f64::from(resident).min(boxes);
    let in_a_cycle = (OF_A_WARP * resident * f64::from(rim::WARPS)).min(AT_MOST);
    (boxes * instructions / in_a_cycle).max((boxes / resident).ceil() * alone)
}

fn cut(slab: Box3, [depth, height, width]: [i32; 3], boxes: &mut Vec<u32>) {
    let starts = |range: Range, size: i32| (range.low..range.high).step_by(size as usize);
    for z in starts(slab.z, depth) {
        for y in starts(slab.y, height) {
            for x in starts(slab.x, width) {
                let end = [
                    (z + depth).min(slab.z.high),
                    (y + height).min(slab.y.high),
                    (x + width).min(slab.x.high),
                ];
                boxes.extend([z, y, x].into_iter().chain(end).map(|at| at as u32));
            }
        }
    }
}

/// The points near the boundary of one size of grid, ready to be launched.
pub struct Rim {
    plan: RimPlan,
    layout: Layout,
    dtype: Dtype,
    boxes: Memory,
    taps: Memory,
}

impl Rim {
    /// Uploads the tables of a plan.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new(
        device: &dyn Device,
        plan: RimPlan,
        shape: Shape,
        dtype: Dtype,
    ) -> Result<Self, Error> {
        let sharing = if plan.rim.again { Sharing::Any } else { Sharing::Beside };
        device.load(plan.kernel.name, sharing)?;
        let boxes = device.constants("boxes", &plan.boxes)?;
        let taps = device.constants("neighbours", &plan.taps)?;
        Ok(Self { plan, layout: layout(shape), dtype, boxes, taps })
    }
}

impl Pass for Rim {
    fn launch(&self, device: &dyn Device, fields: Fields, _: Region) -> Result<(), Error> {
        let Fields { before: from, after: to } = fields;
        Plane::check_pair(from, to, self.layout, self.dtype.bytes());
        let (boxes, taps) = (self.boxes.as_ptr(), self.taps.as_ptr());
        let call = self.plan.call(from.origin(), to.origin_mut(), boxes, taps);
        let (blocks, shared_bytes) = (self.plan.blocks(), self.plan.shared_bytes);
        let extents = Extents { blocks, threads: rim::THREADS, shared_bytes };
        // As the kernel's contract demands: two different planes of one size, in their layout; tables, shared
        // memory and threads as it states. The launch before leaves out its points where it waits for that one
        // only at its end.
        device.launch(&Launch { call: &*call, extents, order: StartOrder::Overlapping })
    }

    /// Around the points that it leaves to others.
    fn seams(&self) -> Seams {
        let boxes =
            self.plan.inner.iter().map(|&Box3 { z, y, x }| [z, y, x].into_iter().enumerate());
        boxes.flatten().fold(Seams::none(), |seams, (axis, range)| {
            let extent = self.layout.extents[axis] as usize;
            let ends = [range.low, range.high].map(|end| end.max(0) as usize);
            ends.into_iter().fold(seams, |seams, end| seams.at(axis, end, extent))
        })
    }
}
