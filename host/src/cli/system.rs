// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system from a file: `host run problem.toml`, and the built-in ones of `host example`.

use std::iter::{once, successors};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::computation_args::ComputationArgs;
use super::file_args::{EndCheck, EndCondition, FileArgs};
use super::files::CommandFiles;
use super::input;
use super::resumed::ResumedRun;
use super::task::{Compute, Task};
use super::{Failure, remedy, set, warn};
use problem::check::verify::Verify;
use problem::observe::Observer;
use problem::{Error, Grid, Shape};
use systems::batch::BatchSeat;
use systems::{ComputeOptions, Description, System, SystemSimulation, Text};

/// Whether a name is that of a system's file.
pub fn is_file(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Reads a system's file.
///
/// # Errors
/// Any [`Failure`].
pub fn read(path: &Path, args: &ComputationArgs) -> Result<System, Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    system(Description::read(path)?, folder, args)
}

/// The system of a description, with what is given instead of its own numbers.
///
/// # Errors
/// Any [`Failure`].
pub fn system(
    mut description: Description,
    folder: &Path,
    args: &ComputationArgs,
) -> Result<System, Failure> {
    if let Some(size) = &args.size {
        let shape = size.parse::<Shape>()?.spread(description.size.len())?;
        description.size = shape.axes().to_vec();
    }
    set::apply(&mut description, &args.set, args.dt.as_deref()).map_err(Error::from)?;
    description.dtype = args.dtype.unwrap_or(description.dtype);
    if let Some(EndCheck { when: EndCondition::Condition(condition), .. }) = &args.files.until {
        description.end = Some(Text::new("--until", condition));
    }
    let system = System::new(&description, folder)?.with_chain(args.chain).with_jump(args.jump);
    let steps = args.steps.unwrap_or(system.steps());
    let system = system.with_steps(steps);
    if args.receivers.is_some() && system.receivers().len() == 0 {
        return Err(Failure::NoReceivers);
    }
    if args.series.is_some() && system.totals().len() == 0 {
        return Err(Failure::NoTotals);
    }
    Ok(system)
}

/// A system that is no stencil as a task.
///
/// # Errors
/// Any [`Failure`] of reading a file.
pub fn task<'a>(
    system: &'a System,
    args: &'a ComputationArgs,
    (family, seat): (Option<&'static str>, Option<BatchSeat>),
    files: &mut CommandFiles,
) -> Result<Task<'a>, Failure> {
    let problem = system.checkpointed();
    let resumed = ResumedRun::of(&problem, &args.files, files, false)?;
    let done = resumed.as_ref().map_or(0, ResumedRun::steps);
    let by = resumed.as_ref().map(ResumedRun::by);
    let rows_before = resumed.as_ref().map_or(0, ResumedRun::rows);
    let steps = problem.steps;
    let inputs: Rc<[(String, Grid)]> = inputs(system, args.input.as_deref(), files)?.into();
    let name = |(name, at): (&str, &[f64])| {
        let at: Vec<String> = at.iter().map(f64::to_string).collect();
        format!("{name}[{}]", at.join(" "))
    };
    let compute: Compute = Box::new(move |around, watching| {
        let verify = args.verify.unwrap_or(Verify::Sample);
        // Steps that are all compared are taken one by one.
        let rows = args.series.as_ref().map(|series| series.period(steps));
        let unseen = match verify {
            Verify::Full => 1,
            _ => unobserved_steps(&args.files, rows, steps - done),
        };
        let (engine, sharing) = (args.engine, around.sharing);
        let asked = ComputeOptions { engine, steps: unseen, family, sharing, inputs, seat };
        let simulation = match resumed {
            None => SystemSimulation::asked(system, &asked)?,
            Some(resumed) => SystemSimulation::resumed(system, &asked, resumed.state())?,
        };
        let mut simulation = simulation.control(around.control).time(args.measured());
        if let Some(every) = rows {
            simulation = simulation.with_series(every)?;
            if simulation.series().len() < rows_before {
                warn(&format!(
                    "the checkpoint has rows of other totals, or of other steps: the series begins at step {done}"
                ));
            }
        }
        let rounded = simulation.rounded_coefficients().iter();
        rounded.map(remedy::of_rounded_coefficient).for_each(|text| warn(&text));
        let growth = simulation.predict_growth(steps - done).into_iter();
        growth.for_each(|growth| warn(&remedy::of_growth(&growth)));
        compute(&mut simulation, steps, verify, &mut watching.observers())
            .map_err(|error| watching.explain(error))?;
        let (done, now) = (simulation.steps(), simulation.now());
        if done == steps && system.ends_in_time() && !simulation.is_over() {
            warn(&format!(
                "after {done} steps, of which there are no more, the time is {now}: not yet the end"
            ));
        }
        Ok(Box::new(simulation))
    });
    Ok(Task {
        problem,
        fields: system.fields().map(str::to_owned).collect(),
        units: system.units(),
        receivers: system.receivers().map(name).collect(),
        totals: system.totals().map(str::to_owned).collect(),
        warnings: system.warnings().to_vec(),
        seed: None,
        read: [None, args.input.clone().or(args.files.resume.clone())],
        done,
        by,
        compute,
    })
}

