// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launches of a filter: which kernels, how large their blocks are, and their tables.

mod bytes;
mod line_strips;
mod strips;

use std::slice;

use cuda_driver::{AnyCall, Extents, Passed};
use devices::{Device, Launch, Memory, StartOrder};
use kernels_gpu::filter::boxes::{self, BoxesLaunch};
use kernels_gpu::filter::lines::{self, LinesLaunch};
use kernels_gpu::filter::numbers::{self, SumType};
use kernels_gpu::filter::ordered::{COLUMNS, ORDERED, OrderedLaunch, OrderedProduct};
use kernels_gpu::filter::{Counts, GROUP, InputArray, OUTPUTS, RowLayout, THREADS};
use problem::Error;
use problem::boundary::Side;
use tiles::filter::{self, Described, Filter, Summed, Terms};
use transform::Tap;

use super::kind::ValueType;
use super::place::{constant, table};

/// Columns of a block, the widest first.
const WIDTHS: [u32; 3] = [256, 128, 64];
/// Warps that keep a multiprocessor busy.
const WARPS: u32 = 12;
/// Blocks that a multiprocessor gets in the course of a launch, if there is work for as many.
const BLOCKS: u32 = 12;

/// Time of a kernel of any types by that of one of arrays of the type of the sums, where both may be taken.
const ANY: f64 = 1.5;

/// What coordinates and blocks of a launch are counted by.
const MOST: usize = i32::MAX as usize;

/// A launch, but for its arrays.
pub struct FilterLaunch {
    launch: Box<dyn Fn(*const u8, *mut u8) -> Box<dyn AnyCall>>,
    extents: Extents,
    /// What the launch reads.
    tables: Vec<Memory>,
}

impl FilterLaunch {
    /// Bytes of its tables.
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(Memory::bytes).sum()
    }

    /// Queues it.
    pub fn queue(&self, device: &dyn Device, from: *const u8, to: *mut u8) -> Result<(), Error> {
        let call = (self.launch)(from, to);
        device.launch(&Launch { call: &*call, extents: self.extents, order: StartOrder::After })
    }
}

/// A way to launch a sum.
struct LaunchChoice<L> {
    launch: L,
    row: RowLayout,
    /// Shared memory of a block, and its threads.
    bytes: u32,
    threads: u32,
    /// Whether it is by the kernel of arrays of the type of the sums.
    own: bool,
}

/// What is known of all steps.
struct FilterContext<'a> {
    device: &'a dyn Device,
    filter: &'a Filter,
    outside: f64,
}

/// A filter along x whose values that belong together are too many for a row of a block, as one along y: they have rows of
/// their own then.
fn turned(filter: &Filter, described: &Described) -> Option<(Filter, Described)> {
    let step = filter.step as i32;
    let turn = |offset: [i32; 3]| match offset {
        [0, 0, x] => Some([0, x / step, 0]),
        _ => None,
    };
    let stage = |stage: &Summed| {
        let terms = match &stage.terms {
            Terms::Any(taps) => {
                let tap = |tap: &Tap| Some(Tap { offset: turn(tap.offset)?, ..*tap });
                Terms::Any(taps.iter().map(tap).collect::<Option<_>>()?)
            }
            Terms::Ordered(products) => {
                let product = |product: &filter::OrderedProduct| {
                    let other = match product.other {
                        Some((other, sign)) => Some((turn(other)?, sign)),
                        None => None,
                    };
                    Some(filter::OrderedProduct { at: turn(product.at)?, other, ..*product })
                };
                Terms::Ordered(products.iter().map(product).collect::<Option<_>>()?)
            }
        };
        Some(Summed { terms, divisor: stage.divisor })
    };
    let stages = described.stages.iter().map(stage).collect::<Option<_>>()?;
    let ([outer, nz, ny, nx], [_, _, side]) = (filter.extents, filter.sides);
    let extents = [outer * nz * ny, 1, nx / filter.step, filter.step];
    let sides = [Side::Edge, side, Side::Edge];
    let turned = Filter { extents, step: 1, sides, stages: filter.stages.clone() };
    Some((turned, Described { is_single: described.is_single, stages }))
}

