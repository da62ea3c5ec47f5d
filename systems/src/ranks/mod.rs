// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems that ranks share: GPUs of this machine, or processes.
//!
//! Each rank has a part of the grid with ghosts around it (`compute::ranks`), and advances all arrays of the part as a
//! system by itself. Rank 0 makes the values that the system starts with, and sends each rank its part of them; it also
//! draws what is compared and writes the files.

use std::rc::Rc;
use std::sync::Arc;

use self::setup::{RankEngine, Setup};
use super::budget;
use super::checked::System;
use super::cpu;
use super::expression::Array;
use super::gpu;
use super::plan::{self, Request};
use super::program::Offset;
use super::session::StepSession;
use super::start::StartValues;
use compute::engine::fft::on_gpu::Describer;
use compute::engine::{EngineRequest, Session};
use compute::plan::Sharing;
use compute::ranks::engine::{Exchange as Exchanged, PartSweep};
use compute::ranks::halo::Transfers;
use compute::ranks::member::of_sum;
use compute::ranks::part::{RankPart, common};
use compute::ranks::{
    Carrier, Exchange, Gather, Ghosted, GridCut, Member, MessageKind, Messenger, Partition, Team,
    from_bytes, ghosts_on, held,
};
use problem::boundary::SideSource;
use problem::{Boundary, Depth, Error, Grid, Region, Shape};
use transform::machine::Machine;

mod cut;
mod part;
mod setup;
mod team;

#[cfg(test)]
mod tests;

/// What a rank computes of whatever rank 0 says first: a part of a stencil's grid, or of a system.
///
/// # Errors
/// The message is damaged, or the device refuses.
pub fn member(
    message: &[u8],
    post: &Rc<dyn Messenger>,
    describer: Describer,
) -> Result<Member<dyn Session>, Error> {
    let Some(setup) = Setup::read(message) else { return of_sum(message, post, describer) };
    let receive = |_: usize| post.receive(0, MessageKind::Values);
    let Member { part, session, .. } = own(&setup, post, receive)?;
    Member::new(part, session as Box<dyn Session>, post)
}

/// A system that ranks share, as rank 0 sees it, from the values that it starts with.
///
/// # Errors
/// [`Error::Split`]: it cannot be cut into so many parts; [`Error::Unsupported`]: the engine does not compute parts of
/// systems; a rank's device refuses.
pub fn session(
    system: &System,
    engine: EngineRequest,
    sharing: &Sharing,
    beginning: impl FnOnce() -> Result<StartValues, Error>,
) -> Result<Box<dyn StepSession>, Error> {
    let on = on(engine, sharing)?;
    check(sharing, &on)?;
    if matches!(on, RankEngine::Cpu) {
        if !system.chain.allows_one() {
            let reason = "ranks take the steps of systems one at a time on the CPU".into();
            return Err(Error::Split { reason });
        }
        let (engine, steps) = (EngineRequest::Cpu, 1);
        plan::choose(system, Request { engine, steps, written: true, ..Request::default() })?;
    }
    let partition = cut::partition(system, sharing)?;
    let (steps, period) = exchange_interval(system, &on, &partition, sharing)?;
    let setup = Setup::new(system, (steps, period), 0, partition.counts(), on);
    let parts = setup.parts(&partition);
    let what =
        format!("parts of {} fields on {}, with their ghosts", system.fields.len(), system.shape);
    budget::require(system, &what, sharing.here(bytes(system, &parts, &setup.on)?))?;
    let beginning = beginning()?;
    let system = system.with_sources_that_count(&beginning);
    let setup = setup.starting(&system, beginning.step);
    // Of a rank all arrays in their order, those of earlier levels and coefficients too.
    let arrays: Vec<&Arc<Grid>> =
        beginning.fields.iter().flatten().chain(&beginning.coefficients).collect();
    let describer: Describer = compute::plan::abilities_of;
    let make = move |message: &[u8], post: &Rc<dyn Messenger>| member(message, post, describer);
    let (post, threads) = sharing.ranks.start(make);
    let cut = GridCut { partition, parts: parts.clone() };
    let team = Team::new(cut, setup.write(), post, threads, |post| {
        for part in &parts[1..] {
            for array in &arrays {
                post.send(part.rank, MessageKind::Values, held(array, part))?;
            }
        }
        own(&setup, post, |array| Ok(held(arrays[array], &parts[0])))
    })?;
    let told = (!matches!(setup.on, RankEngine::Gpu { .. })).then_some(period);
    Ok(Box::new(team::SystemTeam::new(team, &system, beginning.coefficients, told)))
}

