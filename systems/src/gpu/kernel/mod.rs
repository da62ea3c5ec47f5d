// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system's program as one kernel: a launch is a step of all fields.
//!
//! Its parameters are the addresses of the arrays that are read, of those that are written, and of tables.

use cuda_driver::Extents;

use super::emitter::{Class, Emitter};
use super::functions;
use super::geometry::{Geometry, THREADS};
use super::listed;
use super::numbers::Numbers;
use super::operation;
use super::places::Places;
use super::tile::{Tile, TileState, instructions};
use super::windows::shared_values;
use crate::checked::System;
use crate::expression::{Array, Node};
use crate::program::{Offset, Operation, Program, Value};
use compute::device::generated::{MOST_ADDRESSES, NAME};

mod chain;
mod edge;
mod finish;
mod outside;
mod receivers;
mod sources;
mod stream;
mod tile;

pub use finish::{Epilogue, TABLES};

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
pub struct Kernel {
    /// The PTX.
    pub text: String,
    /// Who computes what.
    pub geometry: Geometry,
    /// The arrays that it reads, in the order of their addresses; after them come those that fields' next values
    /// are written to, then the tables, and where there are receivers the present values of all fields.
    pub arrays: Vec<Array>,
    /// What it writes: of each field the next values, or of a chain also those of all levels.
    pub written: Vec<Array>,
    /// The part of the grid that a block takes several steps with, if it does.
    pub tile: Option<Tile>,
    /// Shared memory of a block in bytes.
    pub shared_bytes: usize,
    /// Where coordinates lead.
    pub places: Places,
}

impl Kernel {
    /// That of a system, for one step a launch.
    ///
    /// # Errors
    /// It has what the kernel has no instructions for.
    pub fn new(system: &System) -> Result<Self, String> {
        let program = &system.program;
        let arrays: Vec<Array> = program.arrays().into_iter().collect();
        let fields = 0..system.fields.len();
        let written = fields.map(|field| Array::Field { field, level: 0 }).collect();
        let reach = program.reach(|_| true);
        let geometry = geometry(system);
        let places = Places::new(system, reach);
        Self::written(system, Outline { arrays, written, geometry, places, chain: None })
    }

    /// That of the points near sides of a system whose others a sweep computes.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn near_sides(system: &System, geometry: Geometry) -> Result<Self, String> {
        let kernel = Self::new(system)?;
        let Self { arrays, written, places, .. } = kernel;
        Self::written(system, Outline { arrays, written, geometry, places, chain: None })
    }

    /// That of a system, for several steps a launch.
    ///
    /// # Errors
    /// It has what the kernel has no instructions for.
    pub fn chained(system: &System, tile: Tile) -> Result<Self, String> {
        let held = TileState::new(system)?;
        let arrays = held.states.clone();
        let fields = arrays.iter().copied().filter(|it| matches!(it, Array::Field { .. }));
        let written = fields.collect();
        let geometry = Geometry { lead: 0, ..geometry(system) };
        let places = Places::new(system, tile.halo());
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
            numbers: Numbers { dtype: system.dtype },
            geometry: &geometry,
            places: &places,
            arrays: &arrays,
            written: written.len(),
            emitter: Emitter::default(),
            addresses: Vec::new(),
            numbers_now: None,
            scalars: Vec::new(),
            added: Vec::new(),
        };
        writer.load_addresses();
        let (mut threads, mut shared_bytes, mut shared) = (THREADS as usize, 0, "");
        match &chain {
            None => writer.write(),
            Some((tile, held)) => {
                match tile.planes {
                    Some(_) => writer.stream(tile, held),
                    None => writer.chain(tile, held),
                }
                threads = tile.threads();
                shared_bytes = shared_values(system, held, tile) * writer.numbers.bytes();
                shared = ".extern .shared .align 16 .b8 held_values[];\n";
            }
        }
        let digits = if writer.emitter.has_digits { functions::digits() } else { String::new() };
        let body = writer.emitter.finish();
        let text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n{digits}{shared}.visible .entry {NAME}(\n    .param .align \
             8 .b8 parameters[{}]\n)\n.maxntid {threads}, 1, 1\n.minnctapersm 1\n{{\n{body}}}\n",
            8 * MOST_ADDRESSES
        );
        let tile = chain.map(|(tile, _)| tile);
        Ok(Self { text, geometry, arrays, written, tile, shared_bytes, places })
    }

    /// A PTX with this kernel and another one, into which instructions have been put.
    pub fn beside(&self, other: &str, finish: &Epilogue) -> String {
        const ENTRY: &str = ".visible .entry ";
        let start = |text: &str| text.find(ENTRY).expect("a kernel");
        let (header, sweep) = other.split_at(start(other));
        let digits = finish.has_digits || self.text.contains(&functions::digits());
        let digits = if digits { functions::digits() } else { String::new() };
        format!("{header}{digits}{sweep}\n{}", &self.text[start(&self.text)..])
    }

    /// Whether receivers get what is there before each step, not after it.
    pub fn notes_before(&self) -> bool {
        self.tile.is_none_or(|tile| tile.planes.is_some())
    }

    /// A launch: its blocks are of points, then of receivers.
    pub fn launch(&self, system: &System) -> Extents {
        let shared_bytes = self.shared_bytes as u32;
        match &self.tile {
            Some(tile) => {
                let blocks = tile.blocks(system.shape.extents()).iter().product::<usize>() as u32;
                Extents { blocks, threads: tile.threads() as u32, shared_bytes }
            }
            None => {
                let receivers = system.receivers.len().div_ceil(THREADS as usize);
                let blocks = (self.geometry.blocks() + receivers) as u32;
                Extents { blocks, threads: THREADS, shared_bytes }
            }
        }
    }
}

