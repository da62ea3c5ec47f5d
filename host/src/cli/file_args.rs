// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that a computation writes, as options of all commands that compute one.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;

use super::Failure;
use super::choice::one_of;
use super::files::CommandFiles;
use files::io::colours::{ColourRange, Colours, PictureStyle};
use files::io::{Output, is_stream};
use files::record::{
    CheckpointInterval, Film, OutputFields, Pattern, Recording, RecordingRequest, Units,
};
use problem::{Dtype, Error, Shape, Slice};

/// What to write, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files and pictures")]
pub struct FileArgs {
    /// Write the final grid. The end of the name is the format: .npy (an array of the element type; bf16 as f32),
    /// .png (a picture), .vti or .pvti (for ParaView, .pvti in pieces), .nc (NetCDF). {field} in the name stands
    /// for a field's name, as in last-{field}.npy; - writes .npy to standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write only every K-th point along each axis
    #[arg(long, value_name = "K", default_value_t = 1, requires = "output", allow_negative_numbers = true, value_parser = counted)]
    pub stride: usize,
    /// Write one slice of a 3D grid, at index K of the axis, from 0 on. Without it pictures show the middle of z
    #[arg(long, value_name = "z=K", requires = "output", allow_hyphen_values = true)]
    pub slice: Option<Slice>,
    /// Write only these fields of a system, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", requires = "output", value_delimiter = ',')]
    pub fields: Option<Vec<String>>,
    /// Colour map of pictures
    #[arg(long, visible_alias = "colors", value_name = "MAP", requires = "output", default_value_t, value_parser = one_of::<Colours>())]
    pub colours: Colours,
    /// Values of the first and the last colour. auto: the least and the largest of the picture, of an animation
    /// those of all its pictures. each: those of each picture, also in an animation
    #[arg(
        long,
        value_name = "auto|each|MIN:MAX",
        default_value = "auto",
        requires = "output",
        allow_hyphen_values = true
    )]
    pub range: ColourRange,
    /// Also write the grid every N steps, from the start on. With {step} in the name (or {step:06}, with zeros
    /// before) each step has its own file, and .vti and .pvti get a .pvd that lists them. Without it a .png becomes
    /// an animation
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true, value_parser = counted)]
    pub every: Option<usize>,

    /// Keep all that is needed to go on in this file. It is written as often as --checkpoint-every says, when a
    /// signal ends the run, and after the last step
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// How often to write the checkpoint: every N steps, or after a time such as 90s, 10m or 1h [default: 10m]
    #[arg(long, value_name = "N|TIME", requires = "checkpoint", allow_hyphen_values = true)]
    pub checkpoint_every: Option<CheckpointInterval>,
    /// Go on from this checkpoint, with the command line that wrote it; --steps may be larger
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Look at all values every K steps, and end the run where one is infinite or not a number [default: as often
    /// as takes at most 2 % of the time, before each file and checkpoint, and at the end]
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = counted)]
    pub check_finite: Option<usize>,
    /// End before --steps if no value changes by more than TOLERANCE in a step, on average over K steps [default:
    /// 100]. Of a system also: if a condition on its totals holds, such as "change < 1e-9", which is looked at
    /// every K steps
    #[arg(long, value_name = "TOLERANCE|CONDITION[,K]", allow_hyphen_values = true)]
    pub until: Option<EndCheck>,
}

/// When a computation has come to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct EndCheck {
    /// What holds then.
    pub when: EndCondition,
    /// Steps between two looks.
    pub every: usize,
}

/// What holds at the end of a computation.
#[derive(Clone, Debug, PartialEq)]
pub enum EndCondition {
    /// No value changes by more in a step.
    Steady(f64),
    /// A condition on the totals of a system.
    Condition(String),
}

impl FromStr for EndCheck {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A condition has commas of its own, as in max(a, b) < 1.
        let is_word = |text: &str| text.trim().chars().all(|it| it.is_alphanumeric() || it == '-');
        let parts = text.rsplit_once(',').filter(|(_, every)| is_word(every));
        let (when, every) = parts.unwrap_or((text, "100"));
        let when = match when.trim().parse::<f64>() {
            Ok(tolerance) => {
                Some(tolerance).filter(|it| *it > 0.0 && it.is_finite()).map(EndCondition::Steady)
            }
            Err(_) if when.contains(['<', '>', '=']) => {
                Some(EndCondition::Condition(when.trim().to_owned()))
            }
            Err(_) => None,
        };
        match (when, counted(every.trim())) {
            (Some(when), Ok(every)) => Ok(Self { when, every }),
            _ => Err("give the largest change of a value in a step, above 0, such as 1e-6, or a condition on totals of a system, such as \"change < 1e-9\"; a number of steps between looks may follow: 1e-6,50"
                .into()),
        }
    }
}

/// Where totals go, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The file.
    pub path: PathBuf,
    /// Steps between two rows, if they are given.
    pub every: Option<usize>,
}

impl Series {
    /// Steps between two rows in a run of so many.
    #[must_use]
    pub fn period(&self, steps: usize) -> usize {
        const ROWS: usize = 1000;
        self.every.unwrap_or((steps / ROWS).max(1))
    }
}

