// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtual environment of Python with Devito in it.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::RELEASE;

/// What Devito runs in.
pub struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// The one in a folder; made, and Devito installed from PyPI, if it is not there.
    ///
    /// # Errors
    /// There is no Python or C compiler, or Devito cannot be installed.
    pub fn set_up(folder: &Path) -> Result<Self> {
        let found = Command::new("gcc").arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            bail!(
                "no gcc was found, with which Devito compiles: install it (Debian: `apt install gcc`)"
            );
        }
        let environment = Self { folder: folder.to_owned() };
        if environment.release().as_deref() == Some(RELEASE) {
            return Ok(environment);
        }
        eprintln!("installing Devito {RELEASE} into {}", folder.display());
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        run(Command::new("python3").args(["-m", "venv"]).arg(folder)).context(
            "cannot make a virtual environment: install Python 3 with its module venv (Debian: `apt install \
             python3-venv`)",
        )?;
        let package = format!("devito=={RELEASE}");
        let mut pip = Command::new(environment.python());
        run(pip.args(["-m", "pip", "install", "--quiet", &package]))
            .with_context(|| format!("cannot install {package} with pip: is PyPI within reach?"))?;
        match environment.release() {
            Some(release) if release == RELEASE => Ok(environment),
            other => bail!(
                "{} should hold Devito {RELEASE}, but has {}: remove it and try again",
                folder.display(),
                other.as_deref().unwrap_or("none")
            ),
        }
    }

    /// Its Python.
    #[must_use]
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// The release of Devito that it has.
    fn release(&self) -> Option<String> {
        let script = "import importlib.metadata as m; print(m.version('devito'))";
        let output = Command::new(self.python()).args(["-c", script]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
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
