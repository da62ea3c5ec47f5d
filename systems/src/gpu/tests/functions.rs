// SPDX-License-Identifier: MIT OR Apache-2.0
//! exp, ln, sin, cos, tanh and powers as kernels compute them, instruction by instruction, against those of C
//! libraries in f64: of numbers of all kinds, each error within what the oracle grants.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::evaluate::NumberKind as _;
use crate::expression::Function;
use crate::gpu::operation::call;
use crate::interval::{Interval, Rounding};
use problem::Dtype;
use ptx_sim::{Memory, Program};
use ptx_writer::functions::digits;
use ptx_writer::{Emitter, F32, F64, Global, Number};

/// Numbers of each kind and function.
const NUMBERS: usize = 400;

/// A function of one type, to be called.
struct Compiled {
    dtype: Dtype,
    function: Function,
    program: Program,
    memory: Memory,
}

impl Compiled {
    fn new(dtype: Dtype, function: Function) -> Self {
        let mut emitter = Emitter::default();
        let arguments = function.takes().len();
        let numbers = crate::gpu::numbers(dtype);
        // Arguments come as parameters, in 64 bits each; the result goes to where a third one says.
        let of: Vec<Number> = (0..arguments)
            .map(|index| match numbers.is_wide() {
                true => emitter.parameter(F64, "parameters", 8 * index).into(),
                false => emitter.parameter(F32, "parameters", 8 * index).into(),
            })
            .collect();
        let result = call(numbers, &mut emitter, function, &of);
        let place = emitter.parameter(Global, "parameters", 16);
        emitter.store(place, result);
        emitter.ret();
        let text = format!(
            "{}.visible .entry f(.param .align 8 .b8 parameters[24])\n{{\n{}}}\n",
            digits(),
            emitter.finish()
        );
        let program = Program::read(&text);
        let memory = Memory::new(&program, vec![vec![0; 8]]);
        Self { dtype, function, program, memory }
    }

    /// The value, as the kernel has it.
    fn of(&mut self, arguments: &[f64]) -> f64 {
        let single = self.dtype != Dtype::F64;
        let bits = |value: &f64| match single {
            true => u64::from((*value as f32).to_bits()),
            false => value.to_bits(),
        };
        let mut parameters: Vec<u64> = arguments.iter().map(bits).collect();
        parameters.resize(2, 0);
        parameters.push(Memory::address(0));
        self.memory.begin([0]);
        self.program.run_block(&mut self.memory, &parameters, [0, 1]).unwrap();
        let bytes = self.memory.bytes(0);
        match single {
            true => f64::from(f32::from_le_bytes(bytes[..4].try_into().unwrap())),
            false => f64::from_le_bytes(bytes[..8].try_into().unwrap()),
        }
    }

    /// The error in roundings: of the value, or of 1 where the oracle grants that; infinite if the oracle does not
    /// grant it, or what is infinite or not a number is not what it is in f64.
    fn error(&mut self, arguments: &[f64]) -> f64 {
        let rounding = Rounding::of(self.dtype);
        let (value, exact) = (self.of(arguments), self.function.of(arguments));
        if exact.is_nan() || value.is_nan() {
            return if exact.is_nan() && value.is_nan() { 0.0 } else { f64::INFINITY };
        }
        // To a negative base the oracle grants anything.
        let mut granted = arguments.to_vec();
        if self.function == Function::Power {
            granted[0] = granted[0].abs();
        }
        let points: Vec<Interval> = granted.into_iter().map(Interval::point).collect();
        let Interval { mut low, mut high } = rounding.call(self.function, &points);
        if self.function == Function::Power && exact < 0.0 {
            (low, high) = (-high, -low);
        }
        if !(low.is_finite() && high.is_finite()) {
            let exact = self.dtype.round(exact);
            let most = self.dtype.round(f64::MAX * exact.signum());
            // The oracle says nothing; the largest number or beyond is one step.
            return if exact == value || value == most { 0.0 } else { f64::INFINITY };
        }
        if !(self.dtype.round(low) <= value && value <= self.dtype.round(high)) {
            return f64::INFINITY;
        }
        let (unit, least) = match self.dtype {
            Dtype::F64 => (2f64.powi(-53), f64::from_bits(1)),
            _ => (2f64.powi(-24), 2f64.powi(-149)),
        };
        let is_wave = matches!(self.function, Function::Sin | Function::Cos);
        let magnitude = if is_wave { 1.0 } else { exact.abs() };
        ((value - exact).abs() - least).max(0.0) / (magnitude * unit).max(f64::MIN_POSITIVE)
    }
}

