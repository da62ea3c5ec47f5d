// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host bench`: tables, files, comparisons, refusals.

use std::fs;

use serde_json::{Value, json};

use super::support::{Folder, ProgramOutput};

/// Two workloads, two types: four measurements in a second.
const FOUR: &str = "bench --quick --engine cpu --stencil star1d2r,Heat-2D --dtype f16,f64 \
                    --size-limit 70000 --mode step";
const FILE_HELP: &str = "expected a file that `host bench --json FILE` wrote";
const FILTER_HELP: &str = "leave out one of --stencil, --dtype, --mode, --size-limit";

/// The words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

/// Four measurements, as a file.
fn four(folder: &Folder) -> Value {
    let outcome = folder.succeed(&format!("{FOUR} --quiet --json four.json"));
    assert_eq!(outcome.stdout, "");
    read(folder, "four.json")
}

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.path(name)).unwrap()).unwrap()
}

fn write(folder: &Folder, name: &str, value: &Value) {
    fs::write(folder.path(name), value.to_string()).unwrap();
}

/// A row without a speed.
fn without_speed(row: &mut Value, outcome: &str, reason: &str) {
    let fields = row.as_object_mut().unwrap();
    for (name, value) in fields.iter_mut() {
        let is_of_the_case =
            ["stencil", "paper", "shape", "dtype", "mode", "steps"].contains(&name.as_str());
        if !is_of_the_case {
            *value = Value::Null;
        }
    }
    fields.extend([
        ("outcome".to_owned(), json!(outcome)),
        ("verified".to_owned(), json!(false)),
        ("reason".to_owned(), json!(reason)),
    ]);
}

#[test]
fn the_table_has_a_line_for_each_measurement_with_its_error() {
    let table = Folder::new().succeed(FOUR).stdout;
    let lines = words(&table);
    assert!(table.starts_with("CPU, "), "{table}");
    let heads = "stencil paper grid type mode steps engine fuse chain GStencil/s GB/s of copy L2 \
                 error verified";
    assert_eq!(lines[1].join(" "), heads);
    let expected = [
        "star1d2r 1D5P 20001 f16 step 12 cpu 1 1",
        "star1d2r 1D5P 20001 f64 step 12 cpu 1 1",
        "star2d1r Heat-2D 250x260 f16 step 12 cpu 1 1",
        "star2d1r Heat-2D 250x260 f64 step 12 cpu 1 1",
    ];
    assert_eq!(lines.len(), 2 + expected.len(), "{table}");
    for (line, expected) in lines[2..].iter().zip(expected) {
        assert_eq!(line[..9].join(" "), expected);
        let number = |index: usize| line[index].parse::<f64>().unwrap();
        assert!(number(9) > 0.0 && number(10) > 0.0 && number(12) < 5e-3, "{line:?}");
        assert_eq!(line[13], "yes");
    }
}

#[test]
fn what_is_compared_is_fused_where_the_mode_says_so() {
    let folder = Folder::new();
    let bench = "bench --quick --engine emulate --stencil box2d1r --dtype f16 --steps 6";
    folder.succeed(&format!("{bench} --mode step,fused --quiet --json a.json"));
    let file = read(&folder, "a.json");
    let [step, fused] = [&file["rows"][0], &file["rows"][1]];
    assert_eq!((&step["fuse"], &step["chain"]), (&json!(1), &json!(1)));
    assert!(fused["fuse"].as_u64().unwrap() > 1 && fused["chain"] == json!(1), "{fused}");
    // Values that are rounded once in several steps are not those that are rounded in each.
    let error = |row: &Value| row["rel_l2_err"].as_f64().unwrap();
    assert!(error(fused) < error(step), "{step} {fused}");
}

