// SPDX-License-Identifier: MIT OR Apache-2.0
//! One of the ranks that share a grid: its part, and what rank 0 has it do.

use super::boxes::put;
use super::ghosted::{from_bytes, to_bytes};
use super::local;
use super::messenger::{MessageKind, Messenger, send_failure};
use super::part::{RankPart, common, shifted};
use super::setup::Setup;
use crate::engine::fft::on_gpu::Describer;
use crate::engine::{Session, State, SumSession};
use files::io::rows::WriterPart;
use files::io::start_source::{NonFiniteValue, keep};
use files::io::{StartSource, part_file};
use problem::error::RankFailure;
use problem::observe::PartFile;
use problem::region::Region;
use problem::{
    Clock, Dtype, Error, ErrorKind, Grid, Jumped, Shape, Values, with_dtype, with_values,
};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

/// What rank 0 tells another rank to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Make what the next message says.
    Begin,
    /// Take the values that come as the next message: of all that it holds, in C order.
    Load,
    /// Make or read the values of all that it holds.
    Start(StartSource),
    /// The input is not needed any more.
    DropInput,
    /// Back to the input.
    Restart,
    /// So many steps.
    Advance(usize),
    /// Send values of a box of its own points, in its coordinates.
    Read {
        /// The array.
        array: usize,
        /// Whether values of the input are wanted, instead of the present ones.
        loaded: bool,
        /// The box.
        low: [isize; 3],
        /// One past it.
        high: [isize; 3],
    },
    /// Write a file of its own points.
    Write(PartFile),
    /// Take the values that come as the next message into an array as it is now: of all that it holds, in C order.
    Put(usize),
    /// Look whether all values are finite.
    Look,
    /// Send what the reductions of totals are over its own points, with what is known of them over all points, as bits.
    Reduce(Vec<u64>),
    /// Take what they are over all points, as bits.
    Totals(Vec<u64>),
    /// Take when the next steps are, and how long.
    Clock(Clock),
    /// Take the last step back.
    Back,
    /// Copy everything so many times.
    Copy(usize),
    /// There is nothing more to do.
    End,
}

/// A rank's reply to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done.
    Done,
    /// It took so many seconds, by the device's clock, and what jumps did so far.
    Took(f64, Option<Jumped>),
    /// Whether it knows that all values are finite.
    Finite(bool),
    /// A value of what it was to start from is not finite.
    Flawed(NonFiniteValue),
    /// It is done, and the values follow.
    Values,
    /// It has written, and what identifies that.
    Written(String),
    /// It could not write, and goes on.
    Unwritten(RankFailure),
    /// It failed, and ends.
    Failed(RankFailure),
}

/// For a message.
pub fn write(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("words and numbers")
}

/// A rank with its session.
pub struct Member<S: ?Sized> {
    /// What it holds.
    pub part: RankPart,
    /// Its arrays: own points and ghosts.
    pub session: Box<S>,
    shape: Shape,
    post: Rc<dyn Messenger>,
}

/// What makes the member that a rank's first message asks for.
pub type MakeMember<'a> =
    &'a dyn Fn(&[u8], &Rc<dyn Messenger>) -> Result<Member<dyn Session>, Error>;

impl Member<dyn SumSession> {
    /// The member of the rank at this end of the post, of a grid whose steps are weighted sums.
    ///
    /// # Errors
    /// The device refuses.
    pub fn of_sum(
        setup: &Setup,
        post: &Rc<dyn Messenger>,
        describer: Describer,
    ) -> Result<Self, Error> {
        let parts = setup.parts()?;
        let session = local::session(setup, &parts, post, describer)?;
        Self::new(parts[post.rank()].clone(), session, post)
    }

    /// What obeys rank 0.
    #[must_use]
    pub fn into_follower(self) -> Member<dyn Session> {
        let Self { part, session, shape, post } = self;
        Member { part, session, shape, post }
    }
}

/// The member of a grid whose steps are sums, as a message says.
///
/// # Errors
/// The message is damaged, or the device refuses.
pub fn of_sum(
    message: &[u8],
    post: &Rc<dyn Messenger>,
    describer: Describer,
) -> Result<Member<dyn Session>, Error> {
    Member::of_sum(&Setup::read(message)?, post, describer).map(Member::into_follower)
}

