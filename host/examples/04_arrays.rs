// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays of `ndarray` in and out (feature `ndarray`): a grid takes an array's memory over, lends it as a view,
//! and gives it back, without a copy.

use ndarray::{Array2, ArrayView, Ix2, Zip};
use std::error::Error;
use stencil::{Grid, Simulation, Stencil};

// Not private, because the tests call it.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let picture = Array2::from_shape_fn((48, 80), |(y, x)| ((7 * y + 3 * x) % 32) as f32 / 32.0);
    let (copy, memory) = (picture.clone(), picture.as_ptr());

    // In: an array in C order keeps its memory; another one is copied into that order.
    let grid = Grid::try_from(picture)?;
    let view = grid.view::<f32>().expect("f32 values");
    assert_eq!(view.as_ptr(), memory);

    let blur = Stencil::dense("blur", &[3, 3], &[1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0])?;
    let blur = blur.map_weights(|weight| weight / 16.0);
    let mut simulation = Simulation::new(blur.clone(), grid).build()?;
    simulation.step(1)?;

    // Out: the field is a copy of what the device has; as an array it keeps its memory.
    let field = simulation.field("u")?;
    let memory = field.view::<f32>().expect("f32 values").as_ptr();
    let blurred: Array2<f32> = field.into_array::<f32>()?.into_dimensionality()?;
    assert_eq!(blurred.as_ptr(), memory);

    // Inside, where nothing beyond the edge takes part, it is a sum over windows.
    let mut worst = 0.0f64;
    let inside = blurred.slice(ndarray::s![1..47, 1..79]);
    Zip::from(copy.windows((3, 3))).and(inside).for_each(|window: ArrayView<f32, Ix2>, found| {
        let weights = blur.taps().iter().map(|tap| tap.weight);
        let sum: f64 = window.iter().zip(weights).map(|(u, w)| f64::from(*u) * w).sum();
        worst = worst.max((f64::from(*found) - sum).abs());
    });
    println!("{:?} blurred, largest error {worst:.1e}", blurred.dim());
    assert!(worst < 1e-6, "{worst}");

    // Another type is a copy with each value rounded.
    let wide = simulation.field("u")?.into_array::<f64>()?;
    assert_eq!(wide[[5, 5]], f64::from(blurred[[5, 5]]));
    Ok(())
}
