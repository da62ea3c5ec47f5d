// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a description says of a layer, as numbers.

use super::derivative::AXES;
use super::profile::{Profile, Steps, usual_reflection};
use crate::description::PmlText;
use crate::expression::{Node, Purpose, Scope};
use crate::layer;
use crate::parts::{Field, index};
use crate::text::Text;
use problem::boundary::Side;
use problem::error::Mistake;

/// Which equations the layer is for: those of fields, then those of work fields.
///
/// # Errors
/// It names a field that there is not.
pub fn chosen(text: &PmlText, scope: &Scope) -> Result<Vec<bool>, Mistake> {
    let all = [scope.fields.as_slice(), &scope.works].concat();
    let mut chosen = vec![text.fields.is_empty(); all.len()];
    for field in &text.fields {
        chosen[index("field", field, &all)?] = true;
    }
    Ok(chosen)
}

/// The layer in numbers.
///
/// # Errors
/// One of them is none, or out of its range; layers leave no point between them, or there is no side for one.
pub fn profile(
    text: &PmlText,
    scope: &Scope,
    fields: &[Field],
    steps: Steps,
) -> Result<Profile, Mistake> {
    let Steps { shape, spacing, .. } = steps;
    let width = text.width;
    let number = |text: &Text, what: &str, counts: &dyn Fn(f64) -> bool, range: &str| {
        let Node::Number(number) = scope.number(text, Purpose::Constant)? else {
            return Err(text.wrong("this is no constant number"));
        };
        if counts(number) {
            return Ok(number);
        }
        Err(text.wrong(format!("{what} of the layer is {number}; it must be {range}")))
    };
    if width == 0 {
        return Err(text.at.wrong("a layer has at least one point"));
    }
    let is_positive = |number: f64| number.is_finite() && number > 0.0;
    let speed = number(&text.speed, "the largest speed", &is_positive, "above 0")?;
    let reflection = match &text.reflection {
        Some(text) => {
            number(text, "the reflection", &|it| it > 0.0 && it < 1.0, "between 0 and 1")?
        }
        None => usual_reflection(width),
    };
    let frequency = match &text.frequency {
        Some(text) => {
            number(text, "the frequency", &|it| it.is_finite() && it >= 0.0, "0 or more")?
        }
        None => 0.0,
    };
    let periodic = |axis: usize| {
        fields.iter().find(|field| field.boundary.sides[axis].contains(&Side::Periodic))
    };
    for side in &text.sides {
        let named = layer::ends(std::slice::from_ref(side), shape)?;
        if let Some(field) = named.iter().find_map(|end| periodic(end.axis)) {
            let what = format!("'{}' is periodic there, so waves meet no end", field.name);
            return Err(side.wrong(what).hint("name the other sides: sides = [\"y-\", \"y+\"]"));
        }
    }
    let ends = layer::ends(&text.sides, shape)?.into_iter();
    let ends: Vec<_> = ends.filter(|end| periodic(end.axis).is_none()).collect();
    if ends.is_empty() {
        return Err(text
            .at
            .wrong("fields are periodic along all axes, so there is no side for a layer"));
    }
    for (axis, name) in AXES.into_iter().enumerate() {
        let count = ends.iter().filter(|end| end.axis == axis).count();
        let points = shape.extents()[axis];
        if count * width >= points {
            let layers = if count == 2 { "two layers" } else { "a layer" };
            let what =
                format!("{layers} of {width} points along {name} leave no points of {points}");
            return Err(text.at.wrong(what));
        }
    }
    let strength = spacing.map(|h| -1.5 * speed * reflection.ln() / (width as f64 * h));
    let alpha = std::f64::consts::PI * frequency;
    Ok(Profile { ends, width, strength, alpha, steps })
}