/// Bytes of all arrays of all parts, and of what each takes to solve.
fn bytes(system: &System, parts: &[RankPart], on: &RankEngine) -> Result<u128, Error> {
    let arrays = (system.arrays() + system.coefficients.len()) as u128;
    let points =
        |part: &RankPart| part.held.extents().map(|extent| extent as u128).iter().product();
    let points = parts.iter().map(points).fold(0, u128::saturating_add);
    let of_arrays = points.saturating_mul(arrays * system.dtype.bytes() as u128);
    let solves = match (system.has_solves(), on) {
        (false, _) => 0,
        // What is gathered, and the solution, as bytes and as values.
        (true, RankEngine::Gpu { .. }) => system.part(&parts[0])?.bytes_of_whole(4),
        (true, RankEngine::Cpu | RankEngine::Emulated) => system.part(&parts[0])?.bytes_of_solves(),
    };
    Ok(of_arrays.saturating_add(parts.len() as u128 * solves))
}

/// A rank's own member, which gets the values of its arrays by their number in the order of fields with their levels, then
/// coefficients.
fn own(
    setup: &Setup,
    post: &Rc<dyn Messenger>,
    values: impl Fn(usize) -> Result<Vec<u8>, Error>,
) -> Result<Member<dyn StepSession>, Error> {
    let partition = setup.partition()?;
    let parts = setup.parts(&partition);
    let part = parts[post.rank()].clone();
    let system = setup.system.part(&part)?;
    let mut array = 0..;
    let mut next = || {
        let bytes = values(array.next().expect("there is no last number"))?;
        let values = from_bytes(&bytes, system.dtype);
        Ok::<_, Error>(Arc::new(Grid { shape: system.shape, values }))
    };
    let mut fields = Vec::new();
    for field in &system.fields {
        fields.push((0..field.levels).map(|_| next()).collect::<Result<_, _>>()?);
    }
    let coefficients = system.coefficients.iter().map(|_| next()).collect::<Result<_, _>>()?;
    let beginning = StartValues { step: setup.step, coefficients, fields, rounded: Vec::new() };
    let (arrays, period) = (setup.exchanged(), setup.period);
    let read = |part: &RankPart, ghosts| read(&setup.system, &arrays, period, (part, ghosts));
    let transfers = Transfers::of_arrays(&partition, &parts, part.rank, &read);
    let through_host = |inner: Box<dyn StepSession>, transfers, arrays| {
        let exchange = Exchange { post: Rc::clone(post), transfers, arrays, period };
        Box::new(Ghosted::new(inner, exchange)) as Box<dyn StepSession>
    };
    let own = part.local(part.own);
    let among = system.has_solves().then(|| Gather::new(post, &parts));
    let session = match &setup.on {
        RankEngine::Cpu => through_host(cpu::session(system, beginning, among), transfers, arrays),
        RankEngine::Emulated => {
            let chosen = plan::emulated(&system, Request::default())?;
            let inner = gpu::emulated((system, own), chosen.launch(), beginning, among)?;
            through_host(inner, transfers, arrays)
        }
        RankEngine::Gpu { devices, carrier } => {
            let number = devices.as_ref().map_or(post.place(), |devices| devices[part.rank]);
            let (value_bytes, by) = (system.dtype.bytes(), (*carrier, devices.is_some()));
            let ghosts = |gpu: &Rc<_>| {
                ghosts_on(Rc::clone(gpu), &transfers, (value_bytes, period), post, by)
            };
            let machine = compute::device::first()?.machine();
            let chosen = plan::on_cuda_cores(&system, machine)?;
            let part = (system, own, among);
            gpu::part(part, chosen.launch(), beginning, number, ghosts, arrays)?
        }
    };
    Member::new(part, session, post)
}

