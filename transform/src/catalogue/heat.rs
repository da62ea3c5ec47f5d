// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heat and diffusion: explicit steps of `u_t = ∇·(D∇u)`, at half the stability limit.

use super::{
    Domain, Entry,
    operator::{
        Operator, X, Y, Z, compact_laplacian, derivative, explicit, identity, laplacian,
        product_over, second_difference,
    },
};

const LEVEQUE: &str = "LeVeque, Finite Difference Methods for Ordinary and Partial Differential \
                       Equations (2007), diffusion; weights: Fornberg (1988)";
const KUMAR: &str = "Kumar, Isotropic finite-differences (2004)";
const SPOTZ: &str = "Spotz and Carey, A high-order compact formulation for the 3D Poisson \
                     equation (1996), 27 points";
const HUNDSDORFER: &str = "Hundsdorfer and Verwer, Numerical Solution of Time-Dependent \
                           Advection-Diffusion-Reaction Equations (2003)";
const WEICKERT: &str = "Weickert, Anisotropic Diffusion in Image Processing (1998)";

pub(super) const DOMAIN: Domain = Domain { name: "heat", about: "heat and diffusion" };

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.update("heat1d-4th", &[], "Euler step, 4th-order in space", LEVEQUE, || heat(1, 4)),
    DOMAIN.update("heat1d-8th", &[], "Euler step, 8th-order in space", LEVEQUE, || heat(1, 8)),
    DOMAIN.update("heat2d-4th", &[], "Euler step, 4th-order in space", LEVEQUE, || heat(2, 4)),
    DOMAIN.update("heat2d-6th", &[], "Euler step, 6th-order in space", LEVEQUE, || heat(2, 6)),
    DOMAIN.update("heat2d-8th", &[], "Euler step, 8th-order in space", LEVEQUE, || heat(2, 8)),
    DOMAIN.update("heat3d-4th", &[], "Euler step, 4th-order in space", LEVEQUE, || heat(3, 4)),
    DOMAIN.update("heat3d-8th", &[], "Euler step, 8th-order in space", LEVEQUE, || heat(3, 8)),
    DOMAIN.update("heat2d-isotropic", &["heat2d-9p"], "Euler step, 9-point ∇²", KUMAR, || {
        explicit(compact_laplacian(2, 1.0 / 6.0, 0.0))
    }),
    DOMAIN.update("heat3d-isotropic", &["heat3d-27p"], "Euler step, 27-point ∇²", SPOTZ, || {
        explicit(compact_laplacian(3, 1.0 / 6.0, 1.0 / 30.0))
    }),
    DOMAIN.update(
        "heat2d-anisotropic",
        &[],
        "diffusion 4 times as fast along a direction of 30°, cross derivative included",
        WEICKERT,
        || explicit(diffusion_tensor(4.0, 30.0)),
    ),
    DOMAIN.update(
        "heat3d-layered",
        &[],
        "diffusion 10 times as slow along z as in the plane",
        LEVEQUE,
        || explicit(laplacian(2, 2) + 0.1 * second_difference(Z)),
    ),
    DOMAIN.update("heat2d-split", &[], "a step along y after one along x", HUNDSDORFER, || {
        product_over(2, |axis| identity() + 0.2 * second_difference(axis))
    }),
    DOMAIN
        .update("heat1d-rk4", &[], "4th-order Runge-Kutta step", HUNDSDORFER, || runge_kutta_4(1)),
    DOMAIN
        .update("heat2d-rk4", &[], "4th-order Runge-Kutta step", HUNDSDORFER, || runge_kutta_4(2)),
    DOMAIN.update(
        "heat2d-chebyshev3",
        &[],
        "3-stage Runge-Kutta-Chebyshev step, as long as 8 Euler steps",
        HUNDSDORFER,
        chebyshev_3,
    ),
];

fn heat(dims: usize, accuracy: usize) -> Operator {
    explicit(laplacian(dims, accuracy))
}

/// `∇·(D∇u)` with eigenvalues `ratio` (along the direction of `degrees` to the x axis) and 1.
fn diffusion_tensor(ratio: f64, degrees: f64) -> Operator {
    let (sin, cos) = f64::to_radians(degrees).sin_cos();
    let cross = derivative(X, 1, 2) * derivative(Y, 1, 2);
    (ratio * cos * cos + sin * sin) * second_difference(X)
        + (ratio * sin * sin + cos * cos) * second_difference(Y)
        + (2.0 * (ratio - 1.0) * sin * cos) * cross
}

/// `Σ (Δt ∇²)ᵏ / k!` up to k = 4, at half of Euler's limit.
fn runge_kutta_4(dims: usize) -> Operator {
    let laplacian = laplacian(dims, 2);
    let step = (1.0 / laplacian.gain()) * laplacian;
    step.polynomial(&[1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0])
}

/// `T₃(1 + Δt ∇² / 9)`; Euler is stable up to Δt = 1/4, and this up to 9 times as far.
fn chebyshev_3() -> Operator {
    let argument = identity() + (8.0 * 0.25 / 9.0) * laplacian(2, 2);
    argument.polynomial(&[0.0, -3.0, 0.0, 4.0])
}
