// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch: how many time steps it takes, what it costs, and the points near the boundary that it leaves.

use super::cost::{Cost, RimCost};
use super::rim::{self, SharedBudget};
use super::{Family, Pass, Refusal, Spread};
use crate::device::{Chip, Device, Limits};
use cuda_mma::fragment::Element;
use problem::boundary::Side;
use problem::region::Region;
use problem::{Arithmetic, Error, Job};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use transform::Stencil;
use transform::factors::Factors;

/// What is asked of a family: to advance a job's grid by `fuse` × `chain` time steps in a launch.
#[derive(Clone, Copy)]
pub struct LaunchRequest<'a> {
    /// What is to be computed.
    pub job: &'a Job,
    /// The stencil of `fuse` time steps, its weights rounded to the job's type.
    pub fused: &'a Stencil,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums in a row, on chip.
    pub chain: usize,
    /// What the GPU lets a launch take.
    pub limits: Limits,
}

impl LaunchRequest<'_> {
    /// Extents (z, y, x) of the grid, which launches can address.
    #[must_use]
    pub fn extents(&self) -> [u32; 3] {
        self.job.shape.extents().map(|extent| extent as u32)
    }

    /// What tensor cores multiply for the job's type.
    ///
    /// # Errors
    /// [`Refusal::Type`].
    pub fn factors(&self, family: &dyn Family) -> Result<Factors, Refusal> {
        let dtype = self.job.dtype;
        let reason =
            || Refusal::Type(format!("{family} multiplies f16, bf16, tf32 or f32, not {dtype}"));
        dtype.factors().ok_or_else(reason)
    }

    /// What tensor cores multiply for the job's type, if it takes one product for each value.
    ///
    /// # Errors
    /// [`Refusal::Type`].
    pub fn element(&self, family: &dyn Family) -> Result<Element, Refusal> {
        let dtype = self.job.dtype;
        let reason =
            || Refusal::Type(format!("{family} multiplies f16, bf16 or tf32, not {dtype}"));
        dtype.factors().and_then(Factors::element).ok_or_else(reason)
    }

    /// That nothing chains so many sweeps of the stencil.
    pub(super) fn no_chain(&self) -> Refusal {
        let Self { chain, fused, job, .. } = self;
        let (radius, dims, dtype) = (fused.radius(), fused.dims(), job.dtype);
        let reason =
            format!("no kernel chains {chain} sweeps of radius {radius} in {dims}D and {dtype}");
        Refusal::Chain(reason)
    }
}

/// Uploads a kernel's operand to a device.
type Prepare = dyn Fn(&dyn Device) -> Result<Box<dyn Pass>, Error> + Send + Sync;

/// Which values around the grid a kernel gets right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaloSupport {
    /// Zeros, in the first time step of a launch: they lie in memory.
    FirstZeros,
    /// Zeros, in every time step.
    Zeros,
    /// All that there are.
    All,
}

/// A family's kernel for a stencil on a grid.
#[derive(Clone)]
pub struct FamilyKernel {
    /// Its name in `kernels_gpu`.
    pub name: String,
    /// What is calibrated together; the name, unless a kernel is driven by a table.
    pub class: String,
    /// What an output takes, where a table says so ([`Cost::work`]).
    pub work: f64,
    /// The least chip that it is built for.
    pub chip: Chip,
    /// The least dynamic shared memory that a block takes, in bytes.
    pub shared_bytes: u32,
    /// What it knows of the boundary.
    pub around: HaloSupport,
    /// Where the rim is to run beside it: blocks that a multiprocessor has of it meanwhile.
    pub beside: Option<u32>,
    /// Whether one launch may take many turns, if there is no rim.
    pub takes_many: bool,
    /// Why it does not take the extents of the grid, if so.
    pub grid: Option<String>,
    pub(super) prepare: Arc<Prepare>,
}

