// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system's arrays and tables on what launches its kernel, and its launches.

use std::sync::Arc;

use kernels_gpu::layout::Grid2d;
use kernels_gpu::wide2d::Wide2dLaunch;
use kernels_gpu::wide2d::finished::{EpilogueInputs, MOST_PLANES};

use super::geometry::Geometry;
use super::kernel::{GeneratedKernel, TABLES, Table};
use super::listed;
use super::sweep::FinishedSweep;
use super::target::LaunchTarget;
use crate::checked::System;
use crate::evaluate::{Evaluator, NoArrays, PlainF64};
use crate::expression::{Array, Node};
use crate::gpu::numbers;
use crate::parts::{Field, Receiver};
use crate::start::StartValues;
use compute::device::MemoryRows;
use compute::device::generated::MOST_ADDRESSES;
use compute::engine::Session;
use compute::engine::on_gpu::Ghosts;
use compute::ranks::Gather;
use problem::values::Element;
use problem::{Dtype, Error, Grid, Region, Values, with_dtype, with_values};
use solves::Solves;
use totals::Reducing;

mod solves;
mod stepping;
mod totals;

/// Steps whose numbers are uploaded together, at most.
const STEPS: usize = 256;
/// Numbers that are uploaded together, unless a step has more.
const NUMBERS: usize = 1 << 18;
/// Values of receivers that are kept on the GPU, unless a step has more.
const RECORDS: usize = 1 << 18;

/// A system on it.
pub struct OnTarget<T> {
    /// Of a rank's part, what keeps its ghosts right, and the numbers of the arrays that have some. Dropped first: memory is
    /// given back when no work waits for others.
    ghosts: Option<(Box<dyn Ghosts>, Vec<usize>)>,
    system: System,
    kernel: GeneratedKernel,
    /// What computes all points before the kernel computes those near sides again, and the array with its operand.
    sweep: Option<(FinishedSweep, usize)>,
    target: T,
    /// Of each field the arrays of its levels, the present one first; the last ones, of a chain as many as there are
    /// levels, are to take the next.
    fields: Vec<Vec<usize>>,
    coefficients: Vec<usize>,
    works: Vec<usize>,
    solves: Solves,
    /// The numbers of some steps.
    numbers: usize,
    /// For how many steps there is room.
    portion: usize,
    /// The first step that they are of, and how many; none at first.
    numbers_of: (usize, usize),
    /// The tables after the numbers.
    tables: Vec<usize>,
    /// What receivers received in some steps.
    records: usize,
    /// For how many steps there is room.
    kept: usize,
    /// What reduces the values for totals, if there are some.
    totals: Option<Reducing>,
    /// Whether each step waits for what the reductions are before it.
    waits: bool,
    /// What they are, if somebody has told it for the next step.
    told: Option<Vec<f64>>,
    /// Of a chain the step at which the last launch began, and how many it took.
    last: Option<(usize, usize)>,
    /// Steps that are done or queued.
    done: usize,
}

impl<T: LaunchTarget> OnTarget<T> {
    pub fn new(
        system: System,
        kernel: GeneratedKernel,
        beginning: StartValues,
        target: T,
    ) -> Result<Self, Error> {
        Self::solving(system, kernel, beginning, target, None)
    }

