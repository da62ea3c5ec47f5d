// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on all cores of this machine: runs of points in parallel, one operation after the other on each run.
//!
//! Values are kept as f64 or as f32. Those of f16 and bf16 are f32 here that these types hold: each is rounded
//! once a step, as if it had been stored.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use compute::at_level;
use fearless_simd::Level;
use rayon::prelude::*;

use self::code::Code;
use self::real::Real;
use self::run::{RUN, Run};
use super::budget;
use super::checked::System;
use super::evaluate::{self, Evaluator, Nothing, Plain};
use super::expression::Array;
use super::parts::Field;
use super::places::Places;
use super::program::Offset;
use super::session::StepSession;
use super::start::StartValues;
use compute::engine::cpu::halo::Halo;
use compute::engine::cpu::padded::{self, Layout, Padded};
use compute::engine::cpu::time_copies;
use compute::engine::{Session, State};
use problem::region::Region;
use problem::values::Element;
use problem::{Boundary, Dtype, Error, Grid, Shape, Values, with_values};

mod code;
mod real;
mod run;

/// Points of a row that one thread computes, so that long rows have work for many.
const SEGMENT: usize = 4096;
/// Operations of a step below which threads would take longer to start than to compute.
const SERIAL: usize = 1 << 15;

/// Checks that this machine's memory holds a system.
///
/// # Errors
/// [`Error::Memory`].
pub fn require(system: &System) -> Result<(), Error> {
    let what = format!("a system of {} fields on {} points", system.fields.len(), system.shape);
    budget::require(system, &what, bytes(system))
}

/// A system on the cores of this machine.
pub fn session(system: System, beginning: StartValues) -> Box<dyn StepSession> {
    match system.dtype {
        Dtype::F64 => Box::new(Cpu::<f64>::new(system, beginning)),
        _ => Box::new(Cpu::<f32>::new(system, beginning)),
    }
}

/// Memory for a system besides the values that it starts with: of each field one level more than its equations need, the
/// coefficients, and a grid on its way there.
fn bytes(system: &System) -> u128 {
    let of_field = |(field, it): (usize, &Field)| {
        let reach = system.program.reach(|array| array.is_of_field(field));
        padded::points(system.shape, reach) * (it.levels as u128 + 1)
    };
    let of_coefficient = |coefficient: usize| {
        let reach = system.program.reach(|array| array == Array::Coefficient(coefficient));
        padded::points(system.shape, reach)
    };
    let fields: u128 = system.fields.iter().enumerate().map(of_field).sum();
    let coefficients: u128 = (0..system.coefficients.len()).map(of_coefficient).sum();
    let value = if system.dtype == Dtype::F64 { 8 } else { 4 };
    (fields + coefficients + system.shape.points() as u128) * value
}

/// The arrays of a system.
struct Arrays<R> {
    layouts: Vec<Layout>,
    /// Of each field its levels, the present one first; the last one is to take the next.
    fields: Vec<Vec<Padded<R>>>,
    coefficients: Vec<(Layout, Padded<R>)>,
}

impl<R: Real> Arrays<R> {
    fn get(&self, array: Array) -> (&Layout, &Padded<R>) {
        match array {
            Array::Field { field, level } => (&self.layouts[field], &self.fields[field][level]),
            Array::Coefficient(coefficient) => {
                let (layout, values) = &self.coefficients[coefficient];
                (layout, values)
            }
        }
    }

    /// Values of a row from a place at some distance of a point on.
    #[inline(always)]
    fn row(&self, array: Array, point: [usize; 3], offset: Offset, length: usize) -> &[R] {
        let (layout, values) = self.get(array);
        let [z, y, x] = [0, 1, 2].map(|axis: usize| point[axis] as isize + offset[axis] as isize);
        let plane = layout.margins[0].strict_add_signed(z);
        &values.planes()[plane * layout.plane() + layout.at(y, x)..][..length]
    }
}

struct Cpu<R> {
    system: System,
    code: Code,
    arrays: Arrays<R>,
    /// What lies around each field, if it changes or is not zero.
    halos: Vec<Option<Halo<R>>>,
    /// By row (z, y): the field, x, and the place in the sources.
    sources: BTreeMap<[usize; 2], Vec<(usize, usize, usize)>>,
    level: Level,
    /// The arrays by their numbers.
    numbered: Vec<Array>,
    /// Steps that are done.
    done: usize,
}

