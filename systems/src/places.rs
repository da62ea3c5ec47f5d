// SPDX-License-Identifier: MIT OR Apache-2.0
//! The places that comparing some points reads: of a large grid few, so that a device need not send all of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use rayon::prelude::*;

use crate::checked::System;
use crate::common_subexpressions::CommonSubexpressions;
use crate::evaluate::{self, Evaluator, PlainF64};
use crate::expression::Array;
use crate::unrounded::UnroundedCoefficients;
use problem::{Error, Grid, Region, Shape, Values};

/// A box that is read for all the places in it takes as long as so many values of a whole array.
const BOX: usize = 4096;

/// Places in C order, and the box that is read for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    region: Region,
    places: Vec<usize>,
}

/// What is read of each array.
#[derive(Clone, Debug, Default)]
pub struct Places(BTreeMap<Array, Vec<Piece>>);

impl Places {
    /// What the next values of some points are computed from, and the points themselves. Nothing where all of each array
    /// is read as fast.
    pub fn before(system: &System, done: usize, points: &[usize]) -> Option<Self> {
        // A solve reads all points.
        if system.has_solves() {
            return None;
        }
        let next = CommonSubexpressions::new(system.fields.iter().map(|field| &field.next));
        let reads = points.par_iter().map(|point| reads(system, &next, done, *point)).collect();
        Self::of(system, reads)
    }

    /// The present values of some points. Nothing where all of each array is read as fast.
    pub fn at(system: &System, points: &[usize]) -> Option<Self> {
        let fields = 0..system.fields.len();
        let of_point = |point: &usize| -> Vec<(Array, usize)> {
            fields.clone().map(|field| (Array::Field { field, level: 0 }, *point)).collect()
        };
        Self::of(system, points.iter().map(of_point).collect())
    }

    /// What is read for each of some points.
    fn of(system: &System, reads: Vec<Vec<(Array, usize)>>) -> Option<Self> {
        let mut all: BTreeMap<Array, Vec<Piece>> = BTreeMap::new();
        for of_point in reads {
            let mut by_array: BTreeMap<Array, Vec<usize>> = BTreeMap::new();
            for (array, place) in of_point {
                by_array.entry(array).or_default().push(place);
            }
            for (array, mut places) in by_array {
                places.sort_unstable();
                places.dedup();
                all.entry(array).or_default().extend(boxes(system.shape, places));
            }
        }
        let most = all.values().map(Vec::len).max().unwrap_or_default();
        (most * BOX < system.shape.points()).then_some(Self(all))
    }

