// SPDX-License-Identifier: MIT OR Apache-2.0
//! One tiny kernel for each kind of mistake: it is reported, at its line, in every interleaving.

use cuda_sim::{
    Access, Buffer, Config, Fault, FaultKind, Memory, Place, TensorMap, TensorMapError, barrier,
    copy, global, grid, launch, matrix, mma, shared, thread, warp,
};

const SHAPE: Config = Config { blocks: 1, threads: 64, shared_bytes: 4096, seed: 0 };

/// Runs a kernel under several seeds and returns the mistake that each run reports.
fn faults(shape: Config, memory: &mut Memory, kernel: impl Fn()) -> Vec<Fault> {
    let run = |seed| launch("tiny", Config { seed, ..shape }, memory, &kernel);
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

#[test]
fn a_read_of_unwritten_shared_memory() {
    let line = line!() + 1;
    let kernel = || _ = shared::load_v4(16 * lane());
    assert_faults!(&mut Memory::new(), kernel, FaultKind::Unwritten(Place::Shared(_)), line);
}

#[test]
fn a_store_past_the_end_of_shared_memory() {
    let line = line!() + 1;
    let kernel = || shared::store(4096 - 4 * 63 + 4 * thread::thread_idx_x(), 1);
    let kind = |fault: &Fault| fault.kind.clone();
    assert_faults!(&mut Memory::new(), kernel, FaultKind::OutOfBounds { .. }, line);
    let fault = faults(SHAPE, &mut Memory::new(), kernel).remove(0);
    let place = Place::Shared(4096);
    let expected = FaultKind::OutOfBounds { access: Access::Write, bytes: 4, place, size: 4096 };
    assert_eq!(kind(&fault), expected);
    assert_eq!((fault.site.warp, fault.site.lane), (1, 31));
}

#[test]
fn a_store_past_the_end_of_a_buffer() {
    let mut memory = Memory::new();
    let out = memory.output::<u32>("out", 63).as_mut_ptr();
    let line = line!() + 1;
    let kernel = || global::store(out.wrapping_add(thread::thread_idx_x() as usize), 1);
    assert_faults!(&mut memory, kernel, FaultKind::OutOfBounds { .. }, line);
}

#[test]
fn a_load_before_the_start_of_a_buffer() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let fault = faults(SHAPE, &mut memory, || {
        let _ = global::load_constant(words.as_ptr().wrapping_sub(1));
    });
    let place = Place::Global { buffer: "words".into(), offset: -4 };
    let kind = FaultKind::OutOfBounds { access: Access::Read, bytes: 4, place, size: 256 };
    assert_eq!(fault[0].kind, kind);
}

#[test]
fn a_pointer_into_no_buffer() {
    let line = line!() + 1;
    let kernel = || _ = global::load_constant(std::ptr::without_provenance(64));
    assert_faults!(&mut Memory::new(), kernel, FaultKind::WildPointer { address: 64, .. }, line);
}

#[test]
fn a_store_to_an_input() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 1;
    let kernel = || global::store(words.as_mut_ptr(), 1);
    assert_faults!(&mut memory, kernel, FaultKind::ReadOnly(_), line);
}

#[test]
fn a_read_of_an_unwritten_output() {
    let mut memory = Memory::new();
    let out = memory.output::<u32>("out", 4);
    let line = line!() + 1;
    let kernel = || _ = global::load_constant(out.as_ptr());
    assert_faults!(&mut memory, kernel, FaultKind::Unwritten(Place::Global { .. }), line);
}

#[test]
fn a_misaligned_load() {
    let line = line!() + 1;
    let kernel = || _ = shared::load_v4(8);
    assert_faults!(&mut Memory::new(), kernel, FaultKind::Misaligned { alignment: 16, .. }, line);
}

