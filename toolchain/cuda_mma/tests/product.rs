// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mma.sp` in software against a plain product of the expanded matrices, for every shape and selector; `mma` of
//! every shape against a plain product.

use cuda_mma::dense::{self, DenseMma, Factor};
use cuda_mma::emulate::dense::{mma, mma_f64};
use cuda_mma::emulate::{Lanes, Unordered, mma_sp};
use cuda_mma::fragment::{self, Element, LANES, M, N, SHAPES, SparseMma};
use cuda_mma::number::{bits, value};

/// Numbers that look random, from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> usize {
        // Knuth's generator; its upper half is what looks random.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % bound) as usize
    }

    /// A number that every type has.
    fn value(&mut self) -> f64 {
        (self.below(65) as f64 - 32.0) / 8.0
    }
}

/// Positions in a group of what is kept, in the form of the type, and their metadata.
fn group(element: Element, numbers: &mut Numbers) -> Vec<(usize, u32)> {
    match element {
        Element::F16 | Element::Bf16 => {
            let first = numbers.below(3);
            let second = first + 1 + numbers.below(3 - first as u64);
            vec![(first, first as u32), (second, second as u32)]
        }
        Element::Tf32 => vec![[(0, 0b0100), (1, 0b1110)][numbers.below(2)]],
    }
}

fn check<const W: usize>(mma: SparseMma, selector: usize, numbers: &mut Numbers) {
    let width = 4 / mma.per_word() * mma.per_word().min(2);
    let (mut kept, mut expanded) = (vec![[0.0; 16]; M], vec![[0.0; 32]; M]);
    // Lanes that the selector leaves out have something else.
    let mut metadata: Lanes<u32> = [0x5a5a_5a5a; LANES];
    for row in 0..M {
        let mut at = 0;
        while at < mma.kept() {
            let columns = if mma.per_word() == 2 { 4 } else { 2 };
            let first = at * 2 / columns * columns;
            for (position, code) in group(mma.element, numbers) {
                let number = numbers.value();
                (kept[row][at], expanded[row][first + position]) = (number, number);
                let (lane, bit) = mma.metadata(row, at);
                let word = &mut metadata[lane + selector * mma.metadata_lanes()];
                let mask = ((1 << (width / mma.per_word().min(2))) - 1) << bit;
                *word = *word & !mask | code << bit;
                at += 1;
            }
        }
    }
    let b: Vec<[f64; N]> = (0..mma.k).map(|_| [(); N].map(|()| numbers.value())).collect();
    let pack = |numbers: &dyn Fn(usize) -> f64| {
        (0..mma.per_word()).fold(0, |word, i| word | bits(mma.element, numbers(i)) << (16 * i))
    };
    let of_lane = |lane: usize| -> [[u32; W]; 2] {
        [
            std::array::from_fn(|w| {
                pack(&|i| {
                    let (row, column) = mma.a(lane, w, i);
                    kept[row][column]
                })
            }),
            std::array::from_fn(|w| {
                pack(&|i| {
                    let (row, column) = mma.b(lane, w, i);
                    b[row][column]
                })
            }),
        ]
    };
    let operands: [[[u32; W]; 2]; LANES] = std::array::from_fn(of_lane);
    let c: Lanes<[f32; 4]> = [(); LANES].map(|()| [(); 4].map(|()| numbers.value() as f32));
    let (a, b_words) = (operands.map(|[a, _]| a), operands.map(|[_, b]| b));
    let d = mma_sp::<W>(mma, selector, &a, &metadata, &b_words, &c).unwrap();
    for (lane, d) in d.iter().enumerate() {
        for (word, d) in d.iter().enumerate() {
            let (row, column) = fragment::c(lane, word);
            let products = (0..mma.k).map(|k| expanded[row][k] * b[k][column]);
            let expected = f64::from(c[lane][word]) + products.sum::<f64>();
            // Multiples of 1/64 below 2^13: exact.
            assert_eq!(f64::from(*d), expected, "{mma}, selector {selector}: ({row}, {column})");
        }
    }
}

#[test]
fn the_product_is_that_of_the_expanded_matrices() {
    let mut numbers = Numbers(1);
    for mma in SHAPES {
        for selector in 0..mma.selectors() {
            for _ in 0..4 {
                match mma.a_words() {
                    4 => check::<4>(mma, selector, &mut numbers),
                    _ => check::<2>(mma, selector, &mut numbers),
                }
            }
        }
    }
}

