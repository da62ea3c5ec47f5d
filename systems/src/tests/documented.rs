// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `docs/reference/system-files.md` says of the order in a step, and `docs/reference/json.md` of the JSON report.

use crate::{Description, FieldText, System, SystemSimulation};
use files::record::SnapshotCost;
use problem::check::wave_growth::WaveGrowth;
use problem::{Dtype, JumpReport};
use serde_json::Value;
use std::path::Path;

/// A system of two fields that stay as they are but for a sponge and sources; of `v` a point keeps its values.
fn simulation() -> SystemSimulation {
    let mut description = Description::new(&[9])
        .dtype(Dtype::F64)
        .field(FieldText::new("u", "1", "u"))
        .field(FieldText::new("v", "1", "v").keep("x < 0.5"))
        .sponge(2, 0.5);
    for field in ["u", "v"] {
        description = description.source(field, &[0], "3").receiver(field, &[0]);
    }
    SystemSimulation::new(&System::new(&description, Path::new("")).unwrap()).unwrap()
}

/// What is foreseen of values that outgrow their type.
fn grown() -> Option<WaveGrowth> {
    let description = Description::new(&[9]).field(FieldText::new("u", "1", "2*u"));
    let system = System::new(&description, Path::new("")).unwrap();
    let growth = SystemSimulation::new(&system).unwrap().predict_growth(200);
    assert!(growth.as_ref().is_some_and(|growth| growth.overflow.is_some()));
    growth
}

/// The sponge damps, then sources add, then points keep their values; receivers record the end of the step.
#[test]
fn a_step_has_an_order() {
    let mut simulation = simulation();
    simulation.step(2).unwrap();
    let factor = (-1.0f64).exp();
    let first = factor + 3.0;
    let of_u = [1.0, first, factor * first + 3.0];
    assert_eq!(simulation.records().len(), of_u.len());
    for (record, u) in simulation.records().iter().zip(of_u) {
        assert!((record[1] - u).abs() < 1e-15 * u && record[2] == 1.0, "{record:?}, not {u}");
    }
}

/// Adds the names of all fields of a JSON value, also of those in it.
fn names(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            all.push(name.clone());
            names(value, all);
        }),
        Value::Array(values) => values.iter().for_each(|value| names(value, all)),
        _ => (),
    }
}

#[test]
fn the_page_names_every_field_of_the_report() {
    let mut simulation = simulation();
    simulation.checked_step().unwrap();
    simulation.check_finite().unwrap();
    let mut report = simulation.report();
    assert!(report.values.is_some());
    report.growth = grown();
    let toruses = vec![vec![16]];
    report.jump = Some(JumpReport { steps: 7, toruses, rim: 0, growth: Some(1.0) });
    report.snapshots =
        Some(SnapshotCost { snapshots: 1, bytes: 1, seconds: 0.0, seconds_after: 0.0 });
    let mut all = Vec::new();
    names(&serde_json::to_value(&report).unwrap(), &mut all);
    assert!(all.len() > 30, "{all:?}");
    let page = include_str!("../../../docs/reference/json.md");
    let (_, section) = page.split_once("\n## The JSON report\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let says = |text: String| section.contains(&text);
    let lacks =
        |name: &&String| !says(format!("`{name}`")) && !says(format!("`verification.{name}`"));
    let missing: Vec<&String> = all.iter().filter(lacks).collect();
    assert!(missing.is_empty(), "docs/reference/json.md does not say what these are: {missing:?}");
}
