// SPDX-License-Identifier: MIT OR Apache-2.0
//! Advection and computational fluid dynamics: `u_t + c·∇u = 0` with Courant number c > 0, so that
//! what arrives comes from the left, and what is solved beside it.

use super::{
    Domain, Entry,
    operator::{
        Operator, X, Y, Z, along, axes, derivative, identity, laplacian, product_over,
        second_difference, sum_over,
    },
};
use crate::finite_difference::{on_offsets, shifted};

const LEVEQUE: &str = "LeVeque, Finite Volume Methods for Hyperbolic Problems (2002)";
const LEONARD: &str = "Leonard, A stable and accurate convective modelling procedure (1979)";
const STRANG: &str = "Strang, Trigonometric polynomials and difference methods of maximum accuracy \
                      (1962)";
const COLELLA: &str = "Colella, Multidimensional upwind methods for hyperbolic conservation laws \
                       (1990)";
const SHU: &str = "Jiang and Shu, Efficient implementation of weighted ENO schemes (1996), its \
                   linear weights";
const KAWAMURA: &str = "Kawamura, Takami and Kuwahara, Computation of high Reynolds number flow \
                        around a circular cylinder (1986)";
const WICKER: &str = "Wicker and Skamarock, Time-splitting methods for elastic models (2002)";
const JAMESON: &str = "Jameson, Schmidt and Turkel, Numerical solution of the Euler equations by \
                       finite volume methods (1981)";
const HUNDSDORFER: &str = "Hundsdorfer and Verwer, Numerical Solution of Time-Dependent \
                           Advection-Diffusion-Reaction Equations (2003)";

pub(super) const DOMAIN: Domain =
    Domain { name: "advection", about: "advection and computational fluid dynamics" };

/// The Courant number along each axis (z, y, x).
const COURANT: [f64; 3] = [0.2, 0.3, 0.4];

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.update("upwind1d", &[], "1st-order upwind", LEVEQUE, || from_left(X, -1, 0)),
    DOMAIN.update("upwind2d", &[], "1st-order upwind, donor cell", LEVEQUE, || donor_cell(2)),
    DOMAIN.update("upwind3d", &[], "1st-order upwind, donor cell", LEVEQUE, || donor_cell(3)),
    DOMAIN.update("corner-transport-2d", &["ctu2d"], "upwind across corners", COLELLA, || {
        product_over(2, |axis| from_left(axis, -1, 0))
    }),
    DOMAIN.update("lax-friedrichs-1d", &[], "mean of the neighbours, moved", LEVEQUE, || {
        friedrichs(1)
    }),
    DOMAIN.update("lax-friedrichs-2d", &[], "mean of the neighbours, moved", LEVEQUE, || {
        friedrichs(2)
    }),
    DOMAIN.update("lax-wendroff-1d", &[], "2nd-order, 3 points", LEVEQUE, || from_left(X, -1, 1)),
    DOMAIN.update("lax-wendroff-2d", &[], "2nd-order, split, 9 points", LEVEQUE, || {
        product_over(2, |axis| from_left(axis, -1, 1))
    }),
    DOMAIN.update("beam-warming-1d", &[], "2nd-order, from the left", LEVEQUE, || {
        from_left(X, -2, 0)
    }),
    DOMAIN.update("fromm-1d", &[], "mean of Lax-Wendroff and Beam-Warming", LEVEQUE, || {
        0.5 * (from_left(X, -1, 1) + from_left(X, -2, 0))
    }),
    DOMAIN.update("quickest-1d", &[], "3rd-order, 4 points", LEONARD, || from_left(X, -2, 1)),
    DOMAIN.update("strang5-1d", &[], "5th-order, 6 points", STRANG, || from_left(X, -3, 2)),
    DOMAIN.update("strang7-1d", &[], "7th-order, 8 points", STRANG, || from_left(X, -4, 3)),
    DOMAIN.update("strang5-2d", &[], "5th-order, split, 36 points", STRANG, || {
        product_over(2, |axis| from_left(axis, -3, 2))
    }),
    DOMAIN.update("upwind3-rk3-1d", &[], "3rd-order upwind, 3 stages", WICKER, || upwind_rk3(1)),
    DOMAIN.update("upwind3-rk3-2d", &[], "3rd-order upwind, 3 stages", WICKER, || upwind_rk3(2)),
    DOMAIN.difference("weno5-linear", &[], "5th-order upwind derivative", SHU, || {
        along(X, on_offsets(1, -3, 2).expect("six offsets"))
    }),
    DOMAIN.difference(
        "kawamura-kuwahara-2d",
        &[],
        "4th-order derivative with |c| δ⁴/4 of dissipation",
        KAWAMURA,
        || {
            sum_over(2, |axis| {
                COURANT[axis] * (derivative(axis, 1, 4) + 0.25 * derivative(axis, 4, 2))
            })
        },
    ),
    DOMAIN.update(
        "advection-diffusion-2d",
        &[],
        "central, diffusion D = 0.22",
        HUNDSDORFER,
        || identity() - central(2) + 0.22 * laplacian(2, 2),
    ),
    DOMAIN.update(
        "advection-diffusion-3d",
        &[],
        "central, diffusion D = 0.16",
        HUNDSDORFER,
        || identity() - central(3) + 0.16 * laplacian(3, 2),
    ),
    DOMAIN.update("jst-dissipation-2d", &[], "1 − (δ⁴ₓ + δ⁴ᵧ)/32", JAMESON, || {
        identity() - (1.0 / 32.0) * sum_over(2, |axis| second_difference(axis).pow(2))
    }),
    DOMAIN.difference(
        "mixed-derivative-2d",
        &[],
        "∂²/∂x∂y of 4th order",
        HUNDSDORFER,
        || derivative(X, 1, 4) * derivative(Y, 1, 4),
    ),
    DOMAIN.difference(
        "stress-divergence-3d",
        &[],
        "∂z∂x + ∂z∂y + ∂y∂x, the cross terms of viscous stress",
        HUNDSDORFER,
        || {
            let d = |axis| derivative(axis, 1, 2);
            d(Z) * d(X) + d(Z) * d(Y) + d(Y) * d(X)
        },
    ),
];

/// The value a Courant number to the left, by the polynomial through the offsets.
fn from_left(axis: usize, from: i32, to: i32) -> Operator {
    along(axis, shifted(0, from, to, -COURANT[axis]).expect("distinct offsets"))
}

/// `Σ c ∂` by central differences.
fn central(dims: usize) -> Operator {
    sum_over(dims, |axis| COURANT[axis] * derivative(axis, 1, 2))
}

fn donor_cell(dims: usize) -> Operator {
    axes(dims).fold(identity(), |sum, axis| {
        sum - COURANT[axis] * along(axis, on_offsets(1, -1, 0).expect("two offsets"))
    })
}

fn friedrichs(dims: usize) -> Operator {
    let mean = sum_over(dims, |axis| along(axis, [(-1, 0.5), (1, 0.5)]));
    (1.0 / dims as f64) * mean - central(dims)
}

/// `Σ (−c·∇)ᵏ / k!` up to k = 3.
fn upwind_rk3(dims: usize) -> Operator {
    let slope = |axis| along(axis, on_offsets(1, -2, 1).expect("four offsets"));
    let rate = sum_over(dims, |axis| -COURANT[axis] * slope(axis));
    rate.polynomial(&[1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0])
}