/// The steps of a filter, one after the other.
pub fn steps(
    device: &dyn Device,
    filter: &Filter,
    described: &Described,
    [read, written]: [ValueType; 2],
) -> Result<Vec<FilterLaunch>, Error> {
    if filter.extents.iter().any(|extent| *extent > MOST) {
        return Err(too_many(&filter.extents));
    }
    let is_wide = OUTPUTS as usize * filter.step > WIDTHS[0] as usize;
    if let Some((filter, described)) = turned(filter, described).filter(|_| is_wide) {
        return steps(device, &filter, &described, [read, written]);
    }
    let of = FilterContext { device, filter, outside: constant(&filter.sides) };
    let mut all = Vec::new();
    let mut stages = &described.stages[..];
    let mut kinds = [read, written];
    while !stages.is_empty() {
        // Values of eight bytes between steps are no factors of single precision.
        let (step, taken) = match described.is_single && kinds[0].bytes() <= 4 {
            true => of.next::<f32>(stages, kinds)?,
            false => of.next::<f64>(stages, kinds)?,
        };
        all.push(step);
        stages = &stages[taken..];
        // What is read between steps is what they write.
        kinds = [written; 2];
    }
    Ok(all)
}

/// A type of sums, with its kernels.
trait SumKernels: SumType + Passed + lines::LineKernels + boxes::BoxKernels + 'static {
    fn of(value: f64) -> Self;
    fn words(self) -> Vec<u32>;
}

impl SumKernels for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    fn words(self) -> Vec<u32> {
        vec![self.to_bits()]
    }
}

impl SumKernels for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn words(self) -> Vec<u32> {
        vec![self.to_bits() as u32, (self.to_bits() >> 32) as u32]
    }
}

/// From where to where a sum reaches, along z, y and x: the first offset, and how many from there on.
type Reach = [(i32, usize); 3];

fn reach<'a>(offsets: impl Iterator<Item = &'a [i32; 3]> + Clone) -> Reach {
    [0, 1, 2].map(|axis| {
        let along = offsets.clone().map(|offset| offset[axis]);
        let (low, high) = (along.clone().min().unwrap_or(0), along.max().unwrap_or(0));
        (low, (high - low) as usize + 1)
    })
}

