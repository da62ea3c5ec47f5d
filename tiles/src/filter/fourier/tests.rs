// SPDX-License-Identifier: MIT OR Apache-2.0
use std::time::Instant;

use problem::boundary::Side;
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::filter::precision::SumOrder;
use crate::filter::{Filter, Stage};

/// Speeds at which all sums are transformed.
fn any() -> Speeds {
    Speeds { product_ns: 1e9, ..cost::speeds().clone() }
}

fn filter(
    extents: [usize; 4],
    step: usize,
    side: Side,
    low: [i32; 3],
    weights: [usize; 3],
    weight: impl FnMut() -> f64,
) -> Filter {
    let mut weight = weight;
    let terms = (0..weights.iter().product()).map(|number: usize| {
        let [_, wy, wx] = weights;
        let at = [number / (wy * wx), number / wx % wy, number % wx];
        Term { offset: std::array::from_fn(|axis| low[axis] + at[axis] as i32), weight: weight() }
    });
    let stages = vec![Stage { terms: terms.collect(), is_line: false, divisor: 1.0 }];
    Filter { extents, step, sides: [side; 3], stages }
}

impl Filter {
    /// By transforms, and term by term.
    fn both<C: Float>(&self, input: &[C]) -> [Vec<C>; 2] {
        let [mut found, mut expected] = [0; 2].map(|_| vec![C::zeroed(); input.len()]);
        let stage = CentredStage::new(&self.stages[0], self.step, false);
        let [arrays, extents @ ..] = self.extents;
        let blocks = blocks_at::<C>(&any(), &stage, extents, arrays).expect("all are");
        let chain = self.chain::<C>(&|stage, _| Box::new(Transformed::new(stage, blocks)), false);
        Self::run_chain(&input, &mut found, &chain, blocks.results);
        self.run_in::<C, C>(&input, &mut expected, &|stage, at| stage.sums(&SumOrder::Any, at));
        [found, expected]
    }

    /// Checks each sum by transforms against one in f64: that it is off by no more than sums term by term are.
    fn check<C: Float>(&self, input: &[C], text: &str) {
        let [found, of_terms] = self.both(input);
        let wide: Vec<f64> = input.iter().map(|it| it.widen()).collect();
        let sizes: Vec<f64> = wide.iter().map(|it| it.abs()).collect();
        let mut positive = self.clone();
        let terms = &mut positive.stages[0].terms;
        terms.iter_mut().for_each(|term| term.weight = term.weight.abs());
        let count = terms.len() as f64;
        positive.sides = self.sides.map(|side| match side {
            Side::Constant(value) => Side::Constant(value.abs()),
            other => other,
        });
        let [[_, expected], [_, most]] = [self.both(&wide), positive.both(&sizes)];
        // Rounded by the order of sums in f64 in both, and by the type.
        let part = 2.0 * count * UNIT + if C::UNIT > UNIT { 2.0 * C::UNIT } else { 0.0 };
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let (found, of_terms) = (found.widen(), of_terms[at].widen());
            if !of_terms.is_finite() {
                let both_are_nan = found.is_nan() && of_terms.is_nan();
                assert!(found == of_terms || both_are_nan, "{text}, {at}: {found} {of_terms}");
                continue;
            }
            let off = (found - expected).abs();
            assert!(
                found == of_terms || off <= part * most[at],
                "{text}, {at}: {found}, not {expected}: {off} of {}",
                most[at]
            );
        }
    }
}

/// Values of which some are hard to transform.
fn values(kind: usize, count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut signed = || rng.random_range(-1.0..1.0);
    let mut values: Vec<f64> = (0..count).map(|_| signed()).collect();
    let somewhere = |rng: &mut ChaCha8Rng| rng.random_range(0..count);
    match kind {
        0 => {}
        1 => values.iter_mut().for_each(|it| *it += 5.0),
        2 => values[somewhere(rng)] = 1e18,
        3 => {
            let kept = somewhere(rng);
            values
                .iter_mut()
                .enumerate()
                .for_each(|(at, it)| *it *= f64::from(u8::from(at == kept)));
        }
        4 => values[somewhere(rng)] = f64::NAN,
        5 => values[somewhere(rng)] = f64::INFINITY,
        6 => values.iter_mut().for_each(|it| *it *= 1e-30),
        7 => values
            .iter_mut()
            .enumerate()
            .for_each(|(at, it)| *it = if at % 2 == 0 { 1.0 } else { -1.0 }),
        8 => values.iter_mut().for_each(|it| *it = 3.0),
        _ => values
            .iter_mut()
            .enumerate()
            .for_each(|(at, it)| *it *= 10f64.powi((at * 7 / count) as i32 * -4)),
    }
    values
}

#[test]
fn sums_by_transforms_are_off_by_no_more_than_those_term_by_term() {
    let mut rng = ChaCha8Rng::seed_from_u64(33);
    let sides = [
        Side::Symmetric,
        Side::Reflect,
        Side::Edge,
        Side::Periodic,
        Side::Constant(2.5),
        Side::Zero,
    ];
    let shapes: [([usize; 4], [usize; 3]); 8] = [
        ([1, 1, 90, 130], [1, 21, 17]),
        ([2, 3, 40, 70], [1, 8, 33]),
        ([1, 1, 7, 5], [1, 30, 31]),
        ([1, 12, 20, 31], [5, 6, 9]),
        ([2, 9, 3, 64], [4, 1, 12]),
        ([1, 1, 3, 900], [1, 1, 200]),
        ([1, 1, 1, 3000], [1, 1, 64]),
        ([1, 3, 2, 2], [9, 9, 9]),
    ];
    for case in 0..180 {
        let (extents, weights) = shapes[case % 8];
        let step = [1, 1, 3][case % 3];
        let extents = [extents[0], extents[1], extents[2], extents[3] * step];
        let low = weights.map(|it| -rng.random_range(0..it as i32 + 1));
        let side = sides[case / 8 % 6];
        let mut weight = ChaCha8Rng::seed_from_u64(case as u64);
        let filter = filter(extents, step, side, low, weights, || match case % 5 {
            0 => weight.random_range(0.0..1.0),
            1 => 10f64.powf(weight.random_range(-12.0..0.0)),
            _ => weight.random_range(-1.0..1.0),
        });
        let kind = case % 10;
        let values = values(kind, extents.iter().product(), &mut rng);
        let text = format!("{case}: {extents:?} {weights:?} {low:?} {step} {side:?} values {kind}");
        filter.check(&values, &text);
        let values: Vec<f32> = values.iter().map(|it| *it as f32).collect();
        filter.check(&values, &text);
    }
}

