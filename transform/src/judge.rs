// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether tensor cores help, and which engine to take ("Do we need tensor cores for stencil
//! computations?").
//!
//! A stencil of K points in a type of D bytes needs C = 2K flop a step and M = 2D bytes of memory
//! traffic a sweep. CUDA cores that do t steps a sweep: intensity I = tK/D. One fused kernel on tensor
//! cores does α times the useful work, α = K_fused/(tK), and of what it multiplies only a fraction S is
//! not zero: I = (α/S)·tK/D, of which S/α is useful.

use crate::machine::{Machine, Precision};
use crate::model::{Bound, Time};
use serde::Serialize;
use std::fmt;

/// What an output asks of a machine, in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Demand {
    /// Operations: C.
    pub flop: f64,
    /// Bytes of memory traffic: M.
    pub bytes: f64,
}

impl Demand {
    /// `steps` steps of a stencil of `points` points on CUDA cores (equation 8).
    #[must_use]
    pub fn on_cuda_cores(points: usize, steps: usize, precision: Precision) -> Self {
        Self { flop: (2 * points * steps) as f64, bytes: (2 * precision.bytes()) as f64 }
    }

    /// The same in one product on tensor cores (equation 11).
    #[must_use]
    pub fn on_tensor_cores(self, alpha: f64, sparsity: f64) -> Self {
        Self { flop: self.flop * alpha / sparsity, ..self }
    }

    /// Operations a byte: I.
    #[must_use]
    pub fn intensity(self) -> f64 {
        self.flop / self.bytes
    }
}

/// A demand under the roof of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Roof {
    /// What an output asks.
    pub demand: Demand,
    /// Operations a byte: I.
    pub intensity: f64,
    /// The intensity from which on arithmetic is the limit.
    pub ridge: f64,
    /// Whether memory is the limit.
    pub memory_bound: bool,
    /// Operations in a second that the roof allows.
    pub flop_per_s: f64,
}

impl Roof {
    fn new(demand: Demand, peak: f64, bytes_per_s: f64) -> Self {
        let (intensity, ridge) = (demand.intensity(), peak / bytes_per_s);
        let flop_per_s = peak.min(bytes_per_s * intensity);
        Self { demand, intensity, ridge, memory_bound: intensity < ridge, flop_per_s }
    }

    /// Outputs in a second.
    #[must_use]
    pub fn outputs_per_s(&self) -> f64 {
        self.flop_per_s / self.demand.flop
    }
}

/// The four cases of §4.1, by what limits CUDA cores and tensor cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// Memory, memory: as fast on either.
    NoGain,
    /// Memory, arithmetic: tensor cores lose.
    Loses,
    /// Arithmetic, memory: tensor cores win.
    Wins,
    /// Arithmetic, arithmetic: they win where α < S · P_TC / P_CC.
    Depends,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoGain => "both wait for memory: tensor cores gain nothing",
            Self::Loses => {
                "CUDA cores wait for memory, tensor cores would for arithmetic: they lose"
            }
            Self::Wins => "CUDA cores wait for arithmetic, tensor cores for memory: they win",
            Self::Depends => "both wait for arithmetic: tensor cores win where α < S·P_TC/P_CC",
        })
    }
}

/// CUDA cores against tensor cores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Redundancy of fusing: α.
    pub alpha: f64,
    /// Fraction of the multiplied matrix that is not zero: S.
    pub sparsity: f64,
    /// CUDA cores.
    pub cuda: Roof,
    /// Tensor cores.
    pub tensor: Roof,
    /// The case.
    pub scenario: Scenario,
    /// Outputs in a second on tensor cores, over those on CUDA cores (equation 13).
    pub speedup: f64,
}

impl Verdict {
    /// The most redundancy with which tensor cores win where both wait for arithmetic (equation 19).
    #[must_use]
    pub fn alpha_limit(&self) -> f64 {
        self.sparsity * self.tensor.ridge / self.cuda.ridge
    }

