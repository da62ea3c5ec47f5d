// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole way, for any stencil: morph → order → compress → encode → `mma.sp` in software, against
//! the plain weighted sum.

use proptest::prelude::{Strategy as Strat, *};
use transform::conflict::Pattern;
use transform::emulate::{Lanes, mma_sp};
use transform::encode::{Encoded, bits, encode, value};
use transform::fragment::{self, LANES, M, N, SHAPES, SparseMma};
use transform::lookup::{LookupTable, Tile};
use transform::matching::{STRATEGIES, Unfit};
use transform::morph::morph;
use transform::row_window::row_window;
use transform::sparsify::Sparse24;
use transform::stencil::{Stencil, Tap};

/// Boxes, stars, diamonds and scattered offsets of 1 to 3 dimensions, not always centred, some with
/// holes.
fn stencils() -> impl Strat<Value = Stencil> {
    let radii = prop_oneof![
        (0..=8i32).prop_map(|x| [0, 0, x]),
        (0..=8i32, 0..=8i32).prop_map(|(y, x)| [0, y, x]),
        (0..=2i32, 0..=2i32, 0..=3i32).prop_map(|(z, y, x)| [z, y, x]),
        (0..=8i32, 0..=8i32, 0..=8i32).prop_map(|(z, y, x)| [z, y, x]),
    ];
    let shift = prop::array::uniform3(-2..=2i32);
    (radii, shift, 0..5usize, prop::collection::vec((any::<bool>(), -1.0..1.0f64), 300)).prop_map(
        |(radii, shift, shape, weights)| {
            let dims = 3 - radii.iter().position(|&radius| radius > 0).unwrap_or(2);
            // A large 3D box has thousands of columns; a star is as wide with few.
            let shape = if dims == 3 && radii[0].max(radii[1]) > 2 { 1 } else { shape };
            let span = |axis: usize| -radii[axis]..=radii[axis];
            let plane = |z| span(1).flat_map(move |y| span(2).map(move |x| [z, y, x]));
            let kept = |offset: &[i32; 3], hole: bool| match shape {
                0 => true,
                1 => offset.iter().filter(|&&o| o != 0).count() <= 1,
                2 => offset.iter().map(|o| o.abs()).sum::<i32>() <= radii[2],
                _ => hole,
            };
            let moved = |offset: [i32; 3]| {
                std::array::from_fn(|axis| {
                    offset[axis] + if radii[axis] > 0 { shift[axis] } else { 0 }
                })
            };
            let mut taps: Vec<Tap> = span(0)
                .flat_map(plane)
                .zip(weights.iter().cycle())
                .filter(|(offset, (hole, _))| kept(offset, *hole))
                .map(|(offset, &(_, weight))| Tap { offset: moved(offset), weight })
                .collect();
            if taps.is_empty() {
                taps.push(Tap { offset: moved([0; 3]), weight: 1.0 });
            }
            Stencil::new("random", dims, taps).unwrap()
        },
    )
}

/// Outputs of a tile: at most 16, along the axes that the stencil has.
fn factors(dims: usize) -> impl Strat<Value = [usize; 3]> {
    let most = |axis: usize, n: usize| if axis >= 3 - dims { 1..=n } else { 1..=1 };
    (most(0, 4), most(1, 8), most(2, 16)).prop_map(|(z, y, x)| {
        let y = y.min(16 / z);
        [z, y, x.min(16 / (z * y))]
    })
}

/// A grid without end, of values that every type holds.
fn grid([z, y, x]: [i32; 3]) -> f64 {
    f64::from((z * 31 + y * 17 + x * 7).rem_euclid(64) - 32) / 32.0
}

/// The sums of 8 tiles side by side, each row an output, by the emulated instructions.
fn product<const W: usize>(
    encoded: &Encoded,
    rows_of_b: &[Option<[i32; 3]>],
    stride: i32,
) -> [[f32; N]; M] {
    let mma = encoded.mma;
    let input = |slot: usize, tile: usize| {
        let at = rows_of_b[slot].unwrap_or_default();
        bits(mma.element, grid([at[0], at[1], at[2] + tile as i32 * stride]))
    };
    let mut sums: Lanes<[f32; 4]> = [[0.0; 4]; LANES];
    for step in 0..encoded.steps {
        let a: Lanes<[u32; W]> =
            std::array::from_fn(|lane| std::array::from_fn(|word| encoded.word(step, word)[lane]));
        let metadata = supplied(encoded, step);
        let b: Lanes<[u32; W]> = std::array::from_fn(|lane| {
            std::array::from_fn(|word| {
                (0..mma.per_word()).fold(0, |packed, i| {
                    let (row, column) = mma.b(lane, word, i);
                    packed | input(step * mma.k + row, column) << (16 * i)
                })
            })
        });
        sums = mma_sp(mma, encoded.selector, &a, &metadata, &b, &sums).unwrap();
    }
    let mut matrix = [[0.0; N]; M];
    for (lane, words) in sums.iter().enumerate() {
        for (word, &sum) in words.iter().enumerate() {
            let (row, column) = fragment::c(lane, word);
            matrix[row][column] = sum;
        }
    }
    matrix
}

