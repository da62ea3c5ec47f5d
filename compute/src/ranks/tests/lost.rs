// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rank that is lost while several are asked: what the others have answered by then is never taken for an answer to something else.

use super::super::messenger::{MessageKind, Messenger};
use super::super::threads::Threads;
use super::{ExchangeInterval, engine};
use crate::engine::Engine;
use crate::engine::State;
use crate::plan;
use crate::ranks::engine::{RankedEngine, Ranks};
use crate::ranks::member::{of_sum, serve};
use crate::ranks::partition::Partition;
use crate::ranks::setup::RankEngine;
use problem::error::RankFailure;
use problem::region::Region;
use problem::{Dtype, Error, Grid, Job};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::thread;

/// Rank 0's end, from which a message of rank 1 does not arrive once that is asked for.
struct LosesReply {
    own: Threads,
    loses: Rc<Cell<bool>>,
}

impl Messenger for LosesReply {
    fn rank(&self) -> usize {
        self.own.rank()
    }

    fn ranks(&self) -> usize {
        self.own.ranks()
    }

    fn describe(&self) -> String {
        self.own.describe()
    }

    fn failure(&self) -> &OnceCell<RankFailure> {
        self.own.failure()
    }

    fn send(&self, to: usize, kind: MessageKind, bytes: Vec<u8>) -> Result<(), Error> {
        self.own.send(to, kind, bytes)
    }

    fn receive(&self, from: usize, kind: MessageKind) -> Result<Vec<u8>, Error> {
        match from == 1 && self.loses.replace(false) {
            true => Err(Error::Gone { rank: 1 }),
            false => self.own.receive(from, kind),
        }
    }
}

#[test]
fn answers_that_nobody_read_are_no_answers_to_other_questions() {
    let mut ends = Threads::new(3).into_iter();
    let loses = Rc::new(Cell::new(false));
    let own = LosesReply { own: ends.next().unwrap(), loses: Rc::clone(&loses) };
    let others: Vec<_> = ends
        .map(|end| {
            thread::spawn(move || {
                let post: Rc<dyn Messenger> = Rc::new(end);
                let make = |message: &[u8], post: &Rc<dyn Messenger>| {
                    of_sum(message, post, plan::abilities_of)
                };
                let _ = serve(&post, &make);
            })
        })
        .collect();
    let stencil = transform::catalogue::find("star2d1r").unwrap();
    let job = Job::new(stencil, "12x8".parse().unwrap(), Dtype::F32, 1);
    let partition = Partition::new(job.shape, [1, 3, 1], [1; 3]).unwrap();
    let rhythm = ExchangeInterval { period: 1, edges: false };
    let ranks = Ranks::Processes(Rc::new(own));
    let engine = RankedEngine { ranks, ..engine(RankEngine::Cpu, partition, rhythm) };
    let mut team = engine.prepare(&job).unwrap();
    team.load(&Grid::random(job.shape, job.dtype, 1).unwrap()).unwrap();
    let whole = Region::whole(job.shape);
    let last = Region { low: [0, 10, 3], high: [1, 11, 4] };
    assert_eq!(team.read(0, State::Now, last).unwrap().len(), 1);
    loses.set(true);
    assert!(matches!(team.read(0, State::Now, whole), Err(Error::Gone { rank: 1 })));
    // Rank 2 has answered, which nobody has read.
    let error = team.read(0, State::Now, last).unwrap_err().to_string();
    assert!(error.contains("rank 1"), "{error}");
    drop(team);
    others.into_iter().for_each(|other| other.join().unwrap());
}
