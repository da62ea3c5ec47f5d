// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process that computes one stencil with Devito.

use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use stencil::{Dtype, Grid, Job, Values};

use super::environment::{Environment, last_lines};

/// What it runs.
const WORKER: &str = include_str!("worker.py");

/// The process; ended when dropped.
pub struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    errors: PathBuf,
    output: PathBuf,
}

impl Peer {
    /// Has Devito generate and compile the code for a job, on so many threads; `folder` is for its files.
    ///
    /// # Errors
    /// The type is neither f32 nor f64, or Devito fails.
    pub fn start(
        environment: &Environment,
        job: &Job,
        input: &Grid,
        threads: usize,
        folder: &Path,
    ) -> Result<Self> {
        let (name, bytes): (_, &[u8]) = match &input.values {
            Values::F32(values) => ("float32", bytemuck::cast_slice(values)),
            Values::F64(values) => ("float64", bytemuck::cast_slice(values)),
            other => bail!("Devito computes in f32 and f64, not in {}", other.dtype()),
        };
        let path = |name| folder.join(name);
        let [script, values, errors, output] = ["worker.py", "input", "errors", "output"].map(path);
        fs::write(&script, WORKER).context("cannot write the script")?;
        fs::write(&values, bytes).context("cannot write the input for Devito")?;
        let log = File::create(&errors).context("cannot write Devito's messages")?;
        let mut child = Command::new(environment.python())
            .arg(&script)
            .env("OMP_NUM_THREADS", threads.to_string())
            .env("DEVITO_LOGGING", "ERROR")
            .env("DEVITO_ARCH", "gcc")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot start Python")?;
        let orders = child.stdin.take().context("no way to talk to Python")?;
        let answers = BufReader::new(child.stdout.take().context("no way to hear Python")?);
        let mut peer = Self { child, orders, answers, errors, output };
        let first = 3 - job.shape.dims();
        let stencil = job.dtype.round_weights(&job.stencil);
        let taps: Vec<_> =
            stencil.taps().iter().map(|tap| json!([tap.offset[first..], tap.weight])).collect();
        let request = json!({
            "extents": job.shape.axes(),
            "dtype": name,
            "radius": job.stencil.radii().into_iter().max(),
            "taps": taps,
            "input": values,
            "output": peer.output,
        });
        match peer.ask(&request.to_string())?.as_str() {
            "ready" => Ok(peer),
            other => bail!("Devito's script said {other:?} instead of being ready"),
        }
    }

    /// Seconds of so many steps.
    ///
    /// # Errors
    /// Devito fails.
    pub fn time(&mut self, steps: usize) -> Result<f64> {
        let answer = self.ask(&format!("run {steps}"))?;
        answer.parse().with_context(|| format!("Devito's script gave no time, but {answer:?}"))
    }

    /// The grid after so many steps.
    ///
    /// # Errors
    /// Devito fails.
    pub fn result(&mut self, job: &Job, steps: usize) -> Result<Grid> {
        self.ask(&format!("check {steps}"))?;
        let bytes = fs::read(&self.output).context("Devito wrote no result")?;
        let values = match job.dtype {
            Dtype::F64 => Values::F64(bytemuck::pod_collect_to_vec(&bytes)),
            _ => Values::F32(bytemuck::pod_collect_to_vec(&bytes)),
        };
        Ok(Grid::new(job.shape.axes(), values)?)
    }

    fn ask(&mut self, order: &str) -> Result<String> {
        let mut answer = String::new();
        let sent = writeln!(self.orders, "{order}").and_then(|()| self.orders.flush());
        let heard = sent.and_then(|()| self.answers.read_line(&mut answer));
        match heard {
            Ok(length) if length > 0 => Ok(answer.trim().to_owned()),
            _ => {
                let errors = fs::read(&self.errors).unwrap_or_default();
                bail!("Devito's script ended:\n{}", last_lines(&errors))
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
