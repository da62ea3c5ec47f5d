// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps of a system on all cores of this machine.

use std::borrow::Cow;

use num_complex::Complex64;

use super::jump::JumpGroup;
use super::jump_error::JumpError;
use super::stepping::{Fields, State};
use problem::Error;

/// Fields in the memory of this machine.
pub struct OnCpu {
    jumpers: Vec<JumpGroup>,
    state: State,
    before: Option<State>,
    spectra: Vec<Vec<Complex64>>,
    /// Axes of the grid.
    dims: usize,
}

impl OnCpu {
    /// Fields that are taken by these.
    pub fn new(jumpers: Vec<JumpGroup>, state: State, dims: usize) -> Self {
        Self { jumpers, state, before: None, spectra: Vec::new(), dims }
    }
}

impl Fields for OnCpu {
    fn groups(&self) -> Vec<Vec<usize>> {
        self.jumpers.iter().map(|jumper| jumper.fields().to_vec()).collect()
    }

    fn jump(&mut self, steps: usize, is_kept: bool) -> Result<Vec<JumpError>, Error> {
        let Self { jumpers, state, before, spectra, .. } = self;
        *before = is_kept.then(|| state.clone());
        Ok(jumpers.iter().map(|jumper| jumper.make(state, steps, spectra)).collect())
    }

    fn back(&mut self) {
        self.state = self.before.take().expect("it was kept");
    }

    fn toruses(&self) -> Vec<Vec<usize>> {
        let lengths = |jumper: &JumpGroup| jumper.lengths()[3 - self.dims..].to_vec();
        self.jumpers.iter().map(lengths).collect()
    }

    fn level(&self, field: usize, level: usize) -> Result<Vec<f64>, Error> {
        Ok(self.state[field][level].clone())
    }

    fn state(&self) -> Result<Cow<'_, State>, Error> {
        Ok(Cow::Borrowed(&self.state))
    }

    fn device(&self) -> String {
        compute::engine::cpu::device()
    }
}
