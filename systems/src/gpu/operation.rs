// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of numbers as instructions: what PTX has, and what is made of it ([`ptx_writer::functions`]).

use crate::expression::Function;
use ptx_writer::functions::{self, Arithmetic};
use ptx_writer::{Emitter, Number, NumberFormats, Relation};

/// A function of values.
pub fn call(
    numbers: NumberFormats,
    emitter: &mut Emitter,
    function: Function,
    of: &[Number],
) -> Number {
    let [zero, one] = [0.0, 1.0].map(|number| numbers.immediate(number));
    let opcode = match function {
        Function::Negate => "neg",
        Function::Abs => "abs",
        Function::Sqrt => "sqrt.rn",
        Function::Add if numbers.exact => "add.rn",
        Function::Add => "add",
        Function::Subtract if numbers.exact => "sub.rn",
        Function::Subtract => "sub",
        Function::Multiply => product(numbers),
        Function::Divide => "div.rn",
        Function::Min | Function::And => "min",
        Function::Max | Function::Or => "max",
        Function::Not => return emitter.compute("sub", &[one, of[0]]),
        Function::Floor => return emitter.floor(of[0]),
        Function::PowerOf(n) => return power(numbers, emitter, of[0], n),
        Function::Less | Function::LessEqual | Function::Equal => {
            let relation = match function {
                Function::Less => Relation::Less,
                Function::LessEqual => Relation::LessEqual,
                _ => Relation::Equal,
            };
            let holds = emitter.compare(relation, of[0], of[1]);
            return emitter.choose(one, zero, holds);
        }
        Function::If => {
            let holds = emitter.compare(Relation::NotEqualOrNan, of[0], zero);
            return emitter.choose(of[1], of[2], holds);
        }
        routine => return computed(&mut Arithmetic::new(emitter, numbers), routine, of),
    };
    emitter.compute(opcode, of)
}

/// The opcode of a product.
fn product(numbers: NumberFormats) -> &'static str {
    if numbers.exact { "mul.rn" } else { "mul" }
}

/// The value of a function that PTX has no instruction for.
fn computed(on: &mut Arithmetic, function: Function, of: &[Number]) -> Number {
    match (function, of) {
        (Function::Exp, &[a]) => functions::exp(on, a),
        (Function::Ln, &[a]) => functions::ln(on, a),
        (Function::Sin, &[a]) => functions::sin(on, a),
        (Function::Cos, &[a]) => functions::cos(on, a),
        (Function::Tanh, &[a]) => functions::tanh(on, a),
        (Function::Atan2, &[a, b]) => functions::atan2(on, a, b),
        (Function::Power, &[a, b]) => functions::power(on, a, b),
        (other, _) => unreachable!("{other:?} is an instruction"),
    }
}

/// By squaring; a negative one by a division at the end.
fn power(numbers: NumberFormats, emitter: &mut Emitter, base: Number, n: i32) -> Number {
    let (mut rest, mut square, mut power) = (n.unsigned_abs(), base, None);
    loop {
        if rest % 2 == 1 {
            power = Some(match power {
                None => square,
                Some(power) => emitter.compute(product(numbers), &[power, square]),
            });
        }
        rest /= 2;
        if rest == 0 {
            break;
        }
        square = emitter.compute(product(numbers), &[square, square]);
    }
    let one = numbers.immediate(1.0);
    let power = power.unwrap_or(one);
    if n > 0 { power } else { emitter.compute("div.rn", &[one, power]) }
}
