// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether tensor cores help, by the roofs of both units ("Do we need tensor cores for stencil
//! computations?").
//!
//! A stencil of K points in a type of D bytes needs C = 2K flop a step and M = 2D bytes of memory
//! traffic a sweep. CUDA cores that do t steps a sweep: intensity I = tK/D. One fused kernel on tensor
//! cores does α times the useful work, α = K_fused/(tK), and of what it multiplies only a fraction S is
//! not zero: I = (α/S)·tK/D, of which S/α is useful.

use crate::machine::{Machine, Precision};
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

    /// The demand of one product on tensor cores that takes these steps (equation 11).
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

/// The four cases of §4.1, by what limits CUDA cores and tensor cores (equations 14, 15, 17 and 18).
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

impl Scenario {
    /// As the paper counts them, from 1 to 4.
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Self::NoGain => 1,
            Self::Loses => 2,
            Self::Wins => 3,
            Self::Depends => 4,
        }
    }
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
pub struct Roofline {
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

impl Roofline {
    /// The most redundancy with which tensor cores win where both wait for arithmetic (equation 19).
    #[must_use]
    pub fn alpha_limit(&self) -> f64 {
        self.sparsity * self.tensor.ridge / self.cuda.ridge
    }

    /// Whether tensor cores are to be faster: scenario 3, and of scenario 4 what equation 19 admits (§4.1).
    #[must_use]
    pub fn in_sweet_spot(&self) -> bool {
        match self.scenario {
            Scenario::NoGain | Scenario::Loses => false,
            Scenario::Wins => true,
            Scenario::Depends => self.alpha < self.alpha_limit(),
        }
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
pub fn roofline(
    machine: &Machine,
    precision: Precision,
    peak: f64,
    demand: Demand,
    alpha: f64,
    sparsity: f64,
) -> Roofline {
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
    Roofline { alpha, sparsity, cuda, tensor, scenario, speedup }
}

/// A sweep on a unit of tensor cores.
#[derive(Clone, Copy, Debug)]
pub struct TensorSweep {
    /// Steps in the sweep: t.
    pub steps: usize,
    /// Points of the stencil that does as many steps at once.
    pub fused_points: usize,
    /// Nonzero fraction of the product's matrix, fragments filled up: S.
    pub fraction: f64,
    /// Peak of the unit.
    pub peak: f64,
}

impl TensorSweep {
    /// The product of a stencil of `points` points against CUDA cores that do as many steps.
    #[must_use]
    pub fn against_cuda_cores(
        &self,
        machine: &Machine,
        precision: Precision,
        points: usize,
    ) -> Roofline {
        let Self { steps, fused_points, fraction, peak } = *self;
        let demand = Demand::on_cuda_cores(points, steps, precision);
        let alpha = fused_points as f64 / (points * steps) as f64;
        roofline(machine, precision, peak, demand, alpha, fraction)
    }
}

/// What roofs say of a layout; which engine is the fastest is not theirs to say, since no kernel reaches them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rooflines {
    /// Sparse tensor cores against CUDA cores.
    pub sparse: Roofline,
    /// Dense tensor cores against CUDA cores.
    pub dense: Roofline,
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
            roofline(&machine, Precision::Single, peak, demand, alpha, 0.5).scenario
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
            |alpha| roofline(&machine, Precision::Single, rates.dense, demand, alpha, 0.5).speedup;
        assert!(speedup(0.99 * limit) > 1.0);
        assert!(speedup(1.01 * limit) < 1.0);
        let both = roofline(&machine, Precision::Single, rates.dense, demand, 2.0, 0.5);
        assert!((both.alpha_limit() - limit).abs() < 1e-9);
        let text = "both wait for arithmetic, and α = 2.00 < S·P_TC/P_CC = 4.00: tensor cores win";
        assert_eq!(both.reason(), text);
    }
}
