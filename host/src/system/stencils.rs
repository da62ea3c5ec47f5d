// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stencils of a system: of the catalogue, of given weights, or finite differences on its grid.

use transform::finite_difference::{Row, central, staggered};
use transform::{Stencil, Tap, catalogue};

use super::description::StencilText;
use super::text::Text;
use crate::error::Mistake;
use crate::near::near;

/// Axes by their letters.
const AXES: [char; 3] = ['z', 'y', 'x'];
/// The highest order of accuracy.
const MOST_ORDER: usize = 16;
/// The highest derivative along an axis.
const MOST_DERIVATIVE: usize = 6;

/// The stencil that is meant, on a grid with so many axes and this spacing (z, y, x).
///
/// # Errors
/// There is none of this name, it has other axes, or there is no such difference.
pub fn stencil(
    name: &Text,
    meant: &StencilText,
    dims: usize,
    spacing: [f64; 3],
) -> Result<Stencil, Mistake> {
    let (stencil, text) = match meant {
        StencilText::Catalogue(text) => (of_the_catalogue(text)?, text),
        StencilText::Weights(stencil) => (stencil.clone(), name),
        StencilText::Derivative { of, order } => (derivative(of, *order, dims, spacing)?, of),
    };
    match stencil.dims() {
        own if own == dims => Ok(stencil),
        own => Err(text.wrong(format!("this stencil has {own} axes, the grid has {dims}"))),
    }
}

fn of_the_catalogue(name: &Text) -> Result<Stencil, Mistake> {
    catalogue::find(name.as_str()).ok_or_else(|| {
        let wrong = name.wrong(format!("there is no stencil named '{}'", name.as_str()));
        let known = catalogue::entries().iter().map(|entry| (entry.name, entry.name));
        match near(name.as_str(), known) {
            near if near.is_empty() => wrong.hint("`host list` prints every name"),
            near => wrong.hint(format!("did you mean {}?", near.join(", "))),
        }
    })
}

fn derivative(of: &Text, order: usize, dims: usize, spacing: [f64; 3]) -> Result<Stencil, Mistake> {
    if order == 0 || order % 2 == 1 || order > MOST_ORDER {
        let what = format!("order {order}: it is an even number from 2 to {MOST_ORDER}");
        return Err(of.wrong(what));
    }
    let own = 3 - dims..3;
    let scaled = |row: Row, axis: usize, times: usize| -> Row {
        let scale = spacing[axis].powi(times as i32);
        row.into_iter().map(|(offset, weight)| (offset, weight / scale)).collect()
    };
    let mut taps: Vec<Tap> = Vec::new();
    if of.as_str() == "laplace" {
        for axis in own {
            for (offset, weight) in scaled(central(2, order), axis, 2) {
                let mut place = [0; 3];
                place[axis] = offset;
                add(&mut taps, Tap { offset: place, weight });
            }
        }
    } else {
        let mut rows: [Row; 3] = std::array::from_fn(|_| vec![(0, 1.0)]);
        let (letters, side) = match of.as_str() {
            word if word.ends_with(['+', '-']) => word.split_at(word.len() - 1),
            word => (word, ""),
        };
        let known = |letter| AXES[own.clone()].contains(&letter);
        let one_axis = letters.chars().count() == 1;
        if letters.is_empty() || !letters.chars().all(known) || !(side.is_empty() || one_axis) {
            let axes: Vec<String> = AXES[own].iter().rev().map(char::to_string).collect();
            let wrong = of.wrong(format!("'{}' is no derivative on this grid", of.as_str()));
            return Err(wrong.hint(format!(
                "laplace, or axes ({}), each once for each time: x, xx, xy; x+ and x- are half a point \
                 beside",
                axes.join(", ")
            )));
        }
        for axis in own {
            let times = letters.chars().filter(|letter| *letter == AXES[axis]).count();
            if times > MOST_DERIVATIVE {
                return Err(of.wrong(format!("at most {MOST_DERIVATIVE} times along an axis")));
            }
            if times > 0 {
                let row = match side {
                    "" => central(times, order),
                    "+" => staggered(order),
                    _ => {
                        staggered(order).into_iter().map(|(at, weight)| (at - 1, weight)).collect()
                    }
                };
                rows[axis] = scaled(row, axis, times);
            }
        }
        let [zs, ys, xs] = &rows;
        for &(z, a) in zs {
            for &(y, b) in ys {
                for &(x, c) in xs {
                    add(&mut taps, Tap { offset: [z, y, x], weight: a * b * c });
                }
            }
        }
    }
    Stencil::new(of.as_str(), dims, taps).map_err(|refused| of.wrong(refused.to_string()))
}

/// Adds to the weight of a place.
fn add(taps: &mut Vec<Tap>, tap: Tap) {
    match taps.iter_mut().find(|known| known.offset == tap.offset) {
        Some(known) => known.weight += tap.weight,
        None => taps.push(tap),
    }
}
