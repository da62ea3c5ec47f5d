// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks that go along z plane by plane ([`crate::gpu::march`]): the points whose neighbours are all in the grid.
//!
//! ```text
//! copy the first planes into the ring, load the first values of queues
//! again: wait for copies, barrier
//!        queues one on
//!        copy the plane after those that are read, load the next values of queues that have no ring
//!        next values of the thread's points, store
//! ```
//!
//! A plane takes the place of the one that was read last before the barrier, so one barrier a plane is enough.

use std::collections::{BTreeMap, HashMap};

use super::{HELD, Point, Writer};
use crate::expression::Array;
use crate::gpu::geometry::March;
use crate::gpu::march::{ArrayPlanes, held, ring};
use crate::program::Offset;
use ptx_writer::Relation::Less;
use ptx_writer::{B32, B64, Global, Number, Predicate, Register, S32, Shared, StoredValue, U32};

/// A part of a plane that a thread copies.
struct Piece {
    /// Where it lies in the plane z of each array that has a ring.
    from: Vec<Register<Global>>,
    /// Its distance in a plane from the thread's first one, in bytes.
    distance: usize,
    /// How many of its bytes lie in the grid: all or none.
    bytes: Register<B32>,
    /// Whether there is one for this thread, unless all have one.
    exists: Option<Register<Predicate>>,
}

/// An array that has a queue.
struct Queue {
    held: ArrayPlanes,
    /// By plane, the first one first, and column.
    values: Vec<Vec<Number>>,
    /// If it has no ring, where the thread's points lie in plane z, and what is on its way.
    next: Option<(Register<Global>, Vec<StoredValue>)>,
}

/// A block's planes, and a thread's points.
struct ThreadPoints {
    held: Vec<ArrayPlanes>,
    /// Planes of a ring, bytes of a plane, and of a row of it.
    ring: usize,
    plane_bytes: usize,
    row_bytes: usize,
    /// Coordinates of the thread's first point.
    place: [Register<B32>; 3],
    /// The place of plane z in rings.
    slot: Register<B32>,
    /// In the first plane of the first ring the thread's first piece, and its first point.
    pieces_at: Register<Shared>,
    at: Register<Shared>,
    pieces: Vec<Piece>,
    queues: BTreeMap<Array, Queue>,
}

impl ThreadPoints {
    /// The distance of an array's ring from the first one, in bytes.
    fn ring_of(&self, array: Array) -> usize {
        let rings = self.held.iter().filter(|it| it.ring.is_some());
        let number = rings.map(|it| it.array).position(|own| own == array);
        number.expect("it has a ring") * self.ring * self.plane_bytes
    }

    /// How many planes lie before that of the point in the ring that has most.
    fn back(&self) -> i32 {
        -self.held.iter().filter_map(|it| it.ring).min().unwrap_or_default()
    }
}

