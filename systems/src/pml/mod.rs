// SPDX-License-Identifier: MIT OR Apache-2.0
//! A perfectly matched layer with memories: derivatives across it are stretched, so that waves fade in it and none turns back
//! where it begins.
//!
//! In the layer at x the derivative D u becomes D u + m, with a field m, the memory of D u, for which
//! dm/dt = -(d + alpha) m - d D u. Over a time step that is, with b = exp(-(d + alpha) dt),
//! m' = b m - (1 - b) d / (d + alpha) D u, and m' is what equations of the step read (Roden, Gedney, "Convolution PML (CPML):
//! an efficient FDTD implementation of the CFS-PML for arbitrary media" (2000); Komatitsch, Martin, "An unsplit
//! convolutional perfectly matched layer improved at grazing incidence for the seismic wave equation" (2007), equations 23 to
//! 26, with kappa = 1). A method of several stages integrates dm/dt as the rates of the fields (Martin, Komatitsch, Gedney,
//! Bruthiaux, "A high-order time and space formulation of the unsplit perfectly matched layer for the seismic wave equation
//! using auxiliary differential equations (ADE-PML)" (2010)).
//!
//! A second derivative is stretched twice (Pasalic, McGarry, "Convolutional perfectly matched layer for isotropic and
//! anisotropic acoustic wave equations" (2010)): with the memory m of the central first difference D1 u, D2 u becomes
//! s + n, where s = D2 u + D1 m and n is the memory of s. Staggered differences of D1 would be unstable: two of them
//! amplify the shortest waves more than D2 does, so that D2 u + D1 m has the wrong sign there.
//!
//! All of it is a part of the equations: memories are fields, and nobody else knows of the layer.

use transform::finite_difference::{Row, central};
use transform::{Stencil, Tap};

use super::description::PmlText;
use super::expression::{Array, Function, Node, Purpose, Scope, show};
use super::layer;
use super::parts::{Coefficient, Field, Start, Work, index};
use super::text::Text;
use derivative::{AXES, Kind, parts};
use problem::boundary::Side;
use problem::error::Mistake;
use problem::{Boundary, Shape};
use profile::{Profile, usual_reflection};

mod derivative;
mod profile;

/// What a memory may fade by in a time step, as part of it, if a method integrates it by stages: all of them are stable there.
const MOST_FADING: f64 = 2.0;

/// The equations of a system whose derivatives are stretched.
pub struct Equations<'a> {
    /// Its fields, to which memories are added.
    pub fields: &'a mut Vec<Field>,
    /// The rates of those fields that have one.
    pub rates: &'a mut Vec<Option<Node>>,
    /// Its work fields.
    pub works: &'a mut [Work],
    /// Its coefficients, to which the layer adds its own.
    pub coefficients: &'a mut Vec<Coefficient>,
    /// Its stencils, to which parts of them and first differences are added.
    pub stencils: &'a mut Vec<Stencil>,
}

/// The grid, and how time goes on.
#[derive(Clone, Copy)]
pub struct Steps {
    /// Its points.
    pub shape: Shape,
    /// Their distance along z, y, x.
    pub spacing: [f64; 3],
    /// Time of a step.
    pub dt: f64,
    /// Whether rates are integrated by several stages.
    pub by_stages: bool,
}

