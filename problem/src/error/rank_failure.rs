// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors that go from rank to rank.

use serde::{Deserialize, Serialize};

use super::{Error, ErrorKind};

/// What went wrong on a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFailure {
    /// Where it went wrong.
    pub rank: usize,
    /// That rank's device or machine.
    pub place: String,
    kind: ErrorKind,
    /// None of a rank that is gone.
    reason: String,
    /// Whether whoever tells of it only waited for that rank.
    second_hand: bool,
}

impl RankFailure {
    /// Of a rank that met this error.
    #[must_use]
    pub fn new(rank: usize, place: &str, error: &Error) -> Self {
        let (kind, place) = (error.kind(), place.to_owned());
        match error {
            Error::OfRank(failure) => (**failure).clone(),
            // Whoever tells of it is well.
            &Error::Gone { rank } => Self::is_gone(rank),
            _ => Self { rank, place, kind, reason: error.to_string(), second_hand: false },
        }
    }

    /// Of a rank whose process has ended.
    fn is_gone(rank: usize) -> Self {
        let (place, reason) = (String::new(), String::new());
        Self { rank, place, kind: ErrorKind::Lost, reason, second_hand: false }
    }

    /// Of a rank that panicked.
    #[must_use]
    pub fn of_panic(rank: usize, message: &str) -> Self {
        Self { reason: format!("it panicked: {message}"), ..Self::is_gone(rank) }
    }

    /// As told by another rank.
    #[must_use]
    pub fn second_hand(self) -> Self {
        Self { second_hand: true, ..self }
    }

    /// Whether whoever tells of it only waited for that rank.
    #[must_use]
    pub fn is_second_hand(&self) -> bool {
        self.second_hand
    }

    /// What it is about.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// For a message.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("words and numbers")
    }

    /// From a message.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_else(|_| Self {
            rank: 0,
            place: String::new(),
            kind: ErrorKind::Wrong,
            reason: "a message between ranks is damaged".into(),
            second_hand: false,
        })
    }
}

impl std::fmt::Display for RankFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "rank {}", self.rank)?;
        if self.reason.is_empty() {
            return f.write_str(" is gone");
        }
        if !self.place.is_empty() {
            write!(f, " ({})", self.place)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl From<RankFailure> for Error {
    fn from(failure: RankFailure) -> Self {
        Self::OfRank(Box::new(failure))
    }
}
