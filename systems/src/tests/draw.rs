// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems, as descriptions with texts.

use crate::{Description, FieldText, Method, StencilText, System, Table, TableText, Text};
use problem::Dtype;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use transform::finite_difference::{central, staggered};
use transform::{Stencil, Tap};

pub mod smooth;

const AXES: [&str; 3] = ["z", "y", "x"];

/// What a random system is drawn from.
pub struct Draw {
    random: ChaCha8Rng,
    dims: usize,
    fields: usize,
    coefficients: usize,
    stencils: usize,
    /// Whether the term is there already.
    shared: bool,
    /// How far a stencil reads, at most.
    reach: i32,
    /// How a step computes.
    order: Order,
    /// Whether stencils take derivatives along axes, which a layer stretches.
    layered: bool,
    /// What the step has computed before what is drawn now.
    computed: Vec<String>,
    /// How many totals equations read.
    named: usize,
    /// Whether work fields may be solved for.
    solves: bool,
    /// What solid points have.
    solid: Solid,
    /// Along which axes all arrays are periodic, and no others; else each as it happens.
    periodic: Option<[bool; 3]>,
}

/// What solid points of a drawn system have.
#[derive(Clone, Copy, PartialEq)]
enum Solid {
    /// There are none.
    Nowhere,
    /// Values, so that stencils may be of any reach.
    Values,
    /// Anything, so that equations read one point far at most.
    Images,
}

/// How a step of a drawn system computes.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// All equations from the values before it.
    Together,
    /// Some after others, with work fields.
    InTurn,
    /// From rates of change, with work fields.
    ByRates,
}

/// The system of a seed: all that there is may be in it, and none of its values leaves -2 to 2.
pub fn system(seed: u64) -> Description {
    draw(seed, 4)
}

/// It without solid points.
pub fn without_solid(mut drawn: Description) -> Description {
    drawn.solid = None;
    drawn.fields.iter_mut().for_each(|field| field.walls = None);
    drawn.works.iter_mut().for_each(|work| work.walls = None);
    drawn
}

/// Another one, whose stencils read at most one point far.
pub fn near(seed: u64) -> Description {
    draw(seed, 1)
}

/// One whose equations read new values and work fields, by stencils that read so far at most.
fn in_turn(seed: u64, reach: i32) -> Description {
    Draw { order: Order::InTurn, ..Draw::new(seed, reach) }.system()
}

/// One whose fields have rates, which some method integrates, by stencils that read so far at most.
fn by_rates(seed: u64, reach: i32) -> Description {
    Draw { order: Order::ByRates, ..Draw::new(seed, reach) }.system()
}

/// One whose step has stages, if by chance it has: every third one by rates, every fourth one with a layer.
pub fn in_stages(seed: u64, reach: i32) -> Description {
    match (seed.is_multiple_of(3), seed % 4 == 1) {
        (is_by_rates, true) => layered(seed, reach, is_by_rates),
        (true, false) => by_rates(seed, reach),
        (false, false) => in_turn(seed, reach),
    }
}

/// One with a perfectly matched layer, if there is room for it and an equation has a derivative.
pub fn layered(seed: u64, reach: i32, is_by_rates: bool) -> Description {
    let order = if is_by_rates { Order::ByRates } else { Order::InTurn };
    let mut drawn =
        Draw { order, layered: true, solid: Solid::Nowhere, ..Draw::new(seed, reach) }.system();
    if let Err(error) = System::new(&drawn, Path::new("")) {
        let told = error.to_string();
        let none = ["this layer has nothing to absorb", "periodic along all axes"];
        assert!(none.iter().any(|why| told.contains(why)), "seed {seed}: {told}: {drawn:#?}");
        drawn.pml = None;
    }
    drawn
}

