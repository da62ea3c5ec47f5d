// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stencils of a system: of the catalogue, of given weights, or finite differences on its grid.

use transform::finite_difference::{AxisWeights, central, shifted, staggered};
use transform::{Stencil, Tap, catalogue};

use super::description::StencilText;
use super::text::Text;
use problem::error::Mistake;
use problem::similar_names::near;

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
        StencilText::Average { of, order } => (average(of, *order, dims)?, of),
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

fn check_order(of: &Text, order: usize) -> Result<(), Mistake> {
    if order == 0 || order % 2 == 1 || order > MOST_ORDER {
        let what = format!("order {order}: give an even number from 2 to {MOST_ORDER}");
        return Err(of.wrong(what));
    }
    Ok(())
}

/// The value half a point beside, where the derivatives `x+` and `x-` are taken.
fn average(of: &Text, order: usize, dims: usize) -> Result<Stencil, Mistake> {
    check_order(of, order)?;
    let half = order as i32 / 2;
    let own = 3 - dims..3;
    let mut sides = own.clone().flat_map(|axis| [("+", axis, 0), ("-", axis, -1)]);
    let meant = sides.find(|(side, axis, _)| {
        of.as_str().strip_suffix(side).is_some_and(|letter| letter == AXES[*axis].to_string())
    });
    let Some((_, axis, first)) = meant else {
        let wrong = of.wrong(format!("'{}' is no direction of half a point", of.as_str()));
        let known = AXES[own].iter().rev().map(|axis| format!("{axis}+, {axis}-"));
        return Err(wrong.hint(format!("it may be {}", known.collect::<Vec<_>>().join(", "))));
    };
    let row = shifted(0, 1 - half, half, 0.5).expect("two points are enough for a value");
    let tap = |(at, weight): (i32, f64)| {
        let mut offset = [0; 3];
        offset[axis] = at + first;
        Tap { offset, weight }
    };
    let taps = row.into_iter().map(tap).collect();
    Stencil::new(of.as_str(), dims, taps).map_err(|refused| of.wrong(refused.to_string()))
}

fn derivative(of: &Text, order: usize, dims: usize, spacing: [f64; 3]) -> Result<Stencil, Mistake> {
    check_order(of, order)?;
    let own = 3 - dims..3;
    let scaled = |row: AxisWeights, axis: usize, times: usize| -> AxisWeights {
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
        let mut rows: [AxisWeights; 3] = std::array::from_fn(|_| vec![(0, 1.0)]);
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

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;
    use std::path::Path;

    use super::*;
    use crate::{Description, FieldText, System, SystemSimulation};
    use problem::Dtype;

    fn meant(of: &str, order: usize, dims: usize) -> Result<Stencil, Mistake> {
        let of = Text::new("an average", of);
        stencil(&of, &StencilText::Average { of: of.clone(), order }, dims, [0.5; 3])
    }

    #[test]
    fn an_average_of_second_order_is_the_mean_of_two_points() {
        for dims in 1..4 {
            for (axis, letter) in AXES.iter().enumerate().skip(3 - dims) {
                for (side, first) in [("+", 0), ("-", -1)] {
                    let average = meant(&format!("{letter}{side}"), 2, dims).unwrap();
                    let mut expected = [[0; 3]; 2];
                    (expected[0][axis], expected[1][axis]) = (first, first + 1);
                    let found: Vec<_> = average.taps().iter().map(|tap| tap.offset).collect();
                    assert_eq!(found, expected);
                    assert!(average.taps().iter().all(|tap| tap.weight == 0.5));
                }
            }
        }
    }

    #[test]
    fn an_average_has_one_axis_of_the_grid_and_a_side() {
        for (of, dims) in [("x", 2), ("z+", 2), ("xy+", 2), ("+", 1), ("", 1), ("laplace", 3)] {
            let mistake = meant(of, 2, dims).unwrap_err();
            assert!(mistake.what.contains("is no direction of half a point"), "{of}");
        }
        assert_eq!(meant("q", 2, 2).unwrap_err().hint.unwrap(), "it may be x+, x-, y+, y-");
        for order in [0, 3, 18] {
            assert!(meant("x+", order, 1).unwrap_err().what.contains("give an even number"));
        }
    }

    /// The largest error of a flux form along an axis, on a ring of so many points.
    fn error(next: &str, axis: &str, points: usize, order: usize) -> f64 {
        let dims = 3 - AXES.iter().position(|letter| axis == letter.to_string()).unwrap();
        let size: Vec<usize> = (0..dims).map(|at| if at == 0 { points } else { 1 }).collect();
        let [plus, minus] = ["+", "-"].map(|side| format!("{axis}{side}"));
        let ring = Description::new(&size)
            .dtype(Dtype::F64)
            .spacing(2.0 * PI / points as f64)
            .derivative("dp", &plus, order)
            .derivative("dm", &minus, order)
            .average("ap", &plus, order)
            .average("am", &minus, order)
            .coefficient("k", format!("2 + sin({axis})").as_str());
        let start = format!("cos(2*{axis})");
        let ring = ring.field(FieldText::new("u", start.as_str(), next).boundary("periodic"));
        let system = System::new(&ring, Path::new("")).unwrap();
        let mut simulation = SystemSimulation::new(&system).unwrap();
        simulation.step(1).unwrap();
        let found = simulation.field("u").unwrap();
        let exact = |at: f64| {
            -2.0 * at.cos() * (2.0 * at).sin() - 4.0 * (2.0 + at.sin()) * (2.0 * at).cos()
        };
        let place = |point: usize| 2.0 * PI * point as f64 / points as f64;
        let errors = (0..points).map(|point| (found.get(point) - exact(place(point))).abs());
        errors.fold(0.0, f64::max)
    }

    /// (k u')' with k between the points has the order of its differences; with k at the points it has the first.
    #[test]
    fn a_flux_with_an_average_has_the_order_of_its_differences() {
        for axis in ["x", "y", "z"] {
            for (next, order, expected) in [
                ("dm(ap(k)*dp(u))", 2, 2.0),
                ("dp(am(k)*dm(u))", 2, 2.0),
                ("dm(ap(k)*dp(u))", 4, 4.0),
                ("dp(am(k)*dm(u))", 6, 6.0),
                ("dm(k*dp(u))", 2, 1.0),
            ] {
                let [coarse, fine] = [48, 96].map(|points| error(next, axis, points, order));
                let found = (coarse / fine).log2();
                assert!((found - expected).abs() < 0.2, "{next} of order {order}: {found}");
            }
        }
    }
}
