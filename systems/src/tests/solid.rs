// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solid points against loops that ask of each neighbour whether it is solid, and what is said of mistakes.

use std::path::Path;

use super::examples::{difference, values};
use crate::{Description, FieldText, Method, StartText, System, SystemSimulation};
use compute::engine::EngineRequest;
use problem::{Dtype, Error, Grid};
use transform::{Stencil, Tap};

const NY: usize = 20;
const NX: usize = 24;

/// A disc, and a point by itself.
const SOLID: &str = "(x - 11)^2 + (y - 9)^2 < 20 or (ix == 3 and iy == 4)";

fn is_solid(y: usize, x: usize) -> bool {
    let [dy, dx] = [y as f64 - 9.0, x as f64 - 11.0];
    dx * dx + dy * dy < 20.0 || (x == 3 && y == 4)
}

fn begin(y: usize, x: usize) -> f64 {
    (0.7 * x as f64).sin() + (0.4 * y as f64).cos() + 1.5
}

const START: &str = "sin(0.7*x) + cos(0.4*y) + 1.5";

/// Neighbours with their weights: all eight.
fn around() -> Vec<([isize; 2], f64)> {
    let all = (-1..=1).flat_map(|y| (-1..=1).map(move |x| [y, x]));
    let weight = |at: [isize; 2]| match at.map(isize::abs).iter().sum() {
        0 => -1.0,
        1 => 0.2,
        _ => 0.05,
    };
    all.map(|at| (at, weight(at))).collect()
}

fn nine() -> Stencil {
    let tap = |([y, x], weight): ([isize; 2], f64)| Tap { offset: [0, y as i32, x as i32], weight };
    Stencil::new("nine", 2, around().into_iter().map(tap).collect()).unwrap()
}

/// A sum around each point that is not solid, periodic along x and mirrored along y, where `wall` says what is read of solid
/// points by the value of the own point.
fn sums(values: &[f64], wall: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; values.len()];
    for y in 0..NY {
        for x in (0..NX).filter(|x| !is_solid(y, *x)) {
            for ([dy, dx], weight) in around() {
                let beside = (x as isize + dx).rem_euclid(NX as isize) as usize;
                let above = (y as isize + dy).clamp(0, NY as isize - 1) as usize;
                let found = values[above * NX + beside];
                let own = values[y * NX + x];
                let read = if is_solid(above, beside) { wall(own) } else { found };
                sums[y * NX + x] += weight * read;
            }
        }
    }
    sums
}

fn description() -> Description {
    Description::new(&[NY, NX]).dtype(Dtype::F64).stencil("nine", nine()).solid(SOLID)
}

const SIDES: &str = "x:periodic,y:symmetric";

fn simulate(description: &Description) -> SystemSimulation {
    SystemSimulation::new(&System::new(description, Path::new("")).unwrap()).unwrap()
}

fn start() -> Vec<f64> {
    (0..NY * NX).map(|index| begin(index / NX, index % NX)).collect()
}

fn outside() -> impl Iterator<Item = usize> {
    (0..NY * NX).filter(|index| !is_solid(index / NX, index % NX))
}

#[test]
fn heat_flows_around_what_is_solid_as_loops_say() {
    type Wall = fn(f64, f64) -> f64;
    let no_flux: Wall = |own, _| own;
    let odd: Wall = |own, _| -own;
    let value: Wall = |_, t| 1.0 + 0.5 * (3.0 * t).sin();
    for (walls, wall) in
        [(None, no_flux), (Some("odd"), odd), (Some("value=1 + 0.5*sin(3*t)"), value)]
    {
        let field = FieldText::new("u", START, "u + 0.3*nine(u)").boundary(SIDES);
        let field = walls.map_or(field.clone(), |walls| field.walls(walls));
        let heat = description().time_step(0.1).field(field);
        let mut simulation = simulate(&heat.total("mass", "sum(u)").total("mean", "mean(u)"));
        let mut expected = start();
        let count = outside().count() as f64;
        let mass = outside().map(|index| expected[index]).sum::<f64>();
        for step in 0..40 {
            let t = 0.1 * f64::from(step);
            let sums = sums(&expected, |own| wall(own, t));
            expected.iter_mut().zip(sums).for_each(|(value, sum)| *value += 0.3 * sum);
            let check = simulation.checked_step().unwrap();
            assert!(check.holds() && check.undecided == 0, "{walls:?}: {check:?}");
        }
        // What solid points show: 0, or the value of the time.
        let has_value = walls.is_some_and(|walls| walls.starts_with("value"));
        let shown = if has_value { value(0.0, 4.0) } else { 0.0 };
        let solid = expected.iter_mut().enumerate();
        let solid = solid.filter(|(index, _)| is_solid(index / NX, index % NX));
        solid.for_each(|(_, value)| *value = shown);
        let error = difference(&values(&mut simulation, "u"), &expected);
        assert!(error < 1e-13, "{walls:?}: {error}");
        let totals = simulation.totals().unwrap();
        let fluid = outside().map(|index| expected[index]).sum::<f64>();
        assert!((totals[0] - fluid).abs() < 1e-11, "{totals:?}: {fluid}");
        assert!((totals[1] - fluid / count).abs() < 1e-13, "{totals:?}");
        if walls.is_none() {
            assert!((fluid - mass).abs() < 1e-11, "{fluid} of {mass}");
        }
    }
}

