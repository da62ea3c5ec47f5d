// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid on a torus, transformed, multiplied and transformed back: rows, then columns, then what lies behind each
//! other. Only the rows and columns of the grid are kept between the passes; what the torus has besides is filled in
//! when a line is transformed, and dropped when it is transformed back.

use std::sync::Arc;

use fourier::{ComplexToReal, Fft, Planner, RealToComplex};
use num_complex::Complex64;
use rayon::prelude::*;
use transform::spectral::axis::TorusSource;
use transform::spectral::{Axis, LinePowers, Powers};

use super::blocks::{Blocks, WIDTH};

/// The factors by which waves are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaveFactor {
    /// `λ^T`.
    Power,
    /// `1 + λ + … + λ^(T−1)`.
    Sum,
}

/// What changes the waves of some fields: it takes what a thread keeps, the axis along which the waves lie, the number of
/// the first one (z, y, x), and a line of each field.
pub type WaveFunction<'a, S> =
    dyn Fn(&mut S, usize, [usize; 3], &mut [&mut [Complex64]]) + Sync + 'a;

/// Lines of complex values, there and back.
struct Columns {
    axis: Axis,
    images: Vec<TorusSource>,
    there: Arc<dyn Fft<f64>>,
    back: Arc<dyn Fft<f64>>,
}

/// The transforms of a torus.
pub struct Transform {
    axes: [Axis; 3],
    /// The axis that is transformed last, where waves are multiplied.
    last: usize,
    blocks: Blocks,
    /// Of the rows.
    images: Vec<TorusSource>,
    there: Arc<dyn RealToComplex<f64>>,
    back: Arc<dyn ComplexToReal<f64>>,
    /// Along z and y.
    columns: [Columns; 2],
}

/// What a thread transforms with.
#[derive(Default)]
struct Scratch {
    row: Vec<f64>,
    values: Vec<Complex64>,
    more: Vec<Complex64>,
}

/// The tiles that hold the spectra of a torus of so many axes.
pub fn blocks(axes: &[Axis; 3], dims: usize) -> Blocks {
    let [z, y, x] = axes;
    // Behind each other lie whole spectra of columns.
    let rows = if dims == 3 { y.length } else { y.points };
    Blocks::new(z.points, rows, x.length / 2 + 1)
}

impl Transform {
    /// For a grid of so many axes.
    pub fn new(axes: [Axis; 3], dims: usize) -> Self {
        let blocks = blocks(&axes, dims);
        let mut planner = Planner::new();
        let columns = [0, 1].map(|axis: usize| {
            let axis = axes[axis];
            let (there, back) = planner.complex(axis.length);
            Columns { axis, images: axis.images(), there, back }
        });
        let [.., x] = &axes;
        let (there, back) = planner.real(x.length);
        let images = x.images();
        Self { last: 3 - dims, axes, blocks, images, there, back, columns }
    }

    /// The tiles for its spectra.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// Points of the torus (z, y, x).
    pub fn lengths(&self) -> [usize; 3] {
        self.axes.each_ref().map(|axis| axis.length)
    }

    /// Transforms a field, multiplies its waves, and transforms it back, but for its rows. `read` fills a row of
    /// the grid, given its number in C order.
    pub fn there(
        &self,
        spectra: &mut [Complex64],
        powers: &Powers,
        factor: WaveFactor,
        read: &(dyn Fn(usize, &mut [f64]) + Sync),
    ) {
        self.rows_there(spectra, read);
        self.on_waves(&mut [spectra], 1, &|_: &mut (), axis, at, lines| {
            multiply(&powers.line(axis, at), factor, lines[0]);
        });
    }

    /// Transforms the columns of some fields whose rows are transformed, changes their waves, and transforms the first
    /// so many of the fields back, but for their rows.
    pub fn on_waves<S: Default>(
        &self,
        spectra: &mut [&mut [Complex64]],
        back: usize,
        each: &WaveFunction<'_, S>,
    ) {
        let blocks = self.blocks;
        if self.last == 2 {
            let of_field = |spectrum: &&mut [Complex64]| {
                let mut row = vec![Complex64::ZERO; blocks.columns];
                blocks.take(spectrum, 0, &mut row);
                row
            };
            let mut rows: Vec<Vec<Complex64>> = spectra.iter().map(of_field).collect();
            let mut lines: Vec<&mut [Complex64]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
            each(&mut S::default(), 2, [0; 3], &mut lines);
            let kept = spectra.iter_mut().zip(&rows).take(back);
            kept.for_each(|(spectrum, row)| blocks.put(spectrum, 0, row));
            return;
        }
        if self.last == 1 {
            let fields = spectra.iter_mut().map(|it| blocks.above_each_other(it)).collect();
            let mut parts = by_part(fields);
            parts.par_iter_mut().enumerate().for_each_init(
                Lines::default,
                |lines, (part, tiles)| {
                    let place = |at: usize| (at / blocks.height, at % blocks.height * WIDTH);
                    self.lines([0, 0, part * WIDTH], tiles, back, place, lines, each);
                },
            );
            return;
        }
        spectra.iter_mut().for_each(|spectrum| self.whole_columns(spectrum, true));
        let fields = spectra.iter_mut().map(|it| blocks.behind_each_other(it)).collect();
        let mut parts = by_part(fields);
        parts.par_iter_mut().enumerate().for_each_init(Lines::default, |lines, (part, tiles)| {
            let (band, column) = (part / blocks.across(), part % blocks.across() * WIDTH);
            let first = band * blocks.height;
            for row in 0..blocks.height.min(blocks.rows.saturating_sub(first)) {
                let place = |at: usize| (at, row * WIDTH);
                self.lines([0, first + row, column], tiles, back, place, lines, each);
            }
        });
        drop(parts);
        spectra[..back].iter_mut().for_each(|spectrum| self.whole_columns(spectrum, false));
    }

