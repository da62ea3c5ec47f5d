// SPDX-License-Identifier: MIT OR Apache-2.0
//! Indices of a thread in its block and of the block in the grid, and the block's barrier.

#[cfg(target_arch = "nvptx64")]
use core::arch::{asm, nvptx as ptx};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::thread as sim;

device! {
    /// `%tid.x`: index of the thread in its block.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn thread_idx_x() -> u32 {
        // SAFETY: reads a special register.
        unsafe { ptx::_thread_idx_x() as u32 }
    }

    /// `%ctaid.x`: index of the block in the grid.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn block_idx_x() -> u32 {
        // SAFETY: reads a special register.
        unsafe { ptx::_block_idx_x() as u32 }
    }

    /// `%ntid.x`: threads in a block.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn block_dim_x() -> u32 {
        // SAFETY: reads a special register.
        unsafe { ptx::_block_dim_x() as u32 }
    }

    /// `%nctaid.x`: blocks in the grid.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn grid_dim_x() -> u32 {
        // SAFETY: reads a special register.
        unsafe { ptx::_grid_dim_x() as u32 }
    }

    /// `%clock64`: cycles that the multiprocessor has counted; only differences mean something. Reads
    /// keep their order among themselves, not among other instructions. PTX 2.0, floor sm_20.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn clock() -> u64 {
        let cycles: u64;
        // SAFETY: reads a special register; neither `pure` nor `nomem`, so that no read is merged or
        // moved.
        unsafe { asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nostack)) };
        cycles
    }

    /// `bar.sync 0`: waits for all threads of the block; what they wrote to shared memory before is
    /// seen after it. Floor: any chip.
    ///
    /// # Safety
    /// Every thread of the block must arrive.
    pub unsafe fn sync_threads() {
        // SAFETY: the caller promises that every thread arrives.
        unsafe { ptx::_syncthreads() }
    }
}
