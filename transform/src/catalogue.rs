// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencils by name: kernels of the field, a file for each domain, and shapes of any size.
//!
//! An entry is one operator on one field. Its weights are computed from its formula: finite
//! differences of the order stated, on a grid of spacing 1, and what else the source gives. What
//! holds for them is its [`ApplicationKind`]. Shapes such as `star3d4r` need no entry: see [`Shape`].

mod advection;
mod electromagnetics;
mod geophysics;
mod heat;
mod image;
mod lattice_boltzmann;
mod operator;
mod phase_field;
mod poisson;
mod shape;
mod shapes;
mod wave;

pub use shape::{Family, Shape, ShapeError};

use crate::stencil::Stencil;
use operator::Operator;
use std::{fmt, sync::LazyLock};

/// A field of application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The name to ask for.
    pub name: &'static str,
    /// What it covers, in a few words.
    pub about: &'static str,
}

/// What one application of an entry does to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationKind {
    /// Advances it by a time step, and is stable: no wave grows, however often it is applied.
    Update,
    /// Averages, interpolates or sharpens it: the weights sum to 1.
    Filter,
    /// Differentiates it: the weights sum to 0. Made to be applied once, not stepped: repeated, it
    /// can outgrow `f16` within a few steps.
    Difference,
    /// Starts a scheme of two time levels from rest, `u(Δt) = u(0) + Δt²/2 u_tt(0)`: what such a
    /// scheme reads, but stepped on one field, which has no velocity, it computes diffusion.
    FirstStep,
}

impl fmt::Display for ApplicationKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Update => "step",
            Self::Filter => "filter",
            Self::Difference => "difference",
            Self::FirstStep => "first step",
        })
    }
}

/// What the catalogue says of one stencil.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name to ask for.
    pub name: &'static str,
    /// Other names for the same stencil, as the papers print them.
    pub aliases: &'static [&'static str],
    /// The name of its domain.
    pub domain: &'static str,
    /// What it does to a field.
    pub kind: ApplicationKind,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The textbook or paper that its formula comes from.
    pub source: &'static str,
    operator: fn() -> Operator,
}

impl Entry {
    /// The stencil with its weights.
    #[must_use]
    pub fn stencil(&self) -> Stencil {
        (self.operator)().stencil(self.name)
    }
}

impl Domain {
    const fn update(
        &self,
        name: &'static str,
        aliases: &'static [&'static str],
        about: &'static str,
        source: &'static str,
        operator: fn() -> Operator,
    ) -> Entry {
        let kind = ApplicationKind::Update;
        Entry { name, aliases, domain: self.name, kind, about, source, operator }
    }

    const fn filter(
        &self,
        name: &'static str,
        aliases: &'static [&'static str],
        about: &'static str,
        source: &'static str,
        operator: fn() -> Operator,
    ) -> Entry {
        Entry {
            kind: ApplicationKind::Filter,
            ..self.update(name, aliases, about, source, operator)
        }
    }

    const fn difference(
        &self,
        name: &'static str,
        aliases: &'static [&'static str],
        about: &'static str,
        source: &'static str,
        operator: fn() -> Operator,
    ) -> Entry {
        Entry {
            kind: ApplicationKind::Difference,
            ..self.update(name, aliases, about, source, operator)
        }
    }

    const fn first_step(
        &self,
        name: &'static str,
        aliases: &'static [&'static str],
        about: &'static str,
        source: &'static str,
        operator: fn() -> Operator,
    ) -> Entry {
        Entry {
            kind: ApplicationKind::FirstStep,
            ..self.update(name, aliases, about, source, operator)
        }
    }
}

const DOMAINS: [(Domain, &[Entry]); 10] = [
    (shapes::DOMAIN, shapes::ENTRIES),
    (heat::DOMAIN, heat::ENTRIES),
    (poisson::DOMAIN, poisson::ENTRIES),
    (advection::DOMAIN, advection::ENTRIES),
    (wave::DOMAIN, wave::ENTRIES),
    (lattice_boltzmann::DOMAIN, lattice_boltzmann::ENTRIES),
    (phase_field::DOMAIN, phase_field::ENTRIES),
    (geophysics::DOMAIN, geophysics::ENTRIES),
    (image::DOMAIN, image::ENTRIES),
    (electromagnetics::DOMAIN, electromagnetics::ENTRIES),
];

/// Every entry, domain by domain, in a fixed order.
#[must_use]
pub fn entries() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> =
        LazyLock::new(|| DOMAINS.iter().flat_map(|(_, entries)| *entries).copied().collect());
    &ALL
}

/// Every domain, in the order of [`entries`].
#[must_use]
pub fn domains() -> &'static [Domain] {
    static ALL: LazyLock<Vec<Domain>> =
        LazyLock::new(|| DOMAINS.iter().map(|(domain, _)| *domain).collect());
    &ALL
}

/// The stencil of that name or alias, or the [`Shape`] so named; case, `-` and `_` make no
/// difference.
#[must_use]
pub fn find(name: &str) -> Option<Stencil> {
    let wanted = plain(name);
    let named = |entry: &&Entry| {
        plain(entry.name) == wanted || entry.aliases.iter().any(|alias| plain(alias) == wanted)
    };
    let entry = entries().iter().find(named).map(Entry::stencil);
    entry.or_else(|| Some(name.parse::<Shape>().ok()?.stencil()))
}

fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '-' | '_'));
    kept.collect::<String>().to_ascii_lowercase()
}
