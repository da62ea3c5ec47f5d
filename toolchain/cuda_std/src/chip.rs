// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the chip can do that the code is for: known when it is compiled, so that what it cannot do is
//! compiled away; in the emulator, that of the launch.

pub use cuda_chip::Chip;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::OnChip as _;

/// The chip.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
#[must_use]
pub const fn current() -> Chip {
    // `cuda_builder` names it. Without, only what all chips have is used.
    const CHIP: Chip = match option_env!("CUDA_ARCH") {
        Some(name) => match Chip::from_name(name) {
            Some(chip) => chip,
            None => panic!("CUDA_ARCH names no chip of the crate cuda_chip"),
        },
        None if cfg!(target_feature = "sm_90") => Chip::Sm90,
        None => Chip::Sm80,
    };
    CHIP
}

/// The chip of the launch.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn current() -> Chip {
    Chip::current()
}

/// Whether it is Hopper or later (sm_90), with a copy engine (bulk copies, TMA), barriers that count
/// bytes, overlapping launches and `stmatrix`. Else it is Ampere or Ada (sm_80 to sm_89).
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
#[must_use]
pub const fn is_sm_90() -> bool {
    current().number() >= 90
}

/// Whether it is Hopper or later (sm_90), with a copy engine (bulk copies, TMA), barriers that count
/// bytes, overlapping launches and `stmatrix`. Else it is Ampere or Ada (sm_80 to sm_89).
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn is_sm_90() -> bool {
    current().number() >= 90
}

/// Whether it is Hopper and nothing else (sm_90a): with products of warpgroups ([`crate::wgmma`]).
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
#[must_use]
pub const fn is_sm_90a() -> bool {
    matches!(current(), Chip::Sm90a)
}

/// Whether it is Hopper and nothing else (sm_90a): with products of warpgroups ([`crate::wgmma`]).
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn is_sm_90a() -> bool {
    matches!(current(), Chip::Sm90a)
}
