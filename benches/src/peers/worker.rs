// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process of Python that computes a problem with others' code: it is given a request in JSON, then an order a line.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use stencil::{Dtype, Grid, Shape, Values};

use super::environment::{Environment, last_lines};

/// The process; ended when dropped.
pub struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    errors: PathBuf,
    output: PathBuf,
}

impl Worker {
    /// Starts a script with a request, to which the file for results is added, on so many threads; `folder` is for its files.
    ///
    /// # Errors
    /// It cannot be started, or fails.
    pub fn start(
        environment: &Environment,
        script: &str,
        mut request: Value,
        threads: usize,
        folder: &Path,
    ) -> Result<Self> {
        let [path, errors, output] =
            ["worker.py", "errors", "output"].map(|name| folder.join(name));
        fs::write(&path, script).context("cannot write the script")?;
        let log = File::create(&errors).context("cannot write the script's messages")?;
        let threads = threads.to_string();
        let mut child = Command::new(environment.python())
            .arg(&path)
            .env("OMP_NUM_THREADS", &threads)
            .env("NUMBA_NUM_THREADS", &threads)
            .env("DEVITO_LOGGING", "ERROR")
            .env("DEVITO_ARCH", "gcc")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot start Python")?;
        let orders = child.stdin.take().context("no way to talk to Python")?;
        let answers = BufReader::new(child.stdout.take().context("no way to hear Python")?);
        request["output"] = output.to_string_lossy().into();
        let mut worker = Self { child, orders, answers, errors, output };
        match worker.ask(&request.to_string())?.as_str() {
            "ready" => Ok(worker),
            other => bail!("the script said {other:?} instead of being ready"),
        }
    }

    /// Seconds of so many steps from the start.
    ///
    /// # Errors
    /// The script fails.
    pub fn time(&mut self, steps: usize) -> Result<f64> {
        let answer = self.ask(&format!("run {steps}"))?;
        answer.parse().with_context(|| format!("the script gave no time, but {answer:?}"))
    }

    /// The fields after so many steps from the start.
    ///
    /// # Errors
    /// The script fails.
    pub fn results(&mut self, shape: Shape, dtype: Dtype, steps: usize) -> Result<Vec<Grid>> {
        self.ask(&format!("check {steps}"))?;
        let bytes = fs::read(&self.output).context("the script wrote no result")?;
        let of_field = |bytes: &[u8]| {
            let values = match dtype {
                Dtype::F64 => Values::F64(bytemuck::pod_collect_to_vec(bytes)),
                _ => Values::F32(bytemuck::pod_collect_to_vec(bytes)),
            };
            Ok(Grid::new(shape.axes(), values)?)
        };
        bytes.chunks(shape.points() * dtype.bytes()).map(of_field).collect()
    }

    /// The solution with so many points along each axis, the values of all quantities one after the other.
    ///
    /// # Errors
    /// The script fails.
    pub fn solution(&mut self, points: usize) -> Result<Vec<f64>> {
        self.ask(&format!("solve {points}"))?;
        let bytes = fs::read(&self.output).context("the script wrote no solution")?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    fn ask(&mut self, order: &str) -> Result<String> {
        let mut answer = String::new();
        let sent = writeln!(self.orders, "{order}").and_then(|()| self.orders.flush());
        let heard = sent.and_then(|()| self.answers.read_line(&mut answer));
        match heard {
            Ok(length) if length > 0 => Ok(answer.trim().to_owned()),
            _ => {
                let errors = fs::read(&self.errors).unwrap_or_default();
                bail!("the script ended:\n{}", last_lines(&errors))
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes the values of a grid into a file as they lie in memory, for Python, which has f32 and f64.
///
/// # Errors
/// The type is another one, or the file cannot be written.
pub fn write_values(grid: &Grid, path: &Path) -> Result<&'static str> {
    let (name, bytes): (_, &[u8]) = match &grid.values {
        Values::F32(values) => ("float32", bytemuck::cast_slice(values)),
        Values::F64(values) => ("float64", bytemuck::cast_slice(values)),
        other => bail!("others compute in f32 and f64, not in {}", other.dtype()),
    };
    fs::write(path, bytes).context("cannot write values for a script")?;
    Ok(name)
}
