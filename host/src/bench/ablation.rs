// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each part of the sparse kernels is worth: one problem on CUDA cores, on dense tensor cores at the layout of
//! the sparse kernels, on sparse ones before and after tuning, and as the planner takes it.

use serde::Serialize;
use transform::Stencil;

use super::measure::{SEED, of_run, without_measurement};
use super::table::{Notes, lines, speed, with_header};
use super::{BenchError, Measurement, Origin, Outcome};
use compute::engine::EngineRequest;
use compute::run::{InputMemory, Options, Run};
use cuda_mma::fragment::Element;
use kernels_gpu::product::Form;
use kernels_gpu::{chain2d, wide2d};
use problem::control::{Control, Work};
use problem::{Depth, Dtype, Error, Grid, Job, Shape};
use std::fmt::Write;
use transform::window;

/// What every rung computes; the boundary is zero.
#[derive(Clone, Debug)]
pub struct AblationProblem {
    /// The stencil.
    pub stencil: Stencil,
    /// Extents of the grid; as many axes as the stencil.
    pub shape: Shape,
    /// Element type.
    pub dtype: Dtype,
    /// Time steps; at least 1.
    pub steps: usize,
}

/// One way to compute it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// What it is.
    pub what: &'static str,
    engine: EngineRequest,
    /// The family that is asked for; the planner's first without.
    kernel: Option<&'static str>,
    fuse: Depth,
    chain: Depth,
    /// The rung of the dense kernel of the same layout, if this is the sparse one.
    twin: Option<usize>,
}

/// What came of a problem.
#[derive(Clone, Debug)]
pub struct Ablation {
    /// Version of the program.
    pub version: String,
    /// Which program measured, when, with which driver.
    pub origin: Origin,
    /// What was computed.
    pub problem: AblationProblem,
    /// The rungs in order, and what came of those that were measured.
    pub rows: Vec<(Rung, Outcome)>,
}

/// The rungs of a problem.
///
/// # Errors
/// [`BenchError::NoAblation`], where no sparse kernel has a dense twin for it.
pub fn rungs(problem: &AblationProblem) -> Result<Vec<Rung>, BenchError> {
    let AblationProblem { stencil, dtype, steps, .. } = problem;
    let refuse = |reason: String| Err(BenchError::NoAblation { reason });
    let Some(element) = dtype.factors().and_then(|factors| factors.element()) else {
        return refuse(format!("dense twins multiply f16, bf16 or tf32, not {dtype}"));
    };
    if stencil.dims() != 2 {
        let (name, dims) = (stencil.name(), stencil.dims());
        return refuse(format!("dense twins are for 2D stencils; {name} has {dims} dimensions"));
    }
    let radius = stencil.radius().max(1);
    let is_small = radius <= window::MAX_RADIUS;
    let wide = wide2d::kernel(Form::Dense, element, radius as u32).is_some();
    let (dense, sparse) = match is_small {
        true => ("dense_sweep2d", "sweep2d"),
        false if wide => ("dense_wide2d", "wide2d"),
        false => {
            let name = stencil.name();
            return refuse(format!("no dense twin takes the radius {radius} of {name} in {dtype}"));
        }
    };
    let one = Depth::Steps(1);
    let rung =
        |what, engine, kernel| Rung { what, engine, kernel, fuse: one, chain: one, twin: None };
    let mut rungs = vec![
        rung("CUDA cores", EngineRequest::Cuda, None),
        rung("dense tensor cores", EngineRequest::Dense, Some(dense)),
    ];
    if is_small && element == Element::F16 {
        rungs.push(rung("sparse, untuned", EngineRequest::Sparse, Some("naive2d")));
    }
    rungs
        .push(Rung { twin: Some(1), ..rung("sparse, tuned", EngineRequest::Sparse, Some(sparse)) });
    let has_twin = |chain: &usize| {
        let kernel = |form| chain2d::kernel(form, element, radius as u32, *chain as u32);
        *chain <= *steps && kernel(Form::Dense).is_some() && kernel(Form::Sparse).is_some()
    };
    if let Some(chain) = (2..=chain2d::MAX_CHAIN as usize).rev().find(has_twin) {
        let chained = |what, engine, kernel| {
            let rung = rung(what, engine, Some(kernel));
            Rung { chain: Depth::Steps(chain), ..rung }
        };
        rungs.push(chained("dense, chained", EngineRequest::Dense, "dense_chain2d"));
        let twin = Some(rungs.len() - 1);
        let sparse = chained("sparse, chained", EngineRequest::Sparse, "chain2d");
        rungs.push(Rung { twin, ..sparse });
    }
    let (fuse, chain) = (Depth::Auto, Depth::Auto);
    rungs.push(Rung { fuse, chain, ..rung("what auto takes", EngineRequest::Auto, None) });
    Ok(rungs)
}

