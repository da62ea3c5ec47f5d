// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine that runs the tensor-core path in software.

use super::{Engine, Job, Session};
use crate::Error;

/// The transformed path on the CPU: fragments, metadata and `mma.sp` in software.
pub struct Emulate;

impl Engine for Emulate {
    fn name(&self) -> &'static str {
        "emulate"
    }

    fn reject(&self, _job: &Job) -> Option<Error> {
        Some(Error::Unsupported { engine: self.name(), reason: "not written yet".into() })
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        Err(self.reject(job).expect("it rejects every job"))
    }
}
