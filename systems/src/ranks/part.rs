// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rank's part is as a system by itself.

use crate::checked::System;
use crate::parts::Source;
use compute::ranks::part::RankPart;
use problem::Error;
use problem::boundary::Side;

impl System {
    /// The system of a part and its ghosts: as large as they are, with zeros where others' points go on, and with the sources
    /// that lie in it.
    ///
    /// # Errors
    /// More points than can be addressed.
    pub(super) fn part(&self, part: &RankPart) -> Result<Self, Error> {
        let mut system = self.clone();
        system.shape = part.shape()?;
        system.origin = part.held.low;
        system.solved_on = self.whole_of_solves();
        for field in &mut system.fields {
            field.boundary = part.boundary(&field.boundary, Side::Zero);
        }
        for coefficient in &mut system.coefficients {
            coefficient.boundary = part.boundary(&coefficient.boundary, Side::Zero);
        }
        for work in &mut system.works {
            work.boundary = part.boundary(&work.boundary, Side::Zero);
        }
        let extents = system.shape.extents();
        let found = |source: &Source| {
            let copy = |copy: [isize; 3]| {
                let place = |axis: usize| {
                    let at = source.at[axis] as isize + copy[axis] - part.held.low[axis];
                    usize::try_from(at).ok().filter(|at| *at < extents[axis])
                };
                let at = [place(0)?, place(1)?, place(2)?];
                Some(Source { at, ..source.clone() })
            };
            part.copies().filter_map(copy).collect::<Vec<_>>()
        };
        system.sources = self.sources.iter().flat_map(found).collect();
        system.receivers.clear();
        Ok(system)
    }
}
