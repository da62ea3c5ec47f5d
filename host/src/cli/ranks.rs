// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program as one of several ranks. Rank 0 does what was typed and prints; the others do what it says, print nothing, and
//! end with its exit code.

use super::launch::ProcessLaunch;
#[cfg(feature = "mpi")]
use super::say;
use super::{Command, Failure, ParsedArguments, program as alone, typed};
#[cfg(feature = "mpi")]
use crate::processes;
use compute::ranks::engine::Ranks;
use compute::ranks::{Messenger, mpi_version};
use problem::Error;
use std::rc::Rc;

/// How this process takes part in what was typed.
#[derive(Clone)]
pub enum Role {
    /// There is no other.
    Alone,
    /// It is rank 0, and reaches the others.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "only MPI starts processes"))]
    First(Rc<dyn Messenger>),
    /// It is one of several that do not know of each other, since no MPI connects them.
    Copy(ProcessLaunch),
}

impl Role {
    /// The processes that share the grid of a command.
    pub fn processes(&self) -> Option<Ranks> {
        match self {
            Self::First(post) => Some(Ranks::Processes(Rc::clone(post))),
            Self::Alone | Self::Copy(_) => None,
        }
    }

    /// How the other ranks are reached.
    pub fn post(&self) -> Option<&dyn Messenger> {
        match self {
            Self::First(post) => Some(&**post),
            Self::Alone | Self::Copy(_) => None,
        }
    }

    /// Makes sure that a command is one for several ranks, or that there is one only.
    ///
    /// # Errors
    /// [`Failure::NotShared`]; [`Failure::WithoutMpi`] or [`Failure::Apart`]: copies of one computation would replace each
    /// other's files.
    pub fn allows(&self, command: &Command) -> Result<(), Failure> {
        match (self, computes(command)) {
            (&Self::Copy(launch), true) => Err(match mpi_version() {
                None => Failure::WithoutMpi(launch),
                Some(library) => Failure::Apart { launch, library },
            }),
            (Self::First(post), true) if matches!(command, Command::Bench(_)) => {
                Err(Failure::NotShared { what: "`host bench`".into(), ranks: post.ranks() })
            }
            _ => Ok(()),
        }
    }

    /// Replaces an interruption by the failure that names the rank that is gone, if that is why the others were asked
    /// to end.
    pub fn name(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Interrupted { .. } => match self.post().and_then(Messenger::gone) {
                Some(rank) => Error::Gone { rank }.into(),
                None => failure,
            },
            other => other.map_inner(|inner| self.name(inner)),
        }
    }
}

/// Whether a command computes and writes, rather than prints.
fn computes(command: &Command) -> bool {
    matches!(command, Command::Run(_) | Command::Example(_) | Command::Bench(_))
}

/// Runs the program as one of several processes; returns its exit code.
#[cfg(feature = "mpi")]
pub fn program(launch: ProcessLaunch, commit: Option<&str>) -> u8 {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let version = format!("{} {} ({build})", env!("CARGO_PKG_VERSION"), commit.unwrap_or("-"));
    let failed = |error: Error| say(&error.into());
    let ended = processes::run(&version, failed, |post| alone(commit, &Role::First(post)));
    ended.unwrap_or_else(|| match launch.ranks {
        None => alone(commit, &Role::Alone),
        Some(_) => copy(launch, commit),
    })
}

/// Runs the program as one of several processes; returns its exit code.
#[cfg(not(feature = "mpi"))]
pub fn program(launch: ProcessLaunch, commit: Option<&str>) -> u8 {
    copy(launch, commit)
}

/// Where no MPI connects the processes: only the first one prints.
fn copy(launch: ProcessLaunch, commit: Option<&str>) -> u8 {
    if launch.is_first() {
        return alone(commit, &Role::Copy(launch));
    }
    match typed(false) {
        Ok(ParsedArguments::Command(command, _)) => {
            Role::Copy(launch).allows(&command).err().map_or(0, |failure| failure.exit_code())
        }
        Ok(ParsedArguments::Done(code)) => code,
        Err(failure) => failure.exit_code(),
    }
}
