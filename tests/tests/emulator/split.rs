// SPDX-License-Identifier: MIT OR Apache-2.0
//! f32 sweeps, whose products are split: how far results are from exact ones, in the emulator and with
//! tensor cores that cut off as much as any were seen to.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stencil::Dtype;
use tests::draw;
use tests::emulated::EmulatedSweep2d;
use transform::{Stencil, split};

/// What f32 promises, times Σ|w||x|.
const PROMISED: f64 = 4.0 / (1u64 << 24) as f64;

/// A kind of values: its name, and one made of random bits.
type Kind = (&'static str, fn(u32) -> f32);

const KINDS: [Kind; 6] = [
    ("0 to 1", |bits| (bits >> 8) as f32 / 16_777_216.0),
    ("-1 to 1", |bits| (bits as i32 >> 7) as f32 / 16_777_216.0),
    ("2^-40 to 2^40", |bits| with_exponent(bits, 87 + bits.wrapping_mul(0x9e37_79b9) % 80)),
    ("2^-8 to 2^8", |bits| with_exponent(bits, 119 + bits.wrapping_mul(0x9e37_79b9) % 16)),
    ("all digits", |bits| f32::from_bits(bits & 0x8000_0000 | (0x3fff_ffff - (bits & 3)))),
    ("huge", |bits| f32::from_bits(0x7f7f_ffff - (bits & 0x1_ffff))),
];

fn with_exponent(bits: u32, exponent: u32) -> f32 {
    f32::from_bits(bits & 0x807f_ffff | exponent << 23)
}

/// A random stencil in f32 whose absolute weights sum to less than 1.
fn stencil(random: &mut ChaCha8Rng, radius: usize) -> Stencil {
    draw::stencil_of_radius(random, 2, radius).map_weights(|weight| f64::from(weight as f32))
}

/// The exact sum and Σ|w||x| at a point, with zeros around the grid.
fn exact(stencil: &Stencil, [ny, nx]: [usize; 2], values: &[f32], point: usize) -> [f64; 2] {
    let (y, x) = ((point / nx) as i32, (point % nx) as i32);
    let inside = |[_, dy, dx]: [i32; 3]| {
        let (y, x) = (y + dy, x + dx);
        let inside = (0..ny as i32).contains(&y) && (0..nx as i32).contains(&x);
        inside.then(|| f64::from(values[y as usize * nx + x as usize]))
    };
    let products = stencil.taps().iter().filter_map(|tap| Some(tap.weight * inside(tap.offset)?));
    products.fold([0.0; 2], |[sum, magnitude], product| [sum + product, magnitude + product.abs()])
}

fn sweep(ny: u32, nx: u32) -> EmulatedSweep2d {
    let (blocks, stages, tile_rows, seed) = (2, 2, 16, 1);
    EmulatedSweep2d { dtype: Dtype::F32, ny, nx, blocks, stages, tile_rows, seed }
}

#[test]
fn errors_are_those_of_f32() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for radius in 1..=3 {
        for (kind, value) in KINDS {
            let stencil = stencil(&mut random, radius);
            let values: Vec<f32> = (0..37 * 150).map(|_| value(random.next_u32())).collect();
            let (got, _) = sweep(37, 150).run(&stencil, &values, 1).unwrap();
            let errors = got.iter().enumerate().map(|(point, &got)| {
                let [sum, magnitude] = exact(&stencil, [37, 150], &values, point);
                (f64::from(got) - sum).abs() / magnitude
            });
            let worst = errors.fold(0.0, |worst: f64, error| worst.max(error));
            assert!(worst <= PROMISED, "{kind}, r = {radius}: {:.2} of it", worst / PROMISED);
            assert!(worst > 0.0, "{kind}: all digits of all sums");
        }
    }
}

#[test]
fn tiny_values_are_off_by_as_much_as_bf16_cannot_hold() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let stencil = stencil(&mut random, 2);
    let values: Vec<f32> =
        (0..20 * 70).map(|_| f32::from_bits(random.next_u32() & 0x86ff_ffff)).collect();
    let (got, _) = sweep(20, 70).run(&stencil, &values, 1).unwrap();
    for (point, &got) in got.iter().enumerate() {
        let [sum, magnitude] = exact(&stencil, [20, 70], &values, point);
        let bound = PROMISED * magnitude + 2f64.powi(-133) + 25.0 * 2f64.powi(-149);
        assert!((f64::from(got) - sum).abs() <= bound, "{got:e}, not {sum:e}");
    }
}