impl FilterContext<'_> {
    /// A step, and how many stages it takes.
    fn next<V: SumKernels>(
        &self,
        stages: &[Summed],
        kinds: [ValueType; 2],
    ) -> Result<(FilterLaunch, usize), Error> {
        let taps = match &stages[0].terms {
            Terms::Ordered(products) => {
                return Ok((self.ordered(products, stages[0].divisor, kinds)?, 1));
            }
            Terms::Any(taps) => taps,
        };
        let divisor = stages[0].divisor;
        if let Some(step) = self.bytes(taps, divisor, kinds)? {
            return Ok((step, 1));
        }
        let first = Line::of(taps, stages[0].divisor, self.filter.step);
        let second = stages.get(1).and_then(|stage| match &stage.terms {
            Terms::Any(taps) => Line::of(taps, stage.divisor, self.filter.step),
            Terms::Ordered(_) => None,
        });
        if let (Some(y), Some(x)) = (&first, &second)
            && (y.axis, x.axis) == (1, 2)
            && V::OWN.number == numbers::F32
            && let Some(step) = self.line_strips(y, x, kinds)?
        {
            return Ok((step, 2));
        }
        if let (Some(y), Some(x)) = (&first, &second)
            && (y.axis, x.axis) == (1, 2)
            && let Some(step) = self.lines::<V>(Some(y), Some(x), kinds)?
        {
            return Ok((step, 2));
        }
        if let Some(line) = &first {
            let [y, x] = [1, 2].map(|axis| (line.axis == axis).then_some(line));
            if let Some(step) = self.lines::<V>(y, x, kinds)? {
                return Ok((step, 1));
            }
        }
        let rows = self.rows(GROUP).count();
        if rows == 0 {
            // Too many values belong together for a row of a block of the others.
            let product = |tap: &Tap| filter::OrderedProduct {
                weight: tap.weight,
                at: tap.offset,
                other: None,
            };
            let products: Vec<_> = taps.iter().map(product).collect();
            return Ok((self.ordered(&products, stages[0].divisor, kinds)?, 1));
        }
        if V::OWN.number == numbers::F32
            && let Some(step) = self.strips(taps, divisor, kinds)?
        {
            return Ok((step, 1));
        }
        Ok((self.boxes::<V>(taps, divisor, kinds)?, 1))
    }

    fn source<V: SumKernels>(
        &self,
        columns: &Memory,
        rows: &Memory,
        first: i32,
        kinds: [ValueType; 2],
    ) -> InputArray<V> {
        let [_, _, ny, nx] = self.filter.extents;
        InputArray {
            columns: columns.as_ptr(),
            rows: rows.as_ptr(),
            outside: V::of(self.outside),
            kinds: kinds.map(|kind| numbers::ValueType::of(kind.number())),
            ny: ny as u32,
            nx: nx as u32,
            first,
        }
    }

    fn place(&self, axis: usize, reach: (i32, usize), entries: u32) -> Result<Memory, Error> {
        let extent = self.filter.extents[axis + 1];
        let step = if axis == 2 { self.filter.step } else { 1 };
        let side = if reach == (0, 1) { Side::Edge } else { self.filter.sides[axis] };
        let table = table((extent, step), side, reach, entries as usize);
        self.device.constants("a filter", &table)
    }

    /// Rows of a block: those of the widest that is not much wider than the array, and their weights along x.
    fn rows(&self, span: u32) -> impl Iterator<Item = RowLayout> {
        let (step, nx) = (self.filter.step as u32, self.filter.extents[3] as u32);
        let unit = OUTPUTS * step;
        let needed = nx.next_multiple_of(unit);
        WIDTHS
            .into_iter()
            .filter(move |width| unit <= *width)
            .map(move |width| (width / unit * unit).min(needed))
            .map(move |tile| RowLayout { tile, span, step })
    }

    /// The one that takes least, of those that fit: what blocks load and compute beside their outputs costs, and so does a
    /// multiprocessor with few warps, or a kernel of any types.
    fn fitting<L>(&self, all: Vec<LaunchChoice<L>>) -> Option<LaunchChoice<L>> {
        let most = self.device.shared_bytes();
        let cost = |LaunchChoice { row, bytes, threads, own, .. }: &LaunchChoice<L>| {
            let warps = (most / bytes * threads / 32).min(WARPS);
            let beside = f64::from(row.columns()) / f64::from(row.tile);
            let kernel = if *own { 1.0 } else { ANY };
            beside * kernel * f64::from(WARPS) / f64::from(warps)
        };
        let fits = all.into_iter().filter(|fit| fit.bytes <= most);
        fits.min_by(|a, b| cost(a).total_cmp(&cost(b)))
    }

    /// Sums along lines, if a block has room for them.
    fn lines<V: SumKernels>(
        &self,
        y: Option<&Line>,
        x: Option<&Line>,
        kinds: [ValueType; 2],
    ) -> Result<Option<FilterLaunch>, Error> {
        let [_, _, ny, nx] = self.filter.extents.map(|extent| extent as u32);
        let span = |line: Option<&Line>| line.map_or(0, |line| padded(line.weights.len()));
        let nothing = Memory::new(0, 0, ());
        let none = |row: RowLayout| LinesLaunch {
            source: InputArray { ny, nx, ..self.source::<V>(&nothing, &nothing, 0, kinds) },
            weights: std::ptr::null(),
            divisors: [y, x].map(|line| V::of(line.map_or(1.0, |line| line.divisor))),
            span: span(y),
            has_x: u32::from(x.is_some()),
            row,
            rows: self.rows_of_block(row.tile, span(y)),
            reach: y.map_or(1, |line| line.weights.len() as u32),
            counts: [y, x]
                .map(|line| counts(line.map_or(&[], |line| slice::from_ref(&line.weights)))),
            is_aligned: 0,
        };
        let of = |row: RowLayout| {
            let launch = none(row);
            let fit =
                |bytes| LaunchChoice { launch, row, bytes, threads: launch.threads(), own: false };
            let own = LaunchChoice { own: true, ..fit(launch.shared_bytes::<true>(V::BYTES)) };
            let any = fit(launch.shared_bytes::<false>(V::BYTES));
            [is_own::<V>(kinds, row).then_some(own), Some(any)]
        };
        let all = self.rows(span(x)).flat_map(of).flatten().collect();
        let Some(LaunchChoice { launch, bytes, own, .. }) = self.fitting(all) else {
            return Ok(None);
        };
        let [rows, columns] = launch.tables();
        let reach = |line: Option<&Line>, step: usize| {
            line.map_or((0, 1), |it| (it.first * step as i32, (it.weights.len() - 1) * step + 1))
        };
        let columns = self.place(2, reach(x, self.filter.step), columns)?;
        let rows = self.place(1, reach(y, 1), rows)?;
        let mut words = Vec::new();
        for line in [y, x].into_iter().flatten() {
            words.extend(groups::<V>(slice::from_ref(&line.weights)));
        }
        let weights = self.device.constants("weights", &words)?;
        let source = self.source::<V>(&columns, &rows, reach(y, 1).0, kinds);
        let launch = LinesLaunch { source, weights: weights.as_ptr(), ..launch };
        let [across, down] = launch.blocks();
        let extents = Extents {
            blocks: self.blocks([across, down])?,
            threads: launch.threads(),
            shared_bytes: bytes,
        };
        let kernel = V::LINES[usize::from(own)];
        let is_aligned = row_is_aligned(nx, launch.row.step);
        let launch = move |from: *const u8, to: *mut u8| {
            let is_aligned = u32::from(is_aligned && (to as usize).is_multiple_of(16));
            Box::new(kernel.with((from, to, LinesLaunch { is_aligned, ..launch })))
                as Box<dyn AnyCall>
        };
        Ok(Some(FilterLaunch {
            launch: Box::new(launch),
            extents,
            tables: vec![columns, rows, weights],
        }))
    }

    /// Rows of a block, as many as give each multiprocessor its share, and not so few that most of what is loaded is beside them.
    fn rows_of_block(&self, tile: u32, span: u32) -> u32 {
        let [outer, nz, ny, nx] = self.filter.extents.map(|extent| extent as u32);
        let across = u64::from(nx.div_ceil(tile)) * u64::from(outer) * u64::from(nz);
        let wanted = u64::from(self.device.multiprocessors() * BLOCKS);
        let down = wanted.div_ceil(across.max(1)) as u32;
        let least = (2 * span).max(OUTPUTS);
        ny.div_ceil(down.max(1)).max(least).min(ny.max(1)).next_multiple_of(OUTPUTS)
    }

    fn boxes<V: SumKernels>(
        &self,
        taps: &[Tap],
        divisor: f64,
        kinds: [ValueType; 2],
    ) -> Result<FilterLaunch, Error> {
        let [_, nz, ny, nx] = self.filter.extents.map(|extent| extent as u32);
        let reach = reach(taps.iter().map(|tap| &tap.offset));
        let step = self.filter.step as i32;
        let span = (reach[2].1 - 1) / step as usize + 1;
        let mut dense = vec![vec![0.0; span]; reach[0].1 * reach[1].1];
        for tap in taps {
            let [z, y, x] = [0, 1, 2].map(|axis| (tap.offset[axis] - reach[axis].0) as usize);
            dense[z * reach[1].1 + y][x / step as usize] = tap.weight;
        }
        let nothing = Memory::new(0, 0, ());
        let all: Vec<_> = self
            .rows(padded(span))
            .map(|row| BoxesLaunch {
                source: InputArray { ny, nx, ..self.source::<V>(&nothing, &nothing, 0, kinds) },
                planes: std::ptr::null(),
                weights: std::ptr::null(),
                divisor: V::of(divisor),
                nz,
                spans: [reach[0].1 as u32, reach[1].1 as u32],
                row,
                counts: counts(&dense),
                is_aligned: 0,
            })
            .flat_map(|launch: BoxesLaunch<V>| {
                let row = launch.row;
                let fit =
                    |bytes| LaunchChoice { launch, row, bytes, threads: boxes::BLOCK, own: false };
                let own = LaunchChoice { own: true, ..fit(launch.shared_bytes::<true>(V::BYTES)) };
                let any = fit(launch.shared_bytes::<false>(V::BYTES));
                [is_own::<V>(kinds, row).then_some(own), Some(any)]
            })
            .flatten()
            .collect();
        let fitting = self.fitting(all);
        let LaunchChoice { launch, bytes, own, .. } =
            fitting.ok_or_else(|| self.too_far(&reach))?;
        let [planes, rows, columns] = launch.tables(V::BYTES);
        let planes = self.place(0, reach[0], planes)?;
        let rows = self.place(1, reach[1], rows)?;
        let columns = self.place(2, reach[2], columns)?;
        let weights = self.device.constants("weights", &groups::<V>(&dense))?;
        let launch = BoxesLaunch {
            source: self.source::<V>(&columns, &rows, reach[1].0, kinds),
            planes: planes.as_ptr(),
            weights: weights.as_ptr(),
            ..launch
        };
        let [across, down] = launch.blocks(V::BYTES);
        let extents = Extents {
            blocks: self.blocks([across, down])?,
            threads: boxes::BLOCK,
            shared_bytes: bytes,
        };
        let kernel = V::BOXES[usize::from(own)];
        let is_aligned = row_is_aligned(nx, launch.row.step);
        let launch = move |from: *const u8, to: *mut u8| {
            let is_aligned = u32::from(is_aligned && (to as usize).is_multiple_of(16));
            Box::new(kernel.with((from, to, BoxesLaunch { is_aligned, ..launch })))
                as Box<dyn AnyCall>
        };
        Ok(FilterLaunch {
            launch: Box::new(launch),
            extents,
            tables: vec![planes, rows, columns, weights],
        })
    }

    fn ordered(
        &self,
        products: &[filter::OrderedProduct],
        divisor: f64,
        kinds: [ValueType; 2],
    ) -> Result<FilterLaunch, Error> {
        let [_, nz, ny, nx] = self.filter.extents.map(|extent| extent as u32);
        let mut products = products.to_vec();
        // A block loads one plane after the other.
        products.sort_by_key(|product| product.at[0]);
        let offsets = products.iter().flat_map(|product| {
            std::iter::once(&product.at).chain(product.other.as_ref().map(|(at, _)| at))
        });
        let reach = reach(offsets);
        // Pairs along z would be of two planes.
        assert!(
            products.iter().all(|it| it.other.is_none_or(|(other, _)| other[0] == it.at[0])),
            "pairs of one plane"
        );
        let launch = OrderedLaunch {
            source: InputArray {
                ny,
                nx,
                ..self.source(&Memory::new(0, 0, ()), &Memory::new(0, 0, ()), 0, kinds)
            },
            planes: std::ptr::null(),
            products: std::ptr::null(),
            divisor,
            count: products.len() as u32,
            nz,
            spans: [reach[0].1 as u32, reach[1].1 as u32],
            row: RowLayout { tile: COLUMNS, span: reach[2].1 as u32 - 1, step: 1 },
        };
        if launch.shared_bytes() > self.device.shared_bytes() {
            return Err(self.too_far(&reach));
        }
        let [planes, rows, columns] = launch.tables();
        let planes = self.place(0, reach[0], planes)?;
        let rows = self.place(1, reach[1], rows)?;
        let columns = self.place(2, reach[2], columns)?;
        let from = |axis: usize, at: i32| (at - reach[axis].0) as u32;
        let mut words = Vec::new();
        for product in &products {
            let (other, sign) = product.other.unwrap_or((product.at, 0.0));
            words.extend(product.weight.words());
            words.extend(sign.words());
            words.extend([0, 1, 2].map(|axis| from(axis, product.at[axis])));
            words.extend([1, 2].map(|axis| from(axis, other[axis])));
            words.push(0);
        }
        assert_eq!(
            words.len() * 4,
            size_of::<OrderedProduct>() * products.len(),
            "as kernels read them"
        );
        let products = self.device.constants("weights", &words)?;
        let launch = OrderedLaunch {
            source: self.source(&columns, &rows, reach[1].0, kinds),
            planes: planes.as_ptr(),
            products: products.as_ptr(),
            ..launch
        };
        let [across, down] = launch.blocks();
        let extents = Extents {
            blocks: self.blocks([across, down])?,
            threads: THREADS,
            shared_bytes: launch.shared_bytes(),
        };
        let launch = move |from, to| Box::new(ORDERED.with((from, to, launch))) as Box<dyn AnyCall>;
        Ok(FilterLaunch {
            launch: Box::new(launch),
            extents,
            tables: vec![planes, rows, columns, products],
        })
    }

    /// Blocks of all planes.
    fn blocks(&self, each: [u32; 2]) -> Result<u32, Error> {
        let [outer, nz, ..] = self.filter.extents;
        let all = each.map(|count| count as usize).into_iter().chain([outer, nz]);
        let count = all.fold(1usize, usize::saturating_mul);
        if count > MOST {
            return Err(too_many(&self.filter.extents));
        }
        Ok(count as u32)
    }

    fn too_far(&self, reach: &Reach) -> Error {
        let spans = reach.map(|(_, span)| span.to_string()).join(" x ");
        let reason = format!(
            "a sum over {spans} points takes more than the {} bytes of shared memory that a block has",
            self.device.shared_bytes()
        );
        Error::DeviceArray { reason }
    }
}