impl<S: Session + ?Sized> Member<S> {
    /// The member of the rank at this end of the post, with a session of its part.
    ///
    /// # Errors
    /// More points than can be addressed.
    pub fn new(part: RankPart, session: Box<S>, post: &Rc<dyn Messenger>) -> Result<Self, Error> {
        Ok(Self { shape: part.shape()?, part, session, post: Rc::clone(post) })
    }

    /// Takes the values of all that it holds.
    ///
    /// # Errors
    /// The device refuses.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let values = from_bytes(bytes, self.session.dtype());
        self.session.load(&Grid { shape: self.shape, values })
    }

    /// Makes or reads the values of all that it holds, piece by piece; or tells what is wrong with one of them.
    ///
    /// # Errors
    /// They do not fit in memory, a file cannot be read, or the device refuses.
    pub fn start(&mut self, initial: &StartSource) -> Result<Option<NonFiniteValue>, Error> {
        let (whole, held) = (self.part.whole, self.part.held);
        let dtype = self.session.dtype();
        Grid::check_memory(self.shape, dtype)?;
        let mut opened = initial.open(whole, dtype)?;
        let (mut values, mut flaw) = (zeros(dtype, held.points()), None);
        for copy in self.part.copies() {
            let Some(found) = common(held, shifted(Region::whole(whole), copy)) else { continue };
            let from = shifted(found, copy.map(|by| -by));
            for piece in from.in_pieces(opened.piece()) {
                let Some(read) = keep(&mut flaw, opened.read(piece)?) else { continue };
                let (read, piece) = (to_bytes(&read), shifted(piece, copy));
                with_values!(&mut values, all => {
                    put(bytemuck::cast_slice_mut(all), held, &read, piece, dtype.bytes());
                });
            }
        }
        if flaw.is_none() {
            self.session.load(&Grid { shape: self.shape, values })?;
        }
        Ok(flaw)
    }

    /// Writes a file of its own points. That it cannot be written is no reason to end.
    ///
    /// # Errors
    /// The device refuses.
    pub fn write(&mut self, file: &PartFile) -> Result<Result<String, RankFailure>, Error> {
        let Self { part, session, .. } = self;
        let (whole, own, dtype) = (part.whole, part.own, session.dtype());
        let read = &mut |region| session.read(0, State::Now, part.local(region));
        match part_file::write(file, WriterPart { whole, own, dtype }, read) {
            Ok(hash) => Ok(Ok(hash)),
            Err(error) if error.kind() == ErrorKind::File => {
                Ok(Err(RankFailure::new(part.rank, &place(Some(self)), &error)))
            }
            Err(error) => Err(error),
        }
    }

    /// What the reductions of totals are over its own points.
    ///
    /// # Errors
    /// The device refuses, or the session reduces nothing.
    pub fn reduce(&mut self, known: &[f64]) -> Result<Vec<[f64; 2]>, Error> {
        let own = self.part.local(self.part.own);
        let reduced = self.session.reduce(own, known)?;
        reduced.ok_or_else(|| Error::Split { reason: "its parts have no totals".into() })
    }

    /// Takes the values of all that it holds into an array as it is now.
    ///
    /// # Errors
    /// The device refuses.
    pub fn put(&mut self, array: usize, bytes: &[u8]) -> Result<(), Error> {
        let values = from_bytes(bytes, self.session.dtype());
        self.session.write(array, Region::whole(self.shape), &values)
    }

    /// Does what rank 0 says.
    fn obey(&mut self, command: Command) -> Result<Reply, Error> {
        match command {
            Command::Load => {
                self.load(&self.post.receive(0, MessageKind::Values)?).map(|()| Reply::Done)
            }
            Command::Start(initial) => {
                self.start(&initial).map(|flaw| flaw.map_or(Reply::Done, Reply::Flawed))
            }
            Command::DropInput => {
                self.session.drop_input();
                Ok(Reply::Done)
            }
            Command::Restart => self.session.restart().map(|()| Reply::Done),
            Command::Advance(steps) => self.session.advance(steps).map(|time| self.took(time)),
            Command::Read { array, loaded, low, high } => {
                let state = if loaded { State::Loaded } else { State::Now };
                let values = self.session.read(array, state, Region { low, high })?;
                self.post.send(0, MessageKind::Values, to_bytes(&values))?;
                Ok(Reply::Values)
            }
            Command::Write(file) => self.write(&file).map(|written| match written {
                Ok(hash) => Reply::Written(hash),
                Err(failure) => Reply::Unwritten(failure),
            }),
            Command::Put(array) => {
                let values = self.post.receive(0, MessageKind::Values)?;
                self.put(array, &values).map(|()| Reply::Done)
            }
            Command::Reduce(known) => {
                let parts = self.reduce(&numbers(known))?;
                self.post.send(0, MessageKind::Values, bytemuck::cast_slice(&parts).to_vec())?;
                Ok(Reply::Values)
            }
            Command::Totals(bits) => {
                self.session.take_totals(&numbers(bits));
                Ok(Reply::Done)
            }
            Command::Clock(clock) => {
                self.session.take_clock(clock);
                Ok(Reply::Done)
            }
            Command::Back => self.session.take_back().map(|()| Reply::Done),
            Command::Look => self.session.knows_finite().map(Reply::Finite),
            Command::Copy(count) => self.session.copy(count).map(|time| self.took(time)),
            Command::Begin | Command::End => unreachable!("they are no member's"),
        }
    }

    fn took(&self, time: Duration) -> Reply {
        // A message has no infinity.
        let known = |all: Jumped| Jumped { error: all.error.min(f64::MAX), ..all };
        Reply::Took(time.as_secs_f64(), self.session.jumped().map(known))
    }
}

