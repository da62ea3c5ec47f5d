// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boundaries as they are written: `periodic`, `x:periodic,y-:constant=1,y+:reflect`.

use std::ops::Range;

use super::{AXES, Boundary, Side};
use crate::Error;
use crate::near::near;

const KINDS: [&str; 4] = ["zero", "constant", "periodic", "reflect"];

/// What is wrong with a part, and what may have been meant.
struct Refusal {
    reason: String,
    hint: Option<String>,
}

/// How much of the grid a part is for, the most general first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Grid,
    Axis,
    Side,
}

/// A kind, and the sides that it is for.
struct Part<'a> {
    written: &'a str,
    level: Level,
    /// What stands before the colon.
    place: &'a str,
    axes: Range<usize>,
    ends: Range<usize>,
    side: Side,
}

impl Boundary {
    /// Reads the boundary of a grid of `dims` axes: a kind for all sides, or parts `SIDES:KIND`,
    /// separated by commas, where an axis refines what was given for all and a side what was given
    /// for its axis: `periodic`, `reflect,x:zero`, `x:periodic,y-:constant=1`. Sides that no part is
    /// for are zero.
    ///
    /// # Errors
    /// No such kind or axis, two parts for the same sides, one that would undo a more special one
    /// before it, or an axis that is periodic on one side only.
    pub fn parse(text: &str, dims: usize) -> Result<Self, Error> {
        let refuse = |Refusal { reason, hint }| {
            let boundary = text.to_owned();
            Error::Boundary { boundary, reason, hint }
        };
        let mut boundary = Self::default();
        let mut parts: Vec<Part> = Vec::new();
        for written in text.split(',').map(str::trim) {
            let part = Part::read(written, dims).map_err(refuse)?;
            part.check_beside(&parts).map_err(refuse)?;
            for sides in &mut boundary.sides[part.axes.clone()] {
                sides[part.ends.clone()].fill(part.side);
            }
            parts.push(part);
        }
        for (axis, sides) in AXES.iter().zip(boundary.sides) {
            if sides.contains(&Side::Periodic) && sides != [Side::Periodic; 2] {
                let reason = format!("{axis} is periodic on one side only");
                return Err(refuse(Refusal { reason, hint: None }));
            }
        }
        Ok(boundary)
    }
}

impl<'a> Part<'a> {
    fn read(written: &'a str, dims: usize) -> Result<Self, Refusal> {
        let Some((place, kind)) = written.split_once(':') else {
            let side = read_side(written, dims)?;
            let (level, axes) = (Level::Grid, 3 - dims..3);
            return Ok(Self { written, level, place: "all sides", axes, ends: 0..2, side });
        };
        let (place, kind) = (place.trim(), kind.trim());
        let (name, level, ends) = match place.strip_suffix(['-', '+']) {
            None => (place, Level::Axis, 0..2),
            Some(name) if place.ends_with('-') => (name, Level::Side, 0..1),
            Some(name) => (name, Level::Side, 1..2),
        };
        let Some(axis) = axis(name, dims) else {
            let axes = AXES[3 - dims..].iter().rev();
            let known: Vec<String> = axes.map(|a| format!("{a}, {a}-, {a}+")).collect();
            let reason = format!("'{place}' is none of {}", known.join(", "));
            return Err(Refusal { reason, hint: place_hint(place, kind, dims) });
        };
        let side = read_side(kind, dims)?;
        Ok(Self { written, level, place, axes: axis..axis + 1, ends, side })
    }

    /// Refuses what would make the order of the parts decide.
    fn check_beside(&self, earlier: &[Self]) -> Result<(), Refusal> {
        let shares = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        let undone = earlier.iter().find(|earlier| {
            self.level <= earlier.level
                && shares(&self.axes, &earlier.axes)
                && shares(&self.ends, &earlier.ends)
        });
        let Some(earlier) = undone else { return Ok(()) };
        let (this, other) = (self.written, earlier.written);
        Err(if self.level == earlier.level {
            let reason = format!("'{other}' and '{this}' are both for {}", self.place);
            Refusal { reason, hint: Some("leave one of them out".into()) }
        } else {
            let reason = format!("'{this}' would undo '{other}', which stands before it");
            let hint = format!("give the more general one first: --boundary {this},{other}");
            Refusal { reason, hint: Some(hint) }
        })
    }
}

fn axis(name: &str, dims: usize) -> Option<usize> {
    (3 - dims..3).find(|&known| AXES[known] == name)
}

