// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that are no longer finite, traced to the step and the point that made them: steps are taken again.

use std::time::{Duration, Instant};

use super::snapshot::SystemSnapshot;
use super::{ComputeOptions, SystemSimulation};
use crate::SystemState;
use crate::start::StartValues;
use compute::engine::EngineRequest;
use problem::control::{Piece, Work};
use problem::observe::{ArrayName, Snapshot};
use problem::{Error, Grid, Region, memory};

/// The least time that a search for the step may take.
const SEARCH: Duration = Duration::from_secs(2);
/// Pieces of a way between which somebody may ask for an end.
const PIECES: usize = 64;

/// The engine that takes the steps of this one again.
pub fn again(simulation: &SystemSimulation) -> Option<EngineRequest> {
    match simulation.session.engine() {
        "cpu" => Some(EngineRequest::Cpu),
        "cuda" => Some(EngineRequest::Cuda),
        "sparse" => Some(EngineRequest::Sparse),
        // Others hold more digits than a copy of the fields has.
        _ => None,
    }
}

impl SystemSimulation {
    /// An error with the first step after which a value is not finite, and its first point: found by steps that are
    /// taken again from the start, in no more time than the run took. What it cannot find stays as it was seen.
    pub(super) fn traced(&self, error: Error) -> Error {
        let Error::FieldOverflow { finite, step, .. } = &error else { return error };
        let (finite, step) = (*finite, *step);
        if finite + 1 >= step {
            return error;
        }
        let Ok(Some(mut search)) = Search::new(self, finite, step) else { return error };
        // Somebody may ask for an end, or there may be no memory: what was found until then holds.
        let _ = search.run(SEARCH.max(self.time));
        search.found(error)
    }

    /// Copies of all arrays, by name.
    pub(super) fn arrays(&mut self) -> Result<Vec<(ArrayName, Grid)>, Error> {
        let mut still = SystemSnapshot::of(self);
        let (names, shape) = (still.arrays(), still.shape());
        let all = names.into_iter().enumerate().map(|(number, name)| {
            let values = still.read(number, Region::whole(shape))?;
            Ok((name, Grid { shape, values }))
        });
        all.collect()
    }
}

/// A search between two steps.
struct Search<'a> {
    of: &'a SystemSimulation,
    engine: EngineRequest,
    progress: Piece,
    /// The last step after which all values are known to be finite, and the first after which one is not.
    finite: usize,
    step: usize,
    seen: Option<Error>,
}

impl<'a> Search<'a> {
    /// One for which there is an engine and memory.
    fn new(of: &'a SystemSimulation, finite: usize, step: usize) -> Result<Option<Self>, Error> {
        /// What is held at a time: the steps that are taken again, where they begin, and a copy of it.
        const COPIES: u128 = 3;
        let Some(engine) = of.again else { return Ok(None) };
        let system = &of.system;
        let bytes = system.shape.points() as u128 * system.arrays() as u128 * 8;
        memory::require("steps that are taken again", COPIES * bytes)?;
        let progress = of.control.begin(Work::Tracing, step - finite);
        Ok(Some(Self { of, engine, progress, finite, step, seen: None }))
    }

    /// Halves what lies between the two steps, until they follow each other or the time is over.
    fn run(&mut self, limit: Duration) -> Result<(), Error> {
        let start = Instant::now();
        let system = &self.of.system.begun();
        let asked = ComputeOptions { engine: self.engine, ..ComputeOptions::default() };
        let mut again = SystemSimulation::begun(
            system,
            &asked,
            &|| StartValues::with(system, &self.of.inputs),
            &[],
        )?;
        self.advance(&mut again, self.finite)?;
        let (mut arrays, mut clock) = (again.arrays()?, again.clock());
        while self.finite + 1 < self.step && start.elapsed() < limit {
            let probe = self.finite.midpoint(self.step);
            self.advance(&mut again, probe)?;
            match again.look() {
                Ok(()) => {
                    self.finite = probe;
                    (arrays, clock) = (again.arrays()?, again.clock());
                }
                Err(seen @ Error::FieldOverflow { .. }) => {
                    (self.step, self.seen) = (probe, Some(seen));
                    let left = SystemState {
                        step: self.finite,
                        arrays: arrays.clone(),
                        records: vec![],
                        series: vec![],
                        rows_of: String::new(),
                        clock,
                    };
                    again = SystemSimulation::resumed(system, &asked, left)?;
                }
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    fn advance(&mut self, again: &mut SystemSimulation, last: usize) -> Result<(), Error> {
        let piece = (last - again.done).div_ceil(PIECES).max(1);
        while again.done < last {
            self.progress.reached(0)?;
            let steps = piece.min(last - again.done).min(again.update_clock()?);
            again.session.advance(steps)?;
            again.done += steps;
            again.accept_step([again.records.len(), again.rows.len()])?;
        }
        Ok(())
    }

    /// The error as it was seen, or as it was found.
    fn found(self, error: Error) -> Error {
        let (last, first) = (self.finite, self.step);
        match self.seen.unwrap_or(error) {
            Error::FieldOverflow { field, value, position, .. } => {
                Error::FieldOverflow { field, step: first, finite: last, value, position }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Description, FieldText, System};
    use problem::Dtype;
    use problem::observe::NoObserver;

    /// Its values double in each step, and those of one point start twice as large.
    fn doubling(dtype: Dtype) -> System {
        let start = "if(x == 5, 2, 1)";
        let description = Description::new(&[3, 9])
            .dtype(dtype)
            .field(FieldText::new("still", "0", "still"))
            .field(FieldText::new("u", start, "u + prev(u) + prev2(u) + 0*still"))
            .field(FieldText::new("v", "if(y == 1, 4, 1)*if(x == 5, 2, 1)", "2*v"))
            .receiver("u", &[0, 0]);
        System::new(&description, Path::new("")).unwrap()
    }

    /// In v the value 8 of (1, 5) is the first that passes the largest number, which is nearly a power of 2.
    fn first_step(dtype: Dtype) -> usize {
        match dtype {
            Dtype::F16 => 16 - 3,
            Dtype::Bf16 | Dtype::F32 => 128 - 3,
            _ => 1024 - 3,
        }
    }

    #[test]
    fn the_step_and_the_point_are_found() {
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
            for (steps, compared) in [(3000, &[0, 1500][..]), (1025, &[])] {
                let mut simulation =
                    SystemSimulation::on(&doubling(dtype), EngineRequest::Cpu).unwrap();
                let ran = simulation.run(steps, compared, &mut NoObserver);
                let error = ran.and_then(|()| simulation.check_finite()).unwrap_err();
                let step = first_step(dtype);
                let last = step - 1;
                assert_eq!(
                    error.to_string(),
                    format!(
                        "after step {step} the field 'v' holds inf at (y, x) = (1, 5); after step {last} all \
                         values were finite"
                    ),
                    "{dtype} {steps}"
                );
            }
        }
    }

    /// A copy of a field is refused with the step, too.
    #[test]
    fn whoever_asks_for_a_field_is_told_the_step() {
        let mut simulation =
            SystemSimulation::on(&doubling(Dtype::F32), EngineRequest::Cpu).unwrap();
        simulation.step(1000).unwrap();
        let Error::FieldOverflow { step, finite, .. } = simulation.field("v").unwrap_err() else {
            panic!("another error")
        };
        assert_eq!((step, finite), (125, 124));
        // It stands where it stood.
        assert_eq!(simulation.steps(), 1000);
    }
}
