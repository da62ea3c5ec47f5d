// SPDX-License-Identifier: MIT OR Apache-2.0
use super::precision::{Precision, SumOrder};
use super::*;

fn line(axis: usize, first: i32, weights: &[f64]) -> Stage {
    let term = |(at, weight): (i32, &f64)| {
        let mut offset = [0; 3];
        offset[axis] = at;
        Term { offset, weight: *weight }
    };
    Stage { terms: (first..).zip(weights).map(term).collect(), is_line: true, divisor: 1.0 }
}

/// The value at coordinates that may lie outside, one axis after the other.
fn at(values: &[f64], axes: &[Axis; 3], extents: [usize; 3], point: [isize; 3]) -> f64 {
    let mut place = 0;
    for (axis, extent) in extents.into_iter().enumerate() {
        match axes[axis].place(point[axis]) {
            Ok(inside) => place = place * extent + inside,
            Err(value) => return value,
        }
    }
    values[place]
}

fn plain(filter: &Filter, input: &[f64]) -> Vec<f64> {
    let [_, extents @ ..] = filter.extents;
    let axes: [_; 3] = std::array::from_fn(|axis| {
        let step = if axis == 2 { filter.step } else { 1 };
        Axis::new(extents[axis], step, filter.sides[axis], [100; 2])
    });
    plain_with(filter, input, axes)
}

fn plain_with(filter: &Filter, input: &[f64], axes: [Axis; 3]) -> Vec<f64> {
    let [_, extents @ ..] = filter.extents;
    let [nz, ny, nx] = extents;
    let mut values = input.to_vec();
    for stage in &filter.stages {
        let sum = |point: usize| {
            let point = [point / (ny * nx), point / nx % ny, point % nx];
            let sum: f64 = stage
                .terms
                .iter()
                .map(|term| {
                    let [dz, dy, dx] = term.offset;
                    let offset = [dz, dy, dx * filter.step as i32];
                    let from =
                        std::array::from_fn(|axis| point[axis] as isize + offset[axis] as isize);
                    term.weight * at(&values, &axes, extents, from)
                })
                .sum();
            sum / stage.divisor
        };
        values = (0..nz * ny * nx).map(sum).collect();
    }
    values
}

#[test]
fn chains_are_their_sums_one_after_the_other_at_every_side() {
    let sides = [
        Side::Symmetric,
        Side::Reflect,
        Side::Edge,
        Side::Periodic,
        Side::Constant(2.5),
        Side::Zero,
    ];
    let weights = [0.5, -1.25, 2.0, 0.75, 0.25, 1.0, -0.5, 3.0];
    let mut number = 0;
    for extents in [[1, 1, 1], [1, 3, 5], [2, 40, 700], [5, 2, 130], [2, 100, 33], [1, 1, 4000]] {
        for step in [1, 5] {
            for pair in 0..sides.len() {
                number += 1;
                let [nz, ny, nx] = extents;
                let input: Vec<f64> =
                    (0..nz * ny * nx * step).map(|it| (it * 7919 % 1009) as f64 / 64.0).collect();
                let stages = vec![
                    line(1, -(number % 5), &weights[..1 + number as usize % 8]),
                    line(2, -(number % 7), &weights[..1 + number as usize % 6]),
                    line(0, -(number % 3), &weights[..1 + number as usize % 4]),
                ];
                let sides = [sides[pair], sides[(pair + 1) % 6], sides[(pair + 3) % 6]];
                let filter = Filter { extents: [1, nz, ny, nx * step], step, sides, stages };
                let mut output = vec![0.0; input.len()];
                filter.run(&input, &mut output);
                let expected = plain(&filter, &input);
                for (found, expected) in output.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-9, "{extents:?} {step} {sides:?}");
                }
            }
        }
    }
}

