// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan NAME --gpus N`: what a job would take on many GPUs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use transform::network::{Network, Traffic};

use crate::cli::Failure;
use compute::plan::RunTarget;
use compute::plan::scale::{
    Cluster, CurvePoint, Curves, GhostExchange, Prediction, Scale, ScalingMode, Times,
};
use files::io::network;
use problem::Job;

use super::summary::rate;

/// The most GPUs that may be asked for.
const MOST: u32 = 65_536;

/// How many GPUs share the grid.
#[derive(Args, Debug)]
pub struct ScaleArgs {
    /// Predict the job on this many GPUs that share its grid, without having them: time, efficiency, and the
    /// communication that computing does not hide, with curves for 1 to 4096 GPUs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)), conflicts_with_all = ["all", "explain", "text", "png"])]
    gpus: Option<u32>,
    /// Number of nodes that the GPUs fill [default: nodes of 8 GPUs]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)), requires = "gpus")]
    nodes: Option<u32>,
    /// TOML file with bandwidths (bytes a second) and latencies (seconds) of what connects the GPUs [default: nodes
    /// of H200s with InfiniBand NDR]
    #[arg(long, value_name = "FILE", requires = "gpus")]
    network: Option<PathBuf>,
    /// Give each GPU as many points as --size says, so that the grid grows with the number of GPUs
    #[arg(long, requires = "gpus")]
    weak: bool,
}

impl ScaleArgs {
    /// The file that is read, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.network.as_deref()
    }

    /// The option that asks for many GPUs, if it was given.
    pub fn asked(&self) -> Option<&'static str> {
        self.gpus.map(|_| "--gpus")
    }

    /// What is predicted of a job, if that is asked for.
    ///
    /// # Errors
    /// The GPUs fill no such nodes, cannot share the grid, or the network is none.
    pub fn predict(&self, job: &Job, target: &RunTarget) -> Result<Option<Scaled>, Failure> {
        let Some(gpus) = self.gpus else { return Ok(None) };
        let gpus = gpus as usize;
        let cluster = match self.nodes {
            Some(nodes) => Cluster::of_nodes(gpus, nodes as usize)?,
            None => Cluster::of_full_nodes(gpus, Cluster::USUAL),
        };
        let network = self.file().map_or(Ok(Network::h200_ndr()), network::read)?;
        let mode = if self.weak { ScalingMode::Weak } else { ScalingMode::Strong };
        let asked = Scale::new(job, mode, target, &network)?.on(cluster)?;
        let per_node = self.nodes.map_or(Cluster::USUAL, |_| cluster.gpus_per_node);
        let curves = Curves::new(job, target, &network, per_node)?;
        Ok(Some(Scaled { network, asked, curves }))
    }
}

/// What is predicted of a job on many GPUs.
#[derive(Debug, Serialize)]
pub struct Scaled {
    network: Network,
    asked: Prediction,
    #[serde(flatten)]
    curves: Curves,
}

impl Scaled {
    /// For people.
    pub fn render(&self, job: &Job, target: &RunTarget) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, job, target);
        text
    }

    fn write(&self, text: &mut String, job: &Job, target: &RunTarget) -> std::fmt::Result {
        let Self { network, asked, curves } = self;
        let (machine, mode) = (&target.machine, asked.mode);
        let Cluster { gpus, .. } = asked.cluster;
        let (name, dtype) = (job.stencil.name(), job.dtype);
        writeln!(
            text,
            "{name} on {} in {dtype}, on {} of {}, {mode} scaling, on paper",
            asked.grid,
            count(gpus, "GPU"),
            machine.name
        )?;
        writeln!(text, "  ({})", machine.source)?;
        writeln!(text, "  {}", network.name)?;
        writeln!(text, "  ({})\n", network.source)?;
        page(text, asked)?;
        writeln!(text, "\nstrong: {} shared", job.shape)?;
        table(text, &curves.strong)?;
        writeln!(text, "\nweak: as many points for each GPU as {} has", job.shape)?;
        table(text, &curves.weak)
    }
}

