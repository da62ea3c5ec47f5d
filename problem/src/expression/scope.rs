// SPDX-License-Identifier: MIT OR Apache-2.0
//! What names mean, and with them the check of an expression.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;

use super::composed::COMPOSED;
use super::function::{Function, NAMED, Type};
use super::node::{Array, Node};
use super::parse::{Syntax, SyntaxKind, parse};
use super::reduction::{self, Reduction};
use crate::error::Mistake;
use crate::noise::Noise;
use crate::similar_names::near;
use crate::text::Text;

mod solve;

/// What an expression is for, and with that what may stand in it: each allows at least what one before it does,
/// but for what its words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Purpose {
    /// A number that is known before anything else is: numbers and constants.
    Constant,
    /// A number for each step: also the time, tables and totals.
    EachStep,
    /// A total: a number for each step, also made of sums over the grid and the like.
    Total,
    /// Values that a coefficient has: of each point, at a time.
    Start,
    /// Values that a field starts with: also made of coefficients, and by stencils.
    StartOfField,
    /// Which points something is for: of each point, also coefficients; they never change.
    Points,
    /// What is recorded after a step: of present values.
    Recorded,
    /// A field's next values: anything but random numbers that do not change.
    Next,
    /// What a total sums, or seeks the largest or smallest value of: what a step has left, what it began with, and other totals of
    /// that.
    Reduced,
}

/// A place of which coordinates are.
#[derive(Clone, Copy, Debug)]
pub struct CoordinateScope {
    /// Along z, y, x in points.
    pub points: [f64; 3],
    /// Distance of points along z, y, x.
    pub spacing: [f64; 3],
}

/// Steps back that a field may be read.
pub const MOST_LEVELS: usize = 2;
/// Parts of an expression with all terms written out.
const MOST_PARTS: usize = 10_000;
/// Levels of it, one inside of the other.
const MOST_DEPTH: usize = 400;

/// What names mean.
#[derive(Debug, Default)]
pub struct Scope {
    /// Axes of the grid.
    pub dims: usize,
    /// Its points.
    pub points: f64,
    /// Numbers, by name.
    pub constants: BTreeMap<String, f64>,
    /// Expressions that are written out where their names stand.
    pub terms: BTreeMap<String, Text>,
    /// Fields, in their order.
    pub fields: Vec<String>,
    /// Coefficients, in their order.
    pub coefficients: Vec<String>,
    /// Work fields, in their order.
    pub works: Vec<String>,
    /// Stencils, in their order.
    pub stencils: Vec<String>,
    /// Tables, in their order.
    pub tables: Vec<String>,
    /// Totals, each after those that it is made of.
    pub totals: Vec<(String, Node)>,
    /// Whether `dt` follows from the values, so that it is no constant.
    pub varies_steps: bool,
}

/// What other languages call things, and what is written here.
const FOREIGN: [(&str, &str); 14] = [
    ("log10", "write ln(a)/ln(10)"),
    ("pow", "a power is written a^b"),
    ("power", "a power is written a^b"),
    ("fmod", "what is left after whole numbers of b is mod(a, b)"),
    ("where", "write if(condition, value where it holds, value elsewhere)"),
    ("select", "write if(condition, value where it holds, value elsewhere)"),
    ("laplacian", "name it under [stencils]: laplace = { derivative = \"laplace\", order = 2 }"),
    ("lap", "name it under [stencils]: lap = { derivative = \"laplace\", order = 2 }"),
    ("dx", "name it under [stencils]: dx = { derivative = \"x\", order = 2 }"),
    ("dy", "name it under [stencils]: dy = { derivative = \"y\", order = 2 }"),
    ("dz", "name it under [stencils]: dz = { derivative = \"z\", order = 2 }"),
    (
        "sum",
        "a sum over the grid is a total: [totals] NAME = \"sum(u)\"; an equation may hold NAME",
    ),
    (
        "mean",
        "a mean over the grid is a total: [totals] NAME = \"mean(u)\"; an equation may hold NAME",
    ),
    ("norm", "a norm is a total: [totals] NAME = \"norm(u)\"; an equation may hold NAME"),
];

/// The words of the language that no system may call anything.
const WORDS: [&str; 6] = ["and", "or", "not", "prev", "prev2", "random"];
/// Values that every system has, unless it calls something else so.
const VALUES: [&str; 9] = ["x", "y", "z", "t", "n", "pi", "ix", "iy", "iz"];
/// Functions besides those of numbers, unless the system calls something so.
const OTHERS: [&str; 4] = ["new", "noise", "normal", "solve"];