fn zeros(dtype: Dtype, count: usize) -> Values {
    with_dtype!(dtype, T => vec![<T as Default>::default(); count].into())
}

/// Where an error of this rank lies.
pub fn place<S: Session + ?Sized>(member: Option<&Member<S>>) -> String {
    member.map_or_else(String::new, |member| member.session.device())
}

/// Does what rank 0 says until it says that there is nothing more to do, or something fails. There may be several computations, such as a
/// run and its adjoint: what one is told is done before the next one is told something.
///
/// # Errors
/// What failed, be it by a panic, after everybody else has been told.
pub fn serve(post: &Rc<dyn Messenger>, make: MakeMember) -> Result<(), Error> {
    let mut members = BTreeMap::new();
    let obeying = AssertUnwindSafe(|| obey_all(post, make, &mut members));
    let failure = match catch_unwind(obeying) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => RankFailure::new(post.rank(), &place(members.values().next()), &error),
        Err(panic) => RankFailure::of_panic(post.rank(), &reason(&*panic)),
    };
    tell(&**post, failure.clone());
    Err(failure.into())
}

/// What a panic said.
fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref().cloned()).unwrap_or_default()
}

/// Tells everybody that this rank has failed.
fn tell(post: &dyn Messenger, failure: RankFailure) {
    send_failure(post, &failure);
    // Rank 0 may be what failed.
    let _ = post.send(0, MessageKind::Reply, write(&Reply::Failed(failure)));
}

fn obey_all(
    post: &Rc<dyn Messenger>,
    make: MakeMember,
    members: &mut BTreeMap<u64, Member<dyn Session>>,
) -> Result<(), Error> {
    let damaged = || Error::Gone { rank: 0 };
    loop {
        let command = post.receive(0, MessageKind::Command)?;
        let (number, command) = serde_json::from_slice(&command).map_err(|_| damaged())?;
        let reply = match command {
            Command::Begin => {
                let setup = post.receive(0, MessageKind::Command)?;
                members.insert(number, make(&setup, post)?);
                Reply::Done
            }
            Command::End => {
                members.remove(&number);
                match members.is_empty() {
                    true => return Ok(()),
                    false => continue,
                }
            }
            command => members.get_mut(&number).ok_or_else(damaged)?.obey(command)?,
        };
        post.send(0, MessageKind::Reply, write(&reply))?;
    }
}

fn numbers(bits: Vec<u64>) -> Vec<f64> {
    bits.into_iter().map(f64::from_bits).collect()
}
