// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops that are unrolled for certain: arrays stay in registers only under compile-time indices, and
//! LLVM gives up on long bodies.

/// Evaluates an expression for each index below a constant of at most 17. The expression should be short,
/// a call of a function that is always inlined: it is there 17 times.
///
/// On the CPU this is a loop: there arrays may lie in memory, and 17 copies of whole kernels took minutes to compile.
macro_rules! unroll {
    ($index:ident < $count:expr => $body:expr) => {{
        const { assert!($count < 18, "more rounds than are written out") };
        #[cfg(target_arch = "nvptx64")]
        $crate::unroll::unroll!(@ $index, $count, $body; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
        #[cfg(not(target_arch = "nvptx64"))]
        for $index in 0..$count {
            $body;
        }
    }};
    (@ $index:ident, $count:expr, $body:expr; $($value:literal)*) => {
        $(if $value < $count {
            let $index: usize = $value;
            $body;
        })*
    };
}

pub(crate) use unroll;
