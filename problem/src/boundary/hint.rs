// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may have been meant by a boundary that is none.

use super::axis;
use super::kinds::{KINDS, Value, written};
use crate::error::Hint;
use crate::similar_names::near;

/// What other programs call a kind, or a slip of the pen, may mean here.
pub(super) fn of_kind(text: &str) -> Option<Hint> {
    let word = text.to_ascii_lowercase();
    let meant = |kind: &str| Some(Hint::Meant(kind.to_owned()));
    match word.as_str() {
        "wrap" | "wrapped" | "torus" | "cyclic" | "circular" => meant("periodic"),
        "mirror" | "mirrored" | "reflecting" => Some(Hint::Reflect),
        "neumann" | "noflux" | "no-flux" | "insulated" => Some(Hint::Slope),
        "symmetry" | "even" => meant("symmetric"),
        "open" | "absorbing" | "absorb" | "radiating" | "pml" | "transparent" => Some(Hint::Open),
        "edges" | "nearest" | "clamp" | "clamped" | "replicate" | "extend" | "copy" => {
            meant("edge")
        }
        "slope" | "gradient" | "inflow" => meant("flux=G"),
        "antisymmetric" | "antisymmetry" | "negative" | "no-slip" | "noslip" | "free-surface" => {
            meant("odd")
        }
        "antireflect" | "oddreflect" | "odd_reflect" => meant("odd-reflect"),
        "mixed" | "convective" | "impedance" => meant("robin=A,B,C"),
        "dirichlet" | "fixed" | "value" => Some(Hint::Fixed),
        "none" | "zeros" | "null" | "pad" => meant("zero"),
        _ if word.parse::<f64>().is_ok_and(f64::is_finite) => meant(&format!("constant={word}")),
        _ => {
            let known = KINDS.map(|(kind, _)| (kind, kind)).into_iter();
            let found = near(&word, known.chain([("outflow", "outflow")]));
            let word = found.first()?;
            match KINDS.into_iter().find(|(kind, _)| kind == word) {
                Some(kind) => meant(&written(kind)),
                None => meant(word),
            }
        }
    }
}

/// What may be meant by what is no axis and no side.
pub(super) fn of_place(place: &str, kind: &str, dims: usize) -> Option<Hint> {
    let word = place.to_ascii_lowercase();
    let is_valued = |(kind, value)| kind == word && !matches!(value, Value::None(_));
    if KINDS.into_iter().any(is_valued) {
        return Some(Hint::Meant(format!("{word}={kind}")));
    }
    let meant = match word.as_str() {
        "left" => "x-",
        "right" => "x+",
        "top" => "y-",
        "bottom" => "y+",
        other => other,
    };
    let known = axis(meant.trim_end_matches(['-', '+']), dims).is_some() && meant != place;
    known.then(|| Hint::Place(format!("{meant}:{kind}")))
}
