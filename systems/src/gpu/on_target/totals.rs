// SPDX-License-Identifier: MIT OR Apache-2.0
//! Totals of the values that lie on what launches kernels.

use super::{LaunchTarget, OnTarget};
use crate::checked::System;
use crate::evaluate::{Evaluator, NoArrays, PlainF64};
use crate::gpu::kernel::{PARTIAL, Table, TotalsKernel};
use crate::totals::Partial;
use compute::device::MemoryRows;
use compute::device::generated::{MOST_ADDRESSES, TOTALS};
use problem::Error;

/// Reductions that are kept on the device until somebody reads them, at most.
pub const SLOTS: usize = 64;

/// What a kernel of totals needs.
pub struct Reducing {
    /// What is one number for a step, in f64.
    numbers: usize,
    /// Whether those numbers change from step to step.
    changing: bool,
    /// Whether they are to be written once: they are what systems side by side differ in.
    once: bool,
    /// Where coordinates lead, and the values that are there instead.
    tables: [usize; 2],
    /// What blocks leave.
    records: usize,
    /// Bytes of what all blocks leave of one look.
    bytes: usize,
}

impl Reducing {
    /// Of a kernel, with arrays on a target.
    pub fn new(
        system: &System,
        kernel: &TotalsKernel,
        target: &mut impl LaunchTarget,
    ) -> Result<Self, Error> {
        let places = &kernel.kernel.places;
        let mut table = |bytes: &[u8]| {
            let array = target.allocate("tables", bytes.len().max(8))?;
            target.write(array, MemoryRows::first(bytes.len()), bytes)?;
            Ok::<usize, Error>(array)
        };
        let tables = [
            table(bytemuck::cast_slice(&places.entries))?,
            table(bytemuck::cast_slice(&places.values))?,
        ];
        let scalars = &system.totals.program.scalars;
        let numbers = target.allocate("numbers", 8 * scalars.len().max(1))?;
        let bytes = kernel.blocks() * system.totals.reductions.len() * PARTIAL;
        let records = target.allocate("totals", SLOTS * bytes)?;
        let changing = scalars.iter().any(|node| !node.is_number());
        let once = system.beside.is_some();
        Ok(Self { numbers, changing, once, tables, records, bytes })
    }
}

impl<T: LaunchTarget> OnTarget<T> {
    /// What the reductions of totals are before the next step, if it waits for them.
    pub(super) fn reduced_before(&mut self) -> Result<Vec<f64>, Error> {
        if !self.waits {
            return Ok(Vec::new());
        }
        if let Some(known) = self.told.take() {
            return Ok(known);
        }
        self.reduced_now()
    }

    /// What the reductions of totals are.
    pub(super) fn reduced_now(&mut self) -> Result<Vec<f64>, Error> {
        let mut known = self.system.totals.unknown();
        for _ in 0..self.system.totals.looks() {
            let parts = self.reduce_now(&known)?;
            known = self.system.totals.together(&[parts]);
        }
        Ok(known)
    }

    /// What the reductions of totals are over the box of points of the kernel, as far as those are known that they are made of.
    pub(super) fn reduce_now(&mut self, known: &[f64]) -> Result<Vec<Partial>, Error> {
        self.queue_reduction(0, known)?;
        Ok(self.reductions(1)?.remove(0))
    }

    /// Queues that the present values are reduced into a place for some looks, as [`OnTarget::reduce_now`] does.
    pub(super) fn queue_reduction(&mut self, slot: usize, known: &[f64]) -> Result<(), Error> {
        if self.system.totals.reach() != [0; 3] {
            self.refresh(0, true)?;
        }
        let of = self.totals.as_mut().expect("the system has totals");
        if of.changing || std::mem::take(&mut of.once) {
            let evaluator = Evaluator::new(&self.system, PlainF64, &NoArrays, self.done as f64);
            let evaluator = evaluator.with_totals(known);
            let scalars = self.system.totals.program.scalars.iter();
            let numbers: Vec<f64> = scalars.map(|node| evaluator.at(node, [0; 3])).collect();
            let bytes: &[u8] = bytemuck::cast_slice(&numbers);
            self.target.write(of.numbers, MemoryRows::first(bytes.len()), bytes)?;
        }
        let of = self.totals.as_ref().expect("the system has totals");
        let kernel = self.kernel.totals.as_ref().expect("the system has totals");
        let lead = (self.kernel.geometry.lead * self.system.dtype.bytes()) as u64;
        let read = kernel.kernel.arrays.iter();
        let read = read.map(|array| self.target.address(self.array(*array)) + lead);
        let mut addresses = [0; MOST_ADDRESSES];
        let tables = read.len();
        addresses.iter_mut().zip(read).for_each(|(to, address)| *to = address);
        let mut give = |table: Table, address: u64| addresses[tables + table as usize] = address;
        give(Table::Records, self.target.address(of.records) + (slot * of.bytes) as u64);
        give(Table::Numbers, self.target.address(of.numbers));
        give(Table::Entries, self.target.address(of.tables[0]));
        give(Table::Values, self.target.address(of.tables[1]));
        self.target.launch(TOTALS, kernel.launch(), addresses)
    }

    /// What the first so many looks have left.
    pub(super) fn reductions(&self, looks: usize) -> Result<Vec<Vec<Partial>>, Error> {
        let of = self.totals.as_ref().expect("the system has totals");
        let mut bytes = vec![0; looks * of.bytes];
        self.target.read(of.records, MemoryRows::first(bytes.len()), &mut bytes)?;
        let count = self.system.totals.reductions.len();
        let of_look = |bytes: &[u8]| {
            let all: Vec<Partial> = bytemuck::pod_collect_to_vec(bytes);
            self.system.totals.in_one(all.chunks(count))
        };
        Ok(bytes.chunks(of.bytes).map(of_look).collect())
    }
}
