// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid that ranks share, as one session: rank 0 has it, and tells the others what to do.

use super::boxes::{held, put};
use super::ghosted::{from_bytes, to_bytes};
use super::member::{Command, Member, Reply, place, write};
use super::messenger::{MessageKind, Messenger, send_failure};
use super::part::common;
use super::partition::Partition;
use super::setup::Setup;
use crate::engine::fft::on_gpu::Describer;
use crate::engine::{Session, State, SumSession};
use files::io::StartSource;
use problem::check::seams::Seams;
use problem::error::RankFailure;
use problem::observe::PartFile;
use problem::region::Region;
use problem::{Arithmetic, Clock, Dtype, Error, Grid, JumpReport, Jumped, Shape, Values};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// All ranks, as rank 0 sees them.
pub struct Team<S: ?Sized> {
    partition: Partition,
    parts: Vec<super::part::RankPart>,
    member: Member<S>,
    post: Rc<dyn Messenger>,
    /// Which of the computations that ranks have it is.
    number: u64,
    /// Ranks that are threads of this process.
    threads: Vec<JoinHandle<()>>,
    /// What rounding in the other ranks' jumps can have caused.
    jump_errors: f64,
    /// The axes for whose sake last digits may differ from those of one device.
    otherwise: Vec<usize>,
}

impl Team<dyn SumSession> {
    /// Tells every rank what is to be computed; `threads` are those of this process.
    ///
    /// # Errors
    /// A rank's device refuses.
    pub fn of_sum(
        setup: &Setup,
        post: Rc<dyn Messenger>,
        threads: Vec<JoinHandle<()>>,
        describer: Describer,
    ) -> Result<Self, Error> {
        let cut = GridCut { partition: setup.partition()?, parts: setup.parts()? };
        let otherwise = setup.rounds_otherwise()?;
        let make = |post: &Rc<dyn Messenger>| Member::of_sum(setup, post, describer);
        let mut team = Self::new(cut, setup.write(), post, threads, make)?;
        team.otherwise = otherwise;
        Ok(team)
    }
}

/// How a grid is cut, and what each rank holds of it.
pub struct GridCut {
    /// The cuts.
    pub partition: Partition,
    /// By rank.
    pub parts: Vec<super::part::RankPart>,
}

/// That no rank has failed, in whichever of their computations.
fn alive(post: &dyn Messenger) -> Result<(), Error> {
    post.failure().get().cloned().map_or(Ok(()), |failure| Err(failure.into()))
}

impl<S: Session + ?Sized> Team<S> {
    /// Sends every rank a message of what is to be computed, and makes rank 0's own member; `threads` are the ranks of this
    /// process.
    ///
    /// # Errors
    /// A rank's device refuses.
    pub fn new(
        GridCut { partition, parts }: GridCut,
        message: Vec<u8>,
        post: Rc<dyn Messenger>,
        threads: Vec<JoinHandle<()>>,
        make: impl FnOnce(&Rc<dyn Messenger>) -> Result<Member<S>, Error>,
    ) -> Result<Self, Error> {
        // Each of a process: its ranks may have several at the same time.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Ranks that failed in another computation take messages, and answer none.
        alive(&*post)?;
        for rank in 1..post.ranks() {
            tell(&*post, rank, number, &Command::Begin)?;
            post.send(rank, MessageKind::Command, message.clone())?;
        }
        let member = match make(&post) {
            Ok(member) => member,
            Err(error) => {
                let failure = RankFailure::new(0, "", &error);
                let _ = post.failure().set(failure.clone());
                send_failure(&*post, &failure);
                end(&*post, number, threads);
                return Err(failure.into());
            }
        };
        let (jump_errors, otherwise) = (0.0, Vec::new());
        let mut team =
            Self { partition, parts, member, post, number, threads, jump_errors, otherwise };
        team.replies(None)?;
        Ok(team)
    }

    /// Rank 0's session.
    #[must_use]
    pub fn own(&self) -> &S {
        &self.member.session
    }

    fn tell(&self, rank: usize, command: &Command) -> Result<(), Error> {
        self.noted(rank, tell(&*self.post, rank, self.number, command))
    }

    /// Sends a rank values that go with a command.
    fn send(&self, rank: usize, values: Vec<u8>) -> Result<(), Error> {
        self.noted(rank, self.post.send(rank, MessageKind::Values, values))
    }

