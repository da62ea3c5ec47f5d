// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous copies in both directions, and tensor maps.

use super::*;

#[test]
fn a_missing_wait_for_a_bulk_copy() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 8;
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            barrier::arrive_expect(0, 256);
            copy::bulk(128, words.as_ptr().cast(), 256, 0);
        }
        thread::sync_threads();
        let _ = shared::load_v4(128);
    };
    assert_faults!(&mut memory, kernel, FaultKind::MissingWait { .. }, line);
}

#[test]
fn a_missing_wait_for_cp_async() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 3;
    let kernel = || {
        copy::async_16(16 * thread::thread_idx_x(), words.as_ptr().cast());
        let _ = shared::load_v4(16 * thread::thread_idx_x());
    };
    assert_faults!(&mut memory, kernel, FaultKind::MissingWait { .. }, line);
}

#[test]
fn a_copy_over_data_that_may_still_be_read() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let kernel = || {
        barrier_at_0(1);
        shared::store(128 + 4 * thread::thread_idx_x(), 1);
        copy::fence_shared();
        if is_first() {
            barrier::arrive_expect(0, 256);
            copy::bulk(128, words.as_ptr().cast(), 256, 0);
        }
    };
    for fault in faults(SHAPE, &mut memory, kernel) {
        let expected = matches!(fault.kind, FaultKind::Race { .. } | FaultKind::MissingWait { .. });
        assert!(expected, "{fault}");
    }
}

/// Thread 0 stores 16 bytes from shared memory in groups of their own; `then` is what it does next.
fn bulk_stores<T: Fn()>(memory: &mut Memory, then: T) -> impl Fn() + use<T> {
    let out = memory.output::<u8>("out", 16).as_mut_ptr();
    move || {
        if is_first() {
            shared::store_v4(128, [1; 4]);
            copy::fence_shared();
            copy::bulk_store(out, 128, 16);
            copy::commit_stores();
            then();
        }
    }
}

#[test]
fn a_store_over_the_source_of_a_bulk_copy() {
    let mut memory = Memory::new();
    let line = line!() + 2;
    let kernel = bulk_stores(&mut memory, || {
        shared::store(132, 2);
        copy::wait_stores_read(0);
    });
    assert_faults!(&mut memory, kernel, FaultKind::MissingWait { .. }, line);
}

#[test]
fn a_wait_that_leaves_out_the_newest_group() {
    let mut memory = Memory::new();
    let line = line!() + 3;
    let kernel = bulk_stores(&mut memory, || {
        copy::wait_stores_read(1);
        shared::store(132, 2);
        copy::wait_stores_read(0);
    });
    assert_faults!(&mut memory, kernel, FaultKind::MissingWait { .. }, line);
}

#[test]
fn a_bulk_copy_that_is_not_aligned() {
    for (to, from, bytes) in [(8, 128, 16), (0, 136, 16), (0, 128, 8)] {
        let mut memory = Memory::new();
        let out = memory.output::<u8>("out", 64).as_mut_ptr();
        let line = line!() + 3;
        let kernel = || {
            shared::store_v4(16 * thread::thread_idx_x(), [1; 4]);
            copy::bulk_store(out.wrapping_add(to), from, bytes);
        };
        assert_faults!(&mut memory, kernel, FaultKind::Misaligned { alignment: 16, .. }, line);
    }
}

#[test]
fn a_bulk_copy_from_shared_memory_that_nobody_waits_for() {
    let mut memory = Memory::new();
    let kernel = bulk_stores(&mut memory, || {});
    let run = |seed| launch("tiny", LaunchConfig { seed, ..SHAPE }, &mut memory, &kernel);
    let faults: Vec<Fault> = (0..16).map(run).filter_map(Result::err).collect();
    assert!(!faults.is_empty(), "some copy outlives the block");
    assert!(faults.iter().all(|fault| fault.kind == FaultKind::Unfinished), "{faults:?}");
}

#[test]
fn a_store_before_the_launch_before_has_ended() {
    let mut memory = Memory::new();
    let out = memory.output::<u32>("out", 64).as_mut_ptr();
    let store = || global::store(out.wrapping_add(thread::thread_idx_x() as usize), 1);
    let line = line!() - 1;
    let after = || {
        start_next_alone();
        store();
    };
    assert_faults!(&mut memory, after, FaultKind::NoWaitForPrevious(_), line);
    // The kernel also runs early if it says only later that the next one may.
    let before = || {
        store();
        start_next_alone();
    };
    assert_faults!(&mut memory, before, FaultKind::NoWaitForPrevious(_), line);
}

