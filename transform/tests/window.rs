// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole way from a stencil to registers, checked against the plain weighted sum.

use cuda_mma::emulate::{Lanes, mma_sp, pack_f16, unpack_f16};
use cuda_mma::fragment::{self, Element, LANES, SparseMma};
use cuda_mma::number::{bits, value};
use half::f16;
use proptest::prelude::*;
use transform::lookup::wavefronts_16_bytes;
use transform::stencil::Stencil;
use transform::window::{self, CHUNK, SHIFT, tf32_chunk, tf32_quarter};

/// Columns of input that a strip of 8 chunks reads.
const WIDTH: usize = 9 * CHUNK;

/// Dense weights of an odd extent on each axis, some of them zero.
fn stencils() -> impl Strategy<Value = Stencil> {
    (0..=3usize, 0..=3usize).prop_flat_map(|(ry, rx)| {
        let extents = [2 * ry + 1, 2 * rx + 1];
        let weight = prop_oneof![1 => Just(0.0), 4 => -1.0..1.0f64];
        proptest::collection::vec(weight, extents[0] * extents[1])
            .prop_filter_map("all weights zero", move |weights| {
                Stencil::dense("random", &extents, &weights).ok()
            })
    })
}

/// Values of a grid and their type, which holds them exactly.
fn inputs(count: usize) -> impl Strategy<Value = (Element, Vec<f64>)> {
    let element = prop_oneof![Just(Element::F16), Just(Element::Bf16), Just(Element::Tf32)];
    let values = proptest::collection::vec(-1.0..1.0f64, count);
    (element, values).prop_map(|(element, values)| {
        let rounded = values.into_iter().map(|x| value(element, bits(element, x)));
        (element, rounded.collect())
    })
}

/// The B fragment of one step as the kernels load it. Lane 4g + t takes, of a 16-bit type, chunk
/// g + t % 2 of input row t / 2 of the step, in the second row its upper half first; in tf32, its
/// quarter of the window of column g.
fn load(element: Element, rows: &[f64], step: usize) -> Lanes<[u32; 4]> {
    std::array::from_fn(|lane| {
        let (g, t) = (lane / 4, lane % 4);
        std::array::from_fn(|word| match element {
            Element::F16 | Element::Bf16 => {
                let first = (2 * step + t / 2) * WIDTH + (g + t % 2) * CHUNK;
                let pair = first + 2 * (word ^ (t / 2 * 2));
                bits(element, rows[pair]) | bits(element, rows[pair + 1]) << 16
            }
            Element::Tf32 => {
                let window = step * WIDTH + tf32_chunk(g) * CHUNK;
                bits(element, rows[window + 4 * tf32_quarter(t) + word])
            }
        })
    })
}

/// The chunk of outputs that is a column of the product.
fn chunk_of(element: Element, column: usize) -> usize {
    if element == Element::Tf32 { tf32_chunk(column) } else { column }
}

