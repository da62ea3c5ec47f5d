// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of systems: which fields they have, and that they give the values of the whole.

use std::path::Path;

use super::*;
use crate::{
    AtText, ComputeOptions, Description, FieldText, Interpolation, ReceiverText, RecordText,
    SystemSimulation, Units, families,
};
use compute::engine::EngineRequest;
use problem::Dtype;
use problem::check::verify::ComparisonOutcome;

/// Two stencils of different reach, and two fields that react with each other, read a coefficient and are recorded.
fn four(dtype: Dtype) -> System {
    let field = |name: &str, start: &str, next: &str| FieldText::new(name, start, next);
    let description = Description::new(&[23, 37])
        .dtype(dtype)
        .time_step("0.125")
        .derivative("laplace", "laplace", 2)
        .coefficient("c", "0.25 + x/100")
        .field(field("red", "random(1)", "red + dt*laplace(red)").boundary("periodic"))
        .field(field("u", "1 + 0.1*random(2)", "u + dt*(c*laplace(u) - u*v)"))
        .field(field("green", "random(3)", "green - dt/4*laplace(laplace(green))"))
        .field(field("v", "0.5", "v + dt*u*v").boundary("edge"));
    let description = Description {
        receivers: vec![receiver("v", ["3", "4"]), receiver("u", ["9", "20"])],
        ..description
    };
    System::new(&description, Path::new("")).unwrap()
}

fn receiver(field: &str, at: [&str; 2]) -> ReceiverText {
    let text = |text: &str| Text::new("a receiver", text);
    let (units, interpolation) = (Units::default(), Interpolation::default());
    let (record, at) = (RecordText::Field(text(field)), AtText::One(at.map(text).to_vec()));
    ReceiverText { record, at, units, interpolation }
}

#[test]
fn fields_that_never_meet_are_parts() {
    let system = four(Dtype::F64);
    let parts = parts(&system);
    let fields: Vec<&[usize]> = parts.iter().map(|part| part.fields.as_slice()).collect();
    assert_eq!(fields, [&[0][..], &[1, 3], &[2]]);
    let coefficients: Vec<usize> = parts.iter().map(|part| part.coefficients.len()).collect();
    assert_eq!(coefficients, [0, 1, 0]);
    assert_eq!(parts[1].system.receivers.iter().map(|it| it.field).collect::<Vec<_>>(), [1, 0]);
    let reads = arrays(parts[1].system.fields.iter().map(|field| &field.next));
    assert!(reads.contains(&Array::Field { field: 1, level: 0 }), "{reads:?}");
    assert!(crate::sum::job(&parts[0].system).is_ok() && crate::sum::job(&parts[2].system).is_ok());
}

#[test]
fn parts_give_the_values_and_the_records_of_the_whole() {
    for dtype in [Dtype::F64, Dtype::F32] {
        let system = four(dtype);
        let of = |family: &str| {
            let family = Some(families::find(family).unwrap().name());
            let asked =
                ComputeOptions { engine: EngineRequest::Cpu, family, ..ComputeOptions::default() };
            SystemSimulation::asked(&system, &asked).unwrap()
        };
        let (mut apart, mut whole) = (of("apart-on-cores"), of("rows"));
        // Each step is compared with the equations.
        apart.compare_all(true);
        for simulation in [&mut apart, &mut whole] {
            simulation.step(9).unwrap();
        }
        let most = if dtype == Dtype::F64 {
            1e-14
        } else if dtype == Dtype::F32 {
            1e-6
        } else {
            4e-3
        };
        for field in ["red", "u", "green", "v"] {
            let (a, b) = (apart.field(field).unwrap(), whole.field(field).unwrap());
            let off = (0..a.shape.points()).map(|at| (a.get(at) - b.get(at)).abs());
            let off = off.fold(0.0, f64::max);
            assert!(off <= most, "{dtype} {field}: {off:e}");
        }
        assert_eq!(apart.records(), whole.records());
        let report = apart.report();
        assert_eq!(report.verification.outcome, Some(ComparisonOutcome::Verified), "{dtype}");
    }
}

/// Some kernels hold f32 between the steps of a launch, so that no single step of f16 can be compared.
#[test]
fn types_of_16_bits_are_not_taken_apart() {
    let family = Some("apart-on-cores");
    let asked = ComputeOptions { engine: EngineRequest::Cpu, family, ..ComputeOptions::default() };
    for dtype in [Dtype::F16, Dtype::Bf16] {
        let refused = SystemSimulation::asked(&four(dtype), &asked).map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains("none of its parts is a stencil"), "{refused}");
    }
}

#[test]
fn what_has_no_stencil_apart_is_no_way() {
    let system = {
        let description = Description::new(&[9])
            .field(FieldText::new("u", "x", "u*u"))
            .field(FieldText::new("v", "x", "v + 0.5*v*v"));
        System::new(&description, Path::new("")).unwrap()
    };
    let family = Some("apart-on-cores");
    let asked = ComputeOptions { engine: EngineRequest::Cpu, family, ..ComputeOptions::default() };
    let refused = SystemSimulation::asked(&system, &asked).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("none of its parts is a stencil"), "{refused}");
}

/// Levels, sources and points that keep their values stay with their fields.
#[test]
fn random_systems_beside_a_stencil_give_the_values_of_both() {
    use crate::tests::draw;
    let (mut taken, cases) = (0, 60);
    for seed in 0..cases {
        let mut description = draw::without_solid(draw::system(seed));
        let title = description.title.clone();
        description =
            description.field(FieldText::new("alone", "0.5 + 0.25*random(5)", "0.5*alone"));
        let Ok(system) = System::new(&description, Path::new("")) else { continue };
        let family = Some("apart-on-cores");
        let asked =
            ComputeOptions { engine: EngineRequest::Cpu, family, ..ComputeOptions::default() };
        let Ok(mut apart) = SystemSimulation::asked(&system, &asked) else { continue };
        let mut whole = SystemSimulation::new(&system).unwrap();
        apart.compare_all(true);
        let steps = 1 + seed as usize % 4;
        let outcome = (apart.step(steps), whole.step(steps));
        let (Ok(()), Ok(())) = outcome else {
            assert!(outcome.0.is_err() && outcome.1.is_err(), "seed {seed} {title}: {outcome:?}");
            continue;
        };
        taken += 1;
        for field in system.fields().filter(|name| *name != "alone") {
            let same = apart.field(field).ok() == whole.field(field).ok();
            assert!(same, "seed {seed}, {field}: {description:#?}");
        }
        assert_eq!(apart.records(), whole.records(), "seed {seed}");
    }
    assert!(taken > cases / 4, "{taken} of {cases} were taken");
}