#[test]
fn systems_are_measured_beside_stencils() {
    let folder = Folder::new();
    let bench = "bench --quick --engine cpu --stencil gray-scott,heat-plate --dtype tf32,f32 --size-limit 70000";
    folder.succeed(&format!("{bench} --mode step,fused,auto --quiet --json a.json"));
    let file = read(&folder, "a.json");
    let rows = file["rows"].as_array().unwrap();
    let [of_tf32, rows]: [Vec<&Value>; 2] = [true, false]
        .map(|tf32| rows.iter().filter(|row| (row["dtype"] == "tf32") == tf32).collect());
    assert_eq!(of_tf32.len(), 6);
    assert!(of_tf32.iter().all(|row| row["outcome"] == "unsupported"), "{file}");
    let of = |name: &'static str| rows.iter().copied().filter(move |row| row["stencil"] == name);
    let [step, fused, auto] = of("gray-scott").collect::<Vec<_>>()[..] else { panic!("{file}") };
    for row in [step, auto] {
        assert_eq!(
            (&row["outcome"], &row["verified"]),
            (&json!("measured"), &json!(true)),
            "{row}"
        );
        assert!(row["gstencils_per_s"].as_f64().unwrap() > 0.0, "{row}");
    }
    let reason = "engine 'cpu' cannot run this: a system is not computed as one sum";
    assert_eq!((&fused["outcome"], &fused["reason"]), (&json!("unsupported"), &json!(reason)));
    assert_eq!(of("heat-plate").count(), 3);
}

#[test]
fn json_and_csv_hold_every_field_of_every_measurement() {
    let folder = Folder::new();
    let outcome = folder.succeed(&format!("{FOUR} --steps 3 --json a.json --csv a.csv"));
    assert_eq!(outcome.stdout.lines().count(), 6);
    let file = read(&folder, "a.json");
    assert_eq!((&file["engine"], &file["complete"]), (&json!("cpu"), &json!(true)));
    assert_eq!(file["commit"], json!("tested"));
    let date = file["date"].as_str().unwrap();
    assert!(date.len() == 10 && date.starts_with("20") && date.matches('-').count() == 2, "{date}");
    assert!(file.as_object().unwrap().contains_key("driver"));
    let rows = file["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    let csv = fs::read_to_string(folder.path("a.csv")).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    for (row, line) in rows.iter().zip(lines.by_ref()) {
        // The device is the one field with a comma.
        let device = row["device"].as_str().unwrap();
        let line = line.replace(&format!("\"{device}\""), "DEVICE");
        let fields: Vec<&str> = line.split(',').collect();
        let row = row.as_object().unwrap();
        assert_eq!((fields.len(), row.len()), (names.len(), names.len()));
        for (name, field) in names.iter().zip(fields) {
            let expected = match (&row[*name], *name) {
                (_, "device") => "DEVICE".to_owned(),
                (Value::Null, _) => String::new(),
                (Value::String(text), _) => text.clone(),
                (Value::Array(extents), _) => {
                    extents.iter().map(Value::to_string).collect::<Vec<_>>().join("x")
                }
                (Value::Number(number), _) if number.is_f64() => {
                    number.as_f64().unwrap().to_string()
                }
                (other, _) => other.to_string(),
            };
            assert_eq!(field, expected, "{name}");
        }
        assert_eq!((&row["steps"], &row["verified"]), (&json!(3), &json!(true)));
        assert_eq!((&row["outcome"], &row["reason"]), (&json!("measured"), &Value::Null));
    }
    assert_eq!(lines.count(), 0);
    assert_eq!(folder.files(), ["a.csv", "a.json"]);
}

#[test]
fn json_or_csv_instead_of_the_table() {
    let folder = Folder::new();
    let json = folder.succeed(&format!("{FOUR} --json -")).stdout;
    let file: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(file["rows"].as_array().unwrap().len(), 4);
    let csv = folder.succeed(&format!("{FOUR} --csv -")).stdout;
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.starts_with("stencil,paper,shape,dtype,mode,steps,outcome,engine,"), "{csv}");
    assert!(folder.files().is_empty());
}

#[test]
fn what_no_engine_supports_is_listed_with_its_reason() {
    let folder = Folder::new();
    let bench = "bench --engine emulate --stencil star2d1r --dtype f64 --mode step";
    let table = folder.succeed(&format!("{bench} --json a.json --csv a.csv")).stdout;
    let line = "star2d1r Heat-2D 10240x10240 f64 step 48 - - - - - - - - [1]";
    assert_eq!(words(&table)[1].join(" "), line);
    let file = read(&folder, "a.json");
    let row = &file["rows"][0];
    let reason = row["reason"].as_str().unwrap();
    assert!(reason.starts_with("engine 'emulate' cannot run this: "), "{reason}");
    assert_eq!(table.lines().nth(2), Some(format!("[1] {reason}").as_str()));
    assert_eq!(
        (&row["outcome"], &row["gstencils_per_s"], &row["verified"]),
        (&json!("unsupported"), &Value::Null, &json!(false))
    );
    let csv = fs::read_to_string(folder.path("a.csv")).unwrap();
    let start = "star2d1r,Heat-2D,10240x10240,f64,step,48,unsupported,,,,,,,,,false,";
    assert!(csv.lines().nth(1).unwrap().starts_with(start), "{csv}");
}