impl Writer<'_> {
    /// The threads of blocks from this one on.
    pub(super) fn march(
        &mut self,
        march: &March,
        [block, thread]: [Register<B32>; 2],
        first_block: usize,
    ) {
        let geometry = self.geometry;
        let [chunks, blocks_down, blocks_across] = march.blocks(geometry);
        if chunks * blocks_down * blocks_across == 0 {
            return self.emitter.ret();
        }
        let ([planes, down, across], inside) = (march.extents(geometry), geometry.inside);
        let (bytes, columns) = (self.system.dtype.bytes(), geometry.columns);
        let [_, reach, _] = self.program.reach(|_| true);
        let plane = march.plane(self.system, geometry);
        let beside = (plane[1] - across) / 2;
        let emitter = &mut self.emitter;
        let number = emitter.sub(U32, block, first_block);
        let rest = emitter.div(U32, number, blocks_across);
        let right = emitter.rem(U32, number, blocks_across);
        let chunk = emitter.div(U32, rest, blocks_down);
        let below = emitter.rem(U32, rest, blocks_down);
        let lane = emitter.rem(U32, thread, march.lanes);
        let row = emitter.div(U32, thread, march.lanes);
        let first_x = emitter.mad(U32, right, across, inside.low[2]);
        let first_y = emitter.mad(U32, below, down, inside.low[1]);
        let z = emitter.mad(U32, chunk, planes, inside.low[0]);
        let end = emitter.add(U32, z, planes);
        let end = emitter.min(U32, end, inside.high[0]);
        let x = emitter.mad(U32, lane, columns, first_x);
        let y = emitter.add(U32, row, first_y);
        let writes = emitter.setp(Less, U32, x, inside.high[2]);
        let writes = emitter.setp_and(Less, U32, y, inside.high[1], writes);
        // Threads beyond the last points compute those, and store nothing.
        let x = emitter.min(U32, x, inside.high[2] - columns as isize);
        let y = emitter.min(U32, y, inside.high[1] - 1);
        let row_bytes = plane[1] * bytes;
        let base = emitter.mov(Shared, HELD);
        let pieces_at = emitter.shared_element(base, thread, columns * bytes);
        let at = emitter.add(U32, row, reach);
        let lane_at = emitter.mad(U32, lane, columns, beside);
        let at = emitter.mad(U32, at, plane[1], lane_at);
        let at = emitter.shared_element(base, at, bytes);
        let held = held(self.system);
        let mut own = ThreadPoints {
            ring: ring(&held),
            plane_bytes: plane[0] * row_bytes,
            row_bytes,
            place: [z, y, x],
            slot: emitter.register(),
            pieces_at,
            at,
            pieces: Vec::new(),
            queues: BTreeMap::new(),
            held,
        };
        let back = own.back();
        self.emitter.assign(U32, own.slot, back);
        let first = [first_y, first_x];
        self.pieces(&mut own, march, thread, first, [reach, beside]);
        for held in own.held.iter().filter(|it| it.ring.is_some()) {
            for plane in held.ring.unwrap_or_default()..=held.front {
                let slot = (back + plane) as usize % own.ring;
                self.copy_plane(&own, held, plane, own.pieces_at, slot * own.plane_bytes);
            }
        }
        self.emitter.commit();
        let distance = self.distance(own.place);
        let written = self.addresses[self.arrays.len()..][..self.written].to_vec();
        let outputs = written.iter().map(|it| self.emitter.offset(*it, distance));
        let outputs: Vec<_> = outputs.collect();
        self.begin_queues(&mut own, distance);

        let again = self.emitter.new_label();
        self.emitter.label(again);
        self.emitter.wait_for_copies();
        self.emitter.barrier();
        let mut planes = HashMap::new();
        self.queues_on(&own, &mut planes);
        let after = self.emitter.new_label();
        let next = self.emitter.add(U32, z, 1);
        let more = self.emitter.setp(Less, U32, next, end);
        self.emitter.branch_if(!more, after);
        for held in own.held.iter().filter(|it| it.ring.is_some()) {
            let to = self.slot_at(&own, own.pieces_at, held.front + 1);
            self.copy_plane(&own, held, held.front + 1, to, 0);
        }
        self.emitter.commit();
        for queue in own.queues.values() {
            self.load_next(queue, queue.held.front + 1);
        }
        self.emitter.label(after);
        let sources = self.sources_in(1, columns, own.place);
        let mut results = vec![Vec::new(); self.written];
        let mut loaded = HashMap::new();
        let (planes, loaded) = (&mut planes, &mut loaded);
        let mut point = MarchPoint { own: &own, column: 0, planes, loaded };
        for values in self.evaluate_columns(&mut point, columns) {
            results.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
        }
        self.add_sources(&sources, 0, &mut results);
        for (output, values) in outputs.iter().zip(&results) {
            let values = values.iter().map(|it| self.numbers.round(&mut self.emitter, *it));
            let values: Vec<_> = values.collect();
            self.numbers.store(self.emitter.guarded(writes), *output, &values);
        }
        let far = self.plane_distance();
        let pieces = own.pieces.iter().flat_map(|piece| &piece.from);
        let queues = own.queues.values().filter_map(|it| it.next.as_ref().map(|(from, _)| from));
        for address in outputs.iter().chain(pieces).chain(queues) {
            self.emitter.advance(*address, far);
        }
        self.emitter.assign(U32, z, next);
        let slot = self.ring_slot(&own, 1);
        self.emitter.assign(U32, own.slot, slot);
        self.emitter.branch_if(more, again);
        self.emitter.ret();
    }

    /// Bytes from plane to plane of an array.
    fn plane_distance(&self) -> usize {
        self.geometry.extents[1] * self.geometry.pitch * self.system.dtype.bytes()
    }

    /// The parts of a plane that a thread copies, as many values together as a thread has points.
    fn pieces(
        &mut self,
        own: &mut ThreadPoints,
        march: &March,
        thread: Register<B32>,
        [first_y, first_x]: [Register<B32>; 2],
        [reach, beside]: [usize; 2],
    ) {
        let (geometry, bytes) = (self.geometry, self.system.dtype.bytes());
        let ([_, ny, nx], columns) = (geometry.extents, geometry.columns);
        let across = own.row_bytes / (columns * bytes);
        let count = own.plane_bytes / (columns * bytes);
        for first in (0..count).step_by(march.threads()) {
            let emitter = &mut self.emitter;
            let index = emitter.add(U32, thread, first);
            let partial = first + march.threads() > count;
            let exists = partial.then(|| emitter.setp(Less, U32, index, count));
            let row = emitter.div(U32, index, across);
            let group = emitter.rem(U32, index, across);
            let y = emitter.add(U32, first_y, row);
            let y = emitter.sub(U32, y, reach);
            let x = emitter.mad(U32, group, columns, first_x);
            let x = emitter.sub(U32, x, beside);
            // What is below 0 wraps around.
            let is_there = emitter.setp(Less, U32, y, ny);
            let is_there = emitter.setp_and(Less, U32, x, nx.next_multiple_of(columns), is_there);
            let [y, x] = [y, x].map(|at| emitter.select(U32, at, 0, is_there));
            let there = emitter.select(U32, columns * bytes, 0, is_there);
            let distance = self.distance([own.place[0], y, x]);
            let rings = own.held.iter().filter(|it| it.ring.is_some());
            let from = rings.map(|it| {
                let start = self.start(it.array);
                self.emitter.offset(start, distance)
            });
            let (from, distance) = (from.collect(), first * columns * bytes);
            own.pieces.push(Piece { from, distance, bytes: there, exists });
        }
    }

    /// Has a plane of an array be copied to a place in its ring, so far from that of the thread's first piece.
    fn copy_plane(
        &mut self,
        own: &ThreadPoints,
        held: &ArrayPlanes,
        plane: i32,
        to: Register<Shared>,
        distance: usize,
    ) {
        let far = i64::from(plane) * self.plane_distance() as i64;
        let group_bytes = self.geometry.columns * self.system.dtype.bytes();
        let ring = own.ring_of(held.array);
        let number = ring / (own.ring * own.plane_bytes);
        let is_there = self.is_there(own, plane);
        for piece in &own.pieces {
            let place = self.emitter.far(piece.from[number], far);
            let to = to.at(ring + distance + piece.distance);
            let bytes = match is_there {
                Some(is_there) => self.emitter.select(U32, piece.bytes, 0, is_there),
                None => piece.bytes,
            };
            if let Some(exists) = piece.exists {
                self.emitter.guarded(exists);
            }
            self.emitter.copy_async(to, place, group_bytes, bytes);
        }
    }

    /// Whether a plane, counted from z on, lies in the grid, if that is not certain.
    fn is_there(&mut self, own: &ThreadPoints, plane: i32) -> Option<Register<Predicate>> {
        let (nz, inside) = (self.geometry.extents[0] as i32, self.geometry.inside);
        let [low, high] = [inside.low, inside.high].map(|at| at[0] as i32);
        if low + plane >= 0 && high + plane <= nz {
            return None;
        }
        let plane = self.emitter.add(S32, own.place[0], plane);
        Some(self.emitter.setp(Less, U32, plane, nz))
    }

    /// The place in rings of a plane, counted from z on.
    fn ring_slot(&mut self, own: &ThreadPoints, plane: i32) -> Register<B32> {
        let distance = plane.rem_euclid(own.ring as i32);
        if distance == 0 {
            return own.slot;
        }
        // Wraps to a large number unless it is more than there are.
        let far = self.emitter.add(U32, own.slot, distance);
        let less = self.emitter.sub(U32, far, own.ring);
        self.emitter.min(U32, far, less)
    }

    /// A place in that plane, given that in the first one.
    fn slot_at(
        &mut self,
        own: &ThreadPoints,
        at: Register<Shared>,
        plane: i32,
    ) -> Register<Shared> {
        let slot = self.ring_slot(own, plane);
        self.emitter.shared_element(at, slot, own.plane_bytes)
    }

    /// Loads what queues have before the first plane, each value one plane late.
    fn begin_queues(&mut self, own: &mut ThreadPoints, distance: Register<B64>) {
        let (columns, numbers) = (self.geometry.columns, self.numbers);
        for held in own.held.clone() {
            let Some(first) = held.queue else { continue };
            let from = self.emitter.offset(self.start(held.array), distance);
            let mut values = Vec::new();
            for plane in first..=held.front {
                let registers: Vec<_> =
                    (0..columns).map(|_| numbers.register(&mut self.emitter)).collect();
                if plane > first {
                    let after = self.emitter.new_label();
                    if let Some(is_there) = self.is_there(own, plane - 1) {
                        for register in &registers {
                            self.emitter.set(*register, numbers.immediate(0.0));
                        }
                        self.emitter.branch_if(!is_there, after);
                    }
                    let far = i64::from(plane - 1) * self.plane_distance() as i64;
                    let place = self.emitter.far(from, far);
                    let stored = numbers.load_several(&mut self.emitter, place, columns);
                    for (register, stored) in registers.iter().zip(stored) {
                        let value = numbers.widen(&mut self.emitter, stored);
                        self.emitter.set(*register, value);
                    }
                    self.emitter.label(after);
                }
                values.push(registers);
            }
            let next = held.ring.is_none().then(|| {
                let far = i64::from(held.front) * self.plane_distance() as i64;
                let place = self.emitter.far(from, far);
                (from, numbers.load_several(&mut self.emitter, place, columns))
            });
            own.queues.insert(held.array, Queue { held, values, next });
        }
    }

    /// Loads the values of a plane, counted from z on, that come next into a queue without a ring.
    fn load_next(&mut self, queue: &Queue, plane: i32) {
        if let Some((from, next)) = &queue.next {
            let far = i64::from(plane) * self.plane_distance() as i64;
            let place = self.emitter.far(*from, far);
            self.numbers.load_into(&mut self.emitter, place, next);
        }
    }

    /// Moves all queues one plane on.
    fn queues_on(&mut self, own: &ThreadPoints, planes: &mut HashMap<i32, Register<Shared>>) {
        let columns = self.geometry.columns;
        for queue in own.queues.values() {
            for pair in queue.values.windows(2) {
                for (to, from) in pair[0].iter().zip(&pair[1]) {
                    self.emitter.set(*to, *from);
                }
            }
            let newest = match &queue.next {
                Some((_, next)) => next.clone(),
                None => {
                    let front = queue.held.front;
                    let at =
                        *planes.entry(front).or_insert_with(|| self.slot_at(own, own.at, front));
                    let place = at.at(own.ring_of(queue.held.array));
                    self.numbers.load_several(&mut self.emitter, place, columns)
                }
            };
            let last = queue.values.last().expect("a queue has a plane");
            for (to, stored) in last.iter().zip(newest) {
                let value = self.numbers.widen(&mut self.emitter, stored);
                self.emitter.set(*to, value);
            }
        }
    }
}

