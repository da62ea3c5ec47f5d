// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on all cores of this machine: rows of points in parallel, by machine code, or else one operation after the other on
//! each block of a row.
//!
//! Values of f16 and bf16 are computed with as f32: rows that a band reads are widened for it ([`window`]). Where a side has
//! a slope, they are kept as f32 that these types hold, for what lies beyond such a side is a sum that is not rounded to them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fearless_simd::Level;
use half::{bf16, f16};
use num_complex::Complex64;
use rayon::prelude::*;
use x86_writer::RowFunction;

use self::code::{Code, Reads};
use self::compiled::Compiled;
use self::inner::Inner;
use self::pass::{Pass, StepNumbers, WideBuffers};
use self::session::OnCpu;
use self::solve::StageSolve;
use self::stored::StoredType;
use self::watch::Watch;
use self::window::Windows;
use super::budget;
use super::checked::System;
use super::evaluate::{self, Evaluator, NoArrays, PlainF64};
use super::expression::Array;
use super::parts::Field;
use super::program::{Offset, Program};
use super::reduced;
use super::session::StepSession;
use super::start::StartValues;
use super::vanishing::Vanishing;
use compute::engine::cpu::caches;
use compute::engine::cpu::halo::Halo;
use compute::engine::cpu::padded::{self, Padded, PaddedLayout};
use compute::ranks::Gather;
use problem::values::Element;
use problem::{Boundary, Depth, Dtype, Error, Grid, Shape, Values, with_values};

mod block;
mod chains;
mod code;
mod compiled;
mod functions;
mod inner;
mod noise;
mod pass;
mod real;
mod run;
mod session;
mod solve;
mod step;
mod stored;
mod watch;
mod window;

#[cfg(test)]
mod tests;

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
/// Bytes that stages go through while steps are taken together: Yee's grid of 1024 x 1024 in f64 takes 1.1 ms a step with eight steps
/// of 576 KiB and 2.2 ms with one, Burgers' equation of 512 x 512 by four stages 3.4 ms with two steps of 1.3 MiB and 4.0 ms with four.
const AT_HAND: usize = 1 << 20;
/// Bytes that a band of several steps goes through, and its rows, at most. Each band takes some time before it computes, which counts where
/// rows are short.
const BAND_BYTES: usize = 1 << 18;
const BAND_ROWS: usize = 32;
/// Lines of the cache by which each array is staggered against the one before it, and in how many there are again the first
/// ones: those of a page.
const STAGGER: usize = 3;
const LINES: usize = 64;
/// Steps of a plane that are taken together.
const DEPTH: usize = 8;
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

/// A system on the cores of this machine; of a rank's part with what gathers arrays of all ranks.
pub fn session(
    system: System,
    beginning: StartValues,
    among: Option<Gather>,
) -> Box<dyn StepSession> {
    match stored(&system) {
        Dtype::F64 => Box::new(OnCpu { cpu: Cpu::<f64>::new(system, beginning), among }),
        Dtype::F16 => Box::new(OnCpu { cpu: Cpu::<f16>::new(system, beginning), among }),
        Dtype::Bf16 => Box::new(OnCpu { cpu: Cpu::<bf16>::new(system, beginning), among }),
        _ => Box::new(OnCpu { cpu: Cpu::<f32>::new(system, beginning), among }),
    }
}

/// The type that values have in memory.
fn stored(system: &System) -> Dtype {
    let fields = system.fields.iter().map(|it| &it.boundary);
    let sides = fields.chain(system.coefficients.iter().map(|it| &it.boundary));
    let mut sides = sides.chain(system.works.iter().map(|it| &it.boundary));
    match system.dtype {
        Dtype::F16 | Dtype::Bf16 if sides.any(|sides| sides.sloped_axes() > 0) => Dtype::F32,
        dtype => dtype,
    }
}

