// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a way to compute a job is none.

use super::Family;
use cuda_mma::fragment::Element;
use problem::error::UnsupportedRequest;
use problem::memory::Bytes;
use problem::{Error, Job};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::fmt;
use thiserror::Error;

/// Why an engine, or a family of its kernels at some depths, does not compute a job. Serialised as `kind`,
/// which programs may rely on, and `reason`.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refusal {
    /// Not of this element type.
    #[error("{0}")]
    Type(String),
    /// Not in so many dimensions.
    #[error("{0}")]
    Dims(String),
    /// The weights reach too far, or do not fit the layout.
    #[error("{0}")]
    Stencil(String),
    /// So many steps have no sum.
    #[error("{0}")]
    Fuse(String),
    /// No kernel chains so many sweeps.
    #[error("{0}")]
    Chain(String),
    /// Several steps at once were asked of an engine that takes one.
    #[error("{}", UnsupportedRequest::Depths)]
    OneStep,
    /// Jumps were asked of an engine that makes none.
    #[error("{}", UnsupportedRequest::Jump)]
    Jump,
    /// A family was asked for that is another engine's.
    #[error("{}", UnsupportedRequest::Family)]
    Family,
    /// The family is for those who ask for it.
    #[error("{0} is taken only if it is asked for by name")]
    OnlyIfAsked(&'static str),
    /// Another kernel is faster than this one can be; seconds of a step.
    #[error("not laid out: it needs at least {least:.2e} s a step, another kernel {other:.2e} s")]
    Slower {
        /// What it takes at least.
        least: f64,
        /// What the other takes.
        other: f64,
    },
    /// The chip is too old for the kernel.
    #[error("the kernel for it needs sm_90 or later")]
    Chip,
    /// A block needs more shared memory than a multiprocessor has.
    #[error(
        "a block of the kernel for it needs {} of shared memory; the GPU has {}",
        Bytes((*.needed).into()),
        Bytes((*.has).into())
    )]
    SharedMemory {
        /// Bytes of a block.
        needed: u32,
        /// Bytes that a block can have.
        has: u32,
    },
    /// The kernel does not take the extents of the grid.
    #[error("{0}")]
    Grid(String),
    /// The equations of a system, or what else it has, are none that the family takes.
    #[error("{0}")]
    System(String),
    /// A run is too short for it.
    #[error("{0}")]
    Short(String),
    /// The points near the boundary cannot be computed again.
    #[error("{0}")]
    Boundary(String),
    /// The grids do not fit the GPU.
    #[error("{what} need {need} of GPU memory; the GPU has {total}")]
    Memory {
        /// What does not fit, in the plural.
        what: String,
        /// What they need.
        need: Bytes,
        /// What the GPU has in all.
        total: Bytes,
    },
    /// The grids do not fit this machine's own memory.
    #[error("{0}")]
    HostMemory(String),
    /// This machine has no driver.
    #[error("{0}")]
    NoDriver(String),
    /// This machine has no GPU that kernels are made for.
    #[error("{0}")]
    NoGpu(String),
    /// This program has no kernels for the GPU.
    #[error("{0}")]
    NoKernels(String),
    /// The driver failed.
    #[error("{0}")]
    Driver(String),
}

