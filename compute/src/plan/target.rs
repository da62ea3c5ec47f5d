// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPU that a plan is for.

use crate::device::{DeviceInfo, Gpu, Limits, measure, probe};
use cuda_chip::Chip;
use files::io::Output;
use files::io::machine::{self, DescribedGpu};
use problem::Error;
use std::path::Path;
use std::sync::Once;
use std::{fs, io};
use transform::machine::Machine;

/// Where a job is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTarget {
    /// The GPU's speeds, and where they come from.
    pub machine: Machine,
    /// The GPU's limits.
    pub limits: Limits,
    /// Whether its speeds were measured on this very machine.
    pub measured: bool,
    /// Why speeds that were measured are not taken, where there are some.
    pub stale_speeds: Option<String>,
}

impl RunTarget {
    /// A GPU that is only described: it takes the newest kernels that would run on it.
    #[must_use]
    pub fn described(machine: Machine) -> Self {
        let chip = if machine.compute_capability >= (9, 0) { Chip::Sm90 } else { Chip::Sm80 };
        let shared_bytes = machine.shared_bytes_per_block;
        Self { machine, limits: Limits { chip, shared_bytes }, measured: false, stale_speeds: None }
    }

    /// The GPU of this machine, with the speeds that `host doctor --measure` found, if it was run. A GPU that this program
    /// does not describe is measured now if it never was with its driver, which takes a second or two; the speeds are kept
    /// in the file that `host doctor --measure` writes.
    ///
    /// # Errors
    /// There is none, or none of the kernels runs on it.
    pub fn here() -> Result<Self, Error> {
        /// Whether this process has tried.
        static TRIED: Once = Once::new();
        let gpu = probe()?;
        if let Some(path) = machine::own_path(&gpu.name)
            && is_unknown(&gpu, &path)
        {
            // Who cannot measure, or keep what was found, plans with what the driver states.
            TRIED.call_once(|| drop(measure_into(&path, &gpu.driver_version, on_this_gpu)));
        }
        Self::of(&gpu)
    }

    /// A GPU of this machine, with the speeds that were measured, if any were; nothing is measured now.
    ///
    /// # Errors
    /// None of the kernels runs on it.
    pub fn of(gpu: &DeviceInfo) -> Result<Self, Error> {
        let path = machine::own_path(&gpu.name);
        let limits = gpu.limits()?;
        let found = path.map_or(Ok(None), |path| measured(gpu, &path));
        let stale_speeds = found.as_ref().err().cloned();
        let found = found.ok().flatten();
        let measured = found.is_some();
        let machine = found.unwrap_or_else(|| gpu.machine());
        let machine = Machine { memory_bytes: gpu.memory_bytes, ..machine };
        Ok(Self { machine, limits, measured, stale_speeds })
    }
}

/// What the GPU of this machine can do.
fn on_this_gpu() -> Result<Machine, Error> {
    let gpu = Gpu::open()?;
    Ok(measure(&gpu)?.machine(gpu.info()))
}

/// Whether nobody described a GPU, and nobody measured it into a file with its driver. What else the file may be is for its
/// owner to mend.
fn is_unknown(gpu: &DeviceInfo, path: &Path) -> bool {
    let of_another_driver = |described: &DescribedGpu| {
        let driver = described.driver.as_ref();
        described.machine.name == gpu.name && driver.is_some_and(|it| *it != gpu.driver_version)
    };
    gpu.described().is_none()
        && match machine::read(path) {
            Ok(described) => of_another_driver(&described),
            Err(Error::Read { source, .. }) => source.kind() == io::ErrorKind::NotFound,
            Err(_) => false,
        }
}

/// Measures a GPU into a file, in a folder that is made for it. Nothing is measured that cannot be kept.
///
/// # Errors
/// The GPU fails, or the file cannot be written.
fn measure_into(
    path: &Path,
    driver: &str,
    measure: impl FnOnce() -> Result<Machine, Error>,
) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)
        .map_err(|source| Error::Write { path: folder.to_owned(), source })?;
    let output = Output::new(path)?;
    let driver = Some(driver.to_owned());
    machine::write(&output, &DescribedGpu { machine: measure()?, driver })
}