#[test]
fn arrays_of_no_values_are_filtered() {
    let square = || {
        let terms = (0..9)
            .map(|at| Term { offset: [0, at / 3 - 1, at % 3 - 1], weight: 0.1 + f64::from(at) });
        Stage { terms: terms.collect(), is_line: false, divisor: 1.0 }
    };
    for extents in [[1, 1, 0, 5], [1, 1, 5, 0], [0, 1, 5, 5], [2, 0, 5, 5]] {
        for stages in [vec![square()], vec![square(), line(2, -1, &[0.25, 0.5, 0.25])]] {
            let filter = Filter { extents, step: 1, sides: [Side::Symmetric; 3], stages };
            filter.run::<f32, f32>(&[], &mut []);
            filter.run::<f64, f64>(&[], &mut []);
            filter.run::<u8, u8>(&[], &mut []);
        }
    }
}

#[test]
fn whole_numbers_are_exact_and_cut_between_stages() {
    let stages = vec![line(1, -1, &[0.3, 0.4, 0.3]), line(2, 0, &[0.7, 0.7])];
    let filter = Filter { extents: [1, 1, 3, 2], step: 1, sides: [Side::Symmetric; 3], stages };
    assert!(matches!(Precision::of::<u8, u8>(&filter), Precision::Single(SumOrder::Checked(_))));
    let mut output = [0u8; 6];
    filter.run(&[1u8, 9, 2, 8, 3, 7], &mut output);
    // 1.3, 8.7; 2, 8; 2.7, 7.3 are cut, and (1 + 8) 0.7, 8 * 1.4, … too.
    assert_eq!(output, [6, 11, 7, 11, 6, 9]);
}

#[test]
fn exact_sums_are_of_single_precision() {
    let of = |weights: &[f64]| {
        let stages = vec![line(2, 0, weights)];
        let filter = Filter { extents: [1, 1, 1, 9], step: 1, sides: [Side::Symmetric; 3], stages };
        [
            Precision::of::<u8, u8>(&filter),
            Precision::of::<i32, i32>(&filter),
            Precision::of::<f32, f32>(&filter),
            Precision::of::<f32, f64>(&filter),
        ]
    };
    let words = |weights: &[f64]| {
        let word = |precision| match precision {
            Precision::Short => "short",
            Precision::Single(SumOrder::Any) => "single",
            Precision::Single(SumOrder::Checked(_)) => "single, checked",
            Precision::Double(SumOrder::Any) => "double",
            Precision::Double(SumOrder::Checked(_)) => "double, checked",
            _ => "ordered",
        };
        of(weights).map(word)
    };
    assert_eq!(words(&[1.0, 2.0, 1.0]), ["single", "double", "single", "double"]);
    assert_eq!(words(&[1.0, 1.0, 1.0]), ["short", "double", "single", "double"]);
    assert_eq!(words(&[0.1, 0.9]), ["single, checked", "double, checked", "single", "double"]);
    assert_eq!(words(&[0.1, 9e9]), ["double, checked", "ordered", "single", "double"]);
}

#[test]
fn numbers_are_cut_as_c_cuts_them() {
    assert_eq!([u8::cut(-1.5), u8::cut(300.7), u8::cut(-0.5)], [255, 44, 0]);
    assert_eq!([i8::cut(200.0), i8::cut(-3.9)], [-56, -3]);
    assert_eq!([i32::cut(-2_147_483_648.0), i32::cut(2_147_483_647.9)], [i32::MIN, i32::MAX]);
    for whole in -(1 << 22) + 1..1 << 22 {
        if whole % 997 == 0 || (whole & 0x7fff_i32) < 3 {
            let sum = whole as f32;
            assert_eq!(
                [i16::cut_single(sum), u8::cut_single(sum) as i16],
                [whole as i16, whole as u8 as i16]
            );
            assert_eq!(
                [i16::cut(sum.into()), i16::cut(f64::from(whole) * 8.0)],
                [whole as i16, (whole * 8) as i16]
            );
        }
        if whole.abs() < 1 << 18 {
            let (next, expected) =
                (whole as f32 + 0.96875, if whole < 0 { whole + 1 } else { whole });
            assert_eq!(i16::cut_single(next), expected as i16, "{next}");
        }
    }
    assert_eq!([u64::cut(-1.0), u64::cut(1.8e19)], [u64::MAX, 18_000_000_000_000_000_000]);
}

