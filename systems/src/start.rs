// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values that a system starts with.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::checked::System;
use super::evaluate::{Evaluator, NoArrays, PlainF64, Values};
use super::expression::{Array, Node};
use super::parts::{Coefficient, Field, Source, Start, Walls};
use super::places::one_point;
use problem::check::rounded::{Losses, RoundedCoefficient};
use problem::observe::ArrayName;
use problem::values::Element;
use problem::{Dtype, Error, Grid, ValueLocation, with_dtype, with_values};

/// The values that a system starts with, as they are stored.
pub struct StartValues {
    /// Steps that an earlier run took.
    pub step: usize,
    /// Of each coefficient.
    pub coefficients: Vec<Arc<Grid>>,
    /// Of each field its levels, the present one first.
    pub fields: Vec<Vec<Arc<Grid>>>,
    /// Coefficients that the element type cannot hold.
    pub rounded: Vec<RoundedCoefficient>,
}

impl StartValues {
    /// The start of a system which an earlier run left with these values.
    ///
    /// # Errors
    /// [`Error::UnknownField`], [`Error::Points`]: they are not those of this system.
    pub fn resumed(
        system: &System,
        step: usize,
        arrays: Vec<(ArrayName, Grid)>,
    ) -> Result<Self, Error> {
        let known = StartFacts::of(system, false)?;
        let mut arrays: BTreeMap<_, _> =
            arrays.into_iter().map(|(name, grid)| ((name.field, name.level), grid)).collect();
        let mut take = |field: &Field, level: usize| {
            let found = arrays.remove(&(field.name.clone(), level));
            let right = |grid: &Grid| grid.shape == system.shape && grid.dtype() == system.dtype;
            found.filter(right).map(Arc::new).ok_or_else(|| Error::UnknownField {
                name: format!("{}, {level} steps before", field.name),
                known: arrays.keys().map(|(name, _)| name.clone()).collect(),
            })
        };
        let mut fields = Vec::new();
        for (number, field) in system.fields.iter().enumerate() {
            let own = |grid: Arc<Grid>| match system.with_zeros(number, &grid) {
                Cow::Owned(own) => Arc::new(own),
                Cow::Borrowed(_) => grid,
            };
            let levels = (0..field.levels).map(|level| take(field, level).map(own));
            fields.push(levels.collect::<Result<_, _>>()?);
        }
        Ok(Self { step, coefficients: known.coefficients, fields, rounded: known.rounded })
    }

    /// The coefficients of a system, without fields.
    ///
    /// # Errors
    /// As [`StartValues::new`].
    pub fn coefficients(system: &System) -> Result<Vec<Arc<Grid>>, Error> {
        Ok(StartFacts::of(system, false)?.coefficients)
    }

    /// The start of a system.
    ///
    /// # Errors
    /// [`Error::NotFinite`]: a value is not finite, or not as the element type stores it. [`Error::Memory`].
    pub fn new(system: &System) -> Result<Self, Error> {
        Self::of(system, StartFacts::of(system, false)?)
    }

    /// The start of a system, but grids of no values for fields and coefficients that lie on a GPU, and for zeros: whoever takes
    /// it copies the former there, into arrays that are zeros. A coefficient that a start reads has its values
    /// ([`read_by_starts`]).
    ///
    /// # Errors
    /// As [`StartValues::new`].
    pub fn beside_device(system: &System) -> Result<Self, Error> {
        Self::of(system, StartFacts::of(system, true)?)
    }

    fn of(system: &System, known: StartFacts) -> Result<Self, Error> {
        let field = |field: &Field| {
            let level = |level: usize| {
                let given = level.checked_sub(1).and_then(|before| field.before.get(before));
                let start = given.unwrap_or(&field.start);
                let (grid, _) = known.grid(system, start, level, &field.name)?;
                check_given(system, start, &grid, &field.name)?;
                Ok(grid)
            };
            (0..field.levels).map(level).collect::<Result<Vec<_>, Error>>()
        };
        let fields = system.fields.iter().map(field).collect::<Result<_, _>>()?;
        let values =
            Self { step: 0, coefficients: known.coefficients, fields, rounded: known.rounded };
        values.beside_walls(system)
    }
}

impl StartValues {
    /// What a system starts with if some of its fields have these values, now and in those of their earlier levels that the system
    /// does not give.
    ///
    /// # Errors
    /// As [`StartValues::new`]; [`Error::UnknownField`]: it has no such field; [`Error::Points`]: a grid has another shape.
    pub fn with(system: &System, inputs: &[(String, Grid)]) -> Result<Self, Error> {
        let mut beginning = Self::new(system)?;
        for (name, grid) in inputs {
            let field = system.find(name)?;
            if grid.shape != system.shape {
                let (shape, points) = (system.shape.to_string(), system.shape.points());
                return Err(Error::Points { shape, points, found: grid.shape.points() });
            }
            let grid = system.with_zeros(field, grid).into_owned();
            let grid = Arc::new(grid.stored_as(system.dtype)?);
            let given = system.fields[field].before.len();
            let levels = beginning.fields[field].iter_mut().enumerate();
            let levels = levels.filter(|(level, _)| *level == 0 || *level > given);
            levels.for_each(|(_, values)| *values = Arc::clone(&grid));
        }
        beginning.beside_walls(system)
    }

