// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a 3D stencil to registers, checked against the plain weighted sum.

use cuda_mma::emulate::{Lanes, mma_sp};
use cuda_mma::fragment::{self, Element, LANES, SparseMma};
use cuda_mma::number::{bits, value};
use proptest::prelude::*;
use transform::catalogue;
use transform::fuse::fuse;
use transform::stencil::Stencil;
use transform::window::{CHUNK, SHIFT};
use transform::window3d::{NoWindow3d, window3d};

/// Columns of input that a strip of 8 chunks reads.
const WIDTH: usize = 9 * CHUNK;

/// Dense weights of an odd extent on each axis, some of them zero.
fn stencils() -> impl Strategy<Value = Stencil> {
    [0..=2usize, 0..=2usize, 0..=2usize].prop_flat_map(|radii| {
        let extents = radii.map(|radius| 2 * radius + 1);
        let weight = prop_oneof![1 => Just(0.0), 2 => -1.0..1.0f64];
        proptest::collection::vec(weight, extents.iter().product::<usize>())
            .prop_filter_map("all weights zero", move |weights| {
                Stencil::dense("random", &extents, &weights).ok()
            })
    })
}

/// A word of two inputs.
fn pack(element: Element, pair: &[f64]) -> u32 {
    bits(element, pair[0]) | bits(element, pair[1]) << 16
}

/// The B fragment of a row pair of a plane as the kernel loads it: lane 4g + t takes chunk g + t % 2
/// of row t / 2 of the pair, in the second row its upper half first.
fn load(element: Element, plane: &[f64], pair: usize) -> Lanes<[u32; 4]> {
    std::array::from_fn(|lane| {
        let (g, t) = (lane / 4, lane % 4);
        let first = (2 * pair + t / 2) * WIDTH + (g + t % 2) * CHUNK;
        std::array::from_fn(|word| pack(element, &plane[first + 2 * (word ^ (t / 2 * 2))..]))
    })
}

/// Multiplies all planes as the kernel does and compares with the sum over the neighbours.
fn check(element: Element, stencil: &Stencil, inputs: &[f64]) -> Result<(), TestCaseError> {
    let round = |x| value(element, bits(element, x));
    let window = window3d(stencil).unwrap();
    let (radius, encoded) = (window.radius, window.encode(element));
    prop_assert_eq!(encoded.steps, window.steps());
    let metadata: Lanes<u32> = encoded.word(0, 4).try_into().unwrap();
    for step in 0..encoded.steps {
        prop_assert_eq!(encoded.word(step, 4), &metadata, "all steps share the metadata");
    }
    let plane_size = 2 * (radius + 1) * WIDTH;
    let mut sum = [[0.0f32; 4]; LANES];
    for step in 0..encoded.steps {
        let (plane, pair) = (step / (radius + 1), step % (radius + 1));
        let plane = &inputs[plane * plane_size..][..plane_size];
        let a =
            std::array::from_fn(|lane| std::array::from_fn(|word| encoded.word(step, word)[lane]));
        let b = load(element, plane, pair);
        sum = mma_sp(SparseMma::deepest(element), 0, &a, &metadata, &b, &sum).unwrap();
    }
    for (lane, sums) in sum.iter().enumerate() {
        for (word, &sum) in sums.iter().enumerate() {
            let (row, chunk) = fragment::c(lane, word);
            let (y, x) = (row / CHUNK, chunk * CHUNK + row % CHUNK);
            let products = stencil.taps().iter().map(|tap| {
                let at = |axis: usize, first: usize| (first as i32 + tap.offset[axis]) as usize;
                let row = at(1, y + radius) * WIDTH + at(2, x + SHIFT);
                round(tap.weight) * round(inputs[at(0, radius) * plane_size + row])
            });
            let (exact, scale) = products.fold((0.0, 0.0), |(s, m), p| (s + p, m + f64::abs(p)));
            let error = (f64::from(sum) - exact).abs();
            let bound = window.steps() as f64 * scale * f64::from(f32::EPSILON);
            prop_assert!(error <= bound, "{error} of {scale}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn emulated_product_is_the_stencil(
        (stencil, inputs) in stencils().prop_flat_map(|stencil| {
            let radius = stencil.radius().max(1);
            let size = (2 * radius + 1) * 2 * (radius + 1) * WIDTH;
            (Just(stencil), proptest::collection::vec(-1.0..1.0f64, size))
        })
    ) {
        check(Element::F16, &stencil, &inputs)?;
        check(Element::Bf16, &stencil, &inputs)?;
    }
}

#[test]
fn stars_and_fused_stars_are_diamonds() {
    let is_diamond = |stencil: &Stencil| window3d(stencil).unwrap().is_diamond();
    let find = |name| catalogue::find(name).unwrap();
    assert!(is_diamond(&find("star3d2r")));
    assert!(is_diamond(&fuse(&find("star3d1r"), 2).unwrap()));
    assert!(!is_diamond(&find("box3d1r")));
    assert!(!is_diamond(&fuse(&find("box3d1r"), 2).unwrap()));
}

#[test]
fn stencils_that_do_not_fit_are_refused() {
    let wide = Stencil::dense("wide", &[1, 1, 7], &[1.0; 7]).unwrap();
    assert_eq!(window3d(&wide), Err(NoWindow3d::Radius(3)));
    let flat = Stencil::dense("flat", &[3, 3], &[1.0; 9]).unwrap();
    assert_eq!(window3d(&flat), Err(NoWindow3d::Dimensions(2)));
}
