// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of numbers as instructions: what PTX has, and what is made of it ([`super::functions`]).

use super::emitter::{Class, Emitter};
use super::functions;
use super::numbers::Numbers;
use crate::expression::Function;

/// A function of values.
pub fn call(numbers: Numbers, emitter: &mut Emitter, function: Function, of: &[String]) -> String {
    let (class, suffix) = (numbers.class(), numbers.suffix());
    let one = numbers.immediate(1.0);
    let zero = numbers.immediate(0.0);
    let all = of.join(", ");
    let a = &of[0];
    let opcode = match function {
        Function::Negate => "neg",
        Function::Abs => "abs",
        Function::Sqrt => "sqrt.rn",
        Function::Add => "add",
        Function::Subtract => "sub",
        Function::Multiply => "mul",
        Function::Divide => "div.rn",
        Function::Min | Function::And => "min",
        Function::Max | Function::Or => "max",
        Function::Not => {
            let opcode = format!("sub.{suffix}");
            return emitter.set(class, &opcode, format_args!("{one}, {a}"));
        }
        Function::Floor => {
            let opcode = format!("cvt.rmi.{suffix}.{suffix}");
            return emitter.set(class, &opcode, format_args!("{a}"));
        }
        Function::PowerOf(n) => return power(numbers, emitter, a, n),
        Function::Less | Function::LessEqual | Function::Equal => {
            let relation = match function {
                Function::Less => "lt",
                Function::LessEqual => "le",
                _ => "eq",
            };
            let opcode = format!("setp.{relation}.{suffix}");
            let holds = emitter.set(Class::Predicate, &opcode, format_args!("{all}"));
            let selected = format_args!("{one}, {zero}, {holds}");
            return emitter.set(class, &format!("selp.{suffix}"), selected);
        }
        Function::If => {
            let opcode = format!("setp.neu.{suffix}");
            let holds = emitter.set(Class::Predicate, &opcode, format_args!("{a}, {zero}"));
            let [yes, no] = [&of[1], &of[2]];
            let selected = format_args!("{yes}, {no}, {holds}");
            return emitter.set(class, &format!("selp.{suffix}"), selected);
        }
        routine => return functions::call(emitter, numbers.dtype, routine, of),
    };
    emitter.set(class, &format!("{opcode}.{suffix}"), format_args!("{all}"))
}

/// By squaring; a negative one by a division at the end.
fn power(numbers: Numbers, emitter: &mut Emitter, base: &str, n: i32) -> String {
    let (class, suffix) = (numbers.class(), numbers.suffix());
    let (mut rest, mut square, mut power) = (n.unsigned_abs(), base.to_owned(), None);
    let multiply = format!("mul.{suffix}");
    loop {
        if rest % 2 == 1 {
            power = Some(match power {
                None => square.clone(),
                Some(power) => emitter.set(class, &multiply, format_args!("{power}, {square}")),
            });
        }
        rest /= 2;
        if rest == 0 {
            break;
        }
        square = emitter.set(class, &multiply, format_args!("{square}, {square}"));
    }
    let power = power.unwrap_or_else(|| numbers.immediate(1.0));
    if n > 0 {
        return power;
    }
    let one = numbers.immediate(1.0);
    emitter.set(class, &format!("div.rn.{suffix}"), format_args!("{one}, {power}"))
}
