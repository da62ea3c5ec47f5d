// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that succeed, and the other commands.

use super::support::Folder;
use stencil::device::{self, Code};

/// The report's lines by name.
fn line<'a>(report: &'a str, name: &str) -> &'a str {
    let line = report.lines().find(|line| line.starts_with(name));
    line.unwrap_or_else(|| panic!("no line '{name}' in {report}"))[name.len()..].trim()
}

#[test]
fn the_report_says_what_ran_and_how_well() {
    let run = "run --stencil box2d2r --size 133x147 --steps 2 --chain 2 --engine cpu";
    let report = Folder::new().succeed(run).stdout;
    assert_eq!(line(&report, "stencil"), "box2d2r, boundary zero");
    assert_eq!(line(&report, "grid"), "133x147 = 19551 points, 2 steps, 2 chained in one sweep");
    assert_eq!(line(&report, "engine"), "cpu (asked for)");
    assert!(line(&report, "device").starts_with("CPU, "));
    assert_eq!(line(&report, "arithmetic"), "f16 storage, f16 products, f32 sums");
    let verified = line(&report, "verified");
    assert!(
        verified.starts_with("every point against the f64 reference: max error "),
        "{verified}"
    );
    assert!(verified.contains("(rounding allows ") && verified.contains("relative L2 error "));
    assert!(line(&report, "time").ends_with(" s (median of 9 repetitions)"));
    assert!(line(&report, "speed").ends_with(" GStencil/s"));
    assert!(line(&report, "bandwidth").contains(" of a copy ("));
}

