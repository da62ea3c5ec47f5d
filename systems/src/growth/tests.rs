// SPDX-License-Identifier: MIT OR Apache-2.0
use std::path::Path;

use crate::{Change, Description, FieldText, SpongeText, System, SystemSimulation, Text, examples};
use compute::engine::EngineRequest;
use problem::Dtype;
use problem::check::wave_growth::WaveGrowth;
use problem::observe::NoObserver;

const DOT: &str = "if(x == 4, if(y == 4, 1, 0), 0)";

fn plate(dtype: Dtype, next: &str) -> Description {
    Description::new(&[16, 16])
        .dtype(dtype)
        .derivative("laplace", "laplace", 2)
        .derivative("dxp", "x+", 2)
        .derivative("dxm", "x-", 2)
        .derivative("dx", "x", 2)
        .coefficient("k", "if(x < 8, 0.1, 0.3)")
        .field(FieldText::new("u", DOT, next).boundary("periodic"))
}

fn begun(description: &Description) -> SystemSimulation {
    let system = System::new(description, Path::new("")).unwrap();
    SystemSimulation::on(&system, EngineRequest::Cpu).unwrap()
}

fn predict(description: &Description, steps: usize) -> Option<WaveGrowth> {
    begun(description).predict_growth(steps)
}

/// What is foreseen is what comes: the largest value after many steps, over that after some, is the factor's power.
#[test]
fn the_factor_is_that_of_the_steps() {
    let wave = 2.0 * 2.0 * 0.81 * 2.0 - 2.0;
    let wave = (wave + f64::sqrt(wave * wave - 4.0)) / 2.0;
    for (next, factor, steps) in [
        ("u + 0.3*laplace(u)", 1.4, 100),
        ("2*u - prev(u) + 0.81*laplace(u)", wave, 45),
        ("u + k*laplace(u)", 1.4, 100),
        ("u + if(n < 3, 0, 0.3)*laplace(u)", 1.4, 100),
        ("u - 0.5*dx(u)", f64::sqrt(1.25), 200),
        ("u + (0.1 + 0.2*x/15)*laplace(u)", 1.4, 100),
    ] {
        let growth = predict(&plate(Dtype::F64, next), steps).expect(next);
        assert!((growth.factor / factor - 1.0).abs() < 1e-4, "{next}: {growth:?}");
        assert!(growth.short && growth.overflow.is_none(), "{next}: {growth:?}");
        assert!((growth.digits - steps as f64 * factor.log10()).abs() < 0.05, "{next}: {growth:?}");
    }
    for next in ["u + 0.3*laplace(u)", "2*u - prev(u) + 0.81*laplace(u)", "u - 0.5*dx(u)"] {
        let mut simulation = begun(&plate(Dtype::F64, next));
        let growth = simulation.predict_growth(400).unwrap();
        let mut largest = |last| {
            simulation.run(last, &[], &mut NoObserver).unwrap();
            simulation.check_finite().unwrap();
            simulation.report().values.unwrap()[0].after
        };
        let [some, many] = [200, 400].map(&mut largest);
        let rate = (many / some).ln() / 200.0;
        assert!((rate / growth.factor.ln() - 1.0).abs() < 0.02, "{next}: {rate} {growth:?}");
    }
}

#[test]
fn the_step_that_passes_the_type_is_foreseen() {
    for (dtype, step) in [(Dtype::F16, 33), (Dtype::F32, 264), (Dtype::Bf16, 264)] {
        let description = plate(dtype, "u + 0.3*laplace(u)");
        let overflow = |steps| predict(&description, steps).and_then(|growth| growth.overflow);
        let near = overflow(1000).expect("it overflows").step;
        assert!(near.abs_diff(step) <= 1, "{dtype}: {near}");
        assert_eq!(overflow(step - 2), None, "{dtype}");
    }
    // Growth of the equations' own is told only if it leaves the type.
    let grows = plate(Dtype::F32, "1.1*u");
    assert_eq!(predict(&grows, 500), None);
    let growth = predict(&grows, 1000).unwrap();
    assert!(!growth.short && growth.lengths == [None; 3], "{growth:?}");
    assert_eq!(growth.overflow.unwrap().step, 931);
}

