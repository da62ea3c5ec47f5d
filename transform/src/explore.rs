// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layout exploration (SparStencil §3.3, equation 11): every tile of up to 16 outputs × every way to
//! order its columns × every number of fused steps, ranked by the [`model`].
//!
//! A candidate that is not taken is data too, with its reason. Tiles are visited from the most to the
//! least promising; where even a perfect order (no more columns than k', no bank conflict) is slower
//! than the best layout found, the tile is rejected unsearched. The costly searches are left out where
//! no order needs fewer instructions than one already found, and beyond the [`SEARCHED`] most promising
//! tiles. So the whole exploration stays in milliseconds.
//!
//! Only the [deepest](SparseMma::deepest) instruction of a type is considered: it takes the columns of
//! two shallower ones for the peak rate that both share and for half the instructions issued, so that a
//! shallower one could save no more than the zeros of half a last fragment.

mod candidates;

use candidates::{chunks, dense, no_sparse_units, register_window, rows, table, work};

use crate::conflict::Pattern;
use crate::fuse::fuse;
use crate::gather::OutputTile;
use crate::lookup::LoadCost;
use crate::machine::Machine;
use crate::matching::{STRATEGIES, Strategy, groups};
use crate::model::{self, ProductWork, Time};
use crate::sparsify::Granularity;
use crate::stencil::Stencil;
use crate::window::{CHUNK, ROWS};
use cuda_mma::fragment::{Element, M, SparseMma};
use serde::Serialize;
use std::cmp::Ordering;
use std::fmt;

/// What is to be planned.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The stencil, of one time step.
    pub stencil: &'a Stencil,
    /// Extents of the grid (z, y, x).
    pub extents: [usize; 3],
    /// Type of the products.
    pub element: Element,
    /// The GPU.
    pub machine: &'a Machine,
    /// Time steps that one sweep may do at most.
    pub most_steps: usize,
}

/// Where the columns of A'' lie and how B is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// [`crate::window`]: B stays in registers while a warp streams down the grid.
    RegisterWindow,
    /// [`crate::row_window`]: the same for longer rows and other dimensions.
    RowWindow,
    /// [`crate::gather`]: chunks of 16 bytes, matched as they are; B through a lookup table of those.
    Chunks,
    /// Columns ordered by a strategy; B through a lookup table.
    #[serde(untagged)]
    Table(Strategy),
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RegisterWindow => f.write_str("register window"),
            Self::RowWindow => f.write_str("row window"),
            Self::Chunks => f.write_str("chunks"),
            Self::Table(strategy) => strategy.fmt(f),
        }
    }
}

/// A layout that works, and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Time steps in one sweep.
    pub steps: usize,
    /// Outputs of a tile along z, y and x: (r3, r2, r1).
    pub factors: [usize; 3],
    /// How columns are ordered.
    pub layout: Layout,
    /// Columns of A' that are not zero: k'.
    pub columns: usize,
    /// Columns of A'': whole fragments.
    pub slots: usize,
    /// Zero columns that the matching needs; the rest of `slots` fills the last fragment.
    pub zero_columns: usize,
    /// What loading B costs, for 8 tiles.
    pub load: LoadCost,
    /// Instructions and wavefronts, for 8 tiles.
    pub work: ProductWork,
    /// Seconds of a sweep.
    pub time: Time,
}

/// A layout that was not taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// Time steps in one sweep.
    pub steps: usize,
    /// Outputs of a tile; none where the steps themselves are rejected.
    pub factors: Option<[usize; 3]>,
    /// How columns would be ordered; none where no order was tried.
    pub layout: Option<Layout>,
    /// Why not.
    pub reason: String,
}

/// All candidates.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Exploration {
    /// Those that work, the best first.
    pub ranked: Vec<Candidate>,
    /// The others.
    pub rejected: Vec<Rejected>,
    /// The best that dense tensor cores do with the columns in their natural order.
    pub dense: Option<Dense>,
}