    /// Values that a rank sends with its answer.
    fn receive(&self, rank: usize) -> Result<Vec<u8>, Error> {
        self.noted(rank, self.post.receive(rank, MessageKind::Values))
    }

    /// Notes what a rank failed with while others were asked, whose answers nobody reads any more: then nothing else is asked.
    fn noted<V>(&self, rank: usize, result: Result<V, Error>) -> Result<V, Error> {
        result.inspect_err(|error| {
            let failure = RankFailure::new(rank, "", error);
            send_failure(&*self.post, &failure);
            let _ = self.post.failure().set(failure);
        })
    }

    /// Has every rank do the same, rank 0 among them, and returns the other ranks' answers.
    fn all(
        &mut self,
        command: Command,
        own: impl FnOnce(&mut Member<S>) -> Result<(), Error>,
    ) -> Result<Vec<Reply>, Error> {
        self.alive()?;
        for rank in 1..self.post.ranks() {
            self.tell(rank, &command)?;
        }
        let own = own(&mut self.member);
        self.replies(own.err())
    }

    /// The other ranks' answers, unless one has failed: then that, rather than who waited for it.
    fn replies(&mut self, own: Option<Error>) -> Result<Vec<Reply>, Error> {
        let mut failures = Vec::new();
        if let Some(error) = own {
            let failure = RankFailure::new(0, &place(Some(&self.member)), &error);
            send_failure(&*self.post, &failure);
            failures.push(failure);
        }
        let mut replies = Vec::new();
        for rank in 1..self.post.ranks() {
            match self.reply(rank) {
                Ok(Reply::Failed(failure)) => failures.push(failure),
                Ok(reply) => replies.push(reply),
                Err(error) => failures.push(RankFailure::new(rank, "", &error)),
            }
        }
        failures.sort_by_key(RankFailure::is_second_hand);
        match failures.into_iter().next() {
            None => Ok(replies),
            Some(failure) => {
                let _ = self.post.failure().set(failure.clone());
                Err(failure.into())
            }
        }
    }

    fn reply(&self, rank: usize) -> Result<Reply, Error> {
        let reply = self.post.receive(rank, MessageKind::Reply)?;
        serde_json::from_slice(&reply).map_err(|_| Error::Gone { rank })
    }

    fn alive(&self) -> Result<(), Error> {
        alive(&*self.post)
    }

    /// The values of boxes of arrays, each as [`Session::read`] gives it; all ranks are asked before the first answers.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn read_all(
        &mut self,
        wanted: &[(usize, Region)],
        state: State,
    ) -> Result<Vec<Values>, Error> {
        self.alive()?;
        let loaded = state == State::Loaded;
        let mut pieces: Vec<Vec<(usize, Region)>> = Vec::new();
        for &(array, region) in wanted {
            let of_part = |part: &super::part::RankPart| {
                common(region, part.own).map(|piece| (part.rank, piece))
            };
            let found: Vec<_> = self.parts.iter().filter_map(of_part).collect();
            for &(rank, piece) in found.iter().filter(|(rank, _)| *rank > 0) {
                let Region { low, high } = self.parts[rank].local(piece);
                let command = Command::Read { array, loaded, low, high };
                self.tell(rank, &command)?;
            }
            pieces.push(found);
        }
        let (dtype, bytes) = (self.dtype(), self.dtype().bytes());
        let mut results = Vec::new();
        for (&(array, region), pieces) in wanted.iter().zip(pieces) {
            let mut result = vec![0u8; region.points() * bytes];
            for (rank, piece) in pieces {
                let values = if rank == 0 {
                    let local = self.parts[0].local(piece);
                    let own = self.member.session.read(array, state, local);
                    own.map(|values| to_bytes(&values))
                } else {
                    match self.reply(rank) {
                        Ok(Reply::Failed(failure)) => Err(failure.into()),
                        Ok(_) => self.receive(rank),
                        Err(error) => Err(error),
                    }
                };
                let values = self.noted(rank, values)?;
                put(&mut result, region, &values, piece, bytes);
            }
            results.push(from_bytes(&result, dtype));
        }
        Ok(results)
    }
}

