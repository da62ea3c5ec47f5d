// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which fields are written, into which files, in which format.

use std::path::{Path, PathBuf};

use super::index::Index;
use super::pattern::Pattern;
use crate::io::colours::PictureStyle;
use crate::io::format::{self, FileFormat};
use crate::io::rows::SharedFields;
use crate::io::{Content, ContentInfo, Output, Staged};
use problem::observe::Snapshot;
use problem::{Dtype, Error, Region, Shape, Slice, Values, View};

/// Bytes of a field that are read at a time.
const PIECE_BYTES: usize = 4 << 20;

/// A file of a format, or a folder, to be written later.
///
/// # Errors
/// It cannot be written.
pub fn output(format: &dyn FileFormat, path: &Path) -> Result<Output, Error> {
    if format.is_folder() { Output::folder_of_files(path) } else { Output::new(path) }
}

/// What somebody wants to have written.
#[derive(Clone, Debug)]
pub struct RecordingRequest {
    /// Into which files.
    pub pattern: Pattern,
    /// A slice, if not all.
    pub slice: Option<Slice>,
    /// Of how many points along each axis one.
    pub stride: usize,
    /// Which fields, if not all.
    pub fields: Option<Vec<String>>,
    /// How pictures are drawn.
    pub look: PictureStyle,
}

/// What is written of a computation.
#[derive(Clone)]
pub struct Recording {
    pattern: Pattern,
    format: &'static dyn FileFormat,
    look: PictureStyle,
    view: View,
    dtype: Dtype,
    /// Place among the fields, and name.
    fields: Vec<(usize, String)>,
    units: Units,
}

/// The times of the steps of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecordingClock {
    /// They are counted.
    Counted,
    /// Each is so long.
    Even(f64),
    /// A snapshot has the clock ([`Snapshot::clock`]).
    Told,
}

/// When steps are, and how far it is from a point to the next, in the units of a problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// When steps are.
    pub time: RecordingClock,
    /// From a point to the next along (z, y, x).
    pub spacing: [f64; 3],
}

impl Default for Units {
    /// Steps and points are counted.
    fn default() -> Self {
        Self { time: RecordingClock::Counted, spacing: [1.0; 3] }
    }
}

/// So many steps, and the time after them, where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// The steps.
    pub step: usize,
    /// The time.
    pub time: Option<f64>,
}

impl StepTime {
    /// The time, or the number of steps.
    #[must_use]
    pub fn on_the_axis(self) -> f64 {
        self.time.unwrap_or(self.step as f64)
    }
}

/// A file, and the places of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputFields {
    /// The file.
    pub path: PathBuf,
    /// The fields' places and names.
    pub fields: Vec<(usize, String)>,
}

