// SPDX-License-Identifier: MIT OR Apache-2.0
//! Indices of a thread in its block and of the block in the grid, and the block's barrier.

#[cfg(target_arch = "nvptx64")]
use core::arch::{asm, nvptx as ptx};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::thread as sim;

/// Three indices or sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UVec3 {
    /// Along x, in which neighbours are.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

/// Two indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UVec2 {
    /// Along x, in which neighbours are.
    pub x: u32,
    /// Along y.
    pub y: u32,
}

/// A special register for each dimension.
macro_rules! registers {
    ($($what:literal, $register:literal: $name:ident $intrinsic:ident;)*) => {
        device! {$(
            #[doc = concat!("`%", $register, "`: ", $what, ".")]
            pub fn $name() -> u32 {
                // SAFETY: reads a special register.
                unsafe { ptx::$intrinsic() as u32 }
            }
        )*}
    };
}
registers! {
    "index of the thread in its block along x", "tid.x": thread_idx_x _thread_idx_x;
    "index of the thread in its block along y", "tid.y": thread_idx_y _thread_idx_y;
    "index of the thread in its block along z", "tid.z": thread_idx_z _thread_idx_z;
    "index of the block in the grid along x", "ctaid.x": block_idx_x _block_idx_x;
    "index of the block in the grid along y", "ctaid.y": block_idx_y _block_idx_y;
    "index of the block in the grid along z", "ctaid.z": block_idx_z _block_idx_z;
    "threads in a block along x", "ntid.x": block_dim_x _block_dim_x;
    "threads in a block along y", "ntid.y": block_dim_y _block_dim_y;
    "threads in a block along z", "ntid.z": block_dim_z _block_dim_z;
    "blocks in the grid along x", "nctaid.x": grid_dim_x _grid_dim_x;
    "blocks in the grid along y", "nctaid.y": grid_dim_y _grid_dim_y;
    "blocks in the grid along z", "nctaid.z": grid_dim_z _grid_dim_z;
}

/// All three of a register's dimensions, or functions of them.
macro_rules! of_registers {
    ($($(#[$attribute:meta])* $name:ident() -> $out:ty $body:block)*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        #[must_use]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name() -> $out $body
    )*};
}
of_registers! {
    /// The index of the thread in its block.
    thread_idx() -> UVec3 {
        UVec3 { x: thread_idx_x(), y: thread_idx_y(), z: thread_idx_z() }
    }

    /// The index of the block in the grid.
    block_idx() -> UVec3 {
        UVec3 { x: block_idx_x(), y: block_idx_y(), z: block_idx_z() }
    }

    /// The threads in a block.
    block_dim() -> UVec3 {
        UVec3 { x: block_dim_x(), y: block_dim_y(), z: block_dim_z() }
    }

    /// The blocks in the grid.
    grid_dim() -> UVec3 {
        UVec3 { x: grid_dim_x(), y: grid_dim_y(), z: grid_dim_z() }
    }

    /// The index of the thread in the grid along x: unique where grid and block have one dimension and the grid has up to
    /// 2^32 threads. Of a larger grid the number wraps on the GPU; the emulator reports the overflow in a build that checks.
    index_1d() -> u32 {
        thread_idx_x() + block_idx_x() * block_dim_x()
    }

    /// The indices of the thread in the grid along x and y: unique where grid and block have no third dimension and the grid
    /// has up to 2^32 threads along each.
    index_2d() -> UVec2 {
        UVec2 { x: index_1d(), y: thread_idx_y() + block_idx_y() * block_dim_y() }
    }

    /// The indices of the thread in the grid: unique where the grid has up to 2^32 threads along each dimension.
    index_3d() -> UVec3 {
        let UVec2 { x, y } = index_2d();
        UVec3 { x, y, z: thread_idx_z() + block_idx_z() * block_dim_z() }
    }

    /// A number of the thread in the grid, another one for each thread where the grid has up to 2^32 threads: block after
    /// block, in each of them x before y before z. In a larger launch threads share numbers: use `u64` sums of the indices.
    index() -> u32 {
        let (thread, threads) = (thread_idx(), block_dim());
        let (block, blocks) = (block_idx(), grid_dim());
        let of_block = (block.z * blocks.y + block.y) * blocks.x + block.x;
        let in_block = (thread.z * threads.y + thread.y) * threads.x + thread.x;
        of_block * (threads.x * threads.y * threads.z) + in_block
    }

    /// Whether this is thread 0 of block 0.
    first() -> bool {
        block_idx() == UVec3::default() && thread_idx() == UVec3::default()
    }

    /// Lanes of a warp.
    warp_size() -> u32 {
        crate::warp::SIZE
    }
}

device! {
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
}

device! {
    /// `bar.sync 0`: waits for all threads of the block; what they wrote before is seen by the block after it. Every thread
    /// of the block must arrive: a kernel hangs or fails otherwise. Floor: any chip.
    pub fn sync_threads() {
        // SAFETY: it orders accesses, and makes none. The text without an instruction is for rustc's pass `JumpThreading`,
        // which goes through calls but not through inline assembly. It would write the barrier once into each path where
        // a condition before it and one after it are equal, and lanes of one warp would wait apart.
        unsafe {
            asm!("", options(nomem, nostack, preserves_flags));
            ptx::_syncthreads();
        }
    }

    /// `barrier.red.popc.u32`: [`sync_threads`] that counts the threads whose `predicate` is not 0. Floor: any chip.
    pub fn sync_threads_count(predicate: u32) -> u32 {
        let count: u32;
        // SAFETY: as in `sync_threads`.
        unsafe {
            asm!("{{ .reg .pred p; setp.ne.u32 p, {}, 0; bar.red.popc.u32 {}, 0, p; }}",
                in(reg32) predicate, out(reg32) count, options(nostack));
        }
        count
    }

    /// `barrier.red.and.pred`: [`sync_threads`] that says whether every thread's `predicate` is not 0. Floor: any chip.
    pub fn sync_threads_and(predicate: u32) -> u32 {
        let all: u32;
        // SAFETY: as in `sync_threads`.
        unsafe {
            asm!("{{ .reg .pred p, q; setp.ne.u32 p, {}, 0; bar.red.and.pred q, 0, p; selp.u32 {}, 1, 0, q; }}",
                in(reg32) predicate, out(reg32) all, options(nostack));
        }
        all
    }

    /// `barrier.red.or.pred`: [`sync_threads`] that says whether some thread's `predicate` is not 0. Floor: any chip.
    pub fn sync_threads_or(predicate: u32) -> u32 {
        let any: u32;
        // SAFETY: as in `sync_threads`.
        unsafe {
            asm!("{{ .reg .pred p, q; setp.ne.u32 p, {}, 0; bar.red.or.pred q, 0, p; selp.u32 {}, 1, 0, q; }}",
                in(reg32) predicate, out(reg32) any, options(nostack));
        }
        any
    }
}
