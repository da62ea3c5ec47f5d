// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a plan of comparisons has to know of a run.

use crate::check::seams::Seams;

/// What there is to know besides the job.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Steps of the launch that most steps are taken with.
    pub launch: usize,
    /// Whether steps are taken by jumps, of any number of steps: each comparison on the way costs two.
    pub jumps: bool,
    /// Where the kernels' tiles meet.
    pub seams: Seams,
    /// Whether the input is there after the run.
    pub keeps_input: bool,
    /// Whether some steps are compared by themselves in any case, also of a short run.
    pub always_spans: bool,
    /// Whether somebody may end the run before its last step: then there is no middle that is known.
    pub open_ended: bool,
    /// Memory for the reference.
    pub most_bytes: u128,
}
