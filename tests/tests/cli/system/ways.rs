// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways to compute a system: several steps in a launch, jumps, the emulator, as a stencil; its adjoint.

use std::fs;

use serde_json::Value;

use super::{WAVE, folder};
use crate::support::Folder;

#[test]
fn a_plan_tells_how_many_steps_a_launch_takes() {
    let folder = Folder::new();
    folder.succeed("example gray-scott --write gray.toml");
    let plan = folder.succeed("plan gray.toml --size 256").stdout;
    let first = plan.lines().next().unwrap();
    assert!(first.ends_with(": u, v, on 256x256 in f32, for NVIDIA H200"), "{plan}");
    assert!(plan.lines().nth(4).unwrap().starts_with("  cuda    chain2d_f32_c"), "{plan}");
    assert!(
        plan.contains("is not a stencil, so kernels of stencils do not take it: it has 2 fields"),
        "{plan}"
    );
    // A wide stencil in f16, which sparse tensor cores sum.
    folder.succeed("example larger-than-life --write bugs.toml");
    let plan = folder.succeed("plan bugs.toml --size 8192").stdout;
    assert!(plan.lines().nth(4).unwrap().starts_with("  sparse  finished2d_f16_r"), "{plan}");
    let all = folder.succeed("plan bugs.toml --size 8192 --explain").stdout;
    assert!(all.contains("  cuda    step2d_f16 ") && all.len() > plan.len(), "{all}");
    let json: Value =
        serde_json::from_str(&folder.succeed("plan gray.toml --size 256 --json -").stdout).unwrap();
    assert!(json["ranked"][0]["chain"].as_u64().unwrap() > 1, "{json}");
    assert_eq!(json["ranked"][0]["family"], "chain", "{json}");
    let ranked = json["ranked"].as_array().unwrap();
    let times: Vec<f64> =
        ranked.iter().map(|way| way["seconds_per_step"].as_f64().unwrap()).collect();
    assert!(times.len() > 5 && times.is_sorted(), "{json}");
    let engines = |list: &str, engine: &str| {
        json[list].as_array().unwrap().iter().any(|way| way["engine"] == engine)
    };
    assert!(engines("ranked", "cuda") && !engines("ranked", "cpu"), "{json}");
    // On this machine there is no GPU, and the cores are ranked.
    let here = folder.succeed("plan gray.toml --size 256 --machine this").stdout;
    assert!(here.contains("  cpu     rows2d_f32") && here.contains("no NVIDIA driver"), "{here}");
    for engine in ["sparse", "dense", "fft", "stencils"] {
        assert!(engines("rejected", engine), "{engine}: {json}");
    }
    folder.succeed("example heat-3d --write heat.toml");
    // A stencil, of which all kernels are ranked.
    let plan = folder.succeed("plan heat.toml --size 512 --machine h200").stdout;
    assert!(plan.contains("fastest first on NVIDIA H200"), "{plan}");
    let text = fs::read_to_string(folder.path("heat.toml")).unwrap();
    let cubic = text.replace("u + dt*laplace(u)", "u + dt*laplace(u) - dt*u^3");
    fs::write(folder.path("heat.toml"), cubic).unwrap();
    let plan = folder.succeed("plan heat.toml --size 512").stdout;
    assert!(plan.lines().nth(4).unwrap().starts_with("  cuda    chain3d_f32_c"), "{plan}");
}