/// That nothing is asked for which is of stencils, or of GPUs alone.
fn check(sharing: &Sharing, on: &RankEngine) -> Result<(), Error> {
    let split = |reason: &str| Err(Error::Split { reason: reason.to_owned() });
    match sharing {
        Sharing { carrier: Carrier::Peer | Carrier::Nccl, .. }
            if !matches!(on, RankEngine::Gpu { .. }) =>
        {
            split("peer and nccl carry points between GPUs, and there is none")
        }
        Sharing { edges: Some(true), .. } => split("edges of systems are computed with the rest"),
        _ => Ok(()),
    }
}

/// What the parts are computed on.
fn on(engine: EngineRequest, sharing: &Sharing) -> Result<RankEngine, Error> {
    let on_gpus = || RankEngine::Gpu { devices: sharing.devices.clone(), carrier: sharing.carrier };
    match engine {
        EngineRequest::Cpu => Ok(RankEngine::Cpu),
        EngineRequest::Emulate => Ok(RankEngine::Emulated),
        EngineRequest::Cuda => Ok(on_gpus()),
        EngineRequest::Auto if gpu::has_gpu() => Ok(on_gpus()),
        EngineRequest::Auto => Ok(RankEngine::Cpu),
        other => {
            let reason = "ranks share systems on cuda, cpu and emulate".to_owned();
            Err(Error::Unsupported { engine: other.into(), reason })
        }
    }
}

/// Steps of a launch, which all parts take, and steps between two exchanges.
fn exchange_interval(
    system: &System,
    on: &RankEngine,
    partition: &Partition,
    sharing: &Sharing,
) -> Result<(usize, usize), Error> {
    // A point beyond the end of an axis whose ends meet has the coordinate of no point.
    if cut::cuts_periodic_axis(system, partition) && system.reads_coordinates() {
        return match (sharing.period, system.chain) {
            (None | Some(1), Depth::Auto | Depth::Steps(1)) if !system.is_staged() => Ok((1, 1)),
            _ if system.is_staged() => {
                let reason = "an equation reads coordinates, indices or noise, and a periodic axis is cut: stages compute with ghosts, which have coordinates of no \
                              point; give the coordinate to a coefficient";
                Err(Error::Split { reason: reason.into() })
            }
            _ => {
                let reason = "an equation reads coordinates, indices or noise, and a periodic axis is cut: points are exchanged after each step";
                Err(Error::Split { reason: reason.into() })
            }
        };
    }
    let machine = match on {
        RankEngine::Cpu => return Ok((1, sharing.period.unwrap_or(1))),
        RankEngine::Emulated => Machine::h200(),
        RankEngine::Gpu { .. } => compute::device::first()?.machine(),
    };
    let steps = launch(system, &machine, partition)?;
    if let RankEngine::Emulated = on {
        let period = sharing.period.unwrap_or(steps);
        return Ok((steps, period.div_ceil(steps).saturating_mul(steps)));
    }
    let exchange = Exchanged::of_gpu(steps, [1; 3]);
    let exchange = match sharing.carrier {
        Carrier::Host => exchange.through_host(),
        _ => exchange,
    };
    let rhythm = exchange.exchange_interval(
        &sweep(system, partition),
        partition,
        (sharing.period, Some(false)),
    );
    Ok((steps, rhythm.period))
}

/// What a step of a system moves, and exchanges where it is cut.
fn sweep(system: &System, partition: &Partition) -> PartSweep {
    let bytes = system.dtype.bytes() as f64;
    let (read, written) = system.moved();
    let moved = (read + written) as f64 * bytes;
    let (shape, reach) = (system.shape, system.reach());
    // Fields that are read across a side, of the axis and the end where they are most.
    let across = |axis: usize, sign: i32| {
        let is_read = |field: &usize| {
            let mut reads = system.program.reads();
            reads.any(|(array, at)| array.is_of_field(*field) && at[axis].signum() == sign)
        };
        (0..system.fields.len()).filter(is_read).count()
    };
    let cut = (0..3).filter(|&axis| partition.counts()[axis] > 1);
    let most = cut.flat_map(|axis| [across(axis, -1), across(axis, 1)]).max().unwrap_or(0);
    let ghost_bytes = [most, exchanged(system, 2).len()].map(|arrays| arrays as f64 * bytes);
    PartSweep { shape, reach, bytes: moved / 2.0, ghost_bytes, steps: system.steps.max(1) }
}

