// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid on a GPU, or on what imitates one, advanced by launches of whatever kernels an engine chose.

use super::{Session, State, SumSession};
use crate::device::plane::layout;
use crate::device::{Device, DeviceArray, DeviceGrid, DeviceInfo, Packing, Plane, PlaneReader};
use crate::families::{AdvanceLaunch, Fields, Spread};
use problem::check::growth;
use problem::check::seams::Seams;
use problem::memory::Bytes;
use problem::observe::PendingCopy;
use problem::region::Region;
use problem::{Arithmetic, Dtype, Error, Grid, Job, Jumped, Shape, Values, View};
use std::rc::Rc;
use std::time::Duration;

/// The largest extent: coordinates in a launch are 32-bit and signed.
const LARGEST: usize = 1 << 30;

/// Planes of an [`OnGpu`].
const PLANES: usize = 3;

/// Checks that launches can address the grid of a job, and that the GPU has the memory for it.
///
/// # Errors
/// [`Error::Unsupported`] with the extent, or [`Error::GpuMemory`].
pub fn check_grid(engine: &'static str, gpu: &DeviceInfo, job: &Job) -> Result<(), Error> {
    check(engine, gpu.memory_bytes, job)
}

/// Checks that launches can address the grid of a job, and that a GPU with `memory_bytes` has the memory for it.
///
/// # Errors
/// [`Error::Unsupported`] with the extent, or [`Error::GpuMemory`].
pub fn check(engine: &'static str, memory_bytes: u64, job: &Job) -> Result<(), Error> {
    check_extents(engine, job.shape)?;
    check_memory(memory_bytes, job.shape, job.dtype)
}

fn check_memory(total: u64, shape: Shape, dtype: Dtype) -> Result<(), Error> {
    let bytes = |elements: usize| (PLANES * dtype.bytes()) as u128 * elements as u128;
    let points = bytes(shape.points());
    let total = Bytes(total);
    // Of a grid that no GPU holds, the elements may be too many to count.
    let need = if points > total.0.into() { points } else { bytes(layout(shape).elements()) };
    if need <= total.0.into() {
        return Ok(());
    }
    let what = format!("{PLANES} grids of {shape} {dtype} values");
    let need = Bytes(u64::try_from(need).unwrap_or(u64::MAX));
    Err(Error::GpuMemory { what, need, total })
}

/// The memory that a session of a grid takes, with the halos of its planes.
#[must_use]
pub fn bytes(shape: Shape, dtype: Dtype) -> u128 {
    (PLANES * dtype.bytes()) as u128 * layout(shape).elements() as u128
}

/// Checks that launches can address the grid.
///
/// # Errors
/// [`Error::Unsupported`] with the extent.
pub fn check_extents(engine: &'static str, shape: Shape) -> Result<(), Error> {
    if shape.extents().into_iter().any(|extent| extent > LARGEST) {
        let reason = format!("an axis of {shape} is longer than {LARGEST}");
        return Err(Error::Unsupported { engine, reason });
    }
    Ok(())
}

/// Launches that together advance the grid by a number of time steps: the first writes the whole
/// grid, the others points that it could not compute, all from the same input.
pub struct Advance {
    /// Time steps.
    pub steps: usize,
    /// The launches.
    pub parts: Vec<AdvanceLaunch>,
    /// What rounding does in them, where that is not a matter of each point by itself.
    pub spread: Option<Spread>,
}

/// Queues so many steps by `advances`, those of most steps first, the last of one step: back and forth between two planes,
/// from `planes[0]`. Returns which of them holds the result.
///
/// # Errors
/// The device refuses.
pub fn advance(
    device: &dyn Device,
    advances: &[Advance],
    planes: [&Plane; 2],
    steps: usize,
) -> Result<usize, Error> {
    let (mut left, mut current) = (steps, 0);
    for Advance { steps, parts, .. } in advances {
        let count = left / steps;
        left %= steps;
        if let [AdvanceLaunch { pass, .. }] = &**parts {
            pass.repeat(device, [planes[current], planes[1 - current]], count)?;
            current = (current + count) % 2;
            continue;
        }
        for _ in 0..count {
            let fields = Fields { before: planes[current], after: planes[1 - current] };
            for AdvanceLaunch { pass, region } in parts {
                pass.launch(device, fields, *region)?;
            }
            current = 1 - current;
        }
    }
    Ok(current)
}

/// Whoever keeps ghosts right, the points of a grid that is a part of a larger one which are others' ([`crate::ranks`]).
pub trait Ghosts {
    /// What brings them, in words.
    fn describe(&self) -> String;

    /// Steps that they are good for now.
    fn left(&self) -> usize;

    /// They have just been loaded.
    fn loaded(&mut self);

    /// So many steps have been queued.
    fn used(&mut self, steps: usize);

    /// What is queued next is the last launch before [`Ghosts::renew`], so many steps from this plane.
    ///
    /// # Errors
    /// The device refuses.
    fn announce(&mut self, before: &Plane, steps: usize) -> Result<(), Error>;