proptest! {
    #[test]
    fn emulated_product_is_the_stencil(
        (stencil, (element, rows)) in stencils().prop_flat_map(|stencil| {
            let rows = 2 * (stencil.radius().max(1) + 1);
            (Just(stencil), inputs(rows * WIDTH))
        })
    ) {
        let window = window::window(&stencil).unwrap();
        let encoded = window.encode(element);
        prop_assert_eq!(encoded.steps, window.steps(element));
        let mut sum = [[0.0f32; 4]; LANES];
        for step in 0..encoded.steps {
            let a = std::array::from_fn(|lane| {
                std::array::from_fn(|word| encoded.word(step, word)[lane])
            });
            let metadata = encoded.word(step, 4).try_into().unwrap();
            let b = load(element, &rows, step);
            sum = mma_sp::<4>(SparseMma::deepest(element), 0, &a, &metadata, &b, &sum).unwrap();
        }
        let rounded = stencil.map_weights(|w| value(element, bits(element, w)));
        for (lane, sums) in sum.iter().enumerate() {
            for (word, &sum) in sums.iter().enumerate() {
                let (row, column) = fragment::c(lane, word);
                let x = chunk_of(element, column) * CHUNK + row % CHUNK;
                let y = row / CHUNK;
                let products = rounded.taps().iter().map(|tap| {
                    let [_, dy, dx] = tap.offset;
                    let at_y = (y + window.radius) as i32 + dy;
                    let at_x = (x + SHIFT) as i32 + dx;
                    tap.weight * rows[at_y as usize * WIDTH + at_x as usize]
                });
                let (exact, scale) =
                    products.fold((0.0, 0.0), |(s, m), p| (s + p, m + f64::abs(p)));
                let error = (f64::from(sum) - exact).abs();
                prop_assert!(error <= 4.0 * scale * f64::from(f32::EPSILON), "{error} of {scale}");
            }
        }
    }

    #[test]
    fn permuting_changes_no_value(stencil in stencils()) {
        let window = window::window(&stencil).unwrap();
        for element in [Element::F16, Element::Tf32] {
            let sparse = window.sparse(element);
            for (slot, column) in sparse.order.iter().enumerate() {
                for row in 0..16 {
                    let value = column.map_or(0.0, |column| window.morphed.matrix.at(row, column));
                    prop_assert_eq!(sparse.matrix.at(row, slot), value);
                }
            }
        }
    }

    #[test]
    fn packing_two_numbers_is_reversible(low in any::<u16>(), high in any::<u16>()) {
        let word = pack_f16(f16::from_bits(low), f16::from_bits(high));
        prop_assert_eq!(unpack_f16(word).map(f16::to_bits), [low, high]);
    }
}

/// What the kernel for tf32 rests on: the lower half of a step's A is the upper half of the step
/// before, and the upper half of the last one is zero.
#[test]
fn in_tf32_the_second_row_of_outputs_takes_the_weights_of_the_first_a_row_later() {
    let weights: Vec<f64> = (0..49).map(|i| f64::from((i * 7) % 5) - 1.0).collect();
    let encoded = window::window(&Stencil::dense("holes", &[7, 7], &weights).unwrap())
        .unwrap()
        .encode(Element::Tf32);
    let zeros = [0; LANES];
    for word in [0, 2] {
        let uppers = (0..encoded.steps).map(|step| encoded.word(step, word));
        let lowers = (0..encoded.steps).map(|step| encoded.word(step, word + 1));
        let before = std::iter::once(&zeros[..]).chain(uppers);
        assert!(before.eq(lowers.chain([&zeros[..]])), "word {word}");
    }
}

/// Every quarter of a warp's load of tf32 reads 8 times 16 bytes from all banks at once, and both of
/// its stores are whole lines.
#[test]
fn tf32_windows_meet_in_no_bank_and_their_stores_fill_lines() {
    let load = std::array::from_fn(|lane| {
        (32 * tf32_chunk(lane / 4) + 16 * tf32_quarter(lane % 4)) as u32
    });
    assert_eq!(wavefronts_16_bytes(&load), 4);
    for odd in 0..2 {
        let column = |lane: usize| tf32_chunk(2 * (lane % 4) + odd) * CHUNK + lane / 4;
        let mut columns: Vec<usize> = (0..LANES).map(column).collect();
        columns.sort_unstable();
        assert_eq!(columns, (32 * odd..32 * odd + 32).collect::<Vec<_>>());
    }
}

#[test]
fn stencils_that_do_not_fit_are_refused() {
    let wide = Stencil::dense("wide", &[1, 9], &[1.0; 9]).unwrap();
    assert_eq!(window::window(&wide), Err(window::NoWindow::Radius(4)));
    let line = Stencil::dense("line", &[3], &[1.0; 3]).unwrap();
    assert_eq!(window::window(&line), Err(window::NoWindow::Dimensions(1)));
}
