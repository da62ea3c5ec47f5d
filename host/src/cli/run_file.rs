// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command line of `host run` as a file, and back.
//!
//! ```toml
//! stencil = "heat-2d"
//! size = "480x640"
//! steps = 1000
//! output = "warm.png"
//! ```
//!
//! A key is an option without its dashes, so that a file can say all that a command line can. What stands on the command
//! line besides takes the place of what the file says. Paths are those that the command line would have.

use std::fs;
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use toml::{Table, Value};

use super::Failure;
use super::options::is_given;
use super::system::is_file;
use problem::similar_names::near;

/// The argument that names a stencil or a file without an option, and the option that does the same.
const NAME: &str = "name";
const STENCIL: &str = "stencil";
/// Asks for the file.
const PRINT: &str = "print-toml";

/// An option, without its dashes, with its value; of a switch there is none.
type GivenOption = (String, Option<String>);

/// What a command line of `host run` means: the arguments themselves, if it names a file of arguments or asks for one;
/// none if it is to be taken as it is.
pub enum RunArguments {
    /// Other arguments.
    Arguments(Vec<String>),
    /// Nothing is to be run: this is the file.
    File(String),
}

/// Replaces a file of arguments, and makes one of them if that is asked for.
///
/// # Errors
/// [`Failure::RunFile`]: a key of the file is no option, or its value none of an option.
pub fn meant(program: &Command, matches: &ArgMatches) -> Result<Option<RunArguments>, Failure> {
    let run = program.find_subcommand("run").expect("a command of the program");
    let mut given = given(run, matches);
    let is_asked_for = given.iter().any(|(option, _)| option == PRINT);
    given.retain(|(option, _)| option != PRINT);
    let named = given.iter().find(|(option, _)| option == STENCIL);
    let path = named.and_then(|(_, value)| value.clone()).filter(|path| is_file(path));
    let has_weights = given.iter().any(|(option, _)| option == "weights");
    let table = path.filter(|_| !has_weights).and_then(|path| Some((table(&path)?, path)));
    let replaced = table.is_some();
    if let Some((table, path)) = table {
        given.retain(|(option, _)| option != STENCIL);
        for (option, value) in from_table(run, &table, Path::new(&path))? {
            if !given.iter().any(|(known, _)| *known == option) {
                given.push((option, value));
            }
        }
    }
    Ok(match (is_asked_for, replaced) {
        (true, _) => Some(RunArguments::File(file(&given))),
        (false, true) => Some(RunArguments::Arguments(arguments(&given))),
        (false, false) => None,
    })
}

/// What was given on a command line, in the order of the help.
fn given(run: &Command, matches: &ArgMatches) -> Vec<GivenOption> {
    let value = |arg: &Arg| {
        let id = arg.get_id().as_str();
        let name = if id == NAME { STENCIL } else { arg.get_long().unwrap_or(id) };
        let values = matches.get_raw(id).into_iter().flatten();
        let values: Vec<_> = values.map(|value| value.to_string_lossy().into_owned()).collect();
        (name.to_owned(), arg.get_action().takes_values().then(|| values.join(",")))
    };
    run.get_arguments().filter(|arg| is_given(matches, arg)).map(value).collect()
}

/// The table of a file of arguments; none of other files, and of those that cannot be read, of which whoever reads them
/// tells more.
fn table(path: &str) -> Option<Table> {
    let table: Table = fs::read_to_string(path).ok()?.parse().ok()?;
    let is_text = |key: &str| table.get(key).is_some_and(Value::is_str);
    // The file of a system has neither.
    (is_text(STENCIL) || is_text("weights")).then_some(table)
}

/// What a file gives.
fn from_table(run: &Command, table: &Table, path: &Path) -> Result<Vec<GivenOption>, Failure> {
    let failed = |key: &str, near: Vec<String>, reason: &str| Failure::RunFile {
        path: path.to_owned(),
        key: key.to_owned(),
        reason: reason.to_owned(),
        near,
    };
    let mut given = Vec::new();
    for (key, value) in table {
        let options = || run.get_arguments().filter(|arg| arg.get_long() != Some(PRINT));
        let Some(arg) = options().find(|arg| arg.get_long() == Some(key)) else {
            let known = options().filter_map(Arg::get_long);
            let near = near(key, known.map(|name| (name, name)));
            return Err(failed(key, near, "there is no such option"));
        };
        let takes_values = arg.get_action().takes_values();
        match (value, takes_values) {
            (Value::Boolean(true), false) => given.push((key.clone(), None)),
            (Value::Boolean(false), false) => (),
            (_, false) => return Err(failed(key, Vec::new(), "this is true or false")),
            (value, true) => match text(value) {
                Some(value) => given.push((key.clone(), Some(value))),
                None => {
                    return Err(failed(
                        key,
                        Vec::new(),
                        "this is a text, a number or a list of such",
                    ));
                }
            },
        }
    }
    Ok(given)
}

/// A value as a command line has it.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Array(values) => {
            Some(values.iter().map(text).collect::<Option<Vec<String>>>()?.join(","))
        }
        _ => None,
    }
}

/// The command line.
fn arguments(given: &[GivenOption]) -> Vec<String> {
    let option = |(name, value): &GivenOption| match value {
        None => format!("--{name}"),
        Some(value) => format!("--{name}={value}"),
    };
    ["host", "run"].map(str::to_owned).into_iter().chain(given.iter().map(option)).collect()
}

/// The file.
fn file(given: &[GivenOption]) -> String {
    let mut text = String::from("# Run by `host run FILE.toml`. Keys are its options.\n");
    for (name, value) in given {
        let value = match value {
            None => Value::Boolean(true),
            Some(value) => match value.parse::<i64>() {
                // Nothing that is written otherwise, such as +1.
                Ok(number) if number.to_string() == *value => Value::Integer(number),
                _ => Value::String(value.clone()),
            },
        };
        text += &format!("{name} = {value}\n");
    }
    text
}