    /// The boxes of all arrays, in an order that does not change.
    pub fn boxes(&self) -> impl Iterator<Item = (Array, Region)> {
        let of_array = |(array, all): (&Array, &Vec<Piece>)| {
            all.iter().map(|one| (*array, one.region)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_array)
    }

    /// The values at all places, of the values of all [boxes](Places::boxes).
    ///
    /// # Errors
    /// A box could not be read.
    pub fn gather(
        &self,
        shape: Shape,
        read: impl IntoIterator<Item = Result<Values, Error>>,
    ) -> Result<Gathered, Error> {
        let mut found = HashMap::new();
        let boxes = self.0.iter().flat_map(|(array, all)| all.iter().map(move |one| (*array, one)));
        for ((array, Piece { region, places }), values) in boxes.zip(read) {
            let own = Shape::new(&region.extents())?;
            let grid = Grid { shape: own, values: values? };
            let [_, ny, nx] = own.extents();
            for place in places {
                let at = one_point(shape, *place).low;
                let [z, y, x] = [0, 1, 2].map(|axis| (at[axis] - region.low[axis]) as usize);
                found.insert((array, *place), grid.get((z * ny + y) * nx + x));
            }
        }
        Ok(Gathered(found))
    }
}

/// The box of one point, given by its place in C order.
pub fn one_point(shape: Shape, index: usize) -> Region {
    let [_, ny, nx] = shape.extents();
    let low = [index / (ny * nx), index / nx % ny, index % nx].map(|at| at as isize);
    Region { low, high: low.map(|at| at + 1) }
}

/// Values at places that were read.
#[derive(Debug, Default)]
pub struct Gathered(HashMap<(Array, usize), f64>);

impl evaluate::Values for Gathered {
    fn value(&self, array: Array, index: usize) -> f64 {
        self.0[&(array, index)]
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers of a start")
    }
}

/// One box around places that lie near each other, else a box for each.
fn boxes(shape: Shape, places: Vec<usize>) -> Vec<Piece> {
    let around = places.iter().map(|place| one_point(shape, *place)).reduce(|a, b| Region {
        low: std::array::from_fn(|axis| a.low[axis].min(b.low[axis])),
        high: std::array::from_fn(|axis| a.high[axis].max(b.high[axis])),
    });
    match around {
        Some(region) if region.points() <= BOX => vec![Piece { region, places }],
        _ => {
            let single = |place| Piece { region: one_point(shape, place), places: vec![place] };
            places.into_iter().map(single).collect()
        }
    }
}

/// Notes what is read; which values are read depends on none of them.
#[derive(Default)]
struct Recorder(Mutex<Vec<(Array, usize)>>);

impl evaluate::Values for Recorder {
    fn value(&self, array: Array, index: usize) -> f64 {
        self.0.lock().expect("nobody panics with it").push((array, index));
        0.0
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("a coefficient's own values are read instead")
    }
}

/// What the next values at a point are computed from, with the present ones.
fn reads(
    system: &System,
    next: &CommonSubexpressions,
    done: usize,
    point: usize,
) -> Vec<(Array, usize)> {
    let recorder = Recorder::default();
    let given = UnroundedCoefficients { system, values: &recorder };
    // Which values are read does not depend on them.
    let totals = vec![0.0; system.totals.reductions.len()];
    let evaluator = Evaluator::new(system, PlainF64, &given, done as f64).with_totals(&totals);
    let place = one_point(system.shape, point).low;
    next.at(&evaluator, place);
    for field in &system.fields {
        field.keep.iter().for_each(|keep| {
            evaluator.at(keep, place);
        });
    }
    let own = (0..system.fields.len()).map(|field| (Array::Field { field, level: 0 }, point));
    let mut reads = recorder.0.into_inner().expect("nobody panics with it");
    reads.extend(own);
    reads
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::SystemSimulation;
    use crate::evaluate::Values as _;
    use crate::tests::draw;
    use compute::engine::State;

    /// Of any system the values of the places are those of whole arrays, whichever are read.
    #[test]
    fn what_is_gathered_is_all_that_is_read() {
        for seed in 0..40 {
            let system = System::new(&draw::system(seed), Path::new("")).unwrap();
            let mut simulation = SystemSimulation::new(&system).unwrap();
            simulation.step(3).unwrap();
            let points = system.shape.points();
            let some = [0, points / 3, points / 2, points - 1];
            let next = CommonSubexpressions::new(system.fields.iter().map(|field| &field.next));
            let all: Vec<_> = some.iter().map(|point| reads(&system, &next, 3, *point)).collect();
            let mut by_array: BTreeMap<Array, Vec<Piece>> = BTreeMap::new();
            for (array, place) in all.iter().flatten() {
                by_array.entry(*array).or_default().extend(boxes(system.shape, vec![*place]));
            }
            let places = Places(by_array);
            let session = simulation.session();
            let numbered = system.numbered();
            let wanted: Vec<_> = places.boxes().collect();
            let read: Vec<_> = wanted
                .iter()
                .map(|(array, region)| match numbered.iter().position(|known| known == array) {
                    Some(number) => session.read(number, State::Now, *region),
                    None => Ok(Values::F64(vec![0.0; region.points()])),
                })
                .collect();
            let gathered = places.gather(system.shape, read).unwrap();
            let whole = session.values(None).unwrap();
            for (array, place) in all.iter().flatten() {
                if numbered.contains(array) {
                    let [a, b] = [gathered.value(*array, *place), whole.value(*array, *place)];
                    assert_eq!(a.to_bits(), b.to_bits(), "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn places_near_each_other_are_one_box() {
        let shape = Shape::new(&[100, 100]).unwrap();
        let near = boxes(shape, vec![505, 506, 605]);
        assert_eq!((near.len(), near[0].region.points()), (1, 4));
        assert_eq!(boxes(shape, vec![0, 9999]).len(), 2);
    }
}