    /// Of a rank's part with what gathers what it solves for.
    pub fn solving(
        system: System,
        kernel: GeneratedKernel,
        beginning: StartValues,
        mut target: T,
        among: Option<Gather>,
    ) -> Result<Self, Error> {
        let bytes = kernel.geometry.values() * system.dtype.bytes();
        let whole = rows(&kernel.geometry, system.dtype, Region::whole(system.shape));
        let mut upload = |grid: &Arc<Grid>| {
            let array = target.allocate("fields", bytes)?;
            // Of those that come from elsewhere on the GPU there are none here.
            if grid.values.len() > 0 {
                with_values!(&grid.values, values => {
                    target.write(array, whole, bytemuck::cast_slice(values))?;
                });
            }
            Ok::<usize, Error>(array)
        };
        let mut fields: Vec<Vec<usize>> = Vec::new();
        for levels in &beginning.fields {
            fields.push(levels.iter().map(&mut upload).collect::<Result<_, _>>()?);
        }
        let coefficients: Vec<usize> =
            beginning.coefficients.iter().map(&mut upload).collect::<Result<_, _>>()?;
        for (levels, own) in fields.iter_mut().zip(&system.fields) {
            let next = match kernel.tile {
                _ if own.is_held => 0,
                Some(_) => levels.len(),
                None => 1,
            };
            for _ in 0..next {
                levels.push(target.allocate("fields", bytes)?);
            }
        }
        // A chain has them on chip.
        let works = if kernel.tile.is_some() { &[][..] } else { &system.works };
        let works = works.iter().map(|_| target.allocate("work fields", bytes));
        let works = works.collect::<Result<_, _>>()?;
        let solves = Solves::new((&system, whole), &mut target, among)?;
        let own = numbers(system.dtype);
        let count = (system.program.scalars.len() + system.sources.len()).max(1);
        let steps = kernel.tile.map_or(1, |tile| tile.steps);
        let waits = system.waits_for_totals();
        let portion = if waits { 1 } else { (NUMBERS / count).clamp(steps, STEPS) };
        let numbers = target.allocate("numbers", portion * count * own.bytes())?;
        let entries: Vec<u8> = bytemuck::cast_slice(&kernel.places.entries).to_vec();
        let values = convert(system.dtype, kernel.places.values.iter().copied());
        let mut table = |bytes: &[u8]| {
            let array = target.allocate("tables", bytes.len().max(8))?;
            target.write(array, MemoryRows::first(bytes.len()), bytes)?;
            Ok::<usize, Error>(array)
        };
        let mut tables = vec![table(&entries)?, table(&values)?];
        let (rows, sources) = match listed::is_needed(&system) {
            true => listed::lists(&system),
            false => Default::default(),
        };
        tables.push(table(bytemuck::cast_slice(&rows))?);
        tables.push(table(bytemuck::cast_slice(&sources))?);
        let receivers = system.receivers.iter();
        let place = |receiver: &Receiver| {
            let [z, y, x] = receiver.at;
            let distance = (z * kernel.geometry.extents[1] + y) * kernel.geometry.pitch + x;
            [(distance * system.dtype.bytes()) as u64, receiver.field as u64]
        };
        let receivers: Vec<[u64; 2]> = receivers.map(place).collect();
        match kernel.tile {
            None => {
                tables.push(table(bytemuck::cast_slice(&receivers))?);
                tables.push(table(&[])?);
            }
            Some(tile) => {
                let (blocks, entries) = listed::receivers(&system, tile)?;
                tables.push(table(bytemuck::cast_slice(&entries))?);
                tables.push(table(bytemuck::cast_slice(&blocks))?);
            }
        }
        let kept = (RECORDS / receivers.len().max(1)).clamp(steps, RECORDS / 64);
        let records = target.allocate("records", kept * receivers.len().max(1) * own.bytes())?;
        let totals = kernel.totals.as_ref().map(|it| Reducing::new(&system, it, &mut target));
        Ok(Self {
            totals: totals.transpose()?,
            waits,
            told: None,
            system,
            kernel,
            sweep: None,
            target,
            fields,
            coefficients,
            works,
            solves,
            numbers,
            portion,
            numbers_of: (0, 0),
            tables,
            records,
            kept,
            last: None,
            done: beginning.step,
            ghosts: None,
        })
    }

    /// With a sweep before each launch of the kernel.
    pub fn sweeping(mut self, sweep: FinishedSweep) -> Result<Self, Error> {
        let bytes: &[u8] = bytemuck::cast_slice(&sweep.words);
        let words = self.target.allocate("weights", bytes.len())?;
        self.target.write(words, MemoryRows::first(bytes.len()), bytes)?;
        Ok(Self { sweep: Some((sweep, words)), ..self })
    }

