// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far rounding can take a result from the exact one.
//!
//! Let `x_k` be the exact grid after `k` steps, `y_k` the computed one, `e_k ≥ max|y_k − x_k|` and
//! `M_k = max|x_k|`. Let `W = Σ|w|`, `dW = Σ|w − ŵ|` for the rounded weights `ŵ`, and `g = nu/(1 −
//! nu)` for `n` neighbours and unit roundoff `u` of the sums. The sum before it is stored, `z`,
//! obeys
//! ```text
//! |z − x_{k+1}| ≤ W e_k + (dW + g (W + dW)) (M_k + e_k) + n tiny_sum  =: d
//! ```
//! (neighbours are off by `e_k`, weights by `dW`, and recursive summation in any order by `g`), and
//! storing it adds one rounding: `e_{k+1} = d + v (M_{k+1} + d) + tiny`, with `v` the unit roundoff
//! of the stored type and `tiny` half of its smallest number. Where products round values too (tf32 on
//! tensor cores), `g` grows by their unit roundoff; where they are split (f32 on tensor cores), by what
//! they leave out, and each factor is off by up to 2⁻¹³³ besides (`transform::split`). Where `T` steps
//! are fused into one sum, `W`, `dW` and `n` are those of the fused stencil, and `x_k`, `x_{k+T}` its
//! ends; the larger of this and of stepping counts, because points near the boundary are stepped.
//! Jumps (`transform::spectral`) are off by what their transforms are, a bound in the 2-norm that whoever makes
//! them knows, and by one rounding of storage each; what they leave out is stepped in f64.
//! Where values beyond sides with a slope are read, these are sums that an engine may store: each axis adds a product
//! and a sum, so that neighbours are off by `2 a v (M_k + e_k)` more for `a` such axes; `M_k` includes them.
//! `e_0 = 0`: both start from the same stored values. The reference itself is off by the same recursion
//! in f64, which is added.

use transform::{Stencil, split};

use crate::arithmetic::{FactorRounding, SumPrecision};
use crate::{Arithmetic, Dtype, Job, Jumped};

/// How values are rounded on their way from one step to the next.
struct Rounding {
    /// Unit roundoff of a stored value.
    stored: f64,
    /// Half of the smallest stored number.
    tiny: f64,
    /// Unit roundoff of a value in a product.
    factor: f64,
    /// By how much each factor is off besides.
    tiny_factor: f64,
    /// Unit roundoff of the sums.
    sum: f64,
    /// Half of the smallest number that the sums distinguish from 0.
    tiny_sum: f64,
}

