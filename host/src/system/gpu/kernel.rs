// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system's program as one kernel: a launch is a step of all fields.
//!
//! Its parameters are the addresses of the arrays that are read, of those that are written, and of three tables: the
//! numbers of the step, where coordinates outside of the grid lead, and the values that are there instead.

use std::collections::HashMap;

use super::emitter::{Class, Emitter};
use super::functions;
use super::geometry::{Geometry, THREADS};
use super::numbers::Numbers;
use super::places::Places;
use crate::device::generated::{MOST_ADDRESSES, NAME};
use crate::system::checked::System;
use crate::system::expression::{Array, Node};
use crate::system::program::{Offset, Operation, Program, Value};

/// Sources of a system, at most.
const MOST_SOURCES: usize = 8;

/// A kernel, and what its launches need.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The PTX.
    pub text: String,
    /// Who computes what.
    pub geometry: Geometry,
    /// The arrays that it reads, in the order of their addresses; after them come those that fields' next values
    /// are written to, then the numbers of the step and the two tables of places.
    pub arrays: Vec<Array>,
    /// Where coordinates lead.
    pub places: Places,
}

impl Kernel {
    /// That of a system.
    ///
    /// # Errors
    /// It has what the kernel has no instructions for.
    pub fn new(system: &System) -> Result<Self, String> {
        let program = &system.program;
        let numbers = Numbers { dtype: system.dtype };
        let arrays: Vec<Array> = program.arrays().into_iter().collect();
        let reach = program.reach(|_| true);
        let bytes = system.dtype.bytes();
        let geometry = Geometry::new(system.shape.extents(), reach, bytes);
        let addresses = arrays.len() + system.fields.len() + 3;
        if addresses > MOST_ADDRESSES {
            return Err(format!(
                "a step takes {addresses} arrays, at most {MOST_ADDRESSES} are supported"
            ));
        }
        if system.sources.len() > MOST_SOURCES {
            let found = system.sources.len();
            return Err(format!("{found} sources; at most {MOST_SOURCES} are supported"));
        }
        if geometry.values() * bytes > i32::MAX as usize * 8
            || geometry.blocks() > i32::MAX as usize
        {
            return Err("the grid is too large".into());
        }
        let places = Places::new(system, reach);
        let mut writer = Writer {
            system,
            program,
            numbers,
            geometry: &geometry,
            places: &places,
            arrays: &arrays,
            emitter: Emitter::default(),
            addresses: Vec::new(),
            scalars: Vec::new(),
            added: Vec::new(),
        };
        writer.write();
        let digits = if writer.emitter.has_digits { functions::digits() } else { String::new() };
        let body = writer.emitter.finish();
        let size = 8 * addresses;
        let text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n{digits}.visible .entry {NAME}(\n    .param .align 8 .b8 \
             parameters[{}]\n)\n.maxntid {THREADS}, 1, 1\n{{\n{body}}}\n",
            8 * MOST_ADDRESSES
        );
        debug_assert!(size <= 8 * MOST_ADDRESSES);
        Ok(Self { text, geometry, arrays, places })
    }
}

struct Writer<'a> {
    system: &'a System,
    program: &'a Program,
    numbers: Numbers,
    geometry: &'a Geometry,
    places: &'a Places,
    arrays: &'a [Array],
    emitter: Emitter,
    /// Registers with the addresses.
    addresses: Vec<String>,
    /// Numbers of the step, as operands.
    scalars: Vec<String>,
    /// What sources add.
    added: Vec<String>,
}