/// What is known of a kernel before it is written.
struct Outline {
    arrays: Vec<Array>,
    written: Vec<Array>,
    geometry: Geometry,
    places: Places,
    chain: Option<(Tile, TileState)>,
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

/// Who computes what in single steps, and how arrays lie in memory.
pub fn geometry(system: &System) -> Geometry {
    let program = &system.program;
    let instructions = program.operations.iter().map(instructions).sum();
    let (extents, reach) = (system.shape.extents(), program.reach(|_| true));
    Geometry::new(extents, reach, system.dtype.bytes(), instructions)
}

/// What is written, and what it is written for.
struct Writer<'a> {
    system: &'a System,
    program: &'a Program,
    numbers: Numbers,
    geometry: &'a Geometry,
    places: &'a Places,
    arrays: &'a [Array],
    /// How many arrays it writes.
    written: usize,
    emitter: Emitter,
    /// Registers with the addresses.
    addresses: Vec<String>,
    /// Of a chain, where the numbers of the present step are.
    numbers_now: Option<String>,
    /// Numbers of the step, as operands.
    scalars: Vec<String>,
    /// What few sources add.
    added: Vec<String>,
}

impl Writer<'_> {
    fn load_addresses(&mut self) {
        let count = addresses(self.system, self.arrays.len(), self.written);
        for index in 0..count {
            let parameter = format_args!("[parameters+{}]", 8 * index).to_string();
            let address = self.emitter.set(Class::B64, "ld.param.u64", format_args!("{parameter}"));
            let global =
                self.emitter.set(Class::B64, "cvta.to.global.u64", format_args!("{address}"));
            self.addresses.push(global);
        }
    }

    fn write(&mut self) {
        self.load_numbers();
        let block = self.emitter.set(Class::B32, "mov.u32", format_args!("%ctaid.x"));
        let thread = self.emitter.set(Class::B32, "mov.u32", format_args!("%tid.x"));
        let linear = format_args!("{block}, {THREADS}, {thread}").to_string();
        let index = self.emitter.set(Class::B32, "mad.lo.u32", format_args!("{linear}"));
        let (edges, points) = (self.geometry.edge_blocks(), self.geometry.blocks());
        let has_receivers = !self.system.receivers.is_empty();
        if has_receivers {
            let after = self.emitter.set(
                Class::Predicate,
                "setp.ge.u32",
                format_args!("{block}, {points}"),
            );
            self.emitter.line(format_args!("@{after} bra RECEIVER"));
        }
        if edges > 0 {
            let near =
                self.emitter.set(Class::Predicate, "setp.lt.u32", format_args!("{block}, {edges}"));
            self.emitter.line(format_args!("@{near} bra EDGE"));
        }
        self.tile(&index, edges);
        if edges > 0 {
            self.emitter.label("EDGE");
            self.edge(&index);
        }
        if has_receivers {
            self.emitter.label("RECEIVER");
            self.receive(&index, points);
        }
    }

    /// Constants become operands, what changes from step to step is loaded.
    fn load_numbers(&mut self) {
        let (class, suffix, bytes) =
            (self.numbers.class(), self.numbers.suffix(), self.numbers.bytes());
        let table = self.table(Table::Numbers);
        let nodes = self.program.scalars.iter();
        let few = if listed::is_needed(self.system) { &[] } else { &*self.system.sources };
        let added = few.iter().map(|source| &source.add);
        let mut operands = Vec::new();
        for (index, node) in nodes.chain(added).enumerate() {
            operands.push(match node {
                Node::Number(number) => self.numbers.immediate(*number),
                _ => {
                    let opcode = format!("ld.global.nc.{suffix}");
                    let place = format!("[{table}+{}]", bytes * index);
                    self.emitter.set(class, &opcode, format_args!("{place}"))
                }
            });
        }
        self.added = operands.split_off(self.program.scalars.len());
        self.scalars = operands;
    }

    /// The address of a table.
    fn table(&self, table: Table) -> String {
        if let (Table::Numbers, Some(now)) = (table, &self.numbers_now) {
            return now.clone();
        }
        self.addresses[self.arrays.len() + self.written + table as usize].clone()
    }

    /// The address of a point of an array.
    fn address(&mut self, start: &str, [z, y, x]: [&str; 3], ny: usize) -> String {
        let (emitter, bytes) = (&mut self.emitter, self.system.dtype.bytes());
        let row = emitter.set(Class::B32, "mad.lo.u32", format_args!("{z}, {ny}, {y}"));
        let row_bytes = self.geometry.pitch * bytes;
        let row = emitter.set(Class::B64, "mul.wide.u32", format_args!("{row}, {row_bytes}"));
        let column = emitter.set(Class::B64, "mul.wide.u32", format_args!("{x}, {bytes}"));
        let offset = emitter.set(Class::B64, "add.u64", format_args!("{row}, {column}"));
        emitter.set(Class::B64, "add.u64", format_args!("{start}, {offset}"))
    }

    /// The value of an array at a point of the grid.
    fn load_at(&mut self, array: Array, [z, y, x]: &[String; 3]) -> String {
        let start = self.addresses[self.index(array)].clone();
        let [_, ny, _] = self.geometry.extents;
        let place = self.address(&start, [z, y, x], ny);
        let stored = self.numbers.load(&mut self.emitter, &place, 1).remove(0);
        self.numbers.widen(&mut self.emitter, &stored)
    }

    /// The next values of all fields at a point.
    fn evaluate(&mut self, point: &mut dyn Point) -> Vec<String> {
        let mut results: Vec<String> = Vec::new();
        let program = self.program;
        for operation in &program.operations {
            let result = match operation {
                Operation::Call(function, values) => {
                    let values: Vec<String> =
                        values.iter().map(|value| self.value(value, &results, point)).collect();
                    operation::call(self.numbers, &mut self.emitter, *function, &values)
                }
                Operation::Sum(array, taps) => match point.summed() {
                    Some(sum) => sum,
                    None => self.sum(*array, taps, point),
                },
            };
            results.push(result);
        }
        let values = program.results.iter();
        values.map(|value| self.value(value, &results, point)).collect()
    }

    fn sum(&mut self, array: Array, taps: &[(Offset, f64)], point: &mut dyn Point) -> String {
        let (class, suffix) = (self.numbers.class(), self.numbers.suffix());
        let mut sum: Option<String> = None;
        for (offset, weight) in taps {
            let value = point.read(self, array, *offset);
            let weight = self.numbers.immediate(*weight);
            sum = Some(match sum {
                None => {
                    let product = format_args!("{value}, {weight}").to_string();
                    self.emitter.set(class, &format!("mul.{suffix}"), format_args!("{product}"))
                }
                Some(sum) => {
                    let opcode = format!("fma.rn.{suffix}");
                    self.emitter.set(class, &opcode, format_args!("{value}, {weight}, {sum}"))
                }
            });
        }
        sum.expect("a stencil has a weight")
    }

    fn value(&mut self, value: &Value, results: &[String], point: &mut dyn Point) -> String {
        match *value {
            Value::Result(result) => results[result].clone(),
            Value::Scalar(scalar) => {
                // Selections and stores take registers only.
                let operand = self.scalars[scalar].clone();
                if operand.starts_with('%') {
                    return operand;
                }
                let opcode = format!("mov.{}", self.numbers.suffix());
                self.emitter.set(self.numbers.class(), &opcode, format_args!("{operand}"))
            }
            Value::Read(array, offset) => point.read(self, array, offset),
            Value::Coordinate(axis, offset) => {
                let origin = self.system.origin[axis] as i32;
                let place = point.place(self, axis, offset[axis] + origin);
                let spacing = format!("0d{:016X}", self.system.spacing[axis].to_bits());
                let emitter = &mut self.emitter;
                let place = emitter.set(Class::F64, "cvt.rn.f64.s32", format_args!("{place}"));
                let x = emitter.set(Class::F64, "mul.f64", format_args!("{place}, {spacing}"));
                match self.numbers.class() {
                    Class::F64 => x,
                    class => emitter.set(class, "cvt.rn.f32.f64", format_args!("{x}")),
                }
            }
        }
    }

    /// Which address is that of an array.
    fn index(&self, array: Array) -> usize {
        self.arrays.iter().position(|known| *known == array).expect("it is read")
    }
}

/// A point, and where its neighbours are.
trait Point {
    /// The value of an array at some distance.
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> String;
    /// The coordinate along an axis at some distance.
    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> String;
    /// The program's only sum, if somebody else has computed it.
    fn summed(&self) -> Option<String> {
        None
    }
}
