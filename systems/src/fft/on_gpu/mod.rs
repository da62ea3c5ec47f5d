// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps of a system on a GPU (`kernels_gpu::spectral::coupled`): each variable is transformed once there and once back, and
//! powers of matrices are made between both, where they are used.
//!
//! Planes hold backward differences of levels, not levels: what is transformed, and without what rounding leaves of them.

use std::borrow::Cow;

use cuda_driver::Extents;
use kernels_gpu::spectral::size::{SHARED_BYTES, SIZE, SizesLaunch, THREADS};
use rayon::prelude::*;
use transform::spectral::coupled::{Levels, in_difference};
use transform::spectral::error;

use self::mix::{COMPLEX_BYTES, CoupledJump, needs_work};
use self::torus::Torus;
use super::jump_error::{JumpError, JumpFacts, larger};
use super::stepping::{Fft, Fields, State};
use super::torus::Group;
use super::{Parts, source};
use crate::checked::System;
use crate::session::StepSession;
use crate::start::StartValues;
use compute::device::{Device, Launch, Memory, MemoryRows, Plane, Sharing, StartOrder};
use compute::engine::fft::on_gpu::of_systems;
use problem::values::Element;
use problem::{Dtype, Error, Grid, Shape};

mod fits;
mod mix;
mod torus;

pub use fits::Abilities;
pub(super) use fits::{check, seconds};

/// A system on a device, taken by jumps.
///
/// # Errors
/// The device refuses.
pub(super) fn session(
    system: &System,
    parts: Parts,
    device: Box<dyn Device>,
    beginning: StartValues,
) -> Result<Box<dyn StepSession>, Error> {
    of_systems().into_iter().try_for_each(|name| device.load(name, Sharing::Any))?;
    let state = super::state(beginning);
    let Parts { sums, groups, sources } = parts;
    let mut jumpers = Vec::new();
    for group in groups {
        let (lifts, added) = source::of_group(system, &sums, &group, &sources);
        let levels: Vec<usize> =
            group.fields.iter().map(|&field| system.fields[field].levels).collect();
        let mut jumper = DeviceJumpGroup {
            levels: Levels::new(&levels),
            lifts,
            planes: [Vec::new(), Vec::new()],
            sizes: [Vec::new(), Vec::new()],
            sources: Vec::new(),
            norms: Vec::new(),
            mix: None,
            lengths: group.lengths(),
            group,
        };
        jumper.fill(&*device, system.shape, &state, added)?;
        jumpers.push(jumper);
    }
    drop(state);
    let rows = system.shape.points() / system.shape.extents()[2];
    let blocks = (rows as u32).min(4 * device.multiprocessors());
    let sizes = device.allocate("sizes", SIZE_BYTES * blocks as usize)?;
    let [spectra, work] =
        [device.allocate("spectra", COMPLEX_BYTES)?, device.allocate("spectra", COMPLEX_BYTES)?];
    let room = SharedBuffers { spectra, work, sizes, blocks };
    let shape = system.shape;
    let mut fields = OnGpu { shape, side: 0, fields: system.fields.len(), jumpers, room, device };
    fields.measure()?;
    fields.prepare(system.steps.max(1))?;
    Ok(Box::new(Fft::new(system, sums, fields)?))
}

/// Bytes of what a block says of the size of values.
const SIZE_BYTES: usize = 16;

/// Memory that all groups use, one after the other.
struct SharedBuffers {
    spectra: Memory,
    /// Rows that are not yet, or no longer, part of a spectrum.
    work: Memory,
    sizes: Memory,
    /// Of a launch that finds sizes.
    blocks: u32,
}

impl SharedBuffers {
    /// Makes sure of what a torus needs.
    fn prepare(&mut self, device: &dyn Device, torus: &Torus, spectra: usize) -> Result<(), Error> {
        let enough = |memory: &mut Memory, values: usize| {
            let bytes = values * COMPLEX_BYTES;
            if bytes > memory.bytes() {
                // Before the new one is there.
                *memory = device.allocate("spectra", COMPLEX_BYTES)?;
                *memory = device.allocate("spectra", bytes)?;
            }
            Ok::<(), Error>(())
        };
        enough(&mut self.spectra, spectra * torus.spectra.values_of_torus())?;
        enough(&mut self.work, if needs_work(torus) { torus.spectra.values() } else { 0 })
    }
}