/// A point of a thread.
struct MarchPoint<'a> {
    own: &'a ThreadPoints,
    column: usize,
    /// The thread's first point in planes of the first ring, counted from z on.
    planes: &'a mut HashMap<i32, Register<Shared>>,
    /// What was read of rings, by array, and plane, row and group of columns from the thread's first point on.
    loaded: &'a mut HashMap<(Array, Offset), Vec<Number>>,
}

impl Point for MarchPoint<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, [above, down, across]: Offset) -> Number {
        let (own, columns) = (self.own, writer.geometry.columns);
        if let (Some(queue), 0, 0) = (own.queues.get(&array), down, across) {
            let first = queue.held.queue.expect("it has a queue");
            return queue.values[(above - first) as usize][self.column];
        }
        let column = self.column as i32 + across;
        let group = column.div_euclid(columns as i32);
        let key = (array, [above, down, group]);
        let values = self.loaded.entry(key).or_insert_with(|| {
            let at = self.planes.entry(above).or_insert_with(|| writer.slot_at(own, own.at, above));
            let group_bytes = (columns * writer.system.dtype.bytes()) as i64;
            let distance = i64::from(down) * own.row_bytes as i64 + i64::from(group) * group_bytes;
            let place = at.at(own.ring_of(array) as i64 + distance);
            let stored = writer.numbers.load_several(&mut writer.emitter, place, columns);
            let widen = |it| writer.numbers.widen(&mut writer.emitter, it);
            stored.into_iter().map(widen).collect()
        });
        values[column.rem_euclid(columns as i32) as usize]
    }

    fn turn_to(&mut self, column: usize) {
        self.column = column;
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        let column = if axis == 2 { self.column as i32 } else { 0 };
        writer.emitter.add(S32, self.own.place[axis], column + offset)
    }
}
