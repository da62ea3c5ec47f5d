// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every option of the manual's table is given to the program: what works has an effect, what is refused is named.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use super::support::{Folder, ProgramOutput};

const WAVE: &str = r#"title = "heat"
[grid]
size = [12, 16]
dtype = "f64"
[time]
dt = 0.1
steps = 4
[constants]
k = 1
[stencils]
lap = { derivative = "laplace" }
[fields.u]
start = "exp(-((x-5)^2+(y-5)^2)/9)"
next = "u + k*dt*lap(u)"
boundary = "periodic"
[totals]
heat = "sum(u)"
[[receivers]]
field = "u"
at = [3, 4]
"#;
/// A system that is a stencil.
const SUM: &str = r#"title = "smoothing"
[grid]
size = [12, 16]
dtype = "f16"
[time]
dt = 0.125
steps = 4
[stencils]
lap = { derivative = "laplace" }
[fields.u]
start = "exp(-((x-5)^2+(y-5)^2)/9)"
next = "u + dt*lap(u)"
boundary = "periodic"
"#;
const NETWORK: &str = "name = \"ours\"\nsource = \"made up\"\nlink_bytes_per_s = 1e9\nlink_latency_s = 1\n\
    fabric_bytes_per_s = 1e9\nfabric_latency_s = 1\nmessage_s = 0\npack_bytes_per_s = 1e12\nexchange_s = 0\n";

/// The problems of the table's columns, as a command line has them.
const COLUMNS: [(&str, &str); 5] = [
    ("run", "star2d1r --size 12x16 --steps 4 --engine cpu --time off"),
    ("run", "wave.toml --engine cpu"),
    ("plan", "star2d1r --size 64x64 --steps 9"),
    ("plan", "wave.toml"),
    ("example", "gray-scott --size 12x16 --steps 4 --engine cpu"),
];

