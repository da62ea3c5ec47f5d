// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of a band: what they read, and how they are computed.

use super::{Band, Pass, ThreadBuffers, WideBuffers, next, row};
use crate::cpu::real::Real;
use crate::cpu::run::{self, PointRow};
use crate::cpu::stored::StoredType;
use crate::cpu::{SEGMENT, Stage};
use crate::expression::Array;
use compute::at_level;
use compute::engine::cpu::padded::PaddedLayout;
use problem::values::Element;
use rayon::prelude::*;
use shared_rows::{Read, Write};
use std::ops::Range;
use x86_writer::{InputRows, OutputRows};

impl<'a, T: StoredType> Pass<'a, T> {
    /// What a band reads of arrays that nobody writes.
    pub(super) fn reads<'b>(&self, part: usize, band: &Band, all: &[&'b [T]]) -> Vec<&'b [T]> {
        let reads = self.stage(part).code.arrays.iter().zip(all);
        reads.map(|(it, all)| self.from(part, it, band, None, all)).collect()
    }

    /// What a band reads of rows that were borrowed for it, of coefficients, and of what is given.
    pub(super) fn reads_of_rows<'b>(
        &'b self,
        part: usize,
        band: &Band,
        rows: &'b [Option<Read<T>>],
    ) -> Vec<&'b [T]> {
        let mut reads = Vec::new();
        let (step, _) = self.of_part(part);
        for (it, rows) in self.stage(part).code.arrays.iter().zip(rows) {
            let all = match it.array {
                Array::Coefficient(number) => self.coefficients[number].from(0),
                array => self.watch.given(step, array).map_or(&[][..], |given| given.from(0)),
            };
            reads.push(self.from(part, it, band, rows.as_deref(), all));
        }
        reads
    }

    /// Computes some columns of a band: the next values of all arrays, plane by plane.
    pub(super) fn columns(
        &self,
        room: &mut ThreadBuffers<T::Computed>,
        part: usize,
        band: &Band,
        columns: Range<usize>,
        reads: &[&[T]],
        next: Vec<Vec<OutputRows<T>>>,
    ) {
        let (of, stage) = (self.of, self.stage(part));
        let mut inputs = Vec::new();
        if let Some(windows) = &stage.windows {
            // Rooms come and go with the parts that threads share; memory that was written once is kept.
            room.widened = of.spare().pop().unwrap_or_default();
            inputs = std::mem::take(&mut room.widened.inputs);
            inputs.resize_with(stage.code.arrays.len(), Vec::new);
            let block = [band.planes.len(), band.rows.len(), columns.len()];
            for ((it, from), to) in stage.code.arrays.iter().zip(reads).zip(&mut inputs) {
                let of_array = (it, of.layouts.get(it.array));
                windows.fill(of.level, of_array, block, columns.start, from, to);
            }
        }
        let size = [band.rows.len(), columns.len()];
        for (number, mut next) in next.into_iter().enumerate() {
            let arrays = stage.code.arrays.iter().zip(reads).zip(&stage.pitches).enumerate();
            let rows = arrays.map(|(array, ((it, from), pitch))| {
                let values = match &stage.windows {
                    Some(windows) => &inputs[array][windows.first(it, number)..],
                    None => &T::computed(from).expect("not widened")[columns.start..],
                };
                InputRows { values, pitch: *pitch }
            });
            let point = [band.planes.start + number, band.rows.start, columns.start];
            self.plane(room, part, (point, size), &rows.collect::<Vec<_>>(), &mut next);
        }
        if stage.windows.is_some() {
            let outputs = std::mem::take(&mut room.widened.outputs);
            of.spare().push(WideBuffers { inputs, outputs });
        }
    }

    /// Computes as many columns of as many rows of a plane as the size says, from a point on, of all arrays.
    pub(super) fn plane(
        &self,
        room: &mut ThreadBuffers<T::Computed>,
        part: usize,
        (point, [rows, columns]): ([usize; 3], [usize; 2]),
        reads: &[InputRows<T::Computed>],
        next: &mut [OutputRows<T>],
    ) {
        if self.stage(part).windows.is_none() {
            let own = next.iter_mut().map(|next| OutputRows {
                values: T::computed_mut(next.values).expect("not widened"),
                pitch: next.pitch,
            });
            let mut own: Vec<OutputRows<T::Computed>> = own.collect();
            self.compute(room, part, (point, [rows, columns]), reads, &mut own);
            let dtype = self.of.system.dtype;
            // Others are rounded to values that the type holds.
            let rounded = if dtype == T::Computed::DTYPE { 0 } else { rows };
            for row in 0..rounded {
                let stored = own.iter_mut().map(|own| own.row(row, columns));
                stored.for_each(|own| T::Computed::store(own, dtype));
            }
            return;
        }
        let [z, y, x] = point;
        for row in 0..rows {
            let reads: Vec<_> = reads.iter().map(|it| it.from([row, 0])).collect();
            let next = next.iter_mut().map(|next| next.row(row, columns)).collect();
            self.narrow_row(room, part, [z, y + row, x], &reads, next);
        }
    }

    /// Computes a part of a row in a wider type than its values have in memory.
    pub(super) fn narrow_row(
        &self,
        room: &mut ThreadBuffers<T::Computed>,
        part: usize,
        point: [usize; 3],
        reads: &[InputRows<T::Computed>],
        mut next: Vec<&mut [T]>,
    ) {
        let columns = next.first().map_or(0, |next| next.len());
        let mut outputs = std::mem::take(&mut room.widened.outputs);
        outputs.resize_with(next.len(), Vec::new);
        for ((output, next), is_own) in
            outputs.iter_mut().zip(&next).zip(&self.stage(part).in_place)
        {
            output.resize(next.len(), T::Computed::ZERO);
            if *is_own {
                T::widen_row(self.of.level, next, output);
            }
        }
        let values = outputs.iter_mut().map(|values| OutputRows { values, pitch: columns });
        self.compute(room, part, (point, [1, columns]), reads, &mut values.collect::<Vec<_>>());
        for (output, next) in outputs.iter().zip(&mut next) {
            T::round_row(self.of.level, output, next);
        }
        room.widened.outputs = outputs;
    }

    /// Sets what lies on the left and right of a band's rows.
    pub(super) fn close_rows(&self, part: usize, band: &Band, outputs: &mut [Write<T>]) {
        for (array, rows) in self.stage(part).writes.iter().zip(outputs) {
            let layout = self.of.layouts.get(*array);
            if let Some(halo) = self.of.halo_of(*array) {
                // What lies behind the last row of an array is no row.
                let rows = rows.chunks_exact_mut(layout.pitch).take(band.rows.len());
                rows.for_each(|row| halo.close_row(row));
            }
        }
    }

    /// Computes a band of the only step, whose rows all threads share.
    pub(super) fn segments(&self, band: Band, all: &[&[T]]) {
        let (of, part) = (self.of, 0);
        let whole = 0..of.system.shape.extents()[2];
        let segment = self.stage(part).windows.as_ref().map_or(SEGMENT, |it| it.block[2]);
        for (plane, own) in band.planes.clone().flat_map(|z| band.rows.clone().map(move |y| (z, y)))
        {
            let row = Band { planes: plane..plane + 1, rows: own..own + 1 };
            let (reads, mut outputs) = (self.reads(part, &row, all), self.outputs(0, plane, &row));
            let mut parts: Vec<Vec<OutputRows<T>>> = Vec::new();
            for next in next(&self.layouts(part), &mut outputs, &whole) {
                let row = &mut next.values[..whole.len()];
                for (part, values) in row.chunks_mut(segment).enumerate() {
                    parts.resize_with(parts.len().max(part + 1), Vec::new);
                    parts[part].push(OutputRows { values, pitch: segment });
                }
            }
            parts.into_par_iter().enumerate().for_each_init(
                || self.room(),
                |room, (part, next)| {
                    let columns = part * segment..whole.end.min((part + 1) * segment);
                    self.columns(room, 0, &row, columns, &reads, vec![next]);
                },
            );
            self.close_rows(part, &row, &mut outputs);
            self.note(part, plane, &row, &outputs);
        }
    }

    /// The rows of one of a band's planes in which a part writes, of each array that it writes.
    pub(super) fn outputs(&self, part: usize, plane: usize, band: &Band) -> Vec<Write<'_, T>> {
        let output = |(place, layout): (usize, &PaddedLayout)| {
            let first = row(layout, plane, band.rows.start, [0; 3]);
            let array = self.stage(part).writes[place];
            self.written(part, place, array).write(first..first + band.rows.len())
        };
        self.layouts(part).into_iter().enumerate().map(output).collect()
    }

    /// How the arrays that are written lie in memory.
    pub(super) fn layouts(&self, part: usize) -> Vec<&'a PaddedLayout> {
        self.stage(part).writes.iter().map(|array| self.of.layouts.get(*array)).collect()
    }

    /// Computes as many columns of as many rows as the size says, of all arrays, in the type that is computed with.
    pub(super) fn compute(
        &self,
        room: &mut ThreadBuffers<T::Computed>,
        part: usize,
        ([z, y, x], [rows, columns]): ([usize; 3], [usize; 2]),
        reads: &[InputRows<T::Computed>],
        next: &mut [OutputRows<T::Computed>],
    ) {
        let (step, stage) = self.of_part(part);
        match &stage.inner {
            None => self.piece(room, part, ([z, y, x], [rows, columns]), 0, reads, next),
            Some(inner) => {
                let along = |row: usize| inner.along([z, y + row]);
                let mut first = 0;
                while first < rows {
                    let own = along(first);
                    let more = (first + 1..rows).take_while(|row| along(*row) == own).count();
                    for (piece, set) in inner.pieces(own, x, columns) {
                        let of_piece = [first, piece.start];
                        let reads: Vec<_> = reads.iter().map(|it| it.from(of_piece)).collect();
                        let point = [z, y + first, x + piece.start];
                        let size = [more + 1, piece.len()];
                        let all = next.iter_mut().map(|it| it.from(of_piece));
                        let written = self.written_by(stage, set, size, all);
                        let mut written: Vec<OutputRows<T::Computed>> = written.collect();
                        if !written.is_empty() {
                            self.piece(room, part, (point, size), set, &reads, &mut written);
                        }
                    }
                    first += more + 1;
                }
            }
        }
        if stage.sources.is_empty() {
            return;
        }
        let added = &self.numbers[step].added;
        for row in 0..rows {
            for &(place, at, source) in stage.sources.get(&[z, y + row]).into_iter().flatten() {
                let column = at.checked_sub(x).filter(|column| *column < columns);
                if let Some(column) = column {
                    next[place].row(row, columns)[column] += added[source];
                }
            }
        }
    }

    /// Of rows of all arrays those that the program of a set of axes writes; the others keep what they have, or have it set to 0 where another
    /// row was widened before.
    pub(super) fn written_by<'b>(
        &self,
        stage: &'b Stage<T>,
        set: usize,
        [rows, columns]: [usize; 2],
        all: impl Iterator<Item = OutputRows<'b, T::Computed>>,
    ) -> impl Iterator<Item = OutputRows<'b, T::Computed>> {
        let program = stage.inner.as_ref().and_then(|inner| inner.programs[set].as_ref());
        all.enumerate().filter_map(move |(place, mut own)| {
            if program.is_none_or(|program| program.writes.contains(&place)) {
                return Some(own);
            }
            if stage.windows.is_some() {
                (0..rows).for_each(|row| own.row(row, columns).fill(T::Computed::ZERO));
            }
            None
        })
    }

    /// Computes as many columns of as many rows as the size says by the program of a set of axes.
    pub(super) fn piece(
        &self,
        room: &mut ThreadBuffers<T::Computed>,
        part: usize,
        (point, [rows, columns]): ([usize; 3], [usize; 2]),
        set: usize,
        reads: &[InputRows<T::Computed>],
        next: &mut [OutputRows<T::Computed>],
    ) {
        let ((step, stage), of) = (self.of_part(part), self.of);
        let numbers = &self.numbers[step];
        let program = stage.inner.as_ref().and_then(|inner| inner.programs[set].as_ref());
        let (code, compiled) = match program {
            Some(program) => (&program.code, &program.compiled),
            None => (&stage.code, &stage.compiled),
        };
        if let (Some(compiled), true) = (compiled, stage.compiled.is_some()) {
            let own = &mut room.compiled[part][set];
            let own = own.get_or_insert_with(|| compiled.room(&numbers.scalars));
            let whole = (&of.system, point, [rows, columns]);
            compiled.execute(own, &numbers.scalars, whole, reads, next);
            return;
        }
        let slots = &mut room.slots[set];
        let [z, y, x] = point;
        at_level!(of.level, simd => {
            if slots.is_empty() {
                *slots = run::slots(simd, code, &numbers.scalars);
            }
            for row in 0..rows {
                let reads: Vec<_> = reads.iter().map(|it| it.from([row, 0]).values).collect();
                let mut next: Vec<_> = next.iter_mut().map(|it| it.row(row, columns)).collect();
                let point = [z, y + row, x];
                let run = PointRow { code, reads: &reads, system: &of.system, point };
                run.execute(simd, slots, &mut next);
            }
        });
    }
}