/// One whose step has stages, some of which solve, if by chance some do; `even` rows can be transformed by a GPU.
pub fn with_solves(seed: u64, reach: i32, even: bool) -> Description {
    let order = if seed.is_multiple_of(3) { Order::ByRates } else { Order::InTurn };
    let mut drawn =
        Draw { order, solves: true, solid: Solid::Nowhere, ..Draw::new(seed, reach) }.system();
    if even {
        let sizes = [4, 6, 8, 10, 12];
        let size = drawn.size.iter_mut().enumerate();
        size.for_each(|(axis, extent)| *extent = sizes[(*extent + axis) % 5]);
        drawn.sources.clear();
    }
    drawn
}

/// One on a grid of so many axes, whose stencils read so far.
pub fn of_axes(dims: usize, seed: u64, reach: i32) -> Description {
    Draw { dims, ..Draw::new(seed, reach) }.system()
}

/// One on a grid of so many axes, whose step has stages, if by chance it has.
pub fn of_axes_in_stages(dims: usize, seed: u64, reach: i32) -> Description {
    let order = if seed.is_multiple_of(2) { Order::InTurn } else { Order::ByRates };
    Draw { dims, order, ..Draw::new(seed, reach) }.system()
}

/// One on a grid of one or two axes, whose step has stages, if by chance it has, and along each of whose axes all arrays are
/// periodic, or none is; every fifth one with a layer.
pub fn alike_in_stages(seed: u64, reach: i32) -> Description {
    let mut apart = ChaCha8Rng::seed_from_u64(seed.wrapping_add(1 << 41));
    let is_layered = seed % 5 == 1;
    let order = if apart.random_range(0..2) == 0 { Order::InTurn } else { Order::ByRates };
    let periodic = Some([(); 3].map(|()| apart.random_range(0..3) == 0));
    let dims = apart.random_range(1..=3);
    let own = Draw { dims, order, periodic, layered: is_layered, ..Draw::new(seed, reach) };
    let solid = if is_layered { Solid::Nowhere } else { own.solid };
    let mut drawn = Draw { solid, ..own }.system();
    if System::new(&drawn, Path::new("")).is_err() {
        drawn.pml = None;
    }
    drawn
}

/// One of a field that is a sum of its own values, with any sides, of a type that may not hold the weights.
pub fn sum(seed: u64) -> Description {
    let drawn = Draw { fields: 1, coefficients: 0, ..Draw::new(seed, 3) };
    drawn.of_a_sum()
}

/// One of many fields, of each of which one or two values are read, on small grids: of lattice Boltzmann's kind.
pub fn many(seed: u64) -> Description {
    Draw::new(seed, 2).of_many()
}

fn draw(seed: u64, reach: i32) -> Description {
    Draw::new(seed, reach).system()
}

/// The number of an axis.
fn axis_of(name: &str) -> usize {
    AXES.iter().position(|axis| *axis == name).expect("an axis")
}

impl Draw {
    fn new(seed: u64, reach: i32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let [dims, fields, stencils] = [(); 3].map(|()| random.random_range(1..=3));
        let coefficients = random.random_range(0..=2);
        // Drawn apart, so that systems without them are those that they would be.
        let mut apart = ChaCha8Rng::seed_from_u64(seed.wrapping_add(1 << 40));
        let solid = match apart.random_range(0..8) {
            0 => Solid::Values,
            1 | 2 => Solid::Images,
            _ => Solid::Nowhere,
        };
        Self {
            random,
            dims,
            fields,
            coefficients,
            stencils,
            shared: false,
            reach,
            order: Order::Together,
            layered: false,
            computed: Vec::new(),
            named: 0,
            solves: false,
            solid,
            periodic: None,
        }
    }

    /// Which points are solid: never the first one.
    fn solid(&mut self) -> String {
        let axis = AXES[3 - self.dims + self.below(self.dims)];
        match self.below(4) {
            0 => format!("random({}) < 0.3 and i{axis} > 0", self.random.next_u32()),
            1 => format!("mod(i{axis} + 2*ix, 5) == 2"),
            2 => format!("mod(ix, 3) == 1 and not i{axis} == 4"),
            _ => format!("{axis} > 0.7 and i{axis} < 5"),
        }
    }