impl Writer<'_> {
    fn write(&mut self) {
        let count = self.arrays.len() + self.system.fields.len() + 3;
        for index in 0..count {
            let parameter = format_args!("[parameters+{}]", 8 * index).to_string();
            let address = self.emitter.set(Class::B64, "ld.param.u64", format_args!("{parameter}"));
            let global =
                self.emitter.set(Class::B64, "cvta.to.global.u64", format_args!("{address}"));
            self.addresses.push(global);
        }
        self.load_numbers();
        let block = self.emitter.set(Class::B32, "mov.u32", format_args!("%ctaid.x"));
        let thread = self.emitter.set(Class::B32, "mov.u32", format_args!("%tid.x"));
        let linear = format_args!("{block}, {THREADS}, {thread}").to_string();
        let index = self.emitter.set(Class::B32, "mad.lo.u32", format_args!("{linear}"));
        let edges = self.geometry.edge_blocks();
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
    }

    /// Constants become operands, what changes from step to step is loaded.
    fn load_numbers(&mut self) {
        let (class, suffix, bytes) =
            (self.numbers.class(), self.numbers.suffix(), self.numbers.bytes());
        let table = self.addresses[self.arrays.len() + self.system.fields.len()].clone();
        let nodes = self.program.scalars.iter();
        let added = self.system.sources.iter().map(|source| &source.add);
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

    /// A thread with a tile of points whose neighbours are all in the grid.
    fn tile(&mut self, index: &str, edges: usize) {
        let geometry = self.geometry;
        let [planes, down, across] = geometry.tiles();
        if planes * down * across == 0 {
            self.emitter.line(format_args!("ret"));
            return;
        }
        let emitter = &mut self.emitter;
        let first = edges * THREADS as usize;
        let tile = emitter.set(Class::B32, "sub.u32", format_args!("{index}, {first}"));
        let beyond = emitter.set(
            Class::Predicate,
            "setp.ge.u32",
            format_args!("{tile}, {}", planes * down * across),
        );
        emitter.line(format_args!("@{beyond} ret"));
        let row = emitter.set(Class::B32, "div.u32", format_args!("{tile}, {across}"));
        let column = emitter.set(Class::B32, "rem.u32", format_args!("{tile}, {across}"));
        let plane = emitter.set(Class::B32, "div.u32", format_args!("{row}, {down}"));
        let row = emitter.set(Class::B32, "rem.u32", format_args!("{row}, {down}"));
        let Geometry { inside, columns, rows, extents: [_, ny, _], pitch, .. } = *geometry;
        let x = emitter.set(
            Class::B32,
            "mad.lo.u32",
            format_args!("{column}, {columns}, {}", inside.low[2]),
        );
        let y =
            emitter.set(Class::B32, "mad.lo.u32", format_args!("{row}, {rows}, {}", inside.low[1]));
        let z = emitter.set(Class::B32, "add.u32", format_args!("{plane}, {}", inside.low[0]));
        let first_row = emitter.set(Class::B32, "mad.lo.u32", format_args!("{z}, {ny}, {y}"));
        let x_bytes = emitter.set(
            Class::B32,
            "mul.lo.u32",
            format_args!("{x}, {}", self.system.dtype.bytes()),
        );
        let x_bytes = emitter.set(Class::B64, "cvt.u64.u32", format_args!("{x_bytes}"));
        let row_bytes = pitch * self.system.dtype.bytes();
        let offset =
            emitter.set(Class::B64, "mul.wide.u32", format_args!("{first_row}, {row_bytes}"));
        let offset = emitter.set(Class::B64, "add.u64", format_args!("{offset}, {x_bytes}"));
        let starts: Vec<String> = (0..self.arrays.len() + self.system.fields.len())
            .map(|array| {
                let operands = format!("{}, {offset}", self.addresses[array]);
                self.emitter.set(Class::B64, "add.u64", format_args!("{operands}"))
            })
            .collect();
        let sources = self.sources_in_tile([&z, &y, &x]);
        let mut loaded = HashMap::new();
        for down in 0..rows {
            let mut results = vec![Vec::new(); self.system.fields.len()];
            for across in 0..columns {
                let mut point = InTile {
                    at: [0, down, across],
                    place: [&z, &y, &x],
                    starts: &starts,
                    loaded: &mut loaded,
                };
                let values = self.evaluate(&mut point);
                for (field, value) in values.into_iter().enumerate() {
                    let value = self.add_sources(field, value, &sources, down * columns + across);
                    results[field].push(self.numbers.round(&mut self.emitter, &value));
                }
            }
            for (field, values) in results.iter().enumerate() {
                let (_, stored) = self.numbers.stored();
                let start = &starts[self.arrays.len() + field];
                let list = values.join(", ");
                let vector = match columns {
                    1 => format!("st.global.{stored} [{start}+{}], {list}", down * row_bytes),
                    _ => format!(
                        "st.global.v{columns}.{stored} [{start}+{}], {{{list}}}",
                        down * row_bytes
                    ),
                };
                self.emitter.line(format_args!("{vector}"));
            }
        }
        self.emitter.line(format_args!("ret"));
    }

    /// For each source, which point of the tile it is at: a number that no point has, if at none.
    fn sources_in_tile(&mut self, [z, y, x]: [&str; 3]) -> Vec<String> {
        let (rows, columns) = (self.geometry.rows, self.geometry.columns);
        let mut places = Vec::new();
        for source in &self.system.sources {
            let emitter = &mut self.emitter;
            let [at_z, at_y, at_x] = source.at;
            let down = emitter.set(Class::B32, "sub.u32", format_args!("{at_y}, {y}"));
            let across = emitter.set(Class::B32, "sub.u32", format_args!("{at_x}, {x}"));
            let here = emitter.set(Class::Predicate, "setp.eq.u32", format_args!("{z}, {at_z}"));
            let here = emitter.set(
                Class::Predicate,
                "setp.lt.and.u32",
                format_args!("{down}, {rows}, {here}"),
            );
            let here = emitter.set(
                Class::Predicate,
                "setp.lt.and.u32",
                format_args!("{across}, {columns}, {here}"),
            );
            let place =
                emitter.set(Class::B32, "mad.lo.u32", format_args!("{down}, {columns}, {across}"));
            let nowhere = rows * columns;
            places.push(emitter.set(
                Class::B32,
                "selp.u32",
                format_args!("{place}, {nowhere}, {here}"),
            ));
        }
        places
    }

    /// Adds what sources of a field give at a point of this number.
    fn add_sources(
        &mut self,
        field: usize,
        value: String,
        places: &[String],
        number: usize,
    ) -> String {
        let (class, suffix) = (self.numbers.class(), self.numbers.suffix());
        let mut value = value;
        for (index, source) in self.system.sources.iter().enumerate() {
            if source.field != field {
                continue;
            }
            let (emitter, place, added) = (&mut self.emitter, &places[index], &self.added[index]);
            let here =
                emitter.set(Class::Predicate, "setp.eq.u32", format_args!("{place}, {number}"));
            let sum =
                emitter.set(class, &format!("add.{suffix}"), format_args!("{value}, {added}"));
            let chosen = format_args!("{sum}, {value}, {here}").to_string();
            value = emitter.set(class, &format!("selp.{suffix}"), format_args!("{chosen}"));
        }
        value
    }

    /// A thread with a point near a side.
    fn edge(&mut self, index: &str) {
        let geometry = self.geometry;
        let emitter = &mut self.emitter;
        let rest = emitter.set(Class::B32, "mov.u32", format_args!("{index}"));
        let [z, y, x] = [(); 3].map(|()| emitter.register(Class::B32));
        for (number, part) in geometry.edges.iter().enumerate() {
            let points = part.points();
            let beyond =
                emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{rest}, {points}"));
            emitter.line(format_args!("@{beyond} bra AFTER{number}"));
            let [_, rows, columns] = part.extents();
            let row = emitter.set(Class::B32, "div.u32", format_args!("{rest}, {columns}"));
            let column = emitter.set(Class::B32, "rem.u32", format_args!("{rest}, {columns}"));
            let plane = emitter.set(Class::B32, "div.u32", format_args!("{row}, {rows}"));
            let row = emitter.set(Class::B32, "rem.u32", format_args!("{row}, {rows}"));
            emitter.line(format_args!("add.u32 {z}, {plane}, {}", part.low[0]));
            emitter.line(format_args!("add.u32 {y}, {row}, {}", part.low[1]));
            emitter.line(format_args!("add.u32 {x}, {column}, {}", part.low[2]));
            emitter.line(format_args!("bra POINT"));
            emitter.label(&format!("AFTER{number}"));
            emitter.line(format_args!("sub.u32 {rest}, {rest}, {points}"));
        }
        emitter.line(format_args!("ret"));
        emitter.label("POINT");
        let mut point =
            AtEdge { place: [&z, &y, &x], found: HashMap::new(), loaded: HashMap::new() };
        let values = self.evaluate(&mut point);
        let mut places = Vec::new();
        for source in &self.system.sources {
            let emitter = &mut self.emitter;
            let [at_z, at_y, at_x] = source.at;
            let here = emitter.set(Class::Predicate, "setp.eq.u32", format_args!("{z}, {at_z}"));
            let here = emitter.set(
                Class::Predicate,
                "setp.eq.and.u32",
                format_args!("{y}, {at_y}, {here}"),
            );
            let here = emitter.set(
                Class::Predicate,
                "setp.eq.and.u32",
                format_args!("{x}, {at_x}, {here}"),
            );
            places.push(emitter.set(Class::B32, "selp.u32", format_args!("0, 1, {here}")));
        }
        let [_, ny, _] = geometry.extents;
        let (_, stored) = self.numbers.stored();
        for (field, value) in values.into_iter().enumerate() {
            let value = self.add_sources(field, value, &places, 0);
            let value = self.numbers.round(&mut self.emitter, &value);
            let start = self.addresses[self.arrays.len() + field].clone();
            let address = self.address(&start, [&z, &y, &x], ny);
            self.emitter.line(format_args!("st.global.{stored} [{address}], {value}"));
        }
        self.emitter.line(format_args!("ret"));
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

    /// The next values of all fields at a point.
    fn evaluate(&mut self, point: &mut dyn Point) -> Vec<String> {
        let mut results: Vec<String> = Vec::new();
        let program = self.program;
        for operation in &program.operations {
            let result = match operation {
                Operation::Call(function, values) => {
                    let values: Vec<String> =
                        values.iter().map(|value| self.value(value, &results, point)).collect();
                    self.numbers.call(&mut self.emitter, *function, &values)
                }
                Operation::Sum(array, taps) => self.sum(*array, taps, point),
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
                let place = point.place(self, axis, offset[axis]);
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
}

/// Of a tile: neighbours lie at constant distances, and what was loaded for one point is there for the next.
struct InTile<'a> {
    at: [usize; 3],
    place: [&'a str; 3],
    starts: &'a [String],
    /// By array, plane, row and group of columns.
    loaded: &'a mut HashMap<(Array, [isize; 3]), Vec<String>>,
}

impl Point for InTile<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> String {
        let columns = writer.geometry.columns as isize;
        let [z, y, x] = [0, 1, 2].map(|axis: usize| self.at[axis] as isize + offset[axis] as isize);
        let group = x.div_euclid(columns);
        let values = self.loaded.entry((array, [z, y, group])).or_insert_with(|| {
            let (class, stored) = writer.numbers.stored();
            let Geometry { extents: [_, ny, _], pitch, .. } = *writer.geometry;
            let distance = ((z * ny as isize + y) * pitch as isize + group * columns)
                * writer.system.dtype.bytes() as isize;
            let start = &self.starts[writer.index(array)];
            let emitter = &mut writer.emitter;
            let registers: Vec<String> = (0..columns).map(|_| emitter.register(class)).collect();
            let list = registers.join(", ");
            // Immediate distances have 32 bits.
            let address = match i32::try_from(distance) {
                Ok(distance) => format!("{start}+{distance}"),
                Err(_) => emitter.set(Class::B64, "add.s64", format_args!("{start}, {distance}")),
            };
            match columns {
                1 => emitter.line(format_args!("ld.global.nc.{stored} {list}, [{address}]")),
                _ => emitter
                    .line(format_args!("ld.global.nc.v{columns}.{stored} {{{list}}}, [{address}]")),
            }
            registers
                .iter()
                .map(|stored| writer.numbers.widen(&mut writer.emitter, stored))
                .collect()
        });
        values[x.rem_euclid(columns) as usize].clone()
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> String {
        let distance = self.at[axis] as i32 + offset;
        let operands = format!("{}, {distance}", self.place[axis]);
        writer.emitter.set(Class::B32, "add.s32", format_args!("{operands}"))
    }
}

/// Near a side: tables tell where neighbours are.
struct AtEdge<'a> {
    place: [&'a str; 3],
    /// Coordinates by the number of a boundary, axis and distance.
    found: HashMap<(usize, usize, i32), String>,
    loaded: HashMap<(Array, Offset), String>,
}

impl AtEdge<'_> {
    /// Where a coordinate leads: a point, or below 0 the number of a value.
    fn find(&mut self, writer: &mut Writer, boundary: usize, axis: usize, offset: i32) -> String {
        if offset == 0 {
            return self.place[axis].to_owned();
        }
        let place = self.place[axis];
        self.found
            .entry((boundary, axis, offset))
            .or_insert_with(|| {
                let start = writer.places.start(boundary, axis) as i64 + i64::from(offset);
                let table = writer.addresses[writer.addresses.len() - 2].clone();
                let emitter = &mut writer.emitter;
                let bytes = emitter.set(Class::B64, "mul.wide.u32", format_args!("{place}, 4"));
                let entry = emitter.set(Class::B64, "add.u64", format_args!("{table}, {bytes}"));
                let place = format!("[{entry}+{}]", 4 * start);
                emitter.set(Class::B32, "ld.global.nc.s32", format_args!("{place}"))
            })
            .clone()
    }
}

impl Point for AtEdge<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> String {
        if let Some(known) = self.loaded.get(&(array, offset)) {
            return known.clone();
        }
        let boundary = writer.places.boundary(array);
        let found: [String; 3] =
            std::array::from_fn(|axis| self.find(writer, boundary, axis, offset[axis]));
        let (class, suffix, bytes) =
            (writer.numbers.class(), writer.numbers.suffix(), writer.numbers.bytes());
        let (stored_class, stored) = writer.numbers.stored();
        let start = writer.addresses[writer.index(array)].clone();
        let [_, ny, _] = writer.geometry.extents;
        let outside: Vec<usize> = [2, 1, 0].into_iter().filter(|axis| offset[*axis] != 0).collect();
        let value = if outside.is_empty() {
            let address = writer.address(&start, self.place, ny);
            let loaded = format!("[{address}]");
            let opcode = format!("ld.global.nc.{stored}");
            let value = writer.emitter.set(stored_class, &opcode, format_args!("{loaded}"));
            writer.numbers.widen(&mut writer.emitter, &value)
        } else {
            // The first of x, y, z that leads to a value, or any that does not.
            let mut first = found[outside[outside.len() - 1]].clone();
            for axis in outside.iter().rev().skip(1) {
                let emitter = &mut writer.emitter;
                let own = &found[*axis];
                let is = emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{own}, 0"));
                first = emitter.set(Class::B32, "selp.s32", format_args!("{own}, {first}, {is}"));
            }
            // Where it is a value, the address is that of the first point, and what is loaded is not used.
            let emitter = &mut writer.emitter;
            let is_value = emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{first}, 0"));
            let inside = [0, 1, 2].map(|axis: usize| {
                emitter.set(Class::B32, "selp.s32", format_args!("0, {}, {is_value}", found[axis]))
            });
            let inside: [&str; 3] = std::array::from_fn(|axis| inside[axis].as_str());
            let address = writer.address(&start, inside, ny);
            let opcode = format!("ld.global.nc.{stored}");
            let loaded = format!("[{address}]");
            let value = writer.emitter.set(stored_class, &opcode, format_args!("{loaded}"));
            let value = writer.numbers.widen(&mut writer.emitter, &value);
            let table = writer.addresses[writer.addresses.len() - 1].clone();
            let emitter = &mut writer.emitter;
            let number = emitter.set(Class::B32, "not.b32", format_args!("{first}"));
            let number =
                emitter.set(Class::B32, "selp.s32", format_args!("{number}, 0, {is_value}"));
            let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{number}, {bytes}"));
            let place = emitter.set(Class::B64, "add.u64", format_args!("{table}, {place}"));
            let opcode = format!("ld.global.nc.{suffix}");
            let place = format!("[{place}]");
            let constant = emitter.set(class, &opcode, format_args!("{place}"));
            let chosen = format!("{constant}, {value}, {is_value}");
            emitter.set(class, &format!("selp.{suffix}"), format_args!("{chosen}"))
        };
        self.loaded.insert((array, offset), value.clone());
        value
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> String {
        let operands = format!("{}, {offset}", self.place[axis]);
        writer.emitter.set(Class::B32, "add.s32", format_args!("{operands}"))
    }
}
