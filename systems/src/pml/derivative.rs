// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which derivatives a stencil takes, told by the moments of its weights.

use transform::Stencil;
use transform::finite_difference::AxisWeights;

/// What of weights counts as rounding, beside the sum of their magnitudes.
const ROUNDING: f64 = 1e-9;
/// The highest order of accuracy of the first differences of a layer.
const MOST_ORDER: usize = 16;
/// Axes by their letters.
pub const AXES: [&str; 3] = ["z", "y", "x"];

/// What a stencil does along one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisPart {
    /// 0 to 2 for z, y, x.
    pub axis: usize,
    /// Its weights; they sum to 0.
    pub row: AxisWeights,
    /// Which derivative it is, where that is known: of an axis that has a layer.
    pub kind: Option<DerivativeKind>,
}

/// A derivative along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DerivativeKind {
    /// The first one, taken so many points after the point.
    First { place: f64 },
    /// So many times the second one, of points at a distance of 1; `order` is that of a first one which reads as far.
    Second { times: f64, order: usize },
}

/// The parts of a stencil along its axes; none if it reads no neighbours along those that have a layer.
///
/// # Errors
/// Why it is no sum of derivatives along axes.
pub fn parts(stencil: &Stencil, layered: [bool; 3]) -> Result<Vec<AxisPart>, String> {
    let taps = stencil.taps();
    let along = |axis: usize| taps.iter().any(|tap| tap.offset[axis] != 0);
    if !(0..3).any(|axis| layered[axis] && along(axis)) {
        return Ok(Vec::new());
    }
    let sum: f64 = taps.iter().map(|tap| tap.weight).sum();
    if sum.abs() > ROUNDING * stencil.gain() {
        return Err(format!("its weights sum to {sum:.3}; weights of a derivative sum to 0"));
    }
    let axes_of = |offset: [i32; 3]| offset.iter().filter(|along| **along != 0).count();
    if taps.iter().any(|tap| axes_of(tap.offset) > 1) {
        return Err("it reads neighbours off the axes".to_owned());
    }
    let part = |axis: usize| {
        let taps = taps.iter().filter(|tap| tap.offset[axis] != 0);
        let mut row: AxisWeights = taps.map(|tap| (tap.offset[axis], tap.weight)).collect();
        row.push((0, -row.iter().map(|(_, weight)| weight).sum::<f64>()));
        let kind = if layered[axis] { Some(kind(&row, axis)?) } else { None };
        Ok(AxisPart { axis, row, kind })
    };
    (0..3).filter(|axis| along(*axis)).map(part).collect()
}