impl<S: Session + ?Sized> Team<S> {
    /// What the reductions of totals are over the points of each rank, in the order of ranks, with what is known of them over
    /// all points.
    ///
    /// # Errors
    /// A rank failed, or has none.
    pub fn reduce_all(&mut self, known: &[f64]) -> Result<Vec<Vec<[f64; 2]>>, Error> {
        let mut own = Vec::new();
        self.all(Command::Reduce(bits(known)), |member| {
            own = member.reduce(known)?;
            Ok(())
        })?;
        let mut parts = vec![own];
        for rank in 1..self.post.ranks() {
            let bytes = self.receive(rank)?;
            parts.push(bytemuck::pod_collect_to_vec(&bytes));
        }
        Ok(parts)
    }

    /// Gives all ranks the values of an array as it is now.
    ///
    /// # Errors
    /// A rank failed, or takes none.
    pub fn put(&mut self, array: usize, values: &Grid) -> Result<(), Error> {
        self.alive()?;
        for part in &self.parts[1..] {
            self.tell(part.rank, &Command::Put(array))?;
            self.send(part.rank, held(values, part))?;
        }
        let own = self.member.put(array, &held(values, &self.parts[0]));
        self.replies(own.err()).map(drop)
    }

    /// Has all ranks take the last step back.
    ///
    /// # Errors
    /// A rank failed.
    pub fn take_back(&mut self) -> Result<(), Error> {
        self.all(Command::Back, |member| member.session.take_back()).map(drop)
    }

    /// Tells all ranks when the next steps are, and how long.
    ///
    /// # Errors
    /// A rank failed.
    pub fn tell_clock(&mut self, clock: Clock) -> Result<(), Error> {
        self.all(Command::Clock(clock), |member| {
            member.session.take_clock(clock);
            Ok(())
        })
        .map(drop)
    }

    /// Tells all ranks what the reductions of totals are over all points.
    ///
    /// # Errors
    /// A rank failed.
    pub fn tell_totals(&mut self, reduced: &[f64]) -> Result<(), Error> {
        self.all(Command::Totals(bits(reduced)), |member| {
            member.session.take_totals(reduced);
            Ok(())
        })
        .map(drop)
    }
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Tells a rank what to do for the computation of this number.
fn tell(post: &dyn Messenger, rank: usize, number: u64, command: &Command) -> Result<(), Error> {
    post.send(rank, MessageKind::Command, write(&(number, command)))
}

/// Tells all ranks that there is nothing more to do for a computation, and waits for those of this process.
fn end(post: &dyn Messenger, number: u64, threads: Vec<JoinHandle<()>>) {
    for rank in 1..post.ranks() {
        // Those that failed have ended already.
        let _ = tell(post, rank, number, &Command::End);
    }
    for thread in threads {
        // What it failed with was its answer.
        let _ = thread.join();
    }
}

impl<S: ?Sized> Drop for Team<S> {
    fn drop(&mut self) {
        if thread::panicking() {
            // The others may be waiting for this rank's points.
            send_failure(&*self.post, &RankFailure::of_panic(0, ""));
        }
        end(&*self.post, self.number, std::mem::take(&mut self.threads));
    }
}

/// The longest of what ranks took.
fn longest(own: Duration, replies: &[Reply]) -> Duration {
    replies.iter().fold(own, |most, reply| match reply {
        Reply::Took(seconds, _) => most.max(Duration::from_secs_f64(*seconds)),
        _ => most,
    })
}

/// What rounding in the jumps of a rank can have caused.
fn jump_error(reply: &Reply) -> Option<f64> {
    if let Reply::Took(_, Some(jumped)) = reply { Some(jumped.error) } else { None }
}

impl<S: Session + ?Sized> Session for Team<S> {
    fn device(&self) -> String {
        let (ranks, split) = (self.post.ranks(), self.partition.describe());
        let device = self.member.session.device();
        let team = format!("{ranks} ranks as {split} ({}), each on {device}", self.post.describe());
        let axes: Vec<&str> = self.otherwise.iter().map(|&axis| ["z", "y", "x"][axis]).collect();
        match axes.as_slice() {
            [] => team,
            axes => {
                let axes = axes.join(", ");
                format!(
                    "{team}; no whole tiles along periodic {axes}: last digits may differ from one device's"
                )
            }
        }
    }

    fn shape(&self) -> Shape {
        self.partition.shape()
    }

    fn dtype(&self) -> Dtype {
        self.member.session.dtype()
    }

    fn launch(&self) -> usize {
        self.member.session.launch()
    }

