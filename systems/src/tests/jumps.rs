// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems that jump: against the same steps one after the other, against waves of known dispersion, and what is
//! refused.

mod draw;
mod on_gpu;

use std::f64::consts::PI;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::{ComputeOptions, Description, FieldText, System, SystemSimulation};
use compute::engine::EngineRequest;
use problem::check::verify::ComparisonOutcome;
use problem::observe::NoObserver;
use problem::{Depth, Dtype, Error};

/// Cases, unless `JUMP_CASES` says how many.
const CASES: u64 = 120;

/// The seeds of as many cases as `JUMP_CASES` says, or so many, from `JUMP_FIRST` on.
fn seeds(cases: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let first = number("JUMP_FIRST").unwrap_or(0);
    first..first + number("JUMP_CASES").unwrap_or(cases)
}

fn checked(description: &Description) -> System {
    System::new(description, Path::new("")).unwrap()
}

fn on(system: &System, engine: EngineRequest) -> SystemSimulation {
    SystemSimulation::on(system, engine).unwrap()
}

fn values(simulation: &mut SystemSimulation, field: &str) -> Vec<f64> {
    let grid = simulation.field(field).unwrap();
    (0..grid.shape.points()).map(|index| grid.get(index)).collect()
}

/// The largest difference of all fields, and the largest value.
fn difference(a: &mut SystemSimulation, b: &mut SystemSimulation) -> (f64, f64) {
    let names: Vec<String> = a.fields().map(str::to_owned).collect();
    let (mut most, mut largest) = (0.0f64, 0.0f64);
    for name in names {
        for (a, b) in values(a, &name).into_iter().zip(values(b, &name)) {
            most = most.max((a - b).abs());
            largest = largest.max(b.abs());
        }
    }
    (most, largest)
}

/// Any system that is diagonal, stable or not, for some steps.
#[test]
fn jumps_are_steps() {
    let of_case = |seed: u64| {
        let drawn = draw::system(seed);
        let system = checked(&drawn.description);
        let jumping = SystemSimulation::on(&system, EngineRequest::Fft);
        let mut jumping = jumping
            .unwrap_or_else(|error| panic!("seed {seed}: {error}: {:#?}", drawn.description));
        let mut stepping = on(&system, EngineRequest::Cpu);
        for steps in [1, drawn.steps, drawn.steps + 1] {
            let taken = jumping.step(steps);
            taken.unwrap_or_else(|error| panic!("seed {seed}: {error}: {:#?}", drawn.description));
            stepping.step(steps).unwrap();
            let (error, _) = difference(&mut jumping, &mut stepping);
            let allowed = drawn.allowed(jumping.steps());
            assert!(
                error <= allowed,
                "seed {seed}, after {} steps: {error:e} > {allowed:e}: {:#?}",
                jumping.steps(),
                drawn.description
            );
        }
        // What a run compares.
        let mut compared = on(&system, EngineRequest::Fft);
        let last = drawn.steps + 3;
        compared.run(last, &[0, last / 2, last - 1], &mut NoObserver).unwrap();
        let report = compared.report();
        let is_right = report.verified || has_faded(&mut compared, drawn.allowed(last));
        assert!(is_right, "seed {seed}: {report}");
    };
    seeds(CASES).into_par_iter().for_each(of_case);
}

/// Whether a field is so small that rounding leaves none of its digits, and the report says that rather than that it is wrong.
fn has_faded(simulation: &mut SystemSimulation, allowed: f64) -> bool {
    let names: Vec<String> = simulation.fields().map(str::to_owned).collect();
    let largest = |simulation: &mut SystemSimulation, name: &str| {
        values(simulation, name).into_iter().fold(0.0f64, |most, value| most.max(value.abs()))
    };
    let is_small = names.iter().any(|name| largest(simulation, name) <= 100.0 * allowed);
    is_small && simulation.report().verification.outcome == Some(ComparisonOutcome::DigitsLost)
}