fn read_side(text: &str, dims: usize) -> Result<Side, Refusal> {
    let refuse = |reason: String, hint| Err(Refusal { reason, hint });
    match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        None => match text {
            "zero" => Ok(Side::Zero),
            "periodic" => Ok(Side::Periodic),
            "reflect" => Ok(Side::Reflect),
            "constant" => refuse("'constant' needs a value, as in constant=1.5".into(), None),
            _ => {
                let reason = format!("'{text}' is none of zero, constant=V, periodic, reflect");
                refuse(reason, kind_hint(text))
            }
        },
        Some(("constant", value)) => match value.parse() {
            Ok(value) if f64::is_finite(value) => Ok(Side::Constant(value)),
            _ => refuse(format!("'{value}' is not a finite number"), None),
        },
        Some((name, value)) => {
            let place = name.trim_end_matches(['-', '+']);
            let hint = match axis(place, dims) {
                Some(_) => Some(format!("did you mean {name}:{value}?")),
                None if KINDS.contains(&name) => None,
                None => kind_hint(name),
            };
            refuse(format!("'{name}' takes no value; only constant=V does"), hint)
        }
    }
}

/// What other programs call a boundary, or a slip of the pen, may mean here.
fn kind_hint(text: &str) -> Option<String> {
    let word = text.to_ascii_lowercase();
    Some(match word.as_str() {
        "wrap" | "wrapped" | "torus" | "cyclic" | "circular" => "did you mean periodic?".into(),
        "mirror" | "mirrored" | "reflecting" => {
            "did you mean reflect? It mirrors about the last point, which is not repeated".into()
        }
        "neumann" | "symmetric" | "symmetry" | "noflux" | "no-flux" | "insulated" => {
            "reflect comes nearest: the mirror image about the last point, which is not repeated, so \
             that the slope there is 0"
                .into()
        }
        "edge" | "nearest" | "clamp" | "replicate" | "extend" | "copy" => {
            "no kind repeats the last point; reflect, the mirror image about it, comes nearest".into()
        }
        "dirichlet" | "fixed" | "value" => {
            "did you mean zero? For another value: constant=V, such as constant=1.5".into()
        }
        "none" | "open" | "zeros" | "null" | "pad" => "did you mean zero?".into(),
        _ if word.parse::<f64>().is_ok_and(f64::is_finite) => {
            format!("did you mean constant={word}?")
        }
        _ => match near(&word, KINDS.map(|kind| (kind, kind)).into_iter()).as_slice() {
            [] => return None,
            [kind, ..] if kind == "constant" => "did you mean constant=V?".into(),
            [kind, ..] => format!("did you mean {kind}?"),
        },
    })
}