#[test]
fn a_comparison_marks_what_became_worse_and_better() {
    let folder = Folder::new();
    let mut old = four(&folder);
    let mut new = old.clone();
    for (index, (before, now)) in [(10.0, 9.4), (10.0, 9.6), (10.0, 20.0)].into_iter().enumerate() {
        old["rows"][index]["gstencils_per_s"] = json!(before);
        new["rows"][index]["gstencils_per_s"] = json!(now);
    }
    without_speed(&mut new["rows"][3], "unsupported", "too new");
    write(&folder, "old.json", &old);
    write(&folder, "new.json", &new);

    let outcome = folder.host("bench --compare old.json --with new.json");
    let (lines, changes) = changes(&outcome);
    assert_eq!(
        lines[0].join(" "),
        "stencil paper grid type mode old GStencil/s new GStencil/s \
               new/old L2 error change"
    );
    assert_eq!(
        changes,
        ["10.0 9.4000 0.940 SLOWER", "10.0 9.6000 0.960", "10.0 20.0 2.000 faster", "LOST [1]"]
    );
    assert_eq!(lines[5].join(" "), "[1] too new");
    let summary =
        "4 compared, 1 slower by more than 5%, 1 no longer supported, 1 faster by more than 5%";
    assert_eq!(lines[6].join(" "), summary);
    let help = "they are marked in the table; measure again before you believe a small difference, \
                or allow more with --threshold";
    let error = format!("error: 2 of 4 measurements are worse than in old.json\n  help: {help}\n");
    assert_eq!((outcome.stderr, outcome.code), (error, Some(1)));

    // Filters leave the lost one out, and the threshold the slower one.
    let only = "bench --compare old.json --with new.json --threshold 6.5 --dtype f16,f64 --stencil";
    let comparison = folder.succeed(&format!("{only} star1d2r")).stdout;
    assert!(comparison.ends_with("\n2 compared\n"), "{comparison}");
    let outcome = folder.host(&format!("{only} heat-2d"));
    assert_eq!(outcome.code, Some(1));

    // The other way round it is a gain.
    let outcome = folder.host("bench --compare new.json --with old.json --threshold 57%");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains(" gained\n"), "{}", outcome.stdout);
    let outcome = folder.host("bench --compare new.json --with old.json --threshold 7");
    let summary = "4 compared, 1 slower by more than 7%, 1 supported now\n";
    assert!(outcome.stdout.ends_with(summary), "{}", outcome.stdout);
}

/// The lines' words, and of the lines of measurements those about the change, without the error.
fn changes(outcome: &ProgramOutput) -> (Vec<Vec<&str>>, Vec<String>) {
    let lines = words(&outcome.stdout);
    let of_line = |line: &Vec<&str>| {
        if line[7] == "-" {
            return line[9..].join(" ");
        }
        [&line[5..8], &line[9..]].concat().join(" ")
    };
    let changes = lines[1..5].iter().map(of_line).collect();
    (lines, changes)
}

#[test]
fn a_new_failure_is_worse_whatever_was_before() {
    let folder = Folder::new();
    let old = four(&folder);
    let mut new = old.clone();
    without_speed(&mut new["rows"][1], "failed", "verification failed, it was planted");
    new["rows"].as_array_mut().unwrap().truncate(2);
    new["complete"] = json!(false);
    write(&folder, "new.json", &new);
    let outcome = folder.host("bench --compare four.json --with new.json");
    assert_eq!(outcome.code, Some(1));
    let text = outcome.stdout;
    assert!(text.contains(" FAILED [1]\n") && text.contains("[1] verification failed, it was"));
    assert!(text.ends_with("2 compared, 1 failed, 2 not measured now\n"), "{text}");
    let outcome = folder.host("bench --compare new.json --with new.json --quiet");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
}

