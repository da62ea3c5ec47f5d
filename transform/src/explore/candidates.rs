// SPDX-License-Identifier: MIT OR Apache-2.0
//! The candidates of an exploration, one function for each way to feed the tensor cores.

use super::{Candidate, Dense, Layout, Request};
use crate::conflict::Pattern;
use crate::fragment::{Element, LANES, M, SparseMma};
use crate::lookup::{LoadCost, LookupTable, Tile, wavefronts_16_bytes};
use crate::machine::Machine;
use crate::matching::{Order, Strategy};
use crate::model::{self, Work};
use crate::row_window::row_window;
use crate::stencil::Stencil;
use crate::window;

/// The candidate for an order of columns that is loaded through a lookup table.
pub(super) fn table(
    request: &Request<'_>,
    pattern: &Pattern,
    steps: usize,
    strategy: Strategy,
    order: Order,
) -> Option<Candidate> {
    let mma = SparseMma::deepest(request.element);
    let table = LookupTable::new(pattern, &order.slots, mma, Tile::of(pattern, mma));
    let load = table.cost();
    let factors = pattern.factors;
    let work = work(mma, factors, table.steps(), load);
    Some(Candidate {
        steps,
        factors,
        layout: Layout::Table(strategy),
        columns: pattern.columns.len(),
        slots: table.offsets.len(),
        zero_columns: order.zero_columns,
        load,
        work,
        time: model::time(request.machine, request.extents, &work)?,
    })
}

/// A tile on dense tensor cores: no permutation, every column multiplied. A dense fragment of B is that
/// of the sparse instruction of half the depth.
pub(super) fn dense(request: &Request<'_>, pattern: &Pattern, steps: usize) -> Option<Dense> {
    let deepest = SparseMma::deepest(request.element);
    let half = SparseMma { k: deepest.kept(), ..deepest };
    let natural: Vec<_> = (0..pattern.columns.len()).map(Some).collect();
    let table = LookupTable::new(pattern, &natural, half, Tile::of(pattern, half));
    let sparse = work(deepest, pattern.factors, table.steps(), table.cost());
    let work = Work { sparse: false, ..sparse };
    let time = model::time(request.machine, request.extents, &work)?;
    let (fused_points, columns) = (pattern.fullest_row(), pattern.columns.len());
    Some(Dense { steps, fused_points, columns, work, time })
}

/// Work through a lookup table: a load takes an instruction for its address too.
pub(super) fn work(
    mma: SparseMma,
    factors: [usize; 3],
    instructions: usize,
    load: LoadCost,
) -> Work {
    let (issued, wavefronts) = (2 * load.loads, load.wavefronts);
    Work { mma, sparse: true, factors, instructions, issued, wavefronts }
}

/// The candidate of the register-window kernels: for every two rows of outputs, two new rows of
/// inputs are loaded, once, by one 16-byte load.
pub(super) fn register_window(
    request: &Request<'_>,
    stencil: &Stencil,
    steps: usize,
) -> Result<Candidate, String> {
    let mma = SparseMma::deepest(request.element);
    if request.element == Element::Tf32 {
        return Err("the register-window layout is for types of 16 bits".into());
    }
    let window = window::window(stencil).map_err(|reason| reason.to_string())?;
    let load = LoadCost { loads: 1, wavefronts: window_wavefronts() };
    let work = Work {
        mma,
        sparse: true,
        factors: window.morphed.factors,
        instructions: window.steps(),
        issued: load.loads,
        wavefronts: load.wavefronts,
    };
    let time = model::time(request.machine, request.extents, &work)
        .ok_or_else(|| no_sparse_units(request.machine, mma))?;
    let columns = window.morphed.without_zero_columns().inputs.len();
    let slots = window.sparse.order.len();
    Ok(Candidate {
        steps,
        factors: window.morphed.factors,
        layout: Layout::RegisterWindow,
        columns,
        slots,
        zero_columns: slots - columns,
        load,
        work,
        time,
    })
}

/// The candidate of the row window.
pub(super) fn rows(
    request: &Request<'_>,
    stencil: &Stencil,
    steps: usize,
) -> Result<Candidate, String> {
    let mma = SparseMma::deepest(request.element);
    let pattern = Pattern::new(stencil, [1, 1, M]).map_err(|reason| reason.to_string())?;
    let window = row_window(&pattern, mma).map_err(|reason| reason.to_string())?;
    let load = window.load;
    let slots = window.order.slots.len();
    let work = Work {
        mma,
        sparse: true,
        factors: pattern.factors,
        instructions: slots / mma.k,
        issued: load.loads,
        wavefronts: load.wavefronts,
    };
    let time = model::time(request.machine, request.extents, &work)
        .ok_or_else(|| no_sparse_units(request.machine, mma))?;
    Ok(Candidate {
        steps,
        factors: pattern.factors,
        layout: Layout::RowWindow,
        columns: pattern.columns.len(),
        slots,
        zero_columns: window.order.zero_columns,
        load,
        work,
        time,
    })
}

/// Lane 4g + t loads chunk g + t mod 2 of row t / 2; rows lie half a round of the banks apart, as the
/// kernels place them.
fn window_wavefronts() -> usize {
    const PITCH: usize = 68;
    let chunk = |lane: usize| lane % 4 / 2 * PITCH + lane / 4 + lane % 2;
    let addresses: [u32; LANES] = std::array::from_fn(|lane| (16 * chunk(lane)) as u32);
    wavefronts_16_bytes(&addresses)
}

pub(super) fn no_sparse_units(machine: &Machine, mma: SparseMma) -> String {
    format!("{} has no sparse tensor cores for {}", machine.name, mma.element)
}
