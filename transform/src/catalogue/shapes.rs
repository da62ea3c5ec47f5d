// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shapes that papers on stencil computation measure. Weights: see [`Shape`].

use super::{
    Domain, Entry,
    operator::Operator,
    shape::{
        Family::{Box, Diamond, Star},
        Shape,
    },
};

const CONV: &str = "Benchmark of ConvStencil (Chen et al. 2024), SparStencil and FlashFFTStencil";
const AN5D: &str = "Benchmark of AN5D (Matsumura et al. 2020)";
const FUSED: &str = "Kernel fusion of ConvStencil (Chen et al. 2024), steps of star2d1r in one";

pub(super) const DOMAIN: Domain =
    Domain { name: "shapes", about: "shapes that papers on stencil computation measure" };

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.update(
        "star1d1r",
        &["heat-1d", "1d3p", "1d3pt", "1d1r"],
        "3-point star, the 1D heat equation",
        CONV,
        || shape(Star, 1, 1),
    ),
    DOMAIN.update("star1d2r", &["1d5p", "1d5pt", "1d2r"], "5-point star of radius 2", CONV, || {
        shape(Star, 1, 2)
    }),
    DOMAIN.update(
        "star2d1r",
        &["heat-2d", "star-2d5p", "2d5pt"],
        "5-point star, the 2D heat equation",
        CONV,
        || shape(Star, 2, 1),
    ),
    DOMAIN.update("star2d2r", &["star-2d9p", "2ds9pt"], "9-point star of radius 2", AN5D, || {
        shape(Star, 2, 2)
    }),
    DOMAIN.update("star2d3r", &["star-2d13p", "2d13pt"], "13-point star of radius 3", CONV, || {
        shape(Star, 2, 3)
    }),
    DOMAIN.update(
        "box2d1r",
        &["box-2d9p", "2d9pt", "full-weighting-2d"],
        "3x3 box, binomial filter",
        CONV,
        || shape(Box, 2, 1),
    ),
    DOMAIN.update("box2d2r", &["box-2d25p", "2d25pt"], "5x5 box, binomial filter", AN5D, || {
        shape(Box, 2, 2)
    }),
    DOMAIN.update("box2d3r", &["box-2d49p", "2d49pt"], "7x7 box, binomial filter", CONV, || {
        shape(Box, 2, 3)
    }),
    DOMAIN.update(
        "diamond2d2r",
        &["diamond-2d13p"],
        "13-point diamond, two heat steps in one",
        FUSED,
        || shape(Diamond, 2, 2),
    ),
    DOMAIN.update(
        "diamond2d3r",
        &["diamond-2d25p"],
        "25-point diamond, three heat steps in one",
        FUSED,
        || shape(Diamond, 2, 3),
    ),
    DOMAIN.update(
        "star3d1r",
        &["heat-3d", "star-3d7p", "3d7pt"],
        "7-point star, the 3D heat equation",
        CONV,
        || shape(Star, 3, 1),
    ),
    DOMAIN.update("star3d2r", &["star-3d13p", "3d13pt"], "13-point star of radius 2", AN5D, || {
        shape(Star, 3, 2)
    }),
    DOMAIN.update(
        "box3d1r",
        &["box-3d27p", "3d27pt", "full-weighting-3d"],
        "3x3x3 box, binomial filter",
        CONV,
        || shape(Box, 3, 1),
    ),
    DOMAIN.update(
        "box3d2r",
        &["box-3d125p", "3d125pt"],
        "5x5x5 box, binomial filter",
        AN5D,
        || shape(Box, 3, 2),
    ),
];

fn shape(family: super::Family, dims: usize, radius: usize) -> Operator {
    let shape = Shape::new(family, dims, radius).expect("in range");
    Operator::from(&shape.stencil())
}
