// SPDX-License-Identifier: MIT OR Apache-2.0
//! A jump of so many steps on a device: its tables, and its launches.

use std::collections::BTreeSet;
use std::ptr;

use kernels_gpu::element::{Bf16, Element, F16, F32, F64, Real};
use kernels_gpu::layout::Layout;
use kernels_gpu::spectral::Lift;
use kernels_gpu::spectral::columns::{self, BACK, COMPLEX, REAL, THERE};
use kernels_gpu::spectral::rows;
use kernels_gpu::spectral::tiles::{self, TilesLaunch};
use kernels_gpu::spectral::{boxes, coupled, size};
use num_complex::Complex64;
use transform::spectral::Powers;

use super::super::{jump as on_cpu, torus as cpu_torus};
use super::rim::Stepped;
use super::tables::{LineStages, factors, images};
use super::torus::Torus;
use super::transforms::{AllLines, PointLayout, Shift, Transforms};
use super::{Abilities, part_bytes};
use crate::device::plane::layout;
use crate::device::{Device, Memory, MemoryRows, Plane, Sharing};
use problem::{Dtype, Error, Job, Shape};

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

    /// Queues its transforms from the points of one grid to those of another: all of it where nothing is stepped besides.
    ///
    /// # Errors
    /// The device refuses.
    fn transform(
        &self,
        device: &dyn Device,
        points: [PointLayout; 2],
        spectra: &Memory,
    ) -> Result<(), Error>;
}

/// What is done about constants around the grid.
pub(super) struct Constants {
    lift: Lift,
    /// As the points lie that it is added to.
    added: Option<Memory>,
    error: f64,
}

impl Constants {
    /// Nothing.
    pub fn none() -> Self {
        Self { lift: Lift { first: 0.0, slope: 0.0, axis: 2 }, added: None, error: 0.0 }
    }

    fn new(device: &dyn Device, job: &Job, steps: usize, growth: f64) -> Result<Self, Error> {
        if !on_cpu::has_source(job) {
            return Ok(Self::none());
        }
        // Of the torus of the CPU, whose images are the same.
        let axes = cpu_torus::axes(job, steps);
        let mut spectra: Vec<Complex64> = Vec::new();
        let (lift, field, error) = on_cpu::constants(job, axes, steps, growth, &mut spectra);
        drop(spectra);
        let (first, slope, axis) = lift.parts();
        let lift = Lift { first, slope, axis: axis as u32 };
        let of = layout(job.shape);
        let field = field.map(|field| {
            let of = [of.pitch(), of.plane_rows()];
            Self::field(device, &field, (job.shape, job.dtype), of)
        });
        let added = match field {
            Some(constants) => constants?.added,
            None => None,
        };
        Ok(Self { lift, added, error })
    }

    /// A field that is added, of a grid with values of a type, whose points lie with so many values from row to row, and so many
    /// rows from plane to plane.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn field(
        device: &dyn Device,
        field: &[f64],
        (shape, dtype): (Shape, Dtype),
        [pitch, plane_rows]: [u32; 2],
    ) -> Result<Self, Error> {
        let [planes, rows, columns] = shape.extents();
        let bytes = part_bytes(dtype);
        let row_pitch = pitch as usize * bytes;
        let plane_pitch = row_pitch * plane_rows as usize;
        let (start, width) = (0, columns * bytes);
        let memory = device.allocate("a field that is added", planes * plane_pitch)?;
        let values: Vec<u8> = match dtype {
            Dtype::F64 => bytemuck::cast_slice(field).to_vec(),
            _ => field.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect(),
        };
        let rows = MemoryRows { start, width, rows, row_pitch, planes, plane_pitch };
        device.write(&memory, rows, &values)?;
        Ok(Self { added: Some(memory), ..Self::none() })
    }

    fn added(&self) -> *const u8 {
        self.added.as_ref().map_or(ptr::null(), Memory::as_ptr)
    }
}

/// A jump on a device.
pub struct DeviceJump<E> {
    torus: Torus,
    layout: Layout,
    transforms: Transforms<E>,
    factors: Memory,
    complex: bool,
    constants: Constants,
    rim: Vec<Stepped>,
}

impl DeviceJump<F64> {
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
            Dtype::F64 => Box::new(DeviceJump::<F64>::new(device, abilities, job, torus, growth)?),
            Dtype::F32 | Dtype::Tf32 => {
                Box::new(DeviceJump::<F32>::new(device, abilities, job, torus, growth)?)
            }
            Dtype::F16 => Box::new(DeviceJump::<F16>::new(device, abilities, job, torus, growth)?),
            Dtype::Bf16 => {
                Box::new(DeviceJump::<Bf16>::new(device, abilities, job, torus, growth)?)
            }
        })
    }
}

/// The names of all kernels that jumps take, but for those that step the rim.
#[must_use]
pub fn kernels() -> BTreeSet<&'static str> {
    [names::<F64>(), names::<F32>(), names::<F16>(), names::<Bf16>()]
        .into_iter()
        .flatten()
        .chain(of_systems())
        .collect()
}

/// Those that jumps of systems take.
pub fn of_systems() -> [&'static str; 6] {
    let [there, back] =
        [<F64 as rows::RowKernels>::THERE.name(), <F64 as rows::RowKernels>::BACK.name()];
    let columns = <f64 as columns::ColumnKernels>::COLUMNS.name();
    [there, back, columns, coupled::REAL.name(), coupled::COMPLEX.name(), size::SIZE.name()]
}

