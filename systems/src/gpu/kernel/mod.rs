// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system's program as one kernel: a launch is a step of all fields.
//!
//! Its parameters are the addresses of the arrays that are read, of those that are written, and of tables. Of a kernel
//! that computes several systems side by side the only parameter is the address of a table, with a row of such parameters
//! for each of them: a launch has the blocks of the first one first, then those of the second one, and so on.

use cuda_driver::Extents;

use super::geometry::{Geometry, March};
use super::held::TileState;
use super::listed;
use super::operation;
use super::places::PlaceTables;
use super::tile::BlockTile;
use super::windows::shared_values;
use crate::checked::System;
use crate::expression::{Array, Node};
use crate::gpu::many_arrays::resident;
use crate::gpu::numbers;
use crate::program::{Offset, Operation, Program, Value};
use compute::device::generated::{MOST_ADDRESSES, NAMES, TOTALS};
use ptx_writer::{
    B32, B64, BLOCK, Emitter, F64, Global, Label, Number, NumberFormats, Operand, Register,
    Relation, S32, Shared, THREAD, U32, U64,
};

mod chain;
mod edge;
mod finish;
mod many_arrays;
mod march;
mod noise;
mod outside;
mod receivers;
mod sources;
mod stream;
mod tile;
mod totals;

use noise::Words;

pub use finish::{Epilogue, TABLES};
pub use totals::{PARTIAL, TotalsKernel, check_totals};

/// Tables of a kernel, in the order of their addresses, which come after those of arrays; those that a system does
/// not need may be anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Where to note what receivers receive: the only one that is written.
    Records,
    /// The numbers of the step.
    Numbers,
    /// Where coordinates lead.
    Entries,
    /// The values that are there instead.
    Values,
    /// Where the sources of each row are listed, if there are many.
    Rows,
    /// The sources.
    Sources,
    /// For each receiver the distance from its field's first value in bytes, and the field, in 64 bits each; of a
    /// chain in the order of blocks the distance in shared memory and its number, in 32 bits each.
    Receivers,
    /// Of a chain where the receivers of each block begin, or of each of its planes.
    Blocks,
    /// Of a chain its steps, not an address.
    Steps,
}

impl Table {
    /// How many there are.
    pub const COUNT: usize = 9;
}

/// How many addresses a system's kernel takes: those of arrays, tables, and for receivers those of the present values
/// of all fields.
fn addresses(system: &System, arrays: usize, written: usize) -> usize {
    let present = if system.receivers.is_empty() { 0 } else { system.fields.len() };
    arrays + written + Table::COUNT + present
}

/// A kernel, and what its launches need.
#[derive(Clone, Debug)]
pub struct GeneratedKernel {
    /// The PTX.
    pub text: String,
    /// Whether it stands for a stage that solves, which kernels of transforms compute: it has the array of what is solved
    /// for, and that of the solution.
    pub solves: bool,
    /// Who computes what.
    pub geometry: Geometry,
    /// The arrays that it reads, in the order of their addresses; after them come those that fields' next values
    /// are written to, then the tables, and where there are receivers the present values of all fields.
    pub arrays: Vec<Array>,
    /// What it writes: what a step computes, or of a chain all levels of fields.
    pub written: Vec<Array>,
    /// The part of the grid that a block takes several steps with, if it does.
    pub tile: Option<BlockTile>,
    /// Shared memory of a block in bytes.
    pub shared_bytes: usize,
    /// Where coordinates lead.
    pub places: PlaceTables,
    /// How many parameters it takes, or each of the systems that it computes side by side.
    pub parameters: usize,
    /// Blocks of a launch, or of each of the systems that it computes side by side.
    blocks: usize,
    /// The kernels of later stages, with the geometry and the places of the first stage.
    pub after: Vec<Self>,
    /// The kernel of the system's totals, if it has some.
    pub totals: Option<TotalsKernel>,
}

