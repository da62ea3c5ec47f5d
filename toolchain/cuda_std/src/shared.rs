// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory, addressed by byte offsets in its own 32-bit address space.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::shared as sim;

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 128 .b8 dynamic_shared[];");

/// An address in the block's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared(pub u32);

impl Shared {
    /// The address `bytes` further on.
    #[inline(always)]
    #[must_use]
    pub const fn offset(self, bytes: u32) -> Self {
        Self(self.0 + bytes)
    }
}

impl From<u32> for Shared {
    fn from(address: u32) -> Self {
        Self(address)
    }
}

impl From<Shared> for u32 {
    fn from(Shared(address): Shared) -> Self {
        address
    }
}

/// The type of a static in shared memory, which nothing initialises: `MaybeUninit<T>`, arrays of such, and arrays of those.
#[diagnostic::on_unimplemented(
    message = "shared memory is not initialised, so it cannot hold `{Self}`",
    note = "use `MaybeUninit<T>`, or arrays of it"
)]
pub trait Uninit: uninit::Sealed {}

mod uninit {
    use core::mem::MaybeUninit;

    pub trait Sealed {}
    impl<T> Sealed for MaybeUninit<T> {}
    impl<T: Sealed, const N: usize> Sealed for [T; N] {}
}

impl<T: uninit::Sealed> Uninit for T {}

/// Start of the dynamic shared memory whose size the launch gives, as a pointer: [`dynamic`] for plain loads and stores.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    let address: u64;
    // SAFETY: takes the address of a symbol.
    unsafe {
        asm!("cvta.shared.u64 {}, dynamic_shared;", out(reg64) address,
            options(pure, nomem, nostack));
    }
    address as *mut T
}

/// The address of a static in shared memory.
#[doc(hidden)]
#[macro_export]
#[cfg(target_arch = "nvptx64")]
#[allow_internal_unstable(asm_experimental_arch)]
macro_rules! __shared_address {
    ($symbol:literal, $memory:ty) => {{
        let address: u64;
        // SAFETY: takes the address of a symbol.
        unsafe {
            ::core::arch::asm!(::core::concat!("cvta.shared.u64 {}, ", $symbol, ";"),
                out(reg64) address, options(pure, nomem, nostack));
        }
        address as *mut $memory
    }};
}

/// The address of the block's own memory in the emulator.
#[doc(hidden)]
#[macro_export]
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! __shared_address {
    ($symbol:literal, $memory:ty) => {
        $crate::static_shared($symbol, ::core::alloc::Layout::new::<$memory>()).cast::<$memory>()
    };
}

device! {
    /// Start of the dynamic shared memory whose size the launch gives; 128-byte aligned.
    ///
    /// # Safety
    /// Only in a kernel.
    pub unsafe fn dynamic() -> Shared {
        let address: u32;
        // SAFETY: takes the address of a symbol.
        unsafe {
            asm!("mov.u32 {}, dynamic_shared;", out(reg32) address, options(pure, nomem, nostack));
        }
        Shared(address)
    }

    /// `ld.shared.b32`: one word. Floor: any chip.
    ///
    /// # Safety
    /// The 4 bytes are in bounds, written, and 4-byte aligned; whoever wrote them has been waited for.
    pub unsafe fn load(at: Shared) -> u32 {
        let word: u32;
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("ld.shared.b32 {}, [{}];", out(reg32) word, in(reg32) at.0,
                options(nostack, readonly));
        }
        word
    }

    /// `ld.shared.v2.b32`: two words. Floor: any chip.
    ///
    /// # Safety
    /// The 8 bytes are in bounds, written, and 8-byte aligned; whoever wrote them has been waited for.
    pub unsafe fn load_v2(at: Shared) -> [u32; 2] {
        let (a, b): (u32, u32);
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("ld.shared.v2.b32 {{{}, {}}}, [{}];", out(reg32) a, out(reg32) b, in(reg32) at.0,
                options(nostack, readonly));
        }
        [a, b]
    }

    /// `ld.shared.v4.b32`: four words. Floor: any chip.
    ///
    /// # Safety
    /// The 16 bytes are in bounds, written, and 16-byte aligned; whoever wrote them has been waited for.
    pub unsafe fn load_v4(at: Shared) -> [u32; 4] {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) at.0,
                options(nostack, readonly));
        }
        [a, b, c, d]
    }

    /// `ld.shared.v4.b32` under a predicate: four words if `wanted` is not zero, otherwise zeros. Lanes that
    /// load nothing take no bandwidth. Floor: any chip.
    ///
    /// # Safety
    /// As [`load_v4`], where it is wanted.
    pub unsafe fn load_v4_if(wanted: u32, at: Shared) -> [u32; 4] {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller promises a valid, aligned, ready address.
        unsafe {
            asm!("{{ .reg .pred p; setp.ne.u32 p, {wanted}, 0;",
                "mov.b32 {a}, 0; mov.b32 {b}, 0; mov.b32 {c}, 0; mov.b32 {d}, 0;",
                "@p ld.shared.v4.b32 {{{a}, {b}, {c}, {d}}}, [{at}]; }}",
                wanted = in(reg32) wanted, at = in(reg32) at.0, a = out(reg32) a, b = out(reg32) b,
                c = out(reg32) c, d = out(reg32) d, options(nostack, readonly));
        }
        [a, b, c, d]
    }

    /// `st.shared.v4.b32`: four words. Floor: any chip.
    ///
    /// # Safety
    /// The 16 bytes are in bounds and 16-byte aligned; nobody accesses them at the same time.
    pub unsafe fn store_v4(at: Shared, words: [u32; 4]) {
        let [a, b, c, d] = words;
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe {
            asm!("st.shared.v4.b32 [{}], {{{}, {}, {}, {}}};", in(reg32) at.0, in(reg32) a,
                in(reg32) b, in(reg32) c, in(reg32) d, options(nostack));
        }
    }

    /// `st.shared.v2.b32`: two words. Floor: any chip.
    ///
    /// # Safety
    /// The 8 bytes are in bounds and 8-byte aligned; nobody accesses them at the same time.
    pub unsafe fn store_v2(at: Shared, words: [u32; 2]) {
        let [a, b] = words;
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe {
            asm!("st.shared.v2.b32 [{}], {{{}, {}}};", in(reg32) at.0, in(reg32) a, in(reg32) b,
                options(nostack));
        }
    }

    /// `st.shared.b32`: one word. Floor: any chip.
    ///
    /// # Safety
    /// The 4 bytes are in bounds and 4-byte aligned; nobody reads or writes them at the same time.
    pub unsafe fn store(at: Shared, word: u32) {
        // SAFETY: the caller promises a valid, aligned, unshared address.
        unsafe { asm!("st.shared.b32 [{}], {};", in(reg32) at.0, in(reg32) word, options(nostack)) };
    }
}