    /// With what walls say at solid points, whatever is given there.
    pub fn beside_walls(mut self, system: &System) -> Result<Self, Error> {
        let Some(solid) = system.solid else { return Ok(self) };
        let mask = Arc::clone(&self.coefficients[solid]);
        for (field, levels) in system.fields.iter().zip(&mut self.fields) {
            let given = match &field.walls {
                Some(Walls::Value(value)) => Some(value),
                _ => None,
            };
            for (level, grid) in levels.iter_mut().enumerate() {
                let step = self.step as f64 - level as f64;
                let evaluator = Evaluator::new(system, PlainF64, &NoArrays, step);
                let grid = Arc::make_mut(grid);
                let value = |index: usize| {
                    let place = one_point(system.shape, index).low;
                    given.map_or(0.0, |given| evaluator.at(given, place))
                };
                with_values!(&mut grid.values, values => {
                    values.par_iter_mut().enumerate().for_each(|(index, own)| {
                        if mask.get(index) != 0.0 {
                            *own = Element::from_f64(value(index));
                        }
                    });
                });
                if given.is_some() {
                    let name = &field.name;
                    let here = |position| format!("{position} of the walls of '{name}'");
                    check_finite(grid, system.dtype, here)?;
                }
            }
        }
        Ok(self)
    }
}

impl System {
    /// The system without sources at points that keep their values or are solid, where they have nothing to add to.
    pub(super) fn with_sources_that_count(&self, beginning: &StartValues) -> Self {
        let [_, ny, nx] = self.shape.extents();
        let changes = |source: &Source| {
            let [z, y, x] = source.at;
            let masks = self.fields[source.field].kept.into_iter().chain(self.solid);
            let mut values =
                masks.map(|mask| beginning.coefficients[mask].get((z * ny + y) * nx + x));
            values.all(|kept| kept == 0.0)
        };
        let mut system = self.clone();
        system.sources.retain(changes);
        system
    }
}

/// The coefficients that have to be in this machine's memory: expressions of starts and of other coefficients read them, or they
/// say which points keep their values or are solid.
pub fn read_by_starts(system: &System) -> BTreeSet<usize> {
    let kept = system.fields.iter().filter_map(|field| field.kept);
    let mut read: BTreeSet<usize> = kept.chain(system.solid).collect();
    let fields = system.fields.iter().flat_map(|field| field.before.iter().chain([&field.start]));
    for start in fields.chain(system.coefficients.iter().map(|own| &own.start)) {
        if let Start::Expression(node) = start {
            node.visit(&mut |part| {
                if let Node::Read(Array::Coefficient(coefficient)) = part {
                    read.insert(*coefficient);
                }
            });
        }
    }
    read
}

/// Checks values that were given to be finite. What is given at solid points does not count. Values of expressions were looked at
/// when they were computed.
fn check_given(system: &System, start: &Start, grid: &Grid, name: &str) -> Result<(), Error> {
    if system.solid.is_some() || matches!(start, Start::Expression(_)) {
        return Ok(());
    }
    check_finite(grid, system.dtype, |position| format!("{position} of '{name}'"))
}

/// What is known so far.
#[derive(Default)]
struct StartFacts {
    coefficients: Vec<Arc<Grid>>,
    rounded: Vec<RoundedCoefficient>,
    /// Whether fields that were given on a GPU, or are zeros, have no values here.
    leaves_out: bool,
}

impl StartFacts {
    /// All coefficients; where fields are left out, those that lie on a GPU are, too, unless a start reads them.
    fn of(system: &System, leaves_out: bool) -> Result<Self, Error> {
        let mut known = Self { leaves_out, ..Self::default() };
        let read = if leaves_out { read_by_starts(system) } else { BTreeSet::new() };
        for (number, Coefficient { name, start, .. }) in system.coefficients.iter().enumerate() {
            known.leaves_out = leaves_out && !read.contains(&number);
            let (grid, losses) = known.grid(system, start, 0, name)?;
            check_given(system, start, &grid, name)?;
            known.coefficients.push(grid);
            known.rounded.extend(losses.told(name, system.shape, system.dtype));
        }
        known.leaves_out = leaves_out;
        Ok(known)
    }

