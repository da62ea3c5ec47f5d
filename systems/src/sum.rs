// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems that are a stencil: one field, each of whose values becomes a sum of values around it with weights that are
//! the same everywhere and always. What computes stencils computes them: its kernels on tensor cores, its tiles in
//! caches, its ranks.

use std::sync::Arc;

use transform::spectral::double::Double;
use transform::{Stencil, Tap};

use super::checked::System;
use super::expression::Node;
use super::fft::linear::{self, LinearSum};
use super::growth;
use super::parts::{Coefficient, Start};
use super::start::StartValues;
use problem::check::rounded::{Losses, RoundedCoefficient};
use problem::job::Depth;
use problem::{Dtype, Error, Grid, Job};

/// The part of a value by which rounded weights may change a field that is everywhere the same, in all steps together.
const MOST_DRIFT: f64 = 1.0 / 1024.0;

/// The job that a system is.
///
/// # Errors
/// Why it is none, in words.
pub fn job(system: &System) -> Result<Job, String> {
    let [field] = system.fields.as_slice() else {
        return Err(format!("it has {} fields", system.fields.len()));
    };
    if field.levels > 1 {
        return Err(format!("'{}' is read {} steps back, too", field.name, field.levels - 1));
    }
    if let Err(side) = field.boundary.check_plain() {
        return Err(format!(
            "values beyond a side of '{}' with {side} are not those of the grid",
            field.name
        ));
    }
    if !system.sources.is_empty() {
        return Err("it has sources".into());
    }
    if !system.receivers.is_empty() {
        return Err("receivers record each step".into());
    }
    if !system.totals.is_empty() {
        return Err("totals are taken of its values".into());
    }
    if system.varies_steps() {
        return Err("the step length follows from the values".into());
    }
    if system.end.is_some() {
        return Err("a condition may end it".into());
    }
    if let Some(lost) = system.coefficients.iter().find_map(|one| lost(system, one)) {
        return Err(format!("{} cannot hold '{}', which is {}", lost.dtype, lost.name, lost.given));
    }
    let sums = linear::sums(system)?;
    if let Some(growth) = growth::of_unit(system) {
        return Err(format!(
            "a step makes waves {:.4} times as large, so values must be watched",
            growth.factor
        ));
    }
    let LinearSum { taps, constant } = &sums[0];
    if *constant != Double::ZERO {
        return Err(format!("in each step {} is added to '{}'", constant.value(), field.name));
    }
    let taps =
        taps.iter().map(|((.., offset), weight)| Tap { offset: *offset, weight: weight.value() });
    let name = if system.title.is_empty() { &field.name } else { &system.title };
    let stencil = Stencil::new(name, system.shape.dims(), taps.collect())
        .map_err(|why| format!("the equation of '{}' has no weights: {why}", field.name))?;
    keep_digits(&stencil, system.dtype, system.steps)?;
    // In a launch each step is a sum of its own, as whoever asks for a chain of a system expects.
    let fuse = match system.chain {
        Depth::Steps(_) => Depth::Steps(1),
        Depth::Auto => Depth::Auto,
    };
    let keeps_weights = system.dtype.bytes() == 2;
    let (boundary, chain, jump) = (field.boundary, system.chain, system.jump);
    let job = Job::new(stencil, system.shape, system.dtype, system.steps);
    Ok(Job { boundary, fuse, chain, jump, keeps_weights, ..job })
}

/// A system's job with a number of steps to take as one sum: whoever asks for one lets the element type round the weights
/// of that sum.
#[must_use]
pub fn fused(job: Job, fuse: Depth) -> Job {
    match fuse {
        Depth::Auto => job,
        Depth::Steps(_) => Job { fuse, keeps_weights: false, ..job },
    }
}

/// A coefficient that the element type cannot hold: whoever steps the system tells what became of it.
fn lost(system: &System, coefficient: &Coefficient) -> Option<RoundedCoefficient> {
    let Start::Expression(Node::Number(given)) = coefficient.start else { return None };
    let losses = Losses::of(0, given, system.dtype.round(given));
    losses.told(&coefficient.name, system.shape, system.dtype)
}

/// The values that the field of such a system starts with: its own, or those that are given by its name.
///
/// # Errors
/// [`Error::UnknownField`], [`Error::Points`]: values are given of another field, or of another shape.
/// [`Error::NotFinite`]: a value is not finite, or not as the element type stores it. [`Error::Memory`].
pub fn start(system: &System, inputs: &[(String, Grid)]) -> Result<Grid, Error> {
    let mut fields = StartValues::with(system, inputs)?.fields;
    Ok(Arc::unwrap_or_clone(fields.swap_remove(0).swap_remove(0)))
}

