// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan of a stencil: the layout that [`explore`] finds, worked out and checked, with what to
//! expect of it. One plain value, which `host plan` prints.

use crate::conflict::{NoPattern, Pattern};
use crate::explore::{Candidate, Exploration, Layout, Request, explore};
use crate::fuse::{FuseError, fuse};
use crate::gather::{NoGather, OutputTile, gather_tiles};
use crate::matching::{ColumnOrder, NoOrder};
use crate::model::{self, ProductWork};
use crate::morph::{Morphed, morph};
use crate::roofline::{Rooflines, TensorSweep};
use crate::round::{FloatFormat, round};
use crate::row_window::{NoRowWindow, row_window};
use crate::sparsify::{Granularity, NotSparse, Sparse24};
use crate::stencil::Stencil;
use crate::window::{NoWindow, Window, window};
use cuda_mma::fragment::{Element, M, N, SparseMma};
use serde::Serialize;
use thiserror::Error;

/// A stencil's plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayoutPlan {
    /// Name of the stencil.
    pub stencil: String,
    /// Its axes.
    pub dims: usize,
    /// Its radius.
    pub radius: usize,
    /// Its points: K.
    pub points: usize,
    /// Extents of the grid (z, y, x).
    pub extents: [usize; 3],
    /// Type of the products.
    pub element: Element,
    /// The GPU that the times are for.
    pub machine: String,
    /// Where its numbers come from.
    pub machine_source: String,
    /// The layout.
    pub layout: Candidate,
    /// Points of the stencil that does `layout.steps` steps at once.
    pub fused_points: usize,
    /// What rounding to the element type adds to the sum of the (fused) stencil's weights: the part of
    /// its mass that a conservative stencil gains in a sweep.
    pub weight_residual: f64,
    /// Fraction of A' (m' × k') that is not zero.
    pub density_before: f64,
    /// Fraction of A'' (m' × slots) that is not zero.
    pub density_after: f64,
    /// Slot of A'' → column of A'; null is a zero column.
    pub permutation: Vec<Option<usize>>,
    /// Column of A' → input, relative to the tile's first output: (z, y, x).
    pub inputs: Vec<[i32; 3]>,
    /// `mma.sp` for 128 outputs.
    pub instructions_per_128_outputs: f64,
    /// `mma.sp` for an output.
    pub instructions_per_output: f64,
    /// Multiply-adds for an output, those with zeros included.
    pub macs_per_output: f64,
    /// Predicted seconds of a sweep, at least those of a launch.
    pub seconds: f64,
    /// Seconds that reading and writing the grid once takes.
    pub memory_limit_seconds: f64,
    /// Predicted 10⁹ points and steps in a second.
    pub gstencils_per_s: f64,
    /// Tensor cores against CUDA cores, by their roofs.
    #[serde(skip)]
    pub rooflines: Rooflines,
    /// Every candidate, ranked or rejected.
    pub exploration: Exploration,
    /// A', without its zero columns.
    #[serde(skip)]
    pub morphed: Morphed,
    /// A''.
    #[serde(skip)]
    pub sparse: Sparse24,
}

/// Why a stencil has no plan.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanError {
    /// Every candidate was rejected.
    #[error("no layout for {stencil}: {reason}")]
    NoLayout {
        /// Name of the stencil.
        stencil: String,
        /// Why the most modest candidate was rejected.
        reason: String,
    },
    /// The layout cannot be worked out: the stages disagree.
    #[error("the layout of {stencil} does not hold: {reason}")]
    Broken {
        /// Name of the stencil.
        stencil: String,
        /// Which stage, and how.
        reason: String,
    },
}

