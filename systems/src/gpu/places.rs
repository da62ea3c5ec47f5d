// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where coordinates outside of a grid lead, as tables: for each boundary and axis, and each coordinate that a
//! program may read, the coordinate in the grid, or below 0 which value is there instead. Where a side adds
//! something, the values also have what that is, and where it changes images, their factors.

use crate::checked::System;
use crate::expression::Array;
use problem::Boundary;
use problem::boundary::{Image, NeighbourPlace, Side};

/// The tables of a system.
#[derive(Clone, Debug, Default)]
pub struct PlaceTables {
    boundaries: Vec<Boundary>,
    /// Of each field, then of each coefficient, then of each work field, the number of its boundary.
    of_arrays: Vec<usize>,
    fields: usize,
    coefficients: usize,
    /// Where coordinate 0 of an axis stands in `entries`, boundary by boundary.
    starts: Vec<[usize; 3]>,
    /// Where in `values` stands what is added at coordinate 0, where an axis adds something.
    rises: Vec<[Option<usize>; 3]>,
    /// Where in `values` stands the factor at coordinate 0, where an axis has others than 1.
    factors: Vec<[Option<usize>; 3]>,
    /// Coordinates in the grid, or !k of the value k.
    pub entries: Vec<i32>,
    /// The values.
    pub values: Vec<f64>,
}

impl PlaceTables {
    /// The places of a system that reads so far along z, y, x.
    pub fn new(system: &System, reach: [usize; 3]) -> Self {
        let (fields, coefficients) = (system.fields.len(), system.coefficients.len());
        let mut places = Self { fields, coefficients, ..Self::default() };
        let of_fields = system.fields.iter().map(|field| field.boundary);
        let of_coefficients = system.coefficients.iter().map(|coefficient| coefficient.boundary);
        let of_works = system.works.iter().map(|work| work.boundary);
        for boundary in of_fields.chain(of_coefficients).chain(of_works) {
            let known = places.boundaries.iter().position(|known| *known == boundary);
            let number = known.unwrap_or_else(|| places.add(boundary, system, reach));
            places.of_arrays.push(number);
        }
        places
    }

    fn add(&mut self, boundary: Boundary, system: &System, reach: [usize; 3]) -> usize {
        let (mut starts, mut rises, mut factors) = ([0; 3], [None; 3], [None; 3]);
        for axis in 0..3 {
            let (extent, reach) = (system.shape.extents()[axis], reach[axis]);
            starts[axis] = self.entries.len() + reach;
            let mut images = Vec::new();
            for coordinate in -(reach as isize)..(extent + reach) as isize {
                let (entry, image) = match boundary.resolve(axis, coordinate, extent) {
                    NeighbourPlace::Inside(at, image) => (at as i32, image),
                    NeighbourPlace::Value(value) => (!(self.value(value) as i32), Image::SAME),
                };
                self.entries.push(entry);
                images.push(image);
            }
            if images.iter().any(|image| image.added != 0.0) {
                rises[axis] = Some(self.values.len() + reach);
                self.values.extend(images.iter().map(|image| image.added));
            }
            if images.iter().any(|image| image.factor != 1.0) {
                factors[axis] = Some(self.values.len() + reach);
                self.values.extend(images.iter().map(|image| image.factor));
            }
        }
        self.boundaries.push(boundary);
        self.starts.push(starts);
        self.rises.push(rises);
        self.factors.push(factors);
        self.starts.len() - 1
    }

    /// The number of a value.
    fn value(&mut self, value: f64) -> usize {
        let same = |known: &f64| known.to_bits() == value.to_bits();
        self.values.iter().position(same).unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }

    /// The number of an array's boundary.
    pub fn boundary(&self, array: Array) -> usize {
        match array {
            Array::Field { field, .. } | Array::New(field) => self.of_arrays[field],
            Array::Coefficient(coefficient) => self.of_arrays[self.fields + coefficient],
            Array::Work(work) => self.of_arrays[self.fields + self.coefficients + work],
        }
    }

    /// What lies beyond a side of an axis.
    pub fn side(&self, boundary: usize, axis: usize, end: usize) -> Side {
        self.boundaries[boundary].sides[axis][end]
    }

    /// Where coordinate 0 of an axis stands in the entries of a boundary.
    pub fn start(&self, boundary: usize, axis: usize) -> usize {
        self.starts[boundary][axis]
    }

    /// Where in the values stands the factor at coordinate 0 of an axis, if it is not 1 everywhere.
    pub fn factor(&self, boundary: usize, axis: usize) -> Option<usize> {
        self.factors[boundary][axis]
    }

    /// Where in the values stands what is added at coordinate 0 of an axis, if anything is somewhere.
    pub fn rise(&self, boundary: usize, axis: usize) -> Option<usize> {
        self.rises[boundary][axis]
    }
}
