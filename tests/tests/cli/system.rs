// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems of fields from files: what they write, and what is said of their mistakes.

use std::fs;

use serde_json::Value;

use super::support::Folder;

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

/// A run for each value, with files named by it, as so many command lines would write them.
#[test]
fn a_sweep_has_files_for_each_value() {
    let folder = folder(
        &WAVE.replace("[time]", "[constants]\nk = 1\n\n[time]").replace("dt*p^2", "k*dt*p^2"),
    );
    let sweep =
        "run wave.toml --steps 3 --sweep k=0.5:1:2 --output {k}-{field}.npy --receivers {k}.csv";
    let stdout = folder.succeed(sweep).stdout;
    let both = [stdout.find("k = 0.5\n"), stdout.find("k = 1\n")].map(Option::unwrap);
    assert!(both[0] < both[1] && stdout.matches("verified").count() == 2, "{stdout}");
    let why = "one after the other: rows2d_f64 takes one system at a time\n";
    assert!(stdout.starts_with(why), "{stdout}");
    let names =
        ["0.5-energy.npy", "0.5-p.npy", "0.5.csv", "1-energy.npy", "1-p.npy", "1.csv", "wave.toml"];
    assert_eq!(folder.files(), names);
    folder.succeed("run wave.toml --steps 3 --set k=0.5 --output own-{field}.npy");
    let energy = folder.read::<f64>("own-energy.npy");
    assert_eq!(folder.read::<f64>("0.5-energy.npy"), energy);
    assert_ne!(folder.read::<f64>("1-energy.npy"), energy);
    let one = "error: last.csv is one file for all values of k\n  \
               help: let {k} stand for the value: --receivers last-{k}.csv";
    folder.fail("run wave.toml --sweep k=0.5:1:2 --receivers last.csv", 2, one);
    let other = folder.host("run wave.toml --quiet --sweep q=1:2:2");
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("the system has no constant 'q'"), "{}", other.stderr);
    assert!(other.stderr.contains("warning: the run with q = 1 is the last one; it failed"));
    let other = folder.host("run wave.toml --sweep k=1:2");
    assert!(other.stderr.contains("give NAME=FROM:TO:COUNT, as in D=0.1:1:10"), "{}", other.stderr);
}

/// Each has the files and the report that it has alone, and all are computed by launches of one kernel.
#[test]
fn a_sweep_of_small_grids_is_computed_side_by_side() {
    let folder = folder(
        &WAVE.replace("[time]", "[constants]\nk = 1\n\n[time]").replace("dt*p^2", "k*dt*p^2"),
    );
    let run = "run wave.toml --steps 4 --engine emulate";
    let sweep = format!(
        "{run} --sweep k=0.5:1:3 --output {{k}}-{{field}}.npy --receivers {{k}}.csv --json {{k}}.json"
    );
    let stdout = folder.succeed(&sweep).stdout;
    let places = ["k = 0.5\n", "k = 0.75\n", "k = 1\n"].map(|name| stdout.find(name).unwrap());
    assert!(places.is_sorted(), "{stdout}");
    for told in ["verified", "3 systems side by side", "a step of 3 side by side is predicted"] {
        assert_eq!(stdout.matches(told).count(), 3, "{told}: {stdout}");
    }
    for value in ["0.5", "0.75", "1"] {
        let alone = format!(
            "{run} --set k={value} --output own-{{field}}.npy --receivers own.csv --json own.json"
        );
        folder.succeed(&alone);
        for file in ["-energy.npy", "-p.npy", ".csv"] {
            let of = |name: &str| fs::read(folder.path(&format!("{name}{file}"))).unwrap();
            assert_eq!(of(value), of("own"), "{value}{file}");
        }
        let members = [value, "own"].map(|name| {
            let text = fs::read_to_string(folder.path(&format!("{name}.json"))).unwrap();
            let report: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(report["verified"], true, "{text}");
            report["side_by_side"].as_u64().unwrap()
        });
        assert_eq!(members, [3, 1]);
    }
    let stdout = folder.succeed(&format!("{run} --sweep k=0.5:1:2 --time 1")).stdout;
    assert!(
        stdout.starts_with("one after the other: --time measures each by itself\n"),
        "{stdout}"
    );
}

/// Of those beside a run that fails each is told, and kept.
#[test]
fn a_run_that_fails_leaves_those_beside_it() {
    let text = "[grid]\nsize = [8, 8]\n[time]\ndt = 1\nsteps = 200\n[constants]\nk = 1\n[fields.u]\nstart = \"1\"\nnext = \"k*u*u\"\n";
    let folder = folder(text);
    let sweep = "run wave.toml --engine emulate --verify off --sweep k=0.5:2:2 --output {k}.npy";
    let done = folder.host(sweep);
    assert_eq!(done.code, Some(4), "{}", done.stderr);
    assert!(done.stderr.contains("warning: the run with k = 2 failed"), "{}", done.stderr);
    assert_eq!(folder.files(), ["0.5.npy", "wave.toml"]);
}

