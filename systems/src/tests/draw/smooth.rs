// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems that can be differentiated: linear ones, and ones whose values change smoothly with those before them.

use super::{AXES, Draw, Order, Solid};
use crate::{Description, FieldText, Method, System, Table, TableText, Text};
use problem::Dtype;
use rand::RngExt;
use std::path::Path;

/// What a drawn expression is of values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SmoothKind {
    /// A sum of values times what does not depend on values, and something besides.
    Linear,
    /// A smooth function.
    Smooth,
}

/// The system of a seed, in f64, on a small grid; with a source that has the table `dir` of each step, and receivers.
pub fn differentiable(seed: u64, kind: SmoothKind) -> Description {
    let mut own = Draw::new(seed, 1 + (seed % 4) as i32);
    own.order = [Order::Together, Order::InTurn, Order::ByRates][(seed / 2 % 3) as usize];
    own.layered = seed.is_multiple_of(11);
    if own.layered {
        own.solid = Solid::Nowhere;
    }
    if own.solid == Solid::Images {
        own.reach = 1;
    }
    // A stencil of an expression of what is periodic and of what is not has no adjoint.
    own.periodic = (seed % 4 != 3).then(|| [(); 3].map(|()| own.one_in(3)));
    own.differentiable(kind)
}

impl Draw {
    fn differentiable(mut self, kind: SmoothKind) -> Description {
        let most = [40, 12, 6][self.dims - 1];
        let size: Vec<usize> = (0..self.dims).map(|_| 1 + self.below(most)).collect();
        let mut drawn = Description::new(&size)
            .dtype(Dtype::F64)
            .spacing(self.random.random_range(0.1..2.0))
            .time_step(self.random.random_range(0.01..0.5))
            .constant("k", self.number())
            .constant("twice", "2*k + 0.5");
        for stencil in 0..self.stencils {
            let name = format!("s{stencil}");
            drawn = match self.layered {
                true => drawn.stencil(&name, self.differences()),
                false => drawn.stencil(&name, self.stencil()),
            };
        }
        let (arguments, values) = (vec![0.0, 0.3, 0.4, 2.0], vec![0.1, -0.5, 0.7, 0.2]);
        let pulse = Table { arguments, values };
        drawn.tables.push((Text::new("a name", "pulse"), TableText::Points(pulse)));
        let dir = Table { arguments: vec![0.0], values: vec![0.0] };
        drawn.tables.push((Text::new("a name", "dir"), TableText::Points(dir)));
        for coefficient in 0..self.coefficients {
            let start = self.start();
            let (name, boundary) = (format!("c{coefficient}"), self.sides(9));
            drawn = drawn.coefficient_with(&name, start.as_str(), &boundary);
        }
        if self.order == Order::ByRates {
            let methods = [Method::Euler, Method::Rk2, Method::Ssprk3, Method::Rk4];
            drawn = drawn.method(methods[self.below(4)]);
        }
        let is_solid = self.solid != Solid::Nowhere;
        if is_solid {
            drawn = drawn.solid(self.solid().as_str());
        }
        let solves = !is_solid && self.order != Order::Together && self.one_in(3);
        if solves {
            drawn = drawn.stencil("inverted", self.inverted());
        }
        if self.one_in(3) {
            drawn = self.totals(drawn, kind);
        }
        for field in 0..self.fields {
            if self.order != Order::Together && self.one_in(2) {
                let name = format!("w{field}");
                let value = self.of_kind(kind, 3);
                let (value, boundary) = match solves && self.one_in(2) {
                    true => (self.solve(&value), self.sides_of_a_solve()),
                    false => (value, self.boundary()),
                };
                drawn = drawn.work_with(&name, value, &boundary);
                if is_solid {
                    let walls = self.walls("w", 1).replace("bounce=w0", &format!("bounce={name}"));
                    drawn = drawn.work_walls(&walls);
                }
                self.computed.push(name);
            }
            let (start, boundary) = (self.start(), self.boundary());
            let next = self.of_kind(kind, 4);
            let next = match kind {
                SmoothKind::Linear => next,
                SmoothKind::Smooth => format!("0.5*s0(u{field}) + tanh({next})"),
            };
            let name = format!("u{field}");
            let field = match self.order {
                Order::ByRates => FieldText::rate(&name, start.as_str(), format!("0.3*({next})")),
                _ => FieldText::new(&name, start.as_str(), next),
            };
            if self.order == Order::InTurn {
                self.computed.push(format!("new({name})"));
            }
            let mut field = field.boundary(&boundary);
            if is_solid {
                let others = drawn.fields.len() + 1;
                field = field.walls(&self.walls("u", others));
            }
            let keep = self.one_in(4);
            drawn = drawn.field(if keep { field.keep(&self.points()) } else { field });
        }
        for number in 0..1 + self.below(3) {
            let place = |extent: &usize| self.random.random_range(0.0..=(*extent - 1) as f64);
            let at: Vec<f64> = size.iter().map(place).collect();
            let field = format!("u{}", self.below(self.fields));
            let first = "dir(n)".to_owned();
            let add = match number {
                0 => first,
                _ if self.named > 0 => "0.3*m0 + 0.1*sin(t)".to_owned(),
                _ if self.one_in(2) => "0.2*sin(3*t) + 0.01*n".to_owned(),
                _ => format!("0.1*k*u{}", self.below(self.fields)),
            };
            let by = crate::Interpolation::Linear;
            drawn = drawn.source_between(&field, &at, by, add);
        }
        for _ in 0..self.below(4) {
            let place = |extent: &usize| self.random.random_range(0.0..=(*extent - 1) as f64);
            let at: Vec<f64> = size.iter().map(place).collect();
            let field = format!("u{}", self.below(self.fields));
            drawn = drawn.receiver_between(&field, &at, crate::Interpolation::Sinc);
        }
        if self.one_in(3) {
            let at: Vec<usize> = size.iter().map(|extent| self.below(*extent)).collect();
            let [a, b] = [(); 2].map(|()| self.below(self.fields));
            let value = match kind {
                SmoothKind::Linear => format!("sin(t)*s0(u{a}) + 0.5*u{b}"),
                SmoothKind::Smooth => format!("tanh(s0(u{a}*u{b})) + cos(t)*u{b}^2"),
            };
            drawn = drawn.receiver_of(value, &at);
        }
        if self.one_in(4) {
            let (width, strength) = (self.below(9), self.random.random_range(0.0..0.3));
            drawn = drawn.sponge(width, strength);
        }
        if self.layered {
            drawn = self.layer(drawn);
            if System::new(&drawn, Path::new("")).is_err() {
                drawn.pml = None;
            }
        }
        drawn
    }

