// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is predicted of a job on a number of GPUs.

use super::cluster::Cluster;
use problem::bytes::Bytes;
use serde::Serialize;
use transform::network::Traffic;

/// What grows with the number of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display, strum::EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ScalingMode {
    /// Nothing: all share one grid.
    Strong,
    /// The grid, so that each has as many points as one GPU had alone.
    Weak,
}

/// A job on some GPUs. Of unequal parts the largest counts, of unequal neighbours the slowest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The GPUs.
    #[serde(flatten)]
    pub cluster: Cluster,
    /// What grows with them.
    pub mode: ScalingMode,
    /// The whole grid.
    pub grid: String,
    /// Its slices along the axes that it has.
    pub cut: String,
    /// The points of a part.
    pub own: String,
    /// What is launched, as of the whole grid.
    pub launch: String,
    /// Time steps of a launch.
    pub launch_steps: usize,
    /// Whether the program computes edges by themselves here, so that messages move beside a launch.
    pub edges: bool,
    /// With messages that move after a launch.
    pub after: GhostExchange,
    /// With messages that move beside a launch; none where nothing is exchanged, or kernels take no edges.
    pub beside: Option<GhostExchange>,
    /// As the program does it, points and steps in a second, in 10^9.
    pub gstencils_per_s: f64,
}

/// A way to get ghosts anew.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GhostExchange {
    /// Time steps between two exchanges; none where nobody has others' points.
    pub period_steps: Option<usize>,
    /// The points of a part with its ghosts.
    pub held: String,
    /// What a GPU gets in an exchange, and as much it sends.
    pub traffic: Traffic,
    /// Slices of each axis (z, y, x) whose parts share a node; null where those are no box.
    pub node_block: Option<[usize; 3]>,
    /// Whether nodes have the parts in the order of their ranks, as launchers fill them.
    pub in_order: bool,
    /// Seconds of an exchange.
    pub exchange_s: f64,
    /// Memory of a GPU that is needed.
    pub memory_bytes: u64,
    /// What a step takes.
    #[serde(flatten)]
    pub times: Times,
}

/// What a time step takes, on average over those between two exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Seconds of a step.
    pub seconds_per_step: f64,
    /// Of these, what the own points take.
    pub own_s: f64,
    /// What is computed in vain: ghosts, and edges by themselves.
    pub vain_s: f64,
    /// What of the exchange no launch hides.
    pub exposed_s: f64,
    /// Strong: the time of one GPU over that of all, by their number. Weak: the time of one GPU over that of all.
    pub efficiency: f64,
}

impl Times {
    /// The times of a step that computes for `computing_s`, where `own_s` would do, and that would ideally take
    /// `ideal_s`.
    pub(super) fn new(computing_s: f64, exposed_s: f64, own_s: f64, ideal_s: f64) -> Self {
        let seconds_per_step = computing_s + exposed_s;
        // A larger grid may fill a GPU better.
        let own_s = own_s.min(computing_s);
        let vain_s = computing_s - own_s;
        let efficiency = ideal_s / seconds_per_step;
        Self { seconds_per_step, own_s, vain_s, exposed_s, efficiency }
    }

    /// Exposed communication, in percent of the time.
    #[must_use]
    pub fn exposed_percent(&self) -> f64 {
        100.0 * self.exposed_s / self.seconds_per_step
    }
}

impl GhostExchange {
    /// The memory of a GPU that is needed.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        Bytes(self.memory_bytes)
    }
}

impl Prediction {
    /// As the program does it.
    #[must_use]
    pub fn way(&self) -> &GhostExchange {
        self.beside.as_ref().filter(|_| self.edges).unwrap_or(&self.after)
    }
}
