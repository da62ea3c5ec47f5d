// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the conformance cases of all kernel families have in common: `gpu-suite` loops over them.

use cuda_sim::Fault;
use std::fmt::Display;
use stencil::device::{Device, Emulator, Plane};
use stencil::families::Pass;
use stencil::{Dtype, Error, Grid};

/// A stencil on a grid, and how a kernel is launched on it. Shown, it says which kernel, stencil and grid.
pub trait TestCase: Display + Sync {
    /// The points of a result, in C order.
    type Points: Send;

    /// The name of its kernel.
    fn kernel(&self) -> String;

    /// Points of its grid.
    fn points(&self) -> usize;

    /// Whether the kernel is also built for chips before sm_90.
    fn runs_on_sm_80(&self) -> bool {
        true
    }

    /// An emulator with as many multiprocessors, and the seed, that the case is to run with there.
    fn emulator(&self) -> Emulator;

    /// What the kernel gives on a device.
    ///
    /// # Errors
    /// The device refuses; of the emulator, also the kernel's first mistake.
    fn run(&self, device: &dyn Device) -> Result<Self::Points, Error>;

    /// What it gives in the emulator.
    ///
    /// # Errors
    /// The kernel's first mistake.
    fn emulate(&self) -> Result<Self::Points, Fault> {
        or_fault(self.run(&self.emulator()))
    }

    /// How far a GPU's result is off, which also knows that of the emulator.
    fn compare(&self, got: &Self::Points, emulated: &Self::Points) -> Difference;
}

/// How two results differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Points compared.
    pub points: usize,
    /// Points with other bits.
    pub differ: usize,
    /// The largest part of what rounding explains; more than 1 where it does not.
    pub of_bound: f64,
}

impl Difference {
    /// Of results that are `of_bound` off what is right, and differ in their bits from others.
    #[must_use]
    pub fn new<T: PartialEq>(got: &[T], emulated: &[T], of_bound: f64) -> Self {
        let differ = got.iter().zip(emulated).filter(|(got, emulated)| got != emulated).count();
        let of_bound = if got.len() == emulated.len() { of_bound } else { f64::INFINITY };
        Self { points: got.len(), differ, of_bound }
    }

    /// Lets the difference hold only if both results have the same bits.
    #[must_use]
    pub fn exact(self) -> Self {
        let of_bound = if self.differ > 0 { f64::INFINITY } else { self.of_bound };
        Self { of_bound, ..self }
    }

    /// Whether rounding explains it.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.of_bound <= 1.0
    }

    /// Of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        // Not `max`, which takes no notice of NaN.
        let worse = other.of_bound.is_nan() || other.of_bound > self.of_bound;
        Self {
            points: self.points + other.points,
            differ: self.differ + other.differ,
            of_bound: if worse { other.of_bound } else { self.of_bound },
        }
    }
}

/// What the emulator gives, or the mistake that it reports.
///
/// # Errors
/// The mistake.
///
/// # Panics
/// With any other error.
pub fn or_fault<T>(result: Result<T, Error>) -> Result<T, Fault> {
    result.map_err(|error| match error {
        Error::Fault(fault) => fault,
        other => panic!("{other}"),
    })
}

/// What launches give, back and forth between two planes of a type, of which the second is not a number
/// anywhere.
///
/// # Errors
/// The device refuses; of the emulator, also the kernel's first mistake.
///
/// # Panics
/// Where one launch changes its input, or the halo around the result does not stay zero.
pub fn launch(
    device: &dyn Device,
    pass: &dyn Pass,
    dtype: Dtype,
    input: &Grid,
    launches: usize,
) -> Result<Grid, Error> {
    let plane = || Plane::new(device, input.shape, dtype);
    let mut planes = [plane()?, plane()?];
    planes[1].poison(device)?;
    planes[0].upload(device, input)?;
    pass.repeat(device, [&planes[0], &planes[1]], launches)?;
    device.wait()?;
    let output = planes[launches % 2].download(device)?;
    assert_holds(device, &planes[launches % 2], &output)?;
    if launches == 1 {
        assert_holds(device, &planes[0], input)?;
    }
    Ok(output)
}

/// Asserts that a plane holds a grid in a halo of zeros, and nothing else.
///
/// # Errors
/// The device refuses.
///
/// # Panics
/// Where it does not.
pub fn assert_holds(device: &dyn Device, plane: &Plane, grid: &Grid) -> Result<(), Error> {
    let mut expected = Plane::new(device, grid.shape, grid.dtype())?;
    expected.upload(device, grid)?;
    assert!(plane.bytes(device)? == expected.bytes(device)?, "a grid of {} in zeros", grid.shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_is_no_number_does_not_hold() {
        let right = Difference { points: 1, differ: 0, of_bound: 0.5 };
        let nan = Difference { points: 1, differ: 1, of_bound: f64::NAN };
        assert!(right.holds() && !nan.holds());
        assert!(!right.and(nan).holds() && !nan.and(right).holds());
    }

    #[test]
    fn exact_results_have_the_same_bits() {
        let difference = Difference::new(&[1, 2, 3], &[1, 5, 3], 0.1);
        assert_eq!((difference.points, difference.differ), (3, 1));
        assert!(difference.holds() && !difference.exact().holds());
        assert!(Difference::new(&[1], &[1], 0.0).exact().holds());
        assert!(!Difference::new(&[1, 2], &[1], 0.0).holds(), "a point is missing");
    }
}
