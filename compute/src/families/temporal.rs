// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the families of temporal blocking on CUDA cores have in common (`kernels_gpu::temporal`).

use super::Sample;
use super::domain::is_star;
use kernels_gpu::boundary::Range;
use kernels_gpu::temporal::step::Form;
use problem::region::Region;
use transform::Stencil;

/// The forms that a stencil has, the one that costs the least first.
pub fn forms(stencil: &Stencil) -> impl Iterator<Item = Form> {
    let star = is_star(stencil).then_some(Form::Star);
    let mirrored = is_mirrored(stencil).then_some(Form::Mirrored);
    star.into_iter().chain(mirrored).chain([Form::Box])
}

/// What a launch is told of a region: of one without points, nothing along the axis that it runs along. A block is
/// launched that does nothing, because the rim's launch relies on there being one before it.
pub fn kept(region: Region, axis: usize) -> Region {
    let is_empty = (0..3).any(|axis| region.low[axis] >= region.high[axis]);
    let mut empty = Region { low: [0; 3], high: [1; 3] };
    empty.high[axis] = 0;
    if is_empty { empty } else { region }
}

/// The coordinates of a region on an axis.
pub fn range(region: Region, axis: usize) -> Range {
    Range { low: region.low[axis] as i32, high: region.high[axis] as i32 }
}

/// A stencil that takes a kernel for a type, a form, radii (z, y, x) and a number of steps.
pub fn sample(element: &str, form: Form, radii: [usize; 3], steps: usize) -> Sample {
    let sample = Sample::of(element.parse().expect("a type of grids"), radii).chained(steps);
    match form {
        Form::Star => sample.star(),
        Form::Box => sample,
        Form::Mirrored => sample.mirrored(&[0, 1, 2]),
    }
}

/// Whether weights are the same on both sides of each axis.
fn is_mirrored(stencil: &Stencil) -> bool {
    stencil.taps().iter().all(|tap| {
        (0..3).all(|axis| {
            let mut other = tap.offset;
            other[axis] = -other[axis];
            stencil.weight(other) == tap.weight
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::Tap;

    #[test]
    fn forms_are_those_of_the_weights() {
        let stencil = |taps: &[([i32; 3], f64)]| {
            let taps = taps.iter().map(|&(offset, weight)| Tap { offset, weight }).collect();
            forms(&Stencil::new("test", 2, taps).unwrap()).collect::<Vec<_>>()
        };
        let all = [Form::Star, Form::Mirrored, Form::Box];
        assert_eq!(stencil(&[([0, 0, 0], 0.5), ([0, 0, 1], 0.2), ([0, 0, -1], 0.2)]), all);
        assert_eq!(stencil(&[([0, 0, 1], 0.2), ([0, 0, -1], 0.3)]), [Form::Star, Form::Box]);
        assert_eq!(stencil(&[([0, 1, 1], 0.2), ([0, -1, -1], 0.2)]), [Form::Box]);
        let corners = [[0, 1, 1], [0, -1, -1], [0, 1, -1], [0, -1, 1]].map(|at| (at, 0.1));
        assert_eq!(stencil(&corners), [Form::Mirrored, Form::Box]);
    }
}
