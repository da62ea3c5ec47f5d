// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on all cores of this machine: rows of points in parallel, by machine code, or else one operation after the other on
//! each block of a row.
//!
//! Values of f16 and bf16 are computed with as f32: rows that a band reads are widened for it ([`window`]). Where a side has
//! a slope, they are kept as f32 that these types hold, for what lies beyond such a side is a sum that is not rounded to them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fearless_simd::Level;
use half::{bf16, f16};
use num_complex::Complex64;
use x86_writer::RowFunction;

use self::arrays::{Arrays, Layouts, fill, halo, layout, layout_of, lines};
use self::pass::{Pass, StepNumbers, WideBuffers};
use self::session::OnCpu;
use self::stage::Stage;
use self::stored::StoredType;
pub use self::together::depth;
use self::together::{band, check_together, own};
use self::watch::Watch;
use super::budget;
use super::checked::System;
use super::evaluate::{self, Evaluator, NoArrays, PlainF64};
use super::expression::Array;
use super::parts::Field;
use super::reduced;
use super::session::StepSession;
use super::start::StartValues;
use compute::engine::cpu::caches;
use compute::engine::cpu::halo::Halo;
use compute::engine::cpu::padded::{self, Padded};
use compute::ranks::Gather;
use problem::values::Element;
use problem::{Dtype, Error, Grid, Shape};

mod arrays;
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
mod stage;
mod step;
mod stored;
mod together;
mod watch;
mod window;

#[cfg(test)]
mod tests;

/// Points of a row that one thread computes, where threads share rows.
const SEGMENT: usize = 4096;
/// Rows for each thread below which they share rows.
const FEW_ROWS: usize = 2;
/// Bytes that stay in the cache of a core.
const STAY: usize = 1 << 19;
/// Lines of the cache by which each array is staggered against the one before it, and in how many there are again the first
/// ones: those of a page.
const STAGGER: usize = 3;
const LINES: usize = 64;
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
            band: if T::is_narrow() { together::BAND } else { band(&system) },
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