#[test]
fn what_is_stable_is_not_feared() {
    let steps = 100_000;
    for next in [
        "u",
        "0*u",
        "u + 0.25*laplace(u)",
        "u + 0.8*k*laplace(u)",
        "2*u - prev(u) + 0.49*laplace(u)",
        "2*u - prev(u) + k*laplace(u)",
        "2*u - prev(u) + dxm(k*dxp(u))",
        "u + k*dxp(dxm(u)) + dx(k)*dx(u)",
        "u + 0.1",
        "u + sin(t)",
        "1.00001*u",
        // What is not linear is only watched.
        "u + 0.3*laplace(u) - 0*u^2",
    ] {
        for dtype in [Dtype::F16, Dtype::F32, Dtype::F64] {
            let description = plate(dtype, next);
            assert_eq!(predict(&description, steps), None, "{next} {dtype}");
        }
    }
    let mut damped = plate(Dtype::F32, "2*u - prev(u) + 0.49*laplace(u)");
    damped.sponge = Some(SpongeText { width: 5, strength: 0.1, sides: vec![], fields: vec![] });
    assert_eq!(predict(&damped, steps), None);
    let next = Text::new("next", "2*u - prev(u) + 0.81*laplace(u)");
    damped.fields[0].change = Change::Next(next);
    assert!(predict(&damped, steps).is_some());
    // 0 stays 0, but for a source.
    let mut still = plate(Dtype::F64, "u + 0.3*laplace(u)");
    still.fields[0].start = 0.0.into();
    assert_eq!(predict(&still, steps), None);
    assert!(predict(&still.source("u", &[1, 1], "ricker(0.1, t - 10)"), steps).is_some());
}

/// Points that keep their values have no equation.
#[test]
fn weights_of_points_that_are_kept_do_not_count() {
    let mut kept = plate(Dtype::F64, "u + k*laplace(u)");
    assert_eq!(predict(&kept, 100).unwrap().at, Some(vec![0, 8]));
    kept.fields[0].keep = Some(Text::new("keep", "x >= 8"));
    assert_eq!(predict(&kept, 100), None);
}

/// p and v on a staggered grid, beyond a Courant number of 1/√2.
#[test]
fn fields_that_depend_on_each_other_are_taken_together() {
    let acoustic = |courant: f64| {
        Description::new(&[12, 12])
            .dtype(Dtype::F64)
            .constant("c", courant)
            .derivative("dxp", "x+", 2)
            .derivative("dxm", "x-", 2)
            .derivative("dyp", "y+", 2)
            .derivative("dym", "y-", 2)
            .field(FieldText::new("p", DOT, "p + c*(dxm(vx + c*dxp(p)) + dym(vy + c*dyp(p)))"))
            .field(FieldText::new("vx", 0.0, "vx + c*dxp(p)"))
            .field(FieldText::new("vy", 0.0, "vy + c*dyp(p)"))
    };
    assert_eq!(predict(&acoustic(0.7), 10_000), None);
    let growth = predict(&acoustic(0.75), 100).unwrap();
    let half = 4.0 * 0.75 * 0.75 - 1.0;
    let factor = half + f64::sqrt(half * half - 1.0);
    assert!((growth.factor / factor - 1.0).abs() < 1e-4, "{growth:?} {factor}");
}

/// Equations that are not linear are watched: neighbours of opposite signs are told, smooth growth is not.
#[test]
fn what_is_not_linear_is_watched() {
    for (next, alternates) in
        [("u + 0.3*laplace(u) - 0*u^2", true), ("1.1*u + 0.1*laplace(u) - 0*u^2", false)]
    {
        let mut simulation = begun(&plate(Dtype::F64, next));
        assert_eq!(simulation.predict_growth(200), None);
        assert_eq!(simulation.report().values, None);
        simulation.run(200, &[], &mut NoObserver).unwrap();
        assert_eq!(simulation.report().values, None);
        simulation.check_finite().unwrap();
        let report = simulation.report();
        let values = &report.values.as_ref().unwrap()[0];
        assert_eq!((values.before, values.alternates), (1.0, alternates), "{values:?}");
        assert!(values.after > 1e3, "{values:?}");
        let line = format!("values     |u| was at most 1.000e0, is {:.3e} (", values.after);
        assert!(report.to_string().contains(&line), "{report}");
    }
}

/// Of each built-in system nothing is feared.
#[test]
fn built_in_systems_are_stable() {
    for example in examples::EXAMPLES {
        let mut description = Description::parse(example.name, example.text).unwrap();
        let steps = description.steps;
        description.dtype = Dtype::F32;
        let folder = Path::new("");
        let Ok(system) = System::new(&description, folder) else { panic!("{}", example.name) };
        let mut simulation = SystemSimulation::on(&system, EngineRequest::Cpu).unwrap();
        assert_eq!(simulation.predict_growth(steps), None, "{}", example.name);
    }
}
