// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies by a copy engine of what ordinary instructions wrote: a proxy fence comes in between.

use super::*;

/// Thread 0 copies 16 bytes that thread 33 has written to shared memory, with fences around the barrier
/// between the two as `fences` has them: by the writer before and after its store, and by the copying
/// thread after the barrier.
fn copied_store(memory: &mut Memory, fences: [bool; 3]) -> impl Fn() + use<> {
    let out = memory.in_out("out", &[0u32; 4]).as_mut_ptr();
    move || {
        let [before, after, by_reader] = fences;
        grid::wait_for_previous();
        if thread::thread_idx_x() == 33 {
            if before {
                copy::fence_shared();
            }
            shared::store_v4(128, [1, 2, 3, 4]);
            if after {
                copy::fence_shared();
            }
        }
        thread::sync_threads();
        if is_first() {
            if by_reader {
                copy::fence_shared();
            }
            copy::bulk_store(out.cast(), 128, 16);
            copy::commit_stores();
            copy::wait_stores_read(0);
        }
    }
}

#[test]
fn a_copy_of_stores_that_no_proxy_fence_follows() {
    let line = copied_store_line();
    for before in [false, true] {
        let mut memory = Memory::new();
        let kernel = copied_store(&mut memory, [before, false, false]);
        assert_faults!(&mut memory, kernel, FaultKind::Unfenced { access: Access::Read, .. }, line);
    }
}

/// The line of the copy in [`copied_store`].
fn copied_store_line() -> u32 {
    let source = include_str!("proxies.rs");
    source.lines().position(|line| line.contains("copy::bulk_store(out.cast()")).unwrap() as u32 + 1
}

#[test]
fn a_proxy_fence_by_the_writer_or_by_the_one_who_copies_is_enough() {
    for fences in [[false, true, false], [false, false, true]] {
        for seed in 0..16 {
            let mut memory = Memory::new();
            let kernel = copied_store(&mut memory, fences);
            launch("tiny", LaunchConfig { seed, ..SHAPE }, &mut memory, kernel).unwrap();
        }
    }
}

#[test]
fn a_proxy_fence_by_one_who_need_not_know_of_the_store() {
    let mut memory = Memory::new();
    let out = memory.in_out("out", &[0u32; 4]).as_mut_ptr();
    let line = line!() + 11;
    let kernel = || {
        grid::wait_for_previous();
        match thread::thread_idx_x() {
            33 => shared::store_v4(128, [1; 4]),
            // In another warp, which nothing orders after the store.
            1 => copy::fence_shared(),
            _ => {}
        }
        thread::sync_threads();
        if is_first() {
            copy::bulk_store(out.cast(), 128, 16);
        }
    };
    assert_faults!(&mut memory, kernel, FaultKind::Unfenced { .. }, line);
}

#[test]
fn a_copy_over_stores_that_no_proxy_fence_follows() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 7;
    let kernel = || {
        barrier_at_0(1);
        shared::store(128 + 4 * thread::thread_idx_x(), 1);
        thread::sync_threads();
        if is_first() {
            barrier::arrive_expect(0, 256);
            copy::bulk(128, words.as_ptr().cast(), 256, 0);
        }
        barrier::wait(0, 0);
    };
    assert_faults!(&mut memory, kernel, FaultKind::Unfenced { access: Access::Write, .. }, line);
}

/// What was only read, or written by a copy that has been waited for, needs no fence: waits order copies.
#[test]
fn a_ring_that_copies_fill_and_empty_needs_no_proxy_fence() {
    for seed in 0..16 {
        let mut memory = Memory::new();
        let words = words(&mut memory);
        let out = memory.in_out("out", &[0u32; 4]).as_mut_ptr();
        let kernel = || {
            grid::wait_for_previous();
            if is_first() {
                barrier::init(0, 1);
                barrier::init(8, 64);
                barrier::fence_init();
            }
            thread::sync_threads();
            for phase in 0..3 {
                if is_first() {
                    barrier::wait(8, (phase % 2) ^ 1);
                    barrier::arrive_expect(0, 256);
                    copy::bulk(128, words.as_ptr().cast(), 256, 0);
                }
                barrier::wait(0, phase % 2);
                assert_eq!(shared::load(128 + 4 * thread::thread_idx_x()), 7);
                if is_first() {
                    copy::bulk_store(out.cast(), 128, 16);
                    copy::commit_stores();
                    copy::wait_stores_read(0);
                }
                barrier::arrive(8);
            }
        };
        launch("tiny", LaunchConfig { seed, ..SHAPE }, &mut memory, kernel).unwrap();
    }
}

/// Each block adds its part of a buffer and counts; the last thing that block 0 does is to copy all parts.
fn copied_parts(memory: &mut Memory, fenced: bool) -> impl Fn() + use<> {
    let parts = memory.in_out("parts", &[0u32; 64]).as_mut_ptr();
    let counter = memory.in_out("counter", &[0u32]).as_mut_ptr();
    move || {
        barrier_at_0(1);
        grid::wait_for_previous();
        let mine = thread::block_idx_x() * 32 + lane();
        if thread::thread_idx_x() < 32 {
            global::store(parts.wrapping_add(mine as usize), mine);
            warp::sync();
            if is_first() {
                global::add_release(counter, 1);
            }
        }
        if thread::block_idx_x() == 0 && is_first() {
            global::wait_at_least(counter, 2);
            if fenced {
                copy::fence_global();
            }
            barrier::arrive_expect(0, 256);
            copy::bulk(128, parts.cast_const().cast(), 256, 0);
        }
        if thread::block_idx_x() == 0 {
            barrier::wait(0, 0);
            let thread = thread::thread_idx_x();
            assert_eq!(shared::load(128 + 4 * thread), thread);
        }
    }
}

#[test]
fn a_copy_of_what_other_blocks_stored_without_a_proxy_fence() {
    let shape = LaunchConfig { blocks: 2, cooperative: true, ..SHAPE };
    let mut memory = Memory::new();
    let kernel = copied_parts(&mut memory, false);
    for fault in faults(shape, &mut memory, kernel) {
        let FaultKind::Unfenced { access, fence, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!((access, fence), (Access::Read, "fence_global"));
    }
    for seed in 0..16 {
        let mut memory = Memory::new();
        let kernel = copied_parts(&mut memory, true);
        launch("tiny", LaunchConfig { seed, ..shape }, &mut memory, kernel).unwrap();
    }
}
