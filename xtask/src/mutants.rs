// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small changes of the sources, one at a time: each should fail a test of its package. What is changed is
//! in `.cargo/mutants.toml`; what survives, and why, in `docs/developers/testing.md`.

use crate::{step, tool};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Of cargo-mutants.
const VERSION: &str = "27.1.0";
/// Where it builds, so that dependencies are built once, and where it lists what survives.
const OUTPUT: &str = "target/mutants";

/// A part of all mutants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    parts: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').map(|(part, parts)| (part.parse(), parts.parse()));
        match numbers {
            Some((Ok(part), Ok(parts))) if part < parts => Ok(Self { part, parts }),
            _ => {
                Err(format!("'{text}' is no part such as 0/40: the first of 40 is 0, the last 39"))
            }
        }
    }
}

/// Tests a part of the mutants, or all of them: of those whose description matches one of the regular
/// expressions `only`, if there are any.
pub fn run(shard: Option<Shard>, only: &[String]) -> Result<()> {
    let program = tool::install("mutants", VERSION)?;
    std::fs::create_dir_all(OUTPUT).with_context(|| format!("cannot create {OUTPUT}"))?;
    let mut mutants = Command::new(program);
    mutants.args(["mutants", "--workspace", "--no-shuffle", "--colors=never", "--output", OUTPUT]);
    if let Some(Shard { part, parts }) = shard {
        mutants.arg(format!("--shard={part}/{parts}"));
    }
    mutants.args(only.iter().map(|expression| format!("--re={expression}")));
    mutants.env("CARGO_TARGET_DIR", std::path::absolute(Path::new(OUTPUT).join("build"))?);
    step::run("mutants", &mut mutants)
        .with_context(|| format!("see missed.txt and timeout.txt in {OUTPUT}/mutants.out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_counted_from_0() {
        assert_eq!("0/40".parse(), Ok(Shard { part: 0, parts: 40 }));
        assert_eq!("39/40".parse(), Ok(Shard { part: 39, parts: 40 }));
        for wrong in ["40/40", "1", "-1/3", "a/b", "0/0", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