impl Ablation {
    /// Of a problem, before anything is measured.
    #[must_use]
    pub fn new(problem: AblationProblem, origin: Origin) -> Self {
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), origin, problem, rows: Vec::new() }
    }

    /// Measures one rung after the other, each result verified; what a kernel does not take, or gets wrong, stands
    /// in its row.
    ///
    /// # Errors
    /// There is no GPU, the grid does not fit, or somebody asked for an end.
    pub fn measure(&mut self, rungs: &[Rung], control: &Control) -> Result<(), Error> {
        let AblationProblem { stencil, shape, dtype, steps } = self.problem.clone();
        let mut progress = control.begin(Work::Benchmark, rungs.len());
        let mut grid: Option<Grid> = None;
        for (done, rung) in rungs.iter().enumerate() {
            progress.reached(done)?;
            progress.starts(rung.what);
            let &Rung { engine, kernel, fuse, chain, .. } = rung;
            let job = Job { fuse, chain, kernel, ..Job::new(stencil.clone(), shape, dtype, steps) };
            let control = Control { stop: control.stop.clone(), progress: None };
            let options = Options { engine, control, ..Options::default() };
            let start = if grid.is_some() { InputMemory::Lent } else { InputMemory::ToBeLent };
            let measured = Run::plan(job, options, start).and_then(|planned| {
                // Not before somebody can use it.
                let input = match grid.take() {
                    Some(input) => input,
                    None => Grid::random(shape, dtype, SEED)?,
                };
                of_run(planned, grid.insert(input))
            });
            let outcome = match measured {
                Ok(measurement) => Outcome::Measured(measurement),
                Err(error) => without_measurement(error, false)?,
            };
            self.rows.push((rung.clone(), outcome));
        }
        Ok(())
    }

    /// Number of rungs that should have worked, and did not.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.rows.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed { .. })).count()
    }

    fn measurement(&self, index: usize) -> Option<&Measurement> {
        match &self.rows.get(index)?.1 {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// The speed of a rung over that of another.
    fn over(&self, index: usize, other: Option<usize>) -> Option<f64> {
        let other = self.measurement(other?)?;
        Some(self.measurement(index)?.gstencils_per_s / other.gstencils_per_s)
    }

    /// The device, the problem, a line for each rung, and the reasons that lines refer to by number.
    #[must_use]
    pub fn table(&self) -> String {
        let AblationProblem { stencil, shape, dtype, steps } = &self.problem;
        let mut table = with_header(
            &["what", "kernel"],
            &[
                "fuse",
                "chain",
                "GStencil/s",
                "of the first",
                "of dense",
                "GB/s",
                "copy GB/s",
                "of copy",
                "L2 error",
                "verified",
            ],
        );
        let (mut notes, mut text) = (Notes::default(), String::new());
        for (index, (rung, outcome)) in self.rows.iter().enumerate() {
            let mut cells = vec![rung.what.to_owned()];
            let note = match outcome {
                Outcome::Measured(measured) => measured.note.as_deref(),
                Outcome::Failed { reason } | Outcome::Unsupported { reason } => {
                    Some(reason.as_str())
                }
            };
            let note = note.map(|note| notes.refer(note)).unwrap_or_default();
            let ratio = |other| {
                self.over(index, other).map_or_else(|| "-".to_owned(), |over| format!("{over:.2}"))
            };
            if let Outcome::Measured(measured) = outcome {
                let verified = measured.mark();
                let copy = measured.effective_gb_per_s / measured.fraction_of_copy;
                cells.extend([
                    measured.kernel.clone().unwrap_or_else(|| measured.engine.clone()),
                    measured.fuse.to_string(),
                    measured.chain.to_string(),
                    speed(measured.gstencils_per_s),
                    ratio(Some(0)),
                    ratio(rung.twin),
                    format!("{:.1}", measured.effective_gb_per_s),
                    format!("{copy:.1}"),
                    format!("{:.2}", measured.fraction_of_copy),
                    format!("{:.2e}", measured.rel_l2_err),
                    format!("{verified} {note}").trim_end().to_owned(),
                ]);
            } else {
                cells.push(rung.kernel.unwrap_or("-").to_owned());
                cells.extend(std::iter::repeat_n("-".to_owned(), 9));
                let what = if matches!(outcome, Outcome::Failed { .. }) { "FAILED" } else { "-" };
                cells.push(format!("{what} {note}"));
            }
            table.add_row(cells);
        }
        if let Some(device) = (0..self.rows.len()).find_map(|row| self.measurement(row)) {
            writeln!(text, "{}", device.device).expect("a string takes any text");
        }
        let problem = format!("{} on {shape} in {dtype}, {steps} steps", stencil.name());
        writeln!(text, "{problem}, one a sweep but where chained or fused").expect("the same");
        text + &lines(&table) + &notes.render()
    }

    /// The table as a JSON object with a list of rows.
    ///
    /// # Panics
    /// Never: these are plain data.
    #[must_use]
    pub fn json(&self) -> String {
        let AblationProblem { stencil, shape, dtype, steps } = &self.problem;
        let row = |(index, (rung, outcome)): (usize, &(Rung, Outcome))| {
            let measured = self.measurement(index);
            let (outcome, reason) = match outcome {
                Outcome::Measured(measured) => ("measured", measured.note.clone()),
                Outcome::Failed { reason } => ("failed", Some(reason.clone())),
                Outcome::Unsupported { reason } => ("unsupported", Some(reason.clone())),
            };
            Record {
                what: rung.what,
                asked: rung.kernel,
                outcome,
                reason,
                kernel: measured.and_then(|of| of.kernel.clone()),
                engine: measured.map(|of| of.engine.clone()),
                device: measured.map(|of| of.device.clone()),
                fuse: measured.map(|of| of.fuse),
                chain: measured.map(|of| of.chain),
                gstencils_per_s: measured.map(|of| of.gstencils_per_s),
                over_first: self.over(index, Some(0)),
                over_dense: self.over(index, rung.twin),
                effective_gb_per_s: measured.map(|of| of.effective_gb_per_s),
                fraction_of_copy: measured.map(|of| of.fraction_of_copy),
                rel_l2_err: measured.map(|of| of.rel_l2_err),
                verified: measured.is_some_and(|of| of.verified),
            }
        };
        let file = File {
            version: &self.version,
            origin: &self.origin,
            stencil: stencil.name(),
            shape: shape.axes(),
            dtype: dtype.to_string(),
            steps: *steps,
            rows: self.rows.iter().enumerate().map(row).collect(),
        };
        serde_json::to_string_pretty(&file).expect("plain data") + "\n"
    }
}

/// [`Ablation`] as JSON has it.
#[derive(Serialize)]
struct File<'a> {
    version: &'a str,
    #[serde(flatten)]
    origin: &'a Origin,
    stencil: &'a str,
    shape: &'a [usize],
    dtype: String,
    steps: usize,
    rows: Vec<Record>,
}

