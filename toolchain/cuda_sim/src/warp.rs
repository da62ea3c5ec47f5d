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
