// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system that is taken by jumps, wherever its fields are.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use super::jump_error::JumpError;
use super::linear::{self, LinearSum};
use crate::checked::System;
use crate::evaluate::Values;
use crate::expression::Array;
use crate::places::Places;
use crate::session::{Jumps, StepSession};
use compute::engine::cpu::time_copies;
use compute::engine::fft::value_bounds::{ValueBounds, extremes};
use compute::engine::{Session, State as Grids};
use problem::values::Element;
use problem::{Depth, Dtype, Error, Grid, JumpReport, Region, Shape, values as grid};

/// The fields of a system, in f64: of each its levels, the present one first.
pub type State = Vec<Vec<Vec<f64>>>;

/// The fields of a system, wherever they are, and who takes them further.
pub trait Fields {
    /// The fields of each group.
    fn groups(&self) -> Vec<Vec<usize>>;

    /// Takes them so many steps further, and says by how much that can be off, by group. If that is wanted, where they
    /// were is kept.
    ///
    /// # Errors
    /// There is no torus for so many steps, or a device refuses.
    fn jump(&mut self, steps: usize, is_kept: bool) -> Result<Vec<JumpError>, Error>;

    /// Goes back to where they were, which was kept.
    fn back(&mut self);

    /// Points of the torus of each group in the last jump, slowest axis first.
    fn toruses(&self) -> Vec<Vec<usize>>;

    /// How far earlier levels, as somebody looks at them, are from those that the next jump takes.
    fn rounded(&self) -> f64 {
        0.0
    }

    /// A copy of a level.
    ///
    /// # Errors
    /// There is no memory for it, or a device refuses.
    fn level(&self, field: usize, level: usize) -> Result<Vec<f64>, Error>;

    /// All levels.
    ///
    /// # Errors
    /// There is no memory for them, where they are elsewhere, or a device refuses.
    fn state(&self) -> Result<Cow<'_, State>, Error>;

    /// Where they are.
    fn device(&self) -> String;
}

/// The fields before a jump.
struct FieldsBefore {
    /// After so many steps.
    done: usize,
    /// Steps of the jump.
    steps: usize,
    /// By how much it can be off.
    off: Vec<JumpError>,
}

/// A field whose equation is a sum of its own values with weights that are not negative: steps make means of them, times Σw.
struct Mean {
    weights: Vec<f64>,
    /// The least and the largest value at the beginning.
    range: [f64; 2],
}

/// A system that jumps.
pub struct Fft<F> {
    system: System,
    sums: Vec<LinearSum>,
    fields: F,
    groups: Vec<Vec<usize>>,
    /// Of each group the largest value that it has had.
    largest: Vec<f64>,
    before: Option<FieldsBefore>,
    /// Of the step that was compared last, by field.
    off: Vec<f64>,
    jumps: Jumps,
    /// Of each field, if it is one.
    means: Vec<Option<Mean>>,
    /// Steps since the beginning.
    steps: usize,
    /// An array as it is now, by its number.
    held: Option<(usize, Grid)>,
}

impl<F: Fields> Fft<F> {
    /// Of a system with these equations.
    ///
    /// # Errors
    /// The device of the fields refuses.
    pub fn new(system: &System, sums: Vec<LinearSum>, fields: F) -> Result<Self, Error> {
        let off = vec![0.0; sums.len()];
        let jump = JumpReport { steps: 0, toruses: fields.toruses(), rim: 0, growth: Some(0.0) };
        let jumps = Jumps { jump, noise: 0.0 };
        let groups = fields.groups();
        let largest = vec![0.0; groups.len()];
        let means = means(system, &sums, &fields)?;
        let system = system.clone();
        Ok(Self {
            system,
            sums,
            fields,
            groups,
            largest,
            before: None,
            off,
            jumps,
            means,
            steps: 0,
            held: None,
        })
    }