/// The metadata words, with those that the selector leaves out spoilt.
fn supplied(encoded: &Encoded, step: usize) -> Lanes<u32> {
    let mma = encoded.mma;
    let words = encoded.word(step, mma.a_words());
    std::array::from_fn(|lane| {
        let supplies = lane % 4 / mma.metadata_lanes() == encoded.selector;
        if supplies { words[lane] } else { 0 }
    })
}

fn check(
    stencil: &Stencil,
    factors: [usize; 3],
    mma: SparseMma,
    selector: usize,
) -> Result<(), TestCaseError> {
    let morphed = morph(stencil, factors).without_zero_columns();
    let pattern = Pattern::new(stencil, factors).unwrap();
    prop_assert_eq!(&pattern.inputs, &morphed.inputs);
    let rounded = stencil.map_weights(|w| value(mma.element, bits(mma.element, w)));
    let mut found = 0;
    let by_rule = STRATEGIES.map(|strategy| {
        (strategy.to_string(), strategy.order(&pattern, mma.element.granularity()))
    });
    let in_rows = (factors == [1, 1, M] && mma == SparseMma::deepest(mma.element))
        .then(|| row_window(&pattern, mma).ok())
        .flatten();
    let in_rows = in_rows.map(|window| ("row window".to_owned(), Ok(window.order)));
    for (strategy, order) in by_rule.into_iter().chain(in_rows) {
        let order = match order {
            Ok(order) => order,
            Err(Unfit::NoStaircase) => {
                prop_assert!(!pattern.is_staircase());
                continue;
            }
            Err(_) => continue,
        };
        found += 1;
        let mut slots = order.slots;
        slots.resize(slots.len().next_multiple_of(mma.k), None);
        let inputs: Vec<_> =
            slots.iter().map(|slot| slot.map(|column| morphed.inputs[column])).collect();
        let table = LookupTable::new(&pattern, &slots, mma, Tile::of(&pattern, mma));
        prop_assert_eq!(table.offsets.len(), slots.len());
        let sparse = Sparse24::with(mma.element.granularity(), &morphed.matrix, slots).unwrap();
        let encoded = encode(&sparse, mma, selector);
        let stride = factors[2] as i32;
        let sums = match mma.a_words() {
            2 => product::<2>(&encoded, &inputs, stride),
            _ => product::<4>(&encoded, &inputs, stride),
        };
        for (row, output) in morphed.outputs.iter().enumerate() {
            for (tile, &sum) in sums[row].iter().enumerate() {
                let products = rounded.taps().iter().map(|tap| {
                    let at: [i32; 3] = std::array::from_fn(|axis| output[axis] + tap.offset[axis]);
                    tap.weight * grid([at[0], at[1], at[2] + tile as i32 * stride])
                });
                let (exact, scale) =
                    products.fold((0.0, 0.0), |(sum, scale), p| (sum + p, scale + f64::abs(p)));
                let error = (f64::from(sum) - exact).abs();
                let allowed = encoded.steps as f64 * scale * f64::from(f32::EPSILON);
                prop_assert!(error <= allowed, "{strategy}, {mma}: {error} of {scale}");
            }
        }
    }
    prop_assert!(found > 0, "no strategy took {factors:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Tiles of 16 outputs along x, which the row window takes too.
    #[test]
    fn row_windows_give_the_stencil(stencil in stencils(), shape in 0..3usize) {
        check(&stencil, [1, 1, M], SHAPES[2 * shape], 0)?;
    }

    #[test]
    fn emulated_product_is_the_stencil(
        (stencil, factors) in stencils().prop_flat_map(|stencil| {
            let factors = factors(stencil.dims());
            (Just(stencil), factors)
        }),
        shape in 0..SHAPES.len(),
        selector in 0..4usize,
    ) {
        let mma = SHAPES[shape];
        check(&stencil, factors, mma, selector % mma.selectors())?;
    }
}

#[test]
fn every_shape_and_selector_gives_the_stencil() {
    let stencil = transform::catalogue::find("box2d2r").unwrap();
    for mma in SHAPES {
        for selector in 0..mma.selectors() {
            check(&stencil, [1, 2, 8], mma, selector).unwrap();
        }
    }
}
