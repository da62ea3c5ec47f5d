// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every rank is told of a system before it begins, as a message.

use serde::{Deserialize, Serialize};

use super::{cut, exchanged};
use crate::checked::System;
use compute::ranks::part::RankPart;
use compute::ranks::{Carrier, Partition};
use problem::boundary::Side;
use problem::job::Depth;
use problem::{Boundary, Error};

/// A system, how it is cut, and what computes it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The system, without the values that it starts with.
    pub system: System,
    /// Steps that an earlier run took.
    pub step: usize,
    /// Slices of the axes (z, y, x).
    counts: [usize; 3],
    /// Steps between two exchanges.
    pub period: usize,
    /// What computes.
    pub on: RankEngine,
}

/// What parts are computed on.
#[derive(Debug, Serialize, Deserialize)]
pub enum RankEngine {
    /// The cores of each rank's machine.
    Cpu,
    /// The emulator of PTX.
    Emulated,
    /// GPUs, each rank's by number; without numbers that of its place on its machine.
    Gpu {
        /// By rank.
        devices: Option<Vec<usize>>,
        /// What carries points.
        carrier: Carrier,
    },
}

impl Setup {
    /// Of a system whose parts take so many steps in a launch, and so many between two exchanges.
    pub fn new(
        system: &System,
        (steps, period): (usize, usize),
        step: usize,
        counts: [usize; 3],
        on: RankEngine,
    ) -> Self {
        let chain = if matches!(on, RankEngine::Cpu) { Depth::Auto } else { Depth::Steps(steps) };
        Self { system: system.clone().with_chain(chain), step, counts, period, on }
    }

    /// With the sources that count, after so many steps of an earlier run.
    pub fn starting(self, system: &System, step: usize) -> Self {
        let system = system.clone().with_chain(self.system.chain);
        Self { system, step, ..self }
    }

    /// How the grid is cut.
    ///
    /// # Errors
    /// [`Error::Split`]: the message is damaged.
    pub fn partition(&self) -> Result<Partition, Error> {
        Partition::new(self.system.shape, self.counts, [1; 3])
    }

    /// What each rank holds.
    pub fn parts(&self, partition: &Partition) -> Vec<RankPart> {
        // Deeper ghosts than a grid can be are told by the memory that they would take.
        let deep = |reach: usize| reach.saturating_mul(self.period).min(isize::MAX as usize / 4);
        let (of_steps, of_totals) = (self.system.reach().map(deep), self.system.totals.reach());
        let reach = std::array::from_fn(|axis| of_steps[axis].max(of_totals[axis]));
        let side = |ring: bool| if ring { Side::Periodic } else { Side::Zero };
        let boundary = Boundary { sides: cut::rings(&self.system).map(|ring| [side(ring); 2]) };
        let part = |rank| RankPart::new(partition, rank, &boundary, reach, [1; 3]);
        (0..partition.ranks()).map(part).collect()
    }

    /// The arrays whose ghosts are exchanged.
    pub fn exchanged(&self) -> Vec<usize> {
        exchanged(&self.system, self.period)
    }

    /// As a message.
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("words and numbers")
    }

    /// From a message; nothing if it is of a stencil.
    pub fn read(message: &[u8]) -> Option<Self> {
        serde_json::from_slice(message).ok()
    }
}