    /// A point's error is part of that of any rank whose points have come near it: of all together at most.
    fn jumped(&self) -> Option<Jumped> {
        let own = self.member.session.jumped()?;
        Some(Jumped { error: own.error + self.jump_errors, ..own })
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        self.alive()?;
        self.jump_errors = 0.0;
        for part in &self.parts[1..] {
            self.tell(part.rank, &Command::Load)?;
            self.send(part.rank, held(input, part))?;
        }
        let own = self.member.load(&held(input, &self.parts[0]));
        self.replies(own.err()).map(drop)
    }

    fn drop_input(&mut self) {
        let own = |member: &mut Member<S>| {
            member.session.drop_input();
            Ok(())
        };
        // What a rank failed with is said by whatever is asked for next.
        let _ = self.all(Command::DropInput, own);
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.jump_errors = 0.0;
        self.all(Command::Restart, |member| member.session.restart()).map(drop)
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let mut took = Duration::ZERO;
        let replies = self.all(Command::Advance(steps), |member| {
            took = member.session.advance(steps)?;
            Ok(())
        })?;
        self.jump_errors = replies.iter().filter_map(jump_error).sum();
        Ok(longest(took, &replies))
    }

    fn read(&mut self, array: usize, state: State, region: Region) -> Result<Values, Error> {
        let mut all = self.read_all(&[(array, region)], state)?;
        Ok(all.pop().expect("one for each that is asked for"))
    }

    fn parts(&self) -> Option<Vec<Region>> {
        Some(self.parts.iter().map(|part| part.own).collect())
    }

    fn write_parts(&mut self, files: &[PartFile]) -> Result<Vec<String>, Error> {
        self.alive()?;
        for (rank, file) in files.iter().enumerate().skip(1) {
            self.tell(rank, &Command::Write(file.clone()))?;
        }
        let (own, failed) = match self.member.write(&files[0]) {
            Ok(Ok(hash)) => (Reply::Written(hash), None),
            Ok(Err(failure)) => (Reply::Unwritten(failure), None),
            Err(error) => (Reply::Done, Some(error)),
        };
        let others = self.replies(failed)?;
        let written = [own].into_iter().chain(others).map(|reply| match reply {
            Reply::Written(hash) => Ok(hash),
            Reply::Unwritten(failure) => Err(failure.into()),
            _ => Err(Error::Gone { rank: 0 }),
        });
        written.collect()
    }

    fn knows_finite(&mut self) -> Result<bool, Error> {
        let mut known = true;
        let replies = self.all(Command::Look, |member| {
            known = member.session.knows_finite()?;
            Ok(())
        })?;
        Ok(known && replies.iter().all(|reply| *reply == Reply::Finite(true)))
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let mut took = Duration::ZERO;
        let replies = self.all(Command::Copy(count), |member| {
            took = member.session.copy(count)?;
            Ok(())
        })?;
        Ok(longest(took, &replies))
    }
}

impl SumSession for Team<dyn SumSession> {
    fn arithmetic(&self) -> Arithmetic {
        self.member.session.arithmetic()
    }

    /// Where the parts meet, and those of rank 0's part.
    fn seams(&self) -> Seams {
        let (extents, low) = (self.shape().extents(), self.member.part.held.low);
        let inner = self.member.session.seams();
        (0..3).fold(Seams::none(), |seams, axis| {
            let own = inner.along(axis).iter().filter_map(|at| at.checked_add_signed(low[axis]));
            let all = own.chain(self.partition.inner_cuts(axis).iter().copied());
            all.fold(seams, |seams, at| seams.at(axis, at, extents[axis]))
        })
    }

    fn chain(&self) -> usize {
        self.member.session.chain()
    }

    fn jump(&self) -> Option<JumpReport> {
        self.member.session.jump()
    }

    fn kernel(&self) -> Option<String> {
        self.member.session.kernel()
    }

    fn sweeps(&self, steps: usize) -> usize {
        self.member.session.sweeps(steps)
    }

    /// Each rank makes or reads its part.
    fn start(&mut self, initial: &StartSource) -> Result<bool, Error> {
        let mut flaw = None;
        self.jump_errors = 0.0;
        let replies = self.all(Command::Start(initial.clone()), |member| {
            flaw = member.start(initial)?;
            Ok(())
        })?;
        let others = replies.iter().filter_map(|reply| match reply {
            Reply::Flawed(flaw) => Some(*flaw),
            _ => None,
        });
        let first = others.chain(flaw).min();
        first.map_or(Ok(true), |flaw| Err(flaw.error(self.shape(), self.dtype())))
    }
}
