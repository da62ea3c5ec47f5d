// SPDX-License-Identifier: MIT OR Apache-2.0
//! How well each kernel uses a GPU, as measured once (`gpu-candidates`, `calibrate` in `benches/`), and what
//! a [`Cost`] takes in seconds by that.

use crate::families::cost::{Cost, RimCost};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use transform::machine::Machine;

/// Outputs that [`Efficiency::cycles`] counts for.
const OUTPUTS: f64 = 128.0;

/// The part of the L2 cache that the two grids of a sweep fill before some of them must come from memory;
/// as much as the cache is beyond it they all do.
const CACHED: f64 = 0.4;

/// Efficiencies of all kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The GPUs that were measured: cores that are alike with memories that are not tell what takes the time of
    /// each, which one GPU does not.
    pub machines: Vec<String>,
    /// Of the kernels.
    pub commit: String,
    /// Version of the driver.
    pub driver: String,
    /// Year, month and day of the measurement.
    pub date: String,
    /// Kernels by [`Cost::class`].
    pub kernels: BTreeMap<String, Efficiency>,
    /// Kernels for points near the boundary, by [`RimCost::class`].
    pub rims: BTreeMap<String, RimEfficiency>,
}

/// How well a kernel uses a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Efficiency {
    /// Microseconds of the smallest grid.
    pub start_us: f64,
    /// Microseconds more for each unit of [`Cost::work`].
    #[serde(default)]
    pub start_each_us: f64,
    /// Bytes in a second over those of a copy in memory, where the L2 cache holds the grids.
    pub cached: f64,
    /// Bytes in a second over those of a copy in memory, where the L2 cache does not hold the grids.
    pub streamed: f64,
    /// Cycles of a multiprocessor for 128 outputs.
    pub cycles: f64,
    /// Cycles more for each unit of [`Cost::work`].
    #[serde(default)]
    pub cycles_each: f64,
    /// Points of a grid, rising, and by what factor the time was longer than by the numbers above: the last
    /// tiles of a small grid leave multiprocessors idle, each kernel's in its own way.
    #[serde(default)]
    pub sizes: Vec<[f64; 2]>,
}

/// How well a kernel for points near the boundary uses a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RimEfficiency {
    /// Microseconds of the smallest launch.
    pub start_us: f64,
    /// Microseconds of each time step of the smallest launch.
    pub step_us: f64,
    /// Multiply-adds of a multiprocessor in a cycle.
    pub in_a_cycle: f64,
}

/// Fitted to all GPUs that were measured.
static FITTED: LazyLock<Calibration> = LazyLock::new(|| {
    toml::from_str(include_str!("../../data/calibration.toml")).expect("a test reads it")
});

/// What an unknown kernel is taken for.
static UNKNOWN: Efficiency = Efficiency {
    start_us: 5.0,
    start_each_us: 0.1,
    cached: 1.0,
    streamed: 0.7,
    cycles: 0.0,
    cycles_each: 1.0,
    sizes: Vec::new(),
};

impl Efficiency {
    /// Seconds of the launch that computes the grid.
    #[must_use]
    pub fn seconds(&self, cost: &Cost, machine: &Machine) -> f64 {
        let fill = cost.bytes / machine.l2_bytes;
        let streamed = ((fill - CACHED) / (1.0 - CACHED)).clamp(0.0, 1.0);
        let slowness = (1.0 - streamed) / self.cached + streamed / self.streamed;
        let memory = cost.bytes * slowness / machine.copy_bytes_per_s;
        let cycles = (self.cycles + self.cycles_each * cost.work) * cost.points / OUTPUTS;
        let computing = cycles / machine.multiprocessor_cycles_per_s();
        let start = self.start_us + self.start_each_us * cost.work;
        (1e-6 * start + memory.max(computing)) * self.factor(cost.points)
    }