/// Whether a name means one thing in every system, so that nothing else may have it.
#[must_use]
pub fn is_taken(name: &str) -> bool {
    name == "ricker" || WORDS.contains(&name) || NAMED.iter().any(|(known, _)| *known == name)
}

/// Whether every system has a value of this name, unless it calls something else so.
#[must_use]
pub fn is_value(name: &str) -> bool {
    VALUES.contains(&name)
}

/// Whether a name can be written in an expression.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first == '_' || first.is_ascii_alphabetic())
        && letters.all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}

/// The names in an expression, terms written out.
///
/// # Errors
/// It is no expression.
pub fn names_in(text: &Text, terms: &BTreeMap<String, Text>) -> Result<Vec<String>, Mistake> {
    let mut names = Vec::new();
    let mut texts = vec![text.clone()];
    while let Some(text) = texts.pop() {
        let mut parts = vec![parse(&text)?];
        while let Some(part) = parts.pop() {
            let name = match part.kind {
                SyntaxKind::Number(_) => continue,
                SyntaxKind::Name(name) => name,
                SyntaxKind::Call(_, inner) | SyntaxKind::Operator(_, inner) => {
                    parts.extend(inner);
                    continue;
                }
            };
            if !names.contains(&name) {
                texts.extend(terms.get(&name).cloned());
                names.push(name);
            }
        }
    }
    Ok(names)
}

impl Scope {
    /// A number of an expression.
    ///
    /// # Errors
    /// It is no expression for this purpose.
    pub fn number(&self, text: &Text, purpose: Purpose) -> Result<Node, Mistake> {
        self.check(text, purpose, Type::Number)
    }

    /// A number of an expression of which coordinates and indices are those of one place.
    ///
    /// # Errors
    /// It is no expression for this purpose.
    pub fn number_at(
        &self,
        text: &Text,
        purpose: Purpose,
        at: CoordinateScope,
    ) -> Result<Node, Mistake> {
        let syntax = parse(text)?;
        self.begin(text, purpose, |check| {
            Check { place: Some(at), ..*check }.typed(&syntax, Type::Number)
        })
    }

    /// Whether an expression means something, of whichever type, in an equation or as a start.
    ///
    /// # Errors
    /// What is wrong with it in both places.
    pub fn anything(&self, text: &Text) -> Result<(), Mistake> {
        let syntax = parse(text)?;
        let of = |purpose| self.begin(text, purpose, |check| check.node(&syntax).map(|_| ()));
        let Err(in_an_equation) = of(Purpose::Next) else { return Ok(()) };
        let Err(as_a_start) = of(Purpose::StartOfField) else { return Ok(()) };
        // Random numbers stand in starts only: then what else is wrong there counts.
        let of_places = in_an_equation.what.contains("cannot stand in");
        Err(if of_places { as_a_start } else { in_an_equation })
    }

    /// A condition of an expression.
    ///
    /// # Errors
    /// It is no expression for this purpose.
    pub fn condition(&self, text: &Text, purpose: Purpose) -> Result<Node, Mistake> {
        self.check(text, purpose, Type::Condition)
    }

    /// A total, whose sums and the like are added to those of others; of the points where a condition holds, if there is one.
    ///
    /// # Errors
    /// It is no expression of a total.
    pub fn total(
        &self,
        text: &Text,
        region: Option<&Node>,
        reductions: &mut Vec<Reduction>,
    ) -> Result<Node, Mistake> {
        let syntax = parse(text)?;
        let found = RefCell::new(std::mem::take(reductions));
        let wanted = Some(Reductions { region, found: &found });
        let node = self
            .reducing(text, (Purpose::Total, wanted), |check| check.typed(&syntax, Type::Number));
        *reductions = found.into_inner();
        node
    }