    /// The case, with the numbers that decide it.
    #[must_use]
    pub fn reason(&self) -> String {
        let (alpha, limit) = (self.alpha, self.alpha_limit());
        match self.scenario {
            Scenario::Depends if alpha < limit => format!(
                "both wait for arithmetic, and α = {alpha:.2} < S·P_TC/P_CC = {limit:.2}: tensor \
                 cores win"
            ),
            Scenario::Depends => format!(
                "both wait for arithmetic, and α = {alpha:.2} ≥ S·P_TC/P_CC = {limit:.2}: tensor \
                 cores lose"
            ),
            scenario => scenario.to_string(),
        }
    }
}

/// Compares a unit of tensor cores of the given peak with the CUDA cores.
#[must_use]
pub fn judge(
    machine: &Machine,
    precision: Precision,
    peak: f64,
    demand: Demand,
    alpha: f64,
    sparsity: f64,
) -> Verdict {
    let bytes_per_s = machine.copy_bytes_per_s;
    let cuda = Roof::new(demand, machine.rates(precision).cuda, bytes_per_s);
    let tensor = Roof::new(demand.on_tensor_cores(alpha, sparsity), peak, bytes_per_s);
    let scenario = match (cuda.memory_bound, tensor.memory_bound) {
        (true, true) => Scenario::NoGain,
        (true, false) => Scenario::Loses,
        (false, true) => Scenario::Wins,
        (false, false) => Scenario::Depends,
    };
    let speedup = tensor.outputs_per_s() / cuda.outputs_per_s();
    Verdict { alpha, sparsity, cuda, tensor, scenario, speedup }
}

/// The kinds of engine, the simplest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// CUDA cores.
    Cuda,
    /// Sparse tensor cores.
    Sparse,
    /// Dense tensor cores.
    Dense,
    /// Fourier transforms on tensor cores.
    Fft,
    /// The CPU.
    Cpu,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cuda => "cuda",
            Self::Sparse => "sparse",
            Self::Dense => "dense",
            Self::Fft => "fft",
            Self::Cpu => "cpu",
        })
    }
}

/// What an engine promises, or why it is out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The engine.
    pub engine: Engine,
    /// 10⁹ points and steps in a second; none where it is out.
    pub gstencils_per_s: Option<f64>,
    /// What limits it, or why it is out.
    pub reason: String,
}

/// Which engine to take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// The engine.
    pub engine: Engine,
    /// Why.
    pub reason: String,
    /// All engines.
    pub forecasts: Vec<Forecast>,
    /// Sparse tensor cores against CUDA cores.
    pub sparse: Verdict,
    /// Dense tensor cores against CUDA cores.
    pub dense: Verdict,
}

/// A sweep on a unit of tensor cores.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Steps in the sweep: t.
    pub steps: usize,
    /// Points of the stencil that does as many steps at once.
    pub fused_points: usize,
    /// Nonzero fraction of the product's matrix, fragments filled up: S.
    pub fraction: f64,
    /// Peak of the unit.
    pub peak: f64,
    /// Seconds of the sweep by the layout model.
    pub time: Time,
}

/// What the recommendation depends on.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The GPU.
    pub machine: &'a Machine,
    /// Type of the values.
    pub precision: Precision,
    /// Points of the grid.
    pub grid_points: usize,
    /// Points of the stencil: K.
    pub points: usize,
    /// Steps that a sweep may do at most.
    pub most_steps: usize,
    /// Sparse units, the layout at its own best number of steps.
    pub sparse: Product,
    /// The same without permutation, on dense units.
    pub dense: Product,
}

