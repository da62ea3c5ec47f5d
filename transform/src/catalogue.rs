// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencils by name.
//!
//! The default weights sum to 1, so a step neither grows nor shrinks a constant field, and are
//! dyadic, so that `f16` holds them exactly:
//! - `star2dRr`: on each of the four arms weight `2^-(3+k)` at distance `k`, the rest at the
//!   centre (radius 1 is the heat equation with α·Δt/Δx² = 1/16);
//! - `box2dRr`: the binomial filter, the outer product of row `2R` of Pascal's triangle over `4^R`.

use crate::stencil::{Stencil, Tap};

/// What the catalogue says of one stencil.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The name to ask for.
    pub name: &'static str,
    /// Other names for the same stencil, as the papers print them.
    pub aliases: &'static [&'static str],
    /// What it is, in a few words.
    pub about: &'static str,
    shape: Shape,
    radius: i32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Star,
    Box,
}

const ENTRIES: [Entry; 6] = [
    Entry {
        name: "star2d1r",
        aliases: &["heat-2d", "star-2d5p", "2d5pt"],
        about: "5-point star, the 2D heat equation",
        shape: Shape::Star,
        radius: 1,
    },
    Entry {
        name: "star2d2r",
        aliases: &["star-2d9p", "2ds9pt"],
        about: "9-point star of radius 2",
        shape: Shape::Star,
        radius: 2,
    },
    Entry {
        name: "star2d3r",
        aliases: &["star-2d13p", "2d13pt"],
        about: "13-point star of radius 3",
        shape: Shape::Star,
        radius: 3,
    },
    Entry {
        name: "box2d1r",
        aliases: &["box-2d9p", "2d9pt"],
        about: "3x3 box, binomial filter",
        shape: Shape::Box,
        radius: 1,
    },
    Entry {
        name: "box2d2r",
        aliases: &["box-2d25p", "2d25pt"],
        about: "5x5 box, binomial filter",
        shape: Shape::Box,
        radius: 2,
    },
    Entry {
        name: "box2d3r",
        aliases: &["box-2d49p", "2d49pt"],
        about: "7x7 box, binomial filter",
        shape: Shape::Box,
        radius: 3,
    },
];

/// Every named stencil, in a fixed order.
#[must_use]
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// The stencil of that name or alias; case, `-` and `_` make no difference.
#[must_use]
pub fn find(name: &str) -> Option<Stencil> {
    let wanted = plain(name);
    let named = |entry: &&Entry| {
        plain(entry.name) == wanted || entry.aliases.iter().any(|alias| plain(alias) == wanted)
    };
    ENTRIES.iter().find(named).map(Entry::stencil)
}

fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '-' | '_'));
    kept.collect::<String>().to_ascii_lowercase()
}

impl Entry {
    /// The stencil with its default weights.
    #[must_use]
    pub fn stencil(&self) -> Stencil {
        let r = self.radius;
        let plane = (-r..=r).flat_map(|y| (-r..=r).map(move |x| (y, x)));
        let weighted = plane.map(|(y, x)| {
            let weight = match self.shape {
                Shape::Star => star_weight(r, y, x),
                Shape::Box => binomial(r, y) * binomial(r, x),
            };
            Tap { offset: [0, y, x], weight }
        });
        let taps = weighted.filter(|tap| tap.weight != 0.0).collect();
        Stencil::new(self.name, 2, taps).expect("catalogue stencils are valid")
    }
}

fn star_weight(radius: i32, y: i32, x: i32) -> f64 {
    let arm = |distance: i32| 0.5f64.powi(3 + distance);
    match (y, x) {
        (0, 0) => 1.0 - (1..=radius).map(|k| 4.0 * arm(k)).sum::<f64>(),
        (0, d) | (d, 0) => arm(d.abs()),
        _ => 0.0,
    }
}

/// `C(2r, r + k) / 4^r`.
fn binomial(r: i32, k: i32) -> f64 {
    let choose = (1..=r + k).fold(1.0, |c, i| c * f64::from(2 * r + 1 - i) / f64::from(i));
    choose / 4f64.powi(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn default_weights_sum_to_one_and_fit_f16_exactly() {
        for entry in entries() {
            let stencil = entry.stencil();
            let sum: f64 = stencil.taps().iter().map(|tap| tap.weight).sum();
            assert_eq!(sum, 1.0, "{}", entry.name);
            assert_eq!(stencil.gain(), 1.0, "{}", entry.name);
            for tap in stencil.taps() {
                assert_eq!(f16::from_f64(tap.weight).to_f64(), tap.weight, "{}", entry.name);
            }
        }
    }

    #[test]
    fn point_counts_are_those_of_the_names() {
        let points = |name| find(name).unwrap().taps().len();
        assert_eq!(points("heat-2d"), 5);
        assert_eq!(points("STAR_2D_13P"), 13);
        assert_eq!(points("box-2d49p"), 49);
        assert_eq!(points("2d9pt"), 9);
        assert!(find("star2d9r").is_none());
    }

    #[test]
    fn names_and_aliases_are_unique() {
        let mut seen: Vec<String> = Vec::new();
        for entry in entries() {
            seen.extend(std::iter::once(&entry.name).chain(entry.aliases).map(|name| plain(name)));
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }
}
