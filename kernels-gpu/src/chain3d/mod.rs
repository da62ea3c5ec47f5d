// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 3D star of radius 1 in one pass over memory, on sparse tensor cores: storage
//! and products of 16 bits, f32 sums, rounded after each step as if it had been stored. Zeros around
//! the grid are exact at every step.
//!
//! **Streaming.** A block streams along z. In each round it takes one more input plane of its tile and
//! computes a plane of every step, each two planes behind the step before. Between rounds, a warp keeps
//! three planes of the input of every step in registers; it needs no more of other warps than the points
//! next to its own, of the plane in the middle, which they leave in shared memory two rounds before.
//!
//! **Product.** Two for 128 outputs of a step: the plane in the middle with what lies next to it, then
//! the planes before and behind (`transform::star3d`). A warp has some units of 4 rows × 8 tiles of 4
//! columns, one below the other. What it computes is, transposed, the operand of the next step as it
//! lies; columns of the neighbouring tiles come from other lanes, or at the ends from other warps.
//!
//! **Tiles.** A [`WarpGrid`] is `across` × `down` warps. All steps compute all of it, and after each of them
//! one more row and column at its sides are wrong, unless they are sides of the grid. So tiles
//! overlap by 2 · (steps − 1) rows, and by 16 columns, because copies start at whole chunks.

mod compute;
mod load;

use crate::fault::{Fault, planted};
use crate::half::{Bf16, F16, Half};
use crate::layout::{CHUNK, Grid3d};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{barrier, copy, kernel, shared, thread, warp};

const ELEMENT: u32 = 2;

/// Bytes for barriers, of every stage and of even and odd rounds, and for the bytes of a plane.
const HEADER_BYTES: u32 = ((load::STAGES + 2) * barrier::BYTES + 8).next_multiple_of(128);

/// Rows and columns of a unit.
const UNIT_ROWS: u32 = 4;
const UNIT_COLUMNS: u32 = 32;

/// The most warps side by side.
pub const MOST_ACROSS: u32 = 4;

/// The most warps one below the other.
pub const MOST_DOWN: u32 = 3;

/// The most steps of a launch.
pub const MOST_STEPS: u32 = 4;

/// Bytes from row to row of a stage: the columns of the widest tile and a chunk on either side. 8 words
/// more than a multiple of 16, so that loads of two rows that are two apart meet in no bank.
const ROW_BYTES: u32 = (MOST_ACROSS * UNIT_COLUMNS + 2 * CHUNK) * ELEMENT;

/// The warps of a block, as they divide a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpGrid {
    /// Warps side by side; at most [`MOST_ACROSS`].
    pub across: u32,
    /// Warps one below the other; at most [`MOST_DOWN`].
    pub down: u32,
    /// Units of a warp, of 4 rows each: the kernel's.
    pub units: u32,
}

impl WarpGrid {
    /// Warps of a block.
    #[inline(always)]
    #[must_use]
    pub const fn warps(&self) -> u32 {
        self.across * self.down
    }

    /// Threads of a block.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.warps() * warp::SIZE
    }

    /// Rows of a warp.
    #[inline(always)]
    const fn warp_rows(&self) -> u32 {
        self.units * UNIT_ROWS
    }

    /// Columns that are computed.
    #[inline(always)]
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.across * UNIT_COLUMNS
    }

    /// Rows that are computed.
    #[inline(always)]
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.down * self.warp_rows()
    }

    /// Rows of inputs.
    #[inline(always)]
    const fn input_rows(&self) -> u32 {
        self.rows() + 2
    }

    /// Words and rows of an input plane: the box of the tensor map.
    #[must_use]
    pub const fn input_box(&self) -> [u32; 2] {
        [ROW_BYTES / 4, self.input_rows()]
    }

    #[inline(always)]
    const fn box_bytes(&self) -> u32 {
        self.input_rows() * ROW_BYTES
    }

    /// The number of tiles along y and x.
    #[inline(always)]
    #[must_use]
    pub const fn tiles(&self, steps: u32, ny: u32, nx: u32) -> [u32; 2] {
        [
            Span::count(self.rows(), lost_rows(steps), ny),
            Span::count(self.columns(), lost_columns(steps), nx),
        ]
    }

    /// Blocks of a launch on a grid (z, y, x): so many tiles are streamed through as a whole, the others
    /// in segments of so many planes.
    #[must_use]
    pub const fn blocks(&self, steps: u32, [nz, ny, nx]: [u32; 3], whole: u32, planes: u32) -> u32 {
        let [down, across] = self.tiles(steps, ny, nx);
        whole + (down * across - whole) * nz.div_ceil(planes)
    }

    /// Dynamic shared memory of a block, in bytes.
    #[must_use]
    pub const fn shared_bytes(&self, steps: u32) -> u32 {
        stages_start(self.units, steps) + load::STAGES * stage_bytes(self.units)
    }
}

