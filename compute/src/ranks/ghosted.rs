// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session of a rank's part that keeps its ghosts right: after as many steps as they are deep it gets them anew, through
//! this machine's memory.

use super::halo::{Transfer, Transfers};
use super::messenger::{Messenger, receive_ghosts, send_ghosts};
use crate::engine::{Session, State, SumSession};
use problem::check::seams::Seams;
use problem::region::Region;
use problem::values::{Element, Values};
use problem::{
    Arithmetic, Clock, Dtype, Error, Grid, JumpReport, Jumped, Shape, with_dtype, with_values,
};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How ghosts get right: from whom, of which arrays, and how often.
pub struct Exchange {
    /// What carries them.
    pub post: Rc<dyn Messenger>,
    /// The boxes that come and go.
    pub transfers: Transfers,
    /// The arrays whose ghosts are read.
    pub arrays: Vec<usize>,
    /// Steps after which ghosts are wrong as far as the own points; no fewer than a launch takes.
    pub period: usize,
}

/// A session with ghosts around it.
pub struct Ghosted<S: ?Sized> {
    inner: Box<S>,
    exchange: Exchange,
    /// Steps that may be taken before the ghosts are got anew.
    left: usize,
}

impl<S: Session + ?Sized> Ghosted<S> {
    /// Of a session whose ghosts are right.
    #[must_use]
    pub fn new(inner: Box<S>, exchange: Exchange) -> Self {
        let left = exchange.period;
        Self { inner, exchange, left }
    }

    /// The session of the part and its ghosts.
    #[must_use]
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// The session, whose ghosts are right for a step at least.
    ///
    /// # Errors
    /// The device refuses, or another rank failed.
    pub fn ready(&mut self) -> Result<&mut S, Error> {
        if self.left == 0 {
            self.renew()?;
        }
        Ok(&mut self.inner)
    }

    /// Takes so many steps, and gets the ghosts anew where they would get wrong; `take` has the session take some.
    ///
    /// # Errors
    /// As [`Ghosted::ready`], and those of `take`.
    pub fn advance_by(
        &mut self,
        steps: usize,
        mut take: impl FnMut(&mut S, usize) -> Result<Duration, Error>,
    ) -> Result<Duration, Error> {
        let (mut to_go, mut time) = (steps, Duration::ZERO);
        let whole = self.inner.launch();
        while to_go > 0 {
            if self.left < to_go.min(whole) {
                let start = Instant::now();
                self.renew()?;
                time += start.elapsed();
            }
            // Whole launches, as one device would take them, but for the last.
            let steps = if to_go <= self.left { to_go } else { self.left / whole * whole };
            time += take(&mut self.inner, steps)?;
            to_go -= steps;
            self.left -= steps;
        }
        Ok(time)
    }

    /// Gets all ghosts anew, as others' points are now: those of all arrays of a box in one message.
    fn renew(&mut self) -> Result<(), Error> {
        let Self { inner, exchange: Exchange { post, transfers, arrays, period }, left } = self;
        for Transfer { with, region, arrays: own } in &transfers.sends {
            let mut bytes = Vec::new();
            for &array in own {
                bytes.extend(to_bytes(&inner.read(arrays[array], State::Now, *region)?));
            }
            send_ghosts(&**post, *with, bytes)?;
        }
        for Transfer { with, region, arrays: own } in &transfers.receives {
            let bytes = receive_ghosts(&**post, *with)?;
            let size = region.points() * inner.dtype().bytes();
            for (&array, bytes) in own.iter().zip(bytes.chunks(size.max(1))) {
                inner.write(arrays[array], *region, &from_bytes(bytes, inner.dtype()))?;
            }
        }
        *left = *period;
        Ok(())
    }
}

/// Values as they lie in memory.
pub fn to_bytes(values: &Values) -> Vec<u8> {
    with_values!(values, values => bytemuck::cast_slice(values).to_vec())
}

/// Values of bytes that [`to_bytes`] made.
pub fn from_bytes(bytes: &[u8], dtype: Dtype) -> Values {
    with_dtype!(dtype, T => {
        let mut values = vec![T::default(); bytes.len() / size_of::<T>()];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
        T::wrap(values)
    })
}

impl<S: Session + ?Sized> Session for Ghosted<S> {
    fn device(&self) -> String {
        self.inner.device()
    }

    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn dtype(&self) -> Dtype {
        self.inner.dtype()
    }

    fn launch(&self) -> usize {
        self.inner.launch()
    }

    fn jumped(&self) -> Option<Jumped> {
        self.inner.jumped()
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        self.left = self.exchange.period;
        self.inner.load(input)
    }

    fn drop_input(&mut self) {
        self.inner.drop_input();
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.left = self.exchange.period;
        self.inner.restart()
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        self.advance_by(steps, |inner, steps| inner.advance(steps))
    }

    fn read(&mut self, array: usize, state: State, region: Region) -> Result<Values, Error> {
        self.inner.read(array, state, region)
    }

    /// Ghosts that are among the points are as right as what is written there.
    fn write(&mut self, array: usize, region: Region, values: &Values) -> Result<(), Error> {
        self.inner.write(array, region, values)
    }

    fn knows_finite(&mut self) -> Result<bool, Error> {
        self.inner.knows_finite()
    }

    /// What is reduced may read farther than ghosts are right that were computed with.
    fn reduce(&mut self, region: Region, known: &[f64]) -> Result<Option<Vec<[f64; 2]>>, Error> {
        self.renew()?;
        self.inner.reduce(region, known)
    }

    fn take_totals(&mut self, reduced: &[f64]) {
        self.inner.take_totals(reduced);
    }

    /// Ghosts that were right before the step are so again.
    fn take_back(&mut self) -> Result<(), Error> {
        self.inner.take_back()
    }

    fn take_clock(&mut self, clock: Clock) {
        self.inner.take_clock(clock);
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        self.inner.copy(count)
    }
}

impl SumSession for Ghosted<dyn SumSession> {
    fn arithmetic(&self) -> Arithmetic {
        self.inner.arithmetic()
    }

    fn seams(&self) -> Seams {
        self.inner.seams()
    }

    fn chain(&self) -> usize {
        self.inner.chain()
    }

    fn jump(&self) -> Option<JumpReport> {
        self.inner.jump()
    }

    fn kernel(&self) -> Option<String> {
        self.inner.kernel()
    }

    fn sweeps(&self, steps: usize) -> usize {
        self.inner.sweeps(steps)
    }
}
