// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks that are processes, started together by an MPI launcher: messages go through `rsmpi`.
//!
//! MPI may take a message no sooner than the other rank asks for it, and until then its bytes must stay where they are. So
//! whoever sends or waits takes in whatever arrives, from anybody, and keeps it until it is asked for. Then no two ranks can
//! wait for each other, and a message has left when [`Mpi::send`] returns, but for points of ghosts: those leave together, with
//! the next message or when something is waited for.
//!
//! MPI is called by the thread that started it only.

mod inbox;
mod pause;
mod peers;

use super::messenger::{MessageKind, Messenger, check_ghosts};
use inbox::{Inbox, MessageLabel, pieces};
use mpi::Threading;
use mpi::environment::{Universe, library_version};
use mpi::request::scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use pause::Pause;
use peers::Peers;
use problem::Error;
use problem::error::RankFailure;
use std::cell::{OnceCell, RefCell};
use std::time::{Duration, Instant};

/// The most bytes that MPI is given as one message: it counts them in 32 bits.
const PIECE: usize = 1 << 30;
const _: () = assert!(PIECE <= i32::MAX as usize, "MPI counts the bytes of a message in 32 bits");
/// What may pass after a rank is gone until a process ends all that are left.
const GRACE: Duration = Duration::from_secs(1);
/// The exit code of a rank that ends because another one did.
const LOST: u8 = 7;

/// What the MPI library calls itself, such as `Open MPI 4.1.4`. It need not have been started.
#[must_use]
pub fn version() -> String {
    short(&library_version().unwrap_or_default())
}

/// Name and number out of a text of many lines.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let words = line.split(',').next().unwrap_or_default().split_whitespace();
    let mut short: Vec<&str> = Vec::new();
    for word in words.filter(|word| *word != "Version:") {
        let number = word.trim_start_matches('v');
        if number.starts_with(|letter: char| letter.is_ascii_digit()) {
            short.push(number);
            break;
        }
        short.push(word);
    }
    if short.is_empty() { "an MPI library".into() } else { short.join(" ") }
}

/// A message that has not left yet.
struct OutgoingMessage {
    to: usize,
    label: MessageLabel,
    bytes: Vec<u8>,
}

/// What a rank other than 0 is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankCommand {
    /// There is a command.
    Work,
    /// Everybody ends with this exit code.
    End(u8),
}

/// This process as one of the ranks.
pub struct Mpi {
    /// None after the end.
    universe: RefCell<Option<Universe>>,
    world: SimpleCommunicator,
    rank: usize,
    /// This process's number among the ranks of this machine, and how many ranks this machine has.
    local: [usize; 2],
    peers: Peers,
    failure: OnceCell<RankFailure>,
    /// Of each rank.
    arrived: RefCell<Vec<Inbox>>,
    /// Ghosts' points that are to leave together.
    leaving: RefCell<Vec<OutgoingMessage>>,
    /// Told that a rank is gone which something is on its way to; returns the exit code.
    lost: Box<dyn Fn(Error) -> u8>,
}