    /// What one of so many others, or itself, has at solid points.
    fn walls(&mut self, own: &str, others: usize) -> String {
        let kinds = if self.solid == Solid::Values { 3 } else { 8 };
        match self.below(kinds) {
            0 => "value=0.25".to_owned(),
            1 => "value=0.5*sin(3*t) - 0.01*n".to_owned(),
            2 => format!("value=k/4 + 0.1*tanh({})", AXES[3 - self.dims + self.below(self.dims)]),
            3 | 4 => "no-flux".to_owned(),
            5 => "odd".to_owned(),
            _ => format!("bounce={own}{}", self.below(others)),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn number(&mut self) -> f64 {
        // Some of them exact in every type.
        let number = self.random.random_range(-2.0f64..2.0);
        if self.one_in(3) { (number * 4.0).round() / 4.0 } else { number }
    }

    fn system(mut self) -> Description {
        if self.solid == Solid::Images {
            self.reach = 1;
        }
        let most = [5000, 45, 12][self.dims - 1];
        let size: Vec<usize> = (0..self.dims).map(|_| 1 + self.below(most)).collect();
        let types = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];
        let mut drawn = Description::new(&size)
            .dtype(types[self.below(4)])
            .spacing(self.random.random_range(0.1..2.0))
            .time_step(self.random.random_range(0.01..1.0))
            .constant("k", self.number());
        for stencil in 0..self.stencils {
            let name = format!("s{stencil}");
            let is_average = self.layered && stencil > 0 && self.one_in(5);
            drawn = match self.layered {
                true if is_average => drawn.average(&name, "x+", 2),
                true => drawn.stencil(&name, self.differences()),
                false => drawn.stencil(&name, self.stencil()),
            };
        }
        if self.solves {
            let own = self.inverted();
            drawn = drawn.stencil("inverted", own);
        }
        if self.solid != Solid::Nowhere {
            drawn = drawn.solid(self.solid().as_str());
        }
        let (arguments, values) = (vec![0.0, 0.3, 0.4, 2.0], vec![0.1, -0.5, 0.7, 0.2]);
        drawn
            .tables
            .push((Text::new("a name", "pulse"), TableText::Points(Table { arguments, values })));
        for coefficient in 0..self.coefficients {
            let start = self.start();
            let (name, boundary) = (format!("c{coefficient}"), self.sides(9));
            drawn = drawn.coefficient_with(&name, start.as_str(), &boundary);
        }
        drawn = drawn.term("shared", self.expression(2));
        self.shared = true;
        if self.order == Order::ByRates {
            let methods = [Method::Euler, Method::Rk2, Method::Ssprk3, Method::Rk4];
            drawn = drawn.method(methods[self.below(4)]);
        }
        for field in 0..self.fields {
            if self.order != Order::Together && self.one_in(2) {
                let name = format!("w{field}");
                let value = format!("max(-1, min({}, 1))", self.expression(3));
                let (value, boundary) = match self.solves && self.one_in(2) {
                    true => (self.solve(&value), self.sides_of_a_solve()),
                    false => (value, self.boundary()),
                };
                drawn = drawn.work_with(&name, value, &boundary);
                if self.solid != Solid::Nowhere {
                    let kind = self.walls("w", 1);
                    let own = kind.replace("bounce=w0", &format!("bounce={name}"));
                    drawn = drawn.work_walls(&own);
                }
                self.computed.push(name);
            }
            let (start, boundary) = (self.start(), self.boundary());
            let next = self.expression(4);
            let next = match self.below(3) {
                0 => format!("tanh({next})"),
                1 => format!("0.5*s0(u{field}) + 0.3*tanh({next})"),
                _ => format!("max(-1, min({next}, 1))"),
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
            if self.solid != Solid::Nowhere {
                let others = drawn.fields.len() + 1;
                field = field.walls(&self.walls("u", others));
            }
            let keep = self.one_in(3);
            drawn = drawn.field(if keep { field.keep(&self.points()) } else { field });
        }
        for _ in 0..self.below(3) {
            let at: Vec<usize> = size.iter().map(|extent| self.below(*extent)).collect();
            let field = format!("u{}", self.below(self.fields));
            let add = [
                "0.1*ricker(2, t - 0.3)",
                "0.2*sin(3*t) + 0.01*n",
                "0.1*pulse(t - x/8) - k/16",
                "0.1*sin(u0 + prev(u0))*noise(4) - 0.01*ix",
            ];
            let last = if self.order == Order::ByRates { 3 } else { 4 };
            let add = add[self.below(last)];
            drawn = drawn.source(&field, &at, add);
        }
        if self.one_in(4) {
            let (width, strength) = (self.below(9), self.random.random_range(0.0..0.3));
            drawn = drawn.sponge(width, strength);
        }
        if self.layered {
            drawn = self.layer(drawn);
        }
        debug_assert!(drawn.stencils.iter().all(|(_, it)| {
            matches!(it, StencilText::Weights(_) | StencilText::Average { order: 2, .. })
        }));
        drawn
    }

    /// With a layer, if there is room for it; a memory fades by at most 1.9 in a step.
    fn layer(&mut self, drawn: Description) -> Description {
        let least = drawn.size.iter().min().copied().unwrap_or_default();
        if least < 3 {
            return drawn;
        }
        let width = 1 + self.below((least - 1) / 2);
        let speed = format!("{}*{width}*h/dt", self.random.random_range(0.02..0.23));
        let mut drawn = drawn.pml(width, speed);
        let own = &AXES[3 - self.dims..];
        let all: Vec<String> =
            own.iter().flat_map(|it| [format!("{it}-"), format!("{it}+")]).collect();
        let pml = drawn.pml.as_mut().expect("it has one now");
        pml.reflection = Some(Text::new("the reflection", "exp(-2)"));
        if self.one_in(2) {
            pml.frequency = Some(Text::new("the frequency", "0.1/dt"));
        }
        let periodic = |side: &String| {
            let word = format!("{}:periodic", &side[..1]);
            drawn.fields.iter().any(|field| field.boundary.as_str().contains(&word))
        };
        if self.one_in(3) {
            let own = all.iter().filter(|side| !periodic(side) && self.one_in(2));
            let own: Vec<Text> = own.map(|side| Text::new("a side", side)).collect();
            drawn.pml.as_mut().expect("it has one").sides = own;
        }
        drawn
    }

    /// A derivative along an axis, or along all of them; Σ|w| is at most 1.
    fn differences(&mut self) -> Stencil {
        const SCALE: f64 = 0.05;
        let order = 2 * (1 + self.below(self.reach as usize));
        let along = |axis: usize, row: Vec<(i32, f64)>, scale: f64| {
            let tap = move |(at, weight): (i32, f64)| {
                let mut offset = [0; 3];
                offset[axis] = at;
                Tap { offset, weight: scale * weight }
            };
            row.into_iter().map(tap).filter(|tap| tap.weight != 0.0).collect::<Vec<Tap>>()
        };
        let axis = 3 - self.dims + self.below(self.dims);
        let taps = match self.below(6) {
            0 => along(axis, central(1, order), SCALE),
            1 => along(axis, staggered(order), SCALE),
            2 => {
                let left = staggered(order).into_iter().map(|(at, weight)| (at - 1, weight));
                along(axis, left.collect(), -SCALE)
            }
            3 => along(axis, central(2, order), SCALE),
            _ => {
                let mut all: Vec<Tap> = Vec::new();
                let scale = SCALE / self.dims as f64;
                let rows =
                    (3 - self.dims..3).flat_map(|axis| along(axis, central(2, order), scale));
                for tap in rows {
                    match all.iter_mut().find(|it| it.offset == tap.offset) {
                        Some(known) => known.weight += tap.weight,
                        None => all.push(tap),
                    }
                }
                all
            }
        };
        Stencil::new("drawn", self.dims, taps).unwrap()
    }

    fn of_many(mut self) -> Description {
        let most = [300, 20, 9][self.dims - 1];
        let size: Vec<usize> = (0..self.dims).map(|_| 1 + self.below(most)).collect();
        let types = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];
        let mut drawn = Description::new(&size).dtype(types[self.below(4)]);
        let fields = 8 + self.below(8);
        if self.solid != Solid::Nowhere {
            drawn = drawn.solid(self.solid().as_str());
            self.reach = 1;
        }
        // Mostly the same sides for all, as systems have them.
        let usual = self.sides(9);
        for field in 0..fields {
            let mut taps = Vec::new();
            for _ in 0..1 + self.below(2) {
                let offset = [0, 1, 2].map(|axis| match axis < 3 - self.dims {
                    true => 0,
                    false => self.random.random_range(-self.reach..=self.reach),
                });
                if taps.iter().all(|tap: &Tap| tap.offset != offset) {
                    taps.push(Tap { offset, weight: 0.5 });
                }
            }
            let own = Stencil::new("drawn", self.dims, taps).unwrap();
            drawn = drawn.stencil(&format!("s{field}"), own);
        }
        let all: Vec<String> = (0..fields).map(|field| format!("s{field}(u{field})")).collect();
        drawn = drawn.term("together", format!("tanh({})", all.join(" + ")));
        for (field, own) in all.iter().enumerate() {
            let start = self.start();
            let boundary = if self.one_in(4) { self.sides(9) } else { usual.clone() };
            let axis = AXES[3 - self.dims + self.below(self.dims)];
            let next = match self.below(3) {
                0 => format!("{own} + 0.25*(together - u{field})"),
                1 => format!("if({axis} < 1.5, 0.5*u{field}, {own} - 0.125*together)"),
                _ => format!("0.5*{own} + 0.5*together"),
            };
            let own = FieldText::new(&format!("u{field}"), start.as_str(), next);
            let own = own.boundary(&boundary);
            drawn = drawn.field(match self.solid {
                Solid::Nowhere => own,
                _ => own.walls(&self.walls("u", fields).replace("k/4", "0.2")),
            });
        }
        drawn
    }

    fn of_a_sum(mut self) -> Description {
        let most = [3000, 60, 16][self.dims - 1];
        let size: Vec<usize> = (0..self.dims).map(|_| 1 + self.below(most)).collect();
        let types = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];
        let mut drawn = Description::new(&size).dtype(types[self.below(4)]);
        drawn.steps = 1 + self.below(12);
        // Of numbers that all types hold, or of any.
        let exact = self.one_in(2);
        for stencil in 0..self.stencils {
            let own = self.stencil();
            let round = |weight: f64| (weight * 64.0).round().max(1.0) / 64.0;
            let own = if exact { own.map_weights(round) } else { own };
            drawn = drawn.stencil(&format!("s{stencil}"), own);
        }
        let mut parts = Vec::new();
        for _ in 0..1 + self.below(3) {
            let [of, inner] = [(); 2].map(|()| self.below(self.stencils));
            let weight = if exact { 0.25 } else { self.number() / 4.0 };
            parts.push(match self.below(4) {
                0 => format!("{weight}*u"),
                1 => format!("s{of}(s{inner}(u))"),
                _ => format!("{weight}*s{of}(u - 0.5*u)"),
            });
        }
        let (start, boundary) = (self.start(), self.sides(6));
        let field = FieldText::new("u", start.as_str(), parts.join(" + "));
        drawn.field(field.boundary(&boundary))
    }

