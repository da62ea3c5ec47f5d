// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencils of small radius: a thread computes 16 bytes of a few rows and planes.
//!
//! It loads all that these depend on at once, adds, stores and ends. Blocks run in the order of memory, so
//! what a row is loaded for again is in a cache. Threads that run along an axis load every row once, but
//! touch rows all over the grid at a time, and are slower (`docs/decisions/0014-tiles.md`). Weights are
//! parameters of the launch, which multiply-adds take without a load.
//!
//! Along y a thread computes `ROWS` outputs and reads `LINES` rows, along z `PLANES` and `DEPTH`: 2r more.
//! Row `line` adds to output `output` with the weights of `dy` = `line` - `output`, if there are any. Of
//! radius 1, `ROWS` = 2:
//!
//! ```text
//! line      0      1      2      3
//! output 0  dy = 0 dy = 1 dy = 2
//! output 1         dy = 0 dy = 1 dy = 2
//! ```

use super::{Row, Sides, WARPS, WORDS, add, elements, reach, side_words, store, weights};
use crate::element::{Bf16, Element, F16, F32, F64, Real, load_words};
use crate::layout::HALO;
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{AnyCall, Entry};
use cuda_std::{kernel, thread, warp};

/// What a launch computes. `V` is the type of sums, `N` the number of weights.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct TiledLaunch<V, const N: usize> {
    /// Where it does so.
    pub tiles: BlockOrder,
    /// The stencil and the zeros that make it dense, in C order.
    pub weights: [V; N],
}

/// A grid, and the order of its blocks: along x, down so many, along z, and then the next so many.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct BlockOrder {
    /// Columns of the grid.
    pub nx: i32,
    /// Rows of a plane.
    pub ny: i32,
    /// Planes.
    pub nz: i32,
    /// Warps of a block one below the other.
    pub down: i32,
    /// Warps of a block one behind the other; the others are side by side.
    pub deep: i32,
    /// Blocks one below the other that come before those of the next planes.
    pub band: i32,
    /// Elements from one row to the next.
    pub pitch: i64,
    /// Elements from one plane to the next.
    pub plane: i64,
}

/// The first point of a warp.
struct Place {
    x: i32,
    y: i32,
    z: i32,
}

impl BlockOrder {
    /// Blocks along x, down and along z, for warps of so many columns, rows and planes.
    #[inline(always)]
    const fn blocks_along(&self, [columns, rows, planes]: [u32; 3]) -> [u32; 3] {
        let (down, deep) = (self.down as u32, self.deep as u32);
        [
            (self.nx as u32).div_ceil(columns * (WARPS / (down * deep))),
            (self.ny as u32).div_ceil(rows * down),
            (self.nz as u32).div_ceil(planes * deep),
        ]
    }

    /// Blocks of a launch, for warps of so many columns, rows and planes. The last band may have blocks
    /// below the grid.
    #[must_use]
    pub const fn blocks(&self, warp: [u32; 3]) -> u64 {
        let [across, down, deep] = self.blocks_along(warp);
        across as u64 * down.next_multiple_of(self.band as u32) as u64 * deep as u64
    }

    #[inline(always)]
    fn place(&self, block: u32, warp: u32, size: [u32; 3]) -> Place {
        let [across, _, deep] = self.blocks_along(size);
        let band = self.band as u32;
        let (x, rest) = (block % across, block / across);
        let (y, rest) = (rest % band, rest / band);
        let (z, y) = (rest % deep, rest / deep * band + y);
        let (down, deep) = (self.down as u32, self.deep as u32);
        let across = WARPS / (down * deep);
        Place {
            x: ((x * across + warp / down / deep) * size[0]) as i32,
            y: ((y * down + warp % down) * size[1]) as i32,
            z: ((z * deep + warp / down % deep) * size[2]) as i32,
        }
    }
}

