// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a system that a command line gives instead of its file: `--set D=3,k=2*pi --dt 1e-3`.

use problem::error::Mistake;
use problem::text::Text;
use systems::Description;

/// Gives constants, and the time step, other values: numbers, or expressions as a file has them.
///
/// # Errors
/// No `NAME=VALUE`, a name that no constant has, or one twice.
pub fn apply(
    description: &mut Description,
    constants: &[String],
    dt: Option<&str>,
) -> Result<(), Mistake> {
    if let Some(dt) = dt {
        description.dt = Text::new("--dt", dt);
    }
    let given = Text::new("--set", &constants.join(","));
    let mut known: Vec<String> = Vec::new();
    for part in parts(&given) {
        let (start, end) = (part.range().start, part.range().end);
        let Some((name, _)) = part.as_str().split_once('=') else {
            let wrong = part.wrong("this is no NAME=VALUE");
            return Err(wrong.hint("as in --set D=3,k=2*pi"));
        };
        let equals = start + name.len();
        let (named, name) = (given.part(start..equals), name.trim().to_owned());
        if known.contains(&name) {
            return Err(named.wrong(format!("'{name}' is given twice")));
        }
        let set = description.set_constant(&named, given.part(equals + 1..end));
        set.map_err(|wrong| match name.as_str() {
            "dt" => wrong.hint("the time step is --dt"),
            _ => wrong,
        })?;
        known.push(name);
    }
    Ok(())
}

/// What commas part that are in no parentheses.
fn parts(given: &Text) -> Vec<Text> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, 0);
    for (at, letter) in given.as_str().char_indices() {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            ',' if open == 0 => {
                parts.push(given.part(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    let end = given.as_str().len();
    if end > 0 {
        parts.push(given.part(start..end));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(constants: &[&str], dt: Option<&str>) -> Result<Vec<String>, String> {
        let mut description = Description::new(&[9]).constant("D", 1).constant("speed", "2*D");
        let constants: Vec<String> = constants.iter().map(|it| (*it).to_owned()).collect();
        apply(&mut description, &constants, dt).map_err(|mistake| mistake.to_string())?;
        let values = description.constants.iter().map(|(_, value)| value.as_str().to_owned());
        Ok(values.chain([description.dt.as_str().to_owned()]).collect())
    }

    #[test]
    fn constants_have_the_values_that_are_given() {
        assert_eq!(applied(&[], None).unwrap(), ["1", "2*D", "1"]);
        assert_eq!(applied(&["D=3"], Some("h/8")).unwrap(), ["3", "2*D", "h/8"]);
        let both = ["3", "max(D, 7)", "1"];
        assert_eq!(applied(&["D=3,speed=max(D, 7)"], None).unwrap(), both);
        assert_eq!(applied(&["D = 3", "speed=max(D, 7)"], None).unwrap().len(), 3);
    }

    #[test]
    fn what_is_no_constant_is_named() {
        for (given, said) in [
            (&["D"][..], "column 1: this is no NAME=VALUE"),
            (&["D=3,E=4"], "column 5: the system has no constant 'E'"),
            (&["D=3", "D=4"], "column 5: 'D' is given twice"),
            (&["dt=3"], "column 1: the system has no constant 'dt'"),
            (&["D=3,"], "column 5: this is no NAME=VALUE"),
        ] {
            let wrong = applied(given, None).unwrap_err();
            assert!(wrong.starts_with(&format!("--set, line 1, {said}")), "{wrong}");
        }
    }
}
