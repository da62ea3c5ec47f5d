// SPDX-License-Identifier: MIT OR Apache-2.0
//! The catalogue keeps what it says of its entries.

use std::{collections::HashMap, f64::consts::PI};
use transform::{
    Stencil,
    catalogue::{self, ApplicationKind, Entry},
    symbol,
};

fn sum(stencil: &Stencil) -> f64 {
    stencil.taps().iter().map(|tap| tap.weight).sum()
}

#[test]
fn there_are_enough_entries_in_enough_domains() {
    let (entries, domains) = (catalogue::entries(), catalogue::domains());
    // Without the shapes, which the papers count as benchmarks and not as a domain.
    assert!(entries.iter().filter(|entry| entry.domain != "shapes").count() >= 79);
    assert!(domains.len() >= 10);
    for domain in domains {
        let count = entries.iter().filter(|entry| entry.domain == domain.name).count();
        assert!(count >= 8, "{} has {count} entries", domain.name);
    }
    assert!(entries.iter().all(|entry| domains.iter().any(|domain| domain.name == entry.domain)));
}

#[test]
fn names_are_unique_and_found_in_any_spelling() {
    let mut owner = HashMap::new();
    for entry in catalogue::entries() {
        for name in std::iter::once(&entry.name).chain(entry.aliases) {
            let plain = name.replace(['-', '_'], "").to_lowercase();
            let before = owner.insert(plain, entry.name);
            assert_eq!(before, None, "'{name}' names two entries");
            let found = catalogue::find(&name.replace('-', "_").to_uppercase());
            assert_eq!(found, Some(entry.stencil()), "{name}");
        }
        assert!(!entry.about.is_empty() && !entry.source.is_empty(), "{}", entry.name);
    }
    assert_eq!(catalogue::find("star2d99r"), None);
    assert_eq!(catalogue::find(""), None);
}

#[test]
fn no_stencil_is_listed_twice() {
    let mut seen: HashMap<Vec<([i32; 3], i64)>, &str> = HashMap::new();
    for entry in catalogue::entries() {
        let stencil = entry.stencil();
        let taps = stencil.taps().iter();
        let rounded = taps.map(|tap| (tap.offset, (tap.weight * 1e12).round() as i64)).collect();
        if let Some(other) = seen.insert(rounded, entry.name) {
            panic!("'{}' and '{other}' are the same stencil", entry.name);
        }
    }
}

#[test]
fn radii_and_dimensions_are_those_of_the_names() {
    for entry in catalogue::entries() {
        let stencil = entry.stencil();
        assert!((1..=8).contains(&stencil.radius()), "{}", entry.name);
        assert_eq!(stencil.name(), entry.name);
        for dims in 1..=3 {
            if entry.name.contains(&format!("{dims}d"))
                || entry.name.starts_with(&format!("d{dims}q"))
            {
                assert_eq!(stencil.dims(), dims, "{}", entry.name);
            }
        }
        assert!(stencil.taps().iter().all(|tap| tap.weight != 0.0), "{}", entry.name);
    }
}

#[test]
fn filters_sum_to_one_and_differences_to_zero() {
    for entry in catalogue::entries() {
        let stencil = entry.stencil();
        let expected = match entry.kind {
            ApplicationKind::Filter => 1.0,
            ApplicationKind::Difference => 0.0,
            ApplicationKind::Update | ApplicationKind::FirstStep => continue,
        };
        let error = (sum(&stencil) - expected).abs() / stencil.gain();
        assert!(error < 1e-14, "{}: {error}", entry.name);
    }
}