/// A rung as JSON has it.
#[derive(Serialize)]
struct Record {
    what: &'static str,
    asked: Option<&'static str>,
    outcome: &'static str,
    reason: Option<String>,
    kernel: Option<String>,
    engine: Option<String>,
    device: Option<String>,
    fuse: Option<usize>,
    chain: Option<usize>,
    gstencils_per_s: Option<f64>,
    over_first: Option<f64>,
    over_dense: Option<f64>,
    effective_gb_per_s: Option<f64>,
    fraction_of_copy: Option<f64>,
    rel_l2_err: Option<f64>,
    verified: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use compute::families;
    use compute::families::Unit;
    use compute::plan::{RunTarget, by_units};
    use transform::catalogue;
    use transform::machine::Machine;

    fn problem(name: &str, dtype: Dtype) -> AblationProblem {
        let stencil = catalogue::find(name).unwrap();
        AblationProblem { stencil, shape: "1000x1100".parse().unwrap(), dtype, steps: 12 }
    }

    #[test]
    fn every_rung_but_the_last_is_a_kernel_that_takes_the_problem() {
        for (name, dtype) in [
            ("box2d1r", Dtype::F16),
            ("star2d3r", Dtype::Bf16),
            ("box2d3r", Dtype::Tf32),
            ("box2d7r", Dtype::F16),
        ] {
            let problem = problem(name, dtype);
            let rungs = rungs(&problem).unwrap();
            for rung in &rungs {
                let AblationProblem { stencil, shape, dtype, steps } = problem.clone();
                let &Rung { kernel, fuse, chain, .. } = rung;
                let job = Job { fuse, chain, kernel, ..Job::new(stencil, shape, dtype, steps) };
                let units = match kernel {
                    Some(kernel) => vec![families::find(kernel).unwrap().unit()],
                    None if rung.engine == EngineRequest::Cuda => vec![Unit::CudaCores],
                    None => Unit::ALL.to_vec(),
                };
                let planned = by_units(&units, &RunTarget::described(Machine::h200()), &job);
                let rejected = &planned.rejected;
                assert!(
                    !planned.ranked.is_empty(),
                    "{name} in {dtype}: {}: {rejected:?}",
                    rung.what
                );
            }
            let twins = rungs.iter().filter_map(|rung| Some((rung, &rungs[rung.twin?])));
            for (sparse, dense) in twins.clone() {
                let name = format!("dense_{}", sparse.kernel.unwrap());
                assert_eq!(dense.kernel, Some(name.as_str()));
                assert_eq!((dense.fuse, dense.chain), (sparse.fuse, sparse.chain));
            }
            assert!(twins.count() > 0);
        }
    }

