// SPDX-License-Identifier: MIT OR Apache-2.0
//! Phase fields: the linear operators of the classical models about a stable state, in explicit
//! steps at half the stability limit.

use super::{
    Domain, Entry,
    operator::{Operator, compact_laplacian, explicit, identity, laplacian},
};
use std::f64::consts::PI;

const ALLEN: &str = "Allen and Cahn, A microscopic theory for antiphase boundary motion (1979)";
const CAHN: &str = "Cahn and Hilliard, Free energy of a nonuniform system (1958)";
const SWIFT: &str = "Swift and Hohenberg, Hydrodynamic fluctuations at the convective instability \
                     (1977)";
const ELDER: &str = "Elder, Katakowski, Haataja and Grant, Modeling elasticity in crystal growth \
                     (2002)";
const MULLINS: &str = "Mullins, Theory of thermal grooving (1957)";
const OHTA: &str = "Ohta and Kawasaki, Equilibrium morphology of block copolymer melts (1986)";

pub(super) const DOMAIN: Domain = Domain { name: "phase-field", about: "phase fields" };

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.update("allen-cahn-2d", &[], "∇²u − 2u", ALLEN, || allen_cahn(laplacian(2, 2))),
    DOMAIN.update("allen-cahn-3d", &[], "∇²u − 2u", ALLEN, || allen_cahn(laplacian(3, 2))),
    DOMAIN.update("allen-cahn-3d-isotropic", &[], "∇²u − 2u, 27 points", ALLEN, || {
        allen_cahn(compact_laplacian(3, 1.0 / 6.0, 1.0 / 30.0))
    }),
    DOMAIN.update("cahn-hilliard-2d", &[], "∇²(2u − ∇²u)", CAHN, || {
        cahn_hilliard(laplacian(2, 2))
    }),
    DOMAIN.update("cahn-hilliard-2d-4th", &[], "∇²(2u − ∇²u), 4th-order", CAHN, || {
        cahn_hilliard(laplacian(2, 4))
    }),
    DOMAIN.update("cahn-hilliard-3d", &[], "∇²(2u − ∇²u)", CAHN, || {
        cahn_hilliard(laplacian(3, 2))
    }),
    DOMAIN.update("swift-hohenberg-2d", &[], "−u/10 − (1 + ∇²)²u", SWIFT, || {
        swift_hohenberg(2)
    }),
    DOMAIN.update("swift-hohenberg-3d", &[], "−u/10 − (1 + ∇²)²u", SWIFT, || {
        swift_hohenberg(3)
    }),
    DOMAIN.update(
        "phase-field-crystal-2d",
        &["pfc2d"],
        "∇²(u/10 + (1 + ∇²)²u)",
        ELDER,
        || crystal(2),
    ),
    DOMAIN.update(
        "phase-field-crystal-3d",
        &["pfc3d"],
        "∇²(u/10 + (1 + ∇²)²u)",
        ELDER,
        || crystal(3),
    ),
    DOMAIN.update("surface-diffusion-2d", &[], "−∇⁴u", MULLINS, || {
        explicit(-laplacian(2, 2).pow(2))
    }),
    DOMAIN.update("block-copolymer-2d", &[], "∇²(2u − ∇²u) − u/2", OHTA, || {
        let laplacian = laplacian(2, 2);
        explicit(laplacian.polynomial(&[-0.5, 2.0, -1.0]))
    }),
];

/// About u = ±1 in the double well (u² − 1)²/4, whose second derivative is 2.
fn allen_cahn(laplacian: Operator) -> Operator {
    explicit(laplacian.polynomial(&[-2.0, 1.0]))
}

/// About the same state; conserved.
fn cahn_hilliard(laplacian: Operator) -> Operator {
    explicit(laplacian.polynomial(&[0.0, 2.0, -1.0]))
}

/// `∇²` with 8 grid points to the pattern's wavelength, 2π.
fn per_pattern(dims: usize) -> Operator {
    let spacing = PI / 4.0;
    (1.0 / (spacing * spacing)) * laplacian(dims, 2)
}

/// `(1 + ∇²)²`.
fn pattern(dims: usize) -> Operator {
    (identity() + per_pattern(dims)).pow(2)
}

/// Below the threshold, ε = −1/10, where the uniform state is stable.
fn swift_hohenberg(dims: usize) -> Operator {
    explicit(-0.1 * identity() - pattern(dims))
}

/// Above freezing, r = 1/10, where the liquid is stable.
fn crystal(dims: usize) -> Operator {
    explicit(per_pattern(dims) * (0.1 * identity() + pattern(dims)))
}
