// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on all cores of this machine: rows of points in parallel, one operation after the other on each block of a row.
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
use self::run::Run;
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

mod block;
mod chains;
mod code;
mod functions;
mod real;
mod run;
mod step;

/// Points of a row that one thread computes, where threads share rows.
const SEGMENT: usize = 4096;
/// Rows for each thread below which they share rows.
const FEW_ROWS: usize = 2;
/// Rows of a band: fewer would read too much of what lies around them, more leave threads without work.
const FEWEST: usize = 4;
/// The most.
const MOST: usize = 32;
/// Bytes that stay in the cache of a core.
const STAY: usize = 1 << 19;
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

/// Memory for a system besides the values that it starts with: of each field one level more than its equations need, unless
/// the next one is written over the oldest, the coefficients, and a grid on its way there.
fn bytes(system: &System) -> u128 {
    let of_field = |(field, it): (usize, &Field)| {
        let reach = system.program.reach(|array| array.is_of_field(field));
        let spare = u128::from(own(system, field).is_none());
        padded::points(system.shape, reach) * (it.levels as u128 + spare)
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
    /// Of each field its levels, the present one first; the last one is to take the next values: it is one more than
    /// equations read, or they are written over the oldest ones.
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

    /// Values from a place at some distance of a point on: those of a row, and of what lies behind it.
    #[inline(always)]
    fn from(&self, array: Array, point: [usize; 3], offset: Offset) -> &[R] {
        let (layout, values) = self.get(array);
        let [z, y, x] = [0, 1, 2].map(|axis: usize| point[axis] as isize + offset[axis] as isize);
        let plane = layout.margins[0].strict_add_signed(z);
        values.from(plane * layout.plane() + layout.at(y, x))
    }
}

struct Cpu<R> {
    system: System,
    code: Code<R>,
    /// Of each of its reads the values from row to row.
    pitches: Vec<usize>,
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
            let spare = own(&system, index).is_none().then(|| Padded::new(layout));
            padded.push(grids.chain(spare).collect());
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
        let code = Code::new(&system.program, |array| match array {
            Array::Field { field, .. } if own(&system, field) == Some(array) => Some(field),
            _ => None,
        });
        let arrays = Arrays { layouts, fields: padded, coefficients };
        let pitches = code.reads.iter().map(|(array, _)| arrays.get(*array).0.pitch).collect();
        Self {
            code,
            pitches,
            arrays,
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
        self.system.shape.points() * (self.code.steps.len()) >= SERIAL
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
        self.compute(&mut next, &scalars, &added);
        for (field, mut next) in next.into_iter().enumerate() {
            if let Some(halo) = &self.halos[field] {
                halo.close_around(&mut next, parallel);
            }
            self.arrays.fields[field].insert(0, next);
        }
        self.done += 1;
    }

    /// Computes the next values of all fields, and what lies on the left and right of their rows.
    fn compute(&self, next: &mut [Padded<R>], scalars: &[R], added: &[R]) {
        let numbers = Numbers { scalars, added };
        let layouts = &self.arrays.layouts;
        let [nz, ny, _] = self.system.shape.extents();
        let mut bands = bands(layouts, next, self.rows_of_a_band());
        match self.parallel() {
            // Few rows: threads share each.
            true if nz * ny < FEW_ROWS * rayon::current_num_threads() => {
                bands
                    .iter_mut()
                    .for_each(|band| self.band(&mut Room::default(), band, true, numbers));
            }
            true => bands.par_iter_mut().for_each_init(Room::default, |room, band| {
                self.band(room, band, false, numbers);
            }),
            false => {
                let mut room = Room::default();
                bands.iter_mut().for_each(|band| self.band(&mut room, band, false, numbers));
            }
        }
    }

    /// Rows of a plane that a thread computes before it takes those of the next plane: what is read of the planes around
    /// them stays in its cache.
    fn rows_of_a_band(&self) -> usize {
        let of_field = self.arrays.layouts.iter().zip(&self.arrays.fields);
        let of_field = of_field.map(|(layout, levels)| (layout, levels.len() + 1));
        let of_coefficient = self.arrays.coefficients.iter().map(|(layout, _)| (layout, 1));
        let values = of_field
            .chain(of_coefficient)
            .map(|(layout, count)| layout.pitch * (2 * layout.margins[0] + count));
        let bytes = values.sum::<usize>() * size_of::<R>();
        (STAY / bytes).clamp(FEWEST, MOST)
    }

    /// Computes rows of a plane.
    fn band<'a>(
        &'a self,
        room: &mut Room<'a, R>,
        band: &mut Band<R>,
        is_shared: bool,
        numbers: Numbers<R>,
    ) {
        let layouts = &self.arrays.layouts;
        let [z, first] = band.first;
        if is_shared {
            for number in 0..band.rows {
                let mut parts: Vec<Vec<&mut [R]>> = Vec::new();
                for row in band.row(layouts, number) {
                    for (part, values) in row.chunks_mut(SEGMENT).enumerate() {
                        parts.resize_with(parts.len().max(part + 1), Vec::new);
                        parts[part].push(values);
                    }
                }
                let parts = parts.par_iter_mut().enumerate();
                parts.for_each_init(Room::default, |room, (part, next)| {
                    let point = [z, first + number, part * SEGMENT];
                    self.go_to(room, point);
                    self.part(room, point, next, numbers);
                });
            }
        } else {
            self.go_to(room, [z, first, 0]);
            for number in 0..band.rows {
                if number > 0 {
                    let reads = room.reads.iter_mut().zip(&self.pitches);
                    reads.for_each(|(read, pitch)| *read = &read[*pitch..]);
                }
                let mut next = band.row(layouts, number);
                self.part(room, [z, first + number, 0], &mut next, numbers);
            }
        }
        for ((halo, rows), layout) in self.halos.iter().zip(&mut band.next).zip(layouts) {
            if let Some(halo) = halo {
                rows.chunks_mut(layout.pitch).for_each(|row| halo.close_row(row));
            }
        }
    }

    /// Finds what the points from this one on read.
    fn go_to<'a>(&'a self, room: &mut Room<'a, R>, point: [usize; 3]) {
        let reads = self.code.reads.iter();
        room.reads.clear();
        room.reads.extend(reads.map(|&(array, offset)| self.arrays.from(array, point, offset)));
    }

    /// Computes a part of a row, of all fields, whose reads have been found.
    fn part<'a>(
        &'a self,
        room: &mut Room<'a, R>,
        point: [usize; 3],
        next: &mut [&mut [R]],
        Numbers { scalars, added }: Numbers<R>,
    ) {
        let code = &self.code;
        let System { origin, spacing, dtype, .. } = self.system;
        let run = Run { code, reads: &room.reads, origin, spacing, point };
        let slots = &mut room.slots;
        at_level!(self.level, simd => {
            if slots.is_empty() {
                *slots = run::slots(simd, code, scalars);
            }
            run.execute(simd, slots, next);
        });
        let [z, y, start] = point;
        for &(field, x, source) in self.sources.get(&[z, y]).into_iter().flatten() {
            if let Some(value) = x.checked_sub(start).and_then(|at| next[field].get_mut(at)) {
                *value += added[source];
            }
        }
        next.iter_mut().for_each(|next| R::store(next, dtype));
    }
}

