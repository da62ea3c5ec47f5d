// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel for a stencil: which families there are, what they take, and how fast they are.

use crate::device::chain2d::{self, Chain};
use crate::device::chain3d::{self, Chain3d};
use crate::device::frame::{Plan, Room};
use crate::device::gather::{self, Gathered};
use crate::device::line1d::Line;
use crate::device::sweep2d::{Bands, Config, Sweep};
use crate::device::sweep3d::Sweep3d;
use crate::device::wide2d::Wide;
use crate::device::{Device, Pass, line1d, sweep3d, wide2d};
use crate::engine::refusal::Refusal;
use crate::{Dtype, Error, Shape};
use clap::ValueEnum;
use cuda_mma::fragment::Element;
use kernels_gpu::gather::MORE_STEPS;
use kernels_gpu::sweep2d;
use kernels_gpu::sweep3d::Reach;
use serde::Serialize;
use std::fmt;
use transform::Stencil;
use transform::factors::Factors;
use transform::gather::{Footprint, Gather, Tile, gather_tiles};
use transform::row_operand::row_operand;
use transform::star3d::star3d;
use transform::window::window;
use transform::window3d::window3d;

/// The most time steps that any kernel takes as one sum.
pub const MOST_FUSED: usize = 7;

/// The most sweeps that any kernel chains.
pub const MOST_CHAINED: usize = 4;

/// A family of kernels of `kernels-gpu` on sparse tensor cores; chained sweeps are of [`Family::Sweep2d`], and
/// chained steps in 3D of [`Family::Sweep3d`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// 1D, up to 7 columns to either side
    Line1d,
    /// 2D, radius up to 3; alone it can be chained
    Sweep2d,
    /// 2D, up to 7 rows and columns to either side
    Wide2d,
    /// 3D, radius 1 and 2; stars of radius 1 can be chained
    Sweep3d,
    /// Any shape of radius up to 8 on each axis, by a lookup table
    Gather,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line1d => "line1d",
            Self::Sweep2d => "sweep2d",
            Self::Wide2d => "wide2d",
            Self::Sweep3d => "sweep3d",
            Self::Gather => "gather",
        })
    }
}

/// A kernel of `kernels-gpu`, for stencils of some radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// One sweep in 2D, radius 1 to 3.
    Sweep2d {
        /// How values are multiplied.
        factors: Factors,
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
    /// One sweep of any stencil of radius up to 8.
    Gather {
        /// What a tile takes of its surroundings.
        footprint: Footprint,
        /// Axes of the stencil.
        dims: usize,
        /// Products for 128 outputs.
        steps: usize,
    },
    /// Chained steps of a star of radius 1 in 3D.
    Chain3d {
        /// Element type, of 16 bits.
        element: Element,
        /// How many.
        chain: usize,
    },
    /// Chained sweeps in 2D, radius 1 to 3.
    Chain2d {
        /// Element type.
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
            Self::Sweep2d { factors, radius } => write!(f, "sweep2d_{factors}_r{radius}"),
            Self::Sweep3d { element, radius, reach } => {
                let kernel =
                    kernels_gpu::sweep3d::kernel(&element.to_string(), *radius as u32, *reach);
                f.write_str(kernel.expect("the kernel was chosen").name)
            }
            Self::Gather { footprint: Footprint { element, tile, .. }, steps, .. } => {
                f.write_str(kernels_gpu::gather::kernel(*element, *tile, *steps as u32).name())
            }
            Self::Chain3d { element, chain } => f.write_str(chained(*element, *chain).name),
            Self::Chain2d { element, radius, chain } => {
                write!(f, "chain2d_{element}_r{radius}_c{chain}")
            }
        }
    }
}

/// The kernel that was chosen to chain steps in 3D.
fn chained(element: Element, chain: usize) -> &'static kernels_gpu::chain3d::Kernel {
    let kernel = kernels_gpu::chain3d::kernel(&element.to_string(), chain as u32);
    kernel.expect("the kernel was chosen")
}

