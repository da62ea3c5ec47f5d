// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the pages show of the terminal is what the program prints: each block of text that begins with `$ host` is run
//! again, and compared but for what depends on the machine and the moment. Files that a page shows, as blocks of TOML whose
//! first line is a comment with their name, lie in the folder where its commands run.

use std::fs;
use std::path::{Path, PathBuf};

use super::support::Folder;

const PAGES: [&str; 3] = [
    "docs/tutorials/first-picture.md",
    "docs/tutorials/own-stencil.md",
    "docs/tutorials/system.md",
];

/// Of these lines every word with a digit may be another: times, speeds, errors of rounding, cores.
const MEASURED: [&str; 8] = [
    "device ",
    "verified ",
    "time ",
    "predicted ",
    "speed ",
    "bandwidth ",
    "ok       CPU",
    "ok       memory",
];
/// Of these all but the name: the instructions of the machine, and what the program was built with.
const BUILT: [&str; 4] = ["kernel ", "device compiler", "GPU kernels", "MPI "];
/// What comes after depends on whether there is a driver, and kernels.
const REASON: &str = " cannot: ";
/// What comes after the seconds that are predicted.
const SOURCE: &str = " s (";

/// A page of the book.
fn text(page: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page)).unwrap()
}

/// The commands of a page, each with what is printed.
fn recordings(page: &str) -> Vec<(String, String)> {
    let page = text(page);
    let blocks = page.split("```text\n$ host ").skip(1);
    let recording = |block: &str| {
        let (block, _) = block.split_once("\n```").expect("an end of the block");
        let (command, printed) = block.split_once('\n').expect("what is printed");
        (command.to_owned(), masked(printed))
    };
    blocks.map(recording).collect()
}

/// The files that a page shows, each with its name.
fn files(page: &str) -> Vec<(String, String)> {
    let page = text(page);
    let blocks = page.split("```toml\n# ").skip(1);
    let file = |block: &str| {
        let (file, _) = block.split_once("\n```").expect("an end of the block");
        let name = file.lines().next().filter(|name| name.ends_with(".toml"))?;
        Some((name.to_owned(), format!("# {file}\n")))
    };
    blocks.filter_map(file).collect()
}

/// Without what may be another.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // Where its figures come from depends on whether speeds are kept for the machine.
        let (predicted, _) = line.split_once(SOURCE).unwrap_or((line, ""));
        let line = if line.starts_with("predicted ") { predicted } else { line };
        let without_state =
            line.trim_start_matches("missing").trim_start_matches("ok").trim_start();
        if let Some(name) = BUILT.iter().find(|name| without_state.starts_with(**name)) {
            masked += &format!("{name} #\n");
            // What to do where it is missing.
            lines.next_if(|next| next.trim_start().starts_with("help: "));
        } else if MEASURED.iter().any(|start| line.starts_with(start)) {
            let word = |word: &str| match word.contains(|c: char| c.is_ascii_digit()) {
                true => "#".to_owned(),
                false => word.to_owned(),
            };
            masked += &line.split_whitespace().map(word).collect::<Vec<String>>().join(" ");
            masked += "\n";
        } else {
            let (kept, _) = line.split_once(REASON).unwrap_or((line, ""));
            masked += &format!("{}\n", kept.trim_end());
        }
    }
    masked
}

#[test]
fn pages_show_what_the_program_prints() {
    let mut compared = 0;
    for page in PAGES {
        for (command, shown) in recordings(page) {
            let folder = Folder::new();
            for (name, file) in files(page) {
                fs::write(folder.path(&name), file).unwrap();
            }
            let outcome = folder.host(&command);
            let printed = masked(&(outcome.stdout.clone() + &outcome.stderr));
            if command == "doctor" && !printed.contains("missing  NVIDIA driver") {
                println!("not compared, since there is a driver: {command}");
                continue;
            }
            assert_eq!(printed, shown, "{page}: $ host {command}\n{}", outcome.stdout);
            compared += 1;
        }
    }
    assert!(compared >= 6, "runs and errors of {PAGES:?} are compared");
}

#[test]
fn what_is_masked_is_no_more_than_that() {
    let run = "engine     cpu (sparse and cuda cannot: no driver)\nkernel     direct_avx2\ntime       0.5 s (median of 9 \
               repetitions)\ngrid       9x9";
    let expected = "engine     cpu (sparse and cuda\nkernel  #\ntime # s (median of # repetitions)\ngrid       9x9\n";
    assert_eq!(masked(run), expected);
    let doctor = "ok       memory          21.1 GiB free\nmissing  GPU kernels     none\n      help: build\nmissing  x";
    assert_eq!(masked(doctor), "ok memory # GiB free\nGPU kernels #\nmissing  x\n");
}

/// The pages with commands to type.
fn pages_with_commands() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec![root.join("README.md")];
    for folder in ["tutorials", "how-to", "reference", "explanation", "benchmarks", "developers"] {
        let entries = fs::read_dir(root.join("docs").join(folder)).unwrap();
        pages.extend(entries.map(|entry| entry.unwrap().path()));
    }
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages.sort();
    pages
}

/// The arguments of a line that begins with the program, without quotes and comments.
fn arguments(line: &str) -> Option<String> {
    let line = line.trim_start_matches("target/release/").strip_prefix("host ")?;
    let line = line.split(" #").next().unwrap_or_default().split(" | ").next().unwrap_or_default();
    Some(line.replace(['\'', '"'], "").trim().to_owned())
}

/// Every `host run` and `host plan` in a block of commands has options that the program takes. What is run, is not computed.
#[test]
fn commands_of_pages_are_taken() {
    let folder = Folder::new();
    let mut taken = 0;
    for page in pages_with_commands() {
        let text = fs::read_to_string(&page).unwrap();
        let blocks = text.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
        for arguments in blocks.flat_map(str::lines).filter_map(arguments) {
            let is_named = !arguments.contains("NAME") && !arguments.contains("FILE");
            let command = match arguments.split(' ').next() {
                Some("run") if is_named => format!("{arguments} --print-toml"),
                Some("plan") if is_named && !arguments.contains("ours.toml") => arguments,
                _ => continue,
            };
            let outcome = folder.host(&command);
            assert_eq!(outcome.code, Some(0), "{}: host {command}: {outcome:?}", page.display());
            taken += 1;
        }
    }
    assert!(taken > 40, "{taken} commands");
}