/// A product reads the two chunks around its outputs, in pairs of rows, whatever the weights.
#[test]
fn values_that_are_not_finite_reach_all_that_they_should_and_only_what_is_near() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let stencil = stencil(&mut random, 3);
    let mut values: Vec<f32> = (0..40 * 100).map(|_| random.random()).collect();
    let (before, _) = sweep(40, 100).run(&stencil, &values, 1).unwrap();
    for wrong in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        values[20 * 100 + 50] = wrong;
        let (got, _) = sweep(40, 100).run(&stencil, &values, 1).unwrap();
        for (point, (got, before)) in got.iter().zip(&before).enumerate() {
            let (dy, dx) = ((point / 100).abs_diff(20), (point % 100).abs_diff(50));
            if dy <= 3 && dx <= 3 {
                assert!(!got.is_finite(), "{dy}, {dx}: {got}");
            } else if dy > 4 || dx > 11 {
                assert_eq!(got, before, "{dy}, {dx}");
            }
        }
    }
}

/// Bits below the largest addend's exponent that an H200 keeps (`docs/decisions/0011-split.md`).
const BITS: i32 = 25;

/// The exponent of a number that is not 0.
fn exponent(value: f64) -> i32 {
    (value.abs().to_bits() >> 52) as i32 - 1023
}

/// A number cut off below 2^`bit`.
fn cut(value: f64, bit: i32) -> f64 {
    (value / 2f64.powi(bit)).trunc() * 2f64.powi(bit)
}

/// A sum of products and a number as tensor cores take it: addends aligned with the one of the largest
/// exponent, a product's being the sum of its factors', and cut off there; the result cut off to f32.
fn cut_off_sum(products: &[[f64; 2]], number: f64) -> f64 {
    let products = products.iter().filter(|[a, b]| a * b != 0.0);
    let addends = products.map(|&[a, b]| (a * b, exponent(a) + exponent(b)));
    let number = (number != 0.0).then(|| (number, exponent(number)));
    let addends: Vec<(f64, i32)> = addends.chain(number).collect();
    let Some(largest) = addends.iter().map(|&(_, exponent)| exponent).max() else {
        return 0.0;
    };
    let sum: f64 = addends.iter().map(|&(addend, _)| cut(addend, largest - BITS)).sum();
    if sum == 0.0 { 0.0 } else { cut(sum, exponent(sum) - 23) }
}

/// The sums of an output in the kernel's order.
fn on_tensor_cores(weights: &[Vec<f32>], values: &[Vec<f32>]) -> f64 {
    let mut small = 0.0;
    let mut leading = Vec::new();
    for (weights, values) in weights.chunks(2).zip(values.chunks(2)) {
        let terms = weights.iter().flatten().zip(values.iter().flatten());
        let terms: Vec<_> = terms.map(|(&w, &x)| (split::pieces(w), split::pieces(x))).collect();
        let product = |i: usize, j: usize, sum: f64| {
            let factors: Vec<_> =
                terms.iter().map(|(w, x)| [w[i].to_f64(), x[j].to_f64()]).collect();
            cut_off_sum(&factors, sum)
        };
        for (i, j) in [(1, 1), (0, 1), (0, 2), (1, 0), (2, 0)] {
            small = product(i, j, small);
        }
        leading.push(product(0, 0, 0.0) as f32);
    }
    let (small, last) = (small as f32, leading.len() - 1);
    let late = leading[last] + small;
    f64::from(match leading[..last] {
        [a] => a + late,
        [a, b] => (a + b) + late,
        [a, b, c] => (a + b) + (c + late),
        _ => unreachable!("radius 1 to 3"),
    })
}

/// Errors are as large as on an H200 (`docs/decisions/0011-split.md`).
#[test]
fn sums_that_are_cut_off_keep_the_error_at_that_of_f32() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for (kind, value) in KINDS {
        for length in [3, 5, 7] {
            let points = (length * length) as f32;
            let mut worst: f64 = 0.0;
            for _ in 0..2000 {
                let mut random_rows = |of: &mut dyn FnMut(u32) -> f32| -> Vec<Vec<f32>> {
                    let mut row = || (0..length).map(|_| of(random.next_u32())).collect();
                    (0..length).map(|_| row()).collect()
                };
                let weights = random_rows(&mut |bits| (bits >> 8) as f32 / points / 16_777_216.0);
                let values = random_rows(&mut |bits| value(bits));
                let products = weights.iter().flatten().zip(values.iter().flatten());
                let products =
                    products.map(|(&weight, &value)| f64::from(weight) * f64::from(value));
                let products: Vec<f64> = products.collect();
                let magnitude: f64 = products.iter().map(|product| product.abs()).sum();
                let error = on_tensor_cores(&weights, &values) - products.iter().sum::<f64>();
                worst = worst.max(error.abs() / magnitude);
            }
            println!("{kind}, {length}²: {:.2} · 2^-24", worst * 2f64.powi(24));
            assert!(worst <= PROMISED, "{kind}: {:.2} of it", worst / PROMISED);
        }
    }
}
