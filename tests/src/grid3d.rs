// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the conformance cases of 3D kernels of 16-bit types share ([`crate::cases3d`],
//! [`crate::cases_chain3d`]): launches, the plain stencil, and how results are compared.

use crate::{stepped, stored, suite};
use cuda_mma::fragment::Element;
use cuda_mma::number::{bits, value};
use stencil::device::Device;
use stencil::families::Pass;
use stencil::{Error, Shape};
use transform::Stencil;

/// The stored type that a kernel names.
///
/// # Panics
/// Where it has not 16 bits.
#[must_use]
pub fn element(name: &str) -> Element {
    match name {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        other => panic!("{other} has not 16 bits"),
    }
}

/// What launches give, back and forth between two buffers, as [`suite::launch`] says.
///
/// # Errors
/// The device refuses; of the emulator, also the kernel's first mistake.
///
/// # Panics
/// Where one launch changes its input, or the halo around the result does not stay zero.
pub fn launch(
    device: &dyn Device,
    pass: &dyn Pass,
    element: Element,
    extents: [u32; 3],
    values: &[u16],
    launches: usize,
) -> Result<Vec<u16>, Error> {
    let shape = Shape::new(&extents.map(|extent| extent as usize))?;
    let input = stored::grid(element, shape, values.iter().map(|&bits| bits.into()));
    let got = suite::launch(device, pass, stored::dtype(element), &input, launches)?;
    Ok(stored::bits(got).into_iter().map(|bits| bits as u16).collect())
}

/// What a stencil gives with zeros around the grid, summed in f64, rounded after each step.
#[must_use]
pub fn plain(
    stencil: &Stencil,
    element: Element,
    extents: [u32; 3],
    values: &[u16],
    steps: usize,
) -> Vec<u16> {
    let shape = Shape::new(&extents.map(|extent| extent as usize)).expect("points");
    let rounded = |x: f64| value(element, bits(element, x));
    let weights = stencil.map_weights(rounded);
    let mut values: Vec<f64> = values.iter().map(|&x| value(element, u32::from(x))).collect();
    for _ in 0..steps {
        values = stepped::step(&weights, shape, &values).into_iter().map(rounded).collect();
    }
    values.into_iter().map(|x| bits(element, x) as u16).collect()
}

/// How far results may be apart.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Exact results must have the same bits.
    pub exact: bool,
    /// The stored type.
    pub element: Element,
    /// Products of a sum.
    pub products: u32,
    /// Time steps.
    pub steps: usize,
}

impl Tolerance {
    /// The largest part of what rounding explains by which two results differ; more than 1 where it
    /// does not.
    ///
    /// # Panics
    /// Where they have not as many points.
    #[must_use]
    pub fn compare(&self, got: &[u16], want: &[u16]) -> f64 {
        assert_eq!(got.len(), want.len(), "as many points");
        let pairs = got.iter().zip(want).filter(|(got, want)| got != want);
        pairs.fold(0.0, |most, (&got, &want)| {
            let [got, want] = [got, want].map(|x| value(self.element, u32::from(x)));
            let part = (got - want).abs() / self.bound(got.abs().max(want.abs()));
            if self.exact || part.is_nan() { f64::INFINITY } else { part.max(most) }
        })
    }

    /// `docs/developers/testing.md`: for each product what summing in an order of its own loses, and the spacing of
    /// numbers there; in each step before, the spacing below 1.
    fn bound(&self, larger: f64) -> f64 {
        // Explicit bits of precision, and the exponent of the smallest normal number.
        let (precision, smallest) =
            if self.element == Element::F16 { (10, -14) } else { (7, -126) };
        let spacing = |x: f64| 2f64.powi((x.log2().floor() as i32).max(smallest) - precision);
        let sum = f64::from(self.products) * 41.0 * 2f64.powi(-24);
        let before = (self.steps - 1) as f64;
        before * (sum + spacing(0.5)) + sum + spacing(larger)
    }
}
