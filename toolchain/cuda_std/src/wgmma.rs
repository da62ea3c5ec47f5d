// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous products of a warpgroup, which is four warps of a block, the first of which has a number
//! that is a multiple of four: D (64 × N) += A (64 × K) · B (K × N), with sums in f32. B lies in shared
//! memory, A there or in registers. PTX 8.0, only sm_90a. **Collective**: all lanes of the four warps.
//!
//! The sums are registers that the product writes while the threads go on. Their type says what may be
//! done with them, so that neither a fence nor a commit nor a wait can be left out:
//!
//! | type | what they are | what turns them into it |
//! | --- | --- | --- |
//! | [`Sums`] | numbers, to read | [`Running::wait`] |
//! | [`Open`] | of a group of products that takes more | [`Sums::fence`], [`Sums::fence_with`], [`Running::fence`] |
//! | [`Running`] | of a group that has been committed | [`Open::commit`] |
//!
//! Metadata, and an A that is not in shared memory, are registers too, and a product reads them until it
//! ends: PTX has the program undefined that writes one of them before the wait. So [`Sums::fence_with`]
//! takes them, and a group that has them can only be waited for: nothing new is loaded for the next one
//! while it runs, and the compiler gives their registers to nothing else before the wait.
//!
//! ```
//! # use cuda_std::{shared::Shared, wgmma::{F16, Sums, Swizzle, SharedOperand}};
//! # unsafe fn product(at: Shared) -> Sums<4> { unsafe {
//! let tile = SharedOperand::rows(at, Swizzle::Bytes128);
//! let mut open = Sums::<4>::zeros().fence();
//! open.multiply::<F16>(0, tile, tile);
//! open.commit().wait()
//! # } }
//! ```
//!
//! What leaves one out does not compile: a fence,
//! ```compile_fail
//! # use cuda_std::{shared::Shared, wgmma::{F16, Sums, Swizzle, SharedOperand}};
//! # unsafe fn product(at: Shared) -> Sums<4> { unsafe {
//! let tile = SharedOperand::rows(at, Swizzle::Bytes128);
//! let mut open = Sums::<4>::zeros();
//! open.multiply::<F16>(0, tile, tile);
//! open.commit().wait()
//! # } }
//! ```
//! a commit,
//! ```compile_fail
//! # use cuda_std::{shared::Shared, wgmma::{F16, Sums, Swizzle, SharedOperand}};
//! # unsafe fn product(at: Shared) -> Sums<4> { unsafe {
//! let tile = SharedOperand::rows(at, Swizzle::Bytes128);
//! let mut open = Sums::<4>::zeros().fence();
//! open.multiply::<F16>(0, tile, tile);
//! open.wait()
//! # } }
//! ```
//! or a wait.
//! ```compile_fail
//! # use cuda_std::{shared::Shared, wgmma::{F16, Sums, Swizzle, SharedOperand}};
//! # unsafe fn product(at: Shared) -> f32 { unsafe {
//! let tile = SharedOperand::rows(at, Swizzle::Bytes128);
//! let mut open = Sums::<4>::zeros().fence();
//! open.multiply::<F16>(0, tile, tile);
//! open.commit().0[0][0]
//! # } }
//! ```
//! A group with registers, here metadata, is waited for before the next one has others:
//! ```
//! # use cuda_std::{shared::{self, Shared}, wgmma::{F16, Sums, Swizzle, SharedOperand}};
//! # unsafe fn products(at: Shared, words: Shared) -> Sums<4> { unsafe {
//! # let tile = SharedOperand::rows(at, Swizzle::Bytes128);
//! let mut open = Sums::<4>::zeros().fence_with([shared::load(words)]);
//! open.multiply_sparse::<F16, 0>(0, tile, 0, tile);
//! let mut open = open.commit().wait().fence_with([shared::load(words.offset(4))]);
//! open.multiply_sparse::<F16, 0>(0, tile, 0, tile);
//! open.commit().wait()
//! # } }
//! ```
//! Neither is it left under way,
//! ```compile_fail,E0599
//! # use cuda_std::{shared::{self, Shared}, wgmma::{F16, Sums, Swizzle, SharedOperand}};
//! # unsafe fn products(at: Shared, words: Shared) -> Sums<4> { unsafe {
//! # let tile = SharedOperand::rows(at, Swizzle::Bytes128);
//! let mut open = Sums::<4>::zeros().fence_with([shared::load(words)]);
//! open.multiply_sparse::<F16, 0>(0, tile, 0, tile);
//! let mut running = open.commit();
//! running.wait_for_all_but::<1>();
//! # running.wait()
//! # } }
//! ```
//! nor followed by another one without a wait.
//! ```compile_fail,E0599
//! # use cuda_std::{shared::{self, Shared}, wgmma::{F16, Sums, Swizzle, SharedOperand}};
//! # unsafe fn products(at: Shared, words: Shared) -> Sums<4> { unsafe {
//! # let tile = SharedOperand::rows(at, Swizzle::Bytes128);
//! let mut open = Sums::<4>::zeros().fence_with([shared::load(words)]);
//! open.multiply_sparse::<F16, 0>(0, tile, 0, tile);
//! let open = open.commit().fence();
//! # open.commit().wait()
//! # } }
//! ```
//!
//! What ordinary stores wrote to shared memory the products see after
//! [`crate::copy::fence_shared`] and a barrier; what TMA brought, after a wait for its barrier. Whoever
//! writes over an operand waits for the product, or for one who has. The emulator reports what forgets that.
//!
//! Which lane holds which element is said by `cuda_mma::warpgroup`.