    /// Transforms some neighbouring lines along the last axis, calls `each` with the waves of each line, and
    /// transforms the first `back` fields back. The lines begin at the waves `first`. `place` says in which of a
    /// field's tiles a point of the lines lies, and where.
    fn lines<S>(
        &self,
        first: [usize; 3],
        fields: &mut [Vec<&mut [Complex64]>],
        back: usize,
        place: impl Fn(usize) -> (usize, usize),
        lines: &mut Lines<S>,
        each: &WaveFunction<'_, S>,
    ) {
        let (columns, Lines { fields: scratch, own }) = (&self.columns[self.last], lines);
        scratch.resize_with(fields.len(), Scratch::default);
        for (scratch, tiles) in scratch.iter_mut().zip(&*fields) {
            columns.there(scratch, |at, w| {
                let (tile, from) = place(at);
                tiles[tile][from + w]
            });
        }
        let length = columns.axis.length;
        let mut all: Vec<_> = scratch.iter_mut().map(|it| it.values.chunks_mut(length)).collect();
        // Behind the last column there is nothing.
        for column in first[2]..self.blocks.columns.min(first[2] + WIDTH) {
            let mut waves: Vec<&mut [Complex64]> =
                all.iter_mut().flat_map(Iterator::next).collect();
            each(own, self.last, [first[0], first[1], column], &mut waves);
        }
        for (scratch, tiles) in scratch.iter_mut().zip(fields).take(back) {
            columns.back(scratch);
            columns.crop(columns.axis.points, scratch, |at, w, value| {
                let (tile, to) = place(at);
                tiles[tile][to + w] = value;
            });
        }
    }

    /// Transforms the rows of the grid. `read` fills one, given its number in C order.
    pub fn rows_there(&self, spectra: &mut [Complex64], read: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        let ([_, y, x], blocks) = (&self.axes, self.blocks);
        let plane = |(z, plane): (usize, &mut [Complex64])| {
            let bands = plane.par_chunks_mut(blocks.band()).enumerate();
            bands.for_each_init(Scratch::default, |scratch, (number, band)| {
                let first = number * blocks.height;
                scratch.row.resize(x.length, 0.0);
                scratch.values.resize(blocks.columns, Complex64::ZERO);
                scratch.more.resize(self.there.get_scratch_len(), Complex64::ZERO);
                for at in first..y.points.min(first + blocks.height) {
                    let (inside, images) = scratch.row.split_at_mut(x.points);
                    read(z * y.points + at, inside);
                    for (image, source) in images.iter_mut().zip(&self.images) {
                        *image = f64::from(source.sign) * inside[source.point as usize];
                    }
                    let Scratch { row, values, more } = scratch;
                    self.there
                        .process_with_scratch(row, values, more)
                        .expect("the planned lengths");
                    blocks.put(band, at - first, values);
                }
            });
        };
        spectra.par_chunks_mut(blocks.plane()).enumerate().for_each(plane);
    }

    /// Transforms the rows of the grid back. `write` takes one, with its number and its place in `out`.
    pub fn back<T: Send>(
        &self,
        spectra: &mut [Complex64],
        out: &mut [T],
        write: impl Fn(usize, &[f64], &mut [T]) + Sync,
    ) {
        let ([_, y, x], blocks) = (&self.axes, self.blocks);
        let scale = 1.0 / self.lengths().into_iter().map(|length| length as f64).product::<f64>();
        let planes =
            spectra.par_chunks(blocks.plane()).zip(out.par_chunks_mut(y.points * x.points));
        planes.enumerate().for_each(|(z, (plane, out))| {
            let rows = out.par_chunks_mut(blocks.height * x.points);
            let bands = plane.par_chunks(blocks.band()).zip(rows).enumerate();
            bands.for_each_init(Scratch::default, |scratch, (number, (band, out))| {
                scratch.row.resize(x.length, 0.0);
                scratch.values.resize(blocks.columns, Complex64::ZERO);
                scratch.more.resize(self.back.get_scratch_len(), Complex64::ZERO);
                for (at, out) in out.chunks_mut(x.points).enumerate() {
                    let Scratch { row, values, more } = scratch;
                    blocks.take(band, at, values);
                    // Real but for rounding.
                    values[0].im = 0.0;
                    if x.length.is_multiple_of(2) {
                        values[x.length / 2].im = 0.0;
                    }
                    self.back.process_with_scratch(values, row, more).expect("the planned lengths");
                    row[..x.points].iter_mut().for_each(|value| *value *= scale);
                    write(z * y.points + number * blocks.height + at, &row[..x.points], out);
                }
            });
        });
    }

