// SPDX-License-Identifier: MIT OR Apache-2.0
//! The chip that launches imitate.

use crate::block::Block;
use crate::fault::FaultKind;
use std::cell::Cell;
use std::fmt;

/// A chip family, as far as kernels differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chip {
    /// Ampere and Ada: `cp.async`, barriers that count arrivals.
    Sm80,
    /// Hopper and later: bulk copies, barriers that also count bytes, overlapping launches, `stmatrix`.
    Sm90,
}

thread_local!(static CURRENT: Cell<Chip> = const { Cell::new(Chip::Sm90) });

impl Chip {
    /// That of launches by this OS thread: [`Chip::Sm90`] unless [`Chip::with`] says otherwise.
    #[must_use]
    pub fn current() -> Self {
        CURRENT.get()
    }

    /// Runs something whose launches, by this OS thread, are on this chip.
    pub fn with<T>(self, run: impl FnOnce() -> T) -> T {
        /// Also when `run` panics.
        struct Restore(Chip);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(self));
        run()
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sm80 => "sm_80",
            Self::Sm90 => "sm_90",
        })
    }
}

impl Block<'_> {
    /// Refuses an instruction that only sm_90 and later have.
    pub fn needs_sm_90(&self, instruction: &'static str) -> Result<(), FaultKind> {
        match Chip::current() {
            Chip::Sm90 => Ok(()),
            chip => Err(FaultKind::NotOnChip { instruction, chip }),
        }
    }
}
