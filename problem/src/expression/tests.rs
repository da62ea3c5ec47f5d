// SPDX-License-Identifier: MIT OR Apache-2.0
//! What expressions mean, and every mistake with its place.

use super::*;
use crate::error::Mistake;
use crate::text::Text;

fn scope() -> Scope {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut scope = Scope {
        dims: 2,
        fields: names(&["u", "v"]),
        coefficients: names(&["speed"]),
        stencils: names(&["laplace"]),
        tables: names(&["pulse"]),
        ..Scope::default()
    };
    scope.constants.insert("a".into(), 3.0);
    for (name, text) in [("sum", "u + v"), ("loop_a", "1 + loop_b"), ("loop_b", "loop_a")] {
        scope.terms.insert(name.into(), Text::new(&format!("the term '{name}'"), text));
    }
    scope
}

/// The number that an expression of constants is.
fn number(text: &str) -> f64 {
    match scope().number(&Text::new("a test", text), Purpose::Next) {
        Ok(Node::Number(number)) => number,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn operators_bind_as_in_formulas() {
    for (text, value) in [
        ("1 + 2*3", 7.0),
        ("(1 + 2)*3", 9.0),
        ("10 - 2 - 3", 5.0),
        ("24/2/3", 4.0),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2^-1", 0.5),
        ("-a*-a", 9.0),
        ("+a - -1", 4.0),
        ("1e-3*.5e3 + 2.", 2.5),
        ("if(1 < 2 and not 2 < 1, 10, 20)", 10.0),
        ("if(1 > 2 or 1 >= 2, 10, 20)", 20.0),
        ("if(1 == 1 and 1 != 2 and 1 <= 1, 10, 20)", 10.0),
        ("if(not 1 == 2 and 1 == 2, 10, 20)", 20.0),
        ("min(3, max(1, 2)) + abs(-1) + floor(-0.5) + sqrt(16)", 6.0),
        ("exp(0) + ln(1) + sin(0) + cos(0) + tanh(0)", 2.0),
        ("ricker(1, 0) + 2*pi/pi", 3.0),
    ] {
        assert_eq!(number(text), value, "{text}");
    }
}

#[test]
fn whole_powers_become_multiplications() {
    let power = |text: &str| scope().number(&Text::new("a test", text), Purpose::Next).unwrap();
    let u = Node::Read(Array::Field { field: 0, level: 0 });
    assert_eq!(power("u^2"), Node::Call(Function::PowerOf(2), vec![u.clone()]));
    assert_eq!(power("u^-3"), Node::Call(Function::PowerOf(-3), vec![u.clone()]));
    assert_eq!(power("u^1"), u);
    assert_eq!(power("u^0.5"), Node::Call(Function::Sqrt, vec![u.clone()]));
    let general = Node::Call(Function::Power, vec![u, Node::Number(1.5)]);
    assert_eq!(power("u^1.5"), general);
}

#[test]
fn terms_are_written_out() {
    let check = |text: &str| scope().number(&Text::new("a test", text), Purpose::Next).unwrap();
    assert_eq!(check("laplace(sum)*2"), check("laplace(u + v)*2"));
}

/// What is wrong, with the part that is marked.
fn mistake(text: &str, purpose: Purpose) -> (String, String, Option<String>) {
    let text = Text::new("a test", text);
    let Mistake { column, width, what, hint, text, .. } =
        scope().number(&text, purpose).unwrap_err();
    let marked = text.chars().skip(column - 1).take(width).collect();
    (what, marked, hint)
}

const NEIGHBOURS: &str = "neighbours are read by stencils; of the one on the right: under [stencils] right = \
                          { offsets = [[0, 1]], weights = [1] }, and in the expression right(u)";
const PARENTHESES: &str = "parts of an expression are held together by ( and )";
const FILES: &str = "only a start takes a file, a .npy array; expressions read it by the name of a coefficient: \
                     [coefficients.NAME] start = \"FILE.npy\"";

#[test]
fn every_mistake_is_said_at_its_place() {
    let some = |hint: &str| Some(hint.to_owned());
    for (text, what, marked, hint) in [
        ("", "a number, a name or ( is expected here", "", None),
        ("1 +", "a number, a name or ( is expected here", "", None),
        ("1 + * 2", "a number, a name or ( is expected here", "*", None),
        ("2 u", "an operator, or the end of the expression, is expected here", "u", None),
        ("(1 + 2", "this ( is not closed", "(", None),
        ("(1 + 2 3)", "an operator or ) is expected here", "3", None),
        ("1 + 2)", "an operator, or the end of the expression, is expected here", ")", None),
        ("1.2.3", "'1.2.3' is no number", "1.2.3", None),
        ("2u", "'2u' is no number", "2u", None),
        ("1e999", "'1e999' is no number", "1e999", None),
        ("u $ v", "'$' means nothing", "$", None),
        ("if(u = 1, 1, 0)", "'=' means nothing", "=", some("two values are compared by ==")),
        (
            "if(u > 1 && v > 1, 1, 0)",
            "'&' means nothing",
            "&",
            some("conditions are joined by the words and, or, not"),
        ),
        ("u*or", "a value is expected before 'or'", "or", None),
        (
            "if(0 < u < 1, 1, 0)",
            "comparisons cannot follow each other",
            "<",
            some("join two of them by 'and'"),
        ),
        (
            "u + (v > 1)",
            "a number is expected here, this is a condition",
            "(v > 1)",
            some("if(condition, 1, 0) makes a number of a condition"),
        ),
        (
            "if(u, 1, 0)",
            "a condition is expected here, this is a number",
            "u",
            some("compare it with something, as in x > 0.5"),
        ),
        (
            "if(u > 1, 1)",
            "'if' takes 3 arguments, not 2",
            "if(u > 1, 1)",
            some("if(condition, value where it holds, value elsewhere)"),
        ),
        ("exp()", "'exp' takes 1 argument, not 0", "exp()", None),
        ("u + spede", "there is no 'spede'", "spede", some("did you mean speed?")),
        ("qqqq(u)", "there is no 'qqqq'", "qqqq", None),
        ("log10(u)", "there is no 'log10'", "log10", some("write ln(a)/ln(10)")),
        ("u**2", "'**' means nothing", "**", some("a power is written a^b")),
        ("u[0,1]", "'[' means nothing", "[", some(NEIGHBOURS)),
        ("[u + v]", "'[' means nothing", "[", some(PARENTHESES)),
        ("mask.npy", "'mask.npy' is the name of a file", "mask.npy", some(FILES)),
        ("1 - p.png", "'p.png' is the name of a file", "p.png", some(FILES)),
        ("laplacian(u)", "there is no 'laplacian'", "laplacian", some("did you mean laplace?")),
        ("pow(u, 2)", "there is no 'pow'", "pow", some("a power is written a^b")),
        ("mod(x)", "'mod' takes 2 arguments, not 1", "mod(x)", None),
        (
            "max(x)",
            "'max' takes 2 arguments, not 1",
            "max(x)",
            some(
                "the max of the grid is a total: [totals] NAME = \"max(u)\"; an equation may hold NAME",
            ),
        ),
        ("erf", "'erf' is a function; its argument is missing", "erf", some("as in erf(u)")),
        (
            "where(u > 1, 1, 0)",
            "there is no 'where'",
            "where",
            some("write if(condition, value where it holds, value elsewhere)"),
        ),
        (
            "dx(u)",
            "there is no 'dx'",
            "dx",
            some("name it under [stencils]: dx = { derivative = \"x\", order = 2 }"),
        ),
        ("z", "there is no z on a grid of 2 axes", "z", None),
        ("u(1 + x)", "'u' is no function", "u", some("a product needs its sign: u*(...)")),
        (
            "laplace",
            "'laplace' is a function; its argument is missing",
            "laplace",
            some("as in laplace(u)"),
        ),
        (
            "prev(2*u)",
            "'prev' takes a field, and nothing else",
            "2*u",
            some("prev(u) is u one step ago, prev2(u) two steps ago"),
        ),
        (
            "prev(prev(u))",
            "'prev' takes a field, and nothing else",
            "prev(u)",
            some("prev(u) is u one step ago, prev2(u) two steps ago"),
        ),
        (
            "pulse(x)",
            "'pulse' is a table: its argument is one number for all points",
            "x",
            some("it may hold t, n and constants"),
        ),
        (
            "random(1)",
            "'random(1)' cannot stand in an equation",
            "random(1)",
            some(
                "it may hold all but random(seed); noise(seed) is a new random number in each step",
            ),
        ),
        ("u + sqrt(-1)", "this is always NaN", "sqrt(-1)", None),
        ("loop_a", "the term 'loop_a' depends on itself", "loop_a", None),
    ] {
        let found = mistake(text, Purpose::Next);
        assert_eq!(found, (what.to_owned(), marked.to_owned(), hint), "{text}");
    }
}

#[test]
fn a_purpose_has_its_words() {
    for (purpose, text, place) in [
        (Purpose::Constant, "t", "a constant"),
        (Purpose::Constant, "pulse(1)", "a constant"),
        (Purpose::EachStep, "x", "what is one number for each step"),
        (Purpose::StartOfField, "u", "a value to start with"),
        (Purpose::Start, "n", "a value of a coefficient"),
        (Purpose::Points, "t", "a condition on points"),
        (Purpose::Points, "laplace(speed)", "a condition on points"),
    ] {
        let (what, marked, hint) = mistake(text, purpose);
        assert_eq!(what, format!("'{text}' cannot stand in {place}"));
        assert_eq!(marked, text);
        assert!(hint.is_some_and(|hint| hint.starts_with("it may hold ")));
    }
    let allowed = |purpose, text| scope().number(&Text::new("a test", text), purpose).is_ok();
    assert!(allowed(Purpose::EachStep, "a*pulse(t) + n"));
    assert!(allowed(Purpose::Start, "x + y + t + random(a)"));
    assert!(allowed(Purpose::Points, "speed*x"));
    assert!(allowed(Purpose::Next, "prev2(u) + speed*x*t*n*pulse(t)"));
}

#[test]
fn nothing_is_nested_without_end() {
    let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(mistake(&deep, Purpose::Next).0, "the expression is nested too deep here");
    let long = "1 + ".repeat(10_000) + "1";
    assert_eq!(mistake(&long, Purpose::Next).0, "too many operators follow each other here");
    let mut scope = scope();
    for level in 0..30 {
        let text = format!("t{} + t{}", level + 1, level + 1);
        scope.terms.insert(format!("t{level}"), Text::new("a term", &text));
    }
    scope.terms.insert("t30".into(), Text::new("a term", "u"));
    let wrong = scope.number(&Text::new("a test", "t0"), Purpose::Next).unwrap_err();
    assert_eq!(wrong.what, "with its terms written out the expression has over 10000 parts");
}
