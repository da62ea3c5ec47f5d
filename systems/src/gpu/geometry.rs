// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who computes which points: threads with a tile each inside, where all neighbours are in the grid and lie at
//! constant distances; near the sides threads with a point each, which look up where its neighbours are.
//!
//! ```text
//! blocks 0 ..           points near the sides, first, because they take longest
//! blocks edge_blocks .. tiles of `columns` x `rows` points; a thread goes down its rows with what it has loaded
//! ```

use kernels_gpu::layout::Layout;
use problem::Region;

use super::many_arrays;
use super::tile::instructions;
use crate::checked::System;

/// Threads of a multiprocessor at least: of 1024 the values of a wave of eighth order do not find registers, and 512
/// wait for memory.
const RESIDENT: usize = 768;
/// Threads of a block.
pub const THREADS: u32 = 128;
/// Bytes of a line of memory, to which rows of tiles are aligned: a warp's access then takes no line more than it
/// fills.
const LINE: usize = 128;
/// Rows of a tile.
const ROWS: usize = 8;
/// Instructions for a tile, each counted once for 32 bits, unless a row takes more: with fewer rows for long programs
/// all values find registers.
const INSTRUCTIONS: usize = 4096;

/// The division of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Points along z, y, x.
    pub extents: [usize; 3],
    /// Values before the first one, so that the first tile begins where a line of memory does.
    pub lead: usize,
    /// Values from row to row.
    pub pitch: usize,
    /// Values after the last row.
    pub after: usize,
    /// Whether there are tiles; else somebody else computes what is inside.
    pub is_tiled: bool,
    /// Values of a line of memory.
    pub line: usize,
    /// Points of a tile along x, which are loaded together.
    pub columns: usize,
    /// Points of a tile along y.
    pub rows: usize,
    /// Where tiles are.
    pub inside: Region,
    /// The rest.
    pub edges: Vec<Region>,
    /// Blocks that go along z instead of tiles.
    pub march: Option<March>,
    /// Whether tiles are single rows whose threads find neighbours beyond sides, too ([`super::many`]).
    pub finds_sides: bool,
}

/// Blocks that go along z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct March {
    /// Threads along x, each with as many points as are loaded together.
    pub lanes: usize,
    /// Threads along y.
    pub down: usize,
    /// Points along z, one after the other.
    pub planes: usize,
}

impl March {
    /// Threads of a block.
    pub fn threads(&self) -> usize {
        self.lanes * self.down
    }

    /// Blocks of a multiprocessor at least.
    pub fn resident(&self) -> usize {
        (RESIDENT / self.threads()).max(1)
    }

    /// Points of a block along z, y and x.
    pub fn extents(&self, geometry: &Geometry) -> [usize; 3] {
        [self.planes, self.down, self.lanes * geometry.columns]
    }

    /// Blocks along z, y and x.
    pub fn blocks(&self, geometry: &Geometry) -> [usize; 3] {
        let (inside, own) = (geometry.inside.extents(), self.extents(geometry));
        std::array::from_fn(|axis| inside[axis].div_ceil(own[axis]))
    }
}

impl Geometry {
    /// The geometry of single steps of a system, each thread with a tile of points.
    pub fn of(system: &System) -> Self {
        if many_arrays::suits(system) {
            return Self::finding_sides(system);
        }
        let program = &system.program;
        let instructions = program.operations.iter().map(instructions).sum();
        let (extents, reach) = (system.shape.extents(), program.reach(|_| true));
        Self::new(extents, reach, system.dtype.bytes(), instructions)
    }

    /// The geometry of single steps by threads that find neighbours beyond sides.
    pub fn finding_sides(system: &System) -> Self {
        let tile = [1, many_arrays::columns(system)];
        let (extents, bytes) = (system.shape.extents(), system.dtype.bytes());
        let geometry = Self::of_tiles(extents, many_arrays::depth(system), bytes, tile);
        Self { finds_sides: true, ..geometry }
    }

