// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps one by one between arrays in C order that somebody else owns: nothing is copied into a grid with a halo, and nothing
//! is kept from one call to the next.

use std::any::Any;

use tiles::tiling::Tiling;
use tiles::{Passes, Sweep};

use problem::values::{Element, first_not_finite};
use problem::{Depth, Error, Job, ValueLocation, memory, with_dtype};

/// Steps that are faster one by one than several of each tile at once, since the latter begin and end with copies: as long as some
/// twenty steps, and several at once take a third as long as they do one by one.
const MOST_STEPS: usize = 16;
/// To find out how much memory is free takes as long as a step of a small array, about.
const SMALL_BYTES: usize = 1 << 26;

/// The steps of a job, ready to be taken of any array of its shape. Threads may share it.
pub struct Sweeps {
    job: Job,
    /// Whether one thread takes a step, in one tile.
    is_serial: bool,
    /// A `Box<dyn Sweep<T>>` of the stored type.
    sweep: Box<dyn Any + Send + Sync>,
}

impl Sweeps {
    /// The steps of a job that the CPU's engine can compute; none where its own grids are faster.
    pub(crate) fn of(job: &Job) -> Option<Self> {
        let few = job.steps <= MOST_STEPS && job.chain == Depth::Auto;
        if !few && Tiling::of_job(job).depth > 1 {
            return None;
        }
        let one = Job { steps: 1, ..job.clone() };
        let tiling = Tiling::of_job(&one);
        let sweep: Box<dyn Any + Send + Sync> = with_dtype!(job.dtype, T => {
            Box::new(<T as Passes>::sweep(&job.stencil, &job.boundary, job.dtype, job.shape, tiling))
        });
        let extents = job.shape.extents();
        let is_serial = (0..3).all(|axis| tiling.tile[axis] >= extents[axis]);
        Some(Self { job: job.clone(), is_serial, sweep })
    }

    /// What is computed.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Products of all steps, and at least one for each point, which is looked at in any case.
    #[must_use]
    pub fn products(&self) -> usize {
        let Job { shape, stencil, steps, .. } = &self.job;
        shape.points().saturating_mul(stencil.taps().len().saturating_mul(*steps).max(1))
    }

