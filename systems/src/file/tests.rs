// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slips in files, each with what is said of it.

use std::path::Path;

use super::*;
use crate::System;
use problem::Error;

const GRID: &str = "[grid]\nsize = [6, 8]\n[time]\nsteps = 2\n";

/// What is wrong with a system of this text, and what to do.
fn mistake(text: &str) -> (String, Option<String>) {
    let text = format!("{text}{GRID}");
    let description = match parse("a test", &text) {
        Ok(description) => description,
        Err(Mistake { what, hint, .. }) => return (what, hint),
    };
    match System::new(&description, Path::new("")) {
        Err(Error::System(mistake)) => (mistake.what.clone(), mistake.hint.clone()),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_table_is_asked_for_by_an_example_of_it() {
    for (section, name, example) in [
        ("tables", "w", "{ arguments = [0, 1], values = [0, 5] }"),
        ("fields", "u", "{ start = 0, next = \"0.5*u\" }"),
        ("coefficients", "c", "{ start = \"1 + x\" } or { start = \"c.npy\" }"),
        (
            "stencils",
            "s",
            "{ derivative = \"laplace\" }, { name = \"heat-2d\" } or { dense = [0.5, 0, 0.5] }",
        ),
    ] {
        let given = [("3", "integer `3`"), ("\"w.npy\"", "string \"w.npy\"")];
        for (value, found) in given {
            let (what, hint) = mistake(&format!("{section}.{name} = {value}\n"));
            assert_eq!(what, format!("invalid type: {found}, expected a table such as {example}"));
            let start = "only a start takes a file: [coefficients.NAME] start = \"FILE.npy\"";
            assert_eq!(hint.as_deref(), value.contains("npy").then_some(start));
        }
    }
}

#[test]
fn the_name_of_a_file_is_no_expression() {
    for (start, next, keep) in [
        ("p.png", "u", "x > 1"),
        ("0", "u*mask.npy", "x > 1"),
        ("0", "u", "mask.npy"),
        ("data/p.csv", "u", "x > 1"),
    ] {
        let (what, hint) = mistake(&format!(
            "[fields.u]\nstart = \"{start}\"\nnext = \"{next}\"\nkeep = \"{keep}\"\n"
        ));
        assert!(what.ends_with(" is the name of a file"), "{what}");
        assert!(hint.unwrap().starts_with("only a start takes a file, a .npy array; "));
    }
}

#[test]
fn terms_that_nothing_uses_are_checked() {
    for (term, wrong) in [
        ("2*w", "there is no 'w'"),
        ("u +", "a number, a name or ( is expected here"),
        ("lap(u, u)", "'lap' takes 1 argument, not 2"),
        ("spare", "the term 'spare' depends on itself"),
        ("random(1) + w", "there is no 'w'"),
        ("random(1) + u", "'u' cannot stand in a value to start with"),
        ("if(u, 1, 0)", "a condition is expected here, this is a number"),
    ] {
        let rest =
            "[stencils]\nlap = { derivative = \"laplace\" }\n[fields.u]\nstart = 0\nnext = \"u\"\n";
        assert_eq!(mistake(&format!("terms.spare = \"{term}\"\n{rest}")).0, wrong, "{term}");
    }
    // Of whichever type, and for whichever place.
    let text = format!(
        "terms.hot = \"u > 1\"\nterms.noise = \"random(1)\"\nterms.flow = \"lap(u)*c*n\"\n\
         [stencils]\nlap = {{ derivative = \"laplace\" }}\n[coefficients.c]\nstart = 1\n\
         [fields.u]\nstart = 0\nnext = \"u\"\n{GRID}"
    );
    System::new(&parse("a test", &text).unwrap(), Path::new("")).unwrap();
}