impl Recording {
    /// Of fields of a shape and type.
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::Slice`], [`Error::UnknownField`], [`Error::NotFlat`].
    pub fn new(
        wish: RecordingRequest,
        shape: Shape,
        dtype: Dtype,
        known: &[String],
        units: Units,
    ) -> Result<Self, Error> {
        let RecordingRequest { pattern, slice, stride, fields, look } = wish;
        let some = known.first().map_or("", String::as_str);
        let path = pattern.path(some, 0);
        let format = format::of(&path)?;
        let middle = Slice { axis: 0, at: None };
        let flat = format.is_picture() && shape.dims() == 3;
        let view = View::new(shape, slice.or(flat.then_some(middle)), stride)?;
        if format.is_picture() && view.shape().dims() != 2 {
            return Err(Error::NotFlat { path, shape: view.shape().to_string() });
        }
        let place = |name: &String| match known.iter().position(|known| known == name) {
            Some(place) => Ok((place, name.clone())),
            None => Err(Error::UnknownField { name: name.clone(), known: known.to_vec() }),
        };
        let fields =
            fields.as_deref().unwrap_or(known).iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { pattern, format, look, view, dtype, fields, units })
    }

    /// The fields that find no file of their own, where there are several: none, if each has one, or all share one.
    #[must_use]
    pub fn without_a_file(&self) -> &[(usize, String)] {
        let shared = self.format.holds_many() || self.pattern.has_field() || self.fields.len() == 1;
        if shared { &[] } else { &self.fields }
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> &'static dyn FileFormat {
        self.format
    }

    /// The names of the files.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// How pictures are drawn.
    #[must_use]
    pub fn look(&self) -> PictureStyle {
        self.look
    }

    /// The points that are written.
    #[must_use]
    pub fn view(&self) -> View {
        self.view
    }

    /// The fields that are written: place among those of the computation, and name.
    #[must_use]
    pub fn fields(&self) -> &[(usize, String)] {
        &self.fields
    }

    /// The lists of a series, one for each of [`Recording::targets`]; none of formats that have no list.
    #[must_use]
    pub fn indices(&self) -> Vec<PathBuf> {
        let Some(extension) = self.format.index() else { return Vec::new() };
        if self.pattern.has_field() {
            self.fields.iter().map(|(_, name)| self.pattern.index(name, extension)).collect()
        } else {
            vec![self.pattern.index("", extension)]
        }
    }

    /// Writes the lists of a series anew: of all files that are there, of every `every`-th step to `last` and of that.
    ///
    /// # Errors
    /// The system refuses.
    pub fn list(&self, every: usize, last: StepTime) -> Result<(), Error> {
        let steps: Vec<usize> = (0..last.step).step_by(every.max(1)).collect();
        let mut indices = self.listed(&steps)?;
        for (index, target) in indices.iter_mut().zip(self.targets(last.step)) {
            if target.path.exists() {
                index.add(last.on_the_axis(), &target.path);
            }
            index.write()?;
        }
        Ok(())
    }

    /// The lists of a series, with the files of these steps that are there. Where the time of a step is not known any
    /// more, it is taken from the lists that are there; what they do not name is left out.
    ///
    /// # Errors
    /// A list that is there cannot be read.
    pub(super) fn listed(&self, steps: &[usize]) -> Result<Vec<Index>, Error> {
        let mut indices: Vec<Index> = self.indices().into_iter().map(Index::new).collect();
        if indices.is_empty() || steps.is_empty() {
            return Ok(indices);
        }
        let before = match self.units.time {
            RecordingClock::Told => indices.iter().map(Index::read).collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        for step in steps {
            for (number, target) in self.targets(*step).into_iter().enumerate() {
                let time = match self.units.time {
                    RecordingClock::Counted => Some(*step as f64),
                    RecordingClock::Even(dt) => Some(*step as f64 * dt),
                    RecordingClock::Told => before[number].time(&target.path),
                };
                if let Some(time) = time.filter(|_| target.path.exists()) {
                    indices[number].add(time, &target.path);
                }
            }
        }
        Ok(indices)
    }

    /// So many steps of a computation that stands after them.
    #[must_use]
    pub fn moment(&self, step: usize, snapshot: &dyn Snapshot) -> StepTime {
        let time = match self.units.time {
            RecordingClock::Counted => None,
            RecordingClock::Even(dt) => Some(step as f64 * dt),
            RecordingClock::Told => snapshot.clock().map(|clock| clock.at(step as f64)),
        };
        StepTime { step, time }
    }

    /// The files after so many steps.
    #[must_use]
    pub fn targets(&self, step: usize) -> Vec<OutputFields> {
        if self.format.holds_many() && !self.pattern.has_field() {
            return vec![OutputFields {
                path: self.pattern.path("", step),
                fields: self.fields.clone(),
            }];
        }
        let target = |field: &(usize, String)| OutputFields {
            path: self.pattern.path(&field.1, step),
            fields: vec![field.clone()],
        };
        self.fields.iter().map(target).collect()
    }

    /// Bytes of the values of a step, as they lie in memory.
    #[must_use]
    pub fn shot_bytes(&self) -> usize {
        self.fields.len() * self.view.shape().points() * self.dtype.bytes()
    }

    /// Bytes of the files of a step, where they are known before; a stream needs none.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let of = |target: OutputFields| {
            self.format.bytes(self.view.shape(), self.dtype, target.fields.len())
        };
        self.targets(0).into_iter().map(of).sum()
    }

    /// Writes a target beside its place. `read` gives the values of a part of a field, given by its place.
    ///
    /// # Errors
    /// The system refuses, or those of `read`.
    pub fn stage<'a>(
        &self,
        target: &OutputFields,
        output: &'a Output,
        moment: StepTime,
        mut read: impl FnMut(usize, Region) -> Result<Values, Error>,
    ) -> Result<Staged<'a>, Error> {
        let read = |field: usize, region: Region| read(target.fields[field].0, region);
        let about = self.about(target, moment);
        let content = &mut Content::of_view(about, self.view, self.dtype, PIECE_BYTES, read);
        self.stage_content(output, content)
    }

    /// Stages a file of content that is given.
    ///
    /// # Errors
    /// The system refuses, or the content cannot be read.
    pub fn stage_content<'a>(
        &self,
        output: &'a Output,
        content: &mut Content,
    ) -> Result<Staged<'a>, Error> {
        self.format.stage(output, content, &self.look)
    }

    /// Writes a target of a computation as it stands beside its place; where ranks share the computation, and all points
    /// are written, each rank its part.
    ///
    /// # Errors
    /// The system refuses, the device, or a rank.
    pub fn stage_snapshot<'a>(
        &self,
        target: &OutputFields,
        output: &'a Output,
        step: usize,
        snapshot: &mut dyn Snapshot,
    ) -> Result<Staged<'a>, Error> {
        let moment = self.moment(step, snapshot);
        match self.parts(snapshot) {
            Some(parts) if output.is_replaced() => {
                let (about, dtype, shape) =
                    (self.about(target, moment), self.dtype, snapshot.shape());
                let shared = &mut SharedFields { about, shape, dtype, parts, by: snapshot };
                self.format.stage_parts(output, shared)
            }
            _ => self.stage(target, output, moment, |field, region| snapshot.read(field, region)),
        }
    }

    /// The points of each rank, if each can write its part.
    pub(super) fn parts(&self, snapshot: &dyn Snapshot) -> Option<Vec<Region>> {
        let whole = self.view == View::whole(snapshot.shape());
        let (shape, dtype) = (snapshot.shape(), self.dtype);
        snapshot.parts().filter(|parts| whole && self.format.has_parts(shape, dtype, parts))
    }

    /// A file of the format, or a folder, to be written later.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn output(&self, path: &Path) -> Result<Output, Error> {
        output(self.format, path)
    }

    /// What is said of a target.
    #[must_use]
    pub fn about(&self, target: &OutputFields, StepTime { step, time }: StepTime) -> ContentInfo {
        let fields = target.fields.iter().map(|(_, name)| name.clone()).collect();
        let layout = self.view.layout(self.units.spacing);
        ContentInfo { fields, step, time, layout }
    }
}
