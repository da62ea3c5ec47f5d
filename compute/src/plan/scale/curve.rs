// SPDX-License-Identifier: MIT OR Apache-2.0
//! Predictions for 1, 2, 4, … GPUs.

use super::{Cluster, Prediction, Scale, ScalingMode};
use crate::plan::RunTarget;
use problem::{Error, Job};
use rayon::prelude::*;
use serde::Serialize;
use transform::network::Network;

/// Where curves end.
pub const MOST_GPUS: usize = 4096;

/// A number of GPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The GPUs.
    #[serde(flatten)]
    pub cluster: Cluster,
    /// What is predicted; null where they cannot share the grid.
    pub prediction: Option<Prediction>,
    /// Why not.
    pub refused: Option<String>,
}

/// Both ways to use more GPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curves {
    /// The job's grid, shared.
    pub strong: Vec<CurvePoint>,
    /// A grid that has as many points for each GPU as the job's.
    pub weak: Vec<CurvePoint>,
}

impl Curves {
    /// The curves of a job, on nodes of so many GPUs.
    ///
    /// # Errors
    /// One GPU by itself could not compute it, whatever memory it had.
    pub fn new(
        job: &Job,
        target: &RunTarget,
        network: &Network,
        per_node: usize,
    ) -> Result<Self, Error> {
        let rows = |mode| -> Result<Vec<CurvePoint>, Error> {
            let scale = Scale::new(job, mode, target, network)?;
            let numbers: Vec<usize> =
                (0..).map(|power| 1 << power).take_while(|n| *n <= MOST_GPUS).collect();
            let row = |gpus: usize| {
                let cluster = Cluster::of_full_nodes(gpus, per_node);
                let (prediction, refused) = match scale.on(cluster) {
                    Ok(prediction) => (Some(prediction), None),
                    Err(error) => (None, Some(error.to_string())),
                };
                CurvePoint { cluster, prediction, refused }
            };
            Ok(numbers.into_par_iter().map(row).collect())
        };
        Ok(Self { strong: rows(ScalingMode::Strong)?, weak: rows(ScalingMode::Weak)? })
    }
}