    /// Calls for the tiles above each other of each plane, with the first of their columns.
    fn along_y(
        &self,
        spectra: &mut [Complex64],
        each: impl Fn(&mut Scratch, usize, &mut [&mut [Complex64]]) + Sync,
    ) {
        spectra.par_chunks_mut(self.blocks.plane()).for_each(|plane| {
            let mut all = self.blocks.above_each_other(plane);
            all.par_iter_mut().enumerate().for_each_init(
                Scratch::default,
                |scratch, (number, tiles)| {
                    each(scratch, number * WIDTH, tiles);
                },
            );
        });
    }

    /// Transforms the columns of each plane, to or from whole spectra.
    fn whole_columns(&self, spectra: &mut [Complex64], there: bool) {
        let (columns, height) = (&self.columns[1], self.blocks.height);
        let place = |at: usize, w: usize| (at / height, at % height * WIDTH + w);
        self.along_y(spectra, |scratch, _, tiles| {
            if there {
                columns.there(scratch, |at, w| {
                    let (tile, place) = place(at, w);
                    tiles[tile][place]
                });
            } else {
                columns.gather(columns.axis.length, scratch, |at, w| {
                    let (tile, place) = place(at, w);
                    tiles[tile][place]
                });
                columns.back(scratch);
            }
            let kept = if there { columns.axis.length } else { columns.axis.points };
            columns.crop(kept, scratch, |at, w, value| {
                let (tile, place) = place(at, w);
                tiles[tile][place] = value;
            });
        });
    }
}

/// What a thread transforms lines of some fields with, and what it keeps besides.
struct Lines<S> {
    fields: Vec<Scratch>,
    own: S,
}

impl<S: Default> Default for Lines<S> {
    fn default() -> Self {
        Self { fields: Vec::new(), own: S::default() }
    }
}

/// The parts of each field's spectra, by part and field.
fn by_part<T>(fields: Vec<Vec<T>>) -> Vec<Vec<T>> {
    let parts = fields.first().map_or(0, Vec::len);
    let mut all: Vec<Vec<T>> = (0..parts).map(|_| Vec::with_capacity(fields.len())).collect();
    for field in fields {
        field.into_iter().zip(&mut all).for_each(|(part, parts)| parts.push(part));
    }
    all
}

impl Columns {
    /// Fetches the first points of each line.
    fn gather(
        &self,
        count: usize,
        scratch: &mut Scratch,
        from: impl Fn(usize, usize) -> Complex64,
    ) {
        let length = self.axis.length;
        scratch.values.resize(WIDTH * length, Complex64::ZERO);
        for at in 0..count {
            (0..WIDTH).for_each(|w| scratch.values[w * length + at] = from(at, w));
        }
    }

    /// Fills the lines of a torus from the points of a grid, and transforms them.
    fn there(&self, scratch: &mut Scratch, from: impl Fn(usize, usize) -> Complex64) {
        self.gather(self.axis.points, scratch, from);
        for line in scratch.values.chunks_mut(self.axis.length) {
            let (inside, images) = line.split_at_mut(self.axis.points);
            for (image, source) in images.iter_mut().zip(&self.images) {
                *image = f64::from(source.sign) * inside[source.point as usize];
            }
        }
        scratch.more.resize(self.there.get_inplace_scratch_len(), Complex64::ZERO);
        self.there.process_with_scratch(&mut scratch.values, &mut scratch.more);
    }

    fn back(&self, scratch: &mut Scratch) {
        scratch.more.resize(self.back.get_inplace_scratch_len(), Complex64::ZERO);
        self.back.process_with_scratch(&mut scratch.values, &mut scratch.more);
    }

    /// Hands on the first points of each line.
    fn crop(&self, count: usize, scratch: &Scratch, mut to: impl FnMut(usize, usize, Complex64)) {
        for at in 0..count {
            (0..WIDTH).for_each(|w| to(at, w, scratch.values[w * self.axis.length + at]));
        }
    }
}

fn multiply(line: &LinePowers, factor: WaveFactor, values: &mut [Complex64]) {
    let of = |k: usize| match factor {
        WaveFactor::Power => line.power(k),
        WaveFactor::Sum => line.sum(k),
    };
    if !line.is_even() {
        values.iter_mut().enumerate().for_each(|(k, value)| *value *= of(k));
        return;
    }
    // A wave and its reverse have one factor, which is real; of real data there may be one half of the waves only.
    let (length, own) = (line.waves(), values.len());
    for k in 0..own.min(length / 2 + 1) {
        let factor = of(k).re;
        values[k] *= factor;
        if k > 0 && length - k != k && length - k < own {
            values[length - k] *= factor;
        }
    }
}
