// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of blocks of values: each a loop over slices that the compiler makes vectors of, where it can.

use fearless_simd::Simd;

use super::super::expression::Function;
use super::block::BEHIND;
use super::real::Real;

/// Makes of values a function of them, at a place among its arguments, and of others. It is no part of what calls it:
/// one copy is enough for blocks of all sizes.
#[inline(never)]
pub fn apply<R: Real, S: Simd>(
    simd: S,
    function: Function,
    place: usize,
    values: &mut [R],
    others: [&[R]; 2],
) {
    simd.vectorize(
        #[inline(always)]
        || call(function, place, values, others),
    );
}

/// One of the functions that are no instructions of a processor, of values at a place among its arguments, and of others.
pub fn pointer<R: Real>(function: Function, place: usize) -> x86_writer::BlockFunction<R> {
    macro_rules! of_one {
        ($function:ident) => {
            |values, _| map(values, |a| a.of_one(Function::$function))
        };
    }
    macro_rules! of_two {
        ($function:ident) => {
            match place {
                0 => |values, [other, _]| {
                    pairs(values, 0, other, |a, b| a.of_two(b, Function::$function));
                },
                _ => |values, [other, _]| {
                    pairs(values, 1, other, |a, b| a.of_two(b, Function::$function));
                },
            }
        };
    }
    match function {
        Function::Exp => of_one!(Exp),
        Function::Ln => of_one!(Ln),
        Function::Sin => of_one!(Sin),
        Function::Cos => of_one!(Cos),
        Function::Tanh => of_one!(Tanh),
        Function::Power => of_two!(Power),
        Function::Atan2 => of_two!(Atan2),
        other => unreachable!("{other:?} is an instruction"),
    }
}

#[inline(always)]
fn call<R: Real>(function: Function, place: usize, values: &mut [R], [a, b]: [&[R]; 2]) {
    let truth = |holds: bool| if holds { R::ONE } else { R::ZERO };
    match function {
        Function::Negate => map(values, |a| -a),
        Function::Abs => map(values, R::magnitude),
        Function::Sqrt => map(values, R::root),
        Function::PowerOf(n) => whole_power(values, n),
        Function::Not => map(values, |a| R::ONE - a),
        Function::Min | Function::And => pairs(values, place, a, |a, b| if a < b { a } else { b }),
        Function::Max | Function::Or => pairs(values, place, a, |a, b| if a > b { a } else { b }),
        Function::Less => pairs(values, place, a, |a, b| truth(a < b)),
        Function::LessEqual => pairs(values, place, a, |a, b| truth(a <= b)),
        Function::Equal => pairs(values, place, a, |a, b| truth(a == b)),
        Function::If => {
            for ((value, a), b) in values.iter_mut().zip(a).zip(b) {
                let (condition, yes, no) = match place {
                    0 => (*value, *a, *b),
                    1 => (*a, *value, *b),
                    _ => (*a, *b, *value),
                };
                *value = if condition != R::ZERO { yes } else { no };
            }
        }
        other if other.takes().len() == 1 => map(values, |a| a.of_one(other)),
        other => pairs(values, place, a, |a, b| a.of_two(b, other)),
    }
}

#[inline(always)]
fn map<R: Real>(values: &mut [R], f: impl Fn(R) -> R) {
    values.iter_mut().for_each(|value| *value = f(*value));
}

#[inline(always)]
fn pairs<R: Real>(values: &mut [R], place: usize, others: &[R], f: impl Fn(R, R) -> R) {
    let pairs = values.iter_mut().zip(others);
    match place {
        0 => pairs.for_each(|(value, other)| *value = f(*value, *other)),
        _ => pairs.for_each(|(value, other)| *value = f(*other, *value)),
    }
}

/// By squaring; a negative one by a division at the end.
#[inline(always)]
fn whole_power<R: Real>(values: &mut [R], n: i32) {
    let mut squares = [R::ZERO; BEHIND];
    let squares = &mut squares[..values.len()];
    squares.copy_from_slice(values);
    values.fill(R::ONE);
    let mut rest = n.unsigned_abs();
    while rest > 0 {
        if rest % 2 == 1 {
            values.iter_mut().zip(&*squares).for_each(|(value, square)| *value *= *square);
        }
        squares.iter_mut().for_each(|square| *square = *square * *square);
        rest /= 2;
    }
    if n < 0 {
        map(values, |power| R::ONE / power);
    }
}
