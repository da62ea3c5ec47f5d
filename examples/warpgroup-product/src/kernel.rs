// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels. One warp of a block copies tiles of A and B into a ring of stages; two warpgroups multiply
//! them. Blocks stay, and take tile after tile of C.

use cuda_mma::warpgroup;
use cuda_std::shared::Shared;
use cuda_std::wgmma::{EachPair, F16, M, Metadata, Open, Product, Registers, Sums, Swizzle, Tile};
use cuda_std::{barrier, copy, global, kernel, matrix, shared, thread, warp};

/// Columns of A that a stage has, and so rows of B.
pub const DEPTH: u32 = 64;
/// Warpgroups that multiply.
const CONSUMERS: u32 = 2;
/// Threads of a block: those of the two, and a warp that copies.
pub const THREADS: u32 = CONSUMERS * 128 + 32;
/// Bytes of the metadata of 64 rows of A in a stage: a word for each lane of a warpgroup.
const METADATA_BYTES: u32 = 512;
/// To a multiple of this the ring is aligned: eight rows of 128 bytes, the pattern of a swizzle.
const PATTERN: u32 = 1024;

/// What a block works on at a time: a tile of C whose consumers have `tiles` × 64 rows each.
#[derive(Clone, Copy)]
pub struct Shape {
    pub sparse: bool,
    pub tiles: u32,
    pub columns: u32,
    pub stages: u32,
}

impl Shape {
    /// Rows of the tile.
    pub const fn rows(self) -> u32 {
        CONSUMERS * self.tiles * M as u32
    }

    /// How a row of A lies, of which a sparse one has only half of its columns.
    pub const fn swizzle(self) -> Swizzle {
        if self.sparse { Swizzle::Bytes64 } else { Swizzle::Bytes128 }
    }

    /// Bytes of the tiles of A and B, and of the metadata.
    const fn bytes(self) -> [u32; 3] {
        let metadata = if self.sparse { CONSUMERS * self.tiles * METADATA_BYTES } else { 0 };
        [self.rows() * self.swizzle().row_bytes(), self.columns * 128, metadata]
    }

    const fn stage_bytes(self) -> u32 {
        let [a, b, metadata] = self.bytes();
        a + b + metadata
    }

    /// Shared memory of a block: the ring, two barriers for each stage, and what aligns it.
    pub const fn shared_bytes(self) -> u32 {
        self.stages * (self.stage_bytes() + 2 * barrier::BYTES) + PATTERN
    }
}

/// The stages in shared memory: the tiles of A, those of B, the metadata, and the barriers.
#[derive(Clone, Copy)]
struct Ring {
    shape: Shape,
    start: Shared,
    /// The stage that is next, and the parity of its phase.
    stage: u32,
    parity: u32,
}

impl Ring {
    #[inline(always)]
    fn advance(&mut self) {
        self.stage += 1;
        if self.stage == self.shape.stages {
            (self.stage, self.parity) = (0, self.parity ^ 1);
        }
    }

    #[inline(always)]
    fn a(&self) -> Shared {
        self.start.offset(self.stage * self.shape.bytes()[0])
    }

    #[inline(always)]
    fn b(&self) -> Shared {
        let [a, b, _] = self.shape.bytes();
        self.start.offset(self.shape.stages * a + self.stage * b)
    }

    #[inline(always)]
    fn metadata(&self) -> Shared {
        let [a, b, metadata] = self.shape.bytes();
        self.start.offset(self.shape.stages * (a + b) + self.stage * metadata)
    }

    /// Tells that a stage's copies have come.
    #[inline(always)]
    fn full(&self) -> Shared {
        let barriers = self.start.offset(self.shape.stages * self.shape.stage_bytes());
        barriers.offset(2 * barrier::BYTES * self.stage)
    }

    /// Tells that nobody needs a stage any more.
    #[inline(always)]
    fn empty(&self) -> Shared {
        self.full().offset(barrier::BYTES)
    }
}

