// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of some lanes of a warp, which a mask names by a bit each: rust-cuda's functions.
//!
//! All lanes of the mask execute the call, each with the same mask, and it has the bit of each. The lanes of a block that
//! is not whole warps are those that exist.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::warp as sim;

device! {
    /// `activemask.b32`: lanes that happen to execute this together; at least this one. Which others a program must not
    /// rely on; the emulator says none. PTX 6.2, floor sm_30.
    pub fn activemask() -> u32 {
        let mask: u32;
        // SAFETY: reads the state of the warp; neither `pure` nor `nomem`, so that it stays where it is.
        unsafe { asm!("activemask.b32 {};", out(reg32) mask, options(nostack)) };
        mask
    }
}

device! {
    /// `bar.warp.sync`: waits for the lanes of the mask and orders their memory accesses. PTX 6.0, floor sm_30.
    ///
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    pub unsafe fn sync_warp(mask: u32) {
        // SAFETY: the caller promises the lanes.
        unsafe { asm!("bar.warp.sync {};", in(reg32) mask, options(nostack)) };
    }

    /// `vote.sync.all.pred`: whether the predicate holds for all lanes of the mask. PTX 6.0, floor sm_30.
    ///
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
        let all: u32;
        // SAFETY: the caller promises the lanes.
        unsafe {
            asm!("{{ .reg .pred p, q; setp.ne.u32 p, {}, 0; vote.sync.all.pred q, p, {}; selp.u32 {}, 1, 0, q; }}",
                in(reg32) u32::from(predicate), in(reg32) mask, out(reg32) all, options(nostack));
        }
        all != 0
    }

    /// `vote.sync.any.pred`: whether the predicate holds for some lane of the mask. PTX 6.0, floor sm_30.
    ///
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
        let any: u32;
        // SAFETY: the caller promises the lanes.
        unsafe {
            asm!("{{ .reg .pred p, q; setp.ne.u32 p, {}, 0; vote.sync.any.pred q, p, {}; selp.u32 {}, 1, 0, q; }}",
                in(reg32) u32::from(predicate), in(reg32) mask, out(reg32) any, options(nostack));
        }
        any != 0
    }

    /// `vote.sync.ballot.b32`: the lanes of the mask for which the predicate holds. PTX 6.0, floor sm_30.
    ///
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
        let lanes: u32;
        // SAFETY: the caller promises the lanes.
        unsafe {
            asm!("{{ .reg .pred p; setp.ne.u32 p, {}, 0; vote.sync.ballot.b32 {}, p, {}; }}",
                in(reg32) u32::from(predicate), out(reg32) lanes, in(reg32) mask, options(nostack));
        }
        lanes
    }

    /// `match.any.sync.b32`: the lanes of the mask that give the same word. PTX 6.0, floor sm_70.
    ///
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    pub unsafe fn match_any_b32(mask: u32, word: u32) -> u32 {
        let lanes: u32;
        // SAFETY: the caller promises the lanes.
        unsafe {
            asm!("match.any.sync.b32 {}, {}, {};", out(reg32) lanes, in(reg32) word, in(reg32) mask,
                options(nostack));
        }
        lanes
    }

    /// `match.any.sync.b64`: the lanes of the mask that give the same two words. PTX 6.0, floor sm_70.
    ///
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    pub unsafe fn match_any_b64(mask: u32, words: u64) -> u32 {
        let lanes: u32;
        // SAFETY: the caller promises the lanes.
        unsafe {
            asm!("match.any.sync.b64 {}, {}, {};", out(reg32) lanes, in(reg64) words, in(reg32) mask,
                options(nostack));
        }
        lanes
    }

    /// `match.all.sync.b32`: the mask if all of its lanes give the same word, else 0. PTX 6.0, floor sm_70.
    ///
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    pub unsafe fn match_all_b32(mask: u32, word: u32) -> u32 {
        let lanes: u32;
        // SAFETY: the caller promises the lanes.
        unsafe {
            asm!("match.all.sync.b32 {}, {}, {};", out(reg32) lanes, in(reg32) word, in(reg32) mask,
                options(nostack));
        }
        lanes
    }

    /// `match.all.sync.b64`: the mask if all of its lanes give the same two words, else 0. PTX 6.0, floor sm_70.
    ///
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    pub unsafe fn match_all_b64(mask: u32, words: u64) -> u32 {
        let lanes: u32;
        // SAFETY: the caller promises the lanes.
        unsafe {
            asm!("match.all.sync.b64 {}, {}, {};", out(reg32) lanes, in(reg64) words, in(reg32) mask,
                options(nostack));
        }
        lanes
    }
}