    /// Totals that equations then read, of which one is made of another.
    fn totals(&mut self, mut drawn: Description, kind: SmoothKind) -> Description {
        let of_kind = |own: &mut Self| match kind {
            SmoothKind::Linear => own.linear(2),
            SmoothKind::Smooth => own.smooth(2),
        };
        let first = format!("mean({})", of_kind(self));
        let place = self.place_or_time();
        drawn = match self.one_in(2) {
            true => drawn.total("m0", first),
            false => {
                drawn.total_where("m0", format!("0.02*sum({}) + sin(t)", of_kind(self)), &place)
            }
        };
        self.named = 1;
        if self.one_in(2) {
            let inner = of_kind(self);
            let second = match kind {
                SmoothKind::Linear => format!("0.5*mean({inner} - m0) + 0.1*m0"),
                SmoothKind::Smooth => format!("tanh(m0)*mean(({inner} - m0)^2) - 0.1*m0"),
            };
            drawn = drawn.total("m1", second);
            self.named = 2;
        }
        drawn
    }

    fn of_kind(&mut self, kind: SmoothKind, depth: usize) -> String {
        match kind {
            SmoothKind::Linear => self.linear(depth),
            SmoothKind::Smooth => self.smooth(depth),
        }
    }

    /// What does not depend on values.
    fn factor(&mut self) -> String {
        let axis = AXES[3 - self.dims + self.below(self.dims)];
        match self.below(9) {
            0 => "k".to_owned(),
            1 => format!("cos({axis})"),
            2 => "sin(t)".to_owned(),
            3 => "pulse(t)".to_owned(),
            4 if self.coefficients > 0 => format!("c{}", self.below(self.coefficients)),
            5 if self.coefficients > 0 => {
                format!("s0(c{})", self.below(self.coefficients))
            }
            6 => format!("if(i{axis} < 2 or n == 1, 0.5, twice)"),
            7 => "cos(0.3*n)".to_owned(),
            _ => format!("{:.3}", self.number()),
        }
    }

