// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems side by side: those that differ in numbers only are computed by one kernel, a launch of which takes a step of all
//! of them. A small grid does not fill a GPU, and a launch takes as long as many such grids.
//!
//! A [`Batch`] says which of some systems these are, and by what they are computed; each of them then has a simulation of its
//! own ([`crate::SystemSimulation`]) in a thread of its own, at a [`BatchSeat`].

use std::sync::Arc;

use crate::checked::System;
use crate::expression::Node;
use crate::gpu::{self, BatchPlace, GeneratedKernel};
use crate::parts::BatchNumbers;
use crate::plan::{self, ChosenPlan, Request};
use crate::session::StepSession;
use crate::start::StartValues;
use compute::engine::EngineRequest;
use problem::{Depth, Error};

mod same_structure;

/// Systems that are computed side by side, at most.
pub const MOST: usize = 64;
/// How many times as fast as one after the other they must be predicted to be.
const GAIN: f64 = 1.2;

/// Systems that are computed side by side.
pub struct Batch {
    members: Vec<Member>,
    chosen: ChosenPlan,
    is_emulated: bool,
}

/// One system of a batch.
struct Member {
    /// Its number among those that were looked at.
    number: usize,
    system: System,
    /// The kernel of all, with the system's own tables.
    kernel: GeneratedKernel,
}

/// The place of a system in a batch, for a simulation of it ([`crate::ComputeOptions`]). Others wait for it until it is dropped.
#[derive(Clone)]
pub struct BatchSeat {
    batch: Arc<Batch>,
    /// The number in the batch.
    number: usize,
    place: Arc<BatchPlace>,
}

impl Batch {
    /// Of some systems the part that can be computed side by side, if a GPU is predicted to be faster so. One of them alone would
    /// take so many seconds for a step, or as many as are predicted for equations.
    ///
    /// # Errors
    /// Why they are to be computed one after the other.
    pub fn plan(systems: &[System], request: Request, alone: Option<f64>) -> Result<Self, String> {
        let [first, _, ..] = systems else { return Err("there is only one".into()) };
        if systems.len() > MOST {
            return Err(format!("there are more than {MOST}"));
        }
        if first.jump != Depth::Auto {
            return Err("jumps are asked for".into());
        }
        if first.has_solves() {
            return Err("a step solves, which takes more than one launch".into());
        }
        let by_itself = plan::choose(first, request).map_err(|error| error.to_string())?;
        let engine = by_itself.way.family.engine();
        if by_itself.way.launch.is_none() || engine != "cuda" {
            let what = &by_itself.way.kernel;
            return Err(format!("{what} takes one system at a time"));
        }
        let counted = systems.iter().map(counted).collect::<Result<Vec<_>, _>>();
        let counted = counted.map_err(|error| error.to_string())?;
        let (members, chosen) = members(&counted, request)?;
        let seconds = chosen.way.seconds_per_step;
        let alone = members.len() as f64 * alone.unwrap_or(by_itself.way.seconds_per_step);
        let told = format!(
            "a step of {} side by side is predicted to take {:.1} us, one after the other {:.1} us",
            members.len(),
            seconds * 1e6,
            alone * 1e6
        );
        if alone < GAIN * seconds {
            return Err(told);
        }
        let is_emulated = request.engine == EngineRequest::Emulate;
        Ok(Self { members, chosen: ChosenPlan { why: told, ..chosen }, is_emulated })
    }

    /// The numbers of the systems, among those that were looked at.
    pub fn members(&self) -> impl ExactSizeIterator<Item = usize> {
        self.members.iter().map(|member| member.number)
    }

    /// A seat for each of them.
    #[must_use]
    pub fn seats(self) -> Vec<BatchSeat> {
        let places = gpu::places(&self.members[0].kernel, self.members.len(), self.is_emulated);
        let batch = Arc::new(self);
        let seat = |(number, place)| BatchSeat { batch: Arc::clone(&batch), number, place };
        places.into_iter().enumerate().map(seat).collect()
    }
}

impl BatchSeat {
    /// How many systems are computed side by side.
    #[must_use]
    pub fn members(&self) -> usize {
        self.batch.members.len()
    }