/// A walled channel is the grid between the walls with mirrors at its sides, but for neighbours across a corner, which have their images
/// in other points.
#[test]
fn a_channel_between_walls_is_a_grid_between_mirrors() {
    for (walls, side) in [("no-flux", "symmetric"), ("odd", "odd")] {
        let field = |first: &str| {
            let start = format!("sin(0.7*x) + cos(0.4*(iy - {first}))*(1 + 0.1*ix)");
            FieldText::new("u", start.as_str(), "u + 0.2*five(u) - 0.01*u^2")
        };
        let five = |grid: Description| grid.derivative("five", "laplace", 2);
        let walled = five(description().solid("iy < 3 or iy > 11"));
        let walled = walled.field(field("3").boundary("x:edge").walls(walls));
        let small = five(Description::new(&[9, NX]).dtype(Dtype::F64));
        let small = small.field(field("0").boundary(&format!("x:edge,y:{side}")));
        let [mut walled, mut small] = [walled, small].map(|it| simulate(&it));
        walled.step(30).unwrap();
        small.step(30).unwrap();
        let inner = &values(&mut walled, "u")[3 * NX..12 * NX];
        let error = difference(inner, &values(&mut small, "u"));
        assert!(error < 1e-13, "{walls}: {error}");
    }
}

/// Rates of a work field, in four stages.
#[test]
fn stages_and_work_fields_have_walls() {
    let film = description().time_step(0.2).method(Method::Rk4);
    let film = film.work_with("curved", "nine(u)", SIDES);
    let film = film.field(FieldText::rate("u", START, "-nine(curved)").boundary(SIDES));
    let mut simulation = simulate(&film.total("mass", "sum(u)"));
    let mass = simulation.totals().unwrap()[0];
    let rate = |values: &[f64]| -> Vec<f64> {
        let curved = sums(values, |own| own);
        sums(&curved, |own| own).into_iter().map(|value| -value).collect()
    };
    let plus = |values: &[f64], by: f64, rate: &[f64]| -> Vec<f64> {
        values.iter().zip(rate).map(|(value, rate)| value + by * rate).collect()
    };
    let mut expected = start();
    // The oracle computes all stages again around each point.
    assert!(simulation.checked_step().unwrap().holds());
    simulation.step(9).unwrap();
    for _ in 0..10 {
        let first = rate(&expected);
        let second = rate(&plus(&expected, 0.1, &first));
        let third = rate(&plus(&expected, 0.1, &second));
        let fourth = rate(&plus(&expected, 0.2, &third));
        for (part, rate) in [(1.0, first), (2.0, second), (2.0, third), (1.0, fourth)] {
            expected = plus(&expected, 0.2 * part / 6.0, &rate);
        }
    }
    let found = values(&mut simulation, "u");
    let error = outside().map(|index| (found[index] - expected[index]).abs()).fold(0.0, f64::max);
    assert!(error < 1e-13, "{error}");
    assert!((simulation.totals().unwrap()[0] - mass).abs() < 1e-11);
}

/// A flux that is written as a stencil of a stencil ends at walls, whatever the coefficient is in them.
#[test]
fn fluxes_end_at_walls() {
    let heat = description().derivative("dxp", "x+", 2).derivative("dxm", "x-", 2);
    let heat = heat.average("ax", "x+", 2).coefficient("k", "1 + 0.5*sin(x)");
    let next = "u + 0.2*dxm(ax(k)*dxp(u))";
    let heat = heat.field(FieldText::new("u", START, next).boundary("x:periodic"));
    let mut simulation = simulate(&heat);
    let mut expected = start();
    for _ in 0..30 {
        let before = expected.clone();
        for index in outside() {
            let (y, x) = (index / NX, index % NX);
            for (other, left) in [((x + NX - 1) % NX, (x + NX - 1) % NX), ((x + 1) % NX, x)] {
                let k = |x: usize| 1.0 + 0.5 * (x as f64).sin();
                let between = (k(left) + k((left + 1) % NX)) / 2.0;
                if !is_solid(y, other) {
                    let slope = before[y * NX + other] - before[index];
                    expected[index] += 0.2 * between * slope;
                }
            }
        }
        assert!(simulation.checked_step().unwrap().holds());
    }
    let found = values(&mut simulation, "u");
    let error = outside().map(|index| (found[index] - expected[index]).abs()).fold(0.0, f64::max);
    assert!(error < 1e-13, "{error}");
}

