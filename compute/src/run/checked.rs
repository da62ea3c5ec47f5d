// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the numbers of a job go together, and its element type can hold them.

use problem::boundary::Side;
use problem::error::Hint;
use problem::{Error, Job, ValueLocation};

/// A job with the constants of its boundary rounded to its element type.
///
/// # Errors
/// [`Error::SizeAxes`]: the grid has other axes than the stencil. [`Error::NotFinite`]: the type cannot hold a
/// weight. [`Error::Boundary`]: it cannot hold a constant.
pub fn checked(job: Job) -> Result<Job, Error> {
    let Job { stencil, shape, dtype, boundary, .. } = &job;
    if shape.dims() != stencil.dims() {
        return Err(Error::SizeAxes {
            size: shape.to_string(),
            axes: shape.dims(),
            dims: stencil.dims(),
        });
    }
    for tap in stencil.taps() {
        let value = dtype.round(tap.weight);
        if !value.is_finite() {
            let position = format!("offset (z, y, x) = {:?}", tap.offset);
            return Err(Error::NotFinite {
                holder: ValueLocation::StencilAs(*dtype),
                value,
                position,
            });
        }
    }
    for side in boundary.sides.iter().flatten() {
        let refuse =
            |reason, hint| Err(Error::Boundary { boundary: side.to_string(), reason, hint });
        let (what, value) = match *side {
            Side::Constant(value) => ("constant", value),
            Side::Flux(slope) => ("slope", slope),
            Side::Robin(_) => ("values", side.image(stencil.radius().max(1)).added),
            Side::Varying(_) | Side::VaryingFlux(_) => {
                return refuse("only fields of a system take expressions".into(), None);
            }
            _ => continue,
        };
        if !dtype.round(value).is_finite() {
            return refuse(format!("{dtype} cannot hold its {what}"), Some(Hint::Wider));
        }
    }
    let boundary = boundary.map_constants(|value| dtype.round(value));
    Ok(Job { boundary, ..job })
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::{Boundary, Dtype};
    use transform::Stencil;

    fn job(weight: f64, boundary: &str, dtype: Dtype) -> Job {
        let stencil = Stencil::dense("own", &[1], &[weight]).unwrap();
        let boundary = Boundary::parse(boundary, 1).unwrap();
        Job { boundary, ..Job::new(stencil, "7".parse().unwrap(), dtype, 1) }
    }

    #[test]
    fn what_a_type_cannot_hold_is_refused_and_the_rest_rounded() {
        let refused = |job| checked(job).unwrap_err().to_string();
        let text = refused(job(1e5, "zero", Dtype::F16));
        assert_eq!(text, "the stencil as f16 holds inf at offset (z, y, x) = [0, 0, 0]");
        let text = refused(job(1.0, "x-:constant=1e300", Dtype::F32));
        assert_eq!(text, "boundary 'constant=1e300': f32 cannot hold its constant");
        let text = refused(job(1.0, "x+:flux=-1e6", Dtype::F16));
        assert_eq!(text, "boundary 'flux=-1000000': f16 cannot hold its slope");
        let shape = "7x7".parse().unwrap();
        let text = refused(Job { shape, ..job(1.0, "zero", Dtype::F32) });
        assert_eq!(text, "size 7x7 has 2 axes, the stencil has 1");
        let rounded = checked(job(1.0, "constant=0.1", Dtype::F16)).unwrap().boundary;
        assert_eq!(rounded.sides[2], [Side::Constant(0.0999755859375); 2]);
        let rounded = checked(job(1.0, "flux=0.1", Dtype::F16)).unwrap().boundary;
        assert_eq!(rounded.sides[2], [Side::Flux(0.0999755859375); 2]);
    }
}
