// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every rank is told before it begins, as a message.

use super::part::RankPart;
use super::partition::Partition;
use crate::engine::fft;
use crate::families::{self, Proposal};
use problem::boundary::Side;
use problem::{Boundary, Depth, Dtype, Error, Job, Shape};
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};
use transform::{Stencil, Tap};

/// What is computed, how it is shared, and with what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    stencil: String,
    taps: Vec<([i32; 3], f64)>,
    /// As many as the grid has axes.
    extents: Vec<usize>,
    dtype: String,
    boundary: String,
    steps: usize,
    /// Steps of a tile at once, on the CPU, if that is asked for.
    chain: Option<usize>,
    counts: [usize; 3],
    /// Cuts and the ends of ghosts lie at multiples of these.
    pub units: [usize; 3],
    /// Steps between two exchanges of ghosts.
    pub period: usize,
    /// Whether devices compute edges by themselves, so that they are sent while the rest is computed.
    pub edges: bool,
    /// What each rank computes with.
    pub with: RankEngine,
}

/// What each rank computes with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankEngine {
    /// Its share of this machine's cores.
    Cpu,
    /// Fourier transforms on them.
    Fft,
    /// An emulated GPU of its own.
    Emulated(GpuStepping),
    /// A GPU of its own.
    Gpu {
        /// What takes steps there.
        by: GpuStepping,
        /// Each rank's number of its GPU; none where each takes the one of its number on its machine.
        devices: Option<Vec<usize>>,
        /// What carries ghosts from GPU to GPU.
        carrier: Carrier,
    },
}

/// What takes steps on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GpuStepping {
    /// Launches as planned for the whole grid.
    Launches(Vec<Launched>),
    /// Jumps, of as many steps as ghosts are good for.
    Jumps,
}

impl RankEngine {
    /// Whether steps are taken by jumps.
    #[must_use]
    pub fn jumps(&self) -> bool {
        matches!(
            self,
            Self::Fft
                | Self::Emulated(GpuStepping::Jumps)
                | Self::Gpu { by: GpuStepping::Jumps, .. }
        )
    }
}

/// What carries ghosts from one GPU to another.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum Carrier {
    /// Copies within a process, NCCL between processes, and this machine's memory where there is neither
    #[default]
    Auto,
    /// Copies from one GPU's memory to the other's, within a process
    Peer,
    /// NCCL, which is loaded when it is asked for
    Nccl,
    /// Messages through this machine's memory
    Host,
}

/// A launch as it was planned, for each rank to propose again for its part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    /// The family's name.
    pub family: String,
    /// Steps in one sum.
    pub fuse: usize,
    /// Such sums in a launch.
    pub chain: usize,
    /// The kernel that the whole grid would be given.
    pub kernel: String,
    /// As of [`Proposal::rim_steps`], of the whole grid.
    pub rim_steps: usize,
}

impl Launched {
    /// What was proposed for the whole grid.
    #[must_use]
    pub fn new(proposal: &Proposal, whole: &Job) -> Self {
        let &Proposal { family, fuse, chain, ref kernel } = proposal;
        let (family, kernel) = (family.name().to_owned(), kernel.name.clone());
        Self { family, fuse, chain, kernel, rim_steps: proposal.rim_steps(whole) }
    }

    /// The family.
    ///
    /// # Errors
    /// This program has no such family.
    pub fn family(&self) -> Result<&'static dyn families::Family, Error> {
        families::find(&self.family).map_err(|_| damaged())
    }
}

/// What cannot be, since all ranks run the same program.
fn damaged() -> Error {
    Error::Ranks {
        rank: 0,
        what: "message",
        found: "damaged".into(),
        expected: "a whole one".into(),
    }
}

impl Setup {
    /// A job that is shared like this.
    #[must_use]
    pub fn new(
        job: &Job,
        partition: &Partition,
        units: [usize; 3],
        period: usize,
        with: RankEngine,
    ) -> Self {
        let stencil = &job.stencil;
        let chain = match job.chain {
            Depth::Steps(depth) => Some(depth),
            Depth::Auto => None,
        };
        Self {
            stencil: stencil.name().to_owned(),
            taps: stencil.taps().iter().map(|tap| (tap.offset, tap.weight)).collect(),
            extents: job.shape.axes().to_vec(),
            dtype: job.dtype.to_string(),
            boundary: job.boundary.describe(job.shape.dims()),
            steps: job.steps,
            chain,
            counts: partition.counts(),
            units,
            period,
            edges: false,
            with,
        }
    }

    /// Sets whether edges are computed by themselves.
    #[must_use]
    pub fn with_edges(self, edges: bool) -> Self {
        Self { edges, ..self }
    }

    /// What is computed.
    ///
    /// # Errors
    /// The message is damaged.
    pub fn job(&self) -> Result<Job, Error> {
        let tap = |&(offset, weight): &([i32; 3], f64)| Tap { offset, weight };
        let taps = self.taps.iter().map(tap).collect();
        let stencil = Stencil::new(&self.stencil, self.extents.len(), taps);
        let dtype: Dtype = self.dtype.parse().map_err(|_| damaged())?;
        let shape = Shape::new(&self.extents)?;
        let mut job = Job::new(stencil.map_err(|_| damaged())?, shape, dtype, self.steps);
        job.boundary = Boundary::parse(&self.boundary, shape.dims())?;
        job.chain = self.chain.map_or(Depth::Auto, Depth::Steps);
        Ok(job)
    }

