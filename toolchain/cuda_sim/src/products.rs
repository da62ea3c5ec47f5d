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

/// What a lane gives to a product.
#[derive(Clone)]
pub(crate) struct LaneOperand {
    pub mma: WarpgroupMma,
    pub left: OperandA,
    pub right: Descriptor,
    pub metadata: u32,
    pub selector: u32,
    pub sums: Vec<f32>,
}

impl LaneOperand {
    /// What is the same in all lanes.
    pub fn common(&self) -> (WarpgroupMma, Option<Descriptor>, Descriptor, u32) {
        let left = match self.left {
            OperandA::Shared(tile) => Some(tile),
            OperandA::Registers(_) => None,
        };
        (self.mma, left, self.right, self.selector)
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
    /// Of each lane, once all warps have issued it.
    pub sums: Option<Rc<Vec<Vec<f32>>>>,
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

    /// Reports registers that a product may not take in a warp.
    pub fn check_registers(&self, warp: usize, part: &LaneOperand) -> Result<(), ProductFault> {
        let is_fenced = self.warps[warp].fenced;
        let marks: Vec<_> = part.sums.iter().map(|&sum| self.find(sum)).collect();
        match marks.iter().flatten().next() {
            None if !is_fenced => return Err(ProductFault::NoFence),
            None => {}
            Some(&(product, _)) => {
                let expected = (0..marks.len()).map(|word| Some((product, word)));
                let site = self.products[product].site;
                let same = self.products[product].mma.n == part.mma.n;
                if !same || !marks.iter().copied().eq(expected) {
                    return Err(ProductFault::Changed { product: site });
                }
            }
        }
        if matches!(part.left, OperandA::Registers(_)) && !is_fenced {
            return Err(ProductFault::NoFence);
        }
        Ok(())
    }

    /// What a lane's registers stand for.
    pub fn values(&self, lane: usize, sums: &[f32]) -> Vec<f32> {
        let value = |&sum: &f32| match self.find(sum) {
            Some((product, word)) => {
                let sums = self.products[product].sums.as_ref();
                sums.expect("a product before has been executed")[lane][word]
            }
            None => sum,
        };
        sums.iter().map(value).collect()
    }
}
