// SPDX-License-Identifier: MIT OR Apache-2.0
//! tanh x = t / (t + 2) with t = e^(2x) - 1.

use super::arithmetic::Arithmetic;
use super::exp::exp_less_one;
use crate::Number;

/// tanh x.
pub fn tanh(on: &mut Arithmetic, x: Number) -> Number {
    // Of twice this, t / (t + 2) rounds to 1.
    let most = on.number(on.either(10.0, 20.0));
    let magnitude = on.abs(x);
    let magnitude = on.min(magnitude, most);
    let double = on.add(magnitude, magnitude);
    let t = exp_less_one(on, double);
    let two = on.number(2.0);
    let sum = on.add(t, two);
    let value = on.div(t, sum);
    let value = on.with_sign(value, x);
    on.unless_nan(x, value)
}
