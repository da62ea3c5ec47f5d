// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes along with steps that are taken together: receivers note values and a tape keeps fields as soon as a step has written a row,
//! and steps read fields that are given where a tape has them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute::engine::cpu::halo::Halo;
use compute::engine::cpu::padded::{Padded, PaddedLayout};
use rayon::prelude::*;
use shared_rows::SharedRows;
use x86_writer::InputRows;

use super::stored::StoredType;
use super::{Cpu, halo, layout_of};
use crate::checked::System;
use crate::expression::Array;
use crate::tape::{Laid, Lay};
use crate::zeros::Zeros;
use problem::{Boundary, Dtype, Region, Shape, Values};

/// Values of a tape in the form in which the steps that read them have a field: with what lies around them.
pub struct OnTape<T> {
    layout: PaddedLayout,
    halo: Option<Arc<Halo<T>>>,
    /// Along an axis the indices between which they stay 0: steps do not write these.
    zeros: Option<Zeros>,
    pub values: Padded<T>,
}

impl<T: StoredType> OnTape<T> {
    /// Takes the points of another array, which lie in memory like that.
    pub fn take(&mut self, from: &Padded<T>, of: &PaddedLayout) {
        let PaddedLayout { left, extents: [_, _, nx], .. } = self.layout;
        let rows = self.layout.plane_rows();
        let zeros = self.zeros.clone();
        self.values.for_rows(|number, row| {
            let [z, y] = [number / rows, number % rows];
            let stays = |(axis, zeros): &Zeros| *axis < 2 && zeros.contains(&[z, y][*axis]);
            if zeros.as_ref().is_some_and(stays) {
                return;
            }
            let start = (of.margins[0] + z) * of.plane() + of.at(y as isize, 0);
            row[left..left + nx].copy_from_slice(&from.from(start)[..nx]);
        });
        self.close();
    }

    /// Gives all of it to an array that lies so in memory.
    pub fn give(&self, to: &mut Padded<T>) {
        let rows = self.values.planes().par_chunks(self.layout.pitch);
        let to = to.planes_mut().par_chunks_mut(self.layout.pitch);
        to.zip(rows).for_each(|(to, row)| to.copy_from_slice(row));
    }

    /// Sets what lies around the points.
    fn close(&mut self) {
        if let Some(halo) = &self.halo {
            halo.close(&mut self.values, true);
        }
    }

    /// Sets the rows and planes around those of the grid.
    pub fn close_around(&mut self, parallel: bool) {
        if let Some(halo) = &self.halo {
            halo.close_around(&mut self.values, parallel);
        }
    }

    /// Whether its values lie in memory as those of such arrays.
    pub fn lies_as(&self, layout: &PaddedLayout) -> bool {
        let own = self.layout;
        [own.margins, [own.left, own.pitch, 0]] == [layout.margins, [layout.left, layout.pitch, 0]]
    }

    /// For steps that write it row by row.
    fn written(&mut self) -> Written<'_, T> {
        let Self { layout, halo, zeros, values } = self;
        let rows = SharedRows::new(values.all_mut(), layout.pitch);
        Written { rows, layout: *layout, halo: halo.as_deref(), zeros: zeros.as_ref() }
    }
}

impl<T: StoredType> Laid for OnTape<T> {
    fn values(&self) -> Values {
        let high = self.layout.extents.map(|extent| extent as isize);
        T::wrap(self.values.get(Region { low: [0; 3], high }))
    }

    fn set(&mut self, values: Values) {
        self.values.set(&T::take(values).expect("values of the tape's type"));
        self.close();
    }
}

