// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has the GPU, and launches for all systems.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};

use cuda_driver::Extents;

use super::{Answer, Message, Queue, QueueRequest};
use crate::gpu::kernel::GeneratedKernel;
use crate::gpu::target::LaunchTarget;
use compute::device::MemoryRows;
use compute::device::generated::TOTALS;
use problem::Error;

/// Bytes of tables with parameters that are kept on the GPU, unless one takes more.
const TABLES: usize = 4 << 20;
/// Tables among which that of a launch is looked for: arrays change places with each step, and are soon where they were.
const RECENT: usize = 8;

/// A target with the launches of all systems.
pub struct Owner<T> {
    target: Result<T, Error>,
    /// Parameters of a system for the kernel of each stage, and for that of totals.
    parameters: Vec<usize>,
    of_totals: usize,
    answers: Vec<Sender<Result<Answer, Error>>>,
    /// Whether each system is still there.
    is_here: Vec<bool>,
    /// What each waits for.
    waiting: Vec<Option<(Queue, QueueRequest)>>,
    tables: Option<Tables>,
}

/// Tables of parameters on the target.
struct Tables {
    array: usize,
    /// Bytes of it, and those that are taken.
    bytes: usize,
    taken: usize,
    /// The last ones: where they lie, and what they hold.
    recent: VecDeque<(usize, Vec<u64>)>,
}

/// A launch for some systems, whose table lies there.
struct Round {
    stage: usize,
    extents: Extents,
    place: usize,
    rows: Vec<u64>,
}

impl<T: LaunchTarget> Owner<T> {
    /// What has a target, and answers so.
    pub fn new(
        open: impl FnOnce() -> Result<T, Error>,
        kernel: &GeneratedKernel,
        answers: Vec<Sender<Result<Answer, Error>>>,
    ) -> Self {
        let members = answers.len();
        let parameters = [kernel].into_iter().chain(&kernel.after).map(|it| it.parameters);
        Self {
            target: open(),
            parameters: parameters.collect(),
            of_totals: kernel.totals.as_ref().map_or(0, |it| it.kernel.parameters),
            answers,
            is_here: vec![true; members],
            waiting: (0..members).map(|_| None).collect(),
            tables: None,
        }
    }

    /// Answers until all systems have left.
    pub fn serve(mut self, messages: &Receiver<Message>) {
        while self.is_here.contains(&true) {
            let Ok(message) = messages.recv() else { return };
            match message {
                Message::Leaves(member) => self.is_here[member] = false,
                Message::Ask(member, queue, what) => {
                    let waits = !queue.launches.is_empty() || matches!(what, QueueRequest::Begin);
                    match waits {
                        true => self.waiting[member] = Some((queue, what)),
                        false => self.answer(member, what),
                    }
                }
            }
            self.meet();
        }
    }

    /// Goes on if all systems wait.
    fn meet(&mut self) {
        let all = self.is_here.iter().zip(&self.waiting);
        let is_late = all.clone().any(|(is_here, waits)| *is_here && waits.is_none());
        if is_late || self.waiting.iter().all(Option::is_none) {
            return;
        }
        // Whoever begins has nothing to launch yet.
        let begins = |it: &Option<(Queue, QueueRequest)>| {
            it.as_ref().is_some_and(|(queue, _)| queue.launches.is_empty())
        };
        let any_begins = self.waiting.iter().any(begins);
        let mut served = Vec::new();
        for (member, waits) in self.waiting.iter_mut().enumerate() {
            if !any_begins || begins(waits) {
                served.extend(waits.take().map(|(queue, what)| (member, queue, what)));
            }
        }
        let queues: Vec<&Queue> = served.iter().map(|(_, queue, _)| queue).collect();
        let launched = self.launch(&queues);
        let mut failed = launched.err();
        let told = failed.as_ref().map(Error::to_string);
        for (member, _, what) in served {
            match (failed.take(), &told) {
                (Some(error), _) => self.tell(member, Err(error)),
                (None, Some(reason)) => self.tell(member, Err(refused(reason))),
                (None, None) => self.answer(member, what),
            }
        }
    }

    fn tell(&self, member: usize, answer: Result<Answer, Error>) {
        // Nothing is left to be done for one that has gone.
        let _ = self.answers[member].send(answer);
    }

