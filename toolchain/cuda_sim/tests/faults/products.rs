// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous products of a warpgroup: what a kernel leaves out, or does too early.

use super::*;
use cuda_mma::warpgroup::{Descriptor, WarpgroupFactor, WarpgroupMma};
use cuda_sim::ProductFault;
use cuda_sim::wgmma::{self, OperandA};

const MMA: WarpgroupMma =
    WarpgroupMma { a: WarpgroupFactor::F16, b: WarpgroupFactor::F16, n: 8, sparse: false };
const WARPGROUP: LaunchConfig = LaunchConfig { threads: 128, ..SHAPE };
/// A has 64 rows of 32 bytes, then B's 8 columns come.
const A: Descriptor = Descriptor::new(0, 128, 256, Swizzle::None);
const B: Descriptor = Descriptor::new(2048, 128, 256, Swizzle::None);

/// Fills A and B with ones.
fn operands() {
    let thread = thread::thread_idx_x();
    shared::store_v4(16 * thread, [0x3c00_3c00; 4]);
    if thread < 16 {
        shared::store_v4(2048 + 16 * thread, [0x3c00_3c00; 4]);
    }
}

/// Writes the operands, and lets products see them.
fn operands_for_products() {
    operands();
    copy::fence_shared();
    thread::sync_threads();
}

#[track_caller]
fn multiply(sums: &mut [f32; 4]) {
    wgmma::multiply(MMA, sums, OperandA::Shared(A), B, (0, 0));
}

fn finish(sums: &mut [f32; 4]) {
    wgmma::commit();
    wgmma::wait(0, sums);
}

/// Asserts that every interleaving reports this in this line.
#[track_caller]
fn assert_fault(
    memory: &mut Memory,
    line: u32,
    kernel: impl Fn(),
    is: impl Fn(&FaultKind) -> bool,
) {
    Chip::Sm90a.with(|| {
        for fault in faults(WARPGROUP, memory, &kernel) {
            assert!(is(&fault.kind), "{fault}");
            let location = fault.site.location;
            assert_eq!((location.file(), location.line()), (file!(), line), "{fault}");
        }
    });
}

fn is(expected: fn(&ProductFault) -> bool) -> impl Fn(&FaultKind) -> bool {
    move |kind| matches!(kind, FaultKind::Product(fault) if expected(fault))
}

#[test]
fn a_kernel_that_leaves_nothing_out() {
    let mut memory = Memory::new();
    let out = memory.output::<f32>("out", 128).as_mut_ptr();
    let kernel = || {
        operands_for_products();
        let mut sums = [1.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        multiply(&mut sums);
        wgmma::commit();
        wgmma::wait(0, &mut sums);
        assert_eq!(sums, [33.0; 4]);
        // The next group may overwrite what the last has read.
        thread::sync_threads();
        operands_for_products();
        wgmma::fence();
        multiply(&mut sums);
        wgmma::commit();
        wgmma::wait(1, &mut sums);
        assert!(sums[0].is_nan());
        wgmma::wait(0, &mut sums);
        global::store_f32(out.wrapping_add(thread::thread_idx_x() as usize), sums[0]);
    };
    Chip::Sm90a.with(|| {
        for seed in 0..16 {
            let result = launch("tiny", LaunchConfig { seed, ..WARPGROUP }, &mut memory, kernel);
            result.unwrap_or_else(|fault| panic!("{fault}"));
        }
    });
}

#[test]
fn stores_that_no_proxy_fence_follows() {
    let line = line!() + 6;
    let kernel = || {
        operands();
        thread::sync_threads();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        finish(&mut sums);
    };
    assert_fault(&mut Memory::new(), line, kernel, |kind| {
        matches!(kind, FaultKind::Unfenced { fence: "fence_shared", .. })
    });
}

#[test]
fn stores_that_no_barrier_follows() {
    let line = line!() + 6;
    let kernel = || {
        operands();
        copy::fence_shared();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        finish(&mut sums);
    };
    assert_fault(&mut Memory::new(), line, kernel, |kind| {
        matches!(kind, FaultKind::Race { access: Access::Read, .. })
    });
}

#[test]
fn a_tile_whose_copy_nobody_has_waited_for() {
    let mut memory = Memory::new();
    let words = memory.input("words", &[0u32; 512]);
    let line = line!() + 9;
    let kernel = || {
        barrier_at_3072();
        if is_first() {
            barrier::arrive_expect(3072, 2048);
            copy::bulk(0, words.as_ptr().cast(), 2048, 3072);
        }
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        finish(&mut sums);
    };
    assert_fault(&mut memory, line, kernel, |kind| matches!(kind, FaultKind::MissingWait { .. }));
}

fn barrier_at_3072() {
    if is_first() {
        barrier::init(3072, 1);
        barrier::fence_init();
    }
    thread::sync_threads();
}

#[test]
fn a_missing_fence() {
    let line = line!() + 4;
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        multiply(&mut sums);
    };
    let expected = |fault: &ProductFault| *fault == ProductFault::NoFence;
    assert_fault(&mut Memory::new(), line, kernel, is(expected));
}

