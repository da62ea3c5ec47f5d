// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels. A warp copies stages of A and B into a ring, two warpgroups multiply them, and blocks take
//! tile after tile of C.

use cuda_mma::warpgroup;
use cuda_std::shared::Shared;
use cuda_std::wgmma::{EachPair, F16, M, Open, Sums, Swizzle, THREADS as WARPGROUP, Tile};
use cuda_std::{barrier, copy, global, host_only, kernel, matrix, shared, thread, warp};

/// Columns of A in a stage.
pub const DEPTH: u32 = 64;
/// Warpgroups that multiply.
const CONSUMERS: u32 = 2;
/// Threads of a block: those of the two, and a warp that copies.
#[host_only]
pub const THREADS: u32 = CONSUMERS * WARPGROUP + 32;
/// Bytes of the metadata of 64 rows of A in a stage: a word for each lane of a warpgroup.
const METADATA: u32 = 4 * WARPGROUP;
/// Stages begin at multiples of eight rows of 128 bytes, the pattern of a swizzle.
const PATTERN: u32 = 1024;

/// What a block works on at a time: a tile of C, of which a consumer has `tiles` × 64 rows.
#[derive(Clone, Copy)]
pub struct Shape {
    pub sparse: bool,
    tiles: u32,
    pub columns: u32,
    stages: u32,
    /// The [`Work::band`] that was quicker with 8192³.
    pub band: u32,
}

pub const DENSE: Shape = Shape { sparse: false, tiles: 2, columns: 128, stages: 4, band: 8 };
pub const SPARSE: Shape = Shape { sparse: true, tiles: 1, columns: 256, stages: 5, band: 16 };

impl Shape {
    pub const fn rows(self) -> u32 {
        CONSUMERS * self.tiles * M as u32
    }

    /// How the rows of A lie in a stage, which of a sparse one has half of the columns.
    pub const fn swizzle(self) -> Swizzle {
        if self.sparse { Swizzle::Bytes64 } else { Swizzle::Bytes128 }
    }

    /// Where in a stage A, B and the metadata begin, and where it ends.
    const fn parts(self) -> [u32; 4] {
        let b = self.rows() * self.swizzle().row_bytes();
        let metadata = b + self.columns * Swizzle::Bytes128.row_bytes();
        let bytes = if self.sparse { CONSUMERS * self.tiles * METADATA } else { 0 };
        [0, b, metadata, metadata + bytes]
    }

    /// The ring, two barriers for each stage, and what aligns them.
    #[host_only]
    pub const fn shared_bytes(self) -> u32 {
        self.stages * (self.parts()[3] + 2 * barrier::BYTES) + PATTERN
    }
}

/// A place in the ring, and the parity of its phase.
#[derive(Clone, Copy)]
struct Stage {
    shape: Shape,
    ring: Shared,
    index: u32,
    parity: u32,
}

impl Stage {
    #[inline(always)]
    fn advance(&mut self) {
        self.index += 1;
        if self.index == self.shape.stages {
            (self.index, self.parity) = (0, self.parity ^ 1);
        }
    }

    #[inline(always)]
    fn part(&self, part: usize) -> Shared {
        let parts = self.shape.parts();
        self.ring.offset(self.index * parts[3] + parts[part])
    }

    /// The barriers that tell that its copies have come, and that nobody needs them any more.
    #[inline(always)]
    fn full_and_empty(&self) -> [Shared; 2] {
        let end = self.ring.offset(self.shape.stages * self.shape.parts()[3]);
        let full = end.offset(2 * barrier::BYTES * self.index);
        [full, full.offset(barrier::BYTES)]
    }

    /// A consumer's rows of A, and B.
    #[inline(always)]
    fn tiles(&self, consumer: u32) -> (Tile, Tile) {
        let (rows, swizzle) = (self.shape.tiles * M as u32, self.shape.swizzle());
        let a = Tile::rows(self.part(0), swizzle);
        let a = a.further(consumer * rows * swizzle.row_bytes());
        (a, Tile::rows(self.part(1), Swizzle::Bytes128))
    }

    /// Waits for its copies.
    #[inline(always)]
    unsafe fn wait(&self) {
        // SAFETY: the ring's barriers are initialized.
        unsafe { barrier::wait(self.full_and_empty()[0], self.parity) }
    }

