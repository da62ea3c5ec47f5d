// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether all is written that was handed to those who write.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A count that those who hand over and those who write share.
#[derive(Clone, Default)]
pub struct WriteCounter(Arc<(Mutex<Count>, Condvar)>);

#[derive(Default)]
struct Count {
    /// What was handed over and is not written.
    open: usize,
    has_failed: bool,
}

/// Something that is written, or has failed, when this is dropped.
pub struct PendingWrite<'a>(&'a WriteCounter);

impl WriteCounter {
    /// Waits until all is written that was handed over, or something could not be.
    pub fn wait(&self) {
        let mut count = self.lock();
        while count.open > 0 && !count.has_failed {
            count = self.0.1.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Something will be handed over.
    pub fn expect_one(&self) {
        self.lock().open += 1;
    }

    /// Something that was handed over is being written.
    pub fn one(&self) -> PendingWrite<'_> {
        PendingWrite(self)
    }

    /// Something could not be written: nobody has to wait any more.
    pub fn fail(&self) {
        self.lock().has_failed = true;
        self.0.1.notify_all();
    }

    /// Whether something could not be written.
    pub fn has_failed(&self) -> bool {
        self.lock().has_failed
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PendingWrite<'_> {
    fn drop(&mut self) {
        self.0.lock().open -= 1;
        self.0.0.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_goes_on_when_all_is_written_or_something_failed() {
        let written = WriteCounter::default();
        written.wait();
        written.expect_one();
        let other = written.clone();
        let thread = std::thread::spawn(move || drop(other.one()));
        written.wait();
        thread.join().unwrap();
        written.expect_one();
        written.fail();
        written.wait();
        assert!(written.has_failed());
    }
}
