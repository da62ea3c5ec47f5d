// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a device whose work may wait for somebody else, who may be gone.

use problem::Error;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

/// Says whether there is still something to wait for; if not, why.
pub type Watch = Rc<dyn Fn() -> Result<(), Error>>;

/// How often that is asked.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until something has come to pass.
///
/// # Errors
/// The device refuses, or there is nothing to wait for any more.
pub fn wait_until(
    mut passed: impl FnMut() -> Result<bool, Error>,
    watch: &Watch,
) -> Result<(), Error> {
    let mut look = Instant::now() + LOOK;
    while !passed()? {
        if Instant::now() >= look {
            watch()?;
            look = Instant::now() + LOOK;
        }
        thread::yield_now();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_it_is_in_vain() {
        let watch: Watch = Rc::new(|| Err(Error::Gone { rank: 1 }));
        assert!(wait_until(|| Ok(true), &watch).is_ok());
        assert!(matches!(wait_until(|| Ok(false), &watch), Err(Error::Gone { rank: 1 })));
    }
}
