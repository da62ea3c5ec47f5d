// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies outside of the grid, from tables: where coordinates lead, which values are there instead, and what slopes
//! add.

use super::{Table, Writer};
use crate::expression::Array;
use crate::gpu::emitter::Class;
use crate::gpu::tile::{Tile, TileState};
use problem::boundary::Side;

/// Where a coordinate along an axis leads.
#[derive(Clone, Debug)]
pub struct Lead {
    /// A point of the grid, or below 0 the number of a value.
    pub to: String,
    /// What is added to what is found there, if some side of the axis has a slope.
    rise: Option<String>,
}

/// Whether leads along several axes together end at a value, and at which.
pub struct Ends {
    number: String,
    /// A predicate.
    pub is_value: String,
}

impl Writer<'_> {
    /// Where a coordinate leads for arrays with a boundary, at some distance along an axis.
    pub(super) fn lead(
        &mut self,
        boundary: usize,
        axis: usize,
        coordinate: &str,
        offset: i32,
    ) -> Lead {
        let entries = self.table(Table::Entries);
        let start = self.places.start(boundary, axis) as i64 + i64::from(offset);
        let to = self.entry(&entries, "s32", coordinate, start);
        let rise = self.places.rise(boundary, axis).map(|start| {
            let values = self.table(Table::Values);
            let start = start as i64 + i64::from(offset);
            self.entry(&values, self.numbers.suffix(), coordinate, start)
        });
        Lead { to, rise }
    }

    /// The same where a block holds points outside, by up to its halo.
    pub(super) fn lead_of_part(
        &mut self,
        (tile, held): (&Tile, &TileState),
        array: Array,
        axis: usize,
        coordinate: &str,
    ) -> Lead {
        // What evolves beyond a periodic side takes all arrays from where it comes again.
        let is_periodic =
            |array: &&Array| self.system.boundary_of(**array).sides[axis].contains(&Side::Periodic);
        let array = match held.periodic[axis] {
            true => *held.states.iter().find(is_periodic).expect("one is periodic"),
            false => array,
        };
        let (halo, extent) = (tile.halo()[axis] as i64, self.geometry.extents[axis] as i64);
        let coordinate = self.clamp(coordinate, -halo, extent + halo - 1);
        self.lead(self.places.boundary(array), axis, &coordinate, 0)
    }

    /// The point of the grid along an axis that evolves as one that a block holds does; any where there is none.
    pub(super) fn map(
        &mut self,
        part @ (_, held): (&Tile, &TileState),
        axis: usize,
        coordinate: &str,
    ) -> String {
        if held.periodic[axis] {
            return self.lead_of_part(part, held.states[0], axis, coordinate).to;
        }
        self.clamp(coordinate, 0, self.geometry.extents[axis] as i64 - 1)
    }

    fn clamp(&mut self, coordinate: &str, low: i64, high: i64) -> String {
        let emitter = &mut self.emitter;
        let above = emitter.set(Class::B32, "max.s32", format_args!("{coordinate}, {low}"));
        emitter.set(Class::B32, "min.s32", format_args!("{above}, {high}"))
    }

    /// An entry of a table, by a coordinate and the place of coordinate 0.
    fn entry(&mut self, table: &str, kind: &str, coordinate: &str, start: i64) -> String {
        let (class, bytes) = match kind {
            "s32" => (Class::B32, 4),
            _ => (self.numbers.class(), self.numbers.bytes()),
        };
        let emitter = &mut self.emitter;
        let place = emitter.set(Class::B32, "add.s32", format_args!("{coordinate}, {start}"));
        let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{place}, {bytes}"));
        let place = emitter.set(Class::B64, "add.u64", format_args!("{table}, {place}"));
        emitter.set(class, &format!("ld.global.nc.{kind}"), format_args!("[{place}]"))
    }

    /// Where leads along x, y, z, or some of them, end: at the first value, if there is one.
    pub(super) fn ends(&mut self, leads: &[Lead]) -> Ends {
        let emitter = &mut self.emitter;
        let (last, others) = leads.split_last().expect("it leads along an axis");
        let mut first = last.to.clone();
        for Lead { to, .. } in others.iter().rev() {
            let is = emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{to}, 0"));
            first = emitter.set(Class::B32, "selp.s32", format_args!("{to}, {first}, {is}"));
        }
        let is_value = emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{first}, 0"));
        let number = emitter.set(Class::B32, "not.b32", format_args!("{first}"));
        let number = emitter.set(Class::B32, "selp.s32", format_args!("{number}, 0, {is_value}"));
        Ends { number, is_value }
    }

    /// What is found at the end of leads along x, y, z, given what the point there has, or anything where it is none.
    pub(super) fn found(&mut self, leads: &[Lead], ends: &Ends, value: &str) -> String {
        let (class, suffix) = (self.numbers.class(), self.numbers.suffix());
        let values = self.table(Table::Values);
        let constant = self.entry(&values, suffix, &ends.number, 0);
        let operands = format!("{constant}, {value}, {}", ends.is_value);
        let found = self.emitter.set(class, &format!("selp.{suffix}"), format_args!("{operands}"));
        match self.rise(leads) {
            Some(rise) => {
                let opcode = format!("add.rn.{suffix}");
                self.emitter.set(class, &opcode, format_args!("{found}, {rise}"))
            }
            None => found,
        }
    }

    /// What slopes add, if anything: along x, y, z, until one of them leads to a value.
    fn rise(&mut self, leads: &[Lead]) -> Option<String> {
        let (class, suffix) = (self.numbers.class(), self.numbers.suffix());
        let zero = self.numbers.immediate(0.0);
        let emitter = &mut self.emitter;
        let (mut sum, mut before): (Option<String>, Option<String>) = (None, None);
        for Lead { to, rise } in leads {
            if let Some(rise) = rise {
                let mut rise = rise.clone();
                if let Some(least) = &before {
                    let is =
                        emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{least}, 0"));
                    let operands = format!("{zero}, {rise}, {is}");
                    rise =
                        emitter.set(class, &format!("selp.{suffix}"), format_args!("{operands}"));
                }
                sum = Some(match sum {
                    Some(sum) => {
                        let operands = format!("{sum}, {rise}");
                        emitter.set(class, &format!("add.rn.{suffix}"), format_args!("{operands}"))
                    }
                    None => rise,
                });
            }
            // Below 0 where one of the axes so far leads to a value.
            before = Some(match before {
                Some(least) => emitter.set(Class::B32, "min.s32", format_args!("{least}, {to}")),
                None => to.clone(),
            });
        }
        sum
    }
}