/// C = A·B, as the kernels take it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Work {
    /// Tensor maps of A, or its kept values, row by row, and of B's columns, in f16.
    pub a: *const u8,
    pub b: *const u8,
    /// For each 64 rows of A and each [`DEPTH`] of its columns the words of 128 lanes.
    pub metadata: *const u8,
    /// In f16, row by row; a word is two neighbours.
    pub c: *mut u32,
    /// Tiles of C along its columns and rows, and stages along the columns of A.
    pub height: u32,
    pub width: u32,
    pub steps: u32,
    /// Rows of tiles that are worked on together, so that blocks find each other's operands in the cache.
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
unsafe fn product<const R: usize, const T: usize>(work: &Work, shape: Shape)
where
    [f32; R]: Registers,
    F16: Product<R>,
{
    // SAFETY: as the caller promises; stages are read and written in turns, as their barriers tell.
    unsafe {
        let start = shared::dynamic().0.next_multiple_of(PATTERN);
        let ring = Ring { shape, start: Shared(start), stage: 0, parity: 0 };
        if thread::thread_idx_x() == 0 {
            for stage in 0..shape.stages {
                let ring = Ring { stage, ..ring };
                barrier::init(ring.full(), 1);
                barrier::init(ring.empty(), 4 * CONSUMERS);
            }
            barrier::fence_init();
        }
        thread::sync_threads();
        let warp = thread::thread_idx_x() / 32;
        if warp < 4 * CONSUMERS {
            consume::<R, T>(work, ring, warp / 4);
        } else if warp::lane_id() == 0 {
            produce(work, ring);
        }
    }
}

/// One thread copies.
///
/// # Safety
/// As of the kernels.
#[inline(always)]
unsafe fn produce(work: &Work, mut ring: Ring) {
    let Shape { sparse, columns, .. } = ring.shape;
    let (rows, kept) = (ring.shape.rows(), if sparse { DEPTH / 2 } else { DEPTH });
    // SAFETY: in a kernel.
    let (mut index, blocks) = unsafe { (thread::block_idx_x(), thread::grid_dim_x()) };
    while index < work.height * work.width {
        let (row, column) = work.tile(index);
        for step in 0..work.steps {
            // SAFETY: the stage is empty, and its barrier expects all that comes.
            unsafe {
                barrier::wait(ring.empty(), ring.parity ^ 1);
                barrier::arrive_expect(ring.full(), ring.shape.stage_bytes());
                let (k, y, x) = ((step * DEPTH) as i32, row * rows, column * columns);
                copy::tensor_2d(ring.a(), work.a, (step * kept) as i32, y as i32, ring.full());
                copy::tensor_2d(ring.b(), work.b, k, x as i32, ring.full());
                if sparse {
                    for at in 0..rows / M as u32 {
                        let from = (y / M as u32 + at) * work.steps + step;
                        let from = work.metadata.add((from * METADATA_BYTES) as usize);
                        let to = ring.metadata().offset(at * METADATA_BYTES);
                        copy::bulk(to, from, METADATA_BYTES, ring.full());
                    }
                }
            }
            ring.advance();
        }
        index += blocks;
    }
}

/// A warpgroup multiplies.
///
/// # Safety
/// As of the kernels.
#[inline(always)]
unsafe fn consume<const R: usize, const T: usize>(work: &Work, mut ring: Ring, consumer: u32)
where
    [f32; R]: Registers,
    F16: Product<R>,
{
    // SAFETY: in a kernel.
    let lane = unsafe { thread::thread_idx_x() } % 128;
    let release = |ring: Ring| {
        // SAFETY: this warp has waited for what it did with the stage.
        unsafe {
            if ring.shape.sparse {
                // All lanes have read the metadata.
                warp::sync();
            }
            if lane % 32 == 0 {
                barrier::arrive(ring.empty());
            }
        }
    };
    // SAFETY: in a kernel.
    let (mut index, blocks) = unsafe { (thread::block_idx_x(), thread::grid_dim_x()) };
    while index < work.height * work.width {
        // SAFETY: all lanes of the warpgroup do the same, with stages that have come.
        let sums = unsafe {
            barrier::wait(ring.full(), ring.parity);
            let words = metadata::<T>(ring, consumer, lane);
            let open = multiply(Sums::<R, T>::zeros().fence(), ring, consumer, words);
            let mut running = open.commit();
            for _ in 1..work.steps {
                let before = ring;
                ring.advance();
                barrier::wait(ring.full(), ring.parity);
                let words = metadata::<T>(ring, consumer, lane);
                running = multiply(running.fence(), ring, consumer, words).commit();
                // While this stage is multiplied, the one before is no longer needed.
                running.wait_for_all_but::<1>();
                release(before);
            }
            running.wait()
        };
        release(ring);
        ring.advance();
        let (row, column) = work.tile(index);
        let Shape { columns, tiles, .. } = ring.shape;
        let row = ((row * CONSUMERS + consumer) * tiles * M as u32) as usize;
        let (lane, words) = (lane as usize, (work.width * columns / 2) as usize);
        // SAFETY: this part of C is this warpgroup's.
        let c = unsafe { work.c.add(row * words + (column * columns / 2) as usize) };
        sums.each_pair(&mut Store { c, words, lane });
        index += blocks;
    }
}

