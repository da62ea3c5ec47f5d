// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solves S(w) = f on a torus: S multiplies each wave by its symbol λ, so w is f with each wave divided by it. Where S takes the
//! constant away, f has to have none, and w is the solution without a constant; a stencil that takes another wave
//! away has no such inverse.

use num_complex::Complex64;

use super::{Axis, End, Powers};
use crate::Stencil;

/// The inverse of a stencil on a torus.
pub struct Inverse {
    /// `1 / λ`, to multiply waves with.
    pub powers: Powers,
    /// Whether S takes the constant away, so that solutions have none.
    pub is_singular: bool,
    /// By how much a value of w changes at most where f on the torus changes by 1 in the 2-norm: `√(Σ 1/|λ|² / points)`, which
    /// is the 2-norm of a row of the inverse matrix (Parseval's theorem).
    pub row: f64,
}

/// A wave that a stencil takes away, by its number along z, y, x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostWave(pub [usize; 3]);

impl Inverse {
    /// Of a stencil on the torus of these axes (z, y, x).
    ///
    /// # Errors
    /// A wave besides the constant that the stencil takes away.
    pub fn new(stencil: &Stencil, axes: &[Axis; 3]) -> Result<Self, LostWave> {
        let lengths = axes.each_ref().map(|axis| axis.length);
        let powers = Powers::inverse(stencil, lengths);
        // A field that is a negative image has no part that is constant along the axis.
        let first = axes.each_ref().map(|axis| usize::from(axis.ends.contains(&End::Odd)));
        let (mut squares, mut is_singular) = (0.0, false);
        let [lz, ly, lx] = lengths;
        for z in first[0]..lz {
            for y in first[1]..ly {
                let line = powers.line(2, [z, y, 0]);
                for x in first[2]..=lx / 2 {
                    let inverse = line.power(x);
                    let is_constant = [z, y, x] == [0; 3];
                    if inverse == Complex64::ZERO && !is_constant {
                        return Err(LostWave([z, y, x]));
                    }
                    is_singular |= inverse == Complex64::ZERO;
                    // Real fields have each wave of x twice, but for the constant one and the shortest.
                    let count = if x == 0 || 2 * x == lx { 1.0 } else { 2.0 };
                    squares += count * inverse.norm_sqr();
                }
            }
        }
        let points = lengths.map(|length| length as f64).iter().product::<f64>();
        Ok(Self { powers, is_singular, row: (squares / points).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectral::End;

    fn axes(lengths: [usize; 3], ends: [End; 2]) -> [Axis; 3] {
        lengths.map(|points| {
            let ends = if points == 1 { [End::Unread; 2] } else { ends };
            Axis::new(points, [1 << 40; 2], ends)
        })
    }

    fn laplace(h: f64) -> Stencil {
        let w = 1.0 / (h * h);
        let star = [0.0, w, 0.0, w, -4.0 * w, w, 0.0, w, 0.0];
        Stencil::dense("laplace", &[3, 3], &star).unwrap()
    }

    #[test]
    fn small_symbols_keep_their_digits() {
        let length = 4096;
        let axes = axes([1, length, length], [End::Wrap; 2]);
        let powers = Powers::inverse(&laplace(0.125), axes.each_ref().map(|axis| axis.length));
        for (y, x) in [(0, 1), (1, 1), (3, 2), (0, 2048), (4095, 17)] {
            let found = powers.line(1, [0, 0, x]).power(y);
            let sine = |k: usize| (std::f64::consts::PI * k as f64 / length as f64).sin();
            let symbol = -4.0 * 64.0 * (sine(x).powi(2) + sine(y).powi(2));
            assert!((found.re * symbol - 1.0).abs() < 1e-14, "{y} {x}: {}", found.re * symbol);
            assert_eq!(found.im, 0.0);
        }
    }

    #[test]
    fn the_constant_is_left_out_where_the_stencil_takes_it_away() {
        let singular = Inverse::new(&laplace(0.3), &axes([1, 12, 10], [End::Wrap; 2])).unwrap();
        assert!(singular.is_singular);
        // A field between walls at which it is 0 has no constant.
        let walls = Inverse::new(&laplace(0.3), &axes([1, 12, 10], [End::Odd; 2])).unwrap();
        assert!(!walls.is_singular);
        let implicit = Stencil::dense("implicit", &[3], &[-0.5, 2.0, -0.5]).unwrap();
        let regular = Inverse::new(&implicit, &axes([1, 1, 9], [End::Wrap; 2])).unwrap();
        assert!(!regular.is_singular);
        assert_eq!(regular.powers.line(2, [0; 3]).power(0), Complex64::ONE);
    }

    /// Lines between walls, each solved for by itself.
    #[test]
    fn waves_that_walls_forbid_need_no_inverse() {
        let line = [0.0, 0.0, 0.0, 1.0, -2.0, 1.0, 0.0, 0.0, 0.0];
        let line = Stencil::dense("line", &[3, 3], &line).unwrap();
        let mut between = axes([1, 6, 8], [End::Wrap; 2]);
        assert_eq!(Inverse::new(&line, &between).map(drop), Err(LostWave([0, 1, 0])));
        between[2] = Axis::new(8, [1 << 40; 2], [End::Odd; 2]);
        assert!(!Inverse::new(&line, &between).unwrap().is_singular);
    }

    #[test]
    fn other_waves_that_are_taken_away_are_told() {
        let slope = Stencil::dense("slope", &[3], &[-0.5, 0.0, 0.5]).unwrap();
        let of = |length| Inverse::new(&slope, &axes([1, 1, length], [End::Wrap; 2])).map(drop);
        assert_eq!(of(8), Err(LostWave([0, 0, 4])));
        assert_eq!(of(9), Ok(()));
    }

    #[test]
    fn a_row_is_as_large_as_that_of_the_inverse_matrix() {
        let shift = Stencil::dense("half", &[3], &[0.25, 1.0, 0.0]).unwrap();
        let inverse = Inverse::new(&shift, &axes([1, 1, 6], [End::Wrap; 2])).unwrap();
        // w(x) = f(x) - w(x - 1) / 4 goes around: f of x, x - 1, ... times (-1/4)^k / (1 - (-1/4)^6).
        let around = 1.0 - 0.25f64.powi(6);
        let squares: f64 = (0..6).map(|k| (0.25f64.powi(k) / around).powi(2)).sum();
        assert!((inverse.row / squares.sqrt() - 1.0).abs() < 1e-14);
    }
}