    /// A part of a larger grid, with what keeps the ghosts of these arrays right.
    pub fn among(self, ghosts: Box<dyn Ghosts>, arrays: Vec<usize>) -> Self {
        Self { ghosts: Some((ghosts, arrays)), ..self }
    }

    /// Has the ghosts be right for so many more steps, if there are some; or got anew.
    fn refresh(&mut self, steps: usize, anew: bool) -> Result<(), Error> {
        let Some((mut ghosts, numbers)) = self.ghosts.take() else { return Ok(()) };
        let mut renewed = Ok(());
        if anew || ghosts.left() < steps {
            let numbered = self.system.numbered();
            let arrays: Vec<usize> =
                numbers.iter().map(|number| self.array(numbered[*number])).collect();
            let (geometry, dtype) = (&self.kernel.geometry, self.system.dtype);
            let rows = |region| rows(geometry, dtype, region);
            renewed = self.target.renew(&mut *ghosts, &arrays, &rows);
        }
        if renewed.is_ok() {
            ghosts.used(steps);
        }
        self.ghosts = Some((ghosts, numbers));
        renewed
    }

    /// Queues the sweep of a step whose numbers are there, if there is one.
    fn sweep(&mut self, numbers: u64) -> Result<(), Error> {
        let Some((sweep, words)) = &self.sweep else { return Ok(()) };
        let Geometry { lead, pitch, extents: [_, ny, nx], .. } = self.kernel.geometry;
        let place = |array| self.target.address(array) + (lead * self.system.dtype.bytes()) as u64;
        let points = |array| std::ptr::with_exposed_provenance_mut::<u16>(place(array) as usize);
        let mut planes = [std::ptr::null(); MOST_PLANES];
        for (to, array) in planes.iter_mut().zip(&sweep.shape.planes) {
            *to = points(self.array(*array)).cast_const();
        }
        let addresses = TABLES.map(|table| match table {
            Table::Numbers => numbers,
            table => self.target.address(self.tables[table as usize - Table::Entries as usize]),
        });
        let count = sweep.shape.planes.len() as u32;
        let given = EpilogueInputs { planes, count, addresses, emulated: 0 };
        let next = self.fields[0].last().expect("an array to take the next values");
        let (nx, ny, pitch) = (nx as u32, ny as u32, pitch as u32);
        let (tile_rows, stages) = (sweep.tile_rows, sweep.stages);
        let launch = Wide2dLaunch { grid: Grid2d { nx, ny, pitch }, tile_rows, stages };
        let parameters = (
            points(self.array(sweep.shape.input)).cast_const(),
            points(*next),
            std::ptr::with_exposed_provenance(self.target.address(*words) as usize),
            launch,
            given,
        );
        let (entry, extents) = (sweep.kernel.entry, sweep.extents(&self.system));
        self.target.sweep(entry, extents, parameters)
    }

