// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks that wait for each other through counters in global memory.

use super::*;

const THREE: LaunchConfig = LaunchConfig { blocks: 3, cooperative: true, ..SHAPE };

/// One counter and one word of data.
struct Words {
    memory: Memory,
    counter: *mut u32,
    data: *mut u32,
}

fn words_of_three(start: u32) -> Words {
    let mut memory = Memory::new();
    let counter = memory.in_out("counter", &[start]).as_mut_ptr();
    let data = memory.in_out("data", &[0u32]).as_mut_ptr();
    Words { memory, counter, data }
}

/// Blocks 0 to 2, in this order, each store the word: lane 0 of warp 0 stores, that of warp 1 counts.
fn hand_over(
    counter: *mut u32,
    data: *mut u32,
    awaited: impl Fn(u32) -> u32,
    counts_late: impl Fn(u32) -> bool,
) {
    let block = thread::block_idx_x();
    if thread::thread_idx_x() == 0 {
        global::wait_at_least(counter, awaited(block));
        if !counts_late(block) {
            global::add_release(counter, 1);
        }
        global::store(data, block);
    }
    thread::sync_threads();
    if thread::thread_idx_x() == 32 && counts_late(block) {
        global::add_release(counter, 1);
    }
}

#[test]
fn blocks_that_wait_for_each_other_are_ordered() {
    // Also where the counter wraps around.
    for start in [0, u32::MAX] {
        for seed in 0..16 {
            let Words { mut memory, counter, data } = words_of_three(start);
            let kernel = || hand_over(counter, data, |block| start.wrapping_add(block), |_| true);
            let run = launch("tiny", LaunchConfig { seed, ..THREE }, &mut memory, kernel);
            run.unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}

/// The mistake of all interleavings is a race of two stores by different blocks.
fn assert_race(awaited: impl Fn(u32) -> u32, counts_late: impl Fn(u32) -> bool) {
    let Words { mut memory, counter, data } = words_of_three(0);
    for fault in faults(THREE, &mut memory, || hand_over(counter, data, &awaited, &counts_late)) {
        let FaultKind::Race { other, .. } = fault.kind else { panic!("{fault}") };
        assert!(fault.site.block != other.block, "{fault}");
        assert_eq!(fault.site.location.line(), other.location.line(), "{fault}");
    }
}

#[test]
fn a_missing_wait_for_another_block() {
    assert_race(|block| if block == 2 { 0 } else { block }, |_| true);
}

#[test]
fn a_wait_for_too_few() {
    // It could go on after block 0, even where both have counted.
    assert_race(|block| block.min(1), |_| true);
}

#[test]
fn a_count_that_comes_before_what_it_promises() {
    assert_race(|block| block, |block| block != 0);
}

#[test]
fn a_deadlock_between_blocks() {
    let Words { mut memory, counter, data } = words_of_three(0);
    let kernel = || hand_over(counter, data, |block| block << 20, |_| true);
    for fault in faults(THREE, &mut memory, kernel) {
        let text = fault.to_string();
        assert!(matches!(fault.kind, FaultKind::Deadlock { .. }), "{text}");
        let waits = "waits for the counter at byte 0 of buffer `counter` to come to ";
        assert!(text.contains(waits), "{text}");
    }
}

#[test]
fn a_counter_that_is_used_as_data() {
    let Words { mut memory, counter, .. } = words_of_three(0);
    let kernel = || {
        global::add_release(counter, 1);
        global::store(counter, 0);
    };
    for fault in faults(THREE, &mut memory, kernel) {
        assert!(matches!(fault.kind, FaultKind::Counter(_)), "{fault}");
    }
}

#[test]
fn a_counter_that_may_not_be_written() {
    let mut memory = Memory::new();
    let counter = words(&mut memory).as_mut_ptr();
    let kernel = || global::add_release(counter, 1);
    for fault in faults(SHAPE, &mut memory, kernel) {
        assert!(matches!(fault.kind, FaultKind::ReadOnly(_)), "{fault}");
    }
}
