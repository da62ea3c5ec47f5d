// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that share grids, which `mpirun` or `srun` starts: rank 0 computes, and the others do what it says. What they tell each
//! other at the start and at the end.

mod threads;

use crate::signal::Signal;
use compute::plan;
use compute::ranks::engine::Ranks;
use compute::ranks::mpi::{Mpi, RankCommand};
use compute::ranks::{MessageKind, Messenger, member};
use problem::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use signal_hook::flag;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

/// The exit code of a program that panicked.
const PANICKED: u8 = 101;

/// Runs a program's processes, which `mpirun` or `srun` started: rank 0 calls `first` with all ranks, the others compute their parts of
/// what it shares with them, print nothing and end with its exit code. A process that is alone calls `first` with one rank.
///
/// All processes need the same program and arguments. An error is printed as `error: …`, and the exit code is that of its
/// [kind](ErrorKind::exit_code). Where a rank is gone, all processes end.
///
/// # Panics
/// MPI has been started before in this process.
///
/// # Example
/// ```no_run
/// use std::process::ExitCode;
/// use stencil::plan::Sharing;
/// use stencil::{Grid, Simulation, catalogue};
///
/// fn main() -> ExitCode {
///     stencil::processes::main(|ranks| {
///         let heat = catalogue::find("star2d1r").expect("a name of the catalogue");
///         let plate = Grid::new(&[512, 512], vec![1.0; 512 * 512])?;
///         let plate = Simulation::new(heat, plate).shared(Sharing::among(ranks));
///         let mut plate = plate.build()?;
///         plate.step(1000)?;
///         println!("{}", plate.field("u")?.get(0));
///         Ok(())
///     })
/// }
/// ```
pub fn main(first: impl FnOnce(Ranks) -> Result<(), Error>) -> ExitCode {
    let failed = |error: Error| {
        eprintln!("error: {error}");
        error.kind().exit_code()
    };
    // By rank 0 of several, or by the only process.
    let mut first = Some(first);
    let mut call = |ranks| {
        let first = first.take().expect("it is called once");
        first(ranks).map_or_else(failed, |()| 0)
    };
    let code = run(env!("CARGO_PKG_VERSION"), failed, |post| call(Ranks::Processes(post)));
    ExitCode::from(code.unwrap_or_else(|| call(Ranks::Threads(1))))
}

/// Runs a program as the rank that MPI makes of this process, rank 0 by `first`; returns the exit code of all ranks, or none where
/// this process is the only one, and nothing has run. `version` is compared among ranks; `failed` tells of an error and returns
/// its exit code.
pub(crate) fn run(
    version: &str,
    failed: impl Fn(Error) -> u8 + Copy + 'static,
    first: impl FnOnce(Rc<dyn Messenger>) -> u8,
) -> Option<u8> {
    let mpi = Rc::new(Mpi::start(failed));
    if mpi.ranks() == 1 {
        mpi.end(0);
        return None;
    }
    threads::share(mpi.local_ranks());
    let own = RankGreeting::own(version);
    let code = if mpi.rank() == 0 {
        let run = || match agree(&mpi, &own) {
            Ok(()) => first(mpi.clone()),
            Err(error) => failed(error),
        };
        catch_unwind(AssertUnwindSafe(run)).unwrap_or(PANICKED)
    } else {
        follow(&mpi, &own, failed)
    };
    mpi.end(code);
    Some(code)
}

/// What a rank says of itself before any work.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RankGreeting {
    version: String,
    arguments: Vec<String>,
}

impl RankGreeting {
    /// What this process says of itself.
    fn own(version: &str) -> Self {
        let arguments = std::env::args_os().skip(1);
        let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
        Self { version: version.to_owned(), arguments: arguments.collect() }
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

/// That all ranks are like this one.
fn agree(mpi: &Mpi, own: &RankGreeting) -> Result<(), Error> {
    let all = mpi.gather(write(own))?;
    all.iter().enumerate().try_for_each(|(rank, greeting)| {
        let unknown = || RankGreeting { version: "unknown".into(), arguments: Vec::new() };
        own.check(rank, &serde_json::from_slice(greeting).unwrap_or_else(|_| unknown()))
    })
}

fn write(greeting: &RankGreeting) -> Vec<u8> {
    serde_json::to_vec(greeting).expect("words")
}

/// Of a rank other than 0: does what rank 0 says until it ends.
fn follow(mpi: &Rc<Mpi>, own: &RankGreeting, tell: impl Fn(Error) -> u8) -> u8 {
    // Rank 0 decides what becomes of this one, so no signal ends it.
    for number in Signal::ALL.into_iter().filter_map(Signal::number) {
        // Nobody looks at it.
        let _ = flag::register(number, Arc::default());
    }
    let post: Rc<dyn Messenger> = mpi.clone();
    let mut next = mpi.gather(write(own)).and_then(|_| mpi.next());
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
            Err(error) => return abandoned(mpi, error, tell),
        }
        next = mpi.next();
    }
}

/// Rank 0 is gone: one of those that are left says so, and nobody is left.
fn abandoned(mpi: &Mpi, error: Error, tell: impl Fn(Error) -> u8) -> u8 {
    debug_assert_eq!(error.kind(), ErrorKind::Lost);
    let code = if mpi.first() == mpi.rank() { tell(error) } else { ErrorKind::Lost.exit_code() };
    mpi.abort(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let greeting = |version: &str, arguments: &str| RankGreeting {
            version: version.into(),
            arguments: arguments.split(' ').map(str::to_owned).collect(),
        };
        let first = greeting("0.1.0 abc (release)", "run a");
        assert!(first.check(1, &greeting("0.1.0 abc (release)", "run a")).is_ok());
        let error = first.check(3, &greeting("0.1.0 abc (release)", "run b")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rank 3 was started with another command line than rank 0: `run b` instead of `run a`"
        );
        let error = first.check(2, &greeting("0.1.0 abd (release)", "run b")).unwrap_err();
        assert!(error.to_string().contains("another version"), "{error}");
    }
}