impl GeneratedKernel {
    /// The kernel of a system, for one step a launch.
    ///
    /// # Errors
    /// It has what the kernel has no instructions for.
    pub fn new(system: &System) -> Result<Self, String> {
        Self::of_step(system, Geometry::of(system))
    }

    /// The kernel of one step a launch by blocks that go along z.
    ///
    /// # Errors
    /// As [`GeneratedKernel::new`].
    pub fn marched(system: &System, march: March) -> Result<Self, String> {
        Self::of_step(system, march.geometry(system))
    }

    /// The kernel of the points near sides, for a system whose other points a sweep computes.
    ///
    /// # Errors
    /// As [`GeneratedKernel::new`].
    pub fn near_sides(system: &System, geometry: Geometry) -> Result<Self, String> {
        Self::of_step(system, geometry)
    }

    /// The kernel of a system, for one step a launch, with the threads that a geometry has.
    ///
    /// # Errors
    /// As [`GeneratedKernel::new`].
    pub fn of_step(system: &System, geometry: Geometry) -> Result<Self, String> {
        let places = PlaceTables::new(system, system.program.reach(|_| true));
        if !system.is_staged() {
            return Self::of_stage(system, geometry, places);
        }
        let stages = system.stages.len();
        let of_stage =
            |stage| Self::of_stage(&system.stage(stage), geometry.clone(), places.clone());
        let after = (1..stages).map(of_stage).collect::<Result<_, _>>()?;
        Ok(Self { after, ..of_stage(0)? })
    }

    /// The kernel of a stage, which is a system by itself.
    fn of_stage(system: &System, geometry: Geometry, places: PlaceTables) -> Result<Self, String> {
        let program = &system.program;
        let arrays: Vec<Array> = program.arrays().into_iter().collect();
        let written = program.writes.clone();
        Self::written(system, Outline { arrays, written, geometry, places, chain: None })
    }

    /// The PTX of it and those that follow.
    pub fn ptx(&self) -> String {
        let steps = [self].into_iter().chain(&self.after).zip(NAMES).filter(|(it, _)| !it.solves);
        let totals = self.totals.iter().map(|it| (&*it.kernel, NAMES[TOTALS]));
        let all: Vec<(&Self, &str)> = steps.chain(totals).collect();
        let digits = ptx_writer::functions::digits();
        let needed = [digits.as_str(), HELD_VALUES].into_iter();
        let needed = needed.filter(|line| all.iter().any(|(it, _)| it.text.contains(line)));
        let mut text = HEADER.to_owned() + &needed.collect::<String>();
        all.iter().for_each(|(it, name)| text += &it.entry(name));
        text
    }

    /// Its entry by another name, without what stands before it.
    fn entry(&self, name: &str) -> String {
        let start = self.text.find(ENTRY).expect("a kernel");
        self.text[start..].replacen(NAMES[0], name, 1)
    }

    /// The kernel of a system, for several steps a launch, or all stages of one.
    ///
    /// # Errors
    /// It has what the kernel has no instructions for.
    pub fn chained(system: &System, tile: BlockTile) -> Result<Self, String> {
        let held = TileState::new(system)?;
        let arrays = held.states.clone();
        let fields = arrays.iter().copied().filter(|it| matches!(it, Array::Field { .. }));
        let written = fields.collect();
        let geometry = Geometry { lead: 0, finds_sides: false, ..Geometry::of(system) };
        let places = PlaceTables::new(system, tile.halo());
        Self::written(
            system,
            Outline { arrays, written, geometry, places, chain: Some((tile, held)) },
        )
    }