/// Stretches the derivatives in the equations that a layer is for. `texts` are those of the equations of fields and of work
/// fields, for errors; `averages` tells which stencils are values between points.
///
/// # Errors
/// A number, a side or a field of the layer is none; it does not fit into the grid; a stencil takes no derivatives along axes;
/// or there is no derivative to stretch.
pub fn absorb(
    equations: Equations,
    text: &PmlText,
    (scope, averages): (&Scope, &[bool]),
    texts: &[&Text],
    steps: Steps,
) -> Result<(), Mistake> {
    let Equations { fields, rates, works, coefficients, stencils } = equations;
    let own = fields.len();
    let chosen = chosen(text, scope)?;
    let profile = profile(text, scope, fields, steps)?;
    let boundaries = fields.iter().map(|it| it.boundary);
    let mut layer = Layer {
        profile,
        steps,
        scope,
        averages,
        own,
        boundaries: boundaries.collect(),
        of_works: works.iter().map(|it| it.boundary).collect(),
        stencils,
        memories: Vec::new(),
    };
    for (number, text) in texts.iter().enumerate().filter(|(number, _)| chosen[*number]) {
        let value = match number.checked_sub(own) {
            Some(work) => &mut works[work].value,
            None => rates[number].as_mut().unwrap_or(&mut fields[number].next),
        };
        *value = layer.stretched(value, text)?;
    }
    let Layer { memories, profile, .. } = layer;
    if memories.is_empty() {
        let axes: Vec<&str> =
            AXES.into_iter().zip(profile.layered()).filter(|it| it.1).map(|it| it.0).collect();
        let what = format!(
            "nothing for this layer to absorb: its equations take no derivative along {}",
            axes.join(", ")
        );
        let hint = "a derivative is a stencil, such as dx = { derivative = \"x\", order = 4 }";
        return Err(text.at.wrong(what).hint(hint));
    }
    if steps.by_stages {
        let fading = memories.iter().map(|it| profile.fastest_fading(it.axis, it.place));
        let fading = fading.fold(0.0, f64::max) * steps.dt;
        if fading > MOST_FADING {
            let what = format!(
                "memories of this layer fade by {fading:.1} in a step: a method of several stages takes up to {MOST_FADING}"
            );
            return Err(text
                .at
                .wrong(what)
                .hint("take more points, a smaller dt, or leave out 'method'"));
        }
    }
    let mut known: Vec<((usize, f64), [Option<usize>; 2])> = Vec::new();
    for (number, memory) in memories.into_iter().enumerate() {
        let Memory { of, axis, place, boundary } = memory;
        let found = known.iter().find(|it| it.0 == (axis, place)).map(|it| it.1);
        let of_place = found.unwrap_or_else(|| {
            let loss = match steps.by_stages {
                true => profile.fading(axis, place),
                false => profile.loss(axis, place),
            };
            let all = [("loss", Some(loss)), ("share", profile.share(axis, place))];
            let added = all.map(|(what, value)| {
                let name = format!("pml {what} at {}{place:+}", AXES[axis]);
                let (boundary, start) = (Boundary::default(), Start::Expression(value?));
                coefficients.push(Coefficient { name, boundary, start });
                Some(coefficients.len() - 1)
            });
            known.push(((axis, place), added));
            added
        });
        let [loss, share] = of_place.map(|it| it.map(|it| Node::Read(Array::Coefficient(it))));
        let name = name(&of, number, (fields, works, stencils));
        let before = Node::Read(Array::Field { field: own + number, level: 0 });
        let taken = share.map_or(of.clone(), |share| call(Function::Multiply, share, of));
        let sum = call(Function::Add, before.clone(), taken);
        let lost = call(Function::Multiply, loss.expect("there is one at each place"), sum);
        let (next, rate) = match steps.by_stages {
            true => (Node::Number(0.0), Some(Node::call(Function::Negate, vec![lost]))),
            false => (call(Function::Subtract, before, lost), None),
        };
        rates.push(rate);
        let start = Start::default();
        let (levels, before, keep, kept, is_memory) = (1, Vec::new(), None, None, true);
        fields.push(Field { name, boundary, levels, start, before, next, keep, kept, is_memory });
    }
    Ok(())
}

/// Which equations the layer is for: those of fields, then those of work fields.
fn chosen(text: &PmlText, scope: &Scope) -> Result<Vec<bool>, Mistake> {
    let all = [scope.fields.as_slice(), &scope.works].concat();
    let mut chosen = vec![text.fields.is_empty(); all.len()];
    for field in &text.fields {
        chosen[index("field", field, &all)?] = true;
    }
    Ok(chosen)
}

