// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic that ordinary Rust has only in `std`.

#[cfg(target_arch = "nvptx64")]
use crate::chip;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::math as sim;

device! {
    /// `fma.rn.f32`: a·b + c, rounded once. PTX 2.0, floor sm_20.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        let sum: f32;
        // SAFETY: computes on registers only.
        unsafe {
            asm!("fma.rn.f32 {}, {}, {}, {};", out(reg32) sum, in(reg32) a, in(reg32) b, in(reg32) c,
                options(pure, nomem, nostack));
        }
        sum
    }

    /// `fma.rn.f64`: a·b + c, rounded once. PTX 1.4, floor sm_13.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
        let sum: f64;
        // SAFETY: computes on registers only.
        unsafe {
            asm!("fma.rn.f64 {}, {}, {}, {};", out(reg64) sum, in(reg64) a, in(reg64) b, in(reg64) c,
                options(pure, nomem, nostack));
        }
        sum
    }

    /// `dp4a.u32.s32`: `sum` and the products of the four bytes of `a`, from 0 to 255, with those of `b`, from -128 to 127. PTX 5.0,
    /// floor sm_61.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn add_byte_products(a: u32, b: u32, sum: i32) -> i32 {
        let new: i32;
        // SAFETY: computes on registers only.
        unsafe {
            asm!("dp4a.u32.s32 {}, {}, {}, {};", out(reg32) new, in(reg32) a, in(reg32) b, in(reg32) sum,
                options(pure, nomem, nostack));
        }
        new
    }

    /// `prmt.b32`: four bytes of the eight of `low` (0 to 3) and `high` (4 to 7), one for each of the
    /// lowest four hexadecimal digits of `selector`, each below 8. PTX 2.0, floor sm_20.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn permute(low: u32, high: u32, selector: u32) -> u32 {
        let word: u32;
        // SAFETY: computes on registers only.
        unsafe {
            asm!("prmt.b32 {}, {}, {}, {};", out(reg32) word, in(reg32) low, in(reg32) high,
                in(reg32) selector, options(pure, nomem, nostack));
        }
        word
    }

    /// `prmt.b32` under a predicate: [`permute`], or `kept` if `keep` is not zero. PTX 2.0, floor sm_20.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn permute_unless(keep: u32, kept: u32, low: u32, high: u32, selector: u32) -> u32 {
        let mut word = kept;
        // SAFETY: computes on registers only.
        unsafe {
            asm!("{{ .reg .pred p; setp.eq.u32 p, {}, 0; @p prmt.b32 {}, {}, {}, {}; }}",
                in(reg32) keep, inout(reg32) word, in(reg32) low, in(reg32) high, in(reg32) selector,
                options(pure, nomem, nostack));
        }
        word
    }

    /// `cvt.f32.f16`: the exact value of an f16, given by its bits. PTX 4.2, floor sm_53.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn f32_from_f16(bits: u16) -> f32 {
        let value: f32;
        // SAFETY: computes on registers only.
        unsafe {
            asm!("cvt.f32.f16 {}, {};", out(reg32) value, in(reg16) bits,
                options(pure, nomem, nostack));
        }
        value
    }

    /// `cvt.rn.tf32.f32`: rounds to the nearest tf32, ties to even, as products take it. PTX 7.8,
    /// floor sm_90, where it is one instruction (`cvt.rna`, with ties away from zero, is three); before it,
    /// integer arithmetic.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn round_tf32(value: f32) -> u32 {
        if !chip::is_sm_90() {
            return nearest_tf32(value);
        }
        let rounded: u32;
        // SAFETY: computes on registers only.
        unsafe {
            asm!("cvt.rn.tf32.f32 {}, {};", out(reg32) rounded, in(reg32) value,
                options(pure, nomem, nostack));
        }
        rounded
    }

    /// `mov.b32`: the same number. LLVM computes it here, not in a branch further on that uses it, which
    /// all that it depends on would have to outlive. Floor: any chip.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn pin_f32(value: f32) -> f32 {
        let pinned: f32;
        // SAFETY: copies a register; neither `pure` nor `nomem`, so that it stays where it is.
        unsafe { asm!("mov.b32 {}, {};", out(reg32) pinned, in(reg32) value, options(nostack)) };
        pinned
    }

    /// `mov.b64`: as [`pin_f32`].
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn pin_f64(value: f64) -> f64 {
        let pinned: f64;
        // SAFETY: as in `pin_f32`.
        unsafe { asm!("mov.b64 {}, {};", out(reg64) pinned, in(reg64) value, options(nostack)) };
        pinned
    }
}

/// The nearest tf32, ties to even; NaN is the canonical one.
#[cfg(any(test, target_arch = "nvptx64"))]
#[inline(always)]
const fn nearest_tf32(value: f32) -> u32 {
    const DROPPED: u32 = 13;
    if value.is_nan() {
        return 0x7fff_ffff;
    }
    let bits = value.to_bits();
    let last = bits >> DROPPED & 1;
    (bits + (1 << (DROPPED - 1)) - 1 + last) >> DROPPED << DROPPED
}

#[cfg(test)]
mod tests {
    use super::{nearest_tf32, sim};

    #[test]
    fn rounding_to_tf32_is_that_of_the_instruction() {
        // Every exponent and sign with all that can happen at the end of the mantissa.
        for high in 0..1 << 10 {
            for low in [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x7f_efff, 0x7f_f000] {
                let value = f32::from_bits(high << 22 | low & 0x3f_ffff);
                assert_eq!(nearest_tf32(value), sim::round_tf32(value), "{:#x}", value.to_bits());
            }
        }
    }
}
