// SPDX-License-Identifier: MIT OR Apache-2.0
//! By how much a jump can be off.

use transform::spectral::coupled::{Coupled, Largest, Levels, in_difference};

/// By how much a jump can be off.
#[derive(Clone, Debug, PartialEq)]
pub struct JumpError {
    /// At any point, of each level of each field of the group.
    pub values: Vec<Vec<f64>>,
    /// The largest value of the group before or after it.
    pub largest: f64,
    /// How many times a wave has grown, at most.
    pub growth: f64,
}

/// What is known of a jump besides its powers.
pub struct JumpFacts<'a> {
    /// Levels of the fields of the group.
    pub levels: &'a Levels,
    /// The 2-norms of the differences before it, and of sources.
    pub norms: [&'a [f64]; 2],
    /// What transforms make of a norm of 1.
    pub transforms: f64,
    /// Points of the torus over those of the grid.
    pub copies: f64,
    /// The largest value before or after it, or less.
    pub largest: f64,
    /// The largest value before or after it, or more.
    pub most: f64,
}

/// What a level is off by, of what differences are off by.
fn of_level(levels: &Levels, (own, level): (usize, usize), of: &[f64]) -> f64 {
    let parts =
        (0..=level).map(|order| in_difference(level, order).abs() * of[levels.place(own, order)]);
    parts.sum()
}

/// The larger one; infinity for what is no number.
pub fn larger(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

impl JumpError {
    /// By how much transforms, with rounding in f64, can be off at any point: the norms of what is transformed, times what is
    /// made of it (`transform::spectral::error`). Besides, the 2-norms of the errors of differences.
    pub fn of(
        coupled: &Coupled,
        seen: &Largest,
        steps: usize,
        known: &JumpFacts,
    ) -> (Self, Vec<f64>) {
        /// Of a product of double-double matrices, for each of their products.
        const SQUARING: f64 = 1e-30;
        let &JumpFacts { levels, norms: [norms, sources], largest, most, .. } = known;
        let n = levels.variables();
        // Sums over n differences and their sources, and levels of differences.
        let relative = known.transforms + 8.0 * (n + sources.len()) as f64 * f64::EPSILON;
        let copies = known.copies.sqrt();
        let growth = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        let growth = growth.map(|(to, from)| coupled.of_power(seen, to, from)).fold(0.0, larger);
        let powers = SQUARING * steps as f64 * n as f64 * (1.0 + growth).powi(2);
        // What is nothing stays so, however much it would grow.
        let times = |norm: f64, factor: f64| if norm == 0.0 { 0.0 } else { norm * factor };
        let of_difference = |to: usize| {
            let states = norms
                .iter()
                .enumerate()
                .map(|(from, norm)| times(*norm, coupled.of_power(seen, to, from) + powers));
            let steady = sources.iter().enumerate().map(|(from, norm)| {
                norm * (coupled.of_sum(seen, to, from) + steps as f64 * powers)
            });
            copies * relative * (states.sum::<f64>() + steady.sum::<f64>())
        };
        let of: Vec<f64> = (0..n).map(of_difference).collect();
        let fields = levels.all().filter(|(_, level)| *level == 0).count();
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); fields];
        for (own, level) in levels.all() {
            values[own].push(of_level(levels, (own, level), &of) + 8.0 * f64::EPSILON * most);
        }
        (Self { values, largest, growth }, of)
    }

    /// The last of several jumps, with what those before it made of their differences: the sums of these errors' 2-norms,
    /// of which all that follows makes at most `later` times as much. A grid's error is a part of its torus' error that is as
    /// large as the grid is of the torus, before and after: nothing of `copies` is added on the way.
    pub fn after(self, coupled: &Coupled, later: &Largest, made: &[f64]) -> Self {
        let levels = coupled.levels();
        let of_difference = |to: usize| -> f64 {
            let of = made.iter().enumerate().filter(|(_, made)| **made > 0.0);
            of.map(|(from, made)| made * coupled.of_power(later, to, from)).sum()
        };
        let of: Vec<f64> = (0..levels.variables()).map(of_difference).collect();
        let mut values = self.values;
        for (own, level) in levels.all() {
            values[own][level] += of_level(levels, (own, level), &of);
        }
        Self { values, ..self }
    }
}
