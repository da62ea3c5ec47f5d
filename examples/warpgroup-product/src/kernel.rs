// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels. A warp copies stages of A and B into a ring, two warpgroups multiply them, and blocks take
//! tile after tile of C.

use cuda_mma::warpgroup;
use cuda_std::shared::Shared;
use cuda_std::wgmma::{EachPair, F16, M, Open, SharedOperand, Sums, Swizzle, THREADS as WARPGROUP};
use cuda_std::{barrier, copy, global, host_only, kernel, matrix, shared, thread, warp};

/// Columns of A in a stage.
pub const DEPTH: u32 = 64;
/// Warpgroups that multiply.
const CONSUMERS: u32 = 2;
/// Threads of a block: those of the two, and a warp that copies.
#[host_only]
pub const THREADS: u32 = CONSUMERS * WARPGROUP + 32;
/// Bytes of a sparse stage's metadata: a word for each of their lanes.
const METADATA: u32 = 4 * CONSUMERS * WARPGROUP;
/// Stages begin at multiples of eight rows of 128 bytes, the pattern of a swizzle.
const PATTERN: u32 = 1024;

/// What a block works on at a time: a tile of C, of which a consumer has `tiles` × 64 rows.
#[derive(Clone, Copy)]
pub struct TileShape {
    pub sparse: bool,
    tiles: u32,
    pub columns: u32,
    stages: u32,
}

pub const DENSE: TileShape = TileShape { sparse: false, tiles: 2, columns: 128, stages: 4 };
pub const SPARSE: TileShape = TileShape { sparse: true, tiles: 1, columns: 256, stages: 5 };

impl TileShape {
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
        [0, b, metadata, metadata + if self.sparse { METADATA } else { 0 }]
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
    shape: TileShape,
    ring: Shared,
    index: u32,
    parity: u32,
}

impl Stage {
    fn advance(&mut self) {
        self.index += 1;
        if self.index == self.shape.stages {
            (self.index, self.parity) = (0, self.parity ^ 1);
        }
    }

    fn parts(&self) -> [Shared; 4] {
        let parts = self.shape.parts();
        parts.map(|part| self.ring.offset(self.index * parts[3] + part))
    }

    /// The barriers that tell that its copies have come, and that nobody needs them any more.
    fn full_and_empty(&self) -> [Shared; 2] {
        let end = self.shape.stages * self.shape.parts()[3];
        [0, 1].map(|at| self.ring.offset(end + (2 * self.index + at) * barrier::BYTES))
    }

    /// Waits for its copies: a consumer's rows of A, and B.
    #[inline(always)]
    unsafe fn tiles(&self, consumer: u32) -> (SharedOperand, SharedOperand) {
        let ([a, b, ..], swizzle) = (self.parts(), self.shape.swizzle());
        let rows = consumer * self.shape.tiles * M as u32;
        // SAFETY: the barrier is initialized.
        unsafe { barrier::wait(self.full_and_empty()[0], self.parity) };
        let a = SharedOperand::rows(a, swizzle).further(rows * swizzle.row_bytes());
        (a, SharedOperand::rows(b, Swizzle::Bytes128))
    }

    /// Gives it back.
    #[inline(always)]
    unsafe fn release(&self) {
        // SAFETY: all lanes of the warp do the same.
        unsafe {
            // Each lane that has read metadata tells so; dense ones have read nothing by themselves.
            if self.shape.sparse || warp::lane_id() == 0 {
                barrier::arrive(self.full_and_empty()[1]);
            }
        }
    }
}

