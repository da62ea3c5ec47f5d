// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel for a stencil: which families there are, what they take, and how fast they are.

use crate::device::chain2d::Chain;
use crate::device::line1d::Line;
use crate::device::sweep2d::{Bands, Config, Sweep};
use crate::device::sweep3d::Sweep3d;
use crate::device::wide2d::Wide;
use crate::device::{Gpu, Pass, line1d, sweep3d, wide2d};
use crate::{Dtype, Error, Shape};
use clap::ValueEnum;
use kernels_gpu::sweep3d::Reach;
use kernels_gpu::{chain2d, sweep2d};
use std::fmt;
use transform::Stencil;
use transform::fragment::Element;
use transform::row_operand::row_operand;
use transform::window::window;
use transform::window3d::window3d;

/// The most time steps that any kernel takes as one sum.
pub const MOST_FUSED: usize = 7;

/// The most sweeps that any kernel chains.
pub const MOST_CHAINED: usize = 4;

/// Stages of the rings of chained sweeps on a GPU.
pub const CHAIN_STAGES: chain2d::Stages = chain2d::Stages { input: 4, ring: 4 };

/// A family of kernels of `kernels-gpu` on sparse tensor cores; chained sweeps are of [`Family::Sweep2d`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// 1D, up to 7 columns to either side
    Line1d,
    /// 2D, radius up to 3; alone it can be chained
    Sweep2d,
    /// 2D, up to 7 rows and columns to either side
    Wide2d,
    /// 3D, radius 1 and 2
    Sweep3d,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line1d => "line1d",
            Self::Sweep2d => "sweep2d",
            Self::Wide2d => "wide2d",
            Self::Sweep3d => "sweep3d",
        })
    }
}

/// A kernel of `kernels-gpu`, for stencils of some radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// One sweep in 2D, radius 1 to 3.
    Sweep2d {
        /// Element type.
        element: Element,
        /// Radius.
        radius: usize,
    },
    /// One sweep in 1D, of weights up to 7 columns away.
    Line1d {
        /// Element type, of 16 bits.
        element: Element,
    },
    /// One sweep in 2D, of weights up to 7 rows and columns away.
    Wide2d {
        /// Element type, of 16 bits.
        element: Element,
        /// How many rows away, at most.
        radius: usize,
    },
    /// One sweep in 3D, radius 1 or 2.
    Sweep3d {
        /// Element type, of 16 bits.
        element: Element,
        /// Radius.
        radius: usize,
        /// Which neighbours it knows.
        reach: Reach,
    },
    /// Chained sweeps in 2D, radius 1 to 3.
    Chain2d {
        /// Element type, of 16 bits.
        element: Element,
        /// Radius of each.
        radius: usize,
        /// How many.
        chain: usize,
    },
}

impl fmt::Display for Kernel {
    /// Its name in `kernels-gpu`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line1d { element } => write!(f, "line1d_{element}"),
            Self::Wide2d { element, radius } => write!(f, "wide2d_{element}_r{radius}"),
            Self::Sweep2d { element, radius } => write!(f, "sweep2d_{element}_r{radius}"),
            Self::Sweep3d { element, radius, reach } => {
                let kernel =
                    kernels_gpu::sweep3d::kernel(&element.to_string(), *radius as u32, *reach);
                f.write_str(kernel.expect("the kernel was chosen").name)
            }
            Self::Chain2d { element, radius, chain } => {
                write!(f, "chain2d_{element}_r{radius}_c{chain}")
            }
        }
    }
}

impl Kernel {
    /// Whether it is also built for chips before sm_90.
    pub fn runs_on_sm_80(self) -> bool {
        !matches!(self, Self::Chain2d { .. } | Self::Sweep3d { .. })
    }

    /// The least dynamic shared memory that a block of its launch on a grid takes, in bytes.
    pub fn shared_bytes(self, shape: Shape) -> u32 {
        match self {
            Self::Line1d { .. } => 0,
            Self::Sweep2d { element, radius } => {
                let bytes = shape.points().saturating_mul(element.bytes());
                let Bands { config, .. } = Bands::tuned(element, radius, bytes);
                let stages = config.stages.max(Config::tuned(element, radius).stages);
                sweep2d::shared_bytes(element.bytes() as u32, radius as u32, stages)
            }
            Self::Wide2d { .. } => {
                kernels_gpu::wide2d::shared_bytes(wide2d::Config::tuned().stages)
            }
            Self::Sweep3d { radius, .. } => {
                let extents = shape.extents().map(|extent| extent as u32);
                let config = sweep3d::Config::tuned(radius as u32).for_grid(extents);
                config.tile.shared_bytes(radius as u32, config.stages)
            }
            Self::Chain2d { radius, chain, .. } => {
                chain2d::shared_bytes(radius as u32, chain as u32, CHAIN_STAGES)
            }
        }
    }

    /// Points per second, in 10^9, of a large grid on an H200 (`docs/performance.md`).
    pub fn speed(self) -> f64 {
        match self {
            // tf32 moves twice the bytes.
            Self::Sweep2d { element: Element::Tf32, .. } => 475.0,
            Self::Sweep2d { .. } => 960.0,
            Self::Line1d { .. } => 1000.0,
            Self::Sweep3d { radius: 1, .. } => 875.0,
            Self::Sweep3d { .. } => 490.0,
            Self::Wide2d { radius, .. } => [910.0, 895.0, 785.0, 695.0][radius.clamp(4, 7) - 4],
            Self::Chain2d { radius, chain, .. } => match (radius, chain) {
                (1, ..=2) => 880.0,
                (1, _) => 660.0,
                (2, ..=2) => 855.0,
                (2, 3) => 760.0,
                (2, _) => 665.0,
                (_, ..=2) => 780.0,
                (_, _) => 580.0,
            },
        }
    }