/// Steps of a launch that all parts can take.
fn launch(system: &System, machine: &Machine, partition: &Partition) -> Result<usize, Error> {
    let own = partition.own(0).extents();
    let shape = Shape::new(&own[3 - system.shape.dims()..])?;
    let depth =
        |system: &System| Ok(plan::on_cuda_cores(system, machine.clone())?.launch().steps());
    let solved_on = system.whole_of_solves();
    let steps = depth(&System { shape, solved_on, ..system.clone() })?;
    let setup = Setup::new(system, (steps, steps), 0, partition.counts(), RankEngine::Emulated);
    let takes = |part: &RankPart| depth(&setup.system.part(part)?);
    let all = setup.parts(partition).iter().try_for_each(|part| takes(part).map(drop));
    match (all, system.chain) {
        (Ok(()), _) => Ok(steps),
        (Err(_), Depth::Auto) => Ok(1),
        (Err(error), Depth::Steps(_)) => Err(error),
    }
}

/// Which arrays a session has by number that an equation reads around a point, or whose ghosts are computed with.
fn exchanged(system: &System, period: usize) -> Vec<usize> {
    let computed = computes_with_ghosts(system, period);
    let all = system.numbered().into_iter().enumerate();
    let reads = |array: &Array| match *array {
        // What a field was one step before has the ghosts that the field had.
        Array::Field { level: 1.., .. } => computed,
        Array::Field { field, .. } => {
            computed || system.reads_around(|array| array.is_of_field(field)) != [0; 3]
        }
        _ => false,
    };
    all.filter(|(_, array)| reads(array)).map(|(number, _)| number).collect()
}

/// Whether ghosts are computed with: in steps between exchanges, or in stages of a step.
fn computes_with_ghosts(system: &System, period: usize) -> bool {
    period > 1 || system.is_staged()
}

/// Which of the exchanged arrays, counted among them, an equation reads at points of a part in a box of its ghosts. Ghosts
/// that are computed with must be right in all arrays.
fn read(
    system: &System,
    exchanged: &[usize],
    period: usize,
    (part, ghosts): (&RankPart, Region),
) -> Vec<usize> {
    let numbered = system.numbered();
    let computed = computes_with_ghosts(system, period);
    let reads = |place: &usize| match numbered[exchanged[*place]] {
        _ if computed => true,
        // Of any level: what a field was one step before has the ghosts that the field had.
        Array::Field { field, .. } => {
            let all = system.program.reads().chain(system.totals.reads());
            let mut of_field = all.filter(|(array, _)| array.is_of_field(field));
            let boundary = &system.fields[field].boundary;
            of_field.any(|(_, offset)| {
                let from = places(part, (boundary, system.shape.extents()), offset);
                common(from, ghosts).is_some()
            })
        }
        _ => false,
    };
    (0..exchanged.len()).filter(reads).collect()
}

/// Where the values lie, at most, that points of a part read at some distance: anywhere between on an axis that is not cut,
/// and beyond a side where images stand, or the last points go on.
fn places(part: &RankPart, (boundary, extents): (&Boundary, [usize; 3]), offset: Offset) -> Region {
    let mut places = part.own;
    for axis in 0..3 {
        let (own, offset) = (part.own, offset[axis] as isize);
        let (low, high) = (own.low[axis] + offset, own.high[axis] + offset);
        (places.low[axis], places.high[axis]) = (low, high);
        let beyond = [low < 0, high > extents[axis] as isize];
        let is_inside = |end: usize| {
            let source = boundary.sides[axis][end].source();
            beyond[end] && !matches!(source, SideSource::Nowhere | SideSource::OtherEnd)
        };
        let is_whole = own.high[axis] - own.low[axis] == extents[axis] as isize;
        if is_whole || is_inside(0) || is_inside(1) {
            places.low[axis] = own.low[axis] - offset.abs();
            places.high[axis] = own.high[axis] + offset.abs();
        }
    }
    places
}