#[test]
fn a_linear_system_is_taken_by_jumps() {
    let folder = Folder::new();
    folder.succeed("example membrane --write drum.toml");
    let plan = folder.succeed("plan drum.toml").stdout;
    assert!(plan.lines().nth(4).unwrap().starts_with("  fft     jump_512x512 "), "{plan}");
    folder.succeed("example gray-scott --write gray.toml");
    let plan = folder.succeed("plan gray.toml").stdout;
    let why = "in the equation of 'u' this is not linear: v^2";
    assert!(plan.lines().any(|line| line.starts_with("  fft ") && line.ends_with(why)), "{plan}");

    // 1,000 steps at once, and one after the other.
    let run = |engine: &str, more: &str| {
        let run = format!("run drum.toml --size 31x40 --steps 1000 --engine {engine} {more}");
        folder.succeed(&run).stdout
    };
    let report = run("fft", "--output jumped.npy --json jumped.json");
    for line in [
        "engine     fft (asked for)\n",
        "arithmetic f64 values, kept as f64, f64 transforms\n",
        "jump       500 steps at once, spectral, on a torus of 64x82; waves grow ",
        "verified   steps 1, 501, 1000, 1240 values each, against the same step in f64: max error ",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
    let json: Value =
        serde_json::from_str(&fs::read_to_string(folder.path("jumped.json")).unwrap()).unwrap();
    assert_eq!(json["jump"]["toruses"], serde_json::json!([[64, 82]]), "{json}");
    run("cpu", "--output stepped.npy");
    let values = |name: &str| folder.read::<f64>(name).1;
    let pairs = values("jumped.npy").into_iter().zip(values("stepped.npy"));
    let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error < 1e-11, "{error:e}");
    assert!(values("stepped.npy").iter().any(|value| value.abs() > 0.01));
    // Files of steps in between end a jump each.
    run("fft", "--quiet --every 250 --output drum-{step:04}.npy");
    let error = values("drum-1000.npy").into_iter().zip(values("stepped.npy"));
    assert!(error.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-11);
}

/// The kernel that a GPU would get, of one step and of several.
#[test]
fn a_system_is_emulated() {
    let folder = Folder::new();
    let small = "example gray-scott --size 24x30 --steps 3 --engine emulate";
    let outcome = folder.succeed(&format!("{small} --verify full --output {{field}}.npy"));
    let has = |text: &str| assert!(outcome.stdout.contains(text), "{text}: {}", outcome.stdout);
    has("engine     emulate (asked for)\n");
    has("kernel     chain2d_f32_c3_64x64\n");
    has("PTX as an H200 would get it, executed on the CPU, every access checked\n");
    has("verified   steps 1 to 3, ");
    assert_eq!(folder.files(), ["u.npy", "v.npy"]);
    let outcome = folder.succeed(&format!("{small} --chain 3"));
    assert!(outcome.stdout.contains("up to 3 steps a launch"), "{}", outcome.stdout);
    let text = "error: engine 'emulate' cannot run this: a grid of 600x600 has 360000 points; of a system it \
                emulates at most 262144, which takes some seconds a step\n  \
                help: `--engine auto` takes an engine that can";
    folder.fail("example gray-scott --size 600 --engine emulate", 2, text);
}

const HEAT: &str = r#"title = "Heat"
[grid]
size = [40, 50]
dtype = "f64"
[time]
dt = 0.1
steps = 60
[stencils]
laplace = { derivative = "laplace", order = 4 }
[fields.warmth]
start = "sin(x/7)*cos(y/9)"
boundary = "x:periodic,y-:reflect,y+:constant=0.5"
next = "warmth + dt*laplace(warmth)"
"#;

