// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boundaries as they are written: `periodic`, `x:periodic,y-:constant=1,y+:reflect`.

use std::ops::Range;

use super::hint;
use super::kinds::{self, NUMBERS, Value};
use super::{AXES, Boundary, Side, axis};
use crate::Error;
use crate::error::Hint;

/// Takes an expression of a boundary, of a slope or else of a value, and says which side it makes.
pub type Varying<'a> = &'a mut dyn FnMut(&str, bool) -> Option<Side>;

/// What is wrong with a part, and what may have been meant.
struct Refusal {
    reason: String,
    hint: Option<Hint>,
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
    /// No such kind or axis, two parts for the same sides, one that would replace a more special one
    /// before it, or an axis that is periodic on one side only.
    pub fn parse(text: &str, dims: usize) -> Result<Self, Error> {
        Self::parse_with(text, dims, &mut |_, _| None)
    }

    /// Reads a boundary whose values and slopes may be expressions: `varying` is given what stands there and is no number, as a
    /// part of `text`.
    ///
    /// # Errors
    /// As [`Boundary::parse`]; `varying` makes no side of an expression.
    pub fn parse_with(text: &str, dims: usize, varying: Varying) -> Result<Self, Error> {
        let refuse = |Refusal { reason, hint }| {
            let boundary = text.to_owned();
            Error::Boundary { boundary, reason, hint }
        };
        let mut boundary = Self::default();
        let mut parts: Vec<Part> = Vec::new();
        for written in split(text) {
            let part = Part::read(written, dims, varying).map_err(refuse)?;
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

/// The parts of a boundary: between commas, but for those in parentheses and those of a list of numbers.
fn split(text: &str) -> Vec<&str> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    for (at, letter) in text.char_indices().chain([(text.len(), ',')]) {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == text.len() => {
                let own = &text[start..at];
                match parts.last_mut() {
                    Some(list) if lacks_numbers(&text[list.clone()]) && begins_number(own) => {
                        list.end = at;
                    }
                    _ => parts.push(start..at),
                }
                start = at + 1;
            }
            _ => (),
        }
    }
    parts.into_iter().map(|part| text[part].trim()).collect()
}

/// Whether more numbers of a list follow behind the comma.
fn lacks_numbers(part: &str) -> bool {
    let kind = part.split_once(':').map_or(part, |(_, kind)| kind).trim_start();
    let list = kind.strip_prefix("robin").and_then(|rest| rest.trim_start().strip_prefix('='));
    list.is_some_and(|list| list.split(',').count() < 3)
}

fn begins_number(part: &str) -> bool {
    part.trim_start().starts_with(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter))
}

impl<'a> Part<'a> {
    fn read(written: &'a str, dims: usize, varying: Varying) -> Result<Self, Refusal> {
        let Some((place, kind)) = written.split_once(':') else {
            let side = read_side(written, dims, varying)?;
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
            return Err(Refusal { reason, hint: hint::of_place(place, kind, dims) });
        };
        let side = read_side(kind, dims, varying)?;
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
            Refusal { reason, hint: Some(Hint::Twice) }
        } else {
            let reason = format!("'{this}' would replace '{other}', which stands before it");
            let hint = Hint::Order([this, other].map(str::to_owned));
            Refusal { reason, hint: Some(hint) }
        })
    }
}

fn read_side(text: &str, dims: usize, varying: Varying) -> Result<Side, Refusal> {
    let refuse = |reason: String, hint| Err(Refusal { reason, hint });
    let Some((name, value)) = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()))
    else {
        return match kinds::find(text, false) {
            Some(Value::None(side)) => Ok(side),
            Some(Value::Number { missing, .. }) => refuse(missing.into(), None),
            Some(Value::Robin) => refuse(NUMBERS.into(), None),
            None => refuse(format!("'{text}' is none of {}", kinds::all()), hint::of_kind(text)),
        };
    };
    let kind = match kinds::find(name, true) {
        Some(Value::Number { side, .. }) => side,
        Some(Value::Robin) => {
            return read_robin(value).map_err(|reason| Refusal { reason, hint: None });
        }
        known => {
            let place = name.trim_end_matches(['-', '+']);
            let hint = match axis(place, dims) {
                Some(_) => Some(Hint::Meant(format!("{name}:{value}"))),
                None if known.is_some() => None,
                None => hint::of_kind(name),
            };
            let reason =
                format!("'{name}' takes no value; only constant=V, flux=G and robin=A,B,C do");
            return refuse(reason, hint);
        }
    };
    match value.parse() {
        Ok(value) if f64::is_finite(value) => Ok(kind(value)),
        Err(_) if !value.is_empty() => match varying(value, matches!(kind(0.0), Side::Flux(_))) {
            Some(side) => Ok(side),
            None => {
                let reason = format!(
                    "'{value}' is not a finite number; only fields of a system take expressions"
                );
                refuse(reason, None)
            }
        },
        _ => refuse(format!("'{value}' is not a finite number"), None),
    }
}