    /// The values of an array so many steps before the start, and what storing made of them.
    fn grid(
        &self,
        system: &System,
        start: &Start,
        level: usize,
        name: &str,
    ) -> Result<(Arc<Grid>, Losses), Error> {
        let node = match start {
            Start::Values(grid, losses) => return Ok((Arc::clone(grid), *losses)),
            // One that has left the GPU is not copied there by whoever takes the others.
            Start::OnDevice(given) if self.leaves_out && given.on_device().is_some() => {
                return Ok(nothing(system));
            }
            Start::Expression(Node::Number(number)) if self.leaves_out && number.to_bits() == 0 => {
                return Ok(nothing(system));
            }
            Start::OnDevice(given) => return Ok((given.grid()?, Losses::default())),
            Start::Expression(node) => node,
        };
        let (shape, dtype) = (system.shape, system.dtype);
        Grid::check_memory(shape, dtype)?;
        if let Node::Number(number) = node {
            let losses = Losses::of(0, *number, dtype.stored().round(*number));
            let values = with_dtype!(dtype, T => {
                let value = T::from_f64(*number);
                T::wrap(if *number == 0.0 {
                    // Pages that nobody has touched.
                    bytemuck::zeroed_vec(shape.points())
                } else {
                    vec![value; shape.points()]
                })
            });
            let grid = Grid { shape, values };
            let first = |position: String| format!("{position} of '{name}'");
            check_finite(&grid, dtype, first)?;
            return Ok((grid.into(), losses));
        }
        let mut random = BTreeMap::new();
        let mut seeds = Vec::new();
        node.visit(&mut |part| {
            if let Node::Random(seed) = part {
                seeds.push(*seed);
            }
        });
        for seed in seeds {
            random.insert(seed, Grid::random(shape, Dtype::F64, seed)?);
        }
        let values = Arrays { coefficients: &self.coefficients, random };
        let step = -(level as f64);
        let evaluator = Evaluator::new(system, PlainF64, &values, step);
        let [_, ny, nx] = shape.extents();
        let varies = axes(node);
        let (values, losses) = with_dtype!(dtype, T => {
            let mut values = vec![T::default(); shape.points()];
            let of_row = |(row, values): (usize, &mut [T])| {
                let (z, y) = ((row / ny) as isize, (row % ny) as isize);
                let store = |losses: Losses, (x, value): (usize, &mut T)| {
                    let given = evaluator.at(node, [z, y, x as isize]);
                    *value = T::from_f64(given);
                    losses.and(Losses::of(row * nx + x, given, value.to_f64()))
                };
                let computed = if varies[2] { nx } else { 1 };
                let (own, others) = values.split_at_mut(computed);
                let losses = own.iter_mut().enumerate().fold(Losses::default(), store);
                others.fill(own[0]);
                losses
            };
            // All rows, or the first one for all.
            let computed = if varies[0] || varies[1] { values.len() } else { nx };
            let (own, others) = values.split_at_mut(computed);
            let losses = own.par_chunks_mut(nx).enumerate().map(of_row);
            let losses = losses.reduce(Losses::default, Losses::and);
            others.par_chunks_mut(nx).for_each(|others| others.copy_from_slice(&own[..nx]));
            (T::wrap(values), losses)
        });
        let grid = Grid { shape, values };
        check_finite(&grid, dtype, |position| format!("{position} of '{name}'"))?;
        Ok((grid.into(), losses))
    }
}

/// Along which axes the value of an expression may vary.
fn axes(node: &Node) -> [bool; 3] {
    let mut axes = [false; 3];
    node.visit(&mut |part| match part {
        Node::Coordinate(axis) | Node::Index(axis) => axes[*axis] = true,
        Node::Read(_) | Node::Stencil(..) | Node::Solve(..) | Node::Noise(_) | Node::Random(_) => {
            axes = [true; 3];
        }
        _ => (),
    });
    axes
}

/// A grid without values.
fn nothing(system: &System) -> (Arc<Grid>, Losses) {
    let values = with_dtype!(system.dtype, T => T::wrap(Vec::new()));
    (Grid { shape: system.shape, values }.into(), Losses::default())
}

/// Checks that all values are finite; `here` says where one lies that is not.
fn check_finite(grid: &Grid, dtype: Dtype, here: impl Fn(String) -> String) -> Result<(), Error> {
    grid.check_finite(ValueLocation::InputAs(dtype)).map_err(|error| match error {
        Error::NotFinite { holder, value, position } => {
            Error::NotFinite { holder, value, position: here(position) }
        }
        other => other,
    })
}

/// Coefficients and random numbers.
struct Arrays<'a> {
    coefficients: &'a [Arc<Grid>],
    random: BTreeMap<u64, Grid>,
}

impl Values for Arrays<'_> {
    fn value(&self, array: Array, index: usize) -> f64 {
        match array {
            Array::Coefficient(coefficient) => self.coefficients[coefficient].get(index),
            _ => unreachable!("values to start with are not made of fields"),
        }
    }

    fn random(&self, seed: u64, index: usize) -> f64 {
        self.random[&seed].get(index)
    }
}
