// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waves and seismics: `u_tt = ∇²u`.
//!
//! Leapfrog needs two levels, `u(t+Δt) = (2 + Δt²∇²) u(t) − u(t−Δt)`. On one field an entry is half
//! of the bracket, `1 + Δt²∇²/2`: the step that starts it from rest, in points and weights what a
//! leapfrog sweep reads. Stepped on it computes diffusion: the field has no velocity. Δt is 0.8 of the stability limit, `Δt² Σ|weight| = 4`.

use super::{
    Domain, Entry,
    operator::{Operator, X, Y, Z, compact_laplacian, derivative, identity, laplacian},
};

const COHEN: &str = "Cohen, Higher-Order Numerical Methods for Transient Wave Equations (2002); \
                     weights: Fornberg (1988)";
const DABLAIN: &str = "Dablain, The application of high-order differencing to the scalar wave \
                       equation (1986)";
const DEVITO: &str = "Luporini et al., Architecture and performance of Devito (2020), acoustic";
const KUMAR: &str = "Kumar, Isotropic finite-differences (2004)";
const SPOTZ: &str = "Spotz and Carey, A high-order compact formulation for the 3D Poisson \
                     equation (1996), 27 points";
const ALKHALIFAH: &str = "Alkhalifah, An acoustic wave equation for anisotropic media (2000)";
const FLETCHER: &str = "Fletcher, Du and Fowler, Reverse time migration in tilted transversely \
                        isotropic media (2009), its operator across the layers";

pub(super) const DOMAIN: Domain = Domain { name: "wave", about: "waves and seismics" };

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.first_step("wave1d", &[], "2nd-order in space", COHEN, || start(laplacian(1, 2))),
    DOMAIN.first_step("wave1d-4th", &[], "4th-order in space", COHEN, || start(laplacian(1, 4))),
    DOMAIN.first_step("wave1d-8th", &[], "8th-order in space", COHEN, || start(laplacian(1, 8))),
    DOMAIN.first_step("wave2d", &[], "2nd-order in space", COHEN, || start(laplacian(2, 2))),
    DOMAIN.first_step("wave2d-4th", &[], "4th-order in space", COHEN, || start(laplacian(2, 4))),
    DOMAIN.first_step("wave2d-6th", &[], "6th-order in space", COHEN, || start(laplacian(2, 6))),
    DOMAIN.first_step("wave2d-8th", &[], "8th-order in space", COHEN, || start(laplacian(2, 8))),
    DOMAIN
        .first_step("wave2d-16th", &[], "16th-order in space", DEVITO, || start(laplacian(2, 16))),
    DOMAIN.first_step("wave3d", &[], "2nd-order in space", COHEN, || start(laplacian(3, 2))),
    DOMAIN.first_step("wave3d-4th", &["acoustic3d-13p"], "4th-order in space", DEVITO, || {
        start(laplacian(3, 4))
    }),
    DOMAIN.first_step("wave3d-6th", &["acoustic3d-19p"], "6th-order in space", DEVITO, || {
        start(laplacian(3, 6))
    }),
    DOMAIN.first_step("wave3d-8th", &["acoustic3d-25p"], "8th-order in space", DEVITO, || {
        start(laplacian(3, 8))
    }),
    DOMAIN.first_step("wave3d-16th", &["acoustic3d-49p"], "16th-order in space", DEVITO, || {
        start(laplacian(3, 16))
    }),
    DOMAIN.first_step("wave2d-isotropic", &[], "9-point ∇²", KUMAR, || {
        start(compact_laplacian(2, 1.0 / 6.0, 0.0))
    }),
    DOMAIN.first_step("wave3d-isotropic", &[], "27-point ∇²", SPOTZ, || {
        start(compact_laplacian(3, 1.0 / 6.0, 1.0 / 30.0))
    }),
    DOMAIN.first_step("wave2d-dablain", &[], "4th-order in time and space", DABLAIN, || dablain(2)),
    DOMAIN.first_step("wave3d-dablain", &[], "4th-order in time and space", DABLAIN, || dablain(3)),
    DOMAIN.first_step(
        "seismic2d-vti",
        &["vti2d"],
        "8th-order, ε = 0.2, layers flat",
        ALKHALIFAH,
        || start((1.0 + 2.0 * 0.2) * derivative(X, 2, 8) + derivative(Y, 2, 8)),
    ),
    DOMAIN.first_step(
        "seismic3d-vti",
        &["vti3d"],
        "8th-order, ε = 0.2, layers flat",
        ALKHALIFAH,
        || start((1.0 + 2.0 * 0.2) * laplacian(2, 8) + derivative(Z, 2, 8)),
    ),
    DOMAIN.first_step(
        "seismic2d-tti",
        &["tti2d"],
        "8th-order, ε = 0.2, layers at 30°",
        FLETCHER,
        || start(tilted(0.2, 30.0)),
    ),
    DOMAIN.difference("strain2d-8th", &[], "8th-order ∂²/∂x∂y, a box", COHEN, || {
        derivative(X, 1, 8) * derivative(Y, 1, 8)
    }),
];

/// `Δt²` as a multiple of `operator`, at 0.8 of the longest stable Δt.
fn scaled(operator: Operator) -> Operator {
    let limit = 4.0 / operator.gain();
    (0.8 * 0.8 * limit) * operator
}

fn start(operator: Operator) -> Operator {
    identity() + 0.5 * scaled(operator)
}

/// With the next term of cosine's series, `(Δt²∇²)²/24`.
fn dablain(dims: usize) -> Operator {
    scaled(laplacian(dims, 4)).polynomial(&[1.0, 1.0 / 2.0, 1.0 / 24.0])
}

/// `(1 + 2ε) ∂²` along layers tilted by `degrees` and `∂²` across them.
fn tilted(epsilon: f64, degrees: f64) -> Operator {
    let (sin, cos) = f64::to_radians(degrees).sin_cos();
    let second = |axis| derivative(axis, 2, 8);
    let cross = derivative(X, 1, 8) * derivative(Y, 1, 8);
    let fast = 1.0 + 2.0 * epsilon;
    (fast * cos * cos + sin * sin) * second(X)
        + (fast * sin * sin + cos * cos) * second(Y)
        + (2.0 * (fast - 1.0) * sin * cos) * cross
}