/// A layout for dense tensor cores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dense {
    /// Time steps in one sweep.
    pub steps: usize,
    /// Points of the stencil that does `steps` steps at once.
    pub fused_points: usize,
    /// Columns of A': k'.
    pub columns: usize,
    /// Instructions and wavefronts, for 8 tiles.
    pub work: ProductWork,
    /// Seconds of a sweep.
    pub time: Time,
}

impl Candidate {
    /// Seconds for a time step.
    #[must_use]
    pub fn seconds_per_step(&self) -> f64 {
        self.time.total() / self.steps as f64
    }

    /// The fastest first; of equally fast ones (at the memory limit, say) the one that keeps tensor
    /// cores and shared memory less busy.
    fn rank(&self, other: &Self) -> Ordering {
        let key = |candidate: &Self| Key::of(&candidate.time, candidate.steps);
        key(self).cmp(&key(other))
    }
}

/// What candidates are ranked by: seconds for a step, then the pressure of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key(f64, f64);

impl Key {
    fn of(time: &Time, steps: usize) -> Self {
        Self(time.total() / steps as f64, time.pressure())
    }

    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.total_cmp(&other.1))
    }
}

/// Tiles, the most promising first, on which blossom and groups of four are tried.
pub const SEARCHED: usize = 24;

/// Tiles that are weighed for dense tensor cores: those with the fewest columns for an output.
const DENSE_TILES: usize = 8;

/// Explores every layout of a request.
#[must_use]
pub fn explore(request: &Request<'_>) -> Exploration {
    let mut found = Exploration::default();
    for steps in 1..=request.most_steps {
        match fuse(request.stencil, steps) {
            Ok(stencil) => explore_steps(request, &stencil, steps, &mut found),
            Err(reason) => {
                let reason = reason.to_string();
                found.rejected.push(Rejected { steps, factors: None, layout: None, reason });
                break;
            }
        }
    }
    found.ranked.sort_by(Candidate::rank);
    found
}

/// Explores every tile for a stencil that does `steps` steps at once.
fn explore_steps(request: &Request<'_>, stencil: &Stencil, steps: usize, found: &mut Exploration) {
    let mut best = found.ranked.iter().map(|c| Key::of(&c.time, c.steps)).min_by(Key::cmp);
    let windows = [
        (Layout::RegisterWindow, [1, ROWS, CHUNK], register_window(request, stencil, steps)),
        (Layout::RowWindow, [1, 1, M], rows(request, stencil, steps)),
        (Layout::Chunks, [1, 1, M], chunks(request, stencil, steps, OutputTile::Row)),
        (Layout::Chunks, [1, 2, M / 2], chunks(request, stencil, steps, OutputTile::Block)),
    ];
    for (layout, factors, candidate) in windows {
        match candidate {
            Ok(candidate) => take(candidate, &mut best, found),
            Err(reason) => {
                let (factors, layout) = (Some(factors), Some(layout));
                found.rejected.push(Rejected { steps, factors, layout, reason });
            }
        }
    }
    let tiles = tiles(request, stencil, steps, &mut found.rejected);
    let promising = tiles.iter().take(DENSE_TILES).filter_map(|(_, p)| dense(request, p, steps));
    let before = found.dense.take();
    let key = |dense: &Dense| Key::of(&dense.time, dense.steps);
    found.dense = before.into_iter().chain(promising).min_by(|a, b| key(a).cmp(&key(b)));
    for (place, (bound, pattern)) in tiles.into_iter().enumerate() {
        let key = Key::of(&bound, steps);
        if best.is_some_and(|best| best.cmp(&key) == Ordering::Less) {
            found.rejected.push(Rejected {
                steps,
                factors: Some(pattern.factors),
                layout: None,
                reason: format!("slower even without zero columns: at best {}", seconds(&bound)),
            });
            continue;
        }
        explore_tile(request, &pattern, steps, place < SEARCHED, &mut best, found);
    }
}

