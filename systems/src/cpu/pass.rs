// SPDX-License-Identifier: MIT OR Apache-2.0
//! One or more time steps of all fields, band of rows by band of rows.
//!
//! Several steps of a plane are taken while its rows are in the caches. Each chunk of rows is gone through once: a step takes
//! the next band of rows as soon as the step before it has taken those that are read around it, `reach` rows further. What
//! is read from beyond a chunk is not there yet, so that each step takes `reach` rows less at an end than the one before;
//! when all chunks are done, the gaps between them are filled.
//!
//! ```text
//! rows    0                 c                 ny
//! step 2  . . [---------] . . . [---------] . .      . filled when the chunks are done, step by step
//! step 1  . [-------------] . [-------------] .
//! step 0  [----------------][----------------]
//! ```
//!
//! A step writes over the oldest level that the step before it reads, at rows around which that one is done: so no step needs
//! more memory than one. No row is written while a thread may read it, which each borrow of rows checks.
//!
//! A step that has stages is as many parts, each of which goes `reach` rows behind the one before, as steps do: what is said of
//! steps holds of parts.
//!
//! Inside a chunk this is the wavefront of Lamport ("The parallel execution of DO loops", 1974); chunks with gaps between them
//! are the split tiling of Grosser et al. ("Split tiling for GPUs", 2013).

use std::ops::Range;

use compute::engine::cpu::halo::Halo;
use compute::engine::cpu::padded::{Padded, PaddedLayout};
use rayon::prelude::*;
use shared_rows::{Read, SharedRows, Write};
use x86_writer::{InputRows, OutputRows};

use super::code::Reads;
use super::stored::StoredType;
use super::watch::Watch;
use super::{Arrays, Cpu, FEW_ROWS, Stage};
use crate::expression::Array;
use crate::inside::SETS;

mod rows;

/// Chunks for each thread.
const PARTS: usize = 4;

/// Numbers of a step.
pub struct StepNumbers<R> {
    /// Those that all points share.
    pub scalars: Vec<R>,
    /// What each source adds.
    pub added: Vec<R>,
}

/// Time steps that are taken together.
pub struct Pass<'a, T: StoredType> {
    of: &'a Cpu<T>,
    /// The stages that are taken of each step.
    stages: &'a [Stage<T>],
    coefficients: &'a [Padded<T>],
    /// Of several steps of each field its levels, the present one first, as they are before the first step; else of each array
    /// that is written the array.
    fields: Vec<Vec<SharedRows<'a, T>>>,
    /// Of several steps the work fields.
    works: Vec<SharedRows<'a, T>>,
    /// Of each step.
    numbers: &'a [StepNumbers<T::Computed>],
    /// What goes along.
    watch: &'a Watch<'a, T>,
}

/// What a thread computes with.
struct ThreadBuffers<R> {
    /// Of the programs of each set of axes ([`super::inner`]).
    slots: [Vec<R>; SETS],
    /// Of each part, what the machine code of these programs computes with.
    compiled: Vec<[Option<x86_writer::Workspace<R>>; SETS]>,
    widened: WideBuffers<R>,
}

/// Where values are widened: what is read of each array, and a row of each field.
#[derive(Default)]
pub struct WideBuffers<R> {
    inputs: Vec<Vec<R>>,
    outputs: Vec<Vec<R>>,
}

/// Rows of a plane, or of several.
#[derive(Clone, Debug)]
struct Band {
    planes: Range<usize>,
    rows: Range<usize>,
}

/// Levels of a field, whose rows are borrowed at run time.
fn shared<'a, T: StoredType>(
    levels: &'a mut [Padded<T>],
    layout: &PaddedLayout,
) -> Vec<SharedRows<'a, T>> {
    levels.iter_mut().map(|it| SharedRows::new(it.all_mut(), layout.pitch)).collect()
}

