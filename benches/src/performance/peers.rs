// SPDX-License-Identifier: MIT OR Apache-2.0
//! What published code of others reaches on the same GPU: `benches/results/peers.toml`.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Deserialize;
use stencil::Dtype;
use stencil::bench::Workload;

/// Measurements of other systems on one GPU.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// The GPU's name, as its driver states it.
    pub gpu: String,
    /// Version of the NVIDIA driver.
    pub driver: String,
    /// Year, month and day of the measurements.
    pub date: String,
    /// The systems by name.
    pub systems: BTreeMap<String, System>,
    /// The fastest of each workload and type.
    pub measured: Vec<Peer>,
}

/// A published system whose speeds are compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The paper's title, or the library's name and version.
    pub source: String,
    /// What is to be known of its figures.
    pub note: String,
}

/// A measurement of another system.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// The workload's stencil.
    pub stencil: String,
    dtype: String,
    /// One of the systems.
    pub system: String,
    /// Points times steps over seconds, in 10^9.
    pub gstencils_per_s: f64,
    /// Time steps that a launch takes.
    pub fuse: usize,
    /// Extents of the grid, slowest axis first.
    pub shape: Vec<usize>,
}

impl Peers {
    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self> {
        let peers: Self = toml::from_str(text)?;
        let mut known: Vec<(&str, &str)> = Vec::new();
        for peer in &peers.measured {
            let Peer { stencil, dtype, system, gstencils_per_s, .. } = peer;
            let place = format!("{stencil} in {dtype}");
            let is_workload = Workload::all().iter().any(|workload| workload.stencil == stencil);
            ensure!(is_workload, "{place}: there is no such workload");
            let is_grid = (1..=3).contains(&peer.shape.len()) && !peer.shape.contains(&0);
            ensure!(is_grid, "{place}: {:?} is no grid", peer.shape);
            ensure!(dtype.parse::<Dtype>().is_ok(), "{place}: there is no such type");
            ensure!(peers.systems.contains_key(system), "{place}: add [systems.{system}]");
            ensure!(*gstencils_per_s > 0.0, "{place}: gstencils_per_s is not positive");
            ensure!(!known.contains(&(stencil, dtype)), "{place} is there twice: keep the fastest");
            known.push((stencil, dtype));
        }
        Ok(peers)
    }

    /// The fastest of a workload in a type.
    pub fn find(&self, workload: &Workload, dtype: Dtype) -> Option<&Peer> {
        let is = |peer: &&Peer| peer.stencil == workload.stencil && peer.dtype() == dtype;
        self.measured.iter().find(is)
    }

    /// Whether they were measured on the GPU of that name.
    pub fn are_of(&self, device: &str) -> bool {
        device.split(',').next() == Some(&self.gpu)
    }
}

impl Peer {
    /// The type of the values.
    pub fn dtype(&self) -> Dtype {
        self.dtype.parse().expect("it was parsed before")
    }
}
