// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks that MPI connects: what they tell each other at the start and at the end.

use super::{Role, threads};
use crate::cli::launch::ProcessLaunch;
use crate::cli::{Failure, interrupt, program as typed, say};
use compute::plan;
use compute::ranks::mpi::{Mpi, RankCommand};
use compute::ranks::{MessageKind, Messenger, member};
use problem::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// The exit code of a program that panicked.
const PANICKED: u8 = 101;

/// What a rank says of itself before any work.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Hello {
    version: String,
    arguments: Vec<String>,
}

impl Hello {
    /// What this process says of itself.
    fn own(commit: Option<&str>) -> Self {
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let version = format!("{} {} ({build})", env!("CARGO_PKG_VERSION"), commit.unwrap_or("-"));
        let arguments = std::env::args_os().skip(1);
        let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
        Self { version, arguments: arguments.collect() }
    }

    /// That a rank is like this one, which is rank 0.
    fn check(&self, rank: usize, other: &Self) -> Result<(), Error> {
        let (what, found, expected) = if other.version != self.version {
            ("version", other.version.clone(), self.version.clone())
        } else if other.arguments != self.arguments {
            ("command line", line(&other.arguments), line(&self.arguments))
        } else {
            return Ok(());
        };
        Err(Error::Ranks { rank, what, found, expected })
    }
}

fn line(arguments: &[String]) -> String {
    format!("`{}`", arguments.join(" "))
}

/// Runs the program as the rank that MPI makes of this process; returns the exit code of all ranks.
pub fn program(launch: ProcessLaunch, commit: Option<&str>) -> u8 {
    let mpi = Rc::new(Mpi::start(|error| say(&error.into())));
    if mpi.ranks() == 1 {
        mpi.end(0);
        return match launch.ranks {
            None => typed(commit, &Role::Alone),
            Some(_) => super::copy(launch, commit),
        };
    }
    threads::share(mpi.local_ranks());
    let code = if mpi.rank() == 0 { first(&mpi, commit) } else { other(&mpi, commit) };
    mpi.end(code);
    code
}

/// Rank 0: does what was typed, once all ranks are known to be the same.
fn first(mpi: &Rc<Mpi>, commit: Option<&str>) -> u8 {
    let post: Rc<dyn Messenger> = mpi.clone();
    let run = || match agree(mpi, &Hello::own(commit)) {
        Ok(()) => typed(commit, &Role::First(post)),
        Err(error) => say(&error.into()),
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(PANICKED)
}

/// That all ranks are like this one.
fn agree(mpi: &Mpi, own: &Hello) -> Result<(), Error> {
    let all = mpi.gather(write(own))?;
    all.iter().enumerate().try_for_each(|(rank, hello)| {
        let unknown = || Hello { version: "unknown".into(), arguments: Vec::new() };
        own.check(rank, &serde_json::from_slice(hello).unwrap_or_else(|_| unknown()))
    })
}

fn write(hello: &Hello) -> Vec<u8> {
    serde_json::to_vec(hello).expect("words")
}

/// The others: do what rank 0 says until it ends.
fn other(mpi: &Rc<Mpi>, commit: Option<&str>) -> u8 {
    // Rank 0 decides what becomes of them.
    interrupt::ignore();
    let post: Rc<dyn Messenger> = mpi.clone();
    let mut next = mpi.gather(write(&Hello::own(commit))).and_then(|_| mpi.next());
    let mut failed = false;
    loop {
        match next {
            Ok(RankCommand::End(code)) => return code,
            // Rank 0 knows that it failed, or will know.
            Ok(RankCommand::Work) if failed => drop(mpi.receive(0, MessageKind::Command)),
            Ok(RankCommand::Work) => {
                let make = |message: &[u8], post: &Rc<dyn Messenger>| {
                    systems::ranks::member(message, post, plan::abilities_of)
                };
                failed = member::serve(&post, &make).is_err();
            }
            Err(error) => return alone(mpi, error),
        }
        next = mpi.next();
    }
}

/// Rank 0 is gone: one of those that are left says so, and nobody is left.
fn alone(mpi: &Mpi, error: Error) -> u8 {
    debug_assert_eq!(error.kind(), ErrorKind::Lost);
    let failure = Failure::from(error);
    let code = if mpi.first() == mpi.rank() { say(&failure) } else { failure.exit_code() };
    mpi.abort(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let hello = |version: &str, arguments: &str| Hello {
            version: version.into(),
            arguments: arguments.split(' ').map(str::to_owned).collect(),
        };
        let first = hello("0.1.0 abc (release)", "run a");
        assert!(first.check(1, &hello("0.1.0 abc (release)", "run a")).is_ok());
        let error = first.check(3, &hello("0.1.0 abc (release)", "run b")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rank 3 was started with another command line than rank 0: `run b` instead of `run a`"
        );
        let error = first.check(2, &hello("0.1.0 abd (release)", "run b")).unwrap_err();
        assert!(error.to_string().contains("another version"), "{error}");
    }
}
