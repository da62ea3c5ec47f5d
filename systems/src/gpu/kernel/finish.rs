// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes of a sum that a sweep has computed the next value, as instructions for a place in the sweep's kernel
//! (`cuda_std::splice`): four points at once, of which the other arrays' values lie in shared memory.

use std::collections::HashMap;
use std::mem::offset_of;

use kernels_gpu::row_window::HALF;
use kernels_gpu::wide2d::finished::{DISTANCE, Given, PARAMETER, POINTS};

use super::{Point, Table, Writer};
use crate::checked::System;
use crate::expression::Array;
use crate::gpu::emitter::{Class, Emitter};
use crate::gpu::numbers::Numbers;
use crate::gpu::places::Places;
use crate::program::Offset;

/// How names of registers begin here.
const SCOPE: &str = "own_";
/// The tables that are read, in the order of [`Given::addresses`].
pub const TABLES: [Table; 3] = [Table::Numbers, Table::Rows, Table::Sources];

/// Instructions, in which names of registers stand as `$0$` and so on, results first, and that of the parameter as `$given$`.
#[derive(Clone, Debug)]
pub struct Epilogue {
    text: String,
    /// Whether they read the digits of 2/π.
    pub has_digits: bool,
}

impl Epilogue {
    /// Those of a system that reads these arrays beside its sum, which is to be multiplied with a factor.
    pub fn new(system: &System, planes: &[Array], factor: f64) -> Self {
        let geometry = super::geometry(system);
        let mut writer = Writer {
            system,
            program: &system.program,
            numbers: Numbers { dtype: system.dtype },
            geometry: &geometry,
            places: &Places::default(),
            arrays: planes,
            written: 0,
            emitter: Emitter::within(SCOPE),
            addresses: vec![String::new(); planes.len() + Table::COUNT],
            numbers_now: None,
            scalars: Vec::new(),
            added: Vec::new(),
        };
        writer.finish(planes, factor);
        let has_digits = writer.emitter.has_digits;
        Self { text: format!("{{\n{}}}\n", writer.emitter.finish()), has_digits }
    }

    /// Those for a place in a kernel, where the results and operands have these names.
    pub fn of(&self, kernel: &str, names: &[&str]) -> String {
        let given = self.text.replace("$given$", &format!("{kernel}_param_{PARAMETER}"));
        let named = names.iter().enumerate();
        named.fold(given, |text, (index, name)| text.replace(&format!("${index}$"), name))
    }
}

impl Writer<'_> {
    fn finish(&mut self, planes: &[Array], factor: f64) {
        for (index, table) in TABLES.into_iter().enumerate() {
            let place = offset_of!(Given, addresses) + 8 * index;
            let opcode = "ld.param.u64";
            let address = self.emitter.set(Class::B64, opcode, format_args!("[$given$+{place}]"));
            let opcode = "cvta.to.global.u64";
            let address = self.emitter.set(Class::B64, opcode, format_args!("{address}"));
            self.addresses[planes.len() + table as usize] = address;
        }
        self.load_numbers();
        let [y, x, start] = [8, 9, 10]
            .map(|operand| self.emitter.set(Class::B32, "mov.b32", format_args!("${operand}$")));
        let z = self.emitter.set(Class::B32, "mov.u32", format_args!("0"));
        let mut read: [HashMap<Array, String>; POINTS.len()] = Default::default();
        for (plane, array) in (0..).zip(planes) {
            for half in [0, 1] {
                let place = plane * DISTANCE + half * HALF * self.system.dtype.bytes() as u32;
                let opcode = "ld.shared.b32";
                let word = self.emitter.set(Class::B32, opcode, format_args!("[{start}+{place}]"));
                let pair = [(); 2].map(|()| self.emitter.register(Class::B16));
                self.emitter.line(format_args!("mov.b32 {{{}, {}}}, {word}", pair[0], pair[1]));
                for (beside, stored) in (0..).zip(pair) {
                    let column = half * HALF + beside;
                    let point = POINTS.iter().position(|own| *own == column).expect("a point");
                    let value = self.numbers.widen(&mut self.emitter, &stored);
                    read[point].insert(*array, value);
                }
            }
        }
        let mut values = Vec::new();
        for (index, column) in POINTS.into_iter().enumerate() {
            let sum = format!("${}$", POINTS.len() + index);
            let mut sum = self.emitter.set(Class::F32, "mov.b32", format_args!("{sum}"));
            if factor != 1.0 {
                let factor = self.numbers.immediate(factor);
                sum = self.emitter.set(Class::F32, "mul.f32", format_args!("{sum}, {factor}"));
            }
            let read = &read[index];
            let mut point = Summed { sum, read, place: [&z, &y, &x], column: column as i32 };
            values.extend(self.evaluate(&mut point));
        }
        for half in [0, 1] {
            let x = self.emitter.set(Class::B32, "add.s32", format_args!("{x}, {}", half * HALF));
            let sources = self.sources_in(1, 2, [&z, &y, &x]);
            let pair = [0, 1].map(|beside| {
                POINTS.iter().position(|own| *own == half * HALF + beside).expect("a point")
            });
            let mut row = vec![pair.map(|point| values[point].clone()).to_vec()];
            self.add_sources(&sources, 0, &mut row);
            for (point, value) in pair.into_iter().zip(row.remove(0)) {
                values[point] = value;
            }
        }
        for (index, value) in values.iter().enumerate() {
            self.emitter.line(format_args!("mov.b32 ${index}$, {value}"));
        }
    }
}

/// A point whose sum is known, and all that is read.
struct Summed<'a> {
    sum: String,
    read: &'a HashMap<Array, String>,
    place: [&'a str; 3],
    /// Columns from the first point.
    column: i32,
}

impl Point for Summed<'_> {
    fn read(&mut self, _: &mut Writer, array: Array, _: Offset) -> String {
        self.read[&array].clone()
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> String {
        let distance = if axis == 2 { self.column + offset } else { offset };
        let operands = format!("{}, {distance}", self.place[axis]);
        writer.emitter.set(Class::B32, "add.s32", format_args!("{operands}"))
    }

    fn summed(&self) -> Option<String> {
        Some(self.sum.clone())
    }
}
