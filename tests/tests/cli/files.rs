// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays and reports, in and out.

use std::fs;

use half::f16;
use npyz::Order;
use serde_json::Value;

use super::support::Folder;

const KEYS: [&str; 46] = [
    "stencil",
    "title",
    "fields",
    "shape",
    "points",
    "steps",
    "resumed_after",
    "dt",
    "dtype",
    "engine",
    "why",
    "kernel",
    "fuse",
    "chain",
    "side_by_side",
    "jump",
    "noise",
    "boundary",
    "seed",
    "files",
    "snapshots",
    "timed_steps",
    "seconds",
    "repetitions",
    "predicted_seconds",
    "margin",
    "second",
    "figures",
    "gstencils_per_s",
    "arrays_read",
    "arrays_written",
    "bytes_per_point",
    "effective_gb_per_s",
    "copy_gb_per_s",
    "fraction_of_copy",
    "max_abs_err",
    "rel_l2_err",
    "verified",
    "verification",
    "rounded_coefficients",
    "growth",
    "values",
    "totals",
    "version",
    "device",
    "arithmetic",
];

#[test]
fn weights_have_the_documented_sense() {
    let folder = Folder::new();
    folder.write("weights.npy", &[3, 3], &[0., 1., 0., 2., 3., 4., 0., 5., 0.]);
    folder.write("in.npy", &[2, 3], &[1., 10., 100., 1000., 10_000., 100_000.]);
    folder.succeed("run --weights weights.npy --input in.npy --engine cpu --output out.npy");
    // out[y, x] = in[y-1, x] + 2 in[y, x-1] + 3 in[y, x] + 4 in[y, x+1] + 5 in[y+1, x]
    let expected =
        [5043.0, 50_432.0, 500_320.0, 3000.0 + 40_001.0, 432_000.0 + 10.0, 320_000.0 + 100.0];
    assert_eq!(folder.read::<f64>("out.npy"), (vec![2, 3], expected.to_vec()));
}

#[test]
fn no_step_gives_back_the_input_in_every_type() {
    let folder = Folder::new();
    let values: Vec<f64> = (0..35).map(|index| f64::from(index) / 8.0 - 2.0).collect();
    let (half, single): (Vec<f16>, Vec<f32>) =
        values.iter().map(|&value| (f16::from_f64(value), value as f32)).unzip();
    folder.write("f2.npy", &[7, 5], &half);
    folder.write("f4.npy", &[7, 5], &single);
    folder.write("f8.npy", &[7, 5], &values);
    for name in ["f2", "f4", "f8"] {
        let run = "run --stencil star2d1r --engine cpu --steps 0";
        folder.succeed(&format!("{run} --input {name}.npy --output out.npy"));
        // But for commas and blanks of the header, which numpy reads past.
        let parts = |file: &str| {
            let bytes = fs::read(folder.path(file)).unwrap();
            let (head, values) = bytes.split_at(128);
            (String::from_utf8_lossy(&head[10..]).replace([',', ' '], ""), values.to_vec())
        };
        assert_eq!(parts("out.npy"), parts(&format!("{name}.npy")), "{name}");
    }
}

#[test]
fn byte_and_axis_order_make_no_difference() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..12).map(|index| index as f32).collect();
    folder.write("c.npy", &[3, 4], &values);
    let fortran: Vec<f32> = (0..12).map(|index| values[index % 3 * 4 + index / 3]).collect();
    folder.write_in(Order::Fortran, "fortran.npy", &[3, 4], &fortran);
    let mut bytes = fs::read(folder.path("c.npy")).unwrap();
    let start = bytes.len() - 48;
    bytes[start..].chunks_mut(4).for_each(<[u8]>::reverse);
    let mark = bytes.windows(3).position(|window| window == b"<f4").unwrap();
    bytes[mark] = b'>';
    fs::write(folder.path("big.npy"), bytes).unwrap();

    let run = |name: &str| {
        folder.succeed(&format!("run --stencil star2d1r --engine cpu --input {name} --output out"));
        folder.read::<f32>("out")
    };
    let expected = run("c.npy");
    assert_eq!(run("fortran.npy"), expected);
    assert_eq!(run("big.npy"), expected);
}

#[test]
fn dtype_converts_the_input() {
    let folder = Folder::new();
    folder.write("in.npy", &[1, 2], &[0.1, 1.0]);
    let run = "run --stencil star2d1r --engine cpu --steps 0 --input in.npy --output out.npy";
    folder.succeed(&format!("{run} --dtype f16"));
    let expected = vec![f16::from_f64(0.1), f16::ONE];
    assert_eq!(folder.read::<f16>("out.npy"), (vec![1, 2], expected));
}

#[test]
fn the_json_report_has_the_documented_keys_in_order() {
    let folder = Folder::new();
    let run = "run --stencil heat-2d --size 30x40 --steps 3 --dtype f32 --engine cpu";
    folder.succeed(&format!("{run} --json report.json"));
    let text = fs::read_to_string(folder.path("report.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let mut keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    // The keys of the object itself, not of what it holds.
    let places = KEYS.map(|key| text.find(&format!("\n  \"{key}\":")).unwrap());
    assert!(places.is_sorted(), "{text}");
    let mut expected = KEYS.to_vec();
    keys.sort_unstable();
    expected.sort_unstable();
    assert_eq!(keys, expected);

    assert_eq!(report["stencil"], "star2d1r");
    assert_eq!(report["shape"], serde_json::json!([30, 40]));
    assert_eq!((&report["points"], &report["steps"]), (&1200.into(), &3.into()));
    assert_eq!((&report["dtype"], &report["engine"]), (&"f32".into(), &"cpu".into()));
    assert_eq!((&report["fuse"], &report["boundary"]), (&1.into(), &"zero".into()));
    assert_eq!(report["verified"], true);
    let number = |key: &str| report[key].as_f64().unwrap();
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert!(number("seconds") > 0.0 && number("copy_gb_per_s") > 0.0);
    assert!(near(number("gstencils_per_s"), 3600.0 / number("seconds") / 1e9));
    assert!(near(number("effective_gb_per_s"), number("gstencils_per_s") * 8.0));
    let fraction = number("effective_gb_per_s") / number("copy_gb_per_s");
    assert!(near(number("fraction_of_copy"), fraction));
    assert!((0.0..1e-6).contains(&number("max_abs_err")));
    assert!((0.0..1e-6).contains(&number("rel_l2_err")));
}

#[test]
fn json_on_stdout_is_json_alone() {
    let folder = Folder::new();
    let run = "run --stencil star2d1r --size 8 --engine cpu --verify off --json -";
    let report: Value = serde_json::from_str(&folder.succeed(run).stdout).unwrap();
    assert_eq!(report["verified"], false);
    assert_eq!((&report["max_abs_err"], &report["rel_l2_err"]), (&Value::Null, &Value::Null));
    assert_eq!(folder.files(), [""; 0]);
}
