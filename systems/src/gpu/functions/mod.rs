// SPDX-License-Identifier: MIT OR Apache-2.0
//! exp, ln, sin, cos, tanh, atan2 and powers as instructions: GPUs compute them only roughly by themselves.
//!
//! All take any number: infinite ones, subnormal ones, and what is not a number. The errors are measured in the tests,
//! and lie within what the oracle grants (`interval.rs`): 4 roundings of the type.

use super::ptx::{Emitter, Number};
use crate::expression::Function;
use arithmetic::Arithmetic;
pub use digits::table as digits;
use problem::Dtype;

mod angle;
mod arithmetic;
mod atan2;
mod digits;
mod exp;
mod ln;
mod power;
mod tanh;

/// The value of one of these functions, of values of a type.
pub fn call(emitter: &mut Emitter, dtype: Dtype, function: Function, of: &[Number]) -> Number {
    let on = &mut Arithmetic::new(emitter, dtype);
    let a = of[0];
    match function {
        Function::Exp => exp::exp(on, a),
        Function::Ln => ln::ln(on, a),
        Function::Sin => angle::sin(on, a),
        Function::Cos => angle::cos(on, a),
        Function::Tanh => tanh::tanh(on, a),
        Function::Atan2 => atan2::atan2(on, a, of[1]),
        Function::Power => power::power(on, a, of[1]),
        other => unreachable!("{other:?} is an instruction"),
    }
}
