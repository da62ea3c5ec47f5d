// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of a 3D stencil of radius 1 or 2 on sparse tensor cores: storage and products of 16
//! bits, f32 sums. Any weights in the box of (2r + 1)³ neighbours cost the same; at radius 2, less
//! where |dz| + |dy| ≤ 2 ([`Reach::Diamond`]: stars, and two fused steps of a star of radius 1).
//!
//! **Streaming.** A block streams along z. Each plane of its tile, with a halo of r rows and a chunk of
//! columns on either side, is copied once to a stage of the ring. A warp reads its part of the plane
//! once and multiplies it into the sums of all 2r + 1 output planes that it reaches; these stay in
//! registers, and the oldest is complete and stored. Which sums are the oldest is a compile-time
//! constant, because 2r + 1 planes are unrolled.
//!
//! **Product.** As in [`crate::sweep2d`], for each offset along z: M = 2 rows × 8 columns, N = 8
//! chunks, K = 2 rows × 16 columns, `r + 1` products for each offset (`transform::window3d`). All
//! products of a pair of input rows belong to different sums, so they do not wait for each other.
//! The slots that A keeps depend on the columns only, so that all products share the metadata.
//!
//! **Tiles.** A [`WarpGrid`] is `across` × `down` warps, each of 64 columns × [`PAIRS`] row pairs. Blocks
//! take segments with neighbouring tiles first, so that at any time a few whole planes are at work and
//! the halo comes from the L2 cache; DRAM is read once. With tiles of h × w points and radius 1, the
//! multiprocessors read (h + 2) / h · (w + 32) / w points for each output (12 × 256: 1.31; 24 × 256:
//! 1.22), and 2 planes more at the ends of each segment. Shared memory is written as often, and read
//! (p + r) / p times 4 bytes for each output, with p row pairs: at radius 1, 5.3 bytes.
//!
//! **Tensor cores.** (r + 1)(2r + 1) products for 128 outputs: 6 (r = 1) or 15 (r = 2; a diamond: 11).
//! At 8 cycles, 1.75 GHz and 132 multiprocessors that would allow 2,400, 980 and 1,340 G points/s.

mod compute;
mod load;

use crate::half::{Bf16, F16, Half};
use crate::layout::{CHUNK, Grid3d, SHIFT, STRIP};
use crate::ring::{HEADER_BYTES, Ring};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{kernel, shared, thread, warp};

const ELEMENT: u32 = 2;

/// Bytes of a line. Rows of both memories lie alike in their lines: otherwise the copy engine asks the L2
/// cache for every line of a row twice.
const LINE: u32 = 128;

/// Free bytes before the first row of a stage: a row starts a chunk before a line.
const LEAD: u32 = LINE - CHUNK * ELEMENT;

/// The most warps side by side: wider rows would have fewer copies, but higher tiles a smaller halo.
pub const MOST_ACROSS: u32 = 4;

/// Bytes from row to row in shared memory: the columns of the widest tile, and a line that a row's last
/// chunk shares with the next one's first. The halves of chunks that a warp reads at a time lie in
/// different banks, whatever the distance of its two rows.
const ROW_BYTES: u32 = MOST_ACROSS * STRIP * ELEMENT + LINE;

/// Which neighbours may have weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All up to the radius.
    Box,
    /// Those whose distances along z and y add up to at most the radius.
    Diamond,
}

impl Reach {
    /// Whether any output of a row pair has weights in input row pair `step` at an offset along z,
    /// counted from −radius.
    #[inline(always)]
    #[must_use]
    pub const fn meets(self, radius: i32, offset: i32, step: i32) -> bool {
        let across = match self {
            Self::Box => radius,
            Self::Diamond => radius - (offset - radius).abs(),
        };
        let first = 2 * step - radius;
        first <= across + 1 && first + 1 >= -across
    }
}

/// Pairs of rows that a warp sums. So 96 registers are enough at radius 1, and 168 at radius 2: each of
/// a multiprocessor's four partitions takes 5 or 3 warps, producers included.
pub const PAIRS: u32 = 3;

/// The warps of a block, as they divide a tile; producers come on top.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpGrid {
    /// Warps side by side, of 64 columns each; at most [`MOST_ACROSS`].
    pub across: u32,
    /// Warps one below the other, of 2 · [`PAIRS`] rows each.
    pub down: u32,
}

impl WarpGrid {
    /// Warps that sum.
    #[inline(always)]
    #[must_use]
    pub const fn warps(&self) -> u32 {
        self.across * self.down
    }

    /// Threads of a block: those of the warps that sum and of the producers.
    #[must_use]
    pub const fn threads(&self, producers: u32) -> u32 {
        (self.warps() + producers) * warp::SIZE
    }

