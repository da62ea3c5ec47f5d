// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program is at most points: where no comparison of an index with a number holds, which tell sides in adjoints, and where what layers
//! along sides remember is 0.

use std::collections::BTreeSet;
use std::ops::Range;

use super::expression::{Array, Function, Node};
use super::program::{Offset, Operation, Program, Value};
use super::vanishing::Vanishing;

/// Points of the grid, by their indices along each axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// From an index to the one behind the last, along z, y, x.
    pub ranges: [Range<i64>; 3],
    /// But for those with one of these.
    pub but_at: [BTreeSet<i64>; 3],
}

/// Indices of an axis that are told, at most: of more too many rows would be cut into pieces.
const MOST: usize = 16;
/// All indices of an axis.
const ALL: Range<i64> = i64::MIN..i64::MAX;

impl Region {
    /// Whether each axis has indices that do not belong to it.
    #[must_use]
    pub fn bounded(&self) -> [bool; 3] {
        [0, 1, 2].map(|axis| self.ranges[axis] != ALL || !self.but_at[axis].is_empty())
    }
}

/// A program where some indices of a point lie within a region.
pub struct Inside {
    /// The program. It writes some of the arrays only: the others keep their 0 there, or nobody needs what they are.
    pub program: Program,
    /// The places of what it writes among what the whole program writes.
    pub writes: Vec<usize>,
    /// Work fields that are 0 there.
    pub zeros: Vec<Array>,
    /// The region.
    pub region: Region,
}

/// Sets of axes: axis a has the bit 1 << a.
pub const SETS: usize = 8;

/// The programs of a stage by the set of axes along which a point lies within the region. That of no axis is the stage's own.
pub struct InnerPrograms {
    /// Where most points are.
    pub region: Region,
    /// Of the other sets of axes along which there are points outside of the region.
    pub of_set: [Option<Inside>; SETS],
}

impl InnerPrograms {
    /// Of a stage. None if all points have one program, or it takes hardly less elsewhere. Work fields that the stage leaves at 0 are added
    /// to what vanishes.
    pub fn new(program: &Program, vanishing: &mut Vec<Vanishing>) -> Option<Self> {
        let Inside { program: most, region, writes, .. } = program.inside([true; 3], vanishing)?;
        let bounded = region.bounded();
        let axes = |set: usize| [0, 1, 2].map(|axis| set >> axis & 1 == 1 || !bounded[axis]);
        for axis in (0..3).filter(|axis| bounded[*axis]) {
            let alone = program.inside(axes(1 << axis), vanishing);
            if let Some(Inside { zeros, region, .. }) = alone {
                let Range { start: from, end: to } = region.ranges[axis].clone();
                let zeros = zeros.iter().filter(|_| region.but_at[axis].is_empty());
                vanishing.extend(zeros.map(|array| Vanishing { array: *array, axis, from, to }));
            }
        }
        let size = |program: &Program, writes: usize| program.operations.len() + writes;
        if size(&most, writes.len()) * 4 > size(program, program.writes.len()) * 3
            || region.but_at.iter().any(|at| at.len() > MOST)
        {
            return None;
        }
        let of_set = std::array::from_fn(|set| {
            let is_one = set > 0 && (0..3).all(|axis| set >> axis & 1 == 0 || bounded[axis]);
            is_one.then(|| program.inside(axes(set), vanishing)).flatten()
        });
        Some(Self { region, of_set })
    }

    /// What part of the points of a grid has each set of axes.
    #[must_use]
    pub fn shares(&self, extents: [usize; 3]) -> [f64; SETS] {
        let bounded = self.region.bounded();
        let within = [0, 1, 2].map(|axis| {
            let Range { start, end } = self.region.ranges[axis];
            let [start, end] = [start, end].map(|at| at.clamp(0, extents[axis] as i64));
            let left_out = self.region.but_at[axis].range(start..end.max(start)).count() as f64;
            ((end - start).max(0) as f64 - left_out) / extents[axis] as f64
        });
        std::array::from_fn(|set| {
            let of_axis = |axis: usize| match (set >> axis & 1, bounded[axis]) {
                (1, true) => within[axis],
                (1, false) => 0.0,
                (_, true) => 1.0 - within[axis],
                (_, false) => 1.0,
            };
            (0..3).map(of_axis).product()
        })
    }
}

/// What is known of a result.
#[derive(Clone, Copy)]
enum Known {
    Is(Value),
    Zero,
}

