// SPDX-License-Identifier: MIT OR Apache-2.0
//! Image filtering: smoothing, sharpening, edges, wavelets. Rows are y, downwards.

use super::{
    Domain, Entry,
    operator::{Operator, X, Y, Z, along, centred, from_fn, identity, laplacian, product_over},
};
use crate::finite_difference::AxisWeights;
use std::f64::consts::{SQRT_2, TAU};

const GONZALEZ: &str = "Gonzalez and Woods, Digital Image Processing (2018)";
const SCHARR: &str = "Scharr, Optimal operators in digital image processing (2000)";
const KIRSCH: &str = "Kirsch, Computer determination of the constituent structure of biological \
                      images (1971)";
const ROBERTS: &str = "Roberts, Machine perception of three-dimensional solids (1963)";
const FREI: &str = "Frei and Chen, Fast boundary detection (1977)";
const MARR: &str = "Marr and Hildreth, Theory of edge detection (1980)";
const STARCK: &str = "Starck and Murtagh, Astronomical Image and Data Analysis (2006), à-trous \
                      B3 spline";
const SAVITZKY: &str = "Savitzky and Golay, Smoothing and differentiation of data by simplified \
                        least squares procedures (1964)";
const UNSER: &str = "Unser, Splines: a perfect fit for signal and image processing (1999)";

pub(super) const DOMAIN: Domain = Domain { name: "image", about: "image filtering" };

pub(super) const ENTRIES: &[Entry] = &[
    DOMAIN.filter("mean-3x3", &[], "mean of 9 pixels", GONZALEZ, || mean(2, 1)),
    DOMAIN.filter("mean-5x5", &[], "mean of 25 pixels", GONZALEZ, || mean(2, 2)),
    DOMAIN.filter("mean-9x9", &[], "mean of 81 pixels", GONZALEZ, || mean(2, 4)),
    DOMAIN.filter("mean-3x3x3", &[], "mean of 27 voxels", GONZALEZ, || mean(3, 1)),
    DOMAIN.filter("gaussian-5x5", &[], "σ = 1", GONZALEZ, || gaussian(2, 2, 1.0)),
    DOMAIN.filter("gaussian-9x9", &[], "σ = 2", GONZALEZ, || gaussian(2, 4, 2.0)),
    DOMAIN.filter("gaussian-5x5x5", &[], "σ = 1", GONZALEZ, || gaussian(3, 2, 1.0)),
    DOMAIN.filter(
        "disk-7x7",
        &["defocus"],
        "mean within 3 pixels, an irregular shape",
        GONZALEZ,
        || from_fn(2, 3, |[_, y, x]| if x * x + y * y <= 9 { 1.0 } else { 0.0 }).normalised(),
    ),
    DOMAIN.filter("motion-blur-9", &[], "mean along a diagonal of 9 pixels", GONZALEZ, || {
        from_fn(2, 4, |[_, y, x]| if x == y { 1.0 } else { 0.0 }).normalised()
    }),
    DOMAIN.filter("savitzky-golay-7", &[], "7-point quadratic fit", SAVITZKY, || {
        savitzky_golay(X, 3)
    }),
    DOMAIN.filter("savitzky-golay-7x7", &[], "quadratic fits along x and y", SAVITZKY, || {
        product_over(2, |axis| savitzky_golay(axis, 3))
    }),
    DOMAIN.filter("quintic-spline-5x5", &[], "quintic B-spline at the pixels", UNSER, || {
        product_over(2, |axis| along(axis, (-2..=2).map(|k| (k, b_spline(5, k)))))
    }),
    DOMAIN.filter("a-trous-9x9", &[], "B3 spline, every 2nd pixel, with holes", STARCK, || {
        a_trous(2)
    }),
    DOMAIN.filter("a-trous-17x17", &[], "B3 spline, every 4th pixel, with holes", STARCK, || {
        a_trous(4)
    }),
    DOMAIN.filter("sharpen", &[], "1 − ∇²", GONZALEZ, || identity() - laplacian(2, 2)),
    DOMAIN.filter("unsharp-5x5", &[], "2 − gaussian, σ = 1", GONZALEZ, || {
        2.0 * identity() - gaussian(2, 2, 1.0)
    }),
    DOMAIN.filter("emboss", &[], "1 plus the slope along a diagonal", GONZALEZ, || {
        let slope = from_fn(2, 1, |[_, y, x]| f64::from(x + y));
        identity() + slope
    }),
    DOMAIN.difference("sobel-x", &["sobel"], "edges along x, 3x3", GONZALEZ, || {
        edge(centred([1.0, 2.0, 1.0]))
    }),
    DOMAIN.difference("sobel-5x5", &[], "edges along x, binomial smoothing", GONZALEZ, || {
        let smooth = |axis| along(axis, centred([1.0, 2.0, 1.0]));
        edge(centred([1.0, 2.0, 1.0])) * smooth(X) * smooth(Y)
    }),
    DOMAIN.difference("sobel-3d", &[], "edges along x, 3x3x3", GONZALEZ, || {
        edge(centred([1.0, 2.0, 1.0])) * along(Z, centred([1.0, 2.0, 1.0]))
    }),
    DOMAIN.difference("prewitt-x", &["prewitt"], "edges along x, 3x3", GONZALEZ, || {
        edge(centred([1.0, 1.0, 1.0]))
    }),
    DOMAIN.difference("scharr-x", &["scharr"], "edges along x, 3x3", SCHARR, || {
        edge(centred([3.0, 10.0, 3.0]))
    }),
    DOMAIN.difference("frei-chen-x", &[], "edges along x, 3x3", FREI, || {
        edge(centred([1.0, SQRT_2, 1.0]))
    }),
    DOMAIN.difference("kirsch", &[], "edges to the north, 3x3", KIRSCH, || {
        from_fn(2, 1, |offset| match offset {
            [0, 0, 0] => 0.0,
            [_, -1, _] => 5.0,
            _ => -3.0,
        })
    }),
    DOMAIN.difference("roberts", &[], "edges across a diagonal, 2 pixels", ROBERTS, || {
        from_fn(2, 1, |offset| match offset {
            [0, 0, 0] => 1.0,
            [0, 1, 1] => -1.0,
            _ => 0.0,
        })
    }),
    DOMAIN.difference("laplacian-3x3", &[], "8 neighbours", GONZALEZ, || {
        from_fn(2, 1, |offset| if offset == [0; 3] { -8.0 } else { 1.0 })
    }),
    DOMAIN.difference(
        "log-9x9",
        &["mexican-hat"],
        "Laplacian of a Gaussian, σ = 1.4",
        MARR,
        || laplacian_of_gaussian(4, 1.4),
    ),
    DOMAIN.difference("dog-9x9", &[], "difference of Gaussians, σ = 1 and 1.6", MARR, || {
        gaussian(2, 4, 1.0) - gaussian(2, 4, 1.6)
    }),
];