/// Shuffles of a word among the lanes of a mask.
macro_rules! shuffles {
    ($($name:ident $mode:literal $edge:literal: $source:literal;)*) => {
        device! {$(
            #[doc = concat!("`shfl.sync.", $mode, ".b32`: the word of ", $source, " of this lane's segment of `width` lanes, \
                and 1; its own word and 0 where there is no such lane. PTX 6.0, floor sm_30.\n\n# Safety\nAs of this \
                module; the lane that is read is in the mask, and `width` is a power of two up to 32.")]
            pub unsafe fn $name(mask: u32, word: u32, argument: u32, width: u32) -> [u32; 2] {
                let (shuffled, is_there): (u32, u32);
                let segment = (32 - width) << 8 | $edge;
                // SAFETY: the caller promises the lanes.
                unsafe {
                    asm!(concat!("{{ .reg .pred p; shfl.sync.", $mode, ".b32 {}|p, {}, {}, {}, {}; selp.u32 {}, 1, 0, p; }}"),
                        out(reg32) shuffled, in(reg32) word, in(reg32) argument, in(reg32) segment, in(reg32) mask,
                        out(reg32) is_there, options(nostack));
                }
                [shuffled, is_there]
            }
        )*}
    };
}
shuffles! {
    shuffle_idx_of "idx" 31: "lane `argument`";
    shuffle_xor_of "bfly" 31: "the lane whose number differs in the bits of `argument`";
    shuffle_down_of "down" 31: "the lane `argument` further on";
    shuffle_up_of "up" 0: "the lane `argument` before";
}

/// Reductions of a word over the lanes of a mask.
macro_rules! reductions {
    ($($name:ident $instruction:literal $ty:ident;)*) => {
        device! {$(
            #[doc = concat!("`redux.sync.", $instruction, "` over the lanes of the mask. PTX 7.0, floor sm_80.\n\n# Safety\n\
                As of this module.")]
            pub unsafe fn $name(mask: u32, value: $ty) -> $ty {
                let result: $ty;
                // SAFETY: the caller promises the lanes.
                unsafe {
                    asm!(concat!("redux.sync.", $instruction, " {}, {}, {};"), out(reg32) result, in(reg32) value,
                        in(reg32) mask, options(nostack));
                }
                result
            }
        )*}
    };
}
reductions! {
    reduce_add_u32 "add.u32" u32;
    reduce_min_u32 "min.u32" u32;
    reduce_max_u32 "max.u32" u32;
    reduce_and_u32 "and.b32" u32;
    reduce_or_u32 "or.b32" u32;
    reduce_xor_u32 "xor.b32" u32;
    reduce_min_i32 "min.s32" i32;
    reduce_max_i32 "max.s32" i32;
}

/// A value that lanes exchange: a number of 32-bit words.
pub trait WarpShuffleValue: Copy + sealed::Sealed {
    /// How many words.
    #[doc(hidden)]
    const WORDS: usize;

    /// A word.
    #[doc(hidden)]
    fn word(self, number: usize) -> u32;

    /// The value of its words; the others do not matter.
    #[doc(hidden)]
    fn of(words: [u32; 4]) -> Self;
}

/// A value that lanes compare.
pub trait WarpMatchValue: Copy + sealed::Sealed {
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    #[doc(hidden)]
    unsafe fn any(self, mask: u32) -> u32;

    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    #[doc(hidden)]
    unsafe fn all(self, mask: u32) -> u32;
}

/// A value over which lanes reduce.
pub trait WarpReduceValue: Copy + sealed::Sealed {
    /// # Safety
    /// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
    #[doc(hidden)]
    unsafe fn reduce(self, mask: u32, op: WarpReductionOp) -> Self;
}

