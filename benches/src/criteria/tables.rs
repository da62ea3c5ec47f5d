// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated sections of the page, as Markdown.

use stencil::Shape;
use stencil::families::Unit;
use transform::criteria::FusedCase;
use transform::machine::{Machine, Precision};
use transform::roofline::Roof;

use super::cases::{Compared, RoleSpeeds};
use super::measurements::{Measured, Measurements, fastest};
use super::spots::{ALIKE, PRECISIONS, PredictionOutcome, RANGES, Spot, shapes, spots as spots_of};
use crate::markdown::{count, line, rule};

/// The places of the picture at which more than one unit was measured.
pub fn places<'a>(machine: &Machine, measurements: &'a Measurements) -> Vec<Spot<'a>> {
    let mut places = Vec::new();
    for range in &RANGES {
        for shape in shapes(range) {
            for precision in PRECISIONS {
                places.extend(spots_of(shape, range.steps, precision, machine, measurements));
            }
        }
    }
    places.retain(|place| place.measured.len() > 1);
    places
}

/// What the page is made of, and the machine's peaks.
pub fn source(machine: &Machine, measurements: &Measurements, name: &str) -> String {
    let tera = |peak: f64| format!("{:.1}", peak / 1e12);
    let mut text = format!(
        "Made of `{name}`: {} speeds of {} stencils. {}: {:.2} TB/s.\n\n",
        measurements.count(),
        measurements.stencils().len(),
        machine.name,
        machine.copy_bytes_per_s / 1e12
    );
    text += "| Tflop/s | CUDA cores | dense tensor cores | sparse tensor cores |\n";
    text += &rule(4);
    for precision in PRECISIONS {
        let rates = machine.rates(precision);
        let sparse = rates.sparse.map_or_else(|| "–".into(), tera);
        let cells = [types(precision).into(), tera(rates.cuda), tera(rates.dense), sparse];
        text += &line(cells.into_iter());
    }
    text
}

/// The six cases.
pub fn cases(cases: &[Compared]) -> String {
    let heads = [
        "case",
        "stencil",
        "t",
        "type",
        "beside EBISU",
        "scenario: A100",
        "H200",
        "α",
        "S·P_TC/P_CC: A100",
        "H200",
        "tensor : CUDA cores, A100 by the roofs",
        "published",
        "H200 by the roofs",
        "measured",
        "as predicted",
    ];
    let mut text = head(&heads);
    for (index, case) in cases.iter().enumerate() {
        let (there, here) = (&case.on_a100, &case.here);
        let measured = case.measured();
        let agrees = measured.map_or("–", |measured| {
            if outcome(measured) == outcome(here.speedup) { "yes" } else { "no" }
        });
        let cells = [
            (index + 1).to_string(),
            case.stencil.into(),
            case.case.steps.to_string(),
            types(case.case.precision).into(),
            case.played[1].role.name().into(),
            there.scenario.number().to_string(),
            here.scenario.number().to_string(),
            format!("{:.2}", here.alpha),
            format!("{:.2}", there.alpha_limit()),
            format!("{:.2}", here.alpha_limit()),
            format!("{:.2}", there.speedup),
            format!("{:.2}", case.published),
            format!("{:.2}", here.speedup),
            measured.map_or_else(|| NONE.into(), |ratio| format!("{ratio:.2}")),
            agrees.into(),
        ];
        text += &line(cells.into_iter());
    }
    text
}

/// Faster, as fast, or slower.
fn outcome(ratio: f64) -> i32 {
    i32::from(ratio > 1.0 / (1.0 - ALIKE)) - i32::from(ratio < 1.0 - ALIKE)
}

/// What each role asks for, and what was measured of it.
pub fn roles(cases: &[Compared]) -> String {
    let heads = [
        "case",
        "role",
        "I, flop/byte",
        "ridge",
        "bound by",
        "GStencil/s at most",
        "measured with t steps a sweep, or nearest",
        "the fastest with others",
    ];
    let mut text = head(&heads);
    for (index, case) in cases.iter().enumerate() {
        let roofs = [&case.here.cuda, &case.here.tensor];
        for (played, roof) in case.played.iter().zip(roofs) {
            let RoleSpeeds { role, there, elsewhere } = played;
            let Roof { intensity, ridge, memory_bound, .. } = roof;
            let most = roof.outputs_per_s() * case.case.steps as f64 / 1e9;
            let engine = role.unit().engine();
            let cells = [
                (index + 1).to_string(),
                format!("{} (`{engine}`)", role.name()),
                format!("{intensity:.2}"),
                format!("{ridge:.1}"),
                if *memory_bound { "memory" } else { "arithmetic" }.into(),
                count(most),
                there.map_or_else(|| NONE.into(), kernel),
                elsewhere.map_or_else(String::new, kernel),
            ];
            text += &line(cells.into_iter());
        }
    }
    text
}

