// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 32 threads that execute together.

use crate::block::{LaneOperands, LaneResults, OPERANDS};
use crate::config::LANES;
use crate::fault::FaultKind;
use crate::lane::{collective, with};

mod masked;

pub use masked::{
    activemask, match_all_b32, match_all_b64, match_any_b32, match_any_b64, reduce_add_u32,
    reduce_and_u32, reduce_max_i32, reduce_max_u32, reduce_min_i32, reduce_min_u32, reduce_or_u32,
    reduce_xor_u32, shuffle_down_of, shuffle_idx_of, shuffle_up_of, shuffle_xor_of, sync_warp,
    warp_vote_all, warp_vote_any, warp_vote_ballot,
};

/// `%laneid`.
#[must_use]
#[track_caller]
pub fn lane_id() -> u32 {
    with(|_, thread| Ok((thread % LANES) as u32))
}

/// `bar.warp.sync 0xffffffff`.
#[track_caller]
pub fn sync() {
    collective("warp::sync", [0; OPERANDS], |block, warp, _| {
        block.synchronise_lanes(warp, block.lanes(warp));
        Ok([[0; 8]; LANES])
    });
}

/// `shfl.sync.idx.b32`.
#[must_use]
#[track_caller]
pub fn shuffle(word: u32, source: u32) -> u32 {
    collective("warp::shuffle", pair(word, source), |_, _, lanes| {
        is_lane(lanes)?;
        Ok(shuffled(lanes, |_, source| Some(source as usize % LANES)))
    })[0]
}

/// `shfl.sync.bfly.b32`.
#[must_use]
#[track_caller]
pub fn shuffle_xor(word: u32, mask: u32) -> u32 {
    collective("warp::shuffle_xor", pair(word, mask), |_, _, lanes| {
        is_lane(lanes)?;
        Ok(shuffled(lanes, |lane, mask| Some(lane ^ (mask as usize % LANES))))
    })[0]
}

/// `shfl.sync.down.b32`.
#[must_use]
#[track_caller]
pub fn shuffle_down(word: u32, delta: u32) -> u32 {
    collective("warp::shuffle_down", pair(word, delta), |_, _, lanes| {
        is_lane(lanes)?;
        Ok(shuffled(lanes, |lane, delta| Some(lane + delta as usize % LANES)))
    })[0]
}

/// `shfl.sync.up.b32`.
#[must_use]
#[track_caller]
pub fn shuffle_up(word: u32, delta: u32) -> u32 {
    collective("warp::shuffle_up", pair(word, delta), |_, _, lanes| {
        is_lane(lanes)?;
        Ok(shuffled(lanes, |lane, delta| lane.checked_sub(delta as usize % LANES)))
    })[0]
}

/// The operands of a shuffle.
fn pair(word: u32, argument: u32) -> LaneOperands {
    let mut operands = [0; OPERANDS];
    operands[..2].copy_from_slice(&[word, argument]);
    operands
}

/// Refuses a lane, or a distance between lanes, that a warp does not have: hardware takes its lowest five bits.
fn is_lane(lanes: &[LaneOperands; LANES]) -> Result<(), (usize, FaultKind)> {
    match lanes.iter().position(|words| words[1] >= LANES as u32) {
        Some(lane) => Err((lane, FaultKind::NoLane(lanes[lane][1]))),
        None => Ok(()),
    }
}

/// Each lane gets the word of the lane that `source` computes from its own number and argument; its own
/// where there is no such lane.
fn shuffled(
    lanes: &[LaneOperands; LANES],
    source: impl Fn(usize, u32) -> Option<usize>,
) -> [LaneResults; LANES] {
    let mut results = [[0; 8]; LANES];
    for (lane, words) in results.iter_mut().enumerate() {
        let source = source(lane, lanes[lane][1]).filter(|&source| source < LANES);
        words[0] = lanes[source.unwrap_or(lane)][0];
    }
    results
}