/// What may be meant by what is no axis and no side.
fn place_hint(place: &str, kind: &str, dims: usize) -> Option<String> {
    let word = place.to_ascii_lowercase();
    if word == "constant" {
        return Some(format!("did you mean constant={kind}?"));
    }
    let meant = match word.as_str() {
        "left" => "x-",
        "right" => "x+",
        "top" => "y-",
        "bottom" => "y+",
        other => other,
    };
    let known = axis(meant.trim_end_matches(['-', '+']), dims).is_some() && meant != place;
    known.then(|| format!("did you mean {meant}:{kind}? x is the last axis of the array"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundary(text: &str) -> Boundary {
        Boundary::parse(text, 3).unwrap()
    }

    /// The headline and the remedy of a refusal, in 2D.
    fn refused(text: &str) -> (String, String) {
        let error = Boundary::parse(text, 2).unwrap_err();
        let reason = error.to_string();
        let start = format!("boundary '{text}': ");
        (reason.strip_prefix(&start).unwrap_or(&reason).to_owned(), error.help())
    }

    #[test]
    fn boundaries_are_read_and_printed() {
        for text in
            ["zero", "constant=-1.5", "periodic", "x:periodic,y-:constant=1,y+:reflect,z:zero"]
        {
            assert_eq!(boundary(text).describe(3), text);
        }
        assert_eq!(Boundary::parse("x:periodic", 1).unwrap().describe(1), "periodic");
        assert_eq!(boundary("reflect, y : zero").describe(3), "x:reflect,y:zero,z:reflect");
        let refined = boundary("periodic,x:reflect,x-:constant = 2");
        assert_eq!(refined.describe(3), "x-:constant=2,x+:reflect,y:periodic,z:periodic");
        assert_eq!(boundary("y+:zero,x:periodic,y-:reflect"), boundary("x:periodic,y-:reflect"));
        assert_eq!(Boundary::parse("reflect,x:zero", 1).unwrap(), Boundary::default());
    }

    #[test]
    fn bad_boundaries_are_refused_with_the_reason() {
        for (text, expected) in [
            ("warp", "'warp' is none of zero, constant=V, periodic, reflect"),
            ("constant", "'constant' needs a value, as in constant=1.5"),
            ("constant=inf", "'inf' is not a finite number"),
            ("zero=1", "'zero' takes no value; only constant=V does"),
            ("x-:periodic", "x is periodic on one side only"),
            ("periodic,x-:zero", "x is periodic on one side only"),
            ("z:zero", "'z' is none of x, x-, x+, y, y-, y+"),
            (":zero", "'' is none of x, x-, x+, y, y-, y+"),
            ("", "'' is none of zero, constant=V, periodic, reflect"),
            ("periodic,", "'' is none of zero, constant=V, periodic, reflect"),
        ] {
            let (reason, help) = refused(text);
            assert_eq!(reason, expected);
            assert!(help.starts_with("give one kind for all sides, such as "), "{text}: {help}");
        }
    }

    #[test]
    fn parts_that_contradict_are_refused() {
        for (text, reason, help) in [
            (
                "x:zero,periodic",
                "'periodic' would undo 'x:zero', which stands before it",
                "give the more general one first: --boundary periodic,x:zero",
            ),
            (
                "y+:reflect,x:zero,y:constant=1",
                "'y:constant=1' would undo 'y+:reflect', which stands before it",
                "give the more general one first: --boundary y:constant=1,y+:reflect",
            ),
            (
                "x-:zero,reflect",
                "'reflect' would undo 'x-:zero', which stands before it",
                "give the more general one first: --boundary reflect,x-:zero",
            ),
            (
                "x:zero,y:zero,x:periodic",
                "'x:zero' and 'x:periodic' are both for x",
                "leave one of them out",
            ),
            (
                "y-:zero, y-:zero",
                "'y-:zero' and 'y-:zero' are both for y-",
                "leave one of them out",
            ),
            (
                "periodic,zero",
                "'periodic' and 'zero' are both for all sides",
                "leave one of them out",
            ),
        ] {
            assert_eq!(refused(text), (reason.to_owned(), help.to_owned()));
        }
    }

    /// No order of the same parts means something else, and what is printed is read as the same.
    #[test]
    fn the_order_of_parts_never_decides() {
        let parts = [
            "zero",
            "periodic",
            "constant=2",
            "x:zero",
            "x:periodic",
            "x-:reflect",
            "x+:constant=1",
            "y:reflect",
            "y-:zero",
            "y+:periodic",
        ];
        let mut accepted = 0;
        for (a, b, c) in (0..1000).map(|n| (n % 10, n / 10 % 10, n / 100)) {
            let join = |order: [usize; 3]| order.map(|part| parts[part]).join(",");
            let Ok(boundary) = Boundary::parse(&join([a, b, c]), 2) else { continue };
            accepted += 1;
            assert_eq!(Boundary::parse(&boundary.describe(2), 2).unwrap(), boundary);
            for order in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
                if let Ok(other) = Boundary::parse(&join(order), 2) {
                    assert_eq!(other, boundary, "{} {}", join([a, b, c]), join(order));
                }
            }
        }
        assert!(accepted > 50, "{accepted}");
    }

    #[test]
    fn other_names_and_slips_are_understood() {
        for (text, meant) in [
            ("wrap", "did you mean periodic?"),
            ("torus", "did you mean periodic?"),
            ("perodic", "did you mean periodic?"),
            ("Periodic", "did you mean periodic?"),
            ("mirror", "did you mean reflect? It mirrors about the last point, "),
            ("reflection", "did you mean reflect?"),
            ("neumann", "reflect comes nearest: the mirror image about the last point, "),
            ("symmetric", "reflect comes nearest: "),
            ("nearest", "no kind repeats the last point; reflect, "),
            ("clamp", "no kind repeats the last point; reflect, "),
            ("dirichlet", "did you mean zero? For another value: constant=V"),
            ("zeros", "did you mean zero?"),
            ("const=1", "did you mean constant=V?"),
            ("1.5", "did you mean constant=1.5?"),
            ("x:wrap", "did you mean periodic?"),
            ("x=zero", "did you mean x:zero?"),
            ("y-=reflect", "did you mean y-:reflect?"),
            ("constant:1", "did you mean constant=1?"),
            ("X:zero", "did you mean x:zero?"),
            ("left:zero", "did you mean x-:zero?"),
        ] {
            let (_, help) = refused(text);
            assert!(help.starts_with(meant), "{text}: {help}");
        }
    }
}