/// How the effect of an option is seen.
#[derive(Clone, Copy)]
enum Sign {
    /// A text on stdout or stderr that is not there without the option.
    Text(&'static str),
    /// Another text on stdout, which without the option is the same each time.
    Other,
    /// Files that are not there, or not the same, without the option.
    Files,
    /// Nothing on stdout.
    Silence,
    /// It ends well: only the time tells of the effect, or a GPU.
    Taken,
}

use Sign::{Files, Other, Silence, Taken, Text};

/// An option with a value, for some columns; what takes the place of the column's own options, with it and without it;
/// and the effect.
type Sample = (&'static str, &'static str, &'static [usize], &'static str, Sign);

const ALL: &[usize] = &[0, 1, 2, 3, 4];
const COMPUTED: &[usize] = &[0, 1, 4];
const STENCILS: &[usize] = &[0, 2];
const SYSTEMS: &[usize] = &[1, 3, 4];
const PICTURE: &str = "--output {field}.png";
const RANKS: &str = "--engine emulate --size 64x256 --gpus 2";
const RANKS_OF_SYSTEMS: &str = "--engine emulate --size 24x32 --gpus 2";
const SCALED: &str = "--gpus 16 --dtype f32 --size 4096";

/// The first sample of an option that is for a column counts.
const SAMPLES: &[Sample] = &[
    ("NAME", "star2d1r", STENCILS, "", Text("star2d1r")),
    ("NAME", "wave.toml", &[1, 3], "", Text("heat: u")),
    ("NAME", "gray-scott", ALL, "", Text("u, v")),
    ("stencil", "star2d1r", STENCILS, "", Text("star2d1r")),
    ("stencil", "wave.toml", ALL, "", Text("heat: u")),
    ("weights", "own.npy", ALL, "", Text("own")),
    // Only where it is refused: the plans of the whole catalogue take long, and have a test of their own.
    ("all", "", ALL, "", Taken),
    ("list", "", ALL, "", Text("layered-wave  ")),
    ("write", "written.toml", ALL, "", Files),
    ("size", "9x10", COMPUTED, "", Text("9x10 = 90 points")),
    ("size", "72x80", ALL, "", Text("72x80")),
    ("steps", "7", COMPUTED, "", Text(" 7 steps")),
    ("steps", "1e5", ALL, "", Other),
    ("dtype", "bf16", &[3], "", Text(" in bf16, for ")),
    ("dtype", "bf16", ALL, "", Text("bf16")),
    ("set", "feed=0.04", &[4], "--output {field}.npy", Files),
    ("set", "k=0.5", ALL, "--output {field}.npy", Files),
    ("dt", "0.05", ALL, "--output {field}.npy", Files),
    ("sweep", "k=0.5:1:2", ALL, "--output {field}-{k}.npy", Text("k = 0.5")),
    ("boundary", "periodic", &[0], "", Text("boundary periodic")),
    ("boundary", "periodic", ALL, "--json -", Other),
    ("engine", "fft", SYSTEMS, "", Text("engine 'fft' cannot run this")),
    ("engine", "fft", ALL, "", Text("fft (asked for)")),
    ("fuse", "3", &[0], "--engine emulate", Text("3 fused")),
    ("fuse", "3", ALL, "", Text("3 steps a sweep")),
    ("kernel", "step", &[1], "--engine emulate", Text("step2d_f64")),
    ("kernel", "wide2d", ALL, "--engine emulate", Text("wide2d_f16")),
    ("chain", "2", &[0], "--engine emulate", Text("2 chained")),
    ("chain", "2", ALL, "--engine cpu", Text("_c2")),
    ("jump", "2", SYSTEMS, "", Text("it makes no jumps of many steps")),
    ("jump", "2", ALL, "--engine fft", Text("2 steps at once")),
    ("input", "grid.npy", &[1], "--output {field}.npy", Files),
    ("input", "v=grid.npy", &[4], "--output {field}.npy", Files),
    ("input", "grid.npy", ALL, "--json -", Text("\"input\": \"grid.npy\"")),
    ("start", "gauss", ALL, "--output u.npy", Files),
    ("seed", "3", ALL, "--output u.npy", Files),
    ("receivers", "records.csv", &[4], "", Text("the system has no receivers to record")),
    ("receivers", "records.csv", ALL, "", Files),
    ("series", "totals.csv", &[4], "", Text("the system has no totals to write")),
    ("series", "totals.csv,2", ALL, "", Files),
    ("verify", "off", &[0], "", Text("NOT VERIFIED")),
    ("verify", "full", ALL, "", Text("verified   steps 1 to 4, ")),
    ("time", "2", ALL, "--json -", Text("\"repetitions\": 2,")),
    ("machine", "a100", ALL, "", Text("A100")),
    ("explain", "", &[3], "", Other),
    ("explain", "", ALL, "", Text("layouts not taken")),
    ("text", "", ALL, "", Text("\nA''\n")),
    ("png", "layout.png", ALL, "", Files),
    ("json", "report.json", ALL, "", Files),
    ("quiet", "", ALL, "", Silence),
    ("print-toml", "", ALL, "", Text("# Run by `host run FILE.toml`.")),
    ("gpus", "2", &[1, 4], "--engine emulate --size 24x32", Text("2 ranks as ")),
    ("gpus", "2", &[0], "--engine emulate --size 64x256", Text("2 ranks as ")),
    ("gpus", "16", ALL, "--dtype f32 --size 4096", Text("on 16 GPUs of NVIDIA H200")),
    ("split", "2x2", &[1, 4], "--engine emulate --size 24x32 --gpus 4", Text("4 ranks as 2x2")),
    ("split", "2x2", ALL, "--engine emulate --size 128x256 --gpus 4", Text("4 ranks as 2x2")),
    ("exchange", "host", &[1, 4], RANKS_OF_SYSTEMS, Taken),
    ("exchange", "host", ALL, RANKS, Taken),
    (
        "halo",
        "8",
        &[1, 4],
        "--engine emulate --size 24x32 --gpus 2 --chain 1",
        Text("every 8 steps"),
    ),
    ("halo", "8", ALL, "--engine emulate --size 64x256 --gpus 2 --steps 16", Text("every 8 steps")),
    ("edges", "never", &[1, 4], RANKS_OF_SYSTEMS, Taken),
    ("edges", "first", ALL, RANKS, Text("edges first")),
    ("nodes", "4", ALL, SCALED, Text("4 of 4 GPUs")),
    ("network", "ours.toml", ALL, SCALED, Text("(made up)")),
    ("weak", "", ALL, SCALED, Text("weak scaling, ")),
    ("output", "{field}.npy", ALL, "", Files),
    ("stride", "2", ALL, "--output {field}.npy", Files),
    ("slice", "y=3", ALL, "--output {field}.npy", Files),
    ("fields", "u", &[0, 1], PICTURE, Taken),
    ("fields", "v", ALL, PICTURE, Files),
    ("colours", "grey", ALL, PICTURE, Files),
    ("range", "-9:9", ALL, PICTURE, Files),
    ("every", "2", ALL, "--output {field}_{step}.npy", Files),
    ("checkpoint", "kept.state", ALL, "--checkpoint-every 2", Files),
    ("checkpoint-every", "2", ALL, "--checkpoint kept.state", Taken),
    ("resume", "half.state", ALL, "", Text(" after 2 of an earlier run")),
    ("check-finite", "1", ALL, "", Taken),
    ("until", "1e30,1", ALL, "", Text("steady     after step 1")),
];

/// The options of a command line, by name.
type Line = BTreeMap<String, String>;

fn line(text: &str) -> Line {
    let mut line = Line::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let (option, value) = match word.strip_prefix("--") {
            None => ("NAME", word),
            Some(option) => (option, words.next_if(|next| !next.starts_with("--")).unwrap_or("")),
        };
        line.insert(option.to_owned(), value.to_owned());
    }
    line
}