impl Refusal {
    /// The kind, of a fixed list (`docs/decisions/0017-planner.md`).
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Type(_) => "type",
            Self::Dims(_) => "dims",
            Self::Stencil(_) => "stencil",
            Self::Fuse(_) => "fuse",
            Self::Chain(_) => "chain",
            Self::OneStep => "one-step",
            Self::Jump => "jump",
            Self::Family => "family",
            Self::OnlyIfAsked(_) => "only-if-asked",
            Self::Slower { .. } => "slower",
            Self::Chip => "chip",
            Self::SharedMemory { .. } => "shared-memory",
            Self::Grid(_) => "grid",
            Self::System(_) => "system",
            Self::Short(_) => "short",
            Self::Boundary(_) => "boundary",
            Self::Memory { .. } => "memory",
            Self::HostMemory(_) => "host-memory",
            Self::NoDriver(_) => "no-driver",
            Self::NoGpu(_) => "no-gpu",
            Self::NoKernels(_) => "no-kernels",
            Self::Driver(_) => "driver",
        }
    }

    /// How many questions the kernel had answered: the more, the nearer it was to being taken.
    fn passed(&self) -> usize {
        match self {
            Self::Slower { .. } => 1,
            Self::Chip => 2,
            Self::SharedMemory { .. } => 3,
            Self::Grid(_) => 4,
            Self::Boundary(_) => 5,
            _ => 0,
        }
    }

    /// Of refusals with the steps of a launch, of those with the fewest steps the one that was nearest to
    /// being taken; of equals the last, because the family that comes last takes the most stencils.
    pub fn nearest<'a>(
        refused: impl Iterator<Item = (usize, &'a Self)> + Clone,
    ) -> Option<&'a Self> {
        let least = refused.clone().map(|(steps, _)| steps).min()?;
        let simplest = refused.filter(|(steps, _)| *steps == least);
        simplest.map(|(_, refusal)| refusal).max_by_key(|refusal| refusal.passed())
    }

    /// The refusal for an error: of a grid or of its memory, or of a machine without a usable GPU.
    #[must_use]
    pub fn of(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Unsupported { reason, .. } => Self::Grid(reason),
            Error::GpuMemory { what, need, total } => Self::Memory { what, need, total },
            Error::NoDriver { .. } => Self::NoDriver(text),
            Error::NoGpu { .. } => Self::NoGpu(text),
            Error::NoDeviceCode { .. } | Error::Chip { .. } => Self::NoKernels(text),
            _ => Self::Driver(text),
        }
    }

    /// Checks that a family is for stencils of as many axes as a job's.
    ///
    /// # Errors
    /// [`Refusal::Dims`].
    pub(crate) fn check_dims(family: &dyn Family, job: &Job) -> Result<(), Self> {
        let (dims, takes) = (job.stencil.dims(), family.dims());
        if takes.contains(&dims) {
            return Ok(());
        }
        let reason = format!("{family} is for {}D stencils; this one has {dims}", takes.end());
        Err(Self::Dims(reason))
    }

    /// Checks that kernels of sums know what lies beyond all sides of a job.
    ///
    /// # Errors
    /// [`Refusal::Boundary`].
    pub(crate) fn check_sides(job: &Job) -> Result<(), Self> {
        job.boundary.check_plain().map_err(|side| {
            Self::Boundary(format!(
                "it takes no side with {side}: values beyond it are not those of the grid; --engine cpu does, and so do systems \
                 of fields on every engine but fft"
            ))
        })
    }

    /// A stencil that a family has no layout for.
    pub(super) fn no_layout(reason: impl fmt::Display) -> Self {
        Self::Stencil(reason.to_string())
    }

    /// A type that a family has no kernel for.
    pub(super) fn no_kernel(family: &dyn Family, element: Element) -> Self {
        Self::Type(format!("{family} has no kernel for {element}"))
    }

    /// The error of whoever asked for this engine.
    #[must_use]
    pub fn error(&self, engine: &'static str) -> Error {
        match self.clone() {
            Self::Memory { what, need, total } => Error::GpuMemory { what, need, total },
            Self::OneStep => Error::Asked { engine, asked: UnsupportedRequest::Depths },
            Self::Jump => Error::Asked { engine, asked: UnsupportedRequest::Jump },
            Self::Family => Error::Asked { engine, asked: UnsupportedRequest::Family },
            other => Error::Unsupported { engine, reason: other.to_string() },
        }
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Refusal", 2)?;
        fields.serialize_field("kind", self.kind())?;
        fields.serialize_field("reason", &self.to_string())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_to_fitting_of_the_fewest_steps_counts() {
        let all = [
            (2, Refusal::Boundary("far".into())),
            (1, Refusal::Type("first".into())),
            (1, Refusal::Chip),
            (1, Refusal::Stencil("last".into())),
        ];
        let nearest = |from: usize| {
            Refusal::nearest(all[from..].iter().map(|(steps, refusal)| (*steps, refusal)))
        };
        assert_eq!(nearest(0), Some(&Refusal::Chip));
        assert_eq!(nearest(3), Some(&all[3].1));
        assert_eq!(nearest(4), None);
    }

    #[test]
    fn programs_get_a_kind_and_people_a_reason() {
        let [need, total] = [2, 1].map(|gib| Bytes(gib << 30));
        let short = || Error::GpuMemory { what: "grids".into(), need, total };
        let refusal = Refusal::of(short());
        let json = serde_json::to_value(&refusal).unwrap();
        assert_eq!(json["kind"], "memory");
        assert_eq!(json["reason"], short().to_string());
        assert_eq!(refusal.error("sparse").kind(), short().kind());
        let no_driver = Refusal::of(Error::NoDriver { reason: "not found".into() });
        assert_eq!(no_driver.kind(), "no-driver");
    }
}
