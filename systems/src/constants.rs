// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers of a system that are known before anything else: constants, the spacing, the time step. Each may
//! be made of the others, in any order.

use std::collections::BTreeMap;

use super::description::Description;
use super::expression::{Node, Purpose, Scope, names_in};
use super::text::Text;
use problem::Shape;
use problem::error::Mistake;

/// Constants that are made of each other.
const MOST_LEVELS: usize = 100;
/// Names of the axes (z, y, x).
const AXES: [&str; 3] = ["z", "y", "x"];

/// The names of the numbers that follow from the grid. What the system calls so itself goes before them.
pub const OF_GRID: [&str; 7] = ["h", "hx", "hy", "hz", "nx", "ny", "nz"];

/// What the numbers are that a system's equations are written with.
pub struct ConstantValues {
    /// Distance of points along z, y, x; 1 along axes that the grid lacks.
    pub spacing: [f64; 3],
    /// Time of a step; none where it follows from the values.
    pub dt: Option<f64>,
    /// Time of the first step, which may be followed by others.
    pub first: f64,
    /// The time at which a run ends whose steps do.
    pub end: Option<f64>,
    /// Steps to take, if nothing else is said.
    pub steps: usize,
}

/// Gives a scope its constants: those of the description, `dt`, `h` (if it is one for all axes), `hx`, `hy`, `hz`,
/// and the points of each axis, `nx`, `ny`, `nz`, but for names that the system gives to something else.
///
/// # Errors
/// An expression is none, a constant is made of itself, or a spacing or the time step is not above 0.
pub fn resolve(
    description: &Description,
    shape: Shape,
    scope: &mut Scope,
) -> Result<ConstantValues, Mistake> {
    let dims = shape.dims();
    let axes = 3 - dims..3;
    for axis in axes.clone() {
        let name = own(scope, &format!("n{}", AXES[axis]));
        scope.constants.insert(name, shape.extents()[axis] as f64);
    }
    let mut open: BTreeMap<String, Text> = BTreeMap::new();
    for (name, text) in &description.constants {
        open.insert(name.as_str().to_owned(), text.clone());
    }
    let (follows, tolerance) = (follows(description, scope)?, description.tolerance.as_ref());
    scope.varies_steps = follows || tolerance.is_some();
    let dt = if scope.varies_steps { "dt of the first step" } else { "dt" };
    match description.dt_every {
        Some(0) => return Err(description.dt.wrong("'dt_every' is 0 steps; it is at least 1")),
        Some(_) if !follows => {
            let what = "'dt_every' needs a time step that follows from totals";
            return Err(description.dt.wrong(what).hint("leave out 'dt_every'"));
        }
        _ => (),
    }
    match tolerance {
        Some(tolerance) if follows => {
            let wrong = tolerance
                .wrong("both 'tolerance' and a time step that follows from totals are given");
            return Err(wrong.hint("give one of them; dt is then the length of the first step"));
        }
        _ if follows => (),
        _ => {
            open.insert(dt.into(), description.dt.clone());
        }
    }
    let spacing = &description.spacing;
    for axis in axes {
        let name = own(scope, &format!("h{}", AXES[axis]));
        let of_axis = spacing.get(axis - (3 - dims)).filter(|_| spacing.len() > 1);
        open.insert(name, of_axis.unwrap_or(&spacing[0]).clone());
    }
    if let [one] = spacing.as_slice() {
        open.insert(own(scope, "h"), one.clone());
    }
    let (mut steps, mut end) = (description.steps, None);
    match &description.until {
        Some(until) if scope.varies_steps => {
            end = Some(end_time(until, &open, scope)?);
            if steps == 0 {
                let wrong = until.wrong(
                    "the step length follows from the values, so the number of steps is not known",
                );
                return Err(wrong.hint("give the key 'steps': how many there are at most"));
            }
        }
        Some(until) if steps > 0 => {
            let wrong = until.wrong("both 'steps' and 'until' are given");
            return Err(wrong.hint("give one of them"));
        }
        Some(until) => {
            one("dt", &open, scope, &mut Vec::new())?;
            steps = until_then(until, &open, scope)?;
        }
        None => (),
    }
    let names: Vec<String> = open.keys().cloned().collect();
    for name in &names {
        one(name, &open, scope, &mut Vec::new())?;
    }
    let positive = |name: &str, what: &str| match scope.constants[name] {
        number if number > 0.0 => Ok(number),
        number => Err(open[name].wrong(format!("{what} is {number}; it must be above 0"))),
    };
    let first = if follows { 0.0 } else { positive(dt, "the time step")? };
    let dt = (!scope.varies_steps).then_some(first);
    let mut numbers = ConstantValues { spacing: [1.0; 3], dt, first, end, steps };
    for (axis, letter) in AXES.iter().enumerate().skip(3 - dims) {
        let name = format!("h{letter}");
        let name = if open.contains_key(&name) { name } else { own(scope, &name) };
        numbers.spacing[axis] = positive(&name, "the spacing")?;
    }
    Ok(numbers)
}

