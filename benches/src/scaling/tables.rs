// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated sections of the page, as Markdown.

use stencil::plan::scale::{CurvePoint, Curves, GhostExchange, MOST_GPUS, Prediction};

use super::measurements::Measured;
use super::{Workload, WorkloadCurves};
use crate::markdown::{count, line, rule};

/// The numbers of GPUs that have a row; the picture has all powers of two.
const SHOWN: [usize; 6] = [1, 2, 8, 64, 512, MOST_GPUS];

/// The network that is built in, as the file that describes it.
pub fn network(text: &str) -> String {
    format!("```toml\n{}\n```\n", text.trim_end())
}

/// One kind of curves, a table for each workload.
pub fn curves(
    drawn: &[WorkloadCurves],
    kind: impl Fn(&Curves) -> &Vec<CurvePoint>,
    size: impl Fn(&Workload) -> &'static str,
) -> String {
    let mut text = String::new();
    for WorkloadCurves { workload, curves } in drawn {
        let rows = kind(curves);
        let launch = rows.iter().find_map(|row| row.prediction.as_ref());
        let launch = launch.map_or_else(String::new, |of| format!(": {}", of.launch));
        let Workload { stencil, dtype, .. } = workload;
        text += &format!("**{stencil}, {}, {dtype}**{launch} on one GPU.\n\n", size(workload));
        let heads = [
            "GPUs",
            "cut",
            "part with ghosts",
            "steps between exchanges",
            "µs a step",
            "GStencil/s",
            "in vain",
            "exposed",
            "efficiency",
            "edges first",
        ];
        text += &(line(heads.map(String::from).into_iter()) + &rule(heads.len()));
        for row in rows.iter().filter(|row| SHOWN.contains(&row.cluster.gpus)) {
            text += &line(cells(row).into_iter());
        }
        text += "\n";
    }
    text + &format!("Predicted, for 1 to {MOST_GPUS} NVIDIA H200 in nodes of 8, on paper.\n")
}

fn cells(CurvePoint { cluster, prediction, refused }: &CurvePoint) -> [String; 10] {
    let gpus = cluster.gpus.to_string();
    let Some(of) = prediction else {
        let why = refused.clone().unwrap_or_default();
        return std::array::from_fn(|cell| match cell {
            0 => gpus.clone(),
            1 => why.clone(),
            _ => "–".to_owned(),
        });
    };
    let GhostExchange { held, period_steps, times, .. } = of.way();
    let part = |seconds: f64| percent(seconds / times.seconds_per_step);
    [
        gpus,
        of.cut.clone(),
        held.clone(),
        period_steps.map_or_else(|| "–".into(), |period| period.to_string()),
        format!("{:.2}", 1e6 * times.seconds_per_step),
        count(of.gstencils_per_s),
        part(times.vain_s),
        part(times.exposed_s),
        percent(times.efficiency),
        of.beside.as_ref().map_or_else(|| "–".into(), |way| percent(way.times.efficiency)),
    ]
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// What was measured, beside what was predicted.
pub fn measured(compared: &[(&Measured, Prediction)]) -> String {
    if compared.is_empty() {
        return "Nothing was measured yet.\n".to_owned();
    }
    let heads = [
        "stencil",
        "size",
        "type",
        "scaling",
        "GPUs",
        "µs a step, measured",
        "predicted",
        "ratio",
        "commit",
    ];
    let mut text = line(heads.map(String::from).into_iter()) + &rule(heads.len());
    for (of, prediction) in compared {
        let predicted = prediction.way().times.seconds_per_step;
        let Measured { stencil, size, dtype, gpus, mode, seconds_per_step, commit } = of;
        let cells = [
            stencil.clone(),
            size.to_string(),
            dtype.to_string(),
            mode.to_string(),
            gpus.to_string(),
            format!("{:.2}", 1e6 * seconds_per_step),
            format!("{:.2}", 1e6 * predicted),
            format!("{:.2}", seconds_per_step / predicted),
            commit.clone(),
        ];
        text += &line(cells.into_iter());
    }
    text
}
