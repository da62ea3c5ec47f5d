// SPDX-License-Identifier: MIT OR Apache-2.0
//! `C = A·B` on sparse tensor cores: of every four neighbours in a row of A at most two are not zero.
//! The copy engine (TMA) brings tiles of A and B to shared memory, a warp multiplies them by `mma.sp`.
//!
//! `cargo test` runs the kernel in the emulator, on any machine; `cargo run` on a GPU (Hopper or later).
//! The crate `cuda_mma` knows which lane holds what: nobody counts lanes here.
//!
//! A fast kernel would also copy the next tiles while these are multiplied. It would give a warp
//! more tiles of C, so that each word of A and B serves several products. It would swizzle the
//! tiles of B, whose rows of 64 bytes meet in the same banks of shared memory.

use cuda_mma::fragment::{self, LANES, M, M16N8K32 as MMA, N};
use cuda_std::shared::Shared;
use cuda_std::{barrier, copy, global, host_only, kernel, mma, shared, thread, warp};

/// Bytes of a row of A's tile, which has the kept values only, and of B's, which stands on its side: a
/// column of B is a row of it.
const ROW_BYTES: [u32; 2] = [2 * MMA.kept() as u32, 2 * MMA.k as u32];
/// Bytes of the two tiles.
const TILE_BYTES: [u32; 2] = [M as u32 * ROW_BYTES[0], N as u32 * ROW_BYTES[1]];
/// Shared memory of a block: the tiles, and the barrier that tells when they have come.
pub const SHARED_BYTES: u32 = TILE_BYTES[0] + TILE_BYTES[1] + barrier::BYTES;

const _: () = assert!(TILE_BYTES[0].is_multiple_of(128), "TMA wants 128-byte aligned targets");

/// One tile of C, of 16 rows and 8 columns, by each block of one warp; blocks go along the rows of C.
///
/// # Safety
/// `kept` is a tensor map of A's kept values in f16, with boxes of one tile; `columns` one of B's columns,
/// with boxes of 8 columns by 32 rows of B. `metadata` has a word for each lane of each tile of A, row of
/// tiles by row of tiles, `steps` in a row. C has `width` tiles of 8 columns in a row of tiles, and nobody
/// else uses it. Blocks have 32 threads and [`SHARED_BYTES`] of shared memory; there is one for each tile.
#[kernel]
pub unsafe fn product(
    kept: *const u8,
    metadata: *const u32,
    columns: *const u8,
    c: *mut f32,
    width: u32,
    steps: u32,
) {
    // SAFETY: one lane sets up the barrier, announces the bytes and issues the copies; all wait for them
    // before they read, and for each other before the next copies overwrite. All lanes multiply together.
    unsafe {
        let lane = warp::lane_id();
        let (row, column) = (thread::block_idx_x() / width, thread::block_idx_x() % width);
        let tiles = [shared::dynamic(), shared::dynamic().offset(TILE_BYTES[0])];
        let ready = tiles[1].offset(TILE_BYTES[1]);
        if lane == 0 {
            barrier::init(ready, 1);
            barrier::fence_init();
        }
        thread::sync_threads();

        let mut sums = [0.0; 4];
        for step in 0..steps {
            if lane == 0 {
                let [row, column] = [row * M as u32, column * N as u32].map(|index| index as i32);
                let [first, kept_first] = [MMA.k, MMA.kept()].map(|k| (step * k as u32) as i32);
                barrier::arrive_expect(ready, TILE_BYTES[0] + TILE_BYTES[1]);
                copy::tensor_2d(tiles[0], kept, kept_first, row, ready);
                copy::tensor_2d(tiles[1], columns, first, column, ready);
            }
            // Each step is a phase of the barrier.
            barrier::wait(ready, step % 2);

            let lane = lane as usize;
            let a = core::array::from_fn(|word| {
                let (row, kept) = MMA.a(lane, word, 0);
                load(tiles[0], row, kept, ROW_BYTES[0])
            });
            let b = core::array::from_fn(|word| {
                let (row, column) = MMA.b(lane, word, 0);
                load(tiles[1], column, row, ROW_BYTES[1])
            });
            let tile = (row * steps + step) as usize;
            let metadata = global::load_constant(metadata.add(tile * LANES + lane));
            sums = mma::sp_m16n8k32_f16_f32(a, metadata, b, sums);
            warp::sync();
        }

        for (word, sum) in sums.into_iter().enumerate() {
            let (r, col) = fragment::c(lane as usize, word);
            let (r, col) = (row as usize * M + r, column as usize * N + col);
            global::store_f32(c.add(r * width as usize * N + col), sum);
        }
    }
}

