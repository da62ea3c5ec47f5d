// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reductions of a system's totals over a box of points: each thread takes points of rows, a block adds up its threads',
//! and whoever launches adds up the blocks'.
//!
//! A unit is a piece of a row; blocks take them in turns, so that a grid of any shape keeps a GPU busy. The last ones come
//! first: what a step has written last is still in the cache, and what is read last is there when the next step begins with
//! it. What is reduced is computed in f64 with operations that are rounded one by one, and sums are kept in two parts
//! (`crate::totals::exact`), so that the result is that of any other engine.

use std::collections::HashMap;

use cuda_driver::Extents;

use super::edge::EdgePoint;
use super::{GeneratedKernel, HELD, HELD_VALUES, Point, Table, Writer, addresses, check, text};
use crate::checked::System;
use crate::expression::{Array, Fold};
use crate::gpu::geometry::Geometry;
use crate::gpu::numbers;
use crate::gpu::places::PlaceTables;
use crate::program::Offset;
use crate::totals::exact;
use problem::Region;
use ptx_writer::{
    B32, Emitter, Label, Number, NumberFormats, Register, Relation, Shared, THREAD, U32,
};

/// Bytes of what a reduction is of a block: two numbers.
pub const PARTIAL: usize = 16;

mod units;

use units::{THREADS, Units};

const UNITS: Label = Label::named("UNITS");
const PART: Label = Label::named("PART");
const NEXT: Label = Label::named("NEXT");
const SHARED: Label = Label::named("SHARED");

/// The kernel of the totals of a system.
#[derive(Clone, Debug)]
pub struct TotalsKernel {
    /// The kernel, without a launch of its own.
    pub kernel: Box<GeneratedKernel>,
    units: Units,
}

impl TotalsKernel {
    /// A launch.
    pub fn launch(&self) -> Extents {
        let (blocks, threads) = (self.blocks() as u32, THREADS as u32);
        Extents { blocks, threads, shared_bytes: self.kernel.shared_bytes as u32 }
    }

    /// Blocks of a launch, each of which leaves its part of all reductions.
    pub fn blocks(&self) -> usize {
        self.units.blocks()
    }
}

impl GeneratedKernel {
    /// With that of a system's totals over a box of points, if it has some.
    ///
    /// # Errors
    /// It has what the kernel has no instructions for.
    pub fn with_totals(self, system: &System, own: Region) -> Result<Self, String> {
        if system.totals.reductions.is_empty() {
            return Ok(self);
        }
        let (program, bytes) = (&system.totals.program, system.dtype.bytes());
        let units = Units::new(program, &self.geometry, bytes, own);
        let kernel = Box::new(Self::of_totals(system, &self.geometry, &units)?);
        Ok(Self { totals: Some(TotalsKernel { kernel, units }), ..self })
    }

    fn of_totals(system: &System, like: &Geometry, units: &Units) -> Result<Self, String> {
        let reduced = system.of_totals();
        let program = &reduced.program;
        let arrays: Vec<Array> = program.arrays().into_iter().collect();
        let arrays_read = arrays.len();
        let places = PlaceTables::new(&reduced, program.reach(|_| true));
        let geometry = Geometry { march: None, finds_sides: false, ..like.clone() };
        check_totals(system, &geometry)?;
        let mut writer = Writer {
            system: &reduced,
            program,
            numbers: NumberFormats { exact: true, ..numbers(system.dtype) },
            geometry: &geometry,
            places: &places,
            arrays: &arrays,
            written: 0,
            emitter: Emitter::default(),
            addresses: Vec::new(),
            numbers_now: None,
            scalars: Vec::new(),
            added: Vec::new(),
            of_member: None,
        };
        writer.load_addresses(units.blocks());
        let folds: Vec<Fold> = system.totals.folds().collect();
        writer.reduce(&folds, units);
        let text = text(writer.emitter, HELD_VALUES, THREADS, 1);
        let shared_bytes = THREADS * PARTIAL * folds.len();
        let (written, after) = (Vec::new(), Vec::new());
        Ok(Self {
            solves: false,
            text,
            geometry,
            arrays,
            written,
            tile: None,
            shared_bytes,
            places,
            parameters: addresses(&reduced, arrays_read, 0),
            blocks: units.blocks(),
            after,
            totals: None,
        })
    }
}

/// Checks that there can be a kernel of a system's totals, whose arrays lie so in memory.
///
/// # Errors
/// Why there cannot.
pub fn check_totals(system: &System, geometry: &Geometry) -> Result<(), String> {
    let (found, most) = (system.totals.reductions.len(), MOST_SHARED / (THREADS * PARTIAL));
    if found > most {
        return Err(format!("totals take {found} sums over the grid, at most {most}"));
    }
    check(system, (system.totals.program.arrays().len(), 0), geometry)
}