/// Memory for a system besides the values that it starts with: of each field one level more than its equations need, unless
/// the next one is written over the oldest, the coefficients, and a grid on its way there.
fn bytes(system: &System) -> u128 {
    let of_field = |(field, it): (usize, &Field)| {
        let reach = system.program.reach(|array| array.is_of_field(field));
        let spare = u128::from(own(system, field).is_none());
        points(system.shape, reach) * (it.levels as u128 + spare)
    };
    let of_array = |array| points(system.shape, system.program.reach(|read| read == array));
    let fields: u128 = system.fields.iter().enumerate().map(of_field).sum();
    let coefficients: u128 =
        (0..system.coefficients.len()).map(|it| of_array(Array::Coefficient(it))).sum();
    let works: u128 = (0..system.works.len()).map(|it| of_array(Array::Work(it))).sum();
    let value = stored(system).bytes() as u128;
    (fields + coefficients + works + system.shape.points() as u128) * value
        + system.bytes_of_solves()
}

/// Points of a grid and what is around it, at most.
fn points(shape: Shape, reach: [usize; 3]) -> u128 {
    let [nz, ny, _] = shape.extents();
    let rows = (nz + 2 * reach[0]) as u128 * (ny + 2 * reach[1]) as u128;
    let staggered = LINES * padded::CACHE_LINE / size_of::<f32>();
    padded::points(shape, reach) + rows * RowFunction::<f32>::behind() as u128 + staggered as u128
}

/// The arrays of a system.
struct Arrays<T> {
    /// Of each field its levels, the present one first; the last one is to take the next values: it is one more than
    /// equations read, or they are written over the oldest ones.
    fields: Vec<Vec<Padded<T>>>,
    coefficients: Vec<Padded<T>>,
    works: Vec<Padded<T>>,
}

impl<T> Default for Arrays<T> {
    fn default() -> Self {
        Self { fields: Vec::new(), coefficients: Vec::new(), works: Vec::new() }
    }
}

impl<T> Arrays<T> {
    /// The array that a stage or somebody else reads.
    fn get(&self, array: Array) -> &Padded<T> {
        match array {
            Array::Field { field, level } => &self.fields[field][level],
            Array::Coefficient(coefficient) => &self.coefficients[coefficient],
            // Between steps what it was in the last one.
            Array::Work(work) => &self.works[work],
            Array::New(_) => {
                unreachable!("the new values of a field are its values after the step")
            }
        }
    }

    /// The array that a stage writes.
    fn written(&mut self, array: Array) -> &mut Padded<T> {
        match array {
            Array::New(field) => self.fields[field].last_mut().expect("an array for the next"),
            Array::Work(work) => &mut self.works[work],
            _ => unreachable!("a stage writes neither levels nor coefficients"),
        }
    }
}

/// How arrays lie in memory.
struct Layouts {
    fields: Vec<PaddedLayout>,
    coefficients: Vec<PaddedLayout>,
    works: Vec<PaddedLayout>,
}

impl Layouts {
    fn get(&self, array: Array) -> &PaddedLayout {
        match array {
            Array::Field { field, .. } | Array::New(field) => &self.fields[field],
            Array::Coefficient(coefficient) => &self.coefficients[coefficient],
            Array::Work(work) => &self.works[work],
        }
    }

    /// How many values behind a point of an array another one lies.
    fn distance(&self, array: Array, offset: Offset) -> isize {
        let (layout, [z, y, x]) = (self.get(array), offset.map(|it| it as isize));
        z * layout.plane() as isize + y * layout.pitch as isize + x
    }