/// Two streams against each other on a line become each other at walls: neither gets lost.
#[test]
fn what_meets_a_wall_comes_back_in_the_other_field() {
    let shift =
        |at: i32| Stencil::new("shift", 1, vec![Tap { offset: [0, 0, at], weight: 1.0 }]).unwrap();
    let line = Description::new(&[12]).dtype(Dtype::F64).solid("ix == 0 or ix == 7");
    let line = line.stencil("left", shift(-1)).stencil("right", shift(1));
    let east = FieldText::new("east", "if(ix == 2, 1, 0)", "left(east)");
    let line = line.field(east.boundary("periodic").walls("bounce=west"));
    let west = FieldText::new("west", "0", "right(west)");
    let line = line.field(west.boundary("periodic").walls("bounce=east"));
    let mut simulation = simulate(&line);
    // From 2 it goes east to 6, comes back to 1, and goes east again.
    let (mut place, mut goes_east) = (2, true);
    for step in 0..30 {
        simulation.step(1).unwrap();
        match (goes_east, place) {
            (true, 6) => goes_east = false,
            (false, 1) => goes_east = true,
            (true, _) => place += 1,
            (false, _) => place -= 1,
        }
        let [east, west] = ["east", "west"].map(|name| values(&mut simulation, name));
        let one = |there: bool| {
            let at = |index: usize| f64::from(u8::from(there && index == place));
            (0..12).map(at).collect::<Vec<f64>>()
        };
        assert_eq!((east, west), (one(goes_east), one(!goes_east)), "step {step}");
    }
}

#[test]
fn the_mask_is_a_coefficient_of_equations() {
    let count = description().field(FieldText::new("u", "solid", "u + solid"));
    let count = count.total("open", "sum(1 + solid)");
    let mut simulation = simulate(&count);
    simulation.step(2).unwrap();
    assert!(values(&mut simulation, "u").iter().all(|value| *value == 0.0));
    assert_eq!(simulation.totals().unwrap()[0], outside().count() as f64);
}

/// Of a grid of which a sample is compared a part of that lies beside walls.
#[test]
fn points_beside_walls_are_found() {
    let large =
        Description::new(&[500, 700]).dtype(Dtype::F64).solid("(x - 90)^2 + (y - 400)^2 < 300");
    let large = large.field(FieldText::new("u", "0", "u"));
    let system = System::new(&large, Path::new("")).unwrap();
    let mut state = 1_u64;
    let random = |points: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % points
    };
    let found = system.beside_walls(512, random);
    assert!(found.len() > 5, "{found:?}");
    for index in found {
        let [y, x] = [index / 700, index % 700].map(|at| at as f64);
        let distance = ((x - 90.0).powi(2) + (y - 400.0).powi(2)).sqrt();
        assert!(distance * distance >= 300.0 && distance < 300.0_f64.sqrt() + 1.5, "{distance}");
    }
}

/// Sources in solid points, and what is given as values of these, come to nothing.
#[test]
fn solid_points_have_what_walls_say_whatever_is_given() {
    let grid = Grid::new(&[NY, NX], vec![3.0; NY * NX]).unwrap();
    let field = FieldText::new("u", grid, "u").boundary(SIDES).keep("ix < 14");
    let still = description().field(field.clone()).source("u", &[9, 11], "1");
    let still = still.source("u", &[9, 12], "sin(u) + ix").source("u", &[0, 20], "1");
    let mut simulation = simulate(&still);
    for _ in 0..2 {
        assert!(simulation.checked_step().unwrap().holds());
    }
    let found = values(&mut simulation, "u");
    for (index, found) in found.into_iter().enumerate() {
        let solid = is_solid(index / NX, index % NX);
        let expected = if solid { 0.0 } else { 3.0 + 2.0 * f64::from(u8::from(index == 20)) };
        assert_eq!(found, expected, "{index}");
    }
    let system = System::new(&description().field(field.walls("value=y")), Path::new(""));
    let begun = SystemSimulation::new(&system.unwrap()).unwrap().field("u").unwrap();
    assert_eq!(begun.get(9 * NX + 11), 9.0);
}