/// Of a wave equation each step's rounding is carried on: by `T^1.5` roundings, as they fall either way.
fn agree_after(description: &Description, steps: usize) {
    let system = checked(description);
    let mut jumping = on(&system, EngineRequest::Fft);
    jumping.run(steps, &[0, steps / 2, steps - 1], &mut NoObserver).unwrap();
    let report = jumping.report();
    assert!(report.verified && report.engine == "fft", "{report}");
    let mut stepping = on(&system, EngineRequest::Cpu);
    stepping.step(steps).unwrap();
    let (error, largest) = difference(&mut jumping, &mut stepping);
    let allowed = 20.0 * f64::EPSILON * (steps as f64).powf(1.5) * largest;
    assert!(error <= allowed && largest > 1e-3, "{error:e} > {allowed:e}: {:?}", report.title);
}

fn described(title: &str, size: &[usize]) -> Description {
    Description { title: title.into(), ..Description::new(size) }.dtype(Dtype::F64)
}

const BUMP: &str = "exp(-0.1*((x - 4)^2))";
const HILL: &str = "exp(-0.1*((x - 4)^2 + (y - 5)^2))";

#[test]
fn waves_agree_after_a_hundred_thousand_steps() {
    for (boundary, order) in
        [("periodic", 4), ("reflect", 6), ("zero", 2), ("y:reflect,x-:zero,x+:reflect", 2)]
    {
        let wave = described(boundary, &[7, 20]).derivative("laplace", "laplace", order);
        let next = "2*u - prev(u) + 0.2*laplace(u)";
        let wave = wave.field(FieldText::new("u", BUMP, next).boundary(boundary));
        agree_after(&wave, 100_000);
    }
    // Damped, towards what a steady source and the sides make of it.
    let next = "1.999*u - 0.999*prev(u) + 0.2*laplace(u) + 1e-5";
    let damped = described("damped", &[31]).derivative("laplace", "laplace", 2);
    let damped =
        damped.field(FieldText::new("u", BUMP, next).boundary("x-:constant=1,x+:constant=-0.5"));
    agree_after(&damped.source("u", &[9], "0.001"), 100_000);
}

#[test]
fn coupled_fields_agree_after_many_steps() {
    // Two substances that diffuse and become each other.
    let diffusion = described("diffusion", &[12, 17]).derivative("laplace", "laplace", 2);
    let diffusion = diffusion
        .field(
            FieldText::new("a", BUMP, "a + 0.1*laplace(a) - 0.01*a + 0.02*b").boundary("reflect"),
        )
        .field(
            FieldText::new("b", "0.1", "b + 0.2*laplace(b) + 0.01*a - 0.02*b").boundary("reflect"),
        );
    agree_after(&diffusion, 20_000);
    // Shallow water, linearised, on a staggered grid: the velocities first, then the height with them.
    let water = described("shallow water", &[15, 16])
        .derivative("dxp", "x+", 2)
        .derivative("dxm", "x-", 2)
        .derivative("dyp", "y+", 2)
        .derivative("dym", "y-", 2)
        .constant("k", 0.4)
        .term("next_u", "u - k*dxp(h0)")
        .term("next_v", "v - k*dyp(h0)")
        .field(
            // In both directions: of a velocity that stays 0, transforms leave nothing but rounding.
            FieldText::new("h0", HILL, "h0 - k*dxm(next_u) - k*dym(next_v)").boundary("periodic"),
        )
        .field(FieldText::new("u", "0", "next_u").boundary("periodic"))
        .field(FieldText::new("v", "0", "next_v").boundary("periodic"));
    agree_after(&water, 20_000);
    // A wave as two fields, of which one is read at the point itself only: what lies around that one does not matter.
    let pair = described("pair", &[40]).derivative("laplace", "xx", 4);
    let pair = pair
        .field(FieldText::new("u", BUMP, "u + v + 0.2*laplace(u)").boundary("reflect"))
        .field(FieldText::new("v", "0", "v + 0.2*laplace(u)"));
    agree_after(&pair, 20_000);
}

