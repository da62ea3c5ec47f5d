// SPDX-License-Identifier: MIT OR Apache-2.0
//! A result as those see it who looked at the run.

use super::Computed;
use problem::observe::{ArrayName, ComputedBy, PartFile, Snapshot};
use problem::region::Region;
use problem::{Error, Shape, Values};

/// A result, of which all values are known to be finite.
pub struct Finished<'a>(pub &'a mut Computed);

impl Snapshot for Finished<'_> {
    fn shape(&self) -> Shape {
        self.0.run.job.shape
    }

    fn arrays(&self) -> Vec<ArrayName> {
        vec![ArrayName { field: self.0.run.options.field().to_owned(), level: 0 }]
    }

    fn by(&self) -> ComputedBy {
        ComputedBy { engine: self.0.run.choice.engine.name().to_owned(), how: String::new() }
    }

    fn read(&mut self, _: usize, region: Region) -> Result<Values, Error> {
        self.0.read(region)
    }

    fn parts(&self) -> Option<Vec<Region>> {
        self.0.run.session.parts()
    }

    fn write_parts(&mut self, files: &[PartFile]) -> Result<Vec<String>, Error> {
        self.0.run.session.write_parts(files)
    }

    fn check_finite(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