    /// Operand and metadata of a (fused) stencil that it was chosen for.
    pub fn words(self, fused: &Stencil) -> Vec<u32> {
        const CHOSEN: &str = "the kernel was chosen for it";
        let window = || window(fused).expect(CHOSEN);
        match self {
            Self::Line1d { element } => row_operand(fused, 0, element).expect(CHOSEN).words,
            Self::Wide2d { element, .. } => wide2d::operand(fused, element).expect(CHOSEN).words,
            Self::Sweep2d { element, .. } => window().encode(element).words,
            Self::Sweep3d { element, .. } => window3d(fused).expect(CHOSEN).encode(element).words,
            Self::Chain2d { element, .. } => {
                [window().encode_whole(element).words, window().encode(element).words].concat()
            }
        }
    }

    /// Loads the operand of a (fused) stencil.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn pass(self, gpu: &Gpu, fused: &Stencil, shape: Shape) -> Result<Box<dyn Pass>, Error> {
        let [_, ny, nx] = shape.extents().map(|extent| extent as u32);
        let window = || window(fused).expect("the kernel was chosen for it");
        let rows = |element| wide2d::operand(fused, element).expect("the kernel was chosen for it");
        Ok(match self {
            Self::Line1d { element } => {
                let operand = row_operand(fused, 0, element).expect("the kernel was chosen for it");
                Box::new(Line::new(gpu, &operand, nx, line1d::Config::tuned())?)
            }
            Self::Wide2d { element, .. } => {
                Box::new(Wide::new(gpu, &rows(element), ny, nx, wide2d::Config::tuned())?)
            }
            Self::Sweep2d { element, radius } => {
                let config = Config::tuned(element, radius);
                let bands =
                    Bands::tuned(element, radius, shape.points().saturating_mul(element.bytes()));
                let encoded = window().encode(element);
                Box::new(Sweep::new(gpu, radius, &encoded, [ny, nx], config, bands)?)
            }
            Self::Sweep3d { element, radius, .. } => {
                let window = window3d(fused).expect("the kernel was chosen for it");
                let config = sweep3d::Config::tuned(radius as u32);
                let extents = shape.extents().map(|extent| extent as u32);
                Box::new(Sweep3d::new(gpu, &window, element, extents, config)?)
            }
            Self::Chain2d { element, chain, .. } => {
                Box::new(Chain::new(gpu, element, &window(), chain, [ny, nx], None, CHAIN_STAGES)?)
            }
        })
    }
}

/// The fastest kernel for a (fused) stencil, of the family that is wanted, `chain` sweeps at once; or why
/// there is none.
///
/// # Errors
/// The reason.
pub fn kernel(
    fused: &Stencil,
    dtype: Dtype,
    chain: usize,
    wanted: Option<Family>,
) -> Result<Kernel, String> {
    let Some(element) = dtype.factors() else {
        return Err(format!("it multiplies f16, bf16 or tf32, not {dtype}"));
    };
    let families: &[Family] = match (wanted, fused.dims()) {
        (Some(wanted), _) => &[wanted],
        (None, 1) => &[Family::Line1d],
        (None, 2) => &[Family::Sweep2d, Family::Wide2d],
        (None, _) => &[Family::Sweep3d],
    };
    let mut found = Err(String::new());
    for family in families {
        found = found.or_else(|_| one_sweep(*family, fused, element));
    }
    let kernel = found?;
    match kernel {
        _ if chain == 1 => Ok(kernel),
        Kernel::Sweep2d { radius, .. }
            if chain2d::kernel(element, radius as u32, chain as u32).is_some() =>
        {
            Ok(Kernel::Chain2d { element, radius, chain })
        }
        _ => Err(format!(
            "no kernel chains {chain} sweeps of radius {} in {}D and {dtype}",
            fused.radius(),
            fused.dims()
        )),
    }
}

/// The kernel of a family for one sweep.
fn one_sweep(family: Family, fused: &Stencil, element: Element) -> Result<Kernel, String> {
    let dims = match family {
        Family::Line1d => 1,
        Family::Sweep2d | Family::Wide2d => 2,
        Family::Sweep3d => 3,
    };
    if fused.dims() != dims {
        return Err(format!("{family} is for {dims}D stencils; this one has {}", fused.dims()));
    }
    match family {
        Family::Sweep2d => {
            let radius = window(fused).map_err(|reason| reason.to_string())?.radius;
            Ok(Kernel::Sweep2d { element, radius })
        }
        Family::Sweep3d if element == Element::Tf32 => {
            Err("in 3D it multiplies f16 or bf16, not tf32".into())
        }
        Family::Sweep3d => {
            let window = window3d(fused).map_err(|reason| reason.to_string())?;
            let reach = if window.is_diamond() { Reach::Diamond } else { Reach::Box };
            Ok(Kernel::Sweep3d { element, radius: window.radius, reach })
        }
        Family::Line1d | Family::Wide2d => {
            let steps = wide2d::operand(fused, element).map_err(|reason| reason.to_string())?.steps;
            Ok(match family {
                Family::Line1d => Kernel::Line1d { element },
                _ => Kernel::Wide2d { element, radius: steps / 2 },
            })
        }
    }
}
