// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which lane of a warp holds which element of the operands of a dense matrix product
//! (PTX ISA, "Matrix Fragments for mma.m16n8k… / m8n8k4"). **Not measured**: the tests compare them with
//! the ISA's formulas and prove them bijections, but no GPU has confirmed them yet.
//!
//! As for sparse products, lane = 4g + t, and a register holds `e` elements: 2 of 16 bits, 1 of 32 or 64
//! bits. There are `h` = rows / 8 halves.
//!
//! | operand | register `w`, element `i` |
//! | --- | --- |
//! | A (rows × K) | row g + 8·(w mod h), column e·(t + 4·⌊w/h⌋) + i |
//! | B (K × 8) | row e·(t + 4w) + i, column g |
//! | C, D (rows × 8; f32, for f64 factors f64) | register w: row g + 8·⌊w/2⌋, column 2t + w mod 2 |

use crate::fragment::{LANES, N};
use core::fmt;

/// The type of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Factor {
    /// 16 bits, 11 of precision.
    F16,
    /// 16 bits, 8 of precision, the range of f32.
    Bf16,
    /// f32 of which 11 bits of precision count.
    Tf32,
    /// 64 bits; sums are f64, too.
    F64,
}

impl Factor {
    /// Elements in a register, which has 32 bits, of f64 64.
    #[must_use]
    pub const fn per_register(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::F64 => 1,
        }
    }
}

/// The name in PTX.
impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::F64 => "f64",
        })
    }
}

/// A shape of `mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DenseMma {
    /// Rows of A, C and D: 8 or 16.
    pub m: usize,
    /// Columns of A: rows of B.
    pub k: usize,
    /// Type of A and B.
    pub factor: Factor,
}

/// Every shape. Shapes of f64 with 16 rows need sm_90, the others sm_80.
pub const SHAPES: [DenseMma; 10] = [
    DenseMma { m: 16, k: 16, factor: Factor::F16 },
    DenseMma { m: 16, k: 8, factor: Factor::F16 },
    DenseMma { m: 16, k: 16, factor: Factor::Bf16 },
    DenseMma { m: 16, k: 8, factor: Factor::Bf16 },
    DenseMma { m: 16, k: 8, factor: Factor::Tf32 },
    DenseMma { m: 16, k: 4, factor: Factor::Tf32 },
    DenseMma { m: 16, k: 16, factor: Factor::F64 },
    DenseMma { m: 16, k: 8, factor: Factor::F64 },
    DenseMma { m: 16, k: 4, factor: Factor::F64 },
    DenseMma { m: 8, k: 4, factor: Factor::F64 },
];

impl DenseMma {
    /// Registers of A in a lane.
    #[must_use]
    pub const fn a_registers(self) -> usize {
        self.m * self.k / LANES / self.factor.per_register()
    }

    /// Registers of B in a lane.
    #[must_use]
    pub const fn b_registers(self) -> usize {
        self.k * N / LANES / self.factor.per_register()
    }

    /// Registers of C, and of D, in a lane.
    #[must_use]
    pub const fn c_registers(self) -> usize {
        self.m * N / LANES
    }

    /// Row and column of element `i` of register `w` of A in `lane`.
    #[must_use]
    pub const fn a(self, lane: usize, w: usize, i: usize) -> (usize, usize) {
        let (g, t, halves) = (lane / 4, lane % 4, self.m / 8);
        (g + 8 * (w % halves), self.factor.per_register() * (t + 4 * (w / halves)) + i)
    }

    /// Row and column of element `i` of register `w` of B in `lane`.
    #[must_use]
    pub const fn b(self, lane: usize, w: usize, i: usize) -> (usize, usize) {
        let (g, t) = (lane / 4, lane % 4);
        (self.factor.per_register() * (t + 4 * w) + i, g)
    }

    /// Row and column of register `w` of C or D in `lane`.
    #[must_use]
    pub const fn c(self, lane: usize, w: usize) -> (usize, usize) {
        let (g, t) = (lane / 4, lane % 4);
        (g + 8 * (w / 2), 2 * t + w % 2)
    }
}

