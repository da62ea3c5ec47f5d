// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lane that executes PTX: its accesses are those of the block's memories, with all their checks.

use super::{instructions, wgmma};
use crate::block::Block;
use crate::clock::{Agent, Clock, forget};
use crate::config::LANES;
use crate::fault::{Access as Doing, FaultKind};
use crate::lane::{give_way, with};
use crate::shadow::Event;
use crate::source::SourceLine;
use crate::strong::{Strength, Word};
use ptx_sim::{Access, Machine, MemoryOrder, SHARED, Scope, Space, Special, space_of};

use std::ops::Range;

/// What a mistake leaves of a lane: nothing goes on.
pub struct LaneEnded;

/// A lane.
pub struct Lane<'a> {
    sources: &'a [Option<SourceLine>],
    globals: &'a [u64],
    statics: &'a [Range<u32>],
    /// `%tid`, `%ctaid`, `%ntid`, `%nctaid`
    indices: [[u32; 3]; 4],
    thread: u32,
    dynamic: u32,
}

impl<'a> Lane<'a> {
    pub fn new(
        sources: &'a [Option<SourceLine>],
        globals: &'a [u64],
        statics: &'a [Range<u32>],
    ) -> Self {
        let (indices, thread, dynamic) = with(|block, thread| {
            if !statics.is_empty() {
                block.check_static_shared(statics.iter().map(ExactSizeIterator::len).sum())?;
            }
            let dynamic = block.config.shared_bytes;
            Ok((crate::thread::indices(block, thread), thread as u32, dynamic))
        });
        Self { sources, globals, statics, indices, thread, dynamic }
    }
}

/// Ends the launch.
#[track_caller]
pub fn fail(kind: FaultKind) -> LaneEnded {
    with(|_, _| Err(kind.clone()))
}

/// An address in shared memory, or one in global memory.
fn place(access: Access, address: u64) -> Word {
    let is_generic = access.space == Space::Generic;
    match access.space {
        Space::Shared => Word::Shared(address as u32),
        _ if is_generic && space_of(address) == Space::Shared => {
            Word::Shared(address.wrapping_sub(SHARED) as u32)
        }
        _ => Word::Global(address as usize),
    }
}

/// The present event of a thread's ordinary access.
fn event(block: &Block<'_>, thread: usize, access: Access) -> Event {
    let event = block.event(thread);
    match access.is_constant {
        // An agent that nobody ever hears of.
        true => Event { agent: Agent::MAX, epoch: 1, ..event },
        false => event,
    }
}

fn strength(access: Access) -> Strength {
    Strength { order: access.order, scope: access.scope }
}