/// The kernel for stencils of width `WIDTH`, for warps of `ROWS` rows of `PLANES` planes, which depend
/// on `LINES` rows of `DEPTH` planes. `SIDE` words beside its own and `VECTOR` elements of its own are
/// what a thread has of a row.
#[inline(always)]
#[track_caller]
unsafe fn tile<
    E: Element,
    const STAR: bool,
    const WIDTH: usize,
    const ROWS: usize,
    const LINES: usize,
    const PLANES: usize,
    const DEPTH: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &TiledLaunch<E::Real, N>,
) {
    const { assert!(VECTOR == elements(WORDS, E::BYTES), "a thread has 16 bytes") };
    const { assert!(SIDE * 4 >= WIDTH / 2 * E::BYTES as usize, "the sides hold the radius") };
    const { assert!((ROWS + LINES) / 2 <= HALO as usize + 1, "rows below lie in the halo") };
    const { assert!((PLANES + DEPTH) / 2 <= HALO as usize + 1, "planes behind lie in the halo") };
    let tiles = &launch.tiles;
    // SAFETY: the launch is as the kernel's contract says; rows and columns up to the radius outside,
    // and those of a tile that reaches out of the grid, lie in the halo.
    unsafe {
        let warp = thread::thread_idx_x() / warp::SIZE;
        let size = [warp::SIZE * VECTOR as u32, ROWS as u32, PLANES as u32];
        let block = thread::block_idx_x();
        let Place { x, y, z } = if LINES == 1 && DEPTH == 1 {
            // Without divisions, which take longer than all else in 1D.
            Place { x: ((block * WARPS + warp) * size[0]) as i32, y: 0, z: 0 }
        } else {
            tiles.place(block, warp, size)
        };
        let x = x + (warp::lane_id() * VECTOR as u32) as i32;
        if x >= tiles.nx || y >= tiles.ny || z >= tiles.nz {
            return;
        }
        let at = i64::from(z) * tiles.plane + i64::from(y) * tiles.pitch + i64::from(x);
        let above = ((LINES - ROWS) / 2) as i64 * tiles.pitch;
        let before = ((DEPTH - PLANES) / 2) as i64 * tiles.plane;
        let mut work = Work::<E, STAR, WIDTH, ROWS, LINES, PLANES, DEPTH, SIDE, VECTOR, N> {
            launch,
            from: input.wrapping_offset((at - above - before) as isize),
            to: output.wrapping_offset(at as isize),
            inside: [tiles.nx - x, tiles.ny - y, tiles.nz - z],
            own: [[[0; WORDS]; LINES]; DEPTH],
            sides: [[Sides::ZERO; LINES]; DEPTH],
            sums: [[[E::Real::ZERO; VECTOR]; ROWS]; PLANES],
        };
        overlap::wait_for_previous();
        overlap::start_next();
        unroll!(plane < DEPTH => work.load_plane(plane));
        unroll!(plane < DEPTH => work.load_sides(plane));
        unroll!(plane < DEPTH => work.add_plane(plane));
        unroll!(plane < PLANES => work.store_plane(plane));
    }
}

/// What a thread has.
struct Work<
    'a,
    E: Element,
    const STAR: bool,
    const WIDTH: usize,
    const ROWS: usize,
    const LINES: usize,
    const PLANES: usize,
    const DEPTH: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
> {
    launch: &'a TiledLaunch<E::Real, N>,
    /// Its columns in the first row of the first plane that it reads.
    from: *const E::Stored,
    /// The first point that it computes.
    to: *mut E::Stored,
    /// Columns, rows and planes of the grid from that point on.
    inside: [i32; 3],
    own: [[[u32; WORDS]; LINES]; DEPTH],
    sides: [[Sides<SIDE>; LINES]; DEPTH],
    sums: [[[E::Real; VECTOR]; ROWS]; PLANES],
}

impl<
    E: Element,
    const STAR: bool,
    const WIDTH: usize,
    const ROWS: usize,
    const LINES: usize,
    const PLANES: usize,
    const DEPTH: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
