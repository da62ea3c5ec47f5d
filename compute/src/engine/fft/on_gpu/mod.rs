// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps of many steps on a GPU (`kernels_gpu::spectral`): the torus of the CPU's, at lengths that the kernels
//! transform, in f64 for grids of f64 and in f32 for all others; the rim is stepped in f64 by what the planner takes.

use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use rayon::prelude::*;
use transform::spectral::error;

use self::jump::{DeviceJump, Launches};
use super::torus::Slab;
use super::value_bounds::{BoundedCopy, ValueBounds, extremes};
use super::{Arithmetic, KERNELS, jump as on_cpu};
use crate::device::plane::layout;
use crate::device::{Device, DeviceInfo, Gpu, Limits, Memory, Plane, PlaneReader};
use crate::engine::on_gpu::{self, Ghosts, check_extents};
use crate::engine::{Engine, Input, Session, State, SumSession};
use crate::families::Proposal;
use crate::families::refusal::Refusal;
use problem::memory::Bytes;
use problem::observe::PendingCopy;
use problem::region::{Region, distinct_points};
use problem::values::Element;
use problem::{Dtype, Error, Grid, Job, Jumped, Shape, Values, View, with_values};

pub use jump::kernels;
pub use jump::of_systems;
pub(crate) use rim::none as no_rim;
pub use spectra::Spectra;
pub use spectra::{LONGEST_COLUMN, most_values};
pub use torus::Torus;

mod jump;
mod rim;
pub mod solve;
mod spectra;
pub mod tables;
mod threads;
mod torus;
pub mod transforms;

/// What a GPU has and does besides transforms. The planner knows, which is above this module.
pub struct Abilities {
    /// Its limits.
    pub limits: Limits,
    /// Its memory.
    pub memory_bytes: u64,
    /// Bytes that a copy reads in a second, and writes.
    pub copy_bytes_per_s: f64,
    /// How a job is stepped, if by anything.
    pub step: Box<Planner>,
}

/// Says what a GPU has and does; without one, what the emulator imitates.
pub type Describer = fn(Option<&DeviceInfo>) -> Result<Abilities, Error>;

/// Says how a job is stepped.
pub type Planner = dyn Fn(&Job) -> Option<Stepping>;

/// How a job is stepped.
pub struct Stepping {
    /// The launches that most steps take, and those for what remains, the last of one step.
    pub launches: Vec<Proposal>,
    /// What a step is predicted to take.
    pub seconds_per_step: f64,
}

/// The engine of Fourier transforms on an NVIDIA GPU.
pub struct FftOnGpu(pub Rc<Abilities>);

impl Engine for FftOnGpu {
    fn name(&self) -> &'static str {
        super::Fft.name()
    }

    fn fuses(&self) -> bool {
        false
    }

    fn chains(&self) -> bool {
        false
    }

    /// For the factors, and where constants are a source for what that takes on the CPU.
    fn host_bytes(&self, job: &Job, _: Input) -> u128 {
        let Ok(torus) = Torus::of(job, &self.0) else { return 0 };
        let factors = torus.factors(&job.stencil) as u128 * part_bytes(job.dtype) as u128;
        let source = on_cpu::has_source(job);
        factors + if source { super::bytes(job, torus.steps, Input::Dropped) } else { 0 }
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn SumSession>, Error> {
        check(&self.0, job).map_err(|refusal| refusal.error(self.name()))?;
        let gpu: Box<dyn Device> = Box::new(Gpu::open()?);
        session(gpu, &self.0, job)
    }
}

/// What jumps of so many steps on GPUs take of this machine's memory for all parts of a grid: at most a number for each wave
/// of a torus, and where constants are a source what that takes on the CPU.
pub(crate) fn host_bytes_at_most(job: &Job, steps: usize) -> u128 {
    let factors = job.shape.points() as u128 * part_bytes(job.dtype) as u128;
    let source = on_cpu::has_source(job);
    factors + if source { super::bytes(job, steps, Input::Dropped) } else { 0 }
}