    /// Rows of a plane that a thread computes before it takes those of the next plane: what a program reads of the planes
    /// around them stays in its cache, of as many bytes a value.
    fn rows_of_a_band(&self, system: &System, program: &Program, bytes: usize) -> usize {
        let planes = |array: Array| {
            let of_array = program.reads().filter(|(read, _)| *read == array);
            let planes: Vec<i32> = of_array.map(|(_, [z, ..])| z).collect();
            let ends = planes.iter().max().zip(planes.iter().min());
            ends.map_or(0, |(last, first)| (last - first) as usize)
        };
        let read = program.arrays().into_iter().map(|array| (array, planes(array), 1));
        let written = program.writes.iter().map(|array| match *array {
            Array::New(field) if own(system, field).is_some() => (*array, 0, 1),
            // Its lines are read, too, before they are written.
            _ => (*array, 0, 2),
        });
        let arrays = read.chain(written);
        let arrays = arrays.map(|(array, planes, others)| (self.get(array).pitch, planes, others));
        let arrays: Vec<(usize, usize, usize)> = arrays.collect();
        // Where each value is read for one plane only, none has to stay.
        if arrays.iter().all(|(_, planes, _)| *planes == 0) {
            return MOST;
        }
        let values = arrays.iter().map(|(pitch, planes, others)| pitch * (planes + others));
        (STAY / (values.sum::<usize>() * bytes)).clamp(FEWEST, MOST)
    }
}

struct Cpu<T: StoredType> {
    system: System,
    stages: Vec<Stage<T>>,
    /// Memory in which solves transform.
    spectra: Vec<Complex64>,
    layouts: Layouts,
    /// What no thread widens into now.
    widened: Mutex<Vec<WideBuffers<T::Computed>>>,
    arrays: Arrays<T>,
    /// What lies around each field, if it changes or is not zero.
    halos: Vec<Option<Halo<T>>>,
    /// What lies around each work field.
    halos_of_works: Vec<Option<Halo<T>>>,
    level: Level,
    /// The arrays by their numbers.
    numbered: Vec<Array>,
    /// Steps that are taken together, at most.
    depth: usize,
    /// Rows of a band, where several steps are.
    band: usize,
    /// Whether stages of a step follow each other through the rows.
    follows: bool,
    /// Steps that are done.
    done: usize,
    /// Whether each step waits for what the reductions of totals are before it.
    waits: bool,
    /// What they are, if somebody has told it for the next step.
    totals: Option<Vec<f64>>,
}

/// What is computed at all points before the next stage of a step begins.
struct Stage<T: StoredType> {
    /// Its solve, if it is one.
    solving: Option<StageSolve>,
    code: Code<T::Computed>,
    /// As machine code, where the processor takes it.
    compiled: Option<Compiled<T::Computed>>,
    /// What is computed away from points that conditions name, and from layers along sides.
    inner: Option<Inner<T::Computed>>,
    /// What is widened for a band, if values are not computed with as they lie in memory.
    windows: Option<Windows>,
    /// The arrays that are written.
    writes: Vec<Array>,
    /// Of each of them, whether it is a field whose next values are written over the oldest ones.
    in_place: Vec<bool>,
    /// Of each of the arrays that the code reads the values from row to row.
    pitches: Vec<usize>,
    /// By row (z, y): the place among what is written, x, and the place in the sources.
    sources: BTreeMap<[usize; 2], Vec<(usize, usize, usize)>>,
    /// Rows of a band of a single step.
    rows: usize,
}

impl<T: StoredType> Stage<T> {
    /// A stage of a system by its number, with these layouts of arrays; one that streams writes past the caches.
    fn new(
        (system, number): (&System, usize),
        layouts: &Layouts,
        streams: bool,
        vanishing: &mut Vec<Vanishing>,
    ) -> Self {
        let program = &system.stages[number];
        let windows = T::is_narrow().then(|| Windows::new(program, |array| *layouts.get(array)));
        let place = |array, offset| match &windows {
            Some(windows) => windows.distance(array, offset),
            None => layouts.distance(array, offset),
        };
        let own_place = |program: &Program, array| {
            own_field(system, array).and_then(|field| program.place_of(field))
        };
        let code = Code::new(program, |array| own_place(program, array), place);
        let streams = streams && windows.is_none();
        let compiled = Compiled::new(&code, (system, program.writes.len()), streams);
        let inner = Inner::new(program, (system, streams), own_place, place, vanishing)
            .filter(|inner| inner.are_compiled().all(|it| it == compiled.is_some()));
        let pitch = |reads: &Reads| match &windows {
            Some(windows) => windows.pitch(reads.array),
            None => layouts.get(reads.array).pitch,
        };
        let mut sources = BTreeMap::<_, Vec<_>>::new();
        for (index, source) in system.sources.iter().enumerate() {
            if let Some(place) = program.place_of(source.field) {
                let [z, y, x] = source.at;
                sources.entry([z, y]).or_default().push((place, x, index));
            }
        }
        let is_in_place = |array: &Array| match *array {
            Array::New(field) => own(system, field).is_some(),
            _ => false,
        };
        Self {
            solving: StageSolve::of_stage(system, number),
            compiled,
            inner,
            pitches: code.arrays.iter().map(pitch).collect(),
            code,
            windows,
            in_place: program.writes.iter().map(is_in_place).collect(),
            writes: program.writes.clone(),
            sources,
            rows: layouts.rows_of_a_band(system, program, size_of::<T>()),
        }
    }
}

