// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ghosts of a part on a device: own points are packed there, carried to the neighbours' devices, and unpacked there. The
//! host only queues that, and goes on.
//!
//! Where the part's edges are computed by themselves ([`EdgeBands`]), what neighbours need is on its way while the
//! launch goes on that computes all of the part.

use super::edges::EdgeBands;
use super::halo::Transfers;
use super::parcel::{Packed, Parcel, ParcelCarrier, parcels};
use crate::device::{Device, Link, Packing, Plane, TimedPoint};
use crate::engine::on_gpu::Ghosts;
use problem::Error;
use std::collections::VecDeque;
use std::time::Duration;

/// The order of a device's two streams of work: that of launches, and that of edges and of what is sent, beside it.
pub trait Streams {
    /// What is queued for edges waits for all launches so far.
    ///
    /// # Errors
    /// The device refuses.
    fn edges_wait(&self) -> Result<(), Error>;

    /// What is launched next waits for all edges so far, and for what was sent.
    ///
    /// # Errors
    /// The device refuses.
    fn work_waits(&self) -> Result<(), Error>;

    /// When all launches so far will have been done, by the device's clock, if it has one.
    ///
    /// # Errors
    /// The device refuses.
    fn stamp(&self) -> Result<Option<TimedPoint>, Error>;
}

/// Launches and edges in one stream: of the emulator.
pub struct OneStream;

impl Streams for OneStream {
    fn edges_wait(&self) -> Result<(), Error> {
        Ok(())
    }

    fn work_waits(&self) -> Result<(), Error> {
        Ok(())
    }

    fn stamp(&self) -> Result<Option<TimedPoint>, Error> {
        Ok(None)
    }
}

/// Two streams: of a GPU.
pub struct TwoStreams {
    /// Of launches.
    pub work: Link,
    /// Of edges and what is sent.
    pub edges: Link,
}

impl Streams for TwoStreams {
    fn edges_wait(&self) -> Result<(), Error> {
        self.edges.wait_for_all(&self.work)
    }

    fn work_waits(&self) -> Result<(), Error> {
        self.work.wait_for_all(&self.edges)
    }

    fn stamp(&self) -> Result<Option<TimedPoint>, Error> {
        self.work.stamp().map(Some)
    }
}

/// Ghosts that are good for a number of steps.
pub struct DeviceGhosts {
    // Dropped first: what is queued on the parcels ends with it.
    carrier: Box<dyn ParcelCarrier>,
    sends: Vec<Parcel>,
    receives: Vec<Parcel>,
    /// Of each parcel.
    packed: Vec<Vec<Packed>>,
    unpacked: Vec<Vec<Packed>>,
    streams: Box<dyn Streams>,
    /// Where edges are computed by themselves.
    edges: Option<EdgeBands>,
    /// Whether they are on their way.
    announced: bool,
    /// Of the last exchanges: from when the work waits for ghosts until they are there.
    waits: VecDeque<[TimedPoint; 2]>,
    period: usize,
    left: usize,
}

/// Exchanges whose times are kept.
const WAITS: usize = 64;

impl DeviceGhosts {
    /// Of a part with these transfers, of values of so many bytes, as deep as so many steps reach.
    ///
    /// # Errors
    /// The device has no memory for the parcels.
    pub fn new(
        device: &dyn Device,
        transfers: &Transfers,
        (value_bytes, period): (usize, usize),
        streams: Box<dyn Streams>,
        carrier: impl FnOnce(&[Parcel], &[Parcel]) -> Result<Box<dyn ParcelCarrier>, Error>,
    ) -> Result<Self, Error> {
        let (sends, packed) = parcels(device, &transfers.sends, value_bytes, 1)?;
        let (receives, unpacked) = parcels(device, &transfers.receives, value_bytes, 2)?;
        let carrier = carrier(&sends, &receives)?;
        let (edges, announced, waits, left) = (None, false, VecDeque::new(), period);
        Ok(Self {
            sends,
            receives,
            packed,
            unpacked,
            carrier,
            streams,
            edges,
            announced,
            waits,
            period,
            left,
        })
    }

    /// The boxes of each parcel that is sent.
    pub fn packed(&self) -> &[Vec<Packed>] {
        &self.packed
    }

    /// Sets the edges, which are then computed by themselves, before the rest.
    pub fn with_edges(self, edges: EdgeBands) -> Self {
        Self { edges: Some(edges), ..self }
    }
}

impl DeviceGhosts {
    /// How long the work waited for ghosts, on average.
    fn exposed(&self) -> Option<Duration> {
        let waits = self.waits.iter().map(|[from, to]| from.until(to).ok());
        let all: Duration = waits.sum::<Option<_>>()?;
        (!self.waits.is_empty()).then(|| all / self.waits.len() as u32)
    }
}

impl Ghosts for DeviceGhosts {
    fn describe(&self) -> String {
        let how = self.carrier.describe();
        let first = if self.edges.is_some() { ", edges first" } else { "" };
        let exposed = self.exposed().map(|time| {
            format!(", which holds up the work for {:.1} us", time.as_secs_f64() * 1e6)
        });
        format!("{how} every {} steps{first}{}", self.period, exposed.unwrap_or_default())
    }

    fn left(&self) -> usize {
        self.left
    }

    fn loaded(&mut self) {
        self.left = self.period;
    }

    fn used(&mut self, steps: usize) {
        self.left -= steps;
    }

    fn announce(&mut self, before: &Plane, steps: usize) -> Result<(), Error> {
        let Some(edges) = self.edges.as_ref().filter(|edges| edges.steps() == steps) else {
            return Ok(());
        };
        self.streams.edges_wait()?;
        edges.compute(before, &self.sends)?;
        self.carrier.send(&self.sends, &self.receives)?;
        self.announced = true;
        Ok(())
    }

    fn renew(&mut self, device: &dyn Device, grid: &dyn Packing) -> Result<(), Error> {
        let before = self.streams.stamp()?;
        if !std::mem::take(&mut self.announced) {
            for (parcel, boxes) in self.sends.iter().zip(&self.packed) {
                boxes.iter().try_for_each(|Packed { region, arrays, start }| {
                    grid.pack(device, (*region, arrays), &parcel.memory, *start)
                })?;
            }
            self.streams.edges_wait()?;
            self.carrier.send(&self.sends, &self.receives)?;
        }
        let half = self.carrier.receive(&self.sends, &self.receives)?;
        // Before the grid that edges were computed from is written again.
        self.streams.work_waits()?;
        for (parcel, boxes) in self.receives.iter().zip(&self.unpacked) {
            boxes.iter().try_for_each(|Packed { region, arrays, start }| {
                let start = parcel.half(half) + start;
                grid.unpack(device, (*region, arrays), &parcel.memory, start)
            })?;
        }
        self.carrier.unpacked()?;
        if let (Some(before), Some(after)) = (before, self.streams.stamp()?) {
            self.waits.truncate(WAITS - 1);
            self.waits.push_front([before, after]);
        }
        self.left = self.period;
        Ok(())
    }
}