impl<'a, T: StoredType> Pass<'a, T> {
    /// Steps of a system, each with its numbers and what goes along, on the arrays that it has.
    pub fn new(
        of: &'a Cpu<T>,
        arrays: &'a mut Arrays<T>,
        (numbers, watch): (&'a [StepNumbers<T::Computed>], &'a Watch<'a, T>),
    ) -> Self {
        let Arrays { fields, coefficients, works } = arrays;
        let fields = fields.iter_mut().zip(&of.layouts.fields);
        let fields = fields.map(|(levels, layout)| shared(levels, layout));
        let works = works.iter_mut().zip(&of.layouts.works);
        let works = works.map(|(work, layout)| SharedRows::new(work.all_mut(), layout.pitch));
        let (fields, works) = (fields.collect(), works.collect());
        Self { of, stages: &of.stages, coefficients, fields, works, numbers, watch }
    }

    /// Room for a thread.
    fn room(&self) -> ThreadBuffers<T::Computed> {
        let compiled = (0..self.parts()).map(|_| Default::default()).collect();
        ThreadBuffers { slots: Default::default(), compiled, widened: WideBuffers::default() }
    }

    /// How many parts all steps have: the stages of each.
    fn parts(&self) -> usize {
        self.numbers.len() * self.stages.len()
    }

    /// The stage of a part.
    fn stage(&self, part: usize) -> &'a Stage<T> {
        self.of_part(part).1
    }

    /// The step of a part, and its stage.
    fn of_part(&self, part: usize) -> (usize, &'a Stage<T>) {
        (part / self.stages.len(), &self.stages[part % self.stages.len()])
    }

    /// Takes a stage of one step, whatever the grid has in rows and planes; bands have so many rows.
    pub fn single(
        (of, stage): (&'a Cpu<T>, &'a Stage<T>),
        arrays: &'a mut Arrays<T>,
        (numbers, watch): (&'a [StepNumbers<T::Computed>], &'a Watch<'a, T>),
    ) {
        let Arrays { fields, coefficients, works } = arrays;
        // Nobody writes what is read: no row of it need be borrowed.
        let (mut next, mut levels, mut read_works) = (Vec::new(), Vec::new(), Vec::new());
        for ((number, field), layout) in fields.iter_mut().enumerate().zip(&of.layouts.fields) {
            let is_written = stage.writes.contains(&Array::New(number));
            let others = field.len() - usize::from(is_written);
            let (read, written) = field.split_at_mut(others);
            levels.push(&*read);
            if is_written {
                next.push(shared(written, layout));
            }
        }
        for ((number, work), layout) in works.iter_mut().enumerate().zip(&of.layouts.works) {
            let is_written = stage.writes.contains(&Array::Work(number));
            let (read, written) = std::slice::from_mut(work).split_at_mut(usize::from(!is_written));
            read_works.push(read.first());
            if is_written {
                next.push(shared(written, layout));
            }
        }
        let stages = std::slice::from_ref(stage);
        let works = Vec::new();
        let pass = Self { of, stages, coefficients, fields: next, works, numbers, watch };
        let input = |reads: &Reads| {
            let array = match reads.array {
                Array::Field { field, level } => {
                    watch.given(0, reads.array).unwrap_or(&levels[field][level])
                }
                Array::New(field) => levels[field].last().expect("an array for the next"),
                Array::Coefficient(number) => &pass.coefficients[number],
                Array::Work(number) => read_works[number].expect("its stage is over"),
            };
            array.from(0)
        };
        let inputs: Vec<&[T]> = stage.code.arrays.iter().map(input).collect();
        let [nz, ny, _] = of.system.shape.extents();
        let [planes, rows, _] = stage.windows.as_ref().map_or([1, stage.rows, 0], |it| it.block);
        let band = |first: usize, start: usize| Band {
            planes: first..nz.min(first + planes),
            rows: start..ny.min(start + rows),
        };
        // Bands of a few rows through all planes after each other.
        let first_planes = || (0..nz).step_by(planes);
        let bands = (0..ny).step_by(rows).flat_map(|row| first_planes().map(move |z| (z, row)));
        let bands: Vec<Band> = bands.map(|(first, start)| band(first, start)).collect();
        match of.parallel() {
            // Few rows: threads share each.
            true if nz * ny < FEW_ROWS * rayon::current_num_threads() => {
                bands.into_iter().for_each(|band| pass.segments(band, &inputs));
            }
            true => bands.into_par_iter().for_each_init(
                || pass.room(),
                |room, band| pass.band(room, 0, band, Some(&inputs)),
            ),
            false => {
                let mut room = pass.room();
                bands.into_iter().for_each(|band| pass.band(&mut room, 0, band, Some(&inputs)));
            }
        }
    }

    /// Takes all steps of a grid of one plane.
    pub fn several(&self) {
        let ([_, ny, _], reach) = (self.of.system.shape.extents(), self.of.rows_read());
        let parts = self.parts();
        let halos = self.of.halos.iter().chain(&self.of.halos_of_works);
        let fixed = halos.flatten().all(Halo::has_fixed_rows);
        let threads = if self.of.parallel() { rayon::current_num_threads() } else { 1 };
        let chunks = chunks(ny, reach, parts, threads);
        let ends: Vec<usize> = (0..=chunks).map(|chunk| chunk * ny / chunks).collect();
        ends.par_windows(2).for_each(|ends| {
            let less = |part: usize, end: usize| match end == 0 || end == ny {
                true if fixed => 0,
                _ => part * reach,
            };
            let own = |part| ends[0] + less(part, ends[0])..ends[1] - less(part, ends[1]);
            self.chunk(ends[1], (0..parts).map(own).collect(), reach);
        });
        ends[1..chunks].par_iter().for_each_init(
            || self.room(),
            |room, &end| {
                for part in 1..parts {
                    self.rows(room, part, end - part * reach..end + part * reach);
                }
            },
        );
        if !fixed {
            let mut room = self.room();
            for part in 1..parts {
                self.close(part - 1);
                self.rows(&mut room, part, 0..part * reach);
                self.rows(&mut room, part, ny - part * reach..ny);
            }
        }
    }

    /// Takes the rows of each part in a chunk that ends there.
    fn chunk(&self, end: usize, mut rows: Vec<Range<usize>>, reach: usize) {
        let mut room = self.room();
        let mut front = rows[0].start;
        while rows.iter().any(|rows| !rows.is_empty()) {
            front = end.min(front + self.of.band);
            for (part, rows) in rows.iter_mut().enumerate() {
                let stop = if front == end { rows.end } else { front.saturating_sub(part * reach) };
                let stop = stop.clamp(rows.start, rows.end);
                self.rows(&mut room, part, rows.start..stop);
                rows.start = stop;
            }
        }
    }

    /// Takes rows of the only plane in bands.
    fn rows(&self, room: &mut ThreadBuffers<T::Computed>, part: usize, rows: Range<usize>) {
        let most = self.of.band;
        for start in rows.clone().step_by(most) {
            let rows = start..rows.end.min(start + most);
            self.band(room, part, Band { planes: 0..1, rows }, None);
        }
    }

    /// The values of a field so many steps before a step.
    fn level(&self, field: usize, level: usize, step: usize) -> &SharedRows<'a, T> {
        let levels = &self.fields[field];
        &levels[(level + levels.len() - step % levels.len()) % levels.len()]
    }

