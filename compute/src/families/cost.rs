// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a way to compute takes, counted from its launches: never measured, so that it holds on any GPU.

use problem::Job;

/// What one advance takes: a launch that computes the grid some time steps further, and perhaps one that
/// computes the points near the boundary again.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The kernel that computes the grid.
    pub kernel: String,
    /// What is calibrated together: the kernel, or where it is driven by a table, how it is driven.
    pub class: String,
    /// Axes of the grid.
    pub dims: usize,
    /// Time steps of the advance.
    pub steps: usize,
    /// Points of the grid.
    pub points: f64,
    /// Bytes that are read from and written to memory.
    pub bytes: f64,
    /// What an output takes of a kernel that is driven by a table: products of 128 outputs, or their cycles, or
    /// neighbours; 0 where the kernel is for one shape.
    pub work: f64,
    /// Launches that the host queues for it; 0 where one launch takes many advances.
    pub launches: f64,
    /// The points near the boundary, where they are computed again.
    pub rim: Option<RimCost>,
}

impl Cost {
    /// One launch of an unnamed kernel, of so many time steps, that reads each point of a job's grid and writes it.
    #[must_use]
    pub fn of(job: &Job, steps: usize) -> Self {
        let points = job.shape.points() as f64;
        Self {
            kernel: String::new(),
            class: String::new(),
            dims: job.shape.dims(),
            steps,
            points,
            bytes: 2.0 * job.dtype.bytes() as f64 * points,
            work: 0.0,
            launches: 1.0,
            rim: None,
        }
    }
}

/// The least that a kernel may take, known before its layout.
#[derive(Clone, Debug, PartialEq)]
pub struct LowerBound {
    /// [`Cost::class`].
    pub class: String,
    /// No more than [`Cost::work`].
    pub work: f64,
}

/// What the points near the boundary take.
#[derive(Clone, Debug, PartialEq)]
pub struct RimCost {
    /// The kernel.
    pub kernel: String,
    /// Whether it takes a dense stencil by a table of neighbours, which costs less for each.
    pub tabled_box: bool,
    /// Time steps that it takes one after the other.
    pub steps: usize,
    /// Its multiply-adds: points × neighbours × steps.
    pub multiply_adds: f64,
    /// Whether it runs beside the other launch, not after it.
    pub beside: bool,
}

impl RimCost {
    /// What is calibrated together.
    #[must_use]
    pub fn class(&self, dims: usize) -> String {
        let of = if self.tabled_box { "_box" } else { "" };
        format!("{}{of}_of_{dims}d", self.kernel)
    }
}