/// The shape in PTX, such as `m16n8k16.f16`.
impl fmt::Display for DenseMma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}n{N}k{}.{}", self.m, self.k, self.factor)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    /// Asserts that registers of lanes hold each element of a matrix once.
    fn assert_bijection(
        registers: usize,
        per_register: usize,
        size: (usize, usize),
        place: impl Fn(usize, usize, usize) -> (usize, usize),
    ) {
        let mut places = Vec::new();
        for lane in 0..LANES {
            for w in 0..registers {
                places.extend((0..per_register).map(|i| place(lane, w, i)));
            }
        }
        places.sort_unstable();
        let all = (0..size.0).flat_map(|row| (0..size.1).map(move |column| (row, column)));
        assert_eq!(places, all.collect::<Vec<_>>());
    }

    #[test]
    fn every_element_lies_in_exactly_one_place() {
        for mma in SHAPES {
            let e = mma.factor.per_register();
            assert_bijection(mma.a_registers(), e, (mma.m, mma.k), |l, w, i| mma.a(l, w, i));
            assert_bijection(mma.b_registers(), e, (mma.k, N), |l, w, i| mma.b(l, w, i));
            assert_bijection(mma.c_registers(), 1, (mma.m, N), |l, w, _| mma.c(l, w));
        }
    }

    /// The ISA's formulas for element `i` of a lane's fragment of A, counted over its registers.
    fn isa_a(mma: DenseMma, lane: usize, i: usize) -> (usize, usize) {
        let (group, thread) = (lane >> 2, lane % 4);
        match (mma.m, mma.k, mma.factor) {
            (16, 16, Factor::F16 | Factor::Bf16) => {
                let upper = i < 2 || (4..6).contains(&i);
                let row = if upper { group } else { group + 8 };
                (row, thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
            }
            (16, 8, Factor::F16 | Factor::Bf16) => {
                (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1))
            }
            (16, 8, Factor::Tf32) => {
                let row = if i == 0 || i == 2 { group } else { group + 8 };
                (row, if i < 2 { thread } else { thread + 4 })
            }
            (16, 4, Factor::Tf32 | Factor::F64) => (if i == 0 { group } else { group + 8 }, thread),
            (16, 8, Factor::F64) => {
                let row = if i == 0 || i == 2 { group } else { group + 8 };
                (row, if i < 2 { thread } else { thread + 4 })
            }
            (16, 16, Factor::F64) => {
                if i.is_multiple_of(2) {
                    (group, i * 2 + thread)
                } else {
                    (group + 8, i * 2 - 2 + thread)
                }
            }
            (8, 4, Factor::F64) => (group, thread),
            _ => unreachable!("{mma}"),
        }
    }

    /// As [`isa_a`], of B.
    fn isa_b(mma: DenseMma, lane: usize, i: usize) -> (usize, usize) {
        let (group, thread) = (lane >> 2, lane % 4);
        match (mma.k, mma.factor) {
            (16, Factor::F16 | Factor::Bf16) => {
                (thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, group)
            }
            (8, Factor::F16 | Factor::Bf16) => (thread * 2 + i, group),
            (4, _) => (thread, group),
            (8, _) => (if i == 0 { thread } else { thread + 4 }, group),
            _ => (thread + i * 4, group),
        }
    }

    #[test]
    fn the_maps_are_the_formulas_of_the_isa() {
        for mma in SHAPES {
            let e = mma.factor.per_register();
            for lane in 0..LANES {
                for i in 0..mma.a_registers() * e {
                    assert_eq!(
                        mma.a(lane, i / e, i % e),
                        isa_a(mma, lane, i),
                        "{mma} A {lane} {i}"
                    );
                }
                for i in 0..mma.b_registers() * e {
                    assert_eq!(
                        mma.b(lane, i / e, i % e),
                        isa_b(mma, lane, i),
                        "{mma} B {lane} {i}"
                    );
                }
                for i in 0..mma.c_registers() {
                    let (group, thread) = (lane >> 2, lane % 4);
                    let row = if i < 2 { group } else { group + 8 };
                    assert_eq!(mma.c(lane, i), (row, thread * 2 + (i & 1)), "{mma} C {lane} {i}");
                }
            }
        }
    }

    #[test]
    fn registers_are_as_many_as_the_instructions_take() {
        let registers = |m, k, factor| {
            let mma = DenseMma { m, k, factor };
            assert!(SHAPES.contains(&mma), "{mma}");
            (mma.a_registers(), mma.b_registers(), mma.c_registers())
        };
        assert_eq!(registers(16, 16, Factor::F16), (4, 2, 4));
        assert_eq!(registers(16, 8, Factor::Tf32), (4, 2, 4));
        assert_eq!(registers(16, 16, Factor::F64), (8, 4, 4));
        assert_eq!(registers(8, 4, Factor::F64), (1, 1, 2));
    }
}
