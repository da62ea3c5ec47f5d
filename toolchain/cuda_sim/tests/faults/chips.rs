// SPDX-License-Identifier: MIT OR Apache-2.0
//! What older chips do not have, and `cp.async` on barriers, which they have instead.

use super::*;

#[test]
fn instructions_that_the_chip_does_not_have() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let from = words.as_ptr().cast();
    let kernels: [(&str, &dyn Fn()); 6] = [
        ("cp.async.bulk", &|| copy::bulk(128, from, 256, 0)),
        ("mbarrier.arrive.expect_tx", &|| barrier::arrive_expect(0, 256)),
        ("cp.async.bulk", &|| copy::bulk_store(std::ptr::null_mut(), 128, 16)),
        ("cp.async.bulk.commit_group", &copy::commit_stores),
        ("fence.proxy.async", &copy::fence_shared),
        ("stmatrix", &|| matrix::store_transposed_x2(128 + 16 * lane(), 0, 0)),
    ];
    for (name, kernel) in kernels {
        Chip::Sm80.with(|| {
            for fault in faults(SHAPE, &mut memory, kernel) {
                let expected = FaultKind::NotOnChip { instruction: name, chip: Chip::Sm80 };
                assert_eq!(fault.kind, expected);
                let text = format!("{name} does not exist on sm_80, only on sm_90 and later");
                assert_eq!(fault.kind.to_string(), text);
            }
        });
    }
}

#[test]
fn a_missing_wait_for_cp_async_on_a_barrier() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 7;
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            copy::async_16(128, words.as_ptr().cast());
            copy::async_arrive(0);
            // Its own arrival tells a thread nothing.
            let _ = shared::load_v4(128);
        }
        barrier::wait(0, 0);
    };
    assert_faults!(&mut memory, kernel, FaultKind::MissingWait { .. }, line);
}

#[test]
fn a_copy_after_the_arrival_is_not_waited_for() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 8;
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            copy::async_arrive(0);
            copy::async_16(128, words.as_ptr().cast());
        }
        barrier::wait(0, 0);
        let _ = shared::load_v4(128);
    };
    for fault in faults(SHAPE, &mut memory, kernel) {
        // Before the copy is issued, the bytes are unwritten.
        let kind = matches!(fault.kind, FaultKind::MissingWait { .. } | FaultKind::Unwritten(_));
        assert!(kind && fault.site.location.line() == line, "{fault}");
    }
}

#[test]
fn an_arrival_releases_copies_and_nothing_else() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 9;
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            shared::store(256, 1);
            copy::async_16(128, words.as_ptr().cast());
            copy::async_arrive(0);
        }
        barrier::wait(0, 0);
        let _ = (thread::thread_idx_x() != 0).then(|| shared::load_v4(256));
    };
    for fault in faults(SHAPE, &mut memory, kernel) {
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
        assert_eq!(fault.site.location.line(), line, "{fault}");
    }
}

#[test]
fn a_late_arrival_that_no_phase_expects() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let line = line!() + 5;
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            copy::async_16(128, words.as_ptr().cast());
            (0..2).for_each(|_| copy::async_arrive(0));
            copy::async_wait_all();
        }
    };
    assert_faults!(&mut memory, kernel, FaultKind::OverArrival { .. }, line);
}

#[test]
fn a_thread_that_returns_before_its_copies_are_done() {
    let mut memory = Memory::new();
    let words = words(&mut memory);
    let kernel = || {
        barrier_at_0(1);
        if is_first() {
            copy::async_16(128, words.as_ptr().cast());
            copy::async_arrive(0);
        } else {
            barrier::wait(0, 0);
        }
    };
    let run = |seed| launch("tiny", LaunchConfig { seed, ..SHAPE }, &mut memory, kernel);
    let found: Vec<_> = (0..16).map(run).filter_map(Result::err).collect();
    assert!(found.iter().all(|fault| fault.kind == FaultKind::Unfinished));
    assert!(found.len() > 8, "only where the copy takes longer: {}", found.len());
}