impl<R: Real> Cpu<R> {
    fn new(system: System, beginning: StartValues) -> Self {
        let StartValues { step, coefficients, fields, .. } = beginning;
        let reach_of_field =
            |wanted: usize| system.program.reach(|array| array.is_of_field(wanted));
        let reach_of = |wanted: Array| system.program.reach(|array| array == wanted);
        let layout = |reach| Layout::new(system.shape, reach, size_of::<R>());
        let (mut layouts, mut halos, mut padded) = (Vec::new(), Vec::new(), Vec::new());
        for (index, field) in system.fields.iter().enumerate() {
            let layout = layout(reach_of_field(index));
            let halo = halo(&field.boundary, layout);
            let grids = fields[index].iter().map(|grid| fill(grid, layout, halo.as_ref()));
            padded.push(grids.chain([Padded::new(layout)]).collect());
            layouts.push(layout);
            halos.push(halo);
        }
        let mut sources = BTreeMap::<_, Vec<_>>::new();
        for (index, source) in system.sources.iter().enumerate() {
            let [z, y, x] = source.at;
            sources.entry([z, y]).or_default().push((source.field, x, index));
        }
        let coefficient = |(index, grid): (usize, &Grid)| {
            let layout = layout(reach_of(Array::Coefficient(index)));
            let halo = halo(&system.coefficients[index].boundary, layout);
            (layout, fill(grid, layout, halo.as_ref()))
        };
        let coefficients = coefficients.iter().enumerate().map(coefficient).collect();
        Self {
            code: Code::new(&system.program),
            arrays: Arrays { layouts, fields: padded, coefficients },
            halos,
            sources,
            level: Level::new(),
            numbered: system.numbered(),
            done: step,
            system,
        }
    }

    /// Whether a step has work for several threads.
    fn parallel(&self) -> bool {
        self.system.shape.points() * (self.code.instructions.len() + 1) >= SERIAL
    }

    /// Takes one step.
    fn step(&mut self) {
        let (system, step) = (&self.system, self.done as f64);
        let evaluator = Evaluator { system, numbers: Plain, values: &Nothing, step };
        let number = |node| R::from_f64(evaluator.at(node, [0; 3]));
        let scalars: Vec<R> = self.system.program.scalars.iter().map(number).collect();
        let added: Vec<R> = self.system.sources.iter().map(|source| number(&source.add)).collect();

        let mut next: Vec<Padded<R>> = Vec::new();
        for levels in &mut self.arrays.fields {
            next.push(levels.pop().expect("the one to take the next values"));
        }
        let parallel = self.parallel();
        let mut parts = parts(&self.arrays.layouts, &mut next);
        let compute = |slots: &mut Vec<Vec<R>>, part: &mut Part<R>| {
            at_level!(self.level, _simd => self.compute(slots, part, &scalars, &added));
        };
        let slots = || vec![vec![R::ZERO; RUN]; self.code.slots];
        if parallel {
            parts.par_iter_mut().for_each_init(slots, compute);
        } else {
            let mut slots = slots();
            parts.iter_mut().for_each(|part| compute(&mut slots, part));
        }
        drop(parts);
        for (field, mut next) in next.into_iter().enumerate() {
            if let Some(halo) = &self.halos[field] {
                halo.close(&mut next, parallel);
            }
            let levels = &mut self.arrays.fields[field];
            levels.insert(0, next);
        }
        self.done += 1;
    }

    /// Computes a part of a row, of all fields.
    #[inline(always)]
    fn compute(&self, slots: &mut [Vec<R>], part: &mut Part<R>, scalars: &[R], added: &[R]) {
        let [z, y, start] = part.start;
        let length = part.next[0].len();
        let sources = self.sources.get(&[z, y]);
        for first in (0..length).step_by(RUN) {
            let run = Run {
                arrays: &self.arrays,
                scalars,
                origin: self.system.origin,
                spacing: self.system.spacing,
                point: [z, y, start + first],
                length: (length - first).min(RUN),
            };
            run.execute(&self.code, slots);
            for (field, result) in self.code.results.iter().enumerate() {
                let next = &mut part.next[field][first..first + run.length];
                run.copy(result, slots, next);
                for (of, x, source) in sources.into_iter().flatten() {
                    if *of == field && (run.point[2]..run.point[2] + run.length).contains(x) {
                        let value = &mut next[x - run.point[2]];
                        *value = *value + added[*source];
                    }
                }
                R::store(next, self.system.dtype);
            }
        }
    }
}

