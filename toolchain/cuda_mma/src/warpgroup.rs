// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products of a warpgroup, which is four warps: `wgmma`, dense and sparse (PTX ISA, "Asynchronous
//! warpgroup level matrix instructions"). The tests prove the maps bijections, and the emulator agrees with
//! the plain product. **Measured** on an H200: products of every type, swizzle, source of A and selector,
//! dense and sparse, 101 in all, are those of the matrices in every bit.
//!
//! D (64 × N) += A (64 × K) · B (K × N). B lies in shared memory, A there too or in registers. With lane
//! = 32·warp + 4g + t of the 128 and `e` elements in a word of 32 bits:
//!
//! | operand | word `w`, element `i` |
//! | --- | --- |
//! | A, its kept values | row 16·warp + g + 8·(w mod 2), kept column e·(t + 4·⌊w/2⌋) + i |
//! | D (f32) | row 16·warp + g + 8·(⌊w/2⌋ mod 2), column 8·⌊w/4⌋ + 2t + w mod 2 |
//!
//! In shared memory A has its kept columns, and B its K rows, along rows of bytes: a row of A, or a column
//! of B, is contiguous ("K-major").

use core::fmt;

/// Rows of A and D.
pub const M: usize = 64;

/// Lanes of a warpgroup.
pub const LANES: usize = 128;

/// Words of A in a lane, where it comes from registers.
pub const A_WORDS: usize = 4;

/// The type of a factor; sums are f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarpgroupFactor {
    /// 16 bits, 11 of precision.
    F16,
    /// 16 bits, 8 of precision, the range of f32.
    Bf16,
    /// f32 of which 11 bits of precision count.
    Tf32,
    /// 8 bits, 4 of precision, up to 448; no infinity.
    E4m3,
    /// 8 bits, 3 of precision, the range of f16.
    E5m2,
}

impl WarpgroupFactor {
    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 4,
            Self::E4m3 | Self::E5m2 => 1,
        }
    }

    /// Elements in a word of 32 bits.
    #[must_use]
    pub const fn per_word(self) -> usize {
        4 / self.bytes()
    }
}

/// The name in PTX.
impl fmt::Display for WarpgroupFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
        })
    }
}

/// A shape of `wgmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WarpgroupMma {
    /// The type of A.
    pub a: WarpgroupFactor,
    /// The type of B: that of A, or the other one of 8 bits.
    pub b: WarpgroupFactor,
    /// Columns of B and D: a multiple of 8 up to 256.
    pub n: usize,
    /// Whether A has two values in every four columns (tf32: one in two), of which it keeps these.
    pub sparse: bool,
}

impl WarpgroupMma {
    /// Columns of A as it is stored: 32 bytes of them.
    #[must_use]
    pub const fn kept(self) -> usize {
        32 / self.a.bytes()
    }

    /// Rows of B, which are the columns of A with those that are not stored.
    #[must_use]
    pub const fn k(self) -> usize {
        if self.sparse { 2 * self.kept() } else { self.kept() }
    }

    /// Words of D in a lane.
    #[must_use]
    pub const fn d_words(self) -> usize {
        self.n / 2
    }

    /// Row and kept column of element `i` of word `w` of A in `lane`.
    #[must_use]
    pub const fn a(self, lane: usize, w: usize, i: usize) -> (usize, usize) {
        let (warp, g, t) = (lane / 32, lane % 32 / 4, lane % 4);
        (16 * warp + g + 8 * (w % 2), self.a.per_word() * (t + 4 * (w / 2)) + i)
    }

    /// Ways to choose the lanes that supply metadata: selector 1 takes the lanes 2 further in each four.
    #[must_use]
    pub const fn selectors(self) -> usize {
        if self.a.bytes() == 1 { 1 } else { 2 }
    }

    /// Bits of metadata for a kept value.
    #[must_use]
    pub const fn metadata_bits(self) -> usize {
        if self.a.bytes() == 4 { 4 } else { 2 }
    }

    /// Where the metadata of a kept value lie under selector 0: lane and lowest bit.
    #[must_use]
    pub const fn metadata(self, row: usize, kept: usize) -> (usize, usize) {
        let (warp, g, half) = (row / 16, row % 8, row % 16 / 8);
        let bit = kept * self.metadata_bits();
        let (t, bit) = if self.a.bytes() == 1 {
            (half + 2 * (bit / 32), bit % 32)
        } else {
            (bit / 16, bit % 16 + 16 * half)
        };
        (32 * warp + 4 * g + t, bit)
    }
}

/// Row and column of word `w` of D in `lane`.
#[must_use]
pub const fn d(lane: usize, w: usize) -> (usize, usize) {
    let (warp, g, t) = (lane / 32, lane % 32 / 4, lane % 4);
    (16 * warp + g + 8 * (w / 2 % 2), 8 * (w / 4) + 2 * t + w % 2)
}