/// One prediction.
fn page(text: &mut String, of: &Prediction) -> std::fmt::Result {
    let way = of.way();
    let mut line = |what: &str, value: String| writeln!(text, "{what:<9} {value}");
    let ghosts =
        if of.own == way.held { String::new() } else { format!(", {} with ghosts", way.held) };
    line("cut", format!("{}, parts of {} points at most{ghosts}", of.cut, of.own))?;
    let Cluster { nodes, gpus_per_node, .. } = of.cluster;
    let parts = match way.node_block {
        _ if gpus_per_node == 1 || nodes == 1 => String::new(),
        Some(block) => format!(", each with {} neighbouring parts", by(block)),
        None => ", with parts in the order of the ranks".into(),
    };
    let told =
        if way.in_order { "" } else { ": launchers, which take ranks in order, must be told" };
    let full = of.cluster.gpus == nodes * gpus_per_node;
    let gpus = format!("{}{}", if full { "" } else { "up to " }, count(gpus_per_node, "GPU"));
    line("nodes", format!("{nodes} of {gpus}{parts}{told}"))?;
    line("launches", format!("{}: {}", of.launch, count(of.launch_steps, "step")))?;
    if let Some(period) = way.period_steps {
        let when =
            if of.edges { "beside a launch, edges computed first" } else { "after a launch" };
        let every = count(period, "step");
        let micros = 1e6 * way.exchange_s;
        line(
            "exchange",
            format!("every {every} {when}: {}, in {micros:.1} µs", messages(&way.traffic)),
        )?;
    }
    line("memory", format!("{} of each GPU", way.memory()))?;
    line("speed", format!("{} GStencil/s", rate(of.gstencils_per_s)))?;
    writeln!(
        text,
        "\n{:<26} {:>9} {:>11} {:>11} {:>9} {:>9} {:>11}",
        "", "every", "µs a step", "own points", "in vain", "exposed", "efficiency"
    )?;
    for (name, way, taken) in [
        ("exchange after a launch", Some(&of.after), !of.edges),
        ("exchange beside a launch", of.beside.as_ref(), of.edges),
    ] {
        let Some(GhostExchange { period_steps: Some(period), times, .. }) = way else { continue };
        let Times { seconds_per_step, own_s, vain_s, exposed_s, efficiency } = times;
        let [own, vain, exposed] = [own_s, vain_s, exposed_s]
            .map(|part| format!("{:.1} %", 100.0 * part / seconds_per_step));
        writeln!(
            text,
            "{}{name:<24} {period:>9} {:>11.3} {own:>11} {vain:>9} {exposed:>9} {:>11}",
            if taken { "> " } else { "  " },
            1e6 * seconds_per_step,
            format!("{:.1} %", 100.0 * efficiency),
        )?;
    }
    Ok(())
}

/// What a GPU gets.
fn messages(traffic: &Traffic) -> String {
    let way = |messages: usize, bytes: u64, whose: &str| {
        let amount = format!("{:.3} MB", bytes as f64 / 1e6);
        (messages > 0).then(|| format!("{}, {amount}, from {whose}", count(messages, "message")))
    };
    let ways = [
        way(traffic.link_messages, traffic.link_bytes, "its node"),
        way(traffic.fabric_messages, traffic.fabric_bytes, "other nodes"),
    ];
    ways.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// A curve.
fn table(text: &mut String, rows: &[CurvePoint]) -> std::fmt::Result {
    let head =
        ["cut", "part with ghosts", "every", "µs a step", "GStencil/s", "exposed", "efficiency"];
    let [cut, held, every, step, speed, exposed, efficiency] = head;
    writeln!(
        text,
        "  {:>4} {:>5}  {cut:<9} {held:<18} {every:>5} {step:>11} {speed:>10} {exposed:>8} {efficiency:>10}",
        "GPUs", "nodes",
    )?;
    for CurvePoint { cluster, prediction, refused } in rows {
        write!(text, "  {:>4} {:>5}  ", cluster.gpus, cluster.nodes)?;
        let Some(of) = prediction else {
            writeln!(text, "{}", refused.as_deref().unwrap_or_default())?;
            continue;
        };
        let (GhostExchange { held, period_steps, times, .. }, cut) = (of.way(), &of.cut);
        let every = period_steps.map_or_else(|| "-".to_owned(), |period| period.to_string());
        writeln!(
            text,
            "{cut:<9} {held:<18} {every:>5} {:>11.3} {:>10} {:>8} {:>10}",
            1e6 * times.seconds_per_step,
            rate(of.gstencils_per_s),
            format!("{:.1} %", times.exposed_percent()),
            format!("{:.1} %", 100.0 * times.efficiency),
        )?;
    }
    Ok(())
}

/// Slices along all axes.
fn by(block: [usize; 3]) -> String {
    block.map(|slices| slices.to_string()).join("x")
}

/// So many of something.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