#[test]
fn the_measurements_of_a_file_are_made_again() {
    let folder = Folder::new();
    let mut old = four(&folder);
    let again = "bench --compare four.json --threshold 99.9% --json new.json";
    let comparison = folder.succeed(again).stdout;
    assert!(comparison.contains("\n4 compared"), "{comparison}");
    let new = read(&folder, "new.json");
    assert_eq!(new["engine"], json!("cpu"));
    for (old, new) in old["rows"].as_array().unwrap().iter().zip(new["rows"].as_array().unwrap()) {
        for name in ["stencil", "shape", "dtype", "mode", "steps", "rel_l2_err"] {
            assert_eq!(old[name], new[name], "{name}");
        }
    }
    old["rows"][2]["gstencils_per_s"] = json!(1e9);
    write(&folder, "planted.json", &old);
    let outcome = folder.host("bench --compare planted.json --threshold 99.9% --stencil star2d1r");
    assert_eq!(outcome.code, Some(1));
    let error = "error: 1 of 2 measurements are worse than in planted.json\n";
    assert!(outcome.stderr.starts_with(error), "{}", outcome.stderr);
}

/// Then: files said nothing of commit, date and driver.
#[test]
fn files_of_before_are_compared() {
    let folder = Folder::new();
    let mut old = four(&folder);
    for name in ["commit", "date", "driver"] {
        old.as_object_mut().unwrap().remove(name).unwrap();
    }
    write(&folder, "old.json", &old);
    let text = folder.succeed("bench --compare old.json --with four.json").stdout;
    assert!(text.ends_with("4 compared\n"), "{text}");
}

#[test]
fn files_that_no_benchmark_wrote() {
    let folder = Folder::new();
    let text = "error: cannot read none.json: No such file or directory (os error 2)\n  \
                help: check the path and its permissions";
    folder.fail("bench --compare none.json", 5, text);
    let fails = |content: &str, reason: &str| {
        fs::write(folder.path("old.json"), content).unwrap();
        let text = format!("error: old.json: {reason}\n  help: {FILE_HELP}");
        folder.fail("bench --compare old.json", 2, &text);
    };
    fails("garbled", "expected value at line 1 column 1");
    fails("{}", "missing field `version` at line 1 column 2");
    let good = four(&folder);
    let changed = |path: &[&str], value: Value, reason: &str| {
        let mut changed = good.clone();
        let place = path.iter().fold(&mut changed, |at, name| match name.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[*name],
        });
        *place = value;
        fails(&changed.to_string(), reason);
    };
    let row = |name| ["rows", "1", name];
    changed(&row("stencil"), json!("star2d2r"), "row 2: no workload is named 'star2d2r'");
    changed(&row("shape"), json!([5, 6]), "row 2: star1d2r does not go with a grid of 5x6");
    let reason = "row 2: size '0': every axis needs at least one point";
    changed(&row("shape"), json!([0]), reason);
    changed(&row("steps"), json!(0), "row 2: steps is 0; there is no speed without a step");
    let reason = "row 2: dtype is 'f8', none of f16, bf16, tf32, f32, f64";
    changed(&row("dtype"), json!("f8"), reason);
    changed(&row("chain"), Value::Null, "row 2: it is measured, but has no chain");
    let reason = "row 2: gstencils_per_s is no number from 1e-12 to 1e12";
    changed(&row("gstencils_per_s"), json!(0.0), reason);
    changed(&row("gstencils_per_s"), Value::Null, reason);
    changed(&row("outcome"), json!("failed"), "row 2: it has neither a speed nor a reason");
    let reason = "rows 1 and 2 are both star1d2r 20001 f16 step";
    changed(&row("dtype"), json!("f16"), reason);
    let outcome = folder.host("bench --compare four.json --with old.json");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
}

#[test]
fn filters_that_leave_nothing() {
    let folder = Folder::new();
    let text = format!(
        "error: there is nothing to measure: no workload fits all the filters\n  help: {FILTER_HELP}"
    );
    folder.fail("bench --size-limit 1000", 2, &text);
    four(&folder);
    let text = format!(
        "error: four.json holds no measurement that fits the filters\n  help: {FILTER_HELP}"
    );
    folder.fail("bench --compare four.json --stencil box3d1r", 2, &text);
    folder.succeed(&format!("{FOUR} --steps 5 --quiet --json other.json"));
    let text = "error: four.json and other.json have no measurement in common\n  help: measurements \
                are the same if stencil, shape, dtype, mode and steps are; --quick and --steps \
                change them";
    folder.fail("bench --compare four.json --with other.json", 2, text);
}