    /// The geometry of a grid for programs that read so far along z, y, x, with values of so many bytes, and have
    /// about so many instructions for a point.
    pub fn new(extents: [usize; 3], reach: [usize; 3], bytes: usize, instructions: usize) -> Self {
        Self::within(extents, [reach; 2], bytes, instructions)
    }

    /// That with tiles from so far (z, y, x) after the first points on, to so far before the last ones.
    pub fn within(
        extents: [usize; 3],
        depth: [[usize; 3]; 2],
        bytes: usize,
        instructions: usize,
    ) -> Self {
        // Eight of 16 bits keep more values in registers than they save instructions: a wave at 283 GStencil/s, not 350.
        let columns = 16 / bytes.max(4);
        let mut rows = if extents[1] == 1 { 1 } else { ROWS };
        let words = if bytes == 8 { 2 } else { 1 };
        while rows > 1 && instructions * rows * columns * words > INSTRUCTIONS {
            rows /= 2;
        }
        Self::of_tiles(extents, depth, bytes, [rows, columns])
    }

    /// That with tiles of so many rows and columns.
    pub fn of_tiles(
        extents @ [nz, ny, nx]: [usize; 3],
        depth @ [before, behind]: [[usize; 3]; 2],
        bytes: usize,
        [rows, columns]: [usize; 2],
    ) -> Self {
        let pitch = nx.next_multiple_of(LINE / bytes);
        // Neighbours are loaded in groups of columns.
        let [left, right] = depth.map(|depth| depth[2].next_multiple_of(columns));
        let whole = |low: usize, end: usize, unit: usize| {
            if end < low + unit { (0, 0) } else { (low, low + (end - low) / unit * unit) }
        };
        let (x_low, x_high) =
            whole(left, (nx - behind[2].min(nx)).min(pitch - right.min(pitch)), columns);
        let (y_low, y_high) = whole(before[1], ny.saturating_sub(behind[1]), rows);
        let (z_low, z_high) = whole(before[0], nz.saturating_sub(behind[0]), 1);
        let inside = between([z_low, y_low, x_low], [z_high, y_high, x_high]);
        let (edges, line) = (around(inside, extents), LINE / bytes);
        // Even, for transforms take two values of a row at once.
        let lead = ((line - inside.low[2] as usize % line) % line).next_multiple_of(2);
        let (after, is_tiled, march, finds_sides) = (0, true, None, false);
        Self {
            extents,
            lead,
            pitch,
            after,
            is_tiled,
            line,
            columns,
            rows,
            inside,
            edges,
            march,
            finds_sides,
        }
    }

    /// The geometry of the points of a plane up to so far (z, y, x) from the first and the last ones, in the layout of
    /// the kernel that computes the others.
    pub fn near_sides(layout: Layout, bytes: usize, [low, depth]: [[usize; 3]; 2]) -> Self {
        let extents = layout.extents.map(|extent| extent as usize);
        let high: [usize; 3] =
            std::array::from_fn(|axis| extents[axis].saturating_sub(depth[axis]));
        let inside = between(low, high);
        let (lead, pitch) = (layout.origin(), layout.pitch() as usize);
        let after = layout.elements() - lead - extents[0] * extents[1] * pitch;
        let edges = around(inside, extents);
        let (columns, rows, line, is_tiled) = (1, 1, LINE / bytes, false);
        let (march, finds_sides) = (None, false);
        Self {
            extents,
            lead,
            pitch,
            after,
            is_tiled,
            line,
            columns,
            rows,
            inside,
            edges,
            march,
            finds_sides,
        }
    }

    /// Tiles along z, y, x.
    pub fn tiles(&self) -> [usize; 3] {
        let [z, y, x] = self.inside.extents();
        [z, y / self.rows, x / self.columns]
    }

    /// Threads for the tiles along z, y, x: whole lines, of which the last may have some without a tile.
    pub fn threads(&self) -> [usize; 3] {
        if !self.is_tiled {
            return [0; 3];
        }
        let [z, y, x] = self.tiles();
        [z, y, x.next_multiple_of(self.line / self.columns)]
    }

