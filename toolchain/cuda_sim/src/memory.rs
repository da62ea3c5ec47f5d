// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory: the buffers of a launch.

use crate::allocation::{Allocation, GUARD};
use crate::buffer::Buffer;
use crate::chip::OnChip as _;
use crate::clock::{Clock, forget};
use crate::counter::Counter;
use crate::fault::{Access, Fault, FaultKind, MemoryBytes};
use crate::released::Released;
use crate::shadow::Event;
use crate::tensor_map::{TensorMap, TensorMapError};
use bytemuck::{NoUninit, Pod};
use cuda_chip::Chip;
use std::collections::BTreeMap;
use std::ops::Range;

/// The buffers that a kernel may access through pointers.
#[derive(Debug, Default)]
pub struct Memory {
    /// By the first address of their front guard.
    pub(crate) allocations: BTreeMap<usize, Allocation>,
    maps: BTreeMap<usize, TensorMap>,
    /// The words that this launch uses as counters.
    pub(crate) counters: BTreeMap<usize, Counter>,
    /// Whether it is known what the last launch has accessed, and it may not have ended.
    is_known: bool,
    /// Whether the present launch may have started before that one ended.
    pub(crate) follows: bool,
    /// Whether the last launch lets the next one start before it has waited itself.
    pub(crate) starts_early: bool,
    /// Whether the launch before the present one did.
    pub(crate) started_early: bool,
    /// Dynamic shared memory that kernels are allowed, by name.
    pub(crate) allowed: BTreeMap<String, u32>,
    /// The first read in this launch of what nothing had written, as a mistake.
    pub(crate) suspect: Option<Fault>,
    /// Whether what nothing has written may be read.
    pub(crate) is_lenient: bool,
    /// What was released by atomic writes of words.
    pub(crate) words: BTreeMap<usize, Released>,
    /// Variables of modules of PTX: where they are.
    pub(crate) variables: BTreeMap<usize, Vec<u64>>,
    /// Bytes of sparse buffers so far, with their guards.
    sparse_bytes: usize,
}

impl Memory {
    /// No buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer with these elements that kernels only read.
    pub fn input<T: NoUninit>(&mut self, name: &str, elements: &[T]) -> Buffer<T> {
        self.add(name, bytemuck::cast_slice(elements), elements.len(), false, true)
    }

    /// A buffer with these elements that kernels read and write.
    pub fn in_out<T: NoUninit>(&mut self, name: &str, elements: &[T]) -> Buffer<T> {
        self.add(name, bytemuck::cast_slice(elements), elements.len(), true, true)
    }

    /// A buffer of so many elements, all bits zero, that kernels read and write.
    pub fn zeros<T: Pod>(&mut self, name: &str, len: usize) -> Buffer<T> {
        let zeros = vec![0u8; len * size_of::<T>()];
        self.add(name, &zeros, len, true, true)
    }

    /// Frees the buffer that starts at an address, or the descriptor of a tensor map. Nothing happens where
    /// there is none.
    pub fn free<T>(&mut self, start: *const T) {
        let start = start as usize;
        if let Some(freed) = self.allocations.remove(&start.wrapping_sub(GUARD)) {
            // What is allocated there next has not been counted in.
            self.counters.retain(|at, _| !(start..start + freed.len).contains(at));
        }
        self.maps.remove(&start);
    }

    /// All launches have ended, as after a wait for them: what follows overlaps with none of them.
    pub fn settle(&mut self) {
        self.is_known = false;
    }

    /// Whether the launch before, which may still run, does nothing to these bytes that an access has to wait
    /// for: it neither writes them nor, where they are written, reads them. `None` where nothing is known of a
    /// launch before.
    pub(crate) fn is_left_alone(
        &self,
        address: usize,
        bytes: usize,
        access: Access,
    ) -> Option<bool> {
        if !self.follows {
            return None;
        }
        let allocation = self.allocation(address)?;
        let start = address.checked_sub(allocation.start())?;
        let inside = start + bytes <= allocation.len;
        let before = allocation.before.as_ref();
        Some(inside && before.is_none_or(|before| before.allows(start..start + bytes, access)))
    }

    /// A buffer that kernels must write before anyone reads it.
    pub fn output<T: Pod>(&mut self, name: &str, len: usize) -> Buffer<T> {
        let zeros = vec![0u8; len * size_of::<T>()];
        self.add(name, &zeros, len, true, false)
    }

