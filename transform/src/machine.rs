// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a GPU can do, in the few numbers that the model needs.

use cuda_mma::fragment::{Element, M, N, SparseMma};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Tensor cores, and schedulers, of a multiprocessor.
pub const SUB_CORES: usize = 4;

/// Rates of a type, in flop/s; a multiply-add counts as 2, and a sparse product as the dense one it
/// stands for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// CUDA cores, with sums in the type that the tensor cores sum in.
    pub cuda: f64,
    /// Dense tensor cores.
    pub dense: f64,
    /// Sparse tensor cores, where they take the type.
    pub sparse: Option<f64>,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Where the numbers come from.
    pub source: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Cycles in a second.
    pub clock_hz: f64,
    /// Shared memory that one block can ask for.
    pub shared_bytes_per_block: u32,
    /// Memory.
    pub memory_bytes: u64,
    /// Level-2 cache.
    pub l2_bytes: f64,
    /// Bytes in a second that a copy reads and writes together.
    pub copy_bytes_per_s: f64,
    /// Seconds from launch to launch that the host takes to queue them.
    pub launch_s: f64,
    /// f16 and bf16, sums in f32.
    pub half: Rates,
    /// f32 on CUDA cores, tf32 with sums in f32 on tensor cores.
    pub single: Rates,
    /// f64.
    pub double: Rates,
}

/// The types that grids are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// f16 or bf16 values.
    Half,
    /// f32 values.
    Single,
    /// f64 values.
    Double,
}

impl Precision {
    /// Bytes of a value: D.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Half => 2,
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

impl From<Element> for Precision {
    fn from(element: Element) -> Self {
        match element {
            Element::F16 | Element::Bf16 => Self::Half,
            Element::Tf32 => Self::Single,
        }
    }
}

/// A GPU that this crate describes.
#[derive(Debug)]
pub struct KnownMachine {
    /// Its short name, as `--machine` takes it.
    pub key: &'static str,
    /// What it can do.
    pub machine: Machine,
}

/// The GPUs that this crate describes, each in a file of its own.
const DESCRIBED: [(&str, &str); 3] = [
    ("h200", include_str!("../machines/h200.json")),
    ("h100", include_str!("../machines/h100.json")),
    ("a100", include_str!("../machines/a100.json")),
];

impl Machine {
    /// All GPUs that this crate describes: the H200 (SXM) and the H100 (SXM, 80 GB), whose tensor cores, clock and copy
    /// were measured, and the A100 80 GB (PCIe), on which the papers measure, from its data sheet. f16 sums in f32 take
    /// the f32 pipeline.
    #[must_use]
    pub fn known() -> &'static [KnownMachine] {
        static KNOWN: LazyLock<Vec<KnownMachine>> = LazyLock::new(|| {
            let parse = |text| serde_json::from_str(text).expect("a test reads it");
            DESCRIBED.map(|(key, text)| KnownMachine { key, machine: parse(text) }).into()
        });
        &KNOWN
    }

    /// The described GPU of a short name.
    ///
    /// ```
    /// use transform::machine::Machine;
    ///
    /// assert_eq!(Machine::find("h100").unwrap().multiprocessors, 132);
    /// assert!(Machine::find("h1000").is_none());
    /// ```
    #[must_use]
    pub fn find(key: &str) -> Option<Self> {
        Self::known().iter().find(|known| known.key == key).map(|known| known.machine.clone())
    }

    /// The H200, which the emulator stands for.
    #[must_use]
    pub fn h200() -> Self {
        Self::find("h200").expect("it is described")
    }

    /// The A100, on which the papers measure.
    #[must_use]
    pub fn a100() -> Self {
        Self::find("a100").expect("it is described")
    }

    /// The rates of a type.
    #[must_use]
    pub fn rates(&self, precision: Precision) -> Rates {
        match precision {
            Precision::Half => self.half,
            Precision::Single => self.single,
            Precision::Double => self.double,
        }
    }

    /// Cycles between two sparse instructions of a tensor core (CPI of equation 7); `None` where it
    /// has none for the type.
    #[must_use]
    pub fn cycles(&self, mma: SparseMma) -> Option<f64> {
        let flop = (2 * M * N * mma.k) as f64;
        let cores = (SUB_CORES * self.multiprocessors) as f64;
        let rate = self.rates(mma.element.into()).sparse?;
        Some(flop * cores * self.clock_hz / rate)
    }

    /// Cycles of all multiprocessors in a second.
    #[must_use]
    pub fn multiprocessor_cycles_per_s(&self) -> f64 {
        self.multiprocessors as f64 * self.clock_hz
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_mma::fragment::M16N8K32;

    #[test]
    fn described_gpus_differ_in_key_and_name() {
        let known = Machine::known();
        for (number, one) in known.iter().enumerate() {
            let others = &known[..number];
            assert!(
                others.iter().all(|it| it.key != one.key && it.machine.name != one.machine.name)
            );
        }
    }

    #[test]
    fn cycles_are_those_measured() {
        let cycles = Machine::h200().cycles(M16N8K32).unwrap();
        assert!((cycles - 9.1).abs() < 0.05, "{cycles}");
        let tf32 = Machine::h200().cycles(SparseMma::deepest(Element::Tf32)).unwrap();
        assert!((tf32 - 9.1).abs() < 0.05, "{tf32}");
    }
}
