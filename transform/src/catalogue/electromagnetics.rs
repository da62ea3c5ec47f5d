// SPDX-License-Identifier: MIT OR Apache-2.0
//! Electromagnetics: differences on Yee's grid, one field component at a time, fields in matter,
//! and filters of particle-in-cell codes.

use super::{
    Domain, Entry,
    operator::{
        Operator, X, Y, Z, along, centred, explicit, identity, laplacian, product_over, sum_over,
    },
};
use crate::finite_difference::staggered;

const YEE: &str = "Yee, Numerical solution of initial boundary value problems involving Maxwell's \
                   equations in isotropic media (1966)";
const TAFLOVE: &str = "Taflove and Hagness, Computational Electrodynamics (2005), FDTD(2,4) and \
                       higher orders; weights: Fornberg (1988)";
const COLE: &str = "Cowan et al., Generalized algorithm for control of numerical dispersion in \
                    explicit time-domain electromagnetic simulations (2013), after Cole and \
                    Kärkkäinen";
const JACKSON: &str =
    "Jackson, Classical Electrodynamics (1998), diffusion of fields in conductors";
const BIRDSALL: &str = "Birdsall and Langdon, Plasma Physics via Computer Simulation (1985), \
                        digital filtering";
const SCHARFETTER: &str = "Scharfetter and Gummel, Large-signal analysis of a silicon Read diode \
                           oscillator (1969)";

pub(super) const DOMAIN: Domain = Domain { name: "electromagnetics", about: "electromagnetics" };

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN
        .difference("yee", &["fdtd22"], "half-way difference of 2nd order", YEE, || half_way(X, 2)),
    DOMAIN
        .difference("fdtd24", &[], "half-way difference of 4th order", TAFLOVE, || half_way(X, 4)),
    DOMAIN
        .difference("fdtd26", &[], "half-way difference of 6th order", TAFLOVE, || half_way(X, 6)),
    DOMAIN.difference("fdtd2-16", &[], "half-way difference of 16th order", TAFLOVE, || {
        half_way(X, 16)
    }),
    DOMAIN.difference("cole-karkkainen-2d", &["ck2d"], "widened, 6 points", COLE, || {
        widened(Y, 1.0 / 8.0) * half_way(X, 2)
    }),
    DOMAIN.difference("cole-karkkainen-3d", &["ck3d"], "widened, 18 points", COLE, || {
        let ring = |y: i32, z: i32| match y * y + z * z {
            0 => 7.0 / 12.0,
            1 => 1.0 / 12.0,
            _ => 1.0 / 48.0,
        };
        let span = (-1..=1).flat_map(|z| (-1..=1).map(move |y| (z, y)));
        let wide = span.map(|(z, y)| ring(y, z) * (along(Z, [(z, 1.0)]) * along(Y, [(y, 1.0)])));
        wide.fold(Operator::default(), |sum, term| sum + term) * half_way(X, 2)
    }),
    DOMAIN.first_step("fdtd24-ez-2d", &[], "E from rest, FDTD(2,4)", TAFLOVE, || from_rest(2, 4)),
    DOMAIN.first_step("fdtd24-ez-3d", &[], "E from rest, FDTD(2,4)", TAFLOVE, || from_rest(3, 4)),
    DOMAIN.first_step("fdtd26-ez-3d", &[], "E from rest, FDTD(2,6)", TAFLOVE, || from_rest(3, 6)),
    DOMAIN.update("eddy-current-2d", &[], "magnetic diffusion with a loss", JACKSON, || {
        explicit(laplacian(2, 2).polynomial(&[-0.1, 1.0]))
    }),
    DOMAIN.update("eddy-current-3d-6th", &[], "magnetic diffusion, 6th-order", JACKSON, || {
        explicit(laplacian(3, 6))
    }),
    DOMAIN.update("drift-diffusion-1d", &[], "electrons in a uniform field", SCHARFETTER, || {
        explicit(scharfetter_gummel(X, 1.0))
    }),
    DOMAIN.update("drift-diffusion-2d", &[], "electrons in a uniform field", SCHARFETTER, || {
        explicit(scharfetter_gummel(X, 1.0) + scharfetter_gummel(Y, 0.5))
    }),
    DOMAIN.filter("pic-filter-2d", &[], "4 binomial passes and compensation", BIRDSALL, || {
        product_over(2, |axis| compensated(axis, 4))
    }),
    DOMAIN.filter("pic-filter-3d", &[], "a binomial pass and compensation", BIRDSALL, || {
        product_over(3, |axis| compensated(axis, 1))
    }),
];

/// The derivative half a spacing to the right.
fn half_way(axis: usize, accuracy: usize) -> Operator {
    along(axis, staggered(accuracy))
}

fn widened(axis: usize, beside: f64) -> Operator {
    along(axis, centred([beside, 1.0 - 2.0 * beside, beside]))
}

/// `1 + Δt²/2 ∇²`, the first step from rest, at 0.8 of the stability limit; ∇² is the half-way
/// difference applied twice, once to each side.
fn from_rest(dims: usize, accuracy: usize) -> Operator {
    let twice = sum_over(dims, |axis| {
        let right = half_way(axis, accuracy);
        let left = along(axis, staggered(accuracy).into_iter().map(|(k, weight)| (k - 1, weight)));
        right * left
    });
    let limit = 4.0 / twice.gain();
    identity() + (0.5 * 0.8 * 0.8 * limit) * twice
}

/// Fluxes between cells by Bernoulli's function `B(p) = p / (eᵖ − 1)` of the cell's Péclet number.
fn scharfetter_gummel(axis: usize, peclet: f64) -> Operator {
    let bernoulli = |p: f64| p / p.exp_m1();
    let (left, right) = (bernoulli(-peclet), bernoulli(peclet));
    along(axis, centred([left, -(left + right), right]))
}

/// `passes` times (1, 2, 1)/4, then what undoes their loss at long waves, `1 − passes · δ²/4`.
fn compensated(axis: usize, passes: usize) -> Operator {
    let smooth = along(axis, centred([0.25, 0.5, 0.25])).pow(passes);
    let n = passes as f64 / 4.0;
    smooth * along(axis, centred([-n, 1.0 + 2.0 * n, -n]))
}