impl Kernel {
    /// Whether it is also built for chips before sm_90.
    pub fn runs_on_sm_80(self) -> bool {
        !matches!(self, Self::Chain2d { .. } | Self::Sweep3d { .. } | Self::Chain3d { .. })
    }

    /// Whether every step finds zeros around the grid, not only the first.
    pub fn keeps_zeros(self) -> bool {
        matches!(self, Self::Chain3d { .. })
    }

    /// Why it does not take a grid of some shape, if so.
    pub fn refusal(self, shape: Shape) -> Option<String> {
        let Self::Chain3d { element, chain } = self else { return None };
        let [ny, least] = [shape.extents()[1], chained(element, chain).least_rows() as usize];
        let reason = format!("it chains steps in 3D of at least {least} rows; this grid has {ny}");
        (ny < least).then_some(reason)
    }

    /// The least dynamic shared memory that a block of its launch on a grid takes, in bytes.
    pub fn shared_bytes(self, shape: Shape) -> u32 {
        match self {
            Self::Line1d { .. } => 0,
            Self::Sweep2d { factors, radius } => {
                let bytes = shape.points().saturating_mul(factors.bytes());
                let Bands { config, .. } = Bands::tuned(factors, radius, bytes);
                let stages = config.stages.max(Config::tuned(factors, radius).stages);
                sweep2d::shared_bytes(factors.bytes() as u32, radius as u32, stages)
            }
            Self::Wide2d { .. } => {
                kernels_gpu::wide2d::shared_bytes(wide2d::Config::tuned().stages)
            }
            Self::Sweep3d { radius, .. } => {
                let config = sweep3d::Config::tuned(radius as u32).for_grid(extents(shape));
                config.tile.shared_bytes(radius as u32, config.stages)
            }
            Self::Gather { footprint, steps, .. } => {
                let least = gather::Config::least(&footprint);
                least.launch(&footprint, steps, shape).shared_bytes()
            }
            Self::Chain3d { element, chain } => {
                let (kernel, extents) = (chained(element, chain), extents(shape));
                let config = chain3d::Config::tuned(kernel).for_grid(kernel, extents);
                config.tile.shared_bytes(kernel.steps)
            }
            Self::Chain2d { element, radius, chain } => {
                let (bytes, config) = (element.bytes() as u32, chain2d::Config::tuned(element));
                kernels_gpu::chain2d::shared_bytes(
                    bytes,
                    radius as u32,
                    chain as u32,
                    config.stages,
                )
            }
        }
    }

    /// Where the points that it gets wrong are computed.
    pub fn room(self, shape: Shape, most_bytes: u32) -> Room {
        match self {
            Self::Chain2d { chain, .. } => {
                // As many blocks of few steps as registers leave room for.
                let blocks = if chain > 2 { 1 } else { 2 };
                Room::beside(most_bytes, blocks, self.shared_bytes(shape))
            }
            _ => Room::after(most_bytes),
        }
    }

    /// Whether one launch takes many time steps on a grid, if there are no points to compute again.
    pub fn takes_many(self, shape: Shape) -> bool {
        let Self::Sweep2d { factors, radius } = self else { return false };
        let bytes = shape.points().saturating_mul(factors.bytes());
        !Bands::tuned(factors, radius, bytes).separate
    }

    /// What is calibrated together: of the gather, whose planes are handed over one by one in 3D, and whose
    /// long tables are loaded again and again, each of these by itself.
    pub fn class(self) -> String {
        let Self::Gather { dims, steps, .. } = self else { return self.to_string() };
        let long = if steps as u32 > *MORE_STEPS.end() { "_long" } else { "" };
        format!("{self}_{dims}d{long}")
    }

    /// Products for 128 outputs, of a kernel that takes them from a table; otherwise 0.
    pub fn work(self) -> f64 {
        if let Self::Gather { steps, .. } = self { steps as f64 } else { 0.0 }
    }

