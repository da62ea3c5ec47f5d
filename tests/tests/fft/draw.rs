// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random jobs.

use proptest::prelude::*;
use stencil::problem::boundary::Side;
use stencil::{Boundary, Depth, Dtype, Job, Shape};
use transform::{Stencil, Tap};

/// Any offsets within a reach of its own on each side of each axis, in any number, so asymmetric, off-centre and
/// with holes, or made symmetric along some axes; `Σ|w| ≤ 1`.
fn stencils() -> impl Strategy<Value = Stencil> {
    let reach = prop::array::uniform3(prop::array::uniform2(-3i32..=3));
    let mirrors = prop::array::uniform3(any::<bool>());
    (1usize..=3, reach, mirrors, any::<bool>()).prop_flat_map(|(dims, reach, mirrors, near)| {
        let offset = move |axis: usize| {
            let [a, b] = reach[axis].map(|far: i32| if near { far.clamp(-1, 1) } else { far });
            if axis < 3 - dims { 0..=0 } else { a.min(b)..=a.max(b) }
        };
        let offset = (offset(0), offset(1), offset(2));
        let taps = prop::collection::btree_map(offset, -1.0f64..1.0, 1..20);
        taps.prop_map(move |taps| {
            let mut all = std::collections::BTreeMap::new();
            for ((z, y, x), weight) in taps {
                for images in 0..8 {
                    let mut offset = [z, y, x];
                    let mirrored = (0..3).filter(|axis| mirrors[*axis] && images >> axis & 1 == 1);
                    mirrored.for_each(|axis| offset[axis] = -offset[axis]);
                    all.insert(offset, weight);
                }
            }
            // Now and then what later images replaced has to be made equal, too.
            let gain: f64 = all.values().map(|weight: &f64| weight.abs()).sum();
            let tap = |(offset, weight)| Tap { offset, weight: weight / gain.max(1.0) };
            Stencil::new("random", dims, all.into_iter().map(tap).collect()).unwrap()
        })
    })
}

fn boundaries() -> impl Strategy<Value = Boundary> {
    let side = || {
        prop_oneof![
            Just(Side::Zero),
            (-1.0..1.0).prop_map(Side::Constant),
            Just(Side::Reflect),
            Just(Side::Symmetric),
            Just(Side::Edge),
            (-0.2..0.2).prop_map(Side::Flux),
        ]
    };
    let axis = prop_oneof![
        side().prop_map(|both| [both; 2]),
        (side(), side()).prop_map(|(a, b)| [a, b]),
        Just([Side::Periodic; 2])
    ];
    prop::array::uniform3(axis).prop_map(|sides| Boundary { sides })
}

/// Jobs on grids of any size, for any number of steps at once.
pub fn jobs() -> impl Strategy<Value = Job> {
    let dtypes = prop::sample::select(Dtype::ALL);
    let extents = prop::array::uniform3(1usize..=60);
    let steps = (0usize..=40, 0usize..=40);
    (stencils(), extents, dtypes, boundaries(), steps).prop_map(
        |(stencil, extents, dtype, boundary, (steps, jump))| {
            let boundary = boundary.map_constants(|value| dtype.round(value));
            // A third axis takes the oracle long.
            let most = [60, 60, 14][stencil.dims() - 1];
            let extents = extents.map(|extent| extent.min(most));
            let shape = Shape::new(&extents[..stencil.dims()]).unwrap();
            let jump = if jump == 0 { Depth::Auto } else { Depth::Steps(jump) };
            Job { boundary, jump, ..Job::new(stencil, shape, dtype, steps) }
        },
    )
}

/// Jobs of stencils that average along a line, for so many steps that what is far away fades below rounding.
pub fn spreading() -> impl Strategy<Value = Job> {
    let weights = prop::collection::vec(0.05f64..1.0, 3..=5);
    (weights, 0usize..5, 300usize..=900, boundaries(), 100usize..=600, 0usize..=400).prop_map(
        |(weights, middle, points, boundary, steps, jump)| {
            let sum: f64 = weights.iter().sum();
            let middle = middle.min(weights.len() - 1) as i32;
            let tap = |(at, weight): (usize, &f64)| Tap {
                offset: [0, 0, at as i32 - middle],
                weight: weight / sum,
            };
            let taps = weights.iter().enumerate().map(tap).collect();
            let stencil = Stencil::new("spreading", 1, taps).unwrap();
            let jump = if jump < 100 { Depth::Auto } else { Depth::Steps(jump) };
            let shape = Shape::new(&[points]).unwrap();
            Job { boundary, jump, ..Job::new(stencil, shape, Dtype::F64, steps) }
        },
    )
}
