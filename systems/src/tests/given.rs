// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a system takes from files beside it, and what it records and adds by expressions.

use std::path::Path;

use crate::{ComputeOptions, Description, FieldText, System, SystemSimulation};
use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::engine::Ranks;
use problem::{Depth, Dtype, Error, Grid};

/// A wave on 12 x 16 points, and what else is said.
const WAVE: &str = "[grid]\nsize = [12, 16]\nspacing = 0.5\ndtype = \"f64\"\n[time]\ndt = 0.1\nsteps = 5\n\
                    [stencils]\nlaplace = { derivative = \"laplace\" }\ndx = { derivative = \"x\" }\n\
                    [coefficients.c]\nstart = \"1 + 0.1*x\"\n\
                    [fields.p]\nstart = \"sin(x)*cos(y)\"\nnext = \"2*p - prev(p) + (c*dt)^2*laplace(p)\"\n";

/// An array of f64 as numpy writes it.
fn array(shape: &str, values: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let start = [&b"\x93NUMPY\x01\x00"[..], &118u16.to_le_bytes(), header.as_bytes()].concat();
    start.into_iter().chain(values.iter().flat_map(|value| value.to_le_bytes())).collect()
}

/// The system of a text, beside which these files lie.
fn read(text: &str, files: &[(&str, &[u8])]) -> Result<System, Error> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let description = Description::parse("given.toml", text)?;
    System::new(&description, folder.path())
}

/// What is wrong with a text, and what to do.
fn mistake(text: &str, files: &[(&str, &[u8])]) -> String {
    match read(text, files).unwrap_err() {
        Error::System(mistake) => {
            let hint = mistake.hint.as_deref().unwrap_or_default();
            format!("line {}: {}, {hint}", mistake.line, mistake.what)
        }
        other => other.to_string(),
    }
}

/// What is recorded in some steps, and the values after them.
fn run(system: &System) -> (Vec<Vec<f64>>, Grid) {
    let mut simulation = SystemSimulation::new(system).unwrap();
    simulation.step(5).unwrap();
    (simulation.records().to_vec(), simulation.field("p").unwrap())
}

#[test]
fn places_are_rows_of_a_file() {
    let source = |at: &str| {
        format!(
            "[[sources]]\nfield = \"p\"\nadd = \"sin(3*t)\"\n{at}\n[[receivers]]\nfield = \"p\"\n{at}\n"
        )
    };
    let written = format!("{WAVE}{}{}", source("at = [3, 4]"), source("at = [7.5, 1]"));
    // Sources first, receivers then.
    let expected = run(&read(&written, &[]).unwrap());
    let text = "y, x\n3, 4\n7.5, 1\n";
    let metres = "1.5 2.0\n3.75 0.5 # between two points\n";
    for (at, file) in [
        ("at = \"all.csv\"", ("all.csv", text.as_bytes().to_vec())),
        ("at = \"all.npy\"", ("all.npy", array("(2, 2)", &[3.0, 4.0, 7.5, 1.0]))),
        ("at = \"m.csv\"\nunits = \"coordinates\"", ("m.csv", metres.as_bytes().to_vec())),
    ] {
        let system = read(&format!("{WAVE}{}", source(at)), &[(file.0, &file.1)]).unwrap();
        assert_eq!(run(&system), expected, "{at}");
        let places: Vec<&[f64]> = system.receivers().map(|(_, at)| at).collect();
        assert_eq!(places, [[3.0, 4.0], [7.5, 1.0]]);
    }
}