impl Program {
    /// The program at points whose indices along the axes that are chosen lie within the region that it is given with. None if it is the program
    /// itself, or if what is 0 is needed as a number.
    #[must_use]
    pub fn inside(&self, axes: [bool; 3], vanishing: &[Vanishing]) -> Option<Inside> {
        let region = Region { ranges: [ALL, ALL, ALL], but_at: Default::default() };
        let mut folding = Folding { of: self, axes, vanishing, region, operations: Vec::new() };
        let mut known = Vec::<Known>::new();
        for operation in &self.operations {
            let own = folding.operation(operation, &known)?;
            known.push(own);
        }
        let (mut places, mut results, mut zeros) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (array, result)) in self.writes.iter().zip(&self.results).enumerate() {
            let value = folding.value(result, &known);
            let is_work = matches!(array, Array::Work(_));
            if is_work && matches!(value, Known::Zero) {
                zeros.push(*array);
            } else if !folding.vanishes(*array, &[[0; 3]]) {
                places.push(place);
                results.push(folding.number(value)?);
            }
        }
        let Folding { region, operations, .. } = folding;
        if region.bounded() == [false; 3] {
            return None;
        }
        let writes = places.iter().map(|place| self.writes[*place]).collect();
        let program = Self { operations, results, writes, ..self.clone() };
        Some(Inside { program: program.needed(), writes: places, zeros, region })
    }

    /// The program without operations whose results nobody takes.
    fn needed(self) -> Self {
        let mut is_needed = vec![false; self.operations.len()];
        let need = |value: &Value, is_needed: &mut Vec<bool>| {
            if let Value::Result(result) = value {
                is_needed[*result] = true;
            }
        };
        self.results.iter().for_each(|value| need(value, &mut is_needed));
        for (number, operation) in self.operations.iter().enumerate().rev() {
            if let (true, Operation::Call(_, parts)) = (is_needed[number], operation) {
                parts.iter().for_each(|value| need(value, &mut is_needed));
            }
        }
        let mut places = Vec::new();
        let mut count = 0;
        for is_needed in &is_needed {
            places.push(count);
            count += usize::from(*is_needed);
        }
        let moved = |value: Value| match value {
            Value::Result(result) => Value::Result(places[result]),
            other => other,
        };
        let operations = self.operations.into_iter().zip(&is_needed);
        let operations = operations.filter(|(_, is_needed)| **is_needed).map(|(it, _)| match it {
            Operation::Call(function, parts) => {
                Operation::Call(function, parts.into_iter().map(moved).collect())
            }
            other => other,
        });
        let operations = operations.collect();
        let results = self.results.into_iter().map(moved).collect();
        Self { operations, results, ..self }
    }
}

/// A program that is written again with what is known of a region.
struct Folding<'a> {
    of: &'a Program,
    axes: [bool; 3],
    vanishing: &'a [Vanishing],
    region: Region,
    operations: Vec<Operation>,
}