#[test]
fn a_race_between_lanes_of_a_warp() {
    let kernel = || {
        shared::store(4 * thread::thread_idx_x(), 1);
        // Another lane's word, without warp::sync().
        let _ = shared::load_v4(16 * (thread::thread_idx_x() / 4));
    };
    for fault in faults(SHAPE, &mut Memory::new(), kernel) {
        // If the other lanes have not come that far, the word is unwritten.
        let expected = matches!(fault.kind, FaultKind::Race { .. } | FaultKind::Unwritten(_));
        assert!(expected, "{fault}");
    }
}

#[test]
fn a_race_between_warps() {
    let line = line!() + 3;
    let kernel = || {
        if lane() == 0 {
            shared::store(0, 1);
        }
        warp::sync();
    };
    assert_faults!(&mut Memory::new(), kernel, FaultKind::Race { .. }, line);
}

#[test]
fn a_race_between_blocks() {
    let mut memory = Memory::new();
    let out = memory.output::<u32>("out", 64);
    let shape = Config { blocks: 2, ..SHAPE };
    let kernel =
        || global::store(out.as_mut_ptr().wrapping_add(thread::thread_idx_x() as usize), 1);
    for fault in faults(shape, &mut memory, kernel) {
        let FaultKind::Race { other, .. } = fault.kind else { panic!("{fault}") };
        assert_ne!(other.block, fault.site.block);
    }
}

#[test]
fn a_constant_that_changes_is_a_race_although_a_barrier_orders_it() {
    let mut memory = Memory::new();
    let word = memory.in_out("word", &[1u32]);
    let line = line!() + 6;
    let kernel = || {
        if is_first() {
            global::store(word.as_mut_ptr(), 2);
        }
        thread::sync_threads();
        let _ = global::load_constant(word.as_ptr());
    };
    assert_faults!(&mut memory, kernel, FaultKind::Race { .. }, line);
}

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
    let run = |seed| launch("tiny", Config { seed, ..SHAPE }, &mut memory, &kernel);
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
        grid::start_next();
        store();
    };
    assert_faults!(&mut memory, after, FaultKind::NoWaitForPrevious(_), line);
    // The kernel also runs early if it says only later that the next one may.
    let before = || {
        store();
        grid::start_next();
    };
    assert_faults!(&mut memory, before, FaultKind::NoWaitForPrevious(_), line);
    // One thread's wait does not hold for another one.
    let one_waits = || {
        grid::start_next();
        if is_first() {
            grid::wait_for_previous();
        }
        thread::sync_threads();
        store();
    };
    assert_faults!(&mut memory, one_waits, FaultKind::NoWaitForPrevious(_), line);
}

#[test]
fn copies_before_the_launch_before_has_ended() {
    let mut memory = Memory::new();
    let grid = memory.in_out("grid", &[7u32; 64]).as_mut_ptr();
    let line = line!() + 4;
    let load = || {
        grid::start_next();
        barrier_at_0(1);
        copy::bulk(128, grid.cast(), 16, 0);
    };
    assert_faults!(&mut memory, load, FaultKind::NoWaitForPrevious(_), line);
    let line = line!() + 4;
    let store = || {
        grid::start_next();
        shared::store_v4(16 * thread::thread_idx_x(), [1; 4]);
        copy::bulk_store(grid.cast(), 16 * thread::thread_idx_x(), 16);
    };
    assert_faults!(&mut memory, store, FaultKind::NoWaitForPrevious(_), line);
}

#[test]
fn a_collective_that_one_lane_skips() {
    let line = line!() + 3;
    let kernel = || {
        if lane() != 5 {
            let _ = matrix::transpose(lane());
        }
    };
    for fault in faults(SHAPE, &mut Memory::new(), kernel) {
        let FaultKind::Divergence { lane: 5, ref instead, .. } = fault.kind else {
            panic!("{fault}")
        };
        assert!(instead.contains("has returned"), "{fault}");
        assert_eq!(fault.site.location.line(), line);
    }
}