    /// Whether the system has something of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let Self { fields, coefficients, works, stencils, tables, .. } = self;
        let lists = [fields, coefficients, works, stencils, tables];
        lists.into_iter().flatten().any(|known| known == name)
            || self.totals.iter().any(|(known, _)| known == name)
            || self.constants.contains_key(name)
            || self.terms.contains_key(name)
    }

    /// Whether an expression, terms written out, holds a sum over the grid or the like.
    ///
    /// # Errors
    /// It is no expression.
    pub fn has_reduction(&self, text: &Text) -> Result<bool, Mistake> {
        let mut parts = vec![parse(text)?];
        // Terms that are made of themselves are found elsewhere.
        let mut left = MOST_PARTS;
        while let Some(part) = parts.pop() {
            match part.kind {
                SyntaxKind::Call(name, inner) => {
                    let is_one = reduction::ReductionKind::named(&name, inner.len()).is_some();
                    if is_one && !self.has(&name) {
                        return Ok(true);
                    }
                    parts.extend(inner);
                }
                SyntaxKind::Operator(_, inner) => parts.extend(inner),
                SyntaxKind::Name(name) if left > 0 => {
                    left -= 1;
                    parts.extend(self.terms.get(&name).map(parse).transpose()?);
                }
                _ => (),
            }
        }
        Ok(false)
    }

    fn check(&self, text: &Text, purpose: Purpose, wanted: Type) -> Result<Node, Mistake> {
        let syntax = parse(text)?;
        self.begin(text, purpose, |check| check.typed(&syntax, wanted))
    }

    fn begin<T>(&self, text: &Text, purpose: Purpose, check: impl FnOnce(&Check) -> T) -> T {
        self.reducing(text, (purpose, None), check)
    }

    fn reducing<T>(
        &self,
        text: &Text,
        (purpose, reductions): (Purpose, Option<Reductions>),
        check: impl FnOnce(&Check) -> T,
    ) -> T {
        let open = RefCell::default();
        check(&Check {
            scope: self,
            purpose,
            reductions,
            place: None,
            text,
            open: &open,
            parts: &Cell::default(),
            depth: &Cell::default(),
        })
    }
}

/// The sums and the like of totals.
#[derive(Clone, Copy)]
struct Reductions<'a> {
    /// Where the points are that count, if not everywhere.
    region: Option<&'a Node>,
    found: &'a RefCell<Vec<Reduction>>,
}

/// A check of one text.
struct Check<'a> {
    scope: &'a Scope,
    purpose: Purpose,
    /// Of a total, what it is made of.
    reductions: Option<Reductions<'a>>,
    /// The only place that it is of, if it is.
    place: Option<CoordinateScope>,
    text: &'a Text,
    /// The terms that are being written out.
    open: &'a RefCell<Vec<String>>,
    parts: &'a Cell<usize>,
    depth: &'a Cell<usize>,
}

