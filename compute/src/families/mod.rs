// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel families: each file prepares the kernels of one family of `kernels_gpu` for a stencil on a grid, says
//! which stencils it takes, and what a launch costs. [`FAMILIES`] lists them; the planner, the engines, the
//! conformance suite and the benchmarks loop over it.
//!
//! To add one: a file here, a line in [`FAMILIES`] (`CONTRIBUTING.md`).

use kernels_gpu::product::Form;
use problem::names::UnknownName;
use problem::{Arithmetic, Dtype, Job};
use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::RangeInclusive;

mod boxes;
pub mod chain2d;
pub mod chain3d;
mod convstencil;
pub mod cost;
mod dense_f64;
pub mod direct;
pub mod domain;
mod flashfft;
pub mod gather;
pub mod line1d;
mod naive2d;
mod occupancy;
pub mod pass;
pub mod proposal;
pub mod refusal;
pub mod rim;
pub mod sample;
pub mod spread;
pub mod sweep2d;
pub mod sweep3d;
mod temporal;
pub mod temporal1d;
mod temporal2d;
mod temporal3d;
pub mod toeplitz1d;
mod toeplitz2d;
pub mod wide2d;

pub use pass::{Fields, Pass};
pub use proposal::{AdvanceLaunch, FamilyKernel, HaloSupport, LaunchRequest, Proposal};
pub use refusal::Refusal;
pub use sample::Sample;
pub use spread::Spread;

/// All families. Of those of one unit, the ones whose layout costs the most to find come last: they are left out
/// where they cannot be faster ([`Family::least`]).
pub static FAMILIES: &[&dyn Family] = &[
    &line1d::Line1dFamily,
    &sweep2d::Sweep2dFamily(Form::Sparse),
    &naive2d::Naive2dFamily,
    &chain2d::Chain2dFamily(Form::Sparse),
    &wide2d::Wide2dFamily(Form::Sparse),
    &sweep3d::Sweep3dFamily,
    &chain3d::Chain3dFamily,
    &gather::GatherFamily,
    &toeplitz1d::Toeplitz1dFamily,
    &toeplitz2d::Toeplitz2dFamily,
    &convstencil::ConvStencilFamily,
    &flashfft::FlashFftFamily,
    &sweep2d::Sweep2dFamily(Form::Dense),
    &chain2d::Chain2dFamily(Form::Dense),
    &wide2d::Wide2dFamily(Form::Dense),
    &direct::DirectFamily,
    &temporal1d::Temporal1dFamily,
    &temporal2d::Temporal2dFamily,
    &temporal3d::Temporal3dFamily,
];

/// What multiplies. An engine on a GPU is all families of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Sparse tensor cores (`mma.sp`).
    SparseTensorCores,
    /// Dense tensor cores (`mma`).
    DenseTensorCores,
    /// CUDA cores.
    CudaCores,
}

impl Unit {
    /// All units, the one that the ranking names first of equally fast ones first.
    pub const ALL: [Self; 3] = [Self::SparseTensorCores, Self::DenseTensorCores, Self::CudaCores];

    /// What multiplies products of a form.
    #[must_use]
    pub fn of(form: Form) -> Self {
        match form {
            Form::Sparse => Self::SparseTensorCores,
            Form::Dense => Self::DenseTensorCores,
        }
    }

    /// The engine's name.
    #[must_use]
    pub fn engine(self) -> &'static str {
        match self {
            Self::SparseTensorCores => "sparse",
            Self::DenseTensorCores => "dense",
            Self::CudaCores => "cuda",
        }
    }

    /// How it computes a sum of so many time steps.
    #[must_use]
    pub fn arithmetic(self, dtype: Dtype, fuse: usize) -> Arithmetic {
        match self {
            Self::SparseTensorCores | Self::DenseTensorCores => {
                Arithmetic::on_tensor_cores(dtype, fuse)
            }
            Self::CudaCores => Arithmetic::on_cores(dtype),
        }
    }

    /// Its families.
    pub fn families(self) -> impl Iterator<Item = &'static dyn Family> {
        FAMILIES.iter().copied().filter(move |family| family.unit() == self)
    }

    /// Whether one of its families takes several time steps as one sum.
    #[must_use]
    pub fn fuses(self) -> bool {
        self.families().any(|family| *family.fused().end() > 1)
    }

    /// Whether one of its families takes several sums in a launch.
    #[must_use]
    pub fn chains(self) -> bool {
        self.families().any(|family| *family.chained().end() > 1)
    }
}

/// A family of kernels.
pub trait Family: Sync {
    /// Its name, as `--kernel` takes it.
    fn name(&self) -> &'static str;

    /// Which stencils it is made for, in a line.
    fn about(&self) -> &'static str;

    /// What multiplies.
    fn unit(&self) -> Unit;

    /// Axes of its stencils.
    fn dims(&self) -> RangeInclusive<usize>;

    /// Time steps that it takes as one sum.
    fn fused(&self) -> RangeInclusive<usize> {
        1..=1
    }

    /// Such sums that it takes in one launch.
    fn chained(&self) -> RangeInclusive<usize> {
        1..=1
    }

    /// Whether it is taken only by those who ask for it: others are always faster, or more exact.
    fn only_if_asked(&self) -> bool {
        false
    }

    /// How it computes a sum of so many time steps.
    fn arithmetic(&self, dtype: Dtype, fuse: usize) -> Arithmetic {
        self.unit().arithmetic(dtype, fuse)
    }

    /// What rounding does in a launch of so many time steps, where that is not a matter of each point by itself.
    fn spread(&self, _job: &Job, _fuse: usize) -> Option<Spread> {
        None
    }

    /// Its kernel for a stencil of [`Family::dims`] axes, whatever the grid and the GPU.
    ///
    /// # Errors
    /// Why it has none.
    fn propose(&self, asked: &LaunchRequest) -> Result<FamilyKernel, Refusal>;

    /// The kernels that [`Family::propose`] may come to, each with the least work that the stencil can be, found
    /// without a layout. Where all of these are slower than another family, no layout is looked for.
    fn least(&self, _asked: &LaunchRequest) -> Vec<cost::LowerBound> {
        Vec::new()
    }

    /// Stencils that between them take each of its kernels, for the conformance suite.
    fn samples(&self) -> Vec<Sample>;
}

impl fmt::Display for dyn Family + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for dyn Family + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn Family + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Serialize for dyn Family + '_ {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The family of a name.
///
/// # Errors
/// There is none; the names that there are.
pub fn find(name: &str) -> Result<&'static dyn Family, UnknownName> {
    let found = FAMILIES.iter().find(|family| family.name() == name).copied();
    let known = || FAMILIES.iter().map(ToString::to_string).collect();
    found.ok_or_else(|| UnknownName { name: name.to_owned(), known: known() })
}