/// A lane's words of metadata, of each 64 rows of a consumer; they are loaded before the fence.
///
/// # Safety
/// The stage has come.
#[inline(always)]
unsafe fn metadata<const T: usize>(ring: Ring, consumer: u32, lane: u32) -> [u32; T] {
    core::array::from_fn(|at| {
        if !ring.shape.sparse {
            return 0;
        }
        let tile = consumer * ring.shape.tiles + at as u32;
        let words = ring.metadata().offset(tile * METADATA_BYTES);
        // SAFETY: as the caller promises.
        unsafe { shared::load(words.offset(4 * lane)) }
    })
}

/// Adds the product of a stage to the sums of a consumer.
///
/// # Safety
/// The stage has come; all lanes of the warpgroup do this.
#[inline(always)]
unsafe fn multiply<const R: usize, const T: usize>(
    mut open: Open<R, T>,
    ring: Ring,
    consumer: u32,
    metadata: [u32; T],
) -> Open<R, T>
where
    [f32; R]: Registers,
    F16: Product<R>,
{
    // SAFETY: as the caller promises. There is no loop, which would want the sums in memory.
    unsafe {
        multiply_rows(&mut open, 0, ring, consumer, metadata[0]);
        if T > 1 {
            multiply_rows(&mut open, 1, ring, consumer, metadata[1]);
        }
    }
    open
}

/// Does so for the sums of number `at`.
///
/// # Safety
/// As of [`multiply`].
#[inline(always)]
unsafe fn multiply_rows<const R: usize, const T: usize>(
    open: &mut Open<R, T>,
    at: usize,
    ring: Ring,
    consumer: u32,
    metadata: u32,
) where
    [f32; R]: Registers,
    F16: Product<R>,
{
    let Shape { sparse, tiles, .. } = ring.shape;
    let (swizzle, tile) = (ring.shape.swizzle(), consumer * tiles + at as u32);
    let a = Tile::rows(ring.a(), swizzle).further(tile * M as u32 * swizzle.row_bytes());
    let b = Tile::rows(ring.b(), Swizzle::Bytes128);
    // SAFETY: as the caller promises.
    unsafe {
        if sparse {
            // Two lanes in four have the metadata of the first product, two of the second.
            open.multiply_sparse::<F16, 0>(at, a, Metadata(metadata), b);
            open.multiply_sparse::<F16, 1>(at, a.further(32), Metadata(metadata), b.further(64));
        } else {
            open.multiply::<F16>(at, a, b);
            open.multiply::<F16>(at, a.further(32), b.further(32));
            open.multiply::<F16>(at, a.further(64), b.further(64));
            open.multiply::<F16>(at, a.further(96), b.further(96));
        }
    }
}

/// Writes sums to C.
struct Store {
    c: *mut u32,
    /// Of a row of C.
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

/// Kernels, and their shapes as constants: sums in a lane, and the fields of [`Shape`].
macro_rules! kernels {
    ($($name:ident, $shape:ident: $sums:literal, $sparse:literal $tiles:literal $columns:literal $stages:literal;)*) => {$(
        pub const $shape: Shape =
            Shape { sparse: $sparse, tiles: $tiles, columns: $columns, stages: $stages };

        /// # Safety
        /// The operands are as [`Work`] says, with boxes of a stage of the shape, and nobody else uses C.
        /// Blocks have [`THREADS`] threads and the shape's shared memory.
        #[kernel(registers = 168)]
        pub unsafe fn $name(work: Work) {
            // SAFETY: as the caller promises.
            unsafe { product::<$sums, $tiles>(&work, $shape) }
        }
    )*};
}

kernels! {
    dense_wide, DENSE_WIDE: 128, false 1 256 4;
    dense_tall, DENSE_TALL: 64, false 2 128 4;
    sparse_wide, SPARSE_WIDE: 128, true 1 256 5;
    sparse_tall, SPARSE_TALL: 64, true 2 128 6;
}