/// The layer in numbers.
fn profile(
    text: &PmlText,
    scope: &Scope,
    fields: &[Field],
    steps: Steps,
) -> Result<Profile, Mistake> {
    let Steps { shape, spacing, dt, .. } = steps;
    let width = text.width;
    let number = |text: &Text, what: &str, counts: &dyn Fn(f64) -> bool, range: &str| {
        let Node::Number(number) = scope.number(text, Purpose::Constant)? else {
            return Err(text.wrong("this is no constant number"));
        };
        if counts(number) {
            return Ok(number);
        }
        Err(text.wrong(format!("{what} of the layer is {number}; it must be {range}")))
    };
    if width == 0 {
        return Err(text.at.wrong("a layer has at least one point"));
    }
    let is_positive = |number: f64| number.is_finite() && number > 0.0;
    let speed = number(&text.speed, "the largest speed", &is_positive, "above 0")?;
    let reflection = match &text.reflection {
        Some(text) => {
            number(text, "the reflection", &|it| it > 0.0 && it < 1.0, "between 0 and 1")?
        }
        None => usual_reflection(width),
    };
    let frequency = match &text.frequency {
        Some(text) => {
            number(text, "the frequency", &|it| it.is_finite() && it >= 0.0, "0 or more")?
        }
        None => 0.0,
    };
    let periodic = |axis: usize| {
        fields.iter().find(|field| field.boundary.sides[axis].contains(&Side::Periodic))
    };
    for side in &text.sides {
        let named = layer::ends(std::slice::from_ref(side), shape)?;
        if let Some(field) = named.iter().find_map(|end| periodic(end.axis)) {
            let what = format!("'{}' is periodic there, so waves meet no end", field.name);
            return Err(side.wrong(what).hint("name the other sides: sides = [\"y-\", \"y+\"]"));
        }
    }
    let ends = layer::ends(&text.sides, shape)?.into_iter();
    let ends: Vec<_> = ends.filter(|end| periodic(end.axis).is_none()).collect();
    if ends.is_empty() {
        return Err(text
            .at
            .wrong("fields are periodic along all axes: there is no end for a layer"));
    }
    for axis in 0..3 {
        let count = ends.iter().filter(|end| end.axis == axis).count();
        let points = shape.extents()[axis];
        if count * width >= points {
            let layers = if count == 2 { "two layers" } else { "a layer" };
            let what = format!(
                "{layers} of {width} points along {} leave nothing of {points}",
                AXES[axis]
            );
            return Err(text.at.wrong(what));
        }
    }
    let strength = spacing.map(|h| -1.5 * speed * reflection.ln() / (width as f64 * h));
    let alpha = std::f64::consts::PI * frequency;
    Ok(Profile { ends, width, strength, alpha, shape, dt })
}

/// A field that a derivative is stretched by.
struct Memory {
    /// What it is the memory of.
    of: Node,
    /// Along which axis.
    axis: usize,
    /// So many points after the point.
    place: f64,
    boundary: Boundary,
}

struct Layer<'a> {
    profile: Profile,
    steps: Steps,
    scope: &'a Scope,
    averages: &'a [bool],
    /// Fields that are no memories.
    own: usize,
    boundaries: Vec<Boundary>,
    of_works: Vec<Boundary>,
    stencils: &'a mut Vec<Stencil>,
    memories: Vec<Memory>,
}

impl Layer<'_> {
    /// An expression with its derivatives stretched.
    fn stretched(&mut self, node: &Node, text: &Text) -> Result<Node, Mistake> {
        match node {
            Node::Call(function, parts) => {
                let parts = parts.iter().map(|part| self.stretched(part, text));
                Ok(Node::call(*function, parts.collect::<Result<_, _>>()?))
            }
            Node::Stencil(stencil, argument) => {
                let argument = self.stretched(argument, text)?;
                self.derivative(*stencil, argument, text)
            }
            leaf => Ok(leaf.clone()),
        }
    }

    /// A stencil of an expression, stretched if it takes derivatives across a layer.
    fn derivative(&mut self, stencil: usize, of: Node, text: &Text) -> Result<Node, Mistake> {
        let plain = |stencil: usize, of: &Node| Node::Stencil(stencil, Box::new(of.clone()));
        // What does not change makes no waves, and values between points are no derivatives.
        if !changes(&of) || self.averages[stencil] {
            return Ok(plain(stencil, &of));
        }
        let found = parts(&self.stencils[stencil], self.profile.layered())
            .map_err(|why| refused(&self.scope.stencils[stencil], &why, text))?;
        if found.is_empty() {
            return Ok(plain(stencil, &of));
        }
        let is_one = found.len() == 1;
        let mut sum: Option<Node> = None;
        for part in found {
            let own = if is_one { stencil } else { self.stencil(part.axis, part.row) };
            let value = plain(own, &of);
            let value = match part.kind {
                None => value,
                Some(Kind::First { place }) => {
                    let memory = self.memory(&value, part.axis, place);
                    call(Function::Add, value, memory)
                }
                Some(Kind::Second { times, order }) => {
                    let first = central(1, order);
                    let scaled = first.iter().map(|(at, weight)| (*at, times * weight)).collect();
                    let [first, scaled] = [first, scaled].map(|row| self.stencil(part.axis, row));
                    let memory = self.memory(&plain(first, &of), part.axis, 0.0);
                    let once = call(Function::Add, value, plain(scaled, &memory));
                    let memory = self.memory(&once, part.axis, 0.0);
                    call(Function::Add, once, memory)
                }
            };
            sum = Some(match sum {
                Some(sum) => call(Function::Add, sum, value),
                None => value,
            });
        }
        Ok(sum.expect("there is a part"))
    }

    /// What the memory of a derivative is in this step.
    fn memory(&mut self, of: &Node, axis: usize, place: f64) -> Node {
        let known = self.memories.iter().position(|known| known.of == *of);
        let number = known.unwrap_or_else(|| {
            let boundary = self.around(of, axis);
            self.memories.push(Memory { of: of.clone(), axis, place, boundary });
            self.memories.len() - 1
        });
        let field = self.own + number;
        Node::Read(match self.steps.by_stages {
            true => Array::Field { field, level: 0 },
            false => Array::New(field),
        })
    }

    /// What lies around the memory of a derivative along an axis: there it has ended; along others the grid goes on as for what
    /// the derivative is taken of, where that is one thing, and else there is nothing.
    fn around(&self, of: &Node, axis: usize) -> Boundary {
        let mut read: Vec<Boundary> = Vec::new();
        let mut across = [false; 3];
        of.visit(&mut |part| match part {
            Node::Read(Array::Field { field, .. } | Array::New(field)) => {
                read.push(match field.checked_sub(self.own) {
                    Some(memory) => self.memories[memory].boundary,
                    None => self.boundaries[*field],
                });
            }
            Node::Read(Array::Work(work)) => read.push(self.of_works[*work]),
            Node::Stencil(stencil, _) => {
                let radii = self.stencils[*stencil].radii();
                (0..3).for_each(|axis| across[axis] |= radii[axis] > 0);
            }
            _ => (),
        });
        let mut boundary = Boundary::default();
        for other in (0..3).filter(|other| *other != axis) {
            let sides = |it: &Boundary| it.sides[other].map(without_numbers);
            let one = read.first().map(sides).unwrap_or_default();
            let is_common = read.iter().all(|it| sides(it) == one);
            // A difference along the axis has the images of none of them.
            let goes_on = !across[other] || one.contains(&Side::Periodic);
            if is_common && goes_on {
                boundary.sides[other] = one;
            }
        }
        boundary
    }

    /// The number of a stencil along an axis.
    fn stencil(&mut self, axis: usize, row: Row) -> usize {
        let tap = |(at, weight): (i32, f64)| {
            let mut offset = [0; 3];
            offset[axis] = at;
            Tap { offset, weight }
        };
        let taps = row.into_iter().filter(|(_, weight)| *weight != 0.0).map(tap).collect();
        let dims = self.steps.shape.dims();
        let stencil = Stencil::new(&format!("along {}", AXES[axis]), dims, taps)
            .expect("it is part of a stencil, or a difference that reads no farther");
        let known = self.stencils.iter().position(|known| known.taps() == stencil.taps());
        known.unwrap_or_else(|| {
            self.stencils.push(stencil);
            self.stencils.len() - 1
        })
    }
}

