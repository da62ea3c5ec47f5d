// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of the parts of a run share.

use std::time::Duration;

use super::*;
use crate::engine::Session;
use crate::plan::cores::Cores;
use problem::{Arithmetic, Dtype, Shape};
use transform::catalogue;

/// Takes no time but says 1 ms a step, and notes how many steps it was asked for at once. The grid is
/// not finite from some step on.
pub struct Counting {
    pub asked: Vec<usize>,
    pub restarts: usize,
    done: usize,
    bad_from: Option<usize>,
}

impl Counting {
    pub fn new(bad_from: Option<usize>) -> Self {
        Self { asked: Vec::new(), restarts: 0, done: 0, bad_from }
    }
}

impl Session for Counting {
    fn device(&self) -> String {
        "none".into()
    }

    fn shape(&self) -> Shape {
        "2".parse().unwrap()
    }

    fn dtype(&self) -> Dtype {
        Dtype::F16
    }

    fn launch(&self) -> usize {
        12
    }

    fn load(&mut self, _: &Grid) -> Result<(), Error> {
        Ok(())
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.restarts += 1;
        self.done = 0;
        Ok(())
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        self.asked.push(steps);
        self.done += steps;
        Ok(Duration::from_millis(steps as u64))
    }

    fn read(&mut self, _: usize, _: State, _: Region) -> Result<Values, Error> {
        let bad = self.bad_from.is_some_and(|step| self.done >= step);
        Ok(Values::F64(vec![self.done as f64, if bad { f64::INFINITY } else { 0.0 }]))
    }

    fn copy(&mut self, _: usize) -> Result<Duration, Error> {
        Ok(Duration::from_millis(1))
    }
}

impl SumSession for Counting {
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::on_tensor_cores(Dtype::F16, 3)
    }

    fn chain(&self) -> usize {
        4
    }
}

/// Heat that leaves through cold sides, until little of it is left: each value changes by less than f16 and bf16 can
/// tell, so that theirs stay where they are. Rounding explains that, which does not make them right.
#[test]
fn values_that_rounding_made_are_not_called_verified() {
    use crate::report::MorePrecise;
    use problem::check::verify::{ComparisonOutcome, Verify};
    let stencil = transform::catalogue::find("heat-2d").unwrap();
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        for boundary in ["zero", "y:periodic"] {
            let mut job = Job::new(stencil.clone(), "24x24".parse().unwrap(), dtype, 2000);
            job.boundary = problem::Boundary::parse(boundary, 2).unwrap();
            let input = StartSource::Gauss.grid(job.shape, dtype).unwrap();
            let (engine, verify) = (EngineRequest::Cpu, Some(Verify::Full));
            let (_, report) = run(&Request { job, input, engine, verify }).unwrap();
            let narrow = matches!(dtype, Dtype::F16 | Dtype::Bf16);
            let outcome =
                if narrow { ComparisonOutcome::DigitsLost } else { ComparisonOutcome::Verified };
            assert_eq!(report.verification.outcome, Some(outcome), "{dtype}, {boundary}: {report}");
            assert_eq!((report.verified, report.failed()), (!narrow, false), "{report}");
            let keeps = report.lost().map(|lost| lost.keeps);
            assert_eq!(keeps, narrow.then_some(Some(MorePrecise::Type(Dtype::F32))), "{report}");
        }
    }
}

