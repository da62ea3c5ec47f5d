// SPDX-License-Identifier: MIT OR Apache-2.0
//! The edges of a part, which neighbours wait for, computed by themselves before the launch that computes all of it: each box that
//! is sent as a small grid with as much around it as the launch's steps reach.

use super::parcel::{Packed, Parcel};
use crate::device::{Device, Packing, Plane};
use crate::families::{AdvanceLaunch as Launch, Fields};
use problem::boundary::Side;
use problem::region::Region;
use problem::{Boundary, Error, Job, Shape};
use std::rc::Rc;

/// A small grid around a box.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// What it holds of the part.
    pub held: Region,
    /// What lies around it.
    pub boundary: Boundary,
    /// On each axis (z, y, x) where in it the ends of the whole grid meet.
    pub seams: [Vec<usize>; 3],
}

impl Band {
    /// Around a box of a part's grid, whose job is this and in which ends of the whole grid meet there, as far as `reach` on each
    /// axis, to multiples of its unit.
    #[must_use]
    pub fn new(
        inner: Region,
        job: &Job,
        seams: &[Vec<usize>; 3],
        reach: [usize; 3],
        units: [usize; 3],
    ) -> Self {
        let extents = job.shape.extents().map(|extent| extent as isize);
        let (mut held, mut boundary) = (inner, job.boundary);
        for axis in 0..3 {
            let (reach, unit) = (reach[axis] as isize, units[axis] as isize);
            let low = (inner.low[axis] - reach).div_euclid(unit) * unit;
            let high = -(-(inner.high[axis] + reach)).div_euclid(unit) * unit;
            [held.low[axis], held.high[axis]] = [low.max(0), high.min(extents[axis])];
            if held.low[axis] > 0 {
                boundary.sides[axis][0] = Side::Open;
            }
            if held.high[axis] < extents[axis] {
                boundary.sides[axis][1] = Side::Open;
            }
        }
        let seams = std::array::from_fn(|axis| {
            let (low, high) = (held.low[axis] as usize, held.high[axis] as usize);
            let inside = seams[axis].iter().filter(|&&at| low < at && at < high);
            inside.map(|at| at - low).collect()
        });
        Self { held, boundary, seams }
    }

    /// What is computed of it by itself.
    ///
    /// # Errors
    /// Never: it is smaller than a grid that there is.
    pub fn job(&self, of_part: &Job) -> Result<Job, Error> {
        let shape = Shape::new(&self.held.extents()[3 - of_part.shape.dims()..])?;
        Ok(Job { shape, boundary: self.boundary, ..of_part.clone() })
    }
}

/// A band on the device.
pub struct Prepared {
    band: Band,
    planes: [Plane; 2],
    launches: Vec<Launch>,
}

impl Prepared {
    /// With room for its points.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new(
        device: &dyn Device,
        band: Band,
        job: &Job,
        launches: Vec<Launch>,
    ) -> Result<Self, Error> {
        let plane = || Plane::new(device, job.shape, job.dtype);
        Ok(Self { band, planes: [plane()?, plane()?], launches })
    }
}

/// All bands of a part, for launches of so many steps.
pub struct EdgeBands {
    device: Rc<dyn Device>,
    steps: usize,
    /// Of each parcel the band of each box, with the box in its coordinates and where it goes in the parcel.
    bands: Vec<Vec<(Prepared, Region, usize)>>,
}

impl EdgeBands {
    /// The bands of the boxes of all parcels, each made by `prepare`.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new(
        device: Rc<dyn Device>,
        steps: usize,
        packed: &[Vec<Packed>],
        mut prepare: impl FnMut(Region) -> Result<Prepared, Error>,
    ) -> Result<Self, Error> {
        let mut band = |packed: &Packed| {
            let prepared = prepare(packed.region)?;
            let low = prepared.band.held.low.map(|low| -low);
            Ok((prepared, super::part::shifted(packed.region, low), packed.start))
        };
        let bands = packed.iter().map(|boxes| boxes.iter().map(&mut band).collect());
        let bands = bands.collect::<Result<_, Error>>()?;
        Ok(Self { device, steps, bands })
    }

    /// Steps of a launch.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Queues that all parcels get what a launch will make of their boxes in a part's grid.
    ///
    /// # Errors
    /// The device refuses.
    pub fn compute(&self, before: &Plane, parcels: &[Parcel]) -> Result<(), Error> {
        let device = &*self.device;
        for (parcel, bands) in parcels.iter().zip(&self.bands) {
            for (Prepared { band, planes: [from, to], launches }, inner, start) in bands {
                before.copy_box(device, band.held, from)?;
                let fields = Fields { before: from, after: to };
                for Launch { pass, region } in launches {
                    pass.launch(device, fields, *region)?;
                }
                to.pack(device, (*inner, &[0]), &parcel.memory, *start)?;
            }
        }
        Ok(())
    }
}