/// Whether the time step follows from the values: it is made of totals, or of what they are made of.
fn follows(description: &Description, scope: &Scope) -> Result<bool, Mistake> {
    let is_total = |name: &String| description.totals.iter().any(|it| it.name.as_str() == name);
    let names = names_in(&description.dt, &scope.terms)?;
    Ok(names.iter().any(is_total) || scope.has_reduction(&description.dt)?)
}

/// The name of a number of the grid: another one, which no expression has, where the system calls something else so.
fn own(scope: &Scope, name: &str) -> String {
    if scope.has(name) { format!("{name} of the grid") } else { name.to_owned() }
}

/// The steps to an end time, with a time step so much shorter that there is a whole number of them.
fn until_then(
    until: &Text,
    open: &BTreeMap<String, Text>,
    scope: &mut Scope,
) -> Result<usize, Mistake> {
    /// What rounding makes of a whole number of steps is no further step.
    const WHOLE: f64 = 1e-9;
    /// More steps than any run takes.
    const MOST: f64 = 1e15;
    let end = end_time(until, open, scope)?;
    let dt = scope.constants["dt"];
    let steps = (end / dt * (1.0 - WHOLE)).ceil();
    if !(end > 0.0 && (1.0..MOST).contains(&steps)) {
        return Err(until.wrong(format!("{end} is no end time for a time step of {dt}")));
    }
    scope.constants.insert("dt".into(), end / steps);
    Ok(steps as usize)
}

/// The time at which a run ends.
fn end_time(
    until: &Text,
    open: &BTreeMap<String, Text>,
    scope: &mut Scope,
) -> Result<f64, Mistake> {
    let mut waits = names_in(until, &scope.terms)?;
    let mut seen = 0;
    while let Some(name) = waits.get(seen).cloned() {
        if name == "dt" {
            let wrong =
                until.wrong("the end time depends on the time step, which depends on the end time");
            return Err(wrong.hint("give a number of steps instead"));
        }
        let more = open.get(&name).map_or(Ok(Vec::new()), |text| names_in(text, &scope.terms))?;
        waits.extend(more.into_iter().filter(|it| !waits.contains(it)).collect::<Vec<_>>());
        seen += 1;
    }
    for name in waits.iter().filter(|name| open.contains_key(*name)) {
        one(name, open, scope, &mut Vec::new())?;
    }
    match scope.number(until, Purpose::Constant)? {
        Node::Number(end) if end > 0.0 => Ok(end),
        Node::Number(end) if open.contains_key("dt") => Ok(end),
        Node::Number(end) => Err(until.wrong(format!("{end} is no end time"))),
        _ => Err(until.wrong("this is no constant number")),
    }
}

/// Finds the number of one constant, after those that it is made of. `above` are those that wait for it.
fn one(
    name: &str,
    open: &BTreeMap<String, Text>,
    scope: &mut Scope,
    above: &mut Vec<String>,
) -> Result<(), Mistake> {
    if scope.constants.contains_key(name) {
        return Ok(());
    }
    let text = &open[name];
    if above.len() == MOST_LEVELS {
        return Err(text.wrong("constants depend on each other too deeply"));
    }
    above.push(name.to_owned());
    for part in names_in(text, &scope.terms)? {
        if above.contains(&part) {
            return Err(text.wrong(format!("'{name}' depends on itself")));
        }
        if open.contains_key(&part) {
            one(&part, open, scope, above)?;
        }
    }
    above.pop();
    let Node::Number(number) = scope.number(text, Purpose::Constant)? else {
        return Err(text.wrong("this is no constant number"));
    };
    scope.constants.insert(name.to_owned(), number);
    Ok(())
}
