// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control flow of a kernel: basic blocks and where their branches meet again.

use super::parse::{PtxInstruction, PtxKernel};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A run of instructions that is entered at its start and left at its end.
#[derive(Clone, Debug)]
pub struct BasicBlock {
    /// Its instructions, as indices of the kernel's body.
    pub body: Range<usize>,
    /// The blocks that may follow.
    pub successors: Vec<usize>,
    /// Whether lanes can end here in good order.
    returns: bool,
}

/// The basic blocks of a kernel.
#[derive(Clone, Debug)]
pub struct Flow {
    /// In the order of the text.
    pub blocks: Vec<BasicBlock>,
}

impl Flow {
    /// Cuts a kernel into basic blocks.
    ///
    /// A branch into a block that traps counts as never taken: a trap ends the whole grid with an
    /// error, so nobody is left to wait for.
    ///
    /// # Panics
    /// On a branch to a label that does not exist.
    #[must_use]
    pub fn new(kernel: &PtxKernel) -> Self {
        let body = &kernel.body;
        let mut starts: BTreeSet<usize> = [0].into();
        for (index, instruction) in body.iter().enumerate() {
            if instruction.label.is_some() {
                starts.insert(index);
            }
            if ends_block(instruction) && index + 1 < body.len() {
                starts.insert(index + 1);
            }
        }
        let starts: Vec<usize> = starts.into_iter().collect();
        let ends = starts[1..].iter().copied().chain([body.len()]);
        let ranges: Vec<Range<usize>> = starts.iter().zip(ends).map(|(&s, e)| s..e).collect();
        let block_of = |index: usize| starts.partition_point(|&start| start <= index) - 1;
        let labels: BTreeMap<&str, usize> = body
            .iter()
            .enumerate()
            .filter_map(|(index, instruction)| {
                Some((instruction.label.as_deref()?, block_of(index)))
            })
            .collect();
        let traps = |block: usize| {
            let last = ranges[block].clone().next_back();
            last.is_some_and(|last| body[last].is("trap"))
        };
        let block = |(number, range): (usize, &Range<usize>)| {
            let last = range.clone().next_back().map(|last| &body[last]);
            let mut successors = Vec::new();
            if let Some(branch) = last.filter(|last| last.is("bra")) {
                let label = branch.read.last().expect("a branch has a target");
                successors.push(*labels.get(label.as_str()).expect("branches go to labels"));
            }
            let falls_through = last.is_none_or(|last| !ends_block(last) || last.guard.is_some());
            if falls_through && number + 1 < ranges.len() {
                successors.push(number + 1);
            }
            successors.retain(|&successor| !traps(successor));
            successors.dedup();
            let returns = last.is_some_and(|last| last.is("ret") || last.is("exit"));
            BasicBlock { body: range.clone(), successors, returns }
        };
        Self { blocks: ranges.iter().enumerate().map(block).collect() }
    }

    /// For each block, the blocks that every way from it to the end passes, itself included.
    #[must_use]
    pub fn post_dominators(&self) -> Vec<BTreeSet<usize>> {
        let all: BTreeSet<usize> = (0..self.blocks.len()).collect();
        let mut sets: Vec<BTreeSet<usize>> = vec![all; self.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (number, block) in self.blocks.iter().enumerate().rev() {
                // A way that ends here passes nothing else.
                let mut after: Option<BTreeSet<usize>> = block.returns.then(BTreeSet::new);
                for &successor in &block.successors {
                    let next = &sets[successor];
                    after = Some(after.map_or_else(|| next.clone(), |after| &after & next));
                }
                let mut set = after.unwrap_or_default();
                set.insert(number);
                changed |= set != sets[number];
                sets[number] = set;
            }
        }
        sets
    }

    /// The blocks in which the lanes may be apart after a branch at the end of `branch`: all that can
    /// come before the ways meet again.
    #[must_use]
    pub fn region(&self, branch: usize, post_dominators: &[BTreeSet<usize>]) -> BTreeSet<usize> {
        let meets: BTreeSet<usize> =
            post_dominators[branch].iter().copied().filter(|&block| block != branch).collect();
        let mut region = BTreeSet::new();
        let mut open = self.blocks[branch].successors.clone();
        while let Some(block) = open.pop() {
            if !meets.contains(&block) && region.insert(block) {
                open.extend(&self.blocks[block].successors);
            }
        }
        region
    }
}

fn ends_block(instruction: &PtxInstruction) -> bool {
    ["bra", "ret", "exit", "trap"].iter().any(|opcode| instruction.is(opcode))
}