/// The shape in PTX, such as `m64n256k16.f32.f16.f16`.
impl fmt::Display for WarpgroupMma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { a, b, n, sparse } = self;
        let sp = if *sparse { "sp." } else { "" };
        write!(f, "{sp}m{M}n{n}k{}.f32.{a}.{b}", self.k())
    }
}

/// How pieces of 16 bytes change places in shared memory, so that a column of them lies in all banks: by
/// the address, of which bits 4 to 6 are changed by bits 7 to 9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// They do not.
    #[default]
    None,
    /// Within rows of 32 bytes.
    Bytes32,
    /// Within rows of 64 bytes.
    Bytes64,
    /// Within rows of 128 bytes.
    Bytes128,
}

impl Swizzle {
    /// Bytes of a row, within which pieces change places.
    #[must_use]
    pub const fn row_bytes(self) -> u32 {
        match self {
            Self::None => 16,
            Self::Bytes32 => 32,
            Self::Bytes64 => 64,
            Self::Bytes128 => 128,
        }
    }

    /// Where the byte lies that would be at an address without the change; twice is back.
    #[must_use]
    pub const fn apply(self, address: u32) -> u32 {
        address ^ (address >> 7 & (self.row_bytes() / 16 - 1)) << 4
    }
}

/// Where an operand lies in shared memory, as the instruction takes it: rows in groups of eight, a group's
/// rows one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor(pub u64);

impl Descriptor {
    /// An operand from an address on; `leading` bytes lie between pieces of [`Swizzle::row_bytes`] of a row
    /// (without swizzle only), `stride` bytes between groups of eight rows. All are multiples of 16.
    #[must_use]
    pub const fn new(address: u32, leading: u32, stride: u32, swizzle: Swizzle) -> Self {
        let code: u64 = match swizzle {
            Swizzle::None => 0,
            Swizzle::Bytes128 => 1,
            Swizzle::Bytes64 => 2,
            Swizzle::Bytes32 => 3,
        };
        let fields = encoded(address) | encoded(leading) << 16 | encoded(stride) << 32;
        Self(fields | code << 62)
    }

    /// The operand that begins some bytes further on: a multiple of 16.
    #[must_use]
    pub const fn further(self, bytes: u32) -> Self {
        Self(self.0 + (bytes >> 4) as u64)
    }

    /// Where it begins.
    #[must_use]
    pub const fn address(self) -> u32 {
        decoded(self.0)
    }

    /// Bytes between pieces of a row.
    #[must_use]
    pub const fn leading(self) -> u32 {
        decoded(self.0 >> 16)
    }

    /// Bytes between groups of eight rows.
    #[must_use]
    pub const fn stride(self) -> u32 {
        decoded(self.0 >> 32)
    }

    /// How its pieces change places.
    #[must_use]
    pub const fn swizzle(self) -> Swizzle {
        match self.0 >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128,
            2 => Swizzle::Bytes64,
            _ => Swizzle::Bytes32,
        }
    }

    /// The address of a byte of a row: of a piece of 16 bytes all follow.
    #[must_use]
    pub const fn at(self, row: u32, byte: u32) -> u32 {
        let width = self.swizzle().row_bytes();
        let (group, row) = (row / 8 * self.stride(), row % 8 * width);
        let piece = if width == 16 { byte / width * self.leading() + byte % width } else { byte };
        self.swizzle().apply(self.address() + group + row + piece)
    }

    /// The address of a byte of column `k` of an operand that is transposed ("MN-major"): each of its columns is
    /// contiguous, in groups of eight. Then `leading` lies between pieces of [`Swizzle::row_bytes`] of a column and
    /// `stride` between groups of columns; without swizzle it is the other way round. Of a piece of 16 bytes all follow.
    /// From the ISA's canonical layouts; not measured.
    #[must_use]
    pub const fn at_transposed(self, k: u32, byte: u32) -> u32 {
        let width = self.swizzle().row_bytes();
        let (piece, group) = match self.swizzle() {
            Swizzle::None => (self.stride(), self.leading()),
            _ => (self.leading(), self.stride()),
        };
        let column = k / 8 * group + k % 8 * width;
        self.swizzle().apply(self.address() + column + byte / width * piece + byte % width)
    }

    /// The number of the row, in a pattern of eight swizzled ones, at which the operand begins: 0 but where its address
    /// is at no multiple of the pattern.
    #[must_use]
    pub const fn base_offset(self) -> u32 {
        (self.0 >> 49 & 7) as u32
    }
}

/// 14 bits of an address or a distance, in units of 16 bytes.
const fn encoded(bytes: u32) -> u64 {
    (bytes >> 4 & 0x3fff) as u64
}