#[test]
fn a_collective_that_two_halves_of_a_warp_execute_apart() {
    let kernel = || {
        if lane() < 16 {
            warp::sync();
        }
        if lane() >= 16 {
            warp::sync();
        }
    };
    for fault in faults(SHAPE, &mut Memory::new(), kernel) {
        assert!(matches!(fault.kind, FaultKind::Divergence { scope: "warp", .. }), "{fault}");
    }
}

#[test]
fn a_block_barrier_that_one_warp_skips() {
    let line = line!() + 3;
    let kernel = || {
        if thread::thread_idx_x() < 32 {
            thread::sync_threads();
        }
    };
    let memory = &mut Memory::new();
    assert_faults!(memory, kernel, FaultKind::Divergence { scope: "block", .. }, line);
}

#[test]
fn a_deadlock() {
    let line = line!() + 3;
    let kernel = || {
        barrier_at_0(65);
        barrier::wait(0, 0);
    };
    let memory = &mut Memory::new();
    assert_faults!(memory, kernel, FaultKind::Deadlock { .. }, line);
    let text = faults(SHAPE, memory, kernel)[0].to_string();
    assert!(text.contains("lacks 65 of 65 arrivals and 0 bytes"), "{text}");
}

#[test]
fn an_arrival_too_many() {
    let mut memory = Memory::new();
    let line = line!() + 4;
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            (0..2).for_each(|_| barrier::arrive_expect(0, 16));
        }
    };
    assert_faults!(&mut memory, kernel, FaultKind::OverArrival { at: 0, phase: 0 }, line);
}

#[test]
fn a_wait_whose_meaning_depends_on_luck() {
    let line = line!() + 6;
    let kernel = || {
        barrier_at_0(32);
        if thread::thread_idx_x() < 32 {
            barrier::arrive(0);
            // Phase 1, without having waited for phase 0: parity 1 is also the phase before it.
            barrier::wait(0, 1);
        }
    };
    let runs = (0..16).map(|seed| {
        launch("tiny", Config { seed, ..SHAPE }, &mut Memory::new(), kernel).map_err(|fault| {
            assert_eq!(fault.site.location.line(), line, "{fault}");
            assert!(matches!(fault.kind, FaultKind::AmbiguousPhase { known: 0, .. }), "{fault}");
        })
    });
    assert!(runs.into_iter().any(|run| run.is_err()), "some lane comes after phase 0 is complete");
}

#[test]
fn use_of_a_barrier_that_does_not_exist() {
    let line = line!() + 1;
    let kernel = || barrier::arrive(8);
    assert_faults!(&mut Memory::new(), kernel, FaultKind::NoBarrier(8), line);
}

#[test]
fn use_of_a_barrier_before_its_set_up_is_seen() {
    let kernel = || {
        if is_first() {
            barrier::init(0, 64);
        }
        barrier::arrive(0);
    };
    for fault in faults(SHAPE, &mut Memory::new(), kernel) {
        let expected =
            matches!(fault.kind, FaultKind::BarrierUnseen { .. } | FaultKind::NoBarrier(0));
        assert!(expected, "{fault}");
    }
}

#[test]
fn a_barrier_that_is_set_up_twice() {
    let line = line!() + 1;
    let kernel = || barrier::init(0, 1);
    let memory = &mut Memory::new();
    assert_faults!(memory, kernel, FaultKind::BarrierTwice(0), line);
}

#[test]
fn data_in_the_bytes_of_a_barrier() {
    let line = line!() + 3;
    let kernel = || {
        barrier_at_0(1);
        let _ = shared::load_v4(0);
    };
    assert_faults!(&mut Memory::new(), kernel, FaultKind::Unwritten(Place::Shared(0)), line);
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
    let run = |seed| launch("tiny", Config { seed, ..SHAPE }, &mut memory, kernel);
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
    let shape = Config { blocks: 3, ..SHAPE };
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
