// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that are more than one operation on numbers: sums over the grid, earlier and later values, random numbers, and those
//! that are made of others.

use super::check::{Check, Reductions};
use super::{MOST_PARTS, Purpose};
use crate::error::Mistake;
use crate::expression::composed::COMPOSED;
use crate::expression::function::{Function, Type};
use crate::expression::node::{Array, Node};
use crate::expression::parse::Syntax;
use crate::expression::reduction;
use crate::noise::Noise;

impl Check<'_> {
    /// A sum over the grid, or the like, if this is one of a total.
    pub(super) fn reduction(
        &self,
        name: &str,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<Option<Node>, Mistake> {
        let Some(kind) = reduction::ReductionKind::named(name, arguments.len()) else {
            return Ok(None);
        };
        if self.scope.has(name) {
            return Ok(None);
        }
        if self.purpose == Purpose::Reduced {
            let what = "a sum over the grid cannot contain another one";
            let hint = "give the inner one a name in [totals]: a sum may hold that";
            return Err(self.wrong(syntax, what).hint(hint));
        }
        let Some(Reductions { region, found }) = self.reductions else { return Ok(None) };
        self.count(name, arguments, 1, syntax)?;
        let inner = Check { purpose: Purpose::Reduced, ..*self };
        let value = inner.typed(&arguments[0], Type::Number)?;
        let points = self.scope.points;
        Ok(Some(kind.over(value, (region, points), &mut found.borrow_mut())))
    }

    /// The smallest or largest one of several numbers.
    pub(super) fn of_many(
        &self,
        function: Function,
        arguments: &[Syntax],
    ) -> Result<(Node, Type), Mistake> {
        let numbers = arguments.iter().map(|it| self.typed(it, Type::Number));
        let numbers: Vec<Node> = numbers.collect::<Result<_, _>>()?;
        let all = numbers.into_iter().reduce(|a, b| Node::call(function, vec![a, b]));
        Ok((all.expect("a call has arguments"), Type::Number))
    }

    /// A function that is made of others. Names of the system go before it.
    pub(super) fn composed(
        &self,
        name: &str,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<Node, Mistake> {
        let known = COMPOSED.iter().find(|it| it.name == name && !self.scope.has(name));
        let Some(composed) = known else { return Err(self.unknown(name, syntax)) };
        self.count(name, arguments, composed.takes, syntax)?;
        let numbers = arguments.iter().map(|it| self.typed(it, Type::Number));
        let node = (composed.of)(&numbers.collect::<Result<Vec<_>, _>>()?);
        let mut parts = 0;
        node.visit(&mut |_| parts += 1);
        if parts > MOST_PARTS {
            let what = format!("written out, '{name}' has more than {MOST_PARTS} parts");
            return Err(self
                .wrong(syntax, what)
                .hint("compute its argument in a field of its own"));
        }
        Ok(node)
    }

    /// A field some steps ago.
    pub(super) fn earlier(
        &self,
        name: &str,
        level: usize,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<Node, Mistake> {
        self.count(name, arguments, 1, syntax)?;
        self.allow(matches!(self.purpose, Purpose::Next | Purpose::Reduced), syntax)?;
        match self.typed(&arguments[0], Type::Number)? {
            Node::Read(Array::Field { field, level: 0 }) => {
                Ok(Node::Read(Array::Field { field, level }))
            }
            _ => Err(self
                .wrong(&arguments[0], format!("'{name}' takes a field, and nothing else"))
                .hint("prev(u) is u one step ago, prev2(u) two steps ago")),
        }
    }

    /// A field after the step.
    pub(super) fn after_the_step(
        &self,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<Node, Mistake> {
        self.count("new", arguments, 1, syntax)?;
        self.allow(self.purpose == Purpose::Next, syntax)?;
        match self.typed(&arguments[0], Type::Number)? {
            Node::Read(Array::Field { field, level: 0 }) => Ok(Node::Read(Array::New(field))),
            Node::Read(Array::Work(_)) => Err(self
                .wrong(&arguments[0], "a work field always has its value of this step")
                .hint("write its name alone")),
            _ => Err(self
                .wrong(&arguments[0], "'new' takes a field, and nothing else")
                .hint("new(u) is u after this step; a stencil takes it as in dx(new(u))")),
        }
    }

    pub(super) fn random(&self, arguments: &[Syntax], syntax: &Syntax) -> Result<Node, Mistake> {
        self.count("random", arguments, 1, syntax)?;
        let starts = matches!(self.purpose, Purpose::Start | Purpose::StartOfField);
        self.allow(starts, syntax)?;
        self.seed(&arguments[0]).map(Node::Random)
    }

    pub(super) fn seed(&self, syntax: &Syntax) -> Result<u64, Mistake> {
        match self.typed(syntax, Type::Number)? {
            Node::Number(seed) if seed >= 0.0 && seed.fract() == 0.0 && seed < 1e15 => {
                Ok(seed as u64)
            }
            _ => Err(self.wrong(syntax, "the seed is a whole number from 0 on")),
        }
    }

    /// A number for each point and step: in [0, 1), or of the normal distribution of Box and Muller ("A note on the generation
    /// of random normal deviates", 1958).
    pub(super) fn noise(
        &self,
        name: &str,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<Node, Mistake> {
        self.count(name, arguments, 1, syntax)?;
        self.allow(self.purpose == Purpose::Next, syntax)?;
        let seed = self.seed(&arguments[0])?;
        if name == "noise" {
            return Ok(Node::Noise(Noise::uniform(seed)));
        }
        let [a, b] = Noise::of_normal(seed).map(Node::Noise);
        let call = |function, a: f64, b: Node| Node::call(function, vec![Node::Number(a), b]);
        let one = |function, a: Node| Node::call(function, vec![a]);
        // No logarithm of 0; and none above 0 that rounding may have made.
        let logarithm = one(Function::Ln, call(Function::Subtract, 1.0, a));
        let square = call(Function::Max, 0.0, call(Function::Multiply, -2.0, logarithm));
        let turn = call(Function::Multiply, 2.0 * std::f64::consts::PI, b);
        let (length, cosine) = (one(Function::Sqrt, square), one(Function::Cos, turn));
        Ok(Node::call(Function::Multiply, vec![length, cosine]))
    }

    /// Ricker's wavelet of a peak frequency, at a time from its middle on: (1 - 2a) exp(-a), a = (pi f t)^2.
    pub(super) fn ricker(&self, arguments: &[Syntax], syntax: &Syntax) -> Result<Node, Mistake> {
        self.count("ricker", arguments, 2, syntax)?;
        let [frequency, time] = [&arguments[0], &arguments[1]];
        let (frequency, time) =
            (self.typed(frequency, Type::Number)?, self.typed(time, Type::Number)?);
        let call = |function, arguments: &[&Node]| {
            Node::call(function, arguments.iter().map(|node| (*node).clone()).collect())
        };
        let pi = Node::Number(std::f64::consts::PI);
        let phase =
            call(Function::Multiply, &[&call(Function::Multiply, &[&pi, &frequency]), &time]);
        let square = call(Function::PowerOf(2), &[&phase]);
        let twice = call(Function::Multiply, &[&Node::Number(2.0), &square]);
        let height = call(Function::Subtract, &[&Node::Number(1.0), &twice]);
        let decay = call(Function::Exp, &[&call(Function::Negate, &[&square])]);
        Ok(call(Function::Multiply, &[&height, &decay]))
    }
}