/// Of the values of a plane, and what is taken off them: the 2-norm of what is left, and the largest value itself.
#[derive(Clone, Copy, Debug)]
struct Size {
    norm: f64,
    largest: f64,
}

/// A group of fields on a device.
struct DeviceJumpGroup {
    group: Group,
    levels: Levels,
    /// The constant that is taken off each field.
    lifts: Vec<f64>,
    /// Of each variable the difference now and before, by turns.
    planes: [Vec<Plane>; 2],
    sizes: [Vec<Size>; 2],
    /// What each step adds: fields of the group, and by how much at each point.
    sources: Vec<(usize, Plane)>,
    /// Their norms.
    norms: Vec<f64>,
    /// Of the last torus.
    mix: Option<CoupledJump>,
    /// Of it, or of what the CPU would take.
    lengths: [usize; 3],
}

impl DeviceJumpGroup {
    /// Uploads the differences of levels, and sources.
    fn fill(
        &mut self,
        device: &dyn Device,
        shape: Shape,
        state: &State,
        sources: Vec<(usize, Vec<f64>)>,
    ) -> Result<(), Error> {
        let upload = |values: Vec<f64>| {
            let mut plane = Plane::new(device, shape, Dtype::F64)?;
            plane.upload(device, &Grid { shape, values: f64::wrap(values) })?;
            Ok::<Plane, Error>(plane)
        };
        for (own, order) in self.levels.all() {
            let levels = &state[self.group.fields[own]];
            self.planes[0].push(upload(difference(levels, order))?);
            self.planes[1].push(Plane::new(device, shape, Dtype::F64)?);
        }
        for (own, values) in sources {
            let squares: f64 = values.par_iter().map(|value| value * value).sum();
            self.norms.push(squares.sqrt());
            self.sources.push((own, upload(values)?));
        }
        Ok(())
    }

    /// What is taken off a variable.
    fn taken(&self, (own, order): (usize, usize)) -> f64 {
        if order == 0 { self.lifts[own] } else { 0.0 }
    }

