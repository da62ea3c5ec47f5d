// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans for stencils of any weights.

use cuda_mma::fragment::Element;
use transform::explore::Request;
use transform::machine::Machine;
use transform::plan::{PlanError, plan};
use transform::stencil_file::parse;

use crate::promise;

/// Neighbours of the largest stencil that is planned: the time of a plan grows with them.
const MOST_POINTS: usize = 125;

/// Plans two steps of the first stencil of a file: a plan holds and has finite times, or there is a
/// reason why there is none.
///
/// # Panics
/// A promise is broken.
pub fn stencil_plan(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(stencils) = parse(text) else { return };
    let Some(stencil) = stencils.first().filter(|s| s.taps().len() <= MOST_POINTS) else { return };
    let mut extents = [1; 3];
    extents[3 - stencil.dims()..].fill(100);
    let machine = Machine::h200();
    for element in [Element::F16, Element::Tf32] {
        match plan(&Request { stencil, extents, element, machine: &machine, most_steps: 2 }) {
            Ok(plan) => {
                let times = [plan.seconds, plan.memory_limit_seconds, plan.gstencils_per_s];
                assert!(times.iter().all(|time| time.is_finite() && *time > 0.0), "{times:?}");
            }
            Err(broken @ PlanError::Broken { .. }) => panic!("{broken}"),
            Err(none) => promise::of_an_error(none),
        }
    }
}
