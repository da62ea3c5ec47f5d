// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intervals hold what rounding makes of a value and not much more: their widths in each element type, written out.

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Interval, Rounding, SumRounding};
use crate::description::Table;
use crate::evaluate::NumberKind as _;
use crate::expression::Function;
use crate::{Description, FieldText, System, SystemSimulation};
use compute::engine::EngineRequest;
use problem::Dtype;
use problem::observe::NoObserver;

/// The unit roundoff of what an engine computes in for a type, and what f64 loses here.
fn unit(dtype: Dtype) -> f64 {
    let unit = if dtype == Dtype::F64 { -53 } else { -24 };
    2f64.powi(unit) + 2f64.powi(-52)
}

/// The largest error that intervals allow, in units of a rounding of values of a magnitude.
fn roundings(dtype: Dtype, of: impl Fn(&Rounding, &mut ChaCha8Rng) -> (Interval, f64)) -> f64 {
    let (rounding, mut random) = (Rounding::of(dtype), ChaCha8Rng::seed_from_u64(1));
    let widths = (0..50).map(|_| {
        let (interval, magnitude) = of(&rounding, &mut random);
        0.5 * (interval.high - interval.low) / (unit(dtype) * magnitude)
    });
    widths.fold(0.0, f64::max)
}

fn drawn(random: &mut ChaCha8Rng) -> Interval {
    Interval::point(random.random_range(0.1..1.0))
}

/// The ends are numbers of f64 themselves, of which a rounding more or less may lie between.
fn assert_is(what: &str, dtype: Dtype, found: f64, expected: f64) {
    let off = if dtype == Dtype::F64 { 0.7 } else { 0.01 * expected };
    assert!((found - expected).abs() <= off, "{what} in {dtype}: {found} roundings, {expected}");
}

#[test]
fn functions_are_as_wide_as_their_roundings() {
    use Function::{
        Abs, Add, And, Atan2, Cos, Divide, Equal, Exp, Floor, If, Less, LessEqual, Ln, Max, Min,
        Multiply, Negate, Not, Or, Power, PowerOf, Sin, Sqrt, Subtract, Tanh,
    };
    for (function, arguments, expected) in [
        (Negate, 1, 0.0),
        (Add, 2, 1.0),
        (Subtract, 2, 1.0),
        (Multiply, 2, 1.0),
        (Divide, 2, 1.0),
        (Power, 2, 4.0),
        (PowerOf(3), 1, 5.0),
        (PowerOf(-2), 1, 4.0),
        (Abs, 1, 0.0),
        (Sqrt, 1, 1.0),
        (Exp, 1, 4.0),
        (Ln, 1, 4.0),
        (Sin, 1, 4.0),
        (Cos, 1, 4.0),
        (Tanh, 1, 4.0),
        (Atan2, 2, 4.0),
        (Floor, 1, 0.0),
        (Min, 2, 0.0),
        (Max, 2, 0.0),
        (Less, 2, 0.0),
        (LessEqual, 2, 0.0),
        (Equal, 2, 0.0),
        (And, 2, 0.0),
        (Or, 2, 0.0),
        (Not, 1, 0.0),
        (If, 3, 0.0),
    ] {
        for &dtype in Dtype::ALL {
            let found = roundings(dtype, |rounding, random| {
                let mut of: Vec<Interval> = (0..arguments).map(|_| drawn(random)).collect();
                if function == If {
                    of[0] = Interval::point(1.0);
                }
                let result = rounding.call(function, &of);
                // Of waves the bound is that of 1.
                let is_wave = matches!(function, Sin | Cos);
                (result, if is_wave { 1.0 } else { result.low.abs().max(result.high.abs()) })
            });
            assert_is(&format!("{function:?}"), dtype, found, expected);
        }
    }
}

/// Of n products n + 2 roundings of the sum of their magnitudes, and those that an engine has besides.
#[test]
fn sums_tables_and_numbers_are_as_wide_as_their_roundings() {
    for &dtype in Dtype::ALL {
        for (count, more) in [(1, 0.0), (2, 0.0), (13, 0.0), (13, 5.0)] {
            let found = roundings(dtype, |rounding, random| {
                let rounding = rounding.with_sums(SumRounding { more, is_exact: true });
                let one = |random: &mut ChaCha8Rng| {
                    let sign = if random.random_range(0..2) == 0 { -1.0 } else { 1.0 };
                    (sign * random.random_range(0.1..1.0), drawn(random))
                };
                let parts: Vec<(f64, Interval)> = (0..count).map(|_| one(random)).collect();
                let magnitude = parts.iter().map(|(weight, value)| (weight * value.low).abs());
                (rounding.sum(&parts), magnitude.sum())
            });
            assert_is(&format!("a sum of {count}"), dtype, found, count as f64 + 2.0 + more);
        }
        let found = roundings(dtype, |rounding, random| {
            let table = Table { arguments: vec![0.0, 1.0], values: vec![1.0, 2.0] };
            let result = rounding.table(&table, drawn(random));
            (result, result.high)
        });
        assert_is("a table", dtype, found, 2.0);
        let found = roundings(dtype, |rounding, random| {
            let value = drawn(random).low;
            (rounding.number(value), value)
        });
        assert_is("a number", dtype, found, if dtype == Dtype::F64 { 0.0 } else { 2.0 });
    }
}

/// What a step of a system may be off by, stepped and by jumps, in each type: values are below 1.
#[test]
fn what_a_step_may_be_off_by_is_some_roundings() {
    for (dtype, stored) in
        [(Dtype::F16, -11), (Dtype::Bf16, -8), (Dtype::F32, -24), (Dtype::F64, -53)]
    {
        let stored = 2f64.powi(stored);
        // The sum has 7 roundings of 0.8, the product and the sum after it some more. Jumps are in f64, and keep f64.
        let stepped = [0.1 * stored, stored + 20.0 * unit(dtype)];
        let jumped = [unit(Dtype::F64), 2000.0 * unit(Dtype::F64)];
        for (engine, [least, most]) in [(EngineRequest::Cpu, stepped), (EngineRequest::Fft, jumped)]
        {
            let heat = Description::new(&[20, 30]).dtype(dtype).derivative("lap", "laplace", 2);
            let next = "u + 0.1*lap(u)";
            let heat = heat.field(FieldText::new("u", "sin(x)*cos(y)", next).boundary("periodic"));
            let system = System::new(&heat, Path::new("")).unwrap();
            let mut simulation = SystemSimulation::on(&system, engine).unwrap();
            simulation.run(9, &[0, 4, 8], &mut NoObserver).unwrap();
            for check in simulation.report().verification.verdict.comparisons {
                let bound = check.bound;
                // In f64 the CPU may sum as the comparison does, bit by bit: then no bound is used.
                if engine == EngineRequest::Cpu && dtype == Dtype::F64 && check.max_abs_err == 0.0 {
                    continue;
                }
                assert!(least <= bound && bound <= most, "{dtype} {engine:?}: {bound:e}, {most:e}");
            }
        }
    }
}