/// 2 to that power.
fn two(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

impl Rounding {
    fn of(arithmetic: Arithmetic) -> Self {
        let (stored, tiny) = match arithmetic.dtype {
            Dtype::F16 => (two(-11), two(-25)),
            Dtype::Bf16 => (two(-8), two(-134)),
            Dtype::Tf32 | Dtype::F32 => (two(-24), two(-150)),
            // 2^-1075 itself is no f64.
            Dtype::F64 => (two(-53), two(-1074)),
        };
        let (factor, tiny_factor) = match arithmetic.factor {
            FactorRounding::Stored => (0.0, 0.0),
            FactorRounding::Tf32 => (two(-11), 0.0),
            FactorRounding::Split => (split::LEFT_OUT, two(-133)),
        };
        let (sum, tiny_sum) = match arithmetic.sum {
            // What is cut off is up to twice what is rounded.
            SumPrecision::CutF32 => (two(-23), two(-150)),
            SumPrecision::F32 => (two(-24), two(-150)),
            SumPrecision::F64 | SumPrecision::Spectral | SumPrecision::SpectralF32 => {
                (two(-53), two(-1074))
            }
        };
        Self { stored, tiny, factor, tiny_factor, sum, tiny_sum }
    }
}

/// What the bound needs to know of a stencil.
#[derive(Clone, Copy)]
struct Weights {
    /// Sum of the absolute weights.
    gain: f64,
    /// Sum of what rounding the weights loses.
    lost: f64,
    neighbours: f64,
    /// Roundings of a neighbour beyond sides.
    beyond: f64,
}

impl Weights {
    fn of(stencil: &Stencil, dtype: Dtype, sloped_axes: usize) -> Self {
        let rounded = dtype.round_weights(stencil);
        let pairs = stencil.taps().iter().zip(rounded.taps());
        Self {
            gain: stencil.gain(),
            lost: pairs.map(|(exact, rounded)| (exact.weight - rounded.weight).abs()).sum(),
            neighbours: stencil.taps().len() as f64,
            beyond: 2.0 * sloped_axes as f64,
        }
    }

    /// The error after an application, from the one before and the maxima of the exact values.
    fn grow(&self, rounding: &Rounding, error: f64, before: f64, after: f64) -> f64 {
        let Rounding { stored, tiny, factor, sum, tiny_sum, tiny_factor } = *rounding;
        let Self { gain, lost, neighbours, beyond } = *self;
        let error = error + beyond * (stored.max(sum) * (before + error) + tiny);
        let g = neighbours * sum / (1.0 - neighbours * sum);
        let g = g + factor * (1.0 + g);
        let off = (lost + g * (gain + lost)) * (before + error);
        let tiny_off = tiny_factor * (gain + neighbours * (before + error));
        let summed = gain * error + off + tiny_off + neighbours * tiny_sum;
        summed + stored * (after + summed) + tiny
    }
}

/// The bound for a stencil in some arithmetic.
pub struct Bound {
    rounding: Rounding,
    single: Weights,
    /// Of the fused stencil, and the steps in it.
    fused: Option<Weights>,
    fuse: usize,
    /// How jumps round what they store.
    jumps: Option<Rounding>,
}

impl Bound {
    /// The bound of a job.
    #[must_use]
    pub fn new(job: &Job, arithmetic: Arithmetic) -> Self {
        // What jumps leave out is stepped in f64, with the weights as they are; storage comes on top.
        let spectral = arithmetic.sum.is_spectral();
        let jumps = spectral.then(|| Rounding::of(arithmetic));
        let arithmetic = if spectral { Arithmetic::on_cores(Dtype::F64) } else { arithmetic };
        let of = |stencil, sloped| Weights::of(stencil, arithmetic.dtype, sloped);
        let fuse = arithmetic.fuse;
        let fused = transform::fuse::fuse(&job.stencil, fuse).ok().filter(|_| fuse > 1);
        Self {
            rounding: Rounding::of(arithmetic),
            single: of(&job.stencil, job.boundary.sloped_axes()),
            // It is not for points that read beyond sides.
            fused: fused.as_ref().map(|fused| of(fused, 0)),
            fuse,
            jumps,
        }
    }

    /// What so many steps make at most of values that the stored type cannot tell from 0.
    #[must_use]
    pub fn tiny(&self, steps: usize) -> f64 {
        let tiny = self.jumps.as_ref().unwrap_or(&self.rounding).tiny;
        2.0 * tiny * steps.max(1) as f64
    }

    /// To be followed over so many steps.
    #[must_use]
    pub fn over(&self, steps: usize) -> Growth<'_> {
        let whole = steps / self.fuse * self.fuse;
        let (error, reference, largest) = (0.0, 0.0, 0.0);
        let jumped = Jumped::default();
        Growth { bound: self, whole, steps, maxima: Vec::new(), error, reference, largest, jumped }
    }
}

/// A bound, followed step by step.
pub struct Growth<'a> {
    bound: &'a Bound,
    /// Steps that are taken in sums of as many as are fused, if any are.
    whole: usize,
    /// Of the exact values: before the sum that is being followed, and after each of its steps.
    maxima: Vec<f64>,
    error: f64,
    /// The error of the reference itself.
    reference: f64,
    steps: usize,
    /// The largest exact value so far.
    largest: f64,
    /// The jumps of these steps.
    jumped: Jumped,
}

