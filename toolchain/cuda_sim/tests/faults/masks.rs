// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of some lanes, blocks that are not whole warps, and grids of several dimensions.

use super::*;
use cuda_sim::Refusal;

#[test]
fn a_lane_that_its_own_mask_leaves_out() {
    let line = line!() + 2;
    let kernel = || {
        let _ = warp::warp_vote_ballot(!(1 << 5), lane() > 3);
    };
    let memory = &mut Memory::new();
    assert_faults!(memory, kernel, FaultKind::NotInMask { lane: 5, mask: 0xffff_ffdf }, line);
}

#[test]
fn lanes_with_different_masks() {
    let line = line!() + 3;
    let kernel = || {
        let mask = if lane() == 7 { 0xff } else { u32::MAX };
        let _ = warp::warp_vote_any(mask, true);
    };
    for fault in faults(SHAPE, &mut Memory::new(), kernel) {
        let FaultKind::Divergence { ref instead, .. } = fault.kind else { panic!("{fault}") };
        assert!(
            instead.contains("with the mask 0x000000ff") || instead.contains("0xffffffff"),
            "{fault}"
        );
        assert_eq!(fault.site.location.line(), line);
    }
}

#[test]
fn a_lane_of_the_mask_that_does_not_come() {
    let line = line!() + 3;
    let kernel = || {
        if lane() < 8 && lane() != 3 {
            warp::sync_warp(0xff);
        }
    };
    let memory = &mut Memory::new();
    assert_faults!(memory, kernel, FaultKind::Divergence { scope: "warp", lane: 3, .. }, line);
}

#[test]
fn a_shuffle_from_a_lane_that_takes_no_part() {
    let line = line!() + 3;
    let kernel = || {
        if lane() < 16 {
            let _ = warp::shuffle_idx_of(0xffff, lane(), 20, 32);
        }
    };
    let memory = &mut Memory::new();
    assert_faults!(memory, kernel, FaultKind::NotInMask { lane: 20, mask: 0xffff }, line);
}

#[test]
fn a_shuffle_in_segments_of_an_odd_width() {
    let line = line!() + 2;
    let kernel = || {
        let _ = warp::shuffle_down_of(u32::MAX, lane(), 1, 12);
    };
    assert_faults!(&mut Memory::new(), kernel, FaultKind::Width(12), line);
}

#[test]
fn lanes_that_only_a_group_has_waited_for() {
    let mut memory = Memory::new();
    let out = memory.zeros::<u32>("out", 32);
    let lines = [line!() + 4, line!() + 8];
    let kernel = || {
        let at = out.as_mut_ptr().wrapping_add(lane() as usize);
        if thread::thread_idx_x() < 32 {
            global::store(at, lane());
            warp::sync_warp(if lane() < 16 { 0xffff } else { 0xffff_0000 });
            // The other half has not been waited for.
            let other = out.as_ptr().wrapping_add((lane() ^ 16) as usize);
            let _ = global::load(other);
        }
    };
    for fault in faults(SHAPE, &mut memory, kernel) {
        // Whichever of the two comes second.
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
        assert!(lines.contains(&fault.site.location.line()), "{fault}");
    }
}

#[test]
fn a_product_in_part_of_a_warp() {
    let line = line!() + 2;
    let kernel = || {
        let _ = matrix::transpose(lane());
    };
    for fault in faults(LaunchConfig { threads: 40, ..SHAPE }, &mut Memory::new(), kernel) {
        assert!(matches!(fault.kind, FaultKind::PartialWarp { lanes: 8, .. }), "{fault}");
        assert_eq!((fault.site.warp, fault.site.location.line()), (1, line));
    }
}

#[test]
fn more_blocks_or_threads_along_a_dimension_than_there_are() {
    let refused = |shape| match launch("tiny", shape, &mut Memory::new(), || {}) {
        Err(Fault { kind: FaultKind::Refused(refusal), .. }) => refusal,
        other => panic!("{other:?}"),
    };
    let blocks_yz = [1, 65536];
    assert_eq!(refused(LaunchConfig { blocks_yz, ..SHAPE }), Refusal::BlocksYz(blocks_yz));
    let shape = LaunchConfig { threads: 1, threads_yz: [1, 65], ..SHAPE };
    assert_eq!(refused(shape), Refusal::ThreadsZ(65));
    let shape = LaunchConfig { threads: 64, threads_yz: [32, 1], ..SHAPE };
    assert_eq!(refused(shape), Refusal::Threads(2048));
    let shape = LaunchConfig { threads: 1 << 20, threads_yz: [1 << 20, 1], ..SHAPE };
    assert_eq!(refused(shape), Refusal::Threads(u32::MAX));
    assert_eq!(refused(LaunchConfig { blocks_yz: [0, 1], ..SHAPE }), Refusal::Blocks(0));
}