/// Bytes that a warp leaves those above and below: a word of each lane.
const EDGE_BYTES: u32 = warp::SIZE * 4;

/// Bytes that a warp leaves those beside it: of 4 lanes a word of each of at most 4 units.
const SIDE_BYTES: u32 = 4 * 16;

/// Bytes of a plane of a step that warps leave those beside them.
const SIDES_BYTES: u32 = (MOST_ACROSS + 2) * MOST_DOWN * SIDE_BYTES;

/// Bytes for what warps leave each other of one plane of a step. Constant, whatever the tile, so that
/// the addresses of a round are, too.
const EXCHANGE_BYTES: u32 = SIDES_BYTES + (MOST_DOWN + 2) * MOST_ACROSS * EDGE_BYTES;

/// Bytes from stage to stage, which are enough for every tile.
const fn stage_bytes(units: u32) -> u32 {
    let largest = WarpGrid { across: MOST_ACROSS, down: MOST_DOWN, units };
    largest.box_bytes().next_multiple_of(128)
}

/// Where the stages start: behind the barriers and four planes of all steps but the last.
#[inline(always)]
const fn stages_start(units: u32, steps: u32) -> u32 {
    assert!(units <= 4, "a side has a word of each of 4 units");
    (HEADER_BYTES + 4 * (steps - 1) * EXCHANGE_BYTES).next_multiple_of(128)
}

/// Rows on either side of a tile that are wrong in the end.
#[inline(always)]
#[must_use]
pub const fn lost_rows(steps: u32) -> u32 {
    steps - 1
}

/// Columns on either side of a tile that are not stored.
#[inline(always)]
#[must_use]
pub const fn lost_columns(steps: u32) -> u32 {
    if steps > 1 { CHUNK } else { 0 }
}

/// A tile along one axis: what it computes starts at `start`, and it stores from `low` to `high`.
#[derive(Clone, Copy)]
struct Span {
    start: i32,
    low: i32,
    high: i32,
}

impl Span {
    /// How many tiles that lose so much on either side cover an axis, at whose ends nothing is lost.
    #[inline(always)]
    const fn count(size: u32, lost: u32, extent: u32) -> u32 {
        if extent <= size { 1 } else { 1 + (extent - size).div_ceil(size - 2 * lost) }
    }

    #[inline(always)]
    const fn new(size: u32, lost: u32, extent: i32, index: u32) -> Self {
        let start = (index * (size - 2 * lost)) as i32;
        let end = start + size as i32;
        Self {
            start,
            low: if index == 0 { 0 } else { start + lost as i32 },
            high: if end >= extent { extent } else { end - lost as i32 },
        }
    }
}

impl Span {
    /// Ends with the axis, or as few places behind it as a start at a multiple of `grain` allows.
    #[inline(always)]
    const fn before(self, size: u32, extent: i32, grain: u32) -> Self {
        let last = extent - size as i32;
        let last = if last < 0 { 0 } else { (last as u32).next_multiple_of(grain) as i32 };
        Self { start: if self.start < last { self.start } else { last }, ..self }
    }
}

