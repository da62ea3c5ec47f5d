// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 32 threads that execute together.

use crate::block::LANES;
use crate::lane::{collective, with};

/// `%laneid`.
#[must_use]
#[track_caller]
pub fn lane_id() -> u32 {
    with(|_, thread| Ok((thread % LANES) as u32))
}

/// `bar.warp.sync 0xffffffff`.
#[track_caller]
pub fn sync() {
    collective("warp::sync", [0; 16], |block, warp, _| {
        block.synchronise(warp * LANES..(warp + 1) * LANES);
        Ok([[0; 8]; LANES])
    });
}

/// `shfl.sync.idx.b32`.
#[must_use]
#[track_caller]
pub fn shuffle(word: u32, source: u32) -> u32 {
    let mut operands = [0; 16];
    operands[..2].copy_from_slice(&[word, source]);
    collective("warp::shuffle", operands, |_, _, lanes| {
        let mut shuffled = [[0; 8]; LANES];
        for (lane, words) in shuffled.iter_mut().enumerate() {
            words[0] = lanes[lanes[lane][1] as usize % LANES][0];
        }
        Ok(shuffled)
    })[0]
}