fn too_many(extents: &[usize; 4]) -> Error {
    let reason = format!(
        "its {extents:?} values (axes that are filtered alike taken together) are more than a launch counts, {MOST} along an axis; filter it part by part"
    );
    Error::DeviceArray { reason }
}

/// Weights along one axis, and the offset of the first.
struct Line {
    axis: usize,
    first: i32,
    weights: Vec<f64>,
    divisor: f64,
}

impl Line {
    /// If the terms are along y or x.
    fn of(taps: &[Tap], divisor: f64, step: usize) -> Option<Self> {
        let along = |axis: usize| {
            taps.iter().all(|tap| (0..3).all(|other| other == axis || tap.offset[other] == 0))
        };
        let axis = [2, 1].into_iter().find(|axis| along(*axis))?;
        let unit = if axis == 2 { step as i32 } else { 1 };
        let at = |tap: &Tap| tap.offset[axis] / unit;
        let (low, high) = (taps.iter().map(at).min()?, taps.iter().map(at).max()?);
        let mut weights = vec![0.0; (high - low) as usize + 1];
        taps.iter().for_each(|tap| weights[(at(tap) - low) as usize] = tap.weight);
        Some(Self { axis, first: low, weights, divisor })
    }
}

/// Whether the kernel of arrays of the type of the sums takes them.
fn is_own<V: SumKernels>(kinds: [ValueType; 2], row: RowLayout) -> bool {
    row.is_plain() && kinds.iter().all(|kind| kind.number() == V::OWN.number)
}

