// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid in device memory: rows of `pitch` elements in a halo of zeros, the same for input and
//! output and for every element type, so that rows start at 128-byte lines and every store is aligned.
//!
//! Rows share their zero columns (those left of a row are also right of the row before), planes their
//! zero rows.

/// Elements of 2 bytes in a chunk: 16 bytes, the unit of a copy to shared memory.
pub const CHUNK: u32 = 8;

/// Columns between a window's start and its first output: half a chunk. A window is two chunks wide
/// and starts where an 8-byte load can; see `docs/decisions/0001-half-chunk-window.md`.
pub const SHIFT: u32 = CHUNK / 2;

/// Zero columns left of column 0: a 128-byte line of 2-byte elements.
pub const LEFT: u32 = 64;

/// Columns of one warp: the 8 chunks of an MMA. Rows are padded to whole strips.
pub const STRIP: u32 = 8 * CHUNK;

/// Zero rows (of 2D and 3D grids) and planes (of 3D grids) on either side: as far as any kernel reads
/// that takes zeros from there. Stencils of a larger radius are for `direct::points`, which looks at every
/// coordinate.
pub const HALO: u32 = 8;

/// Where the points of a grid lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Dimensions of the grid, 1 to 3.
    pub dims: u32,
    /// Extents (z, y, x); 1 where the grid has no such axis.
    pub extents: [u32; 3],
}

/// A grid of two axes, as launches are given it.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid2d {
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
    /// Elements from row to row.
    pub pitch: u32,
}

/// A grid of three axes, as launches are given it.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid3d {
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
    /// Planes.
    pub nz: u32,
    /// Elements from row to row.
    pub pitch: u32,
    /// Rows from plane to plane.
    pub plane_rows: u32,
}

impl Layout {
    /// Its extents and distances, of a 2D grid.
    #[must_use]
    pub const fn grid_2d(&self) -> Grid2d {
        let [_, ny, nx] = self.extents;
        Grid2d { nx, ny, pitch: self.pitch() }
    }

    /// Its extents and distances.
    #[must_use]
    pub const fn grid_3d(&self) -> Grid3d {
        let [nz, ny, nx] = self.extents;
        Grid3d { nx, ny, nz, pitch: self.pitch(), plane_rows: self.plane_rows() }
    }

    /// The layout of a 2D grid.
    #[must_use]
    pub const fn plane_2d(ny: u32, nx: u32) -> Self {
        Self { dims: 2, extents: [1, ny, nx] }
    }

    /// Elements from one row to the next: whole strips and the chunk that the last window reaches
    /// into, rounded up to a 128-byte line.
    #[must_use]
    pub const fn pitch(&self) -> u32 {
        (LEFT + self.extents[2].next_multiple_of(STRIP) + CHUNK).next_multiple_of(LEFT)
    }

    /// Rows from one plane to the next.
    #[must_use]
    pub const fn plane_rows(&self) -> u32 {
        self.extents[1] + self.halo_rows()
    }

    /// Zero rows above the first and below the last row of a plane.
    #[must_use]
    pub const fn halo_rows(&self) -> u32 {
        if self.dims > 1 { HALO } else { 0 }
    }

    /// Zero planes before the first and after the last plane.
    #[must_use]
    pub const fn halo_planes(&self) -> u32 {
        if self.dims > 2 { HALO } else { 0 }
    }

    /// Elements of the whole array.
    #[must_use]
    pub const fn elements(&self) -> usize {
        let planes = self.extents[0] as usize + 2 * self.halo_planes() as usize;
        let rows = planes * self.plane_rows() as usize + self.halo_rows() as usize;
        // A row's right halo lies in the next one.
        rows * self.pitch() as usize + LEFT as usize
    }

    /// Position of a grid point.
    #[must_use]
    pub const fn position(&self, z: u32, y: u32, x: u32) -> usize {
        let plane = z as usize + self.halo_planes() as usize;
        let row = plane * self.plane_rows() as usize + (self.halo_rows() + y) as usize;
        row * self.pitch() as usize + (LEFT + x) as usize
    }

    /// Position of grid point (0, 0, 0).
    #[must_use]
    pub const fn origin(&self) -> usize {
        self.position(0, 0, 0)
    }
}
