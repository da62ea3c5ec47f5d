// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fused steps equal steps one by one.

use proptest::{collection::btree_map, prelude::*};
use std::collections::HashMap;
use transform::{
    Stencil, Tap,
    catalogue::find,
    fuse::{FuseError, fuse},
    stencil::StencilError,
};

/// A field that is 0 wherever it has no entry.
type Field = HashMap<[i32; 3], f64>;

fn step(field: &Field, stencil: &Stencil) -> Field {
    let mut out = Field::new();
    for (at, value) in field {
        for tap in stencil.taps() {
            let to = std::array::from_fn(|axis| at[axis] - tap.offset[axis]);
            *out.entry(to).or_default() += tap.weight * value;
        }
    }
    out
}

/// Random neighbours in 1 to 3 dimensions, asymmetric and with holes, in a reach of its own on each side
/// of each axis.
fn stencils(weight: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Stencil> {
    let reach = prop::array::uniform3(prop::array::uniform2(-2i32..=2));
    let drawn = (1usize..=3, reach).prop_flat_map(move |(dims, reach)| {
        let [z, y, x] = reach.map(|[a, b]| a.min(b)..=a.max(b));
        (Just(dims), btree_map((z, y, x).prop_map(|(z, y, x)| [z, y, x]), weight.clone(), 1..7))
    });
    drawn.prop_filter_map("all weights zero", |(dims, taps)| {
        let flat = |mut offset: [i32; 3]| {
            offset[..3 - dims].fill(0);
            offset
        };
        let taps: std::collections::BTreeMap<_, _> =
            taps.into_iter().map(|(offset, weight)| (flat(offset), weight)).collect();
        let taps = taps.into_iter().map(|(offset, weight)| Tap { offset, weight });
        Stencil::new("random", dims, taps.collect()).ok()
    })
}

fn fields(value: impl Strategy<Value = f64>) -> impl Strategy<Value = Field> {
    prop::collection::hash_map(prop::array::uniform3(-4i32..=4), value, 1..6)
}

fn assert_equal(fused: &Field, stepped: &Field, tolerance: f64) -> Result<(), TestCaseError> {
    for at in fused.keys().chain(stepped.keys()) {
        let [a, b] = [fused, stepped].map(|field| field.get(at).copied().unwrap_or(0.0));
        prop_assert!((a - b).abs() <= tolerance, "{a} and {b} at {at:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn fused_steps_equal_steps_up_to_rounding(
        stencil in stencils(-1.0f64..1.0),
        field in fields(-1.0f64..1.0),
        steps in 1usize..5,
    ) {
        let fused = step(&field, &fuse(&stencil, steps).unwrap());
        let stepped = (0..steps).fold(field.clone(), |field, _| step(&field, &stencil));
        let size: f64 = field.values().map(|value| value.abs()).sum();
        assert_equal(&fused, &stepped, 1e-14 * size * stencil.gain().powi(steps as i32))?;
    }

    #[test]
    fn dyadic_weights_are_fused_exactly(
        stencil in stencils((-64i32..=64).prop_map(|w| f64::from(w) / 64.0)),
        field in fields((-8i32..=8).prop_map(f64::from)),
        steps in 1usize..5,
    ) {
        let fused = step(&field, &fuse(&stencil, steps).unwrap());
        let stepped = (0..steps).fold(field, |field, _| step(&field, &stencil));
        assert_equal(&fused, &stepped, 0.0)?;
    }
}

#[test]
fn a_fused_shape_is_the_expected_one() {
    let fused = fuse(&find("box2d1r").unwrap(), 3).unwrap();
    let box3 = find("box2d3r").unwrap();
    assert_eq!(fused.taps(), box3.taps());
    assert_eq!((fused.name(), fused.dims()), ("box2d1r^3", 2));
    let star = find("star3d1r").unwrap();
    assert_eq!(fuse(&star, 1).unwrap(), star);
    // Central differences cancel: (1/4, 0, −1/2, 0, 1/4).
    let slope = Stencil::dense("slope", &[3], &[-0.5, 0.0, 0.5]).unwrap();
    assert_eq!(fuse(&slope, 2).unwrap().taps().len(), 3);
    // One side only, as far as the largest radius allows.
    let upwind = find("upwind1d").unwrap();
    assert_eq!(fuse(&upwind, 16).unwrap().radius(), 16);
}

#[test]
fn impossible_fusions_are_refused_with_the_numbers() {
    let star = find("star2d3r").unwrap();
    assert_eq!(fuse(&star, 0), Err(FuseError::NoSteps));
    assert_eq!(
        fuse(&star, 6).unwrap_err().to_string(),
        "fusing 6 steps of radius 3 gives radius 18, the largest is 16; fuse at most 5 steps"
    );
    assert!(matches!(fuse(&star, usize::MAX), Err(FuseError::TooFar { .. })));
    let huge = Stencil::dense("huge", &[1], &[1e200]).unwrap();
    let refused = fuse(&huge, 2).unwrap_err();
    assert!(matches!(refused, FuseError::Weights { source: StencilError::NotFinite { .. }, .. }));
    assert_eq!(
        refused.to_string(),
        "fusing 2 steps: weight 0 is inf; weights must be finite; scale them so that products \
         neither overflow nor vanish"
    );
}

#[test]
fn a_stencil_of_one_point_fuses_until_nothing_is_left() {
    let half = Stencil::dense("half", &[1], &[-0.5]).unwrap();
    assert_eq!(fuse(&half, 3).unwrap().weight([0; 3]), -0.125);
    let vanished = fuse(&half, 1_000_000_000).unwrap_err();
    assert!(matches!(vanished, FuseError::Weights { source: StencilError::Empty, .. }));
}

/// A stencil of one point is stepped without end; the powers of a dyadic weight need few bits.
#[test]
fn powers_of_one_weight_are_exact() {
    let fused = |weight: f64, steps| {
        let stencil = Stencil::new("point", 2, vec![Tap { offset: [0; 3], weight }]).unwrap();
        fuse(&stencil, steps).unwrap().taps()[0].weight
    };
    for steps in [2, 3, 7, 32, 33] {
        let stepped = (0..steps).fold(1.0, |product, _| product * -0.75);
        assert_eq!(fused(-0.75, steps), stepped, "{steps} steps");
    }
    assert_eq!(fused(3.0, 33), 5_559_060_566_555_523.0);
    assert_eq!(fused(0.5, 1000), f64::MIN_POSITIVE * 2f64.powi(22));
    assert_eq!(fused(-1.0, 1_000_001), -1.0);
}
