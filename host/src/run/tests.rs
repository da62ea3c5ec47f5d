// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of the parts of a run share.

use super::*;
use crate::plan::cores::Cores;
use crate::{Arithmetic, Dtype, Shape};
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

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::on_tensor_cores(Dtype::F16, 3)
    }

    fn chain(&self) -> usize {
        4
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

    fn read(&mut self, _: State, _: Region) -> Result<Values, Error> {
        let bad = self.bad_from.is_some_and(|step| self.done >= step);
        Ok(Values::F64(vec![self.done as f64, if bad { f64::INFINITY } else { 0.0 }]))
    }

    fn copy(&mut self, _: usize) -> Result<Duration, Error> {
        Ok(Duration::from_millis(1))
    }
}

/// Formerly it was that of all steps times how many portions there are: 45 to 98 times too long.
#[test]
fn a_forecast_is_of_the_run_however_often_somebody_looks() {
    let stencil = catalogue::find("star2d1r").unwrap();
    let job = Job::new(stencil, "16x16".parse().unwrap(), Dtype::F32, 100);
    let input = Grid::random(job.shape, job.dtype, 1).unwrap();
    for portion in [None, Some(1), Some(10), Some(50), Some(100), Some(1000)] {
        let (stops, engine) = (portion.is_some(), EngineRequest::Cpu);
        let options = Options { portion, stops, engine, ..Options::default() };
        let run = Run::plan(job.clone(), options, Start::Lent).unwrap();
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