#[test]
fn tables_are_columns_of_a_file() {
    let source = |table: &str, call: &str| {
        format!(
            "{WAVE}[tables.w]\n{table}\n[[sources]]\nfield = \"p\"\nat = [3, 4]\nadd = \"{call}\"\n"
        )
    };
    let lists = "arguments = [0, 0.1, 0.2, 0.3]\nvalues = [0, 0.5, -0.25, 1]";
    let expected = run(&read(&source(lists, "w(t)"), &[]).unwrap());
    let two = b"t,w\n0,0\n0.1,0.5\n0.2,-0.25\n0.3,1\n";
    let columns = read(&source("file = \"w.csv\"", "w(t)"), &[("w.csv", two)]).unwrap();
    assert_eq!(run(&columns), expected);
    let one = array("(4,)", &[0.0, 0.5, -0.25, 1.0]);
    for (table, call) in [
        ("file = \"w.npy\"\nstep = 1", "w(n)"),
        ("file = \"w.npy\"\nstep = \"2*dt\"\nfirst = \"-4*dt\"", "w(2*t - 4*dt)"),
    ] {
        let system = read(&source(table, call), &[("w.npy", &one)]).unwrap();
        let (_, found) = run(&system);
        for at in 0..12 * 16 {
            assert!((found.get(at) - expected.1.get(at)).abs() < 1e-13, "{call}");
        }
    }
    for (table, file, expected) in [
        ("file = \"w.csv\"", &b"0,1\n0,2\n"[..], "w.csv: line 2: 0 does not increase"),
        ("file = \"w.csv\"", b"0,1\n1,b\n", "w.csv: line 2: 'b' is no number"),
        ("file = \"w.csv\"", b"0\n1\n", "give the step between arguments: step = \"dt\""),
        ("file = \"w.csv\"\nstep = 0", b"0\n1\n", "the step of a table's arguments is 0"),
        (
            "file = \"w.csv\"\nstep = 1",
            b"0,1\n1,2\n",
            "the file has the arguments in its first column",
        ),
        ("file = \"w.csv\"", b"0,1,2\n", "w.csv: rows of 3 numbers; a table has"),
        ("file = \"w.csv\"\nvalues = [1]", b"0,1\n", "this is no table, give arguments = [...]"),
        ("file = \"other.csv\"", b"0,1\n", "other.csv"),
    ] {
        let error = mistake(&source(table, "w(t)"), &[("w.csv", file)]);
        assert!(error.contains(expected), "{table}: {error}");
    }
}

#[test]
fn what_is_wrong_with_a_place_is_told_with_its_row() {
    for (at, file, expected) in [
        (
            "at = \"a.csv\"",
            "3,4\n3,16\n",
            "a.csv: line 2: 16 is outside the points 0 to 15 of this axis",
        ),
        (
            "at = \"a.csv\"\nunits = \"coordinates\"",
            "3,7.6\n",
            "a.csv: line 1: 7.6 is outside the coordinates 0 to 7.5",
        ),
        ("at = \"a.csv\"", "3,4,5\n", "a.csv: rows of 3 numbers, the grid has 2 axes"),
        ("at = \"a.csv\"", "3,4\n5\n", "a.csv: line 2: 1 numbers, the first row has 2"),
        ("at = 3", "", "this is no place, at = [3, 4] has a number for each axis"),
        ("at = \"b.csv\"", "", "b.csv"),
        ("at = [3, 4]\nunits = \"metres\"", "", "'metres' is none of points, coordinates"),
    ] {
        let text = format!("{WAVE}[[receivers]]\nfield = \"p\"\n{at}\n");
        let error = mistake(&text, &[("a.csv", file.as_bytes())]);
        assert!(error.contains(expected), "{at}: {error}");
    }
}

#[test]
fn expressions_are_recorded() {
    let receivers = "[[receivers]]\nvalue = \"c*p^2 + dx(p) + t*n + ix*y\"\nat = [3, 15]\n\
                     [[receivers]]\nvalue = \"sqrt(abs(p))\"\nat = [7.25, 1]\n\
                     [[receivers]]\nfield = \"p\"\nat = [3, 15]\n";
    let system = read(&format!("{WAVE}{receivers}"), &[]).unwrap();
    let names: Vec<&str> = system.receivers().map(|(name, _)| name).collect();
    assert_eq!(names, ["c*p^2 + dx(p) + t*n + ix*y", "sqrt(abs(p))", "p"]);
    let mut alone = SystemSimulation::new(&system).unwrap();
    for step in 0..=5usize {
        let p = alone.field("p").unwrap();
        let at = |y: usize, x: usize| p.get(y * 16 + x);
        let time = step as f64 * 0.1;
        // Beyond the end of x there are zeros.
        let slope = (0.0 - at(3, 14)) / (2.0 * 0.5);
        let first = (1.0 + 0.1 * 7.5) * at(3, 15).powi(2) + slope + time * step as f64 + 15.0 * 1.5;
        let second = 0.75 * at(7, 1).abs().sqrt() + 0.25 * at(8, 1).abs().sqrt();
        let row = alone.records().last().unwrap();
        for (found, expected) in row.iter().zip([time, first, second, at(3, 15)]) {
            assert!((found - expected).abs() < 1e-12, "step {step}: {found}, {expected}");
        }
        if step < 5 {
            alone.step(1).unwrap();
        }
    }
    let sharing = Sharing { split: Some([1, 2, 2]), ..Sharing::among(Ranks::Threads(4)) };
    let ranks = ComputeOptions {
        engine: EngineRequest::Cpu,
        sharing: Some(sharing),
        ..ComputeOptions::default()
    };
    let chained = system.clone().with_chain(Depth::Steps(2));
    let emulated = ComputeOptions { engine: EngineRequest::Emulate, ..ComputeOptions::default() };
    for (system, asked) in [(&system, ranks), (&chained, emulated)] {
        let mut other = SystemSimulation::asked(system, &asked).unwrap();
        other.step(5).unwrap();
        let both = other.records().iter().flatten().zip(alone.records().iter().flatten());
        for (found, expected) in both {
            assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
        }
    }
    for (value, expected) in [
        ("prev(p)", "'prev(p)' cannot stand in what a receiver records"),
        ("noise(1)", "it may hold fields, work fields, coefficients, stencils, coordinates"),
        ("q", "there is no 'q'"),
        ("p > 0", "a number is expected here, this is a condition"),
    ] {
        let text = format!("{WAVE}[[receivers]]\nvalue = \"{value}\"\nat = [3, 4]\n");
        let error = mistake(&text, &[]);
        assert!(error.contains(expected) && error.contains("line 17"), "{value}: {error}");
    }
    let both = format!("{WAVE}[[receivers]]\nvalue = \"p\"\nfield = \"p\"\nat = [3, 4]\n");
    assert!(mistake(&both, &[]).contains("this records a field, and an expression"));
    let none = format!("{WAVE}[[receivers]]\nat = [3, 4]\n");
    assert!(mistake(&none, &[]).contains("the key 'field' is missing here"));
}

