// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stage of a step, as it is compiled.

use super::Layouts;
use super::code::{Code, Reads};
use super::compiled::Compiled;
use super::inner::Inner;
use super::solve::StageSolve;
use super::stored::StoredType;
use super::together::{own, own_field};
use super::window::Windows;
use crate::checked::System;
use crate::expression::Array;
use crate::program::Program;
use crate::vanishing::Vanishing;
use std::collections::BTreeMap;

/// What is computed at all points before the next stage of a step begins.
pub struct Stage<T: StoredType> {
    /// Its solve, if it is one.
    pub solving: Option<StageSolve>,
    pub code: Code<T::Computed>,
    /// As machine code, where the processor takes it.
    pub compiled: Option<Compiled<T::Computed>>,
    /// What is computed away from points that conditions name, and from layers along sides.
    pub inner: Option<Inner<T::Computed>>,
    /// What is widened for a band, if values are not computed with as they lie in memory.
    pub windows: Option<Windows>,
    /// The arrays that are written.
    pub writes: Vec<Array>,
    /// Of each of them, whether it is a field whose next values are written over the oldest ones.
    pub in_place: Vec<bool>,
    /// Of each of the arrays that the code reads the values from row to row.
    pub pitches: Vec<usize>,
    /// By row (z, y): the place among what is written, x, and the place in the sources.
    pub sources: BTreeMap<[usize; 2], Vec<(usize, usize, usize)>>,
    /// Rows of a band of a single step.
    pub rows: usize,
}

impl<T: StoredType> Stage<T> {
    /// A stage of a system by its number, with these layouts of arrays; one that streams writes past the caches.
    pub fn new(
        (system, number): (&System, usize),
        layouts: &Layouts,
        streams: bool,
        vanishing: &mut Vec<Vanishing>,
    ) -> Self {
        let program = &system.stages[number];
        let windows = T::is_narrow().then(|| Windows::new(program, |array| *layouts.get(array)));
        let place = |array, offset| match &windows {
            Some(windows) => windows.distance(array, offset),
            None => layouts.distance(array, offset),
        };
        let own_place = |program: &Program, array| {
            own_field(system, array).and_then(|field| program.place_of(field))
        };
        let code = Code::new(program, |array| own_place(program, array), place);
        let streams = streams && windows.is_none();
        let compiled = Compiled::new(&code, (system, program.writes.len()), streams);
        let inner = Inner::new(program, (system, streams), own_place, place, vanishing)
            .filter(|inner| inner.are_compiled().all(|it| it == compiled.is_some()));
        let pitch = |reads: &Reads| match &windows {
            Some(windows) => windows.pitch(reads.array),
            None => layouts.get(reads.array).pitch,
        };
        let mut sources = BTreeMap::<_, Vec<_>>::new();
        for (index, source) in system.sources.iter().enumerate() {
            if let Some(place) = program.place_of(source.field) {
                let [z, y, x] = source.at;
                sources.entry([z, y]).or_default().push((place, x, index));
            }
        }
        let is_in_place = |array: &Array| match *array {
            Array::New(field) => own(system, field).is_some(),
            _ => false,
        };
        Self {
            solving: StageSolve::of_stage(system, number),
            compiled,
            inner,
            pitches: code.arrays.iter().map(pitch).collect(),
            code,
            windows,
            in_place: program.writes.iter().map(is_in_place).collect(),
            writes: program.writes.clone(),
            sources,
            rows: layouts.rows_of_a_band(system, program, size_of::<T>()),
        }
    }
}
