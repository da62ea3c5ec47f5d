// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program as the CPU executes it: steps on a block of points whose values stay in registers, with as few stored
//! results as can be, so that these stay in the first-level cache.

use super::super::expression::Array;
use super::super::program::{Offset, Program, Value};
use super::chains::{self, ChainOutput, RegisterChain};
use super::real::Real;
use super::step::BlockStep;

/// What a step takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// Numbers of the block: first those that all points share, then results.
    Slot(usize),
    /// Stored values: of one of [`Code::arrays`], so many values behind its first place.
    Read {
        /// The array.
        array: usize,
        /// Values behind.
        place: usize,
    },
}

/// What is read of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// The array.
    pub array: Array,
    /// How far from the point the first place is that is read.
    pub first: Offset,
    /// And one in the row that comes last.
    pub last: Offset,
    /// How many values behind the first place that one lies: what no row before has had in the cache.
    pub lead: usize,
}

/// A program as the CPU executes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Code<R> {
    /// In their order.
    pub steps: Vec<BlockStep<Operand, R>>,
    /// The arrays that they read.
    pub arrays: Vec<Reads>,
    /// How many slots hold numbers that all points share: the first ones.
    pub scalars: usize,
    /// How many slots there are, scalars included.
    pub slots: usize,
}

impl<R: Real> Code<R> {
    /// The code of a program. `own` tells of an array that a field's next values are written over, which field that is;
    /// `place` how many values behind a point the one at some distance lies.
    pub fn new(
        program: &Program,
        own: impl Fn(Array) -> Option<usize>,
        place: impl Fn(Array, Offset) -> isize,
    ) -> Self {
        Self::within([program; 2], |_, array| own(array), place)
    }

    /// The code of a program that reads no more than another one, the second, of which it is given what that reads.
    pub fn within(
        [program, whole]: [&Program; 2],
        own: impl Fn(&Program, Array) -> Option<usize>,
        place: impl Fn(Array, Offset) -> isize,
    ) -> Self {
        let chains = chains::of(program, |array| own(program, array));
        let last_use = last_uses(&chains);
        let reads = AllReads::of(whole, |array| own(whole, array), place);
        let scalars = program.scalars.len();
        let mut code = Self { steps: Vec::new(), arrays: reads.arrays(), scalars, slots: scalars };
        let (mut free, mut slot_of) = (Vec::new(), vec![0; last_use.len()]);
        for (number, RegisterChain { steps, to }) in chains.into_iter().enumerate() {
            for step in steps {
                let step = step.map(|value| match value {
                    Value::Result(result) => {
                        let slot = slot_of[result];
                        if last_use[result] == number && !free.contains(&slot) {
                            free.push(slot);
                        }
                        Operand::Slot(slot)
                    }
                    Value::Scalar(scalar) => Operand::Slot(scalar),
                    Value::Read(array, offset) => reads.operand(array, offset),
                    Value::Coordinate(..) | Value::Index(..) => unreachable!("it has a slot"),
                });
                code.steps.push(step);
            }
            // Only now: a block is stored after all that its chain takes was read.
            code.steps.push(match to {
                ChainOutput::Field(field) => BlockStep::Write(field),
                ChainOutput::Result(result) => {
                    slot_of[result] = free.pop().unwrap_or_else(|| {
                        code.slots += 1;
                        code.slots - 1
                    });
                    BlockStep::Store(slot_of[result])
                }
            });
        }
        code
    }
}

/// The last chain that takes each result.
fn last_uses<R: Real>(chains: &[RegisterChain<R>]) -> Vec<usize> {
    let mut last = Vec::new();
    for (number, chain) in chains.iter().enumerate() {
        let mut note = |result: usize| {
            if last.len() <= result {
                last.resize(result + 1, 0);
            }
            last[result] = number;
        };
        if let ChainOutput::Result(result) = chain.to {
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

/// What a program reads but of arrays that are written over: of each array in their order, how far from the point, and
/// how many values behind it.
struct AllReads(Vec<(Array, Vec<(Offset, isize)>)>);

impl AllReads {
    fn of(
        program: &Program,
        own: impl Fn(Array) -> Option<usize>,
        place: impl Fn(Array, Offset) -> isize,
    ) -> Self {
        let mut reads: Vec<(Array, Vec<(Offset, isize)>)> = Vec::new();
        for (array, offset) in program.reads().filter(|(array, _)| own(*array).is_none()) {
            let read = (offset, place(array, offset));
            match reads.iter_mut().find(|(it, _)| *it == array) {
                Some((_, reads)) => reads.push(read),
                None => reads.push((array, vec![read])),
            }
        }
        Self(reads)
    }

    fn first(reads: &[(Offset, isize)]) -> (Offset, isize) {
        *reads.iter().min_by_key(|(_, place)| *place).expect("an array that is read")
    }

    fn arrays(&self) -> Vec<Reads> {
        let of_array = |(array, reads): &(Array, Vec<(Offset, isize)>)| {
            let (first, start) = Self::first(reads);
            let last = reads.iter().max_by_key(|([z, y, _], _)| [*z, *y]);
            let &(last, place) = last.expect("an array that is read");
            Reads { array: *array, first, last, lead: (place - start) as usize }
        };
        self.0.iter().map(of_array).collect()
    }

    fn operand(&self, array: Array, offset: Offset) -> Operand {
        let number = self.0.iter().position(|(it, _)| *it == array).expect("all reads are listed");
        let (_, reads) = &self.0[number];
        let (_, place) = reads.iter().find(|(it, _)| *it == offset).expect("all reads are listed");
        Operand::Read { array: number, place: (place - Self::first(reads).1) as usize }
    }
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
        let own = |array| (array == Array::Field { field: 0, level: 1 }).then_some(0);
        Code::new(&program, own, |_, [_, y, x]| 100 * y as isize + x as isize)
    }

    fn stores(code: &Code<f64>) -> usize {
        code.steps.iter().filter(|step| matches!(step, BlockStep::Store(_))).count()
    }

    #[test]
    fn what_is_taken_once_stays_in_registers() {
        let code = code("u + c*laplace(u)");
        let [sum, times, plus, write] = &code.steps[..] else { panic!("{:?}", code.steps) };
        assert!(matches!(sum, BlockStep::Sum(taps) if taps.len() == 5), "{sum:?}");
        assert!(
            matches!((times, plus), (BlockStep::Multiply(_), BlockStep::Add(_))),
            "{times:?} {plus:?}"
        );
        assert_eq!((write, code.slots), (&BlockStep::Write(0), 0));
    }

    #[test]
    fn a_product_is_joined_to_what_it_is_added_to() {
        let steps = code("u*u + c*u - u*c*c").steps;
        let joined = |step: &&BlockStep<_, _>| matches!(step, BlockStep::AddProduct(..));
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
        assert_eq!(code.steps[0], BlockStep::Own(0));
        let [reads] = &code.arrays[..] else { panic!("{:?}", code.arrays) };
        assert_eq!(reads.array, Array::Field { field: 0, level: 0 });
        assert_eq!((reads.first, reads.last, reads.lead), ([0, -1, 0], [0, 1, 0], 200));
        assert!(stores(&code) >= 1);
    }

    #[test]
    fn the_last_row_of_each_array_leads() {
        let code = code("u + c*laplace(u)");
        let [field, coefficient] = [Array::Field { field: 0, level: 0 }, Array::Coefficient(0)];
        let lead = |array| code.arrays.iter().find(|it| it.array == array).unwrap().lead;
        assert_eq!((code.arrays.len(), lead(field), lead(coefficient)), (2, 200, 0));
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
