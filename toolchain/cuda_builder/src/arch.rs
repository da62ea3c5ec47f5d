// SPDX-License-Identifier: MIT OR Apache-2.0
//! The chips that kernels are compiled for.

use std::fmt;

/// A chip family, as `rustc` and `ptxas` name it. A name that ends with `a` unlocks what only this
/// family has (TMA multicast, wgmma, …), and its code runs on no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// Ampere (A100) and everything later.
    Sm80,
    /// Hopper (H100, H200) and everything later.
    Sm90,
    /// Hopper.
    Sm90a,
    /// Blackwell, data centre (B200).
    Sm100a,
    /// Blackwell, workstation and consumer (RTX 50).
    Sm120a,
}

impl Arch {
    /// Every chip family, oldest first.
    pub const ALL: [Self; 5] = [Self::Sm80, Self::Sm90, Self::Sm90a, Self::Sm100a, Self::Sm120a];

    /// The name for `rustc -C target-cpu` and `ptxas -arch`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm90 => "sm_90",
            Self::Sm90a => "sm_90a",
            Self::Sm100a => "sm_100a",
            Self::Sm120a => "sm_120a",
        }
    }

    /// The PTX version as a rustc target feature: 8.6 has `mma.sp::ordered_metadata` and the first
    /// Blackwell; `sm_120a` came with 8.7. The driver must be as new (8.6: R565).
    pub(crate) const fn ptx_feature(self) -> &'static str {
        match self {
            Self::Sm80 | Self::Sm90 | Self::Sm90a | Self::Sm100a => "ptx86",
            Self::Sm120a => "ptx87",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