/// What a launch is given; both grids are laid out as in [`crate::layout`].
#[derive(Clone, Copy)]
struct Sweep {
    /// Tensor map of the input.
    input: *const u8,
    /// Grid point (0, 0, 0) of the output.
    output: *mut u16,
    nx: i32,
    ny: i32,
    nz: i32,
    pitch: i32,
    plane_rows: i32,
    tile: WarpGrid,
    steps: u32,
    /// Tiles that are streamed through as a whole.
    whole: u32,
    /// Output planes of a segment through the others.
    segment_planes: i32,
}

/// A part of the grid that one block computes: a tile of some planes.
#[derive(Clone, Copy)]
struct Segment {
    x: Span,
    y: Span,
    /// First output plane.
    z: i32,
    /// Output planes.
    planes: u32,
}

impl Sweep {
    /// Blocks take the first tiles through the whole grid, the others in segments of some planes, in
    /// row-major order, (z, y, x).
    #[inline(always)]
    fn segment(&self, block: u32) -> Segment {
        let Self { tile, steps, nx, ny, whole, .. } = *self;
        let [down, across] = tile.tiles(steps, ny as u32, nx as u32);
        let (index, z, most) = if block < whole {
            (block, 0, self.nz)
        } else {
            let (rest, others) = (block - whole, across * down - whole);
            let z = (rest / others) as i32 * self.segment_planes;
            (whole + rest % others, z, self.segment_planes)
        };
        let planes = self.nz - z;
        Segment {
            x: Span::new(tile.columns(), lost_columns(steps), nx, index % across).before(
                tile.columns(),
                nx,
                CHUNK,
            ),
            y: Span::new(tile.rows(), lost_rows(steps), ny, index / across).before(
                tile.rows(),
                ny,
                1,
            ),
            z,
            planes: if planes < most { planes } else { most } as u32,
        }
    }

    /// Distance of a point from the first one, in elements.
    #[inline(always)]
    fn offset(&self, z: i32, y: i32, x: i32) -> isize {
        (z as isize * self.plane_rows as isize + y as isize) * self.pitch as isize + x as isize
    }
}

/// The kernel for so many steps.
///
/// # Safety
/// As the kernels' contract says.
#[inline(always)]
unsafe fn chain<E: Half, const STEPS: usize, const UNITS: usize>(
    sweep: &Sweep,
    fragments: *const u32,
) {
    const { assert!(STEPS as u32 <= MOST_STEPS, "steps are unrolled by hand") };
    let Sweep { tile, steps, .. } = *sweep;
    // SAFETY: the launch gives `shared_bytes` of dynamic shared memory; every thread of the block
    // comes here, and thread 0 alone sets up the barriers.
    unsafe {
        let start = shared::dynamic();
        let thread = thread::thread_idx_x();
        let start_of_stages = stages_start(UNITS as u32, steps);
        let data = start.offset(start_of_stages);
        let stages = load::Stages::new(data, start, stage_bytes(UNITS as u32));
        let ended = start.offset(load::STAGES * barrier::BYTES);
        let plane_bytes = ended.offset(2 * barrier::BYTES);
        if thread == 0 {
            stages.init();
            barrier::init(ended, tile.threads());
            barrier::init(ended.offset(barrier::BYTES), tile.threads());
            barrier::fence_init();
            let bytes = u64::from(ELEMENT) * sweep.plane_rows as u64 * sweep.pitch as u64;
            shared::store_v2(plane_bytes, [bytes as u32, (bytes >> 32) as u32]);
        }
        let segment = sweep.segment(thread::block_idx_x());
        // Nobody writes what warps at the sides of the tile read of warps outside, nor the stages that a
        // segment of few planes does not need and reads nonetheless.
        let few = segment.planes < load::STAGES;
        let end = if few { tile.shared_bytes(steps) } else { start_of_stages };
        let mut at = HEADER_BYTES + 16 * thread;
        while at < end {
            shared::store_v4(start.offset(at), [0; 4]);
            at += 16 * tile.threads();
        }
        if !planted(Fault::NoFenceOfZeros) {
            copy::fence_shared();
        }
        thread::sync_threads();
        // The compiler learns that it is the same in all lanes.
        let warp = warp::shuffle(thread / warp::SIZE, 0);
        let exchange = start.offset(HEADER_BYTES);
        compute::compute::<E, STEPS, UNITS>(
            sweep,
            &segment,
            stages,
            ended,
            plane_bytes,
            exchange,
            fragments,
            warp,
        );
    }
}

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain3dLaunch {
    /// The grid.
    pub grid: Grid3d,
    /// Warps of a tile side by side.
    pub across: u32,
    /// Warps of a tile one below the other.
    pub down: u32,
    /// So many tiles, of which there are as many, are streamed through as a whole, the others in segments.
    pub whole: u32,
    /// Output planes of a segment, at least 1.
    pub segment_planes: u32,
}

