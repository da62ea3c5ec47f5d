// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has arrived from a rank, until it is asked for; and how large messages travel in pieces.

use crate::ranks::messenger::MessageKind;
use std::collections::VecDeque;

/// What a message is, among all that MPI carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageLabel {
    /// Of a team's session.
    Post(MessageKind),
    /// What a rank says of itself at the start.
    Hello,
    /// The exit code of rank 0, which ends.
    Farewell,
}

impl MessageLabel {
    const ALL: [Self; 6] = [
        Self::Post(MessageKind::Command),
        Self::Post(MessageKind::Reply),
        Self::Post(MessageKind::Values),
        Self::Post(MessageKind::Ghosts),
        Self::Hello,
        Self::Farewell,
    ];

    fn number(self) -> usize {
        Self::ALL.iter().position(|label| *label == self).expect("all labels are listed")
    }

    /// MPI's tag of a piece of such a message, which may not be the last.
    pub fn tag(self, more: bool) -> i32 {
        (2 * self.number() + usize::from(more)) as i32
    }

    /// The label with this tag, and whether more pieces follow.
    pub fn of_tag(tag: i32) -> Option<(Self, bool)> {
        let tag = usize::try_from(tag).ok()?;
        Some((*Self::ALL.get(tag / 2)?, tag % 2 == 1))
    }
}

/// The pieces of a message, of which there is at least one, and whether more follow.
pub fn pieces(bytes: &[u8], most: usize) -> impl Iterator<Item = (&[u8], bool)> {
    let count = bytes.len().div_ceil(most).max(1);
    (0..count).map(move |piece| {
        let end = bytes.len().min((piece + 1) * most);
        (&bytes[piece * most..end], piece + 1 < count)
    })
}

/// Messages of one label.
#[derive(Default)]
struct MessageQueue {
    whole: VecDeque<Vec<u8>>,
    /// Of one that is still arriving.
    begun: Vec<u8>,
}

/// Messages from one rank.
#[derive(Default)]
pub struct Inbox([MessageQueue; MessageLabel::ALL.len()]);

impl Inbox {
    /// A piece has arrived, in order.
    pub fn put(&mut self, label: MessageLabel, more: bool, mut bytes: Vec<u8>) {
        let shelf = &mut self.0[label.number()];
        if more || !shelf.begun.is_empty() {
            shelf.begun.append(&mut bytes);
            bytes = std::mem::take(&mut shelf.begun);
        }
        match more {
            true => shelf.begun = bytes,
            false => shelf.whole.push_back(bytes),
        }
    }

    /// The first whole message of a label.
    pub fn take(&mut self, label: MessageLabel) -> Option<Vec<u8>> {
        self.0[label.number()].whole.pop_front()
    }

    /// The first whole message of a label, which stays in the inbox.
    pub fn first(&self, label: MessageLabel) -> Option<&[u8]> {
        self.0[label.number()].whole.front().map(Vec::as_slice)
    }

    /// Whether there is one.
    pub fn has(&self, label: MessageLabel) -> bool {
        !self.0[label.number()].whole.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_labels_apart() {
        for label in MessageLabel::ALL {
            for more in [false, true] {
                assert_eq!(MessageLabel::of_tag(label.tag(more)), Some((label, more)));
            }
        }
        assert!(
            MessageKind::ALL
                .iter()
                .all(|kind| MessageLabel::ALL.contains(&MessageLabel::Post(*kind)))
        );
        assert_eq!(MessageLabel::of_tag(-1), None);
        assert_eq!(MessageLabel::of_tag(12), None);
    }

    #[test]
    fn messages_of_any_size_arrive_whole_and_in_order() {
        let (values, ghosts) =
            (MessageLabel::Post(MessageKind::Values), MessageLabel::Post(MessageKind::Ghosts));
        let mut inbox = Inbox::default();
        let message = |length: usize| (0..length).map(|at| at as u8).collect::<Vec<_>>();
        for length in 0..12 {
            for (piece, more) in pieces(&message(length), 4) {
                assert!(piece.len() <= 4);
                assert!(!inbox.has(values));
                inbox.put(values, more, piece.to_vec());
                inbox.put(ghosts, false, vec![7]);
            }
            assert_eq!(inbox.take(values), Some(message(length)));
            assert_eq!(inbox.take(values), None);
        }
        assert_eq!(pieces(&[], 4).count(), 1);
        assert_eq!(pieces(&message(8), 4).count(), 2);
        let first: Vec<u8> = std::iter::from_fn(|| inbox.take(ghosts)).flatten().collect();
        assert_eq!(first, vec![7; 1 + 4 + 4 * 2 + 3 * 3]);
    }
}
