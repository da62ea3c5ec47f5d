// SPDX-License-Identifier: MIT OR Apache-2.0
//! The session of a rank's part.

use super::by_nccl::ByNccl;
use super::by_peer::ByPeer;
use super::by_post::ByPost;
use super::ghosted::Ghosted;
use super::halo::Transfers;
use super::on_device::{Carry, OnDevice, Parcel};
use super::part::Part;
use super::post::Post;
use super::setup::{Carrier, Launched, Setup, With};
use crate::device::{Device, Emulator, Gpu, Limits, Link};
use crate::engine::cpu::Cpu;
use crate::engine::fft::Fft;
use crate::engine::on_gpu::{self, Advance, OnGpu};
use crate::engine::{Engine, Session};
use crate::families::rim::Around;
use crate::families::{Asked, Proposal};
use crate::problem::boundary::Side;
use crate::{Depth, Error, Job};
use std::rc::Rc;

/// That of a post's rank.
///
/// # Errors
/// The device refuses, or cannot compute the part.
pub fn session(
    setup: &Setup,
    parts: &[Part],
    post: &Rc<dyn Post>,
) -> Result<Box<dyn Session>, Error> {
    let part = &parts[post.rank()];
    let transfers = Transfers::new(&setup.partition()?, parts, part.rank);
    let inner = match &setup.with {
        With::Cpu => Cpu.prepare(&job(setup, part, Side::Zero)?)?,
        With::Fft => {
            let job = job(setup, part, Side::Zero)?;
            Fft.prepare(&Job { jump: Depth::Steps(setup.period), ..job })?
        }
        With::Emulated(launches) => {
            let carrier = |_: &[Parcel], _: &[Parcel]| {
                Ok(Box::new(ByPost(Rc::clone(post))) as Box<dyn Carry>)
            };
            let device = Box::new(Emulator::new().with_seed(part.rank as u64));
            return on_device((device, Limits::H200), launches, (setup, part, &transfers), carrier);
        }
        With::Gpu { launches, devices, carrier } => {
            let number = devices.as_ref().map_or(post.place(), |devices| devices[part.rank]);
            let gpu = Gpu::open_nth(number)?;
            let (link, limits) = (gpu.link(), gpu.info().limits()?);
            let job = job(setup, part, Side::Open)?;
            on_gpu::check_grid("of a rank", gpu.info(), &job)?;
            let carrier = |sends: &[Parcel], receives: &[Parcel]| {
                carry(*carrier, link, (post, devices.is_some()), sends, receives)
            };
            let device: Box<dyn Device> = Box::new(gpu);
            return on_device((device, limits), launches, (setup, part, &transfers), carrier);
        }
    };
    Ok(Box::new(Ghosted::new(inner, Rc::clone(post), transfers, setup.period)))
}

/// What carries parcels between GPUs, of threads of a process or of processes.
fn carry(
    asked: Carrier,
    link: Link,
    (post, threads): (&Rc<dyn Post>, bool),
    sends: &[Parcel],
    receives: &[Parcel],
) -> Result<Box<dyn Carry>, Error> {
    let carrier = match asked {
        Carrier::Auto if threads => Carrier::Peer,
        Carrier::Auto if ByNccl::is_there(&**post)? => Carrier::Nccl,
        Carrier::Auto => Carrier::Host,
        Carrier::Peer if !threads => {
            let reason =
                "GPUs of several processes are not copied between: take nccl or host".into();
            return Err(Error::Split { reason });
        }
        asked => asked,
    };
    Ok(match carrier {
        Carrier::Peer => Box::new(ByPeer::new(link, Rc::clone(post), sends, receives)?),
        Carrier::Nccl => Box::new(ByNccl::new(link, &**post)?),
        Carrier::Auto | Carrier::Host => Box::new(ByPost(Rc::clone(post))),
    })
}

/// What is computed of a part, by itself. What lies where others' points go on is wrong sooner or later, whatever it is.
fn job(setup: &Setup, part: &Part, open: Side) -> Result<Job, Error> {
    let whole = setup.job()?;
    let boundary = part.boundary(&whole.boundary, open);
    Ok(Job { shape: part.shape()?, boundary, steps: setup.period, ..whole })
}

/// On a GPU, or what imitates one.
fn on_device(
    (device, limits): (Box<dyn Device>, Limits),
    launches: &[Launched],
    (setup, part, transfers): (&Setup, &Part, &Transfers),
    carrier: impl FnOnce(&[Parcel], &[Parcel]) -> Result<Box<dyn Carry>, Error>,
) -> Result<Box<dyn Session>, Error> {
    let job = job(setup, part, Side::Open)?;
    let seams = part.seams();
    let around = Around { boundary: &job.boundary, seams: &seams };
    let mut advances = Vec::new();
    for launched in launches {
        let proposal = propose(launched, &job, limits)?;
        let parts = proposal.parts_near(&*device, &job, around, launched.rim_steps)?;
        advances.push(Advance { steps: proposal.steps(), parts, spread: proposal.spread(&job) });
    }
    let first = propose(&launches[0], &job, limits)?;
    let ghosts = OnDevice::new(&*device, transfers, job.dtype, setup.period, carrier)?;
    let session = OnGpu::new(device, &job, first.arithmetic(&job), advances)?;
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
    let asked = Asked { job, fused, fuse, chain, limits };
    let proposal = Proposal::new(launched.family()?, &asked).map_err(|e| refused(e.to_string()))?;
    if proposal.kernel.name != *kernel {
        return Err(refused(format!("that takes {}", proposal.kernel.name)));
    }
    Ok(proposal)
}