/// Such as `4,321, t = 9, temporal2d_f32_box1_t9`.
fn kernel(one: &Measured) -> String {
    let name = if one.kernel.is_empty() { "direct" } else { &one.kernel };
    format!("{}, {}, `{name}`", count(one.speed), depth(one))
}

/// How many steps a sweep takes, and of what.
fn depth(one: &Measured) -> String {
    let steps = one.steps();
    if one.fuse > 1 && one.chain > 1 {
        format!("t = {steps} ({}×{})", one.fuse, one.chain)
    } else {
        format!("t = {steps}")
    }
}

/// How many predictions held where units were measured side by side, and the places where another unit was the fastest.
pub fn spots(places: &[Spot]) -> String {
    if places.is_empty() {
        return "Not measured: of no stencil and depth is there more than one unit.".into();
    }
    let count_of = |outcome| places.iter().filter(|place| place.outcome() == outcome).count();
    let mut text = format!(
        "Of {} places, the units measured to be the fastest are those predicted at {}; at {} some of those that were to \
         be alike are ahead, at {} another is.\n",
        places.len(),
        count_of(PredictionOutcome::AsPredicted),
        count_of(PredictionOutcome::OneOfThem),
        count_of(PredictionOutcome::Another),
    );
    let mut missed =
        places.iter().filter(|place| place.outcome() == PredictionOutcome::Another).peekable();
    if missed.peek().is_none() {
        return text;
    }
    let units = ["CUDA cores", "dense", "sparse"];
    let heads = ["stencil", "type", "t"].into_iter().chain(units);
    text += "\n";
    text += &head(&heads.chain(["predicted", "measured"]).collect::<Vec<&str>>());
    for place in missed {
        let FusedCase { shape, steps, precision } = place.case;
        let cells =
            [Unit::CudaCores, Unit::DenseTensorCores, Unit::SparseTensorCores].map(|unit| {
                let found = |(known, _): &&(Unit, f64)| *known == unit;
                let most = place.predicted.iter().find(found).map(|(_, speed)| count(*speed));
                let measured = place.measured.iter().find(|one| one.unit == unit);
                let measured = measured.map(|one| count(one.speed));
                match (measured, most) {
                    (Some(measured), Some(most)) => format!("{measured} ({most})"),
                    (None, Some(most)) => format!("({most})"),
                    _ => "–".into(),
                }
            });
        let names = [shape.to_string(), types(precision).to_owned(), steps.to_string()];
        let ends = [named(&place.predicted_fastest()), named(&place.measured_fastest())];
        text += &line(names.into_iter().chain(cells).chain(ends));
    }
    text
}

/// For each stencil and precision the units, the fastest first, each at the depth that suits it best.
pub fn depths(measurements: &Measurements) -> String {
    let types = PRECISIONS.map(types);
    let mut text = head(&["stencil", "grid"].into_iter().chain(types).collect::<Vec<&str>>());
    for stencil in measurements.stencils() {
        let mut extents = String::new();
        let cells = PRECISIONS.map(|precision| {
            let beside = measurements.side_by_side(stencil, precision, |_| true);
            if let Some(first) = beside.first() {
                extents = grid(first.grid);
            }
            let best = Unit::ALL
                .map(|unit| fastest(beside.iter().copied().filter(|one| one.unit == unit)));
            let mut best: Vec<&Measured> = best.into_iter().flatten().collect();
            best.sort_by(|one, other| other.speed.total_cmp(&one.speed));
            let cell = |one: &&Measured| {
                format!("{} {}, {}", name(one.unit), count(one.speed), depth(one))
            };
            best.iter().map(cell).collect::<Vec<String>>().join("; ")
        });
        text += &line([stencil.to_owned(), extents].into_iter().chain(cells));
    }
    text
}

/// In place of a speed that nobody recorded.
const NONE: &str = "not measured";

/// What the units compute in.
fn types(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "f64",
        Precision::Single => "f32, tf32",
        Precision::Half => "f16",
    }
}

/// A unit in a cell.
fn name(unit: Unit) -> &'static str {
    match unit {
        Unit::CudaCores => "CUDA cores",
        Unit::DenseTensorCores => "dense",
        Unit::SparseTensorCores => "sparse",
    }
}

fn named(units: &[Unit]) -> String {
    units.iter().map(|unit| name(*unit)).collect::<Vec<&str>>().join(", ")
}

fn grid(shape: Shape) -> String {
    shape.to_string().replace('x', "×")
}

fn head(cells: &[&str]) -> String {
    line(cells.iter().map(|cell| (*cell).to_owned())) + &rule(cells.len())
}