    fn written(system: &System, outline: Outline) -> Result<Self, String> {
        let Outline { arrays, written, geometry, places, chain } = outline;
        check(system, (arrays.len(), written.len()), &geometry)?;
        let mut writer = Writer {
            system,
            program: &system.program,
            numbers: numbers(system.dtype),
            geometry: &geometry,
            places: &places,
            arrays: &arrays,
            written: written.len(),
            emitter: Emitter::default(),
            addresses: Vec::new(),
            numbers_now: None,
            scalars: Vec::new(),
            added: Vec::new(),
            of_member: None,
        };
        let receivers = system.receivers.len();
        let blocks = match &chain {
            Some((tile, _)) => tile.blocks(geometry.extents).iter().product::<usize>(),
            None => geometry.blocks() + receivers.div_ceil(geometry.block()),
        };
        writer.load_addresses(blocks);
        let march = geometry.march;
        let mut threads = geometry.block();
        let resident = match march {
            Some(march) => march.resident(),
            None if geometry.finds_sides => resident(system, geometry.columns, threads),
            None => 1,
        };
        let mut shared_bytes = march.map_or(0, |march| march.shared_bytes(system, &geometry));
        match &chain {
            None => writer.write(),
            Some((tile, held)) => {
                match tile.planes {
                    Some(_) => writer.stream(tile, held),
                    None => writer.chain(tile, held),
                }
                threads = tile.threads();
                shared_bytes = shared_values(system, held, tile) * writer.numbers.bytes();
            }
        }
        let shared = match (&chain, march) {
            (None, None) => "",
            _ => HELD_VALUES,
        };
        let text = text(writer.emitter, shared, threads, resident);
        let tile = chain.map(|(tile, _)| tile);
        let parameters = addresses(system, arrays.len(), written.len());
        let (after, totals) = (Vec::new(), None);
        Ok(Self {
            solves: system.program.solves,
            text,
            geometry,
            arrays,
            written,
            tile,
            shared_bytes,
            places,
            parameters,
            blocks,
            after,
            totals,
        })
    }

    /// A PTX with this kernel and another one, into which instructions have been put.
    pub fn beside(&self, other: &str, finish: &Epilogue) -> String {
        let start = |text: &str| text.find(ENTRY).expect("a kernel");
        let (header, sweep) = other.split_at(start(other));
        let digits = ptx_writer::functions::digits();
        let all = [self].into_iter().chain(self.totals.as_ref().map(|it| &*it.kernel));
        let has = |line: &str| all.clone().any(|it| it.text.contains(line));
        let mut before = String::new();
        if finish.has_digits || has(&digits) {
            before += &digits;
        }
        if has(HELD_VALUES) {
            before += HELD_VALUES;
        }
        let totals = self.totals.iter().map(|it| it.kernel.entry(NAMES[TOTALS]));
        format!("{header}{before}{sweep}\n{}{}", self.entry(NAMES[0]), totals.collect::<String>())
    }

    /// Whether receivers get what is there before each step, not after it.
    pub fn notes_before(&self) -> bool {
        self.tile.is_none_or(|tile| tile.planes.is_some())
    }

    /// A launch: its blocks are of points, then of receivers.
    pub fn launch(&self) -> Extents {
        let threads = self.tile.map_or(self.geometry.block(), |tile| tile.threads());
        let [blocks, threads, shared_bytes] =
            [self.blocks, threads, self.shared_bytes].map(|number| number as u32);
        Extents { blocks, threads, shared_bytes }
    }
}

/// The PTX of a kernel by itself, with what it has in shared memory.
fn text(emitter: Emitter, shared: &str, threads: usize, resident: usize) -> String {
    let digits = if emitter.has_digits { ptx_writer::functions::digits() } else { String::new() };
    let body = emitter.finish();
    format!(
        "{HEADER}{digits}{shared}{ENTRY}{}(\n    .param .align 8 .b8 parameters[{}]\n)\n.maxntid {threads}, 1, \
         1\n.minnctapersm {resident}\n{{\n{body}}}\n",
        NAMES[0],
        8 * MOST_ADDRESSES
    )
}

/// What is known of a kernel before it is written.
struct Outline {
    arrays: Vec<Array>,
    written: Vec<Array>,
    geometry: Geometry,
    places: PlaceTables,
    chain: Option<(BlockTile, TileState)>,
}

