// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous products of a warpgroup, as PTX has them. Their rules are those of [`crate::wgmma`].

use crate::lane::with;
use crate::products::{LaneOperand, OperandA, Sum, Variant};
use crate::wgmma::{self, Descriptor, WarpgroupMma};
use cuda_mma::warpgroup::{M, WarpgroupFactor};

/// What no register of 32 bits has: the name of a sum, with its product and its word.
const NAME: u64 = 1 << 63;

/// Bits of the word's number.
const WORD_BITS: u32 = 7;

fn name(product: usize, word: usize) -> u64 {
    NAME | (product as u64) << WORD_BITS | word as u64
}

/// The product and the word of a name.
fn named(sum: u64) -> Option<(usize, usize)> {
    let word = sum & ((1 << WORD_BITS) - 1);
    (sum & NAME != 0).then_some((((sum & !NAME) >> WORD_BITS) as usize, word as usize))
}

/// Executes a fence, a commit or a wait, for all groups but so many.
#[track_caller]
pub fn order(opcode: &str, newest: Option<u32>) -> Option<()> {
    match opcode {
        "wgmma.fence.sync.aligned" => wgmma::fence(),
        "wgmma.commit_group.sync.aligned" => wgmma::commit(),
        "wgmma.wait_group.sync.aligned" => wgmma::wait(newest?, &mut []),
        _ => return None,
    }
    Some(())
}

/// Issues a product, and gives the names of its sums; nothing where it is not known.
#[track_caller]
pub fn multiply(
    opcode: &str,
    sums: &[u64],
    operands: &[Vec<u64>],
    is_ordered: bool,
) -> Option<Vec<u64>> {
    let mma = shape(opcode)?;
    let [a, b, rest @ ..] = operands else { return None };
    let (metadata, rest) = match rest {
        [metadata, selector, rest @ ..] if mma.sparse => {
            ((*metadata.first()? as u32, *selector.first()? as u32), rest)
        }
        _ if mma.sparse => return None,
        _ => ((0, 0), rest),
    };
    let left = match a[..] {
        [tile] => OperandA::Shared(descriptor(tile)?),
        [a0, a1, a2, a3] => OperandA::Registers([a0, a1, a2, a3].map(|word| word as u32)),
        _ => return None,
    };
    let variant = variant(mma, left, rest)?;
    let right = descriptor(*b.first()?)?;
    if sums.len() != mma.d_words() || metadata.1 as usize >= mma.selectors() {
        return None;
    }
    let sum = |register: &u64| match named(*register) {
        Some((product, word)) => Sum::Of { product, word },
        None => Sum::Number(f32::from_bits(*register as u32)),
    };
    let given = sums.iter().map(sum).collect();
    let (metadata, selector) = metadata;
    let product = wgmma::issue(LaneOperand {
        mma,
        variant,
        left,
        right,
        metadata,
        selector,
        sums: given,
        is_ordered,
    });
    Some((0..sums.len()).map(|word| name(product, word)).collect())
}

/// The shape of an opcode: sums in f32, of factors that have them.
fn shape(opcode: &str) -> Option<WarpgroupMma> {
    let rest = opcode.strip_prefix("wgmma.mma_async.")?;
    let (sparse, rest) = match rest.strip_prefix("sp.") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let parts: Vec<&str> = rest.split('.').collect();
    let ["sync", "aligned", shape, "f32", a, b] = parts[..] else { return None };
    let mma = WarpgroupMma { a: factor(a)?, b: factor(b)?, n: columns(shape)?, sparse };
    let is_pair = mma.a == mma.b || mma.a.bytes() == 1 && mma.b.bytes() == 1;
    let is_shape = shape == format!("m{M}n{}k{}", mma.n, mma.k());
    let is_width = mma.n.is_multiple_of(8) && (8..=256).contains(&mma.n);
    (is_pair && is_shape && is_width).then_some(mma)
}

fn columns(shape: &str) -> Option<usize> {
    let (_, rest) = shape.split_once('n')?;
    rest.split_once('k')?.0.parse().ok()
}

fn factor(name: &str) -> Option<WarpgroupFactor> {
    use WarpgroupFactor::{Bf16, E4m3, E5m2, F16, Tf32};
    [F16, Bf16, Tf32, E4m3, E5m2].into_iter().find(|factor| factor.to_string() == name)
}

/// What comes last: whether there is a C, the signs of A and B, and for 16 bits whether they are transposed, of an A in
/// registers only B.
fn variant(mma: WarpgroupMma, left: OperandA, operands: &[Vec<u64>]) -> Option<Variant> {
    let bits: Vec<u64> = operands.iter().map(|it| it.first().copied()).collect::<Option<_>>()?;
    let [adds, signs @ ..] = &bits[..] else { return None };
    let ([a, b], transposes) = signs.split_first_chunk::<2>()?;
    let is_negated = |sign: u64| match sign as i32 {
        1 => Some(false),
        -1 => Some(true),
        _ => None,
    };
    let is_set = |bit: u64| (bit < 2).then_some(bit == 1);
    let transposed = match (transposes, left) {
        ([a, b], OperandA::Shared(_)) if mma.a.bytes() == 2 => [is_set(*a)?, is_set(*b)?],
        ([b], OperandA::Registers(_)) if mma.a.bytes() == 2 => [false, is_set(*b)?],
        ([], _) if mma.a.bytes() != 2 => [false; 2],
        _ => return None,
    };
    let (drops_sums, negated) = (adds & 1 == 0, [is_negated(*a)?, is_negated(*b)?]);
    Some(Variant { drops_sums, negated, transposed })
}

/// An operand in shared memory that begins at a whole pattern.
fn descriptor(bits: u64) -> Option<Descriptor> {
    Some(Descriptor(bits)).filter(|tile| tile.base_offset() == 0)
}

/// Replaces names by numbers, where the thread has waited for them.
#[track_caller]
pub fn settle(sums: &mut [u64]) {
    with(|block, thread| {
        for sum in &mut *sums {
            if let Some((product, word)) = named(*sum)
                && let Some(number) = block.ended_sum(thread, product, word)
            {
                *sum = number.to_bits().into();
            }
        }
        Ok(())
    });
}

/// Whether the thread has waited for the product of a sum.
#[track_caller]
pub fn has_ended(sum: u64) -> bool {
    named(sum)
        .is_none_or(|(product, _)| with(|block, thread| Ok(block.has_waited_for(thread, product))))
}

/// Ends the launch: an instruction reads a sum of a product under way, or writes what that reads.
#[track_caller]
pub fn used_too_early(sum: u64, is_write: bool) {
    let (product, _) = named(sum).expect("what the thread has of a product is named");
    with(|block, thread| Err::<(), _>(block.used_too_early(thread, product, is_write).into()));
}