/// Checks that a GPU can do what a job asks for.
///
/// # Errors
/// What [`super::check`] refuses; [`Refusal::Boundary`], [`Refusal::Grid`] or [`Refusal::Memory`].
pub fn check(abilities: &Abilities, job: &Job) -> Result<(), Refusal> {
    super::check(job)?;
    check_extents(super::Fft.name(), job.shape).map_err(Refusal::of)?;
    let torus = Torus::of(job, abilities)?;
    let (need, total) = (bytes(job, &torus), Bytes(abilities.memory_bytes));
    if need <= total.0.into() {
        return Ok(());
    }
    let what = format!("grids of {} {} values, their spectra and factors", job.shape, job.dtype);
    Err(Refusal::Memory { what, need: Bytes(u64::try_from(need).unwrap_or(u64::MAX)), total })
}

/// About how many seconds all steps of a job take; none where it is refused.
#[must_use]
pub fn seconds(abilities: &Abilities, job: &Job) -> Option<f64> {
    Torus::of(job, abilities).ok()?.seconds_of_all(job, abilities)
}

/// Three grids, spectra, factors, and what a source adds.
fn bytes(job: &Job, torus: &Torus) -> u128 {
    let elements = layout(job.shape).elements() as u128;
    let part = part_bytes(job.dtype) as u128;
    let source = if on_cpu::has_source(job) { elements * part } else { 0 };
    // Factors of the jumps, and of the shorter jump at the end of a run.
    let factors = 2 * torus.factors(&job.stencil) as u128 * part;
    let grids = 3 * elements * job.dtype.bytes() as u128;
    // Two planes for each part of a slab, none of which is larger than the first.
    let slab = |slab: &Slab| 8 * 16 * slab.from.points() as u128;
    let rim: u128 = torus.slabs.iter().map(slab).sum();
    grids + torus.spectra.values() as u128 * 2 * part + factors + source + rim
}

/// Bytes of a number in transforms.
fn part_bytes(dtype: Dtype) -> usize {
    if dtype == Dtype::F64 { 8 } else { 4 }
}

/// A job on a device.
///
/// # Errors
/// [`Error::Unsupported`], or the device refuses.
pub fn session<'a>(
    device: impl Deref<Target = dyn Device + 'a> + 'a,
    abilities: &Rc<Abilities>,
    job: &Job,
) -> Result<Box<dyn SumSession + 'a>, Error> {
    Ok(Box::new(OnGpu::new(device, abilities, job)?))
}

/// A part of a larger grid, by jumps of as many steps as its job asks for; somebody keeps its ghosts right.
///
/// # Errors
/// What [`check`] refuses, or the device.
pub fn session_of_part(
    device: Rc<dyn Device>,
    abilities: &Rc<Abilities>,
    job: &Job,
    ghosts: Box<dyn Ghosts>,
) -> Result<Box<dyn SumSession>, Error> {
    check(abilities, job).map_err(|refusal| refusal.error(super::Fft.name()))?;
    let session = OnGpu::new(device, abilities, job)?;
    Ok(Box::new(OnGpu { ghosts: Some(ghosts), ..session }))
}

/// A grid on a GPU that is advanced by jumps.
struct OnGpu<D> {
    /// Of a part of a larger grid. Dropped first: memory is given back when no work waits for others.
    ghosts: Option<Box<dyn Ghosts>>,
    abilities: Rc<Abilities>,
    job: Job,
    growth: f64,
    /// Of a jump of as many steps as most have.
    torus: Torus,
    planes: [Plane; 2],
    saved: Plane,
    /// The plane that holds the grid.
    current: usize,
    spectra: Memory,
    /// Those that were made last.
    jumps: Vec<Box<dyn Launches>>,
    /// The largest absolute value of the input, and what those of the grid are at most.
    loaded: f64,
    largest: f64,
    jumped: Jumped,
    /// The least and the largest value of the input, and the steps that it was taken since.
    range: [f64; 2],
    steps: usize,
    look: PlaneReader,
    // Dropped last: everything else lives on it.
    device: D,
}

/// How many different jumps are kept.
const KEPT: usize = 2;

