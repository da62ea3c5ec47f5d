// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of GPUs, as JSON.

use std::fs;
use std::path::Path;

use transform::machine::{Machine, Rates};

use super::Output;
use crate::Error;

/// Reads the description of a GPU.
///
/// # Errors
/// The file cannot be read, is no such description, or has a number that no GPU has.
pub fn read(path: &Path) -> Result<Machine, Error> {
    let bad = |reason| Error::Machine { path: path.to_owned(), reason };
    let text = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let machine = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
    check(&machine).map_err(bad)?;
    Ok(machine)
}

/// Writes the description of a GPU.
///
/// # Errors
/// A number that no GPU has, or the file cannot be written.
pub fn write(output: &Output, machine: &Machine) -> Result<(), Error> {
    check(machine).map_err(|reason| Error::Machine { path: output.path().to_owned(), reason })?;
    let text = serde_json::to_string_pretty(machine).expect("a machine is plain data") + "\n";
    output.write(|to| to.write_all(text.as_bytes()))
}

/// Checks that every number can be worked with: sums, products and quotients of them stay finite.
fn check(machine: &Machine) -> Result<(), String> {
    const MOST: f64 = 1e6;
    const FASTEST: f64 = 1e30;
    let within = |name: &str, value: f64, largest: f64| {
        if (1.0..=largest).contains(&value) {
            return Ok(());
        }
        Err(format!("{name} is {value}; give a number from 1 to {largest:e}"))
    };
    within("multiprocessors", machine.multiprocessors as f64, MOST)?;
    within("clock_hz", machine.clock_hz, FASTEST)?;
    within("copy_bytes_per_s", machine.copy_bytes_per_s, FASTEST)?;
    within("l2_bytes", machine.l2_bytes, FASTEST)?;
    within("1 / launch_s", 1.0 / machine.launch_s, FASTEST)?;
    for (name, rates) in
        [("half", machine.half), ("single", machine.single), ("double", machine.double)]
    {
        let Rates { cuda, dense, sparse } = rates;
        for (unit, rate) in [("cuda", cuda), ("dense", dense), ("sparse", sparse.unwrap_or(dense))]
        {
            within(&format!("{name}.{unit}"), rate, FASTEST)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("machine.json");
        write(&Output::new(&path).unwrap(), &Machine::a100()).unwrap();
        assert_eq!(read(&path).unwrap(), Machine::a100());
        let broken = Machine { clock_hz: f64::NAN, ..Machine::a100() };
        let refused = write(&Output::new(&path).unwrap(), &broken).unwrap_err().to_string();
        assert!(refused.ends_with("clock_hz is NaN; give a number from 1 to 1e30"), "{refused}");
        assert_eq!(read(&path).unwrap(), Machine::a100());
    }

    #[test]
    fn numbers_that_no_gpu_has_are_refused_by_name() {
        let refused = |change: fn(&mut Machine), text: &str| {
            let mut machine = Machine::h200();
            assert_eq!(check(&machine), Ok(()));
            change(&mut machine);
            assert_eq!(check(&machine).unwrap_err(), text);
        };
        refused(|m| m.clock_hz = 0.0, "clock_hz is 0; give a number from 1 to 1e30");
        refused(|m| m.half.sparse = Some(-1.0), "half.sparse is -1; give a number from 1 to 1e30");
        let text = "multiprocessors is 10000000; give a number from 1 to 1e6";
        refused(|m| m.multiprocessors = 10_000_000, text);
    }
}
