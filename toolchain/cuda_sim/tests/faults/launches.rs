// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches that the driver refuses.

use super::*;
use cuda_sim::Refusal;

/// Why a launch of a kernel that does nothing is refused, if it is.
fn refused(memory: &mut Memory, shape: LaunchConfig) -> Option<Refusal> {
    match launch("tiny", shape, memory, || {}) {
        Ok(_) => None,
        Err(Fault { kind: FaultKind::Refused(refusal), .. }) => Some(refusal),
        Err(fault) => panic!("{fault}"),
    }
}

#[test]
fn a_launch_without_blocks_or_with_too_many() {
    let with = |blocks| refused(&mut Memory::new(), LaunchConfig { blocks, ..SHAPE });
    assert_eq!(with(0), Some(Refusal::Blocks(0)));
    assert_eq!(with(1 << 31), Some(Refusal::Blocks(1 << 31)));
    assert_eq!(with(1), None);
}

#[test]
fn a_block_without_threads_or_with_too_many() {
    let with = |threads| refused(&mut Memory::new(), LaunchConfig { threads, ..SHAPE });
    assert_eq!(with(0), Some(Refusal::Threads(0)));
    assert_eq!(with(1056), Some(Refusal::Threads(1056)));
    assert_eq!(with(1024), None);
}

#[test]
fn a_block_with_more_shared_memory_than_the_chip_has() {
    for (chip, most) in [(Chip::Sm90, 227 << 10), (Chip::Sm80, 163 << 10)] {
        chip.with(|| {
            let mut memory = Memory::new();
            memory.allow_shared("tiny", most).unwrap();
            assert_eq!(refused(&mut memory, LaunchConfig { shared_bytes: most, ..SHAPE }), None);
            let bytes = most + 16;
            let refusal = Refusal::SharedMemory { bytes, chip, most };
            assert_eq!(memory.allow_shared("tiny", bytes), Err(refusal.clone()));
            let shape = LaunchConfig { shared_bytes: bytes, ..SHAPE };
            assert_eq!(refused(&mut memory, shape), Some(refusal));
        });
    }
}

/// Two launches of one kernel that set its limit one after the other, the smaller last: the larger one is
/// refused.
#[test]
fn a_block_with_more_shared_memory_than_was_allowed_last() {
    let mut memory = Memory::new();
    let large = LaunchConfig { shared_bytes: 100 << 10, ..SHAPE };
    let refusal = |bytes, allowed| Some(Refusal::NotAllowed { bytes, allowed });
    assert_eq!(refused(&mut memory, large), refusal(100 << 10, 48 << 10), "as every kernel");
    memory.allow_shared("tiny", 100 << 10).unwrap();
    assert_eq!(refused(&mut memory, large), None);
    memory.allow_shared("another", 16).unwrap();
    assert_eq!(refused(&mut memory, large), None, "another kernel has its own limit");
    memory.allow_shared("tiny", 50 << 10).unwrap();
    assert_eq!(refused(&mut memory, large), refusal(100 << 10, 50 << 10));
    let fault = launch("tiny", large, &mut memory, || {}).unwrap_err();
    let text = "kernel tiny: the driver refuses the launch: its blocks have 102400 bytes of dynamic \
                shared memory; the kernel is allowed 51200, as it was set last";
    assert_eq!(fault.to_string(), text);
}

/// Runs what `#[kernel]` puts before a kernel.
fn entered(
    shape: LaunchConfig,
    registers: Option<u32>,
    parameters: &[[usize; 2]],
) -> Option<Refusal> {
    match launch("tiny", shape, &mut Memory::new(), || cuda_sim::enter(registers, parameters)) {
        Ok(_) => None,
        Err(Fault { kind: FaultKind::Refused(refusal), .. }) => Some(refusal),
        Err(fault) => panic!("{fault}"),
    }
}

#[test]
fn a_block_with_more_registers_than_a_multiprocessor_has() {
    let shape = LaunchConfig { threads: 1024, registers: 64, ..SHAPE };
    assert_eq!(entered(shape, None, &[]), None);
    let refusal = |registers, most| Some(Refusal::Registers { registers, threads: 1024, most });
    assert_eq!(entered(shape, Some(65), &[]), refusal(65, 896));
    assert_eq!(entered(LaunchConfig { registers: 96, ..shape }, None, &[]), refusal(96, 640));
    assert_eq!(entered(LaunchConfig { registers: 96, ..shape }, Some(40), &[]), None);
}

#[test]
fn a_kernel_with_too_many_parameters() {
    assert_eq!(entered(SHAPE, None, &[[8, 8], [4088, 4]]), None);
    // 4 bytes are left out before the last one.
    let refusal = Some(Refusal::Parameters(4104));
    assert_eq!(entered(SHAPE, None, &[[8, 8], [4084, 4], [8, 8]]), refusal);
}

#[test]
fn blocks_that_wait_for_each_other_and_do_not_all_run_at_once() {
    let shape = LaunchConfig { threads: 1024, cooperative: true, registers: 64, ..SHAPE };
    let with = |blocks, chip: Chip| {
        let shape = LaunchConfig { blocks, ..shape };
        chip.with(|| cuda_sim::only_blocks(0..1, || entered(shape, None, &[])))
    };
    let refusal = |blocks, chip, most| Some(Refusal::Cooperative { blocks, chip, most });
    assert_eq!(with(132, Chip::Sm90), None);
    assert_eq!(with(133, Chip::Sm90), refusal(133, Chip::Sm90, 132));
    assert_eq!(with(109, Chip::Sm80), refusal(109, Chip::Sm80, 108));
    let many = LaunchConfig { blocks: 1000, cooperative: false, ..shape };
    assert_eq!(cuda_sim::only_blocks(0..1, || entered(many, None, &[])), None);
}

#[test]
fn a_wait_for_other_blocks_in_a_launch_that_is_not_cooperative() {
    let mut memory = Memory::new();
    let counter = memory.in_out("counter", &[0u32]).as_mut_ptr();
    let line = line!() + 4;
    let kernel = || {
        grid::wait_for_previous();
        global::add_release(counter, 1);
        global::wait_at_least(counter, 64);
    };
    assert!(launch("tiny", SHAPE, &mut memory, kernel).is_ok(), "one block never waits for others");
    for fault in faults(LaunchConfig { blocks: 2, ..SHAPE }, &mut memory, kernel) {
        assert_eq!(fault.kind, FaultKind::NotCooperative);
        assert_eq!(fault.site.location.line(), line);
    }
}