/// C = A·B, as the kernels take it.
#[derive(cuda_std::Parameter, Clone, Copy)]
#[repr(C)]
pub struct MatrixProduct {
    /// Tensor maps of A, or its kept values, row by row, and of B, column by column, in f16.
    pub a: *const u8,
    pub b: *const u8,
    /// For each 128 rows of A and each [`DEPTH`] of its columns the words of 256 lanes.
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

impl MatrixProduct {
    /// Row and column of a tile of C.
    fn tile(&self, index: u32) -> (u32, u32) {
        let (band, index) = (index / (self.band * self.width), index % (self.band * self.width));
        let rows = self.band.min(self.height - band * self.band);
        (band * self.band + index % rows, index / rows)
    }
}

/// # Safety
/// As of the kernels.
#[inline(always)]
unsafe fn product(work: &MatrixProduct, shape: TileShape) {
    // SAFETY: stages are written and read in turns, as their barriers tell. C's elements are their lane's.
    unsafe {
        let ring = Shared(shared::dynamic().0.next_multiple_of(PATTERN));
        let mut stage = Stage { shape, ring, index: 0, parity: 0 };
        let thread = thread::thread_idx_x();
        if thread == 0 {
            for index in 0..shape.stages {
                let [full, empty] = Stage { index, ..stage }.full_and_empty();
                barrier::init(full, 1);
                barrier::init(empty, CONSUMERS * WARPGROUP / if shape.sparse { 1 } else { 32 });
            }
            barrier::fence_init();
        }
        thread::sync_threads();
        let (consumer, words) = (thread / WARPGROUP, (work.width * shape.columns / 2) as usize);
        let mut index = thread::block_idx_x();
        while index < work.height * work.width {
            let (y, x) = work.tile(index);
            let row = y * shape.rows() + consumer * shape.tiles * M as u32;
            let c = work.c.wrapping_add(row as usize * words + (x * shape.columns / 2) as usize);
            let mut store = Store { c, words, lane: (thread % WARPGROUP) as usize };
            if consumer == CONSUMERS {
                if warp::lane_id() == 0 {
                    produce(work, &mut stage, y, x);
                }
            } else if shape.sparse {
                sparse_sums(&mut stage, work.steps, thread).each_pair(&mut store);
            } else {
                dense_sums(&mut stage, work.steps, consumer).each_pair(&mut store);
            }
            index += thread::grid_dim_x();
        }
    }
}

/// One thread copies a tile's stages: each is empty before, and its barrier expects all that comes.
#[inline(always)]
unsafe fn produce(work: &MatrixProduct, stage: &mut Stage, y: u32, x: u32) {
    let TileShape { sparse, columns, .. } = stage.shape;
    let kept = if sparse { DEPTH / 2 } else { DEPTH };
    let (row, column) = ((y * stage.shape.rows()) as i32, (x * columns) as i32);
    for step in 0..work.steps {
        let ([full, empty], [a, b, metadata, _]) = (stage.full_and_empty(), stage.parts());
        // SAFETY: as above.
        unsafe {
            barrier::wait(empty, stage.parity ^ 1);
            barrier::arrive_expect(full, stage.shape.parts()[3]);
            copy::tensor_2d(a, work.a, (step * kept) as i32, row, full);
            copy::tensor_2d(b, work.b, (step * DEPTH) as i32, column, full);
            if sparse {
                let from = (y * work.steps + step) * METADATA;
                copy::bulk(metadata, work.metadata.add(from as usize), METADATA, full);
            }
        }
        stage.advance();
    }
}

/// A warpgroup's sums of a tile, of which a lane has 64 of the upper and of the lower 64 rows.
#[inline(always)]
unsafe fn dense_sums(stage: &mut Stage, steps: u32, consumer: u32) -> Sums<64, 2> {
    // SAFETY: all lanes do this. What products read has come, and is given back when they have ended.
    unsafe {
        let mut running = Sums::zeros().fence().commit();
        let mut before = *stage;
        for step in 0..steps {
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

/// Adds the products of 64 rows of a stage. There is no loop, which would want the sums in memory.
#[inline(always)]
unsafe fn multiply(open: &mut Open<64, 2>, at: usize, a: SharedOperand, b: SharedOperand) {
    // SAFETY: as above.
    unsafe {
        open.multiply::<F16>(at, a, b);
        open.multiply::<F16>(at, a.further(32), b.further(32));
        open.multiply::<F16>(at, a.further(64), b.further(64));
        open.multiply::<F16>(at, a.further(96), b.further(96));
    }
}

/// A warpgroup's sums of a tile, of which a lane has 128 of 64 rows.
#[inline(always)]
unsafe fn sparse_sums(stage: &mut Stage, steps: u32, thread: u32) -> Sums<128> {
    // SAFETY: all lanes do this. What products read has come, and is given back when they have ended.
    unsafe {
        let mut running = Sums::zeros().fence_with([0]).commit();
        let mut before = *stage;
        for step in 0..steps {
            let (a, b) = stage.tiles(thread / WARPGROUP);
            // Products read the metadata's register until they end.
            let sums = running.wait();
            if step > 0 {
                before.release();
            }
            let mut open = sums.fence_with([shared::load(stage.parts()[2].offset(4 * thread))]);
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

/// Writes a lane's sums to C, of which a row has so many words.
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

/// # Safety
/// The operands are as [`MatrixProduct`] says, with boxes of a stage of [`DENSE`], and nobody else uses C. Blocks
/// have [`THREADS`] threads and the shape's shared memory.
#[kernel(registers = 168)]
pub unsafe fn dense(work: MatrixProduct) {
    // SAFETY: as the caller promises.
    unsafe { product(&work, DENSE) }
}

/// # Safety
/// As of [`dense`], with [`SPARSE`].
#[kernel(registers = 168)]
pub unsafe fn sparse(work: MatrixProduct) {
    // SAFETY: as the caller promises.
    unsafe { product(&work, SPARSE) }
}
