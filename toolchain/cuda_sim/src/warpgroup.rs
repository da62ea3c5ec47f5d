// SPDX-License-Identifier: MIT OR Apache-2.0
//! The asynchronous products of a block's warpgroups: issued by warps, executed when all four have.

use crate::block::Block;
use crate::config::LANES;
use crate::fault::FaultKind;
use crate::product_fault::ProductFault;
use crate::products::{LaneOperand, OperandA, Sum, WARPS, Warpgroup, WarpgroupProduct};
use crate::shadow::{Event, Proxy};
use crate::site::Site;
use cuda_mma::emulate::warpgroup::{column, multiply};
use cuda_mma::warpgroup::{self, Descriptor, WarpgroupFactor, WarpgroupMma};
use std::collections::BTreeSet;
use std::rc::Rc;

impl Block<'_> {
    /// The warpgroup of a warp.
    fn warpgroup(&mut self, warp: usize) -> Result<&mut Warpgroup, FaultKind> {
        let at = warp / WARPS;
        if self.threads.len() / LANES < WARPS * (at + 1) {
            return Err(ProductFault::NoWarpgroup { warps: self.threads.len() / LANES }.into());
        }
        while self.warpgroups.len() <= at {
            let agent = self.new_agent();
            let warps = Default::default();
            self.warpgroups.push(Warpgroup { agent, products: Vec::new(), warps });
        }
        Ok(&mut self.warpgroups[at])
    }

    /// `wgmma.fence` by a warp.
    pub fn fence_products(&mut self, warp: usize) -> Result<(), FaultKind> {
        self.warpgroup(warp)?.warps[warp % WARPS].fenced = true;
        Ok(())
    }

    /// `wgmma.commit_group` by a warp.
    pub fn commit_products(&mut self, warp: usize) -> Result<(), FaultKind> {
        let warp = &mut self.warpgroup(warp)?.warps[warp % WARPS];
        warp.groups += 1;
        warp.committed = warp.issued;
        Ok(())
    }

    /// A product by a warp whose lanes have given their parts; its number.
    pub fn issue_product(&mut self, warp: usize) -> Result<usize, (usize, FaultKind)> {
        let first = warp * LANES;
        let parts: Vec<LaneOperand> = (first..first + LANES)
            .map(|thread| *self.threads[thread].part.take().expect("each lane has given its part"))
            .collect();
        let fail = |lane: usize, fault: ProductFault| (lane, FaultKind::from(fault));
        if let Some(lane) = parts.iter().position(|part| part.common() != parts[0].common()) {
            let other = self.site(first);
            return Err(fail(lane, ProductFault::Disagree { other }));
        }
        let (site, mut clock) = (self.site(first), self.threads[first].clock.clone());
        for lane in 1..LANES {
            clock.meet(self.index, &self.threads[first + lane].clock);
        }
        let group = self.warpgroup(warp).map_err(|kind| (0, kind))?;
        let in_group = warp % WARPS;
        for (lane, part) in parts.iter().enumerate() {
            group.check_registers(in_group, part).map_err(|fault| fail(lane, fault))?;
        }
        let number = group.warps[in_group].issued;
        group.warps[in_group].issued += 1;
        let epoch = group.warps[in_group].groups + 1;
        if group.products.len() == number {
            let mma = parts[0].mma;
            let parts = vec![None; warpgroup::LANES];
            let clock = clock.clone();
            group.products.push(WarpgroupProduct {
                mma,
                parts,
                issued: 0,
                group: epoch,
                site,
                clock,
                sums: None,
                taken: [false; WARPS],
            });
        } else {
            let product = &mut group.products[number];
            let before = product.parts.iter().flatten().next().expect("a warp has issued it");
            if before.common() != parts[0].common() || product.group != epoch {
                return Err(fail(0, ProductFault::Disagree { other: product.site }));
            }
            product.clock.meet(site.block, &clock);
        }
        for (lane, part) in parts.into_iter().enumerate() {
            part.products().for_each(|before| group.products[before].taken[in_group] = true);
            group.products[number].parts[in_group * LANES + lane] = Some(part);
        }
        let product = &mut group.products[number];
        product.issued += 1;
        if product.issued == WARPS {
            self.execute(warp / WARPS, number, site).map_err(|kind| (0, kind))?;
        }
        Ok(number)
    }

    /// Reads the operands of a product and computes its sums.
    fn execute(&mut self, group: usize, number: usize, site: Site) -> Result<(), FaultKind> {
        let group = &mut self.warpgroups[group];
        let WarpgroupProduct { group: epoch, clock, .. } = &group.products[number];
        let (agent, epoch, proxy) = (group.agent, *epoch, Proxy::Async);
        let event = Event { site, agent, epoch, asynchronous: true, atomic: None, proxy };
        let parts: Vec<&LaneOperand> = group.products[number].parts.iter().flatten().collect();
        let (mma, variant, left, right, _) = parts[0].common();
        let shared = &mut self.shared;
        let mut read = |at: u32| {
            shared.check_read(at, 16, event, clock)?;
            Ok::<_, FaultKind>(shared.copy_out(at, 16))
        };
        let [of_a, of_b] = variant.transposed;
        let mut kept = match left {
            Some(tile) => tile_values(tile, [warpgroup::M, mma.kept()], mma.a, of_a, &mut read)?,
            None => kept_in_registers(mma, &parts),
        };
        let mut b = tile_values(right, [mma.n, mma.k()], mma.b, of_b, &mut read)?;
        for (values, is_negated) in [&mut kept, &mut b].into_iter().zip(variant.negated) {
            values.iter_mut().filter(|_| is_negated).for_each(|value| *value = -*value);
        }
        let a = with_columns(mma, kept, &parts)?;
        let mut d = vec![0.0; warpgroup::M * mma.n];
        let place = |lane, word| {
            let (row, column) = warpgroup::d(lane, word);
            row * mma.n + column
        };
        for (lane, part) in parts.iter().enumerate().filter(|_| !variant.drops_sums) {
            for (word, sum) in group.values(lane, &part.sums).into_iter().enumerate() {
                d[place(lane, word)] = sum;
            }
        }
        multiply(mma, &a, &b, &mut d);
        let of_lane = |lane| (0..mma.d_words()).map(|word| d[place(lane, word)]).collect();
        let sums = (0..warpgroup::LANES).map(of_lane).collect();
        let before: BTreeSet<usize> = parts.iter().flat_map(|part| part.products()).collect();
        group.products[number].sums = Some(Rc::new(sums));
        group.products[number].parts = Vec::new();
        for before in before {
            if group.products[before].taken == [true; WARPS] {
                group.products[before].sums = None;
            }
        }
        Ok(())
    }

    /// Whether all products of a warp's groups but the `newest` have been executed.
    pub fn has_products(&mut self, warp: usize, newest: u32) -> Result<bool, FaultKind> {
        let group = self.warpgroup(warp)?;
        let last = group.warps[warp % WARPS].groups.saturating_sub(newest);
        // All warps issue in one order: who has issued a product has issued those before it.
        let count = group.count(last);
        Ok(count == 0 || group.products[count - 1].issued == WARPS)
    }

    /// Ends a thread's wait for all groups but the `newest`: its registers get the sums that are done.
    pub fn take_products(&mut self, thread: usize, newest: u32, sums: &mut [f32]) {
        let (warp, lane) = (thread / LANES, thread % (LANES * WARPS));
        let group = &mut self.warpgroups[warp / WARPS];
        let last = group.warps[warp % WARPS].groups.saturating_sub(newest);
        let own = &mut group.warps[warp % WARPS];
        let before = own.waited;
        own.waited = last.max(before);
        if group.count(last) > group.count(before) {
            // What has ended leaves its registers to other instructions.
            group.warps[warp % WARPS].fenced = false;
        }
        for sum in sums {
            let Some((product, word)) = group.find(*sum) else { continue };
            *sum = group.ended(warp % WARPS, lane, product, word).unwrap_or(*sum);
        }
        let agent = group.agent;
        self.threads[thread].clock.raise(agent, last);
    }

    /// What a thread's registers have for a product, of which some may hold marks.
    pub fn marked_sums(&self, thread: usize, registers: &[f32]) -> Vec<Sum> {
        match self.warpgroups.get(thread / LANES / WARPS) {
            Some(group) => group.marked(registers),
            None => registers.iter().copied().map(Sum::Number).collect(),
        }
    }

    /// The number of a sum that a thread has waited for, unless its warp has given it to another product.
    pub fn ended_sum(&self, thread: usize, product: usize, word: usize) -> Option<f32> {
        let (warp, lane) = (thread / LANES, thread % (LANES * WARPS));
        self.warpgroups[warp / WARPS].ended(warp % WARPS, lane, product, word)
    }

    /// Whether a thread has waited for a product.
    pub fn has_waited_for(&self, thread: usize, product: usize) -> bool {
        let warp = thread / LANES;
        let group = &self.warpgroups[warp / WARPS];
        group.products[product].group <= group.warps[warp % WARPS].waited
    }

    /// The mistake of a thread that uses a register of a product under way.
    pub fn used_too_early(&self, thread: usize, product: usize, is_write: bool) -> ProductFault {
        let group = &self.warpgroups[thread / LANES / WARPS];
        let warp = &group.warps[thread / LANES % WARPS];
        let missing = if product < warp.committed { "wait" } else { "commit and wait" };
        let product = group.products[product].site;
        match is_write {
            true => ProductFault::Overwritten { product, missing },
            false => ProductFault::TooEarly { product, missing },
        }
    }

    /// Reports numbers that are the sums of a product which the thread has not waited for.
    pub fn check_sums(&self, thread: usize, bytes: &[u8]) -> Result<(), FaultKind> {
        let Some(group) = self.warpgroups.get(thread / LANES / WARPS) else { return Ok(()) };
        for word in bytes.chunks_exact(4) {
            let number = f32::from_ne_bytes(word.try_into().expect("4 bytes"));
            if let Some((product, _)) = group.find(number) {
                return Err(self.used_too_early(thread, product, false).into());
            }
        }
        Ok(())
    }

    /// Reports a thread that returns without a wait for its warp's products.
    pub fn check_own_products(&mut self, thread: usize) {
        let Some(group) = self.warpgroups.get(thread / LANES / WARPS) else { return };
        let warp = &group.warps[thread / LANES % WARPS];
        let missing = if warp.committed < warp.issued {
            "commit and wait"
        } else if warp.waited < warp.groups && warp.issued > 0 {
            "wait"
        } else {
            return;
        };
        let product = group.products[warp.issued - 1].site;
        self.fail(thread, ProductFault::Unfinished { product, missing }.into());
    }
}