mod registers;
mod types;

#[cfg(target_arch = "nvptx64")]
use crate::chip;
use crate::shared::Shared;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_mma::warpgroup::Descriptor;
pub use cuda_mma::warpgroup::{A_WORDS, M, Swizzle};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::wgmma as sim;
pub use registers::{EachPair, Registers};
pub use types::{Bf16, E4m3, E4m3E5m2, E5m2, E5m2E4m3, F16, Factors, Product, Tf32};

/// Threads of a warpgroup.
pub const THREADS: u32 = 128;

/// An operand in shared memory: rows of A, or columns of B, each of contiguous bytes, in groups of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedOperand(Descriptor);

impl SharedOperand {
    /// One whose rows lie one after the other, of as many bytes as the swizzle has in a row: what TMA
    /// leaves with a map of that swizzle. It begins at a multiple of eight such rows.
    #[inline(always)]
    #[must_use]
    pub const fn rows(at: Shared, swizzle: Swizzle) -> Self {
        Self(Descriptor::new(at.0, 16, 8 * swizzle.row_bytes(), swizzle))
    }

    /// One without swizzle: pieces of eight rows of 16 bytes, one row after the other; `along` bytes from
    /// a piece to the next along the rows, `down` bytes to the next eight rows.
    #[inline(always)]
    #[must_use]
    pub const fn pieces(at: Shared, along: u32, down: u32) -> Self {
        Self(Descriptor::new(at.0, along, down, Swizzle::None))
    }

    /// The one that begins some bytes further on, a multiple of 16: along a row for the next K, or at
    /// another group of eight rows.
    #[inline(always)]
    #[must_use]
    pub const fn further(self, bytes: u32) -> Self {
        Self(self.0.further(bytes))
    }
}

/// 64 × 2·R sums, of which a lane has R; T times.
#[derive(Clone, Debug)]
#[must_use]
pub struct Sums<const R: usize, const T: usize = 1>(pub [[f32; R]; T]);

/// Sums of a group of products that takes more, and W words that products may read from registers.
#[derive(Debug)]
#[must_use = "a group of products counts once it is committed"]
pub struct Open<const R: usize, const T: usize = 1, const W: usize = 0>([[f32; R]; T], [u32; W]);

/// Sums of products that may be under way, and the W words that these may read.
#[derive(Debug)]
#[must_use = "products are to be waited for"]
pub struct Running<const R: usize, const T: usize = 1, const W: usize = 0>([[f32; R]; T], [u32; W]);