impl<T: StoredType> Cpu<T> {
    fn new(system: System, beginning: StartValues) -> Self {
        let StartValues { step, coefficients, fields, .. } = beginning;
        let of_field = |field: usize| layout_of::<T>(&system, field);
        let of_array = |wanted: Array| layout::<T>(&system, |array| array == wanted);
        let layouts = Layouts {
            fields: (0..system.fields.len()).map(of_field).collect(),
            coefficients: (0..coefficients.len())
                .map(|it| of_array(Array::Coefficient(it)))
                .collect(),
            works: (0..system.works.len()).map(|it| of_array(Array::Work(it))).collect(),
        };
        let (mut halos, mut padded) = (Vec::new(), Vec::new());
        let mut arrays = 0..;
        for (index, field) in system.fields.iter().enumerate() {
            let layout = layouts.fields[index];
            let halo = halo(&field.boundary, layout);
            let mut levels: Vec<_> = fields[index]
                .iter()
                .map(|grid| fill(grid, layout, halo.as_ref(), lines(&mut arrays)))
                .collect();
            if own(&system, index).is_none() {
                let mut spare = Padded::staggered(layout, lines(&mut arrays));
                // What keeps its values around a grid is set once.
                if let Some(halo) = &halo {
                    halo.close(&mut spare, true);
                }
                levels.push(spare);
            }
            padded.push(levels);
            halos.push(halo);
        }
        let coefficient = |(index, grid): (usize, &Arc<Grid>)| {
            let layout = layouts.coefficients[index];
            let halo = halo(&system.coefficients[index].boundary, layout);
            fill(grid, layout, halo.as_ref(), lines(&mut arrays))
        };
        let coefficients = coefficients.iter().enumerate().map(coefficient).collect();
        let (mut works, mut halos_of_works) = (Vec::new(), Vec::new());
        for (work, layout) in system.works.iter().zip(&layouts.works) {
            let mut padded = Padded::staggered(*layout, lines(&mut arrays));
            let halo = halo(&work.boundary, *layout);
            if let Some(halo) = &halo {
                halo.close(&mut padded, true);
            }
            works.push(padded);
            halos_of_works.push(halo);
        }
        let arrays = Arrays { fields: padded, coefficients, works };
        let waits = system.waits_for_totals();
        let depth = if waits { 1 } else { depth(&system).unwrap_or(1) };
        // What a step writes is not in the caches when the next one reads it.
        let is_large = bytes(&system) > caches::last_level() as u128;
        let follows = system.is_staged() && check_together(&system).is_ok();
        let streams = depth == 1 && is_large && !follows;
        let mut vanishing = system.vanishing.clone();
        let of_stage = |number| Stage::new((&system, number), &layouts, streams, &mut vanishing);
        let stages: Vec<Stage<T>> = (0..system.stages.len()).map(of_stage).collect();
        let are_compiled = stages.iter().all(|stage| stage.compiled.is_some());
        Self {
            stages,
            spectra: Vec::new(),
            widened: Mutex::default(),
            layouts,
            arrays,
            halos,
            halos_of_works,
            level: Level::new(),
            numbered: system.numbered(),
            depth: if are_compiled { depth } else { 1 },
            band: if T::is_narrow() { pass::BAND } else { band(&system) },
            follows: follows && are_compiled,
            done: step,
            waits,
            totals: None,
            system,
        }
    }