/// A's kept values, row by row, from the lanes' registers.
fn kept_in_registers(mma: WarpgroupMma, parts: &[&LaneOperand]) -> Vec<f64> {
    let mut values = vec![0.0; warpgroup::M * mma.kept()];
    for (lane, part) in parts.iter().enumerate() {
        let OperandA::Registers(words) = part.left else { unreachable!("all lanes agree") };
        for (w, word) in words.into_iter().enumerate() {
            for i in 0..mma.a.per_word() {
                let (row, column) = mma.a(lane, w, i);
                let bits = word >> (8 * mma.a.bytes() * i);
                values[row * mma.kept() + column] = mma.a.value(bits);
            }
        }
    }
    values
}

/// A's kept values with the columns at which they stand.
fn with_columns(
    mma: WarpgroupMma,
    kept: Vec<f64>,
    parts: &[&LaneOperand],
) -> Result<Vec<(f64, usize)>, FaultKind> {
    let each = |(at, value): (usize, f64)| {
        let (row, at) = (at / mma.kept(), at % mma.kept());
        if !mma.sparse {
            return Ok((value, at));
        }
        let bits = |kept| {
            let (lane, bit) = mma.metadata(row, kept);
            let part = parts[lane + 2 * parts[lane].selector as usize];
            part.metadata >> bit
        };
        Ok((value, column(mma, row, at, bits)?))
    };
    kept.into_iter().enumerate().map(each).collect()
}

