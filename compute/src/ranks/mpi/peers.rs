// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the processes of other ranks are still there: of those on this machine the system knows. Of others only MPI does.

use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;

/// A machine that does not tell which it is.
const UNKNOWN: u64 = 0;

/// What a process tells of itself: its machine, as a hash, and its number there.
pub type Peer = [u64; 2];

/// This process.
pub fn own() -> Peer {
    [machine().unwrap_or(UNKNOWN), std::process::id().into()]
}

/// This machine until it is started again, as far as processes see each other.
fn machine() -> Option<u64> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let numbers = fs::read_link("/proc/self/ns/pid").ok()?;
    let mut hasher = DefaultHasher::new();
    (boot, numbers).hash(&mut hasher);
    Some(hasher.finish())
}

/// All processes of an MPI run.
pub struct Peers {
    own: Peer,
    all: Vec<Peer>,
    gone: Cell<Option<usize>>,
}

impl Peers {
    /// The processes of all ranks, one after the other, two numbers each.
    pub fn new(own: Peer, all: &[u64]) -> Self {
        let all = all.chunks_exact(2).map(|peer| [peer[0], peer[1]]).collect();
        Self { own, all, gone: Cell::default() }
    }

    /// Whether a rank's process is there, as far as is known.
    pub fn is_alive(&self, rank: usize) -> bool {
        let [machine, process] = self.all[rank];
        let gone = machine == self.own[0] && machine != UNKNOWN && has_ended(process);
        if gone {
            self.gone.set(Some(rank));
        }
        !gone
    }

    /// One that is known to be gone.
    pub fn gone(&self) -> Option<usize> {
        self.gone.get()
    }
}

/// Whether a process has ended, be it that nobody has asked for its exit code yet.
fn has_ended(process: u64) -> bool {
    match fs::read_to_string(format!("/proc/{process}/stat")) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        // The state follows the name, which is in parentheses and may hold others.
        Ok(line) => line
            .rsplit_once(')')
            .is_some_and(|(_, rest)| matches!(rest.trim_start().chars().next(), Some('Z' | 'X'))),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_ended_is_gone() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let own = own();
        let other = [own[0], child.id().into()];
        let far = [own[0] ^ 1, child.id().into()];
        let peers = Peers::new(own, &[own, other, far].concat());
        assert!((0..3).all(|rank| peers.is_alive(rank)));
        child.kill().unwrap();
        while peers.is_alive(1) {
            // Before and after somebody has asked for its exit code.
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!peers.is_alive(1));
        assert!(peers.is_alive(0) && peers.is_alive(2));
        assert_eq!(peers.gone(), Some(1));
    }
}