/// What the maps say that lanes have of two matrices, A·B + C, and the numbers.
fn check_dense<const A: usize, const B: usize, const C: usize>(
    shape: DenseMma,
    numbers: &mut Numbers,
) {
    let a: Vec<[f64; 16]> = (0..shape.m).map(|_| [(); 16].map(|()| numbers.value())).collect();
    let b: Vec<[f64; N]> = (0..shape.k).map(|_| [(); N].map(|()| numbers.value())).collect();
    let c: Lanes<[f64; C]> = [(); LANES].map(|()| [(); C].map(|()| numbers.value()));
    let at_a = |lane, w, i| {
        let (row, column) = shape.a(lane, w, i);
        a[row][column]
    };
    let at_b = |lane, w, i| {
        let (row, column) = shape.b(lane, w, i);
        b[row][column]
    };
    let d: Lanes<[f64; C]> = if shape.factor == Factor::F64 {
        let a: Lanes<[f64; A]> =
            std::array::from_fn(|lane| std::array::from_fn(|w| at_a(lane, w, 0)));
        let b: Lanes<[f64; B]> =
            std::array::from_fn(|lane| std::array::from_fn(|w| at_b(lane, w, 0)));
        mma_f64(shape, &a, &b, &c)
    } else {
        let of = match shape.factor {
            Factor::F16 => Element::F16,
            Factor::Bf16 => Element::Bf16,
            _ => Element::Tf32,
        };
        let pack = |number: &dyn Fn(usize) -> f64| {
            let per = shape.factor.per_register();
            (0..per).fold(0, |word, i| word | bits(of, number(i)) << (16 * i))
        };
        let a: Lanes<[u32; A]> =
            std::array::from_fn(|lane| std::array::from_fn(|w| pack(&|i| at_a(lane, w, i))));
        let b: Lanes<[u32; B]> =
            std::array::from_fn(|lane| std::array::from_fn(|w| pack(&|i| at_b(lane, w, i))));
        let c = c.map(|c| std::array::from_fn(|i| c[i] as f32));
        mma(shape, &a, &b, &c).map(|d| std::array::from_fn(|i| d[i].into()))
    };
    for (lane, d) in d.iter().enumerate() {
        for (word, d) in d.iter().enumerate() {
            let (row, column) = shape.c(lane, word);
            let products: f64 = (0..shape.k).map(|k| a[row][k] * b[k][column]).sum();
            assert_eq!(*d, c[lane][word] + products, "{shape}: ({row}, {column})");
        }
    }
}

#[test]
fn the_dense_product_is_that_of_the_matrices() {
    let mut numbers = Numbers(2);
    for shape in dense::SHAPES {
        let check = match (shape.a_registers(), shape.b_registers(), shape.c_registers()) {
            (8, 4, 4) => check_dense::<8, 4, 4>,
            (4, 2, 4) => check_dense::<4, 2, 4>,
            (2, 1, 4) => check_dense::<2, 1, 4>,
            (1, 1, 2) => check_dense::<1, 1, 2>,
            other => panic!("{shape} has {other:?} registers"),
        };
        check(shape, &mut numbers);
    }
}

#[test]
fn metadata_that_does_not_increase_are_refused_with_their_place() {
    let zeros = [[0u32; 4]; LANES];
    let c = [[0.0; 4]; LANES];
    let mma = fragment::M16N8K32;
    let mut metadata = [0x4444_4444; LANES];
    let (lane, bit) = mma.metadata(9, 6);
    metadata[lane] |= 0b11 << bit;
    let refused = mma_sp(mma, 0, &zeros, &metadata, &zeros, &c).unwrap_err();
    assert_eq!(refused, Unordered { row: 9, group: 3, first: 3, second: 1 });
    let text = "metadata of row 9, group 3 is (3, 1); the indices must increase";
    assert_eq!(refused.to_string(), text);
}

#[test]
fn numbers_survive_their_words() {
    for element in [Element::F16, Element::Bf16, Element::Tf32] {
        for number in [0.0, -0.0, 1.0, -4.125, 0.007_812_5] {
            let back = value(element, bits(element, number));
            assert_eq!(back.to_bits(), number.to_bits(), "{element}");
        }
    }
}