    /// A copy of an array, by its number.
    fn array(&self, array: usize) -> Result<Grid, Error> {
        let Array::Field { field, level } = self.system.numbered()[array] else {
            unreachable!("coefficients have no number")
        };
        let mut values = f64::wrap(self.fields.level(field, level)?);
        self.within(field).keep_all(&mut values);
        Grid { shape: self.system.shape, values }.cast(self.system.dtype)
    }

    /// What the values of a field lie within, whatever transforms leave of them.
    fn within(&self, field: usize) -> ValueBounds {
        let of = |Mean { weights, range }: &Mean| {
            let boundary = &self.system.fields[field].boundary;
            ValueBounds::of_sum(weights, boundary, self.system.shape.dims(), self.steps, *range)
        };
        self.means[field].as_ref().map_or(ValueBounds::ANYTHING, of)
    }

    fn jump(&mut self, steps: usize, is_kept: bool) -> Result<Vec<JumpError>, Error> {
        /// Of the largest value that there was: beyond that a jump says nothing. What fades has no digits in the end; that its
        /// noise is small beside what it was is certain.
        const MOST_OFF: f64 = 0.01;
        let Self { fields, jumps, system, .. } = self;
        self.held = None;
        let all = fields.jump(steps, is_kept)?;
        self.steps += steps;
        let of_group = self.groups.iter().zip(&mut self.largest).zip(&all);
        for ((of_group, most), JumpError { values, largest, growth }) in of_group {
            jumps.jump.growth = jumps.jump.growth.map(|known| known.max(*growth));
            jumps.noise = values.iter().flatten().copied().fold(jumps.noise, f64::max);
            *most = most.max(*largest);
            let is_known = |off: &f64| *off <= MOST_OFF * *most;
            if largest.is_finite() && values.iter().flatten().all(is_known) {
                continue;
            }
            let name = &system.fields[of_group[0]].name;
            let reason = format!(
                "it is unstable: in {steps} steps a wave of '{name}' grows {growth:.1e} times, and with it \
                 what rounding leaves, so that no digit would be certain; a smaller dt may help"
            );
            return Err(Error::Unsupported { engine: "fft", reason });
        }
        if steps >= jumps.jump.steps {
            (jumps.jump.steps, jumps.jump.toruses) = (steps, fields.toruses());
        }
        Ok(all)
    }

    /// By how much a jump can be off, by field and level.
    fn by_field(&self, off: &[JumpError]) -> Vec<Vec<f64>> {
        let mut all = vec![Vec::new(); self.sums.len()];
        for (fields, off) in self.groups.iter().zip(off) {
            let pairs = fields.iter().zip(&off.values);
            pairs.for_each(|(field, values)| all[*field] = values.clone());
        }
        all
    }

    /// By how much fields can be off that somebody has looked at and that are taken as they are, by field and level.
    fn looked_at(&self) -> Vec<Vec<f64>> {
        let of_level = |level: usize| if level == 0 { 0.0 } else { self.fields.rounded() };
        let fields = self.system.fields.iter();
        fields.map(|field| (0..field.levels).map(of_level).collect()).collect()
    }
}

impl<F: Fields> Session for Fft<F> {
    fn device(&self) -> String {
        self.fields.device()
    }

    fn shape(&self) -> Shape {
        self.system.shape
    }

    fn dtype(&self) -> Dtype {
        self.system.dtype
    }

    /// Any number of steps is one jump, unless fewer are asked for.
    fn launch(&self) -> usize {
        match self.system.jump {
            Depth::Auto => usize::MAX,
            Depth::Steps(steps) => steps.max(1),
        }
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let (start, mut left) = (Instant::now(), steps);
        while left > 0 {
            let (done, steps) = (self.steps, left.min(self.launch()));
            let off = self.jump(steps, true)?;
            self.before = Some(FieldsBefore { done, steps, off });
            left -= steps;
        }
        Ok(start.elapsed())
    }

