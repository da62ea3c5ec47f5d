// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far the functions of [`GpuFloat`] are from the true values: those of f32 beside f64, and those of f64 beside `std`,
//! in units of the last place. What `std` calls is itself off by up to a unit in f64.

use cuda_std::float::GpuFloat;

/// Numbers from `first` to `last`, spread over their exponents, with both signs where `first` is negative.
fn numbers(first: f64, last: f64) -> impl Iterator<Item = f64> {
    const COUNT: u32 = 20_000;
    let near = (0..COUNT).map(move |i| first + (last - first) * f64::from(i) / f64::from(COUNT));
    // Down to the smallest, in even steps of the logarithm.
    let small = (0..COUNT).map(move |i| last * (-30.0 * f64::from(i) / f64::from(COUNT)).exp2());
    let signs = move |x: f64| [Some(x), (first < 0.0).then_some(-x)].into_iter().flatten();
    near.chain(small.flat_map(signs)).filter(move |x| *x >= first && *x <= last)
}

/// Near 1 that of `std` loses digits.
fn acosh(x: f64) -> f64 {
    let above = x - 1.0;
    (above + (above * (above + 2.0)).sqrt()).ln_1p()
}

type Case = (&'static str, fn(f32) -> f32, fn(f64) -> f64, fn(f64) -> f64, [f64; 2], [f64; 2]);

/// Name, the functions, the true one, the range, and the most units of f32 and of f64.
const CASES: [Case; 20] = [
    ("sqrt", GpuFloat::sqrt, GpuFloat::sqrt, f64::sqrt, [0.0, 1e9], [0.5, 0.0]),
    ("exp", GpuFloat::exp, GpuFloat::exp, f64::exp, [-80.0, 80.0], [1.0, 2.0]),
    ("exp2", GpuFloat::exp2, GpuFloat::exp2, f64::exp2, [-100.0, 100.0], [1.0, 2.0]),
    ("exp_m1", GpuFloat::exp_m1, GpuFloat::exp_m1, f64::exp_m1, [-10.0, 80.0], [1.0, 2.0]),
    ("ln", GpuFloat::ln, GpuFloat::ln, f64::ln, [1e-9, 1e9], [1.0, 2.0]),
    ("ln_1p", GpuFloat::ln_1p, GpuFloat::ln_1p, f64::ln_1p, [-0.99, 1e9], [1.0, 2.0]),
    ("log2", GpuFloat::log2, GpuFloat::log2, f64::log2, [1e-9, 1e9], [1.0, 2.0]),
    ("log10", GpuFloat::log10, GpuFloat::log10, f64::log10, [1e-9, 1e9], [1.0, 2.0]),
    ("cbrt", GpuFloat::cbrt, GpuFloat::cbrt, f64::cbrt, [-1e9, 1e9], [1.0, 2.0]),
    ("sin", GpuFloat::sin, GpuFloat::sin, f64::sin, [-1e5, 1e5], [1.0, 2.0]),
    ("cos", GpuFloat::cos, GpuFloat::cos, f64::cos, [-1e5, 1e5], [1.0, 2.0]),
    ("tan", GpuFloat::tan, GpuFloat::tan, f64::tan, [-1e5, 1e5], [1.0, 2.0]),
    ("asin", GpuFloat::asin, GpuFloat::asin, f64::asin, [-1.0, 1.0], [1.0, 2.0]),
    ("acos", GpuFloat::acos, GpuFloat::acos, f64::acos, [-1.0, 1.0], [1.0, 2.0]),
    ("atan", GpuFloat::atan, GpuFloat::atan, f64::atan, [-1e9, 1e9], [1.0, 2.0]),
    ("sinh", GpuFloat::sinh, GpuFloat::sinh, f64::sinh, [-80.0, 80.0], [2.0, 3.0]),
    ("cosh", GpuFloat::cosh, GpuFloat::cosh, f64::cosh, [-80.0, 80.0], [2.0, 3.0]),
    ("tanh", GpuFloat::tanh, GpuFloat::tanh, f64::tanh, [-20.0, 20.0], [3.0, 3.0]),
    ("asinh", GpuFloat::asinh, GpuFloat::asinh, f64::asinh, [-1e9, 1e9], [3.0, 3.0]),
    ("acosh", GpuFloat::acosh, GpuFloat::acosh, acosh, [1.0, 1e9], [3.0, 3.0]),
];

#[test]
fn the_functions_are_within_their_units() {
    for (name, of_f32, of_f64, exact, [first, last], [most32, most64]) in CASES {
        let (mut far32, mut far64) = (0.0f64, 0.0f64);
        for x in numbers(first, last) {
            let x32 = x as f32;
            let want = exact(f64::from(x32));
            let magnitude = (want as f32).abs().max(f32::MIN_POSITIVE);
            let unit = f64::from(magnitude.next_up()) - f64::from(magnitude);
            if want.is_finite() {
                far32 = far32.max((f64::from(of_f32(x32)) - want).abs() / unit);
            }
            let want = exact(x);
            let magnitude = want.abs().max(f64::MIN_POSITIVE);
            if want.is_finite() {
                far64 = far64.max((of_f64(x) - want).abs() / (magnitude.next_up() - magnitude));
            }
        }
        println!("{name}: {far32:.3} of f32, {far64} of f64");
        assert!(far32 <= most32 && far64 <= most64, "{name}: {far32} of f32, {far64} of f64");
    }
}

#[test]
fn what_is_exact_is_that_of_std() {
    for x in numbers(-1e5, 1e5) {
        let pairs = [
            (GpuFloat::floor(x), x.floor()),
            (GpuFloat::ceil(x), x.ceil()),
            (GpuFloat::round(x), x.round()),
            (GpuFloat::trunc(x), x.trunc()),
            (GpuFloat::fract(x), x.fract()),
            (GpuFloat::abs(x), x.abs()),
            (GpuFloat::signum(x), x.signum()),
            (GpuFloat::rem_euclid(x, 7.5), x.rem_euclid(7.5)),
            (GpuFloat::div_euclid(x, -7.5), x.div_euclid(-7.5)),
            (GpuFloat::mul_add(x, x, 1.0), x.mul_add(x, 1.0)),
            (GpuFloat::powi(2.0f64, (x / 1e3) as i32), 2.0f64.powi((x / 1e3) as i32)),
        ];
        for (got, want) in pairs {
            assert_eq!(got.to_bits(), want.to_bits(), "{x}");
        }
    }
}