/// A dot that spreads has values between 0 and 1 at all times: what transforms leave beyond them is cut where values are
/// read. Of a wave nothing of that kind is known; the report says how large the noise is.
#[test]
fn values_of_means_stay_in_their_range_and_noise_is_told() {
    let dot = "if(x == 1000, 1, 0)";
    let lattice = described("heat", &[2001]).derivative("laplace", "xx", 2);
    let heat = lattice.clone().field(FieldText::new("u", dot, "u + 0.25*laplace(u)"));
    let mut jumping = on(&checked(&heat), EngineRequest::Fft);
    jumping.step(2000).unwrap();
    jumping.step(7).unwrap();
    let noise = jumping.report().noise.expect("jumps");
    assert!(noise > 0.0 && noise < 1e-12, "{noise:e}");
    let all = values(&mut jumping, "u");
    let beyond: Vec<&f64> = all.iter().filter(|value| !(0.0..=1.0).contains(*value)).collect();
    assert!(beyond.is_empty(), "{beyond:?}");
    // A step makes 0.9 times the mean.
    let cooled = FieldText::new("u", dot, "0.9*(u + 0.25*laplace(u))");
    let mut cooled = on(&checked(&lattice.clone().field(cooled)), EngineRequest::Fft);
    cooled.step(40).unwrap();
    let largest = values(&mut cooled, "u").into_iter().fold(0.0, f64::max);
    assert!(largest <= 0.9f64.powi(40) && largest > 0.05 * 0.9f64.powi(40), "{largest:e}");
    // Overshoots: what is around the dot is pushed below 0, which is right.
    let sharpened = FieldText::new("u", dot, "u - 0.1*laplace(u)");
    let mut sharpened = on(&checked(&lattice.field(sharpened)), EngineRequest::Fft);
    sharpened.step(2).unwrap();
    assert!(values(&mut sharpened, "u").into_iter().fold(0.0, f64::min) < -0.1);
}

/// `cos(kx − ωt)`, where ω is that of the discrete equation: sin(ω dt/2) = c dt/h sin(kh/2).
#[test]
fn plane_waves_have_the_dispersion_of_their_equation() {
    let (points, courant) = (1000, 0.5);
    for (waves, steps) in [(1, 100_000), (37, 100_000), (37, 1_000_000), (400, 1_000_000)] {
        let k = 2.0 * PI * f64::from(waves) / f64::from(points);
        let turn = 2.0 * (courant * (0.5 * k).sin()).asin();
        let plane = described("a plane wave", &[points as usize])
            .constant("k", k)
            .constant("w", turn)
            .constant("c", courant)
            .derivative("laplace", "xx", 2);
        let next = "2*p - prev(p) + c^2*laplace(p)";
        let plane = plane.field(FieldText::new("p", "cos(k*x - w*t)", next).boundary("periodic"));
        let mut simulation = on(&checked(&plane), EngineRequest::Fft);
        simulation.step(steps).unwrap();
        // The angle is known to a rounding in each step, and so is the speed that the start has.
        let allowed = 4.0 * f64::EPSILON * steps as f64 * turn.max(1.0 / points as f64) / turn;
        for (x, value) in values(&mut simulation, "p").into_iter().enumerate() {
            let exact = (k * x as f64 - turn * steps as f64).cos();
            let error = (value - exact).abs();
            assert!(
                error < allowed + 1e-11,
                "{waves} waves, {steps} steps, {x}: {error:e} > {allowed:e}"
            );
        }
    }
}

