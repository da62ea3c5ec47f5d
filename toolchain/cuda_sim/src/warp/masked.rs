// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of the lanes that a mask names.

use super::pair;
use crate::block::{LaneOperands, MaskedRun, OPERANDS};
use crate::config::LANES;
use crate::lane::{masked, with};

/// `activemask.b32`: this lane alone, which is one of the answers that hardware may give.
#[must_use]
#[track_caller]
pub fn activemask() -> u32 {
    with(|_, thread| Ok(1 << (thread % LANES)))
}

/// `bar.warp.sync`.
#[track_caller]
pub fn sync_warp(mask: u32) {
    masked("warp::sync_warp", mask, [0; OPERANDS], |block, warp, _, mask| {
        block.synchronise_lanes(warp, mask);
        Ok([[0; 8]; LANES])
    });
}

/// A collective that computes a word from those of its lanes, for all of them.
#[track_caller]
fn combined(name: &'static str, mask: u32, operands: LaneOperands, run: MaskedRun) -> u32 {
    masked(name, mask, operands, run)[0]
}

/// The numbers of a mask's lanes.
fn named(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

fn ballot(words: &[LaneOperands; LANES], mask: u32) -> u32 {
    named(mask).filter(|&lane| words[lane][0] != 0).fold(0, |lanes, lane| lanes | 1 << lane)
}

/// `vote.sync.all.pred`.
#[must_use]
#[track_caller]
pub fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    combined("warp::warp_vote_all", mask, pair(predicate.into(), 0), |_, _, words, mask| {
        Ok([[u32::from(ballot(words, mask) == mask); 8]; LANES])
    }) != 0
}

/// `vote.sync.any.pred`.
#[must_use]
#[track_caller]
pub fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    combined("warp::warp_vote_any", mask, pair(predicate.into(), 0), |_, _, words, mask| {
        Ok([[u32::from(ballot(words, mask) != 0); 8]; LANES])
    }) != 0
}

/// `vote.sync.ballot.b32`.
#[must_use]
#[track_caller]
pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    combined("warp::warp_vote_ballot", mask, pair(predicate.into(), 0), |_, _, words, mask| {
        Ok([[ballot(words, mask); 8]; LANES])
    })
}

/// `match.any.sync.b32`.
#[must_use]
#[track_caller]
pub fn match_any_b32(mask: u32, word: u32) -> u32 {
    match_any_b64(mask, word.into())
}

/// `match.any.sync.b64`.
#[must_use]
#[track_caller]
pub fn match_any_b64(mask: u32, words: u64) -> u32 {
    combined("warp::warp_match_any", mask, halves(words), |_, _, words, mask| {
        let equal = |mine: usize| named(mask).filter(move |&lane| words[lane] == words[mine]);
        let lanes = |mine| equal(mine).fold(0, |lanes, lane| lanes | 1 << lane);
        Ok(std::array::from_fn(|lane| [lanes(lane); 8]))
    })
}

/// `match.all.sync.b32`.
#[must_use]
#[track_caller]
pub fn match_all_b32(mask: u32, word: u32) -> u32 {
    match_all_b64(mask, word.into())
}

/// `match.all.sync.b64`.
#[must_use]
#[track_caller]
pub fn match_all_b64(mask: u32, words: u64) -> u32 {
    combined("warp::warp_match_all", mask, halves(words), |_, _, words, mask| {
        let first = named(mask).next().unwrap_or(0);
        let is_one = named(mask).all(|lane| words[lane] == words[first]);
        Ok([[if is_one { mask } else { 0 }; 8]; LANES])
    })
}

/// Two words.
fn halves(words: u64) -> LaneOperands {
    pair(words as u32, (words >> 32) as u32)
}

/// A word and what a shuffle needs to find another one.
fn shuffled(word: u32, argument: u32, width: u32) -> LaneOperands {
    let mut operands = pair(word, argument);
    operands[2] = width;
    operands
}

macro_rules! shuffles {
    ($($name:ident $operation:literal $source:expr;)*) => {$(
        /// `shfl.sync.b32` among the lanes of a mask.
        #[must_use]
        #[track_caller]
        pub fn $name(mask: u32, word: u32, argument: u32, width: u32) -> [u32; 2] {
            let operands = shuffled(word, argument, width);
            let results = masked($operation, mask, operands, |_, _, words, mask| {
                let mut results = [[0; 8]; LANES];
                for lane in named(mask) {
                    let [word, argument, width, ..] = words[lane];
                    if !width.is_power_of_two() || width > LANES as u32 {
                        return Err((lane, crate::FaultKind::Width(width)));
                    }
                    if argument >= LANES as u32 {
                        return Err((lane, crate::FaultKind::NoLane(argument)));
                    }
                    let (width, argument) = (width as usize, argument as usize);
                    let segment = lane / width * width;
                    let source: Option<usize> = $source(lane, argument, segment, width);
                    let Some(source) = source else {
                        results[lane][..2].copy_from_slice(&[word, 0]);
                        continue;
                    };
                    if mask >> source & 1 == 0 {
                        return Err((lane, crate::FaultKind::NotInMask { lane: source as u32, mask }));
                    }
                    results[lane][..2].copy_from_slice(&[words[source][0], 1]);
                }
                Ok(results)
            });
            [results[0], results[1]]
        }
    )*};
}
shuffles! {
    shuffle_idx_of "warp::warp_shuffle_idx"
        |_, argument, segment, width| Some(segment + argument % width);
    shuffle_xor_of "warp::warp_shuffle_xor" |lane: usize, argument, segment, width| {
        // The instruction clamps to the end of the segment, and reads before it.
        Some(lane ^ (argument % LANES)).filter(|&source| source < segment + width)
    };
    shuffle_down_of "warp::warp_shuffle_down" |lane: usize, argument, segment, width| {
        Some(lane + argument % LANES).filter(|&source| source < segment + width)
    };
    shuffle_up_of "warp::warp_shuffle_up" |lane: usize, argument, segment, _| {
        lane.checked_sub(argument % LANES).filter(|&source| source >= segment)
    };
}

macro_rules! reductions {
    ($($name:ident $ty:ident $combine:expr;)*) => {$(
        /// `redux.sync`.
        #[must_use]
        #[track_caller]
        pub fn $name(mask: u32, value: $ty) -> $ty {
            combined("warp::warp_reduce", mask, pair(value as u32, 0), |_, _, words, mask| {
                let values = named(mask).map(|lane| words[lane][0] as $ty);
                let result = values.reduce($combine).unwrap_or_default();
                Ok([[result as u32; 8]; LANES])
            }) as $ty
        }
    )*};
}
reductions! {
    reduce_add_u32 u32 u32::wrapping_add;
    reduce_min_u32 u32 Ord::min;
    reduce_max_u32 u32 Ord::max;
    reduce_and_u32 u32 |a, b| a & b;
    reduce_or_u32 u32 |a, b| a | b;
    reduce_xor_u32 u32 |a, b| a ^ b;
    reduce_min_i32 i32 Ord::min;
    reduce_max_i32 i32 Ord::max;
}
