// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that a computation writes, as options of all commands that compute one.

use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::choice::one_of;
use super::files::CommandFiles;
use crate::io::colours::{Colours, Look, Range};
use crate::io::{Output, is_stream};
use crate::problem::Slice;
use crate::record::{Pattern, Recording, Target, Wish};
use crate::{Dtype, Shape};

/// What to write, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files and pictures")]
pub struct FileArgs {
    /// Write the final grid, in the format of the name's end: .npy, an array of its element type (bf16 as f4);
    /// .png, a picture; .vti, for ParaView. {field} stands for a field's name, as in last-{field}.npy;
    /// - is standard output, as .npy
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write one point of K along each axis
    #[arg(long, value_name = "K", default_value_t = 1, allow_negative_numbers = true, value_parser = stride)]
    pub stride: usize,
    /// Write the slice of a 3D grid at a place of an axis; pictures are of the middle of z otherwise
    #[arg(long, value_name = "z=K", allow_hyphen_values = true)]
    pub slice: Option<Slice>,
    /// Of a system: write these fields, separated by commas, instead of all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub fields: Option<Vec<String>>,
    /// How pictures are coloured
    #[arg(long, visible_alias = "colors", value_name = "MAP", default_value_t, value_parser = one_of::<Colours>())]
    pub colours: Colours,
    /// The values of the first and the last colour; auto takes the least and the largest of each picture
    #[arg(long, value_name = "auto|MIN:MAX", default_value = "auto", allow_hyphen_values = true)]
    pub range: Range,
}

/// Reads a number of points from 1 on.
fn stride(text: &str) -> Result<usize, String> {
    let number = super::number::whole::<usize>(text)?;
    if number > 0 { Ok(number) } else { Err("give a number from 1 on".into()) }
}

/// The final files of a computation.
pub struct Outputs {
    /// What is written into them.
    pub recording: Recording,
    /// Each with the fields that it holds.
    pub files: Vec<(Target, Output)>,
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
        dt: Option<f64>,
        steps: usize,
        files: &mut CommandFiles,
    ) -> Result<Option<Outputs>, Failure> {
        let Some(path) = &self.output else { return Ok(None) };
        let wish = Wish {
            pattern: Pattern::new(path)
                .map_err(|wrong| Failure::Pattern { path: path.clone(), wrong })?,
            slice: self.slice,
            stride: self.stride,
            fields: self.fields.clone(),
            look: Look { colours: self.colours, range: self.range },
        };
        let recording = Recording::new(wish, shape, dtype, fields, dt);
        // A name that clashes is told of first.
        let targets = match &recording {
            Ok(recording) => recording.targets(steps),
            Err(_) => vec![Target { path: path.clone(), fields: Vec::new() }],
        };
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
                false => files.writes("--output", Some(&target.path))?,
            };
            outputs.extend(output.map(|output| (target, output)));
        }
        Ok(Some(Outputs { recording: recording?, files: outputs }))
    }

    /// Whether the result goes to standard output, so that the report does not.
    pub fn streams(&self) -> bool {
        self.output.as_deref().is_some_and(is_stream)
    }
}
