// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of mistakes in files and options, and of values that grow.

use std::fs;

use serde_json::Value;

use super::{WAVE, folder};
use crate::support::Folder;

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
