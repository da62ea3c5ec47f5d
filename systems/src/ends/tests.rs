// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coefficients without a boundary, beside fields of all kinds.

use std::path::Path;

use crate::{Description, FieldText, System, SystemSimulation};
use problem::{Dtype, Error};

/// Diffusion with a coefficient that is read at both sides of each axis, beside fields with these boundaries.
fn diffusion(size: &[usize], fields: &[&str], own: Option<&str>) -> Description {
    let letters = &["z", "y", "x"][3 - size.len()..];
    let mut description = Description::new(size).dtype(Dtype::F64).time_step(0.02);
    let mut flux = String::new();
    for axis in letters {
        description = description
            .derivative(&format!("d{axis}p"), &format!("{axis}+"), 2)
            .derivative(&format!("d{axis}m"), &format!("{axis}-"), 2)
            .derivative(&format!("d{axis}c"), axis, 2);
        flux += &format!(" + d{axis}m(k)*d{axis}p(u0) + d{axis}p(d{axis}m(k*u0)) + d{axis}c(k)");
    }
    let varied = letters.iter().map(|axis| format!("sin(1 + 2*{axis})")).collect::<Vec<_>>();
    description = match own {
        None => description.coefficient("k", varied.join("*").as_str()),
        Some(own) => description.coefficient_with("k", varied.join("*").as_str(), own),
    };
    for (number, boundary) in fields.iter().enumerate() {
        let name = format!("u{number}");
        let next = if number == 0 { format!("u0 + dt*(0{flux})") } else { format!("0.5*{name}") };
        let start = varied.join(" + ");
        description =
            description.field(FieldText::new(&name, start.as_str(), next).boundary(boundary));
    }
    description
}

fn checked(description: &Description) -> Result<System, Error> {
    System::new(description, Path::new(""))
}

fn values(description: &Description) -> Vec<f64> {
    let system = checked(description).unwrap();
    let mut simulation = SystemSimulation::new(&system).unwrap();
    simulation.checked_step().unwrap();
    simulation.step(3).unwrap();
    let grid = simulation.field("u0").unwrap();
    (0..grid.shape.points()).map(|index| grid.get(index)).collect()
}

/// Every kind of end, on grids of every number of axes: as if the coefficient's own had been given.
#[test]
fn a_coefficient_without_a_boundary_goes_on_as_the_fields_do() {
    for size in [&[13][..], &[6, 7], &[4, 5, 6]] {
        for (fields, same) in [
            (&["periodic"][..], "periodic"),
            (&["periodic", "periodic"], "periodic"),
            (&["reflect"], "reflect"),
            (&["edge"], "edge"),
            (&["flux=0.5"], "edge"),
            (&["zero"], "reflect"),
            (&["constant=2"], "reflect"),
            (&["zero", "edge"], "edge"),
            (&["edge", "constant=1"], "edge"),
            (&["x-:reflect,x+:edge"], "x-:reflect,x+:edge"),
            (&["x:periodic"], "x:periodic"),
        ] {
            // Sides that are not named have zeros, beside which coefficients are mirrored.
            let mut given = same.to_owned();
            if same.contains(':') {
                for axis in &["z", "y"][3 - size.len()..] {
                    given += &format!(",{axis}:reflect");
                }
            }
            let [unsaid, said] =
                [None, Some(given.as_str())].map(|own| values(&diffusion(size, fields, own)));
            assert_eq!(unsaid, said, "{size:?} {fields:?}");
            for other in ["zero", "constant=9"] {
                assert_ne!(unsaid, values(&diffusion(size, fields, Some(other))), "{fields:?}");
            }
        }
    }
}

/// What flows out at one side of a periodic axis flows in at the other: nothing is lost.
#[test]
fn nothing_is_lost_where_all_is_periodic() {
    let mut rod = Description::new(&[32]).dtype(Dtype::F64).time_step(0.1);
    rod = rod.derivative("dxp", "x+", 2).derivative("dxm", "x-", 2).coefficient("k", "1 + x/32");
    let next = "u + dt*dxm(k*dxp(u))";
    rod = rod.field(FieldText::new("u", "1 + sin(x)", next).boundary("periodic"));
    let mut simulation = SystemSimulation::new(&checked(&rod).unwrap()).unwrap();
    let mass = |simulation: &mut SystemSimulation| {
        let grid = simulation.field("u").unwrap();
        (0..32).map(|index| grid.get(index)).sum::<f64>()
    };
    let before = mass(&mut simulation);
    simulation.step(500).unwrap();
    assert!((mass(&mut simulation) - before).abs() < 1e-11);
}

#[test]
fn fields_that_differ_are_no_guess() {
    for (fields, side) in [
        (&["x:periodic", "reflect"][..], "x-"),
        (&["x:periodic", "zero"], "x-"),
        (&["edge", "zero", "reflect"], "x-"),
        (&["x-:edge,x+:edge", "x-:edge,x+:reflect"], "x+"),
    ] {
        let error = checked(&diffusion(&[9], fields, None)).unwrap_err().to_string();
        let begins = format!("'k' is read beyond {side} and has no boundary");
        assert!(error.contains(&begins), "{error}");
        checked(&diffusion(&[9], fields, Some("reflect"))).unwrap();
    }
}

/// Where it is read at the point alone, its ends do not matter, and nobody asks for them.
#[test]
fn what_is_not_read_beyond_the_grid_may_be_left_out() {
    let mut description = Description::new(&[9]).coefficient("k", "x");
    for (name, boundary) in [("u", "periodic"), ("v", "reflect")] {
        let next = format!("{name}*k");
        description = description.field(FieldText::new(name, "1", next).boundary(boundary));
    }
    checked(&description).unwrap();
}

/// A sponge along one axis damps earlier values beyond the sides of a periodic other one, too.
#[test]
fn a_sponge_goes_on_along_a_periodic_axis() {
    let mut wave = Description::new(&[12, 7]).dtype(Dtype::F64).derivative("dxx", "xx", 2);
    let next = "u + 0.1*dxx(prev(u))";
    wave = wave.field(FieldText::new("u", "1 + y", next).boundary("x:periodic"));
    let mut wave = wave.sponge(4, 0.2);
    wave.sponge.as_mut().unwrap().sides = vec![crate::Text::new("a side", "y-")];
    let grid = {
        let mut simulation = SystemSimulation::new(&checked(&wave).unwrap()).unwrap();
        simulation.step(5).unwrap();
        simulation.field("u").unwrap()
    };
    for y in 0..12 {
        for x in 1..7 {
            let difference = grid.get(y * 7 + x) - grid.get(y * 7);
            assert!(difference.abs() < 1e-14, "({y}, {x}): {difference}");
        }
    }
}
