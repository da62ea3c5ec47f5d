// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transforms of a torus on a device: rows of a grid to spectra and back, and columns of spectra.

use std::marker::PhantomData;
use std::ptr;

use cuda_driver::{AnyCall, Extents};
use kernels_gpu::MOST_REGISTERS;
use kernels_gpu::element::{Element, Real};
use kernels_gpu::spectral::Lift;
use kernels_gpu::spectral::columns::{self, BACK, ColumnsLaunch, THERE};
use kernels_gpu::spectral::rows::{self, RowsLaunch};

use super::Spectra;
use super::tables::{self, LineStages, LineTables, Pairs, images};
use super::threads::threads;
use crate::device::{Device, Launch, Memory, MemoryRows as Bytes, Plane, StartOrder};
use problem::Error;

/// Lines of complex values for the axes of a torus: half as long as rows, and the other two (z, y).
pub struct AllLines {
    /// Rows.
    pub row: LineTables,
    /// Columns along z and y.
    pub columns: [LineTables; 2],
}

impl AllLines {
    /// Of a torus.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new<E: Element>(device: &dyn Device, spectra: &Spectra) -> Result<Self, Error>
    where
        E::Real: columns::ColumnKernels,
    {
        let row = LineTables::new::<E::Real>(device, spectra.half(), false)?;
        let lengths = spectra.lengths();
        let column =
            |axis: usize| LineTables::new::<E::Real>(device, lengths[axis], spectra.cut[axis]);
        Ok(Self { row, columns: [column(0)?, column(1)?] })
    }
}

/// The transforms of a torus.
pub struct Transforms<E> {
    /// How the spectra lie in memory.
    pub spectra: Spectra,
    /// The tables of each axis.
    pub lines: AllLines,
    /// How a row of real values becomes one of complex values.
    pub pairs: Pairs,
    /// Columns of spectra.
    pub count: usize,
    /// Complex values from one row of spectra to the next.
    pub pitch: usize,
    /// Beyond the points of each axis.
    images: [Memory; 3],
    element: PhantomData<E>,
}

/// Where the points of a grid lie in a device's memory. Rows begin where two values can be loaded at once.
#[derive(Clone, Copy, Debug)]
pub struct PointLayout {
    /// The first one.
    pub origin: *mut u8,
    /// Values from one row to the next.
    pub pitch: u32,
    /// Rows from one plane to the next.
    pub plane_rows: u32,
}

impl PointLayout {
    /// The points of a plane.
    pub fn of(plane: &Plane) -> Self {
        let layout = plane.layout();
        let (pitch, plane_rows) = (layout.pitch(), layout.plane_rows());
        Self { origin: plane.origin_mut(), pitch, plane_rows }
    }

    /// Those in rows of a memory, with values of so many bytes.
    ///
    /// # Panics
    /// Where they do not lie in it, or as kernels take them.
    pub fn in_rows(memory: &Memory, rows: Bytes, bytes: usize) -> Self {
        rows.check(memory);
        let begins = [memory.address() as usize + rows.start, rows.row_pitch, rows.plane_pitch];
        assert!(
            begins.iter().all(|at| at.is_multiple_of(2 * bytes)),
            "{rows:?} hold pairs of values"
        );
        let of =
            |all: usize, unit: usize| u32::try_from(all / unit).expect("coordinates have 32 bits");
        Self {
            origin: memory.as_mut_ptr::<u8>().wrapping_add(rows.start),
            pitch: of(rows.row_pitch, bytes),
            plane_rows: of(rows.plane_pitch, rows.row_pitch),
        }
    }
}

/// What is taken off rows on the way there, and added on the way back besides.
#[derive(Clone, Copy)]
pub struct Shift {
    /// Straight along one axis.
    pub lift: Lift,
    /// As the grid's points lie, or null.
    pub added: *const u8,
}

impl Shift {
    /// A constant.
    pub fn constant(first: f64) -> Self {
        Self { lift: Lift { first, slope: 0.0, axis: 2 }, added: ptr::null() }
    }
}