    #[test]
    fn what_has_no_dense_twin_is_refused() {
        let refusal = |name, dtype| rungs(&problem(name, dtype)).unwrap_err().to_string();
        assert!(refusal("box2d1r", Dtype::F64).ends_with("not f64"));
        assert!(refusal("star3d1r", Dtype::F16).contains("has 3 dimensions"));
        assert!(refusal("box2d8r", Dtype::F16).contains("the radius 8"));
    }

    #[test]
    fn the_table_says_how_much_faster_sparse_is_than_dense() {
        let measured = |gstencils_per_s| {
            Outcome::Measured(Measurement {
                engine: "sparse".into(),
                kernel: Some("kernel".into()),
                device: "GPU".into(),
                fuse: 1,
                chain: 1,
                gstencils_per_s,
                predicted_gstencils_per_s: None,
                effective_gb_per_s: 2.0 * gstencils_per_s,
                fraction_of_copy: 0.5,
                rel_l2_err: 1e-4,
                verified: true,
                same_as: None,
                note: None,
            })
        };
        let problem = problem("box2d3r", Dtype::Bf16);
        let rungs = rungs(&problem).unwrap();
        let mut ablation = Ablation::new(problem, Origin::default());
        let sparse = rungs.iter().position(|rung| rung.what == "sparse, tuned").unwrap();
        assert_eq!(rungs[sparse].twin, Some(1));
        let wrong = || Outcome::Failed { reason: "wrong".into() };
        let outcomes = [measured(100.0), measured(200.0), measured(300.0), wrong()];
        ablation.rows = rungs.into_iter().zip(outcomes).collect();
        let table = ablation.table();
        let lines: Vec<&str> = table.lines().collect();
        let words = lines[3 + sparse].split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
        assert_eq!(words, "kernel 1 1 300.0 3.00 1.50 600.0 1200.0 0.50 1.00e-4 yes", "{table}");
        assert!(lines.last().unwrap().starts_with("[1] wrong") && ablation.failures() == 1);
        let json: serde_json::Value = serde_json::from_str(&ablation.json()).unwrap();
        assert_eq!(json["rows"][sparse]["over_dense"], 1.5);
    }
}