    /// By what factor a grid of so many points takes longer. Between two sizes it is interpolated by logarithms;
    /// beyond them it is the nearest size's.
    fn factor(&self, points: f64) -> f64 {
        let above = self.sizes.partition_point(|[size, _]| *size < points);
        match (above.checked_sub(1).map(|below| self.sizes[below]), self.sizes.get(above)) {
            (Some([low, at_low]), Some([high, at_high])) => {
                let part = (points / low).ln() / (high / low).ln();
                at_low * (at_high / at_low).powf(part)
            }
            (Some([_, factor]), None) => factor,
            (None, Some([_, factor])) => *factor,
            (None, None) => 1.0,
        }
    }
}

impl RimEfficiency {
    const UNKNOWN: Self = Self { start_us: 3.0, step_us: 0.7, in_a_cycle: 10.0 };

    /// Seconds of the launch that computes points near the boundary.
    #[must_use]
    pub fn seconds(&self, rim: &RimCost, machine: &Machine) -> f64 {
        let cycles = rim.multiply_adds / self.in_a_cycle;
        let start = self.start_us + self.step_us * rim.steps as f64;
        1e-6 * start + cycles / machine.multiprocessor_cycles_per_s()
    }
}

impl Calibration {
    /// The one that this program carries.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &FITTED
    }

    /// Whether what takes so much was measured: otherwise [`Calibration::seconds_per_step`] is a guess.
    #[must_use]
    pub fn has_measured(&self, cost: &Cost) -> bool {
        let knows_rim = |rim: &RimCost| self.rims.contains_key(&rim.class(cost.dims));
        self.kernels.contains_key(&cost.class) && cost.rim.as_ref().is_none_or(knows_rim)
    }

    /// Whether any kernel of the same scheme was measured: one whose name is the same up to the type, as
    /// `rows_f16_r4` and `rows_f32_r2`.
    #[must_use]
    pub fn knows_scheme(&self, class: &str) -> bool {
        let scheme = |name: &str| name.split('_').next().map(str::to_owned);
        self.kernels.keys().any(|kernel| scheme(kernel) == scheme(class))
    }

    /// Predicted seconds of a time step of many.
    #[must_use]
    pub fn seconds_per_step(&self, cost: &Cost, machine: &Machine) -> f64 {
        let efficiency = self.kernels.get(&cost.class).unwrap_or(&UNKNOWN);
        let sweep = efficiency.seconds(cost, machine);
        let seconds = match &cost.rim {
            None => sweep,
            Some(rim) => {
                let efficiency =
                    self.rims.get(&rim.class(cost.dims)).unwrap_or(&RimEfficiency::UNKNOWN);
                let seconds = efficiency.seconds(rim, machine);
                if rim.beside { sweep.max(seconds) } else { sweep + seconds }
            }
        };
        // The host queues launches one after the other.
        seconds.max(cost.launches * machine.launch_s) / cost.steps as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_between_two_has_a_factor_between_theirs() {
        let of = |sizes: &[[f64; 2]]| Efficiency { sizes: sizes.to_vec(), ..UNKNOWN.clone() };
        assert_eq!(of(&[]).factor(1e6), 1.0);
        let two = of(&[[1e4, 2.0], [1e6, 0.5]]);
        for (points, factor) in [(1.0, 2.0), (1e4, 2.0), (1e5, 1.0), (1e6, 0.5), (1e9, 0.5)] {
            assert!((two.factor(points) - factor).abs() < 1e-12, "{points}");
        }
    }

    #[test]
    fn a_scheme_is_known_by_any_of_its_kernels() {
        let known = Calibration::built_in();
        assert!(!known.kernels.contains_key("rows_bf16_r1") && known.knows_scheme("rows_bf16_r1"));
        assert!(!known.knows_scheme("row_f16") && !known.knows_scheme("points_f16"));
    }

    #[test]
    fn sizes_rise() {
        for (name, kernel) in &Calibration::built_in().kernels {
            assert!(kernel.sizes.is_sorted_by(|a, b| a[0] < b[0]), "{name}");
        }
    }
}
