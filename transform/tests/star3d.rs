// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a 3D star to registers and back, checked against the plain weighted sum.

use cuda_mma::emulate::{Lanes, mma_sp};
use cuda_mma::fragment::{self, Element, LANES, SparseMma};
use cuda_mma::number::{bits, value};
use proptest::prelude::*;
use transform::catalogue;
use transform::star3d::{NoStar3d, TILE, input, output, own, star3d};
use transform::stencil::{Stencil, Tap};

const TILES: usize = 8;

/// Rows and columns of a plane of the tiles, with a point more on every side.
const ROWS: usize = TILE + 2;
const COLUMNS: usize = TILES * TILE + 2;

fn star(weights: [f64; 7]) -> Stencil {
    let [a, b, c, d, e, f, g] = weights;
    let taps = [
        ([0, 0, 0], a),
        ([-1, 0, 0], b),
        ([1, 0, 0], c),
        ([0, -1, 0], d),
        ([0, 1, 0], e),
        ([0, 0, -1], f),
        ([0, 0, 1], g),
    ];
    Stencil::new("star", 3, taps.map(|(offset, weight)| Tap { offset, weight }).to_vec()).unwrap()
}

/// Multiplies three planes and compares, with operands as they are or with their halves exchanged.
fn check(
    element: Element,
    stencil: &Stencil,
    inputs: &[f64],
    exchanged: bool,
) -> Result<(), TestCaseError> {
    let round = |x| value(element, bits(element, x));
    let at = |tile: usize, [z, y, x]: [i32; 3]| {
        let plane = (z + 1) as usize * ROWS * COLUMNS;
        inputs[plane + (y + 1) as usize * COLUMNS + tile * TILE + (x + 1) as usize]
    };
    let encoded = star3d(stencil, element).unwrap();
    prop_assert_eq!(encoded.steps, 4);
    let mut sum = [[0.0f32; 4]; LANES];
    for product in 0..2 {
        let step = product + if exchanged { 2 } else { 0 };
        let metadata: Lanes<u32> = encoded.word(step, 4).try_into().unwrap();
        prop_assert_eq!(encoded.word(step & 2, 4), &metadata, "both products share the metadata");
        let a =
            std::array::from_fn(|lane| std::array::from_fn(|word| encoded.word(step, word)[lane]));
        let b: Lanes<[u32; 4]> = std::array::from_fn(|lane| {
            let words: [u32; 4] = std::array::from_fn(|word| {
                let slot = 32 * product + 8 * word + lane % 4 * 2;
                let element_at = |e: usize| bits(element, at(lane / 4, input(slot + e)));
                element_at(0) | element_at(1) << 16
            });
            if exchanged { [words[2], words[3], words[0], words[1]] } else { words }
        });
        sum = mma_sp(SparseMma::deepest(element), 0, &a, &metadata, &b, &sum).unwrap();
    }
    for (lane, sums) in sum.iter().enumerate() {
        for (word, &sum) in sums.iter().enumerate() {
            let (row, tile) = fragment::c(lane, word);
            let (y, x) = output(row);
            let products = stencil.taps().iter().map(|tap| {
                let [dz, dy, dx] = tap.offset;
                round(tap.weight) * round(at(tile, [dz, y as i32 + dy, x as i32 + dx]))
            });
            let (exact, scale) = products.fold((0.0, 0.0), |(s, m), p| (s + p, m + f64::abs(p)));
            let error = (f64::from(sum) - exact).abs();
            prop_assert!(error <= 2.0 * scale * f64::from(f32::EPSILON), "{error} of {scale}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn emulated_product_is_the_stencil(
        weights in proptest::array::uniform7(-1.0..1.0f64),
        inputs in proptest::collection::vec(-1.0..1.0f64, 3 * ROWS * COLUMNS),
    ) {
        for exchanged in [false, true] {
            check(Element::F16, &star(weights), &inputs, exchanged)?;
            check(Element::Bf16, &star(weights), &inputs, exchanged)?;
        }
    }
}

/// So the outputs of a step are the operand of the next as they lie.
#[test]
fn transposed_sums_lie_as_operands_do() {
    for word in 0..2 {
        for t in 0..4 {
            for e in 0..2 {
                assert_eq!(output(8 * word + 2 * t + e), own(word, t, e));
            }
        }
    }
    let mut points: Vec<_> = (0..16).map(output).collect();
    points.sort_unstable();
    points.dedup();
    assert_eq!(points.len(), TILE * TILE);
}

#[test]
fn stencils_that_do_not_fit_are_refused() {
    let find = |name| catalogue::find(name).unwrap();
    let refused = |name| star3d(&find(name), Element::F16).unwrap_err();
    assert!(matches!(refused("box3d1r"), NoStar3d::Neighbour(_)));
    assert!(matches!(refused("star3d2r"), NoStar3d::Neighbour(_)));
    assert_eq!(refused("star2d1r"), NoStar3d::Dimensions(2));
}
