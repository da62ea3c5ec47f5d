// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes of a sum that a sweep has computed the next value, as instructions for a place in the sweep's kernel
//! (`cuda_std::splice`): four points at once, of which the other arrays' values lie in shared memory.

use std::collections::HashMap;
use std::mem::offset_of;

use kernels_gpu::row_window::HALF;
use kernels_gpu::wide2d::finished::{DISTANCE, EpilogueInputs, PARAMETER, POINTS};

use super::{Point, Table, Writer};
use crate::checked::System;
use crate::expression::Array;
use crate::gpu::geometry::Geometry;
use crate::gpu::numbers;
use crate::gpu::places::PlaceTables;
use crate::program::Offset;
use ptx_writer::{B32, Emitter, F32, Number, Operand, Register, S32, StoredValue, U32, U64};

/// How names of registers begin here.
const SCOPE: &str = "own_";
/// The tables that are read, in the order of [`EpilogueInputs::addresses`].
pub const TABLES: [Table; 3] = [Table::Numbers, Table::Rows, Table::Sources];

/// Instructions, in which names of registers stand as `$0$` and so on, results first, and that of the parameter as `$given$`.
#[derive(Clone, Debug)]
pub struct Epilogue {
    text: String,
    /// Whether they read the digits of 2/π.
    pub has_digits: bool,
}

impl Epilogue {
    /// The instructions of a system that reads these arrays beside its sum, which is to be multiplied with a factor.
    pub fn new(system: &System, planes: &[Array], factor: f64) -> Self {
        let geometry = Geometry::of(system);
        let mut writer = Writer {
            system,
            program: &system.program,
            numbers: numbers(system.dtype),
            geometry: &geometry,
            places: &PlaceTables::default(),
            arrays: planes,
            written: 0,
            emitter: Emitter::within(SCOPE),
            addresses: Vec::new(),
            numbers_now: None,
            scalars: Vec::new(),
            added: Vec::new(),
            of_member: None,
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
        let tables = [0, 1, 2].map(|index| {
            let place = offset_of!(EpilogueInputs, addresses) + 8 * index;
            let address = self.emitter.parameter(U64, "$given$", place);
            self.emitter.global(address)
        });
        // Nobody asks for the others.
        self.addresses = vec![tables[0]; planes.len() + Table::COUNT];
        for (table, address) in TABLES.into_iter().zip(tables) {
            self.addresses[planes.len() + table as usize] = address;
        }
        self.load_numbers();
        let [y, x] = [8, 9].map(|operand| self.emitter.mov(B32, Operand::given(operand)));
        let start = self.emitter.shared(Operand::given(10));
        let z = self.emitter.mov(U32, 0);
        let mut read: [HashMap<Array, Number>; POINTS.len()] = Default::default();
        for (plane, array) in (0..).zip(planes) {
            for half in [0, 1] {
                let place = plane * DISTANCE + half * HALF * self.system.dtype.bytes() as u32;
                let word = self.emitter.load(B32, start.at(place));
                for (beside, stored) in (0..).zip(self.emitter.halves(word)) {
                    let column = half * HALF + beside;
                    let point = POINTS.iter().position(|own| *own == column).expect("a point");
                    let value = self.numbers.widen(&mut self.emitter, StoredValue::Half(stored));
                    read[point].insert(*array, value);
                }
            }
        }
        let mut values = Vec::new();
        for (index, column) in POINTS.into_iter().enumerate() {
            let sum = Operand::given(POINTS.len() + index);
            let mut sum = self.emitter.number(F32, sum).into();
            if factor != 1.0 {
                let factor = self.numbers.immediate(factor);
                sum = self.emitter.compute("mul", &[sum, factor]);
            }
            let read = &read[index];
            let mut point = SummedPoint { sum, read, place: [z, y, x], column: column as i32 };
            values.extend(self.evaluate(&mut point));
        }
        for half in [0, 1] {
            let x = self.emitter.add(S32, x, half * HALF);
            let sources = self.sources_in(1, 2, [z, y, x]);
            let pair = [0, 1].map(|beside| {
                POINTS.iter().position(|own| *own == half * HALF + beside).expect("a point")
            });
            let mut row = vec![pair.map(|point| values[point]).to_vec()];
            self.add_sources(&sources, 0, &mut row);
            for (point, value) in pair.into_iter().zip(row.remove(0)) {
                values[point] = value;
            }
        }
        for (index, value) in values.into_iter().enumerate() {
            self.emitter.give(index, value);
        }
    }
}

/// A point whose sum is known, and all that is read.
struct SummedPoint<'a> {
    sum: Number,
    read: &'a HashMap<Array, Number>,
    place: [Register<B32>; 3],
    /// Columns from the first point.
    column: i32,
}

impl Point for SummedPoint<'_> {
    fn read(&mut self, _: &mut Writer, array: Array, _: Offset) -> Number {
        self.read[&array]
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        let distance = if axis == 2 { self.column + offset } else { offset };
        writer.emitter.add(S32, self.place[axis], distance)
    }

    fn summed(&self) -> Option<Number> {
        Some(self.sum)
    }
}