impl<'a, D: Deref<Target = dyn Device + 'a>> OnGpu<D> {
    fn new(device: D, abilities: &Rc<Abilities>, job: &Job) -> Result<Self, Error> {
        let torus = Torus::of(job, abilities);
        let torus = torus.map_err(|refusal| refusal.error(super::Fft.name()))?;
        let plane = || Plane::new(&*device, job.shape, job.dtype);
        let (planes, saved) = ([plane()?, plane()?], plane()?);
        let spectra = torus.spectra.values() * 2 * part_bytes(job.dtype);
        let spectra = device.allocate("spectra", spectra.max(16))?;
        let mut session = Self {
            abilities: abilities.clone(),
            job: job.clone(),
            growth: on_cpu::growth(job),
            torus,
            planes,
            saved,
            current: 0,
            spectra,
            jumps: Vec::new(),
            loaded: 0.0,
            largest: 0.0,
            jumped: Jumped::default(),
            range: [0.0; 2],
            steps: 0,
            look: PlaneReader::default(),
            ghosts: None,
            device,
        };
        let steps = session.torus.steps;
        session.ready(steps)?;
        Ok(session)
    }

    /// Gets a jump of so many steps ready.
    fn ready(&mut self, steps: usize) -> Result<(), Error> {
        if self.jumps.iter().any(|jump| jump.steps() == steps) {
            return Ok(());
        }
        if self.jumps.len() == KEPT {
            self.jumps.remove(0);
        }
        let Self { abilities, device, job, growth, .. } = self;
        let shared_bytes = abilities.limits.shared_bytes;
        let torus = Torus::with(job, steps, shared_bytes).expect("a jump that is shorter");
        let needed = torus.spectra.values() * 2 * part_bytes(job.dtype);
        if needed > self.spectra.bytes() {
            self.spectra = device.allocate("spectra", needed)?;
        }
        self.jumps.push(DeviceJump::prepare(&**device, abilities, job, torus, *growth)?);
        Ok(())
    }

    /// What rounding in a jump can cause at any point, and the largest value after it.
    fn after(&self, jump: &dyn Launches) -> (f64, f64) {
        let (job, torus) = (&self.job, jump.torus());
        let (gain, points) = (job.stencil.gain(), job.shape.points() as f64);
        let boundary = job.boundary.largest();
        let largest = self.largest.max(boundary);
        let unit = unit(job.dtype);
        // Twiddles are products of others, and off by as much as a product.
        let twice = 2.0 * unit;
        let relative =
            error::of_jump_in(twice, torus.spectra.lengths(), torus.steps, gain, self.growth);
        // Of a grid of values that are off, by what is taken off them and added to them again.
        let lifts = 8.0 * unit * boundary + jump.source_error();
        let grown = |by: f64| by.max(1.0).powf(torus.steps as f64);
        let by_norm = grown(self.growth) * (torus.copies() * points).sqrt();
        // What slopes add in every step comes in beside the transforms.
        let rise = job.boundary.rise(job.stencil.radii()) * torus.steps as f64;
        let next = match rise {
            0.0 => largest * grown(gain).min(by_norm),
            rise => (largest + rise) * grown(gain),
        };
        let error = if largest == 0.0 { 0.0 } else { relative * (largest + boundary) };
        (error + lifts, next)
    }

    /// What the values lie within. Of a part of a grid that is not known: they come from other parts, too.
    fn within(&self) -> ValueBounds {
        if self.ghosts.is_some() || self.steps == 0 {
            return ValueBounds::ANYTHING;
        }
        ValueBounds::after(&self.job, self.steps, self.range)
    }
}

/// The jumps that take so many steps: of at most so many.
fn split(steps: usize, most: usize) -> Vec<usize> {
    let rest = steps % most;
    std::iter::repeat_n(most, steps / most).chain((rest > 0).then_some(rest)).collect()
}

/// The unit roundoff of the transforms.
fn unit(dtype: Dtype) -> f64 {
    let epsilon = if dtype == Dtype::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    epsilon / 2.0
}

/// The largest absolute value.
fn largest<T: Element>(values: &[T]) -> f64 {
    values.par_iter().map(|value| value.to_f64().abs()).reduce(|| 0.0, f64::max)
}