    /// Queues that they are got anew, from whoever holds them.
    ///
    /// # Errors
    /// The device refuses, or somebody who holds them has failed.
    fn renew(&mut self, device: &dyn Device, grid: &dyn Packing) -> Result<(), Error>;
}

/// A device in words, and what brings a part's ghosts there.
pub(super) fn describe(device: &dyn Device, ghosts: Option<&dyn Ghosts>) -> String {
    let device = device.describe();
    match ghosts {
        None => device,
        Some(ghosts) => format!("{device}; ghosts by {}", ghosts.describe()),
    }
}

/// As [`advance`], with ghosts that are got anew in time.
///
/// # Errors
/// As there, and of [`Ghosts::renew`].
fn advance_part(
    device: &dyn Device,
    advances: &[Advance],
    planes: [&Plane; 2],
    steps: usize,
    ghosts: &mut dyn Ghosts,
) -> Result<usize, Error> {
    let (mut to_go, mut current) = (steps, 0);
    for advance in advances {
        while to_go >= advance.steps {
            if ghosts.left() < advance.steps {
                ghosts.renew(device, planes[current])?;
            }
            let count = to_go.min(ghosts.left()) / advance.steps;
            let taken = count * advance.steps;
            let next = (to_go - taken).min(advance.steps);
            let is_last = next > 0 && ghosts.left() - taken < next;
            let before_last = if is_last { count - 1 } else { count };
            let one = std::slice::from_ref(advance);
            let mut queue = |count: usize| -> Result<usize, Error> {
                let own = [planes[current], planes[1 - current]];
                current = (current + self::advance(device, one, own, count * advance.steps)?) % 2;
                Ok(current)
            };
            let at = queue(before_last)?;
            if is_last {
                ghosts.announce(planes[at], advance.steps)?;
                queue(1)?;
            }
            ghosts.used(taken);
            to_go -= taken;
        }
    }
    Ok(current)
}

/// What launches that compute by Fourier transforms have made of the grid since it was loaded.
struct Rounding {
    /// Whether there are such launches.
    counts: bool,
    /// Of a time step.
    gain: f64,
    /// The largest value around the grid, and what slopes add to it.
    around: f64,
    rise: f64,
    /// The largest value of the input.
    loaded: f64,
    /// What values are at most.
    largest: f64,
    jumped: Jumped,
}

impl Rounding {
    fn new(job: &Job, advances: &[Advance]) -> Self {
        let counts = advances.iter().any(|advance| advance.spread.is_some());
        let (gain, around) = (job.stencil.gain(), job.boundary.largest());
        let (rise, jumped) = (job.boundary.rise(job.stencil.radii()), Jumped::default());
        Self { counts, gain, around, rise, loaded: 0.0, largest: 0.0, jumped }
    }

    fn restart(&mut self) {
        (self.largest, self.jumped) = (self.loaded, Jumped::default());
    }

    /// Takes so many steps by these advances.
    fn advance(&mut self, advances: &[Advance], steps: usize) {
        let mut left = steps;
        for Advance { steps, spread, .. } in advances {
            let spread = spread.unwrap_or(Spread::none(self.gain.powf(*steps as f64)));
            let before = (self.jumped, self.largest);
            let around = [self.around, self.rise * *steps as f64];
            (self.jumped, self.largest) = spread.after(before, around, left / steps);
            left %= steps;
        }
    }
}

/// A grid on a GPU.
pub struct OnGpu {
    /// Of a part of a larger grid. Dropped first: memory is given back when no work waits for others.
    ghosts: Option<Box<dyn Ghosts>>,
    arithmetic: Arithmetic,
    shape: Shape,
    /// What can advance the grid, from most steps to fewest; the last takes one step.
    advances: Vec<Advance>,
    kernel: Option<String>,
    chain: usize,
    planes: [Plane; 2],
    /// The input, for [`Session::restart`].
    saved: Plane,
    /// The plane that holds the grid.
    current: usize,
    rounding: Rounding,
    look: PlaneReader,
    // Dropped last: everything else lives on it.
    device: Rc<dyn Device>,
}

impl OnGpu {
    /// With zeros in all planes.
    ///
    /// # Errors
    /// Not enough memory.
    ///
    /// # Panics
    /// Where not every number of steps can be made of `advances`.
    pub fn new(
        device: impl Into<Rc<dyn Device>>,
        job: &Job,
        arithmetic: Arithmetic,
        mut advances: Vec<Advance>,
    ) -> Result<Self, Error> {
        let (device, shape) = (device.into(), job.shape);
        advances.sort_by_key(|advance| std::cmp::Reverse(advance.steps));
        assert!(advances.last().is_some_and(|last| last.steps == 1), "any number of steps");
        let plane = || Plane::new(&*device, shape, arithmetic.dtype);
        let (planes, saved) = ([plane()?, plane()?], plane()?);
        let rounding = Rounding::new(job, &advances);
        Ok(Self {
            arithmetic,
            shape,
            advances,
            kernel: None,
            chain: 1,
            planes,
            saved,
            current: 0,
            rounding,
            look: PlaneReader::default(),
            ghosts: None,
            device,
        })
    }