    /// With a reach of its own on each side of each axis, also none; Σ|w| is at most 1.
    fn stencil(&mut self) -> Stencil {
        let reach: [[i32; 2]; 3] = std::array::from_fn(|axis| {
            [(); 2].map(|()| {
                if axis < 3 - self.dims { 0 } else { self.random.random_range(0..=self.reach) }
            })
        });
        let count = 1 + self.below(12);
        let mut taps: Vec<Tap> = Vec::new();
        for _ in 0..count {
            let offset = reach.map(|[low, high]| self.random.random_range(-low..=high));
            if taps.iter().all(|tap| tap.offset != offset) {
                let weight = match self.number() {
                    0.0 => 0.5,
                    weight => weight,
                };
                taps.push(Tap { offset, weight: weight / (2 * count) as f64 });
            }
        }
        Stencil::new("drawn", self.dims, taps).unwrap()
    }

    fn boundary(&mut self) -> String {
        self.sides(11)
    }

    /// A stencil whose inverse makes no value larger than 1.25 times the largest of what it is solved for.
    fn inverted(&mut self) -> Stencil {
        let mut taps = vec![Tap { offset: [0; 3], weight: 2.0 }];
        for axis in 3 - self.dims..3 {
            let weight = self.random.random_range(-0.2..0.2);
            for step in [-1, 1] {
                let mut offset = [0; 3];
                offset[axis] = step;
                taps.push(Tap { offset, weight });
            }
        }
        Stencil::new("inverted", self.dims, taps).unwrap()
    }