/// Explores, takes the best layout, works it out and checks that it is sparse.
///
/// # Errors
/// No layout: the stencil is too large for any tile, or the machine has no sparse units for the type.
pub fn plan(request: &Request<'_>) -> Result<LayoutPlan, PlanError> {
    let stencil = request.stencil;
    let name = || stencil.name().to_owned();
    let exploration = explore(request);
    let best = exploration.ranked.first().cloned().zip(exploration.dense);
    let Some((layout, dense)) = best else {
        let modest = exploration.rejected.iter().find(|r| r.factors == Some([1; 3]));
        let reason = modest.or(exploration.rejected.last());
        let reason = reason.map_or("no time steps were asked for".into(), |r| r.reason.clone());
        return Err(PlanError::NoLayout { stencil: name(), reason });
    };
    let broken =
        |reason: FailedStage| PlanError::Broken { stencil: name(), reason: reason.to_string() };
    let fused = fuse(stencil, layout.steps).map_err(|reason| broken(reason.into()))?;
    let weight_residual = round(&fused, FloatFormat::of(request.element)).residual;
    let (morphed, sparse) = work_out(request, &layout).map_err(broken)?;
    let fused_points = morphed.matrix.row(0).iter().filter(|weight| **weight != 0.0).count();
    let grid_points: usize = request.extents.iter().product();
    let rates = request.machine.rates(request.element.into());
    let filled = |work: &ProductWork, fused_points: usize| {
        let rows = work.outputs() / N;
        let columns = work.instructions * if work.sparse { work.mma.k } else { work.mma.kept() };
        (rows * fused_points) as f64 / (M * columns) as f64
    };
    let roofline = |product: TensorSweep| {
        product.against_cuda_cores(request.machine, request.element.into(), stencil.taps().len())
    };
    let rooflines = Rooflines {
        sparse: roofline(TensorSweep {
            steps: layout.steps,
            fused_points,
            fraction: filled(&layout.work, fused_points),
            peak: rates.sparse.unwrap_or(0.0),
        }),
        dense: roofline(TensorSweep {
            steps: dense.steps,
            fused_points: dense.fused_points,
            fraction: filled(&dense.work, dense.fused_points),
            peak: rates.dense,
        }),
    };
    // A sweep is never faster than its launch.
    let seconds = layout.time.total().max(request.machine.launch_s);
    Ok(LayoutPlan {
        stencil: name(),
        dims: stencil.dims(),
        radius: stencil.radius(),
        points: stencil.taps().len(),
        extents: request.extents,
        element: request.element,
        machine: request.machine.name.clone(),
        machine_source: request.machine.source.clone(),
        fused_points,
        weight_residual,
        density_before: morphed.matrix.density(),
        density_after: sparse.matrix.density(),
        permutation: sparse.order.clone(),
        inputs: morphed.inputs.clone(),
        instructions_per_128_outputs: layout.work.instructions_per_128_outputs(),
        instructions_per_output: layout.work.instructions_per_128_outputs() / 128.0,
        macs_per_output: layout.work.macs_per_output(),
        seconds,
        memory_limit_seconds: model::global(
            request.machine,
            request.extents,
            request.element.bytes(),
        ),
        gstencils_per_s: (grid_points * layout.steps) as f64 / seconds / 1e9,
        rooflines,
        exploration,
        morphed,
        sparse,
        layout,
    })
}

/// A stage that refuses what exploration took.
#[derive(Debug, Error)]
enum FailedStage {
    #[error(transparent)]
    Fuse(#[from] FuseError),
    #[error(transparent)]
    Window(#[from] NoWindow),
    #[error(transparent)]
    Rows(#[from] NoRowWindow),
    #[error(transparent)]
    Chunks(#[from] NoGather),
    #[error(transparent)]
    Unfit(#[from] NoOrder),
    #[error(transparent)]
    Pattern(#[from] NoPattern),
    #[error(transparent)]
    NotSparse(#[from] NotSparse),
}

/// A' and A'' of a candidate.
fn work_out(request: &Request<'_>, layout: &Candidate) -> Result<(Morphed, Sparse24), FailedStage> {
    let stencil = fuse(request.stencil, layout.steps)?;
    let mma = SparseMma::deepest(request.element);
    let pattern = Pattern::new(&stencil, layout.factors)?;
    let order = match layout.layout {
        Layout::RegisterWindow => {
            return Ok(without_zero_columns(&window(&stencil)?, request.element));
        }
        Layout::RowWindow => row_window(&pattern, mma)?.order,
        Layout::Chunks => chunks(&pattern, &stencil, request.element)?,
        Layout::Table(strategy) => strategy.order(&pattern, Granularity::of(mma.element))?,
    };
    let mut order = order.slots;
    order.resize(layout.slots, None);
    let morphed = morph(&stencil, layout.factors).without_zero_columns();
    let sparse = Sparse24::with(Granularity::of(mma.element), &morphed.matrix, order)?;
    Ok((morphed, sparse))
}

/// The order of the chunk gather, in tiles of the pattern's.
fn chunks(
    pattern: &Pattern,
    stencil: &Stencil,
    element: Element,
) -> Result<ColumnOrder, FailedStage> {
    let tile = if pattern.factors[1] == 1 { OutputTile::Row } else { OutputTile::Block };
    let gather = gather_tiles(stencil, element, tile)?;
    let column = |input| pattern.inputs.binary_search(&input).ok();
    let slots: Vec<_> = gather.inputs.iter().map(|input| input.and_then(column)).collect();
    let zero_columns = slots.len() - pattern.columns.len();
    Ok(ColumnOrder { slots, zero_columns })
}

/// A window's matrices, its order in terms of the columns that are not zero.
fn without_zero_columns(window: &Window, element: Element) -> (Morphed, Sparse24) {
    let morphed = window.morphed.without_zero_columns();
    let mut sparse = window.sparse(element);
    for slot in &mut sparse.order {
        let input = slot.map(|column| window.morphed.inputs[column]);
        *slot = input.and_then(|input| morphed.inputs.iter().position(|kept| *kept == input));
    }
    (morphed, sparse)
}
