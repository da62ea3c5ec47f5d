// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous products of a warpgroup. They read shared memory by the async proxy. Until a wait for
//! their group their sums hold marks: what uses these, or changes some of them, is reported.

use crate::block::{OPERANDS, State};
use crate::chip::OnChip as _;
use crate::config::LANES;
use crate::lane::{collective, when, with};
use crate::product_fault::ProductFault;
pub use crate::products::OperandA;
use crate::products::{LaneOperand, Variant, mark};
use cuda_chip::Chip;
pub use cuda_mma::warpgroup::{Descriptor, WarpgroupMma};

/// Refuses an instruction on a chip that has none of its kind.
#[track_caller]
fn needs_sm_90a(instruction: &'static str) {
    with(|_, _| match Chip::current() {
        Chip::Sm90a => Ok(()),
        chip => Err(ProductFault::NotOnChip { instruction, chip }.into()),
    });
}

/// `wgmma.fence.sync.aligned`.
#[track_caller]
pub fn fence() {
    needs_sm_90a("wgmma.fence");
    collective("wgmma::fence", [0; OPERANDS], |block, warp, _| {
        block.fence_products(warp).map_err(|kind| (0, kind))?;
        Ok([[0; 8]; LANES])
    });
}

/// `wgmma.mma_async`, and where A is sparse `wgmma.mma_async.sp`: adds A·B to the sums, as soon as all
/// four warps have issued it. `metadata` is a word of it, and the selector of the lanes that have it.
#[track_caller]
pub fn multiply(
    mma: WarpgroupMma,
    sums: &mut [f32],
    left: OperandA,
    right: Descriptor,
    (metadata, selector): (u32, u32),
) {
    let given = with(|block, thread| Ok(block.marked_sums(thread, sums)));
    let (variant, is_ordered) = (Variant::default(), false);
    let number = issue(LaneOperand {
        mma,
        variant,
        left,
        right,
        metadata,
        selector,
        sums: given,
        is_ordered,
    });
    for (word, sum) in sums.iter_mut().enumerate() {
        *sum = mark(number, word);
    }
}

/// Issues a product; its number.
#[track_caller]
pub(crate) fn issue(part: LaneOperand) -> usize {
    let mma = part.mma;
    assert_eq!(part.sums.len(), mma.d_words(), "the sums of {mma}");
    assert!((part.selector as usize) < mma.selectors(), "{mma} has {} selectors", mma.selectors());
    needs_sm_90a("wgmma.mma_async");
    let mut part = Some(Box::new(part));
    with(|block, thread| {
        block.threads[thread].part = part.take();
        Ok(())
    });
    let results = collective("wgmma::multiply", [0; OPERANDS], |block, warp, _| {
        let number = block.issue_product(warp)?;
        block.wake(|state| matches!(state, State::Products));
        let mut results = [[0; 8]; LANES];
        results.fill([number as u32, 0, 0, 0, 0, 0, 0, 0]);
        Ok(results)
    });
    results[0] as usize
}

/// `wgmma.commit_group.sync.aligned`.
#[track_caller]
pub fn commit() {
    needs_sm_90a("wgmma.commit_group");
    collective("wgmma::commit", [0; OPERANDS], |block, warp, _| {
        block.commit_products(warp).map_err(|kind| (0, kind))?;
        Ok([[0; 8]; LANES])
    });
}

/// `wgmma.wait_group.sync.aligned`: waits for all committed groups but the `newest`. Registers in
/// `sums` that hold sums of these groups may be used from now on.
#[track_caller]
pub fn wait(newest: u32, sums: &mut [f32]) {
    needs_sm_90a("wgmma.wait_group");
    collective("wgmma::wait", [0; OPERANDS], |_, _, _| Ok([[0; 8]; LANES]));
    when(|block, thread| {
        if !block.has_products(thread / LANES, newest)? {
            block.set_state(thread, State::Products);
            return Ok(None);
        }
        block.take_products(thread, newest, sums);
        Ok(Some(()))
    });
}