    /// Gives it back, once the warp's products have read it.
    #[inline(always)]
    unsafe fn release(&self) {
        // SAFETY: all lanes of the warp do the same.
        unsafe {
            if self.shape.sparse {
                // All lanes have read the metadata.
                warp::sync();
            }
            if warp::lane_id() == 0 {
                barrier::arrive(self.full_and_empty()[1]);
            }
        }
    }
}

/// C = A·B, as the kernels take it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Work {
    /// Tensor maps of A, or its kept values, row by row, and of B, column by column, in f16.
    pub a: *const u8,
    pub b: *const u8,
    /// For each 64 rows of A and each [`DEPTH`] of its columns the words of 128 lanes.
    pub metadata: *const u8,
    /// In f16, row by row; a word is two neighbours.
    pub c: *mut u32,
    /// Tiles of C along its columns and its rows, and stages along the rows of A.
    pub height: u32,
    pub width: u32,
    pub steps: u32,
    /// Rows of tiles whose blocks run together, and find each other's operands in the cache.
    pub band: u32,
}

impl Work {
    /// Row and column of a tile of C.
    #[inline(always)]
    fn tile(&self, index: u32) -> (u32, u32) {
        let (band, index) = (index / (self.band * self.width), index % (self.band * self.width));
        let rows = self.band.min(self.height - band * self.band);
        (band * self.band + index % rows, index / rows)
    }
}

/// # Safety
/// As of the kernels.
#[inline(always)]
unsafe fn product(work: &Work, shape: Shape) {
    // SAFETY: stages are written and read in turns, as their barriers tell.
    unsafe {
        let ring = Shared(shared::dynamic().0.next_multiple_of(PATTERN));
        let first = Stage { shape, ring, index: 0, parity: 0 };
        if thread::thread_idx_x() == 0 {
            for index in 0..shape.stages {
                let [full, empty] = Stage { index, ..first }.full_and_empty();
                barrier::init(full, 1);
                barrier::init(empty, CONSUMERS * WARPGROUP / 32);
            }
            barrier::fence_init();
        }
        thread::sync_threads();
        let consumer = thread::thread_idx_x() / WARPGROUP;
        if consumer < CONSUMERS {
            consume(work, first, consumer);
        } else if warp::lane_id() == 0 {
            produce(work, first);
        }
    }
}

/// One thread copies.
///
/// # Safety
/// As of the kernels.
#[inline(always)]
unsafe fn produce(work: &Work, mut stage: Stage) {
    let Shape { sparse, tiles, columns, .. } = stage.shape;
    let (tiles, kept) = (CONSUMERS * tiles, if sparse { DEPTH / 2 } else { DEPTH });
    // SAFETY: a stage is empty before it is filled, and its barrier expects all that comes.
    unsafe {
        let mut index = thread::block_idx_x();
        while index < work.height * work.width {
            let (row, column) = work.tile(index);
            for step in 0..work.steps {
                let [full, empty] = stage.full_and_empty();
                barrier::wait(empty, stage.parity ^ 1);
                barrier::arrive_expect(full, stage.shape.parts()[3]);
                let (y, x) = (row * tiles * M as u32, column * columns);
                copy::tensor_2d(stage.part(0), work.a, (step * kept) as i32, y as i32, full);
                copy::tensor_2d(stage.part(1), work.b, (step * DEPTH) as i32, x as i32, full);
                for at in 0..if sparse { tiles } else { 0 } {
                    let from = ((row * tiles + at) * work.steps + step) * METADATA;
                    let (to, from) = (stage.part(2), work.metadata.add(from as usize));
                    copy::bulk(to.offset(at * METADATA), from, METADATA, full);
                }
                stage.advance();
            }
            index += thread::grid_dim_x();
        }
    }
}

/// A warpgroup multiplies.
///
/// # Safety
/// As of the kernels.
#[inline(always)]
unsafe fn consume(work: &Work, mut stage: Stage, consumer: u32) {
    let Shape { sparse, tiles, columns, .. } = stage.shape;
    // SAFETY: all lanes of the warpgroup do the same, with stages that have come. C's elements are theirs.
    unsafe {
        let lane = thread::thread_idx_x() % WARPGROUP;
        let words = (work.width * columns / 2) as usize;
        let store = |index| {
            let (row, column) = work.tile(index);
            let row = ((row * CONSUMERS + consumer) * tiles) as usize * M;
            let c = work.c.add(row * words + (column * columns / 2) as usize);
            Store { c, words, lane: lane as usize }
        };
        let mut index = thread::block_idx_x();
        while index < work.height * work.width {
            if sparse {
                let sums = sparse_sums(&mut stage, work.steps, consumer, lane);
                sums.each_pair(&mut store(index));
            } else {
                let sums = dense_sums(&mut stage, work.steps, consumer);
                sums.each_pair(&mut store(index));
            }
            index += thread::grid_dim_x();
        }
    }
}

