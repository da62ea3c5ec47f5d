// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on sparse tensor cores.

use super::{Engine, Job, Session};
use crate::{Error, device};

/// Sparse tensor cores of an NVIDIA GPU.
pub struct Sparse;

impl Engine for Sparse {
    fn name(&self) -> &'static str {
        "sparse"
    }

    fn reject(&self, _job: &Job) -> Option<Error> {
        device::probe().err()
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        Err(self.reject(job).unwrap_or(Error::NoDeviceCode { reason: "not written yet".into() }))
    }
}