/// Values that are not 0 are solid.
#[test]
fn masks_are_arrays_too() {
    let mask: Vec<f32> =
        (0..NY * NX).map(|it| if is_solid(it / NX, it % NX) { -2.5 } else { 0.0 }).collect();
    let mask = Grid::new(&[NY, NX], mask).unwrap();
    let run = |solid: StartText| {
        let heat = description().solid(solid);
        let mut simulation = simulate(&heat.field(FieldText::new("u", START, "u + 0.3*nine(u)")));
        simulation.step(5).unwrap();
        values(&mut simulation, "u")
    };
    assert_eq!(run(mask.into()), run(SOLID.into()));
}

#[test]
fn transforms_refuse_what_has_solid_points() {
    let field = FieldText::new("u", START, "u + 0.3*nine(u)").boundary("periodic");
    let system = System::new(&description().field(field), Path::new("")).unwrap();
    let expected = "some points are solid, so not all points have one equation";
    assert_eq!(crate::sum::job(&system).unwrap_err(), expected);
    let refused = SystemSimulation::on(&system, EngineRequest::Fft);
    let Err(refused) = refused else { panic!("transforms take it") };
    assert!(refused.to_string().contains(expected), "{refused}");
}

/// What is wrong with a system, and what to do.
fn mistake(description: &Description) -> String {
    match System::new(description, Path::new("")) {
        Err(Error::System(mistake)) => {
            format!("{}; {}", mistake.what, mistake.hint.as_deref().unwrap_or_default())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn mistakes_are_told_with_what_is_meant() {
    let heat = |field: FieldText| description().field(field);
    let field = || FieldText::new("u", START, "u + 0.3*nine(u)");
    for (walls, expected) in [
        (
            "no-flix",
            "'no-flix' is none of no-flux, odd, value=E, bounce=FIELD; did you mean no-flux?",
        ),
        (
            "symmetric",
            "'symmetric' is none of no-flux, odd, value=E, bounce=FIELD; did you mean no-flux?",
        ),
        ("no-slip", "'no-slip' is none of no-flux, odd, value=E, bounce=FIELD; did you mean odd?"),
        ("zero", "'zero' is none of no-flux, odd, value=E, bounce=FIELD; did you mean value=0?"),
        ("xyz", "'xyz' is none of no-flux, odd, value=E, bounce=FIELD; "),
        (
            "bounce",
            "'bounce' is none of no-flux, odd, value=E, bounce=FIELD; did you mean bounce=FIELD?",
        ),
        ("bounce=v", "there is no field 'v'; there is u"),
        (
            "value=u",
            "a wall's value is made of coordinates, time, constants and tables; this reads a field, a coefficient or a \
             total, or is random; ",
        ),
    ] {
        assert_eq!(mistake(&heat(field().walls(walls))), expected);
    }
    let open = Description { solid: None, ..heat(field().walls("odd")) };
    let expected =
        "there are no solid points; [grid] solid = \"x^2 + y^2 < 9\" says which points are solid";
    assert_eq!(mistake(&open), expected);
    for (solid, expected) in [
        (
            "x >= 0 or random(1) < 2",
            "all points are solid, so that no equation is left; the condition holds inside of obstacles",
        ),
        (
            "x < t",
            "solid points do not move, but this condition holds the time; a condition of coordinates says which points are solid",
        ),
        (
            "x",
            "a condition is expected here, this is a number; compare it with something, as in x > 0.5",
        ),
        (
            "u > 1",
            "'u' cannot stand in a value of a coefficient; it may hold coordinates, t, constants and random(seed)",
        ),
    ] {
        assert_eq!(mistake(&heat(field()).solid(solid)), expected);
    }
    let small = Grid::new(&[4, 5], vec![0.0; 20]).unwrap();
    let expected = "this holds 4x5 values, the grid has 20x24 points; ";
    assert_eq!(mistake(&heat(field()).solid(small)), expected);
    let wide = "this reads 2 points away; beside solid points equations may read one: write a stencil of a stencil \
                as a work field, take stencils of radius 1, or walls = \"value=E\"; ";
    let nested = || FieldText::new("u", START, "u + nine(nine(u))");
    assert_eq!(mistake(&heat(nested())), wide);
    let fourth = heat(FieldText::new("u", START, "u + far(u)")).derivative("far", "laplace", 4);
    assert_eq!(mistake(&fourth), wide);
    assert!(System::new(&heat(nested().walls("value=0")), Path::new("")).is_ok());
    let named = heat(field()).coefficient("solid", 1.0);
    assert_eq!(mistake(&named), "'solid' is the mask of solid points already; ");
}