    /// A descriptor for TMA copies; the pointer is what a kernel takes.
    ///
    /// # Errors
    /// Where the array or the box breaks a rule of the hardware, or the array leaves its buffer.
    pub fn tensor_map(&mut self, map: TensorMap) -> Result<*const u8, TensorMapError> {
        let end = map.address as usize + map.bytes();
        let buffer = self.allocation(map.address as usize).ok_or(TensorMapError::NoBuffer)?;
        if end > buffer.start() + buffer.len {
            return Err(TensorMapError::NoBuffer);
        }
        map.validate()?;
        let descriptor = self.input("tensor map", &[0u8; 128]);
        self.maps.insert(descriptor.as_ptr() as usize, map);
        Ok(descriptor.as_ptr())
    }

    /// A buffer that kernels read and write, of any length: it takes memory only where it is written.
    /// Elsewhere every byte is `fill`.
    pub fn sparse<T: Pod>(&mut self, name: &str, len: usize, fill: u8) -> Buffer<T> {
        let bytes = len * size_of::<T>();
        let allocation = Allocation::sparse(name, self.sparse_bytes, bytes, fill);
        self.sparse_bytes += bytes.next_multiple_of(GUARD) + 2 * GUARD;
        self.insert(allocation, len)
    }

    fn add<T>(
        &mut self,
        name: &str,
        bytes: &[u8],
        len: usize,
        writable: bool,
        written: bool,
    ) -> Buffer<T> {
        let allocation = Allocation::new(name, bytes, writable, written);
        self.insert(allocation, len)
    }

    fn insert<T>(&mut self, allocation: Allocation, len: usize) -> Buffer<T> {
        let start = allocation.start();
        self.allocations.insert(start - GUARD, allocation);
        Buffer::new(start, len)
    }

    /// Forgets who accessed what: a launch is ordered after the one before, as soon as it has waited. What it
    /// may access until then is kept.
    pub(crate) fn begin_launch(&mut self, overlapping: bool) {
        let overlaps = overlapping && Chip::current() >= Chip::Sm90;
        self.suspect = None;
        self.is_lenient = false;
        self.words.clear();
        self.follows = std::mem::replace(&mut self.is_known, true) && overlaps;
        self.started_early = std::mem::take(&mut self.starts_early) && self.follows;
        for allocation in self.allocations.values_mut() {
            let last = allocation.shadow.take().filter(|_| self.follows);
            allocation.before = last.map(|last| last.touched());
        }
        for at in std::mem::take(&mut self.counters).into_keys() {
            if !self.follows {
                break;
            }
            let (allocation, range) = self
                .find(at, size_of::<u32>(), Access::Write)
                .expect("checked when it became a counter");
            allocation.count(range);
        }
    }

    /// Refuses a pointer that the hardware does not accept.
    pub(crate) fn aligned(
        &self,
        what: &'static str,
        address: usize,
        alignment: u32,
    ) -> Result<(), FaultKind> {
        if address.is_multiple_of(alignment as usize) {
            return Ok(());
        }
        let value = match self.allocation(address) {
            Some(buffer) => {
                let offset = address as i64 - buffer.start() as i64;
                MemoryBytes::Global { buffer: buffer.name.clone(), offset }.to_string()
            }
            None => format!("{address:#x}"),
        };
        Err(FaultKind::Misaligned { what, value, alignment })
    }

    /// The counter at an aligned address, which nothing else may access in a launch.
    pub(crate) fn counter(&mut self, address: usize) -> Result<&mut Counter, FaultKind> {
        if !self.counters.contains_key(&address) {
            let (allocation, range) = self.find(address, size_of::<u32>(), Access::Write)?;
            if !allocation.writable {
                return Err(FaultKind::ReadOnly(allocation.place(range.start)));
            }
            allocation.check_written(range.clone(), false)?;
            if !allocation.shadow().is_untouched(range.clone()) {
                return Err(FaultKind::Counter(allocation.place(range.start)));
            }
            let mut bytes = [0; 4];
            allocation.copy_out(range.start, &mut bytes);
            self.counters.insert(address, Counter::new(u32::from_ne_bytes(bytes)));
        }
        Ok(self.counters.get_mut(&address).expect("just made"))
    }

    /// Refuses to use counters as data.
    fn check_no_counter(&self, address: usize, bytes: usize) -> Result<(), FaultKind> {
        let first = address.saturating_sub(size_of::<u32>() - 1);
        match self.counters.range(first..address.saturating_add(bytes)).next() {
            Some((&at, _)) => {
                let place = self.writable_place(at).expect("checked when it became a counter");
                Err(FaultKind::Counter(place))
            }
            None => Ok(()),
        }
    }

    /// Reads bytes for an agent with this clock.
    pub(crate) fn load(
        &mut self,
        address: usize,
        bytes: &mut [u8],
        event: Event,
        clock: &Clock,
    ) -> Result<(), FaultKind> {
        self.check_read(address, bytes.len(), event, clock)?;
        self.copy_out(address, bytes);
        Ok(())
    }

