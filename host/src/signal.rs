// SPDX-License-Identifier: MIT OR Apache-2.0
//! The signals that ask a program to end.

use std::fmt;

use signal_hook::consts::signal;

/// A signal that asks for an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: a batch system, or `kill`.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::HangUp];

    /// As shells report a program that the signal ended: 128 and its number.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    /// Its number, on systems that have it.
    pub fn number(self) -> Option<i32> {
        match self {
            Self::Interrupt => Some(signal::SIGINT),
            Self::Terminate => Some(signal::SIGTERM),
            #[cfg(unix)]
            Self::HangUp => Some(signal::SIGHUP),
            #[cfg(not(unix))]
            Self::HangUp => None,
        }
    }
}

impl fmt::Display for Signal {
    /// As in `interrupted by SIGTERM`; Ctrl-C goes without saying.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "",
            Self::Terminate => " by SIGTERM",
            Self::HangUp => " by SIGHUP",
        })
    }
}