/// One thread waits and lets the next launch start; its wait does not hold for the others.
fn start_next_alone() {
    if is_first() {
        grid::wait_for_previous();
        grid::start_next();
    }
    thread::sync_threads();
}

#[test]
fn copies_before_the_launch_before_has_ended() {
    let mut memory = Memory::new();
    let grid = memory.in_out("grid", &[7u32; 64]).as_mut_ptr();
    let line = line!() + 5;
    let load = || {
        start_next_alone();
        barrier_at_0(1);
        if !is_first() {
            copy::bulk(128, grid.cast(), 16, 0);
        }
    };
    assert_faults!(&mut memory, load, FaultKind::NoWaitForPrevious(_), line);
    let line = line!() + 5;
    let store = || {
        start_next_alone();
        shared::store_v4(16 * thread::thread_idx_x(), [1; 4]);
        if !is_first() {
            copy::bulk_store(grid.cast(), 16 * thread::thread_idx_x(), 16);
        }
    };
    assert_faults!(&mut memory, store, FaultKind::NoWaitForPrevious(_), line);
}

#[test]
fn a_start_of_the_next_launch_before_the_launch_before_has_ended() {
    let mut memory = Memory::new();
    let line = line!() + 1;
    let kernel = || grid::start_next();
    assert_faults!(&mut memory, kernel, FaultKind::EarlyStart, line);
}

/// What the launch before has read may be read, and nothing that it has written.
#[test]
fn a_place_that_the_launch_before_has_accessed() {
    for (reads, then_reads) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut memory = Memory::new();
        let buffer = memory.in_out("grid", &[7u32; 64]).as_mut_ptr();
        let at = buffer.wrapping_add(5);
        let shape = LaunchConfig { threads: 32, overlapping: true, ..SHAPE };
        let first = || {
            grid::wait_for_previous();
            if is_first() {
                if reads {
                    let _ = global::load(at);
                } else {
                    global::store(at, 8);
                }
            }
        };
        let mut line = 0;
        let second = || {
            if lane() == 5 {
                if then_reads {
                    let _ = global::load(at);
                } else {
                    global::store(at, 9);
                }
            }
            grid::wait_for_previous();
            grid::start_next();
        };
        line += line!() - 8 + if then_reads { 0 } else { 2 };
        launch("first", shape, &mut memory, first).unwrap();
        let second = launch("second", shape, &mut memory, second);
        if reads && then_reads {
            second.unwrap_or_else(|fault| panic!("{fault}"));
            continue;
        }
        let fault = second.unwrap_err();
        assert!(matches!(fault.kind, FaultKind::NoWaitForPrevious(_)), "{fault}");
        assert_eq!(fault.site.location.line(), line, "{fault}");
    }
}

/// A counter is no data, but may not be touched before the launch before has ended, either.
#[test]
fn a_counter_of_the_launch_before() {
    let mut memory = Memory::new();
    let counter = memory.in_out("counter", &[0u32]).as_mut_ptr();
    let shape = LaunchConfig { threads: 32, overlapping: true, ..SHAPE };
    let first = || {
        grid::wait_for_previous();
        global::add_release(counter, 1);
    };
    launch("first", shape, &mut memory, first).unwrap();
    let second = || {
        global::add_release(counter, 1);
        grid::wait_for_previous();
    };
    let fault = launch("second", shape, &mut memory, second).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::NoWaitForPrevious(_)), "{fault}");
}

/// One that lets the next launch start must wait whatever the launch before does, where that is not known.
#[test]
fn a_place_that_an_unknown_launch_may_have_accessed() {
    let mut memory = Memory::new();
    let buffer = memory.in_out("grid", &[7u32; 64]).as_mut_ptr();
    let shape = LaunchConfig { threads: 32, overlapping: true, ..SHAPE };
    let reads_early = || {
        let _ = global::load(buffer);
        grid::wait_for_previous();
        grid::start_next();
    };
    let first = launch("first", shape, &mut memory, reads_early).unwrap_err();
    assert!(matches!(first.kind, FaultKind::NoWaitForPrevious(_)), "{first}");
    launch("first", shape, &mut memory, grid::wait_for_previous).unwrap();
    launch("second", shape, &mut memory, reads_early).unwrap_or_else(|fault| panic!("{fault}"));
    memory.settle();
    let third = launch("third", shape, &mut memory, reads_early).unwrap_err();
    assert!(matches!(third.kind, FaultKind::NoWaitForPrevious(_)), "{third}");
}