    /// A condition that no small change of anything else meets.
    fn place_or_time(&mut self) -> String {
        let axis = AXES[3 - self.dims + self.below(self.dims)];
        match self.below(3) {
            0 => format!("cos({axis}) < 0.3"),
            1 => format!("i{axis} >= 2 and not i{axis} == 4"),
            _ => "n == 1".to_owned(),
        }
    }

    /// A value of the state, or of what the step has computed.
    fn value(&mut self) -> String {
        let field = self.below(self.fields);
        if !self.computed.is_empty() && self.one_in(3) {
            let place = self.below(self.computed.len());
            return self.computed[place].clone();
        }
        if self.named > 0 && self.one_in(6) {
            return format!("m{}", self.below(self.named));
        }
        match self.below(5) {
            0 if self.order != Order::ByRates => format!("prev(u{field})"),
            1 if self.order != Order::ByRates => format!("prev2(u{field})"),
            _ => format!("u{field}"),
        }
    }

    fn linear(&mut self, depth: usize) -> String {
        if depth == 0 || self.one_in(8) {
            return self.value();
        }
        let stencil = self.below(self.stencils);
        match self.below(12) {
            0 => format!("({} + {})", self.linear(depth - 1), self.linear(depth - 1)),
            1 => format!("({} - {})", self.linear(depth - 1), self.linear(depth - 1)),
            2 | 3 => format!("{}*({})", self.factor(), self.linear(depth - 1)),
            4 => format!("({})/(1.5 + abs({}))", self.linear(depth - 1), self.factor()),
            5 => format!("({} + {})", self.linear(depth - 1), self.factor()),
            6 => {
                let [a, b] = [self.linear(depth - 1), self.linear(depth - 1)];
                format!("if({}, {a}, {b})", self.place_or_time())
            }
            7 | 8 => format!("s{stencil}({})", self.value()),
            // Beside walls equations read one point far.
            9 if self.solid != Solid::Images => {
                format!("-s{stencil}({})", self.linear(depth.min(2) - 1))
            }
            9 => format!("-s{stencil}({}*{} + {})", self.factor(), self.value(), self.value()),
            10 => format!("max(0.2, {})*{}", self.factor(), self.linear(depth - 1)),
            _ => format!("0.5*{} + 0.5*s{stencil}({})", self.value(), self.value()),
        }
    }

    fn smooth(&mut self, depth: usize) -> String {
        if depth == 0 || self.one_in(8) {
            return if self.one_in(3) { self.factor() } else { self.value() };
        }
        let [a, b] = [self.smooth(depth - 1), self.smooth(depth - 1)];
        let stencil = self.below(self.stencils);
        match self.below(14) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 | 3 => format!("tanh({a})*tanh({b})"),
            4 => format!("({a})/(1.5 + tanh({b}))"),
            5 => format!("tanh({a})^{}", 1 + self.below(4)),
            6 => format!("(2 + sin({a}))^({b}/(1 + ({b})^2))"),
            7 => format!("exp(-({a})^2)"),
            8 => format!("ln(1 + ({a})^2)*sqrt(1 + ({b})^2)"),
            9 => format!("sin({a}) - cos({b})*atan2({a}, 1 + ({b})^2)"),
            10 => format!("if({}, {a}, {b})", self.place_or_time()),
            11 => format!("s{stencil}({})", self.value()),
            12 => format!("s{stencil}({} - 0.3*{}*{})", self.value(), self.value(), self.value()),
            _ => format!("s{stencil}(tanh({}))", self.value()),
        }
    }
}