fn text(command: &str, line: &Line) -> String {
    let mut text = command.to_owned();
    for (option, value) in line {
        text += &match (option.as_str(), value.as_str()) {
            ("NAME", value) => format!(" {value}"),
            (option, "") => format!(" --{option}"),
            (option, value) => format!(" --{option}={value}"),
        };
    }
    text
}

/// What a command line leaves in a folder with the files that the samples name.
fn outcome(command: &str, line: &Line) -> (ProgramOutput, BTreeMap<String, Vec<u8>>) {
    let folder = Folder::new();
    fs::write(folder.path("wave.toml"), WAVE).unwrap();
    fs::write(folder.path("sum.toml"), SUM).unwrap();
    fs::write(folder.path("ours.toml"), NETWORK).unwrap();
    folder.write("own.npy", &[1, 3], &[0.25, 0.5, 0.25]);
    folder.write("grid.npy", &[12, 16], &[0.5; 192]);
    if line.contains_key("resume") {
        let mut first = line.clone();
        first.remove("resume");
        first.extend(self::line("--checkpoint half.state --checkpoint-every 2 --until 1e30,2"));
        folder.succeed(&text(command, &first));
    }
    let before = folder.files();
    let outcome = folder.host(&text(command, line));
    let new = folder.files().into_iter().filter(|name| !before.contains(name));
    let read = |name: String| (name.clone(), fs::read(folder.path(&name)).unwrap());
    (outcome, new.map(read).collect())
}