/// Checks that a kernel can be given so many arrays to read and to write, which lie so in memory.
///
/// # Errors
/// Why it cannot.
pub fn check(
    system: &System,
    (arrays, written): (usize, usize),
    geometry: &Geometry,
) -> Result<(), String> {
    let addresses = addresses(system, arrays, written);
    if addresses > MOST_ADDRESSES {
        return Err(format!(
            "a step takes {addresses} arrays, at most {MOST_ADDRESSES} are supported"
        ));
    }
    if geometry.values() * system.dtype.bytes() > i32::MAX as usize * 8
        || geometry.blocks() > i32::MAX as usize
    {
        return Err("the grid is too large".into());
    }
    Ok(())
}

/// What is written, and what it is written for.
struct Writer<'a> {
    system: &'a System,
    program: &'a Program,
    numbers: NumberFormats,
    geometry: &'a Geometry,
    places: &'a PlaceTables,
    arrays: &'a [Array],
    /// How many arrays it writes.
    written: usize,
    emitter: Emitter,
    /// Registers with the addresses.
    addresses: Vec<Register<Global>>,
    /// Of a chain, where the numbers of the present step are.
    numbers_now: Option<Register<Global>>,
    /// Numbers of the step, as operands.
    scalars: Vec<Number>,
    /// What few sources add.
    added: Vec<Number>,
    /// Of a kernel that computes several systems side by side, which one a block computes.
    of_member: Option<MemberInputs>,
}

/// What a block knows of the system that it computes, of several side by side.
#[derive(Clone, Copy)]
struct MemberInputs {
    /// Where its parameters lie.
    row: Register<Global>,
    /// The block's number among those of the system.
    block: Register<B32>,
}

/// The first lines of a PTX.
const HEADER: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";
/// The shared memory of blocks that have some.
const HELD_VALUES: &str = ".extern .shared .align 16 .b8 held_values[];\n";
/// What stands before the name of a kernel.
const ENTRY: &str = ".visible .entry ";
/// Of a launch the parameters.
const PARAMETERS: &str = "parameters";
/// Of a chain the shared memory of a block.
const HELD: Operand<Shared> = Operand::named("held_values");
/// Points near sides.
const EDGE: Label = Label::named("EDGE");
/// Receivers.
const RECEIVER: Label = Label::named("RECEIVER");