/// The speeds of a GPU that were measured into a file, if there is one.
///
/// # Errors
/// Why they are not taken.
fn measured(gpu: &DeviceInfo, path: &Path) -> Result<Option<Machine>, String> {
    let DescribedGpu { machine, driver } = match machine::read(path) {
        Ok(described) => described,
        Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    let file = path.display();
    if machine.name != gpu.name {
        return Err(format!("{file} is of an {}, this GPU is an {}", machine.name, gpu.name));
    }
    let now = &gpu.driver_version;
    match driver {
        Some(driver) if driver == *now => {
            let source = format!("{}; {file}", machine.source);
            Ok(Some(Machine { source, ..machine }))
        }
        Some(driver) => {
            Err(format!("{file} was measured with CUDA {driver}, the driver now has {now}"))
        }
        None => Err(format!("{file} does not say which driver it was measured with")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200(driver: &str) -> DeviceInfo {
        DeviceInfo::of(&Machine::h200(), driver)
    }

    #[test]
    fn a_gpu_that_nobody_described_is_measured_once_for_each_driver() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("of/own/gpu.json");
        let own = |driver: &str| DeviceInfo { name: "NVIDIA L40S".into(), ..h200(driver) };
        let measured_now = || Ok(Machine { name: "NVIDIA L40S".into(), ..Machine::h200() });
        assert!(is_unknown(&own("13.0"), &path));
        assert!(!is_unknown(&h200("13.0"), &path), "the program knows its speeds");
        measure_into(&path, "13.0", measured_now).unwrap();
        assert!(!is_unknown(&own("13.0"), &path));
        assert_eq!(measured(&own("13.0"), &path).unwrap().unwrap().name, "NVIDIA L40S");

        assert!(is_unknown(&own("13.1"), &path), "another driver");
        measure_into(&path, "13.1", measured_now).unwrap();
        assert!(!is_unknown(&own("13.1"), &path));

        fs::write(&path, "{\"name\": ").unwrap();
        assert!(!is_unknown(&own("13.1"), &path), "a file that its owner must mend");
        let fails = || Err(Error::NoDriver { reason: "it is gone".into() });
        assert!(measure_into(&folder.path().join("other.json"), "13.0", fails).is_err());
        assert!(is_unknown(&own("13.0"), &folder.path().join("other.json")));
    }

    #[test]
    fn speeds_of_the_same_gpu_and_driver_are_taken_and_others_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpu.json");
        assert_eq!(measured(&h200("13.0"), &path), Ok(None));
        let write = |machine: Machine, driver: Option<&str>| {
            let described = DescribedGpu { machine, driver: driver.map(str::to_owned) };
            machine::write(&Output::new(&path).unwrap(), &described).unwrap();
        };
        let slower = Machine { copy_bytes_per_s: 3.9e12, ..Machine::h200() };
        write(slower, Some("13.0"));
        let found = measured(&h200("13.0"), &path).unwrap().unwrap();
        assert_eq!(found.copy_bytes_per_s, 3.9e12);
        assert!(found.source.ends_with("gpu.json"), "{}", found.source);

        let warns = |driver: &str, what: &str| {
            let warning = measured(&h200(driver), &path).unwrap_err();
            assert!(warning.contains(what), "{warning}");
        };
        warns("13.1", "was measured with CUDA 13.0, the driver now has 13.1");
        write(Machine::a100(), Some("13.0"));
        warns("13.0", "is of an NVIDIA A100 80GB PCIe, this GPU is an NVIDIA H200");
        write(Machine::h200(), None);
        warns("13.0", "does not say which driver");
        fs::write(&path, "{\"name\": ").unwrap();
        warns("13.0", "EOF while parsing");
    }
}