/// Two neighbours in a row of a tile.
///
/// # Safety
/// They are there, and have been waited for.
#[inline(always)]
unsafe fn load(tile: Shared, row: usize, column: usize, row_bytes: u32) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { shared::load(tile.offset(row as u32 * row_bytes + 2 * column as u32)) }
}

/// The operands as the kernel takes them, and what it is to compute.
#[host_only]
mod operands {
    use super::{LANES, M, MMA, N};
    use cuda_mma::fragment::Element::F16;
    use cuda_mma::number::bits;

    /// A and B, row by row, and their sizes.
    pub struct Operands {
        pub a: Vec<f64>,
        pub b: Vec<f64>,
        /// Rows of A, columns of B, and what both have in common.
        pub size: [usize; 3],
    }

    impl Operands {
        /// Small whole numbers, whose sums are exact in f32 in any order. A group of four in A has two
        /// numbers in places that change from group to group, or one, or none.
        pub fn example(m: usize, n: usize, k: usize) -> Self {
            assert!([m % M, n % N, k % MMA.k] == [0; 3], "whole tiles of {M} × {N} × {}", MMA.k);
            let number = |i: usize| ((i * 2_654_435_761) >> 7) % 9;
            let value = |i| number(i) as f64 - 4.0;
            let is_kept = |i: usize| {
                let (group, place) = (number(i / 4 + 1000), i % 4);
                place == group % 4 || place == group / 4
            };
            let a = (0..m * k).map(|i| if is_kept(i) { value(i) } else { 0.0 }).collect();
            Self { a, b: (0..k * n).map(|i| value(i + 77)).collect(), size: [m, n, k] }
        }

        /// A's kept values, row by row, half as many; and the metadata that say where they stood.
        pub fn compress(&self) -> (Vec<u16>, Vec<u32>) {
            let [m, _, k] = self.size;
            let steps = k / MMA.k;
            let mut kept = Vec::with_capacity(m * k / 2);
            let mut metadata = vec![0; m / M * steps * LANES];
            for (group, values) in self.a.chunks(4).enumerate() {
                let mut places: Vec<usize> = (0..4).filter(|&place| values[place] != 0.0).collect();
                assert!(places.len() <= 2, "group {group} of A has more than two numbers");
                // Zeros fill up; the two places must increase.
                let spare = (0..4).rev().filter(|place| values[*place] == 0.0);
                places.extend(spare.take(2 - places.len()).collect::<Vec<_>>());
                places.sort_unstable();
                for place in places {
                    let (row, column) = (kept.len() / (k / 2), kept.len() % (k / 2));
                    let tile = row / M * steps + column / MMA.kept();
                    let (lane, bit) = MMA.metadata(row % M, column % MMA.kept());
                    metadata[tile * LANES + lane] |= (place as u32) << bit;
                    kept.push(bits(F16, values[place]) as u16);
                }
            }
            (kept, metadata)
        }

        /// B, column by column.
        pub fn columns(&self) -> Vec<u16> {
            let [_, n, k] = self.size;
            let column = |x: usize| (0..k).map(move |i| bits(F16, self.b[i * n + x]) as u16);
            (0..n).flat_map(column).collect()
        }

        /// The product on the CPU.
        pub fn product(&self) -> Vec<f32> {
            let [m, n, k] = self.size;
            let element = |y, x| (0..k).map(|i| self.a[y * k + i] * self.b[i * n + x]).sum::<f64>();
            (0..m).flat_map(|y| (0..n).map(move |x| element(y, x) as f32)).collect()
        }

        /// Blocks, and the last two parameters of the kernel.
        pub fn launch(&self) -> (u32, u32, u32) {
            let [m, n, k] = self.size;
            ((m / M * (n / N)) as u32, (n / N) as u32, (k / MMA.k) as u32)
        }
    }
}

