// SPDX-License-Identifier: MIT OR Apache-2.0
//! The session of a rank's part.

use super::edges::{Band, EdgeBands, Prepared};
use super::ghosted::{Exchange, Ghosted};
use super::halo::Transfers;
use super::message_carrier::MessageCarrier;
use super::messenger::Messenger;
use super::nccl_carrier::NcclCarrier;
use super::on_device::{DeviceGhosts, OneStream, Streams, TwoStreams};
use super::parcel::{Parcel, ParcelCarrier};
use super::part::RankPart;
use super::peer_carrier::PeerCarrier;
use super::setup::{Carrier, GpuStepping, Launched, RankEngine, Setup};
use crate::device::{Device, Emulator, Gpu, Limits, Link};
use crate::engine::cpu::Cpu;
use crate::engine::fft::on_gpu::{Abilities, Describer};
use crate::engine::fft::{self, Fft};
use crate::engine::on_gpu::{self, Advance, Ghosts, OnGpu};
use crate::engine::{Engine, SumSession};
use crate::families::rim::GridSurroundings;
use crate::families::{LaunchRequest, Proposal};
use problem::boundary::Side;
use problem::{Depth, Error, Job};
use std::rc::Rc;

/// The session of the part of the rank at this end of the post.
///
/// # Errors
/// The device refuses, or cannot compute the part.
pub fn session(
    setup: &Setup,
    parts: &[RankPart],
    post: &Rc<dyn Messenger>,
    describer: Describer,
) -> Result<Box<dyn SumSession>, Error> {
    let part = &parts[post.rank()];
    let transfers = Transfers::new(&setup.partition()?, parts, part.rank);
    let inner = match &setup.with {
        RankEngine::Cpu => Cpu.prepare(&job(setup, part, Side::Zero)?)?,
        RankEngine::Fft => {
            let job = job(setup, part, Side::Open)?;
            Fft.prepare(&Job { jump: Depth::Steps(setup.period), ..job })?
        }
        RankEngine::Emulated(by) => {
            let device: Rc<dyn Device> = Rc::new(Emulator::new().with_seed(part.rank as u64));
            let streams = [Rc::clone(&device), device];
            let carrier = |_: &[Parcel], _: &[Parcel]| {
                Ok(Box::new(MessageCarrier::new(Rc::clone(post), Rc::clone(&streams[1])))
                    as Box<dyn ParcelCarrier>)
            };
            let on =
                LocalDevice { streams: &streams, order: Box::new(OneStream), limits: Limits::H200 };
            let abilities = || describer(None);
            return on_device(on, (by, &abilities), (setup, part, &transfers), carrier);
        }
        RankEngine::Gpu { by, devices, carrier } => {
            let number = devices.as_ref().map_or(post.place(), |devices| devices[part.rank]);
            let gpu = Gpu::open_nth(number)?;
            let job = job(setup, part, Side::Open)?;
            on_gpu::check_grid("of a rank", gpu.info(), &job)?;
            let info = gpu.info().clone();
            let abilities = || describer(Some(&info));
            let (edges, limits) = (gpu.beside()?, gpu.info().limits()?);
            let links = || Ok::<_, Error>([edges.link()?, gpu.link()?]);
            let (links, [edges_order, work]) = (links()?, links()?);
            let streams: [Rc<dyn Device>; 2] = [Rc::new(gpu), Rc::new(edges)];
            let carrier = |sends: &[Parcel], receives: &[Parcel]| {
                let to = (post, devices.is_some(), &streams);
                carry(*carrier, links, to, sends, receives)
            };
            let order = Box::new(TwoStreams { work, edges: edges_order });
            let on = LocalDevice { streams: &streams, order, limits };
            return on_device(on, (by, &abilities), (setup, part, &transfers), carrier);
        }
    };
    let (post, arrays, period) = (Rc::clone(post), vec![0], setup.period);
    Ok(Box::new(Ghosted::new(inner, Exchange { post, transfers, arrays, period })))
}

/// What brings the ghosts of a part on a GPU, of values of so many bytes, as deep as so many steps reach; between threads of
/// this process or between processes.
///
/// # Errors
/// [`Error::Split`]: what is to carry them cannot; the device refuses.
pub fn ghosts_on(
    gpu: Rc<Gpu>,
    transfers: &Transfers,
    ghosts: (usize, usize),
    post: &Rc<dyn Messenger>,
    (carrier, threads): (Carrier, bool),
) -> Result<Box<dyn Ghosts>, Error> {
    let edges = gpu.beside()?;
    let links = || Ok::<_, Error>([edges.link()?, gpu.link()?]);
    let (links, [edges_order, work]) = (links()?, links()?);
    let streams: [Rc<dyn Device>; 2] = [gpu, Rc::new(edges)];
    let carrier = |sends: &[Parcel], receives: &[Parcel]| {
        carry(carrier, links, (post, threads, &streams), sends, receives)
    };
    let order = Box::new(TwoStreams { work, edges: edges_order });
    Ok(Box::new(DeviceGhosts::new(&*streams[0], transfers, ghosts, order, carrier)?))
}