impl Case<'_> {
    /// A product against CUDA cores that do as many steps.
    fn verdict(&self, product: &Product) -> Verdict {
        let Product { steps, fused_points, fraction, peak, .. } = *product;
        let demand = Demand::on_cuda_cores(self.points, steps, self.precision);
        let alpha = fused_points as f64 / (self.points * steps) as f64;
        judge(self.machine, self.precision, peak, demand, alpha, fraction)
    }

    /// CUDA cores at their best number of steps, the fewest of equally fast ones, and the seconds of
    /// their sweep.
    fn on_cuda_cores(&self) -> (usize, Roof, f64) {
        let peak = self.machine.rates(self.precision).cuda;
        let sweep = |steps| {
            let demand = Demand::on_cuda_cores(self.points, steps, self.precision);
            let roof = Roof::new(demand, peak, self.machine.copy_bytes_per_s);
            (steps, roof, self.grid_points as f64 / roof.outputs_per_s())
        };
        let rate = |(steps, _, seconds): &(usize, Roof, f64)| self.rate(*steps, *seconds);
        (2..=self.most_steps).map(sweep).fold(sweep(1), |best, next| {
            if EQUAL * rate(&next) > rate(&best) { next } else { best }
        })
    }

    /// 10⁹ points and steps in a second.
    fn rate(&self, steps: usize, seconds: f64) -> f64 {
        (self.grid_points * steps) as f64 / seconds.max(LAUNCH) / 1e9
    }

    fn by_layout(&self, engine: Engine, product: &Product) -> Forecast {
        let Product { steps, time, .. } = product;
        Forecast {
            engine,
            gstencils_per_s: Some(self.rate(*steps, time.total())),
            reason: format!("{} bound by the model of the layout{}", time.bound(), sweeps(*steps)),
        }
    }
}

/// A remark on sweeps of several steps.
fn sweeps(steps: usize) -> String {
    if steps > 1 { format!(", {steps} steps a sweep") } else { String::new() }
}

/// Seconds that a launch costs at least: a sweep is never faster.
pub const LAUNCH: f64 = 3e-6;

/// An ordinary CPU, assumed: a run measures its own.
const CPU_FLOP_PER_S: f64 = 1e11;
const CPU_BYTES_PER_S: f64 = 2e10;

/// Rates closer than this are equal: then the simpler engine is taken.
const EQUAL: f64 = 0.99;

