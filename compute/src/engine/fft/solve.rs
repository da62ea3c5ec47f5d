// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solves S(w) = f for a stencil with constant weights: by the transforms of a jump, which divide waves by the symbol of S
//! instead of multiplying them by its power.

use num_complex::Complex64;
use transform::Stencil;
use transform::spectral::inverse::{Gone, Inverse};
use transform::spectral::{Axis, End, error};

use super::torus::ends_of;
use super::transform::{Factor, Transform};
use problem::boundary::Side;
use problem::{Boundary, Dtype, Job, Shape};

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
                    return Err(format!(
                        "no solve takes {side} at {}: sides are periodic, or images of a stencil whose weights are \
                         the same at both sides; zeros and an edge are images where it reads one point far",
                        place()
                    ));
                }
                if *found == End::Odd && matches!(side, Side::Constant(value) if value != 0.0) {
                    return Err(format!(
                        "a solve takes zeros at {}, no other value: add the value to the solution",
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
}

/// Solves on the cores of this machine, in f64.
pub struct Solver {
    axes: [Axis; 3],
    transform: Transform,
    inverse: Inverse,
}

impl Solver {
    /// Of a stencil, with what lies around its solutions.
    ///
    /// # Errors
    /// No torus imitates the sides, or the stencil takes waves away besides the constant.
    pub fn new(solve: &Solve) -> Result<Self, String> {
        let axes = solve.axes()?;
        let inverse = Inverse::new(&solve.stencil, &axes).map_err(|Gone(wave)| {
            let lengths = axes.each_ref().map(|axis| axis.length);
            let own = 3 - solve.shape.dims();
            let turns = (own..3).filter(|axis| wave[*axis] > 0);
            let turns = turns.map(|axis| {
                let period = lengths[axis] as f64 / wave[axis] as f64;
                format!("{period:.4} points along {}", AXES[axis])
            });
            let turns: Vec<String> = turns.collect();
            format!(
                "the stencil '{}' has no inverse: it makes 0 of waves of {}",
                solve.stencil.name(),
                turns.join(" and ")
            )
        })?;
        Ok(Self { axes, transform: Transform::new(axes, solve.shape.dims()), inverse })
    }

    /// Whether solutions have no mean, and the mean of what is solved for is taken off.
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.inverse.is_singular
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
        self.transform.there(spectra, &self.inverse.powers, Factor::Power, read);
        self.transform.back(spectra, out, write);
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
            let mut index = 0;
            for axis in 0..3 {
                let place = solve.boundary.resolve(axis, point[axis] as isize, extents[axis]);
                match place {
                    problem::boundary::Place::Inside(at, _) => index = index * extents[axis] + at,
                    problem::boundary::Place::Value(value) => return value,
                }
            }
            w[index]
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
        assert!(of(&star, Side::Constant(2.0)).contains("add the value"));
        assert!(of(&star, Side::Odd).contains("no solve takes"));
        assert!(of(&[-1.0, 1.0, 0.0], Side::Reflect).contains("no solve takes"));
        let slope = of(&[-0.5, 0.0, 0.5], Side::Periodic);
        assert!(slope.contains("waves of 2.0000 points along x"), "{slope}");
    }
}