impl<'a, D: Deref<Target = dyn Device + 'a>> Session for OnGpu<D> {
    fn device(&self) -> String {
        on_gpu::describe(&*self.device, self.ghosts.as_deref())
    }

    fn shape(&self) -> Shape {
        self.job.shape
    }

    fn dtype(&self) -> Dtype {
        self.job.dtype
    }

    fn launch(&self) -> usize {
        self.torus.steps
    }

    fn jumped(&self) -> Option<Jumped> {
        Some(self.jumped)
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        self.saved.upload(&*self.device, input)?;
        self.planes[1].poison(&*self.device)?;
        self.range = with_values!(&input.values, values => extremes(values));
        self.loaded = with_values!(&input.values, values => largest(values));
        self.restart()
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.planes[0].clone_from(&*self.device, &self.saved)?;
        (self.current, self.largest, self.steps) = (0, self.loaded, 0);
        self.jumped = Jumped::default();
        if let Some(ghosts) = &mut self.ghosts {
            ghosts.loaded();
        }
        self.device.wait()
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let all = split(steps, self.torus.steps);
        // The last ones first, so that both are kept.
        for &count in all.iter().rev() {
            self.ready(count)?;
        }
        let of = |jumps: &[Box<dyn Launches>], steps: usize| {
            jumps.iter().position(|jump| jump.steps() == steps).expect("made above")
        };
        for &count in &all {
            let (error, largest) = self.after(&*self.jumps[of(&self.jumps, count)]);
            let carried = self.growth.powf(count as f64).max(1.0) * self.jumped.error;
            let carried = if self.jumped.error == 0.0 { 0.0 } else { carried };
            self.jumped = Jumped { count: self.jumped.count + 1, error: carried + error };
            self.largest = largest;
        }
        self.steps += steps;
        let Self { jumps, planes, current, device, spectra, ghosts, .. } = self;
        let device = &**device;
        device.time(&mut || {
            for &count in &all {
                if let Some(ghosts) = ghosts {
                    if ghosts.left() < count {
                        ghosts.renew(device, &planes[*current])?;
                    }
                    ghosts.used(count);
                }
                let jump = &jumps[of(jumps, count)];
                jump.launch(device, [&planes[*current], &planes[1 - *current]], spectra)?;
                *current = 1 - *current;
            }
            Ok(())
        })
    }

    fn read(&mut self, _: usize, state: State, region: Region) -> Result<Values, Error> {
        match state {
            State::Loaded => self.saved.read(&*self.device, region),
            State::Now => {
                let mut values = self.planes[self.current].read(&*self.device, region)?;
                self.within().keep_all(&mut values);
                Ok(values)
            }
        }
    }

    fn capture(&mut self, _: usize, view: &View) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        let within = self.within();
        let coming = self.look.capture(&*self.device, &self.planes[self.current], view)?;
        let kept = |coming| Box::new(BoundedCopy { coming, within }) as Box<dyn PendingCopy>;
        Ok(coming.map(kept))
    }

    fn knows_finite(&mut self) -> Result<bool, Error> {
        self.look.knows_finite(&*self.device, &self.planes[self.current])
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let Self { planes, current, device, .. } = self;
        Plane::time_copies(&**device, [&planes[*current], &planes[1 - *current]], count)
    }
}

impl<'a, D: Deref<Target = dyn Device + 'a>> SumSession for OnGpu<D> {
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::spectral_on_gpu(self.job.dtype)
    }

    fn kernel(&self) -> Option<String> {
        Some(KERNELS[usize::from(self.job.dtype != Dtype::F64)].into())
    }

    fn jump(&self) -> Option<problem::JumpReport> {
        let torus = self.torus.spectra.lengths()[3 - self.job.shape.dims()..].to_vec();
        let regions: Vec<Region> = self.torus.slabs.iter().map(|slab| slab.points).collect();
        let rim = distinct_points(&regions);
        let (steps, toruses) = (self.torus.steps, vec![torus]);
        Some(problem::JumpReport { steps, toruses, rim, growth: None })
    }

    fn sweeps(&self, steps: usize) -> usize {
        steps.div_ceil(self.torus.steps)
    }
}

#[cfg(test)]
mod tests;