/// Bytes of shared memory that a block has on any GPU without asking for more.
const MOST_SHARED: usize = 48 << 10;

impl Writer<'_> {
    fn reduce(&mut self, folds: &[Fold], units: &Units) {
        self.load_numbers();
        let (block, thread) = (self.block(), self.emitter.mov(U32, THREAD));
        let sums: Vec<[Number; 2]> = folds.iter().map(|fold| self.begin(*fold)).collect();
        let low = units.own.low.map(|at| at as usize);
        let [_, rows, _] = units.own.extents();
        let emitter = &mut self.emitter;
        // The last ones first; below 0 comes a large number.
        let last = emitter.mov(U32, units.all().saturating_sub(1));
        let unit = emitter.sub(U32, last, block);
        emitter.label(UNITS);
        let done = emitter.setp(Relation::AtLeast, U32, unit, units.all());
        emitter.branch_if(done, SHARED);
        let row = emitter.div(U32, unit, units.of_row());
        let piece = emitter.rem(U32, unit, units.of_row());
        let plane = emitter.div(U32, row, rows);
        let row = emitter.rem(U32, row, rows);
        let z = emitter.add(U32, plane, low[0]);
        let y = emitter.add(U32, row, low[1]);
        let start = emitter.mad(U32, piece, units.points(), units.first());
        let x = emitter.mad(U32, thread, units.group, start);
        if units.end() - units.first() >= units.points() {
            let end = emitter.add(U32, start, units.points());
            let beyond = emitter.setp(Relation::AtLeast, U32, end, units.end() + 1);
            emitter.branch_if(beyond, PART);
            if units.first() < units.low() {
                let before = emitter.setp(Relation::Less, U32, start, units.low());
                emitter.branch_if(before, PART);
            }
            let values = self.of_points([z, y, x], units, true);
            for (fold, value, sum) in each(folds, &values, &sums) {
                self.take(fold, sum, [Some(value), None]);
            }
            self.emitter.branch(NEXT);
        }
        self.emitter.label(PART);
        let outside = self.emitter.setp(Relation::AtLeast, U32, x, units.end());
        self.emitter.branch_if(outside, NEXT);
        let values = self.of_points([z, y, x], units, false);
        for (column, values) in values.iter().enumerate() {
            let (group, place) = (column / units.group, column % units.group);
            let at = self.emitter.add(U32, x, group * units.group * THREADS + place);
            let mut counts = self.emitter.setp(Relation::Less, U32, at, units.end());
            if units.first() < units.low() {
                counts = self.emitter.setp_and(Relation::AtLeast, U32, at, units.low(), counts);
            }
            for (fold, value, sum) in each(folds, std::slice::from_ref(values), &sums) {
                let nothing = self.numbers.immediate(fold.nothing());
                let value = self.emitter.choose(value, nothing, counts);
                self.take(fold, sum, [Some(value), None]);
            }
        }
        let emitter = &mut self.emitter;
        emitter.label(NEXT);
        emitter.decrease(unit, units.blocks());
        emitter.branch(UNITS);
        emitter.label(SHARED);
        self.among_threads(folds, &sums, thread);
        let others = self.emitter.setp(Relation::AtLeast, U32, thread, 1);
        self.emitter.ret_if(others);
        let records = self.table(Table::Records);
        let to = self.emitter.element(records, block, PARTIAL * folds.len());
        for (number, sum) in sums.iter().enumerate() {
            for (part, value) in sum.iter().enumerate() {
                self.emitter.store(to.at(PARTIAL * number + 8 * part), *value);
            }
        }
        self.emitter.ret();
    }

    /// What is reduced at the points of a thread, of which the first is given. A group that begins beyond the last one of the row is
    /// taken there, unless it is known that none does.
    fn of_points(
        &mut self,
        [z, y, x]: [Register<B32>; 3],
        units: &Units,
        are_all: bool,
    ) -> Vec<Vec<Number>> {
        let &Units { group, columns, .. } = units;
        let mut points = Columns { points: Vec::new(), column: 0, group, loaded: HashMap::new() };
        let mut starts = Vec::new();
        for number in 0..columns / group {
            let emitter = &mut self.emitter;
            let mut start = emitter.add(U32, x, number * group * THREADS);
            if !are_all {
                start = emitter.min(U32, start, (units.end() - 1) / group * group);
            }
            starts.push(start);
            for place in 0..group {
                points.points.push(EdgePoint::new([z, y, self.emitter.add(U32, start, place)]));
            }
        }
        if group > 1 {
            let mut stored = Vec::new();
            for (number, start) in starts.into_iter().enumerate() {
                let distance = self.distance([z, y, start]);
                for array in self.arrays {
                    let place = self.emitter.offset(self.start(*array), distance).at(0);
                    let values = self.numbers.load_several(&mut self.emitter, place, group);
                    let places = values.into_iter().zip(number * group..);
                    stored.extend(places.map(|(value, column)| ((*array, column), value)));
                }
            }
            let widen = |(at, value)| (at, self.numbers.widen(&mut self.emitter, value));
            points.loaded = stored.into_iter().map(widen).collect();
        }
        self.evaluate_columns(&mut points, columns)
    }

    /// Registers for a reduction, of nothing so far.
    fn begin(&mut self, fold: Fold) -> [Number; 2] {
        exact::nothing(fold).map(|value| {
            let register = self.numbers.register(&mut self.emitter);
            let value = self.numbers.immediate(value);
            self.emitter.set(register, value);
            register
        })
    }

    /// Takes a value, of which a second part may be what rounding has lost, into a reduction.
    fn take(&mut self, fold: Fold, [high, low]: [Number; 2], of: [Option<Number>; 2]) {
        let emitter = &mut self.emitter;
        let value = of[0].expect("a value");
        match fold {
            Fold::Sum => {
                let sum = emitter.compute("add.rn", &[high, value]);
                let of_value = emitter.compute("sub.rn", &[sum, high]);
                let of_high = emitter.compute("sub.rn", &[sum, of_value]);
                let lost = emitter.compute("sub.rn", &[value, of_value]);
                let of_high = emitter.compute("sub.rn", &[high, of_high]);
                let lost = emitter.compute("add.rn", &[of_high, lost]);
                let more = match of[1] {
                    Some(part) => emitter.compute("add.rn", &[low, part]),
                    None => low,
                };
                let low_then = emitter.compute("add.rn", &[more, lost]);
                emitter.set(high, sum);
                emitter.set(low, low_then);
            }
            Fold::Min | Fold::Max => {
                let opcode = if fold == Fold::Min { "min" } else { "max" };
                let one = emitter.compute(opcode, &[high, value]);
                emitter.set(high, one);
            }
        }
    }

    /// Adds up what the threads of a block have: the first one has it then.
    fn among_threads(&mut self, folds: &[Fold], sums: &[[Number; 2]], thread: Register<B32>) {
        let base = self.emitter.mov(Shared, HELD);
        let own = self.emitter.shared_element(base, thread, 8);
        let place = |number: usize, part: usize| (2 * number + part) * THREADS * 8;
        for (number, sum) in sums.iter().enumerate() {
            for (part, value) in sum.iter().enumerate() {
                self.emitter.store(own.at(place(number, part)), *value);
            }
        }
        let mut half = THREADS / 2;
        while half > 0 {
            let skip = self.emitter.new_label();
            self.emitter.barrier();
            let idle = self.emitter.setp(Relation::AtLeast, U32, thread, half);
            self.emitter.branch_if(idle, skip);
            for (number, (fold, sum)) in folds.iter().zip(sums).enumerate() {
                let other = [0, 1].map(|part| {
                    let at = own.at(place(number, part) + half * 8);
                    Some(self.numbers.load_number(&mut self.emitter, at))
                });
                self.take(*fold, *sum, other);
                for (part, value) in sum.iter().enumerate() {
                    self.emitter.store(own.at(place(number, part)), *value);
                }
            }
            self.emitter.label(skip);
            half /= 2;
        }
    }
}

/// Each reduction with a value that it takes, of points, and what it has.
fn each<'a>(
    folds: &'a [Fold],
    points: &'a [Vec<Number>],
    sums: &'a [[Number; 2]],
) -> impl Iterator<Item = (Fold, Number, [Number; 2])> {
    points.iter().flat_map(move |values| {
        let all = folds.iter().zip(values).zip(sums);
        all.map(|((fold, value), sum)| (*fold, *value, *sum))
    })
}

/// Points of a row, in groups some distance from each other.
struct Columns {
    points: Vec<EdgePoint>,
    column: usize,
    /// Points that lie side by side.
    group: usize,
    /// What was loaded of points by themselves, where several lie side by side.
    loaded: HashMap<(Array, usize), Number>,
}

impl Point for Columns {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> Number {
        if self.group == 1 {
            return self.points[self.column].read(writer, array, offset);
        }
        self.loaded[&(array, self.column)]
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        self.points[self.column].place(writer, axis, offset)
    }

    fn turn_to(&mut self, column: usize) {
        self.column = column;
    }
}
