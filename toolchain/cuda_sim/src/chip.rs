// SPDX-License-Identifier: MIT OR Apache-2.0
//! The chip that launches imitate.

use cuda_chip::Chip;
use std::cell::Cell;

thread_local!(static CURRENT: Cell<Chip> = const { Cell::new(Chip::Sm90) });

/// Launches on a chip.
pub trait OnChip {
    /// The chip of launches by this OS thread: [`Chip::Sm90`] unless [`OnChip::with`] says otherwise.
    #[must_use]
    fn current() -> Self;

    /// Runs something whose launches, by this OS thread, are on this chip.
    fn with<T>(self, run: impl FnOnce() -> T) -> T;
}

impl OnChip for Chip {
    fn current() -> Self {
        CURRENT.get()
    }

    fn with<T>(self, run: impl FnOnce() -> T) -> T {
        /// Also when `run` panics.
        struct ChipGuard(Chip);
        impl Drop for ChipGuard {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = ChipGuard(CURRENT.replace(self));
        run()
    }
}
