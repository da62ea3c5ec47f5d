// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table knows every option, the manual shows the table.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use super::super::Cli;
use super::*;

/// The commands of the table.
const COMMANDS: [&str; 3] = ["run", "plan", "example"];

/// The options of a command but for those that every program has.
fn arguments(command: &str) -> Vec<String> {
    let program = Cli::command();
    let command = program.find_subcommand(command).unwrap();
    let own =
        command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
    own.map(|arg| option(arg).to_owned()).collect()
}

#[test]
fn every_option_of_a_command_has_a_row_and_no_row_is_of_none() {
    for command in COMMANDS {
        let known = arguments(command);
        for option in &known {
            let row = OPTIONS.iter().find(|row| row.option == *option);
            let row = row.unwrap_or_else(|| panic!("`host {command}`: no row for {option}"));
            assert_ne!(row.of(command)[1], Missing, "`host {command}`: {option}");
        }
        for row in OPTIONS.iter().filter(|row| row.of(command) != NONE) {
            assert!(known.iter().any(|known| known == row.option), "{command} {}", row.option);
        }
    }
    for (at, row) in OPTIONS.iter().enumerate() {
        assert!(OPTIONS[..at].iter().all(|other| other.option != row.option), "{}", row.option);
    }
}

/// What the help says of an option of the table: its value, and its first paragraph.
fn help(option: &str) -> String {
    let program = Cli::command();
    let find = |command: &str| {
        let command = program.find_subcommand(command)?;
        command.get_arguments().find(|arg| super::option(arg) == option).cloned()
    };
    let arg = COMMANDS.into_iter().find_map(find).expect("an option of a command");
    let takes_value = arg.get_action().takes_values() && arg.get_long().is_some();
    let value = arg.get_value_names().filter(|_| takes_value).map(|names| names[0].as_str());
    let value = value.map(|name| format!("`{name}`: ")).unwrap_or_default();
    let help = arg.get_help().expect("a help text").to_string();
    let paragraph = help.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    format!("{value}{}", words.join(" ")).replace('|', "\\|").replace('*', "\\*")
}

/// The table as the manual has it.
fn page() -> String {
    let mut text = String::from(
        "| option | taken by | value, and what it does |\n\
         | --- | --- | --- |\n",
    );
    for row in &OPTIONS {
        let name =
            if row.option == "NAME" { "`NAME`".into() } else { format!("`--{}`", row.option) };
        let taken = |command: &str| match row.of(command) {
            [Missing, Works] | [Works, Works] => Some(command.to_owned()),
            [Works, Refused(_) | Missing] => Some(format!("{command} (stencils)")),
            [Works, OfSums(_)] => Some(format!("{command} (sums)")),
            [Refused(_), Works] => Some(format!("{command} (systems)")),
            _ => None,
        };
        let commands: Vec<String> = COMMANDS.into_iter().filter_map(taken).collect();
        text += &format!("| {name} | {} | {} |\n", commands.join(", "), help(row.option));
    }
    text
}

/// Renewed by `UPDATE_PAGES=1 cargo test -p stencil --lib the_manual_has_the_table`.
#[test]
fn the_manual_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/command-line.md");
    let manual = fs::read_to_string(&path).unwrap();
    let table = page();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        let (before, rest) = manual.split_once("| option | taken by").expect("a table");
        let (_, after) = rest.split_once("\n\n").expect("an end of the table");
        fs::write(&path, format!("{before}{table}\n{after}")).unwrap();
    }
    let manual = fs::read_to_string(&path).unwrap();
    assert!(manual.contains(&table), "{} has another table than\n{table}", path.display());
}

/// The refusal of a command line, as its headline and what to do.
fn refused(line: &str) -> Option<(String, String)> {
    let program = Cli::command();
    let line = format!("host {line}");
    let matches = program.clone().try_get_matches_from(line.split_whitespace()).unwrap();
    let failure = check(&program, &matches).err()?;
    assert_eq!(failure.exit_code(), 2);
    Some((failure.to_string(), super::super::remedy(&failure)))
}

#[test]
fn what_is_refused_is_named_with_what_to_do_instead() {
    for (line, headline, help) in [
        (
            "run a.toml --boundary zero",
            "--boundary is not for systems",
            "boundary = \"...\" under [fields.",
        ),
        (
            "run --stencil a.TOML --seed 0",
            "--seed is not for systems",
            "start = \"random(SEED)\" under ",
        ),
        (
            "run a.toml --weights w.npy",
            "--weights is not for systems",
            "under [stencils], with dense",
        ),
        (
            "run star1d1r --receivers r.csv",
            "--receivers is not for stencils",
            "under [[receivers]]",
        ),
    ] {
        let (found, instead) = refused(line).unwrap();
        assert!(
            found.starts_with(headline) && instead.contains(help),
            "{line}: {found}; {instead}"
        );
    }
    for line in
        ["run a.toml --verify full", "run star1d1r --time off", "plan a.toml --steps 3", "list"]
    {
        assert_eq!(refused(line), None, "{line}");
    }
}

/// What is known of a system only after its file is read.
#[test]
fn options_of_sums_are_told_to_whoever_reads_the_system() {
    for (line, headline, help) in [
        ("run a.toml --fuse 2", "--fuse is for stencils", "taken together in launches"),
        ("plan a.toml --gpus 4", "--gpus is for stencils", "is not predicted"),
        ("plan a.toml --png x.png", "--png is for stencils", "layouts are of stencils"),
    ] {
        let program = Cli::command();
        let line = format!("host {line}");
        let matches = program.clone().try_get_matches_from(line.split_whitespace()).unwrap();
        let only = check(&program, &matches).unwrap().expect("an option of sums");
        let failure = only.refuse("it has 2 fields".into());
        let (found, instead) = (failure.to_string(), super::super::remedy(&failure));
        assert!(found.starts_with(headline) && found.ends_with("it has 2 fields"), "{found}");
        assert!(instead.contains(help), "{instead}");
    }
}

/// What is done instead of a computation makes nothing of its options.
#[test]
fn what_computes_nothing_takes_no_options_of_a_computation() {
    let program = Cli::command();
    let find = |command: &Command, id: &str| {
        command.get_arguments().find(|arg| arg.get_id() == id).unwrap().clone()
    };
    let example = program.find_subcommand("example").unwrap();
    assert!(find(example, "list").is_exclusive_set());
    let conflicts = example.get_arg_conflicts_with(&find(example, "write"));
    let conflicts: Vec<&str> = conflicts.iter().map(|arg| option(arg)).collect();
    for option in arguments("example") {
        let spared = ["NAME", "list", "write"].contains(&option.as_str());
        assert_ne!(conflicts.contains(&option.as_str()), spared, "{option}");
    }
}
