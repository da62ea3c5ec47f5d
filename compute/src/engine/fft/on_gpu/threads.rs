// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads transform the lines of a block.

use super::tables::{LineStages, LineTables};
use crate::device::Device;

/// Threads of a multiprocessor that have so many registers each: the four partitions of its 65,536 hold whole warps.
const fn most(registers: u32) -> u32 {
    const OF_PARTITION: u32 = 16_384;
    let warps = OF_PARTITION / (32 * registers.next_multiple_of(8));
    let most = if warps > 8 { 8 } else { warps };
    4 * 32 * most
}

/// So many that a multiprocessor has most butterflies done in a round, and a stage's last round is nearly full: for blocks
/// of so many lines in so many bytes of shared memory, whose threads have so many registers.
pub fn threads(
    device: &dyn Device,
    (lines, part): (&LineTables, LineStages),
    count: u32,
    shared_bytes: u32,
    registers: u32,
) -> u32 {
    /// Blocks beyond which others do not help.
    const ENOUGH: u32 = 8;
    let most = most(registers);
    let values = lines.length_of(part) as u32 * count;
    let blocks = (device.shared_bytes() / shared_bytes.max(1)).clamp(1, ENOUGH);
    // Values that a thread takes in all stages, each of which waits for the last one.
    let rounds = |threads: u32| {
        let of = |radix: u32| (values / radix.max(1)).div_ceil(threads) * radix;
        lines.radices(part).map(|radix| of(radix as u32)).sum::<u32>()
    };
    let speed = |threads: u32| {
        let under_way = (most / threads).min(blocks);
        f64::from(under_way) / f64::from(rounds(threads).max(1))
    };
    let tried = (1..=most / 32).map(|warps| 32 * warps);
    // Of equals the one with fewer threads.
    tried.rev().max_by(|&a, &b| speed(a).total_cmp(&speed(b))).expect("some are tried")
}