impl<const R: usize, const T: usize> Sums<R, T>
where
    [f32; R]: Registers,
{
    /// All zero.
    #[inline(always)]
    pub const fn zeros() -> Self {
        // SAFETY: all bits zero is a number. (A list of lists would be written to memory, one by one.)
        Self(unsafe { core::mem::zeroed() })
    }

    /// Gives each two sums that are neighbours in a row to a function.
    #[inline(always)]
    pub fn each_pair(&self, act: &mut impl EachPair) {
        let Self(sums) = self;
        if T > 0 {
            sums[0].each_pair(0, act);
        }
        if T > 1 {
            sums[1].each_pair(1, act);
        }
        if T > 2 {
            sums[2].each_pair(2, act);
        }
        if T > 3 {
            sums[3].each_pair(3, act);
        }
    }

    /// `wgmma.fence`: hands the registers to products.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn fence(self) -> Open<R, T> {
        // SAFETY: as the caller promises.
        unsafe { self.fence_with([]) }
    }

    /// As [`Self::fence`], for a group that reads these words from registers: metadata, or A. They are
    /// the group's until [`Running::wait`].
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn fence_with<const W: usize>(self, mut words: [u32; W]) -> Open<R, T, W> {
        let Self(mut sums) = self;
        pin(&mut sums);
        pin_words(&mut words);
        fence();
        Open(sums, words)
    }
}

impl<const R: usize, const T: usize, const W: usize> Open<R, T, W>
where
    [f32; R]: Registers,
{
    /// `wgmma.mma_async`: adds the product of two tiles to the sums of number `at`.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it, with the same operands, which are as the type says, and
    /// are not written before the product is waited for.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn multiply<F: Product<R>>(
        &mut self,
        at: usize,
        a: SharedOperand,
        b: SharedOperand,
    ) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: as the caller promises.
        unsafe {
            F::tiles(&mut self.0[at], a.0.0, b.0.0);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        sim::multiply(F::mma::<R>(false), &mut self.0[at], sim::OperandA::Shared(a.0), b.0, (0, 0));
    }

    /// As [`Self::multiply`], with A from registers: the [`A_WORDS`] words from number `a` on.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it, with the same tile and numbers, which are as the type says; the tile is
    /// not written before the product is waited for.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn multiply_held<F: Product<R>>(&mut self, at: usize, a: usize, b: SharedOperand) {
        let a = self.words(a);
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: as the caller promises.
        unsafe {
            F::held(&mut self.0[at], a, b.0.0);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        sim::multiply(
            F::mma::<R>(false),
            &mut self.0[at],
            sim::OperandA::Registers(a),
            b.0,
            (0, 0),
        );
    }

    /// `wgmma.mma_async.sp`: as [`Self::multiply`], of the kept values of a sparse A. Word number
    /// `metadata` says where they stand.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it, with the same operands, which are as the type says, and are not written
    /// before the product is waited for. The metadata is as `cuda_mma::warpgroup` has it. The selector is 0, or, for factors of
    /// more than 8 bits, 1.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn multiply_sparse<F: Product<R>, const SELECTOR: u32>(
        &mut self,
        at: usize,
        a: SharedOperand,
        metadata: usize,
        b: SharedOperand,
    ) {
        let metadata = self.1[metadata];
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: as the caller promises.
        unsafe {
            F::sparse_tiles::<SELECTOR>(&mut self.0[at], a.0.0, metadata, b.0.0);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let (mma, left) = (F::mma::<R>(true), sim::OperandA::Shared(a.0));
            sim::multiply(mma, &mut self.0[at], left, b.0, (metadata, SELECTOR));
        }
    }

    /// As [`Self::multiply_sparse`], with A's kept values from registers, as [`Self::multiply_held`] has
    /// them.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it, with the same tile and numbers, which are as the type says; the tile is
    /// not written before the product is waited for. The metadata is as `cuda_mma::warpgroup` has it. The selector is 0,
    /// or, for factors of more than 8 bits, 1.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn multiply_sparse_held<F: Product<R>, const SELECTOR: u32>(
        &mut self,
        at: usize,
        a: usize,
        metadata: usize,
        b: SharedOperand,
    ) {
        let (a, metadata) = (self.words(a), self.1[metadata]);
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: as the caller promises.
        unsafe {
            F::sparse_held::<SELECTOR>(&mut self.0[at], a, metadata, b.0.0);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let (mma, left) = (F::mma::<R>(true), sim::OperandA::Registers(a));
            sim::multiply(mma, &mut self.0[at], left, b.0, (metadata, SELECTOR));
        }
    }

    /// The words of a lane of A, from number `first` on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    const fn words(&self, first: usize) -> [u32; A_WORDS] {
        [self.1[first], self.1[first + 1], self.1[first + 2], self.1[first + 3]]
    }

    /// `wgmma.commit_group`: closes the group.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn commit(self) -> Running<R, T, W> {
        #[cfg(target_arch = "nvptx64")]
        if chip::is_sm_90a() {
            // SAFETY: closing a group has no precondition but that all lanes do.
            unsafe { asm!("wgmma.commit_group.sync.aligned;", options(nostack)) };
        }
        #[cfg(not(target_arch = "nvptx64"))]
        sim::commit();
        Running(self.0, self.1)
    }
}

