// SPDX-License-Identifier: MIT OR Apache-2.0
//! A jump of so many steps on a device: its tables, and its launches.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ptr;

use cuda_driver::{AnyCall, Extents};
use kernels_gpu::MOST_REGISTERS;
use kernels_gpu::element::{Bf16, Element, F16, F32, F64, Real};
use kernels_gpu::layout::Layout;
use kernels_gpu::spectral::Lift;
use kernels_gpu::spectral::boxes;
use kernels_gpu::spectral::columns::{self, BACK, COMPLEX, Columns, REAL, THERE};
use kernels_gpu::spectral::rows::{self, Rows};
use kernels_gpu::spectral::tiles::{self, Tiles};
use num_complex::Complex64;
use transform::spectral::Powers;
use transform::spectral::axis::is_symmetric;

use super::super::{jump as on_cpu, torus as cpu_torus};
use super::Abilities;
use super::rim::Stepped;
use super::tables::{Lines, Pairs, Part, factors, images};
use super::threads::threads;
use super::torus::Torus;
use crate::device::plane::layout;
use crate::device::{Device, Launch, Memory, Order, Plane, Sharing};
use crate::{Dtype, Error, Grid, Job, Values};

/// A jump, of whatever element type.
pub trait Launches {
    /// Its steps.
    fn steps(&self) -> usize;

    /// Its torus.
    fn torus(&self) -> &Torus;

    /// What the field that a source adds can be off by.
    fn source_error(&self) -> f64;

    /// Queues it from one plane to another.
    ///
    /// # Errors
    /// The device refuses.
    fn launch(
        &self,
        device: &dyn Device,
        planes: [&Plane; 2],
        spectra: &Memory,
    ) -> Result<(), Error>;
}

/// What is done about constants around the grid.
struct Constants {
    lift: Lift,
    added: Option<Plane>,
    error: f64,
}

impl Constants {
    fn new(device: &dyn Device, job: &Job, steps: usize, growth: f64) -> Result<Self, Error> {
        let none = Lift { first: 0.0, slope: 0.0, axis: 2 };
        if !on_cpu::has_source(job) {
            return Ok(Self { lift: none, added: None, error: 0.0 });
        }
        // Of the torus of the CPU, whose images are the same.
        let axes = cpu_torus::axes(job, steps);
        let mut spectra: Vec<Complex64> = Vec::new();
        let (lift, field, error) = on_cpu::constants(job, axes, steps, growth, &mut spectra);
        drop(spectra);
        let (first, slope, axis) = lift.parts();
        let lift = Lift { first, slope, axis: axis as u32 };
        let added = field.map(|field| {
            let (dtype, values) = match job.dtype {
                Dtype::F64 => (Dtype::F64, Values::F64(field)),
                _ => {
                    (Dtype::F32, Values::F32(field.into_iter().map(|value| value as f32).collect()))
                }
            };
            let mut plane = Plane::new(device, job.shape, dtype)?;
            plane.upload(device, &Grid { shape: job.shape, values })?;
            Ok::<Plane, Error>(plane)
        });
        Ok(Self { lift, added: added.transpose()?, error })
    }

    fn added(&self) -> *const u8 {
        self.added.as_ref().map_or(ptr::null(), Plane::origin)
    }
}

/// A jump on a device.
pub struct Jump<E> {
    torus: Torus,
    layout: Layout,
    /// Half as long as the rows, and the other two axes (z, y).
    row: Lines,
    columns: [Lines; 2],
    pairs: Pairs,
    /// Columns of spectra, and complex values from one row of them to the next.
    count: usize,
    spectra_pitch: usize,
    /// Beyond the points of each axis.
    images: [Memory; 3],
    factors: Memory,
    complex: bool,
    constants: Constants,
    rim: Vec<Stepped>,
    element: PhantomData<E>,
}

impl Jump<F64> {
    /// Makes all that a jump of a job needs.
    ///
    /// # Errors
    /// The device refuses.
    pub fn prepare(
        device: &dyn Device,
        abilities: &Abilities,
        job: &Job,
        torus: Torus,
        growth: f64,
    ) -> Result<Box<dyn Launches>, Error> {
        Ok(match job.dtype {
            Dtype::F64 => Box::new(Jump::<F64>::new(device, abilities, job, torus, growth)?),
            Dtype::F32 | Dtype::Tf32 => {
                Box::new(Jump::<F32>::new(device, abilities, job, torus, growth)?)
            }
            Dtype::F16 => Box::new(Jump::<F16>::new(device, abilities, job, torus, growth)?),
            Dtype::Bf16 => Box::new(Jump::<Bf16>::new(device, abilities, job, torus, growth)?),
        })
    }
}

/// The names of all kernels that jumps take, but for those that step the rim.
#[must_use]
pub fn kernels() -> BTreeSet<&'static str> {
    [names::<F64>(), names::<F32>(), names::<F16>(), names::<Bf16>()]
        .into_iter()
        .flatten()
        .collect()
}

