// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops that are unrolled for certain: arrays stay in registers only under compile-time indices, and
//! LLVM gives up on long bodies, and takes minutes for thousands of short loops in one kernel.

/// Evaluates an expression for each index below a constant of at most 17. The expression should be short,
/// a call of a function that is always inlined: it is written 17 times, of which the compiler leaves out those beyond the
/// constant before it optimises.
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
        // Of rounds beyond the constant, which are left out: places that arrays do not have.
        #[allow(unconditional_panic, arithmetic_overflow)]
        {
            $(if const { $value < $count } {
                let $index: usize = $value;
                $body;
            })*
        }
    };
}

pub(crate) use unroll;