impl Folding<'_> {
    /// What is known of the result of an operation; nothing if what is 0 is needed as a number that the program does not have.
    fn operation(&mut self, operation: &Operation, known: &[Known]) -> Option<Known> {
        match operation {
            Operation::Call(function, parts) => {
                if *function == Function::Equal && self.is_elsewhere(parts) {
                    return Some(Known::Zero);
                }
                let parts: Vec<Known> = parts.iter().map(|it| self.value(it, known)).collect();
                self.call(*function, &parts)
            }
            Operation::Sum(array, taps) => {
                let offsets: Vec<Offset> = taps.iter().map(|(offset, _)| *offset).collect();
                match self.vanishes(*array, &offsets) {
                    true => Some(Known::Zero),
                    false => Some(self.push(operation.clone())),
                }
            }
            Operation::Noise(..) => Some(self.push(operation.clone())),
        }
    }

    /// What is known of a function of others. Products with what is 0 are 0, whatever the other factor is.
    fn call(&mut self, function: Function, parts: &[Known]) -> Option<Known> {
        use Function as F;
        use Known::Zero;
        Some(match (function, parts) {
            (F::Multiply | F::And, [Zero, _] | [_, Zero])
            | (F::Add | F::Subtract | F::Or | F::Min | F::Max, [Zero, Zero])
            | (F::Negate | F::Abs | F::Sqrt | F::Floor, [Zero])
            | (F::If, [_, Zero, Zero]) => Zero,
            (F::PowerOf(power), [Zero]) if power > 0 => Zero,
            (F::Add, [Zero, other] | [other, Zero]) | (F::Subtract, [other, Zero]) => *other,
            (F::If, [Zero, _, otherwise]) => *otherwise,
            (F::Subtract, [Zero, other]) => self.kept(F::Negate, &[*other])?,
            _ => self.kept(function, parts)?,
        })
    }

    /// A function that is computed as before.
    fn kept(&mut self, function: Function, parts: &[Known]) -> Option<Known> {
        let parts = parts.iter().map(|part| self.number(*part)).collect::<Option<_>>()?;
        Some(self.push(Operation::Call(function, parts)))
    }

    fn push(&mut self, operation: Operation) -> Known {
        self.operations.push(operation);
        Known::Is(Value::Result(self.operations.len() - 1))
    }

    /// What is known of an operand.
    fn value(&mut self, value: &Value, known: &[Known]) -> Known {
        match *value {
            Value::Result(result) => known[result],
            Value::Read(array, offset) if self.vanishes(array, &[offset]) => Known::Zero,
            other => Known::Is(other),
        }
    }

    /// It as an operand.
    fn number(&self, known: Known) -> Option<Value> {
        match known {
            Known::Is(value) => Some(value),
            Known::Zero => {
                let zero = |scalar: &Node| *scalar == Node::Number(0.0);
                self.of.scalars.iter().position(zero).map(Value::Scalar)
            }
        }
    }

    /// Whether an array vanishes at these offsets from points of the region, which becomes as small as that takes.
    fn vanishes(&mut self, array: Array, offsets: &[Offset]) -> bool {
        let mut found = false;
        let own = |it: &&Vanishing| it.is_of(array) && self.axes[it.axis];
        for Vanishing { axis, from, to, .. } in self.vanishing.iter().filter(own) {
            found = true;
            let range = &mut self.region.ranges[*axis];
            for offset in offsets.iter().map(|offset| i64::from(offset[*axis])) {
                *range = range.start.max(from.saturating_sub(offset))
                    ..range.end.min(to.saturating_sub(offset));
            }
        }
        found
    }

    /// Whether a comparison is one of an index with a number along a chosen axis; the region is without that index.
    fn is_elsewhere(&mut self, parts: &[Value]) -> bool {
        let (axis, offset, scalar) = match *parts {
            [Value::Index(axis, offset), Value::Scalar(scalar)]
            | [Value::Scalar(scalar), Value::Index(axis, offset)] => (axis, offset, scalar),
            _ => return false,
        };
        match self.of.scalars[scalar] {
            Node::Number(number)
                if self.axes[axis] && number.fract() == 0.0 && number.abs() < 1e9 =>
            {
                self.region.but_at[axis].insert(number as i64 - i64::from(offset[axis]));
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Vanishing;
    use crate::expression::Array;
    use crate::{Description, FieldText, System};

    fn program(next: &str) -> crate::program::Program {
        let description = Description::new(&[9, 12]).derivative("laplace", "laplace", 2);
        let description = description.coefficient("c", "x");
        let description = description.field(FieldText::new("u", "x", next));
        System::new(&description, Path::new("")).unwrap().program
    }

    #[test]
    fn what_is_chosen_at_sides_is_not_computed_inside() {
        let sides =
            program("laplace(u) + if(iy == 8 and ix == 0, sin(u)*2, 0) + if(ix == 3, u, 1)");
        let inside = sides.inside([true; 3], &[]).unwrap();
        let [z, y, x] = inside.region.but_at;
        assert_eq!((z.len(), y.into_iter().collect::<Vec<_>>()), (0, vec![8]));
        assert_eq!(x.into_iter().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(inside.program.operations.len(), 3, "{:?}", inside.program);
        // In the row of the comparison that of the other axis is known.
        let inside = sides.inside([false, false, true], &[]).unwrap();
        assert_eq!(inside.region.bounded(), [false, false, true]);
        assert_eq!(inside.program.operations.len(), 3, "{:?}", inside.program);
        let none = |next: &str| program(next).inside([true; 3], &[]).is_none();
        assert!(none("laplace(u) + if(u == 3, sin(u), 0)"));
        assert!(none("u + if(ix < 3, sin(u), 0)"));
    }

    #[test]
    fn what_is_multiplied_by_zeros_is_not_computed() {
        let c = Vanishing { array: Array::Coefficient(0), axis: 2, from: 3, to: 9 };
        let fold = |next: &str| program(next).inside([true; 3], &[c]).unwrap();
        let inside = fold("u + laplace(c)*sin(u)");
        assert_eq!(inside.program.operations.len(), 0, "{:?}", inside.program);
        // Neighbours are read, too.
        assert_eq!(inside.region.ranges[2], 4..8);
        assert_eq!(inside.region.bounded(), [false, false, true]);
        assert_eq!(fold("u + c*sin(u)").region.ranges[2], 3..9);
        // What is 0 is needed, and the program has no such number.
        assert!(program("u + exp(c)").inside([true; 3], &[c]).is_none());
        assert!(program("u + c").inside([false, true, true], &[]).is_none());
    }

    #[test]
    fn what_nobody_needs_is_not_written() {
        let u = Vanishing { array: Array::Field { field: 0, level: 0 }, axis: 1, from: 2, to: 7 };
        let inside = program("u + laplace(u)*c").inside([true; 3], &[u]).unwrap();
        assert_eq!((inside.writes.len(), inside.program.operations.len()), (0, 0));
        assert_eq!(inside.region.ranges[1], 3..6);
    }
}