/// Which derivative weights take that sum to 0.
fn kind(row: &AxisWeights, axis: usize) -> Result<DerivativeKind, String> {
    let moment = |power: i32| {
        let parts = row.iter().map(|(at, weight)| weight * f64::from(*at).powi(power));
        parts.fold((0.0, 0.0), |(sum, size), part: f64| (sum + part, size + part.abs()))
    };
    let [(first, first_size), (second, second_size)] = [1, 2].map(moment);
    let axis = AXES[axis];
    if first.abs() > ROUNDING * first_size {
        // At the place p the second moment about it is 0.
        let place = second / (2.0 * first);
        let half = (2.0 * place).round() / 2.0;
        let place = if (place - half).abs() < 1e-6 { half } else { place };
        let ends = row.iter().map(|(at, _)| f64::from(*at));
        let [low, high] = [ends.clone().fold(0.0, f64::min), ends.fold(0.0, f64::max)];
        if !(low..=high).contains(&place) {
            return Err(format!("along {axis} it takes a first and a second derivative in one"));
        }
        return Ok(DerivativeKind::First { place });
    }
    let weight = |wanted: i32| row.iter().find(|(at, _)| *at == wanted).map_or(0.0, |it| it.1);
    let is_even = row.iter().all(|(at, own)| (own - weight(-at)).abs() <= ROUNDING * second_size);
    if !is_even || second.abs() <= ROUNDING * second_size {
        return Err(format!("along {axis} it takes neither a first nor a second derivative"));
    }
    let reach = row.iter().map(|(at, _)| at.unsigned_abs() as usize).max().unwrap_or_default();
    Ok(DerivativeKind::Second { times: second / 2.0, order: (2 * reach).min(MOST_ORDER) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::Tap;
    use transform::finite_difference::{central, staggered};

    fn of_row(row: AxisWeights) -> Result<DerivativeKind, String> {
        let tap = |(at, weight): (i32, f64)| Tap { offset: [0, 0, at], weight };
        let taps = row.into_iter().filter(|it| it.1 != 0.0).map(tap).collect();
        let stencil = Stencil::new("a row", 1, taps).unwrap();
        let found = parts(&stencil, [true; 3])?;
        assert_eq!(found.len(), 1);
        Ok(found[0].kind.unwrap())
    }

    #[test]
    fn first_derivatives_have_their_places() {
        for order in [2, 4, 8, 16] {
            assert_eq!(of_row(central(1, order)), Ok(DerivativeKind::First { place: 0.0 }));
            assert_eq!(of_row(staggered(order)), Ok(DerivativeKind::First { place: 0.5 }));
            let left = staggered(order).into_iter().map(|(at, weight)| (at - 1, 3.0 * weight));
            assert_eq!(of_row(left.collect()), Ok(DerivativeKind::First { place: -0.5 }));
        }
        // Upwind of third order, at the point; backward of first order, half a point before it.
        let third = vec![(-2, 1.0 / 6.0), (-1, -1.0), (0, 0.5), (1, 1.0 / 3.0)];
        assert_eq!(of_row(third), Ok(DerivativeKind::First { place: 0.0 }));
        assert_eq!(of_row(vec![(-1, -1.0), (0, 1.0)]), Ok(DerivativeKind::First { place: -0.5 }));
    }

    #[test]
    fn second_derivatives_have_their_factor() {
        for (order, reach) in [(2, 1), (4, 2), (8, 4)] {
            let times = 0.25;
            let row = central(2, order).into_iter().map(|(at, weight)| (at, times * weight));
            let Ok(DerivativeKind::Second { times: found, order: of_first }) =
                of_row(row.collect())
            else {
                panic!("no second derivative of order {order}")
            };
            assert!((found - times).abs() < 1e-12);
            assert_eq!(of_first, 2 * reach);
        }
    }

    #[test]
    fn a_star_has_a_part_for_each_axis() {
        let mut taps = Vec::new();
        for (at, weight) in central(2, 4) {
            taps.push(Tap { offset: [0, at, 0], weight });
            taps.push(Tap { offset: [0, 0, at], weight: 2.0 * weight });
        }
        let mut all: Vec<Tap> = Vec::new();
        for tap in taps {
            match all.iter_mut().find(|it| it.offset == tap.offset) {
                Some(known) => known.weight += tap.weight,
                None => all.push(tap),
            }
        }
        let star = Stencil::new("a star", 2, all).unwrap();
        let found = parts(&star, [false, false, true]).unwrap();
        assert_eq!(found.iter().map(|part| part.axis).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(found[0].kind, None);
        let Some(DerivativeKind::Second { times, .. }) = found[1].kind else { panic!("{found:?}") };
        assert!((times - 2.0).abs() < 1e-12);
        assert!(found.iter().all(|it| it.row.iter().map(|(_, w)| w).sum::<f64>().abs() < 1e-12));
        assert!(parts(&star, [true, false, false]).unwrap().is_empty());
    }

    #[test]
    fn others_are_told_apart() {
        for (row, expected) in [
            (vec![(0, 0.5), (1, 0.5)], "its weights sum to 1.000"),
            (vec![(1, 1.0)], "its weights sum to 1.000"),
            (central(3, 2), "neither a first nor a second"),
            (central(4, 2), "neither a first nor a second"),
            (vec![(-1, 0.9), (0, -2.0), (1, 1.1)], "a first and a second derivative in one"),
        ] {
            let found = of_row(row).unwrap_err();
            assert!(found.contains(expected), "{found}");
        }
        let corner = |offset, weight| Tap { offset, weight };
        let mixed = vec![corner([0, 1, 1], 1.0), corner([0, -1, 1], -1.0)];
        let mixed = Stencil::new("mixed", 2, mixed).unwrap();
        assert_eq!(parts(&mixed, [true; 3]).unwrap_err(), "it reads neighbours off the axes");
    }
}