    /// Uploads the numbers of so many steps and of some that follow, if they are not there; those that are made of totals, with
    /// what the reductions are. The place of the first.
    fn numbers(&mut self, step: usize, steps: usize, reduced: &[f64]) -> Result<u64, Error> {
        let (first, count) = self.numbers_of;
        let scalars = self.system.program.scalars.iter();
        let added = self.system.sources.iter().map(|source| &source.add);
        let nodes: Vec<_> = scalars.chain(added).collect();
        let own = numbers(self.system.dtype);
        // Numbers that do not change are operands, but for those of listed sources, and for what systems that are computed
        // side by side differ in.
        let changing = nodes.iter().any(|node| !matches!(node, Node::Number(_)));
        let is_read = changing || listed::is_needed(&self.system) || self.system.beside.is_some();
        let is_there = match changing {
            true => !self.waits && first <= step && step + steps <= first + count,
            false => count > 0,
        };
        if is_read && !is_there {
            let of_step = |step: usize| {
                let system = &self.system;
                let evaluator =
                    Evaluator::new(system, PlainF64, &NoArrays, step as f64).with_totals(reduced);
                nodes.iter().map(move |node| evaluator.at(node, [0; 3])).collect::<Vec<f64>>()
            };
            // Steps before these may be next, where a gradient goes back over them.
            let aligned = step - step % self.portion;
            let first = if step + steps <= aligned + self.portion { aligned } else { step };
            let bytes = convert(self.system.dtype, (first..first + self.portion).flat_map(of_step));
            self.target.write(self.numbers, MemoryRows::first(bytes.len()), &bytes)?;
            self.numbers_of = (first, self.portion);
        }
        if !changing {
            return Ok(self.target.address(self.numbers));
        }
        let place = (step - self.numbers_of.0) * nodes.len() * own.bytes();
        Ok(self.target.address(self.numbers) + place as u64)
    }

    fn array(&self, array: Array) -> usize {
        match array {
            Array::Field { field, level } => self.fields[field][level],
            Array::Coefficient(coefficient) => self.coefficients[coefficient],
            Array::New(field) => self.fields[field][self.system.fields[field].levels],
            Array::Work(work) => self.works[work],
        }
    }

    /// Queues one step, or of a chain up to those of a launch, and that it is noted at a place for so many steps
    /// what receivers have: before each step, or after it ([`GeneratedKernel::notes_before`]).
    fn queue(&mut self, steps: usize, slot: usize) -> Result<(), Error> {
        let reduced = self.reduced_before()?;
        self.refresh(steps, false)?;
        let done = self.done;
        let numbers = self.numbers(done, steps, &reduced)?;
        self.sweep(numbers)?;
        for stage in 0..=self.kernel.after.len() {
            if self.solves.has(stage) {
                let kernel = self.kernel_of(stage);
                let from_to = [kernel.arrays[0], kernel.written[0]];
                self.solve(stage, from_to)?;
                continue;
            }
            let addresses = self.addresses(stage, (numbers, slot), steps);
            let extents = self.kernel_of(stage).launch();
            if extents.blocks > 0 {
                self.target.launch(stage, extents, addresses)?;
            }
        }
        let by = |own: &Field| if self.kernel.tile.is_some() { own.levels } else { 1 };
        let fields = self.fields.iter_mut().zip(&self.system.fields);
        fields.for_each(|(levels, own)| levels.rotate_right(by(own)));
        self.last = Some((done, steps));
        self.done += steps;
        Ok(())
    }

    /// The kernel of a stage.
    fn kernel_of(&self, stage: usize) -> &GeneratedKernel {
        stage.checked_sub(1).map_or(&self.kernel, |after| &self.kernel.after[after])
    }

    /// What the kernel of a stage is given in a launch of so many steps, with where the numbers of the first are, and for
    /// which step it is noted first what receivers have.
    fn addresses(
        &self,
        stage: usize,
        (numbers, slot): (u64, usize),
        steps: usize,
    ) -> [u64; MOST_ADDRESSES] {
        let mut addresses = [0; MOST_ADDRESSES];
        let kernel = self.kernel_of(stage);
        let read = kernel.arrays.iter().map(|array| self.array(*array));
        let written = kernel.written.iter().map(|array| match *array {
            // Of a chain.
            Array::Field { field, level } => {
                let levels = &self.fields[field];
                levels[self.system.fields[field].levels + level]
            }
            computed => self.array(computed),
        });
        let lead = (self.kernel.geometry.lead * self.system.dtype.bytes()) as u64;
        let arrays = read.chain(written).map(|array| self.target.address(array) + lead);
        let tables = self.tables.iter().map(|array| self.target.address(*array));
        let records = self.target.address(self.records) + (slot * self.record_bytes()) as u64;
        let with_receivers =
            &self.fields[..if self.system.receivers.is_empty() { 0 } else { self.fields.len() }];
        let present = with_receivers.iter().map(|levels| self.target.address(levels[0]) + lead);
        let tables = [records, numbers].into_iter().chain(tables).chain([steps as u64]);
        let all = arrays.chain(tables).chain(present);
        addresses.iter_mut().zip(all).for_each(|(to, address)| *to = address);
        addresses
    }