    /// Does what a system asks for, and says so.
    fn answer(&mut self, member: usize, what: QueueRequest) {
        let target = match &mut self.target {
            Ok(target) => target,
            Err(error) => {
                let others = refused(&error.to_string());
                let error = std::mem::replace(error, others);
                return self.tell(member, Err(error));
            }
        };
        let answer = match what {
            QueueRequest::Describe => Ok(Answer::Described(target.describe(), target.engine())),
            QueueRequest::Allocate(what, bytes) => target
                .allocate(what, bytes)
                .map(|array| Answer::Allocated(array, target.address(array))),
            QueueRequest::Write(array, rows, bytes) => {
                target.write(array, rows, &bytes).map(|()| Answer::Done)
            }
            QueueRequest::Read(array, rows, count) => {
                let mut bytes = vec![0; count];
                target.read(array, rows, &mut bytes).map(|()| Answer::Bytes(bytes))
            }
            QueueRequest::Copies(pair, bytes, count) => {
                target.time_copies(pair, bytes, count).map(Answer::Time)
            }
            QueueRequest::Begin | QueueRequest::Launch => Ok(Answer::Done),
            QueueRequest::Wait => target.wait().map(|()| Answer::Done),
        };
        self.tell(member, answer);
    }

    /// Launches what systems have queued: whatever is next of several of them, and is one kernel, at once.
    fn launch(&mut self, queues: &[&Queue]) -> Result<(), Error> {
        let mut next = vec![0; queues.len()];
        let mut rounds = Vec::new();
        // What is in tables, but not yet on the target.
        let mut staged = Vec::new();
        loop {
            let head =
                |(member, queue): (usize, &&Queue)| queue.launches.get(next[member]).copied();
            let Some((stage, extents, _)) = queues.iter().enumerate().find_map(head) else { break };
            let count = self.parameters.get(stage).copied();
            let count = count.filter(|_| stage != TOTALS).unwrap_or(self.of_totals);
            let mut rows = Vec::new();
            for (member, queue) in queues.iter().enumerate() {
                if let Some((own, of_own, at)) = queue.launches.get(next[member])
                    && (*own, *of_own) == (stage, extents)
                {
                    rows.extend(&queue.parameters[*at..at + count]);
                    next[member] += 1;
                }
            }
            let members = (rows.len() / count) as u32;
            let extents = Extents { blocks: members * extents.blocks, ..extents };
            let place = self.place_of(&rows, &mut rounds, &mut staged)?;
            rounds.push(Round { stage, extents, place, rows });
        }
        self.execute(&mut rounds, &mut staged)
    }

    /// Where the table of a launch lies, after those before it are launched if there is no more room.
    fn place_of(
        &mut self,
        rows: &[u64],
        rounds: &mut Vec<Round>,
        staged: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        let tables = self.tables()?;
        if let Some((place, _)) = tables.recent.iter().find(|(_, known)| known == rows) {
            return Ok(*place);
        }
        if tables.taken + 8 * rows.len() > tables.bytes {
            self.execute(rounds, staged)?;
            let tables = self.tables()?;
            tables.taken = 0;
            tables.recent.clear();
        }
        let tables = self.tables()?;
        let place = tables.taken;
        staged.extend_from_slice(bytemuck::cast_slice(rows));
        tables.taken += 8 * rows.len();
        tables.recent.truncate(RECENT - 1);
        tables.recent.push_front((place, rows.to_vec()));
        Ok(place)
    }

    /// The tables, with room for one of each launch at least.
    fn tables(&mut self) -> Result<&mut Tables, Error> {
        if self.tables.is_none() {
            let most = self.parameters.iter().chain([&self.of_totals]).max();
            let bytes = TABLES.max(8 * most.copied().unwrap_or_default() * self.answers.len());
            let array = opened(&mut self.target)?.allocate("tables", bytes)?;
            self.tables = Some(Tables { array, bytes, taken: 0, recent: VecDeque::new() });
        }
        Ok(self.tables.as_mut().expect("they are there"))
    }

    /// Writes what is in tables, but not yet on the target, and launches.
    fn execute(&mut self, rounds: &mut Vec<Round>, staged: &mut Vec<u8>) -> Result<(), Error> {
        let Some(tables) = &self.tables else { return Ok(()) };
        let target = opened(&mut self.target)?;
        if !staged.is_empty() {
            let start = tables.taken - staged.len();
            // It waits for whatever reads tables.
            target.write(
                tables.array,
                MemoryRows { start, ..MemoryRows::first(staged.len()) },
                staged,
            )?;
            staged.clear();
        }
        let start = target.address(tables.array);
        for Round { stage, extents, place, rows } in rounds.drain(..) {
            target.launch_beside(stage, extents, start + place as u64, &rows)?;
        }
        Ok(())
    }
}

/// A target that was opened.
fn opened<T>(target: &mut Result<T, Error>) -> Result<&mut T, Error> {
    target.as_mut().map_err(|error| refused(&error.to_string()))
}

/// What others are told of a failure of one.
fn refused(reason: &str) -> Error {
    let action = "launch steps of several systems".to_owned();
    Error::Driver { action, reason: reason.to_owned() }
}