/// Tries every strategy on a tile, the rules before the searches.
fn explore_tile(
    request: &Request<'_>,
    pattern: &Pattern,
    steps: usize,
    searched: bool,
    best: &mut Option<Key>,
    found: &mut Exploration,
) {
    let mma = SparseMma::deepest(request.element);
    let fewest = fewest_instructions(pattern, mma);
    let mut least = usize::MAX;
    for strategy in STRATEGIES {
        let layout = Layout::Table(strategy);
        let search = matches!(strategy, Strategy::Blossom | Strategy::Groups);
        let order = if search && least == fewest {
            Err(format!("already as few instructions as any order can need: {fewest}"))
        } else if search && !searched {
            Err(format!("not searched: {SEARCHED} tiles promise more"))
        } else {
            strategy.order(pattern, Granularity::of(mma.element)).map_err(|unfit| unfit.to_string())
        };
        let candidate = order.and_then(|order| {
            table(request, pattern, steps, strategy, order)
                .ok_or_else(|| no_sparse_units(request.machine, mma))
        });
        match candidate {
            Ok(candidate) => {
                least = least.min(candidate.work.instructions);
                take(candidate, best, found);
            }
            Err(reason) => {
                let factors = Some(pattern.factors);
                found.rejected.push(Rejected { steps, factors, layout: Some(layout), reason });
            }
        }
    }
}

fn take(candidate: Candidate, best: &mut Option<Key>, found: &mut Exploration) {
    let key = Key::of(&candidate.time, candidate.steps);
    if best.is_none_or(|best| key.cmp(&best) == Ordering::Less) {
        *best = Some(key);
    }
    found.ranked.push(candidate);
}

/// The patterns of all tiles, each with the time that no order beats, the most promising first.
fn tiles(
    request: &Request<'_>,
    stencil: &Stencil,
    steps: usize,
    rejected: &mut Vec<Rejected>,
) -> Vec<(Time, Pattern)> {
    let mma = SparseMma::deepest(request.element);
    let mut tiles = Vec::new();
    for factors in all_factors(stencil.dims()) {
        let bounded = Pattern::new(stencil, factors).map_err(|reason| reason.to_string()).and_then(
            |pattern| {
                let instructions = fewest_instructions(&pattern, mma);
                let loads = instructions * mma.b_words();
                let work = work(mma, factors, instructions, LoadCost { loads, wavefronts: loads });
                let bound = model::time(request.machine, request.extents, &work)
                    .ok_or_else(|| no_sparse_units(request.machine, mma))?;
                Ok((bound, pattern))
            },
        );
        match bounded {
            Ok(tile) => tiles.push(tile),
            Err(reason) => {
                rejected.push(Rejected { steps, factors: Some(factors), layout: None, reason });
            }
        }
    }
    tiles.sort_by(|(a, _), (b, _)| Key::of(a, steps).cmp(&Key::of(b, steps)));
    tiles
}

/// Every tile of at most 16 outputs along the axes that a stencil has.
fn all_factors(dims: usize) -> Vec<[usize; 3]> {
    let along = move |axis: usize, room: usize| 1..=if axis >= 3 - dims { room } else { 1 };
    let planes = along(0, M).flat_map(move |z| along(1, M / z).map(move |y| (z, y)));
    planes.flat_map(move |(z, y)| along(2, M / (z * y)).map(move |x| [z, y, x])).collect()
}

/// Instructions that no order can do without.
fn fewest_instructions(pattern: &Pattern, mma: SparseMma) -> usize {
    let slots = match Granularity::of(mma.element) {
        Granularity::TwoOfFour => 4 * groups::fewest(pattern),
        Granularity::OneOfTwo => pattern.columns.len().max(2 * pattern.fullest_row()),
    };
    slots.div_ceil(mma.k)
}

/// The time of a sweep, for people.
fn seconds(time: &Time) -> String {
    format!("{:.3} ms, {} bound", 1e3 * time.total(), time.bound())
}