/// Rounded to the element type only where they are looked at.
#[test]
fn fields_are_kept_in_f64() {
    let of = |dtype| {
        let wave = described("a wave", &[64]).dtype(dtype).derivative("laplace", "xx", 2);
        let wave = wave.field(
            FieldText::new("u", "floor(8*sin(x))/8", "2*u - prev(u) + 0.25*laplace(u)")
                .boundary("periodic"),
        );
        let mut simulation = on(&checked(&wave), EngineRequest::Fft);
        simulation.run(1000, &[0, 500, 999], &mut NoObserver).unwrap();
        values(&mut simulation, "u")
    };
    let (wide, narrow) = (of(Dtype::F64), of(Dtype::F16));
    let rounded: Vec<f64> = wide.iter().map(|value| Dtype::F16.round(*value)).collect();
    assert_eq!(narrow, rounded);
}

fn refused(description: &Description) -> String {
    match SystemSimulation::on(&checked(description), EngineRequest::Fft) {
        Err(Error::Unsupported { engine: "fft", reason }) => reason,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is taken"),
    }
}

#[test]
fn what_is_not_diagonal_is_refused_by_its_name() {
    let of = |next: &str, boundary: &str| {
        let start = described("", &[8, 9])
            .derivative("laplace", "laplace", 2)
            .derivative("wide", "laplace", 4)
            .derivative("dx", "x+", 2)
            .coefficient("c", "1 + x")
            .coefficient("one", 1.0);
        start
            .field(FieldText::new("u", "x", next).boundary(boundary))
            .field(FieldText::new("v", "0", "v + 0.1*laplace(v)").boundary("reflect"))
    };
    for (next, boundary, reason) in [
        ("u + u*v^2", "periodic", "in the equation of 'u' this is not linear: v^2"),
        (
            "u - (u + 1)*prev(u)",
            "zero",
            "in the equation of 'u' this is not linear: (u + 1)*prev(u)",
        ),
        ("0.1*sin(prev(u)) + v", "zero", "in the equation of 'u' this is not linear: sin(prev(u))"),
        ("u/(1 + v)", "zero", "in the equation of 'u' this is not linear: u/(1 + v)"),
        ("u + c*laplace(u)", "periodic", "in the equation of 'u' this varies in space: c"),
        ("u + y", "periodic", "in the equation of 'u' this varies in space: y"),
        (
            "u + 0.5*cos(2*t)",
            "periodic",
            "in the equation of 'u' this changes with time: 0.5*cos(2*t)",
        ),
        ("if(u > 0, u, 0)", "zero", "in the equation of 'u' this is not linear: 0 < u"),
        (
            "u + wide(u)",
            "y:periodic,x:zero",
            "'u' is read beyond x-, where transforms cannot imitate zero: weights must be symmetric, and beside a \
             constant or an edge read one point far",
        ),
        (
            "u + dx(u)",
            "reflect",
            "'u' is read beyond x+, where transforms cannot imitate reflect: weights must be symmetric, and beside a \
             constant or an edge read one point far",
        ),
        (
            "u + laplace(u) + v",
            "y:reflect,x:periodic",
            "'u' and 'v' depend on each other and have different boundaries at x-",
        ),
    ] {
        assert_eq!(refused(&of(next, boundary)), reason, "{next}");
    }
    // A coefficient with one value everywhere is a number, and fields that do not depend on each other have toruses of
    // their own.
    let mut taken = on(&checked(&of("u + 0.1*one*laplace(u)", "zero")), EngineRequest::Fft);
    taken.run(9, &[0, 4, 8], &mut NoObserver).unwrap();
    assert!(taken.report().verified);

    let heat = of("u + 0.1*laplace(u)", "periodic");
    let keep = |mut description: Description| {
        description.fields[0] = description.fields[0].clone().keep("x < 2");
        description
    };
    assert_eq!(
        refused(&keep(heat.clone())),
        "'u' keeps its values at some points, so not all points have one equation"
    );
    assert_eq!(
        refused(&heat.clone().sponge(3, 0.1)),
        "in the equation of 'u' this varies in space: sponge"
    );
    assert_eq!(
        refused(&heat.clone().source("u", &[3, 4], "0.1*sin(3*t)")),
        "the source of 'u' changes with time: 0.1*sin(3*t)"
    );
    assert_eq!(
        refused(&heat.receiver("u", &[3, 4])),
        "receivers record each step, and a jump skips steps"
    );
}

