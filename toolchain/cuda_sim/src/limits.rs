// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the driver refuses to launch, and the chip to execute.

use crate::block::Block;
use crate::chip::OnChip as _;
use crate::config::LaunchConfig;
use crate::fault::FaultKind;
use crate::lane::with;
use crate::memory::Memory;
use crate::refusal::{
    MOST_BLOCKS, MOST_BLOCKS_YZ, MOST_PARAMETER_BYTES, MOST_THREADS, MOST_THREADS_Z, Refusal,
};
use crate::statics::MOST_STATIC_BYTES;
use cuda_chip::{Chip, RESERVED_SHARED_BYTES};

/// Shared memory of a block, static and dynamic, unless the kernel is allowed more of it.
const SHARED_BYTES: u32 = 48 << 10;

/// Registers of a quarter of a multiprocessor, which takes whole warps.
const PARTITION_REGISTERS: u32 = 1 << 14;

/// Blocks that a multiprocessor of the current chip runs at once, of so many threads with so many registers
/// each.
#[must_use]
pub fn resident_blocks(threads: u32, shared_bytes: u32, registers: u32) -> u32 {
    resident_on(Chip::current(), threads, shared_bytes, registers)
}

/// Blocks of a multiprocessor at once.
fn resident_on(chip: Chip, threads: u32, shared_bytes: u32, registers: u32) -> u32 {
    let resources = chip.resources();
    let by_shared = resources.shared_bytes / (shared_bytes + RESERVED_SHARED_BYTES);
    // Parts of a warp take the room of a whole one.
    let threads = threads.next_multiple_of(32);
    let by_registers = threads_with(registers) / threads;
    let by_threads = resources.threads / threads;
    by_shared.min(by_registers).min(by_threads).min(resources.blocks)
}

/// Threads of a multiprocessor that there are so many registers for: warps take them in units of 8 a
/// thread, each from one of four partitions.
fn threads_with(registers: u32) -> u32 {
    let of_warp = 32 * registers.max(1).next_multiple_of(8);
    4 * 32 * (PARTITION_REGISTERS / of_warp)
}

impl Memory {
    /// Lets launches of a kernel have up to so many bytes of dynamic shared memory from now on, instead of
    /// 48 KiB: what `cuFuncSetAttribute` does. The last call counts, also if it allows less.
    ///
    /// # Errors
    /// The chip has not as much.
    pub fn allow_shared(&mut self, kernel: &str, bytes: u32) -> Result<(), Refusal> {
        let chip = Chip::current();
        let most = chip.resources().shared_bytes_per_block();
        if bytes > most {
            return Err(Refusal::SharedMemory { bytes, chip, most });
        }
        self.allowed.insert(kernel.to_owned(), bytes);
        Ok(())
    }

    /// Refuses a launch that the driver would refuse without looking at the kernel.
    pub(crate) fn check_launch(&self, kernel: &str, config: &LaunchConfig) -> Result<(), Refusal> {
        let &LaunchConfig { shared_bytes: bytes, blocks_yz, threads_yz: [_, threads_z], .. } =
            config;
        let (blocks, threads) = (config.blocks_of_grid(), config.threads_of_block());
        let chip = Chip::current();
        if !(1..=MOST_BLOCKS).contains(&blocks) {
            return Err(Refusal::Blocks(blocks));
        }
        if blocks_yz.into_iter().any(|blocks| blocks > MOST_BLOCKS_YZ) {
            return Err(Refusal::BlocksYz(blocks_yz));
        }
        if threads_z > MOST_THREADS_Z {
            return Err(Refusal::ThreadsZ(threads_z));
        }
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(Refusal::Threads(threads));
        }
        let most = chip.resources().shared_bytes_per_block();
        if bytes > most {
            return Err(Refusal::SharedMemory { bytes, chip, most });
        }
        let allowed = self.allowed.get(kernel).copied().unwrap_or(SHARED_BYTES);
        if bytes > allowed {
            return Err(Refusal::NotAllowed { bytes, allowed });
        }
        Ok(())
    }
}

/// Refuses a launch of a kernel that states how many registers its threads may have, if not as many as all
/// others, and what its parameters take.
pub(crate) fn check_kernel(
    config: &LaunchConfig,
    registers: Option<u32>,
    parameter_bytes: usize,
) -> Result<(), Refusal> {
    let &LaunchConfig { shared_bytes, cooperative, .. } = config;
    let (blocks, threads) = (config.blocks_of_grid(), config.threads_of_block());
    let registers = registers.unwrap_or(config.registers);
    let most = threads_with(registers);
    if threads > most {
        return Err(Refusal::Registers { registers, threads, most });
    }
    if parameter_bytes > MOST_PARAMETER_BYTES {
        return Err(Refusal::Parameters(parameter_bytes));
    }
    let chip = Chip::current();
    let resident = resident_on(chip, threads, shared_bytes, registers);
    let most = chip.resources().multiprocessors * resident;
    if cooperative && blocks > most {
        return Err(Refusal::Cooperative { blocks, chip, most });
    }
    Ok(())
}

/// What a kernel begins with on a host: says how many registers a thread may have, if the kernel does, and
/// the sizes and alignments of its parameters.
#[track_caller]
pub fn enter(registers: Option<u32>, parameters: &[[usize; 2]]) {
    let end = |at: usize, &[size, alignment]: &[usize; 2]| at.next_multiple_of(alignment) + size;
    let bytes = parameters.iter().fold(0, end);
    with(|block, _| Ok(check_kernel(&block.config, registers, bytes)?));
}

impl Block<'_> {
    /// Refuses static shared memory of so many bytes in all: the driver knows it when it launches, the emulator when the
    /// kernel comes to it.
    pub fn check_static_shared(&self, static_bytes: usize) -> Result<(), Refusal> {
        let bytes = self.config.shared_bytes;
        if static_bytes > MOST_STATIC_BYTES as usize {
            return Err(Refusal::StaticShared { bytes: static_bytes, most: MOST_STATIC_BYTES });
        }
        let most = match self.memory.allowed.get(self.kernel) {
            Some(_) => Chip::current().resources().shared_bytes_per_block(),
            None => SHARED_BYTES,
        };
        if static_bytes + bytes as usize > most as usize {
            return Err(Refusal::SharedTogether { static_bytes, bytes, most });
        }
        Ok(())
    }

    /// Refuses an instruction that only sm_90 and later have.
    pub fn needs_sm_90(&self, instruction: &'static str) -> Result<(), FaultKind> {
        match Chip::current() {
            chip if chip < Chip::Sm90 => Err(FaultKind::NotOnChip { instruction, chip }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_dealt_out_to_whole_warps_of_a_partition() {
        assert_eq!(threads_with(32), 2048);
        assert_eq!(threads_with(64), 1024);
        // 5 warps of 3072 registers in each of four partitions.
        assert_eq!(threads_with(96), 640);
        assert_eq!(threads_with(93), 640);
        assert_eq!(threads_with(168), 384);
        assert_eq!(threads_with(255), 256);
    }

    #[test]
    fn resident_blocks_are_those_of_the_occupancy_calculator() {
        assert_eq!(resident_on(Chip::Sm90, 256, 0, 32), 8);
        assert_eq!(resident_on(Chip::Sm90, 256, 100 << 10, 32), 2);
        assert_eq!(resident_on(Chip::Sm90, 576, 200 << 10, 96), 1);
        assert_eq!(resident_on(Chip::Sm80, 32, 0, 32), 32);
    }
}
