// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems of fields from files: what they write, and what is said of their mistakes.

use std::fs;

use serde_json::Value;

use super::support::Folder;

mod mistakes;
mod sweeps;
mod ways;

const WAVE: &str = r#"title = "A wave"
[grid]
size = [20, 24]
spacing = 0.1
dtype = "f64"

[time]
dt = "0.5*h"
steps = 30

[stencils]
laplace = { derivative = "laplace", order = 4 }

[coefficients.c]
start = "if(y > 1, 1.0, 0.5)"

[fields.p]
start = "exp(-8*((x - 1.2)^2 + (y - 1)^2))"
boundary = "x:periodic,y:reflect"
next = "2*p - prev(p) + (c*dt)^2*laplace(p)"

[fields.energy]
start = 0
next = "energy + dt*p^2"

[[receivers]]
field = "p"
at = [3, "nx/2"]
"#;

fn folder(text: &str) -> Folder {
    let folder = Folder::new();
    fs::write(folder.path("wave.toml"), text).unwrap();
    folder
}

#[test]
fn a_system_is_computed_verified_and_written() {
    let folder = folder(WAVE);
    let run = "run wave.toml --output last-{field}.npy --receivers traces.csv --json report.json";
    let outcome = folder.succeed(run);
    let has = |text: &str| assert!(outcome.stdout.contains(text), "{text}: {}", outcome.stdout);
    has("system     A wave: p, energy\n");
    has("grid       20x24 = 480 points, 30 steps of 0.05\n");
    has("engine     cpu (cuda cannot: no NVIDIA driver was found on this machine)\n");
    has("arithmetic f64 values, f64 arithmetic\n");
    has("verified   steps 1, 16, 30, 960 values each, against the same step in f64: max error ");
    has(" GStencil/s of p, energy\n");
    has(" GB/s effective (48 bytes a point and step, of arrays 4 read, 2 written)\n");
    assert_eq!(
        folder.files(),
        ["last-energy.npy", "last-p.npy", "report.json", "traces.csv", "wave.toml"]
    );
    let (shape, p) = folder.read::<f64>("last-p.npy");
    assert_eq!(shape, [20, 24]);
    let traces = fs::read_to_string(folder.path("traces.csv")).unwrap();
    let lines: Vec<&str> = traces.lines().collect();
    assert_eq!((lines.len(), lines[0]), (32, "t,p[3 12]"));
    assert_eq!(lines[31], format!("1.5,{}", p[3 * 24 + 12]));
    let report = fs::read_to_string(folder.path("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["verified"], &report["bytes_per_point"]), (&true.into(), &48.into()));

    // The wave runs again, with other numbers, and its records become a binary file.
    folder
        .succeed("run wave.toml --steps 4 --size 10x12 --dtype f16 --quiet --receivers traces.npy");
    let (shape, records) = folder.read::<f64>("traces.npy");
    assert_eq!(shape, [5, 2]);
    assert_eq!(records[8], 0.2);
    let unverified = folder.succeed("run wave.toml --verify off").stdout;
    assert!(unverified.contains("verified   NOT VERIFIED, as asked\n"), "{unverified}");
}

#[test]
fn a_field_may_start_from_a_file_beside_the_system() {
    let folder = Folder::new();
    fs::create_dir(folder.path("sub")).unwrap();
    let values: Vec<f32> = (0..6).map(|value| value as f32).collect();
    folder.write("sub/start.npy", &[2, 3], &values);
    let text = "[grid]\nsize = [2, 3]\n[time]\nsteps = 2\n[fields.u]\nstart = \"start.npy\"\nnext = \"2*u\"\n";
    fs::write(folder.path("sub/own.toml"), text).unwrap();
    folder.succeed("run sub/own.toml --output u.npy");
    assert_eq!(folder.read::<f32>("u.npy").1, values.iter().map(|it| 4.0 * it).collect::<Vec<_>>());
    let text = "error: sub/own.toml, line 6, column 10: this holds 2x3 values, the grid has 3x3 points\n  \
                | start = \"start.npy\"\n  |          ^^^^^^^^^\n  \
                help: docs/reference/system-files.md has the keys and the language; `host example --list` names examples";
    folder.fail("run sub/own.toml --size 3", 2, text);
}

/// Heat around a disc, at these places of the file.
const DISC: &str = "[grid]\nsize = [20, 24]\ndtype = \"f64\"\nsolid = \"(x - 11)^2 + (y - 9)^2 < 20\"\n\
                    [time]\nsteps = 9\n[stencils]\nlaplace = { derivative = \"laplace\", order = 2 }\n\
                    [fields.u]\nstart = \"x\"\nwalls = \"no-flux\"\nnext = \"u + 0.2*laplace(u)\"\n";

#[test]
fn obstacles_are_those_of_a_condition_or_a_file() {
    let folder = folder(DISC);
    folder.succeed("run wave.toml --output own.npy");
    // Dark where it is solid: a field that is 0 there, drawn in greys from 0 to 1.
    let picture = DISC.replace("start = \"x\"", "start = 1").replace("+ 0.2*laplace(u)", "");
    fs::write(folder.path("picture.toml"), picture).unwrap();
    let grey =
        "run picture.toml --steps 1 --output mask.png --colours grey --range 0:1 --verify off";
    folder.succeed(grey);
    // Not 0 where it is solid.
    let array = DISC.replace("no-flux", "value=1").replace("u + 0.2*laplace(u)", "0*u");
    fs::write(folder.path("array.toml"), array).unwrap();
    folder.succeed("run array.toml --steps 1 --output mask.npy");
    for name in ["mask.png", "mask.npy"] {
        let text = DISC.replace("(x - 11)^2 + (y - 9)^2 < 20", name);
        fs::write(folder.path("file.toml"), text).unwrap();
        folder.succeed("run file.toml --output file.npy");
        let [own, file] = ["own.npy", "file.npy"].map(|name| folder.read::<f64>(name));
        assert_eq!(own, file, "{name}");
    }
    folder.succeed("run wave.toml --size 5x6 --output small.npy");
    for (from, to, text) in [
        (
            "no-flux",
            "no-slip",
            "line 11, column 10: 'no-slip' is none of no-flux, odd, value=E, bounce=FIELD\n  | walls = \"no-slip\"\n  \
             |          ^^^^^^^\n  help: did you mean odd?",
        ),
        (
            "no-flux",
            "bounce=v",
            "line 11, column 17: there is no field 'v'\n  | walls = \"bounce=v\"\n  |                 ^\n  \
             help: there is u",
        ),
        (
            "order = 2",
            "order = 4",
            "line 12, column 9: this reads 2 points away; beside solid points equations may read one: write a stencil of a stencil \
             as a work field, take stencils of radius 1, or walls = \"value=E\"\n  \
             | next = \"u + 0.2*laplace(u)\"\n  |         ^^^^^^^^^^^^^^^^^^\n  \
             help: docs/reference/system-files.md has the keys and the language; `host example --list` names examples",
        ),
        (
            "< 20",
            "< 2000",
            "line 4, column 10: all points are solid, so that no equation is left\n  \
             | solid = \"(x - 11)^2 + (y - 9)^2 < 2000\"\n  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  \
             help: the condition holds inside of obstacles",
        ),
        (
            "(x - 11)^2 + (y - 9)^2 < 20",
            "small.npy",
            "line 4, column 10: this holds 5x6 values, the grid has 20x24 points\n  | solid = \"small.npy\"\n  \
             |          ^^^^^^^^^\n  \
             help: docs/reference/system-files.md has the keys and the language; `host example --list` names examples",
        ),
    ] {
        assert!(DISC.contains(from), "{from}");
        fs::write(folder.path("file.toml"), DISC.replace(from, to)).unwrap();
        folder.fail("run file.toml", 2, &format!("error: file.toml, {text}"));
    }
}

#[test]
fn examples_are_listed_written_and_computed() {
    let folder = Folder::new();
    let list = folder.succeed("example --list").stdout;
    for name in [
        "heat-plate",
        "layered-wave",
        "acoustic-pml",
        "gray-scott",
        "allen-cahn",
        "advection",
        "life",
        "larger-than-life",
        "blur",
        "heat-3d",
        "lid-driven-cavity",
        "karman",
        "yee",
        "elastic-free-surface",
        "elastic-pml",
        "schroedinger",
        "burgers",
        "shallow-water",
        "fitzhugh-nagumo",
        "kuramoto-sivashinsky",
        "kelvin-helmholtz",
        "membrane",
    ] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
    folder.succeed("example life --write life.toml");
    let from_file = "run life.toml --size 30x40 --steps 5 --output file.npy --quiet";
    assert_eq!(folder.succeed(from_file).stdout, "");
    let built_in = folder.succeed("example life --size 30x40 --steps 5 --output own.npy").stdout;
    assert!(built_in.starts_with("system     Conway's game of life: alive\n"), "{built_in}");
    let [file, own] = ["file.npy", "own.npy"].map(|name| fs::read(folder.path(name)).unwrap());
    assert_eq!(file, own);
    let text = "error: there is no example named 'grayscot'\n  \
                help: did you mean gray-scott? `host example --list` names them";
    folder.fail("example grayscot", 2, text);
}

/// A file that holds what the system starts with makes no difference, another one does, and each field has its own.
#[test]
fn fields_start_from_files() {
    let folder = Folder::new();
    let line = "example gray-scott --size 16x20 --steps 6 --engine cpu --quiet";
    folder.succeed(&format!("{line} --every 3 --output {{field}}-{{step}}.npy"));
    let half = "--steps 3 --input u=u-3.npy,v=v-3.npy --output {field}-again.npy";
    folder.succeed(&format!("{} {half}", line.replace("--steps 6", "")));
    for field in ["u", "v"] {
        let [whole, again] = ["6", "again"]
            .map(|step| fs::read(folder.path(&format!("{field}-{step}.npy"))).unwrap());
        assert!(whole == again, "{field}");
    }
    let text = "error: --input 'u-3.npy' names none of the system's fields, which are u, v\n  \
                help: give a file for each that is to start from one: --input u=FILE,v=FILE";
    folder.fail(&format!("{line} --input u-3.npy"), 2, text);
    let outcome = folder.host("example gray-scott --size 8 --input u=u-3.npy");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
}

/// Heat whose hottest point is held down by an equation of a total.
const TOTALS: &str = r#"title = "Totals"
[grid]
size = [16, 20]
spacing = 0.5
dtype = "f64"
[time]
dt = 0.05
steps = 40
[stencils]
lap = { derivative = "laplace" }
[fields.u]
start = "exp(-((x - 4)^2 + (y - 4)^2))"
boundary = "edge"
next = "u + dt*lap(u) - dt*0.01*hottest*u"
[totals]
mass = "sum(u)*h^2"
hottest = { value = "max(u)", where = "x > 1" }
change = "max(abs(u - prev(u)))"
"#;

#[test]
fn totals_are_told_written_and_end_a_run() {
    let folder = folder(TOTALS);
    let run = "run wave.toml --engine cpu --time off --series totals.csv,10 --json report.json";
    let outcome = folder.succeed(run);
    assert!(outcome.stdout.contains("totals     mass "), "{}", outcome.stdout);
    let rows = fs::read_to_string(folder.path("totals.csv")).unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows[0], "step,t,mass,hottest,change");
    let steps: Vec<&str> = rows[1..].iter().map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(steps, ["0", "10", "20", "30", "40"]);
    let report: Value =
        serde_json::from_str(&fs::read_to_string(folder.path("report.json")).unwrap()).unwrap();
    let last: Vec<f64> = rows[5].split(',').map(|number| number.parse().unwrap()).collect();
    assert_eq!(report["totals"]["mass"].as_f64(), Some(last[2]));
    // One emulated launch a step leaves the bits of the CPU, where kernels round as it does.
    folder.succeed("run wave.toml --engine emulate --time off --series emulated.csv,10 --quiet");
    let emulated = fs::read_to_string(folder.path("emulated.csv")).unwrap();
    let emulated: Vec<f64> =
        emulated.lines().last().unwrap().split(',').map(|it| it.parse().unwrap()).collect();
    assert!((emulated[2] - last[2]).abs() < 1e-12 * last[2], "{emulated:?} {last:?}");
    // A run that goes on has the rows of the one before.
    let some = run.replace("totals.csv", "some.csv");
    folder.succeed(&format!("{some} --checkpoint kept.state --until 1e30,25"));
    folder.succeed(&format!("{some} --resume kept.state"));
    let [whole, resumed] =
        ["totals.csv", "some.csv"].map(|name| fs::read_to_string(folder.path(name)).unwrap());
    assert_eq!(resumed, whole);
    // At the start nothing has changed, which is no end.
    let outcome = folder.succeed("run wave.toml --steps 4000 --until change<1e-4,5 --time off");
    assert!(outcome.stdout.contains("end        after step "), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("end        after step 0:"), "{}", outcome.stdout);
    let text = "error: --until CONDITION is not for stencils\n  help: give a change of a value in a step, such as \
                --until 1e-6; totals are of systems";
    folder.fail("run star2d1r --size 16 --until u<1", 2, text);
}

/// Files of steps that are as long as the values say have the times of the rows of totals, also those that a run has written which
/// was gone on with.
#[test]
fn files_have_the_times_of_steps_of_any_length() {
    let folder = folder(&TOTALS.replace("dt = 0.05", "dt = \"0.06*max(u)\"\ndt_every = 3"));
    let run = "run wave.toml --engine cpu --time off --quiet --series totals.csv,10 --every 10";
    let run = format!("{run} --output u_{{step}}.vti");
    folder.succeed(&format!("{run} --checkpoint kept.state --until 1e30,25"));
    folder.succeed(&format!("{run} --resume kept.state"));
    let rows = fs::read_to_string(folder.path("totals.csv")).unwrap();
    let list = fs::read_to_string(folder.path("u.pvd")).unwrap();
    let mut before = -0.6;
    for row in rows.lines().skip(1) {
        let [step, time] = [0, 1].map(|column| row.split(',').nth(column).unwrap());
        let named = format!("timestep=\"{time}\" part=\"0\" file=\"u_{step}.vti\"");
        assert!(list.contains(&named), "{named}: {list}");
        let bytes = fs::read(folder.path(&format!("u_{step}.vti"))).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(&format!("format=\"ascii\">{time}</DataArray>")), "{time}: {text}");
        // The hottest point grows colder, and steps shorter.
        let time: f64 = time.parse().unwrap();
        assert!(time > before && time < before + 0.7, "{rows}");
        before = time;
    }
}
