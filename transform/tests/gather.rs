// SPDX-License-Identifier: MIT OR Apache-2.0
//! The chunk gather: the product of its operand with what its table gathers is the stencil.

use cuda_mma::emulate::mma_sp;
use cuda_mma::fragment::{self, Element, LANES, M, N, SparseMma};
use cuda_mma::number::{bits, value};
use proptest::prelude::*;
use transform::gather::{OutputTile, Pitch, REACH, gather_tiles};
use transform::stencil::{Stencil, Tap};

/// Any radii, often few points of many; weights and values are small integers, so that sums are exact.
fn stencils() -> impl Strategy<Value = Stencil> {
    let radii = (1..=3usize).prop_flat_map(|dims| {
        let radius = |axis: usize| if axis + dims < 3 { 0..=0i32 } else { 0..=8i32 };
        (Just(dims), radius(0), radius(1), radius(2))
    });
    radii.prop_flat_map(|(dims, z, y, x)| {
        let tap = (-z..=z, -y..=y, -x..=x, 1..=8i32, any::<bool>());
        prop::collection::vec(tap, 1..60).prop_map(move |taps| {
            let mut taps: Vec<Tap> = taps
                .into_iter()
                .map(|(z, y, x, size, negative)| {
                    let weight = f64::from(if negative { -size } else { size });
                    Tap { offset: [z, y, x], weight }
                })
                .collect();
            taps.sort_by_key(|tap| tap.offset);
            taps.dedup_by_key(|tap| tap.offset);
            Stencil::new("random", dims, taps).unwrap()
        })
    })
}

/// Every output of 8 tiles, as the kernel computes them: staged inputs, table, products.
fn check(stencil: &Stencil, element: Element, tile: OutputTile) {
    let mma = SparseMma::deepest(element);
    let gather = gather_tiles(stencil, element, tile).unwrap();
    let ([planes, rows], bytes) = (gather.footprint.extent, element.bytes());
    let columns = N * tile.columns() + 2 * REACH;
    let pitch = Pitch::fitting(tile, element, columns * bytes, rows);
    let input = |[z, y, x]: [i32; 3]| f64::from((7 * z + 5 * y + 3 * x).rem_euclid(17) - 8);

    let [first_z, first_y] = gather.footprint.first;
    let mut staged = vec![0u8; planes * pitch.plane];
    for z in 0..planes {
        for y in 0..rows {
            for x in 0..columns {
                let at = [first_z + z as i32, first_y + y as i32, x as i32 - REACH as i32];
                let word = bits(element, input(at)).to_le_bytes();
                let start = z * pitch.plane + y * pitch.row + x * bytes;
                staged[start..start + bytes].copy_from_slice(&word[..bytes]);
            }
        }
    }

    let table = gather.table(pitch);
    let step_words = 6 * LANES;
    assert_eq!(table.len(), (gather.steps.len() + 2) * step_words, "two steps are loaded ahead");
    let mut sums = [[0.0f32; 4]; LANES];
    for step in table.chunks(step_words).take(gather.steps.len()) {
        let a = std::array::from_fn(|lane| std::array::from_fn(|i| step[4 * lane + i]));
        let rest = |lane: usize| &step[4 * LANES + 2 * lane..];
        let metadata = std::array::from_fn(|lane| rest(lane)[0]);
        let b = std::array::from_fn(|lane| {
            let offset = rest(lane)[1] as usize;
            assert_eq!(offset % 16, 0, "lanes load 16 bytes");
            let start = offset + lane / 4 * tile.columns() * bytes;
            let chunk = &staged[start..start + 16];
            std::array::from_fn(|i| u32::from_le_bytes(chunk[4 * i..][..4].try_into().unwrap()))
        });
        sums = mma_sp::<4>(mma, 0, &a, &metadata, &b, &sums).unwrap();
    }
    for (lane, sums) in sums.iter().enumerate() {
        for (word, &sum) in sums.iter().enumerate() {
            let (row, group) = fragment::c(lane, word);
            let (y, x) = tile.output(element, row);
            let here = [0, y as i32, (group * tile.columns() + x) as i32];
            let term = |tap: &Tap| {
                let there = std::array::from_fn(|axis| here[axis] + tap.offset[axis]);
                value(element, bits(element, tap.weight)) * input(there)
            };
            let want: f64 = stencil.taps().iter().map(term).sum();
            assert_eq!(f64::from(sum), want, "{element} {tile}, output {here:?}");
        }
    }
}

const TYPES: [Element; 3] = [Element::F16, Element::Bf16, Element::Tf32];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn products_with_what_the_table_gathers_are_the_stencil(
        stencil in stencils(),
        element in prop::sample::select(TYPES.to_vec()),
        tile in prop::sample::select(OutputTile::ALL.to_vec()),
    ) {
        check(&stencil, element, tile);
    }
}

#[test]
fn so_they_are_for_single_far_points_and_full_boxes() {
    let far = [-8, 8].into_iter().flat_map(|z| [-8, 8].map(move |y| [z, y]));
    for [z, y] in far {
        for x in [-8, 0, 7, 8] {
            let tap = Tap { offset: [z, y, x], weight: 1.0 };
            let stencil = Stencil::new("shift", 3, vec![tap]).unwrap();
            TYPES.iter().for_each(|&element| {
                OutputTile::ALL.iter().for_each(|&tile| check(&stencil, element, tile));
            });
        }
    }
    let weights: Vec<f64> = (0..17 * 17).map(|i| f64::from(i % 13 - 6)).collect();
    let weights = |count: usize| &weights[..count];
    for stencil in [
        Stencil::dense("box", &[17, 17], weights(289)).unwrap(),
        Stencil::dense("box", &[5, 7, 7], weights(245)).unwrap(),
        Stencil::dense("box", &[17], weights(17)).unwrap(),
    ] {
        for element in TYPES {
            OutputTile::ALL.iter().for_each(|&tile| check(&stencil, element, tile));
        }
    }
}

/// Every output has its row of A, and every row one output.
#[test]
fn rows_of_a_are_the_outputs_of_a_tile() {
    for element in TYPES {
        for tile in OutputTile::ALL {
            let mut outputs: Vec<_> = (0..M).map(|row| tile.output(element, row)).collect();
            outputs.sort_unstable();
            let all = (0..tile.rows()).flat_map(|y| (0..tile.columns()).map(move |x| (y, x)));
            assert_eq!(outputs, all.collect::<Vec<_>>());
        }
    }
}