impl FamilyKernel {
    /// A kernel for any chip that needs no shared memory and knows of zeros around the grid; the other fields are
    /// to be set where it differs.
    pub fn new<P: Pass + 'static>(
        name: impl Into<String>,
        prepare: impl Fn(&dyn Device) -> Result<P, Error> + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        let prepare = move |device: &dyn Device| Ok(Box::new(prepare(device)?) as Box<dyn Pass>);
        Self {
            class: name.clone(),
            name,
            work: 0.0,
            chip: Chip::Sm80,
            shared_bytes: 0,
            around: HaloSupport::FirstZeros,
            beside: None,
            takes_many: false,
            grid: None,
            prepare: Arc::new(prepare),
        }
    }

    /// The steps whose values around the grid it gets wrong, of so many; one where there are none.
    fn rim_steps(&self, job: &Job, steps: usize) -> usize {
        match self.around {
            HaloSupport::Zeros if job.boundary.is_zero() => 1,
            _ => steps,
        }
    }

    /// Where the points that it gets wrong are computed.
    fn budget(&self, most_bytes: u32) -> SharedBudget {
        match self.beside {
            Some(blocks) => SharedBudget::beside(most_bytes, blocks, self.shared_bytes),
            None => SharedBudget::after(most_bytes),
        }
    }
}

impl fmt::Debug for FamilyKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A launch of an advance.
pub struct AdvanceLaunch {
    /// What computes.
    pub pass: Rc<dyn Pass>,
    /// The points that are its to compute. The rim, which comes second, is told the whole grid: it knows which points
    /// the first part has left.
    pub region: Region,
}

/// A family's way to advance a job's grid by one launch.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The family.
    pub family: &'static dyn Family,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums in a row, on chip.
    pub chain: usize,
    /// What computes them.
    pub kernel: FamilyKernel,
}

impl PartialEq for Proposal {
    fn eq(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.family.name(), one.fuse, one.chain, one.kernel.name.clone());
        key(self) == key(other)
    }
}

impl Proposal {
    /// What a family proposes for a job.
    ///
    /// # Errors
    /// It does not take the job.
    pub fn new(family: &'static dyn Family, asked: &LaunchRequest) -> Result<Self, Refusal> {
        let &LaunchRequest { job, fuse, chain, limits, .. } = asked;
        Refusal::check_dims(family, job)?;
        Refusal::check_sides(job)?;
        let kernel = family.propose(asked)?;
        if limits.chip == Chip::Sm80 && kernel.chip != Chip::Sm80 {
            return Err(Refusal::Chip);
        }
        if kernel.shared_bytes > limits.shared_bytes {
            let (needed, has) = (kernel.shared_bytes, limits.shared_bytes);
            return Err(Refusal::SharedMemory { needed, has });
        }
        if let Some(reason) = &kernel.grid {
            return Err(Refusal::Grid(reason.clone()));
        }
        let proposal = Self { family, fuse, chain, kernel };
        if proposal.kernel.around != HaloSupport::All {
            let (steps, budget) =
                (proposal.rim_steps(job), proposal.kernel.budget(limits.shared_bytes));
            let stencil = job.dtype.round_weights(&job.stencil);
            let around = rim::GridSurroundings::whole(&job.boundary);
            rim::RimPlan::check(&stencil, around, job.shape, job.dtype, steps, budget)
                .map_err(Refusal::Boundary)?;
        }
        Ok(proposal)
    }

