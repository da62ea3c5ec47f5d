// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several steps in a launch on a grid of three axes: a block holds a part of y and x with a halo, and goes along z plane
//! by plane. Each step is some planes behind the one before it ([`Windows`]).
//!
//! ```text
//! again: load a plane of all fields
//!        for each step: the next values of its plane, from windows; into windows, or of the last ones to memory
//!        put what was loaded into windows, barrier
//!        near a side: fill what lies outside of the grid, barrier
//!        one plane on
//! ```
//!
//! The code is there twice: for parts inside of the grid along y and x, and for parts that reach out of it.

use std::fmt::Arguments;

use super::{Table, Writer};
use crate::expression::Array;
use crate::gpu::emitter::Class;
use crate::gpu::tile::{Tile, TileState};
use crate::gpu::windows::Windows;

mod ghosts;
mod level;
mod transfer;

/// A thread's points, and where they are.
struct Own<'a> {
    tile: &'a Tile,
    held: &'a TileState,
    windows: Windows,
    /// Coordinates of the thread's first point in the grid; below 0 outside of it, as numbers with a sign.
    y: String,
    x: String,
    /// Its row and column in the part.
    row: String,
    lane: String,
    /// Coordinates of the part's first point.
    corner: [String; 2],
    /// z of the first plane that is right in the end, and the one after the last.
    ends: [String; 2],
    /// Steps of the launch.
    steps: String,
    /// Of the first plane of the first window the first point, and the thread's own.
    base: String,
    at: String,
    /// Whether the part may reach out of the grid.
    is_border: bool,
    /// The points of the grid, by row and of the column, that evolve as the thread's own do; any where there are none.
    points: (Vec<String>, String),
    /// Of each row whether the thread writes it in the end.
    writes: Vec<String>,
}

impl Own<'_> {
    fn part(&self) -> (&Tile, &TileState) {
        (self.tile, self.held)
    }

    /// Along which axes points outside follow a rule, and do not evolve.
    fn follows(&self) -> [bool; 3] {
        [0, 1, 2].map(|axis: usize| !self.held.periodic[axis] && self.tile.reach[axis] > 0)
    }

    /// How many planes a step is behind the one before it.
    fn delay(&self) -> usize {
        self.tile.reach[0] + 1
    }
}

/// A step of the launch, and the plane that it has come to.
struct Turn {
    /// Its z, as a number with a sign.
    z: String,
    /// Its place in windows.
    slot: String,
    /// How far the windows of this time lie behind those of the start, in bytes.
    windows: String,
}

