// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program is at points where no comparison of an index with a number holds: adjoints tell sides by such ones, and few points lie there.

use std::collections::BTreeSet;

use super::expression::{Function, Node};
use super::program::{Operation, Program, Value};

/// By axis, where a comparison of an index may hold.
pub type Compared = [BTreeSet<i64>; 3];

/// What is known of a result.
#[derive(Clone, Copy)]
enum Known {
    Is(Value),
    False,
}

impl Program {
    /// The program without what such comparisons choose, and the indices for which it is another one; none if there are no comparisons, or
    /// what they say is a number.
    #[must_use]
    pub fn inside(&self) -> Option<(Self, Compared)> {
        let mut compared = Compared::default();
        let (mut known, mut operations) = (Vec::<Known>::new(), Vec::new());
        for operation in &self.operations {
            let value = |value: &Value| match value {
                Value::Result(result) => known[*result],
                other => Known::Is(*other),
            };
            let index = match operation {
                Operation::Call(Function::Equal, parts) => self.index(parts),
                _ => None,
            };
            if let Some((axis, at)) = index {
                compared[axis].insert(at);
                known.push(Known::False);
                continue;
            }
            let own = match operation {
                Operation::Call(function, parts) => {
                    let parts: Vec<Known> = parts.iter().map(value).collect();
                    match (function, &parts[..]) {
                        (Function::If, [Known::False, _, otherwise]) => *otherwise,
                        (Function::And, [Known::False, _] | [_, Known::False])
                        | (Function::Or, [Known::False, Known::False]) => Known::False,
                        _ => {
                            let parts = parts.into_iter().map(Known::value);
                            let parts = parts.collect::<Option<Vec<Value>>>()?;
                            operations.push(Operation::Call(*function, parts));
                            Known::Is(Value::Result(operations.len() - 1))
                        }
                    }
                }
                Operation::Sum(..) | Operation::Noise(..) => {
                    operations.push(operation.clone());
                    Known::Is(Value::Result(operations.len() - 1))
                }
            };
            known.push(own);
        }
        if compared.iter().all(BTreeSet::is_empty) {
            return None;
        }
        let results = self.results.iter().map(|value| match value {
            Value::Result(result) => known[*result].value(),
            other => Some(*other),
        });
        let results = results.collect::<Option<_>>()?;
        let inside = Self { operations, results, ..self.clone() };
        Some((inside.needed(), compared))
    }

    /// The axis and the index of a comparison of one with a number.
    fn index(&self, parts: &[Value]) -> Option<(usize, i64)> {
        let (axis, offset, scalar) = match *parts {
            [Value::Index(axis, offset), Value::Scalar(scalar)]
            | [Value::Scalar(scalar), Value::Index(axis, offset)] => (axis, offset, scalar),
            _ => return None,
        };
        match self.scalars[scalar] {
            Node::Number(number) if number.fract() == 0.0 && number.abs() < 1e9 => {
                Some((axis, number as i64 - i64::from(offset[axis])))
            }
            _ => None,
        }
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

impl Known {
    fn value(self) -> Option<Value> {
        match self {
            Self::Is(value) => Some(value),
            Self::False => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Description, FieldText, System};

    #[test]
    fn what_is_chosen_at_sides_is_not_computed_inside() {
        let program = |next: &str| {
            let description = Description::new(&[9, 12]).derivative("laplace", "laplace", 2);
            let description = description.field(FieldText::new("u", "x", next));
            System::new(&description, Path::new("")).unwrap().program
        };
        let sides =
            program("laplace(u) + if(iy == 8 and ix == 0, sin(u)*2, 0) + if(ix == 3, u, 1)");
        let (inside, [z, y, x]) = sides.inside().unwrap();
        assert_eq!((z.len(), y.into_iter().collect::<Vec<_>>()), (0, vec![8]));
        assert_eq!(x.into_iter().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(inside.operations.len(), 3, "{inside:?}");
        assert!(program("laplace(u) + if(u == 3, sin(u), 0)").inside().is_none());
        assert!(program("u + if(ix < 3, sin(u), 0)").inside().is_none());
    }
}
