// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of GPUs, as JSON.

use std::fs;
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};
use serde_json::{Map, Value};
use transform::machine::{Machine, Rates};

use super::Output;
use problem::Error;

/// A GPU as a file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedGpu {
    /// What it can do.
    pub machine: Machine,
    /// The CUDA version of the driver that it was measured with; none of a file that was not measured.
    pub driver: Option<String>,
}

/// The name of [`DescribedGpu::driver`] among the fields of the machine.
const DRIVER: &str = "driver";

/// Where the measured speeds of a GPU are kept for this user, if there is a place for that: a file for each
/// GPU, since several machines may share the folder.
#[must_use]
pub fn own_path(gpu: &str) -> Option<PathBuf> {
    let folder = choose_base_strategy().ok()?.config_dir().join("host-stencil");
    let letter = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
    let name: String = gpu.to_lowercase().chars().map(letter).collect();
    Some(folder.join(name + ".json"))
}

/// Reads the description of a GPU.
///
/// # Errors
/// The file cannot be read, is no such description, or has a number that no GPU has.
pub fn read(path: &Path) -> Result<DescribedGpu, Error> {
    let bad = |reason| Error::Machine { path: path.to_owned(), reason };
    let text = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let described = parse(&text).map_err(|error| bad(error.to_string()))?;
    check(&described.machine).map_err(bad)?;
    Ok(described)
}

fn parse(text: &[u8]) -> serde_json::Result<DescribedGpu> {
    let mut fields: Map<String, Value> = serde_json::from_slice(text)?;
    match fields.remove(DRIVER) {
        // From the text, since its errors have a line and a column.
        None => Ok(DescribedGpu { machine: serde_json::from_slice(text)?, driver: None }),
        Some(driver) => {
            let machine = serde_json::from_value(Value::Object(fields))?;
            Ok(DescribedGpu { machine, driver: Some(serde_json::from_value(driver)?) })
        }
    }
}

/// Writes the description of a GPU.
///
/// # Errors
/// A number that no GPU has, or the file cannot be written.
pub fn write(output: &Output, described: &DescribedGpu) -> Result<(), Error> {
    let DescribedGpu { machine, driver } = described;
    check(machine).map_err(|reason| Error::Machine { path: output.path().to_owned(), reason })?;
    let mut fields = serde_json::to_value(machine).expect("a machine is plain data");
    if let Some(driver) = driver {
        fields[DRIVER] = driver.as_str().into();
    }
    let text = serde_json::to_string_pretty(&fields).expect("it is plain data") + "\n";
    output.write(|to| to.write_all(text.as_bytes()))
}

/// Checks that every number can be worked with: sums, products and quotients of them stay finite.
fn check(machine: &Machine) -> Result<(), String> {
    const MOST: f64 = 1e6;
    const FASTEST: f64 = 1e30;
    // Far beyond any GPU; the points of a grid that fits can be counted, with its halo.
    const MEMORY_BYTES: f64 = 1e15;
    const SHARED_BYTES: f64 = 1e7;
    let within = |name: &str, value: f64, largest: f64| {
        if (1.0..=largest).contains(&value) {
            return Ok(());
        }
        Err(format!("{name} is {value}; give a number from 1 to {largest:e}"))
    };
    within("multiprocessors", machine.multiprocessors as f64, MOST)?;
    within("clock_hz", machine.clock_hz, FASTEST)?;
    within("shared_bytes_per_block", machine.shared_bytes_per_block.into(), SHARED_BYTES)?;
    within("memory_bytes", machine.memory_bytes as f64, MEMORY_BYTES)?;
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
        let output = Output::new(&path).unwrap();
        for driver in [None, Some("13.0".to_owned())] {
            let described = DescribedGpu { machine: Machine::a100(), driver };
            write(&output, &described).unwrap();
            assert_eq!(read(&path).unwrap(), described);
        }
        let before = read(&path).unwrap();
        let machine = Machine { clock_hz: f64::NAN, ..Machine::a100() };
        let broken = DescribedGpu { machine, driver: None };
        let refused = write(&output, &broken).unwrap_err().to_string();
        assert!(refused.ends_with("clock_hz is NaN; give a number from 1 to 1e30"), "{refused}");
        assert_eq!(read(&path).unwrap(), before);
    }

    #[test]
    fn every_gpu_has_a_file_of_its_own() {
        let name = |gpu| own_path(gpu).unwrap().file_name().unwrap().to_owned();
        assert_eq!(name("NVIDIA H200"), "nvidia-h200.json");
        assert_ne!(name("NVIDIA H200 MIG 1g.18gb"), name("NVIDIA H200"));
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
        let text = "memory_bytes is 18446744073709552000; give a number from 1 to 1e15";
        refused(|m| m.memory_bytes = u64::MAX, text);
        let text = "shared_bytes_per_block is 4294967295; give a number from 1 to 1e7";
        refused(|m| m.shared_bytes_per_block = u32::MAX, text);
    }
}
