// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows from a row of the list.

use crate::Chip;
use core::fmt;

/// rust-cuda's names.
#[allow(non_upper_case_globals, missing_docs)]
impl Chip {
    pub const Compute80: Self = Self::Sm80;
    pub const Compute90: Self = Self::Sm90;
    pub const Compute90a: Self = Self::Sm90a;
    pub const Compute100a: Self = Self::Sm100a;
    pub const Compute120a: Self = Self::Sm120a;
}

impl Chip {
    /// The chip of a name such as `sm_90a`.
    #[must_use]
    pub const fn from_name(name: &str) -> Option<Self> {
        let mut at = 0;
        while at < Self::ALL.len() {
            if is_equal(Self::ALL[at].name(), name) {
                return Some(Self::ALL[at]);
            }
            at += 1;
        }
        None
    }

    /// The number in the name, such as 90.
    #[must_use]
    pub const fn number(self) -> u32 {
        let name = self.name().as_bytes();
        let (mut number, mut at) = (0, 0);
        while at < name.len() {
            if name[at].is_ascii_digit() {
                number = 10 * number + (name[at] - b'0') as u32;
            }
            at += 1;
        }
        number
    }

    /// The oldest compute capability that its code runs on, such as (9, 0).
    #[must_use]
    pub const fn compute_capability(self) -> (u32, u32) {
        (self.number() / 10, self.number() % 10)
    }

    /// Whether its code runs on a GPU of this compute capability: the driver translates PTX for later
    /// chips too, but not that of a name that ends with `a`.
    #[must_use]
    pub const fn runs_on(self, (major, minor): (u32, u32)) -> bool {
        let of_gpu = 10 * major + minor;
        match self.name().as_bytes() {
            [.., b'a'] => of_gpu == self.number(),
            _ => of_gpu >= self.number(),
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// `a == b`, which is not `const` yet.
const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_runs_on_later_gpus_but_for_names_that_end_with_a() {
        let run = |gpu| Chip::ALL.into_iter().filter(move |chip| chip.runs_on(gpu));
        let runs = |gpu, chips: &[Chip]| assert!(run(gpu).eq(chips.iter().copied()), "{gpu:?}");
        let [old, hopper] = [Chip::Sm80, Chip::Sm90];
        runs((7, 5), &[]);
        runs((8, 0), &[old]);
        runs((8, 9), &[old]);
        runs((9, 0), &[old, hopper, Chip::Sm90a]);
        runs((10, 0), &[old, hopper, Chip::Sm100a]);
        // A relative of the B200.
        runs((10, 3), &[old, hopper]);
        runs((12, 0), &[old, hopper, Chip::Sm120a]);
    }

    #[test]
    fn names_lead_back_to_their_chips_and_others_to_none() {
        for chip in Chip::ALL {
            assert_eq!(Chip::from_name(chip.name()), Some(chip));
            assert!(chip.runs_on(chip.compute_capability()));
        }
        for name in ["", "sm_9", "sm_90b", "sm_900", "SM_90", "sm_90a "] {
            assert_eq!(Chip::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn the_list_is_in_order() {
        for pair in Chip::ALL.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].number() <= pair[1].number());
        }
    }
}