/// Numbers of a type: any bits, and those between -range and range.
fn argument(random: &mut ChaCha8Rng, dtype: Dtype, range: Option<f64>) -> f64 {
    let value = match (range, dtype) {
        (Some(range), _) => random.random_range(-range..range),
        (None, Dtype::F64) => f64::from_bits(random.next_u64()),
        (None, _) => f64::from(f32::from_bits(random.next_u32())),
    };
    if dtype == Dtype::F64 { value } else { f64::from(value as f32) }
}

/// Numbers where something is special.
fn special(dtype: Dtype) -> Vec<f64> {
    use std::f64::consts::{FRAC_PI_2, LN_2, PI, SQRT_2};
    let mut numbers = vec![0.0, f64::INFINITY, 1.0, 2.0, 3.0, 0.5, 0.1, 10.0, 1e5, 1e9, 1e22];
    numbers.extend([PI, FRAC_PI_2, 1e6 * PI, LN_2, LN_2 / 2.0, SQRT_2, 1.0 / SQRT_2, 1e-5, 1e-20]);
    // Where e^x begins to be infinite, subnormal, and 0.
    numbers.extend([709.782_712_893_384, 708.4, 745.1, 745.2, 88.722_84, 87.34, 103.9, 104.0]);
    numbers.extend([
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        6_381_956_970_095_103.0 * 2f64.powi(797),
    ]);
    numbers.extend([f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), 2f64.powi(-149)]);
    let rounded = |value: f64| if dtype == Dtype::F64 { value } else { f64::from(value as f32) };
    let near = |value: f64| [value, value * (1.0 + 1e-7), value * (1.0 - 3e-16)];
    let mut all: Vec<f64> = numbers.into_iter().flat_map(near).map(rounded).collect();
    all.extend(all.clone().into_iter().map(|value| -value));
    all.push(f64::NAN);
    all
}

#[test]
fn functions_err_by_less_than_what_the_oracle_grants() {
    let numbers = std::env::var("FUNCTION_CASES").map_or(NUMBERS, |text| text.parse().unwrap());
    let functions = [
        Function::Exp,
        Function::Ln,
        Function::Sin,
        Function::Cos,
        Function::Tanh,
        Function::Atan2,
        Function::Power,
    ];
    for dtype in [Dtype::F32, Dtype::F64] {
        for function in functions {
            let mut compiled = Compiled::new(dtype, function);
            let mut random = ChaCha8Rng::seed_from_u64(1);
            let arguments = function.takes().len();
            let mut cases: Vec<Vec<f64>> = Vec::new();
            for one in special(dtype) {
                match arguments {
                    1 => cases.push(vec![one]),
                    _ => cases.extend(special(dtype).into_iter().map(|other| vec![one, other])),
                }
            }
            for range in [None, Some(1.0), Some(3.0), Some(20.0), Some(100.0), Some(750.0)] {
                for _ in 0..numbers {
                    let mut one = || argument(&mut random, dtype, range);
                    let mut case: Vec<f64> = (0..arguments).map(|_| one()).collect();
                    if function == Function::Power && range.is_some() {
                        case[0] = case[0].abs();
                    }
                    cases.push(case);
                }
                // Near 1.
                if let Some(range) = range {
                    let near = 1.0 + argument(&mut random, dtype, Some(range)) * 1e-4;
                    let near = if dtype == Dtype::F64 { near } else { f64::from(near as f32) };
                    let exponent = argument(&mut random, dtype, Some(1e4 * range));
                    cases.push([near, exponent][..arguments].to_vec());
                }
            }
            let mut worst = (0.0, Vec::new());
            for case in cases {
                let error = compiled.error(&case);
                if error > worst.0 || error.is_nan() {
                    worst = (error, case);
                }
            }
            let (error, case) = worst;
            println!("{function:?} of {dtype}: {error:.2} roundings at {case:?}");
            // Of the angles of large numbers the oracle grants anything.
            assert!(error <= 6.0, "{function:?} of {dtype}: {error} at {case:?}");
        }
    }
}
