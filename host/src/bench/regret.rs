// SPDX-License-Identifier: MIT OR Apache-2.0
//! How good the planner's choice and its predictions were, where engines are measured side by side.

use super::{BenchCase, Results, Row};
use compute::plan::WORTH_A_JUMP;

/// The GPU's engines come before the CPU, as in the planner's order.
const LAST: &str = "cpu";
/// They are taken where they are much faster.
const JUMPS: &str = "fft";

/// In two lines, or none where there is nothing to tell.
pub fn render(results: &Results) -> String {
    choices(results).into_iter().chain(predictions(results)).collect()
}

/// Of each case with several engines, how much slower than the best one the planner's first is.
fn choices(results: &Results) -> Option<String> {
    let mut known: Vec<&BenchCase> = Vec::new();
    let mut regrets: Vec<(f64, &BenchCase)> = Vec::new();
    for row in &results.rows {
        if known.iter().any(|case| case.is_beside(&row.case)) {
            continue;
        }
        known.push(&row.case);
        let beside = results.rows.iter().filter(|other| other.case.is_beside(&row.case));
        let speeds: Vec<Speeds> = beside.filter_map(speeds).collect();
        let order = |one: &&Speeds| {
            let worth = if one.engine == JUMPS { WORTH_A_JUMP } else { 1.0 };
            (one.engine != LAST, one.predicted / worth)
        };
        let taken = speeds.iter().max_by(|a, b| {
            let ((a_gpu, a), (b_gpu, b)) = (order(a), order(b));
            a_gpu.cmp(&b_gpu).then(a.total_cmp(&b))
        });
        if let Some((taken, best)) = taken.zip(results.best_speed(&row.case))
            && speeds.len() > 1
        {
            regrets.push((best / taken.measured, &row.case));
        }
    }
    let (worst, case) = regrets.iter().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let fastest = regrets.iter().filter(|(regret, _)| *regret <= NEAR).count();
    let place = match *worst > NEAR {
        true => format!(
            ", at worst {worst:.2} times slower ({} {} {})",
            case.workload.stencil, case.shape, case.dtype
        ),
        false => String::new(),
    };
    let of = regrets.len();
    Some(format!(
        "the planner's first is within {NEAR} of the fastest in {fastest} of {of}{place}\n"
    ))
}

/// A choice so little slower than the best is as good.
const NEAR: f64 = 1.05;

/// How far predictions are off.
fn predictions(results: &Results) -> Option<String> {
    let all = results.rows.iter().filter(|row| !row.is_copy()).filter_map(speeds);
    let off = |one: Speeds| 100.0 * ((one.predicted / one.measured).ln().abs().exp() - 1.0);
    let mut errors: Vec<f64> = all.map(off).collect();
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors.get(errors.len() / 2)?, errors.last()?);
    Some(format!("predictions are off by {median:.1} % (median), {worst:.1} % (worst)\n"))
}

/// Predicted and measured, in GStencil/s.
struct Speeds<'a> {
    engine: &'a str,
    predicted: f64,
    measured: f64,
}

fn speeds(row: &Row) -> Option<Speeds<'_>> {
    let measured = row.measurement()?;
    let predicted = measured.predicted_gstencils_per_s?;
    Some(Speeds { engine: &measured.engine, predicted, measured: measured.gstencils_per_s })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{DepthMode, Measurement, Origin, Outcome, Workload};
    use compute::engine::EngineRequest;
    use problem::{Dtype, Shape};

    fn row(dtype: Dtype, engine: EngineRequest, predicted: f64, measured: f64) -> Row {
        let case = BenchCase {
            workload: &Workload::all()[0],
            shape: Shape::new(&[7]).unwrap(),
            dtype,
            mode: DepthMode::Auto,
            steps: 1,
            engine: Some(engine),
        };
        let measurement = Measurement {
            engine: engine.to_string(),
            kernel: None,
            device: "a GPU".into(),
            fuse: 1,
            chain: 1,
            gstencils_per_s: measured,
            predicted_gstencils_per_s: Some(predicted),
            effective_gb_per_s: 1.0,
            fraction_of_copy: 1.0,
            rel_l2_err: 0.0,
            verified: true,
            same_as: None,
            note: None,
        };
        Row { case, outcome: Outcome::Measured(measurement) }
    }

    fn results(rows: Vec<Row>) -> Results {
        let (version, origin, engine) = (String::new(), Origin::default(), EngineRequest::Auto);
        Results { version, origin, engine, complete: true, rows }
    }

    #[test]
    fn the_first_of_the_planner_is_held_to_the_fastest() {
        let rows = vec![
            row(Dtype::F16, EngineRequest::Sparse, 100.0, 80.0),
            row(Dtype::F16, EngineRequest::Cuda, 90.0, 100.0),
            // The CPU is never taken before a GPU.
            row(Dtype::F32, EngineRequest::Cuda, 10.0, 10.0),
            row(Dtype::F32, EngineRequest::Cpu, 20.0, 10.0),
        ];
        let text = "the planner's first is within 1.05 of the fastest in 1 of 2, at worst 1.25 times \
                    slower (star1d1r 7 f16)\npredictions are off by 25.0 % (median), 100.0 % (worst)\n";
        assert_eq!(render(&results(rows)), text);
        // Jumps are taken where they are much faster.
        let beside = |jumps: f64| {
            let steps = row(Dtype::F32, EngineRequest::Cuda, 10.0, 10.0);
            render(&results(vec![steps, row(Dtype::F32, EngineRequest::Fft, jumps, jumps)]))
        };
        assert!(beside(15.0).contains("in 0 of 1, at worst 1.50 times slower"));
        assert!(beside(25.0).contains("in 1 of 1\n"));
        let alone = vec![row(Dtype::F16, EngineRequest::Cpu, 5.0, 5.0)];
        let text = "predictions are off by 0.0 % (median), 0.0 % (worst)\n";
        assert_eq!(render(&results(alone)), text);
        assert_eq!(render(&results(vec![])), "");
    }
}
