// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers of a lane's sums, for each number of columns that products have here.

#[cfg(target_arch = "nvptx64")]
use super::types::Instruction;
use super::types::implement;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// A lane's sums: a number for each two columns.
pub trait Registers {
    /// Fixes their values at this place of the program: what comes before has computed them, and what
    /// comes after sees what is in the registers.
    fn pin(&mut self);

    /// Gives each two that are neighbours in a row to a function. There is no loop, which would want them
    /// in memory.
    fn each_pair(&self, at: usize, act: &mut impl EachPair);
}

/// What is done with two sums that are neighbours in a row. It is no closure, since the function is to be
/// `#[inline(always)]`: a call would have the sums in memory.
pub trait EachPair {
    /// Takes the sums at words `word` and `word + 1` of the sums of number `at`.
    fn pair(&mut self, at: usize, word: usize, pair: [f32; 2]);
}

/// Registers by their indices: what is to be done with all.
macro_rules! registers {
    ($($count:tt: [$first:tt $second:tt] $([$low:tt $high:tt])*;)*) => {$(
        impl Registers for [f32; $count] {
            #[inline(always)]
            fn pin(&mut self) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: no instruction.
                unsafe {
                    asm!(concat!("// {", $first, "} {", $second, "}", $(" {", $low, "} {", $high, "}",)*),
                        inout(reg32) self[$first], inout(reg32) self[$second],
                        $(inout(reg32) self[$low], inout(reg32) self[$high],)* options(nostack));
                }
            }

            #[inline(always)]
            fn each_pair(&self, at: usize, act: &mut impl EachPair) {
                act.pair(at, $first, [self[$first], self[$second]]);
                $(act.pair(at, $low, [self[$low], self[$high]]);)*
            }
        }
        implement!($count: $first $second $($low $high)*);
    )*};
}

registers! {
    4: [0 1] [2 3];
    8: [0 1] [2 3] [4 5] [6 7];
    16: [0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15];
    32: [0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15] [16 17] [18 19] [20 21] [22 23]
        [24 25] [26 27] [28 29] [30 31];
    48: [0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15] [16 17] [18 19] [20 21] [22 23]
        [24 25] [26 27] [28 29] [30 31] [32 33] [34 35] [36 37] [38 39] [40 41] [42 43] [44 45]
        [46 47];
    64: [0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15] [16 17] [18 19] [20 21] [22 23]
        [24 25] [26 27] [28 29] [30 31] [32 33] [34 35] [36 37] [38 39] [40 41] [42 43] [44 45]
        [46 47] [48 49] [50 51] [52 53] [54 55] [56 57] [58 59] [60 61] [62 63];
    80: [0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15] [16 17] [18 19] [20 21] [22 23]
        [24 25] [26 27] [28 29] [30 31] [32 33] [34 35] [36 37] [38 39] [40 41] [42 43] [44 45]
        [46 47] [48 49] [50 51] [52 53] [54 55] [56 57] [58 59] [60 61] [62 63] [64 65] [66 67]
        [68 69] [70 71] [72 73] [74 75] [76 77] [78 79];
    96: [0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15] [16 17] [18 19] [20 21] [22 23]
        [24 25] [26 27] [28 29] [30 31] [32 33] [34 35] [36 37] [38 39] [40 41] [42 43] [44 45]
        [46 47] [48 49] [50 51] [52 53] [54 55] [56 57] [58 59] [60 61] [62 63] [64 65] [66 67]
        [68 69] [70 71] [72 73] [74 75] [76 77] [78 79] [80 81] [82 83] [84 85] [86 87] [88 89]
        [90 91] [92 93] [94 95];
    112: [0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15] [16 17] [18 19] [20 21] [22 23]
        [24 25] [26 27] [28 29] [30 31] [32 33] [34 35] [36 37] [38 39] [40 41] [42 43] [44 45]
        [46 47] [48 49] [50 51] [52 53] [54 55] [56 57] [58 59] [60 61] [62 63] [64 65] [66 67]
        [68 69] [70 71] [72 73] [74 75] [76 77] [78 79] [80 81] [82 83] [84 85] [86 87] [88 89]
        [90 91] [92 93] [94 95] [96 97] [98 99] [100 101] [102 103] [104 105] [106 107] [108 109]
        [110 111];
    128: [0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15] [16 17] [18 19] [20 21] [22 23]
        [24 25] [26 27] [28 29] [30 31] [32 33] [34 35] [36 37] [38 39] [40 41] [42 43] [44 45]
        [46 47] [48 49] [50 51] [52 53] [54 55] [56 57] [58 59] [60 61] [62 63] [64 65] [66 67]
        [68 69] [70 71] [72 73] [74 75] [76 77] [78 79] [80 81] [82 83] [84 85] [86 87] [88 89]
        [90 91] [92 93] [94 95] [96 97] [98 99] [100 101] [102 103] [104 105] [106 107] [108 109]
        [110 111] [112 113] [114 115] [116 117] [118 119] [120 121] [122 123] [124 125] [126 127];
}
