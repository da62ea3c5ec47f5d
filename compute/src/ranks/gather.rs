// SPDX-License-Identifier: MIT OR Apache-2.0
//! An array of the whole grid on each rank, of what each has of its own points: for what reads all points at once.
//!
//! Each rank sends the values of its own points to all others, as ghosts are sent. All ranks ask for the same arrays in the same
//! order, between the same exchanges of ghosts.

use std::rc::Rc;

use super::boxes::{held, put};
use super::ghosted::{from_bytes, to_bytes};
use super::messenger::{Messenger, receive_ghosts, send_ghosts};
use super::part::RankPart;
use problem::region::Region;
use problem::{Error, Grid, Shape, Values};

/// What gathers arrays on a rank.
pub struct Gather {
    post: Rc<dyn Messenger>,
    /// By rank.
    parts: Vec<RankPart>,
}

impl Gather {
    /// Of the rank at this end of the post, with the parts of all ranks.
    #[must_use]
    pub fn new(post: &Rc<dyn Messenger>, parts: &[RankPart]) -> Self {
        Self { post: Rc::clone(post), parts: parts.to_vec() }
    }

    fn part(&self) -> &RankPart {
        &self.parts[self.post.rank()]
    }

    /// The grid of which each rank has a part.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.part().whole
    }

    /// The rank's own points, in the coordinates of what it holds.
    #[must_use]
    pub fn own(&self) -> Region {
        self.part().local(self.part().own)
    }

    /// The values of an array at all points of the grid, where this rank has these at its own points, all in C order.
    ///
    /// # Errors
    /// Another rank failed.
    pub fn whole(&self, own: &Values) -> Result<Values, Error> {
        let (dtype, bytes, rank) = (own.dtype(), to_bytes(own), self.post.rank());
        let others = || (0..self.parts.len()).filter(move |other| *other != rank);
        for other in others() {
            send_ghosts(&*self.post, other, bytes.clone())?;
        }
        let all = Region::whole(self.shape());
        let mut whole = vec![0; all.points() * dtype.bytes()];
        put(&mut whole, all, &bytes, self.part().own, dtype.bytes());
        for other in others() {
            let bytes = receive_ghosts(&*self.post, other)?;
            put(&mut whole, all, &bytes, self.parts[other].own, dtype.bytes());
        }
        Ok(from_bytes(&whole, dtype))
    }

    /// Of the values of an array at all points those of all that the rank holds.
    #[must_use]
    pub fn held(&self, whole: Values) -> Values {
        let dtype = whole.dtype();
        let grid = Grid { shape: self.shape(), values: whole };
        from_bytes(&held(&grid, self.part()), dtype)
    }
}
