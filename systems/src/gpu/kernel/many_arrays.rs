// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread with some points beside each other, which finds where neighbours beyond sides are ([`crate::gpu::many_arrays`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Point, Writer};
use crate::expression::Array;
use crate::gpu::geometry::Geometry;
use crate::program::Offset;
use problem::boundary::Side;
use ptx_writer::{B32, B64, Number, Predicate, Register, Relation, S32, U32, U64};

/// The coordinate that a boundary maps another one to.
#[derive(Clone, Copy)]
struct MappedCoordinate {
    /// A coordinate of the grid.
    to: Register<B32>,
    /// Where it is beyond a side with a value, whether it is, and the value.
    beyond: Option<(Register<Predicate>, f64)>,
}

/// What tells the leads of a thread from each other: the boundary and the distance, but for a thread's own coordinate.
type MappingKey = Option<(usize, i32)>;

/// What a thread knows of places.
struct BatchPoints {
    place: [Register<B32>; 3],
    leads: HashMap<(usize, MappingKey), MappedCoordinate>,
    /// Distances in bytes from an array's first value: of rows by the leads along z and y, from there by that along x, and
    /// both together.
    rows: HashMap<[MappingKey; 2], Register<B64>>,
    columns: HashMap<MappingKey, Register<B64>>,
    distances: HashMap<[MappingKey; 3], Register<B64>>,
}

impl BatchPoints {
    fn new(place: [Register<B32>; 3]) -> Self {
        let (leads, rows, columns, distances) = Default::default();
        Self { place, leads, rows, columns, distances }
    }
}

