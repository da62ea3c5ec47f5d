// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulation in files: checkpoints, and its fields as it stands.

use std::path::{Path, PathBuf};

use super::{Form, Simulation, SystemState};
use compute::run::checkpointed;
use files::io::checkpoint::{self, Checkpoint, CheckpointProblem};
use files::io::colours::PictureStyle;
use files::io::{Output, Staged};
use files::record::{Pattern, Recording, RecordingRequest, Units};
use problem::observe::Snapshot;
use problem::{Error, Slice};

/// What is to be written of a simulation.
#[derive(Clone, Debug)]
pub struct SaveRequest {
    /// The name of the file, or of many: `{step}` and `{field}` stand for what they say, and the end for the format.
    pub path: PathBuf,
    /// A slice, if not all.
    pub slice: Option<Slice>,
    /// Of how many points along each axis one.
    pub stride: usize,
    /// Which fields, if not all.
    pub fields: Option<Vec<String>>,
    /// How pictures are drawn.
    pub look: PictureStyle,
}

impl SaveRequest {
    /// All fields at all points.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            slice: None,
            stride: 1,
            fields: None,
            look: PictureStyle::default(),
        }
    }
}

impl Simulation {
    /// Writes the fields as they are now, as the option `--output` of the command line does; returns the files.
    ///
    /// ```no_run
    /// # fn saved(mut simulation: systems::Simulation) -> Result<(), problem::Error> {
    /// use systems::simulation::SaveRequest;
    /// use std::path::Path;
    /// simulation.save(&SaveRequest::new(Path::new("u_{step:06}.vti")))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Target`], [`Error::Format`], [`Error::Slice`], [`Error::UnknownField`], [`Error::NotFlat`]: it cannot be written so;
    /// [`Error::Write`]: the file cannot be written; a value is not finite.
    pub fn save(&mut self, wanted: &SaveRequest) -> Result<Vec<PathBuf>, Error> {
        let SaveRequest { path, slice, stride, fields, look } = wanted.clone();
        let format = |reason: String| Error::Target { path: path.clone(), reason };
        let pattern = Pattern::new(&path).map_err(|wrong| {
            format(format!("{wrong}; {{step}} and {{step:06}} stand for the step"))
        })?;
        let wish = RecordingRequest { pattern, slice, stride, fields, look };
        let CheckpointProblem { shape, dtype, .. } = self.problem();
        let known: Vec<String> = self.fields().into_iter().map(str::to_owned).collect();
        let units = self.system().map_or_else(Units::default, |system| system.units());
        let recording = Recording::new(wish, shape, dtype, &known, units)?;
        if let [(_, first), (_, second), ..] = recording.without_a_file() {
            let what = format!("one file cannot hold '{first}' and '{second}'");
            return Err(format(format!("{what}: put {{field}} into its name, or name one field")));
        }
        let step = self.steps();
        let mut written = Vec::new();
        self.show(&mut |snapshot| {
            snapshot.check_finite()?;
            let targets = recording.targets(step).into_iter();
            let files = targets.map(|target| recording.output(&target.path).map(|it| (target, it)));
            let files = files.collect::<Result<Vec<_>, _>>()?;
            let staged = files
                .iter()
                .map(|(target, output)| recording.stage_snapshot(target, output, step, snapshot));
            // All of them beside their places, before any is there.
            let staged = staged.collect::<Result<Vec<_>, _>>()?;
            staged.into_iter().try_for_each(Staged::publish)?;
            written = files.into_iter().map(|(target, _)| target.path).collect();
            Ok(())
        })?;
        Ok(written)
    }

    /// Keeps all that is needed to go on from here in a file, which takes the place of one that is there when it is whole. The
    /// command line goes on from it, too (`--resume`).
    ///
    /// # Errors
    /// [`Error::Write`]: the file cannot be written; a value is not finite; the device refuses.
    pub fn checkpoint(&mut self, path: &Path) -> Result<(), Error> {
        let CheckpointProblem { title, hash, .. } = self.problem();
        let (output, step, clock) = (Output::new(path)?, self.steps(), self.clock_of_a_sum());
        self.show(&mut |snapshot| {
            snapshot.check_finite()?;
            let clock = snapshot.clock().or(clock);
            checkpoint::write(&output, &title, &hash, (step, clock), snapshot)
        })
    }

    /// Goes on from a checkpoint of the same stencil or system, of the same size, element type and boundary.
    ///
    /// ```no_run
    /// # fn go_on(mut simulation: systems::Simulation) -> Result<(), problem::Error> {
    /// use std::path::Path;
    /// simulation.checkpoint(Path::new("heat.state"))?;
    /// simulation.step(100)?;
    /// simulation.resume(Path::new("heat.state"))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: it is of something else, cut, or damaged; [`Error::Read`]; [`Error::Split`]: ranks share the grid.
    pub fn resume(&mut self, path: &Path) -> Result<(), Error> {
        self.check_alone()?;
        let Checkpoint { header, arrays, records, series } = checkpoint::read(path)?;
        header.check(path, &CheckpointProblem { steps: usize::MAX, ..self.problem() })?;
        let (step, clock, rows_of) = (header.step, header.clock, header.rows_of);
        self.go_on(SystemState { step, arrays, records, series, rows_of, clock })
    }

    /// What checkpoints say of it.
    fn problem(&self) -> CheckpointProblem {
        match (&self.form, self.system()) {
            (_, Some(system)) => system.checkpointed(),
            (Form::Sum(sum), None) => checkpointed(sum.job()),
            (Form::Equations(system), None) => system.system().checkpointed(),
        }
    }

    fn show(
        &mut self,
        look: &mut dyn FnMut(&mut dyn Snapshot) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match &mut self.form {
            Form::Sum(sum) => sum.show(look),
            Form::Equations(system) => look(&mut system.snapshot()),
        }
    }
}
