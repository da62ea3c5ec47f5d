// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where states of a gradient are kept, as what, and how much memory they may take.

use crate::adjoint::refused;
use crate::checked::System;
use crate::session::StepSession;
use crate::simulation::{Form, Simulation};
use crate::tape::{Lay, TapeMemory, TapeStorage};
use problem::memory::{self, Bytes};
use problem::{Dtype, Error};

/// The type in which values are kept that the adjoint reads.
pub fn checked_rounding(asked: Option<Dtype>, own: Dtype) -> Result<Dtype, Error> {
    match asked {
        None => Ok(own),
        Some(Dtype::Tf32) => Err(refused("states are not kept as tf32: take f32".into())),
        Some(asked)
            if asked.bytes() > own.bytes() || asked.bytes() == own.bytes() && asked != own =>
        {
            Err(refused(format!(
                "states of {own} values cannot be kept as {asked}, which is wider"
            )))
        }
        Some(asked) => Ok(asked),
    }
}

/// The session of a simulation, if equations are computed.
fn session(of: &mut Simulation) -> Option<&mut dyn StepSession> {
    match &mut of.form {
        Form::Equations(system) => Some(system.room()),
        Form::Sum(_) => None,
    }
}

/// Where states are kept, as it was asked for.
pub fn settled(
    of: &mut Simulation,
    asked: &TapeStorage,
    stays: bool,
) -> Result<TapeStorage, Error> {
    let is_device = match session(of) {
        Some(session) => session.free_room()?.is_some(),
        None => false,
    };
    match asked {
        TapeStorage::WhereTheyLie if is_device && stays => Ok(TapeStorage::Device),
        TapeStorage::WhereTheyLie => Ok(TapeStorage::Memory),
        TapeStorage::Device if !is_device => Err(refused(
            "no GPU computes these steps, so none can keep their states: keep them in memory or in a folder".into(),
        )),
        TapeStorage::Device if !stays => Err(refused(
            "a GPU keeps states in the type of the values, not rounded or widened: keep them in memory or in a folder".into(),
        )),
        other => Ok(other.clone()),
    }
}

/// How much they may take, where so many bytes are enough to take each step again once, and the adjoint's arrays take so many.
///
/// Memory of this machine that nobody had before is cleared, page by page, which takes longer than steps do on few cores: of 200 steps of
/// waves 1.6 GB took 5.5 s on two busy threads, and 360 MB with one more run 1.6 s.
pub fn most_bytes(
    of: &mut Simulation,
    (asked, place): (Option<Bytes>, &TapeStorage),
    (one_run, adjoint): (u128, u128),
) -> Result<Bytes, Error> {
    /// What is taken at least, if it is free.
    const LEAST: u128 = 256 << 20;
    if let Some(asked) = asked {
        return Ok(asked);
    }
    Ok(match place {
        TapeStorage::Device => {
            let free = session(of).map(|session| session.free_room()).transpose()?.flatten();
            // The adjoint's arrays come after them.
            Bytes(free.unwrap_or_default().saturating_sub(Bytes::saturating(adjoint).0) / 4)
        }
        TapeStorage::Folder(_) => Bytes(u64::MAX),
        _ => Bytes((memory::free().0 / 4).min(Bytes::saturating(one_run.max(LEAST)).0)),
    })
}

/// How values lie in this machine's memory as it is best for steps that read those of each field as these ones of a system, if they are written
/// so.
pub fn laid(
    of: &mut Simulation,
    place: &TapeStorage,
    by: &System,
    fields: &[Vec<usize>],
) -> Option<Vec<Lay>> {
    session(of).filter(|_| *place == TapeStorage::Memory)?.lay(by, fields)
}

/// Room for so many bytes there.
pub fn room(of: &mut Simulation, place: &TapeStorage, bytes: u128) -> Result<TapeMemory, Error> {
    match place {
        TapeStorage::Folder(folder) => TapeMemory::folder(folder),
        TapeStorage::Device if bytes > 0 => {
            let session = session(of).expect("it has a device");
            let room = session.room(bytes as usize)?;
            Ok(room.map_or(TapeMemory::Here, TapeMemory::Device))
        }
        _ => Ok(TapeMemory::Here),
    }
}
