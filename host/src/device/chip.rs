// SPDX-License-Identifier: MIT OR Apache-2.0
//! The chips that kernels are built for, and which build a GPU takes.

use std::fmt;

/// A chip family, as `rustc` and `ptxas` name it, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chip {
    /// Ampere (A100) and everything later.
    Sm80,
    /// Hopper (H100, H200) and everything later.
    Sm90,
    /// Hopper only.
    Sm90a,
    /// Data-centre Blackwell (B200) only.
    Sm100a,
    /// Consumer Blackwell (RTX 50) only.
    Sm120a,
}

impl Chip {
    /// Every chip, oldest first.
    pub const ALL: [Self; 5] = [Self::Sm80, Self::Sm90, Self::Sm90a, Self::Sm100a, Self::Sm120a];

    /// Such as `sm_90a`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm90 => "sm_90",
            Self::Sm90a => "sm_90a",
            Self::Sm100a => "sm_100a",
            Self::Sm120a => "sm_120a",
        }
    }

    /// Whether code for it runs on a GPU of this compute capability: the driver translates PTX for
    /// later chips too, but not that of a name that ends with `a`.
    #[must_use]
    pub fn runs_on(self, compute_capability: (u32, u32)) -> bool {
        match self {
            Self::Sm80 => compute_capability >= (8, 0),
            Self::Sm90 => compute_capability >= (9, 0),
            Self::Sm90a => compute_capability == (9, 0),
            Self::Sm100a => compute_capability == (10, 0),
            Self::Sm120a => compute_capability == (12, 0),
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Chip;

    #[test]
    fn a_gpu_takes_the_newest_build_that_runs_on_it() {
        let newest = |capability| Chip::ALL.into_iter().rfind(|chip| chip.runs_on(capability));
        assert_eq!(newest((7, 5)), None);
        assert_eq!(newest((8, 0)), Some(Chip::Sm80));
        assert_eq!(newest((8, 9)), Some(Chip::Sm80));
        assert_eq!(newest((9, 0)), Some(Chip::Sm90a));
        assert_eq!(newest((10, 0)), Some(Chip::Sm100a));
        // A relative of the B200, on which only code for names without `a` runs.
        assert_eq!(newest((10, 3)), Some(Chip::Sm90));
        assert_eq!(newest((12, 0)), Some(Chip::Sm120a));
    }
}