#[test]
fn a_missing_fence_after_the_sums_were_read() {
    let line = line!() + 9;
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        wgmma::commit();
        wgmma::wait(0, &mut sums);
        sums[0] += 1.0;
        multiply(&mut sums);
    };
    let expected = |fault: &ProductFault| *fault == ProductFault::NoFence;
    assert_fault(&mut Memory::new(), line, kernel, is(expected));
}

/// A product whose sums are stored after what `then` does.
fn stored(memory: &mut Memory, then: fn(&mut [f32; 4])) -> (u32, impl Fn() + use<>) {
    let out = memory.output::<f32>("out", 128).as_mut_ptr();
    let kernel = move || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        then(&mut sums);
        global::store_f32(out.wrapping_add(thread::thread_idx_x() as usize), sums[0]);
    };
    (line!() - 2, kernel)
}

#[test]
fn a_missing_commit() {
    let mut memory = Memory::new();
    let (line, kernel) = stored(&mut memory, |sums| wgmma::wait(0, sums));
    let expected = |fault: &ProductFault| {
        matches!(fault, ProductFault::TooEarly { missing: "commit and wait", .. })
    };
    assert_fault(&mut memory, line, kernel, is(expected));
}

#[test]
fn a_missing_wait() {
    let too_early =
        |fault: &ProductFault| matches!(fault, ProductFault::TooEarly { missing: "wait", .. });
    let mut memory = Memory::new();
    let (line, kernel) = stored(&mut memory, |_| wgmma::commit());
    assert_fault(&mut memory, line, kernel, is(too_early));
    let (line, kernel) = stored(&mut memory, |sums| {
        wgmma::commit();
        wgmma::wait(1, sums);
    });
    assert_fault(&mut memory, line, kernel, is(too_early));
    // Also what comes of them.
    let (line, kernel) = stored(&mut memory, |sums| {
        wgmma::commit();
        sums[0] *= 2.0;
    });
    assert_fault(&mut memory, line, kernel, is(too_early));
}

#[test]
fn sums_that_are_packed_too_early() {
    let line = line!() + 7;
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        wgmma::commit();
        let _ = matrix::pack_f16(sums[0], sums[1]);
    };
    let expected = |fault: &ProductFault| matches!(fault, ProductFault::TooEarly { .. });
    assert_fault(&mut Memory::new(), line, kernel, is(expected));
}

#[test]
fn sums_that_are_changed_while_they_are_under_way() {
    let line = line!() + 7;
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        sums[2] = 0.0;
        multiply(&mut sums);
    };
    let expected = |fault: &ProductFault| matches!(fault, ProductFault::Changed { .. });
    assert_fault(&mut Memory::new(), line, kernel, is(expected));
}

#[test]
fn sums_that_two_products_add_to() {
    let line = line!() + 8;
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        let mut copy = sums;
        multiply(&mut sums);
        multiply(&mut copy);
    };
    let expected = |fault: &ProductFault| matches!(fault, ProductFault::Changed { .. });
    assert_fault(&mut Memory::new(), line, kernel, is(expected));
}

#[test]
fn operands_that_are_overwritten_while_a_product_reads_them() {
    let line = line!() + 7;
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        wgmma::commit();
        shared::store(4 * thread::thread_idx_x(), 0);
        wgmma::wait(0, &mut sums);
    };
    // Whoever comes first: a warp that has not issued the product yet, or one that has.
    Chip::Sm90a.with(|| {
        for fault in faults(WARPGROUP, &mut Memory::new(), kernel) {
            let location = fault.site.location.line();
            match fault.kind {
                FaultKind::MissingWait { access: Access::Write, .. } => assert_eq!(location, line),
                FaultKind::Race { access: Access::Read, other, .. } => {
                    assert_eq!((location, other.location.line()), (line - 2, line));
                }
                _ => panic!("{fault}"),
            }
        }
    });
}

