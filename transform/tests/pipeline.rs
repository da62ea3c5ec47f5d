// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole way, for any stencil: morph → order → compress → encode → `mma.sp` in software, against
//! the plain weighted sum.

use cuda_mma::emulate::{Lanes, mma_sp};
use cuda_mma::fragment::{self, Element, LANES, M, N, SHAPES, SparseMma};
use cuda_mma::number::{bits, value};
use proptest::prelude::{Strategy as Strat, *};
use transform::conflict::Pattern;
use transform::encode::{Encoded, encode};
use transform::lookup::{InputTile, LookupTable};
use transform::matching::{
    ColumnPair, NoOrder, STRATEGIES, Strategy, blossom, groups, hierarchical,
};
use transform::morph::morph;
use transform::row_window::{MAX_LENGTH, NoRowWindow, SHIFT, row_window};
use transform::sparsify::{Granularity, Sparse24};
use transform::stencil::{Stencil, Tap};

/// Any stencil: a shape, or a few offsets far apart.
fn stencils() -> impl Strat<Value = Stencil> {
    prop_oneof![3 => shapes(), 1 => scattered()]
}

/// Up to 60 offsets in 3D, each within 8 of the output: asymmetric, and nearly all holes.
fn scattered() -> impl Strat<Value = Stencil> {
    let offset = prop::array::uniform3(-8..=8i32);
    prop::collection::btree_map(offset, -1.0..1.0f64, 1..=60).prop_map(|taps| {
        let taps = taps.into_iter().map(|(offset, weight)| Tap { offset, weight });
        Stencil::new("scattered", 3, taps.collect()).unwrap()
    })
}

/// Boxes, stars, diamonds and offsets by chance of 1 to 3 dimensions, not always centred, some with
/// holes.
fn shapes() -> impl Strat<Value = Stencil> {
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

/// Shared memory as a kernel fills it: the block of inputs that 8 tiles side by side read, and beyond
/// it what a zero column may load, which is finite and no input.
struct Shared {
    element: Element,
    bytes: Vec<u8>,
}

impl Shared {
    fn of(pattern: &Pattern, table: &LookupTable, tile: InputTile) -> Self {
        let (mma, first) = (table.mma, pattern.first_input());
        let (element, width) = (mma.element, mma.element.bytes());
        let [planes, rows, _] =
            std::array::from_fn(|axis| pattern.lengths[axis] + pattern.factors[axis] - 1);
        let across = N * pattern.factors[2] + pattern.lengths[2] - 1;
        let end = table.offsets.iter().max().unwrap() + (N as u32 - 1) * table.stride;
        let size = (planes * tile.rows * tile.pitch).max(end as usize + width);
        let filler = bits(element, 7.0).to_le_bytes();
        let mut bytes: Vec<u8> =
            filler[..width].iter().copied().cycle().take(size.next_multiple_of(width)).collect();
        for (z, y, x) in (0..planes)
            .flat_map(|z| (0..rows).flat_map(move |y| (0..across).map(move |x| (z, y, x))))
        {
            let at = [first[0] + z as i32, first[1] + y as i32, first[2] + x as i32];
            let start = (z * tile.rows + y) * tile.pitch + x * width;
            bytes[start..start + width]
                .copy_from_slice(&bits(element, grid(at)).to_le_bytes()[..width]);
        }
        Self { element, bytes }
    }

    /// The bits of the element at an address.
    fn load(&self, address: usize) -> u32 {
        let mut word = [0; 4];
        let width = self.element.bytes();
        assert_eq!(address % width, 0, "elements are aligned");
        word[..width].copy_from_slice(&self.bytes[address..address + width]);
        u32::from_le_bytes(word)
    }
}

/// The sums of 8 tiles side by side, each row an output, by the emulated instructions. B is loaded
/// through the lookup table, as a kernel loads it.
fn product<const W: usize>(
    encoded: &Encoded,
    table: &LookupTable,
    shared: &Shared,
) -> [[f32; N]; M] {
    let mma = encoded.mma;
    let input = |slot: usize, tile: usize| {
        shared.load((table.offsets[slot] + tile as u32 * table.stride) as usize)
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

/// Whether a strategy is right to refuse a pattern, by what the reason says.
fn applies(
    unfit: &NoOrder,
    strategy: Strategy,
    pattern: &Pattern,
    granularity: Granularity,
) -> bool {
    let columns_of = pattern.columns.len();
    match (unfit.clone(), strategy) {
        (NoOrder::NoStaircase, Strategy::Hierarchical) => !pattern.is_staircase(),
        (NoOrder::Minimal, Strategy::Blossom) => {
            let by_rule = hierarchical::pairs(pattern);
            let alone = |pairs: &[ColumnPair]| pairs.iter().filter(|pair| pair.1.is_none()).count();
            pattern.is_staircase()
                && blossom::pairs(pattern).is_ok_and(|pairs| alone(&pairs) == alone(&by_rule))
        }
        (NoOrder::TooWide { outputs, length, most }, Strategy::StridedSwap) => {
            // A row has L + r1 − 1 columns, for 2S slots.
            let slots = 2 * (length + 1).next_multiple_of(2);
            [outputs, length] == [pattern.factors[2], pattern.lengths[2]]
                && length + outputs - 1 > slots
                && length + most - 1 == slots
        }
        (NoOrder::TooMany { columns, most }, Strategy::Blossom | Strategy::Words) => {
            columns == columns_of && columns > most && most == blossom::MAX_COLUMNS
        }
        (NoOrder::TooMany { columns, most }, Strategy::Groups) => {
            columns == columns_of && columns > most && most == groups::MAX_COLUMNS
        }
        (NoOrder::Pairs(needed), Strategy::Words | Strategy::Groups) => {
            needed == granularity && granularity == Granularity::OneOfTwo
        }
        _ => false,
    }
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
    let granularity = Granularity::of(mma.element);
    let mut orders = Vec::new();
    for strategy in STRATEGIES {
        match strategy.order(&pattern, granularity) {
            Ok(order) => orders.push((strategy.to_string(), order)),
            Err(unfit) => prop_assert!(
                applies(&unfit, strategy, &pattern, granularity),
                "{strategy} refuses {factors:?}: {unfit}"
            ),
        }
    }
    if factors == [1, 1, M] && mma == SparseMma::deepest(mma.element) {
        match row_window(&pattern, mma) {
            Ok(window) => orders.push(("row window".to_owned(), window.order)),
            Err(NoRowWindow::Length { length, far }) => {
                prop_assert_eq!(length, pattern.lengths[2]);
                prop_assert!(length > MAX_LENGTH || far > SHIFT, "rows of {length}, {far} away");
            }
            Err(NoRowWindow::Registers { needed }) => prop_assert!(needed > 255, "{needed}"),
        }
    }
    for (strategy, order) in orders {
        found += 1;
        let mut slots = order.slots;
        slots.resize(slots.len().next_multiple_of(mma.k), None);
        let tile = InputTile::of(&pattern, mma);
        let table = LookupTable::new(&pattern, &slots, mma, tile);
        prop_assert_eq!(table.offsets.len(), slots.len());
        let shared = Shared::of(&pattern, &table, tile);
        let sparse = Sparse24::with(Granularity::of(mma.element), &morphed.matrix, slots).unwrap();
        let encoded = encode(&sparse, mma, selector);
        let stride = factors[2] as i32;
        let sums = match mma.a_words() {
            2 => product::<2>(&encoded, &table, &shared),
            _ => product::<4>(&encoded, &table, &shared),
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