impl Machine for Lane<'_> {
    type Fault = LaneEnded;

    fn at(&mut self, line: u32) {
        let source = self.sources.get(line as usize).copied().flatten();
        SourceLine::set(Some(
            source.unwrap_or_else(|| SourceLine::named("PTX without lines", 0, 0)),
        ));
    }

    fn load(&mut self, access: Access, address: u64, to: &mut [u8]) -> Result<(), LaneEnded> {
        let at = place(access, address);
        with(|block, thread| {
            if access.order != MemoryOrder::Weak {
                return block.atomic_load(thread, at, to, strength(access));
            }
            block.check_alignment(at, to.len())?;
            let event = event(block, thread, access);
            let knows_nothing = Clock::default();
            let clock = match access.is_constant {
                // Any write conflicts.
                true => &knows_nothing,
                false => &block.threads[thread].clock,
            };
            match at {
                Word::Shared(at) => block.shared.read_into(at, to, event, clock),
                Word::Global(at) => {
                    block.memory.load(at, to, event, clock)?;
                    block.check_previous(thread, at, to.len(), Doing::Read)
                }
            }
        });
        if access.lets_others {
            give_way();
        }
        Ok(())
    }

    fn store(&mut self, access: Access, address: u64, from: &[u8]) -> Result<(), LaneEnded> {
        let at = place(access, address);
        with(|block, thread| {
            if access.order != MemoryOrder::Weak {
                return block.atomic_store(thread, at, from, strength(access));
            }
            block.check_alignment(at, from.len())?;
            let (event, bytes) = (event(block, thread, access), from.len());
            let clock = &block.threads[thread].clock;
            match at {
                Word::Shared(at) => {
                    block.shared.write(at, from, event, clock)?;
                    forget(&mut block.words, at..at + bytes as u32);
                    Ok(())
                }
                Word::Global(at) => {
                    block.check_previous(thread, at, bytes, Doing::Write)?;
                    block.memory.store(at, from, event, &block.threads[thread].clock)
                }
            }
        });
        Ok(())
    }

    fn update(
        &mut self,
        access: Access,
        address: u64,
        bytes: usize,
        new: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<u64, LaneEnded> {
        let (at, strength) = (place(access, address), strength(access));
        let before = with(|block, thread| block.atomic_update(thread, at, bytes, strength, new));
        if access.lets_others {
            give_way();
        }
        Ok(before)
    }

    fn fence(&mut self, order: MemoryOrder, scope: Scope) -> Result<(), LaneEnded> {
        with(|block, thread| {
            block.fence(thread, Strength { order, scope });
            Ok(())
        });
        Ok(())
    }

    fn special(&mut self, register: Special) -> u64 {
        let lane = self.thread % LANES as u32;
        let of = |number: usize, dimension: u8| {
            u64::from(self.indices[number].get(usize::from(dimension)).copied().unwrap_or(0))
        };
        match register {
            Special::Thread(dimension) => of(0, dimension),
            Special::Block(dimension) => of(1, dimension),
            Special::Threads(dimension) => of(2, dimension),
            Special::Blocks(dimension) => of(3, dimension),
            Special::Lane => u64::from(lane),
            Special::Warp => u64::from(self.thread / LANES as u32),
            Special::LaneMask(less, equal, greater) => {
                let is_in = |other: &u32| match other.cmp(&lane) {
                    std::cmp::Ordering::Less => less,
                    std::cmp::Ordering::Equal => equal,
                    std::cmp::Ordering::Greater => greater,
                };
                (0..LANES as u32).filter(is_in).map(|lane| 1 << lane).sum()
            }
            Special::Clock => crate::thread::clock(),
            Special::DynamicShared => u64::from(self.dynamic),
        }
    }

    fn global(&self, variable: u32) -> u64 {
        self.globals[variable as usize]
    }

    fn shared(&self, variable: u32) -> u64 {
        u64::from(self.statics[variable as usize].start)
    }

    fn other(
        &mut self,
        opcode: &str,
        operands: &[Vec<u64>],
        _: usize,
    ) -> Result<Vec<u64>, LaneEnded> {
        match instructions::execute(opcode, operands) {
            Some(results) => Ok(results),
            None => Err(self.unknown(opcode)),
        }
    }

    fn product(
        &mut self,
        opcode: &str,
        sums: &[u64],
        operands: &[Vec<u64>],
        is_ordered: bool,
    ) -> Result<Vec<u64>, LaneEnded> {
        match wgmma::multiply(opcode, sums, operands, is_ordered) {
            Some(names) => Ok(names),
            None => Err(self.unknown(opcode)),
        }
    }

    fn settle(&mut self, sums: &mut [u64]) {
        wgmma::settle(sums);
    }

    fn has_ended(&mut self, sum: u64) -> bool {
        wgmma::has_ended(sum)
    }

    fn used_too_early(&mut self, sum: u64, is_write: bool) -> LaneEnded {
        wgmma::used_too_early(sum, is_write);
        LaneEnded
    }

    fn print(&mut self, text: &str) {
        crate::io::print(format_args!("{text}"));
    }

    fn count(&mut self, instructions: u64) -> Result<(), LaneEnded> {
        with(|block, thread| block.count(thread, instructions));
        Ok(())
    }

    fn unknown(&mut self, instruction: &str) -> LaneEnded {
        let text = instruction.to_owned();
        let of_clusters = [
            "mapa",
            "getctarank",
            "barrier.cluster",
            "multicast::cluster",
            "%cluster",
            "%ncluster",
        ];
        let is_of_cluster = of_clusters.iter().any(|part| text.contains(part));
        fail(match is_of_cluster {
            true => FaultKind::Cluster(text),
            false => FaultKind::UnknownInstruction(text),
        })
    }

    fn trap(&mut self) -> LaneEnded {
        fail(FaultKind::Trap)
    }

    fn beyond_local(&mut self, at: u64, bytes: usize, size: usize) -> LaneEnded {
        fail(FaultKind::OutOfLocal { at, bytes, size })
    }
}
