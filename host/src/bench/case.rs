// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured: one workload, grid, element type and way through time.

use std::fmt;

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};
use transform::catalogue;

use super::Workload;
use compute::engine::EngineRequest;
use problem::names::{self, UnknownName};
use problem::{Depth, Dtype, Job, Shape};

/// How time steps are taken.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(
    serialize_all = "lowercase",
    parse_err_ty = UnknownName,
    parse_err_fn = names::unknown::<DepthMode>
)]
pub enum DepthMode {
    /// One time step in each sweep through memory
    Step,
    /// Several steps as one sum, as many as the engine finds fastest
    Fused,
    /// Several sweeps chained on chip, as many as the engine finds fastest
    Chained,
    /// Fused or chained or both, as the engine finds fastest
    Auto,
}

impl DepthMode {
    /// All of them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Time steps to take as one sum, and such sums to chain.
    #[must_use]
    pub fn depths(self) -> (Depth, Depth) {
        let one = Depth::Steps(1);
        match self {
            Self::Step => (one, one),
            Self::Fused => (Depth::Auto, one),
            Self::Chained => (one, Depth::Auto),
            Self::Auto => (Depth::Auto, Depth::Auto),
        }
    }
}

/// One measurement to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchCase {
    /// Stencil or system.
    pub workload: &'static Workload,
    /// Grid; as many axes as the stencil.
    pub shape: Shape,
    /// Element type.
    pub dtype: Dtype,
    /// How time steps are taken.
    pub mode: DepthMode,
    /// How many; at least 1.
    pub steps: usize,
    /// What computes, where engines are measured side by side; else the one of all [`super::Results`].
    pub engine: Option<EngineRequest>,
}

impl BenchCase {
    /// Whether it is the same computation, but for how time steps are taken.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        Self { mode: other.mode, ..self.clone() } == *other
    }

    /// Whether it is the same computation, but for what computes.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        Self { engine: other.engine, ..self.clone() } == *other
    }

    /// Copies of this case, one for each of some engines.
    pub fn on_each(self, engines: &[EngineRequest]) -> impl Iterator<Item = Self> {
        engines.iter().map(move |engine| Self { engine: Some(*engine), ..self.clone() })
    }

    /// The computation of a stencil; the boundary is zero, as in the papers.
    ///
    /// # Panics
    /// Of a system.
    #[must_use]
    pub fn job(&self) -> Job {
        let stencil = catalogue::find(self.workload.stencil).expect("a stencil");
        let &Self { shape, dtype, steps, .. } = self;
        let (fuse, chain) = self.mode.depths();
        Job { fuse, chain, ..Job::new(stencil, shape, dtype, steps) }
    }
}

impl fmt::Display for BenchCase {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { shape, dtype, mode, .. } = self;
        write!(f, "{} {shape} {dtype} {mode}", self.workload.stencil)?;
        match self.engine {
            Some(engine) => write!(f, " on {engine}"),
            None => Ok(()),
        }
    }
}

/// Every workload on each of its grids, in every element type and mode.
#[must_use]
pub fn cases(quick: bool, steps: Option<usize>) -> Vec<BenchCase> {
    let mut cases = Vec::new();
    for workload in Workload::all() {
        let steps = steps.unwrap_or(workload.steps(quick));
        for extents in workload.sizes(quick) {
            let shape = Shape::new(extents).expect("a workload's grid");
            for &dtype in Dtype::ALL {
                for &mode in DepthMode::ALL {
                    let engine = None;
                    cases.push(BenchCase { workload, shape, dtype, mode, steps, engine });
                }
            }
        }
    }
    cases
}

/// What the user wants of the cases; an empty list means all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Workloads.
    pub workloads: Vec<&'static Workload>,
    /// Element types.
    pub dtypes: Vec<Dtype>,
    /// Modes.
    pub modes: Vec<DepthMode>,
    /// Most points of a grid.
    pub size_limit: Option<usize>,
}

impl Selection {
    /// Whether a case is among those that are wanted.
    #[must_use]
    pub fn takes(&self, case: &BenchCase) -> bool {
        fn any<T: PartialEq>(wanted: &[T], value: &T) -> bool {
            wanted.is_empty() || wanted.contains(value)
        }
        any(&self.workloads, &case.workload)
            && any(&self.dtypes, &case.dtype)
            && any(&self.modes, &case.mode)
            && self.size_limit.is_none_or(|limit| case.shape.points() <= limit)
    }
}