/// A part of a row: the next values of each field.
struct Part<'a, R> {
    start: [usize; 3],
    next: Vec<&'a mut [R]>,
}

/// All parts of the grid.
fn parts<'a, R: Real>(layouts: &[Layout], next: &'a mut [Padded<R>]) -> Vec<Part<'a, R>> {
    let mut parts: Vec<Part<R>> = Vec::new();
    for (field, (layout, next)) in layouts.iter().zip(next).enumerate() {
        let &Layout { left, extents: [_, _, nx], pitch, .. } = layout;
        let rows = next.rows_mut().chunks_mut(pitch).enumerate();
        let mut place = 0;
        for (number, row) in rows.filter(|(number, _)| layout.is_inside(*number)) {
            let (z, y) = (number / layout.plane_rows(), number % layout.plane_rows());
            for (segment, values) in row[left..left + nx].chunks_mut(SEGMENT).enumerate() {
                if field == 0 {
                    parts.push(Part { start: [z, y, segment * SEGMENT], next: Vec::new() });
                }
                parts[place].next.push(values);
                place += 1;
            }
        }
    }
    parts
}

fn halo<R: Real>(boundary: &Boundary, layout: Layout) -> Option<Halo<R>> {
    let needed = layout.margins != [0; 3] && !boundary.is_zero();
    needed.then(|| Halo::new(boundary, layout))
}

/// Values as they are computed with.
fn convert<R: Real>(values: &Values) -> Vec<R> {
    with_values!(values, values => {
        values.par_iter().map(|value| R::from_f64(Element::to_f64(*value))).collect()
    })
}

/// A grid with what lies around it.
fn fill<R: Real>(grid: &Grid, layout: Layout, halo: Option<&Halo<R>>) -> Padded<R> {
    let mut padded = Padded::new(layout);
    padded.set(&convert(&grid.values));
    if let Some(halo) = halo {
        halo.close(&mut padded, true);
    }
    padded
}

impl<R: Real> Session for Cpu<R> {
    fn device(&self) -> String {
        compute::engine::cpu::device()
    }

    fn shape(&self) -> Shape {
        self.system.shape
    }

    fn dtype(&self) -> Dtype {
        self.system.dtype
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        (0..steps).for_each(|_| self.step());
        Ok(start.elapsed())
    }

    fn read(&mut self, array: usize, _: State, region: Region) -> Result<Values, Error> {
        let (_, padded) = self.arrays.get(self.numbered[array]);
        Ok(R::wrap(padded.get(region)).cast(self.system.dtype))
    }

    fn write(&mut self, array: usize, region: Region, values: &Values) -> Result<(), Error> {
        let Array::Field { field, level } = self.numbered[array] else {
            unreachable!("coefficients have no number")
        };
        let parallel = self.parallel();
        let padded = &mut self.arrays.fields[field][level];
        padded.put(region, &convert(values));
        if let Some(halo) = &self.halos[field] {
            halo.close(padded, parallel);
        }
        Ok(())
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let levels = &mut self.arrays.fields[0];
        let (next, levels) = levels.split_last_mut().expect("the one to take the next values");
        Ok(time_copies([&mut levels[0], next].map(Padded::any_values), count))
    }
}

impl<R: Real> StepSession for Cpu<R> {
    fn values(&mut self, _: Option<&Places>) -> Result<Box<dyn evaluate::Values + '_>, Error> {
        Ok(Box::new(View(self)))
    }

    fn engine(&self) -> &'static str {
        "cpu"
    }

    fn arithmetic(&self) -> String {
        let (dtype, computed) =
            (self.system.dtype, if self.system.dtype == Dtype::F64 { "f64" } else { "f32" });
        match dtype {
            Dtype::F16 | Dtype::Bf16 => {
                format!("{dtype} values, kept as f32 on the CPU, {computed} arithmetic")
            }
            _ => format!("{dtype} values, {computed} arithmetic"),
        }
    }

    fn value_bytes(&self) -> usize {
        size_of::<R>()
    }
}

/// The present values, read one by one.
struct View<'a, R>(&'a Cpu<R>);

impl<R: Real> evaluate::Values for View<'_, R> {
    fn value(&self, array: Array, index: usize) -> f64 {
        let [_, ny, nx] = self.0.system.shape.extents();
        let point = [index / (ny * nx), index / nx % ny, index % nx];
        self.0.arrays.row(array, point, [0; 3], 1)[0].to_f64()
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers")
    }
}