    /// Queues so many steps, and that it is noted what receivers have in them.
    fn launches(&mut self, steps: usize) -> Result<(), Error> {
        let most = self.launch();
        for first in (0..steps).step_by(most) {
            self.queue(most.min(steps - first), first)?;
        }
        Ok(())
    }

    /// Has a field, by its number among arrays, be what is written into rows of an array that waits for next values. Where that says false,
    /// nothing is changed.
    pub fn replace(
        &mut self,
        array: usize,
        write: impl FnOnce(&mut T, usize, MemoryRows) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let Array::Field { field, level } = self.system.numbered()[array] else {
            unreachable!("coefficients have no number")
        };
        let whole =
            rows(&self.kernel.geometry, self.system.dtype, Region::whole(self.system.shape));
        let levels = &mut self.fields[field];
        let next = self.system.fields[field].levels;
        let spare = next + level.min(levels.len() - next - 1);
        let is_written = write(&mut self.target, levels[spare], whole)?;
        // What was before these values, and what lay there, is not taken again.
        self.last = None;
        if is_written {
            levels.swap(level, spare);
        }
        Ok(is_written)
    }

    /// A box of an array.
    fn box_of(&self, array: Array, region: Region) -> Result<Values, Error> {
        let dtype = self.system.dtype;
        with_dtype!(dtype, E => {
            let mut values = vec![E::default(); region.points()];
            let rows = rows(&self.kernel.geometry, dtype, region);
            self.target.read(self.array(array), rows, bytemuck::cast_slice_mut(&mut values))?;
            Ok(E::wrap(values))
        })
    }

    /// Bytes of what all receivers receive before a step.
    fn record_bytes(&self) -> usize {
        self.system.receivers.len() * numbers(self.system.dtype).bytes()
    }

    /// What was noted in the first so many steps.
    fn noted(&self, steps: usize) -> Result<Vec<Vec<f64>>, Error> {
        let mut bytes = vec![0; steps * self.record_bytes()];
        self.target.read(self.records, MemoryRows::first(bytes.len()), &mut bytes)?;
        let values: Vec<f64> = match self.system.dtype {
            Dtype::F64 => bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect(),
            _ => {
                let single = |bytes| f64::from(bytemuck::pod_read_unaligned::<f32>(bytes));
                bytes.chunks_exact(4).map(single).collect()
            }
        };
        Ok(values.chunks_exact(self.system.receivers.len()).map(<[f64]>::to_vec).collect())
    }
}

/// Where a box of points of an array lies.
fn rows(geometry: &Geometry, dtype: Dtype, region: Region) -> MemoryRows {
    let &Geometry { lead, pitch, extents: [_, ny, _], .. } = geometry;
    let [z, y, x] = region.low.map(|at| at as usize);
    let [planes, rows, width] = region.extents();
    let start = (lead + (z * ny + y) * pitch + x) * dtype.bytes();
    let (row_pitch, plane_pitch) = (pitch * dtype.bytes(), ny * pitch * dtype.bytes());
    MemoryRows { start, width: width * dtype.bytes(), rows, row_pitch, planes, plane_pitch }
}

/// Numbers in the type that kernels compute in.
fn convert(dtype: Dtype, numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    match dtype {
        Dtype::F64 => numbers.flat_map(f64::to_le_bytes).collect(),
        _ => numbers.flat_map(|number| (number as f32).to_le_bytes()).collect(),
    }
}