    /// What the reductions of totals are before the next step, if it takes them.
    fn reduced(&mut self) -> Vec<f64> {
        match self.totals.take() {
            Some(known) => known,
            None if self.waits => {
                let (system, whole) = (&self.system, self.system.whole());
                let found = system.totals.find(|known| {
                    let by = (self.done, known);
                    Ok::<_, Infallible>(vec![reduced::reduce(system, &View(self), whole, by)])
                });
                found.unwrap_or_else(|never| match never {})
            }
            None => Vec::new(),
        }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<WideBuffers<T::Computed>>> {
        self.widened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a step has work for several threads.
    fn parallel(&self) -> bool {
        let steps: usize = self.stages.iter().map(|stage| stage.code.steps.len()).sum();
        self.system.shape.points() * steps >= SERIAL * self.stages.len()
    }

    /// What lies around an array that a stage writes, if it changes or is not zero.
    fn halo_of(&self, array: Array) -> Option<&Halo<T>> {
        match array {
            Array::New(field) => self.halos[field].as_ref(),
            Array::Work(work) => self.halos_of_works[work].as_ref(),
            _ => unreachable!("a stage writes neither levels nor coefficients"),
        }
    }

    /// Takes steps that are done together, with what goes along with them; of a rank's part with what gathers what is solved for.
    ///
    /// # Errors
    /// Another rank failed.
    fn pass(
        &mut self,
        steps: usize,
        among: Option<&Gather>,
        watch: &Watch<T>,
    ) -> Result<(), Error> {
        let reduced = self.reduced();
        let system = &self.system;
        let of_step = |step: usize| {
            let step = (self.done + step) as f64;
            let evaluator = Evaluator::new(system, PlainF64, &NoArrays, step).with_totals(&reduced);
            let number = |node| T::Computed::from_f64(evaluator.at(node, [0; 3]));
            let scalars = system.program.scalars.iter().map(number).collect();
            StepNumbers {
                scalars,
                added: system.sources.iter().map(|it| number(&it.add)).collect(),
            }
        };
        let numbers: Vec<StepNumbers<T::Computed>> = (0..steps).map(of_step).collect();
        let mut arrays = std::mem::take(&mut self.arrays);
        let parallel = self.parallel();
        if steps > 1 || self.follows {
            Pass::new(self, &mut arrays, (&numbers, watch)).several();
            for (levels, halo) in arrays.fields.iter_mut().zip(&self.halos) {
                let count = levels.len();
                levels.rotate_right(steps % count);
                if let Some(halo) = halo {
                    halo.close_around(&mut levels[0], parallel);
                }
            }
        } else {
            let mut spectra = std::mem::take(&mut self.spectra);
            let mut solved = Ok(());
            for stage in &self.stages {
                let is_solve = stage.solving.is_some();
                match &stage.solving {
                    Some(solving) => {
                        solved = solving.solve(&self.layouts, &mut arrays, &mut spectra, among);
                        if solved.is_err() {
                            break;
                        }
                    }
                    None => Pass::single((self, stage), &mut arrays, (&numbers, watch)),
                }
                for array in &stage.writes {
                    match self.halo_of(*array) {
                        // A pass closes its rows itself.
                        Some(halo) if is_solve => halo.close(arrays.written(*array), parallel),
                        Some(halo) => halo.close_around(arrays.written(*array), parallel),
                        None => (),
                    }
                }
            }
            self.spectra = spectra;
            if let Err(error) = solved {
                self.arrays = arrays;
                return Err(error);
            }
            arrays.fields.iter_mut().for_each(|levels| levels.rotate_right(1));
        }
        self.arrays = arrays;
        self.done += steps;
        Ok(())
    }

    /// How many rows before and behind a point are read.
    fn rows_read(&self) -> usize {
        let [_, rows, _] = self.system.program.reach(|_| true);
        rows
    }

    /// A value of an array.
    fn value(&self, array: Array, [z, y, x]: [usize; 3]) -> T {
        let layout = self.layouts.get(array);
        let plane = (layout.margins[0] + z) * layout.plane();
        self.array(array).from(plane + layout.at(y as isize, x as isize))[0]
    }

    fn array(&self, array: Array) -> &Padded<T> {
        self.arrays.get(array)
    }
}

/// How many steps are taken together: as many as are asked for, else as are worth it.
///
/// # Errors
/// Why so many are not.
pub fn depth(system: &System) -> Result<usize, String> {
    let [_, ny, _] = system.shape.extents();
    let reach = rows_of_a_step(system);
    let together = match system.chain {
        Depth::Steps(1) => return Ok(1),
        _ => check_together(system),
    };
    match (together, system.chain) {
        (Err(_), Depth::Auto) => Ok(1),
        (Err(reason), Depth::Steps(_)) => Err(reason),
        (Ok(most), Depth::Steps(steps)) if steps > most => {
            Err(format!("of {ny} rows at most {most} steps are taken together"))
        }
        (Ok(_), Depth::Steps(steps)) => Ok(steps),
        // Of chunks of threads no more than half may be gaps.
        (Ok(_), Depth::Auto) => {
            let rows = ny / (2 * rayon::current_num_threads());
            Ok(pass::fitting(rows, reach, DEPTH.min(staying(system))))
        }
    }
}

/// Bytes of a row of all arrays that steps of a system go through.
fn row_bytes(system: &System) -> usize {
    let [.., points] = system.shape.extents();
    // What is given is read in one step only.
    let held = system.fields.iter().filter(|field| field.is_held).count();
    let arrays = system.arrays() - held + system.coefficients.len() + system.works.len();
    arrays * points * stored(system).bytes()
}

/// Rows of a band, where several steps are taken together.
fn band(system: &System) -> usize {
    (BAND_BYTES / row_bytes(system).max(1)).clamp(pass::BAND, BAND_ROWS)
}

/// As many steps as have the rows that their stages go through in the caches of a core; any number of steps that have one.
fn staying(system: &System) -> usize {
    if !system.is_staged() {
        return usize::MAX;
    }
    let [_, reach, _] = system.program.reach(|_| true);
    let rows = AT_HAND / row_bytes(system);
    (rows.saturating_sub(pass::BAND) / (reach * system.stages.len()).max(1)).max(1)
}

/// Rows around those of a step that all of its stages read, each of the one before.
fn rows_of_a_step(system: &System) -> usize {
    let [_, rows, _] = system.program.reach(|_| true);
    rows * system.stages.len()
}

/// The most steps that can be taken together, or of which at least the stages follow each other through the rows.
///
/// # Errors
/// Why none can.
fn check_together(system: &System) -> Result<usize, String> {
    let [nz, ny, _] = system.shape.extents();
    let [planes, ..] = system.program.reach(|_| true);
    let reach = rows_of_a_step(system);
    system.check_solves_nothing()?;
    if nz > 1 || planes > 0 || ny == 1 {
        let what = "steps are taken together on grids of two axes, where no other plane is read";
        return Err(what.to_owned());
    }
    if !RowFunction::<f64>::is_possible() {
        let what = "steps are taken together by machine code, for which the processor has no AVX2";
        return Err(what.to_owned());
    }
    if system.is_staged() && ny < 2 * reach {
        return Err(format!("{ny} rows are too few for the stages of a step together"));
    }
    Ok(pass::fitting(ny, reach, usize::MAX))
}

/// The oldest values of a field, if the stage that computes the next ones reads them at the point itself only, and no later
/// one does: then the next ones are written over them. A field that is held stays where it is.
fn own(system: &System, field: usize) -> Option<Array> {
    if system.takes_back() {
        return None;
    }
    let oldest = Array::Field { field, level: system.fields[field].levels - 1 };
    if system.fields[field].is_held {
        return Some(oldest);
    }
    let writes = system.stages.iter().position(|stage| stage.place_of(field).is_some())?;
    let may_read = |stage: usize, offset| match stage.cmp(&writes) {
        Ordering::Less => true,
        Ordering::Equal => offset == [0; 3],
        Ordering::Greater => false,
    };
    let mut reads = system.stages.iter().enumerate().flat_map(|(stage, program)| {
        let of_oldest = program.reads().filter(|(array, _)| *array == oldest);
        of_oldest.map(move |(_, offset)| (stage, offset))
    });
    reads.all(|(stage, offset)| may_read(stage, offset)).then_some(oldest)
}

/// The field whose next values are written over an array.
fn own_field(system: &System, array: Array) -> Option<usize> {
    match array {
        Array::Field { field, .. } if own(system, field) == Some(array) => Some(field),
        _ => None,
    }
}

/// How arrays lie in memory that a step reads.
fn layout<T: StoredType>(system: &System, is_own: impl Fn(Array) -> bool) -> PaddedLayout {
    let layout = PaddedLayout::new(system.shape, system.program.reach(is_own), size_of::<T>());
    layout.apart(RowFunction::<T::Computed>::behind(), size_of::<T>())
}

/// How a field does: those that are held alike, as several of them may be one array of a tape at different times.
fn layout_of<T: StoredType>(system: &System, field: usize) -> PaddedLayout {
    let is_held = |array: Array| match array {
        Array::Field { field, .. } => system.fields[field].is_held,
        _ => false,
    };
    match system.fields[field].is_held {
        true => layout::<T>(system, is_held),
        false => layout::<T>(system, |array| array.is_of_field(field)),
    }
}

fn halo<T: StoredType>(boundary: &Boundary, layout: PaddedLayout) -> Option<Halo<T>> {
    let needed = layout.margins != [0; 3] && !boundary.is_zero();
    needed.then(|| Halo::new(boundary, layout))
}

/// Values as they lie in memory.
fn convert<T: StoredType>(values: &Values) -> Vec<T> {
    with_values!(values, values => {
        values.par_iter().map(|value| T::from_f64(Element::to_f64(*value))).collect()
    })
}

/// Lines of the cache by which the next array is staggered.
fn lines(arrays: &mut impl Iterator<Item = usize>) -> usize {
    arrays.next().map_or(0, |number| number * STAGGER % LINES)
}

/// A grid with what lies around it.
fn fill<T: StoredType>(
    grid: &Grid,
    layout: PaddedLayout,
    halo: Option<&Halo<T>>,
    lines: usize,
) -> Padded<T> {
    let mut padded = Padded::staggered(layout, lines);
    padded.set(&convert(&grid.values));
    if let Some(halo) = halo {
        halo.close(&mut padded, true);
    }
    padded
}

/// The present values, read one by one.
struct View<'a, T: StoredType>(&'a Cpu<T>);

impl<T: StoredType> evaluate::Values for View<'_, T> {
    fn value(&self, array: Array, index: usize) -> f64 {
        let [_, ny, nx] = self.0.system.shape.extents();
        let point = [index / (ny * nx), index / nx % ny, index % nx];
        self.0.value(array, point).to_f64()
    }

    fn row(&self, array: Array, start: usize, to: &mut [f64]) {
        let [_, ny, nx] = self.0.system.shape.extents();
        let [z, y, x] = [start / (ny * nx), start / nx % ny, start % nx];
        let layout = self.0.layouts.get(array);
        let first = (layout.margins[0] + z) * layout.plane() + layout.at(y as isize, x as isize);
        let values = &self.0.array(array).from(first)[..to.len()];
        values.iter().zip(to).for_each(|(value, to)| *to = value.to_f64());
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers of a start")
    }
}