/// The values of rows of A, or columns of B, of so many values each, from a function that reads 16 bytes of shared
/// memory.
fn tile_values(
    tile: Descriptor,
    [rows, depth]: [usize; 2],
    factor: WarpgroupFactor,
    is_transposed: bool,
    read: &mut impl FnMut(u32) -> Result<Vec<u8>, FaultKind>,
) -> Result<Vec<f64>, FaultKind> {
    // What is contiguous.
    let [lines, along] = if is_transposed { [depth, rows] } else { [rows, depth] };
    check_tile(tile, (along * factor.bytes()) as u32, is_transposed)?;
    let mut values = vec![0.0; rows * depth];
    for line in 0..lines {
        for first in (0..along).step_by(16 / factor.bytes()) {
            let (line_u32, byte) = (line as u32, (first * factor.bytes()) as u32);
            let at = match is_transposed {
                true => tile.at_transposed(line_u32, byte),
                false => tile.at(line_u32, byte),
            };
            for (i, bytes) in read(at)?.chunks(factor.bytes()).enumerate() {
                let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte));
                let place = match is_transposed {
                    true => (first + i) * depth + line,
                    false => line * depth + first + i,
                };
                values[place] = factor.value(bits);
            }
        }
    }
    Ok(values)
}

/// Refuses an operand that does not lie as its descriptor says. Its rows, or columns, have so many bytes.
fn check_tile(tile: Descriptor, row_bytes: u32, is_transposed: bool) -> Result<(), FaultKind> {
    let width = tile.swizzle().row_bytes();
    let column = if width == 16 { 0 } else { tile.address() % width };
    // A transposed one goes on in another pattern, if it begins at a pattern's start.
    let goes_on = width == 16 || is_transposed && column == 0;
    let is_inside = goes_on || column + row_bytes <= width;
    // A pattern of swizzled rows repeats after eight of them, at multiples of their size.
    let is_aligned = width == 16 || tile.address() % (8 * width) == column;
    if is_inside && is_aligned {
        Ok(())
    } else {
        let (address, swizzle) = (tile.address(), width);
        Err(ProductFault::Tile { address, swizzle, row_bytes }.into())
    }
}