impl Mpi {
    /// Starts MPI, once in a process; `lost` is told when everything has to end on the spot because a rank is gone, and says with
    /// which exit code.
    ///
    /// # Panics
    /// MPI has been started before.
    #[must_use]
    pub fn start(lost: impl Fn(Error) -> u8 + 'static) -> Self {
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, _) = started.expect("MPI is started once");
        let world = universe.world();
        let (rank, ranks) = (world.rank() as usize, world.size() as usize);
        let here = world.split_shared(world.rank());
        let local = [here.rank(), here.size()].map(|count| count as usize);
        let own = peers::own();
        let mut all = vec![0; ranks * own.len()];
        world.all_gather_into(&own[..], &mut all[..]);
        Self {
            universe: RefCell::new(Some(universe)),
            world,
            rank,
            local,
            peers: Peers::new(own, &all),
            failure: OnceCell::new(),
            arrived: RefCell::new((0..ranks).map(|_| Inbox::default()).collect()),
            leaving: RefCell::default(),
            lost: Box::new(lost),
        }
    }

    /// Gives rank 0 what every rank says of itself, in their order; the others get nothing.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        if self.rank > 0 {
            self.post(0, MessageLabel::Hello, own)?;
            return Ok(Vec::new());
        }
        let others = (1..self.ranks()).map(|rank| self.wait_for(rank, MessageLabel::Hello));
        std::iter::once(Ok(own)).chain(others).collect()
    }

    /// Of a rank other than 0: waits for what is to be done.
    ///
    /// # Errors
    /// Rank 0 is gone.
    pub fn next(&self) -> Result<RankCommand, Error> {
        let end = self.wait(0, |inbox| match inbox.take(MessageLabel::Farewell) {
            Some(code) => Some(RankCommand::End(code.first().copied().unwrap_or_default())),
            None => {
                inbox.has(MessageLabel::Post(MessageKind::Command)).then_some(RankCommand::Work)
            }
        });
        end.or_else(|error| {
            // That it has ended is what was waited for.
            match self.arrived.borrow_mut()[0].take(MessageLabel::Farewell) {
                Some(code) => Ok(RankCommand::End(code.first().copied().unwrap_or_default())),
                None => Err(error),
            }
        })
    }

    /// The first rank that is not known to be gone.
    #[must_use]
    pub fn first(&self) -> usize {
        (0..self.ranks()).find(|&rank| rank == self.rank || self.peers.is_alive(rank)).unwrap_or(0)
    }

    /// Ends MPI in this process, when all ranks are here; rank 0 tells the others its exit code. Nothing can be sent or waited
    /// for afterwards. If a rank is gone, this ends all processes, with that code.
    pub fn end(&self, code: u8) {
        if self.rank == 0 {
            for rank in 1..self.ranks() {
                // Who is gone is seen below.
                let _ = self.post(rank, MessageLabel::Farewell, vec![code]);
            }
        }
        if self.peers.gone().is_some() {
            self.abort(code);
        }
        self.leave();
        let mut barrier = self.world.immediate_barrier();
        let (mut pause, mut missing) = (Pause::default(), None);
        while let Err(still) = barrier.test() {
            barrier = still;
            if pause.is_due() && !(0..self.ranks()).all(|rank| self.peers.is_alive(rank)) {
                // It may have been here, and have ended before this one saw that all were.
                let since = *missing.get_or_insert_with(Instant::now);
                if since.elapsed() > GRACE {
                    self.abort(code);
                }
            }
            if !self.take_in() {
                pause.wait();
            }
        }
        drop(self.universe.take());
    }

    /// Ends all processes at once.
    pub fn abort(&self, code: u8) -> ! {
        self.world.abort(code.into())
    }

    /// Sends everything that is to leave and this after it.
    fn post(&self, to: usize, label: MessageLabel, bytes: Vec<u8>) -> Result<(), Error> {
        if self.peers.gone() == Some(to) {
            return Err(Error::Gone { rank: to });
        }
        if to == self.rank {
            self.arrived.borrow_mut()[to].put(label, false, bytes);
            return Ok(());
        }
        self.leaving.borrow_mut().push(OutgoingMessage { to, label, bytes });
        if label != MessageLabel::Post(MessageKind::Ghosts) {
            self.leave();
        }
        Ok(())
    }

    /// Sends everything that is to leave.
    fn leave(&self) {
        let letters = self.leaving.take();
        scope(|scope| {
            let mut open = Vec::new();
            for letter in &letters {
                let to = self.world.process_at_rank(letter.to as mpi::Rank);
                for (piece, more) in pieces(&letter.bytes, PIECE) {
                    let tag = letter.label.tag(more);
                    open.push((letter.to, to.immediate_send_with_tag(scope, piece, tag)));
                }
            }
            let (mut pause, mut missing) = (Pause::moving(), None);
            loop {
                let still = open.into_iter().filter_map(|(to, request)| {
                    let request = request.test().err()?;
                    Some((to, request))
                });
                open = still.collect();
                if open.is_empty() {
                    return;
                }
                if self.take_in() {
                    continue;
                }
                if pause.is_due() {
                    self.require_all(&mut missing, |gone| open.iter().any(|(to, _)| *to == gone));
                }
                pause.wait();
            }
        });
    }

    /// Takes in one message or a piece of one, if something has arrived.
    fn take_in(&self) -> bool {
        let Some((message, status)) = self.world.any_process().immediate_matched_probe() else {
            return false;
        };
        let (from, tag) = (status.source_rank() as usize, status.tag());
        let mut bytes = vec![0; status.count(u8::equivalent_datatype()) as usize];
        scope(|scope| {
            let mut request = message.immediate_matched_receive_into(scope, &mut bytes[..]);
            let (mut pause, mut missing) = (Pause::moving(), None);
            while let Err(still) = request.test() {
                request = still;
                if pause.is_due() {
                    self.require_all(&mut missing, |gone| from == gone);
                }
                pause.wait();
            }
        });
        if let Some((label, more)) = MessageLabel::of_tag(tag) {
            self.arrived.borrow_mut()[from].put(label, more, bytes);
        }
        true
    }

    /// Ends everything if a rank is gone while bytes are on their way: MPI does not give up the memory that they lie in, so there
    /// is no way back. `missing` is since when that is known.
    fn require_all(&self, missing: &mut Option<Instant>, is_concerned: impl Fn(usize) -> bool) {
        let Some(rank) = self.gone() else { return };
        let since = missing.get_or_insert_with(Instant::now).elapsed();
        let speaks = self.first() == self.rank;
        // They may arrive yet, if it is not those of the rank that is gone; and whoever waits can say more than this.
        let patience = match (speaks, is_concerned(rank)) {
            (true, true) => Duration::ZERO,
            (true, false) => GRACE / 4,
            (false, _) => GRACE,
        };
        if since >= patience {
            self.abort(if speaks { (self.lost)(Error::Gone { rank }) } else { LOST });
        }
    }

    /// Waits for the next message of a kind from a rank.
    fn wait_for(&self, from: usize, label: MessageLabel) -> Result<Vec<u8>, Error> {
        self.wait(from, |inbox| inbox.take(label))
    }

    /// Waits until something has arrived from a rank.
    fn wait<T>(
        &self,
        from: usize,
        mut found: impl FnMut(&mut Inbox) -> Option<T>,
    ) -> Result<T, Error> {
        self.leave();
        let mut pause = Pause::default();
        loop {
            if let Some(found) = found(&mut self.arrived.borrow_mut()[from]) {
                return Ok(found);
            }
            if self.take_in() {
                continue;
            }
            if self.arrived.borrow()[0].has(MessageLabel::Farewell) {
                return Err(Error::Gone { rank: 0 });
            }
            let due = pause.is_due() || self.peers.gone().is_some();
            if due && let Some(rank) = self.gone() {
                // Without it nobody gets any further; but what was sent before may have arrived since.
                while self.take_in() {}
                let found = found(&mut self.arrived.borrow_mut()[from]);
                return found.ok_or(Error::Gone { rank });
            }
            pause.wait();
        }
    }
}