/// Gives an option to a column's command, which makes this of it; what is wrong with that.
fn wrong(column: usize, option: &str, cell: &str) -> Option<String> {
    let of = |sample: &&Sample| sample.0 == option && sample.2.contains(&column);
    let Some((_, value, _, besides, sign)) = SAMPLES.iter().find(of) else {
        return Some("there is no sample of it".into());
    };
    let (command, own) = COLUMNS[column];
    let mut with = line(own);
    let replaces = match option {
        "stencil" => true,
        "weights" | "all" => [0, 2].contains(&column),
        "list" => return check(command, &Line::new(), &line("--list"), *sign),
        "write" => {
            return check(command, &Line::new(), &line("gray-scott --write written.toml"), *sign);
        }
        _ => false,
    };
    if replaces {
        with.remove("NAME");
    }
    if cell == "works" {
        with.extend(line(besides));
    }
    let mut without = with.clone();
    without.remove(option);
    with.insert(option.to_owned(), (*value).to_owned());
    match cell {
        "works" => check(command, &without, &with, *sign),
        _ => {
            let (outcome, files) = outcome(command, &with);
            let named = outcome.stderr.contains(&format!("--{option}"));
            let refused = outcome.code == Some(2) && named && files.is_empty();
            let why = (!refused).then(|| format!("`{}`: {outcome:?}", text(command, &with)));
            why.or_else(|| if cell == "sums" { of_sum(column, option) } else { None })
        }
    }
}

/// The effect of an option on a system that is a stencil is that on the stencil of the column before.
fn of_sum(column: usize, option: &str) -> Option<String> {
    let of = |sample: &&Sample| sample.0 == option && sample.2.contains(&(column - 1));
    let (_, value, _, besides, sign) = SAMPLES.iter().find(of).expect("stencils have one");
    let mut without = line("sum.toml");
    without.extend(line(besides));
    let mut with = without.clone();
    with.insert(option.to_owned(), (*value).to_owned());
    check(COLUMNS[column].0, &without, &with, *sign)
}

/// Whether an option has its effect.
fn check(command: &str, without: &Line, with: &Line, sign: Sign) -> Option<String> {
    let (plain, files_without) = outcome(command, without);
    let (given, files_with) = outcome(command, with);
    let has = |outcome: &ProgramOutput, text| {
        outcome.stdout.contains(text) || outcome.stderr.contains(text)
    };
    let ends_well = given.code == Some(0);
    let works = match sign {
        Text(text) => has(&given, text) && !has(&plain, text),
        Other => ends_well && given.stdout != plain.stdout,
        Files => ends_well && files_with != files_without,
        Silence => ends_well && given.stdout.is_empty() && !plain.stdout.is_empty(),
        Taken => ends_well,
    };
    (!works).then(|| format!("`{}`: {given:?}, without it {plain:?}", text(command, with)))
}

/// The table of the manual: options, each with its cells.
fn table() -> Vec<(String, Vec<String>)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/command-line.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| option | taken by |")).skip(2);
    let row = |line: &str| {
        let mut cells = line.split('|').map(|cell| cell.trim().to_owned());
        let option = cells.nth(1).unwrap();
        let taken = cells.next().unwrap();
        // Of a stencil and of a system, of `run` and of `plan`; then `example`, which computes systems.
        let of = |command: &str| {
            let own = taken.split(", ").find(|part| part.split(' ').next() == Some(command));
            match own.map(|part| part.trim_start_matches(command).trim()) {
                None => ["", ""],
                Some("(stencils)") => ["works", "refused"],
                Some("(systems)") => ["refused", "works"],
                Some("(sums)") => ["works", "sums"],
                Some(_) => ["works", "works"],
            }
        };
        let cells = [of("run"), of("plan")].concat().into_iter().chain([of("example")[1]]);
        let option = option.trim_matches('`').trim_start_matches("--").to_owned();
        (option, cells.map(str::to_owned).collect())
    };
    rows.take_while(|line| line.starts_with('|')).map(row).collect()
}

#[test]
fn every_option_works_or_is_refused() {
    let table = table();
    assert!(table.len() > 40, "{table:?}");
    let mut cases = Vec::new();
    for (option, cells) in &table {
        for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            if option != "all" || cell != "works" {
                cases.push((option.as_str(), column, cell.as_str()));
            }
        }
    }
    let parts = cases.chunks(cases.len().div_ceil(4));
    let failed: Vec<String> = thread::scope(|scope| {
        let tried = |&(option, column, cell): &(&str, usize, &str)| {
            wrong(column, option, cell)
                .map(|why| format!("{option} of {}: {why}", COLUMNS[column].0))
        };
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().filter_map(tried).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
