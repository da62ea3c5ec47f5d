// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps that ranks share, each on its part: on GPUs or CPUs, and how many steps at once. Ghosts are as deep as a jump
//! reaches, so parts grow with the steps, while a jump takes about as long however many those are.

use super::Sharing;
use crate::device;
use crate::engine::Engine;
use crate::engine::fft::on_gpu::{self, Abilities, Stepping};
use crate::engine::fft::{self, Fft};
use crate::families::refusal::Refusal;
use crate::plan::choice::{Choice, abilities};
use crate::plan::{RunTarget, shared::UNITS};
use crate::ranks::engine::{Exchange, ExchangeInterval, Ranks};
use crate::ranks::part::RankPart;
use crate::ranks::{Carrier, GpuStepping, Partition, RankEngine};
use problem::boundary::Side;
use problem::{Depth, Dtype, Error, Job};

/// What a machine's memory moves in a second, about.
const CPU_BYTES_PER_S: f64 = 1e10;

/// Plans a job that ranks take by jumps: on their GPUs, if all can, else on CPUs.
///
/// # Errors
/// The grid cannot be cut, or nobody can take its parts.
pub fn choose(job: &Job, sharing: &Sharing) -> Result<Choice, Error> {
    fft::check(job).map_err(|refusal| refusal.error(Fft.name()))?;
    let partition = sharing.partition(job.shape, [1; 3])?;
    let asked = "asked for".to_owned();
    let (period, with, why) = match on_gpus(job, sharing, &partition) {
        Ok(period) => {
            let (devices, carrier) = (sharing.devices.clone(), sharing.carrier);
            (period, RankEngine::Gpu { by: GpuStepping::Jumps, devices, carrier }, asked)
        }
        Err(refusal) if sharing.devices.is_some() => return Err(refusal.error(Fft.name())),
        Err(refusal) => {
            let why = match refusal {
                Refusal::NoDriver(_) | Refusal::NoKernels(_) => asked,
                refusal => format!("{asked}; on CPUs, because GPUs cannot: {refusal}"),
            };
            (on_cpus(job, sharing, &partition)?, RankEngine::Fft, why)
        }
    };
    let rhythm = ExchangeInterval { period, edges: false };
    Ok(sharing.anywhere((Fft.name(), with), partition, rhythm, why))
}

/// Steps of a jump on GPUs.
fn on_gpus(job: &Job, sharing: &Sharing, partition: &Partition) -> Result<usize, Refusal> {
    let target = RunTarget::here().map_err(Refusal::of)?;
    if let Ranks::Processes(post) = &sharing.ranks {
        let (there, needed) = (device::count().map_err(Refusal::of)?, post.local_ranks());
        if there < needed {
            let reason = format!("{needed} ranks of a machine would share {there}");
            return Err(Refusal::NoGpu(reason));
        }
    }
    of_gpus(job, sharing, partition, abilities(target))
}

/// Steps of a jump on GPUs with these abilities.
pub(super) fn of_gpus(
    job: &Job,
    sharing: &Sharing,
    partition: &Partition,
    abilities: Abilities,
) -> Result<usize, Refusal> {
    let memory = abilities.copy_bytes_per_s;
    let abilities = with_rims_like(job, abilities);
    let seconds = |part: &Job| {
        on_gpu::check(&abilities, part)?;
        on_gpu::seconds(&abilities, part).ok_or_else(on_gpu::no_rim)
    };
    let exchange = Exchange::of_gpu(1, UNITS);
    let exchange = match sharing.carrier {
        Carrier::Host => exchange.through_host(),
        _ => exchange,
    };
    period(job, sharing, partition, &seconds, &|bytes| exchange.bytes(bytes) / memory)
}

/// The abilities with one price for a step of a rim's point: the price of a point of the whole grid. So one plan
/// serves all rims that are tried.
fn with_rims_like(job: &Job, abilities: Abilities) -> Abilities {
    let [fuse, chain, jump] = [Depth::Auto; 3];
    let whole = Job { dtype: Dtype::F64, fuse, chain, jump, kernel: None, ..job.clone() };
    let whole = if fft::is_exact(job) { None } else { (abilities.step)(&whole) };
    let point = whole.map(|whole| whole.seconds_per_step / job.shape.points() as f64);
    let step = move |part: &Job| {
        let seconds_per_step = point? * part.shape.points() as f64;
        Some(Stepping { launches: Vec::new(), seconds_per_step })
    };
    Abilities { step: Box::new(step), ..abilities }
}

/// Steps of a jump on CPUs.
fn on_cpus(job: &Job, sharing: &Sharing, partition: &Partition) -> Result<usize, Error> {
    let threads = rayon::current_num_threads() as f64;
    let seconds = |part: &Job| Ok(fft::seconds(part) / threads);
    let exchange = Exchange::of_cpu(job);
    let exchange = |bytes| exchange.bytes(bytes) / CPU_BYTES_PER_S;
    let period = period(job, sharing, partition, &seconds, &exchange);
    period.map_err(|refusal| refusal.error(Fft.name()))
}

/// The steps of a jump by which all of them take least, or those that are asked for.
fn period(
    job: &Job,
    sharing: &Sharing,
    partition: &Partition,
    seconds: &dyn Fn(&Job) -> Result<f64, Refusal>,
    exchange: &dyn Fn(f64) -> f64,
) -> Result<usize, Refusal> {
    let all = job.steps.max(1);
    let asked = match job.jump {
        Depth::Steps(steps) => Some(steps),
        Depth::Auto => sharing.period,
    };
    let shorter = std::iter::successors(Some(1), |steps: &usize| Some(steps + steps.div_ceil(4)));
    let tried: Vec<usize> = match asked {
        Some(steps) => vec![steps.min(all)],
        None => std::iter::once(all).chain(shorter.take_while(|&steps| steps < all)).collect(),
    };
    let (mut best, mut refused) = (None, None);
    for steps in tried {
        let jumps = all.div_ceil(steps) as f64;
        match of_parts(job, partition, steps, seconds) {
            Ok((seconds, ghosts)) => {
                let cost = jumps * seconds + (jumps - 1.0) * exchange(ghosts);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, steps));
                }
            }
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    best.map(|(_, steps)| steps).ok_or_else(|| refused.expect("one is tried at least"))
}

/// The longest that a rank takes for a jump of so many steps, and the most bytes of ghosts that it has.
fn of_parts(
    job: &Job,
    partition: &Partition,
    steps: usize,
    seconds: &dyn Fn(&Job) -> Result<f64, Refusal>,
) -> Result<(f64, f64), Refusal> {
    let reach = fft::reach(job, steps);
    let (mut longest, mut ghosts, mut seen) = (0.0, 0, Vec::new());
    for rank in 0..partition.ranks() {
        let part = RankPart::new(partition, rank, &job.boundary, reach, [1; 3]);
        let boundary = part.boundary(&job.boundary, Side::Open);
        let shape = part.shape().map_err(Refusal::of)?;
        if !seen.contains(&(shape, boundary)) {
            let own = Job { shape, boundary, steps, jump: Depth::Steps(steps), ..job.clone() };
            longest = f64::max(longest, seconds(&own)?);
            seen.push((shape, boundary));
        }
        ghosts = ghosts.max(part.held.points() - part.own.points());
    }
    Ok((longest, (ghosts * job.dtype.bytes()) as f64))
}