/// How values of a tape lie that the steps of a system read as these fields, which it holds; none where these have different sides.
pub fn lay<T: StoredType>(of: &System, fields: &[usize]) -> Option<Lay> {
    let sides: Vec<&Boundary> = fields.iter().map(|field| &of.fields[*field].boundary).collect();
    let one = *sides.first()?;
    if sides.iter().any(|own| *own != one) {
        return None;
    }
    let layout = layout_of::<T>(of, fields[0]);
    let halo = halo(one, layout).map(Arc::new);
    let zeros: Vec<Option<Zeros>> = fields.iter().map(|field| of.zeros(*field)).collect();
    let zeros = zeros.iter().all(|it| *it == zeros[0]).then(|| zeros[0].clone()).flatten();
    let bytes = bytes::<T>(&layout, zeros.as_ref());
    let make = Box::new(move || -> Box<dyn Laid> {
        let (halo, zeros) = (halo.clone(), zeros.clone());
        let mut kept = OnTape { layout, halo, zeros, values: Padded::<T>::new(layout) };
        kept.close();
        Box::new(kept)
    });
    Some(Lay { bytes, make })
}

/// Memory of values that lie so: rows and planes that stay 0 are touched by nobody.
fn bytes<T>(layout: &PaddedLayout, zeros: Option<&Zeros>) -> u128 {
    let mut rows = [layout.planes(), layout.plane_rows()];
    if let Some((axis @ (0 | 1), zeros)) = zeros {
        rows[*axis] -= zeros.len();
    }
    (rows[0] * rows[1] * layout.pitch * size_of::<T>()) as u128
}

/// A field, and a row of it.
type Row = (usize, [usize; 2]);

/// Receivers by the row that they are in: x, and their number.
pub struct Receivers {
    rows: BTreeMap<Row, Vec<(usize, usize)>>,
    fields: BTreeSet<usize>,
    count: usize,
}

impl Receivers {
    /// At these places of fields, in C order.
    pub fn new(shape: Shape, points: &[(usize, usize)]) -> Self {
        let [_, ny, nx] = shape.extents();
        let mut rows = BTreeMap::<_, Vec<_>>::new();
        for (number, (field, place)) in points.iter().enumerate() {
            let row = [place / nx / ny, place / nx % ny];
            rows.entry((*field, row)).or_default().push((place % nx, number));
        }
        let fields = points.iter().map(|(field, _)| *field).collect();
        Self { rows, fields, count: points.len() }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// An array of a tape that steps write.
struct Written<'a, T> {
    rows: SharedRows<'a, T>,
    layout: PaddedLayout,
    halo: Option<&'a Halo<T>>,
    zeros: Option<&'a Zeros>,
}

impl<T: StoredType> Written<'_, T> {
    /// Takes some rows of a plane, but for what stays 0.
    fn note(&self, z: usize, rows: &Range<usize>, values: &InputRows<T>) {
        let points = self.layout.extents[2];
        match self.zeros {
            Some((0, planes)) if planes.contains(&z) => (),
            Some((1, zeros)) => {
                let below = rows.start..rows.end.min(zeros.start);
                let above = rows.start.max(zeros.end)..rows.end;
                for part in [below, above].into_iter().filter(|part| !part.is_empty()) {
                    let first = part.start - rows.start;
                    self.take(z, part, &values.from([first, 0]), [0..points, 0..0]);
                }
            }
            Some((2, zeros)) => {
                let columns = [0..zeros.start, zeros.end..points];
                self.take(z, rows.clone(), values, columns);
            }
            _ => self.take(z, rows.clone(), values, [0..points, 0..0]),
        }
    }

    /// Takes some columns of some rows of a plane.
    fn take(&self, z: usize, own: Range<usize>, values: &InputRows<T>, columns: [Range<usize>; 2]) {
        let Self { rows, layout, halo, .. } = self;
        let [mz, my, _] = layout.margins;
        let first = (mz + z) * layout.plane_rows() + my + own.start;
        let mut rows = rows.write(first..first + own.len());
        let from = values.values.chunks(values.pitch);
        for (row, from) in rows.chunks_mut(layout.pitch).take(own.len()).zip(from) {
            for Range { start, end } in columns.clone() {
                let to = layout.left + start..layout.left + end;
                row[to].copy_from_slice(&from[start..end]);
            }
            if let Some(halo) = halo {
                halo.close_row(&mut row[..layout.pitch]);
            }
        }
    }
}