impl<const R: usize, const T: usize> Running<R, T>
where
    [f32; R]: Registers,
{
    /// `wgmma.fence`: opens the next group, of products of the same shape into the same sums.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn fence(self) -> Open<R, T> {
        fence();
        Open(self.0, [])
    }

    /// `wgmma.wait_group`: waits for all committed groups but the `NEWEST`, which may still be under way.
    /// What the others have read may be written from now on.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn wait_for_all_but<const NEWEST: u32>(&mut self) {
        #[cfg(target_arch = "nvptx64")]
        if chip::is_sm_90a() {
            // SAFETY: waiting has no precondition but that all lanes do.
            unsafe { asm!("wgmma.wait_group.sync.aligned {};", const NEWEST, options(nostack)) };
        }
        #[cfg(not(target_arch = "nvptx64"))]
        sim::wait(NEWEST, &mut []);
    }
}

impl<const R: usize, const T: usize, const W: usize> Running<R, T, W>
where
    [f32; R]: Registers,
{
    /// `wgmma.wait_group 0`: waits for all products, and gives the sums. No other wait is for groups that
    /// read words from registers.
    ///
    /// # Safety
    /// All lanes of the warpgroup execute it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn wait(self) -> Sums<R, T> {
        let Self(mut sums, mut words) = self;
        #[cfg(target_arch = "nvptx64")]
        {
            if chip::is_sm_90a() {
                // SAFETY: waiting has no precondition but that all lanes do.
                unsafe { asm!("wgmma.wait_group.sync.aligned 0;", options(nostack)) };
            }
            pin(&mut sums);
        }
        // Until here they are in use: the compiler has nothing else in their registers.
        pin_words(&mut words);
        #[cfg(not(target_arch = "nvptx64"))]
        sim::wait(0, sums.as_flattened_mut());
        Sums(sums)
    }
}

/// Fixes all registers at this place. There is no loop, which would want them in memory.
#[inline(always)]
fn pin<const R: usize, const T: usize>(sums: &mut [[f32; R]; T])
where
    [f32; R]: Registers,
{
    const { assert!(T <= 4, "at most four times R sums") };
    if T > 0 {
        sums[0].pin();
    }
    if T > 1 {
        sums[1].pin();
    }
    if T > 2 {
        sums[2].pin();
    }
    if T > 3 {
        sums[3].pin();
    }
}

/// Fixes words in registers at this place.
#[inline(always)]
fn pin_words<const W: usize>(words: &mut [u32; W]) {
    #[cfg(target_arch = "nvptx64")]
    for word in words {
        // SAFETY: no instruction.
        unsafe { asm!("// {}", inout(reg32) * word, options(nostack)) };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = words;
}

/// `wgmma.fence`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn fence() {
    #[cfg(target_arch = "nvptx64")]
    if chip::is_sm_90a() {
        // SAFETY: the callers' contracts say that all lanes execute it.
        unsafe { asm!("wgmma.fence.sync.aligned;", options(nostack)) };
    } else {
        unsafe extern "C" {
            /// Defined nowhere: who builds kernels with products for another chip is told this name.
            fn wgmma_is_for_sm_90a_only();
        }
        // SAFETY: the build ends before anybody calls it.
        unsafe { wgmma_is_for_sm_90a_only() };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::fence();
}
