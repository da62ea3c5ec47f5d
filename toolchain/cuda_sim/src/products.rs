// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a warpgroup's asynchronous products: which warps have issued them, and what their sums
//! are. The registers of sums that may be under way hold a mark, by which they are known.

use crate::clock::{Agent, Clock};
use crate::product_fault::ProductFault;
use crate::site::Site;
use cuda_mma::warpgroup::{self, Descriptor, WarpgroupMma};
use std::rc::Rc;

/// Warps of a warpgroup.
pub(crate) const WARPS: usize = 4;

/// The place of operand A of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperandA {
    /// Shared memory.
    Shared(Descriptor),
    /// Registers: the words of this lane.
    Registers([u32; warpgroup::A_WORDS]),
}

/// How a product differs from D = A·B + C of operands whose rows of A and columns of B are contiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Variant {
    /// Whether C is left out.
    pub drops_sums: bool,
    /// Whether A and B are negated.
    pub negated: [bool; 2],
    /// Whether columns of A and rows of B are contiguous instead.
    pub transposed: [bool; 2],
}

/// What a register has for a product to add to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sum {
    Number(f32),
    /// Word `word` of the sums of a product before.
    Of {
        product: usize,
        word: usize,
    },
}

/// What a lane gives to a product.
#[derive(Clone)]
pub(crate) struct LaneOperand {
    pub mma: WarpgroupMma,
    pub variant: Variant,
    pub left: OperandA,
    pub right: Descriptor,
    pub metadata: u32,
    pub selector: u32,
    pub sums: Vec<Sum>,
    /// Whether its registers need no fence, as far as the caller knows.
    pub is_ordered: bool,
}

impl LaneOperand {
    /// What is the same in all lanes.
    pub fn common(&self) -> (WarpgroupMma, Variant, Option<Descriptor>, Descriptor, u32) {
        let left = match self.left {
            OperandA::Shared(tile) => Some(tile),
            OperandA::Registers(_) => None,
        };
        (self.mma, self.variant, left, self.right, self.selector)
    }

    /// The products whose sums it takes.
    pub fn products(&self) -> impl Iterator<Item = usize> {
        self.sums.iter().filter_map(|sum| match sum {
            Sum::Of { product, .. } => Some(*product),
            Sum::Number(_) => None,
        })
    }
}

/// A product of a warpgroup.
pub(crate) struct WarpgroupProduct {
    pub mma: WarpgroupMma,
    /// Of the lanes of the warps that have issued it, until it is executed.
    pub parts: Vec<Option<LaneOperand>>,
    pub issued: usize,
    pub group: u32,
    pub site: Site,
    /// What all those lanes know.
    pub clock: Clock,
    /// Of each lane, once all warps have issued it, until all have given them to the next product.
    pub sums: Option<Rc<Vec<Vec<f32>>>>,
    /// Which warps have given its sums to another product.
    pub taken: [bool; WARPS],
}

/// What a warp has done.
#[derive(Default)]
pub(crate) struct Warp {
    /// Whether a fence came after its registers were last free to use.
    pub fenced: bool,
    /// How many products it has issued, and committed.
    pub issued: usize,
    pub committed: usize,
    /// How many groups it has committed, and waited for.
    pub groups: u32,
    pub waited: u32,
}

/// A warpgroup's products, and what its warps have done.
pub(crate) struct Warpgroup {
    pub agent: Agent,
    pub products: Vec<WarpgroupProduct>,
    pub warps: [Warp; WARPS],
}

/// The mark of word `word` of the sums of a product: a NaN that no instruction makes.
pub(crate) fn mark(product: usize, word: usize) -> f32 {
    f32::from_bits(MARK | ((product % MARKED) as u32) << 7 | word as u32)
}

/// Whether a number may be a mark.
pub(crate) fn is_mark(number: f32) -> bool {
    marked(number).is_some()
}

/// The product, up to a multiple of [`MARKED`], and the word of a mark.
fn marked(number: f32) -> Option<(usize, usize)> {
    let bits = number.to_bits() & !(1 << 31);
    (bits & MARK == MARK).then_some(((bits >> 7) as usize % MARKED, bits as usize % 128))
}

const MARK: u32 = 0x7ff0_0000;
const MARKED: usize = 1 << 13;

impl Warpgroup {
    /// The product of a mark, which is one of the latest.
    pub fn find(&self, number: f32) -> Option<(usize, usize)> {
        let (product, word) = marked(number)?;
        let count = self.products.len();
        let turn = count.checked_sub(product + 1)? / MARKED;
        Some((turn * MARKED + product, word))
    }

    /// What registers have, of which some may hold marks.
    pub fn marked(&self, registers: &[f32]) -> Vec<Sum> {
        let each = |&number: &f32| match self.find(number) {
            Some((product, word)) => Sum::Of { product, word },
            None => Sum::Number(number),
        };
        registers.iter().map(each).collect()
    }

    /// Reports registers that a product may not take in a warp.
    pub fn check_registers(&self, warp: usize, part: &LaneOperand) -> Result<(), ProductFault> {
        let is_fenced = self.warps[warp].fenced || part.is_ordered;
        match part.products().next() {
            None if !is_fenced => return Err(ProductFault::NoFence),
            None => {}
            Some(product) => {
                let before = &self.products[product];
                let expected = (0..part.sums.len()).map(|word| Sum::Of { product, word });
                let is_next = before.mma.n == part.mma.n && !before.taken[warp];
                if !is_next || !part.sums.iter().copied().eq(expected) {
                    return Err(ProductFault::Changed { product: before.site });
                }
            }
        }
        if matches!(part.left, OperandA::Registers(_)) && !is_fenced {
            return Err(ProductFault::NoFence);
        }
        Ok(())
    }

    /// What a lane's registers stand for.
    pub fn values(&self, lane: usize, sums: &[Sum]) -> Vec<f32> {
        let value = |sum: &Sum| match *sum {
            Sum::Of { product, word } => {
                let sums = self.products[product].sums.as_ref();
                sums.expect("a product before has been executed")[lane][word]
            }
            Sum::Number(number) => number,
        };
        sums.iter().map(value).collect()
    }

    /// The number that a warp's lane has waited for, if no product of the warp has taken it.
    pub fn ended(&self, warp: usize, lane: usize, product: usize, word: usize) -> Option<f32> {
        let ended = &self.products[product];
        let is_here = ended.group <= self.warps[warp].waited && !ended.taken[warp];
        is_here.then(|| ended.sums.as_ref().map(|sums| sums[lane][word]))?
    }

    /// How many products the groups up to one have.
    pub fn count(&self, group: u32) -> usize {
        self.products.partition_point(|product| product.group <= group)
    }
}