#[test]
fn a_copy_over_operands_that_a_product_reads() {
    let mut memory = Memory::new();
    let words = memory.input("words", &[0u32; 512]);
    let line = line!() + 12;
    let kernel = || {
        barrier_at_3072();
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        wgmma::commit();
        thread::sync_threads();
        if is_first() {
            barrier::arrive_expect(3072, 2048);
            // One group is not waited for.
            copy::bulk(0, words.as_ptr().cast(), 2048, 3072);
        }
        wgmma::wait(0, &mut sums);
    };
    assert_fault(&mut memory, line, kernel, |kind| {
        matches!(kind, FaultKind::MissingWait { access: Access::Write, .. })
    });
}

#[test]
fn a_thread_that_ends_before_its_products() {
    let line = line!() + 6;
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        multiply(&mut sums);
        wgmma::commit();
    };
    let expected =
        |fault: &ProductFault| matches!(fault, ProductFault::Unfinished { missing: "wait", .. });
    assert_fault(&mut Memory::new(), line, kernel, is(expected));
}

#[test]
fn warps_that_multiply_different_tiles() {
    let line = line!() + 6;
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        let tile = if thread::thread_idx_x() < 64 { B } else { A };
        wgmma::multiply(MMA, &mut sums, OperandA::Shared(A), tile, (0, 0));
        finish(&mut sums);
    };
    let expected = |fault: &ProductFault| matches!(fault, ProductFault::Disagree { .. });
    assert_fault(&mut Memory::new(), line, kernel, is(expected));
}

#[test]
fn a_warp_that_leaves_out_a_product() {
    let kernel = || {
        operands_for_products();
        let mut sums = [0.0; 4];
        wgmma::fence();
        if thread::thread_idx_x() < 96 {
            multiply(&mut sums);
            wgmma::commit();
            wgmma::wait(0, &mut sums);
        }
    };
    Chip::Sm90a.with(|| {
        for fault in faults(WARPGROUP, &mut Memory::new(), kernel) {
            assert!(fault.to_string().contains("not all four warps"), "{fault}");
        }
    });
}

#[test]
fn a_block_without_a_whole_warpgroup() {
    let line = line!() + 1;
    let kernel = || wgmma::fence();
    Chip::Sm90a.with(|| {
        assert_faults!(
            &mut Memory::new(),
            kernel,
            FaultKind::Product(ProductFault::NoWarpgroup { warps: 2 }),
            line
        );
    });
}

#[test]
fn an_operand_that_does_not_lie_as_its_swizzle_has_it() {
    let mut memory = Memory::new();
    for (at, swizzle) in
        [(512, Swizzle::Bytes128), (112, Swizzle::Bytes128), (256, Swizzle::Bytes64)]
    {
        let line = line!() + 6;
        let kernel = || {
            operands_for_products();
            let mut sums = [0.0; 4];
            wgmma::fence();
            let tile = Descriptor::new(at, 16, 8 * swizzle.row_bytes(), swizzle);
            wgmma::multiply(MMA, &mut sums, OperandA::Shared(tile), B, (0, 0));
            finish(&mut sums);
        };
        let expected = |fault: &ProductFault| matches!(fault, ProductFault::Tile { .. });
        assert_fault(&mut memory, line, kernel, is(expected));
    }
}

#[test]
fn metadata_of_a_product_that_are_not_ordered() {
    let mma = WarpgroupMma { sparse: true, ..MMA };
    let wide = Descriptor::new(2048, 128, 512, Swizzle::None);
    let line = line!() + 7;
    let kernel = || {
        operands_for_products();
        shared_b_for_sparse();
        let mut sums = [0.0; 4];
        wgmma::fence();
        let word = if thread::thread_idx_x() == 64 { 0x4444_4446 } else { 0x4444_4444 };
        wgmma::multiply(mma, &mut sums, OperandA::Shared(A), wide, (word, 0));
        finish(&mut sums);
    };
    assert_fault(
        &mut Memory::new(),
        line,
        kernel,
        |kind| matches!(kind, FaultKind::Unordered(unordered) if (unordered.row, unordered.group) == (32, 0)),
    );
}

fn shared_b_for_sparse() {
    let thread = thread::thread_idx_x();
    if thread < 16 {
        shared::store_v4(2304 + 16 * thread, [0x3c00_3c00; 4]);
    }
    copy::fence_shared();
    thread::sync_threads();
}

#[test]
fn products_on_a_chip_without_them() {
    for fault in faults(WARPGROUP, &mut Memory::new(), wgmma::fence) {
        assert!(fault.to_string().ends_with("wgmma.fence does not exist on sm_90, only on sm_90a"));
    }
}