impl Messenger for Mpi {
    fn failure(&self) -> &OnceCell<RankFailure> {
        &self.failure
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.world.size() as usize
    }

    fn place(&self) -> usize {
        self.local[0]
    }

    fn local_ranks(&self) -> usize {
        self.local[1]
    }

    fn gone(&self) -> Option<usize> {
        (0..self.ranks()).find(|&rank| !self.peers.is_alive(rank))
    }

    fn describe(&self) -> String {
        version()
    }

    fn check(&self) -> Result<(), Error> {
        while self.take_in() {}
        let arrived = self.arrived.borrow();
        let ghosts =
            arrived.iter().filter_map(|inbox| inbox.first(MessageLabel::Post(MessageKind::Ghosts)));
        for message in ghosts {
            check_ghosts(message)?;
        }
        let ended = arrived[0].has(MessageLabel::Farewell).then_some(0);
        ended.or_else(|| self.gone()).map_or(Ok(()), |rank| Err(Error::Gone { rank }))
    }

    fn send(&self, to: usize, kind: MessageKind, bytes: Vec<u8>) -> Result<(), Error> {
        self.post(to, MessageLabel::Post(kind), bytes)
    }

    fn flush(&self) {
        self.leave();
    }

    fn receive(&self, from: usize, kind: MessageKind) -> Result<Vec<u8>, Error> {
        self.wait_for(from, MessageLabel::Post(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn libraries_have_short_names() {
        for (text, name) in [
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI 4.1.4"),
            ("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7", "MPICH 4.0.2"),
            ("Intel(R) MPI Library 2021.8 for Linux* OS\n", "Intel(R) MPI Library 2021.8"),
            ("", "an MPI library"),
        ] {
            assert_eq!(short(text), name);
        }
    }
}
