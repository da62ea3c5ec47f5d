// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a file is to hold: fields of one shape and type, and where their values come from.

use std::io;

use problem::{Dtype, Error, Grid, Shape, Values, View, ViewLayout};

/// Takes values, part by part in C order.
pub type VisitValues<'a> = dyn FnMut(&Values) -> io::Result<()> + 'a;

/// Hands on the values of a field, given by its place in [`ContentInfo::fields`].
pub type ValueSource<'a> = dyn FnMut(usize, &mut VisitValues) -> io::Result<()> + 'a;

/// Fields after some step.
pub struct Content<'a> {
    /// Their extents.
    pub shape: Shape,
    /// Their element type.
    pub dtype: Dtype,
    /// What is said of them.
    pub about: ContentInfo,
    grids: Option<&'a [Grid]>,
    source: Box<ValueSource<'a>>,
}

/// What a [`Content`] is of, besides its values.
#[derive(Clone, Debug)]
pub struct ContentInfo {
    /// The names of the fields.
    pub fields: Vec<String>,
    /// Steps that were taken.
    pub step: usize,
    /// The time after them, where there is one.
    pub time: Option<f64>,
    /// Where the points lie.
    pub layout: ViewLayout,
}

impl<'a> Content<'a> {
    /// What a view of grids shows. `read` gives the values of a part of a field, given by its place.
    pub fn of_view(
        about: ContentInfo,
        view: View,
        dtype: Dtype,
        most_bytes: usize,
        mut read: impl FnMut(usize, problem::Region) -> Result<Values, Error> + 'a,
    ) -> Self {
        let source = move |field: usize, visit: &mut VisitValues| {
            let read = |region| read(field, region).map_err(as_io_error);
            view.pieces(dtype, most_bytes, read, |values| visit(&values))
        };
        let (shape, grids) = (view.shape(), None);
        Self { shape, dtype, about, grids, source: Box::new(source) }
    }

    /// Grids, one for each field, all of one shape and type.
    #[must_use]
    pub fn of_grids(about: ContentInfo, grids: &'a [Grid]) -> Self {
        let (shape, dtype) = (grids[0].shape, grids[0].dtype());
        let source = move |field: usize, visit: &mut VisitValues| visit(&grids[field].values);
        Self { shape, dtype, about, grids: Some(grids), source: Box::new(source) }
    }

    /// The values of a field, where they are all in memory.
    #[must_use]
    pub fn held(&self, field: usize) -> Option<&'a Values> {
        Some(&self.grids?[field].values)
    }

    /// Hands on the values of a field.
    ///
    /// # Errors
    /// `visit` fails, or whoever has the values does.
    pub fn values(&mut self, field: usize, visit: &mut VisitValues) -> io::Result<()> {
        (self.source)(field, visit)
    }
}

/// An error of this crate on its way through a writer, which hands on errors of the system.
pub(super) fn as_io_error(error: Error) -> io::Error {
    io::Error::other(error)
}

/// The error that was smuggled, or what `own` makes of one of the system.
pub(super) fn unpacked(error: io::Error, own: impl FnOnce(io::Error) -> Error) -> Error {
    error.downcast::<Error>().unwrap_or_else(own)
}