/// What goes along with a step.
#[derive(Default)]
struct OfStep<'a, T> {
    /// Where fields that are given have their values, by number.
    given: BTreeMap<usize, &'a Padded<T>>,
    /// Where values of fields after the step are kept, by number.
    kept: BTreeMap<usize, Written<'a, T>>,
    /// What receivers have after it, as bits.
    records: Vec<AtomicU64>,
}

/// What goes along with some steps.
pub struct Watch<'a, T> {
    receivers: Option<(&'a Receivers, Dtype)>,
    steps: Vec<OfStep<'a, T>>,
}

impl<'a, T: StoredType> Watch<'a, T> {
    /// Nothing.
    #[cfg(test)]
    pub fn nothing() -> Self {
        Self { receivers: None, steps: Vec::new() }
    }

    /// Of so many steps, with receivers of values of a type.
    pub fn new(steps: usize, receivers: &'a Receivers, dtype: Dtype) -> Self {
        let of_step = || OfStep {
            given: BTreeMap::new(),
            kept: BTreeMap::new(),
            records: (0..receivers.count).map(|_| AtomicU64::new(0)).collect(),
        };
        let steps = (0..steps).map(|_| of_step()).collect();
        Self { receivers: (!receivers.is_empty()).then_some((receivers, dtype)), steps }
    }

    /// Has a step find a field's values there.
    pub fn give(&mut self, step: usize, field: usize, values: &'a Padded<T>) {
        self.steps[step].given.insert(field, values);
    }

    /// Has a field's values after a step be kept there.
    pub fn keep(&mut self, step: usize, field: usize, kept: &'a mut OnTape<T>) {
        self.steps[step].kept.insert(field, kept.written());
    }

    /// What a step reads of an array, if that is given.
    pub fn given(&self, step: usize, array: Array) -> Option<&'a Padded<T>> {
        match array {
            Array::Field { field, .. } => self.steps.get(step)?.given.get(&field).copied(),
            _ => None,
        }
    }

    /// Whether nothing is noted of what steps write.
    pub fn notes_nothing(&self) -> bool {
        self.receivers.is_none() && self.steps.iter().all(|step| step.kept.is_empty())
    }

    /// Whether something is noted of a field's values after a step.
    pub fn notes(&self, step: usize, field: usize) -> bool {
        let of_field = |(receivers, _): (&Receivers, Dtype)| receivers.fields.contains(&field);
        self.steps[step].kept.contains_key(&field) || self.receivers.is_some_and(of_field)
    }

    /// Notes some rows of a plane of a field's values after a step.
    pub fn note(
        &self,
        (step, field): (usize, usize),
        (z, rows): (usize, Range<usize>),
        values: InputRows<T>,
    ) {
        let own = &self.steps[step];
        if let Some(written) = own.kept.get(&field) {
            written.note(z, &rows, &values);
        }
        let Some((receivers, dtype)) = self.receivers else { return };
        let [first, end] = [rows.start, rows.end].map(|y| (field, [z, y]));
        for ((_, [_, y]), points) in receivers.rows.range(first..end) {
            for (x, number) in points {
                let value = values.from([y - rows.start, *x]).values[0];
                let value = dtype.round(value.to_f64());
                own.records[*number].store(value.to_bits(), Ordering::Relaxed);
            }
        }
    }

    /// What receivers have after each step.
    pub fn records(&self) -> impl Iterator<Item = Vec<f64>> {
        let value = |bits: &AtomicU64| f64::from_bits(bits.load(Ordering::Relaxed));
        self.steps.iter().map(move |step| step.records.iter().map(value).collect())
    }
}

impl<T: StoredType> Cpu<T> {
    /// Whether steps that are taken together note what they write: no solve writes fields.
    pub fn notes(&self, points: &[(usize, usize)]) -> bool {
        let is_computed = |(field, _): &(usize, usize)| !self.system.fields[*field].is_held;
        !self.system.has_solves() && points.iter().all(is_computed)
    }
}
