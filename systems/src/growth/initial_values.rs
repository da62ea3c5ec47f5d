// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of the values that a run begins with says how they can grow, and what storing took of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use crate::checked::System;
use crate::expression::{Array, Node};
use crate::fft::linear::{self, FrozenValues};
use crate::start::StartValues;
use problem::check::growth::largest;
use problem::check::rounded::RoundedCoefficient;
use problem::values::Element;
use problem::{Grid, with_values};

/// What the values at the start of a run say of their growth.
#[derive(Clone, Debug, Default)]
pub struct InitialValues {
    /// The largest absolute value of each field, its earlier levels included.
    values: Vec<f64>,
    /// Points at which a coefficient is largest or smallest, and where coordinates are.
    places: Vec<FrozenValues>,
    /// Coefficients that the element type cannot hold.
    rounded: Vec<RoundedCoefficient>,
}

impl InitialValues {
    /// Looks through the values that a run of this system begins with.
    pub fn of(system: &System, beginning: &StartValues) -> Self {
        let of_field =
            |levels: &Vec<Arc<Grid>>| levels.iter().map(|grid| largest(grid)).fold(0.0, f64::max);
        let values = beginning.fields.iter().map(of_field).collect();
        let frozen = |place: usize| {
            let coefficients = beginning.coefficients.iter().map(|grid| grid.get(place)).collect();
            FrozenValues { point: point(system, place), coefficients, step: 0.0 }
        };
        let places = places(system, beginning).into_iter().map(frozen).collect();
        Self { values, places, rounded: beginning.rounded.clone() }
    }

    /// Fields of values around 1, and coefficients that are the same everywhere.
    pub fn of_unit(system: &System) -> Self {
        let coefficients = 0..system.coefficients.len();
        let value = |coefficient| linear::coefficient(system, coefficient).unwrap_or_default();
        let coefficients = coefficients.map(value).collect();
        let places = vec![FrozenValues { point: [0; 3], coefficients, step: 0.0 }];
        Self { values: vec![1.0; system.fields.len()], places, rounded: Vec::new() }
    }

    /// Of values that lie on a GPU: how they can grow is unknown.
    pub fn of_unknown(beginning: &StartValues) -> Self {
        Self { rounded: beginning.rounded.clone(), ..Self::default() }
    }

    /// Forgets the values, which were changed since: how they can grow is unknown from now on.
    pub fn forget_values(&mut self) {
        self.values.clear();
        self.places.clear();
    }

    /// The largest value of each field.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The largest value of all fields.
    pub fn largest(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }

    /// Coefficients that the element type cannot hold.
    pub fn rounded(&self) -> &[RoundedCoefficient] {
        &self.rounded
    }

    /// Where weights that vary are taken.
    pub fn places(&self) -> &[FrozenValues] {
        &self.places
    }
}

/// A point by its place in C order.
fn point(system: &System, place: usize) -> [usize; 3] {
    let [_, ny, nx] = system.shape.extents();
    [place / (ny * nx), place / nx % ny, place % nx]
}

/// The places in C order at which weights are taken.
fn places(system: &System, beginning: &StartValues) -> BTreeSet<usize> {
    let read = read(system);
    let kept: Vec<&Arc<Grid>> = system
        .fields
        .iter()
        .filter_map(|field| field.kept)
        .chain(system.solid)
        .map(|kept| &beginning.coefficients[kept])
        .collect();
    let mut all = BTreeSet::new();
    for coefficient in read {
        let grid = &beginning.coefficients[coefficient];
        // An equation is not that of a point that keeps its values or is solid, unless all do.
        let ends = ends(grid, |place| kept.iter().all(|kept| kept.get(place) == 0.0));
        all.extend(ends.or_else(|| self::ends(grid, |_| true)).into_iter().flatten());
    }
    let mut coordinates = false;
    system.visit(|part| coordinates |= matches!(part, Node::Coordinate(_) | Node::Index(_)));
    if coordinates {
        let [nz, ny, nx] = system.shape.extents();
        for z in [0, nz / 2, nz - 1] {
            for y in [0, ny / 2, ny - 1] {
                all.extend([0, nx / 2, nx - 1].map(|x| (z * ny + y) * nx + x));
            }
        }
    }
    if all.is_empty() {
        all.insert(0);
    }
    all
}

/// Of the places that count, those of the smallest and the largest value: the first of equals.
fn ends(grid: &Grid, counts: impl Fn(usize) -> bool + Sync) -> Option<[usize; 2]> {
    with_values!(&grid.values, values => {
        let all = || {
            let all = values.par_iter().enumerate().map(|(place, value)| (value.to_f64(), place));
            all.filter(|(_, place)| counts(*place))
        };
        let least = all().min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
        let most = all().max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        Some([least.1, most.1])
    })
}

/// The coefficients that equations read.
fn read(system: &System) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    system.visit(|part| {
        if let Node::Read(Array::Coefficient(coefficient)) = part {
            all.insert(*coefficient);
        }
    });
    all
}