/// Whole numbers of a row: any, some that are alike for long, and slopes.
fn whole(count: usize, seed: usize, most: i64) -> Vec<i64> {
    let at = |at: usize| {
        let noise = (((at * 7919 + seed * 104_729) * 2_654_435_761) >> 7) as i64 % (most + 1);
        match (at / 400 + seed) % 4 {
            0 => noise,
            1 => most,
            2 => (at as i64 / 3) % (most + 1),
            _ => noise % 2 * most,
        }
    };
    (0..count).map(at).collect()
}

/// Weights whose sums are often next to whole numbers, and any.
fn some_weights(count: usize, seed: usize) -> Vec<f64> {
    let bell = |at: usize| (-0.05 * (at as f64 - (count as f64 - 1.0) / 2.0).powi(2)).exp();
    let any = |at: usize| ((at * 37 + seed * 11) % 101) as f64 / 97.0 - 0.3;
    let weights: Vec<f64> = match seed % 3 {
        0 => (0..count).map(bell).collect(),
        1 => (0..count).map(any).collect(),
        _ => (0..count).map(|it| any(it).abs()).collect(),
    };
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|it| it / sum.abs().max(0.5)).collect()
}

/// Runs a filter, and again in the order of scipy: how many values are off, and what it was computed in.
fn off_scipy<I: Value, O: Value + PartialEq>(filter: &Filter, input: &[I]) -> (usize, Precision) {
    let mut found = vec![O::zeroed(); input.len()];
    let mut expected = found.clone();
    filter.run(input, &mut found);
    filter.run_in::<f64, O>(&input, &mut expected, &|stage, at| stage.sums(&SumOrder::Scipy, at));
    let off = found.iter().zip(&expected).filter(|(one, other)| one != other).count();
    (off, Precision::of::<I, O>(filter))
}

#[test]
fn checked_sums_are_those_in_the_order_of_scipy() {
    let sides = [Side::Symmetric, Side::Constant(3.0), Side::Periodic];
    let mut kinds = [0; 2];
    for seed in 0..60 {
        let [ny, nx] = [[40, 700], [9, 133], [70, 31], [1, 500], [130, 256]][seed % 5];
        let count = 1 + seed * 5 % 34;
        let stages = if seed % 4 == 3 {
            // A box.
            let [height, width] = [1 + seed % 7, 1 + seed % 9];
            let weights = some_weights(height * width, seed);
            let term = |(at, weight): (usize, &f64)| Term {
                offset: [0, (at / width) as i32 - 2, (at % width) as i32 - 3],
                weight: *weight,
            };
            let terms = weights.iter().enumerate().map(term).collect();
            vec![Stage { terms, is_line: false, divisor: 1.0 }]
        } else {
            vec![
                line(1, -(count as i32) / 2, &some_weights(count, seed)),
                line(2, -(count as i32) / 3, &some_weights(count, seed + 1)),
            ]
        };
        let filter =
            Filter { extents: [1, 1, ny, nx], step: 1, sides: [sides[seed % 3]; 3], stages };
        let values = |most| whole(ny * nx, seed, most);
        let bytes: Vec<u8> = values(255).iter().map(|it| *it as u8).collect();
        let words: Vec<u16> = values(65_535).iter().map(|it| *it as u16).collect();
        let signed: Vec<i16> = values(65_535).iter().map(|it| (*it - 32_768) as i16).collect();
        let longs: Vec<i32> = values(1 << 20).iter().map(|it| (*it - 70_000) as i32).collect();
        for (off, precision) in [
            off_scipy::<u8, u8>(&filter, &bytes),
            off_scipy::<u8, i32>(&filter, &bytes),
            off_scipy::<u16, u16>(&filter, &words),
            off_scipy::<i16, i16>(&filter, &signed),
            off_scipy::<i32, i32>(&filter, &longs),
        ] {
            assert_eq!(off, 0, "seed {seed}: {precision:?}");
            kinds[0] += usize::from(matches!(precision, Precision::Single(SumOrder::Checked(_))));
            kinds[1] += usize::from(matches!(precision, Precision::Double(SumOrder::Checked(_))));
        }
    }
    assert!(kinds.iter().all(|it| *it > 50), "{kinds:?}");
}