#[test]
fn an_unstable_system_is_refused_when_no_digit_is_left() {
    let wave = described("", &[64]).derivative("laplace", "xx", 2);
    let next = "2*u - prev(u) + 1.1*laplace(u)";
    let wave = wave.field(FieldText::new("u", "cos(pi*x/16)", next).boundary("periodic"));
    let mut simulation = on(&checked(&wave), EngineRequest::Fft);
    simulation.step(10).unwrap();
    let error = simulation.step(10_000).unwrap_err().to_string();
    assert!(error.contains("it is unstable: in 10000 steps a wave of 'u' grows"), "{error}");
}

/// `auto` jumps for many steps that nobody looks at, if it is the equation for it.
#[test]
fn auto_takes_jumps_where_they_are_faster() {
    let wave = |next: &str| {
        let wave = described("", &[200, 200]).derivative("laplace", "laplace", 2);
        checked(&wave.field(FieldText::new("u", BUMP, next).boundary("periodic")))
    };
    let linear = wave("2*u - prev(u) + 0.2*laplace(u)");
    let engine = |system: &System, steps: usize| {
        let simulation =
            SystemSimulation::asked(system, &ComputeOptions { steps, ..ComputeOptions::default() })
                .unwrap();
        simulation.report().engine
    };
    assert_eq!(engine(&linear, 1_000_000), "fft");
    assert_ne!(engine(&linear, 1), "fft");
    assert_ne!(engine(&wave("2*u - prev(u) + 0.2*laplace(u) - 0.1*u^3"), 1_000_000), "fft");
    // It would overflow, and whoever steps it sees where.
    assert_ne!(engine(&wave("2*u - prev(u) + 0.9*laplace(u)"), 1_000_000), "fft");
}

/// What is measured are ten steps, more than this run has and more than jumps take of it: the run before them did not fail.
#[test]
fn values_that_grow_in_repetitions_do_not_fail_the_run() {
    let description = Description::new(&[16])
        .dtype(Dtype::F64)
        .field(FieldText::new("u", "1 + 0.1*x", "100*u").boundary("periodic"));
    let system = System::new(&description, Path::new("")).unwrap();
    let mut simulation = SystemSimulation::on(&system, EngineRequest::Fft).unwrap();
    simulation.step(1).unwrap();
    let before = simulation.report();
    simulation.measure(compute::run::Time::Auto).unwrap();
    let after = simulation.report();
    assert_eq!((after.repetitions, after.jump), (0, before.jump));
    assert_eq!((after.seconds, after.timed_steps), (before.seconds, before.timed_steps));
}

/// What is asked for is how long jumps are, at most; and whoever makes none is refused.
#[test]
fn jumps_are_no_longer_than_asked_for() {
    let heat = described("short", &[40]).derivative("lap", "laplace", 2);
    let heat = heat.field(FieldText::new("u", BUMP, "u + 0.1*lap(u)").boundary("periodic"));
    let system = System::new(&heat, Path::new("")).unwrap();
    let short = system.clone().with_jump(Depth::Steps(7));
    let [mut whole, mut parts] = [(&system, EngineRequest::Fft), (&short, EngineRequest::Auto)]
        .map(|(system, engine)| {
            let mut simulation = SystemSimulation::on(system, engine).unwrap();
            simulation.step(30).unwrap();
            simulation
        });
    let steps = [&whole, &parts].map(|simulation| simulation.report().jump.unwrap().steps);
    assert_eq!(steps, [30, 7]);
    let (error, largest) = difference(&mut parts, &mut whole);
    assert!(error <= 1e-13 * largest && largest > 1e-3, "{error:e} of {largest:e}");
    parts.checked_step().unwrap();
    let refused = SystemSimulation::on(&short, EngineRequest::Cpu).map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::Asked { engine: "cpu", .. }), "{refused}");
}