    /// Whether the thread that asks takes all steps alone.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        self.is_serial
    }

    /// Checks that there is room for a result and, of several steps, for what lies between them.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn check_memory(&self) -> Result<(), Error> {
        let Job { shape, dtype, steps, .. } = &self.job;
        let bytes = shape.points().saturating_mul(dtype.bytes());
        if bytes < SMALL_BYTES {
            return Ok(());
        }
        let grids = if *steps > 1 { 2 } else { 1 };
        memory::require(&format!("a run on {shape} {dtype} values"), bytes as u128 * grids)
    }

    /// Takes all steps. `go_on` is asked now and then.
    ///
    /// # Errors
    /// A value is not finite, given or computed; that of `go_on`.
    ///
    /// # Panics
    /// If the arrays are not of the job's shape and stored type.
    pub fn take<T: Element>(
        &self,
        from: &[T],
        to: &mut [T],
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let sweep = self.sweep.downcast_ref::<Box<dyn Sweep<T>>>();
        let sweep = sweep.expect("arrays of the job's element type");
        let steps = self.job.steps;
        if steps == 0 {
            self.check(from, 0)?;
            to.copy_from_slice(from);
            return Ok(());
        }
        let mut between = vec![T::default(); if steps > 1 { from.len() } else { 0 }];
        for step in 1..=steps {
            // The last step writes the result, so the one before it does not.
            let into_result = (steps - step).is_multiple_of(2);
            let (source, target): (&[T], &mut [T]) = match (step, into_result) {
                (1, true) => (from, &mut *to),
                (1, false) => (from, &mut between),
                (_, true) => (&between, &mut *to),
                (_, false) => (&*to, &mut between),
            };
            if !sweep.run(source, target, go_on)? {
                self.check(from, 0)?;
                self.check(if into_result { to } else { &between }, step)?;
            }
        }
        Ok(())
    }

    /// Makes sure that the values after so many steps are finite.
    fn check<T: Element>(&self, values: &[T], step: usize) -> Result<(), Error> {
        let Some((index, value)) = first_not_finite(values) else { return Ok(()) };
        let position = self.job.shape.position(index);
        Err(match step {
            0 => Error::NotFinite { holder: ValueLocation::Input, value, position },
            _ => Error::Overflow { step, finite: step - 1, value, position },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineRequest;
    use crate::run::{Request, run};
    use problem::check::verify::Verify;
    use problem::error::InterruptedWork;
    use problem::{Boundary, Dtype, Grid};
    use transform::catalogue;

    fn job(steps: usize, dtype: Dtype) -> Job {
        let stencil = catalogue::find("star2d2r").unwrap();
        let boundary = Boundary::parse("x:periodic,y:reflect", 2).unwrap();
        Job { boundary, ..Job::new(stencil, "400x500".parse().unwrap(), dtype, steps) }
    }

    #[test]
    fn values_have_the_bits_of_runs() {
        for dtype in Dtype::ALL {
            for steps in 0..=MOST_STEPS {
                let job = job(steps, *dtype);
                let input = Grid::random(job.shape, *dtype, 3).unwrap();
                let (engine, verify) = (EngineRequest::Cpu, Some(Verify::Off));
                let request = Request { job: job.clone(), input: input.clone(), engine, verify };
                let (expected, _) = run(&request).unwrap();
                let sweeps = Sweeps::of(&job).unwrap();
                with_dtype!(*dtype, T => {
                    let from: &[T] = input.as_slice().unwrap();
                    let mut to = vec![T::from_f64(f64::NAN); from.len()];
                    sweeps.take(from, &mut to, &mut || Ok(())).unwrap();
                    assert!(expected.as_slice() == Some(&to[..]), "{dtype} {steps}");
                });
            }
        }
    }

    #[test]
    fn many_steps_of_large_grids_are_not_taken_one_by_one() {
        assert!(Sweeps::of(&job(100, Dtype::F32)).is_none());
        let small = Job { shape: "64x64".parse().unwrap(), ..job(100, Dtype::F32) };
        assert!(Sweeps::of(&small).is_some());
        let one_by_one = Job { chain: Depth::Steps(1), ..job(100, Dtype::F32) };
        assert!(Sweeps::of(&one_by_one).is_some());
    }

    #[test]
    fn values_that_are_not_finite_are_told_with_their_step() {
        let job = Job { shape: "9x9".parse().unwrap(), ..job(99, Dtype::F32) };
        let mut to = vec![0.0f32; 81];
        let mut take = |job: &Job, from: &[f32]| {
            let sweeps = Sweeps::of(job).unwrap();
            sweeps.take(from, &mut to, &mut || Ok(())).unwrap_err().to_string()
        };
        let mut from = vec![1.0f32; 81];
        from[10] = f32::INFINITY;
        for steps in 0..3 {
            let text = take(&Job { steps, ..job.clone() }, &from);
            assert_eq!(text, "the input holds inf at (y, x) = (1, 1)");
        }
        let stencil = transform::Stencil::dense("large", &[1, 1], &[1e10]).unwrap();
        let text = take(&Job { stencil, ..job }, &[1.0; 81]);
        let told = "after step 4 the grid holds inf at (y, x) = (0, 0); after step 3 all values";
        assert!(text.starts_with(told), "{text}");
    }

    #[test]
    fn whoever_is_asked_ends_it() {
        let sweeps = Sweeps::of(&job(16, Dtype::F32)).unwrap();
        let from = vec![1.0f32; 200_000];
        let mut to = from.clone();
        let mut asked = 0;
        let mut go_on = || {
            asked += 1;
            let stopped = Error::Stopped { during: InterruptedWork::Computing };
            if asked > 2 { Err(stopped) } else { Ok(()) }
        };
        assert!(matches!(sweeps.take(&from, &mut to, &mut go_on), Err(Error::Stopped { .. })));
        assert_eq!(asked, 3);
    }
}
