// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs side by side print: each is held, so that those who read it get one run after the other.

use std::cell::RefCell;

thread_local! {
    static HELD: RefCell<Option<HeldOutput>> = const { RefCell::new(None) };
}

/// What a run of this thread prints.
struct HeldOutput {
    /// What the run is called in warnings.
    name: String,
    /// Whether it shows how far all have come.
    shows_progress: bool,
    text: Vec<u8>,
}

/// Holds what a run prints in this thread: what comes of it, and what it printed.
pub fn hold<T>(name: String, shows_progress: bool, run: impl FnOnce() -> T) -> (T, Vec<u8>) {
    HELD.set(Some(HeldOutput { name, shows_progress, text: Vec::new() }));
    let done = run();
    (done, HELD.take().map(|held| held.text).unwrap_or_default())
}

/// Whether it is kept for later.
pub fn keeps(bytes: &[u8]) -> bool {
    HELD.with_borrow_mut(|held| match held {
        None => false,
        Some(held) => {
            held.text.extend_from_slice(bytes);
            true
        }
    })
}

/// A warning with the name of the run, if it is one of several.
pub fn named(text: &str) -> String {
    HELD.with_borrow(|held| match held {
        None => text.to_owned(),
        Some(held) => format!("{}: {text}", held.name),
    })
}

/// Whether the run of this thread shows how far it has come.
pub fn shows_progress() -> bool {
    HELD.with_borrow(|held| held.as_ref().is_none_or(|held| held.shows_progress))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_kept_for_later() {
        assert!(!keeps(b"at once"));
        assert_eq!(named("it grows"), "it grows");
        let run = || (keeps(b"a"), keeps(b"b"), named("it grows"), shows_progress());
        let (done, text) = hold("k = 1".into(), false, run);
        assert_eq!(done, (true, true, "k = 1: it grows".into(), false));
        assert_eq!(text, b"ab");
        assert!(!keeps(b"at once") && shows_progress());
    }
}