/// Work fields are what the fields after a step make of them, with their own sides, also by way of other ones.
#[test]
fn receivers_record_work_fields() {
    let works = "[work.square]\nvalue = \"c*p^2\"\nboundary = \"edge\"\n\
                 [work.slope]\nvalue = \"dx(square) + t\"\n\
                 [work.late]\nvalue = \"2*new(p)\"\n[work.later]\nvalue = \"dx(late)\"\n";
    let with =
        |value: &str| format!("{WAVE}{works}[[receivers]]\nvalue = \"{value}\"\nat = [3, 15]\n");
    let system = read(&with("square + 3*slope"), &[]).unwrap();
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let mut simulation = SystemSimulation::on(&system, engine).unwrap();
        for step in 0..=3usize {
            let p = simulation.field("p").unwrap();
            let square = |x: usize| (1.0 + 0.1 * 0.5 * x as f64) * p.get(3 * 16 + x).powi(2);
            // Beyond the end of x lies the last point again.
            let slope = (square(15) - square(14)) / (2.0 * 0.5);
            let expected = square(15) + 3.0 * (slope + step as f64 * 0.1);
            let found = simulation.records().last().unwrap()[1];
            assert!((found - expected).abs() < 1e-12, "step {step}: {found}, {expected}");
            if step < 3 {
                simulation.step(1).unwrap();
            }
        }
    }
    let told = system.warnings().join(" ");
    assert!(told.contains("'late'") && !told.contains("'slope'"), "{told}");
    let error = mistake(&with("square + later"), &[]);
    assert!(error.contains("the work field 'late' depends on new values"), "{error}");
    assert!(error.contains("a receiver records what fields make"), "{error}");
}

/// Coordinates are those of the place, also between points; values are those of the points that it is shared among.
#[test]
fn sources_depend_on_places_and_values() {
    let source =
        |add: &str| format!("{WAVE}[[sources]]\nfield = \"p\"\nat = [3, 4.5]\nadd = \"{add}\"\n");
    let constant = read(&source("sin(t - 2.25/3)*1.5 + 3"), &[]).unwrap();
    let placed = read(&source("sin(t - x/3)*y + iy"), &[]).unwrap();
    assert_eq!(run(&constant), run(&placed));
    let of_values = read(&source("0.5*c*p*noise(1)"), &[]).unwrap();
    assert!(of_values.sources.is_empty());
    let term = "if(iy == 3 and (ix == 4 or ix == 5), 0.25*c*p*noise(1), 0)";
    let equation = WAVE.replace("*laplace(p)", &format!("*laplace(p) + {term}"));
    let (found, expected) = (run(&of_values).1, run(&read(&equation, &[]).unwrap()).1);
    for at in 0..12 * 16 {
        assert!((found.get(at) - expected.get(at)).abs() < 1e-13);
    }
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let mut simulation = SystemSimulation::on(&of_values, engine).unwrap();
        (0..3).for_each(|_| assert_eq!(simulation.checked_step().unwrap().undecided, 0));
    }
    // A point that keeps its values keeps them, and a sponge damps what was there before.
    let kept = source("p + 1").replace("[[sources]]", "keep = \"iy == 3\"\n[[sources]]");
    let mut simulation = SystemSimulation::new(&read(&kept, &[]).unwrap()).unwrap();
    let before = simulation.field("p").unwrap().get(3 * 16 + 4);
    simulation.step(3).unwrap();
    assert_eq!(simulation.field("p").unwrap().get(3 * 16 + 4), before);
    let damped = source("p") + "[sponge]\nwidth = 8\nstrength = 0.1\n";
    let mut simulation = SystemSimulation::new(&read(&damped, &[]).unwrap()).unwrap();
    (0..3).for_each(|_| assert!(simulation.checked_step().is_ok()));
}

