// SPDX-License-Identifier: MIT OR Apache-2.0
//! Poisson's equation and multigrid: the operators, their smoothers and the grid transfers.

use super::{
    Domain, Entry,
    operator::{
        Operator, X, Y, along, compact_laplacian, from_fn, identity, laplacian, product_over,
        second_difference, sum_over,
    },
};
use crate::finite_difference::{AxisWeights, shifted};

const TROTTENBERG: &str = "Trottenberg, Oosterlee and Schüller, Multigrid (2001)";
const COLLATZ: &str = "Collatz, The Numerical Treatment of Differential Equations (1960), \
                       Mehrstellenverfahren";
const SPOTZ: &str = "Spotz and Carey, A high-order compact formulation for the 3D Poisson \
                     equation (1996)";
const STRANG: &str = "Strang and Fix, An Analysis of the Finite Element Method (1973)";
const SAAD: &str = "Saad, Iterative Methods for Sparse Linear Systems (2003)";
const HPCG: &str = "Dongarra, Heroux and Luszczek, HPCG benchmark (2016)";
const FORNBERG: &str = "Fornberg, Generation of finite difference formulas on arbitrarily spaced \
                        grids (1988)";

pub(super) const DOMAIN: Domain = Domain { name: "poisson", about: "Poisson and multigrid" };

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.difference("laplace2d", &["laplace2d-5p"], "5-point ∇²", TROTTENBERG, || {
        laplacian(2, 2)
    }),
    DOMAIN.difference("laplace3d", &["laplace3d-7p"], "7-point ∇²", TROTTENBERG, || {
        laplacian(3, 2)
    }),
    DOMAIN
        .difference("laplace2d-4th", &[], "4th-order ∇², a star", FORNBERG, || laplacian(2, 4)),
    DOMAIN
        .difference("laplace3d-6th", &[], "6th-order ∇², a star", FORNBERG, || laplacian(3, 6)),
    DOMAIN.difference("mehrstellen2d", &["laplace2d-9p"], "compact 9-point ∇²", COLLATZ, || {
        compact_laplacian(2, 1.0 / 6.0, 0.0)
    }),
    DOMAIN.difference("mehrstellen3d", &["laplace3d-19p"], "compact 19-point ∇²", SPOTZ, || {
        compact_laplacian(3, 1.0 / 6.0, 0.0)
    }),
    DOMAIN.filter(
        "mehrstellen2d-rhs",
        &[],
        "right-hand side of the compact 9-point ∇², 1 + ∇²/12",
        COLLATZ,
        || identity() + (1.0 / 12.0) * laplacian(2, 2),
    ),
    DOMAIN.difference("fem2d", &["laplace2d-q1"], "bilinear elements, 9 points", STRANG, || {
        compact_laplacian(2, 1.0 / 3.0, 0.0)
    }),
    DOMAIN.difference("fem3d", &["laplace3d-q1"], "trilinear elements, 21 points", STRANG, || {
        compact_laplacian(3, 1.0 / 3.0, 1.0 / 12.0)
    }),
    DOMAIN.update("jacobi2d", &["j2d4pt"], "Jacobi, no centre", SAAD, || {
        jacobi(laplacian(2, 2), 1.0)
    }),
    DOMAIN.update("jacobi3d", &["j3d6pt"], "Jacobi, no centre", SAAD, || {
        jacobi(laplacian(3, 2), 1.0)
    }),
    DOMAIN.update("jacobi2d-damped", &[], "Jacobi smoother, ω = 4/5", TROTTENBERG, || {
        jacobi(laplacian(2, 2), 4.0 / 5.0)
    }),
    DOMAIN.update("jacobi3d-damped", &[], "Jacobi smoother, ω = 6/7", TROTTENBERG, || {
        jacobi(laplacian(3, 2), 6.0 / 7.0)
    }),
    DOMAIN.update("jacobi2d-9p", &[], "Jacobi on the compact 9-point ∇²", SAAD, || {
        jacobi(compact_laplacian(2, 1.0 / 6.0, 0.0), 1.0)
    }),
    DOMAIN.update("jacobi2d-4th", &[], "damped Jacobi on the 4th-order ∇²", SAAD, || {
        jacobi(laplacian(2, 4), 4.0 / 5.0)
    }),
    DOMAIN.update("hpcg-jacobi", &["hpcg"], "damped Jacobi, 27 points, 26 and −1", HPCG, || {
        jacobi(from_fn(3, 1, |offset| if offset == [0; 3] { -26.0 } else { 1.0 }), 8.0 / 9.0)
    }),
    DOMAIN.update(
        "chebyshev2d-smoother",
        &[],
        "degree-3 Chebyshev smoother for the upper three quarters of the spectrum",
        SAAD,
        chebyshev_smoother,
    ),
    DOMAIN.filter("half-weighting-2d", &[], "restriction by 5 points", TROTTENBERG, || {
        0.5 * identity() + 0.125 * sum_over(2, |axis| along(axis, [(-1, 1.0), (1, 1.0)]))
    }),
    DOMAIN.filter(
        "cubic-restriction-2d",
        &[],
        "adjoint of cubic interpolation, with holes",
        TROTTENBERG,
        || product_over(2, |axis| along(axis, cubic_row())).normalised(),
    ),
    DOMAIN.difference("biharmonic2d", &["2d13p-biharmonic"], "13-point ∇⁴", COLLATZ, || {
        laplacian(2, 2).pow(2)
    }),
    DOMAIN.difference("biharmonic3d", &[], "25-point ∇⁴", COLLATZ, || laplacian(3, 2).pow(2)),
    DOMAIN.difference(
        "anisotropic-laplace2d",
        &[],
        "∇² on cells 4 times as wide as high",
        TROTTENBERG,
        || (1.0 / 16.0) * second_difference(X) + second_difference(Y),
    ),
];

/// One sweep for `operator(u) = 0`: the centre's share is solved for, damped by ω.
fn jacobi(operator: Operator, omega: f64) -> Operator {
    let centre = operator.weight([0; 3]);
    identity() - (omega / centre) * operator
}

/// `T₃((b + a + 2∇²) / (b − a)) / T₃((b + a) / (b − a))` for eigenvalues of −∇² in [a, b] = [2, 8].
fn chebyshev_smoother() -> Operator {
    let t3 = [0.0, -3.0, 0.0, 4.0];
    let at_zero = (8.0 + 2.0) / (8.0 - 2.0);
    let argument = at_zero * identity() + (2.0 / (8.0 - 2.0)) * laplacian(2, 2);
    argument.polynomial(&t3).normalised()
}

/// Weights by which a coarse point takes part in cubic interpolation of its fine neighbours.
fn cubic_row() -> AxisWeights {
    let halfway = shifted(0, -1, 2, 0.5).expect("four nodes");
    let odd = halfway.into_iter().map(|(node, weight)| (1 - 2 * node, weight));
    odd.chain([(0, 1.0)]).collect()
}