/// Places, curves and earlier levels lie in files beside the system.
#[test]
fn what_a_system_takes_from_files_is_told_with_its_row() {
    let folder = folder(&WAVE.replace("at = [3, \"nx/2\"]", "at = \"places.csv\""));
    fs::write(folder.path("places.csv"), "y,x\n3,12\n4,24\n").unwrap();
    let text = "error: places.csv: line 3: 24 is outside the points 0 to 23 of this axis\n  \
                help: expected rows of numbers: a .csv, parted by commas, or a .npy array; docs/reference/system-files.md has which columns";
    folder.fail("run wave.toml", 2, text);
    fs::write(folder.path("places.csv"), "y,x\n3,12\n4,2.5\n").unwrap();
    folder.succeed("run wave.toml --receivers traces.csv");
    let traces = fs::read_to_string(folder.path("traces.csv")).unwrap();
    assert_eq!(traces.lines().next(), Some("t,p[3 12],p[4 2.5]"));
    let expression = WAVE.replace("field = \"p\"\nat", "value = \"max(p, energy)\"\nat");
    fs::write(folder.path("wave.toml"), expression).unwrap();
    folder.succeed("run wave.toml --receivers traces.csv");
    let traces = fs::read_to_string(folder.path("traces.csv")).unwrap();
    assert_eq!(traces.lines().next(), Some("t,\"max(p, energy)[3 12]\""));
}

