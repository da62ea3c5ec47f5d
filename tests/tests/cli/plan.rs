// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan --machine this` without a GPU, what `host run` makes of the same plan, and what is out.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::Folder;

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.succeed(&format!("{arguments} --json -")).stdout).unwrap()
}

const JOB: &str = "star2d1r --size 700x800 --steps 20";

#[test]
fn without_a_gpu_the_cpu_is_ranked_and_is_what_run_takes() {
    let folder = Folder::new();
    for dtype in ["f16", "bf16", "tf32", "f32", "f64"] {
        let plan = json(&folder, &format!("plan {JOB} --dtype {dtype} --machine this"));
        assert!(plan["machine"].as_str().unwrap().starts_with("CPU, "), "{plan}");
        assert!(plan["figures"].as_str().unwrap().starts_with("built-in speeds of a core"));
        let [first] = plan["ranked"].as_array().unwrap().as_slice() else { panic!("{plan}") };
        assert_eq!(first["engine"], "cpu");
        let run = json(&folder, &format!("run {JOB} --dtype {dtype} --verify off"));
        for field in ["engine", "kernel", "fuse", "chain"] {
            assert_eq!(first[field], run[field], "{field}");
        }
        let of_plan = 20.0 * first["seconds_per_step"].as_f64().unwrap();
        let ratio = run["predicted_seconds"].as_f64().unwrap() / of_plan;
        assert!((ratio - 1.0).abs() < 1e-9, "{dtype}: {ratio}");
        assert_eq!((&run["margin"], &run["second"]), (&Value::Null, &Value::Null));
        let rejected = plan["rejected"].as_array().unwrap();
        let engines: Vec<&Value> = rejected.iter().map(|one| &one["engine"]).collect();
        assert_eq!(engines, ["sparse", "dense", "cuda"]);
        for one in rejected {
            let kind = one["kind"].as_str().unwrap();
            assert!(["no-driver", "no-gpu", "no-kernels"].contains(&kind), "{one}");
            assert!(!one["reason"].as_str().unwrap().is_empty());
        }
    }
}

/// One machine, one problem, one choice: also of commands that run at once, and find no speeds.
#[test]
fn the_cores_are_measured_once_and_predict_every_portion() {
    let folder = Folder::new();
    let run = |arguments: &str| {
        let mut command = folder.command(&format!("{arguments} --json -"));
        command.env("HOST_CACHE", "kept");
        command
    };
    let long = "plan star2d1r --size 300x400 --steps 3000 --dtype f64 --boundary periodic";
    let long = format!("{long} --machine this");
    let children: Vec<_> =
        (0..3).map(|_| run(&long).stdout(Stdio::piped()).spawn().unwrap()).collect();
    let plans: Vec<Vec<u8>> =
        children.into_iter().map(|child| child.wait_with_output().unwrap().stdout).collect();
    let again = run(&long).output().unwrap().stdout;
    assert!(!again.is_empty() && plans.iter().all(|plan| *plan == again));
    let kept: Vec<_> = fs::read_dir(folder.path("kept")).unwrap().collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    // Predicted beside the run, which looks at the grid now and then; other programs run here, too.
    for (dtype, every) in [("f16", ""), ("f32", ""), ("f64", ""), ("f32", " --check-finite 10")] {
        let job = "run star2d1r --size 300x400 --steps 400 --engine cpu --verify off";
        let job = format!("{job} --dtype {dtype}{every}");
        let report = run(&job).output().unwrap().stdout;
        let report: Value = serde_json::from_slice(&report).unwrap();
        let figures = report["figures"].as_str().unwrap();
        assert!(figures.contains("measured once: kept/cores-"), "{figures}");
        let [predicted, measured] =
            ["predicted_seconds", "seconds"].map(|key| report[key].as_f64().unwrap());
        let ratio = predicted / measured;
        assert!((0.1..10.0).contains(&ratio), "{dtype}{every}: {predicted} s, not {measured} s");
    }
}

#[test]
fn the_ranking_of_a_machine_without_a_gpu_says_why_others_are_out() {
    let folder = Folder::new();
    let text = folder.succeed(&format!("plan {JOB} --machine this")).stdout;
    assert!(text.starts_with("700x800 in f16, for CPU, "), "{text}");
    let ranked = text.lines().find(|line| line.starts_with("  cpu     direct_")).unwrap();
    assert!(ranked.contains(" GStencil/s ") && ranked.ends_with(" µs a step  1.00"), "{ranked}");
    for engine in ["sparse", "dense", "cuda"] {
        let why = format!("  {engine:<7} all kernels  1x1: ");
        assert!(text.lines().any(|line| line.starts_with(&why)), "{text}");
    }
    let outcome = folder.host(&format!("plan {JOB} --machine this --text"));
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""));
    let outcome = folder.host("plan --all --machine this");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""));
}