#[test]
fn updates_let_no_wave_grow() {
    const WAVES: usize = 16;
    let angle = |k: usize| PI * k as f64 / WAVES as f64;
    let stepped =
        |entry: &&Entry| matches!(entry.kind, ApplicationKind::Update | ApplicationKind::FirstStep);
    for entry in catalogue::entries().iter().filter(stepped) {
        let stencil = entry.stencil();
        let dims = stencil.dims();
        // Half of the waves on the last axis; the others are their complex conjugates.
        let span = |axis: usize| if axis >= 3 - dims { 0..2 * WAVES } else { 0..1 };
        for z in span(0) {
            for y in span(1) {
                for x in 0..=WAVES {
                    let growth = symbol::growth(&stencil, [angle(z), angle(y), angle(x)]);
                    assert!(growth <= 1.0 + 1e-12, "{}: {growth} at {z} {y} {x}", entry.name);
                }
            }
        }
    }
}

#[test]
fn updates_that_conserve_keep_a_constant_field() {
    // The others lose to a reaction or a sink, and say so in their formula.
    let losing =
        ["allen-cahn", "swift-hohenberg", "block-copolymer", "helmholtz", "eddy-current-2d"];
    let stepped =
        |entry: &&Entry| matches!(entry.kind, ApplicationKind::Update | ApplicationKind::FirstStep);
    for entry in catalogue::entries().iter().filter(stepped) {
        let total = sum(&entry.stencil());
        if losing.iter().any(|prefix| entry.name.starts_with(prefix)) {
            assert!((0.0..0.999).contains(&total), "{}: {total}", entry.name);
        } else {
            assert!((total - 1.0).abs() < 1e-13, "{}: {total}", entry.name);
        }
    }
}

#[test]
fn known_weights_come_out_of_the_formulas() {
    let weights = |name: &str, scale: f64| -> Vec<f64> {
        let stencil = catalogue::find(name).unwrap();
        stencil.taps().iter().map(|tap| (tap.weight * scale * 1e9).round() / 1e9).collect()
    };
    assert_eq!(weights("mehrstellen2d", 6.0), [1., 4., 1., 4., -20., 4., 1., 4., 1.]);
    assert_eq!(weights("fem2d", 3.0), [1., 1., 1., 1., -8., 1., 1., 1., 1.]);
    assert_eq!(weights("shapiro1d-2nd", 16.0), [-1., 4., 10., 4., -1.]);
    assert_eq!(weights("savitzky-golay-7", 21.0), [-2., 3., 6., 7., 6., 3., -2.]);
    assert_eq!(weights("quintic-spline-5x5", 120.0 * 120.0)[..5], [1., 26., 66., 26., 1.]);
    assert_eq!(weights("cubic-restriction-2d", 1024.0)[..4], [1., -9., -16., -9.]);
    assert_eq!(weights("d2q9", 36.0), [1., 4., 1., 4., 16., 4., 1., 4., 1.]);
    assert_eq!(weights("fdtd24", 24.0), [1., -27., 27., -1.]);
    assert_eq!(weights("weno5-linear", 60.0), [-2., 15., -60., 20., 30., -3.]);
    assert_eq!(weights("sobel-x", 1.0), [-1., 1., -2., 2., -1., 1.]);
    assert_eq!(weights("biharmonic2d", 1.0).iter().copied().fold(f64::MIN, f64::max), 20.0);
    let centre = |name: &str| catalogue::find(name).unwrap().weight([0; 3]);
    assert!((centre("d3q19") - 1.0 / 3.0).abs() < 1e-15);
    assert!((centre("d3q15") - 2.0 / 9.0).abs() < 1e-15);
    assert!((centre("d3q27") - 8.0 / 27.0).abs() < 1e-15);
}

#[test]
fn advection_moves_a_smooth_wave_by_the_courant_number() {
    // 5th order: the phase of a wave of 20 points is right to better than 1e-4 of a point.
    let stencil = catalogue::find("strang5-1d").unwrap();
    let k = 2.0 * PI / 20.0;
    let wave = |x: f64| (k * x).sin();
    let moved: f64 =
        stencil.taps().iter().map(|t| t.weight * wave(f64::from(t.offset[2]) + 3.0)).sum();
    assert!((moved - wave(3.0 - 0.4)).abs() < 1e-4 * k, "{moved}");
}