impl Check<'_> {
    fn typed(&self, syntax: &Syntax, wanted: Type) -> Result<Node, Mistake> {
        let (node, found) = self.node(syntax)?;
        if found == wanted {
            return Ok(node);
        }
        Err(match wanted {
            Type::Number => self
                .wrong(syntax, "a number is expected here, this is a condition")
                .hint("if(condition, 1, 0) makes a number of a condition"),
            Type::Condition => self
                .wrong(syntax, "a condition is expected here, this is a number")
                .hint("compare it with something, as in x > 0.5"),
        })
    }

    fn node(&self, syntax: &Syntax) -> Result<(Node, Type), Mistake> {
        self.parts.set(self.parts.get() + 1);
        if self.parts.get() > MOST_PARTS {
            let what =
                format!("with its terms written out the expression has over {MOST_PARTS} parts");
            return Err(self.wrong(syntax, what));
        }
        if self.depth.get() == MOST_DEPTH {
            return Err(
                self.wrong(syntax, "with its terms written out the expression is nested too deep")
            );
        }
        self.depth.set(self.depth.get() + 1);
        let node = match &syntax.kind {
            SyntaxKind::Number(number) => Ok((Node::Number(*number), Type::Number)),
            SyntaxKind::Name(name) => self.name(name, syntax),
            SyntaxKind::Call(name, arguments) => self.call(name, arguments, syntax),
            SyntaxKind::Operator(function, operands) => self.function(*function, operands, syntax),
        };
        self.depth.set(self.depth.get() - 1);
        node
    }

    fn function(
        &self,
        function: Function,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<(Node, Type), Mistake> {
        let each = arguments.iter().zip(function.takes());
        let arguments: Vec<Node> =
            each.map(|(syntax, wanted)| self.typed(syntax, *wanted)).collect::<Result<_, _>>()?;
        match Node::call(function, arguments) {
            Node::Number(number) if !number.is_finite() => {
                Err(self.wrong(syntax, format!("this is always {number}")))
            }
            node => Ok((node, function.gives())),
        }
    }

    fn name(&self, name: &str, syntax: &Syntax) -> Result<(Node, Type), Mistake> {
        let scope = self.scope;
        let is = |names: &[String]| names.iter().position(|known| known == name);
        let axis = |letter: &str| ["z", "y", "x"].iter().position(|axis| *axis == letter);
        let axis = |letter: &str| axis(letter).filter(|axis| *axis >= 3 - scope.dims);
        let node = if let Some(number) = scope.constants.get(name) {
            Node::Number(*number)
        } else if let Some(term) = scope.terms.get(name) {
            return self.term(name, term, syntax);
        } else if let Some(field) = is(&scope.fields) {
            self.allow(self.purpose >= Purpose::Recorded, syntax)?;
            Node::Read(Array::Field { field, level: 0 })
        } else if let Some(coefficient) = is(&scope.coefficients) {
            self.allow(self.purpose >= Purpose::StartOfField, syntax)?;
            Node::Read(Array::Coefficient(coefficient))
        } else if let Some(work) = is(&scope.works) {
            self.allow(matches!(self.purpose, Purpose::Next | Purpose::Recorded), syntax)?;
            Node::Read(Array::Work(work))
        } else if let Some((_, total)) = scope.totals.iter().find(|(known, _)| known == name) {
            use Purpose::{EachStep, Next, Reduced, Total};
            self.allow(matches!(self.purpose, EachStep | Total | Next | Reduced), syntax)?;
            total.clone()
        } else if name == "pi" {
            Node::Number(std::f64::consts::PI)
        } else if name == "t" {
            self.allow(
                self.purpose >= Purpose::EachStep && self.purpose != Purpose::Points,
                syntax,
            )?;
            Node::Time
        } else if name == "n" || name == "dt" && scope.varies_steps {
            use Purpose::{EachStep, Next, Recorded, Reduced, Total};
            let steps = matches!(self.purpose, EachStep | Total | Recorded | Next | Reduced);
            self.allow(steps, syntax)?;
            if name == "n" { Node::Step } else { Node::StepLength }
        } else if let Some(axis) = axis(name) {
            self.allow(self.purpose >= Purpose::Start, syntax)?;
            let of =
                |place: CoordinateScope| Node::Number(place.points[axis] * place.spacing[axis]);
            self.place.map_or(Node::Coordinate(axis), of)
        } else if let Some(axis) = name.strip_prefix('i').and_then(axis) {
            self.allow(self.purpose >= Purpose::Start, syntax)?;
            let of = |place: CoordinateScope| Node::Number(place.points[axis]);
            self.place.map_or(Node::Index(axis), of)
        } else {
            return Err(self.unknown(name, syntax));
        };
        Ok((node, Type::Number))
    }

    /// A term, written out.
    fn term(&self, name: &str, text: &Text, syntax: &Syntax) -> Result<(Node, Type), Mistake> {
        if self.open.borrow().iter().any(|open| open == name) {
            return Err(self.wrong(syntax, format!("the term '{name}' depends on itself")));
        }
        self.open.borrow_mut().push(name.to_owned());
        let syntax = parse(text)?;
        let result = Check { text, ..*self }.node(&syntax);
        self.open.borrow_mut().pop();
        result
    }

    fn call(
        &self,
        name: &str,
        arguments: &[Syntax],
        syntax: &Syntax,
    ) -> Result<(Node, Type), Mistake> {
        let is = |names: &[String]| names.iter().position(|known| known == name);
        let named = NAMED.iter().find(|(known, _)| *known == name);
        if let Some(node) = self.reduction(name, arguments, syntax)? {
            return Ok((node, Type::Number));
        }
        if let Some((_, function)) = named {
            if let (Function::Min | Function::Max, [_, _, _, ..]) = (function, arguments) {
                return self.of_many(*function, arguments);
            }
            self.count(name, arguments, function.takes().len(), syntax)?;
            return self.function(*function, arguments, syntax);
        }
        let node = if let Some(stencil) = is(&self.scope.stencils) {
            self.count(name, arguments, 1, syntax)?;
            use Purpose::{Next, Recorded, Reduced, StartOfField};
            let takes = [Next, Recorded, Reduced, StartOfField];
            self.allow(takes.contains(&self.purpose), syntax)?;
            let argument = self.typed(&arguments[0], Type::Number)?;
            let mut hint = None;
            argument.visit(&mut |part| match part {
                Node::Random(_) => {
                    hint = Some("give them to a coefficient, which has a boundary");
                }
                Node::Noise(_) => {
                    hint = Some("give them to a work field, which has a boundary");
                }
                _ => (),
            });
            if let Some(hint) = hint {
                let what = "a stencil reads beyond the grid, where there are no random numbers";
                return Err(self.wrong(&arguments[0], what).hint(hint));
            }
            Node::Stencil(stencil, Box::new(argument))
        } else if let Some(table) = is(&self.scope.tables) {
            self.allow(self.purpose != Purpose::Constant, syntax)?;
            self.count(name, arguments, 1, syntax)?;
            let argument = self.typed(&arguments[0], Type::Number)?;
            if !argument.is_uniform() {
                let what =
                    format!("'{name}' is a table: its argument is one number for all points");
                return Err(self.wrong(&arguments[0], what).hint("it may hold t, n and constants"));
            }
            Node::Table(table, Box::new(argument))
        } else {
            match name {
                "prev" => self.earlier(name, 1, arguments, syntax)?,
                "prev2" => self.earlier(name, MOST_LEVELS, arguments, syntax)?,
                "new" => self.after_the_step(arguments, syntax)?,
                "random" => self.random(arguments, syntax)?,
                "noise" | "normal" if !self.scope.has(name) => {
                    self.noise(name, arguments, syntax)?
                }
                "ricker" => self.ricker(arguments, syntax)?,
                "solve" if !self.scope.has(name) => return Err(self.no_solve(syntax)),
                _ => self.composed(name, arguments, syntax)?,
            }
        };
        Ok((node, Type::Number))
    }

    /// A sum over the grid, or the like, if this is one of a total.
    fn reduction(
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
    fn of_many(&self, function: Function, arguments: &[Syntax]) -> Result<(Node, Type), Mistake> {
        let numbers = arguments.iter().map(|it| self.typed(it, Type::Number));
        let numbers: Vec<Node> = numbers.collect::<Result<_, _>>()?;
        let all = numbers.into_iter().reduce(|a, b| Node::call(function, vec![a, b]));
        Ok((all.expect("a call has arguments"), Type::Number))
    }

    /// A function that is made of others. Names of the system go before it.
    fn composed(&self, name: &str, arguments: &[Syntax], syntax: &Syntax) -> Result<Node, Mistake> {
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
    fn earlier(
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
    fn after_the_step(&self, arguments: &[Syntax], syntax: &Syntax) -> Result<Node, Mistake> {
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

    fn random(&self, arguments: &[Syntax], syntax: &Syntax) -> Result<Node, Mistake> {
        self.count("random", arguments, 1, syntax)?;
        let starts = matches!(self.purpose, Purpose::Start | Purpose::StartOfField);
        self.allow(starts, syntax)?;
        self.seed(&arguments[0]).map(Node::Random)
    }

    fn seed(&self, syntax: &Syntax) -> Result<u64, Mistake> {
        match self.typed(syntax, Type::Number)? {
            Node::Number(seed) if seed >= 0.0 && seed.fract() == 0.0 && seed < 1e15 => {
                Ok(seed as u64)
            }
            _ => Err(self.wrong(syntax, "the seed is a whole number from 0 on")),
        }
    }

    /// A number for each point and step: in [0, 1), or of the normal distribution of Box and Muller ("A note on the generation
    /// of random normal deviates", 1958).
    fn noise(&self, name: &str, arguments: &[Syntax], syntax: &Syntax) -> Result<Node, Mistake> {
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
    fn ricker(&self, arguments: &[Syntax], syntax: &Syntax) -> Result<Node, Mistake> {
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

    fn count(
        &self,
        name: &str,
        arguments: &[Syntax],
        wanted: usize,
        syntax: &Syntax,
    ) -> Result<(), Mistake> {
        let found = arguments.len();
        if found == wanted {
            return Ok(());
        }
        let plural = if wanted == 1 { "argument" } else { "arguments" };
        let wrong = self.wrong(syntax, format!("'{name}' takes {wanted} {plural}, not {found}"));
        Err(match name {
            "if" => wrong.hint("if(condition, value where it holds, value elsewhere)"),
            "ricker" => wrong.hint("ricker(peak frequency, time from its middle on)"),
            "min" | "max" if found == 1 => wrong.hint(format!(
                "the {name} of the grid is a total: [totals] NAME = \"{name}(u)\"; an equation may hold NAME"
            )),
            _ => wrong,
        })
    }

    /// Refuses what is not for this purpose.
    fn allow(&self, allowed: bool, syntax: &Syntax) -> Result<(), Mistake> {
        if allowed {
            return Ok(());
        }
        let what = &self.text.whole()[syntax.at.clone()];
        let (place, may_hold) = match self.purpose {
            Purpose::Constant => ("a constant", "numbers and other constants"),
            Purpose::EachStep => {
                ("what is one number for each step", "t, n, constants, tables and totals")
            }
            Purpose::Total => (
                "a total outside of a sum over the grid",
                "sum(...), mean(...), norm(...), min(...), max(...) of fields, other totals, t, n and constants",
            ),
            Purpose::Reduced => (
                "what is summed over the grid",
                "fields, prev(field), coefficients, stencils, coordinates, t, n and constants",
            ),
            Purpose::Start => {
                ("a value of a coefficient", "coordinates, t, constants and random(seed)")
            }
            Purpose::StartOfField => (
                "a value to start with",
                "coordinates, t, constants, coefficients, stencils and random(seed)",
            ),
            Purpose::Points => ("a condition on points", "coordinates, constants and coefficients"),
            Purpose::Recorded => (
                "what a receiver records",
                "fields, work fields, coefficients, stencils, coordinates, t, n, constants and tables",
            ),
            Purpose::Next => (
                "an equation",
                "all but random(seed); noise(seed) is a new random number in each step",
            ),
        };
        let wrong = self.wrong(syntax, format!("'{what}' cannot stand in {place}"));
        Err(wrong.hint(format!("it may hold {may_hold}")))
    }

    fn unknown(&self, name: &str, syntax: &Syntax) -> Mistake {
        let scope = self.scope;
        let Scope { fields, coefficients, works, stencils, tables, .. } = scope;
        let lists = [fields, coefficients, works, stencils, tables];
        let named = lists.into_iter().flatten().map(String::as_str);
        let keyed = scope.constants.keys().chain(scope.terms.keys()).map(String::as_str);
        let keyed = keyed.chain(scope.totals.iter().map(|(name, _)| name.as_str()));
        let named_functions = NAMED.iter().map(|(known, _)| *known);
        let functions = named_functions.chain(COMPOSED.iter().map(|it| it.name));
        let words = WORDS.into_iter().chain(VALUES).chain(OTHERS);
        let own = words.chain(functions).chain(["ricker"]);
        let known = || named.clone().chain(keyed.clone()).chain(own.clone());
        let wrong =
            |what: String| self.mistake(syntax.at.start..syntax.at.start + name.len(), what);
        if ["x", "y", "z", "ix", "iy", "iz"].contains(&name) {
            return wrong(format!("there is no {name} on a grid of {} axes", scope.dims));
        }
        if known().any(|known| known == name) {
            return match syntax.kind {
                SyntaxKind::Call(..) => wrong(format!("'{name}' is no function"))
                    .hint(format!("a product needs its sign: {name}*(...)")),
                _ => wrong(format!("'{name}' is a function; its argument is missing"))
                    .hint(format!("as in {name}(u)")),
            };
        }
        let wrong = wrong(format!("there is no '{name}'"));
        if let Some((_, meant)) = FOREIGN.iter().find(|(foreign, _)| *foreign == name) {
            // The system may have the stencil under a name that looks alike.
            let stencils = scope.stencils.iter().map(|known| (known.as_str(), known.as_str()));
            return match near(name, stencils) {
                near if near.is_empty() => wrong.hint(*meant),
                near => wrong.hint(format!("did you mean {}?", near.join(", "))),
            };
        }
        match near(name, known().map(|known| (known, known))) {
            near if near.is_empty() => wrong,
            near => wrong.hint(format!("did you mean {}?", near.join(", "))),
        }
    }

    fn wrong(&self, syntax: &Syntax, what: impl Into<String>) -> Mistake {
        self.mistake(syntax.at.clone(), what)
    }

    fn mistake(&self, at: Range<usize>, what: impl Into<String>) -> Mistake {
        self.text.mistake(at, what)
    }
}
