// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that are made of others, against the equations in f64.

use std::path::Path;

use problem::Dtype;

use crate::{Description, FieldText, System, SystemSimulation};

/// A field for each function, of values from -1 to 1 and of larger ones.
pub fn description(dtype: Dtype) -> Description {
    let functions = [
        "mod(4*u, 0.75)",
        "sign(u)",
        "round(5*u)",
        "ceil(5*u)",
        "log(2 + u)",
        "tan(u)",
        "asin(0.99*u)",
        "acos(0.99*u)",
        "atan(7*u)",
        "sinh(2*u)",
        "cosh(2*u)",
        "erf(3*u)",
        "erf(u/4)",
        "min(u, 0.5, -u, 0.25)",
        "max(u, prev(u), -0.5)",
    ];
    let mut description = Description::new(&[7, 40]).dtype(dtype).field(FieldText::new(
        "u",
        "2*random(1) - 1",
        "-0.75*u + 0.2*sin(40*x + n)",
    ));
    for (number, function) in functions.into_iter().enumerate() {
        description = description.field(FieldText::new(&format!("f{number}"), "0", function));
    }
    description
}

#[test]
fn functions_that_are_made_of_others_agree_with_the_oracle() {
    for dtype in [Dtype::F64, Dtype::F32, Dtype::F16] {
        let system = System::new(&description(dtype), Path::new("")).unwrap();
        let mut simulation = SystemSimulation::new(&system).unwrap();
        for _ in 0..4 {
            let check =
                simulation.checked_step().unwrap_or_else(|error| panic!("{dtype}: {error}"));
            assert_eq!(check.undecided, 0, "{dtype}");
        }
    }
}

/// What a system calls a name goes before a function of the language that is made of others.
#[test]
fn a_name_of_the_system_is_its_own() {
    let description = Description::new(&[9])
        .constant("log", "0.25")
        .derivative("tan", "laplace", 2)
        .field(FieldText::new("erf", "1", "erf + log*tan(erf)"));
    assert!(System::new(&description, Path::new("")).is_ok());
}