macro_rules! kernels {
    ($($name:ident: $element:ident, $type:literal, $steps:literal, $units:literal, $registers:literal;)*) => {
    $(
        #[doc = concat!(stringify!($steps), " steps in ", $type, ":")]
        /// `output` = star of … of star of `input` on a grid of at least [`WarpGrid::rows`] rows.
        ///
        /// # Safety
        /// Launch [`WarpGrid::blocks`], with [`WarpGrid::threads`]
        /// threads and [`WarpGrid::shared_bytes`] of dynamic shared memory for a tile of the launch's
        /// warps. `output` points at grid point
        /// (0, 0, 0) of an array laid out as in [`crate::layout`], `input` at a tensor map of another one, whose elements
        /// are words of two columns, from grid point (0, 0, 0) on: half the columns (rounded up) in words, the rows of
        /// all planes, and boxes of [`WarpGrid::input_box`]. `fragments` holds, for each of two products, 4 words
        /// of A and 1 of metadata for 32 lanes, then the same for operands with their halves exchanged;
        /// the metadata of both products are the same.
        #[kernel(registers = $registers)]
        pub unsafe fn $name(
            input: *const u8,
            output: *mut u16,
            fragments: *const u32,
            launch: Chain3dLaunch,
        ) {
            let Chain3dLaunch { grid, across, down, whole, segment_planes } = launch;
            let given = Sweep {
                input,
                output,
                nx: grid.nx as i32,
                ny: grid.ny as i32,
                nz: grid.nz as i32,
                pitch: grid.pitch as i32,
                plane_rows: grid.plane_rows as i32,
                tile: WarpGrid { across, down, units: $units },
                steps: $steps,
                whole,
                segment_planes: segment_planes as i32,
            };
            // SAFETY: the launch is as this function's contract says.
            unsafe { chain::<$element, $steps, $units>(&given, fragments) };
        }
    )*

    /// Every kernel of this family.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const KERNELS: &[Kernel] = &[$(Kernel {
        name: stringify!($name),
        element: $type,
        steps: $steps,
        units: $units,
        registers: $registers,
        entry: Entry::of::<$name>(),
    },)*];
    };
}

// Kernel: element, its name, steps, units of a warp, registers.
kernels! {
    chain3d_f16_c3: F16, "f16", 3, 3, 168;
    chain3d_bf16_c3: Bf16, "bf16", 3, 3, 168;
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u16, *const u32, Chain3dLaunch);

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// Time steps of a launch.
    pub steps: u32,
    /// Units of a warp.
    pub units: u32,
    /// Registers that a thread may have.
    pub registers: u32,
    /// What is launched.
    pub entry: Entry<Parameters>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Kernel {
    /// The least rows of a grid: those of a warp.
    #[must_use]
    pub const fn least_rows(&self) -> u32 {
        self.units * UNIT_ROWS
    }
}

/// The kernel for a stored type and so many steps, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(element: &str, steps: u32) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| (kernel.element, kernel.steps) == (element, steps))
}
