// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solves, seen from what they are solved for.
//!
//! `w = solve(S, f)` is w = A⁻¹ f, where A is S with what lies around w; where A has no inverse, waves that it takes away are none of w. So f has the
//! adjoint A⁻ᵀ w̄. Aᵀ is S with the weights at the opposite offsets and the same sides, for a solve takes periodic sides, and of a stencil
//! with the same weights at both sides those whose matrix is symmetric; but for a mirror image about the last point, which counts half
//! then: with D = diag(½, 1, …, 1, ½) along that axis D A is symmetric, so that A⁻ᵀ = D A⁻¹ D⁻¹.

use super::{AdjointWorkField, Contribution, Reverse, is_at};
use crate::adjoint::algebra::{choose, number, times};
use crate::adjoint::fold::Offset;
use crate::expression::{Array, Node};
use problem::boundary::Side;

impl Reverse<'_> {
    /// What the solution of a stencil hands on to what it is solved for, from its adjoint.
    pub(super) fn solved(
        &mut self,
        solution: Array,
        (of, adjoint): (usize, &Node),
    ) -> Result<Contribution, String> {
        let taps = self.stencils[of].taps().iter();
        let opposite: Vec<(Offset, f64)> =
            taps.map(|tap| (tap.offset.map(|at| -at), tap.weight)).collect();
        let transposed = self.stencil(opposite)?;
        let sides = self.system.boundary_of(solution).without_added();
        let extents = self.system.shape.extents();
        let (mut halves, mut doubles) = (number(1.0), number(1.0));
        for axis in 0..3 {
            for (end, side) in sides.sides[axis].iter().enumerate() {
                if *side != Side::Reflect || extents[axis] == 1 {
                    continue;
                }
                let mut at = [None; 3];
                at[axis] = Some(if end == 0 { 0 } else { extents[axis] - 1 });
                halves = times(halves, choose(is_at(at), number(0.5), number(1.0)));
                doubles = times(doubles, choose(is_at(at), number(2.0), number(1.0)));
            }
        }
        let right = times(doubles, adjoint.clone());
        let value = Some(Node::Solve(transposed, Box::new(right)));
        let periodic = self.periodic_of(solution);
        let own = AdjointWorkField { name: "solved".into(), value, periodic, sides: Some(sides) };
        let own = self.array(own);
        Ok(Contribution { value: times(halves, Node::Read(own)), path: None })
    }
}
