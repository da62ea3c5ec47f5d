// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last steps of a run that may end after any look: they are known to be the last ones only after they are taken, so
//! what they are compared with is held from before each of those looks.

use problem::region::Region;

/// What is compared, and what is held for it.
pub struct ComparedRegions {
    /// The most steps.
    pub steps: usize,
    /// The points; regions may overlap.
    pub regions: Vec<Region>,
    /// The step after which values were held, that after which the run may end, and the values that the regions depend on.
    pub held: Option<(usize, usize, Vec<Vec<f64>>)>,
}

impl ComparedRegions {
    /// Of so many steps at these points.
    pub fn new(steps: usize, regions: Vec<Region>) -> Self {
        Self { steps, regions, held: None }
    }

    /// The step from which on those before an end are compared, `done` or later; none, if values are held for that end.
    pub fn start(&self, done: usize, end: usize) -> Option<usize> {
        let is_held = self.held.as_ref().is_some_and(|(_, held_for, _)| *held_for == end);
        (!is_held && end > done).then(|| end.saturating_sub(self.steps).max(done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_is_held_for_once() {
        let mut tail = ComparedRegions::new(8, Vec::new());
        assert_eq!(tail.start(0, 100), Some(92));
        assert_eq!((tail.start(95, 100), tail.start(0, 5)), (Some(95), Some(0)));
        assert_eq!(tail.start(100, 100), None);
        tail.held = Some((92, 100, Vec::new()));
        assert_eq!((tail.start(97, 100), tail.start(100, 200)), (None, Some(192)));
    }
}