/// The values of the fields that `--input` names.
fn inputs(
    system: &System,
    given: Option<&Path>,
    files: &mut CommandFiles,
) -> Result<Vec<(String, Grid)>, Failure> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let named = named(system, given)?;
    let read = |(field, path): (String, PathBuf)| {
        files.reads("--input", Some(&path))?;
        Ok((field, input::of_system(&path, system.shape(), system.dtype())?))
    };
    named.into_iter().map(read).collect()
}

/// The fields that an input is for, each with its file.
///
/// # Errors
/// [`Failure::NoField`].
pub fn named(system: &System, given: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let fields: Vec<&str> = system.fields().collect();
    let text = given.to_string_lossy();
    let name = |part: &str| {
        let (field, file) = part.split_once('=')?;
        fields.contains(&field).then(|| (field.to_owned(), PathBuf::from(file)))
    };
    let all: Option<Vec<_>> = text.split(',').map(name).collect();
    match (all, fields.as_slice()) {
        (Some(all), _) => Ok(all),
        (None, [field]) => Ok(vec![((*field).to_owned(), given.to_owned())]),
        (None, _) => {
            let fields = fields.iter().map(|field| (*field).to_owned()).collect();
            Err(Failure::NoField { text: text.into_owned(), fields })
        }
    }
}

/// Of so many steps those that are taken while nobody looks at the fields, nor a row of totals is made of them.
pub fn unobserved_steps(files: &FileArgs, rows: Option<usize>, steps: usize) -> usize {
    let until = files.until.as_ref().map(|until| until.every);
    let looks = [files.every, files.check_finite, until, rows];
    let looks = looks.into_iter().flatten().fold(steps, usize::min);
    // A checkpoint may be due at any step.
    if files.checkpoint.is_some() { 1 } else { looks }
}

/// The steps that a sample compares of a run of so many: the first, one in the middle, the last; of one that may end at
/// any step the first ones at growing distances.
fn compared(done: usize, steps: usize, open_ended: bool) -> Vec<usize> {
    if !open_ended {
        return vec![done, steps / 2, steps.saturating_sub(1)];
    }
    let growing = successors(Some(1_usize), |after| after.checked_mul(4));
    let after = growing.map_while(|after| done.checked_add(after)).take_while(|step| *step < steps);
    once(done).chain(after).collect()
}

/// Takes all steps, of which are compared: all; a few; or none.
fn compute(
    simulation: &mut SystemSimulation,
    steps: usize,
    verify: Verify,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let done = simulation.steps();
    let is_open = observer.may_end(done).is_some() || simulation.system().ends_in_time();
    let compared = compared(done, steps, is_open);
    let compared = if verify == Verify::Sample && steps > 0 { &compared[..] } else { &[] };
    simulation.compare_all(verify == Verify::Full);
    simulation.run(steps, compared, observer)?;
    simulation.check_finite()?;
    simulation.totals().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_known_end_is_compared_at_growing_steps() {
        assert_eq!(compared(0, 100, false), [0, 50, 99]);
        assert_eq!(compared(0, 100, true), [0, 1, 4, 16, 64]);
        assert_eq!(compared(40, 100, true), [40, 41, 44, 56]);
        assert_eq!(compared(0, 1, true), [0]);
    }

    #[test]
    fn a_system_is_named_by_a_file() {
        assert!(is_file("wave.toml") && is_file("a/b.TOML"));
        assert!(!is_file("star2d1r") && !is_file("toml") && !is_file("a.npy"));
    }
}