#[test]
fn run_says_what_was_predicted_unless_nothing_is_measured() {
    let folder = Folder::new();
    let report = folder.succeed(&format!("run {JOB} --engine cpu")).stdout;
    let line = |name: &str| report.lines().find(|line| line.starts_with(name));
    assert!(line("predicted  ").unwrap().contains(" s (built-in speeds of a core, "));
    assert!(line("kernel     direct_").is_some() && line("margin").is_none(), "{report}");
    let report = json(&folder, &format!("run {JOB} --engine cpu --time off"));
    for field in ["predicted_seconds", "margin", "second", "figures"] {
        assert_eq!(report[field], Value::Null, "{field}");
    }
}

#[test]
fn what_is_out_has_a_kind_for_programs() {
    let folder = Folder::new();
    let rejected = |arguments: &str| {
        let plan = json(&folder, &format!("plan {arguments} --machine h200"));
        plan["rejected"].as_array().unwrap().clone()
    };
    let of = |rejected: &[Value], engine: &str, kind: &str| {
        rejected.iter().filter(|one| one["engine"] == engine && one["kind"] == kind).count()
    };
    let f64 = rejected("star2d1r --size 512 --dtype f64");
    // Of temporal blocking there are some numbers of steps only.
    let [types, chains] = [of(&f64, "sparse", "type"), of(&f64, "cuda", "chain")];
    assert!(types > 0 && types + chains == f64.len(), "{f64:?}");
    let in_3d = rejected("star3d1r --size 64 --dtype f64");
    // ConvStencil and FlashFFTStencil would take it.
    assert_eq!([of(&in_3d, "dense", "dims"), of(&in_3d, "dense", "only-if-asked")], [2, 2]);
    let large = rejected("star2d1r --size 1000000 --dtype f32");
    assert_eq!([of(&large, "sparse", "memory"), of(&large, "cuda", "memory")], [1, 1]);
    let long = rejected("star1d1r --size 1073741825 --dtype f16");
    assert_eq!([of(&long, "sparse", "grid"), of(&long, "cuda", "grid")], [1, 1]);
    let wide = rejected("star2d5r --size 2048 --dtype f16");
    assert!(of(&wide, "sparse", "stencil") > 0 && of(&wide, "sparse", "fuse") > 0, "{wide:?}");
    // No kernel has so few steps of so small a radius.
    let chained = rejected("star2d1r --size 2048 --dtype bf16");
    assert!(of(&chained, "sparse", "chain") > 0, "{chained:?}");
    for one in wide.iter().chain(&long) {
        assert_eq!(one.as_object().unwrap().len(), 6, "{one}");
    }
}

/// Also of an older GPU, whose chip the newest kernels are not for.
#[test]
fn the_order_is_that_of_predicted_times_on_any_gpu() {
    let folder = Folder::new();
    for machine in ["h200", "h100", "a100"] {
        let plan = json(&folder, &format!("plan box2d1r --size 4096 --machine {machine}"));
        assert_ne!(plan["figures"], json!(""));
        assert_eq!(plan["offsets"].as_array().unwrap().len(), 9);
        assert_eq!(plan["weights"].as_array().unwrap().len(), 9);
        assert!(plan["formula"].as_str().unwrap().contains("u[y-1,x-1]"), "{}", plan["formula"]);
        let ranked = plan["ranked"].as_array().unwrap();
        let seconds = |one: &Value| one["seconds_per_step"].as_f64().unwrap();
        assert!(ranked.len() > 5 && ranked.is_sorted_by(|a, b| seconds(a) <= seconds(b)));
        // Of 3D sweeps there are kernels for the newest chips only.
        let in_3d = json(&folder, &format!("plan star3d1r --size 256 --machine {machine}"));
        let of_chip = |one: &&Value| one["kind"] == "chip";
        let out = in_3d["rejected"].as_array().unwrap().iter().filter(of_chip).count();
        assert_eq!(out > 0, machine == "a100");
    }
}

#[test]
fn measuring_without_a_gpu_leaves_no_file() {
    let folder = Folder::new();
    for output in ["", " --output speeds.json"] {
        let mut command = folder.command(&format!("doctor --measure{output}"));
        let outcome = command.env("XDG_CONFIG_HOME", folder.path("config")).output().unwrap();
        assert_eq!((outcome.status.code(), outcome.stdout.len()), (Some(3), 0));
        assert!(fs::read_dir(folder.path(".")).unwrap().next().is_none());
    }
    folder.fail(
        "doctor --measure --output none/speeds.json",
        5,
        "error: cannot write none/speeds.json: there is no folder none\n  help: mkdir -p none",
    );
}