    /// Threads of a block.
    pub fn block(&self) -> usize {
        self.march.map_or(THREADS as usize, |march| march.threads())
    }

    /// Blocks for the points near the sides.
    pub fn edge_blocks(&self) -> usize {
        let points: usize = self.edges.iter().map(Region::points).sum();
        points.div_ceil(self.block())
    }

    /// All blocks.
    pub fn blocks(&self) -> usize {
        let inside = match self.march {
            Some(march) => march.blocks(self).iter().product(),
            None => self.threads().iter().product::<usize>().div_ceil(self.block()),
        };
        self.edge_blocks() + inside
    }

    /// Values of an array, with those before the first one, at the end of rows, and after the last one.
    pub fn values(&self) -> usize {
        self.lead + self.extents[0] * self.extents[1] * self.pitch + self.after
    }
}

/// The points from `low` to before `high`, nowhere if there are none.
fn between(low: [usize; 3], high: [usize; 3]) -> Region {
    if (0..3).any(|axis| low[axis] >= high[axis]) {
        return Region { low: [0; 3], high: [0; 3] };
    }
    let [low, high] = [low, high].map(|corner| corner.map(|at| at as isize));
    Region { low, high }
}

/// The points of a grid that are not inside.
fn around(inside: Region, [nz, ny, nx]: [usize; 3]) -> Vec<Region> {
    let [low, high] = [inside.low, inside.high].map(|corner| corner.map(|at| at as usize));
    let edges = [
        between([0, 0, 0], [low[0], ny, nx]),
        between([high[0], 0, 0], [nz, ny, nx]),
        between([low[0], 0, 0], [high[0], low[1], nx]),
        between([low[0], high[1], 0], [high[0], ny, nx]),
        between([low[0], low[1], 0], [high[0], high[1], low[2]]),
        between([low[0], low[1], high[2]], [high[0], high[1], nx]),
    ];
    edges.into_iter().filter(|edge| edge.points() > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_computed_once_and_tiles_read_within_the_array() {
        for extents in [[1, 1, 1], [1, 1, 300], [1, 9, 70], [1, 40, 7], [5, 20, 33], [2, 3, 4]] {
            for reach in [[0, 0, 0], [0, 1, 1], [0, 4, 4], [1, 2, 3], [0, 0, 9]] {
                for bytes in [2, 4, 8] {
                    let reach =
                        std::array::from_fn(
                            |axis| if extents[axis] == 1 { 0 } else { reach[axis] },
                        );
                    let geometry = Geometry::new(extents, reach, bytes, 200);
                    let mut count = vec![0; extents.iter().product()];
                    let inside = (geometry.inside.points() > 0).then_some(geometry.inside);
                    for part in geometry.edges.iter().copied().chain(inside) {
                        for z in part.low[0]..part.high[0] {
                            for y in part.low[1]..part.high[1] {
                                for x in part.low[2]..part.high[2] {
                                    let row = z as usize * extents[1] + y as usize;
                                    count[row * extents[2] + x as usize] += 1;
                                }
                            }
                        }
                    }
                    assert!(count.iter().all(|count| *count == 1), "{geometry:?}");
                    let Some(inside) = inside else { continue };
                    let [low, high] = [inside.low, inside.high].map(|it| it.map(|at| at as usize));
                    let beside = reach[2].next_multiple_of(geometry.columns);
                    assert!(low[2] >= beside && high[2] + beside <= geometry.pitch);
                    for axis in 0..3 {
                        assert!(low[axis] >= reach[axis]);
                        assert!(high[axis] + reach[axis] <= extents[axis], "{geometry:?}");
                    }
                    assert_eq!(low[2] % geometry.columns, 0);
                    assert_eq!((geometry.lead + low[2]) * bytes % LINE, 0);
                    assert_eq!(geometry.pitch * bytes % LINE, 0);
                }
            }
        }
    }
}