#[test]
fn sums_of_zeros_are_zeros() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let filter = filter([1, 1, 200, 300], 1, Side::Symmetric, [0, -12, -12], [1, 25, 25], || {
        rng.random_range(-1.0..1.0)
    });
    let mut values = vec![0.0; 200 * 300];
    values[50 * 300 + 60] = 1e5;
    let [found, expected] = filter.both(&values);
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert!((*found == 0.0) == (*expected == 0.0), "{at}: {found}, {expected}");
    }
}

/// Prints what blocks take, for `data/fourier.json`.
#[test]
#[ignore = "measures"]
fn speeds() {
    let shortest = |act: &mut dyn FnMut()| {
        let once = |_| {
            let begin = Instant::now();
            act();
            begin.elapsed().as_secs_f64()
        };
        let start = Instant::now();
        let several = (0..15).take_while(|at| *at < 2 || start.elapsed().as_secs_f64() < 0.3);
        several.map(once).fold(f64::INFINITY, f64::min) * 1e9
    };
    let threads = rayon::current_num_threads();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut rows = vec![];
    for (array, weights) in [
        ([1, 1, 2048, 2048], [1, 15, 15]),
        ([1, 1, 2048, 2048], [1, 31, 31]),
        ([1, 1, 2048, 2048], [1, 63, 63]),
        ([1, 1, 2048, 2048], [1, 127, 127]),
        ([1, 128, 128, 128], [9, 9, 9]),
        ([1, 128, 128, 128], [15, 15, 15]),
        ([1, 1, 1, 1 << 22], [1, 1, 501]),
        ([1, 1, 1, 1 << 22], [1, 1, 2001]),
    ] {
        let low = weights.map(|it| -(it as i32) / 2);
        let filter = filter(array, 1, Side::Symmetric, low, weights, || rng.random_range(0.0..1.0));
        let points: usize = array.iter().product();
        let values: Vec<f64> = (0..points).map(|_| rng.random_range(0.0..1.0)).collect();
        let singles: Vec<f32> = values.iter().map(|it| *it as f32).collect();
        let mut found = vec![0.0; points];
        let mut found_single = vec![0.0f32; points];
        let products = (points * weights.iter().product::<usize>() / threads) as f64;
        if weights.iter().product::<usize>() < 5000 {
            let single = shortest(&mut || {
                filter.run_in::<f32, _>(&&singles[..], &mut found_single, &|stage, at| {
                    stage.sums(&SumOrder::Any, at)
                })
            });
            let double = shortest(&mut || {
                filter.run_in::<f64, _>(&&values[..], &mut found, &|stage, at| {
                    stage.sums(&SumOrder::Any, at)
                })
            });
            println!(
                "{weights:?}: {:.4} and {:.4} ns a product of f32 and f64; {:.1} and {:.1} ms",
                single / products,
                double / products,
                single / 1e6,
                double / 1e6
            );
        }
        let stage = CentredStage::new(&filter.stages[0], 1, false);
        let [arrays, extents @ ..] = array;
        let mut seen = vec![];
        for most in 13..22 {
            let speeds = Speeds { most: 1 << most, ..any() };
            let Some(blocks) = blocks_at::<f64>(&speeds, &stage, extents, arrays) else { continue };
            let [all, results] =
                [blocks.transformed, blocks.results].map(|it| it.iter().product::<usize>());
            if seen.contains(&blocks) || 8 * results < all {
                continue;
            }
            seen.push(blocks);
            let mut times = [0.0; 2];
            {
                let chain = filter
                    .chain::<f32>(&|stage, _| Box::new(Transformed::new(stage, blocks)), false);
                times[0] = shortest(&mut || {
                    Filter::run_chain(&&singles[..], &mut found_single, &chain, blocks.results)
                });
            }
            {
                let chain = filter
                    .chain::<f64>(&|stage, _| Box::new(Transformed::new(stage, blocks)), false);
                times[1] = shortest(&mut || {
                    Filter::run_chain(&&values[..], &mut found, &chain, blocks.results)
                });
            }
            let rows_of = if weights[1] == 1 { blocks.results[1] } else { 1 };
            let parts = |axis: usize| extents[axis].div_ceil(blocks.results[axis]);
            let turns = ((0..3).map(parts).product::<usize>() * arrays).div_ceil(threads) * rows_of;
            let size = blocks.transformed.iter().product::<usize>() as f64;
            let point = times[1] / (turns as f64 * size);
            println!(
                "  {:?} -> {:?}: f32 {:.1} ms, f64 {:.1} ms; {:.2} ns a point of 2^{:.2}",
                blocks.transformed,
                blocks.results,
                times[0] / 1e6,
                times[1] / 1e6,
                point,
                size.log2()
            );
            rows.push((size.log2(), point));
        }
    }
}
