// SPDX-License-Identifier: MIT OR Apache-2.0
//! The typed products run in the emulator, with the shapes that their types say.

use cuda_sim::{Chip, LaunchConfig, Memory, OnChip as _, launch};
use cuda_std::shared::Shared;
use cuda_std::wgmma::{
    Bf16, E4m3E5m2, EachPair, F16, Product, Registers, SharedOperand, Sums, Swizzle, THREADS,
};
use cuda_std::{copy, global, shared, thread};

struct Store(*mut f32);

impl EachPair for Store {
    fn pair(&mut self, at: usize, word: usize, pair: [f32; 2]) {
        for (next, sum) in pair.into_iter().enumerate() {
            // SAFETY: the output has room for two times R sums of each lane.
            unsafe { global::store_f32(self.0.add(32 * at + word + next), sum) };
        }
    }
}

/// A and B of ones, whose bits are given, in shared memory and in registers: products by all four
/// functions, into two lists of sums.
fn sums<F: Product<32>>(one: [u32; 2], metadata: u32) -> Vec<f32>
where
    [f32; 32]: Registers,
{
    let mut memory = Memory::new();
    let out = memory.output::<f32>("out", 64 * THREADS as usize);
    let kernel = || {
        // SAFETY: all lanes do the same; tiles are written, fenced and waited for.
        unsafe {
            let lane = thread::thread_idx_x();
            for at in 0..4 {
                shared::store_v4(Shared(16 * (lane + at * THREADS)), [one[0]; 4]);
                shared::store_v4(Shared(8192 + 16 * (lane + at * THREADS)), [one[1]; 4]);
            }
            copy::fence_shared();
            thread::sync_threads();
            let [a, b] = [0, 8192].map(|at| SharedOperand::rows(Shared(at), Swizzle::Bytes128));
            let mut open = Sums::<32, 2>::zeros().fence();
            open.multiply::<F>(0, a, b);
            let mut running = open.commit();
            running.wait_for_all_but::<1>();
            let sums = running.fence().commit().wait();
            let mut open = sums.fence_with([one[0], one[0], one[0], one[0], metadata]);
            open.multiply_held::<F>(0, 0, b.further(32));
            open.multiply_sparse::<F, 0>(1, a.further(32), 4, b);
            open.multiply_sparse_held::<F, 0>(1, 0, 4, b.further(64));
            let sums = open.commit().wait();
            sums.each_pair(&mut Store(out.as_mut_ptr().add(64 * lane as usize)));
        }
    };
    let config = LaunchConfig { threads: THREADS, shared_bytes: 16384, ..LaunchConfig::default() };
    Chip::Sm90a.with(|| launch("products", config, &mut memory, kernel)).unwrap();
    memory.read(out)
}

#[test]
fn products_of_ones_count_the_columns() {
    let check = |sums: Vec<f32>, kept: f32| {
        assert!(sums.chunks(64).all(|lane| lane[..32] == [2.0 * kept; 32]), "dense");
        assert!(sums.chunks(64).all(|lane| lane[32..] == [2.0 * kept; 32]), "sparse");
    };
    // 16 columns a product, or of 32 those that are kept.
    check(sums::<F16>([0x3c00_3c00; 2], 0x4444_4444), 16.0);
    check(sums::<Bf16>([0x3f80_3f80; 2], 0x4444_4444), 16.0);
    check(sums::<E4m3E5m2>([0x3838_3838, 0x3c3c_3c3c], 0x4444_4444), 32.0);
}