/// A side for what is made of differences: numbers that are added beyond it cancel, or are the same for all.
fn without_numbers(side: Side) -> Side {
    match side {
        Side::Constant(_) | Side::Varying(_) | Side::Open => Side::Zero,
        Side::Flux(_) | Side::VaryingFlux(_) => Side::Edge,
        Side::Robin([a, b, _]) => Side::Robin([a, b, 0.0]),
        other => other,
    }
}

/// Whether an expression holds what changes from step to step.
fn changes(node: &Node) -> bool {
    let mut changes = false;
    node.visit(&mut |part| {
        changes |= matches!(part, Node::Read(array) if !matches!(array, Array::Coefficient(_)));
    });
    changes
}

/// The refusal of a stencil, at its name if the equation has it.
fn refused(name: &str, why: &str, text: &Text) -> Mistake {
    let what = format!("the layer of [pml] cannot stretch '{name}': {why}");
    let start = text.as_str().find(&format!("{name}(")).map(|at| text.range().start + at);
    let wrong = match start {
        Some(start) => text.mistake(start..start + name.len(), what),
        None => text.wrong(what),
    };
    wrong.hint(
        "write derivatives as stencils along one axis, such as { derivative = \"x\" }, or name the fields whose \
         equations the layer is for: fields = [...]",
    )
}

/// The name of a memory.
fn name(
    of: &Node,
    number: usize,
    (fields, works, stencils): (&[Field], &[Work], &[Stencil]),
) -> String {
    let array = |array: Array| match array {
        Array::Field { field, .. } | Array::New(field) => {
            fields.get(field).map_or_else(String::new, |field| field.name.clone())
        }
        Array::Work(work) => works[work].name.clone(),
        Array::Coefficient(_) => "a coefficient".to_owned(),
    };
    let stencil = |stencil: usize| stencils[stencil].name().to_owned();
    format!("memory {number} of {}", show(of, &array, &stencil))
}

fn call(function: Function, a: Node, b: Node) -> Node {
    Node::call(function, vec![a, b])
}

#[cfg(test)]
mod tests;