    /// Where a step writes the next values of a field.
    fn next(&self, field: usize, step: usize) -> &SharedRows<'a, T> {
        self.level(field, self.fields[field].len() - 1, step)
    }

    /// Where a part writes an array, which has a place among those that it writes.
    fn written(&self, part: usize, place: usize, array: Array) -> &SharedRows<'a, T> {
        match array {
            // A single stage has nothing but what it writes.
            _ if self.parts() == 1 => &self.fields[place][0],
            Array::New(field) => self.next(field, self.of_part(part).0),
            Array::Work(work) => &self.works[work],
            _ => unreachable!("a stage writes neither levels nor coefficients"),
        }
    }

    /// Sets the rows above and below the plane that a part has written.
    fn close(&self, part: usize) {
        for (place, array) in self.of_part(part).1.writes.iter().enumerate() {
            if let Some(halo) = self.of.halo_of(*array) {
                let written = self.written(part, place, *array);
                halo.close_plane(&mut written.write(0..written.count()));
            }
        }
    }

    /// The rows of an array that a part reads for a band, if it changes.
    fn part(&self, reads: &Reads, part: usize, band: &Band) -> Option<Read<'_, T>> {
        let (step, _) = self.of_part(part);
        let rows = match reads.array {
            Array::Field { .. } if self.watch.given(step, reads.array).is_some() => return None,
            Array::Field { field, level } => self.level(field, level, step),
            Array::New(field) => self.next(field, step),
            Array::Work(work) => &self.works[work],
            Array::Coefficient(_) => return None,
        };
        let layout = self.of.layouts.get(reads.array);
        let first = row(layout, band.planes.start, band.rows.start, reads.first);
        let last = row(layout, band.planes.end - 1, band.rows.end - 1, reads.last);
        Some(rows.read(first..last + 1))
    }

    /// What a band reads of an array, of rows that were borrowed, else of all values that an array has: where values are
    /// widened from the first row on, else from the first place of the band's first point on.
    fn from<'b>(
        &self,
        part: usize,
        reads: &Reads,
        band: &Band,
        rows: Option<&'b [T]>,
        all: &'b [T],
    ) -> &'b [T] {
        let layout = self.of.layouts.get(reads.array);
        let column = match self.stage(part).windows {
            Some(_) => 0,
            None => layout.left.strict_add_signed(reads.first[2] as isize),
        };
        let place =
            row(layout, band.planes.start, band.rows.start, reads.first) * layout.pitch + column;
        rows.map_or_else(|| &all[place..], |rows| &rows[column..])
    }

    /// Computes a band in a part, from arrays that nobody writes, or else from the rows that it reads.
    fn band(
        &self,
        room: &mut ThreadBuffers<T::Computed>,
        part: usize,
        band: Band,
        all: Option<&[&[T]]>,
    ) {
        let arrays = &self.stage(part).code.arrays;
        let borrowed: Vec<Option<Read<T>>> = match all {
            Some(_) => Vec::new(),
            None => arrays.iter().map(|it| self.part(it, part, &band)).collect(),
        };
        let reads = match all {
            Some(all) => self.reads(part, &band, all),
            None => self.reads_of_rows(part, &band, &borrowed),
        };
        let outputs = band.planes.clone().map(|plane| self.outputs(part, plane, &band));
        let mut outputs: Vec<Vec<Write<T>>> = outputs.collect();
        let [.., points] = self.of.system.shape.extents();
        let columns = self.stage(part).windows.as_ref().map_or(points, |it| it.block[2]);
        for start in (0..points).step_by(columns) {
            let columns = start..points.min(start + columns);
            let rows =
                outputs.iter_mut().map(|outputs| next(&self.layouts(part), outputs, &columns));
            self.columns(room, part, &band, columns.clone(), &reads, rows.collect());
        }
        outputs.iter_mut().for_each(|outputs| self.close_rows(part, &band, outputs));
        for (plane, outputs) in band.planes.clone().zip(&outputs) {
            self.note(part, plane, &band, outputs);
        }
    }

    /// Has what goes along note the rows that a part has written of a plane.
    fn note(&self, part: usize, plane: usize, band: &Band, outputs: &[Write<T>]) {
        if self.watch.notes_nothing() {
            return;
        }
        let (step, stage) = self.of_part(part);
        for (array, rows) in stage.writes.iter().zip(outputs) {
            let (Array::New(field), layout) = (*array, self.of.layouts.get(*array)) else {
                continue;
            };
            if !self.watch.notes(step, field) {
                continue;
            }
            let values = InputRows { values: &rows[layout.left..], pitch: layout.pitch };
            self.watch.note((step, field), (plane, band.rows.clone()), values);
        }
    }
}

