// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in systems against solutions that know nothing of them: formulas where there are some, else loops.

mod cavity;
mod formulas;
mod karman;
mod layers;
mod loops;
mod stages;

use crate::examples::{EXAMPLES, find};
use crate::{Description, System, SystemSimulation, Text};
use problem::Dtype;
use std::path::Path;

/// A built-in system in f64, on another grid.
fn example(name: &str, size: &[usize]) -> Description {
    let text = find(name).unwrap().text;
    let mut description = Description::parse(&format!("{name}.toml"), text).unwrap();
    description.size = size.to_vec();
    description.dtype = Dtype::F64;
    description
}

/// With another constant.
fn set(mut description: Description, name: &str, value: &str) -> Description {
    let constant = description.constants.iter_mut().find(|(known, _)| known.as_str() == name);
    constant.unwrap().1 = text(value);
    description
}

fn text(expression: &str) -> Text {
    Text::new("the test", expression)
}

/// After so many steps.
fn simulate(description: &Description, steps: usize) -> SystemSimulation {
    let system = System::new(description, Path::new("")).unwrap();
    let mut simulation = SystemSimulation::new(&system).unwrap();
    simulation.step(steps).unwrap();
    simulation
}

/// The values of a field.
pub fn values(simulation: &mut SystemSimulation, field: &str) -> Vec<f64> {
    let grid = simulation.field(field).unwrap();
    (0..grid.shape.points()).map(|index| grid.get(index)).collect()
}

/// The largest difference.
pub fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Every one of them as it stands, for a few steps on a small grid, within what rounding explains.
#[test]
fn all_of_them_start_and_agree_with_the_oracle() {
    for example in EXAMPLES {
        let mut description = Description::parse(example.name, example.text).unwrap();
        description.size = description.size.iter().map(|_| 24).collect();
        let system = System::new(&description, Path::new("")).unwrap();
        let mut simulation = SystemSimulation::new(&system).unwrap();
        for _ in 0..3 {
            let check = simulation.checked_step().unwrap();
            assert_eq!(check.undecided, 0, "{}: {check:?}", example.name);
        }
    }
}