/// The sums of a tile, of which a lane has 64 of the upper and of the lower 64 rows.
///
/// # Safety
/// All lanes of the warpgroup do this.
#[inline(always)]
unsafe fn dense_sums(stage: &mut Stage, steps: u32, consumer: u32) -> Sums<64, 2> {
    // SAFETY: what products read has come, and is given back when they have ended.
    unsafe {
        let mut running = Sums::zeros().fence().commit();
        let mut before = *stage;
        for step in 0..steps {
            stage.wait();
            let (a, b) = stage.tiles(consumer);
            let mut open = running.fence();
            multiply(&mut open, 0, a, b);
            multiply(&mut open, 1, a.further(M as u32 * Swizzle::Bytes128.row_bytes()), b);
            running = open.commit();
            // While this stage is multiplied, the one before is no longer needed.
            running.wait_for_all_but::<1>();
            if step > 0 {
                before.release();
            }
            before = *stage;
            stage.advance();
        }
        let sums = running.wait();
        before.release();
        sums
    }
}

/// Adds the products of 64 rows of a stage to the sums of number `at`.
///
/// # Safety
/// The stage has come; all lanes of the warpgroup do this.
#[inline(always)]
unsafe fn multiply(open: &mut Open<64, 2>, at: usize, a: Tile, b: Tile) {
    // SAFETY: as the caller promises. There is no loop, which would want the sums in memory.
    unsafe {
        open.multiply::<F16>(at, a, b);
        open.multiply::<F16>(at, a.further(32), b.further(32));
        open.multiply::<F16>(at, a.further(64), b.further(64));
        open.multiply::<F16>(at, a.further(96), b.further(96));
    }
}

/// The sums of a tile, of which a lane has 128 of 64 rows.
///
/// # Safety
/// All lanes of the warpgroup do this.
#[inline(always)]
unsafe fn sparse_sums(stage: &mut Stage, steps: u32, consumer: u32, lane: u32) -> Sums<128> {
    // SAFETY: what products read has come, and is given back when they have ended.
    unsafe {
        let mut running = Sums::zeros().fence_with([0]).commit();
        let mut before = *stage;
        for step in 0..steps {
            stage.wait();
            // Products read the metadata's register until they end.
            let sums = running.wait();
            if step > 0 {
                before.release();
            }
            let (a, b) = stage.tiles(consumer);
            let mut open = sums
                .fence_with([shared::load(stage.part(2).offset(consumer * METADATA + 4 * lane))]);
            // Two lanes in four have the metadata of the first product, two of the second.
            open.multiply_sparse::<F16, 0>(0, a, 0, b);
            open.multiply_sparse::<F16, 1>(0, a.further(32), 0, b.further(64));
            running = open.commit();
            before = *stage;
            stage.advance();
        }
        let sums = running.wait();
        before.release();
        sums
    }
}

/// Writes sums to C, of which a row has so many words.
struct Store {
    c: *mut u32,
    words: usize,
    lane: usize,
}

impl EachPair for Store {
    #[inline(always)]
    fn pair(&mut self, at: usize, word: usize, [low, high]: [f32; 2]) {
        let (row, column) = warpgroup::d(self.lane, word);
        let place = (at * M + row) * self.words + column / 2;
        // SAFETY: these two elements are this lane's.
        unsafe { global::store(self.c.add(place), matrix::pack_f16(low, high)) };
    }
}

/// Multiplies.
///
/// # Safety
/// The operands are as [`Work`] says, with boxes of a stage of [`DENSE`], and nobody else uses C. Blocks
/// have [`THREADS`] threads and the shape's shared memory.
#[kernel(registers = 168)]
pub unsafe fn dense(work: Work) {
    // SAFETY: as the caller promises.
    unsafe { product(&work, DENSE) }
}

/// Multiplies, where A has two numbers in every four columns.
///
/// # Safety
/// As of [`dense`], with [`SPARSE`].
#[kernel(registers = 168)]
pub unsafe fn sparse(work: Work) {
    // SAFETY: as the caller promises.
    unsafe { product(&work, SPARSE) }
}