impl Growth<'_> {
    /// Sets the jumps that took these steps.
    pub fn by(self, jumped: Jumped) -> Self {
        Self { jumped, ..self }
    }

    /// Takes the largest absolute exact value after `done` steps; to be called with 0, 1, 2 and so on.
    pub fn step(&mut self, done: usize, largest: f64) {
        let Bound { rounding, single, fused, fuse, .. } = self.bound;
        self.largest = self.largest.max(largest);
        if let Some(&before) = self.maxima.last() {
            let exact = Weights { lost: 0.0, ..*single };
            let doubles = Rounding::of(Arithmetic::on_cores(Dtype::F64));
            self.reference = exact.grow(&doubles, self.reference, before, largest);
        }
        self.maxima.push(largest);
        let count = if done > self.whole { 1 } else { *fuse };
        if self.maxima.len() <= count {
            return;
        }
        let stepped = |error, pair: &[f64]| single.grow(rounding, error, pair[0], pair[1]);
        let at_boundary = self.maxima.windows(2).fold(self.error, stepped);
        // Points near the boundary are stepped, the others take all steps in one sum.
        let inside = fused
            .filter(|_| done <= self.whole)
            .map_or(0.0, |fused| fused.grow(rounding, self.error, self.maxima[0], largest));
        self.error = at_boundary.max(inside);
        self.maxima = vec![largest];
    }

    /// What rounding can cause after the steps so far.
    #[must_use]
    pub fn get(&self) -> f64 {
        // The maxima are the reference's, so exact ones may be larger by its own error.
        self.error * (1.0 + 1e-9) + 2.0 * self.reference + self.of_jumps()
    }

    /// What jumps add: in their transforms, and each by storing the grid once, which later ones carry on.
    fn of_jumps(&self) -> f64 {
        let Some(Rounding { stored, tiny, .. }) = self.bound.jumps else { return 0.0 };
        let Jumped { count, error } = self.jumped;
        let carried = self.bound.single.gain.max(1.0).powf(self.steps as f64);
        let carried = if count == 1 { 1.0 } else { carried };
        error + count as f64 * carried * (stored * (self.largest + error + self.error) + tiny)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn bound(stencil: &Stencil, arithmetic: Arithmetic, maxima: &[f64]) -> f64 {
        let shape: Shape = "20x30".parse().unwrap();
        let job = Job::new(stencil.clone(), shape, arithmetic.dtype, maxima.len() - 1);
        let bound = Bound::new(&job, arithmetic);
        let mut growth = bound.over(maxima.len() - 1);
        maxima.iter().enumerate().for_each(|(step, &largest)| growth.step(step, largest));
        growth.get()
    }

    /// Weights that every type holds, of sum 1.
    fn smooth() -> Stencil {
        Stencil::dense("s", &[1, 3], &[0.25, 0.5, 0.25]).unwrap()
    }

    /// The formula, written out: 3 sums of at most 2, one rounding of the stored value of at most 1.
    #[test]
    fn the_bound_of_one_step_is_the_formula_s_in_every_arithmetic() {
        let (cores, tensor) = (Arithmetic::on_cores, |dtype| Arithmetic::on_tensor_cores(dtype, 1));
        // Of each the unit roundoffs of a stored value, of a factor, and of a sum.
        for (arithmetic, stored, factor, sum) in [
            (cores(Dtype::F16), two(-11), 0.0, two(-24)),
            (cores(Dtype::Bf16), two(-8), 0.0, two(-24)),
            (cores(Dtype::Tf32), two(-24), 0.0, two(-24)),
            (cores(Dtype::F32), two(-24), 0.0, two(-24)),
            (cores(Dtype::F64), two(-53), 0.0, two(-53)),
            (tensor(Dtype::F16), two(-11), 0.0, two(-23)),
            (tensor(Dtype::Bf16), two(-8), 0.0, two(-23)),
            (tensor(Dtype::Tf32), two(-24), two(-11), two(-23)),
            // What split products leave out is 1.01 · 2^-24.
            (tensor(Dtype::F32), two(-24), 1.01 * two(-24), two(-23)),
        ] {
            let found = bound(&smooth(), arithmetic, &[2.0, 1.0]);
            let tiny = if arithmetic.dtype == Dtype::F16 { two(-25) } else { 0.0 };
            // The reference's own error counts twice.
            let reference = 2.0 * (3.0 * two(-53) * 2.0 + two(-53));
            let expected = stored + (3.0 * sum + factor) * 2.0 + tiny + reference;
            assert!((found / expected - 1.0).abs() < 2e-3, "{arithmetic}: {found:e}, {expected:e}");
        }
    }

    /// Jumps store once each, however many steps they take; what they leave out is stepped in f64. In each arithmetic of
    /// jumps the bound is that, and no more.
    #[test]
    fn the_bound_of_jumps_is_the_formula_s_in_every_arithmetic() {
        let shape: Shape = "20x30".parse().unwrap();
        for dtype in Dtype::ALL.iter().copied() {
            let (stored, tiny) = match dtype {
                Dtype::F16 => (two(-11), two(-25)),
                Dtype::Bf16 => (two(-8), 0.0),
                Dtype::Tf32 | Dtype::F32 => (two(-24), 0.0),
                Dtype::F64 => (two(-53), 0.0),
            };
            for arithmetic in [Arithmetic::spectral(dtype), Arithmetic::spectral_on_gpu(dtype)] {
                for (steps, count, error) in
                    [(1, 1, 0.0), (7, 1, 1e-9), (1000, 1, 1e-15), (1000, 3, 1e-6), (12, 12, 0.25)]
                {
                    let job = Job::new(smooth(), shape, dtype, steps);
                    let bound = Bound::new(&job, arithmetic);
                    let mut growth = bound.over(steps).by(Jumped { count, error });
                    (0..=steps).for_each(|step| growth.step(step, 1.0));
                    // In f64 three sums and a rounding for each step, once for the result and twice for the reference.
                    let stepped = 3.0 * steps as f64 * 4.0 * two(-53);
                    let stored = count as f64 * (stored * (1.0 + error) + tiny);
                    let expected = stepped + error + stored;
                    let found = growth.get();
                    assert!(
                        (found / expected - 1.0).abs() < 2e-3,
                        "{arithmetic}, {count} jumps of {steps} steps: {found:e}, {expected:e}"
                    );
                }
            }
        }
    }

    /// Where values grow, what a jump stored is carried on by those after it: by the gain of all steps; by one jump, not.
    #[test]
    fn what_jumps_store_is_carried_on() {
        let double = Stencil::dense("s", &[1, 1], &[2.0]).unwrap();
        let shape: Shape = "20x30".parse().unwrap();
        let job = Job::new(double, shape, Dtype::F32, 10);
        let bound = Bound::new(&job, Arithmetic::spectral(Dtype::F32));
        for (count, carried) in [(1, 1.0), (2, 1024.0), (5, 1024.0)] {
            let mut growth = bound.over(10).by(Jumped { count, error: 0.0 });
            (0..=10).for_each(|step| growth.step(step, 2f64.powi(step as i32)));
            let expected = count as f64 * carried * 1024.0 * two(-24);
            let found = growth.get();
            assert!((found / expected - 1.0).abs() < 1e-3, "{count}: {found:e}, {expected:e}");
        }
    }

    #[test]
    fn what_is_not_rounded_in_products_is_held_to_a_bound_of_sums() {
        let of = |arithmetic| bound(&smooth(), arithmetic, &[1.0, 1.0]);
        let cores = of(Arithmetic::on_cores(Dtype::Tf32));
        let tensor = of(Arithmetic::on_tensor_cores(Dtype::Tf32, 1));
        assert!(tensor > 1000.0 * cores, "{tensor:e} on tensor cores, {cores:e} on others");
    }

    /// Twice a rounding of what is stored, 2, for each axis; weighed, it comes on top of what there is without.
    #[test]
    fn sums_beyond_sides_with_a_slope_are_rounded_too() {
        let shape: Shape = "20x30".parse().unwrap();
        let of = |boundary: &str| {
            let boundary = crate::Boundary::parse(boundary, 2).unwrap();
            let job = Job { boundary, ..Job::new(smooth(), shape, Dtype::F16, 1) };
            let bound = Bound::new(&job, Arithmetic::on_cores(Dtype::F16));
            let mut growth = bound.over(1);
            [2.0, 1.0].into_iter().enumerate().for_each(|(step, most)| growth.step(step, most));
            growth.get()
        };
        assert_eq!(of("edge,x:flux=0"), of("zero"));
        for (boundary, axes) in [("x-:flux=1", 1.0), ("flux=-0.5", 2.0)] {
            let more = (of(boundary) - of("zero")) / (axes * 2.0 * two(-11) * 2.0);
            assert!((1.0..1.01).contains(&more), "{boundary}: {more}");
        }
    }

    #[test]
    fn errors_of_steps_add_up() {
        let of = |steps: usize| {
            bound(&smooth(), Arithmetic::on_cores(Dtype::F16), &vec![1.0; steps + 1])
        };
        let one = of(1);
        for steps in [2, 5, 100] {
            let relative = of(steps) / (steps as f64 * one);
            assert!((1.0..1.1).contains(&relative), "{steps} steps: {relative}");
        }
    }

    #[test]
    fn fused_steps_round_what_they_store_once_but_are_bounded_as_if_stepped() {
        let of = |fuse, steps: usize| {
            let arithmetic = Arithmetic::on_tensor_cores(Dtype::F16, fuse);
            bound(&smooth(), arithmetic, &vec![1.0; steps + 1])
        };
        assert_eq!(of(3, 7), of(1, 7));
        // Where weights of the fused stencil are rounded, that counts.
        let third = Stencil::dense("s", &[1, 3], &[0.3, 0.4, 0.3]).unwrap();
        let arithmetic = |fuse| Arithmetic::on_tensor_cores(Dtype::Bf16, fuse);
        assert!(bound(&third, arithmetic(2), &[1.0; 3]) >= bound(&third, arithmetic(1), &[1.0; 3]));
    }

    #[test]
    fn weights_that_the_type_cannot_hold_widen_the_bound() {
        let with = |weight: f64| {
            let stencil = Stencil::dense("s", &[1, 1], &[weight]).unwrap();
            bound(&stencil, Arithmetic::on_cores(Dtype::F16), &[1.0, 1.0])
        };
        let third = transform::round::F16.round(1.0 / 3.0);
        assert!(with(1.0 / 3.0) - with(third) > 0.9 * (1.0 / 3.0 - third).abs());
    }
}
