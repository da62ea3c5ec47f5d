// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattice-Boltzmann-like: with relaxation time 1 the populations need not be stored, and a step is
//! one stencil, `ρ(x) = Σ wᵢ (1 + 3 c·u + 9/2 (c·u)² − 3/2 u²) ρ(x − cᵢ)` for a velocity u that is
//! the same everywhere (advection and diffusion of a tracer).

use super::{
    Domain, Entry,
    operator::{Operator, along, axes, from_fn, product_over},
};

const QIAN: &str = "Qian, d'Humières and Lallemand, Lattice BGK models for the Navier-Stokes \
                    equation (1992)";
const KRUGER: &str = "Krüger et al., The Lattice Boltzmann Method (2017), weights from the moments \
                      of the velocity set";

pub(super) const DOMAIN: Domain =
    Domain { name: "lattice-boltzmann", about: "lattice-Boltzmann-like steps" };

/// The velocity of the entries that move, (z, y, x).
const VELOCITY: [f64; 3] = [0.02, 0.05, 0.1];

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.update("d1q3", &[], "3 velocities, at rest", QIAN, || full(1)),
    DOMAIN.update("d2q5", &[], "5 velocities, at rest", KRUGER, || faces_only(2)),
    DOMAIN.update("d2q9", &[], "9 velocities, at rest", QIAN, || full(2)),
    DOMAIN.update("d3q7", &[], "7 velocities, at rest", KRUGER, || faces_only(3)),
    DOMAIN.update("d3q15", &[], "15 velocities, at rest", QIAN, || set_3d(0.0, 1.0 / 72.0)),
    DOMAIN.update("d3q19", &[], "19 velocities, at rest", QIAN, || set_3d(1.0 / 36.0, 0.0)),
    DOMAIN.update("d3q27", &[], "27 velocities, at rest", KRUGER, || full(3)),
    DOMAIN.update("d1q3-flow", &[], "3 velocities, moving", QIAN, || full(1).moving(1)),
    DOMAIN.update("d2q9-flow", &[], "9 velocities, moving", QIAN, || full(2).moving(2)),
    DOMAIN.update("d3q15-flow", &[], "15 velocities, moving", QIAN, || {
        set_3d(0.0, 1.0 / 72.0).moving(3)
    }),
    DOMAIN.update("d3q19-flow", &[], "19 velocities, moving", QIAN, || {
        set_3d(1.0 / 36.0, 0.0).moving(3)
    }),
    DOMAIN.update("d3q27-flow", &[], "27 velocities, moving", KRUGER, || full(3).moving(3)),
];

/// The outer product of D1Q3: its weights are set by `Σ w = 1` and `Σ w c² = 1/3`.
fn full(dims: usize) -> Operator {
    product_over(dims, |axis| along(axis, [(-1, 1.0 / 6.0), (0, 2.0 / 3.0), (1, 1.0 / 6.0)]))
}

/// Velocities along the axes only: `Σ w = 1` and `Σ w c² = 1/3` on each axis; in 3D the particles
/// at rest would then vanish, so 1/4 takes the place of 1/3.
fn faces_only(dims: usize) -> Operator {
    let speed2 = if dims == 3 { 1.0 / 4.0 } else { 1.0 / 3.0 };
    by_length(dims, [1.0 - dims as f64 * speed2, speed2 / 2.0, 0.0, 0.0])
}

/// A 3D set with `Σ w = 1`, `Σ w c² = 1/3` on each axis; edges and corners are to share
/// `Σ w cₓ²cᵧ² = 4 · edge + 8 · corner = 1/9`.
fn set_3d(edge: f64, corner: f64) -> Operator {
    let face = (1.0 / 3.0 - 8.0 * edge - 8.0 * corner) / 2.0;
    by_length(3, [1.0 - 6.0 * face - 12.0 * edge - 8.0 * corner, face, edge, corner])
}

/// Weights by the squared length of the velocity.
fn by_length(dims: usize, weights: [f64; 4]) -> Operator {
    from_fn(dims, 1, |c| weights[c.iter().map(|c| c * c).sum::<i32>() as usize])
}

impl Operator {
    /// Each weight times the equilibrium at [`VELOCITY`]; what comes with velocity c was at −c.
    fn moving(&self, dims: usize) -> Self {
        from_fn(dims, 1, |offset| {
            let moving = axes(dims);
            let along: f64 = moving.clone().map(|a| f64::from(-offset[a]) * VELOCITY[a]).sum();
            let square: f64 = moving.map(|a| VELOCITY[a] * VELOCITY[a]).sum();
            let equilibrium = 1.0 + 3.0 * along + 4.5 * along * along - 1.5 * square;
            equilibrium * self.weight(offset)
        })
    }
}
