// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks that are threads of this process: messages go through channels.

use super::messenger::{MessageKind, Messenger, check_ghosts};
use problem::Error;
use problem::error::RankFailure;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A message on its way.
struct ThreadMessage {
    from: usize,
    kind: MessageKind,
    bytes: Vec<u8>,
}

/// One rank's end of the channels.
pub struct Threads {
    rank: usize,
    to: Vec<Sender<ThreadMessage>>,
    arriving: Receiver<ThreadMessage>,
    /// What arrived before anybody asked for it.
    kept: RefCell<VecDeque<ThreadMessage>>,
    failure: OnceCell<RankFailure>,
}

impl Threads {
    /// Channels between so many ranks, an end for each.
    #[must_use]
    pub fn new(ranks: usize) -> Vec<Self> {
        let (to, arriving): (Vec<_>, Vec<_>) = (0..ranks).map(|_| channel()).unzip();
        let end = |(rank, arriving)| Self {
            rank,
            to: to.clone(),
            arriving,
            kept: RefCell::default(),
            failure: OnceCell::new(),
        };
        arriving.into_iter().enumerate().map(end).collect()
    }
}

impl Messenger for Threads {
    fn failure(&self) -> &OnceCell<RankFailure> {
        &self.failure
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn describe(&self) -> String {
        "threads of this process".into()
    }

    fn check(&self) -> Result<(), Error> {
        let mut kept = self.kept.borrow_mut();
        kept.extend(self.arriving.try_iter());
        let mut ghosts = kept.iter().filter(|letter| letter.kind == MessageKind::Ghosts);
        ghosts.try_for_each(|letter| check_ghosts(&letter.bytes))
    }

    fn send(&self, to: usize, kind: MessageKind, bytes: Vec<u8>) -> Result<(), Error> {
        let letter = ThreadMessage { from: self.rank, kind, bytes };
        self.to[to].send(letter).map_err(|_| Error::Gone { rank: to })
    }

    fn receive(&self, from: usize, kind: MessageKind) -> Result<Vec<u8>, Error> {
        let mut kept = self.kept.borrow_mut();
        let asked = |letter: &ThreadMessage| letter.from == from && letter.kind == kind;
        if let Some(at) = kept.iter().position(asked) {
            return Ok(kept.remove(at).expect("it was just found").bytes);
        }
        loop {
            let letter = self.arriving.recv().map_err(|_| Error::Gone { rank: from })?;
            if asked(&letter) {
                return Ok(letter.bytes);
            }
            kept.push_back(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::messenger::{receive_ghosts, send_failure, send_ghosts};
    use problem::error::RankFailure;

    #[test]
    fn who_waits_by_other_means_hears_of_failures() {
        let [first, second] = &Threads::new(2)[..] else { panic!("two") };
        send_ghosts(second, 0, vec![5]).unwrap();
        assert!(first.check().is_ok());
        send_failure(second, &RankFailure::of_panic(1, "oh"));
        for _ in 0..2 {
            assert_eq!(first.check().unwrap_err().to_string(), "rank 1: it panicked: oh");
        }
        assert_eq!(receive_ghosts(first, 1).unwrap(), [5]);
        assert!(receive_ghosts(first, 1).is_err() && first.check().is_ok());
    }
}