    /// Loads the operand of a (fused) stencil. A launch leaves out the points of the frame, if the frame
    /// is planned so.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn pass(
        self,
        device: &dyn Device,
        fused: &Stencil,
        shape: Shape,
        frame: Option<&Plan>,
    ) -> Result<Box<dyn Pass>, Error> {
        let [_, ny, nx] = extents(shape);
        let window = || window(fused).expect("the kernel was chosen for it");
        let rows = |element| wide2d::operand(fused, element).expect("the kernel was chosen for it");
        Ok(match self {
            Self::Line1d { element } => {
                let operand = row_operand(fused, 0, element).expect("the kernel was chosen for it");
                Box::new(Line::new(device, &operand, nx, line1d::Config::tuned())?)
            }
            Self::Wide2d { element, .. } => {
                Box::new(Wide::new(device, &rows(element), ny, nx, wide2d::Config::tuned())?)
            }
            Self::Sweep2d { factors, radius } => {
                let config = Config::tuned(factors, radius);
                let bytes = shape.points().saturating_mul(factors.bytes());
                let bands = Bands::tuned(factors, radius, bytes);
                Box::new(Sweep::new(device, &window(), factors, [ny, nx], config, bands)?)
            }
            Self::Sweep3d { element, radius, .. } => {
                let window = window3d(fused).expect("the kernel was chosen for it");
                let config = sweep3d::Config::tuned(radius as u32);
                Box::new(Sweep3d::new(device, &window, element, extents(shape), config)?)
            }
            Self::Chain3d { element, chain } => {
                let kernel = chained(element, chain);
                let operand = star3d(fused, element).expect("the kernel was chosen for it");
                let config = chain3d::Config::tuned(kernel);
                Box::new(Chain3d::new(device, kernel, &operand, extents(shape), config)?)
            }
            Self::Gather { footprint, steps, .. } => {
                let most = device.shared_bytes();
                let config = gather::Config::tuned(&footprint, steps, shape, most);
                Box::new(Gathered::new(device, &gathered(fused, &footprint), shape, config)?)
            }
            Self::Chain2d { element, chain, .. } => {
                let (config, inner) = (chain2d::Config::tuned(element), Plan::inner(frame, ny, nx));
                Box::new(Chain::new(device, element, &window(), chain, [ny, nx], config, inner)?)
            }
        })
    }
}

/// The layout of a stencil for a kernel that was chosen for it.
fn gathered(fused: &Stencil, footprint: &Footprint) -> Gather {
    gather_tiles(fused, footprint.element, footprint.tile).expect("the kernel was chosen for it")
}

/// Extents (z, y, x) of a grid that launches can address.
fn extents(shape: Shape) -> [u32; 3] {
    shape.extents().map(|extent| extent as u32)
}

/// The families that are made for stencils of so many axes, or the one that is wanted; the gather last.
pub fn families(dims: usize, wanted: Option<Family>) -> Vec<Family> {
    match (wanted, dims) {
        (Some(wanted), _) => vec![wanted],
        (None, 1) => vec![Family::Line1d, Family::Gather],
        (None, 2) => vec![Family::Sweep2d, Family::Wide2d, Family::Gather],
        (None, _) => vec![Family::Sweep3d, Family::Gather],
    }
}

/// The kernel of a family for a (fused) stencil, `chain` sweeps at once; or why there is none.
///
/// # Errors
/// The reason.
pub fn kernel(
    fused: &Stencil,
    dtype: Dtype,
    chain: usize,
    family: Family,
) -> Result<Kernel, Refusal> {
    let Some(factors) = dtype.factors() else {
        return Err(Refusal::Type(format!("it multiplies f16, bf16, tf32 or f32, not {dtype}")));
    };
    let kernel = one_sweep(family, fused, factors)?;
    match kernel {
        _ if chain == 1 => Ok(kernel),
        Kernel::Sweep2d { radius, factors: Factors::One(element) }
            if kernels_gpu::chain2d::kernel(element, radius as u32, chain as u32).is_some() =>
        {
            Ok(Kernel::Chain2d { element, radius, chain })
        }
        Kernel::Sweep3d { element, radius: 1, .. }
            if kernels_gpu::chain3d::kernel(&element.to_string(), chain as u32).is_some() =>
        {
            star3d(fused, element).map_err(|reason| Refusal::Chain(reason.to_string()))?;
            Ok(Kernel::Chain3d { element, chain })
        }
        _ => Err(Refusal::Chain(format!(
            "no kernel chains {chain} sweeps of radius {} in {}D and {dtype}",
            fused.radius(),
            fused.dims()
        ))),
    }
}

