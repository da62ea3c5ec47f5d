// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that a system needs as a whole, looked at before any of it is taken.

use std::collections::BTreeSet;

use super::checked::System;
use super::expression::Node;
use super::parts::Start;
use problem::memory::{self, Bytes};
use problem::{Error, Grid};

/// Checks that a system fits: the values it starts with, and besides them the bytes that an engine takes.
///
/// # Errors
/// [`Error::Memory`].
pub fn require(system: &System, what: &str, engine: u128) -> Result<(), Error> {
    fits(system, what, engine, memory::free())
}

/// Checks that the values of a system and the bytes of its engine fit into the memory that is free.
fn fits(system: &System, what: &str, engine: u128, free: Bytes) -> Result<(), Error> {
    let need = beginning(system).saturating_add(engine);
    if need <= u128::from(free.0) { Ok(()) } else { Err(memory::short(what, need, free)) }
}

/// Bytes of the values that a system starts with, and of what they are made from.
fn beginning(system: &System) -> u128 {
    let starts = system.coefficients.iter().map(|it| (&it.start, 1));
    let fields = system.fields.iter();
    let starts = starts.chain(fields.clone().map(|it| (&it.start, it.levels - it.before.len())));
    let starts = starts.chain(fields.flat_map(|it| it.before.iter().map(|start| (start, 1))));
    let points = system.shape.points() as u128;
    let (mut kept, mut random) = (0u128, 0);
    for (start, levels) in starts {
        kept += levels as u128 * points * system.dtype.bytes() as u128;
        match start {
            // Whoever computes and whoever drives that share it; walls change a copy.
            Start::Values(grid, _) => kept += bytes(grid),
            Start::OnDevice(_) => (),
            Start::Expression(node) => random = random.max(seeds(node)),
        }
    }
    kept + 8 * points * random as u128
}

fn bytes(grid: &Grid) -> u128 {
    grid.shape.points() as u128 * grid.dtype().bytes() as u128
}

/// Grids of random numbers that an expression needs at once.
fn seeds(node: &Node) -> usize {
    let mut seeds = BTreeSet::new();
    node.visit(&mut |part| {
        if let Node::Random(seed) = part {
            seeds.insert(*seed);
        }
    });
    seeds.len()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::examples::EXAMPLES;
    use crate::{ComputeOptions, Description, SystemSimulation};
    use compute::engine::EngineRequest;
    use problem::check::rounded::Losses;
    use problem::{Dtype, ErrorKind};

    /// Diffusion of so many fields that do not know of each other, each with a coefficient if they have one.
    fn fields(count: usize, points: u64, start: &str, coefficient: bool) -> System {
        let mut text = format!("[grid]\nsize = [{points}]\ndtype = \"f32\"\n");
        text += "[time]\nsteps = 2\ndt = 0.1\n[stencils]\n";
        text += "laplace = { derivative = \"laplace\", order = 2 }\n";
        for at in 0..count {
            let factor = if coefficient { format!("k{at}*") } else { String::new() };
            if coefficient {
                text += &format!("[coefficients.k{at}]\nstart = \"{start}\"\n");
            }
            text += &format!("[fields.u{at}]\nstart = \"{start}\"\n");
            text += &format!("next = \"u{at} + dt*{factor}laplace(u{at})\"\n");
        }
        let description = Description::parse("fields", &text).unwrap();
        System::new(&description, Path::new("")).unwrap()
    }

    #[test]
    fn all_arrays_count() {
        // Coefficients and fields of 4 bytes, and two random grids of 8 bytes at a time.
        assert_eq!(beginning(&fields(1, 1000, "1", true)), 8000);
        assert_eq!(beginning(&fields(5, 1000, "1", true)), 40_000);
        assert_eq!(beginning(&fields(5, 1000, "random(1) + random(2) + random(1)", true)), 56_000);
        let mut given = fields(2, 1000, "1", true);
        let grid = Grid::random(given.shape, Dtype::F32, 3).unwrap();
        given.fields[0].start = Start::Values(grid.into(), Losses::default());
        assert_eq!(beginning(&given), 16_000 + 4000);
    }

    #[test]
    fn what_fits_exactly_is_taken_and_a_byte_less_is_not() {
        for example in EXAMPLES {
            let description = Description::parse(example.name, example.text).unwrap();
            let system = System::new(&description, Path::new("")).unwrap();
            let need = beginning(&system) + 77;
            assert!(fits(&system, "it", 77, Bytes(need as u64)).is_ok(), "{}", example.name);
            let short = fits(&system, "it", 77, Bytes(need as u64 - 1)).unwrap_err();
            assert_eq!(short.kind(), ErrorKind::Memory, "{}", example.name);
        }
    }

    /// Each array fits, all of them do not. Formerly they were computed one after the other until memory ran out.
    #[test]
    fn what_does_not_fit_as_a_whole_is_refused_before_anything_is_allocated() {
        let points = memory::free().0 / 4 / 8;
        for (engine, what) in [
            (EngineRequest::Cpu, "a system of 8 fields on "),
            (EngineRequest::Fft, "jumps of 8 fields on "),
        ] {
            // Jumps are of systems whose weights do not vary.
            let system = fields(8, points, "1", engine != EngineRequest::Fft);
            let asked = ComputeOptions { engine, steps: 2, ..ComputeOptions::default() };
            let refused = SystemSimulation::asked(&system, &asked).err().expect("too large");
            assert!(refused.to_string().contains(what), "{refused}");
            assert_eq!(refused.kind(), ErrorKind::Memory);
        }
    }
}
