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
    reason: String,
    /// Whether whoever tells of it only waited for that rank.
    second_hand: bool,
}

impl RankFailure {
    /// Of a rank that met this error.
    #[must_use]
    pub fn new(rank: usize, place: &str, error: &Error) -> Self {
        match error {
            Error::OfRank(failure) => (**failure).clone(),
            _ => {
                let (kind, reason) = (error.kind(), error.to_string());
                Self { rank, place: place.to_owned(), kind, reason, second_hand: false }
            }
        }
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
