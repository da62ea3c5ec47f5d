// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread with a tile of points whose neighbours are all in the grid.

use std::collections::HashMap;

use super::{Point, Writer};
use crate::expression::Array;
use crate::gpu::geometry::{Geometry, THREADS};
use crate::program::Offset;
use ptx_writer::{B32, Global, Number, Register, Relation, S32, U32, U64};

impl Writer<'_> {
    /// The first point of a thread's tile (z, y, x); a thread without one ends. None if there are no tiles.
    pub(super) fn first_of_tile(
        &mut self,
        index: Register<B32>,
        edges: usize,
    ) -> Option<[Register<B32>; 3]> {
        let geometry = self.geometry;
        let [planes, down, across] = geometry.threads();
        if planes * down * across == 0 {
            self.emitter.ret();
            return None;
        }
        let emitter = &mut self.emitter;
        let tile = emitter.sub(U32, index, edges * THREADS as usize);
        let beyond = emitter.setp(Relation::AtLeast, U32, tile, planes * down * across);
        emitter.ret_if(beyond);
        let row = emitter.div(U32, tile, across);
        let column = emitter.rem(U32, tile, across);
        let [.., tiles] = geometry.tiles();
        if tiles < across {
            let none = emitter.setp(Relation::AtLeast, U32, column, tiles);
            emitter.ret_if(none);
        }
        let plane = emitter.div(U32, row, down);
        let row = emitter.rem(U32, row, down);
        let Geometry { inside, columns, rows, .. } = *geometry;
        let x = emitter.mad(U32, column, columns, inside.low[2]);
        let y = emitter.mad(U32, row, rows, inside.low[1]);
        let z = emitter.add(U32, plane, inside.low[0]);
        Some([z, y, x])
    }

    /// A thread with a tile of points whose neighbours are all in the grid.
    pub(super) fn tile(&mut self, index: Register<B32>, edges: usize) {
        let Some(place @ [z, y, x]) = self.first_of_tile(index, edges) else { return };
        let Geometry { columns, rows, extents: [_, ny, _], pitch, .. } = *self.geometry;
        let (emitter, bytes) = (&mut self.emitter, self.system.dtype.bytes());
        let first_row = emitter.mad(U32, z, ny, y);
        let x_bytes = emitter.mul(U32, x, bytes);
        let x_bytes = emitter.convert(U64, U32, x_bytes);
        let row_bytes = pitch * bytes;
        let offset = emitter.mul_wide(first_row, row_bytes);
        let offset = emitter.add(U64, offset, x_bytes);
        let addresses = &self.addresses[..self.arrays.len() + self.written];
        let starts: Vec<_> = addresses.iter().map(|it| emitter.offset(*it, offset)).collect();
        let sources = self.sources_in(rows, columns, place);
        let mut loaded = HashMap::new();
        for down in 0..rows {
            let mut results = vec![Vec::new(); self.written];
            for across in 0..columns {
                let (at, loaded) = ([0, down, across], &mut loaded);
                let mut point = TilePoint { at, place, starts: &starts, loaded };
                let values = self.evaluate(&mut point);
                for (results, value) in results.iter_mut().zip(values) {
                    results.push(value);
                }
            }
            self.add_sources(&sources, down, &mut results);
            for (start, values) in starts[self.arrays.len()..].iter().zip(&results) {
                let values = values.iter().map(|it| self.numbers.round(&mut self.emitter, *it));
                let values: Vec<_> = values.collect();
                let place = start.at(down * row_bytes);
                self.numbers.store(&mut self.emitter, place, &values);
            }
        }
        self.emitter.ret();
    }
}

/// Of a tile: neighbours lie at constant distances, and what was loaded for one point is there for the next.
struct TilePoint<'a> {
    at: [usize; 3],
    place: [Register<B32>; 3],
    starts: &'a [Register<Global>],
    /// By array, plane, row and group of columns.
    loaded: &'a mut HashMap<(Array, [isize; 3]), Vec<Number>>,
}

impl Point for TilePoint<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> Number {
        let columns = writer.geometry.columns as isize;
        let [z, y, x] = [0, 1, 2].map(|axis: usize| self.at[axis] as isize + offset[axis] as isize);
        let group = x.div_euclid(columns);
        let values = self.loaded.entry((array, [z, y, group])).or_insert_with(|| {
            let Geometry { extents: [_, ny, _], pitch, .. } = *writer.geometry;
            let distance = ((z * ny as isize + y) * pitch as isize + group * columns)
                * writer.system.dtype.bytes() as isize;
            let start = self.starts[writer.index(array)];
            let emitter = &mut writer.emitter;
            let place = emitter.far(start, distance as i64);
            let stored = writer.numbers.load_several(emitter, place, columns as usize);
            stored.into_iter().map(|stored| writer.numbers.widen(emitter, stored)).collect()
        });
        values[x.rem_euclid(columns) as usize]
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        writer.emitter.add(S32, self.place[axis], self.at[axis] as i32 + offset)
    }
}
