// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many blocks of a kernel run at once.

use super::{Gpu, failed};
use crate::Error;
use cuda_driver::cust::function::BlockSize;

/// How many blocks of a kernel, each with so many bytes of shared memory, run on the GPU at once, with at
/// most `most` on each multiprocessor.
///
/// # Errors
/// Not even one does, or the driver refuses.
pub fn resident_blocks(
    gpu: &Gpu,
    name: &str,
    threads: u32,
    shared_bytes: u32,
    most: u32,
) -> Result<u32, Error> {
    let kernel = gpu.modules.function(name)?;
    let resident = kernel
        .max_active_blocks_per_multiprocessor(BlockSize::x(threads), shared_bytes as usize)
        .map_err(failed("count the blocks of a multiprocessor"))?;
    if resident == 0 {
        let reason = format!(
            "a block of {threads} threads and {shared_bytes} bytes of shared memory does not fit"
        );
        return Err(Error::Driver { action: format!("launch {name}"), reason });
    }
    Ok(gpu.info().multiprocessors * most.min(resident))
}

/// Shared memory, in bytes, with which no more than `blocks` fit a multiprocessor. Launches overlap:
/// a block of the next one must find its place only where one of this launch has ended, or the
/// blocks, which stay to the end, would be spread unevenly (r = 3: 0.73 of copy instead of 0.90).
pub fn exclusive_bytes(gpu: &Gpu, blocks: u32) -> u32 {
    // What the driver keeps for itself in each block.
    const RESERVED: u32 = 1024;
    let most = gpu.info().shared_bytes_per_block;
    ((most + RESERVED) / (blocks + 1) - RESERVED + 16).next_multiple_of(16)
}