/// Checks that the weights are what they are when they are rounded to the element type: programs of systems compute in f32
/// what they store in 16 bits.
fn keep_digits(stencil: &Stencil, dtype: Dtype, steps: usize) -> Result<(), String> {
    let off = |tap: &Tap| dtype.round(tap.weight) - tap.weight;
    match dtype {
        Dtype::F64 => Ok(()),
        Dtype::F32 => {
            // Of a wave with zeros in between signs differ, and of a field that is the same everywhere they do not.
            let drift = steps as f64 * stencil.taps().iter().map(off).sum::<f64>().abs();
            match drift <= MOST_DRIFT {
                true => Ok(()),
                false => Err(format!(
                    "weights rounded to f32 would change a constant field by {drift:.1e} of it in {steps} steps"
                )),
            }
        }
        _ if stencil.taps().iter().all(|tap| off(tap) == 0.0) => Ok(()),
        _ => Err(format!("{dtype} cannot hold all weights")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Description, FieldText};
    use std::path::Path;

    fn system(next: &str, dtype: Dtype, change: impl Fn(Description) -> Description) -> System {
        let field = FieldText::new("u", "x", next);
        let description = Description::new(&[9, 12]).dtype(dtype).time_step("0.125");
        let description = description.derivative("laplace", "laplace", 2).field(field);
        System::new(&change(Description { steps: 100, ..description }), Path::new("")).unwrap()
    }

    fn plain(next: &str, dtype: Dtype) -> Result<Job, String> {
        job(&system(next, dtype, |same| same))
    }

    #[test]
    fn an_explicit_step_of_heat_is_a_stencil() {
        let Job { stencil, dtype, steps, fuse, .. } =
            plain("u + dt*laplace(u)", Dtype::F32).unwrap();
        let weights: Vec<f64> = stencil.taps().iter().map(|tap| tap.weight).collect();
        assert_eq!(weights, [0.125, 0.125, 0.5, 0.125, 0.125]);
        assert_eq!((dtype, steps, fuse), (Dtype::F32, 100, Depth::Auto));
    }

    /// `host example heat-3d --jump 3` took all steps at once.
    #[test]
    fn the_depths_that_are_asked_for_are_those_of_the_job() {
        let system = system("u + dt*laplace(u)", Dtype::F32, |same| same);
        let system = system.with_chain(Depth::Steps(2)).with_jump(Depth::Steps(3));
        let job = job(&system).unwrap();
        assert_eq!(
            (job.fuse, job.chain, job.jump),
            (Depth::Steps(1), Depth::Steps(2), Depth::Steps(3))
        );
    }

    #[test]
    fn nested_stencils_are_one_with_the_reach_of_both() {
        let job = plain("u - dt/16*laplace(laplace(u))", Dtype::F64).unwrap();
        assert_eq!(job.stencil.radii(), [0, 2, 2]);
    }

    #[test]
    fn what_is_no_stencil_says_why() {
        for (next, why) in [
            ("u + dt*u^2", "is not linear"),
            ("u + dt*x", "varies in space"),
            ("u + dt*laplace(u) + 0.5", "0.5 is added to 'u'"),
            ("u + t", "changes with time"),
            ("2*u - prev(u)", "1 steps back"),
        ] {
            let refused = plain(next, Dtype::F64).unwrap_err();
            assert!(refused.contains(why), "{next}: {refused}");
        }
    }

    #[test]
    fn a_coefficient_that_its_type_cannot_hold_is_told_by_whoever_steps() {
        let tiny =
            |dtype| job(&system("u + c*laplace(u)", dtype, |it| it.coefficient("c", "1e-9")));
        assert!(tiny(Dtype::F64).is_ok());
        let refused = tiny(Dtype::F16).unwrap_err();
        assert_eq!(refused, "f16 cannot hold 'c', which is 0.000000001");
    }

    #[test]
    fn what_is_unstable_is_watched_by_whoever_steps() {
        let refused = plain("u + 0.3*laplace(u)", Dtype::F64).unwrap_err();
        assert_eq!(refused, "a step makes waves 1.4000 times as large, so values must be watched");
    }

    /// In f16 a tenth is another number, and 0.8 with it; so are squares of weights, in a sum of several steps.
    #[test]
    fn types_of_16_bits_take_weights_that_they_hold() {
        for dtype in [Dtype::F16, Dtype::Bf16] {
            let job = plain("u + dt*laplace(u)", dtype).unwrap();
            assert!(job.keeps_weights, "{dtype}");
            let refused = plain("u + 0.1*laplace(u)", dtype).unwrap_err();
            assert!(refused.contains("cannot hold all weights"), "{refused}");
        }
    }

    #[test]
    fn weights_whose_sum_rounding_changes_are_taken_for_as_many_steps_as_that_does_not_matter() {
        let of = |steps: usize| {
            let next = "u + 0.1*laplace(u)";
            job(&system(next, Dtype::F32, |description| Description { steps, ..description }))
        };
        let sum = |job: &Job| {
            job.stencil.taps().iter().map(|tap| Dtype::F32.round(tap.weight)).sum::<f64>()
        };
        let few = of(10).unwrap();
        let exact: f64 = few.stencil.taps().iter().map(|tap| tap.weight).sum();
        let off = (sum(&few) - exact).abs();
        assert!(off > 0.0, "the weights of this test round");
        let most = (MOST_DRIFT / off) as usize;
        assert!(of(most - 1).is_ok());
        let refused = of(most + 2).unwrap_err();
        assert!(refused.contains("would change a constant field"), "{refused}");
    }
}
