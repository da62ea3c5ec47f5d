// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays in memory: how they lie, and what lies around them.

use super::stored::StoredType;
use super::{LINES, STAGGER, STAY, own};
use crate::checked::System;
use crate::expression::Array;
use crate::program::{Offset, Program};
use compute::engine::cpu::halo::Halo;
use compute::engine::cpu::padded::{Padded, PaddedLayout};
use problem::values::Element;
use problem::{Boundary, Grid, Values, with_values};
use rayon::prelude::*;
use x86_writer::RowFunction;

/// Rows of a band, at least and at most: fewer would read too much of what lies around them, more leave threads without work.
const FEWEST: usize = 4;
const MOST: usize = 32;

/// The arrays of a system.
pub struct Arrays<T> {
    /// Of each field its levels, the present one first; the last one is to take the next values: it is one more than
    /// equations read, or they are written over the oldest ones.
    pub fields: Vec<Vec<Padded<T>>>,
    pub coefficients: Vec<Padded<T>>,
    pub works: Vec<Padded<T>>,
}

impl<T> Default for Arrays<T> {
    fn default() -> Self {
        Self { fields: Vec::new(), coefficients: Vec::new(), works: Vec::new() }
    }
}

impl<T> Arrays<T> {
    /// The array that a stage or somebody else reads.
    pub fn get(&self, array: Array) -> &Padded<T> {
        match array {
            Array::Field { field, level } => &self.fields[field][level],
            Array::Coefficient(coefficient) => &self.coefficients[coefficient],
            // Between steps what it was in the last one.
            Array::Work(work) => &self.works[work],
            Array::New(_) => {
                unreachable!("the new values of a field are its values after the step")
            }
        }
    }

    /// The array that a stage writes.
    pub fn written(&mut self, array: Array) -> &mut Padded<T> {
        match array {
            Array::New(field) => self.fields[field].last_mut().expect("an array for the next"),
            Array::Work(work) => &mut self.works[work],
            _ => unreachable!("a stage writes neither levels nor coefficients"),
        }
    }
}

/// How arrays lie in memory.
pub struct Layouts {
    pub fields: Vec<PaddedLayout>,
    pub coefficients: Vec<PaddedLayout>,
    pub works: Vec<PaddedLayout>,
}

impl Layouts {
    pub fn get(&self, array: Array) -> &PaddedLayout {
        match array {
            Array::Field { field, .. } | Array::New(field) => &self.fields[field],
            Array::Coefficient(coefficient) => &self.coefficients[coefficient],
            Array::Work(work) => &self.works[work],
        }
    }

    /// How many values behind a point of an array another one lies.
    pub fn distance(&self, array: Array, offset: Offset) -> isize {
        let (layout, [z, y, x]) = (self.get(array), offset.map(|it| it as isize));
        z * layout.plane() as isize + y * layout.pitch as isize + x
    }

    /// Rows of a plane that a thread computes before it takes those of the next plane: what a program reads of the planes
    /// around them stays in its cache, of as many bytes a value.
    pub fn rows_of_a_band(&self, system: &System, program: &Program, bytes: usize) -> usize {
        let planes = |array: Array| {
            let of_array = program.reads().filter(|(read, _)| *read == array);
            let planes: Vec<i32> = of_array.map(|(_, [z, ..])| z).collect();
            let ends = planes.iter().max().zip(planes.iter().min());
            ends.map_or(0, |(last, first)| (last - first) as usize)
        };
        let read = program.arrays().into_iter().map(|array| (array, planes(array), 1));
        let written = program.writes.iter().map(|array| match *array {
            Array::New(field) if own(system, field).is_some() => (*array, 0, 1),
            // Its lines are read, too, before they are written.
            _ => (*array, 0, 2),
        });
        let arrays = read.chain(written);
        let arrays = arrays.map(|(array, planes, others)| (self.get(array).pitch, planes, others));
        let arrays: Vec<(usize, usize, usize)> = arrays.collect();
        // Where each value is read for one plane only, none has to stay.
        if arrays.iter().all(|(_, planes, _)| *planes == 0) {
            return MOST;
        }
        let values = arrays.iter().map(|(pitch, planes, others)| pitch * (planes + others));
        (STAY / (values.sum::<usize>() * bytes)).clamp(FEWEST, MOST)
    }
}

/// How arrays lie in memory that a step reads.
pub fn layout<T: StoredType>(system: &System, is_own: impl Fn(Array) -> bool) -> PaddedLayout {
    let layout = PaddedLayout::new(system.shape, system.program.reach(is_own), size_of::<T>());
    layout.apart(RowFunction::<T::Computed>::behind(), size_of::<T>())
}

/// How a field does: those that are held alike, as several of them may be one array of a tape at different times.
pub fn layout_of<T: StoredType>(system: &System, field: usize) -> PaddedLayout {
    let is_held = |array: Array| match array {
        Array::Field { field, .. } => system.fields[field].is_held,
        _ => false,
    };
    match system.fields[field].is_held {
        true => layout::<T>(system, is_held),
        false => layout::<T>(system, |array| array.is_of_field(field)),
    }
}

pub fn halo<T: StoredType>(boundary: &Boundary, layout: PaddedLayout) -> Option<Halo<T>> {
    let needed = layout.margins != [0; 3] && !boundary.is_zero();
    needed.then(|| Halo::new(boundary, layout))
}

/// Values as they lie in memory.
pub fn convert<T: StoredType>(values: &Values) -> Vec<T> {
    with_values!(values, values => {
        values.par_iter().map(|value| T::from_f64(Element::to_f64(*value))).collect()
    })
}

/// Lines of the cache by which the next array is staggered.
pub fn lines(arrays: &mut impl Iterator<Item = usize>) -> usize {
    arrays.next().map_or(0, |number| number * STAGGER % LINES)
}

/// A grid with what lies around it.
pub fn fill<T: StoredType>(
    grid: &Grid,
    layout: PaddedLayout,
    halo: Option<&Halo<T>>,
    lines: usize,
) -> Padded<T> {
    let mut padded = Padded::staggered(layout, lines);
    padded.set(&convert(&grid.values));
    if let Some(halo) = halo {
        halo.close(&mut padded, true);
    }
    padded
}