#[test]
fn a_launch_that_ends_without_the_one_beside_it() {
    let mut memory = Memory::new();
    let buffer = memory.in_out("grid", &[7u32; 64]);
    let store = || global::store(buffer.as_mut_ptr().wrapping_add(lane() as usize), 9);
    let shape = LaunchConfig { threads: 32, overlapping: true, ..SHAPE };
    launch("first", shape, &mut memory, grid::wait_for_previous).unwrap();
    let fault = launch("second", shape, &mut memory, store).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::EarlyEnd), "{fault}");
    Chip::Sm80.with(|| {
        let in_order = launch("third", shape, &mut memory, store);
        assert!(in_order.is_ok(), "launches on this chip never overlap");
    });
}

#[test]
fn a_copy_on_a_barrier_without_a_fence() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 5;
    let kernel = || {
        if is_first() {
            barrier::init(0, 1);
            barrier::arrive_expect(0, 256);
            copy::bulk(128, words.as_ptr().cast(), 256, 0);
        }
    };
    assert_faults!(&mut memory, kernel, FaultKind::BarrierUnfenced(0), line);
}

#[test]
fn a_copy_that_nobody_announced() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 4;
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            copy::bulk(128, words.as_ptr().cast(), 256, 0);
            barrier::arrive(0);
            barrier::wait(0, 0);
            barrier::wait(0, 1);
        }
    };
    for fault in faults(SHAPE, &mut memory, kernel) {
        // Where the copy comes before the arrival, its bytes are in excess for ever.
        match fault.kind {
            FaultKind::Unannounced { bytes: 256, .. } => {
                assert_eq!(fault.site.location.line(), line, "{fault}");
            }
            FaultKind::Deadlock { .. } => {}
            _ => panic!("{fault}"),
        }
    }
}

#[test]
fn a_copy_that_nobody_waits_for() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 1;
    let kernel = || copy::async_16(16 * thread::thread_idx_x(), words.as_ptr().cast());
    let run = |seed| launch("tiny", LaunchConfig { seed, ..SHAPE }, &mut memory, kernel);
    let faults: Vec<Fault> = (0..16).map(run).filter_map(Result::err).collect();
    assert!(!faults.is_empty(), "some copy outlives the block");
    for fault in faults {
        assert_eq!((fault.kind.clone(), fault.site.location.line()), (FaultKind::Unfinished, line));
    }
}

/// A map of 64 × 4 f16, boxes of 16 × 2.
fn map(memory: &mut Memory) -> Result<*const u8, TensorMapError> {
    let halves = memory.input("halves", &[1u16; 256]);
    memory.tensor_map(TensorMap {
        address: halves.as_ptr().cast(),
        element_bytes: 2,
        dims: vec![64, 4],
        strides: vec![128],
        box_dims: vec![16, 2],
        swizzle: Swizzle::None,
    })
}

#[test]
fn a_box_that_breaks_the_alignment_rules() {
    let mut memory = Memory::new();
    let map = map(&mut memory).unwrap();
    // The inner coordinate times the element size must be a multiple of 16, negative too.
    for x in [-1, -2, -4, 4, 12] {
        let line = line!() + 5;
        let kernel = || {
            barrier_at_0(1);
            if is_first() {
                barrier::arrive_expect(0, 64);
                copy::tensor_2d(128, map, x, 0, 0);
                barrier::wait(0, 0);
            }
        };
        assert_faults!(&mut memory, kernel, FaultKind::Misaligned { alignment: 16, .. }, line);
    }
    let line = line!() + 4;
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            copy::tensor_2d(64, map, 0, 0, 0);
        }
    };
    assert_faults!(&mut memory, kernel, FaultKind::Misaligned { alignment: 128, .. }, line);
}

#[test]
fn a_pointer_that_is_no_tensor_map() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 3;
    let kernel = || {
        barrier_at_0(1);
        copy::tensor_2d(128, words.as_ptr().cast(), 0, 0, 0);
    };
    assert_faults!(&mut memory, kernel, FaultKind::NoTensorMap(_), line);
}