impl Writer<'_> {
    /// The addresses, of a launch with so many blocks for each system.
    fn load_addresses(&mut self, blocks: usize) {
        let count = addresses(self.system, self.arrays.len(), self.written);
        if self.system.beside.is_some() {
            let emitter = &mut self.emitter;
            let table = emitter.parameter(U64, PARAMETERS, 0);
            let table = emitter.global(table);
            let block = emitter.mov(U32, BLOCK);
            let member = emitter.div(U32, block, blocks);
            let row = emitter.element(table, member, 8 * count);
            self.of_member = Some(MemberInputs { row, block: emitter.rem(U32, block, blocks) });
        }
        for index in 0..count {
            let address = self.parameter(index);
            self.addresses.push(self.emitter.global(address));
        }
    }

    /// A parameter by its number.
    fn parameter(&mut self, index: usize) -> Register<B64> {
        match self.of_member {
            Some(MemberInputs { row, .. }) => self.emitter.load(U64, row.at(8 * index)),
            None => self.emitter.parameter(U64, PARAMETERS, 8 * index),
        }
    }

    /// The number of the block among those that compute its system.
    fn block(&mut self) -> Register<B32> {
        match self.of_member {
            Some(MemberInputs { block, .. }) => block,
            None => self.emitter.mov(U32, BLOCK),
        }
    }

    fn write(&mut self) {
        self.load_numbers();
        let block = self.block();
        let thread = self.emitter.mov(U32, THREAD);
        let index = self.emitter.mad(U32, block, self.geometry.block(), thread);
        let (edges, points) = (self.geometry.edge_blocks(), self.geometry.blocks());
        let has_receivers = !self.system.receivers.is_empty();
        if has_receivers {
            let after = self.emitter.setp(Relation::AtLeast, U32, block, points);
            self.emitter.branch_if(after, RECEIVER);
        }
        if edges > 0 {
            let near = self.emitter.setp(Relation::Less, U32, block, edges);
            self.emitter.branch_if(near, EDGE);
        }
        match &self.geometry.march {
            Some(march) => self.march(march, [block, thread], edges),
            None if self.geometry.finds_sides => self.many(index, edges),
            None => self.tile(index, edges),
        }
        if edges > 0 {
            self.emitter.label(EDGE);
            self.edge(index);
        }
        if has_receivers {
            self.emitter.label(RECEIVER);
            self.receive(index, points);
        }
    }

    /// Constants become operands; what changes from step to step is loaded, and what systems side by side differ in.
    fn load_numbers(&mut self) {
        let (table, bytes) = (self.table(Table::Numbers), self.numbers.bytes());
        let nodes = self.program.scalars.iter();
        let few = if listed::is_needed(self.system) { &[] } else { &*self.system.sources };
        let added = few.iter().map(|source| &source.add);
        let mut operands = Vec::new();
        for (index, node) in nodes.chain(added).enumerate() {
            operands.push(match node {
                Node::Number(number) if !self.differs(index) => self.numbers.immediate(*number),
                _ => self.numbers.load_number(&mut self.emitter, table.at(bytes * index)),
            });
        }
        self.added = operands.split_off(self.program.scalars.len());
        self.scalars = operands;
    }

    /// Whether systems that are computed side by side differ in a number of the program.
    fn differs(&self, index: usize) -> bool {
        self.system.beside.as_ref().is_some_and(|beside| beside.numbers[index])
    }

    /// The address of a table.
    fn table(&self, table: Table) -> Register<Global> {
        match (table, self.numbers_now) {
            (Table::Numbers, Some(now)) => now,
            _ => self.addresses[self.arrays.len() + self.written + table as usize],
        }
    }

    /// The address of an array that is read.
    fn start(&self, array: Array) -> Register<Global> {
        self.addresses[self.index(array)]
    }

    /// The distance of a point from the first one of an array, in bytes.
    fn distance(&mut self, [z, y, x]: [Register<B32>; 3]) -> Register<B64> {
        let (emitter, bytes) = (&mut self.emitter, self.system.dtype.bytes());
        let row = emitter.mad(U32, z, self.geometry.extents[1], y);
        let row = emitter.mul_wide(row, self.geometry.pitch * bytes);
        let column = emitter.mul_wide(x, bytes);
        emitter.add(U64, row, column)
    }

    /// The address of a point of an array.
    fn address(&mut self, start: Register<Global>, point: [Register<B32>; 3]) -> Register<Global> {
        let distance = self.distance(point);
        self.emitter.offset(start, distance)
    }

    /// The value of an array at a point of the grid.
    fn load_at(&mut self, array: Array, point: [Register<B32>; 3]) -> Number {
        let place = self.address(self.start(array), point);
        let stored = self.numbers.load(&mut self.emitter, place);
        self.numbers.widen(&mut self.emitter, stored)
    }

    /// The next values of all fields at a point.
    fn evaluate(&mut self, point: &mut dyn Point) -> Vec<Number> {
        self.evaluate_columns(point, 1).remove(0)
    }

    /// The next values of all fields at so many points beside each other, by point: each operation for all of them, so
    /// that what one of them reads is not kept for the others longer than it takes.
    fn evaluate_columns(&mut self, point: &mut dyn Point, columns: usize) -> Vec<Vec<Number>> {
        let mut results: Vec<Vec<Number>> = vec![Vec::new(); columns];
        let mut words: Vec<Words> = vec![Words::new(); columns];
        let program = self.program;
        for operation in &program.operations {
            match operation {
                Operation::Call(function, values) => {
                    for (column, results) in results.iter_mut().enumerate() {
                        point.turn_to(column);
                        let values = values.iter().map(|value| self.value(value, results, point));
                        let values: Vec<Number> = values.collect();
                        let emitter = &mut self.emitter;
                        results.push(operation::call(self.numbers, emitter, *function, &values));
                    }
                }
                Operation::Sum(array, taps) => {
                    let sums = match point.summed() {
                        Some(sum) => vec![sum],
                        None => self.sums(*array, taps, point, columns),
                    };
                    results.iter_mut().zip(sums).for_each(|(results, sum)| results.push(sum));
                }
                Operation::Noise(noise, step) => {
                    for (column, results) in results.iter_mut().enumerate() {
                        point.turn_to(column);
                        let step = step.map(|part| self.value(&part, results, point));
                        results.push(self.noise(*noise, step, point, &mut words[column]));
                    }
                }
            }
        }
        let next = results.iter().enumerate().map(|(column, results)| {
            point.turn_to(column);
            let values = program.results.iter();
            values.map(|value| self.value(value, results, point)).collect()
        });
        next.collect()
    }

    fn sums(
        &mut self,
        array: Array,
        taps: &[(Offset, f64)],
        point: &mut dyn Point,
        columns: usize,
    ) -> Vec<Number> {
        let mut sums = Vec::new();
        for (number, (offset, weight)) in taps.iter().enumerate() {
            let weight = self.numbers.immediate(*weight);
            for column in 0..columns {
                point.turn_to(column);
                let value = point.read(self, array, *offset);
                match number {
                    0 => sums.push(self.emitter.compute("mul", &[value, weight])),
                    _ if self.numbers.exact => {
                        let product = self.emitter.compute("mul.rn", &[value, weight]);
                        sums[column] = self.emitter.compute("add.rn", &[sums[column], product]);
                    }
                    _ => {
                        let sum = self.emitter.compute("fma.rn", &[value, weight, sums[column]]);
                        sums[column] = sum;
                    }
                }
            }
        }
        sums
    }

    fn value(&mut self, value: &Value, results: &[Number], point: &mut dyn Point) -> Number {
        match *value {
            Value::Result(result) => results[result],
            // Selections and stores take registers only.
            Value::Scalar(scalar) => match self.scalars[scalar] {
                operand if operand.is_register() => operand,
                operand => self.emitter.compute("mov", &[operand]),
            },
            Value::Read(array, offset) => point.read(self, array, offset),
            Value::Coordinate(axis, offset) => {
                let place = self.place(axis, offset, point);
                let x = self.emitter.product(F64, place, self.system.spacing[axis]);
                self.numbers.narrow(&mut self.emitter, x)
            }
            Value::Index(axis, offset) => {
                let place = self.place(axis, offset, point);
                self.numbers.narrow(&mut self.emitter, place)
            }
        }
    }

    /// How many points lie before a place along an axis.
    fn place(&mut self, axis: usize, offset: Offset, point: &mut dyn Point) -> Register<F64> {
        let origin = self.system.origin[axis] as i32;
        let place = point.place(self, axis, offset[axis] + origin);
        self.emitter.round(F64, S32, place)
    }

    /// Which address is that of an array.
    fn index(&self, array: Array) -> usize {
        self.arrays.iter().position(|known| *known == array).expect("it is read")
    }
}

/// A point, and where its neighbours are.
trait Point {
    /// The value of an array at some distance.
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> Number;
    /// The coordinate along an axis at some distance.
    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32>;
    /// Goes on with another one of several points beside each other.
    fn turn_to(&mut self, _column: usize) {}
    /// The program's only sum, if somebody else has computed it.
    fn summed(&self) -> Option<Number> {
        None
    }
}