/// Whether rows begin at multiples of 16 bytes, if the array does.
fn row_is_aligned(nx: u32, step: u32) -> bool {
    nx.is_multiple_of(GROUP) && step == 1
}

/// Which of the weights of some lines of one length count.
fn counts(lines: &[Vec<f64>]) -> Counts {
    let length = lines.first().map_or(0, Vec::len) as u32;
    let first = |line: &Vec<f64>| {
        let zero = line.iter().position(|weight| *weight == 0.0);
        zero.unwrap_or(line.len()) as u32
    };
    let counting = lines.iter().map(first).min().unwrap_or(0);
    let tail = if counting == length { length % GROUP } else { 0 };
    Counts { full: counting / GROUP, tail }
}

/// As many weights as fill groups.
fn padded(count: usize) -> u32 {
    (count as u32).next_multiple_of(GROUP)
}

/// Lines of weights in groups, and the masks of those that are not 0.
fn groups<V: SumKernels>(lines: &[Vec<f64>]) -> Vec<u32> {
    let (mut words, mut masks) = (Vec::new(), Vec::new());
    for line in lines {
        let mut line = line.clone();
        line.resize(padded(line.len()) as usize, 0.0);
        words.extend(line.iter().flat_map(|weight| V::of(*weight).words()));
        masks.extend(line.chunks(GROUP as usize).map(|group| {
            let bit = |(at, weight): (usize, &f64)| u32::from(*weight != 0.0) << at;
            group.iter().enumerate().map(bit).sum::<u32>()
        }));
    }
    words.extend(masks);
    words
}