    /// A solve of a value, or of a field as it is.
    fn solve(&mut self, value: &str) -> String {
        let field = self.below(self.fields);
        match self.below(4) {
            0 => format!("solve(inverted, u{field})"),
            1 if self.order != Order::ByRates => format!("solve(inverted, prev(u{field}))"),
            _ => format!("solve(inverted, {value})"),
        }
    }

    /// Sides that solves of it take.
    fn sides_of_a_solve(&mut self) -> String {
        let kinds = ["zero", "reflect", "edge", "symmetric", "constant=0.5", "constant=-0.75"];
        let mut parts = Vec::new();
        for (number, axis) in AXES.iter().enumerate().skip(3 - self.dims) {
            let [low, high] = [(); 2].map(|()| kinds[self.below(kinds.len())]);
            let by_chance = self.one_in(3);
            parts.push(match self.periodic.map_or(by_chance, |axes| axes[number]) {
                true => format!("{axis}:periodic"),
                false => format!("{axis}-:{low},{axis}+:{high}"),
            });
        }
        parts.join(",")
    }

    /// A boundary with the first so many kinds of sides: of images that are changed from the sixth on, of expressions from the
    /// ninth on.
    fn sides(&mut self, kinds: usize) -> String {
        let own = &AXES[3 - self.dims..];
        let mut parts = Vec::new();
        for axis in own {
            let mut side = || match self.below(kinds) {
                0 => "zero".to_owned(),
                1 => "reflect".to_owned(),
                2 => "edge".to_owned(),
                3 => format!("constant={}", self.random.random_range(-1.0..1.0)),
                4 => "symmetric".to_owned(),
                5 => format!("flux={}", self.random.random_range(-0.1..0.1)),
                6 => "odd".to_owned(),
                7 => "odd-reflect".to_owned(),
                8 => {
                    let [a, b] = [(); 2].map(|()| self.random.random_range(0.1..1.0));
                    format!("robin={a},{b},{}", self.random.random_range(-0.1..0.1))
                }
                9 => {
                    let along = own[self.below(own.len())];
                    let values =
                        ["sin(3*t)", "pulse(t) - 0.01*n", "k/4", "cos(2*t - AXIS)", "tanh(AXIS)"];
                    format!("value={}", values[self.below(5)].replace("AXIS", along))
                }
                _ => {
                    let along = own[self.below(own.len())];
                    let slopes = ["0.1*sin(t)", "0.05*cos(AXIS)", "0.1*max(-1, pulse(t + 0.1))"];
                    format!("slope={}", slopes[self.below(3)].replace("AXIS", along))
                }
            };
            let (low, high) = (side(), side());
            let by_chance = self.one_in(if self.layered { 9 } else { 3 });
            let is_periodic = self.periodic.map_or(by_chance, |all| all[axis_of(axis)]);
            parts.push(match is_periodic {
                true => format!("{axis}:periodic"),
                false => format!("{axis}-:{low},{axis}+:{high}"),
            });
        }
        parts.join(",")
    }

