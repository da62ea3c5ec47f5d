// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel can do wrong with the asynchronous products of a warpgroup.

use crate::Chip;
use crate::site::Site;
use thiserror::Error;

/// A mistake with asynchronous products.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ProductFault {
    /// A chip without them.
    #[error("{instruction} does not exist on {0}, only on sm_90a", .chip)]
    NotOnChip {
        /// The instruction.
        instruction: &'static str,
        /// The chip of the launch.
        chip: Chip,
    },
    /// A block whose warps are not in fours.
    #[error(
        "no warpgroup: an asynchronous product is one of four warps, the first of which has a number that is a multiple of 4; the block has {warps} warps"
    )]
    NoWarpgroup {
        /// Warps of the block.
        warps: usize,
    },
    /// Lanes or warps that issue different products.
    #[error(
        "the warpgroup disagrees: its other lanes issue another product, or the same one in another group: {other}"
    )]
    Disagree {
        /// Another lane.
        other: Site,
    },
    /// A product of registers that ordinary instructions may have touched since the last fence.
    #[error(
        "missing wgmma.fence: the registers of this product may have been written by ordinary instructions since the last fence"
    )]
    NoFence,
    /// Sums that are not those of the product under way.
    #[error(
        "sums changed: some of these registers are those of the product under way issued at {product}, and others are not, or another product has added to them since; wait for it before they are touched, and take all of them for one next product"
    )]
    Changed {
        /// Where it was issued.
        product: Site,
    },
    /// Use of the sums of a product that may be under way.
    #[error(
        "register read too early: this is a sum of the product issued at {product}, which may be under way; {missing} before"
    )]
    TooEarly {
        /// Where it was issued.
        product: Site,
        /// What is to be done.
        missing: &'static str,
    },
    /// A change of a register that a product reads while it may be under way.
    #[error(
        "register written too early: the product issued at {product} reads this register, and may be under way; {missing} before"
    )]
    Overwritten {
        /// Where it was issued.
        product: Site,
        /// What is to be done.
        missing: &'static str,
    },
    /// A thread that returns before its products are done.
    #[error(
        "unfinished product: the thread ends while the product issued at {product} may be under way; {missing} before"
    )]
    Unfinished {
        /// Where it was issued.
        product: Site,
        /// What is to be done.
        missing: &'static str,
    },
    /// An operand that does not lie as its descriptor says.
    #[error(
        "misplaced tile: an operand whose rows have {row_bytes} bytes begins at byte {address} of shared memory; with a swizzle of {swizzle} bytes, eight rows begin at a multiple of their size, and the operand's bytes lie within rows of {swizzle}"
    )]
    Tile {
        /// Where it begins.
        address: u32,
        /// Bytes of a swizzled row.
        swizzle: u32,
        /// Bytes of a row that the product takes.
        row_bytes: u32,
    },
}