const fn decoded(field: u64) -> u32 {
    ((field & 0x3fff) as u32) << 4
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    const FACTORS: [WarpgroupFactor; 5] = [
        WarpgroupFactor::F16,
        WarpgroupFactor::Bf16,
        WarpgroupFactor::Tf32,
        WarpgroupFactor::E4m3,
        WarpgroupFactor::E5m2,
    ];

    fn shapes() -> impl Iterator<Item = WarpgroupMma> {
        let each = |a| [false, true].map(|sparse| WarpgroupMma { a, b: a, n: 24, sparse });
        FACTORS.into_iter().flat_map(each)
    }

    #[test]
    fn every_element_lies_in_exactly_one_place() {
        for mma in shapes() {
            let words = (0..LANES).flat_map(|lane| (0..A_WORDS).map(move |w| (lane, w)));
            let a: BTreeSet<_> = words
                .flat_map(|(l, w)| (0..mma.a.per_word()).map(move |i| mma.a(l, w, i)))
                .collect();
            assert_eq!(a.len(), M * mma.kept());
            assert_eq!(a.last(), Some(&(M - 1, mma.kept() - 1)));
            let words = (0..LANES).flat_map(|lane| (0..mma.d_words()).map(move |w| d(lane, w)));
            let d: BTreeSet<_> = words.collect();
            assert_eq!((d.len(), d.last()), (M * mma.n, Some(&(M - 1, mma.n - 1))));
        }
    }

    #[test]
    fn metadata_fill_their_lanes_without_overlap() {
        for mma in shapes().filter(|mma| mma.sparse) {
            let mut bits = [0u32; LANES];
            for row in 0..M {
                for kept in 0..mma.kept() {
                    let (lane, bit) = mma.metadata(row, kept);
                    let mask = ((1 << mma.metadata_bits()) - 1) << bit;
                    assert_eq!(bits[lane] & mask, 0, "{mma} row {row} kept {kept}");
                    bits[lane] |= mask;
                }
            }
            let supplies = |lane: usize| lane % 4 < 4 / mma.selectors();
            let full: Vec<u32> =
                (0..LANES).map(|lane| if supplies(lane) { u32::MAX } else { 0 }).collect();
            assert_eq!(bits[..], full[..], "{mma}");
        }
    }

    /// Four warps, each with the fragments of `mma.sync` for 16 rows.
    #[test]
    fn a_warp_has_the_fragments_of_the_smaller_products() {
        use crate::fragment::{self, M16N8K32};
        let mma =
            WarpgroupMma { a: WarpgroupFactor::F16, b: WarpgroupFactor::F16, n: 8, sparse: true };
        for lane in 0..32 {
            for w in 0..4 {
                assert_eq!(mma.a(lane, w, 1), M16N8K32.a(lane, w, 1));
                assert_eq!(d(lane, w), fragment::c(lane, w));
            }
        }
        for row in 0..16 {
            for kept in 0..16 {
                assert_eq!(mma.metadata(row, kept), M16N8K32.metadata(row, kept));
            }
        }
    }

    #[test]
    fn a_swizzled_row_stays_a_row_and_a_column_meets_all_banks() {
        for (swizzle, mask) in [
            (Swizzle::None, 0),
            (Swizzle::Bytes32, 1),
            (Swizzle::Bytes64, 3),
            (Swizzle::Bytes128, 7),
        ] {
            for address in (0..4096).step_by(16) {
                let other = swizzle.apply(address);
                assert_eq!(other ^ address, (address >> 7 & mask) << 4);
                assert_eq!(swizzle.apply(other), address);
                assert_eq!(other / swizzle.row_bytes(), address / swizzle.row_bytes());
            }
        }
        let columns: BTreeSet<u32> =
            (0..8).map(|row| Swizzle::Bytes128.apply(128 * row) % 128).collect();
        assert_eq!(columns.len(), 8);
    }

    #[test]
    fn a_descriptor_has_its_fields_where_the_isa_has_them() {
        let tile = Descriptor::new(0x5400, 16, 1024, Swizzle::Bytes128);
        assert_eq!(tile.0, 1 << 62 | 64 << 32 | 1 << 16 | 0x540);
        let further = tile.further(32);
        assert_eq!((further.address(), further.leading(), further.stride()), (0x5420, 16, 1024));
        assert_eq!(further.swizzle(), Swizzle::Bytes128);
        // Row 9 is row 1 of the second group: its pieces 2 and 3 are at 3 and 2.
        assert_eq!(further.at(9, 0), 0x5400 + 1024 + 128 + 48);
        let plain = Descriptor::new(0, 128, 256, Swizzle::None);
        assert_eq!(plain.at(9, 20), 256 + 16 + 128 + 4);
        // Element 69 of column 9 is element 5 of the second piece, in column 1 of the second group.
        let transposed = Descriptor::new(0x5400, 2048, 1024, Swizzle::Bytes128);
        assert_eq!(transposed.at_transposed(9, 138), 0x5400 + 2048 + 1024 + 128 + (10 ^ 16));
        assert_eq!(plain.at_transposed(9, 20), 128 + 16 + 256 + 4);
        assert_eq!((transposed.base_offset(), Descriptor(3 << 49).base_offset()), (0, 3));
    }
}