    /// Values to start with.
    fn start(&mut self) -> String {
        let seed = self.random.next_u32();
        match self.below(3) {
            0 => format!("2*random({seed}) - 1"),
            1 => "sin(3*x + t)".to_owned(),
            _ => format!("if(random({seed}) < 0.5, 1, cos(x - 2*t))"),
        }
    }

    fn points(&mut self) -> String {
        let axis = AXES[3 - self.dims + self.below(self.dims)];
        let place = self.random.random_range(0.0..5.0);
        match self.below(3) {
            0 if self.coefficients > 0 => "c0 > 0.5".to_owned(),
            1 => format!("not ({axis} > {place} or {axis} <= 1)"),
            _ => format!("{axis} < {place}"),
        }
    }

    /// A number: finite whatever it is made of.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.one_in(8) {
            return self.leaf();
        }
        let mut part = || self.expression(depth - 1);
        let (a, b) = (part(), part());
        match self.below(18) {
            0 | 1 => format!("({a} + {b})"),
            2 | 3 => format!("({a} - {b})"),
            4 | 5 => format!("{a}*{b}"),
            6 => format!("{a}/(1.5 + abs({b}))"),
            7 => format!("({a})^{}", self.below(4)),
            8 => format!("(1 + abs({a}))^-{}", 1 + self.below(3)),
            9 => format!("(0.5 + abs({a}))^min(1.5, {b})"),
            10 => format!("exp(min({a}, 2))"),
            11 => format!("ln(0.5 + abs({a}))*sqrt(abs({b}))"),
            12 => format!("sin({a}) - cos({b})*atan2({b}, {a})"),
            13 => format!("if({}, {a}, {b})", self.condition()),
            14 => format!("s{}({})", self.below(self.stencils), self.leaf()),
            15 => format!("-max({a}, {b})"),
            // Terms are read around points, where there is no noise.
            16 if self.shared => {
                let [seed, other] = [self.below(3), self.below(3)];
                format!("({a} + 0.25*normal({seed}))*noise({other})")
            }
            _ => {
                // Of an expression: at each neighbour.
                let stencil = self.below(self.stencils);
                format!("s{stencil}({} - {}*{})", self.leaf(), self.leaf(), self.leaf())
            }
        }
    }

    fn condition(&mut self) -> String {
        let (a, b) = (self.leaf(), self.leaf());
        match self.below(5) {
            0 => format!("{a} < {b}"),
            1 => format!("{a} >= {b} or {b} > 0.25"),
            2 => format!("not {a} == {b} and {a} != 0.5"),
            3 => format!("{a} <= {b}"),
            _ => "n == 1".to_owned(),
        }
    }

    fn leaf(&mut self) -> String {
        let field = self.below(self.fields);
        if !self.computed.is_empty() && self.one_in(3) {
            let place = self.below(self.computed.len());
            return self.computed[place].clone();
        }
        // Of a stencil of a stencil equations beside walls read too far.
        let kind = match self.below(12) {
            8 | 9 if self.solid == Solid::Images => 10,
            kind => kind,
        };
        match kind {
            6..=9 if self.order == Order::ByRates => format!("u{field}"),
            0 => self.number().to_string(),
            1 => "k".to_owned(),
            2 => {
                let axis = AXES[3 - self.dims + self.below(self.dims)];
                format!("0.01*{}{axis}", if self.one_in(2) { "i" } else { "" })
            }
            3 => "t".to_owned(),
            4 => "pulse(t)".to_owned(),
            5 if self.coefficients > 0 => format!("c{}", self.below(self.coefficients)),
            6 => format!("prev(u{field})"),
            7 => format!("prev2(u{field})"),
            8 if self.shared => "shared".to_owned(),
            9 => format!("s{}(prev(u{field}))", self.below(self.stencils)),
            _ => format!("u{field}"),
        }
    }
}
