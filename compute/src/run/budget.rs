// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run does with the memory that there is.

use crate::engine::{Engine, Input};
use problem::check::sample;
use problem::memory::{self, Bytes};
use problem::{Error, Job};

/// The program itself, its threads' stacks, and what the system keeps of a process.
const PROGRAM: u128 = 24 << 20;
/// A part of the grid on its way to a file or a check: as it is stored, as it is written, and what is
/// buffered.
const PIECE: u128 = 4 * super::PIECE_BYTES as u128;

/// What a run wants to do.
#[derive(Clone, Copy, Debug)]
pub struct RunDemand {
    /// Compare something.
    pub check: bool,
    /// Compare every point after all steps.
    pub full: bool,
    /// The input's bytes, where it is in memory already and is released once the engine has it.
    pub released: u128,
    /// The input's bytes, where it is still to be made.
    pub to_come: u128,
    /// The input's bytes, where it is still to be made and stays in memory.
    pub to_stay: u128,
}

/// What a run can do in the memory that is free.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryBudget {
    /// Whether the engine keeps the input.
    pub input: Input,
    /// Compare every point after all steps.
    pub full: bool,
    /// Memory for the reference.
    pub check_bytes: u128,
    /// Why less is compared than was wanted.
    pub reduced: Option<String>,
}

impl MemoryBudget {
    /// Fits a run into the free memory: with as much as is wanted of the checks, then with a sample,
    /// then without the input, which only a check of all steps and repetitions go back to.
    ///
    /// # Errors
    /// [`Error::Memory`]: not even the run itself fits.
    pub fn new(
        engine: &dyn Engine,
        job: &Job,
        wanted: RunDemand,
        free: Bytes,
    ) -> Result<Self, Error> {
        let RunDemand { check, full, released, to_come, to_stay } = wanted;
        let free_then = u128::from(free.0) + released;
        let grids = |input| (engine.host_bytes(job, input) + to_stay).max(to_come);
        let base = |input| grids(input) + PROGRAM + PIECE;
        let left = |input| free_then.saturating_sub(base(input));
        let (full_need, sample_need) = (sample::full_bytes(job), sample::sample_bytes(job));
        let full_need = full_need.max(sample_need);
        let fits = |input, need| base(input) + need <= free_then;
        // Not all of it: other programs want some, too.
        let with = |input, full, reduced| {
            let check_bytes = left(input) / 4 * 3;
            let least = if full { full_need } else { sample_need };
            Ok(Self { input, full, check_bytes: check_bytes.max(least), reduced })
        };
        if full && fits(Input::Kept, full_need) {
            return with(Input::Kept, true, None);
        }
        let reduced = full.then(|| {
            let (need, left) = (Bytes::saturating(full_need), Bytes::saturating(left(Input::Kept)));
            format!(
                "comparing every point needs {need} more; {left} are left, so a sample is compared"
            )
        });
        let check_need = if check { sample_need } else { 0 };
        for input in [Input::Kept, Input::Dropped] {
            if fits(input, check_need) {
                return with(input, false, reduced);
            }
        }
        let need = base(Input::Dropped) + check_need;
        let what =
            format!("a run on {} {} values with engine {}", job.shape, job.dtype, engine.name());
        Err(memory::short(&what, need.saturating_sub(released), free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cpu::Cpu;
    use problem::Dtype;
    use problem::job::Depth;
    use transform::catalogue;

    const MIB: u128 = 1 << 20;

    /// 2000² values of 8 bytes, one step at a time: 30.5 MiB.
    fn job(steps: usize) -> Job {
        let stencil = catalogue::find("star2d1r").unwrap();
        let job = Job::new(stencil, "2000x2000".parse().unwrap(), Dtype::F64, steps);
        Job { chain: Depth::Steps(1), ..job }
    }

    fn budget(steps: usize, full: bool, free: u128) -> Result<MemoryBudget, Error> {
        let wanted = RunDemand { check: true, full, released: 0, to_come: 31 * MIB, to_stay: 0 };
        MemoryBudget::new(&Cpu, &job(steps), wanted, Bytes(free as u64))
    }

    #[test]
    fn with_plenty_everything_is_done() {
        let plenty = budget(3, true, 1024 * MIB).unwrap();
        assert_eq!((plenty.input, plenty.full, plenty.reduced), (Input::Kept, true, None));
        assert!(plenty.check_bytes > 500 * MIB);
    }

    #[test]
    fn what_there_is_no_memory_for_is_left_out_step_by_step() {
        // Three grids, and the program: 92 + 40 MiB. All steps of each point depend on all of them: 92 MiB.
        let budget_of = |free| budget(1000, true, free * MIB).unwrap();
        assert!(budget_of(260).full);
        let sampled = budget_of(200);
        assert_eq!((sampled.input, sampled.full), (Input::Kept, false));
        let text = sampled.reduced.unwrap();
        assert!(text.starts_with("comparing every point needs 91.6 MiB more; "), "{text}");
        assert!(text.ends_with(" are left, so a sample is compared"), "{text}");
        // Two grids.
        assert_eq!(budget_of(125).input, Input::Dropped);
        let error = budget(1000, true, 90 * MIB).unwrap_err();
        let text = "a run on 2000x2000 f64 values with engine cpu needs 121.1 MiB; 90.0 MiB are";
        assert!(error.to_string().starts_with(text), "{error}");
        assert_eq!(error.kind(), problem::ErrorKind::Memory);
    }

    #[test]
    fn an_input_that_is_released_counts_as_free() {
        let wanted =
            RunDemand { check: false, full: false, released: 31 * MIB, to_come: 0, to_stay: 0 };
        let budget = |released, free: u128| {
            MemoryBudget::new(
                &Cpu,
                &job(1),
                RunDemand { released, ..wanted },
                Bytes((free * MIB) as u64),
            )
        };
        assert!(budget(31 * MIB, 80).is_ok());
        assert!(budget(0, 80).is_err());
    }
}