> Work<'_, E, STAR, WIDTH, ROWS, LINES, PLANES, DEPTH, SIDE, VECTOR, N>
{
    /// Rows and planes of a stencil.
    const HIGH: usize = LINES - ROWS + 1;
    const DEEP: usize = DEPTH - PLANES + 1;

    /// Whether a row that it reads is among those that it computes: along z, along y.
    #[inline(always)]
    fn computes(plane: usize, line: usize) -> [bool; 2] {
        [(plane, Self::DEEP, PLANES), (line, Self::HIGH, ROWS)]
            .map(|(at, width, count)| at >= width / 2 && at < width / 2 + count)
    }

    #[inline(always)]
    fn row(&self, plane: usize, line: usize) -> *const u32 {
        let BlockOrder { pitch, plane: stride, .. } = self.launch.tiles;
        self.from.wrapping_offset((plane as i64 * stride + line as i64 * pitch) as isize).cast()
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_plane(&mut self, plane: usize) {
        // SAFETY: as the caller promises.
        unroll!(line < LINES => unsafe { self.load_row(plane, line) });
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_row(&mut self, plane: usize, line: usize) {
        let [inner, core] = Self::computes(plane, line);
        if !STAR || inner || core {
            // SAFETY: as the caller promises: a row of the grid or its halo.
            self.own[plane][line] = unsafe { load_words(self.row(plane, line)) };
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_sides(&mut self, plane: usize) {
        // SAFETY: as the caller promises.
        unroll!(line < LINES => unsafe { self.load_sides_of(plane, line) });
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_sides_of(&mut self, plane: usize, line: usize) {
        let [inner, core] = Self::computes(plane, line);
        if !STAR || inner && core {
            // SAFETY: as the caller promises: a row of the grid or its halo.
            self.sides[plane][line] = unsafe { Sides::load(self.row(plane, line)) };
        }
    }

    /// Adds a plane to the outputs that it has neighbours of.
    #[inline(always)]
    unsafe fn add_plane(&mut self, plane: usize) {
        // SAFETY: in a kernel.
        unroll!(line < LINES => unsafe { self.add_row(plane, line) });
    }

    #[inline(always)]
    unsafe fn add_row(&mut self, plane: usize, line: usize) {
        let row = Row { own: self.own[plane][line], sides: self.sides[plane][line] };
        // SAFETY: in a kernel.
        unroll!(dx < WIDTH => unsafe { self.add_shifted(&row, plane, line, dx) });
    }

    #[inline(always)]
    unsafe fn add_shifted(&mut self, row: &Row<SIDE>, plane: usize, line: usize, dx: usize) {
        // SAFETY: in a kernel.
        unroll!(output < ROWS => unsafe { self.add_to(row, plane, line, dx, output) });
    }

    #[inline(always)]
    unsafe fn add_to(
        &mut self,
        row: &Row<SIDE>,
        plane: usize,
        line: usize,
        dx: usize,
        output: usize,
    ) {
        let (high, deep) = (Self::HIGH, Self::DEEP);
        let first = elements(SIDE, E::BYTES) - WIDTH / 2;
        for depth in 0..PLANES {
            if line < output || line >= output + high || plane < depth || plane >= depth + deep {
                continue;
            }
            let (dy, dz) = (line - output, plane - depth);
            let off_axes = [(dx, WIDTH), (dy, high), (dz, deep)].map(|(d, width)| d != width / 2);
            if STAR && off_axes.into_iter().map(usize::from).sum::<usize>() > 1 {
                continue;
            }
            let weight = self.launch.weights[(dz * high + dy) * WIDTH + dx];
            // SAFETY: in a kernel.
            unsafe {
                add::<E, SIDE, VECTOR>(&mut self.sums[depth][output], row, first + dx, weight)
            };
        }
    }

    /// Stores the rows of a plane that lie in the grid.
    #[inline(always)]
    #[track_caller]
    unsafe fn store_plane(&mut self, plane: usize) {
        // SAFETY: as the caller promises.
        unroll!(row < ROWS => unsafe { self.store_row(plane, row) });
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_row(&mut self, plane: usize, row: usize) {
        let BlockOrder { pitch, plane: stride, .. } = self.launch.tiles;
        let [columns, rows, planes] = self.inside;
        let mut sums = self.sums[plane][row];
        // SAFETY: as the caller promises: outputs that no other thread has.
        unsafe {
            for sum in &mut sums {
                *sum = sum.pin();
            }
            if (row as i32) < rows && (plane as i32) < planes {
                let offset = plane as i64 * stride + row as i64 * pitch;
                store::<E, VECTOR>(self.to.wrapping_offset(offset as isize), &sums, columns);
            }
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $type:literal, $real:ty, $dims:literal, $star:literal, $radius:literal, $rows:literal, $planes:literal, $block:expr, $registers:literal;)*) => {
        $(
            /// One step of a stencil, of a star if the name says so:
            #[doc = stringify!($dims)]
            /// dimensions, radius up to
            #[doc = stringify!($radius)]
            /// , on a grid of
            #[doc = stringify!($element)]
            /// .
            ///
            /// # Safety
            /// Launch with [`super::THREADS`] threads, as many blocks as [`BlockOrder::blocks`] says. `input`
            /// and `output` point at grid point (0, 0, 0) of two different arrays laid out as in
            /// [`crate::layout`], of which `launch` has the strides.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                launch: TiledLaunch<$real, { weights($dims, $radius) }>,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    tile::<
                        $element,
                        $star,
                        { 2 * $radius + 1 },
                        $rows,
                        { reach($rows, $radius, $dims > 1) },
                        $planes,
                        { reach($planes, $radius, $dims > 2) },
                        { side_words($radius, <$element as Element>::BYTES) },
                        { elements(WORDS, <$element as Element>::BYTES) },
                        { weights($dims, $radius) },
                    >(input.cast(), output.cast(), &launch);
                }
            }
        )*

        /// Every kernel of this module, the one with the fewest neighbours first.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: stringify!($name),
            element: $type,
            dims: $dims,
            star: $star,
            radius: $radius,
            rows: $rows,
            planes: $planes,
            block: $block,
            call: |input, output, tiles, weights| {
                let weights = core::array::from_fn(|index| weights[index] as $real);
                let launch = TiledLaunch { tiles, weights };
                Box::new(Entry::of::<$name>().with((input, output, launch)))
            },
        },)*];
    };
}

// Kernel: element, its name, type of sums, dimensions, whether for stars only, radius, rows and planes of a
// thread, warps of a block below and behind each other, registers.
kernels! {
    tile1d_f16_r2: F16, "f16", f32, 1, false, 2, 1, 1, [1, 1], 64;
    tile1d_f16_r8: F16, "f16", f32, 1, false, 8, 1, 1, [1, 1], 64;
    tile2d_f16_r1: F16, "f16", f32, 2, false, 1, 4, 1, [2, 1], 64;
    tile2d_f16_r2_star: F16, "f16", f32, 2, true, 2, 6, 1, [2, 1], 96;
    tile2d_f16_r3_star: F16, "f16", f32, 2, true, 3, 4, 1, [4, 1], 64;
    tile3d_f16_r1_star: F16, "f16", f32, 3, true, 1, 4, 2, [4, 2], 128;
    tile1d_bf16_r2: Bf16, "bf16", f32, 1, false, 2, 1, 1, [1, 1], 64;
    tile1d_bf16_r8: Bf16, "bf16", f32, 1, false, 8, 1, 1, [1, 1], 64;
    tile2d_bf16_r1: Bf16, "bf16", f32, 2, false, 1, 4, 1, [2, 1], 64;
    tile2d_bf16_r2_star: Bf16, "bf16", f32, 2, true, 2, 6, 1, [2, 1], 96;
    tile2d_bf16_r3_star: Bf16, "bf16", f32, 2, true, 3, 4, 1, [4, 1], 64;
    tile3d_bf16_r1_star: Bf16, "bf16", f32, 3, true, 1, 4, 2, [4, 2], 128;
    tile1d_f32_r2: F32, "f32", f32, 1, false, 2, 1, 1, [1, 1], 64;
    tile1d_f32_r8: F32, "f32", f32, 1, false, 8, 1, 1, [1, 1], 64;
    tile2d_f32_r1: F32, "f32", f32, 2, false, 1, 4, 1, [2, 1], 64;
    tile2d_f32_r2_star: F32, "f32", f32, 2, true, 2, 4, 1, [4, 1], 64;
    tile2d_f32_r3_star: F32, "f32", f32, 2, true, 3, 6, 1, [4, 1], 128;
    tile3d_f32_r1_star: F32, "f32", f32, 3, true, 1, 4, 2, [2, 2], 128;
    tile1d_f64_r2: F64, "f64", f64, 1, false, 2, 1, 1, [1, 1], 64;
    tile1d_f64_r8: F64, "f64", f64, 1, false, 8, 1, 1, [1, 1], 64;
    tile2d_f64_r1: F64, "f64", f64, 2, false, 1, 4, 1, [2, 1], 64;
    tile2d_f64_r2_star: F64, "f64", f64, 2, true, 2, 7, 1, [2, 1], 128;
    tile2d_f64_r3_star: F64, "f64", f64, 2, true, 3, 6, 1, [4, 1], 128;
    tile3d_f64_r1_star: F64, "f64", f64, 3, true, 1, 4, 2, [2, 2], 128;
}

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// Dimensions of the grid.
    pub dims: usize,
    /// Whether it takes no neighbours off the axes.
    pub star: bool,
    /// The largest radius of a stencil.
    pub radius: usize,
    /// Rows of a warp.
    pub rows: u32,
    /// Planes of a warp.
    pub planes: u32,
    /// Warps of a block one below the other, and one behind the other.
    pub block: [u32; 2],
    /// The kernel with input, output, where it computes, and the weights in C order, as many as it has, which
    /// it takes in the type of its sums.
    pub call: fn(*const u8, *mut u8, BlockOrder, &[f64]) -> Box<dyn AnyCall>,
}

/// The kernel with the fewest neighbours that takes such a stencil, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(element: &str, dims: usize, star: bool, radius: usize) -> Option<&'static Kernel> {
    let fits = |kernel: &&Kernel| {
        (kernel.element, kernel.dims) == (element, dims)
            && kernel.radius >= radius
            && (star || !kernel.star)
    };
    KERNELS.iter().find(fits)
}