/// Numbers of a step.
#[derive(Clone, Copy)]
struct Numbers<'a, R> {
    /// Those that all points share.
    scalars: &'a [R],
    /// What each source adds.
    added: &'a [R],
}

/// What a thread computes with.
struct Room<'a, R> {
    slots: Vec<R>,
    /// What is read, from the row's first point on.
    reads: Vec<&'a [R]>,
}

impl<R> Default for Room<'_, R> {
    fn default() -> Self {
        Self { slots: Vec::new(), reads: Vec::new() }
    }
}

/// The oldest values of a field, if equations read them at the point itself only: then the next ones are written over them.
fn own(system: &System, field: usize) -> Option<Array> {
    let oldest = Array::Field { field, level: system.fields[field].levels - 1 };
    let mut reads = system.program.reads().filter(|(array, _)| *array == oldest);
    reads.all(|(_, offset)| offset == [0; 3]).then_some(oldest)
}

/// Rows of a plane: where the next values of each field are to be.
struct Band<'a, R> {
    /// The first one (z, y).
    first: [usize; 2],
    rows: usize,
    /// Of each field the rows with what lies on their left and right.
    next: Vec<&'a mut [R]>,
}

impl<R> Band<'_, R> {
    /// The points of one of its rows, of each field.
    fn row(&mut self, layouts: &[Layout], number: usize) -> Vec<&mut [R]> {
        let rows = self.next.iter_mut().zip(layouts);
        let row = rows.map(|(rows, layout)| {
            let start = number * layout.pitch + layout.left;
            &mut rows[start..start + layout.extents[2]]
        });
        row.collect()
    }
}

/// The whole grid in bands, those of a few rows through all planes after each other.
fn bands<'a, R: Real>(
    layouts: &[Layout],
    next: &'a mut [Padded<R>],
    rows: usize,
) -> Vec<Band<'a, R>> {
    let mut bands: Vec<Band<R>> = Vec::new();
    for (field, (layout, next)) in layouts.iter().zip(next).enumerate() {
        let &Layout { extents: [_, ny, _], pitch, .. } = layout;
        let planes = next.rows_mut().chunks_mut(layout.plane()).enumerate();
        let mut place = 0;
        for (z, plane) in planes {
            for (number, values) in plane[..ny * pitch].chunks_mut(rows * pitch).enumerate() {
                if field == 0 {
                    let (first, rows) = ([z, number * rows], values.len() / pitch);
                    bands.push(Band { first, rows, next: Vec::with_capacity(layouts.len()) });
                }
                bands[place].next.push(values);
                place += 1;
            }
        }
    }
    bands.sort_by_key(|band| [band.first[1], band.first[0]]);
    bands
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
        let mut spare =
            (self.arrays.fields[0].len() < 2).then(|| Padded::new(self.arrays.layouts[0]));
        let mut arrays = self.arrays.fields[0].iter_mut().chain(&mut spare);
        let [first, second] = [(); 2].map(|()| arrays.next().expect("two arrays").any_values());
        Ok(time_copies([first, second], count))
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
        self.0.arrays.from(array, point, [0; 3])[0].to_f64()
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers")
    }
}
