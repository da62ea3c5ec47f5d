// SPDX-License-Identifier: MIT OR Apache-2.0
use super::precision::{Order, Precision};
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
    let [nz, ny, nx] = extents;
    let axes: [_; 3] = std::array::from_fn(|axis| {
        let step = if axis == 2 { filter.step } else { 1 };
        Axis::new(extents[axis], step, filter.sides[axis], [100; 2])
    });
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
fn whole_numbers_are_exact_and_cut_between_stages() {
    let stages = vec![line(1, -1, &[0.3, 0.4, 0.3]), line(2, 0, &[0.7, 0.7])];
    let filter = Filter { extents: [1, 1, 3, 2], step: 1, sides: [Side::Symmetric; 3], stages };
    assert!(matches!(Precision::of::<u8, u8>(&filter), Precision::Single(Order::Checked(_))));
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
    use Precision::{Double, Ordered, Single};
    assert_eq!(of(&[1.0, 2.0, 1.0]), [Single, Double, Single, Double]);
    assert_eq!(of(&[0.1, 0.9]), [Ordered, Ordered, Single, Double]);
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