/// Robin's condition, or why there is none.
fn read_robin(text: &str) -> Result<Side, String> {
    let mut numbers = [0.0_f64; 3];
    let mut parts = text.split(',').map(str::trim);
    for number in &mut numbers {
        let part = parts.next().filter(|part| !part.is_empty()).ok_or(NUMBERS)?;
        *number = part.parse().map_err(|_| format!("'{part}' is not a finite number"))?;
        if !number.is_finite() {
            return Err(format!("'{part}' is not a finite number"));
        }
    }
    let [a, b, _] = numbers;
    // Images of others would grow with each image of an image, or be infinite.
    if a * b < 0.0 || (a == 0.0 && b == 0.0) {
        return Err(format!(
            "'robin={text}': a and b must not have different signs, nor both be 0"
        ));
    }
    Ok(Side::Robin(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundary(text: &str) -> Boundary {
        Boundary::parse(text, 3).unwrap()
    }

    /// What is wrong with a boundary in 2D, and what may have been meant.
    fn refused(text: &str) -> (String, Option<Hint>) {
        match Boundary::parse(text, 2).unwrap_err() {
            Error::Boundary { reason, hint, .. } => (reason, hint),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn boundaries_are_read_and_printed() {
        for text in [
            "zero",
            "constant=-1.5",
            "periodic",
            "x:periodic,y-:constant=1,y+:reflect,z:zero",
            "odd",
            "x-:odd-reflect,x+:robin=1,-0,2.5,y:robin=0,2,-1,z:odd",
        ] {
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
            (
                "warp",
                "'warp' is none of zero, constant=V, periodic, reflect, symmetric, edge, flux=G, odd, odd-reflect, robin=A,B,C",
            ),
            ("constant", "'constant' needs a value, as in constant=1.5"),
            ("constant=inf", "'inf' is not a finite number"),
            ("zero=1", "'zero' takes no value; only constant=V, flux=G and robin=A,B,C do"),
            ("value=t", "'t' is not a finite number; only fields of a system take expressions"),
            ("flux=", "'' is not a finite number"),
            ("robin=1,2", NUMBERS),
            ("x:robin=1,y:zero", NUMBERS),
            (
                "robin=1,-2,3",
                "'robin=1,-2,3': a and b must not have different signs, nor both be 0",
            ),
            ("robin=0,0,3", "'robin=0,0,3': a and b must not have different signs, nor both be 0"),
            ("x-:periodic", "x is periodic on one side only"),
            ("periodic,x-:zero", "x is periodic on one side only"),
            ("z:zero", "'z' is none of x, x-, x+, y, y-, y+"),
            (":zero", "'' is none of x, x-, x+, y, y-, y+"),
            (
                "",
                "'' is none of zero, constant=V, periodic, reflect, symmetric, edge, flux=G, odd, odd-reflect, robin=A,B,C",
            ),
            (
                "periodic,",
                "'' is none of zero, constant=V, periodic, reflect, symmetric, edge, flux=G, odd, odd-reflect, robin=A,B,C",
            ),
        ] {
            assert_eq!(refused(text), (expected.to_owned(), None));
        }
    }

    #[test]
    fn expressions_are_handed_out_with_their_commas() {
        let mut found = Vec::new();
        let mut take = |text: &str, slope: bool| {
            found.push((text.to_owned(), slope));
            Some(if slope { Side::VaryingFlux(found.len()) } else { Side::Varying(found.len()) })
        };
        let text = "x-:value=max(0, sin(t)), x+:slope = 2*t, y:constant=3, y+:outflow";
        let read = Boundary::parse_with(text, 2, &mut take).unwrap();
        assert_eq!(read.sides[2], [Side::Varying(1), Side::VaryingFlux(2)]);
        assert_eq!(read.sides[1], [Side::Constant(3.0), Side::Edge]);
        assert_eq!(found, [("max(0, sin(t))".to_owned(), false), ("2*t".to_owned(), true)]);
    }

    #[test]
    fn parts_that_contradict_are_refused() {
        for (text, reason, hint) in [
            (
                "x:zero,periodic",
                "'periodic' would replace 'x:zero', which stands before it",
                Hint::Order(["periodic", "x:zero"].map(str::to_owned)),
            ),
            (
                "y+:reflect,x:zero,y:constant=1",
                "'y:constant=1' would replace 'y+:reflect', which stands before it",
                Hint::Order(["y:constant=1", "y+:reflect"].map(str::to_owned)),
            ),
            (
                "x-:zero,reflect",
                "'reflect' would replace 'x-:zero', which stands before it",
                Hint::Order(["reflect", "x-:zero"].map(str::to_owned)),
            ),
            ("x:zero,y:zero,x:periodic", "'x:zero' and 'x:periodic' are both for x", Hint::Twice),
            ("y-:zero, y-:zero", "'y-:zero' and 'y-:zero' are both for y-", Hint::Twice),
            ("periodic,zero", "'periodic' and 'zero' are both for all sides", Hint::Twice),
        ] {
            assert_eq!(refused(text), (reason.to_owned(), Some(hint)));
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
}