impl FromStr for Series {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = |text: &str| !text.is_empty() && text.chars().all(|it| it.is_ascii_digit());
        let (path, every) = match text.rsplit_once(',').filter(|(_, every)| digits(every)) {
            Some((path, every)) => (path, Some(counted(every)?)),
            None => (text, None),
        };
        if path.is_empty() {
            return Err(
                "give a file; a number of steps between rows may follow: mass.csv,10".into()
            );
        }
        Ok(Self { path: path.into(), every })
    }
}

/// Reads a number from 1 on.
fn counted(text: &str) -> Result<usize, String> {
    let number = super::number::whole::<usize>(text)?;
    if number > 0 { Ok(number) } else { Err("give a number from 1 on".into()) }
}

/// The final files of a computation.
pub struct Outputs {
    /// What is written into them.
    pub recording: Recording,
    /// Each with the fields that it holds.
    pub files: Vec<(OutputFields, Output)>,
    /// What is written on the way, too.
    pub every: Option<usize>,
}

impl Outputs {
    /// The files after so many steps, which may be fewer than were asked for.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn after(&self, step: usize) -> Result<Vec<(OutputFields, Output)>, Error> {
        let output = |path: &Path| match is_stream(path) {
            true => Ok(Output::stream()),
            false => self.recording.output(path),
        };
        let targets = self.recording.targets(step).into_iter();
        targets.map(|target| output(&target.path).map(|output| (target, output))).collect()
    }

    /// Whether what is written on the way goes into one file.
    pub fn is_film(&self) -> bool {
        self.every.is_some() && !self.recording.pattern().has_step()
    }

    /// What is written in all steps from one to another.
    pub fn bytes(&self, from: usize, to: usize) -> Vec<(PathBuf, u64)> {
        let waiting = match self.is_film() && Film::waits(&self.recording.look()) {
            true => Some(self.recording.shot_bytes() as u64),
            false => self.recording.bytes(),
        };
        let Some(bytes) = waiting else { return Vec::new() };
        let times = self.every.map_or(1, |every| (to - from) / every + 1);
        let file = self.files.iter().find(|(target, _)| !is_stream(&target.path));
        file.map(|(target, _)| (target.path.clone(), bytes * times as u64)).into_iter().collect()
    }
}

impl FileArgs {
    /// What is to be written of fields of a shape and type; checks the files that hold them after so many steps.
    ///
    /// # Errors
    /// What is asked for cannot be written: fields, slices, formats, files.
    pub fn outputs(
        &self,
        shape: Shape,
        dtype: Dtype,
        fields: &[String],
        units: Units,
        steps: usize,
        files: &mut CommandFiles,
    ) -> Result<Option<Outputs>, Failure> {
        let Some(path) = &self.output else { return Ok(None) };
        let wish = RecordingRequest {
            pattern: Pattern::new(path)
                .map_err(|wrong| Failure::Pattern { path: path.clone(), wrong })?,
            slice: self.slice,
            stride: self.stride,
            fields: self.fields.clone(),
            look: PictureStyle { colours: self.colours, range: self.range },
        };
        let recording = Recording::new(wish, shape, dtype, fields, units);
        // A name that clashes is told of first.
        let targets = match &recording {
            Ok(recording) => recording.targets(steps),
            Err(_) => vec![OutputFields { path: path.clone(), fields: Vec::new() }],
        };
        if let Ok(recording) = &recording
            && self.every.is_some()
            && !recording.pattern().has_step()
            && !recording.format().is_picture()
        {
            return Err(Failure::NoStep { path: path.clone() });
        }
        if let Ok(recording) = &recording
            && !recording.format().is_picture()
            && let Some(option) = self.of_pictures()
        {
            let (problem, instead) = ("arrays", "leave it out, or write a .png");
            return Err(Failure::NotOf { option: option.to_owned(), problem, instead });
        }
        if let Ok(recording) = &recording
            && !recording.without_a_file().is_empty()
        {
            let fields = recording.without_a_file().iter().map(|(_, name)| name.clone()).collect();
            return Err(Failure::OneFile { path: path.clone(), fields });
        }
        let mut outputs = Vec::new();
        for target in targets {
            let output = match is_stream(&target.path) {
                true => files.streams("--output", &target.path)?,
                false => match &recording {
                    Ok(recording) => {
                        files.writes_by("--output", &target.path, |path| recording.output(path))?
                    }
                    Err(_) => files.writes("--output", Some(&target.path))?,
                },
            };
            outputs.extend(output.map(|output| (target, output)));
        }
        let (recording, every) = (recording?, self.every);
        if let Some(every) = every {
            for list in recording.indices() {
                files.writes("the list of --output", Some(&list))?;
            }
            /// Steps whose names are looked at; those of the others look alike.
            const MOST: usize = 10_000;
            for step in (0..steps).step_by(every).take(MOST) {
                for target in recording.targets(step) {
                    files.check_not_read("--output", &target.path)?;
                }
            }
        }
        Ok(Some(Outputs { recording, files: outputs, every }))
    }

    /// An option that only pictures heed.
    fn of_pictures(&self) -> Option<&'static str> {
        match (self.colours == Colours::default(), self.range == ColourRange::default()) {
            (false, _) => Some("--colours"),
            (true, false) => Some("--range"),
            (true, true) => None,
        }
    }

    /// Whether the result goes to standard output, so that the report does not.
    pub fn streams(&self) -> bool {
        self.output.as_deref().is_some_and(is_stream)
    }
}