/// Weighs all engines, each at its own best number of steps.
#[must_use]
pub fn recommend(case: &Case<'_>) -> Recommendation {
    let (sparse, dense) = (case.verdict(&case.sparse), case.verdict(&case.dense));
    let (cuda_steps, cuda, cuda_seconds) = case.on_cuda_cores();
    let cuda_bound = if cuda.memory_bound { Bound::Global } else { Bound::Compute };
    let cpu_step = (2.0 * case.points as f64 / CPU_FLOP_PER_S)
        .max((2 * case.precision.bytes()) as f64 / CPU_BYTES_PER_S);
    let forecasts = vec![
        Forecast {
            engine: Engine::Cuda,
            gstencils_per_s: Some(case.rate(cuda_steps, cuda_seconds)),
            reason: format!("{cuda_bound} bound, at the roof{}", sweeps(cuda_steps)),
        },
        case.by_layout(Engine::Sparse, &case.sparse),
        case.by_layout(Engine::Dense, &case.dense),
        Forecast {
            engine: Engine::Fft,
            gstencils_per_s: None,
            reason: "transforms lose the accuracy of values of less than 64 bits".into(),
        },
        Forecast {
            engine: Engine::Cpu,
            gstencils_per_s: Some(1e-9 / cpu_step),
            reason: "an ordinary CPU, assumed".into(),
        },
    ];
    let fastest = forecasts.iter().filter_map(|f| f.gstencils_per_s).fold(0.0, f64::max);
    let good = |f: &&Forecast| f.gstencils_per_s.is_some_and(|rate| rate >= EQUAL * fastest);
    let engine = forecasts.iter().find(good).map_or(Engine::Cpu, |forecast| forecast.engine);
    let (sparse_bound, dense_bound) = (case.sparse.time.bound(), case.dense.time.bound());
    let reason = match engine {
        Engine::Cpu => "the grid is so small that a launch costs more than the sweep".into(),
        Engine::Cuda if cuda_seconds < LAUNCH => {
            "the launch is the limit of every GPU engine, and this is the simplest".into()
        }
        // The roofs promise a gain that the layouts do not keep, or CUDA cores do more steps.
        Engine::Cuda if sparse.speedup > 1.0 / EQUAL || cuda_steps > case.sparse.steps => format!(
            "{cuda_bound} bound at the roof{}; the sparse layout is {sparse_bound} bound{}",
            sweeps(cuda_steps),
            sweeps(case.sparse.steps)
        ),
        Engine::Cuda => format!("{}; this is the simplest", sparse.reason()),
        Engine::Dense => format!(
            "{}; their layout is {dense_bound} bound{}, the sparse one {sparse_bound} bound{}",
            dense.reason(),
            sweeps(case.dense.steps),
            sweeps(case.sparse.steps)
        ),
        _ => sparse.reason(),
    };
    Recommendation { engine, reason, forecasts, sparse, dense }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Do we need tensor cores", Table 2: C, M and I of all ten rows.
    #[test]
    fn table_2_is_reproduced() {
        let box_points = |radius: usize| (2 * radius + 1) * (2 * radius + 1);
        let (double, single) = (Precision::Double, Precision::Single);
        // Radius, steps, type, fraction of nonzeros (none on CUDA cores); C, M, I.
        let spider = 15.0 / 32.0;
        let rows = [
            (1, 3, double, None, 54.0, 16.0, 3.375),
            (3, 1, double, None, 98.0, 16.0, 6.125),
            (1, 7, single, None, 126.0, 8.0, 15.75),
            (7, 1, single, None, 450.0, 8.0, 56.25),
            (1, 3, double, Some(0.5), 196.0, 16.0, 12.25),
            (3, 1, double, Some(0.5), 196.0, 16.0, 12.25),
            (1, 7, single, Some(0.5), 900.0, 8.0, 112.5),
            (7, 1, single, Some(0.5), 900.0, 8.0, 112.5),
            (1, 7, single, Some(spider), 960.0, 8.0, 120.0),
            (7, 1, single, Some(spider), 960.0, 8.0, 120.0),
        ];
        for (row, (radius, steps, precision, fraction, flop, bytes, intensity)) in
            rows.into_iter().enumerate()
        {
            let points = box_points(radius);
            let alpha = box_points(radius * steps) as f64 / (points * steps) as f64;
            let mut demand = Demand::on_cuda_cores(points, steps, precision);
            if let Some(fraction) = fraction {
                demand = demand.on_tensor_cores(alpha, fraction);
            }
            assert!((demand.flop - flop).abs() < 1e-9, "row {}: C = {}", row + 1, demand.flop);
            assert_eq!(demand.bytes, bytes, "row {}", row + 1);
            assert!((demand.intensity() - intensity).abs() < 1e-9, "row {}", row + 1);
        }
    }

    #[test]
    fn scenarios_follow_the_bounds() {
        let machine = Machine::a100();
        let scenario = |points, steps, alpha, peak: f64| {
            let demand = Demand::on_cuda_cores(points, steps, Precision::Single);
            judge(&machine, Precision::Single, peak, demand, alpha, 0.5).scenario
        };
        let (sparse, weak) = (312e12, 1e12);
        assert_eq!(scenario(9, 1, 1.0, sparse), Scenario::NoGain);
        assert_eq!(scenario(9, 1, 1.0, weak), Scenario::Loses);
        assert_eq!(scenario(9, 7, 3.57, sparse), Scenario::Wins);
        assert_eq!(scenario(225, 7, 5.0, sparse), Scenario::Depends);
    }

    /// Equation 19: with both compute bound, the winner is the one that α < S·P_TC/P_CC names.
    #[test]
    fn alpha_decides_where_both_are_compute_bound() {
        let machine = Machine::a100();
        let demand = Demand::on_cuda_cores(225, 7, Precision::Single);
        let rates = machine.rates(Precision::Single);
        let limit = 0.5 * rates.dense / rates.cuda;
        let speedup =
            |alpha| judge(&machine, Precision::Single, rates.dense, demand, alpha, 0.5).speedup;
        assert!(speedup(0.99 * limit) > 1.0);
        assert!(speedup(1.01 * limit) < 1.0);
        let verdict = judge(&machine, Precision::Single, rates.dense, demand, 2.0, 0.5);
        assert!((verdict.alpha_limit() - limit).abs() < 1e-9);
        let text = "both wait for arithmetic, and α = 2.00 < S·P_TC/P_CC = 4.00: tensor cores win";
        assert_eq!(verdict.reason(), text);
    }
}
