// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solves S(w) = f for a stencil with constant weights: by the transforms of a jump, which divide waves by the symbol of S
//! instead of multiplying them by its power.

use num_complex::Complex64;
use transform::Stencil;
use transform::spectral::inverse::{Inverse, LostWave};
use transform::spectral::{Axis, End, error};

use super::torus::ends_of;
use super::transform::{Transform, WaveFactor};
use problem::boundary::Side;
use problem::{Boundary, Dtype, Job, Shape};

mod constants;

use constants::Constants;

const AXES: [&str; 3] = ["z", "y", "x"];

/// What is solved: for w with S(w) = f, and what lies around w.
#[derive(Clone, Debug, PartialEq)]
pub struct Solve {
    /// S.
    pub stencil: Stencil,
    /// What lies around w.
    pub boundary: Boundary,
    /// Points of the grid.
    pub shape: Shape,
}

impl Solve {
    /// What a torus has beyond the ends of the axes (z, y, x).
    ///
    /// # Errors
    /// A side that no torus imitates.
    pub fn ends(&self) -> Result<[[End; 2]; 3], String> {
        let Self { stencil, boundary, shape } = self;
        let job = Job { boundary: *boundary, ..Job::new(stencil.clone(), *shape, Dtype::F64, 0) };
        let ends = ends_of(&job);
        for (axis, of_axis) in ends.iter().enumerate() {
            for (end, found) in of_axis.iter().enumerate() {
                let side = boundary.sides[axis][end];
                let place = || format!("{}{}", AXES[axis], ["-", "+"][end]);
                if *found == End::Open {
                    let what = match side {
                        Side::Varying(_) => "a value that changes".to_owned(),
                        Side::VaryingFlux(_) => "a slope that changes".to_owned(),
                        other => other.to_string(),
                    };
                    return Err(format!(
                        "no solve takes {what} at {}: sides must be periodic, or mirrored with a symmetric stencil; constants and an edge need a symmetric stencil that reads one point far",
                        place()
                    ));
                }
            }
        }
        Ok(ends)
    }

    /// The axes (z, y, x) of its torus: whole periods of images, for a solve reads all points.
    ///
    /// # Errors
    /// As [`Solve::ends`].
    pub fn axes(&self) -> Result<[Axis; 3], String> {
        let ends = self.ends()?;
        let extents = self.shape.extents();
        Ok([0, 1, 2].map(|axis| Axis::new(extents[axis], [1 << 40; 2], ends[axis])))
    }

    /// That it can be solved.
    ///
    /// # Errors
    /// As [`Solver::new`].
    pub fn check(&self) -> Result<(), String> {
        Solver::between_zeros(self).map(drop)
    }

    /// Whether sides have values other than 0 that solutions depend on.
    #[must_use]
    pub fn has_constants(&self) -> bool {
        self.ends().is_ok_and(|ends| Constants::of(self, &ends).are_some())
    }
}

/// Solves on the cores of this machine, in f64.
pub struct Solver {
    axes: [Axis; 3],
    transform: Transform,
    inverse: Inverse,
    /// The solution for f = 0, in C order, if constants at sides make one.
    added: Option<Vec<f64>>,
}

impl Solver {
    /// Of a stencil, with what lies around its solutions.
    ///
    /// # Errors
    /// No torus imitates the sides, or the stencil takes waves away besides the constant.
    pub fn new(solve: &Solve) -> Result<Self, String> {
        let mut solver = Self::between_zeros(solve)?;
        let constants = Constants::of(solve, &solver.axes.each_ref().map(|axis| axis.ends));
        solver.added = constants.solution(solve, |right| solver.solution(right));
        Ok(solver)
    }

