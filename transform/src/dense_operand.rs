// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operand A of dense products that take the place of sparse ones (`product` of `kernels-gpu`): the same A with its
//! zeros, at the same slots. It takes two dense instructions for a sparse one, each of half the slots.

use cuda_mma::dense::{DenseMma, Factor};
use cuda_mma::emulate::{Lanes, columns};
use cuda_mma::fragment::{Element, LANES, M, SparseMma};

/// The dense instruction that takes half the slots of a sparse one.
#[must_use]
pub const fn half_of(mma: SparseMma) -> DenseMma {
    let factor = match mma.element {
        Element::F16 => Factor::F16,
        Element::Bf16 => Factor::Bf16,
        Element::Tf32 => Factor::Tf32,
    };
    DenseMma { m: M, k: mma.k / 2, factor }
}

/// What lanes hold of A for a sparse product, of selector 0, as the words of two dense ones: those of the first, then
/// those of the second, each for 32 lanes.
///
/// # Panics
/// Metadata that is not ordered.
#[must_use]
pub fn dense_words(
    mma: SparseMma,
    word: impl Fn(usize, usize) -> u32,
    metadata: &Lanes<u32>,
) -> Vec<u32> {
    let (columns, half) = (columns(mma, 0, metadata).expect("ordered metadata"), half_of(mma));
    let bits = 32 / mma.per_word();
    let mut expanded = vec![[0u32; M]; mma.k];
    for lane in 0..LANES {
        for (w, i) in (0..mma.a_words()).flat_map(|w| (0..mma.per_word()).map(move |i| (w, i))) {
            let (row, kept) = mma.a(lane, w, i);
            let value = word(w, lane) >> (bits * i) & (u32::MAX >> (32 - bits));
            expanded[columns[row][kept]][row] = value;
        }
    }
    let mut words = Vec::with_capacity(2 * half.a_registers() * LANES);
    for (first, register) in
        [0, half.k].into_iter().flat_map(|k| (0..half.a_registers()).map(move |w| (k, w)))
    {
        words.extend((0..LANES).map(|lane| {
            (0..mma.per_word()).fold(0, |packed, i| {
                let (row, column) = half.a(lane, register, i);
                packed | expanded[first + column][row] << (bits * i)
            })
        }));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::window::window;
    use cuda_mma::emulate::{dense, mma_sp};
    use cuda_mma::number::bits;

    #[test]
    fn two_dense_products_are_the_sparse_one() {
        for element in [Element::F16, Element::Bf16, Element::Tf32] {
            let mma = SparseMma::deepest(element);
            let encoded = window(&catalogue::find("box2d3r").unwrap()).unwrap().encode(element);
            for step in 0..encoded.steps {
                let word = |w: usize, lane: usize| encoded.word(step, w)[lane];
                let metadata = std::array::from_fn(|lane| word(mma.a_words(), lane));
                let words = dense_words(mma, word, &metadata);
                let value = |seed: usize| bits(element, (seed * 37 % 17) as f64 / 8.0 - 1.0);
                let b: Lanes<[u32; 4]> = std::array::from_fn(|lane| {
                    std::array::from_fn(|w| {
                        let of = |i: usize| value(lane * 8 + w * 2 + i);
                        (0..mma.per_word()).fold(0, |word, i| word | of(i) << (16 * i))
                    })
                });
                let a = std::array::from_fn(|lane| std::array::from_fn(|w| word(w, lane)));
                let zero = [[0.0; 4]; LANES];
                let sparse = mma_sp::<4>(mma, 0, &a, &metadata, &b, &zero).unwrap();
                let half = |first: usize, c| {
                    let word = |w: usize, lane: usize| words[(first * 4 + w) * LANES + lane];
                    let a = std::array::from_fn(|lane| std::array::from_fn(|w| word(w, lane)));
                    let b = b.map(|b| [b[2 * first], b[2 * first + 1]]);
                    dense::mma::<4, 2>(half_of(mma), &a, &b, c)
                };
                let dense = half(1, &half(0, &zero));
                for (dense, sparse) in dense.iter().zip(&sparse) {
                    for (dense, sparse) in dense.iter().zip(sparse) {
                        assert!((dense - sparse).abs() < 1e-5, "{dense} {sparse}");
                    }
                }
                assert!(sparse.iter().flatten().any(|sum| *sum != 0.0));
            }
        }
    }
}