/// One field, one sum: what computes stencils computes it, under its own names, and its checkpoints are those of the
/// system.
#[test]
fn a_system_that_is_a_stencil_is_computed_as_one() {
    let folder = Folder::new();
    fs::write(folder.path("heat.toml"), HEAT).unwrap();
    let outcome = folder.succeed("run heat.toml --output {field}.npy --json report.json");
    let has = |text: &str| assert!(outcome.stdout.contains(text), "{text}: {}", outcome.stdout);
    has("stencil    Heat, ");
    has("boundary ");
    has("verified   ");
    assert_eq!(folder.files(), ["heat.toml", "report.json", "warmth.npy"]);
    let values = |name: &str| folder.read::<f64>(name).1;
    let whole = values("warmth.npy");
    // The equation of heat stands beside a second field, which nobody reads.
    let two = HEAT.to_owned() + "[fields.unread]\nstart = 0\nnext = \"unread\"\n";
    fs::write(folder.path("two.toml"), two).unwrap();
    let outcome = folder.succeed("run two.toml --engine cpu --fields warmth --output program.npy");
    assert!(outcome.stdout.starts_with("system     Heat: warmth, unread\n"), "{}", outcome.stdout);
    for (a, b) in whole.iter().zip(values("program.npy")) {
        assert!((a - b).abs() < 1e-13, "{a} {b}");
    }
    let kept = "run heat.toml --checkpoint kept.state --checkpoint-every 20 --output part.npy --engine cpu";
    folder.succeed(&format!("{kept} --until 1e30,40"));
    let resumed =
        folder.succeed("run heat.toml --resume kept.state --output resumed.npy --engine cpu");
    assert!(resumed.stdout.contains(" after 40 of an earlier run"), "{}", resumed.stdout);
    for (a, b) in whole.iter().zip(values("resumed.npy")) {
        assert!((a - b).abs() < 1e-13, "{a} {b}");
    }
    let text = "error: --fuse is for stencils and for systems that are a stencil; this system is not one: it has 2 fields\n  \
                help: leave it out: steps of this system are taken together in launches (--chain), or at once by \
                --engine fft";
    folder.fail("run two.toml --fuse 2", 2, text);
}

/// The adjoint of a file is a file, which is computed and verified.
#[test]
fn the_adjoint_of_a_system_is_a_system() {
    let folder = folder(WAVE);
    let printed = folder.succeed("adjoint wave.toml").stdout;
    let has = |text: &str, part: &str| assert!(text.contains(part), "{part}: {text}");
    has(&printed, "title = \"The adjoint of: A wave\"");
    // Energy is made of p^2, whose derivative needs p.
    has(&printed, "# p is to be given before each step");
    folder.succeed("adjoint wave.toml --by c --steps 12 --write back.toml");
    let written = fs::read_to_string(folder.path("back.toml")).unwrap();
    has(&written, "[fields.gradient_c]");
    has(&written, "steps = 12");
    let run = folder.succeed("run back.toml --json back.json");
    has(&run.stdout, "verified   steps 1, 7, 12");
    folder.fail(
        "adjoint wave.toml --by q",
        2,
        "error: no gradient: there is no coefficient 'q'\n  \
         help: the page docs/how-to/gradients.md lists what is differentiated, and what is not",
    );
}

/// Values of coefficients are written beside an adjoint's file, under its name, and never in the place of a file that the system reads.
#[test]
fn the_adjoint_of_a_system_replaces_none_of_its_files() {
    let text = |file: &str| {
        format!(
            "[grid]\nsize = [12]\n\n[time]\ndt = 0.1\nsteps = 5\n\n\
             [stencils]\nlaplace = {{ derivative = \"xx\", order = 2 }}\n\n\
             [coefficients.c]\nstart = \"{file}\"\n\n\
             [fields.u]\nstart = \"cos(x)\"\nnext = \"u + dt*c*laplace(u)\"\n"
        )
    };
    let folder = folder(&text("c.npy"));
    folder.write("c.npy", &[12], &[0.75f32; 12]);
    let before = fs::read(folder.path("c.npy")).unwrap();
    let printed = folder.succeed("adjoint wave.toml").stdout;
    assert!(printed.starts_with("# adjoint-c.npy: values of the coefficient c"), "{printed}");
    folder.succeed("adjoint wave.toml --write back.toml");
    assert_eq!(fs::read(folder.path("c.npy")).unwrap(), before);
    let written = fs::read_to_string(folder.path("back.toml")).unwrap();
    assert!(written.contains("start = \"back-c.npy\""), "{written}");
    let run = folder.succeed("run back.toml");
    assert!(run.stdout.contains("verified   steps 1, 3, 5"), "{}", run.stdout);
    fs::write(folder.path("wave.toml"), text("back-c.npy")).unwrap();
    let outcome = folder.host("adjoint wave.toml --write back.toml");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("back-c.npy"), "{}", outcome.stderr);
}
