// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores: bounds, alignment, unwritten data, races.

use super::*;

#[test]
fn a_read_of_unwritten_shared_memory() {
    let line = line!() + 1;
    let kernel = || _ = shared::load_v4(16 * lane());
    assert_faults!(&mut Memory::new(), kernel, FaultKind::Unwritten(MemoryBytes::Shared(_)), line);
}

#[test]
fn a_store_past_the_end_of_shared_memory() {
    let line = line!() + 1;
    let kernel = || shared::store(4096 - 4 * 63 + 4 * thread::thread_idx_x(), 1);
    let kind = |fault: &Fault| fault.kind.clone();
    assert_faults!(&mut Memory::new(), kernel, FaultKind::OutOfBounds { .. }, line);
    let fault = faults(SHAPE, &mut Memory::new(), kernel).remove(0);
    let place = MemoryBytes::Shared(4096);
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
    let place = MemoryBytes::Global { buffer: "words".into(), offset: -4 };
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
    assert_faults!(&mut memory, kernel, FaultKind::Unwritten(MemoryBytes::Global { .. }), line);
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
    let shape = LaunchConfig { blocks: 2, ..SHAPE };
    let kernel =
        || global::store(out.as_mut_ptr().wrapping_add(thread::thread_idx_x() as usize), 1);
    for fault in faults(shape, &mut memory, kernel) {
        let FaultKind::Race { other, .. } = fault.kind else { panic!("{fault}") };
        assert_ne!(other.block, fault.site.block);
    }
}

/// Bytes that different threads store are no race, one that two store is; so are a byte and a word that has it.
#[test]
fn bytes_have_histories_of_their_own() {
    let mut memory = Memory::new();
    let out = memory.output::<u8>("out", 64);
    let own = |place: usize| global::store_u8(out.as_mut_ptr().wrapping_add(place), 1);
    let kernel = || own(thread::thread_idx_x() as usize);
    for seed in 0..16 {
        launch("bytes", LaunchConfig { seed, ..SHAPE }, &mut memory, kernel).expect("no mistake");
    }
    let kernel = || own(thread::thread_idx_x() as usize / 2);
    for fault in faults(SHAPE, &mut memory, kernel) {
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    }
    let word = out.as_mut_ptr().cast::<u32>();
    let kernel = || match thread::thread_idx_x() {
        5 => own(5),
        0 => global::store(word.wrapping_add(1), 1),
        _ => {}
    };
    for fault in faults(SHAPE, &mut memory, kernel) {
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
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
fn a_store_that_waits_for_all_readers_but_one() {
    // Warp 0 stores a word that the other warps read, and waits for each of them but one before it stores again.
    for readers in 2..=4 {
        for forgotten in 1..=readers {
            let shape = LaunchConfig { threads: 32 * (readers + 1), ..SHAPE };
            let kernel = || {
                if is_first() {
                    shared::store(16, 1);
                }
                barrier_at_0(readers - 1);
                let warp = thread::thread_idx_x() / 32;
                if lane() == 0 && warp > 0 {
                    let _ = shared::load(16);
                    if warp != forgotten {
                        barrier::arrive(0);
                    }
                }
                if is_first() {
                    barrier::wait(0, 0);
                    shared::store(16, 2);
                }
            };
            let mut memory = Memory::new();
            for fault in faults(shape, &mut memory, kernel) {
                assert!(matches!(fault.kind, FaultKind::Race { .. }), "{forgotten}: {fault}");
            }
        }
    }
}