/// The number of a row at some distance from one of the grid, in the array with its halo.
fn row(layout: &PaddedLayout, plane: usize, row: usize, [z, y, _]: [i32; 3]) -> usize {
    let at = |axis: usize, place: usize, more: i32| {
        (layout.margins[axis] + place).strict_add_signed(more as isize)
    };
    at(0, plane, z) * layout.plane_rows() + at(1, row, y)
}

/// The rows of a band's arrays from a column on.
fn next<'b, T>(
    layouts: &[&PaddedLayout],
    outputs: &'b mut [Write<T>],
    columns: &Range<usize>,
) -> Vec<OutputRows<'b, T>> {
    let rows = outputs.iter_mut().zip(layouts).map(|(output, layout)| OutputRows {
        values: &mut output[layout.left + columns.start..],
        pitch: layout.pitch,
    });
    rows.collect()
}

/// Chunks of so many rows for so many threads: some for each, as chunks take unlike time where values are so small that
/// processors are slow with them, if no more than half of a chunk are gaps.
fn chunks(rows: usize, reach: usize, steps: usize, threads: usize) -> usize {
    let most = rows / (2 * steps * reach).max(1);
    if threads == 1 { 1 } else { (most / 2).min(PARTS * threads).max(most.min(threads)).max(1) }
}
