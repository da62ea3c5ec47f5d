// SPDX-License-Identifier: MIT OR Apache-2.0
//! One tiny kernel for each kind of mistake: it is reported, at its line, in every interleaving.

use cuda_sim::{
    Access, Buffer, Chip, Fault, FaultKind, LaunchConfig, Memory, MemoryBytes, OnChip as _,
    Swizzle, TensorMap, TensorMapError, barrier, copy, global, grid, launch, matrix, mma, shared,
    thread, warp,
};

const SHAPE: LaunchConfig = LaunchConfig {
    blocks: 1,
    threads: 64,
    blocks_yz: [1; 2],
    threads_yz: [1; 2],
    shared_bytes: 4096,
    seed: 0,
    registers: 32,
    cooperative: false,
    overlapping: false,
    steps: 1 << 22,
};

/// Runs a kernel under several seeds and returns the mistake that each run reports.
fn faults(shape: LaunchConfig, memory: &mut Memory, kernel: impl Fn()) -> Vec<Fault> {
    let run = |seed| launch("tiny", LaunchConfig { seed, ..shape }, memory, &kernel);
    (0..16).map(run).map(|result| result.expect_err("the kernel has a mistake")).collect()
}

/// Asserts that every interleaving reports a kind of mistake in a line of this file.
macro_rules! assert_faults {
    ($memory:expr, $kernel:expr, $kind:pat, $line:expr) => {
        for fault in faults(SHAPE, $memory, $kernel) {
            assert!(matches!(fault.kind, $kind), "{fault}");
            assert_eq!(fault.site.location.file(), file!(), "{fault}");
            assert_eq!(fault.site.location.line(), $line, "{fault}");
        }
    };
}

fn lane() -> u32 {
    warp::lane_id()
}

fn is_first() -> bool {
    thread::thread_idx_x() == 0
}

/// Sets up a barrier at byte 0, seen by all.
fn barrier_at_0(arrivals: u32) {
    if is_first() {
        barrier::init(0, arrivals);
        barrier::fence_init();
    }
    thread::sync_threads();
}

fn words(memory: &mut Memory) -> Buffer<u32> {
    memory.input("words", &[7u32; 64])
}

mod blocks;
mod chips;
mod copies;
mod launches;
mod masks;
mod memory;
mod order;
mod products;
mod proxies;
mod scopes;
mod unseen;

#[test]
fn metadata_that_is_not_ordered() {
    let line = line!() + 3;
    let kernel = || {
        // Row 9 (upper half) of group 1: its first index pair is (2, 1).
        let metadata = if lane() == 4 { 0x4446_4444 } else { 0x4444_4444 };
        let _ = mma::sp_m16n8k32_f16_f32([0; 4], metadata, [0; 4], [0.0; 4]);
    };
    for fault in faults(SHAPE, &mut Memory::new(), kernel) {
        let FaultKind::Unordered(unordered) = fault.kind else { panic!("{fault}") };
        assert_eq!((unordered.row, unordered.group), (9, 0));
        assert_eq!(fault.site.location.line(), line + 1);
    }
}

#[test]
fn a_panic_in_the_kernel() {
    let zero = std::hint::black_box(0u32);
    let kernel = || {
        let _ = lane() / zero;
    };
    for fault in faults(SHAPE, &mut Memory::new(), kernel) {
        let expected = FaultKind::Panic("attempt to divide by zero".into());
        assert_eq!(fault.kind, expected);
    }
}

#[test]
fn a_report_names_kernel_block_warp_lane_and_line() {
    let kernel = || {
        if thread::block_idx_x() == 2 && thread::thread_idx_x() == 37 {
            shared::store(2, 0);
        }
    };
    let shape = LaunchConfig { blocks: 3, ..SHAPE };
    let fault = &faults(shape, &mut Memory::new(), kernel)[0];
    let location = fault.site.location;
    assert_eq!(
        fault.to_string(),
        format!(
            "kernel tiny, block 2, warp 1, lane 5, at {location}: misaligned: the shared address of \
             a 4-byte store is 2, but must be a multiple of 4"
        )
    );
}