/// What carries parcels between GPUs, of threads of a process or of processes.
fn carry(
    asked: Carrier,
    links: [Link; 2],
    (post, threads, streams): (&Rc<dyn Messenger>, bool, &[Rc<dyn Device>; 2]),
    sends: &[Parcel],
    receives: &[Parcel],
) -> Result<Box<dyn ParcelCarrier>, Error> {
    let carrier = match asked {
        Carrier::Auto if threads => Carrier::Peer,
        Carrier::Auto if NcclCarrier::is_there(&**post)? => Carrier::Nccl,
        Carrier::Auto => Carrier::Host,
        Carrier::Peer if !threads => {
            let reason = "peer does not copy between processes: take nccl or host".into();
            return Err(Error::Split { reason });
        }
        asked => asked,
    };
    Ok(match carrier {
        Carrier::Peer => Box::new(PeerCarrier::new(links, Rc::clone(post), sends, receives)?),
        Carrier::Nccl => {
            let [edges, _] = links;
            Box::new(NcclCarrier::new(edges, post, streams, sends, receives)?)
        }
        Carrier::Auto | Carrier::Host => {
            Box::new(MessageCarrier::new(Rc::clone(post), Rc::clone(&streams[1])))
        }
    })
}

/// What is computed of a part, by itself. What lies where others' points go on is wrong sooner or later, whatever it is.
fn job(setup: &Setup, part: &RankPart, open: Side) -> Result<Job, Error> {
    let whole = setup.job()?;
    let boundary = part.boundary(&whole.boundary, open);
    Ok(Job { shape: part.shape()?, boundary, steps: setup.period, ..whole })
}

/// A GPU, or what imitates one.
struct LocalDevice<'a> {
    /// The stream of launches, and that of edges.
    streams: &'a [Rc<dyn Device>; 2],
    order: Box<dyn Streams>,
    limits: Limits,
}

/// On a GPU, or what imitates one.
fn on_device(
    LocalDevice { streams, order, limits }: LocalDevice,
    (by, abilities): (&GpuStepping, &dyn Fn() -> Result<Abilities, Error>),
    (setup, part, transfers): (&Setup, &RankPart, &Transfers),
    carrier: impl FnOnce(&[Parcel], &[Parcel]) -> Result<Box<dyn ParcelCarrier>, Error>,
) -> Result<Box<dyn SumSession>, Error> {
    let job = job(setup, part, Side::Open)?;
    let ghosts = (job.dtype.bytes(), setup.period);
    let ghosts = DeviceGhosts::new(&*streams[0], transfers, ghosts, order, carrier)?;
    match by {
        GpuStepping::Launches(launches) => {
            stepping(streams, launches, (setup, part, limits), &job, ghosts)
        }
        GpuStepping::Jumps => {
            let (device, abilities) = (Rc::clone(&streams[0]), Rc::new(abilities()?));
            let job = Job { jump: Depth::Steps(setup.period), ..job };
            fft::on_gpu::session_of_part(device, &abilities, &job, Box::new(ghosts))
        }
    }
}

/// By launches.
fn stepping(
    [device, beside]: &[Rc<dyn Device>; 2],
    launches: &[Launched],
    (setup, part, limits): (&Setup, &RankPart, Limits),
    job: &Job,
    mut ghosts: DeviceGhosts,
) -> Result<Box<dyn SumSession>, Error> {
    let seams = part.seams();
    let prepare = |launched: &Launched, device: &dyn Device, job: &Job, seams: &[Vec<usize>; 3]| {
        let proposal = propose(launched, job, limits)?;
        let around = GridSurroundings { boundary: &job.boundary, seams };
        proposal.parts_near(device, job, around, launched.rim_steps).map(|parts| (proposal, parts))
    };
    let (mut advances, mut first) = (Vec::new(), None);
    for launched in launches {
        let (proposal, parts) = prepare(launched, &**device, job, &seams)?;
        advances.push(Advance { steps: proposal.steps(), parts, spread: proposal.spread(job) });
        first.get_or_insert(proposal);
    }
    let first = first.expect("at least one launch");
    if setup.edges {
        let reach = job.stencil.radii().map(|radius| radius * first.steps());
        let prepare = |inner| {
            let band = Band::new(inner, job, &seams, reach, setup.units);
            let own = band.job(job)?;
            let (_, parts) = prepare(&launches[0], &**beside, &own, &band.seams)?;
            Prepared::new(&**beside, band, &own, parts)
        };
        match EdgeBands::new(Rc::clone(beside), first.steps(), ghosts.packed(), prepare) {
            Ok(edges) => ghosts = ghosts.with_edges(edges),
            // Too thin for the kernels: then they are sent with the rest.
            Err(Error::Split { .. }) => (),
            Err(other) => return Err(other),
        }
    }
    let session = OnGpu::new(Rc::clone(device), job, first.arithmetic(job), advances)?;
    let session = session.by(first.kernel.name.clone(), first.chain);
    Ok(Box::new(session.among(Box::new(ghosts))))
}

/// A launch that was planned for the whole grid, for a part.
///
/// # Errors
/// [`Error::Split`]: its family has another kernel for the part, or none.
pub fn propose(launched: &Launched, job: &Job, limits: Limits) -> Result<Proposal, Error> {
    let &Launched { fuse, chain, ref kernel, .. } = launched;
    let refused = |reason: String| Error::Split {
        reason: format!("{kernel} cannot compute a part of {}: {reason}", job.shape),
    };
    let fused = transform::fuse::fuse(&job.stencil, fuse).map_err(|e| refused(e.to_string()))?;
    let fused = &job.dtype.round_weights(&fused);
    let asked = LaunchRequest { job, fused, fuse, chain, limits };
    let proposal = Proposal::new(launched.family()?, &asked).map_err(|e| refused(e.to_string()))?;
    if proposal.kernel.name != *kernel {
        return Err(refused(format!("that takes {}", proposal.kernel.name)));
    }
    Ok(proposal)
}
