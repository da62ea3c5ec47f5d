// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the things are that predictions of systems are made of: measured, and kept as data (`data/speeds/`, where
//! each number is explained), with the machine, the commit and the date of the measurement.

use std::sync::LazyLock;

use serde::Deserialize;

/// The speeds of a GPU, by which launches are predicted.
pub static GPU: LazyLock<GpuSpeeds> =
    LazyLock::new(|| read(include_str!("../data/speeds/gpu.toml")));

/// The speeds of a core, by which steps and jumps on the CPU are predicted.
pub static CORE: LazyLock<CoreSpeeds> =
    LazyLock::new(|| read(include_str!("../data/speeds/cores.toml")));

fn read<T: for<'a> Deserialize<'a>>(text: &str) -> T {
    toml::from_str(text).expect("a test reads it")
}

/// The measured speeds of a GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuSpeeds {
    /// The GPU that was measured, its driver, and when.
    pub machine: String,
    pub driver: String,
    pub commit: String,
    pub date: String,
    pub launch_us: f64,
    pub cycle: CycleRates,
    pub single: SingleStepSpeeds,
    pub march: MarchSpeeds,
    pub parts: PartSpeeds,
    pub planes: PlaneSpeeds,
    pub sweep: SweepSpeeds,
    pub jump: JumpSpeeds,
}

impl GpuSpeeds {
    /// What was measured, with which driver and kernels, and when.
    pub fn source(&self) -> String {
        let Self { machine, driver, commit, date, .. } = self;
        format!(
            "costs of systems as measured on {machine}, driver {driver}, kernels of {commit}, {date}"
        )
    }

    /// Seconds of a launch, whatever it does.
    pub fn launch(&self) -> f64 {
        seconds(self.launch_us)
    }
}

/// So many microseconds, in seconds.
pub fn seconds(microseconds: f64) -> f64 {
    microseconds * 1e-6
}

/// What a multiprocessor does in a cycle.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CycleRates {
    pub instructions: f64,
    pub shared_words: f64,
    pub doubles: f64,
}

/// The speeds of one step a launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SingleStepSpeeds {
    pub of_a_copy: [f64; 3],
    pub of_many: f64,
    pub on_chip: f64,
    pub of_a_place: f64,
}

/// One step a launch, by blocks that go along z.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarchSpeeds {
    pub of_a_copy: f64,
    pub of_a_store: f64,
    pub uneven: f64,
    pub on_chip: f64,
    pub plane_us: f64,
    pub start_planes: f64,
    pub of_a_point: f64,
}

/// Several steps a launch, of parts of a grid.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartSpeeds {
    pub step_us: f64,
    pub on_chip: f64,
    pub loads_gb_per_s: f64,
    pub loads_us: f64,
    pub not_hidden: f64,
}

/// Several steps a launch, plane by plane.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaneSpeeds {
    pub plane_us: f64,
    pub step_us: f64,
    pub coefficients_us: f64,
    pub on_chip: f64,
    pub not_hidden: f64,
    pub staged: f64,
    pub turn: f64,
    pub from_cache: f64,
}

/// Sweeps on sparse tensor cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpeeds {
    pub of_a_copy: f64,
    pub of_products: f64,
    pub of_instructions: f64,
    pub of_a_read: f64,
    pub of_a_point: f64,
    pub of_a_place: f64,
}

/// Jumps on a GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JumpSpeeds {
    pub moved: f64,
    pub product: f64,
    pub of_doubles: f64,
    pub host_us: f64,
}

/// The measured speeds of a core.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSpeeds {
    /// The core that was measured, and when.
    pub machine: String,
    pub commit: String,
    pub date: String,
    pub product_ns: f64,
    pub step: CoreStep,
    pub set_up: JumpSetup,
}

impl CoreSpeeds {
    /// What was measured, of which program, and when.
    pub fn source(&self) -> String {
        let Self { machine, commit, date, .. } = self;
        format!("costs of systems as measured on {machine}, {commit}, {date}")
    }
}

/// A step of a point.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreStep {
    pub neighbour_ns: f64,
    pub operation_ns: f64,
    pub field_ns: f64,
    pub byte_ns: f64,
}

/// What passes before a jump.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JumpSetup {
    pub kernels_ms: f64,
    pub gpu_ms: f64,
    pub tables_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measurement_says_of_what_and_when() {
        let GpuSpeeds { machine, driver, commit, date, .. } = &*GPU;
        assert!([machine, driver, commit, date].iter().all(|text| !text.is_empty()));
        let CoreSpeeds { machine, commit, date, .. } = &*CORE;
        assert!([machine, commit, date].iter().all(|text| !text.is_empty()));
        assert!(GPU.launch() > 1e-6 && GPU.launch() < 1e-4);
    }
}
