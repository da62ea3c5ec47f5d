// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole way from a stencil to registers, checked against the plain weighted sum.

use half::f16;
use proptest::prelude::*;
use transform::emulate::{Lanes, mma_sp_m16n8k32_f16, pack_f16, unpack_f16};
use transform::fragment::{self, LANES};
use transform::stencil::Stencil;
use transform::window::{self, CHUNK, SHIFT};

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

fn f16s(count: usize) -> impl Strategy<Value = Vec<f16>> {
    proptest::collection::vec((-1.0..1.0f64).prop_map(f16::from_f64), count)
}

/// The B fragment of one step as the kernel loads it: lane 4g + t takes chunk g + t % 2 of input row
/// t / 2 of the step, in the second row its upper half first.
fn load(rows: &[f16], step: usize) -> Lanes<[u32; 4]> {
    std::array::from_fn(|lane| {
        let (g, t) = (lane / 4, lane % 4);
        let first = (2 * step + t / 2) * WIDTH + (g + t % 2) * CHUNK;
        std::array::from_fn(|word| {
            let pair = first + 2 * (word ^ (t / 2 * 2));
            pack_f16(rows[pair], rows[pair + 1])
        })
    })
}

proptest! {
    #[test]
    fn emulated_product_is_the_stencil(
        (stencil, rows) in stencils().prop_flat_map(|stencil| {
            let rows = 2 * (stencil.radius().max(1) + 1);
            (Just(stencil), f16s(rows * WIDTH))
        })
    ) {
        let window = window::window(&stencil).unwrap();
        let encoded = window.encode_f16();
        prop_assert_eq!(encoded.steps, window.steps());
        let mut sum = [[0.0f32; 4]; LANES];
        for step in 0..encoded.steps {
            let a = std::array::from_fn(|lane| {
                std::array::from_fn(|word| encoded.word(step, word)[lane])
            });
            let metadata = encoded.word(step, 4).try_into().unwrap();
            sum = mma_sp_m16n8k32_f16(&a, &metadata, &load(&rows, step), &sum).unwrap();
        }
        let rounded = stencil.map_weights(|w| f16::from_f64(w).to_f64());
        for (lane, sums) in sum.iter().enumerate() {
            for (word, &sum) in sums.iter().enumerate() {
                let (row, chunk) = fragment::c(lane, word);
                let (y, x) = (row / CHUNK, chunk * CHUNK + row % CHUNK);
                let products = rounded.taps().iter().map(|tap| {
                    let [_, dy, dx] = tap.offset;
                    let at_y = (y + window.radius) as i32 + dy;
                    let at_x = (x + SHIFT) as i32 + dx;
                    tap.weight * rows[at_y as usize * WIDTH + at_x as usize].to_f64()
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
        for (slot, column) in window.sparse.order.iter().enumerate() {
            for row in 0..16 {
                let value = column.map_or(0.0, |column| window.morphed.matrix.at(row, column));
                prop_assert_eq!(window.sparse.matrix.at(row, slot), value);
            }
        }
    }

    #[test]
    fn packing_two_numbers_is_reversible(low in any::<u16>(), high in any::<u16>()) {
        let word = pack_f16(f16::from_bits(low), f16::from_bits(high));
        prop_assert_eq!(unpack_f16(word).map(f16::to_bits), [low, high]);
    }
}

#[test]
fn stencils_that_do_not_fit_are_refused() {
    let wide = Stencil::dense("wide", &[1, 9], &[1.0; 9]).unwrap();
    assert_eq!(window::window(&wide), Err(window::NoWindow::Radius(4)));
    let line = Stencil::dense("line", &[3], &[1.0; 3]).unwrap();
    assert_eq!(window::window(&line), Err(window::NoWindow::Dimensions(1)));
}