/// A wave that moves: its values at the start and a step before it.
#[test]
fn a_wave_goes_on_from_two_states() {
    const POINTS: usize = 40;
    let wave = |x: usize, step: f64| {
        (2.0 * std::f64::consts::PI * (x as f64 - step) / POINTS as f64).sin()
    };
    // With a step as long as the spacing the scheme is exact.
    let text = |before: &str| {
        format!(
            "grid.size = [{POINTS}]\ngrid.dtype = \"f64\"\ntime.steps = 1\n[stencils]\nlap = {{ derivative = \"xx\" }}\n\
             [fields.p]\nstart = \"now.npy\"\n{before}\nboundary = \"periodic\"\nnext = \"2*p - prev(p) + lap(p)\"\n"
        )
    };
    let of = |step: f64| (0..POINTS).map(|x| wave(x, step)).collect::<Vec<_>>();
    let (now, earlier) = (array("(40,)", &of(0.0)), array("(40,)", &of(-1.0)));
    let files = [("now.npy", &now[..]), ("earlier.npy", &earlier[..])];
    for before in ["before = \"earlier.npy\"", "before = [\"sin(2*pi*(x - t)/40)\"]"] {
        let system = read(&text(before), &files).unwrap();
        for engine in [EngineRequest::Cpu, EngineRequest::Emulate, EngineRequest::Fft] {
            let mut simulation = SystemSimulation::on(&system, engine).unwrap();
            simulation.step(9).unwrap();
            let p = simulation.field("p").unwrap();
            for x in 0..POINTS {
                assert!((p.get(x) - wave(x, 9.0)).abs() < 1e-12, "{before} {engine:?}");
            }
        }
    }
    for (before, next, expected) in [
        ("before = \"x\"", "p + lap(p)", "no equation reads earlier values of 'p'"),
        ("before = \"x\"", "p - prev2(p)", "1 is given, and equations read prev2(p), too"),
        ("before = [\"x\", \"t\"]", "p - prev(p)", "2 are given, and equations read prev(p) only"),
        ("before = \"new(p)\"", "p - prev(p)", "cannot stand in a value to start with"),
        ("before = \"none.npy\"", "p - prev(p)", "none.npy"),
    ] {
        let text = text(before).replace("2*p - prev(p) + lap(p)", next);
        let error = mistake(&text, &files);
        assert!(error.contains(expected), "{before}: {error}");
    }
    let with_inputs = read(&text("before = \"earlier.npy\""), &files).unwrap();
    let inputs = vec![("p".to_owned(), Grid::new(&[POINTS], vec![0.5; POINTS]).unwrap())];
    let start = crate::start::StartValues::with(&with_inputs, &inputs).unwrap();
    let [now, earlier] = [0, 1].map(|level| start.fields[0][level].get(3));
    assert_eq!((now, earlier), (0.5, wave(3, -1.0)));
}

/// Numbers of a file with fields in Rust.
#[test]
fn rust_gives_what_files_do() {
    let grid = |value: f64| Grid::new(&[9], vec![value; 9]).unwrap();
    let description = Description::new(&[9])
        .dtype(Dtype::F32)
        .field(FieldText::new("u", grid(1.0), "2*u - prev(u)").before(grid(0.5)))
        .receiver_of("u^2", &[4]);
    let system = System::new(&description, Path::new("")).unwrap();
    let mut simulation = SystemSimulation::new(&system).unwrap();
    simulation.step(2).unwrap();
    assert_eq!(simulation.records(), [[0.0, 1.0], [1.0, 2.25], [2.0, 4.0]]);
}