impl<E> Transforms<E>
where
    E: rows::RowKernels,
    <E as Element>::Real: columns::ColumnKernels,
{
    /// Of the spectra of a torus with these lines, of whose columns some matter. Where rows have their images from is
    /// `beside`, if that is not what the axis says.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new(
        device: &dyn Device,
        spectra: Spectra,
        lines: AllLines,
        waves: &tables::Columns,
        beside: Option<Memory>,
    ) -> Result<Self, Error> {
        let pairs = Pairs::new::<E::Real>(device, &lines.row, waves)?;
        let (count, pitch) = (waves.count(), spectra.pitch_of(waves.count()));
        let axis = |axis: usize| images(device, &spectra.axes[axis].images());
        let beside = match beside {
            Some(beside) => beside,
            None => axis(2)?,
        };
        let images = [axis(0)?, axis(1)?, beside];
        Ok(Self { spectra, lines, pairs, count, pitch, images, element: PhantomData })
    }

    /// Where rows have their images from.
    pub fn beside(&self) -> *const u32 {
        self.images[2].as_ptr()
    }

    /// Shared memory of a block that has a row.
    pub fn row_bytes(&self) -> u32 {
        rows::shared_bytes(self.spectra.half() as u32, 2 * E::Real::BYTES)
    }

    fn rows(&self, of: PointLayout, Shift { lift, added }: Shift) -> RowsLaunch {
        let [_, y, x] = &self.spectra.axes;
        RowsLaunch {
            images: self.beside(),
            added,
            lift,
            points: x.points as u32,
            rows: y.points as u32,
            pitch: of.pitch,
            plane_rows: of.plane_rows,
            spectra_pitch: self.pitch as u32,
            spectra_rows: self.spectra.rows() as u32,
        }
    }

    /// Rows of a grid to spectra.
    ///
    /// # Errors
    /// The device refuses.
    pub fn rows_there(
        &self,
        device: &dyn Device,
        from: PointLayout,
        to: *mut u8,
        shift: Shift,
    ) -> Result<(), Error> {
        let (stages, halves) = (self.lines.row.stages(LineStages::Whole), self.pairs.halves());
        let call = E::THERE.with((
            from.origin.cast_const().cast(),
            to,
            stages,
            halves,
            self.rows(from, shift),
        ));
        self.of_rows(device, &call)
    }

    /// The reverse.
    ///
    /// # Errors
    /// The device refuses.
    pub fn rows_back(
        &self,
        device: &dyn Device,
        from: *const u8,
        to: PointLayout,
        shift: Shift,
    ) -> Result<(), Error> {
        let (stages, halves) = (self.lines.row.stages(LineStages::Whole), self.pairs.halves());
        let call = E::BACK.with((from, to.origin.cast(), stages, halves, self.rows(to, shift)));
        self.of_rows(device, &call)
    }

    fn of_rows(&self, device: &dyn Device, call: &dyn AnyCall) -> Result<(), Error> {
        let [z, y, _] = &self.spectra.axes;
        // As the kernels' contracts demand, as all launches below: tables for these lengths, and points that lie so.
        let lines = (&self.lines.row, LineStages::Whole, 1);
        self.queue(device, call, (z.points * y.points) as u32, lines, self.row_bytes())
    }

    /// Columns along an axis (z, y), all of the planes that the other one makes, from a place to another one; where they are
    /// cut their parts meet in the place in the middle, which has room for the whole axis.
    ///
    /// # Errors
    /// The device refuses.
    pub fn along(
        &self,
        device: &dyn Device,
        [from, middle, to]: [*mut u8; 3],
        axis: usize,
        [read, written]: [usize; 2],
        (what, factors): (u32, *const u8),
    ) -> Result<(), Error> {
        let (spectra, length) = (&self.spectra, self.spectra.axes[axis].length);
        let part = |part, from_to, values, what| {
            self.part(device, from_to, axis, part, values, (what, factors))
        };
        if !spectra.cut[axis] {
            return part(LineStages::Whole, [from, to], [read, written], what);
        }
        let (is_there, is_back) = (what & THERE != 0, what & BACK != 0);
        if is_there {
            part(LineStages::First, [from, middle], [read, length], THERE)?;
        }
        let rest_from = if is_there { middle } else { from };
        let rest_to = if is_back { middle } else { to };
        part(LineStages::Rest, [rest_from, rest_to], [length; 2], what)?;
        if is_back {
            part(LineStages::First, [middle, to], [length, written], BACK)?;
        }
        Ok(())
    }

    /// A part of columns along an axis.
    fn part(
        &self,
        device: &dyn Device,
        [from, to]: [*mut u8; 2],
        axis: usize,
        part: LineStages,
        [read, written]: [usize; 2],
        (what, factors): (u32, *const u8),
    ) -> Result<(), Error> {
        let (spectra, lines) = (&self.spectra, &self.lines.columns[axis]);
        let bytes = 2 * E::Real::BYTES;
        let (pitch, rows) = (self.pitch as u64, spectra.rows() as u64);
        let (planes, stride, plane) = match axis {
            0 => (rows, rows * pitch, pitch),
            _ => (spectra.axes[0].points as u64, pitch, rows * pitch),
        };
        let shared = |width: u32| columns::shared_bytes(width, lines.length_of(part) as u32, bytes);
        let most = device.shared_bytes();
        // A cache line of columns, or as many as leave room for another block.
        let mut width = 128 / bytes;
        while width > 1 && shared(width) > most / 2 {
            width /= 2;
        }
        let columns = ColumnsLaunch {
            images: self.images[axis].as_ptr(),
            factors,
            stride,
            plane,
            count: self.count as u32,
            width,
            read: read as u32,
            written: written as u32,
            length: spectra.axes[axis].length as u32,
            share: lines.share(part),
            what,
        };
        let blocks = planes * u64::from(columns.across()) * u64::from(columns.share.count);
        let blocks = u32::try_from(blocks).expect("fewer than points");
        let stages = lines.stages(part);
        let call = <E::Real as columns::ColumnKernels>::COLUMNS.with((from, to, stages, columns));
        self.queue(device, &call, blocks, (lines, part, width), shared(width))
    }

    /// Queues a launch of blocks with so many lines each.
    ///
    /// # Errors
    /// The device refuses.
    pub fn queue(
        &self,
        device: &dyn Device,
        call: &dyn AnyCall,
        blocks: u32,
        (lines, part, count): (&LineTables, LineStages, u32),
        shared_bytes: u32,
    ) -> Result<(), Error> {
        let registers = call.registers().unwrap_or(MOST_REGISTERS);
        let threads = threads(device, (lines, part), count, shared_bytes, registers);
        let extents = Extents { blocks, threads, shared_bytes };
        device.launch(&Launch { call, extents, order: StartOrder::Overlapping })
    }
}
