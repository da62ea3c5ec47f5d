// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on all cores of this machine.

use super::{Engine, Job, Session};
use crate::Error;

/// All cores of this machine.
pub struct Cpu;

impl Engine for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn reject(&self, _job: &Job) -> Option<Error> {
        Some(Error::Unsupported { engine: self.name(), reason: "not written yet".into() })
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        Err(self.reject(job).expect("it rejects every job"))
    }
}