#[host_only]
fn product_on_gpu(operands: &operands::Operands) -> Result<Vec<f32>, cuda_driver::Error> {
    use cuda_driver::{ElementType, Extents, Gpu, L2Promotion, TensorMap2d};

    let gpu = Gpu::open()?;
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let [m, n, k] = operands.size;
    let (kept, metadata) = operands.compress();
    let (kept, metadata) = (gpu.upload(&kept)?, gpu.upload(&metadata)?);
    let columns = gpu.upload(&operands.columns())?;
    let map = |address, width: usize, height: usize, box_width: usize, box_height: usize| {
        let map = TensorMap2d {
            element: ElementType::F16,
            width: width as u64,
            height: height as u64,
            row_bytes: 2 * width as u64,
            box_width: box_width as u32,
            box_height: box_height as u32,
            l2_promotion: L2Promotion::Bytes128,
            swizzle: cuda_driver::Swizzle::None,
        };
        map.encode(address)
    };
    let of_kept = gpu.upload(&[map(kept.as_ptr(), k / 2, m, MMA.kept(), M)?])?;
    let of_columns = gpu.upload(&[map(columns.as_ptr(), k, n, MMA.k, N)?])?;
    let mut c = gpu.zeros(m * n)?;
    let (blocks, width, steps) = operands.launch();
    let extents = Extents { blocks, threads: warp::SIZE, shared_bytes: SHARED_BYTES };
    // SAFETY: the operands are laid out as the kernel has it, and C has room for the product.
    unsafe {
        let (kept, columns) = (of_kept.as_ptr().cast(), of_columns.as_ptr().cast());
        let parameters = (kept, metadata.as_ptr(), columns, c.as_mut_ptr(), width, steps);
        kernels.launch::<product>(extents, parameters)?;
    }
    let product = c.read()?;
    println!("a product of {m} × {k} × {n} on {}", gpu.name());
    Ok(product)
}

#[host_only]
fn main() -> Result<(), cuda_driver::Error> {
    let operands = operands::Operands::example(1024, 512, 2048);
    let product = product_on_gpu(&operands)?;
    assert!(product == operands.product(), "the GPU and the CPU agree");
    println!("every element is right");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_sim::{LaunchConfig, Memory, Module, TensorMap, launch};

    #[test]
    fn the_kernel_computes_the_product() {
        // What the GPU gets, if there was a compiler for it.
        let code = cuda_driver::kernels!().codes().next();
        let module = code.map(|code| Module::read(&code.ptx()).expect("PTX"));
        for (m, n, k) in [(16, 8, 32), (32, 24, 64), (16, 16, 160)] {
            let operands = operands::Operands::example(m, n, k);
            let (kept, metadata) = operands.compress();
            let mut memory = Memory::new();
            let mut map = |name, values: &[u16], width: usize, box_dims: [usize; 2]| {
                let map = TensorMap {
                    address: memory.input(name, values).as_ptr().cast(),
                    element_bytes: 2,
                    dims: vec![width as u64, (values.len() / width) as u64],
                    strides: vec![2 * width as u64],
                    box_dims: box_dims.map(|size| size as u32).to_vec(),
                    swizzle: cuda_sim::Swizzle::None,
                };
                memory.tensor_map(map).unwrap()
            };
            let kept = map("kept", &kept, k / 2, [MMA.kept(), M]);
            let columns = map("columns", &operands.columns(), k, [MMA.k, N]);
            let metadata = memory.input("metadata", &metadata);
            let (blocks, width, steps) = operands.launch();
            // Each seed is another order of events. Every access is checked: bounds, races, missing waits…
            for seed in 0..4 {
                let c = memory.output("c", m * n);
                let shared_bytes = SHARED_BYTES;
                let config = LaunchConfig { blocks, shared_bytes, seed, ..LaunchConfig::default() };
                launch("product", config, &mut memory, || {
                    // SAFETY: the operands are laid out as the kernel has it.
                    unsafe {
                        let (metadata, c) = (metadata.as_ptr(), c.as_mut_ptr());
                        product(kept, metadata, columns, c, width, steps);
                    };
                })
                .unwrap_or_else(|fault| panic!("{fault}"));
                assert_eq!(memory.read(c), operands.product(), "{m} × {n} × {k}");
                let Some(module) = &module else { continue };
                let c = memory.output("c", m * n);
                let parameters = (kept, metadata.as_ptr(), columns, c.as_mut_ptr(), width, steps);
                let executed = module.launch::<product>(config, &mut memory, parameters);
                executed.unwrap_or_else(|fault| panic!("PTX: {fault}"));
                assert_eq!(memory.read(c), operands.product(), "PTX: {m} × {n} × {k}");
            }
        }
    }
}