    /// Columns of outputs.
    #[inline(always)]
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.across * STRIP
    }

    /// Rows of outputs.
    #[inline(always)]
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.down * 2 * PAIRS
    }

    /// Rows of inputs.
    #[inline(always)]
    const fn input_rows(&self, radius: u32) -> u32 {
        self.rows() + 2 * radius
    }

    #[inline(always)]
    const fn stage_bytes(&self, radius: u32) -> u32 {
        LINE + self.input_rows(radius) * ROW_BYTES
    }

    /// Segments of so many planes, along each axis of a grid (z, y, x); each is a block's work.
    #[inline(always)]
    #[must_use]
    pub const fn segments(&self, extents: [u32; 3], planes: u32) -> [u32; 3] {
        let [nz, ny, nx] = extents;
        [nz.div_ceil(planes), ny.div_ceil(self.rows()), nx.div_ceil(self.columns())]
    }

    /// Dynamic shared memory of a block, in bytes; a stage holds a plane of the tile.
    #[must_use]
    pub const fn shared_bytes(&self, radius: u32, stages: u32) -> u32 {
        HEADER_BYTES + stages * self.stage_bytes(radius)
    }
}

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep3dLaunch {
    /// The grid.
    pub grid: Grid3d,
    /// The warps of a block that sum.
    pub tile: WarpGrid,
    /// Output planes of a segment, at least 1.
    pub segment_planes: u32,
    /// Stages of the ring, at most [`crate::ring::MAX_STAGES`].
    pub stages: u32,
    /// Unless it is 0, blocks take segments from the last one on, and go through them from the last plane on.
    pub upwards: u32,
}

/// What a launch is given; both grids are laid out as in [`crate::layout`].
#[derive(Clone, Copy)]
struct Sweep {
    /// Grid point (0, 0, 0) of the input.
    input: *const u16,
    /// Grid point (0, 0, 0) of the output.
    output: *mut u16,
    nx: i32,
    ny: i32,
    nz: i32,
    pitch: i32,
    plane_rows: i32,
    tile: WarpGrid,
    /// Output planes of a segment.
    segment_planes: i32,
    /// Whether blocks take segments from the last one on, and go through them from the last plane on.
    upwards: bool,
}

impl Sweep {
    #[inline(always)]
    const fn new(input: *const u16, output: *mut u16, launch: &Sweep3dLaunch) -> Self {
        let Sweep3dLaunch { grid, tile, segment_planes, upwards, .. } = *launch;
        Self {
            input,
            output,
            nx: grid.nx as i32,
            ny: grid.ny as i32,
            nz: grid.nz as i32,
            pitch: grid.pitch as i32,
            plane_rows: grid.plane_rows as i32,
            tile,
            segment_planes: segment_planes as i32,
            upwards: upwards != 0,
        }
    }
}

/// A part of the grid that one block computes at a time: a tile of some planes.
#[derive(Clone, Copy)]
struct Segment {
    x: i32,
    y: i32,
    z: i32,
    planes: u32,
    /// Strips that hold columns of the grid, from the left.
    strips: u32,
}

impl Sweep {
    /// Blocks take segments in row-major order, (z, y, x), or from the last one on.
    #[inline(always)]
    fn segment(&self, block: u32) -> Segment {
        let extents = [self.nz as u32, self.ny as u32, self.nx as u32];
        let [segments, down, across] = self.tile.segments(extents, self.segment_planes as u32);
        let block = if self.upwards { segments * down * across - 1 - block } else { block };
        let x = (block % across * self.tile.columns()) as i32;
        let y = (block / across % down * self.tile.rows()) as i32;
        let z = (block / (across * down)) as i32 * self.segment_planes;
        let strips = ((self.nx - x) as u32).div_ceil(STRIP);
        let planes = self.nz - z;
        Segment {
            x,
            y,
            z,
            planes: if planes < self.segment_planes { planes } else { self.segment_planes } as u32,
            strips: if strips < self.tile.across { strips } else { self.tile.across },
        }
    }

    /// Distance of a point from the first one, in elements.
    #[inline(always)]
    fn offset(&self, z: i32, y: i32, x: i32) -> isize {
        (z as isize * self.plane_rows as isize + y as isize) * self.pitch as isize + x as isize
    }

    /// The plane `count` planes behind the first of a segment, in the order in which they are taken.
    #[inline(always)]
    fn plane(&self, segment: &Segment, count: i32) -> i32 {
        if self.upwards { segment.z + segment.planes as i32 - 1 - count } else { segment.z + count }
    }
}

impl Segment {
    /// Rounds of `depth` = 2r + 1 planes that hold all input planes. The last round may read planes
    /// of the halo, of which there are enough.
    #[inline(always)]
    fn rounds(&self, depth: u32) -> u32 {
        (self.planes + depth - 1).div_ceil(depth)
    }
}

/// The kernel for one radius: `STEPS` = `RADIUS` + 1, `DEPTH` = 2 `RADIUS` + 1.
#[inline(always)]
unsafe fn sweep<
    E: Half,
    const RADIUS: u32,
    const STEPS: usize,
    const DEPTH: usize,
    const DIAMOND: bool,
