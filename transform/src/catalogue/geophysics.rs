// SPDX-License-Identifier: MIT OR Apache-2.0
//! Geophysics and weather: filters and hyperdiffusion of atmosphere models, transport by a known
//! wind, potential fields and terrain.

use super::{
    Domain, Entry,
    operator::{
        Operator, X, Y, along, axes, derivative, explicit, from_fn, identity, laplacian,
        product_over, second_difference, sum_over,
    },
};
use crate::finite_difference::{on_offsets, shifted};

const SHAPIRO: &str = "Shapiro, Smoothing, filtering, and boundary effects (1970)";
const DURRAN: &str = "Durran, Numerical Methods for Fluid Dynamics (2010)";
const COSMO: &str = "Gysi et al., Domain-specific multi-level IR rewriting for GPU (2021), \
                     horizontal diffusion without limiter";
const STANIFORTH: &str = "Staniforth and Côté, Semi-Lagrangian integration schemes for atmospheric \
                          models (1991)";
const WICKER: &str = "Wicker and Skamarock, Time-splitting methods for elastic models (2002)";
const ARAKAWA: &str = "Arakawa, Computational design for long-term numerical integration of the \
                       equations of fluid motion (1966)";
const BEAR: &str = "Bear, Dynamics of Fluids in Porous Media (1972)";
const BLAKELY: &str = "Blakely, Potential Theory in Gravity and Magnetic Applications (1995)";
const WEISS: &str = "Weiss, Topographic position and landforms analysis (2001)";
const NCL: &str = "NCAR Command Language, smth9";

pub(super) const DOMAIN: Domain = Domain { name: "geophysics", about: "geophysics and weather" };

/// The wind as a Courant number along each axis (z, y, x).
const WIND: [f64; 3] = [0.15, 0.35, 0.6];

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.update("shapiro1d-2nd", &[], "1 − δ⁴/16", SHAPIRO, || shapiro(X, 2)),
    DOMAIN.update("shapiro1d-8th", &[], "1 − (δ²/4)⁸", SHAPIRO, || shapiro(X, 8)),
    DOMAIN.update("shapiro2d-2nd", &[], "1 − δ⁴/16 along x and y", SHAPIRO, || {
        product_over(2, |axis| shapiro(axis, 2))
    }),
    DOMAIN.update("shapiro2d-4th", &[], "1 − (δ²/4)⁴ along x and y", SHAPIRO, || {
        product_over(2, |axis| shapiro(axis, 4))
    }),
    DOMAIN.update("hyperdiffusion2d", &["hdiff"], "1 − ∇⁴/32, 13 points", COSMO, || {
        identity() - (1.0 / 32.0) * laplacian(2, 2).pow(2)
    }),
    DOMAIN.update("hyperdiffusion2d-6th", &[], "∇⁶, 25 points", DURRAN, || {
        explicit(laplacian(2, 2).pow(3))
    }),
    DOMAIN.update("hyperdiffusion2d-8th", &[], "−∇⁸, 41 points", DURRAN, || {
        explicit(-laplacian(2, 2).pow(4))
    }),
    DOMAIN.update("hyperdiffusion3d", &[], "−∇⁴, 25 points", DURRAN, || {
        explicit(-laplacian(3, 2).pow(2))
    }),
    DOMAIN.filter("smth9", &[], "light 9-point smoother, p = 1/2, q = −1/4", NCL, || {
        let [p, q] = [0.5, -0.25];
        let corners = from_fn(2, 1, |[_, y, x]| if x * y == 0 { 0.0 } else { 1.0 });
        identity() + (p / 4.0) * laplacian(2, 2) + (q / 4.0) * (corners - 4.0 * identity())
    }),
    DOMAIN.update("semi-lagrangian-1d", &[], "cubic interpolation upstream", STANIFORTH, || {
        semi_lagrangian(1, -2, 1)
    }),
    DOMAIN.update("semi-lagrangian-2d", &[], "bicubic, 16 points", STANIFORTH, || {
        semi_lagrangian(2, -2, 1)
    }),
    DOMAIN.update("semi-lagrangian-2d-linear", &[], "bilinear, 4 points", STANIFORTH, || {
        semi_lagrangian(2, -1, 0)
    }),
    DOMAIN.update("semi-lagrangian-3d", &[], "tricubic, 64 points", STANIFORTH, || {
        semi_lagrangian(3, -2, 1)
    }),
    DOMAIN.difference("wind-advection-2d-5th", &[], "5th-order upwind", WICKER, || {
        let slope = |axis| along(axis, on_offsets(1, -3, 2).expect("six offsets"));
        sum_over(2, |axis| WIND[axis] * slope(axis))
    }),
    DOMAIN.difference("arakawa-jacobian", &[], "J(ψ, ζ) for a uniform wind", ARAKAWA, arakawa),
    DOMAIN.update("helmholtz2d-jacobi", &[], "Jacobi sweep for u − 4∇²u", DURRAN, || {
        helmholtz_jacobi(2, 4.0)
    }),
    DOMAIN.update("helmholtz3d-jacobi", &[], "Jacobi sweep for u − 4∇²u", DURRAN, || {
        helmholtz_jacobi(3, 4.0)
    }),
    DOMAIN.update("groundwater2d", &[], "aquifer, conductivity 3 : 1", BEAR, || {
        explicit(3.0 * second_difference(X) + second_difference(Y))
    }),
    DOMAIN.filter(
        "upward-continuation",
        &[],
        "gravity one spacing higher: h / 2π(x² + y² + h²)^{3/2}, cut off and scaled to 1",
        BLAKELY,
        || {
            let distance2 = |[_, y, x]: [i32; 3]| f64::from(x * x + y * y) + 1.0;
            from_fn(2, 6, |offset| distance2(offset).powf(-1.5)).normalised()
        },
    ),
    DOMAIN.difference("topographic-position", &["tpi"], "height less a ring's mean", WEISS, || {
        let ring = from_fn(2, 4, |[_, y, x]| {
            let distance2 = x * x + y * y;
            if (9..=16).contains(&distance2) { 1.0 } else { 0.0 }
        });
        identity() - ring.normalised()
    }),
];

/// `1 − (−δ²/4)ⁿ`: takes away waves of two spacings, leaves long ones.
fn shapiro(axis: usize, order: usize) -> Operator {
    identity() - (-0.25 * second_difference(axis)).pow(order)
}

/// The value where the wind came from, by the polynomial through the offsets on each axis.
fn semi_lagrangian(dims: usize, from: i32, to: i32) -> Operator {
    product_over(dims, |axis| {
        along(axis, shifted(0, from, to, -WIND[axis]).expect("distinct offsets"))
    })
}

/// Arakawa's mean of three Jacobians. For ψ linear two of them are central differences, and the
/// third takes these on the neighbouring rows.
fn arakawa() -> Operator {
    let mean = |axis| along(axis, [(-1, 0.5), (1, 0.5)]);
    let slope =
        |axis, across| (2.0 / 3.0 * identity() + 1.0 / 3.0 * mean(across)) * derivative(axis, 1, 2);
    WIND[X] * slope(X, Y) + WIND[Y] * slope(Y, X)
}

/// One Jacobi sweep for `u − λ²∇²u = 0`, the implicit part of a semi-implicit step.
fn helmholtz_jacobi(dims: usize, lambda2: f64) -> Operator {
    let neighbours = sum_over(dims, |axis| along(axis, [(-1, 1.0), (1, 1.0)]));
    let sides = 2.0 * axes(dims).len() as f64;
    (lambda2 / (1.0 + sides * lambda2)) * neighbours
}
