// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reductions of a system's totals over a box of points: each thread takes points of rows, a block adds up its threads',
//! and whoever launches adds up the blocks'.
//!
//! A unit is a piece of a row; blocks take them in turns, so that a grid of any shape keeps a GPU busy. What is reduced is
//! computed in f64 with operations that are rounded one by one, and sums are kept in two parts (`crate::totals::exact`), so
//! that the result is that of any other engine.

use cuda_driver::Extents;

use super::edge::AtEdge;
use super::{HELD, HELD_VALUES, Kernel, Point, Table, Writer, addresses, check, text};
use crate::checked::System;
use crate::expression::{Array, Fold};
use crate::gpu::geometry::Geometry;
use crate::gpu::numbers;
use crate::gpu::places::Places;
use crate::program::Offset;
use crate::totals::exact;
use problem::Region;
use ptx_writer::{
    B32, Emitter, Label, Number, Numbers, Predicate, Register, Relation, Shared, THREAD, U32,
};

/// Threads of a block.
const THREADS: usize = 128;
/// Points of a thread that are computed side by side, at most, so that it waits for the values of all of them at once.
const COLUMNS: usize = 4;
/// Points of a unit.
const UNIT: usize = 4 * COLUMNS * THREADS;
/// Blocks, at most: some for each multiprocessor of the largest GPUs.
const BLOCKS: usize = 1024;
/// Bytes of what a reduction is of a block: two numbers.
pub const PARTIAL: usize = 16;

const UNITS: Label = Label::named("UNITS");
const POINTS: Label = Label::named("POINTS");
const NEXT: Label = Label::named("NEXT");
const SHARED: Label = Label::named("SHARED");

/// How a box is shared among blocks.
struct Units {
    /// Pieces of a row.
    of_row: usize,
    all: usize,
    blocks: usize,
    /// Points that a thread computes side by side.
    columns: usize,
}

impl Units {
    fn of(own: Region) -> Self {
        let [planes, rows, points] = own.extents();
        let of_row = points.div_ceil(UNIT);
        let all = planes * rows * of_row;
        let columns = points.div_ceil(THREADS).clamp(1, COLUMNS);
        Self { of_row, all, blocks: all.min(BLOCKS), columns }
    }
}

/// The kernel of the totals of a system.
#[derive(Clone, Debug)]
pub struct TotalsKernel {
    /// The kernel, without a launch of its own.
    pub kernel: Box<Kernel>,
    /// The box of points.
    own: Region,
}

impl TotalsKernel {
    /// A launch.
    pub fn launch(&self) -> Extents {
        let (blocks, threads) = (self.blocks() as u32, THREADS as u32);
        Extents { blocks, threads, shared_bytes: self.kernel.shared_bytes as u32 }
    }

    /// Blocks of a launch, each of which leaves its part of all reductions.
    pub fn blocks(&self) -> usize {
        Units::of(self.own).blocks
    }
}

impl Kernel {
    /// With that of a system's totals over a box of points, if it has some.
    ///
    /// # Errors
    /// It has what the kernel has no instructions for.
    pub fn with_totals(self, system: &System, own: Region) -> Result<Self, String> {
        if system.totals.reductions.is_empty() {
            return Ok(self);
        }
        let kernel = Box::new(Self::of_totals(system, &self.geometry, own)?);
        Ok(Self { totals: Some(TotalsKernel { kernel, own }), ..self })
    }

    fn of_totals(system: &System, like: &Geometry, own: Region) -> Result<Self, String> {
        let reduced = system.of_totals();
        let program = &reduced.program;
        let arrays: Vec<Array> = program.arrays().into_iter().collect();
        let arrays_read = arrays.len();
        let places = Places::new(&reduced, program.reach(|_| true));
        let geometry = Geometry { march: None, finds_sides: false, ..like.clone() };
        check_totals(system, &geometry)?;
        let mut writer = Writer {
            system: &reduced,
            program,
            numbers: Numbers { exact: true, ..numbers(system.dtype) },
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
        let blocks = Units::of(own).blocks;
        writer.load_addresses(blocks);
        let folds: Vec<Fold> = system.totals.folds().collect();
        writer.reduce(&folds, own);
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
            blocks,
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
    fn reduce(&mut self, folds: &[Fold], own: Region) {
        let units = Units::of(own);
        self.load_numbers();
        let (block, thread) = (self.block(), self.emitter.mov(U32, THREAD));
        let sums: Vec<[Number; 2]> = folds.iter().map(|fold| self.begin(*fold)).collect();
        let [low, high] = [own.low, own.high].map(|end| end.map(|at| at as usize));
        let [_, rows, _] = own.extents();
        let emitter = &mut self.emitter;
        let unit = emitter.mov(U32, block);
        emitter.label(UNITS);
        let done = emitter.setp(Relation::AtLeast, U32, unit, units.all);
        emitter.branch_if(done, SHARED);
        let row = emitter.div(U32, unit, units.of_row);
        let piece = emitter.rem(U32, unit, units.of_row);
        let plane = emitter.div(U32, row, rows);
        let row = emitter.rem(U32, row, rows);
        let z = emitter.add(U32, plane, low[0]);
        let y = emitter.add(U32, row, low[1]);
        let first = emitter.mad(U32, piece, UNIT, low[2]);
        let end = emitter.add(U32, first, UNIT);
        let end = emitter.min(U32, end, high[2]);
        let last = emitter.sub(U32, end, 1);
        let x = emitter.add(U32, first, thread);
        emitter.label(POINTS);
        let beyond = emitter.setp(Relation::AtLeast, U32, x, end);
        emitter.branch_if(beyond, NEXT);
        let mut points = Columns { points: Vec::new(), column: 0 };
        let mut counts: Vec<Register<Predicate>> = Vec::new();
        for column in 0..units.columns {
            let at = emitter.add(U32, x, column * THREADS);
            counts.push(emitter.setp(Relation::Less, U32, at, end));
            let at = emitter.min(U32, at, last);
            points.points.push(AtEdge::new([z, y, at]));
        }
        let values = self.evaluate_columns(&mut points, units.columns);
        for (values, counts) in values.iter().zip(counts) {
            for ((fold, value), sum) in folds.iter().zip(values).zip(&sums) {
                let nothing = self.numbers.immediate(fold.nothing());
                let value = self.emitter.choose(*value, nothing, counts);
                self.take(*fold, *sum, [Some(value), None]);
            }
        }
        let emitter = &mut self.emitter;
        emitter.increase(U32, x, units.columns * THREADS);
        emitter.branch(POINTS);
        emitter.label(NEXT);
        emitter.increase(U32, unit, units.blocks);
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

/// Points of a row, some distance from each other.
struct Columns {
    points: Vec<AtEdge>,
    column: usize,
}

impl Point for Columns {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> Number {
        self.points[self.column].read(writer, array, offset)
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        self.points[self.column].place(writer, axis, offset)
    }

    fn turn_to(&mut self, column: usize) {
        self.column = column;
    }
}