impl Writer<'_> {
    /// A thread with a row of points.
    pub(super) fn many(&mut self, index: Register<B32>, edges: usize) {
        let Some(place) = self.first_of_tile(index, edges) else { return };
        let columns = self.geometry.columns;
        let mut places = BatchPoints::new(place);
        let own = self.distance_of(&mut places, [None; 3]);
        let written = self.addresses[self.arrays.len()..][..self.written].to_vec();
        let mut rows: BTreeMap<(Array, [i32; 2]), BTreeSet<i32>> = BTreeMap::new();
        for (array, [z, y, x]) in self.program.reads() {
            let row = rows.entry((array, [z, y])).or_default();
            row.extend((0..columns as i32).map(|column| x + column));
        }
        let mut loaded = HashMap::new();
        for ((array, [z, y]), row) in &rows {
            self.load_row(&mut places, *array, [*z, *y], row, &mut loaded);
        }
        let sources = self.sources_in(1, columns, place);
        let mut point = LoadedPoint { place, column: 0, loaded: &loaded };
        let mut results = vec![Vec::new(); self.written];
        for values in self.evaluate_columns(&mut point, columns) {
            results.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
        }
        self.add_sources(&sources, 0, &mut results);
        for (start, values) in written.into_iter().zip(&results) {
            let to = self.emitter.offset(start, own);
            let values = values.iter().map(|it| self.numbers.round(&mut self.emitter, *it));
            let values: Vec<_> = values.collect();
            self.numbers.store(&mut self.emitter, to, &values);
        }
        self.emitter.ret();
    }

    /// Loads values of a row so far along z and y from a thread's points, at these distances along x from the first one.
    fn load_row(
        &mut self,
        places: &mut BatchPoints,
        array: Array,
        [z, y]: [i32; 2],
        row: &BTreeSet<i32>,
        loaded: &mut HashMap<(Array, Offset), Number>,
    ) {
        let (columns, start) = (self.geometry.columns, self.start(array));
        let own = 0..columns as i32;
        let [key_z, key_y] = [z, y].map(|offset| self.key(array, offset));
        // Values of the thread's own points are loaded together.
        let together = own.clone().all(|x| row.contains(&x));
        if together {
            let distance = self.distance_of(places, [key_z, key_y, None]);
            let from = self.emitter.offset(start, distance);
            let stored = self.numbers.load_several(&mut self.emitter, from.at(0), columns);
            for (x, stored) in (0..).zip(stored) {
                let value = self.numbers.widen(&mut self.emitter, stored);
                let value = self.or_beyond(places, [key_z, key_y, None], value);
                loaded.insert((array, [z, y, x]), value);
            }
        }
        for &x in row.iter().filter(|x| !(together && own.contains(x))) {
            // At a constant distance where that is always in the grid.
            let key_x = if self.is_inside(2, x) { None } else { self.key(array, x) };
            let keys = [key_z, key_y, key_x];
            let distance = self.distance_of(places, keys);
            let from = self.emitter.offset(start, distance);
            let beside = if key_x.is_some() { 0 } else { x };
            let place = from.at(i64::from(beside) * self.system.dtype.bytes() as i64);
            let stored = self.numbers.load(&mut self.emitter, place);
            let value = self.numbers.widen(&mut self.emitter, stored);
            let value = self.or_beyond(places, keys, value);
            loaded.insert((array, [z, y, x]), value);
        }
    }

    /// How a coordinate so far from a thread's is looked for.
    fn key(&self, array: Array, offset: i32) -> MappingKey {
        (offset != 0).then(|| (self.places.boundary(array), offset))
    }

    /// Whether what lies so far from any thread's first point is in the grid.
    fn is_inside(&self, axis: usize, offset: i32) -> bool {
        let Geometry { extents, inside, columns, .. } = self.geometry;
        let extent = extents[axis] as i64;
        let [low, high] = [inside.low, inside.high].map(|it| it[axis] as i64);
        let last = high - if axis == 2 { *columns as i64 } else { 1 };
        low + i64::from(offset) >= 0 && last + i64::from(offset) < extent
    }

    /// Where the coordinate of a key along an axis leads.
    fn lead_of(
        &mut self,
        places: &mut BatchPoints,
        axis: usize,
        key: MappingKey,
    ) -> MappedCoordinate {
        if let Some(known) = places.leads.get(&(axis, key)) {
            return *known;
        }
        let lead = match key {
            None => MappedCoordinate { to: places.place[axis], beyond: None },
            Some((boundary, offset)) => self.find(places.place[axis], axis, boundary, offset),
        };
        places.leads.insert((axis, key), lead);
        lead
    }

    /// Where a coordinate so far from a thread's leads for arrays with a boundary.
    fn find(
        &mut self,
        own: Register<B32>,
        axis: usize,
        boundary: usize,
        offset: i32,
    ) -> MappedCoordinate {
        let (is_inside, end) = (self.is_inside(axis, offset), usize::from(offset > 0));
        let extent = self.geometry.extents[axis] as i32;
        let emitter = &mut self.emitter;
        let at = emitter.add(S32, own, offset);
        if is_inside {
            return MappedCoordinate { to: at, beyond: None };
        }
        // The coordinate itself if it is in the grid, or else its image, whichever is between 0 and the last one.
        let to = match (self.places.side(boundary, axis, end), end) {
            (Side::Periodic, 0) => {
                let image = emitter.add(S32, at, extent);
                emitter.min(U32, at, image)
            }
            (Side::Periodic, _) => {
                let image = emitter.sub(U32, at, extent);
                emitter.min(U32, at, image)
            }
            (Side::Edge | Side::VaryingFlux(_), 0) => emitter.max(S32, at, 0),
            (Side::Edge | Side::VaryingFlux(_), _) => emitter.min(S32, at, extent - 1),
            (Side::Reflect, 0) => {
                let image = emitter.sub(U32, 0, at);
                emitter.max(S32, at, image)
            }
            (Side::Reflect, _) => {
                let image = emitter.sub(U32, 2 * extent - 2, at);
                emitter.min(S32, at, image)
            }
            (Side::Symmetric, 0) => {
                let image = emitter.sub(U32, -1, at);
                emitter.max(S32, at, image)
            }
            (Side::Symmetric, _) => {
                let image = emitter.sub(U32, 2 * extent - 1, at);
                emitter.min(S32, at, image)
            }
            (side @ (Side::Zero | Side::Open | Side::Varying(_) | Side::Constant(_)), _) => {
                let value = if let Side::Constant(value) = side { value } else { 0.0 };
                let beyond = match end {
                    0 => emitter.setp(Relation::Less, S32, at, 0),
                    _ => emitter.setp(Relation::AtLeast, S32, at, extent),
                };
                let to = emitter.select(S32, 0, at, beyond);
                return MappedCoordinate { to, beyond: Some((beyond, value)) };
            }
            (Side::Flux(_) | Side::Odd | Side::OddReflect | Side::Robin(_), _) => {
                unreachable!("points beside sides with slopes and changed images are others'")
            }
        };
        MappedCoordinate { to, beyond: None }
    }

    /// The distance of a point from an array's first value in bytes.
    fn distance_of(
        &mut self,
        places: &mut BatchPoints,
        keys @ [z, y, x]: [MappingKey; 3],
    ) -> Register<B64> {
        if let Some(known) = places.distances.get(&keys) {
            return *known;
        }
        let row = match places.rows.get(&[z, y]) {
            Some(row) => *row,
            None => {
                let [plane, row] =
                    [(0, z), (1, y)].map(|(axis, key)| self.lead_of(places, axis, key).to);
                let row = self.emitter.mad(U32, plane, self.geometry.extents[1], row);
                let row_bytes = self.geometry.pitch * self.system.dtype.bytes();
                *places.rows.entry([z, y]).or_insert(self.emitter.mul_wide(row, row_bytes))
            }
        };
        let column = self.lead_of(places, 2, x).to;
        let column = match places.columns.get(&x) {
            Some(column) => *column,
            None => {
                let column = self.emitter.mul_wide(column, self.system.dtype.bytes());
                *places.columns.entry(x).or_insert(column)
            }
        };
        *places.distances.entry(keys).or_insert(self.emitter.add(U64, row, column))
    }

    /// A value that was found, or that of the side beyond which it was looked for, along x first.
    fn or_beyond(
        &mut self,
        places: &mut BatchPoints,
        keys: [MappingKey; 3],
        value: Number,
    ) -> Number {
        (0..3).fold(value, |value, axis| match self.lead_of(places, axis, keys[axis]).beyond {
            Some((beyond, constant)) => {
                let constant = self.numbers.immediate(constant);
                self.emitter.choose(constant, value, beyond)
            }
            None => value,
        })
    }
}

/// One of a thread's points, for which all is loaded, by array and the distance from the first point.
struct LoadedPoint<'a> {
    place: [Register<B32>; 3],
    column: i32,
    loaded: &'a HashMap<(Array, Offset), Number>,
}

impl Point for LoadedPoint<'_> {
    fn read(&mut self, _: &mut Writer, array: Array, [z, y, x]: Offset) -> Number {
        self.loaded[&(array, [z, y, x + self.column])]
    }

    fn turn_to(&mut self, column: usize) {
        self.column = column as i32;
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        let column = if axis == 2 { self.column } else { 0 };
        writer.emitter.add(S32, self.place[axis], column + offset)
    }
}