    /// Time steps of a launch.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.fuse * self.chain
    }

    /// What rounding it does.
    #[must_use]
    pub fn arithmetic(&self, job: &Job) -> Arithmetic {
        self.family.arithmetic(job.dtype, self.fuse)
    }

    /// What rounding does in a launch besides that, if it computes by Fourier transforms.
    #[must_use]
    pub fn spread(&self, job: &Job) -> Option<Spread> {
        self.family.spread(job, self.fuse)
    }

    /// Time steps of which points near the boundary must be computed again; one where there are none.
    #[must_use]
    pub fn rim_steps(&self, job: &Job) -> usize {
        self.kernel.rim_steps(job, self.steps())
    }

    /// Points that are computed again.
    fn rim_points(&self, job: &Job) -> usize {
        if self.kernel.around == HaloSupport::All {
            0
        } else {
            rim_points(job, self.rim_steps(job))
        }
    }

    /// The launches on a device: that of the kernel, and one for what it cannot know of the boundary.
    ///
    /// # Errors
    /// The device refuses.
    pub fn parts(&self, device: &dyn Device, job: &Job) -> Result<Vec<AdvanceLaunch>, Error> {
        self.parts_near(
            device,
            job,
            rim::GridSurroundings::whole(&job.boundary),
            self.rim_steps(job),
        )
    }

    /// The launches on a device for a grid that is a part of a larger one: the launch of the kernel, and one for the
    /// points near the sides that `steps` steps get wrong.
    ///
    /// # Errors
    /// The device refuses.
    pub fn parts_near(
        &self,
        device: &dyn Device,
        job: &Job,
        around: rim::GridSurroundings,
        steps: usize,
    ) -> Result<Vec<AdvanceLaunch>, Error> {
        let Job { shape, dtype, .. } = job;
        let rim = match self.kernel.around {
            HaloSupport::All => None,
            _ => {
                let stencil = dtype.round_weights(&job.stencil);
                let budget = self.kernel.budget(device.shared_bytes());
                rim::RimPlan::new(&stencil, around, *shape, *dtype, steps, budget).map_err(
                    |reason| Error::Unsupported { engine: self.family.unit().engine(), reason },
                )?
            }
        };
        let kernel: Rc<dyn Pass> = (self.kernel.prepare)(device)?.into();
        let whole = Region::whole(*shape);
        let Some(rim) = rim else { return Ok(vec![AdvanceLaunch { pass: kernel, region: whole }]) };
        let part = |region| AdvanceLaunch { pass: Rc::clone(&kernel), region };
        let inner: Vec<AdvanceLaunch> = rim.left().into_iter().map(part).collect();
        let rim = Rc::new(rim::Rim::new(device, rim, *shape, *dtype)?);
        Ok(inner.into_iter().chain([AdvanceLaunch { pass: rim, region: whole }]).collect())
    }

    /// What an advance takes.
    #[must_use]
    pub fn cost(&self, job: &Job) -> Cost {
        let near = self.rim_points(job);
        let many = near == 0 && self.kernel.takes_many;
        let kernel = &self.kernel;
        Cost {
            kernel: kernel.name.clone(),
            class: kernel.class.clone() + if many { "_many" } else { "" },
            work: kernel.work,
            launches: match near {
                _ if many => 0.0,
                0 => 1.0,
                _ => 2.0,
            },
            rim: (near > 0).then(|| self.rim(job, near)),
            ..Cost::of(job, self.steps())
        }
    }

    /// What computing so many points near the boundary again takes.
    fn rim(&self, job: &Job, points: usize) -> RimCost {
        let steps = self.rim_steps(job);
        let (kernel, tabled_box) = rim::RimPlan::kernel_for(&job.stencil, job.dtype);
        RimCost {
            kernel: kernel.name.into(),
            tabled_box,
            steps,
            multiply_adds: (points * steps * job.stencil.taps().len()) as f64,
            beside: self.kernel.beside.is_some(),
        }
    }
}

/// How near to the boundary, on each axis (z, y, x), points must be computed again after a launch of
/// so many steps. Zeros lie around the grid in memory, so the first step is right there.
fn rim_depths(job: &Job, steps: usize) -> [usize; 3] {
    let wrong = if job.boundary.is_zero() { steps - 1 } else { steps };
    job.stencil.radii().map(|radius| radius * wrong)
}

/// Points nearer to the boundary than what so many steps get wrong. Beyond open sides there is more of a larger grid, and
/// nobody wants what is wrong there.
fn rim_points(job: &Job, steps: usize) -> usize {
    let depths = rim_depths(job, steps);
    let inner = (0..3).map(|axis| {
        let sides = job.boundary.sides[axis].iter().filter(|side| **side != Side::Open).count();
        job.shape.extents()[axis].saturating_sub(sides * depths[axis])
    });
    job.shape.points() - inner.product::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::{Boundary, Dtype};
    use transform::catalogue;

    #[test]
    fn the_rim_is_as_deep_as_wrong_values_reach() {
        let stencil = catalogue::find("box2d3r").unwrap();
        let mut job = Job::new(stencil, "100x200".parse().unwrap(), Dtype::F16, 4);
        assert_eq!(rim_depths(&job, 4), [0, 9, 9]);
        assert_eq!(rim_points(&job, 1), 0);
        job.boundary = Boundary::parse("periodic", 2).unwrap();
        assert_eq!(rim_depths(&job, 4), [0, 12, 12]);
        assert_eq!(rim_points(&job, 1), 100 * 200 - 94 * 194);
        assert_eq!(rim_points(&job, 40), 100 * 200);
        job.boundary.sides[1] = [Side::Open; 2];
        assert_eq!(rim_points(&job, 1), 100 * 6);
    }
}