/// Those of an element type.
fn names<E>() -> [&'static str; 6]
where
    E: rows::Kernels + tiles::Kernels + boxes::Kernels,
    <E as Element>::Real: columns::Kernels,
{
    [
        E::THERE.name(),
        <E as rows::Kernels>::BACK.name(),
        E::TILES.name(),
        <E::Real as columns::Kernels>::COLUMNS.name(),
        E::OUT.name(),
        <E as boxes::Kernels>::BACK.name(),
    ]
}

impl<E> Jump<E>
where
    E: rows::Kernels + tiles::Kernels + boxes::Kernels,
    <E as Element>::Real: columns::Kernels,
{
    fn new(
        device: &dyn Device,
        abilities: &Abilities,
        job: &Job,
        torus: Torus,
        growth: f64,
    ) -> Result<Self, Error> {
        names::<E>().into_iter().try_for_each(|name| device.load(name, Sharing::Any))?;
        let (lengths, dims) = (torus.lengths(), job.shape.dims());
        let row = Lines::new::<E::Real>(device, torus.half(), false)?;
        let column = |axis: usize| Lines::new::<E::Real>(device, lengths[axis], torus.cut[axis]);
        let columns = [column(0)?, column(1)?];
        let powers = Powers::new(&job.stencil, lengths, torus.steps);
        let each = [&columns[0], &columns[1]];
        let (factors, waves) = factors::<E::Real>(device, &torus, &powers, &row, each, dims)?;
        let pairs = Pairs::new::<E::Real>(device, &row, &waves)?;
        let (count, spectra_pitch) = (waves.count(), torus.pitch_of(waves.count()));
        let axis = |axis: usize| images(device, &torus.axes[axis].images());
        let beside = match torus.kept {
            Some(_) => images(device, &torus.beside())?,
            None => axis(2)?,
        };
        let images = [axis(0)?, axis(1)?, beside];
        let constants = Constants::new(device, job, torus.steps, growth)?;
        let slab = |slab| Stepped::new(device, abilities, job, slab, torus.steps);
        let rim = torus.slabs.iter().map(slab).collect::<Result<_, Error>>()?;
        let (layout, complex) = (layout(job.shape), !is_symmetric(&job.stencil));
        Ok(Self {
            torus,
            layout,
            row,
            columns,
            pairs,
            count,
            spectra_pitch,
            images,
            factors,
            complex,
            constants,
            rim,
            element: PhantomData,
        })
    }

    fn tiles(&self, device: &dyn Device, from: &Plane, to: &Plane) -> Result<(), Error> {
        let axis = &self.torus.axes[2];
        let beside = axis.length - axis.points.min(axis.length);
        let [skipped, after, kept] = match self.torus.kept {
            Some(kept) => [self.torus.skipped(), axis.length, kept],
            None => [0, beside, axis.points],
        };
        let tiles = Tiles {
            images: self.images[2].as_ptr(),
            added: self.constants.added(),
            factors: self.factors.as_ptr(),
            lift: self.constants.lift,
            points: axis.points as u32,
            after: after as u32,
            kept: kept as u32,
            skipped: skipped as u32,
            complex: self.complex.into(),
        };
        let call = E::TILES.with((
            from.origin(),
            to.origin_mut(),
            self.row.stages(Part::Whole),
            self.pairs.halves(),
            tiles,
        ));
        // As the kernel's contract demands, as all launches below: tables for these lengths, and two different planes of
        // one size.
        let lines = (&self.row, Part::Whole, 1);
        self.queue(device, &call, tiles.blocks(), lines, self.row_bytes())
    }

    fn row_bytes(&self) -> u32 {
        rows::shared_bytes(self.torus.half() as u32, 2 * E::Real::BYTES)
    }

    fn rows(&self) -> Rows {
        Rows {
            images: self.images[2].as_ptr(),
            added: self.constants.added(),
            lift: self.constants.lift,
            points: self.torus.axes[2].points as u32,
            rows: self.torus.axes[1].points as u32,
            pitch: self.layout.pitch(),
            plane_rows: self.layout.plane_rows(),
            spectra_pitch: self.spectra_pitch as u32,
            spectra_rows: self.torus.spectra_rows() as u32,
        }
    }

    /// Columns along an axis (z, y), all of the planes that the other one makes, in parts if they are cut.
    fn along(
        &self,
        device: &dyn Device,
        spectra: &Memory,
        axis: usize,
        [read, written]: [usize; 2],
        what: u32,
    ) -> Result<(), Error> {
        let (torus, length) = (&self.torus, self.torus.axes[axis].length);
        let narrow = spectra.as_mut_ptr::<u8>();
        if !torus.cut[axis] {
            return self.part(device, [narrow; 2], axis, Part::Whole, [read, written], what);
        }
        let beside = torus.rows_spectra() * 2 * E::Real::BYTES as usize;
        let wide = if torus.is_wide(axis) { narrow.wrapping_add(beside) } else { narrow };
        let (is_there, is_back) = (what & THERE != 0, what & BACK != 0);
        let part =
            |part, from_to, values, what| self.part(device, from_to, axis, part, values, what);
        if is_there {
            part(Part::First, [narrow, wide], [read, length], THERE)?;
        }
        let from = if is_there { wide } else { narrow };
        let to = if is_back { wide } else { narrow };
        part(Part::Rest, [from, to], [length; 2], what)?;
        if is_back {
            part(Part::First, [wide, narrow], [length, written], BACK)?;
        }
        Ok(())
    }

    /// A part of columns along an axis.
    fn part(
        &self,
        device: &dyn Device,
        [from, to]: [*mut u8; 2],
        axis: usize,
        part: Part,
        [read, written]: [usize; 2],
        what: u32,
    ) -> Result<(), Error> {
        let (torus, lines, bytes) = (&self.torus, &self.columns[axis], 2 * E::Real::BYTES);
        let (pitch, rows) = (self.spectra_pitch as u64, torus.spectra_rows() as u64);
        let (planes, stride, plane) = match axis {
            0 => (rows, rows * pitch, pitch),
            _ => (torus.axes[0].points as u64, pitch, rows * pitch),
        };
        let shared = |width: u32| columns::shared_bytes(width, lines.length_of(part) as u32, bytes);
        let most = device.shared_bytes();
        // A cache line of columns, or as many as leave room for another block.
        let mut width = 128 / bytes;
        while width > 1 && shared(width) > most / 2 {
            width /= 2;
        }
        let columns = Columns {
            images: self.images[axis].as_ptr(),
            factors: self.factors.as_ptr(),
            stride,
            plane,
            count: self.count as u32,
            width,
            read: read as u32,
            written: written as u32,
            length: torus.axes[axis].length as u32,
            share: lines.share(part),
            what,
        };
        let blocks = planes * u64::from(columns.across()) * u64::from(columns.share.count);
        let blocks = u32::try_from(blocks).expect("fewer than points");
        let stages = lines.stages(part);
        let call = <E::Real as columns::Kernels>::COLUMNS.with((from, to, stages, columns));
        self.queue(device, &call, blocks, (lines, part, width), shared(width))
    }

    fn queue(
        &self,
        device: &dyn Device,
        call: &dyn AnyCall,
        blocks: u32,
        (lines, part, count): (&Lines, Part, u32),
        shared_bytes: u32,
    ) -> Result<(), Error> {
        let registers = call.registers().unwrap_or(MOST_REGISTERS);
        let threads = threads(device, (lines, part), count, shared_bytes, registers);
        let extents = Extents { blocks, threads, shared_bytes };
        device.launch(&Launch { call, extents, order: Order::Overlapping })
    }
}

impl<E> Launches for Jump<E>
where
    E: rows::Kernels + tiles::Kernels + boxes::Kernels,
    <E as Element>::Real: columns::Kernels,
{
    fn steps(&self) -> usize {
        self.torus.steps
    }

    fn torus(&self) -> &Torus {
        &self.torus
    }

    fn source_error(&self) -> f64 {
        self.constants.error
    }

    fn launch(
        &self,
        device: &dyn Device,
        planes: [&Plane; 2],
        spectra: &Memory,
    ) -> Result<(), Error> {
        let [from, to] = planes;
        Plane::check_pair(from, to, self.layout, E::BYTES as usize);
        if self.layout.dims == 1 {
            self.tiles(device, from, to)?;
        } else {
            self.transform(device, planes, spectra)?;
        }
        self.rim.iter().try_for_each(|slab| slab.launch::<E>(device, planes))
    }
}

impl<E> Jump<E>
where
    E: rows::Kernels + tiles::Kernels + boxes::Kernels,
    <E as Element>::Real: columns::Kernels,
{
    fn transform(
        &self,
        device: &dyn Device,
        [from, to]: [&Plane; 2],
        spectra: &Memory,
    ) -> Result<(), Error> {
        let [z, y, _] = &self.torus.axes;
        let blocks = (z.points * y.points) as u32;
        let (lines, bytes) = ((&self.row, Part::Whole, 1), self.row_bytes());
        let (stages, halves, rows) =
            (self.row.stages(Part::Whole), self.pairs.halves(), self.rows());
        let call = E::THERE.with((from.origin(), spectra.as_mut_ptr(), stages, halves, rows));
        self.queue(device, &call, blocks, lines, bytes)?;
        let factor = if self.complex { COMPLEX } else { REAL };
        if self.layout.dims == 2 {
            self.along(device, spectra, 1, [y.points; 2], THERE | factor | BACK)?;
        } else {
            self.along(device, spectra, 1, [y.points, y.length], THERE)?;
            self.along(device, spectra, 0, [z.points; 2], THERE | factor | BACK)?;
            self.along(device, spectra, 1, [y.length, y.points], BACK)?;
        }
        let call = <E as rows::Kernels>::BACK.with((
            spectra.as_ptr(),
            to.origin_mut(),
            stages,
            halves,
            rows,
        ));
        self.queue(device, &call, blocks, lines, bytes)
    }
}