/// Before the steps by how much waves grow, after them by how much values did: of one level, two levels, and of
/// equations that are not linear, which are only watched.
#[test]
fn steps_that_are_unstable_are_told() {
    let folder = Folder::new();
    let unstable = "warning: the system is unstable: a step grows waves of 2.0 points along y and 2.0 points along x \
                    by up to ";
    let watched = "warning: the values of 'u' have grown ";
    for (next, told) in [
        (
            "u + 0.3*laplace(u)",
            [unstable, "1.4000, that is 4.1e14 times in 100 steps; take a smaller dt"],
        ),
        (
            "2*u - prev(u) + 0.81*laplace(u)",
            [unstable, "4.2444, that is 6.0e62 times in 100 steps; "],
        ),
        ("u + 0.3*laplace(u) - 1e-40*u^3", [watched, " times, and neighbours have opposite signs"]),
        ("u + 0.2*laplace(u) - 1e-40*u^3", [""; 2]),
        ("2*u - prev(u) + 0.4*laplace(u)", [""; 2]),
    ] {
        let text = format!(
            "[grid]\nsize = [16, 20]\ndtype = \"f64\"\n[time]\nsteps = 100\n[stencils]\n\
             laplace = {{ derivative = \"laplace\", order = 2 }}\n[fields.u]\nstart = \"random(1)\"\n\
             boundary = \"periodic\"\nnext = \"{next}\"\n"
        );
        fs::write(folder.path("own.toml"), text).unwrap();
        for how in ["", " --quiet"] {
            let output = folder.host(&format!("run own.toml --engine cpu --json own.json{how}"));
            assert_eq!(output.code, Some(0), "{}", output.stderr);
            assert!(
                told.iter().all(|part| output.stderr.contains(part)),
                "{next}: {}",
                output.stderr
            );
            assert_eq!(output.stderr.contains("warning"), !told[0].is_empty(), "{}", output.stderr);
            let values = output.stdout.contains("\nvalues     |u| was at most ");
            assert_eq!(values, how.is_empty(), "{}", output.stdout);
        }
        let report = fs::read_to_string(folder.path("own.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["growth"].is_object(), told[0] == unstable, "{next}");
        let grown = report["values"][0]["after"].as_f64() > Some(1e10);
        assert_eq!(grown, !told[0].is_empty(), "{next}");
    }
}

#[test]
fn a_mistake_in_a_file_is_shown_at_its_place() {
    for (from, to, text) in [
        (
            "prev(p)",
            "prv(p)",
            "line 20, column 15: there is no 'prv'\n  \
             | next = \"2*p - prv(p) + (c*dt)^2*laplace(p)\"\n  |               ^^^\n  \
             help: did you mean prev, prev2?",
        ),
        (
            "spacing",
            "spaceing",
            "line 4, column 1: there is no key 'spaceing' here\n  | spaceing = 0.1\n  | ^^^^^^^^\n  \
             help: did you mean spacing?",
        ),
        (
            "steps = 30",
            "",
            "line 7, column 1: the key 'steps' is missing here\n  | [time]\n  | ^^^^^^\n  \
             help: or until = 2.5, the time at which a run ends",
        ),
        (
            "x:periodic",
            "x:periodical",
            "line 19, column 13: 'periodical' is none of zero, constant=V, periodic, reflect, symmetric, edge, flux=G, odd, odd-reflect, robin=A,B,C\n  \
             | boundary = \"x:periodical,y:reflect\"\n  |             ^^^^^^^^^^^^^^^^^^^^^^\n  \
             help: did you mean periodic?",
        ),
        (
            "0.5*h",
            "0.5*h - h",
            "line 8, column 7: the time step is -0.05; it must be above 0\n  | dt = \"0.5*h - h\"\n  \
             |       ^^^^^^^^^\n  \
             help: docs/reference/system-files.md has the keys and the language; `host example --list` names examples",
        ),
        (
            "field = \"p\"",
            "field = \"q\"",
            "line 27, column 10: there is no field 'q'\n  | field = \"q\"\n  |          ^\n  \
             help: there is p, energy",
        ),
        (
            "nx/2",
            "nx",
            "line 28, column 11: 24 is outside the points 0 to 23 of this axis\n  | at = [3, \"nx\"]\n  \
             |           ^^\n  \
             help: docs/reference/system-files.md has the keys and the language; `host example --list` names examples",
        ),
        (
            "\"laplace\", order = 4",
            "\"laplace\", order = 3",
            "line 12, column 27: order 3: give an even number from 2 to 16\n  \
             | laplace = { derivative = \"laplace\", order = 3 }\n  |                           ^^^^^^^\n  \
             help: docs/reference/system-files.md has the keys and the language; `host example --list` names examples",
        ),
        (
            "[fields.energy]",
            "[fields.dt]",
            "line 22, column 9: 'dt' is a number that every system has already\n  | [fields.dt]\n  \
             |         ^^\n  \
             help: docs/reference/system-files.md has the keys and the language; `host example --list` names examples",
        ),
    ] {
        assert!(WAVE.contains(from), "{from}");
        let folder = folder(&WAVE.replace(from, to));
        folder.fail("run wave.toml", 2, &format!("error: wave.toml, {text}"));
    }
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
fn values_that_grow_without_end_are_named() {
    let folder = folder(&WAVE.replace("energy + dt*p^2", "1000*(energy + 1)"));
    let text = "warning: values grow: a step grows a constant by up to 1000.0000, that is 1.0e600 times in 200 \
                steps, and values may pass 1.8e308, the most that f64 holds, from about step 103 on; take fewer \
                steps or a wider dtype, if that is meant\nerror: after step 103 the field 'energy' holds inf at \
                (y, x) = (0, 0); after step 102 all values were finite\n  help: take a smaller dt, fewer steps, or a wider dtype";
    folder.fail("run wave.toml --steps 200 --verify off --output last-{field}.npy", 4, text);
    assert_eq!(folder.files(), ["wave.toml"]);
}

#[test]
fn options_that_make_no_sense() {
    let folder = folder(WAVE);
    for (options, text) in [
        (
            "--boundary zero",
            "--boundary is not for systems of fields\n  \
             help: put it into the system's file: boundary = \"...\" under [fields.NAME]",
        ),
        (
            "--output last.npy",
            "last.npy is one file for several fields: p, energy\n  \
             help: let {field} stand for the name, such as --output last-{field}.npy",
        ),
        (
            "--engine sparse",
            "engine 'sparse' cannot run this: sparse tensor cores take systems in f16 and bf16, not in f64\n  \
             help: `--engine auto` takes an engine that can",
        ),
        (
            "--engine dense",
            "engine 'dense' cannot run this: systems of fields run on cuda, sparse, cpu, fft and emulate\n  \
             help: `--engine auto` takes an engine that can",
        ),
        (
            "--engine fft",
            "engine 'fft' cannot run this: receivers record each step, and a jump skips steps\n  \
             help: `--engine auto` takes an engine that can",
        ),
        (
            "--engine cpu --chain 60",
            "engine 'cpu' cannot run this: of 20 rows at most 5 steps are taken together\n  \
             help: `--engine auto` takes an engine that can",
        ),
        (
            "--output {field}.npy --receivers p.npy",
            "--output and --receivers both name p.npy\n  help: give each a file of its own",
        ),
        (
            "--dtype tf32",
            "the element type, line 1, column 1: systems are stored as f64, f32, f16 or bf16\n  | tf32\n  \
             | ^^^^\n  \
             help: docs/reference/system-files.md has the keys and the language; `host example --list` names examples",
        ),
    ] {
        folder.fail(&format!("run wave.toml {options}"), 2, &format!("error: {text}"));
    }
    let text = "error: the system has no receivers to record\n  \
                help: a system's file has them under [[receivers]]: field = \"u\", at = [y, x]";
    folder.fail("example gray-scott --receivers traces.csv", 2, text);
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