#[test]
fn sums_are_off_by_no_more_than_their_bound() {
    let mut largest = 0.0f64;
    for seed in 0..40 {
        let count = 3 + 7 * seed % 200;
        let stage = line(2, 0, &some_weights(count, seed));
        let bound = super::weights::bound::<f32>(&stage, 255.0);
        let filter = Filter {
            extents: [1, 1, 1, 3000],
            step: 1,
            sides: [Side::Edge; 3],
            stages: vec![stage],
        };
        let bytes: Vec<u8> = whole(3000, seed, 255).iter().map(|it| *it as u8).collect();
        let (mut single, mut ordered) = (vec![0.0; 3000], vec![0.0; 3000]);
        let bytes = &&bytes[..];
        filter.run_in::<f32, f32>(bytes, &mut single, &|stage, at| stage.sums(&SumOrder::Any, at));
        filter.run_in::<f64, f64>(bytes, &mut ordered, &|it, at| it.sums(&SumOrder::Scipy, at));
        for (one, other) in single.iter().zip(&ordered) {
            let off = (f64::from(*one) - other).abs();
            assert!(off <= bound, "{count} terms: {off} > {bound}");
            largest = largest.max(off / bound);
        }
    }
    // It is no multiple of what occurs.
    assert!(largest > 0.05, "{largest}");
}

#[test]
fn means_are_those_of_their_values() {
    for (seed, count) in (1..30).chain([31, 64, 100, 127, 128]).enumerate() {
        let [ny, nx] = [[40, 700], [3, 133], [70, 31], [1, 500]][seed % 4];
        let step = [1, 3][seed % 2];
        let mean = |axis, first| {
            let stage = line(axis, first, &vec![1.0; count]);
            Stage { divisor: count as f64, ..stage }
        };
        let first = -(count as i32) / 2 - (seed % 3) as i32;
        let stages = vec![mean(1, first), mean(2, -(count as i32 / 4))];
        let side = [Side::Symmetric, Side::Constant(9.0), Side::Reflect][seed % 3];
        let filter = Filter { extents: [1, 1, ny, nx * step], step, sides: [side; 3], stages };
        let bytes: Vec<u8> = whole(ny * nx * step, seed, 255).iter().map(|it| *it as u8).collect();
        assert_eq!(off_scipy::<u8, u8>(&filter, &bytes), (0, Precision::Short), "{count}");
        let values: Vec<f64> = bytes.iter().map(|it| f64::from(*it)).collect();
        let mut found = vec![0.0; values.len()];
        filter.run(&values, &mut found);
        let singles: Vec<f32> = bytes.iter().map(|it| f32::from(*it)).collect();
        let mut found_single = vec![0.0f32; values.len()];
        filter.run(&singles, &mut found_single);
        let axes = |axis: usize| {
            let step = if axis == 2 { step } else { 1 };
            Axis::new(filter.extents[axis + 1], step, side, [700; 2])
        };
        let expected = plain_with(&filter, &values, std::array::from_fn(axes));
        for ((double, single), expected) in found.iter().zip(&found_single).zip(&expected) {
            assert!((double - expected).abs() < 1e-11, "{count}");
            assert!((f64::from(*single) - expected).abs() < 2e-4, "{count}");
        }
    }
}
