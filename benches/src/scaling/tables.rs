// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated sections of the page, as Markdown.

use stencil::plan::scale::{CurvePoint, Curves, MOST_GPUS, Prediction};

use super::measurements::Measured;
use super::{Workload, WorkloadCurves};
use crate::markdown::{count, line, rule};

/// The numbers of GPUs that have a row; the picture has all powers of two.
const SHOWN: [usize; 6] = [1, 2, 8, 64, 512, MOST_GPUS];

/// One kind of curves: a row for each number of GPUs, and two columns for each workload.
pub fn curves(
    drawn: &[WorkloadCurves],
    kind: impl Fn(&Curves) -> &Vec<CurvePoint>,
    size: impl Fn(&Workload) -> &'static str,
) -> String {
    let heads = drawn.iter().map(|WorkloadCurves { workload, .. }| {
        format!("{} {}, {}", workload.stencil, workload.dtype, size(workload))
    });
    let heads = heads.flat_map(|head| [head, "efficiency".to_owned()]);
    let mut text = line(["GPUs".to_owned()].into_iter().chain(heads)) + &rule(1 + 2 * drawn.len());
    for gpus in SHOWN {
        let cells = drawn.iter().flat_map(|WorkloadCurves { curves, .. }| {
            let row = kind(curves).iter().find(|row| row.cluster.gpus == gpus);
            let prediction = row.and_then(|row| row.prediction.as_ref());
            prediction.map_or_else(|| ["–", "–"].map(str::to_owned), cells)
        });
        text += &line([gpus.to_string()].into_iter().chain(cells));
    }
    text + &format!("\nPredicted, for 1 to {MOST_GPUS} NVIDIA H200 in nodes of 8, on paper.\n")
}

/// Speed and efficiency, after launches and with edges first.
fn cells(of: &Prediction) -> [String; 2] {
    let edges = of.beside.as_ref().map(|way| format!("; {}", percent(way.times.efficiency)));
    let efficiency = percent(of.way().times.efficiency) + &edges.unwrap_or_default();
    [count(of.gstencils_per_s), efficiency]
}

fn percent(part: f64) -> String {
    format!("{:.1}%", 100.0 * part)
}

/// How what was measured stands to what was predicted.
pub fn measured(compared: &[(&Measured, Prediction)]) -> String {
    let ratio = |(of, prediction): &(&Measured, Prediction)| {
        of.seconds_per_step / prediction.way().times.seconds_per_step
    };
    let ratios: Vec<f64> = compared.iter().map(ratio).collect();
    let Some(least) = ratios.iter().copied().reduce(f64::min) else {
        return "Nothing was measured yet.\n".to_owned();
    };
    let most = ratios.iter().copied().fold(least, f64::max);
    let gpus = compared.iter().map(|(of, _)| of.gpus).max().unwrap_or_default();
    let mut commits: Vec<&str> = compared.iter().map(|(of, _)| of.commit.as_str()).collect();
    commits.dedup();
    format!(
        "Of {} runs on 1 to {gpus} GPUs (commits {}) the measured time of a step is {least:.2} to {most:.2} of the \
         predicted one.\n",
        ratios.len(),
        commits.join(", "),
    )
}
