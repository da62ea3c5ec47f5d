// SPDX-License-Identifier: MIT OR Apache-2.0
//! Between a thread's registers, shared memory and the arrays of the grid.

use super::ThreadPoints;
use crate::expression::Array;
use crate::gpu::kernel::Writer;
use ptx_writer::Relation::Less;
use ptx_writer::{B64, OffsetAddress, Register, S32, U32, U64};

impl Writer<'_> {
    /// Loads the values of a thread's points.
    pub(super) fn load_part(&mut self, own: &ThreadPoints) {
        if own.mapped.is_some() {
            return self.load_at_border(own);
        }
        let row_bytes = self.geometry.pitch * self.system.dtype.bytes();
        let distance = self.first_point(own);
        for (number, array) in own.held.states.iter().enumerate() {
            let rows = own.values(*array);
            let start = self.emitter.offset(self.addresses[number], distance);
            for (row, register) in rows.iter().enumerate() {
                let (numbers, emitter) = (self.numbers, &mut self.emitter);
                let stored = numbers.load(emitter, start.at(row * row_bytes));
                let value = numbers.widen(emitter, stored);
                emitter.set(*register, value);
            }
        }
    }

    /// The distance of the thread's first point, inside of the grid, from the first one of an array, in bytes.
    fn first_point(&mut self, own: &ThreadPoints) -> Register<B64> {
        let (bytes, emitter) = (self.system.dtype.bytes(), &mut self.emitter);
        let row = emitter.mul_wide(own.y, self.geometry.pitch * bytes);
        let column = emitter.mul_wide(own.x, bytes);
        emitter.add(U64, row, column)
    }

    /// Shows others the values of some arrays.
    pub(super) fn share(&mut self, own: &ThreadPoints, chosen: impl Fn(Array) -> bool) {
        let bytes = self.numbers.bytes();
        for array in own.held.all().filter(|array| chosen(*array)) {
            let Some(slot) = own.held.slot(array) else { continue };
            for (row, value) in own.values(array).iter().enumerate() {
                let place = own.at.at(own.distance(slot, row as i32, 0, bytes));
                self.emitter.store(place, *value);
            }
        }
    }

    /// Stores the middle of the part.
    pub(super) fn store_part(&mut self, own: &ThreadPoints) {
        let [_, ny, nx] = self.geometry.extents;
        let (halo, middle) = (own.tile.halo(), own.tile.middle());
        let row_bytes = self.geometry.pitch * self.system.dtype.bytes();
        let column = self.emitter.sub(U32, own.lane, halo[2]);
        let mut inside = self.emitter.setp(Less, U32, column, middle[2]);
        if own.mapped.is_some() {
            inside = self.emitter.setp_and(Less, U32, own.x, nx, inside);
        }
        let distance = own.mapped.is_none().then(|| self.first_point(own));
        for row in 0..own.tile.rows {
            let emitter = &mut self.emitter;
            // Wraps around below the halo, to more than there are rows.
            let down = emitter.add(S32, own.row, row as i64 - halo[1] as i64);
            let mut writes = emitter.setp_and(Less, U32, down, middle[1], inside);
            if own.mapped.is_some() {
                let y = emitter.add(S32, own.y, row);
                writes = emitter.setp_and(Less, U32, y, ny, writes);
            }
            let fields = own.held.states.iter();
            let fields = fields.filter(|array| matches!(array, Array::Field { .. }));
            for (written, array) in fields.enumerate() {
                let value = self.numbers.round(&mut self.emitter, own.values(*array)[row]);
                let start = self.addresses[self.arrays.len() + written];
                let place: OffsetAddress<_> = match (&own.mapped, distance) {
                    (Some((ys, x)), _) => self.address(start, [own.zero, ys[row], *x]).into(),
                    (None, Some(distance)) => {
                        self.emitter.offset(start, distance).at(row * row_bytes)
                    }
                    (None, None) => unreachable!("the first point of a part inside is known"),
                };
                self.numbers.store(self.emitter.guarded(writes), place, &[value]);
            }
        }
    }
}