    /// By what.
    pub(crate) fn chosen(&self) -> ChosenPlan {
        self.batch.chosen.clone()
    }

    /// The session of the system that was planned for this seat.
    ///
    /// # Errors
    /// It is another system, or the device refuses.
    pub(crate) fn open(
        &self,
        system: &System,
        beginning: StartValues,
    ) -> Result<Box<dyn StepSession>, Error> {
        let Member { system: planned, kernel, .. } = &self.batch.members[self.number];
        let Some(own) = same_structure::like(planned, system) else {
            let reason = "this system is not computed side by side".to_owned();
            return Err(Error::Unsupported { engine: "cuda", reason });
        };
        let own = System { beside: planned.beside.clone(), ..own };
        gpu::session_beside(own, kernel.clone(), beginning, &self.place)
    }
}

/// The system without the sources that do not count.
fn counted(system: &System) -> Result<System, Error> {
    let has_masks = system.solid.is_some() || system.fields.iter().any(|it| it.kept.is_some());
    if system.sources.is_empty() || !has_masks {
        return Ok(system.clone());
    }
    Ok(system.with_sources_that_count(&StartValues::new(system)?))
}

/// Of some systems the members that one kernel computes, and by what.
fn members(systems: &[System], request: Request) -> Result<(Vec<Member>, ChosenPlan), String> {
    // Numbers that happen to be the same are one.
    let size = |system: &&System| system.program.operations.len() + system.program.scalars.len();
    let leader = systems.iter().max_by_key(size).expect("there are some");
    let like = |(number, system)| Some((number, same_structure::like(leader, system)?));
    let mut alike: Vec<(usize, System)> = systems.iter().enumerate().filter_map(like).collect();
    let engine = match request.engine {
        EngineRequest::Auto => EngineRequest::Cuda,
        engine => engine,
    };
    let request = Request { engine, written: true, ..request };
    loop {
        beside(&mut alike);
        let [(_, first), _, ..] = alike.as_slice() else {
            return Err("the runs differ in more than numbers of their equations".into());
        };
        let chosen = plan::choose(first, request).map_err(|error| error.to_string())?;
        let launch = chosen.launch();
        let written = |(_, system): &(usize, System)| gpu::kernel_beside(system, launch);
        let kernels: Result<Vec<GeneratedKernel>, Error> = alike.iter().map(written).collect();
        let kernels = kernels.map_err(|error| error.to_string())?;
        let texts: Vec<String> = kernels.iter().map(GeneratedKernel::ptx).collect();
        // What stands in a kernel is the same for all.
        let mut same = texts.iter().map(|text| *text == texts[0]);
        let before = alike.len();
        alike.retain(|_| same.next().expect("one for each"));
        if alike.len() == before {
            let member = |((number, system), kernel)| Member { number, system, kernel };
            return Ok((alike.into_iter().zip(kernels).map(member).collect(), chosen));
        }
    }
}

/// Lets systems know in which numbers they differ.
fn beside(systems: &mut [(usize, System)]) {
    let Some((_, first)) = systems.first() else { return };
    let (first, members) = (first.clone(), systems.len());
    let of_step = |system: &System| -> Vec<Node> {
        let added = system.sources.iter().map(|source| source.add.clone());
        system.program.scalars.iter().cloned().chain(added).collect()
    };
    let of_totals = |system: &System| system.totals.program.scalars.clone();
    let differ = |numbers: &dyn Fn(&System) -> Vec<Node>| -> Vec<bool> {
        let first = numbers(&first);
        let all: Vec<Vec<Node>> = systems.iter().map(|(_, system)| numbers(system)).collect();
        let differs = |(number, own): (usize, &Node)| all.iter().any(|it| it[number] != *own);
        first.iter().enumerate().map(differs).collect()
    };
    let (numbers, of_totals) = (differ(&of_step), differ(&of_totals));
    let all = BatchNumbers { members, numbers, of_totals };
    systems.iter_mut().for_each(|(_, system)| system.beside = Some(all.clone()));
}
