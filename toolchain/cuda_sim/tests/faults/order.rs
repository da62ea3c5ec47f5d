// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives, block barriers and `mbarrier`s.

use super::*;

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
        launch("tiny", LaunchConfig { seed, ..SHAPE }, &mut Memory::new(), kernel).map_err(
            |fault| {
                assert_eq!(fault.site.location.line(), line, "{fault}");
                assert!(
                    matches!(fault.kind, FaultKind::AmbiguousPhase { known: 0, .. }),
                    "{fault}"
                );
            },
        )
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
    assert_faults!(&mut Memory::new(), kernel, FaultKind::Unwritten(MemoryBytes::Shared(0)), line);
}