/// The names of the kernels that jumps in an element type take.
fn names<E>() -> [&'static str; 6]
where
    E: rows::RowKernels + tiles::TileKernels + boxes::BoxKernels,
    <E as Element>::Real: columns::ColumnKernels,
{
    [
        E::THERE.name(),
        <E as rows::RowKernels>::BACK.name(),
        E::TILES.name(),
        <E::Real as columns::ColumnKernels>::COLUMNS.name(),
        E::OUT.name(),
        <E as boxes::BoxKernels>::BACK.name(),
    ]
}

impl<E> DeviceJump<E>
where
    E: rows::RowKernels + tiles::TileKernels + boxes::BoxKernels,
    <E as Element>::Real: columns::ColumnKernels,
{
    fn new(
        device: &dyn Device,
        abilities: &Abilities,
        job: &Job,
        torus: Torus,
        growth: f64,
    ) -> Result<Self, Error> {
        let constants = Constants::new(device, job, torus.steps, growth)?;
        let slab = |slab| Stepped::new(device, abilities, job, slab, torus.steps);
        let rim = torus.slabs.iter().map(slab).collect::<Result<_, Error>>()?;
        let powers = Powers::new(&job.stencil, torus.spectra.lengths(), torus.steps);
        Self::multiplying(device, job.shape, torus, &powers, (constants, rim))
    }

    /// What multiplies waves by these, with what is done about constants and stepped besides.
    pub fn multiplying(
        device: &dyn Device,
        shape: Shape,
        torus: Torus,
        powers: &Powers,
        (constants, rim): (Constants, Vec<Stepped>),
    ) -> Result<Self, Error> {
        names::<E>().into_iter().try_for_each(|name| device.load(name, Sharing::Any))?;
        let (spectra, dims) = (&torus.spectra, shape.dims());
        let lines = AllLines::new::<E>(device, spectra)?;
        let columns = [&lines.columns[0], &lines.columns[1]];
        let (factors, waves) =
            factors::<E::Real>(device, &torus, powers, &lines.row, columns, dims)?;
        let beside = match torus.kept {
            Some(_) => Some(images(device, &torus.beside())?),
            None => None,
        };
        let layout = layout(shape);
        let transforms = Transforms::new(device, spectra.clone(), lines, &waves, beside)?;
        let complex = !powers.is_real();
        Ok(Self { torus, layout, transforms, factors, complex, constants, rim })
    }

    fn tiles(&self, device: &dyn Device, [from, to]: [PointLayout; 2]) -> Result<(), Error> {
        let (transforms, axis) = (&self.transforms, &self.torus.spectra.axes[2]);
        let beside = axis.length - axis.points.min(axis.length);
        let [skipped, after, kept] = match self.torus.kept {
            Some(kept) => [self.torus.skipped(), axis.length, kept],
            None => [0, beside, axis.points],
        };
        let tiles = TilesLaunch {
            images: transforms.beside(),
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
            from.origin.cast_const().cast(),
            to.origin.cast(),
            transforms.lines.row.stages(LineStages::Whole),
            transforms.pairs.halves(),
            tiles,
        ));
        // As the kernel's contract demands, as all launches below: tables for these lengths, and two different grids.
        let lines = (&transforms.lines.row, LineStages::Whole, 1);
        transforms.queue(device, &call, tiles.blocks(), lines, transforms.row_bytes())
    }
}

impl<E> Launches for DeviceJump<E>
where
    E: rows::RowKernels + tiles::TileKernels + boxes::BoxKernels,
    <E as Element>::Real: columns::ColumnKernels,
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
        self.transform(device, planes.map(PointLayout::of), spectra)?;
        self.rim.iter().try_for_each(|slab| slab.launch::<E>(device, planes))
    }

    fn transform(
        &self,
        device: &dyn Device,
        [from, to]: [PointLayout; 2],
        spectra: &Memory,
    ) -> Result<(), Error> {
        if self.layout.dims == 1 {
            return self.tiles(device, [from, to]);
        }
        let Self { torus: Torus { spectra: of, .. }, transforms, constants, .. } = self;
        let [z, y, _] = &of.axes;
        let shift = Shift { lift: constants.lift, added: constants.added() };
        let narrow = spectra.as_mut_ptr::<u8>();
        let beside = narrow.wrapping_add(of.values_of_rows() * 2 * E::Real::BYTES as usize);
        let along = |axis: usize, values: [usize; 2], what: u32| {
            let middle = if of.is_wide(axis) { beside } else { narrow };
            let factors = (what, self.factors.as_ptr());
            transforms.along(device, [narrow, middle, narrow], axis, values, factors)
        };
        transforms.rows_there(device, from, narrow, shift)?;
        let factor = if self.complex { COMPLEX } else { REAL };
        if self.layout.dims == 2 {
            along(1, [y.points; 2], THERE | factor | BACK)?;
        } else {
            along(1, [y.points, y.length], THERE)?;
            along(0, [z.points; 2], THERE | factor | BACK)?;
            along(1, [y.length, y.points], BACK)?;
        }
        transforms.rows_back(device, narrow, to, shift)
    }
}
