// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shapes that are named by a rule, at every dimension and radius.

use half::f16;
use transform::{
    catalogue::{Family, Shape, ShapeError, find},
    stencil::MAX_RADIUS,
};

fn all() -> impl Iterator<Item = Shape> {
    let families = [Family::Star, Family::Box, Family::Diamond];
    families.into_iter().flat_map(|family| {
        (1..=3).flat_map(move |dims| {
            (1..=MAX_RADIUS).map(move |radius| Shape::new(family, dims, radius).unwrap())
        })
    })
}

#[test]
fn every_name_gives_its_shape() {
    for shape in all() {
        let (dims, radius) = (shape.dims(), shape.radius());
        let stencil = find(&shape.to_string()).unwrap();
        assert_eq!((stencil.dims(), stencil.radius()), (dims, radius), "{shape}");
        assert_eq!(shape.to_string().parse(), Ok(shape));
        let r = radius as i32;
        let inside = |[z, y, x]: [i32; 3]| match shape.family() {
            Family::Star => [z, y, x].iter().filter(|&&o| o != 0).count() <= 1,
            Family::Box => true,
            Family::Diamond => z.abs() + y.abs() + x.abs() <= r,
        };
        let span = |axis: usize| if axis >= 3 - dims { -r..=r } else { 0..=0 };
        let mut taps = stencil.taps().iter();
        for z in span(0) {
            for y in span(1) {
                for x in span(2).filter(|&x| inside([z, y, x])) {
                    assert_eq!(taps.next().map(|tap| tap.offset), Some([z, y, x]), "{shape}");
                }
            }
        }
        assert!(taps.next().is_none(), "{shape}");
    }
}

#[test]
fn default_weights_are_positive_and_sum_to_exactly_one() {
    for shape in all() {
        let stencil = shape.stencil();
        assert!(stencil.taps().iter().all(|tap| tap.weight > 0.0), "{shape}");
        assert_eq!(stencil.gain(), 1.0, "{shape}");
    }
}

#[test]
fn f16_holds_the_weights_exactly() {
    let fits = |weight: f64| f16::from_f64(weight).to_f64() == weight;
    for shape in all() {
        let stencil = shape.stencil();
        for tap in stencil.taps() {
            let needed = shape.radius() <= 3 || tap.offset != [0; 3];
            assert!(!needed || fits(tap.weight), "{shape} at {:?}: {}", tap.offset, tap.weight);
        }
    }
}

#[test]
fn weights_of_2d_shapes_are_the_published_ones() {
    let weights = |name: &str, scale: f64| -> Vec<f64> {
        find(name).unwrap().taps().iter().map(|tap| tap.weight * scale).collect()
    };
    assert_eq!(weights("star2d2r", 32.0), [1., 2., 1., 2., 20., 2., 1., 2., 1.]);
    assert_eq!(weights("box2d1r", 16.0), [1., 2., 1., 2., 4., 2., 1., 2., 1.]);
    assert_eq!(weights("box2d3r", 4096.0)[..7], [1., 6., 15., 20., 15., 6., 1.]);
}

#[test]
fn spelling_is_free_and_mistakes_are_explained() {
    assert_eq!("STAR_3d-4R".parse(), Shape::new(Family::Star, 3, 4));
    let text = |name: &str| name.parse::<Shape>().unwrap_err().to_string();
    assert_eq!(text("star2d17r"), "'star2d17r' has radius 17; 1 to 16 are supported");
    assert_eq!(text("box2d0r"), "'box2d0r' has radius 0; 1 to 16 are supported");
    assert_eq!(text("box4d1r"), "'box4d1r' has 4 dimensions; 1, 2 or 3 are supported");
    for name in ["star", "star2d", "star2dr", "starxd1r", "star2d+1r", "hex2d1r", "box2d1rr", ""] {
        assert_eq!(name.parse::<Shape>(), Err(ShapeError::Form(name.to_owned())));
    }
    let huge = "star2d99999999999999999999r";
    assert_eq!(huge.parse::<Shape>(), Err(ShapeError::Form(huge.to_owned())));
}