    /// With zeros in the place of constants at sides.
    fn between_zeros(solve: &Solve) -> Result<Self, String> {
        let axes = solve.axes()?;
        let inverse = Inverse::new(&solve.stencil, &axes).map_err(|LostWave(wave)| {
            let lengths = axes.each_ref().map(|axis| axis.length);
            let own = 3 - solve.shape.dims();
            let turns = (own..3).filter(|axis| wave[*axis] > 0);
            let turns = turns.map(|axis| {
                let period = lengths[axis] as f64 / wave[axis] as f64;
                format!("{period:.4} points along {}", AXES[axis])
            });
            let turns: Vec<String> = turns.collect();
            format!(
                "the stencil '{}' has no inverse: it removes waves of {}",
                solve.stencil.name(),
                turns.join(" and ")
            )
        })?;
        let transform = Transform::new(axes, solve.shape.dims());
        Ok(Self { axes, transform, inverse, added: None })
    }

    /// Whether solutions have no mean, and the mean of what is solved for is taken off.
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.inverse.is_singular
    }

    /// What constants at sides add to each solution, in C order, if there are some.
    #[must_use]
    pub fn added(&self) -> Option<&[f64]> {
        self.added.as_deref()
    }

    /// By how much what constants add can be off at a point of a solution with this value, in numbers of this unit roundoff:
    /// it is rounded, and so is the sum.
    #[must_use]
    pub fn off_by_adding(&self, point: usize, value: f64, unit: f64) -> f64 {
        let of_added = |added: &[f64]| 2.0 * unit * (added[point].abs() + value.abs());
        self.added().map_or(0.0, of_added)
    }

    /// Solves in these spectra: `read` fills a row of f, given its number in C order, and `write` takes a row of w, with its
    /// number and its place in `out`.
    pub fn solve<T: Send>(
        &self,
        spectra: &mut Vec<Complex64>,
        read: &(dyn Fn(usize, &mut [f64]) + Sync),
        out: &mut [T],
        write: impl Fn(usize, &[f64], &mut [T]) + Sync,
    ) {
        spectra.resize(self.transform.blocks().values(), Complex64::ZERO);
        self.transform.there(spectra, &self.inverse.powers, WaveFactor::Power, read);
        let Some(added) = &self.added else { return self.transform.back(spectra, out, write) };
        self.transform.back(spectra, out, |row, from: &[f64], to: &mut [T]| {
            let added = added[row * from.len()..].iter();
            let sums: Vec<f64> = from.iter().zip(added).map(|(value, more)| value + more).collect();
            write(row, &sums, to);
        });
    }

    /// The solution for f with these values in C order.
    #[must_use]
    pub fn solution(&self, right: &[f64]) -> Vec<f64> {
        let nx = self.axes[2].points;
        let mut solution = vec![0.0; right.len()];
        let read = |row: usize, to: &mut [f64]| to.copy_from_slice(&right[row * nx..][..nx]);
        let write = |_: usize, from: &[f64], to: &mut [f64]| to.copy_from_slice(from);
        self.solve(&mut Vec::new(), &read, &mut solution, write);
        solution
    }

    /// By how much a value of w may be off at most, where the values of f have a 2-norm, those by which they are off have
    /// another one, and transforms were made in numbers of this unit roundoff.
    ///
    /// What f is off by goes through the inverse: no value of w changes by more than the norm of a row of it times the norm
    /// of all changes. Rounding in transforms is spread over all values of f like random numbers, whose root mean square
    /// is u √(log₂ n) of that of f or less (Schatzman, "Accuracy of the discrete Fourier transform and the fast Fourier
    /// transform", 1996, section 3); so a value of w gets the norm of a row times that, of which 16 times as
    /// much is allowed for.
    #[must_use]
    pub fn off(&self, norm: f64, off: f64, unit: f64) -> f64 {
        /// Standard deviations, for the largest of many values, and as many again for twiddles that are products.
        const SPREAD: f64 = 16.0;
        let lengths = self.axes.each_ref().map(|axis| axis.length);
        let points: f64 = self.axes.iter().map(|axis| axis.points as f64).product();
        // A point has itself and an image along each axis that has some, at most.
        let has_images = |axis: &&Axis| axis.length > axis.points;
        let copies = self.axes.iter().map(|axis| axis.length.div_ceil(axis.points.max(1)));
        let copies = copies.zip(&self.axes).map(|(most, axis)| match has_images(&axis) {
            true => most.max(2) as f64,
            false => 1.0,
        });
        let copies: f64 = copies.product();
        let stages: f64 = lengths.iter().map(|length| (*length as f64).log2().ceil()).sum();
        // In f64 what is proved is enough.
        let proved = error::of_jump(lengths, 0, 1.0, 1.0) * norm;
        let random = SPREAD * unit * (2.0 * (stages + 1.0)).sqrt() * norm / points.sqrt();
        let own = if unit > f64::EPSILON { random } else { proved };
        self.inverse.row * copies.sqrt() * (off + own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// The largest value of S(w) - f, f without its mean where w has none.
    fn residual(solve: &Solve, seed: u64) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let shape = solve.shape;
        let extents @ [_, ny, nx] = shape.extents();
        let f: Vec<f64> = (0..shape.points()).map(|_| random.random_range(-1.0..1.0)).collect();
        let solver = Solver::new(solve).unwrap();
        let w = solver.solution(&f);
        // Of images about the last point that point is there once, others twice.
        let count = |index: usize| {
            let point = [index / (ny * nx), index / nx % ny, index % nx];
            let of_axis = |axis: usize| {
                let at_side = |end: usize| {
                    let place = [0, extents[axis] - 1][end];
                    extents[axis] > 1
                        && solve.boundary.sides[axis][end] == Side::Reflect
                        && point[axis] == place
                };
                if at_side(0) || at_side(1) { 0.5 } else { 1.0 }
            };
            (0..3).map(of_axis).product::<f64>()
        };
        let all: f64 = (0..f.len()).map(count).sum();
        let mean = f.iter().enumerate().map(|(at, f)| count(at) * f).sum::<f64>() / all;
        let mean = if solver.is_singular() { mean } else { 0.0 };
        let value = |point: [i64; 3]| {
            // Along x first.
            let mut at = [0; 3];
            for axis in [2, 1, 0] {
                let place = solve.boundary.resolve(axis, point[axis] as isize, extents[axis]);
                match place {
                    problem::boundary::NeighbourPlace::Inside(found, _) => at[axis] = found,
                    problem::boundary::NeighbourPlace::Value(value) => return value,
                }
            }
            w[(at[0] * ny + at[1]) * nx + at[2]]
        };
        let of_point = |(index, f): (usize, &f64)| {
            let point = [index / (ny * nx), index / nx % ny, index % nx].map(|at| at as i64);
            let taps = solve.stencil.taps().iter();
            let sum: f64 = taps
                .map(|tap| {
                    let at = |axis: usize| point[axis] + i64::from(tap.offset[axis]);
                    tap.weight * value([at(0), at(1), at(2)])
                })
                .sum();
            (sum - (f - mean)).abs()
        };
        f.iter().enumerate().map(of_point).fold(0.0, f64::max)
    }

    #[test]
    fn a_stencil_of_the_solution_is_what_was_solved_for() {
        let sides = [Side::Periodic, Side::Reflect, Side::Symmetric, Side::Edge, Side::Zero];
        let shapes: [&[usize]; 5] = [&[17], &[64], &[9, 20], &[13, 11], &[5, 6, 7]];
        let mut seed = 0;
        for extents in shapes {
            let shape = Shape::new(extents).unwrap();
            let dims = shape.dims();
            let star = |centre: f64| {
                let mut taps = vec![transform::Tap { offset: [0; 3], weight: centre }];
                for axis in 3 - dims..3 {
                    for step in [-1, 1] {
                        let mut offset = [0; 3];
                        offset[axis] = step;
                        taps.push(transform::Tap { offset, weight: 0.5 + axis as f64 });
                    }
                }
                Stencil::new("star", dims, taps).unwrap()
            };
            let all: f64 = (3 - dims..3).map(|axis| 2.0 * (0.5 + axis as f64)).sum();
            for centre in [-all, -all - 0.5] {
                for side in sides {
                    let solve = Solve {
                        stencil: star(centre),
                        boundary: Boundary { sides: [[side; 2]; 3] },
                        shape,
                    };
                    seed += 1;
                    let found = residual(&solve, seed);
                    assert!(found < 2e-12, "{shape} {side} {centre}: {found:e}");
                }
            }
        }
        // Whatever the constants are, at each side others, beside whatever else.
        let others = [Side::Reflect, Side::Symmetric, Side::Edge, Side::Zero, Side::Constant(-0.5)];
        for (number, extents) in shapes.into_iter().enumerate() {
            let shape = Shape::new(extents).unwrap();
            let dims = shape.dims();
            let weights = |at: usize| 0.2 + 0.1 * at as f64;
            let corners = |centre: f64| {
                let mut taps = Vec::new();
                for at in 0..3usize.pow(dims as u32) {
                    let offset = std::array::from_fn(|axis| {
                        if axis < 3 - dims {
                            0
                        } else {
                            (at / 3usize.pow(2 - axis as u32) % 3) as i32 - 1
                        }
                    });
                    let far = offset.iter().filter(|along| **along != 0).count();
                    taps.push(transform::Tap {
                        offset,
                        weight: if far == 0 { centre } else { weights(far) },
                    });
                }
                Stencil::new("corners", dims, taps).unwrap()
            };
            for turn in 0..10 {
                let side = |axis: usize, end: usize| match (turn + axis + 2 * end + number) % 3 {
                    0 => Side::Constant(1.0 + (axis + 3 * end) as f64),
                    1 => Side::Constant(300.25),
                    _ => others[(turn + axis) % 5],
                };
                let mut sides = [0, 1, 2].map(|axis| [side(axis, 0), side(axis, 1)]);
                if turn == 9 {
                    sides[0] = [Side::Periodic; 2];
                }
                let (boundary, stencil) = (Boundary { sides }, corners(-7.5 + turn as f64 / 8.0));
                let solve = Solve { stencil, boundary, shape };
                seed += 1;
                let found = residual(&solve, seed);
                assert!(found < 2e-10, "{shape} {boundary:?} {turn}: {found:e}");
            }
        }
        // A stencil that is none of its mirror image goes around.
        let upwind = Stencil::dense("upwind", &[3], &[-0.4, 1.5, 0.0]).unwrap();
        let shape = Shape::new(&[31]).unwrap();
        let solve = Solve {
            stencil: upwind,
            boundary: Boundary { sides: [[Side::Periodic; 2]; 3] },
            shape,
        };
        assert!(residual(&solve, 99) < 1e-13);
    }

    #[test]
    fn what_no_torus_imitates_is_refused() {
        let of = |stencil: &[f64], side: Side| {
            let stencil = Stencil::dense("own", &[stencil.len()], stencil).unwrap();
            let boundary = Boundary { sides: [[side; 2]; 3] };
            let shape = Shape::new(&[32]).unwrap();
            Solver::new(&Solve { stencil, boundary, shape }).map(drop).unwrap_err()
        };
        let star = [1.0, -2.0, 1.0];
        let wide = [0.5, 1.0, -3.0, 1.0, 0.5];
        assert!(
            of(&wide, Side::Constant(2.0))
                .contains("constants and an edge need a symmetric stencil")
        );
        assert!(of(&star, Side::Varying(0)).contains("no solve takes a value that changes at x-"));
        assert!(of(&star, Side::Odd).contains("no solve takes"));
        assert!(of(&[-1.0, 1.0, 0.0], Side::Reflect).contains("no solve takes"));
        let slope = of(&[-0.5, 0.0, 0.5], Side::Periodic);
        assert!(slope.contains("waves of 2.0000 points along x"), "{slope}");
    }
}
