// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of GPUs, as `--machine` takes them.

use crate::{file, promise};
use cuda_mma::fragment::Element;
use std::sync::LazyLock;
use stencil::Job;
use stencil::io;
use stencil::plan::{RunTarget, on_gpu};
use stencil::{Dtype, Error, Shape};
use transform::explore::Request;
use transform::machine::Machine;
use transform::plan::{PlanError, plan};
use transform::{Stencil, catalogue};

/// Reads a GPU's description, writes it, and reads it again; plans for it have finite times.
///
/// # Panics
/// A promise is broken.
pub fn machine(data: &[u8]) {
    let machine = match read(data) {
        Ok(machine) => machine,
        Err(error) => return promise::of_an_error(error),
    };
    let written = serde_json::to_vec(&machine).expect("plain data");
    assert_eq!(read(&written).ok().as_ref(), Some(&machine));

    static STENCIL: LazyLock<Stencil> =
        LazyLock::new(|| catalogue::find("star1d1r").expect("a shape"));
    static STENCIL3D: LazyLock<Stencil> =
        LazyLock::new(|| catalogue::find("star3d1r").expect("a shape"));
    for element in [Element::F16, Element::Tf32] {
        let extents = [1, 1, 1000];
        let (stencil, machine) = (&*STENCIL, &machine);
        match plan(&Request { stencil, extents, element, machine, most_steps: 1 }) {
            Ok(plan) => {
                let times = [plan.seconds, plan.memory_limit_seconds, plan.gstencils_per_s];
                assert!(times.iter().all(|time| time.is_finite() && *time > 0.0), "{times:?}");
            }
            Err(PlanError::NoLayout { .. }) => {}
            Err(broken @ PlanError::Broken { .. }) => panic!("{broken}"),
        }
    }
    // A grid for all of the largest memory, and those of which the halo takes far more than the points.
    for extents in [[1 << 15, 1 << 14, 1 << 15], [1 << 30, 1 << 17, 1], [1 << 30, 1 << 28, 1]] {
        let shape = Shape::new(&extents).expect("points that can be counted");
        let job = Job::new((*STENCIL3D).clone(), shape, Dtype::F16, 1);
        for candidate in on_gpu(&RunTarget::described(machine.clone()), &job).ranked {
            let seconds = candidate.seconds_per_step;
            assert!(seconds.is_finite() && seconds > 0.0, "{seconds} s a step");
        }
    }
}

fn read(data: &[u8]) -> Result<Machine, Error> {
    io::machine::read(file::holding(data, ".json").path()).map(|described| described.machine)
}