>(
    sweep: &Sweep,
    fragments: *const u32,
    stages: u32,
) {
    const { assert!(STEPS == RADIUS as usize + 1, "two rows need RADIUS + 1 row pairs") };
    const { assert!(DEPTH == 2 * RADIUS as usize + 1, "planes that an input reaches") };
    const { assert!(7 + RADIUS + SHIFT <= 15, "the window is two chunks wide") };
    const { assert!(RADIUS <= SHIFT, "the window starts SHIFT columns left") };
    // SAFETY: the launch gives `shared_bytes` of dynamic shared memory.
    let start = unsafe { shared::dynamic() };
    let producers = thread::block_dim_x() / warp::SIZE - sweep.tile.warps();
    let stage_bytes = sweep.tile.stage_bytes(RADIUS);
    let ring = Ring::new(start, start.offset(HEADER_BYTES), stage_bytes, stages);
    // SAFETY: all threads of the block come here, and thread 0 alone sets up the barriers.
    let warp = unsafe {
        if thread::thread_idx_x() == 0 {
            ring.init(producers, sweep.tile.warps());
        }
        thread::sync_threads();
        thread::thread_idx_x() / warp::SIZE
    };
    let segment = sweep.segment(thread::block_idx_x());
    // SAFETY: the launch's pointers are valid for the layout; each role is taken by whole warps.
    unsafe {
        if warp >= sweep.tile.warps() {
            let share = load::Share { producers, index: warp - sweep.tile.warps() };
            load::load::<RADIUS>(sweep, &segment, ring, stages, share);
        } else {
            compute::compute::<E, RADIUS, STEPS, DEPTH, DIAMOND>(
                sweep, &segment, ring, fragments, warp,
            );
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ident, $type:literal, $radius:literal, $reach:ident, $registers:literal;)*) => {
    $(
        #[doc = concat!(
            "One step of radius ", stringify!($radius), ", [`Reach::", stringify!($reach), "`], in ", $type, ":"
        )]
        /// `output` = stencil of `input`.
        ///
        /// # Safety
        /// Launch as many blocks as there are [`WarpGrid::segments`], with [`WarpGrid::threads`] threads for some
        /// producers and [`WarpGrid::shared_bytes`] of dynamic shared memory. `input` and
        /// `output` point at grid point (0, 0, 0) of two different arrays laid out as in
        /// [`crate::layout`].
        /// `fragments` holds, for each offset along z and each of radius + 1 row pairs, 4 words of A
        /// and 1 of metadata for 32 lanes; the metadata are all the same. Launches that go `upwards` in turns
        /// begin with what is still in the L2 cache. The planes of a sum are added in that order.
        #[kernel(registers = $registers)]
        pub unsafe fn $name(
            input: *const u16,
            output: *mut u16,
            fragments: *const u32,
            launch: Sweep3dLaunch,
        ) {
            let given = Sweep::new(input, output, &launch);
            const DIAMOND: bool = matches!(Reach::$reach, Reach::Diamond);
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                sweep::<$element, $radius, { $radius + 1 }, { 2 * $radius + 1 }, DIAMOND>(
                    &given, fragments, launch.stages,
                );
            };
        }
    )*

    /// Every kernel of this family.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const KERNELS: &[Kernel] = &[$(Kernel {
        name: stringify!($name),
        element: $type,
        radius: $radius,
        reach: Reach::$reach,
        registers: $registers,
        entry: Entry::of::<$name>(),
    },)*];
    };
}

// Kernel: element, its name, radius, which neighbours, registers.
kernels! {
    sweep3d_f16_r1: F16, "f16", 1, Box, 96;
    sweep3d_f16_r2: F16, "f16", 2, Box, 168;
    sweep3d_f16_r2_diamond: F16, "f16", 2, Diamond, 168;
    sweep3d_bf16_r1: Bf16, "bf16", 1, Box, 96;
    sweep3d_bf16_r2: Bf16, "bf16", 2, Box, 168;
    sweep3d_bf16_r2_diamond: Bf16, "bf16", 2, Diamond, 168;
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u16, *mut u16, *const u32, Sweep3dLaunch);

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// Radius of the stencil.
    pub radius: u32,
    /// Which neighbours may have weights.
    pub reach: Reach,
    /// Registers that a thread may have.
    pub registers: u32,
    /// What is launched.
    pub entry: Entry<Parameters>,
}

/// The kernel with the fewest products for a stored type, a radius and the neighbours that have
/// weights, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(element: &str, radius: u32, reach: Reach) -> Option<&'static Kernel> {
    let fits = |kernel: &&Kernel| (kernel.element, kernel.radius) == (element, radius);
    let of_reach = |reach| KERNELS.iter().filter(fits).find(|kernel| kernel.reach == reach);
    of_reach(reach).or(of_reach(Reach::Box))
}