    /// Checks and records a read of which the data comes later.
    pub(crate) fn check_read(
        &mut self,
        address: usize,
        bytes: usize,
        event: Event,
        clock: &Clock,
    ) -> Result<(), FaultKind> {
        self.check_no_counter(address, bytes)?;
        let is_lenient = self.is_lenient;
        let (allocation, range) = self.find(address, bytes, Access::Read)?;
        allocation.check_written(range.clone(), is_lenient)?;
        if allocation.writable {
            let result = allocation.shadow().read(range, event, clock);
            result
                .map_err(|conflict| conflict.into_fault(Access::Read, |at| allocation.place(at)))?;
        }
        Ok(())
    }

    /// Writes bytes for an agent with this clock.
    pub(crate) fn store(
        &mut self,
        address: usize,
        bytes: &[u8],
        event: Event,
        clock: &Clock,
    ) -> Result<(), FaultKind> {
        self.reserve(address, bytes.len(), event, clock)?;
        forget(&mut self.words, address..address + bytes.len());
        self.fill(address, bytes);
        Ok(())
    }

    /// Checks and records a write of which the data comes later.
    pub(crate) fn reserve(
        &mut self,
        address: usize,
        bytes: usize,
        event: Event,
        clock: &Clock,
    ) -> Result<(), FaultKind> {
        self.check_no_counter(address, bytes)?;
        let (allocation, range) = self.find(address, bytes, Access::Write)?;
        if !allocation.writable {
            return Err(FaultKind::ReadOnly(allocation.place(range.start)));
        }
        let result = allocation.shadow().write(range, event, clock);
        result.map_err(|conflict| conflict.into_fault(Access::Write, |at| allocation.place(at)))
    }

    /// Checks and records an atomic change of a value, and gives what is there. The new one is written by [`Self::fill`].
    pub(crate) fn update(
        &mut self,
        address: usize,
        bytes: usize,
        event: Event,
        clock: &Clock,
    ) -> Result<u64, FaultKind> {
        self.check_no_counter(address, bytes)?;
        let is_lenient = self.is_lenient;
        let (allocation, range) = self.find(address, bytes, Access::Write)?;
        if !allocation.writable {
            return Err(FaultKind::ReadOnly(allocation.place(range.start)));
        }
        allocation.check_written(range.clone(), is_lenient)?;
        let result = allocation.shadow().write(range.clone(), event, clock);
        result.map_err(|conflict| conflict.into_fault(Access::Write, |at| allocation.place(at)))?;
        let mut word = [0; 8];
        allocation.copy_out(range.start, &mut word[..bytes]);
        Ok(u64::from_ne_bytes(word))
    }

    /// Writes the data of a reservation.
    pub(crate) fn fill(&mut self, address: usize, bytes: &[u8]) {
        let found = self.find(address, bytes.len(), Access::Write);
        let (allocation, range) = found.expect("checked when the write was issued");
        allocation.copy_in(range.start, bytes);
    }

    /// Reads bytes that have been checked.
    pub(crate) fn copy_out(&self, address: usize, bytes: &mut [u8]) {
        let allocation = self.allocation(address).expect("checked when the copy was issued");
        allocation.copy_out(address - allocation.start(), bytes);
    }

    pub(crate) fn map_at(&self, address: usize) -> Result<&TensorMap, FaultKind> {
        self.maps.get(&address).ok_or(FaultKind::NoTensorMap(address))
    }

    /// The place of an address in a buffer that kernels may write.
    pub(crate) fn writable_place(&self, address: usize) -> Option<MemoryBytes> {
        let allocation = self.allocation(address).filter(|allocation| allocation.writable)?;
        let offset = address as i64 - allocation.start() as i64;
        Some(MemoryBytes::Global { buffer: allocation.name.clone(), offset })
    }

    /// The buffer that holds, or nearly holds, this address.
    pub(crate) fn allocation(&self, address: usize) -> Option<&Allocation> {
        let (_, allocation) = self.allocations.range(..=address).next_back()?;
        (address < allocation.start() + allocation.len + GUARD).then_some(allocation)
    }

    fn find(
        &mut self,
        address: usize,
        bytes: usize,
        access: Access,
    ) -> Result<(&mut Allocation, Range<usize>), FaultKind> {
        let near = self.allocations.range_mut(..=address).next_back().map(|(_, found)| found);
        let near = near.filter(|found| address < found.start() + found.len + GUARD);
        let allocation = near.ok_or(FaultKind::WildPointer { access, address })?;
        let offset = address as i64 - allocation.start() as i64;
        match usize::try_from(offset) {
            Ok(start) if start + bytes <= allocation.len => Ok((allocation, start..start + bytes)),
            _ => {
                let place = MemoryBytes::Global { buffer: allocation.name.clone(), offset };
                Err(FaultKind::OutOfBounds { access, bytes, place, size: allocation.len })
            }
        }
    }
}