    /// How large the variables of a side are.
    fn measure(
        &mut self,
        device: &dyn Device,
        room: &SharedBuffers,
        side: usize,
    ) -> Result<(), Error> {
        let mut all = Vec::new();
        for (variable, plane) in self.levels.all().zip(&self.planes[side]) {
            let [planes, rows, points] = plane.shape().extents().map(|extent| extent as u32);
            let of = plane.layout();
            let (pitch, plane_rows) = (of.pitch(), of.plane_rows());
            let taken = self.taken(variable);
            let sizes = SizesLaunch { points, rows, planes, pitch, plane_rows, taken };
            let call = SIZE.with((plane.origin(), room.sizes.as_mut_ptr(), sizes));
            let extents =
                Extents { blocks: room.blocks, threads: THREADS, shared_bytes: SHARED_BYTES };
            // As the kernel's contract demands: a plane of f64, and room for each block.
            device.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })?;
            device.wait()?;
            let mut bytes = vec![0; SIZE_BYTES * room.blocks as usize];
            device.read(&room.sizes, MemoryRows::first(bytes.len()), &mut bytes)?;
            let numbers: Vec<f64> =
                bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
            let of_block = numbers.chunks_exact(2);
            let squares: f64 = of_block.clone().map(|of| of[0]).sum();
            all.push(Size {
                norm: squares.sqrt(),
                largest: of_block.map(|of| of[1]).fold(0.0, larger),
            });
        }
        self.sizes[side] = all;
        Ok(())
    }

    /// Gets ready for a torus.
    fn ready(
        &mut self,
        device: &dyn Device,
        room: &mut SharedBuffers,
        torus: Torus,
    ) -> Result<(), Error> {
        let spectra = self.levels.variables() + self.sources.len();
        room.prepare(device, &torus, spectra)?;
        if self.mix.as_ref().is_some_and(|mix| mix.torus == torus) {
            return Ok(());
        }
        // What the last one held is not needed any more.
        self.mix = None;
        self.lengths = torus.spectra.lengths();
        let sources: Vec<usize> = self.sources.iter().map(|(own, _)| *own).collect();
        self.mix = Some(CoupledJump::new(device, &self.group, &self.levels, &sources, torus)?);
        Ok(())
    }

    /// So many steps, from one side to another or the same.
    fn piece(
        &mut self,
        device: &dyn Device,
        room: &SharedBuffers,
        [from, to]: [usize; 2],
        steps: usize,
    ) -> Result<(JumpError, Vec<f64>), Error> {
        let mix = self.mix.as_ref().expect("it is ready");
        let n = self.levels.variables();
        for (number, variable) in self.levels.all().enumerate() {
            let place = (&room.spectra, number, &room.work);
            mix.there(device, &self.planes[from][number], self.taken(variable), place)?;
        }
        for (number, (_, plane)) in self.sources.iter().enumerate() {
            mix.there(device, plane, 0.0, (&room.spectra, n + number, &room.work))?;
        }
        mix.multiply(device, &room.spectra, steps)?;
        for (number, variable) in self.levels.all().enumerate() {
            let place = (&room.spectra, number, &room.work);
            mix.back(device, &self.planes[to][number], self.taken(variable), place)?;
        }
        let before = self.sizes[from].clone();
        self.measure(device, room, to)?;
        let mix = self.mix.as_ref().expect("it is ready");
        let seen = mix.largest(device)?;
        let norms: Vec<f64> = before.iter().map(|size| size.norm).collect();
        let (mut all, mut largest) = (0.0, 0.0);
        for (variable, (_, order)) in self.levels.all().enumerate() {
            let of = larger(before[variable].largest, self.sizes[to][variable].largest);
            // A difference of order k is at most 2^k times as large as the levels.
            (all, largest) = (larger(all, of), larger(largest, of / f64::from(1 << order)));
        }
        let known = JumpFacts {
            levels: &self.levels,
            norms: [&norms, &self.norms],
            // Twiddles are products of others, and off by as much as a product.
            transforms: error::of_jump_in(f64::EPSILON, mix.torus.spectra.lengths(), 0, 1.0, 1.0),
            copies: mix.torus.copies(),
            largest,
            most: LEVELS_OF_DIFFERENCES * all,
        };
        Ok(JumpError::of(&mix.coupled, &seen, steps, &known))
    }

    /// So many steps from one side to the other, in as many pieces as it takes.
    fn jump(
        &mut self,
        device: &dyn Device,
        room: &mut SharedBuffers,
        shape: Shape,
        from: usize,
        steps: usize,
    ) -> Result<JumpError, Error> {
        let (dims, shared) = (shape.dims(), device.shared_bytes());
        let Some(most) = Torus::steps_at_once(&self.group, dims, steps, shared) else {
            let reason =
                format!("a GPU cannot take {steps} steps at once on this grid; fewer may do");
            return Err(Error::Unsupported { engine: "fft", reason });
        };
        let (mut left, mut from, to) = (steps, from, 1 - from);
        let mut made = vec![0.0; self.levels.variables()];
        loop {
            let count = most.min(left);
            let torus = Torus::of(&self.group, dims, count, shared).expect("of no more steps");
            self.ready(device, room, torus)?;
            let (off, errors) = self.piece(device, room, [from, to], count)?;
            (left, from) = (left - count, to);
            if left == 0 {
                return if most < steps {
                    self.with_made(device, room, steps, off, &made)
                } else {
                    Ok(off)
                };
            }
            made.iter_mut().zip(errors).for_each(|(made, error)| *made += error);
        }
    }

    /// The last piece of so many steps, with what the pieces before it made. Waves that oscillate or drift grow with the steps
    /// that are left, not in each piece as much as in one: so powers of all that may be left are looked at, at 1, 2, 4, ... steps
    /// and at all of them. Between these twice as much is allowed for, which is not proved. The spectra are overwritten.
    fn with_made(
        &self,
        device: &dyn Device,
        room: &SharedBuffers,
        steps: usize,
        off: JumpError,
        made: &[f64],
    ) -> Result<JumpError, Error> {
        /// How many times the powers that are looked at others may be.
        const BETWEEN: f64 = 2.0;
        let mix = self.mix.as_ref().expect("it is ready");
        let mut later = mix.coupled.largest();
        let powers = std::iter::successors(Some(1), |steps| Some(2 * steps));
        for count in powers.take_while(|count| *count < steps).chain([steps]) {
            mix.multiply(device, &room.spectra, count)?;
            device.wait()?;
            later.merge(&mix.largest(device)?);
        }
        let n = self.levels.variables();
        let entries = (0..n).flat_map(|to| (0..n).map(move |from| (to, from)));
        let grown = entries.map(|(to, from)| mix.coupled.of_power(&later, to, from));
        let growth = grown.fold(off.growth, larger);
        let made: Vec<f64> = made.iter().map(|made| BETWEEN * made).collect();
        Ok(JumpError { growth, ..off }.after(&mix.coupled, &later, &made))
    }
}