    /// An array is copied as a whole, and kept for as long as boxes of it are asked for.
    fn read(&mut self, array: usize, _: Grids, region: Region) -> Result<grid::Values, Error> {
        if self.held.as_ref().is_none_or(|held| held.0 != array) {
            self.held = Some((array, self.array(array)?));
        }
        let (_, grid) = self.held.as_ref().expect("it has just been copied");
        Ok(grid.read(region))
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let [mut first, mut second] = [(); 2].map(|()| vec![0.0f64; self.system.shape.points()]);
        Ok(time_copies([&mut first, &mut second], count))
    }
}

impl<F: Fields> StepSession for Fft<F> {
    /// The step that follows the last jump, by a jump of one step more from where that one began.
    fn advance_from_before(&mut self) -> Result<(), Error> {
        let done = self.steps;
        let last = self.before.take().filter(|before| before.done + before.steps == done);
        let (steps, before) = match last {
            Some(FieldsBefore { steps, off, .. }) => {
                self.fields.back();
                self.steps -= steps;
                (steps + 1, self.by_field(&off))
            }
            None => (1, self.looked_at()),
        };
        let off = self.jump(steps, false)?;
        let after = self.by_field(&off);
        let of_field = |(sum, after): (&LinearSum, &Vec<f64>)| {
            let read = before.iter().enumerate().flat_map(|(field, levels)| {
                let levels = levels.iter().enumerate();
                levels.map(move |(level, off)| sum.gain(field, level) * off)
            });
            after[0] + read.sum::<f64>()
        };
        self.off = self.sums.iter().zip(&after).map(of_field).collect();
        Ok(())
    }

    fn holds(&self) -> Option<Dtype> {
        Some(Dtype::F64)
    }

    fn off(&self, field: usize) -> f64 {
        self.off[field]
    }

    fn jumps(&self) -> Option<Jumps> {
        Some(self.jumps.clone())
    }

    fn values(&mut self, _: Option<&Places>) -> Result<Box<dyn Values + '_>, Error> {
        let within = (0..self.means.len()).map(|field| self.within(field)).collect();
        Ok(Box::new(View { system: &self.system, state: self.fields.state()?, within }))
    }

    fn engine(&self) -> &'static str {
        "fft"
    }

    fn arithmetic(&self) -> String {
        format!("{} values, kept as f64, f64 transforms", self.system.dtype)
    }

    fn value_bytes(&self) -> usize {
        size_of::<f64>()
    }
}

/// The present values, read one by one.
struct View<'a> {
    system: &'a System,
    state: Cow<'a, State>,
    /// What the values of each field lie within.
    within: Vec<ValueBounds>,
}

/// Which fields are means, and between what their values lie.
fn means(
    system: &System,
    sums: &[LinearSum],
    fields: &impl Fields,
) -> Result<Vec<Option<Mean>>, Error> {
    let is_fed = |field: usize| system.sources.iter().any(|source| source.field == field);
    let of_field = |(field, sum): (usize, &LinearSum)| {
        let own = |&(of, level, _): &linear::Read| (of, level) == (field, 0);
        let weights: Vec<f64> = sum.taps.values().map(|weight| weight.value()).collect();
        let is_mean = sum.taps.keys().all(own) && weights.iter().all(|weight| *weight >= 0.0);
        if !is_mean || sum.constant.value() != 0.0 || is_fed(field) {
            return Ok(None);
        }
        Ok(Some(Mean { weights, range: extremes(&fields.level(field, 0)?) }))
    };
    sums.iter().enumerate().map(of_field).collect()
}

impl Values for View<'_> {
    fn value(&self, array: Array, index: usize) -> f64 {
        match array {
            Array::Field { field, level } => {
                self.within[field].keep(self.state[field][level][index])
            }
            // Those that an equation may have here are the same everywhere.
            Array::Coefficient(coefficient) => linear::coefficient(self.system, coefficient)
                .expect("equations that read another are refused"),
            _ => unreachable!("what a step computes is no value before it"),
        }
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers")
    }
}