impl Writer<'_> {
    /// The kernel after its addresses.
    pub(super) fn stream(&mut self, tile: &Tile, held: &TileState) {
        let extents @ [nz, ny, nx] = self.geometry.extents;
        let [_, blocks_down, blocks_across] = tile.blocks(extents);
        let ([_, halo_y, halo_x], [planes, middle_y, middle_x]) = (tile.halo(), tile.middle());
        let bytes = self.numbers.bytes();
        let block = self.word("mov.u32", format_args!("%ctaid.x"));
        let thread = self.word("mov.u32", format_args!("%tid.x"));
        let rest = self.word("div.u32", format_args!("{block}, {blocks_across}"));
        let right = self.word("rem.u32", format_args!("{block}, {blocks_across}"));
        let down = self.word("rem.u32", format_args!("{rest}, {blocks_down}"));
        let chunk = self.word("div.u32", format_args!("{rest}, {blocks_down}"));
        let lane = self.word("rem.u32", format_args!("{thread}, {}", tile.lanes));
        let row = self.word("div.u32", format_args!("{thread}, {}", tile.lanes));
        let row = self.word("mul.lo.u32", format_args!("{row}, {}", tile.rows));
        let mut corner = |number: &str, middle: usize, halo: usize| {
            let first = self.word("mul.lo.u32", format_args!("{number}, {middle}"));
            self.word("sub.u32", format_args!("{first}, {halo}"))
        };
        let corner = [corner(&down, middle_y, halo_y), corner(&right, middle_x, halo_x)];
        let y = self.word("add.u32", format_args!("{}, {row}", corner[0]));
        let x = self.word("add.u32", format_args!("{}, {lane}", corner[1]));
        let first = self.word("mul.lo.u32", format_args!("{chunk}, {planes}"));
        let end = self.word("add.s32", format_args!("{first}, {planes}"));
        let end = self.word("min.s32", format_args!("{end}, {nz}"));
        let place = 8 * (self.arrays.len() + self.written + Table::Steps as usize);
        let parameter = format!("[parameters+{place}]");
        let steps = self.emitter.set(Class::B64, "ld.param.u64", format_args!("{parameter}"));
        let steps = self.word("cvt.u32.u64", format_args!("{steps}"));
        let base = self.word("mov.u32", format_args!("held_values"));
        let base = self.word("add.u32", format_args!("{base}, {}", tile.pad() * bytes));
        let cell = self.word("mad.lo.u32", format_args!("{row}, {}, {lane}", tile.lanes));
        let at = self.word("mad.lo.u32", format_args!("{cell}, {bytes}, {base}"));
        let ys = (0..tile.rows).map(|row| self.word("add.s32", format_args!("{y}, {row}")));
        let points = (ys.collect(), x.clone());
        let windows = Windows::new(self.system, tile);
        let (ends, is_border, writes) = ([first, end], false, Vec::new());
        let mut own = Own {
            tile,
            held,
            windows,
            y,
            x,
            row,
            lane,
            corner,
            ends,
            steps,
            base,
            at,
            is_border,
            points,
            writes,
        };
        let [_, rows, columns] = tile.extents();
        if ny >= rows && nx >= columns {
            let operands = format!("{}, {}", own.corner[0], ny - rows + 1);
            let inside = self.test("setp.lt.u32", format_args!("{operands}"));
            let operands = format!("{}, {}, {inside}", own.corner[1], nx - columns + 1);
            let inside = self.test("setp.lt.and.u32", format_args!("{operands}"));
            self.emitter.line(format_args!("@!{inside} bra BORDER"));
            self.planes(&mut own);
            self.emitter.label("BORDER");
        }
        own.is_border = true;
        let (ys, x) = own.points.clone();
        let ys = ys.iter().map(|y| self.map(own.part(), 1, y)).collect();
        own.points = (ys, self.map(own.part(), 2, &x));
        self.planes(&mut own);
    }

    /// All planes of a part.
    fn planes(&mut self, own: &mut Own) {
        let ([nz, ..], [reach, ..]) = (self.geometry.extents, own.tile.reach);
        let is_periodic = own.held.periodic[0];
        self.numbers_now = None;
        own.writes = self.writes(own);
        let [first, end] = own.ends.clone();
        // What the first step needs.
        let halo = self.word("mul.lo.u32", format_args!("{}, {reach}", own.steps));
        let low = self.word("sub.u32", format_args!("{first}, {halo}"));
        let high = self.word("add.s32", format_args!("{end}, {halo}"));
        let z = match is_periodic {
            true => self.word("mov.u32", format_args!("{low}")),
            false => self.word("max.s32", format_args!("{low}, 0")),
        };
        let last = match is_periodic {
            true => high.clone(),
            false => self.word("min.s32", format_args!("{high}, {nz}")),
        };
        let slot = self.word("mov.u32", format_args!("0"));
        let operands = format!("{}, {}, {end}", own.steps, own.delay());
        let stop = self.word("mad.lo.u32", format_args!("{operands}"));
        let again = self.emitter.new_label();
        self.emitter.label(&again);
        let beyond = self.test("setp.ge.s32", format_args!("{z}, {last}"));
        let [no_load, no_share] = [(); 2].map(|()| self.emitter.new_label());
        self.emitter.line(format_args!("@{beyond} bra {no_load}"));
        let loaded = self.load_plane(own, &z);
        self.emitter.label(&no_load);
        self.levels(own, [&z, &slot], [&low, &high]);
        self.emitter.line(format_args!("@{beyond} bra {no_share}"));
        self.share_plane(own, &slot, &loaded);
        self.emitter.label(&no_share);
        if !own.is_border {
            self.ghosts(own, &z, &slot);
        }
        self.emitter.line(format_args!("bar.sync 0"));
        if own.is_border && self.ghosts(own, &z, &slot) {
            self.emitter.line(format_args!("bar.sync 0"));
        }
        self.emitter.line(format_args!("add.s32 {z}, {z}, 1"));
        let next = self.slot(own, &slot, 1);
        self.emitter.line(format_args!("mov.u32 {slot}, {next}"));
        let more = self.test("setp.lt.s32", format_args!("{z}, {stop}"));
        self.emitter.line(format_args!("@{more} bra {again}"));
        self.emitter.line(format_args!("ret"));
    }

    /// All steps, each of the plane that it has come to.
    fn levels(&mut self, own: &Own, [z, slot]: [&str; 2], [low, high]: [&str; 2]) {
        let ([nz, ..], [reach, ..], bytes) =
            (self.geometry.extents, own.tile.reach, self.numbers.bytes());
        let [z, slot, low, high, left] = [z, slot, low, high, own.steps.as_str()]
            .map(|start| self.word("mov.u32", format_args!("{start}")));
        let windows = self.word("mov.u32", format_args!("0"));
        self.numbers_now = None;
        let [numbers, records] = [Table::Numbers, Table::Records].map(|table| {
            let start = self.table(table);
            self.emitter.set(Class::B64, "mov.u64", format_args!("{start}"))
        });
        self.numbers_now = Some(numbers.clone());
        let turn = Turn { z, slot, windows };
        let [level, next] = [(); 2].map(|()| self.emitter.new_label());
        self.emitter.label(&level);
        self.one_behind(own, &turn);
        self.emitter.line(format_args!("add.s32 {low}, {low}, {reach}"));
        self.emitter.line(format_args!("sub.u32 {high}, {high}, {reach}"));
        let [first, last] = match own.held.periodic[0] {
            true => [low.clone(), high.clone()],
            false => [
                self.word("max.s32", format_args!("{low}, 0")),
                self.word("min.s32", format_args!("{high}, {nz}")),
            ],
        };
        let before = self.test("setp.lt.s32", format_args!("{}, {first}", turn.z));
        self.emitter.line(format_args!("@{before} bra {next}"));
        let after = self.test("setp.ge.s32", format_args!("{}, {last}", turn.z));
        self.emitter.line(format_args!("@{after} bra {next}"));
        self.load_numbers();
        self.level(own, &turn, &left, &records);
        self.emitter.label(&next);
        self.next_windows(own, &turn);
        let distance = (self.program.scalars.len() + self.system.sources.len()) * bytes;
        self.emitter.line(format_args!("add.u64 {numbers}, {numbers}, {distance}"));
        let distance = self.system.receivers.len() * bytes;
        self.emitter.line(format_args!("add.u64 {records}, {records}, {distance}"));
        self.emitter.line(format_args!("sub.u32 {left}, {left}, 1"));
        let more = self.test("setp.ne.u32", format_args!("{left}, 0"));
        self.emitter.line(format_args!("@{more} bra {level}"));
        self.numbers_now = None;
    }

    /// To the plane of the next step.
    fn one_behind(&mut self, own: &Own, Turn { z, slot, .. }: &Turn) {
        self.emitter.line(format_args!("sub.u32 {z}, {z}, {}", own.delay()));
        let behind = self.slot(own, slot, -(own.delay() as i32));
        self.emitter.line(format_args!("mov.u32 {slot}, {behind}"));
    }

    /// To the windows of the next time.
    fn next_windows(&mut self, own: &Own, Turn { windows, .. }: &Turn) {
        let bytes = own.windows.planes * own.windows.plane * self.numbers.bytes();
        self.emitter.line(format_args!("add.u32 {windows}, {windows}, {bytes}"));
    }

    /// The place in windows of a plane that is so far away.
    fn slot(&mut self, own: &Own, slot: &str, distance: i32) -> String {
        let distance = distance.rem_euclid(own.windows.planes as i32);
        if distance == 0 {
            return slot.to_owned();
        }
        let far = self.word("add.u32", format_args!("{slot}, {distance}"));
        self.around(own, &far)
    }

    /// A place in windows, or one that is as much more as windows have planes.
    fn around(&mut self, own: &Own, slot: &str) -> String {
        // Wraps to a large number unless it is more.
        let less = self.word("sub.u32", format_args!("{slot}, {}", own.windows.planes));
        self.word("min.u32", format_args!("{slot}, {less}"))
    }

    /// The address of a plane in a window, after a point of the first plane.
    fn plane_at(&mut self, own: &Own, slot: &str, point: &str) -> String {
        let bytes = own.windows.plane * self.numbers.bytes();
        self.word("mad.lo.u32", format_args!("{slot}, {bytes}, {point}"))
    }

    /// The distance of a level's window from those of its time, in bytes.
    fn window(&self, own: &Own, field: usize, level: isize) -> usize {
        own.windows.window(field, level) * self.numbers.bytes()
    }

    /// The point of the grid along z that evolves as a plane does.
    fn plane_of_grid(&mut self, own: &Own, z: &str) -> String {
        match own.held.periodic[0] {
            true => self.map(own.part(), 0, z),
            false => z.to_owned(),
        }
    }

    /// All levels of all fields.
    fn levels_of_fields(&self) -> Vec<(usize, usize)> {
        let of_array = |array: &Array| match *array {
            Array::Field { field, level } => Some((field, level)),
            Array::Coefficient(_) => None,
        };
        self.arrays.iter().filter_map(of_array).collect()
    }

    /// An instruction with a word as its result.
    fn word(&mut self, opcode: &str, operands: Arguments) -> String {
        self.emitter.set(Class::B32, opcode, operands)
    }

    /// An instruction with a predicate as its result.
    fn test(&mut self, opcode: &str, operands: Arguments) -> String {
        self.emitter.set(Class::Predicate, opcode, operands)
    }
}