#[test]
fn jumps_say_what_they_are() {
    let folder = Folder::new();
    let run = "run --stencil star2d1r --size 60x50 --dtype f64 --steps 1000 --engine fft";
    let report = folder.succeed(&format!("{run} --boundary periodic --json a.json")).stdout;
    assert_eq!(line(&report, "grid"), "60x50 = 3000 points, 1000 steps");
    assert_eq!(line(&report, "engine"), "fft (asked for)");
    assert_eq!(
        line(&report, "jump"),
        "1000 steps at once, spectral, on a torus of 60x50, exact at every side"
    );
    assert_eq!(line(&report, "arithmetic"), "f64 storage, spectral, f64 transforms");
    assert!(line(&report, "verified").starts_with("every point against"), "{report}");
    let json = std::fs::read_to_string(folder.path("a.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let jump =
        serde_json::json!({ "steps": 1000, "toruses": [[60, 50]], "rim": 0, "growth": null });
    assert_eq!((&json["jump"], &json["verified"]), (&jump, &true.into()));
    let noise = json["noise"].as_f64().unwrap();
    assert!((1e-16..1e-9).contains(&noise), "{noise}");
    assert_eq!(
        line(&report, "noise"),
        format!("rounding in transforms: up to {noise:.1e} at any point")
    );

    let report = folder.succeed(&format!("{run} --jump 10 --boundary x-:reflect,x+:zero")).stdout;
    let jump = line(&report, "jump");
    assert!(jump.starts_with("10 steps at once, spectral, on a torus of "), "{jump}");
    let run = "run --stencil box2d3r --size 60x50 --dtype f64 --steps 9 --engine fft --jump 3";
    let report = folder.succeed(run).stdout;
    let jump = line(&report, "jump");
    assert!(jump.ends_with(", a rim of 1656 points stepped"), "{jump}");
    let outcome = folder.host(&format!("{run} --engine cpu").replacen("--engine fft ", "", 1));
    let text = "engine 'cpu' cannot run this: it makes no jumps of many steps";
    assert!(outcome.code == Some(2) && outcome.stderr.contains(text), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("leave out --jump, or take `--engine fft`"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn auto_takes_jumps_for_long_runs_and_compares_them_with_others() {
    let folder = Folder::new();
    let run = "run --stencil star2d1r --size 700 --dtype f64 --boundary periodic --steps 6000";
    let report = folder.succeed(run).stdout;
    let engine = line(&report, "engine");
    assert!(engine.starts_with("fft (cpu is predicted to take "), "{engine}");
    assert!(engine.contains(" times as long; sparse, dense and cuda cannot: "), "{engine}");
    let verified = line(&report, "verified");
    assert!(verified.starts_with("every point against jumps in f64: max error "), "{verified}");
    assert!(
        report.contains("\n           up to 8 steps at a time, 2 times in 6000 steps"),
        "{report}"
    );
    // Whoever asks for jumps gets them, however short the run.
    let report = folder.succeed("run --stencil star2d1r --size 9 --steps 4 --jump 2").stdout;
    assert!(line(&report, "engine").starts_with("fft (jumps are asked for; "), "{report}");
}

#[test]
fn jumps_warn_and_refuse_as_steps_do() {
    let folder = Folder::new();
    folder.write("hot.npy", &[3], &[0.6, -0.2, 0.6]);
    let run = "run --weights hot.npy --dtype f16 --engine fft --boundary periodic";
    let outcome = folder.host(&format!("{run} --size 64 --steps 300"));
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("is unstable: a step grows waves of 2.0 points along x"),
        "{}",
        outcome.stderr
    );
    let outcome =
        folder.host("run --stencil star2d1r --size 4000000x4000 --engine fft --dtype f64");
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let text = "a run on 4000000x4000 f64 values with engine fft needs ";
    assert!(
        outcome.stderr.contains(text) && outcome.stderr.contains(" are free"),
        "{}",
        outcome.stderr
    );
    let outcome = folder.host("run --stencil star1d1r --size 9 --jump 0");
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("give a number of steps from 1 on, or auto"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn auto_says_why_it_took_the_cpu() {
    let report = Folder::new().succeed("run --stencil star2d1r --size 9").stdout;
    assert!(
        line(&report, "engine").starts_with("cpu (sparse, dense and cuda cannot: "),
        "{report}"
    );
}

#[test]
fn the_emulated_tensor_cores_agree_with_the_reference() {
    let folder = Folder::new();
    for size in ["1", "7x5", "20x131"] {
        for stencil in ["star2d1r", "box2d3r"] {
            let run = format!("run --stencil {stencil} --size {size} --steps 3 --engine emulate");
            let report = folder.succeed(&run).stdout;
            assert!(line(&report, "verified").starts_with("every point against"), "{report}");
        }
    }
}

#[test]
fn one_point_and_no_step() {
    let folder = Folder::new();
    for arguments in ["--size 1", "--size 1x1 --steps 3", "--size 5 --steps 0", "--size 1x7"] {
        for dtype in ["f16", "f32", "f64"] {
            let run = "run --stencil star2d3r --engine cpu --dtype";
            let report = folder.succeed(&format!("{run} {dtype} {arguments}")).stdout;
            assert!(line(&report, "verified").starts_with("every point"), "{report}");
        }
    }
}

#[test]
fn samples_and_no_verification_say_so() {
    let folder = Folder::new();
    let run = "run --stencil star2d1r --size 700 --engine cpu --dtype f32 --verify";
    let report = folder.succeed(&format!("{run} sample")).stdout;
    let verified = line(&report, "verified");
    assert!(verified.contains(" points against the f64 reference: max error "), "{verified}");
    let report = folder.succeed(&format!("{run} off")).stdout;
    assert_eq!(line(&report, "verified"), "NOT VERIFIED, as asked");
}

#[test]
fn every_boundary_and_element_type_runs_on_the_cpu() {
    let folder = Folder::new();
    for boundary in
        ["periodic", "reflect", "x:periodic,y-:constant=-2,y+:reflect", "edge", "edge,x-:flux=-0.5"]
    {
        for dtype in ["f16", "bf16", "tf32", "f32", "f64"] {
            let run = format!(
                "run --stencil box2d3r --size 5x2 --steps 3 --engine cpu --boundary {boundary}"
            );
            let report = folder.succeed(&format!("{run} --dtype {dtype}")).stdout;
            assert!(line(&report, "verified").starts_with("every point"), "{report}");
        }
    }
    let report = folder.succeed("run --stencil star2d1r --size 9 --boundary y:reflect").stdout;
    assert_eq!(line(&report, "stencil"), "star2d1r, boundary x:zero,y:reflect");
}

#[test]
fn the_stencil_may_stand_without_its_option_and_types_have_their_other_names() {
    let folder = Folder::new();
    let first = |arguments: &str| {
        let report = folder.succeed(&format!("run --size 9 --engine cpu {arguments}")).stdout;
        ["stencil", "arithmetic"].map(|name| line(&report, name).to_owned())
    };
    let expected = first("--stencil box2d1r --dtype f32");
    assert_eq!(first("box2d1r --dtype float32"), expected);
    assert_eq!(first("box2d1r --dtype Single"), expected);
    let text = "error: the argument '[NAME]' cannot be used with '--stencil <NAME>'";
    let outcome = folder.host("run box2d1r --stencil box2d1r --size 8");
    assert!(outcome.code == Some(2) && outcome.stderr.starts_with(text), "{}", outcome.stderr);
}

#[test]
fn the_seed_decides_the_input() {
    let folder = Folder::new();
    let run = |seed: u32, name: &str| {
        let run = "run --stencil star2d1r --size 8 --engine cpu --dtype f64";
        folder.succeed(&format!("{run} --seed {seed} --output {name}"));
        folder.read::<f64>(name)
    };
    assert_eq!(run(1, "a"), run(1, "b"));
    assert_ne!(run(1, "a"), run(2, "b"));
}

#[test]
fn quiet_prints_nothing() {
    let outcome = Folder::new().succeed("run --stencil star2d1r --size 8 --engine cpu --quiet");
    assert_eq!(outcome.stdout, "");
}

#[test]
fn doctor_gives_a_remedy_for_everything_that_is_missing() {
    let lines = Folder::new().succeed("doctor").stdout;
    for what in ["CPU", "memory", "device compiler", "GPU kernels", "MPI"] {
        assert!(lines.lines().any(|line| line[9..].starts_with(what)), "{what} in {lines}");
    }
    for Code { chip, .. } in device::embedded() {
        let listed = |line: &str| line.contains("GPU kernels") && line.contains(chip.name());
        assert!(lines.lines().any(listed), "{chip} in {lines}");
    }
    let lines: Vec<&str> = lines.lines().collect();
    for (line, next) in lines.iter().zip(lines.iter().skip(1).chain([&""])) {
        let missing = line.starts_with("missing  ");
        assert!(missing || line.starts_with("ok       ") || line.starts_with("    "), "{line}");
        assert_eq!(missing, next.trim_start().starts_with("help: "), "{line}");
    }
}

#[test]
fn version_and_help() {
    let folder = Folder::new();
    let version = folder.succeed("--version").stdout;
    assert_eq!(version, concat!("host ", env!("CARGO_PKG_VERSION"), "\n"));
    let start = folder.succeed("--help").stdout;
    assert!(start.contains("Start here:\n  host run star2d3r --size 10240"), "{start}");
    for command in ["run", "plan", "bench", "list", "doctor"] {
        let help = folder.succeed(&format!("{command} --help")).stdout;
        assert!(help.contains("Exit codes: 0"), "{help}");
    }
    let help = folder.succeed("run --help").stdout;
    assert!(help.contains("Examples:\n  host run --stencil star2d3r --size 10240"), "{help}");
    for option in ["--fuse", "--chain", "--boundary", "bf16", "tf32", "--time <off|N|auto>"] {
        assert!(help.contains(option), "no {option} in {help}");
    }
    for code in ["6 not enough memory", "129, 130, 143 ended by SIGHUP, Ctrl-C"] {
        assert!(help.contains(code), "no {code} in {help}");
    }
}
