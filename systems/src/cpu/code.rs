// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program as the CPU executes it: steps on a block of points whose values stay in registers, with as few stored
//! results as can be, so that these stay in the first-level cache.

use super::super::expression::Array;
use super::super::program::{Offset, Program, Value};
use super::chains::{self, Chain, To};
use super::real::Real;
use super::step::Step;

/// What a step takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// Numbers of the block: first those that all points share, then results.
    Slot(usize),
    /// Stored values, by the number of their [`Code::reads`].
    Read(usize),
}

/// A program as the CPU executes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Code<R> {
    /// In their order.
    pub steps: Vec<Step<Operand, R>>,
    /// What they read: of which array, and how far from the point.
    pub reads: Vec<(Array, Offset)>,
    /// Of each array the read of the row that comes last: what no row before has had in the cache.
    pub leads: Vec<usize>,
    /// How many slots there are, scalars included.
    pub slots: usize,
}

impl<R: Real> Code<R> {
    /// The code of a program. `own` tells of an array that a field's next values are written over, which field that is.
    pub fn new(program: &Program, own: impl Fn(Array) -> Option<usize>) -> Self {
        let chains = chains::of(program, &own);
        let last_use = last_uses(&chains);
        let reads = reads(program, own);
        let leads = leads(&reads);
        let mut code = Self { steps: Vec::new(), reads, leads, slots: 0 };
        code.slots = program.scalars.len();
        let (mut free, mut slot_of) = (Vec::new(), vec![0; last_use.len()]);
        for (number, Chain { steps, to }) in chains.into_iter().enumerate() {
            for step in steps {
                let step = step.map(|value| match value {
                    Value::Result(result) => {
                        let slot = slot_of[result];
                        if last_use[result] == number && !free.contains(&slot) {
                            free.push(slot);
                        }
                        Operand::Slot(slot)
                    }
                    value => code.operand(value),
                });
                code.steps.push(step);
            }
            // Only now: a block is stored after all that its chain takes was read.
            code.steps.push(match to {
                To::Field(field) => Step::Write(field),
                To::Result(result) => {
                    slot_of[result] = free.pop().unwrap_or_else(|| {
                        code.slots += 1;
                        code.slots - 1
                    });
                    Step::Store(slot_of[result])
                }
            });
        }
        code
    }

    fn operand(&self, value: Value) -> Operand {
        match value {
            Value::Scalar(scalar) => Operand::Slot(scalar),
            Value::Read(array, offset) => {
                let number = self.reads.iter().position(|read| *read == (array, offset));
                Operand::Read(number.expect("all reads are listed"))
            }
            Value::Result(_) | Value::Coordinate(..) => unreachable!("they have a slot"),
        }
    }
}

/// The last chain that takes each result.
fn last_uses<R: Real>(chains: &[Chain<R>]) -> Vec<usize> {
    let mut last = Vec::new();
    for (number, chain) in chains.iter().enumerate() {
        let mut note = |result: usize| {
            if last.len() <= result {
                last.resize(result + 1, 0);
            }
            last[result] = number;
        };
        if let To::Result(result) = chain.to {
            note(result);
        }
        for step in &chain.steps {
            step.clone().map(|value| {
                if let Value::Result(result) = value {
                    note(result);
                }
            });
        }
    }
    last
}

/// What a program reads, each once, but what is written over.
fn reads(program: &Program, own: impl Fn(Array) -> Option<usize>) -> Vec<(Array, Offset)> {
    let mut reads: Vec<(Array, Offset)> = Vec::new();
    for read in program.reads().filter(|(array, _)| own(*array).is_none()) {
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
    reads
}

/// Of each array the number of the read of its last row.
fn leads(reads: &[(Array, Offset)]) -> Vec<usize> {
    let is_last = |number: &usize| {
        let own = reads.iter().enumerate().filter(|(_, read)| read.0 == reads[*number].0);
        let last = own.max_by_key(|(_, (_, offset))| [offset[0], offset[1]]);
        last.is_some_and(|(last, _)| last == *number)
    };
    (0..reads.len()).filter(is_last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Description, FieldText, System};
    use std::path::Path;

    fn code(next: &str) -> Code<f64> {
        let field = FieldText::new("u", "0", next);
        let description = Description::new(&[9, 12]).derivative("laplace", "laplace", 2);
        let description = description.coefficient("c", "x").field(field);
        let program = System::new(&description, Path::new("")).unwrap().program;
        Code::new(&program, |array| (array == Array::Field { field: 0, level: 1 }).then_some(0))
    }

    fn stores(code: &Code<f64>) -> usize {
        code.steps.iter().filter(|step| matches!(step, Step::Store(_))).count()
    }

    #[test]
    fn what_is_taken_once_stays_in_registers() {
        let code = code("u + c*laplace(u)");
        let [sum, times, plus, write] = &code.steps[..] else { panic!("{:?}", code.steps) };
        assert!(matches!(sum, Step::Sum(taps) if taps.len() == 5), "{sum:?}");
        assert!(matches!((times, plus), (Step::Multiply(_), Step::Add(_))), "{times:?} {plus:?}");
        assert_eq!((write, code.slots), (&Step::Write(0), 0));
    }

    #[test]
    fn a_product_is_joined_to_what_it_is_added_to() {
        let steps = code("u*u + c*u - u*c*c").steps;
        let joined = |step: &&Step<_, _>| matches!(step, Step::AddProduct(..));
        assert_eq!(steps.iter().filter(joined).count(), 1, "{steps:?}");
    }

    /// It would be rounded as no bound knows.
    #[test]
    fn sums_in_brackets_stay_together() {
        let code = code("(u + c) + (u*c + 1)");
        assert_eq!(stores(&code), 1, "{:?}", code.steps);
    }

    #[test]
    fn what_is_written_over_is_read_before_all_else() {
        let code = code("2*u - prev(u) + laplace(u)*prev(u)");
        assert_eq!(code.steps[0], Step::Own(0));
        assert!(code.reads.iter().all(|read| read.0 == Array::Field { field: 0, level: 0 }));
        assert!(stores(&code) >= 1);
    }

    #[test]
    fn the_last_row_of_each_array_leads() {
        let code = code("u + c*laplace(u)");
        let leads: Vec<_> = code.leads.iter().map(|lead| code.reads[*lead]).collect();
        let [field, coefficient] = [Array::Field { field: 0, level: 0 }, Array::Coefficient(0)];
        assert!(leads.contains(&(field, [0, 1, 0])) && leads.contains(&(coefficient, [0; 3])));
        assert_eq!(leads.len(), 2);
    }

    #[test]
    fn slots_are_used_again() {
        let sum = (1..20).map(|n| format!("sqrt(u + {n})*sin(c + {n})")).collect::<Vec<_>>();
        let code = code(&sum.join(" + "));
        let scalars = 20;
        assert!(code.slots <= scalars + 4, "{}", code.slots);
        assert!(stores(&code) >= 19);
    }
}
