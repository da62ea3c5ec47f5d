// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages between ranks, whatever carries them.

use std::cell::OnceCell;

use problem::Error;
use problem::error::RankFailure;

/// What a message is about. Messages of one kind from one rank to another arrive in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// What rank 0 tells another rank to do.
    Command,
    /// What that rank answers.
    Reply,
    /// Values that go with a command or a reply.
    Values,
    /// Points for another's ghosts.
    Ghosts,
}

impl MessageKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Command, Self::Reply, Self::Values, Self::Ghosts];
}

/// Carries messages from one rank to the others and back.
pub trait Messenger {
    /// Who sends and receives here.
    fn rank(&self) -> usize;

    /// How many there are.
    fn ranks(&self) -> usize;

    /// How the other ranks are reached, in words, such as `threads of this process` or `Open MPI 4.1.4`.
    fn describe(&self) -> String;

    /// Its number among the ranks of its machine: that of its GPU, where nobody says otherwise.
    fn place(&self) -> usize {
        self.rank()
    }

    /// How many ranks its machine has.
    fn local_ranks(&self) -> usize {
        self.ranks()
    }

    /// What a rank failed with, as far as rank 0 knows. After that no rank does anything, whichever of the ranks' computations asks.
    fn failure(&self) -> &OnceCell<RankFailure>;

    /// A rank of which it is known that it is gone.
    fn gone(&self) -> Option<usize> {
        None
    }

    /// That nobody is known to be gone, or has said that it failed: for those who wait for others by other means.
    ///
    /// # Errors
    /// Somebody is or has.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Sends a message, which may still be on its way when this returns. To oneself works, too.
    ///
    /// # Errors
    /// The other rank is gone, or what carries messages fails.
    fn send(&self, to: usize, kind: MessageKind, bytes: Vec<u8>) -> Result<(), Error>;

    /// Makes sure that what was sent is on its way, for those who go on to wait for others by other means.
    fn flush(&self) {}

    /// Waits for the next message of a kind from a rank.
    ///
    /// # Errors
    /// The other rank is gone, or what carries messages fails.
    fn receive(&self, from: usize, kind: MessageKind) -> Result<Vec<u8>, Error>;
}

/// The last byte of a message of ghosts.
const POINTS: u8 = 0;
const FAILURE: u8 = 1;

/// Sends points for another's ghosts.
///
/// # Errors
/// As of [`Messenger::send`].
pub fn send_ghosts(post: &dyn Messenger, to: usize, mut bytes: Vec<u8>) -> Result<(), Error> {
    bytes.push(POINTS);
    post.send(to, MessageKind::Ghosts, bytes)
}

/// Waits for points for one's own ghosts.
///
/// # Errors
/// As of [`Messenger::receive`], or the other rank failed and said so.
pub fn receive_ghosts(post: &dyn Messenger, from: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = post.receive(from, MessageKind::Ghosts)?;
    check_ghosts(&bytes)?;
    bytes.pop();
    Ok(bytes)
}

/// That what came for one's own ghosts are points.
///
/// # Errors
/// The other rank failed, and says so.
pub(super) fn check_ghosts(message: &[u8]) -> Result<(), Error> {
    match message.split_last() {
        Some((&POINTS, _)) => Ok(()),
        Some((_, failure)) => Err(RankFailure::read(failure).second_hand().into()),
        None => Err(RankFailure::read(message).second_hand().into()),
    }
}

/// Tells everybody else, who may be waiting for points, that this rank has failed.
pub fn send_failure(post: &dyn Messenger, failure: &RankFailure) {
    let mut bytes = failure.write();
    bytes.push(FAILURE);
    for to in (0..post.ranks()).filter(|&to| to != post.rank()) {
        // Who is gone does not wait.
        let _ = post.send(to, MessageKind::Ghosts, bytes.clone());
    }
}