    /// Names the kernel of its launches, and how many sums of steps a launch of it takes.
    pub fn by(self, kernel: String, chain: usize) -> Self {
        Self { kernel: Some(kernel), chain, ..self }
    }

    /// Makes the grid a part of a larger one, whose ghosts `ghosts` keeps up to date.
    pub fn among(self, ghosts: Box<dyn Ghosts>) -> Self {
        Self { ghosts: Some(ghosts), ..self }
    }
}

impl Session for OnGpu {
    fn device(&self) -> String {
        describe(&*self.device, self.ghosts.as_deref())
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn dtype(&self) -> Dtype {
        self.arithmetic.dtype
    }

    fn launch(&self) -> usize {
        self.arithmetic.fuse * self.chain
    }

    fn jumped(&self) -> Option<Jumped> {
        self.rounding.counts.then_some(self.rounding.jumped)
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        self.saved.upload(&*self.device, input)?;
        self.planes[1].poison(&*self.device)?;
        if self.rounding.counts {
            self.rounding.loaded = growth::largest(input);
        }
        self.restart()
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.planes[0].clone_from(&*self.device, &self.saved)?;
        self.current = 0;
        if let Some(ghosts) = &mut self.ghosts {
            ghosts.loaded();
        }
        self.rounding.restart();
        self.device.wait()
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        self.rounding.advance(&self.advances, steps);
        let Self { advances, planes, current, device, ghosts, .. } = self;
        let device = &**device;
        device.time(&mut || {
            let own = [&planes[*current], &planes[1 - *current]];
            let turned = match ghosts {
                None => self::advance(device, advances, own, steps)?,
                Some(ghosts) => advance_part(device, advances, own, steps, &mut **ghosts)?,
            };
            *current = (*current + turned) % 2;
            Ok(())
        })
    }

    fn read(&mut self, _: usize, state: State, region: Region) -> Result<Values, Error> {
        match state {
            State::Loaded => self.saved.read(&*self.device, region),
            State::Now => self.planes[self.current].read(&*self.device, region),
        }
    }

    fn capture(&mut self, _: usize, view: &View) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        self.look.capture(&*self.device, &self.planes[self.current], view)
    }

    fn knows_finite(&mut self) -> Result<bool, Error> {
        self.look.knows_finite(&*self.device, &self.planes[self.current])
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let Self { planes, current, device, .. } = self;
        Plane::time_copies(&**device, [&planes[*current], &planes[1 - *current]], count)
    }
}

impl SumSession for OnGpu {
    fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    fn seams(&self) -> Seams {
        let parts = self.advances.iter().flat_map(|advance| &advance.parts);
        parts.fold(Seams::none(), |seams, part| seams.and(&part.pass.seams()))
    }

    fn chain(&self) -> usize {
        self.chain
    }

    fn kernel(&self) -> Option<String> {
        self.kernel.clone()
    }

    fn sweeps(&self, steps: usize) -> usize {
        super::launches(self.advances.iter().map(|advance| advance.steps), steps)
    }

    fn load_array(&mut self, input: &DeviceArray) -> Result<bool, Error> {
        // What jumps have to know of the input is found out in this machine's memory.
        if self.rounding.counts || !self.saved.take(&*self.device, input)? {
            return Ok(false);
        }
        self.planes[1].poison(&*self.device)?;
        self.restart()?;
        Ok(true)
    }

    fn store_on_device(&mut self) -> Result<Option<DeviceGrid>, Error> {
        self.planes[self.current].give(&*self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn check(size: &str, dtype: Dtype, total: u64) -> Result<(), Error> {
        check_memory(total, size.parse().unwrap(), dtype)
    }

    #[test]
    fn three_planes_with_their_halos_are_what_a_grid_needs() {
        // 16384² points of 4 bytes are 1 GiB; their halos take a little more.
        let error = check("16384x16384", Dtype::F32, 3 * GIB).unwrap_err();
        let reason =
            "3 grids of 16384x16384 f32 values need 3.0 GiB of GPU memory; the GPU has 3.0 GiB";
        assert_eq!(error.to_string(), reason);
        assert!(check("16384x16384", Dtype::F32, 3 * GIB + GIB / 16).is_ok());
        assert!(check("16384x16384", Dtype::F16, 2 * GIB).is_ok());
        let elements = layout("100x200".parse().unwrap()).elements() as u64;
        assert!(check("100x200", Dtype::F64, 24 * elements).is_ok());
        assert!(check("100x200", Dtype::F64, 24 * elements - 1).is_err());
    }

    #[test]
    fn grids_beyond_any_memory_are_refused() {
        // With their halos, more elements than 64 bits count.
        for size in ["1073741824x536870912x1", "1x536870912x1073741824", "1073741824x1x536870912"] {
            let error = check(size, Dtype::F64, 141 * GIB).unwrap_err();
            let reason = "values need 12.0 EiB of GPU memory; the GPU has 141.0 GiB";
            assert!(error.to_string().ends_with(reason), "{error}");
            assert_eq!(error.kind(), problem::ErrorKind::Memory);
        }
        assert!(check_extents("cuda", "1073741825".parse().unwrap()).is_err());
    }
}