/// How [`warp_reduce`] combines values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, which wraps around.
    Add,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The bits that all have.
    And,
    /// The bits that some have.
    Or,
    /// The bits that an odd number of them have.
    Xor,
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! words {
    ($($ty:ident $words:literal $bits:ident [$to:expr] [$from:expr];)*) => {$(
        impl sealed::Sealed for $ty {}
        impl WarpShuffleValue for $ty {
            const WORDS: usize = $words;

            #[inline(always)]
            fn word(self, number: usize) -> u32 {
                let bits: $bits = $to(self);
                (bits >> (32 * number)) as u32
            }

            #[inline(always)]
            fn of(words: [u32; 4]) -> Self {
                let add = |bits: $bits, number: usize| bits | (words[number] as $bits) << (32 * number);
                $from((0..$words).fold(0, add))
            }
        }
    )*};
}
words! {
    u8 1 u32 [|it: u8| it as u32] [|bits| bits as u8];
    i8 1 u32 [|it: i8| it as u32] [|bits| bits as i8];
    u16 1 u32 [|it: u16| it as u32] [|bits| bits as u16];
    i16 1 u32 [|it: i16| it as u32] [|bits| bits as i16];
    u32 1 u32 [|it: u32| it] [|bits| bits];
    i32 1 u32 [|it: i32| it as u32] [|bits| bits as i32];
    f32 1 u32 [f32::to_bits] [f32::from_bits];
    u64 2 u64 [|it: u64| it] [|bits| bits];
    i64 2 u64 [|it: i64| it as u64] [|bits| bits as i64];
    f64 2 u64 [f64::to_bits] [f64::from_bits];
    u128 4 u128 [|it: u128| it] [|bits| bits];
    i128 4 u128 [|it: i128| it as u128] [|bits| bits as i128];
}

macro_rules! matches {
    ($($ty:ident [$to:expr] $any:ident $all:ident;)*) => {$(
        impl WarpMatchValue for $ty {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn any(self, mask: u32) -> u32 {
                // SAFETY: as the caller promises.
                unsafe { $any(mask, $to(self)) }
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn all(self, mask: u32) -> u32 {
                // SAFETY: as the caller promises.
                unsafe { $all(mask, $to(self)) }
            }
        }
    )*};
}
matches! {
    u32 [|it: u32| it] match_any_b32 match_all_b32;
    i32 [|it: i32| it as u32] match_any_b32 match_all_b32;
    f32 [f32::to_bits] match_any_b32 match_all_b32;
    u64 [|it: u64| it] match_any_b64 match_all_b64;
    i64 [|it: i64| it as u64] match_any_b64 match_all_b64;
    f64 [f64::to_bits] match_any_b64 match_all_b64;
}

macro_rules! reduce {
    ($($ty:ident $min:ident $max:ident;)*) => {$(
        impl WarpReduceValue for $ty {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn reduce(self, mask: u32, op: WarpReductionOp) -> Self {
                // SAFETY: as the caller promises.
                unsafe {
                    match op {
                        WarpReductionOp::Add => reduce_add_u32(mask, self as u32) as $ty,
                        WarpReductionOp::Min => $min(mask, self),
                        WarpReductionOp::Max => $max(mask, self),
                        WarpReductionOp::And => reduce_and_u32(mask, self as u32) as $ty,
                        WarpReductionOp::Or => reduce_or_u32(mask, self as u32) as $ty,
                        WarpReductionOp::Xor => reduce_xor_u32(mask, self as u32) as $ty,
                    }
                }
            }
        }
    )*};
}
reduce! {
    u32 reduce_min_u32 reduce_max_u32;
    i32 reduce_min_i32 reduce_max_i32;
}

macro_rules! exchanges {
    ($($name:ident $of:ident: $what:literal;)*) => {$(
        #[doc = concat!("The value of ", $what, ", within segments of `width` lanes, and whether there is such a lane; a \
            lane's own value otherwise.\n\n# Safety\nAs of this module; the lane that is read is in the mask, and `width` \
            is a power of two up to 32.")]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name<T: WarpShuffleValue>(mask: u32, value: T, argument: u32, width: u32) -> (T, bool) {
            let (mut words, mut is_there) = ([0; 4], true);
            for number in 0..T::WORDS {
                // SAFETY: as the caller promises.
                let [word, found] = unsafe { $of(mask, value.word(number), argument, width) };
                words[number] = word;
                is_there &= found != 0;
            }
            (T::of(words), is_there)
        }
    )*};
}
exchanges! {
    warp_shuffle_idx shuffle_idx_of: "lane `argument`";
    warp_shuffle_xor shuffle_xor_of: "the lane whose number differs in the bits of `argument`";
    warp_shuffle_down shuffle_down_of: "the lane `argument` further on";
    warp_shuffle_up shuffle_up_of: "the lane `argument` before";
}

/// The lanes of the mask that give the same value, bit by bit. Floor sm_70.
///
/// # Safety
/// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { value.any(mask) }
}

/// The mask, if all of its lanes give the same value, bit by bit. Floor sm_70.
///
/// # Safety
/// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: as the caller promises.
    let lanes = unsafe { value.all(mask) };
    (lanes != 0).then_some(lanes)
}

/// The values of the mask's lanes, combined. Floor sm_80.
///
/// # Safety
/// All lanes of the mask execute the call, each with the same mask, and the mask has the bit of each.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: as the caller promises.
    unsafe { value.reduce(mask, op) }
}
