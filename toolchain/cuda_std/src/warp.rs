// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 32 threads that execute together.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::warp as sim;

/// Lanes in a warp.
pub const SIZE: u32 = 32;

mod masked;

pub use masked::{
    WarpMatchValue, WarpReduceValue, WarpReductionOp, WarpShuffleValue, activemask, match_all_b32,
    match_all_b64, match_any_b32, match_any_b64, reduce_add_u32, reduce_and_u32, reduce_max_i32,
    reduce_max_u32, reduce_min_i32, reduce_min_u32, reduce_or_u32, reduce_xor_u32, shuffle_down_of,
    shuffle_idx_of, shuffle_up_of, shuffle_xor_of, sync_warp, warp_match_all, warp_match_any,
    warp_reduce, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor,
    warp_vote_all, warp_vote_any, warp_vote_ballot,
};

device! {
    /// `%laneid`: index of the thread in its warp, 0 to 31.
    pub fn lane_id() -> u32 {
        let lane: u32;
        // SAFETY: reads a special register that never changes.
        unsafe { asm!("mov.u32 {}, %laneid;", out(reg32) lane, options(pure, nomem, nostack)) };
        lane
    }
}

device! {
    /// `bar.warp.sync 0xffffffff`: waits for all lanes and orders their memory accesses.
    /// PTX 6.0, floor sm_30. Collective.
    ///
    /// # Safety
    /// All 32 lanes must execute it.
    pub unsafe fn sync() {
        // SAFETY: the caller promises that all lanes arrive.
        unsafe { asm!("bar.warp.sync 0xffffffff;", options(nostack)) };
    }

    /// `shfl.sync.idx.b32`: what lane `source` gives as `word`. PTX 6.0, floor sm_30. Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it, with `source` < [`SIZE`].
    pub unsafe fn shuffle(word: u32, source: u32) -> u32 {
        let shuffled: u32;
        // SAFETY: the caller promises all lanes.
        unsafe {
            asm!("shfl.sync.idx.b32 {}, {}, {}, 31, 0xffffffff;", out(reg32) shuffled,
                in(reg32) word, in(reg32) source, options(nostack));
        }
        shuffled
    }

    /// `shfl.sync.bfly.b32`: what the lane `lane ^ mask` gives as `word`. PTX 6.0, floor sm_30.
    /// Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it, with the same `mask` < [`SIZE`].
    pub unsafe fn shuffle_xor(word: u32, mask: u32) -> u32 {
        let shuffled: u32;
        // SAFETY: the caller promises all lanes.
        unsafe {
            asm!("shfl.sync.bfly.b32 {}, {}, {}, 31, 0xffffffff;", out(reg32) shuffled,
                in(reg32) word, in(reg32) mask, options(nostack));
        }
        shuffled
    }

    /// `shfl.sync.down.b32`: what the lane `lane + delta` gives as `word`; lanes that have no such lane
    /// keep their own. PTX 6.0, floor sm_30. Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it, with the same `delta` < [`SIZE`].
    pub unsafe fn shuffle_down(word: u32, delta: u32) -> u32 {
        let shuffled: u32;
        // SAFETY: the caller promises all lanes.
        unsafe {
            asm!("shfl.sync.down.b32 {}, {}, {}, 31, 0xffffffff;", out(reg32) shuffled,
                in(reg32) word, in(reg32) delta, options(nostack));
        }
        shuffled
    }

    /// `shfl.sync.up.b32`: what the lane `lane - delta` gives as `word`; lanes that have no such lane keep
    /// their own. PTX 6.0, floor sm_30. Collective.
    ///
    /// # Safety
    /// All 32 lanes execute it, with the same `delta` < [`SIZE`].
    pub unsafe fn shuffle_up(word: u32, delta: u32) -> u32 {
        let shuffled: u32;
        // SAFETY: the caller promises all lanes.
        unsafe {
            asm!("shfl.sync.up.b32 {}, {}, {}, 0, 0xffffffff;", out(reg32) shuffled,
                in(reg32) word, in(reg32) delta, options(nostack));
        }
        shuffled
    }
}
