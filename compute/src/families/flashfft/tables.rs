// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of the FlashFFTStencil kernels: matrices of transforms, and the symbol of so many steps.

use crate::families::dense_f64::operand;
use crate::families::domain::push_real;
use cuda_mma::fragment::LANES;
use kernels_gpu::flashfft::{SYMBOLS, line, row_of_slot, wave};
use num_complex::Complex64;
use problem::Dtype;
use std::f64::consts::TAU;
use transform::Stencil;
use transform::spectral::Powers;

/// `cos θ` and `sin θ` of `θ = 2π·turns / points`, right to the last digits: the angle is at most a quarter of a turn.
fn turn(turns: usize, points: usize) -> (f64, f64) {
    let turns = turns % points;
    // The other way round, and beyond a quarter from the other side.
    let (turns, sin_sign) = if 2 * turns > points { (points - turns, -1.0) } else { (turns, 1.0) };
    let beyond = 4 * turns > points;
    let rest = if beyond { points as f64 / 2.0 - turns as f64 } else { turns as f64 };
    let (sin, cos) = (TAU * rest / points as f64).sin_cos();
    // A quarter of a turn itself.
    let cos = if 4 * turns == points { 0.0 } else { cos };
    (if beyond { -cos } else { cos }, sin_sign * sin)
}

/// The matrix of a transform of so many points, as lanes hold its three parts; zeros beyond.
pub fn matrix(points: usize) -> Vec<u32> {
    let part = |of: fn(f64, f64) -> f64| {
        operand(1, |wave, slot| {
            let point = row_of_slot(slot);
            if wave >= points || point >= points {
                return 0.0;
            }
            let (cos, sin) = turn(wave * point, points);
            of(cos, sin)
        })
    };
    let parts = [part(|cos, _| cos), part(|cos, sin| sin - cos), part(|cos, sin| -(cos + sin))];
    parts.concat()
}

/// `λ^T` of all waves of a tile of some lengths (z, y, x).
struct Symbol {
    powers: Powers,
    lengths: [usize; 3],
}

impl Symbol {
    /// Of the wave of these numbers.
    fn at(&self, wave: [usize; 3]) -> Complex64 {
        let of = |[z, y, x]: [usize; 3]| self.powers.line(2, [z, y, 0]).power(x);
        if 2 * wave[2] <= self.lengths[2] {
            return of(wave);
        }
        // Of real weights the opposite wave's is the conjugate.
        of(std::array::from_fn(|axis| (self.lengths[axis] - wave[axis]) % self.lengths[axis]))
            .conj()
    }
}

/// The number of a tile's wave in 1D, at a row and a column of the matrix that it is.
fn wave_of_line(row: usize, column: usize) -> usize {
    let (rows, columns) = (line::ROWS as usize, (line::POINTS / line::ROWS) as usize);
    (row * columns + column * rows) % (rows * columns)
}

/// The symbol of so many steps over the points of a tile of some lengths (z, y, x), as lanes read it: of 1D and 2D one
/// square of waves, in 3D one of waves along z and x for each wave along y.
pub fn symbols(stencil: &Stencil, lengths: [usize; 3], steps: usize) -> Vec<u32> {
    let symbol = Symbol { powers: Powers::new(stencil, lengths, steps), lengths };
    let points = lengths.iter().product::<usize>() as f64;
    let squares = if stencil.dims() == 3 { lengths[1] } else { 1 };
    let mut words = Vec::new();
    for square in 0..squares {
        for index in 0..SYMBOLS as usize / LANES {
            for lane in 0..LANES {
                let (row, column) = wave(lane, index);
                let at = match stencil.dims() {
                    1 if row >= line::ROWS as usize => Complex64::ZERO,
                    1 => symbol.at([0, 0, wave_of_line(row, column)]),
                    2 => symbol.at([0, row, column]),
                    _ => symbol.at([row, square, column]),
                };
                push_real(&mut words, Dtype::F64, at.re / points);
                push_real(&mut words, Dtype::F64, at.im / points);
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::dense_f64;
    use kernels_gpu::dense_f64::OPERAND;
    use std::collections::BTreeSet;
    use transform::catalogue;

    #[test]
    fn the_parts_of_a_matrix_are_those_of_a_transform() {
        for points in [15, 16] {
            let words = matrix(points);
            let parts: Vec<_> =
                words.chunks(2 * OPERAND).map(|words| dense_f64::matrix(words, 1)).collect();
            assert_eq!(parts.len(), kernels_gpu::flashfft::product::PARTS);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-13;
            let [cosines, less, more] = [0, 1, 2].map(|part: usize| parts[part].iter().flatten());
            for (index, ((cos, less), more)) in cosines.zip(less).zip(more).enumerate() {
                let (wave, point) = (index / 16, row_of_slot(index % 16));
                let is_there = wave < points && point < points;
                let angle = TAU * (wave * point) as f64 / points as f64;
                let (right_sin, right_cos) = if is_there { angle.sin_cos() } else { (0.0, 0.0) };
                assert!(near(*cos, right_cos), "{points} {wave} {point}");
                assert!(near(*less, right_sin - right_cos) && near(*more, -right_cos - right_sin));
            }
        }
        assert_eq!(
            [0, 4, 8, 12].map(|turns| turn(turns, 16)),
            [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
        );
    }

    #[test]
    fn waves_of_a_line_are_each_once_in_the_matrix() {
        let waves: BTreeSet<usize> =
            (0..15).flat_map(|row| (0..16).map(move |column| wave_of_line(row, column))).collect();
        assert_eq!((waves.len(), waves.last()), (240, Some(&239)));
        // The wave of a row and a column is the product of theirs, at points on the diagonal.
        for (row, column) in [(1, 0), (0, 1), (7, 5)] {
            for point in 0..240 {
                let whole = wave_of_line(row, column) * point * 2;
                let parts = row * (point % 15) * 32 + column * (point % 16) * 30;
                assert_eq!(whole % 480, parts % 480, "{row} {column} {point}");
            }
        }
    }

    #[test]
    fn an_asymmetric_stencil_has_conjugate_waves() {
        let upwind = Stencil::dense("upwind", &[3], &[0.75, 0.25, 0.0]).unwrap();
        let lengths = [1, 1, 240];
        let symbol = Symbol { powers: Powers::new(&upwind, lengths, 3), lengths };
        for wave in [0, 1, 119, 120, 121, 239] {
            let theta = TAU * wave as f64 / 240.0;
            let right = (0.75 * Complex64::cis(-theta) + 0.25).powu(3);
            assert!((symbol.at([0, 0, wave]) - right).norm() < 1e-14, "{wave}");
        }
        let lengths = [1, 16, 16];
        let box2d = catalogue::find("box2d1r").unwrap();
        let symbol = Symbol { powers: Powers::new(&box2d, lengths, 2), lengths };
        assert!((symbol.at([0, 3, 14]) - symbol.at([0, 13, 2])).norm() < 1e-15);
    }
}
