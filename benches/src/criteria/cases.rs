// SPDX-License-Identifier: MIT OR Apache-2.0
//! The six cases of the paper's Table 3, with kernels of this program in the roles of EBISU (CUDA cores),
//! ConvStencil (dense tensor cores) and SPIDER (sparse tensor cores).

use anyhow::{Context, Result};
use stencil::families::Unit;
use transform::criteria::{FusedCase, Scheme};
use transform::machine::{Machine, Precision, Rates};
use transform::roofline::Roofline;

use super::measurements::{Measured, Measurements, fastest};

/// A case as the paper has it.
struct Published {
    stencil: &'static str,
    steps: usize,
    precision: Precision,
    role: Role,
    /// GStencil/s on its A100 of EBISU and of the other.
    speeds: [f64; 2],
}

/// Whose part a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Steps one after the other on CUDA cores.
    Ebisu,
    /// One sum on dense tensor cores, by dual tessellation.
    ConvStencil,
    /// One sum on sparse tensor cores.
    Spider,
}

const PUBLISHED: [Published; 6] = {
    use Precision::{Double, Single};
    use Role::{ConvStencil, Spider};
    const fn case(
        stencil: &'static str,
        steps: usize,
        precision: Precision,
        role: Role,
        speeds: [f64; 2],
    ) -> Published {
        Published { stencil, steps, precision, role, speeds }
    }
    [
        case("box2d1r", 3, Double, ConvStencil, [260.90, 190.14]),
        case("box2d3r", 1, Double, ConvStencil, [64.05, 63.33]),
        case("box2d1r", 7, Single, Spider, [318.31, 1002.94]),
        case("box2d7r", 1, Single, Spider, [50.35, 143.28]),
        case("box3d1r", 3, Double, ConvStencil, [37.74, 24.63]),
        case("box3d1r", 7, Single, Spider, [71.23, 51.13]),
    ]
};

impl Role {
    /// The published program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ebisu => "EBISU",
            Self::ConvStencil => "ConvStencil",
            Self::Spider => "SPIDER",
        }
    }

    /// What it computes on.
    pub fn unit(self) -> Unit {
        match self {
            Self::Ebisu => Unit::CudaCores,
            Self::ConvStencil => Unit::DenseTensorCores,
            Self::Spider => Unit::SparseTensorCores,
        }
    }

    /// Whether a kernel does what the published program does: all steps as one sum if on tensor cores.
    fn is_played_by(self, one: &Measured) -> bool {
        let alike = match self {
            Self::Ebisu => one.fuse == 1,
            Self::ConvStencil => one.chain == 1 && one.kernel.starts_with("convstencil"),
            Self::Spider => one.chain == 1,
        };
        alike && one.unit == self.unit()
    }
}

/// What was measured of a role: kernels of one grid.
pub struct RoleSpeeds<'a> {
    /// The role.
    pub role: Role,
    /// With as many steps a sweep as the case has, or of EBISU, whose kernels have what steps they have, as near to that
    /// as was measured.
    pub there: Option<&'a Measured>,
    /// The fastest with another number of steps.
    pub elsewhere: Option<&'a Measured>,
}

/// A case, what the criteria say of it, and what was measured.
pub struct Compared<'a> {
    /// The stencil's name.
    pub stencil: &'static str,
    /// The case.
    pub case: FusedCase,
    /// By the criteria on the paper's A100.
    pub on_a100: Roofline,
    /// By the criteria on the machine of the measurements.
    pub here: Roofline,
    /// GStencil/s of the paper, over those of its CUDA cores.
    pub published: f64,
    /// CUDA cores, and tensor cores.
    pub played: [RoleSpeeds<'a>; 2],
}

impl Compared<'_> {
    /// Tensor cores over CUDA cores, where both were measured.
    pub fn measured(&self) -> Option<f64> {
        let [cuda, tensor] = &self.played;
        Some(tensor.there?.speed / cuda.there?.speed)
    }
}

/// The six cases on a machine.
///
/// # Errors
/// The machine has no tensor cores for one.
pub fn compare<'a>(machine: &Machine, measurements: &'a Measurements) -> Result<Vec<Compared<'a>>> {
    PUBLISHED.iter().map(|published| one(published, machine, measurements)).collect()
}

fn one<'a>(
    published: &Published,
    machine: &Machine,
    measurements: &'a Measurements,
) -> Result<Compared<'a>> {
    let Published { stencil, steps, precision, role, speeds } = *published;
    let case = FusedCase { shape: stencil.parse()?, steps, precision };
    let predict = |machine: &Machine| {
        let Rates { dense, sparse, .. } = machine.rates(precision);
        let (peak, scheme) = match role {
            Role::Spider => (sparse, Scheme::Spider),
            _ => (Some(dense), Scheme::ConvStencil),
        };
        let lacking = || format!("{} has no {}", machine.name, role.unit().engine());
        Ok::<_, anyhow::Error>(case.on_tensor_cores(machine, peak.with_context(lacking)?, scheme))
    };
    let roles = [Role::Ebisu, role];
    let beside = measurements
        .side_by_side(stencil, precision, |one| roles.iter().any(|role| role.is_played_by(one)));
    let played = roles.map(|role| {
        let taken = || beside.iter().copied().filter(|one| role.is_played_by(one));
        let depth = match role {
            Role::Ebisu => taken().map(Measured::steps).min_by_key(|of| of.abs_diff(steps)),
            _ => Some(steps),
        };
        let of = |there| fastest(taken().filter(|one| (Some(one.steps()) == depth) == there));
        RoleSpeeds { role, there: of(true), elsewhere: of(false) }
    });
    let (on_a100, here) = (predict(&Machine::a100())?, predict(machine)?);
    Ok(Compared { stencil, case, on_a100, here, published: speeds[1] / speeds[0], played })
}
