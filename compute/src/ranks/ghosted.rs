// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session of a rank's part that keeps its ghosts right: after as many steps as they are deep it gets them anew, through
//! this machine's memory.

use super::halo::{Transfer, Transfers};
use super::post::{Post, receive_ghosts, send_ghosts};
use crate::engine::{Session, State};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::values::{Element, Values};
use problem::{Arithmetic, Error, Grid, Jump, Jumped, Shape, with_dtype, with_values};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A session with ghosts around it.
pub struct Ghosted {
    inner: Box<dyn Session>,
    post: Rc<dyn Post>,
    transfers: Transfers,
    /// Steps after which ghosts are wrong as far as the own points; no fewer than a launch takes.
    period: usize,
    /// Steps that may be taken before that.
    left: usize,
}

impl Ghosted {
    /// Of a session whose ghosts are good for so many steps.
    pub fn new(
        inner: Box<dyn Session>,
        post: Rc<dyn Post>,
        transfers: Transfers,
        period: usize,
    ) -> Self {
        Self { inner, post, transfers, period, left: period }
    }

    /// Gets all ghosts anew, as others' points are now.
    fn exchange(&mut self) -> Result<(), Error> {
        for &Transfer { with, region } in &self.transfers.sends {
            let values = self.inner.read(State::Now, region)?;
            send_ghosts(&*self.post, with, to_bytes(&values))?;
        }
        for &Transfer { with, region } in &self.transfers.receives {
            let bytes = receive_ghosts(&*self.post, with)?;
            let values = from_bytes(&bytes, self.inner.arithmetic().dtype);
            self.inner.write(region, &values)?;
        }
        self.left = self.period;
        Ok(())
    }
}

/// Values as they lie in memory.
pub fn to_bytes(values: &Values) -> Vec<u8> {
    with_values!(values, values => bytemuck::cast_slice(values).to_vec())
}

/// The same back.
pub fn from_bytes(bytes: &[u8], dtype: problem::Dtype) -> Values {
    with_dtype!(dtype, T => {
        let mut values = vec![T::default(); bytes.len() / size_of::<T>()];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
        T::wrap(values)
    })
}

impl Session for Ghosted {
    fn device(&self) -> String {
        self.inner.device()
    }

    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn arithmetic(&self) -> Arithmetic {
        self.inner.arithmetic()
    }

    fn seams(&self) -> Seams {
        self.inner.seams()
    }

    fn chain(&self) -> usize {
        self.inner.chain()
    }

    fn launch(&self) -> usize {
        self.inner.launch()
    }

    fn jump(&self) -> Option<Jump> {
        self.inner.jump()
    }

    fn jumped(&self) -> Option<Jumped> {
        self.inner.jumped()
    }

    fn kernel(&self) -> Option<String> {
        self.inner.kernel()
    }

    fn sweeps(&self, steps: usize) -> usize {
        self.inner.sweeps(steps)
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        self.left = self.period;
        self.inner.load(input)
    }

    fn drop_input(&mut self) {
        self.inner.drop_input();
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.left = self.period;
        self.inner.restart()
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let (mut to_go, mut time) = (steps, Duration::ZERO);
        let whole = self.inner.launch();
        while to_go > 0 {
            if self.left < to_go.min(whole) {
                let start = Instant::now();
                self.exchange()?;
                time += start.elapsed();
            }
            // Whole launches, as one device would take them, but for the last.
            let steps = if to_go <= self.left { to_go } else { self.left / whole * whole };
            time += self.inner.advance(steps)?;
            to_go -= steps;
            self.left -= steps;
        }
        Ok(time)
    }

    fn read(&mut self, state: State, region: Region) -> Result<Values, Error> {
        self.inner.read(state, region)
    }

    fn knows_finite(&mut self) -> Result<bool, Error> {
        self.inner.knows_finite()
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        self.inner.copy(count)
    }
}