/// Nobody compares all steps without what they began with.
#[test]
fn a_comparison_of_all_steps_needs_the_input() {
    use problem::check::verify::Verify;
    let stencil = catalogue::find("star2d1r").unwrap();
    let job = Job::new(stencil, "24x26".parse().unwrap(), Dtype::F32, 40);
    let input = Grid::random(job.shape, job.dtype, 1).unwrap();
    let plan = |verify, drops_input| {
        let engine = EngineRequest::Cpu;
        let options = Options { engine, verify, drops_input, ..Options::default() };
        Run::plan(job.clone(), options, InputMemory::Given)
    };
    let refused = plan(Some(Verify::Full), true).err().expect("refused").to_string();
    assert!(refused.contains("is compared from the input on, which is to be dropped"), "{refused}");
    for (verify, drops_input) in [(Some(Verify::Full), false), (None, false)] {
        let run = plan(verify, drops_input).unwrap();
        let mut computed = run.compute(Cow::Borrowed(&input)).unwrap();
        assert!(computed.verify().unwrap());
        assert!(computed.verdict().of_all_steps(40).is_some());
    }
    // Where it is left to the run, some steps are compared.
    for verify in [None, Some(Verify::Sample)] {
        let mut computed = plan(verify, true).unwrap().compute(Cow::Borrowed(&input)).unwrap();
        assert!(computed.verify().unwrap());
        assert!(computed.verdict().of_all_steps(40).is_none());
        assert!(computed.verdict().of_some_steps(40).count() > 0);
    }
    let mut off = plan(Some(Verify::Off), true).unwrap().compute(Cow::Borrowed(&input)).unwrap();
    assert!(off.verify().unwrap() && off.grid().unwrap().shape == job.shape);
}

/// What is too much for the steps that were asked for may not be for those that were taken.
#[test]
fn a_run_that_ends_early_is_compared_as_a_whole() {
    use files::record::SteadyEnd;
    let stencil = transform::catalogue::find("heat-2d").unwrap();
    for boundary in ["zero", "edge", "x:constant=1,y:reflect"] {
        for engine in [EngineRequest::Cpu, EngineRequest::Fft] {
            let shape = "12x14".parse().unwrap();
            let mut job = Job::new(stencil.clone(), shape, Dtype::F32, 100_000_000);
            job.boundary = problem::Boundary::parse(boundary, 2).unwrap();
            let input = StartSource::Gauss.grid(job.shape, Dtype::F32).unwrap();
            let options = Options { engine, portion: Some(50), ..Options::default() };
            let planned = Run::plan(job, options, InputMemory::Given).unwrap();
            let mut steady = SteadyEnd::new(1e-5, 50);
            let mut computed = planned.compute_observed(Cow::Owned(input), &mut steady).unwrap();
            assert!(computed.verify().unwrap() && steady.is_reached());
            let (report, steps) = (computed.report(), computed.step());
            assert!((100..5000).contains(&steps) && report.verified, "{report}");
            let whole = report.verification.verdict.of_all_steps(steps).expect("of all steps");
            assert_eq!(whole.points, 12 * 14);
            let spans: Vec<_> = report.verification.verdict.of_some_steps(steps).collect();
            assert!(spans.len() >= 3, "{spans:?}");
            let last = spans.iter().map(|span| span.to_step).max();
            assert!(engine == EngineRequest::Fft || last == Some(steps), "{spans:?}");
        }
    }
}

/// The forecast was multiplied by the number of looks: 45 to 98 times too long.
#[test]
fn a_forecast_is_of_the_run_however_often_somebody_looks() {
    let stencil = catalogue::find("star2d1r").unwrap();
    let job = Job::new(stencil, "16x16".parse().unwrap(), Dtype::F32, 100);
    let input = Grid::random(job.shape, job.dtype, 1).unwrap();
    for portion in [None, Some(1), Some(10), Some(50), Some(100), Some(1000)] {
        let (stops, engine) = (portion.is_some(), EngineRequest::Cpu);
        let options = Options { portion, stops, engine, ..Options::default() };
        let run = Run::plan(job.clone(), options, InputMemory::Lent).unwrap();
        let mut computed = run.compute(Cow::Borrowed(&input)).unwrap();
        computed.measure().unwrap();
        let forecast = computed.report().forecast;
        let steps = portion.map_or(100, |portion| portion.min(100));
        let of_portion = Job { steps, ..job.clone() };
        let expected = 100.0 * Cores::built_in().stepped(&of_portion).seconds_per_step;
        let ratio = forecast.predicted_seconds.unwrap() / expected;
        assert!((ratio - 1.0).abs() < 1e-9, "{portion:?}: {ratio}");
        assert_eq!(forecast.figures.as_ref(), Some(&Cores::built_in().source));
    }
}
