// SPDX-License-Identifier: MIT OR Apache-2.0
//! The candidates of an exploration, one function for each way to feed the tensor cores.

use super::{Candidate, Dense, Layout, Request};
use crate::conflict::Pattern;
use crate::gather::{self, Pitch, REACH, gather_tiles};
use crate::lookup::{InputTile, LoadCost, LookupTable, wavefronts_16_bytes};
use crate::machine::Machine;
use crate::matching::{ColumnOrder, Strategy};
use crate::model::{self, ProductWork};
use crate::row_window::row_window;
use crate::stencil::Stencil;
use crate::window::{self, tf32_chunk, tf32_quarter};
use cuda_mma::fragment::{Element, M, N, SparseMma};

/// The candidate for an order of columns that is loaded through a lookup table.
pub(super) fn table(
    request: &Request<'_>,
    pattern: &Pattern,
    steps: usize,
    strategy: Strategy,
    order: ColumnOrder,
) -> Option<Candidate> {
    let mma = SparseMma::deepest(request.element);
    let table = LookupTable::new(pattern, &order.slots, mma, InputTile::of(pattern, mma));
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
    let table = LookupTable::new(pattern, &natural, half, InputTile::of(pattern, half));
    let sparse = work(deepest, pattern.factors, table.steps(), table.cost());
    let work = ProductWork { sparse: false, ..sparse };
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
) -> ProductWork {
    let (issued, wavefronts) = (2 * load.loads, load.wavefronts);
    ProductWork { mma, sparse: true, factors, instructions, issued, wavefronts }
}

/// The candidate of the register-window kernels: for every two rows of outputs, two new rows of
/// inputs are loaded, once, by one 16-byte load, in tf32 by one for each row.
pub(super) fn register_window(
    request: &Request<'_>,
    stencil: &Stencil,
    steps: usize,
) -> Result<Candidate, String> {
    let mma = SparseMma::deepest(request.element);
    let window = window::window(stencil).map_err(|reason| reason.to_string())?;
    let load = window_load(request.element);
    let work = ProductWork {
        mma,
        sparse: true,
        factors: window.morphed.factors,
        instructions: window.steps(request.element),
        issued: load.loads,
        wavefronts: load.wavefronts,
    };
    let time = model::time(request.machine, request.extents, &work)
        .ok_or_else(|| no_sparse_units(request.machine, mma))?;
    let columns = window.morphed.without_zero_columns().inputs.len();
    let slots = window.steps(request.element) * mma.k;
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
    let work = ProductWork {
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

/// The candidate of the chunk gather, in tiles of a kind: a load for each step, and one for its address.
pub(super) fn chunks(
    request: &Request<'_>,
    stencil: &Stencil,
    steps: usize,
    tile: gather::OutputTile,
) -> Result<Candidate, String> {
    let mma = SparseMma::deepest(request.element);
    if tile == gather::OutputTile::Block && stencil.dims() == 1 {
        return Err("a 1D stencil has outputs of one row".into());
    }
    let gather =
        gather_tiles(stencil, request.element, tile).map_err(|reason| reason.to_string())?;
    let [_, rows] = gather.footprint.extent;
    let row_bytes = (N * tile.columns() + 2 * REACH) * request.element.bytes();
    let wavefronts = gather.wavefronts(Pitch::fitting(tile, request.element, row_bytes, rows));
    let (instructions, slots) = (gather.steps.len(), gather.inputs.len());
    let load = LoadCost { loads: instructions, wavefronts };
    let factors = [1, tile.rows(), tile.columns()];
    let work = work(mma, factors, instructions, load);
    let time = model::time(request.machine, request.extents, &work)
        .ok_or_else(|| no_sparse_units(request.machine, mma))?;
    let columns = gather.inputs.iter().flatten().count();
    let (layout, zero_columns) = (Layout::Chunks, slots - columns);
    Ok(Candidate { steps, factors, layout, columns, slots, zero_columns, load, work, time })
}

/// What loading two rows costs. Of 16-bit types lane 4g + t loads chunk g + t mod 2 of row t / 2; rows
/// lie half a round of the banks apart, as the kernels place them. Of tf32 it loads its quarter of the
/// window of outputs [`tf32_chunk`], from one row after the other.
fn window_load(element: Element) -> LoadCost {
    const PITCH: usize = 68;
    let wavefronts = |address: fn(usize, usize) -> usize| {
        wavefronts_16_bytes(&std::array::from_fn(|lane| 16 * address(lane / 4, lane % 4) as u32))
    };
    match element {
        Element::F16 | Element::Bf16 => {
            let wavefronts = wavefronts(|g, t| t / 2 * PITCH + g + t % 2);
            LoadCost { loads: 1, wavefronts }
        }
        Element::Tf32 => {
            let wavefronts = wavefronts(|g, t| 2 * tf32_chunk(g) + tf32_quarter(t));
            LoadCost { loads: 2, wavefronts: 2 * wavefronts }
        }
    }
}

pub(super) fn no_sparse_units(machine: &Machine, mma: SparseMma) -> String {
    format!("{} has no sparse tensor cores for {}", machine.name, mma.element)
}