#[test]
fn options_that_make_no_sense() {
    let folder = Folder::new();
    let outcome = folder.host("bench --stencil star2d2r,box2d1r");
    assert_eq!(outcome.code, Some(2));
    let text = "error: invalid value 'star2d2r' for '--stencil <NAME,...>'\n  [possible values: \
                star1d1r, star1d2r, star2d1r, box2d1r, star2d3r, box2d3r, star3d1r, box3d1r, \
                gray-scott, layered-wave, allen-cahn, heat-plate]";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("tip: a similar value exists: 'star2d3r'"),
        "{}",
        outcome.stderr
    );
    for (options, reason) in [
        ("--steps 0", "invalid value '0' for '--steps <S>': give a whole number from 1 on"),
        ("--threshold 5%", "the following required arguments were not provided:"),
        ("--with a.json", "the following required arguments were not provided:"),
        (
            "--compare a.json --threshold 100%",
            "invalid value '100%' for '--threshold <P%>': give 0% to 99.9%, such as 5%",
        ),
        (
            "--compare a.json --quick",
            "the argument '--compare <OLD.json>' cannot be used with '--quick'",
        ),
    ] {
        let outcome = folder.host(&format!("bench {options}"));
        assert_eq!(outcome.code, Some(2), "{options}");
        assert!(outcome.stderr.starts_with(&format!("error: {reason}")), "{}", outcome.stderr);
    }
    let text = "error: --json and --csv both name both\n  help: give each a file of its own";
    folder.fail("bench --quick --json both --csv both", 2, text);
    four(&folder);
    let text = "error: --compare and --json both name four.json\n  \
                help: give the result a file of its own; a file that is read is not replaced";
    folder.fail("bench --compare four.json --json four.json", 2, text);
    let text = "error: cannot write none/a.json: there is no folder none\n  help: mkdir -p none";
    folder.fail("bench --quick --json none/a.json", 5, text);
}

#[test]
fn charts_of_what_is_measured_and_of_a_record_are_the_same() {
    let folder = Folder::new();
    folder.succeed(
        "bench --quick --stencil star2d1r --dtype f32,f64 --mode step,auto --engine cpu --quiet \
         --json new.json --chart new.svg --chart new.png",
    );
    let svg = fs::read_to_string(folder.path("new.svg")).unwrap();
    for text in [
        "mode step",
        "mode auto",
        "star2d1r",
        "250x260",
        "f32, GStencil/s",
        "f64, GFLOP/s over FLOP/byte",
    ] {
        assert!(svg.contains(&format!("\n{text}\n")), "no '{text}' in {svg}");
    }
    assert!(folder.pictures("new.png")[0].size[0] >= 1000);
    let shown = folder.succeed("bench --from new.json --chart again.svg --chart again.PNG");
    assert_eq!(words(&shown.stdout).iter().filter(|line| line.contains(&"star2d1r")).count(), 4);
    for [one, other] in [["new.svg", "again.svg"], ["new.png", "again.PNG"]] {
        assert_eq!(fs::read(folder.path(one)).unwrap(), fs::read(folder.path(other)).unwrap());
    }
    folder.succeed("bench --from new.json --dtype f64 --chart f64.svg --csv f64.csv --quiet");
    assert!(!fs::read_to_string(folder.path("f64.svg")).unwrap().contains("f32"));
    assert_eq!(fs::read_to_string(folder.path("f64.csv")).unwrap().lines().count(), 3);
}

#[test]
fn charts_and_records_that_make_no_sense() {
    let folder = Folder::new();
    folder.fail(
        "bench --quick --chart new.jpg",
        2,
        "error: invalid value 'new.jpg' for '--chart <FILE>': a chart is an .svg or a .png file\n\n\
         For more information, try '--help'.",
    );
    folder.fail(
        "bench --from none.json --chart new.svg",
        5,
        "error: cannot read none.json: No such file or directory (os error 2)\n  \
         help: check the path and its permissions",
    );
    let clash = folder.host("bench --quick --chart one.svg --chart ./one.svg");
    assert_eq!(clash.code, Some(2), "{}", clash.stderr);
    assert!(clash.stderr.contains("--chart"), "{}", clash.stderr);
    assert_eq!(folder.files(), [""; 0]);
}