/// How many times as large as its differences a level is, at most.
const LEVELS_OF_DIFFERENCES: f64 = 4.0;

/// A backward difference of levels.
fn difference(levels: &[Vec<f64>], order: usize) -> Vec<f64> {
    let mut all = levels[0].clone();
    for (level, values) in levels.iter().enumerate().take(order + 1).skip(1) {
        let times = in_difference(order, level);
        all.par_iter_mut().zip(values).for_each(|(all, value)| *all += times * value);
    }
    all
}

/// The fields of a system on a device.
struct OnGpu {
    shape: Shape,
    /// Which planes hold them now.
    side: usize,
    /// How many.
    fields: usize,
    jumpers: Vec<DeviceJumpGroup>,
    room: SharedBuffers,
    // Dropped last: everything else lives on it.
    device: Box<dyn Device>,
}

impl OnGpu {
    /// How large all variables are.
    fn measure(&mut self) -> Result<(), Error> {
        let Self { side, jumpers, room, device, .. } = self;
        jumpers.iter_mut().try_for_each(|jumper| jumper.measure(&**device, room, *side))
    }

    /// Gets ready for so many steps.
    fn prepare(&mut self, steps: usize) -> Result<(), Error> {
        let Self { shape, jumpers, room, device, .. } = self;
        let (dims, shared) = (shape.dims(), device.shared_bytes());
        for jumper in jumpers {
            let most = Torus::steps_at_once(&jumper.group, dims, steps, shared);
            let torus = most.and_then(|most| Torus::of(&jumper.group, dims, most, shared));
            if let Some(torus) = torus {
                jumper.ready(&**device, room, torus)?;
            }
        }
        Ok(())
    }

    /// The values of a variable.
    fn download(&self, plane: &Plane) -> Result<Vec<f64>, Error> {
        self.device.wait()?;
        let grid = plane.download(&*self.device)?;
        Ok(f64::unwrap(&grid.values).expect("planes hold f64").to_vec())
    }
}

impl Fields for OnGpu {
    fn groups(&self) -> Vec<Vec<usize>> {
        self.jumpers.iter().map(|jumper| jumper.group.fields.clone()).collect()
    }

    /// What was before is kept in any case.
    fn jump(&mut self, steps: usize, _: bool) -> Result<Vec<JumpError>, Error> {
        let Self { shape, side, jumpers, room, device, .. } = self;
        let jump =
            |jumper: &mut DeviceJumpGroup| jumper.jump(&**device, room, *shape, *side, steps);
        let all = jumpers.iter_mut().map(jump).collect::<Result<_, Error>>()?;
        *side = 1 - *side;
        Ok(all)
    }

    fn back(&mut self) {
        self.side = 1 - self.side;
    }

    fn toruses(&self) -> Vec<Vec<usize>> {
        let lengths = |jumper: &DeviceJumpGroup| jumper.lengths[3 - self.shape.dims()..].to_vec();
        self.jumpers.iter().map(lengths).collect()
    }

    fn rounded(&self) -> f64 {
        let all = self.jumpers.iter().flat_map(|jumper| &jumper.sizes[self.side]);
        let largest = all.map(|size| size.largest).fold(0.0, larger);
        2.0 * LEVELS_OF_DIFFERENCES * f64::EPSILON * largest
    }

    fn level(&self, field: usize, level: usize) -> Result<Vec<f64>, Error> {
        let of = self.jumpers.iter().find_map(|jumper| {
            let own = jumper.group.fields.iter().position(|of| *of == field)?;
            Some((jumper, own))
        });
        let (jumper, own) = of.expect("each field has a group");
        let plane = |order: usize| &jumper.planes[self.side][jumper.levels.place(own, order)];
        let mut all = self.download(plane(0))?;
        for order in 1..=level {
            let times = in_difference(level, order);
            let values = self.download(plane(order))?;
            all.par_iter_mut().zip(values).for_each(|(all, value)| *all += times * value);
        }
        Ok(all)
    }

    fn state(&self) -> Result<Cow<'_, State>, Error> {
        let mut state: State = vec![Vec::new(); self.fields];
        for jumper in &self.jumpers {
            for (own, level) in jumper.levels.all() {
                let field = jumper.group.fields[own];
                state[field].push(self.level(field, level)?);
            }
        }
        Ok(Cow::Owned(state))
    }

    fn device(&self) -> String {
        self.device.describe()
    }
}