/// The kernel of a family for one sweep.
fn one_sweep(family: Family, fused: &Stencil, factors: Factors) -> Result<Kernel, Refusal> {
    let dims = match family {
        Family::Line1d => 1,
        Family::Sweep2d | Family::Wide2d => 2,
        Family::Sweep3d => 3,
        Family::Gather => fused.dims(),
    };
    if fused.dims() != dims {
        let reason = format!("{family} is for {dims}D stencils; this one has {}", fused.dims());
        return Err(Refusal::Dims(reason));
    }
    if family == Family::Sweep2d {
        let radius = window(fused).map_err(no_layout)?.radius;
        return Ok(Kernel::Sweep2d { factors, radius });
    }
    let Some(element) = factors.element() else {
        let reason = format!("{family} multiplies f16, bf16 or tf32, not {factors}");
        return Err(Refusal::Type(reason));
    };
    match family {
        Family::Sweep3d if element == Element::Tf32 => {
            Err(Refusal::Type("in 3D it multiplies f16 or bf16, not tf32".into()))
        }
        Family::Sweep3d => {
            let window = window3d(fused).map_err(no_layout)?;
            let reach = if window.is_diamond() { Reach::Diamond } else { Reach::Box };
            Ok(Kernel::Sweep3d { element, radius: window.radius, reach })
        }
        Family::Gather => best_gather(fused, element),
        _ => {
            let steps = wide2d::operand(fused, element).map_err(no_layout)?.steps;
            Ok(match family {
                Family::Line1d => Kernel::Line1d { element },
                _ => Kernel::Wide2d { element, radius: steps / 2 },
            })
        }
    }
}

/// The gather kernel with fewer products; of as many, that whose tiles have two rows.
fn best_gather(fused: &Stencil, element: Element) -> Result<Kernel, Refusal> {
    let dims = fused.dims();
    let of_tile = |tile| {
        let gather = gather_tiles(fused, element, tile).map_err(no_layout)?;
        Ok((gather.footprint, gather.steps.len()))
    };
    let row: Result<(Footprint, usize), Refusal> = of_tile(Tile::Row);
    let (footprint, steps) = match row {
        // In 1D the second row would be empty.
        row if dims == 1 => row?,
        row => {
            let (row, block) = (row?, of_tile(Tile::Block)?);
            if row.1 < block.1 { row } else { block }
        }
    };
    Ok(Kernel::Gather { footprint, dims, steps })
}

/// A stencil that a family has no layout for.
fn no_layout(reason: impl fmt::Display) -> Refusal {
    Refusal::Stencil(reason.to_string())
}

/// The gather kernel with the fewest products for 128 outputs with which a stencil can be done, as each holds
/// 16 weights of a row of the operand: its name, class and products.
pub fn least_gather(fused: &Stencil, element: Element) -> (String, String, f64) {
    let kept = if element == Element::Tf32 { 8 } else { 16 };
    let steps = fused.taps().len().div_ceil(kept);
    let name = kernels_gpu::gather::kernel(element, Tile::Block, steps as u32).name();
    let long = if steps as u32 > *MORE_STEPS.end() { "_long" } else { "" };
    (name.to_owned(), format!("{name}_{}d{long}", fused.dims()), steps as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    #[test]
    fn a_family_that_was_asked_for_is_not_exchanged() {
        let stencil = catalogue::find("star2d7r").unwrap();
        let asked = |family| kernel(&stencil, Dtype::F16, 1, family).map(|k| k.to_string());
        assert_eq!(asked(Family::Wide2d), Ok("wide2d_f16_r7".into()));
        assert_eq!(asked(Family::Gather), Ok("gather_f16_2x8".into()));
        assert!(asked(Family::Sweep2d).is_err());
    }
}