fn mean(dims: usize, radius: i32) -> Operator {
    from_fn(dims, radius, |_| 1.0).normalised()
}

/// `exp(−r²/2σ²)`, cut off at `radius`, scaled to sum 1.
fn gaussian(dims: usize, radius: i32, sigma: f64) -> Operator {
    let row = |k: i32| (-f64::from(k * k) / (2.0 * sigma * sigma)).exp();
    product_over(dims, |axis| along(axis, (-radius..=radius).map(|k| (k, row(k))))).normalised()
}

/// `∇² exp(−r²/2σ²)`, normalised for its Gaussian; its mean is taken away, so that the weights sum
/// to 0 although it is cut off.
fn laplacian_of_gaussian(radius: i32, sigma: f64) -> Operator {
    let sigma2 = sigma * sigma;
    let value = |[_, y, x]: [i32; 3]| {
        let r2 = f64::from(x * x + y * y);
        (r2 - 2.0 * sigma2) / (sigma2 * sigma2) * (-r2 / (2.0 * sigma2)).exp()
    };
    let scale: f64 = 1.0 / (TAU * sigma2);
    let cut = from_fn(2, radius, |offset| scale * value(offset));
    let excess = cut.sum();
    cut - excess * mean(2, radius)
}

/// `(−1, 0, 1)` along x, smoothed along y.
fn edge(smooth: AxisWeights) -> Operator {
    along(X, [(-1, -1.0), (1, 1.0)]) * along(Y, smooth)
}

/// The B3 spline (1, 4, 6, 4, 1)/16 with its points `step` pixels apart.
fn a_trous(step: i32) -> Operator {
    let spread = |axis| along(axis, [(-step, 1.0), (0, 2.0), (step, 1.0)]).pow(2);
    product_over(2, spread).normalised()
}

/// The centre's value of the least-squares parabola through `2m + 1` points.
fn savitzky_golay(axis: usize, m: i32) -> Operator {
    let weight = |k: i32| f64::from(3 * m * m + 3 * m - 1 - 5 * k * k);
    along(axis, (-m..=m).map(|k| (k, weight(k)))).normalised()
}

/// The B-spline of odd degree n at a whole number: the (n + 1)th difference of `max(x, 0)ⁿ / n!`.
fn b_spline(degree: i32, at: i32) -> f64 {
    let knots = 0..=degree + 1;
    let scaled = knots.fold((0.0, 1.0), |(sum, choose), j| {
        let beyond = f64::from((at + (degree + 1) / 2 - j).max(0));
        let next = -choose * f64::from(degree + 1 - j) / f64::from(j + 1);
        (sum + choose * beyond.powi(degree), next)
    });
    scaled.0 / (1..=degree).map(f64::from).product::<f64>()
}