    /// How the grid is shared.
    ///
    /// # Errors
    /// The message is damaged.
    pub fn partition(&self) -> Result<Partition, Error> {
        Partition::new(Shape::new(&self.extents)?, self.counts, self.units)
    }

    /// Everybody's parts.
    ///
    /// # Errors
    /// The message is damaged.
    pub fn parts(&self) -> Result<Vec<RankPart>, Error> {
        let (job, partition) = (self.job()?, self.partition()?);
        let reach = match self.with.jumps() {
            true => fft::reach(&job, self.period),
            false => job.stencil.radii().map(|radius| radius * self.period),
        };
        let part = |rank| RankPart::new(&partition, rank, &job.boundary, reach, self.units);
        Ok((0..partition.ranks()).map(part).collect())
    }

    /// The axes (0, 1, 2 for z, y, x) for whose sake last digits may differ from those of one device.
    ///
    /// Of an axis that is cut, whose ends meet and which is no whole number of tiles, copies beyond the ends lie elsewhere
    /// in tiles, where a product may sum in another order. Own points read what a launch makes of such copies only where
    /// there are several launches between two exchanges: each launch computes points that steps reach from where the ends
    /// meet as one device does near its sides.
    ///
    /// # Errors
    /// The message is damaged.
    pub fn rounds_otherwise(&self) -> Result<Vec<usize>, Error> {
        let launch = match &self.with {
            RankEngine::Emulated(GpuStepping::Launches(all))
            | RankEngine::Gpu { by: GpuStepping::Launches(all), .. } => {
                all.iter().map(|one| one.fuse * one.chain).max().unwrap_or(1)
            }
            _ => return Ok(Vec::new()),
        };
        let (job, partition) = (self.job()?, self.partition()?);
        let is_ring = |axis: usize| job.boundary.sides[axis][0] == Side::Periodic;
        let extents = job.shape.extents();
        let shifts = |&axis: &usize| {
            let is_cut = partition.counts()[axis] > 1;
            is_cut && is_ring(axis) && !extents[axis].is_multiple_of(self.units[axis])
        };
        Ok((0..3).filter(shifts).filter(|_| self.period > launch).collect())
    }

    /// For a message.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("words and numbers")
    }

    /// From a message.
    ///
    /// # Errors
    /// It is damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes).map_err(|_| damaged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    #[test]
    fn a_job_comes_back_as_it_was_sent() {
        let mut job = Job::new(
            catalogue::find("box2d2r").unwrap(),
            "33x1000".parse().unwrap(),
            Dtype::Bf16,
            77,
        );
        job.boundary = Boundary::parse("x:periodic,y-:constant=0.1,y+:flux=-1e-30", 2).unwrap();
        job.chain = Depth::Steps(3);
        let partition = Partition::new(job.shape, [1, 3, 2], [1; 3]).unwrap();
        let setup = Setup::new(&job, &partition, [1; 3], 4, RankEngine::Cpu);
        let read = Setup::read(&setup.write()).unwrap();
        assert_eq!(read.job().unwrap(), job);
        assert_eq!(read.partition().unwrap(), partition);
        assert_eq!(read.parts().unwrap().len(), 6);
    }

    /// Only of a periodic axis that is cut and no whole number of tiles, where several launches share an exchange.
    #[test]
    fn ghosts_elsewhere_in_tiles_round_otherwise() {
        let star = catalogue::find("star2d1r").unwrap();
        let launched = Launched {
            family: "sweep2d".into(),
            fuse: 2,
            chain: 3,
            kernel: String::new(),
            rim_steps: 6,
        };
        let on_a_gpu = RankEngine::Emulated(GpuStepping::Launches(vec![launched]));
        let axes = |size: &str, boundary: &str, counts, (units, period), with: &RankEngine| {
            let mut job = Job::new(star.clone(), size.parse().unwrap(), Dtype::F16, 20);
            job.boundary = Boundary::parse(boundary, 2).unwrap();
            let partition = Partition::new(job.shape, counts, units).unwrap();
            Setup::new(&job, &partition, units, period, with.clone()).rounds_otherwise().unwrap()
        };
        let (tiles, none): (_, [usize; 0]) = ([1, 16, 64], []);
        assert_eq!(axes("50x130", "periodic", [1, 2, 2], (tiles, 12), &on_a_gpu), [1, 2]);
        assert_eq!(axes("48x130", "periodic", [1, 2, 2], (tiles, 12), &on_a_gpu), [2]);
        assert_eq!(axes("50x130", "periodic", [1, 2, 1], (tiles, 12), &on_a_gpu), [1]);
        assert_eq!(axes("50x130", "x:periodic", [1, 2, 1], (tiles, 12), &on_a_gpu), none);
        assert_eq!(axes("50x130", "periodic", [1, 2, 2], (tiles, 6), &on_a_gpu), none);
        assert_eq!(axes("50x130", "periodic", [1, 2, 2], ([1; 3], 12), &RankEngine::Cpu), none);
    }
}
