// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many steps of several coupled fields with earlier levels: on a torus a step multiplies the waves of all of them
//! by a small matrix A(k), and T steps by its power.
//!
//! Each entry of A is a sum of weights times roots of unity, and its power is made by squaring, all in double-double
//! numbers ([`Double`]): squaring loses a digit for every ten times as many steps, of 31 that there are, and as many as the
//! norms of powers are large. So neither eigenvalues that meet (a wave equation at long waves) nor growth need a case
//! of their own. A source that is the same in every step is added `1 + A + … + A^(T−1)` times, made along the way.
//!
//! What is multiplied are not levels but their backward differences, `u`, `u − u₋₁`, `u − 2u₋₁ + u₋₂`: of slow waves the
//! powers of A have large entries that nearly cancel when applied to levels that are nearly the same.

use num_complex::Complex64;

use super::double::Double;
use number::{Complex, Matrices, MatrixElement};

mod number;
#[cfg(test)]
mod tests;

/// Waves side by side.
const LANES: usize = 8;

/// A term of a step: so many times another value at an offset from a point is added to the point's next value.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// The field that it is added to.
    pub to: usize,
    /// The field that is read, and how many steps ago.
    pub from: (usize, usize),
    /// Where it is read, as (z, y, x).
    pub offset: [i32; 3],
    /// How many times.
    pub weight: Double<1>,
}

/// Fields with their levels: which values a step takes, as a list of *variables*, all levels of a field together, the
/// present one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels(Vec<usize>);

impl Levels {
    /// Of fields with so many levels each.
    #[must_use]
    pub fn new(levels: &[usize]) -> Self {
        Self(levels.to_vec())
    }

    /// The number of variables.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.0.iter().sum()
    }

    /// The place of a field's level among the variables.
    #[must_use]
    pub fn place(&self, field: usize, level: usize) -> usize {
        self.0[..field].iter().sum::<usize>() + level
    }

    /// Each field with the level, by variable.
    pub fn all(&self) -> impl Iterator<Item = (usize, usize)> {
        let fields = self.0.iter().enumerate();
        fields.flat_map(|(field, &levels)| (0..levels).map(move |level| (field, level)))
    }
}

/// How many times level `other` is in the backward difference of an order; the same numbers make levels of differences.
#[must_use]
pub fn in_difference(order: usize, other: usize) -> f64 {
    let binomial = (0..other)
        .fold(1.0, |product, at| product * (order as f64 - at as f64) / (at as f64 + 1.0));
    if other % 2 == 1 { -binomial } else { binomial }
}

/// The roots of unity of an axis, `e^{2πi k/length}`.
struct Roots {
    cos: Vec<Double<1>>,
    sin: Vec<Double<1>>,
}

impl Roots {
    fn new(length: usize) -> Self {
        let all = (0..length).map(|turn| Double::turned(turn, length));
        let (cos, sin) = all.map(|[cos, sin]| (cos, sin)).unzip();
        Self { cos, sin }
    }

    fn place(&self, wave: usize, offset: i32) -> usize {
        let length = self.cos.len() as i128;
        (wave as i128 * i128::from(offset)).rem_euclid(length) as usize
    }

    fn get(&self, wave: usize, offset: i32) -> Complex<1> {
        let at = self.place(wave, offset);
        Complex { re: self.cos[at], im: self.sin[at] }
    }
}

/// An offset (z, y, x), and how many times the value there is taken.
pub type Tap = ([i32; 3], Double<1>);

fn add_tap(taps: &mut Vec<Tap>, offset: [i32; 3], weight: Double<1>) {
    match taps.iter_mut().find(|tap| tap.0 == offset) {
        Some(known) => known.1 = known.1.plus(weight),
        None => taps.push((offset, weight)),
    }
}

/// The non-zero terms of an entry of A.
struct Entry {
    row: usize,
    column: usize,
    taps: Vec<Tap>,
}

/// So many steps of coupled fields on a torus.
pub struct Coupled {
    levels: Levels,
    steps: usize,
    entries: Vec<Entry>,
    roots: [Roots; 3],
    /// The fields to which a source is added.
    sources: Vec<usize>,
    /// Whether all entries are real: weights at opposite offsets are the same.
    real: bool,
    /// Whether they are the same for a wave and the opposite one along (z, y, x).
    even: [bool; 3],
    /// Along which axes no field has a constant part.
    odd: [bool; 3],
}

/// The largest absolute entries that a matrix had, of all waves: by rows, of the power and then of the sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Largest(Vec<f64>);

impl Largest {
    /// Takes over what is larger.
    pub fn merge(&mut self, other: &Self) {
        let pairs = self.0.iter_mut().zip(&other.0);
        pairs.for_each(|(own, other)| *own = larger(*own, *other));
    }
}

/// The larger one; infinity for what is no number.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b.is_finite() { a.max(b) } else { f64::INFINITY }
}

impl Coupled {
    /// For a torus of these lengths (z, y, x), so many steps, and sources that are added to some fields. Along `odd`
    /// axes no field has a constant part: of negative mirror images, where it is kept at 0, or what rounding makes of it
    /// would grow.
    #[must_use]
    pub fn new(
        levels: Levels,
        couplings: &[Coupling],
        lengths: [usize; 3],
        odd: [bool; 3],
        sources: &[usize],
        steps: usize,
    ) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        for Coupling { to, from, offset, weight } in couplings {
            let (row, column) = (levels.place(*to, 0), levels.place(from.0, from.1));
            match entries.iter_mut().find(|known| (known.row, known.column) == (row, column)) {
                Some(known) => known.taps.push((*offset, *weight)),
                None => entries.push(Entry { row, column, taps: vec![(*offset, *weight)] }),
            }
        }
        let is_even = |mirrored: &dyn Fn([i32; 3]) -> [i32; 3]| {
            entries.iter().all(|Entry { taps, .. }| {
                let has = |offset| taps.iter().find(|tap| tap.0 == offset).map(|tap| tap.1);
                taps.iter().all(|(offset, weight)| has(mirrored(*offset)) == Some(*weight))
            })
        };
        let real = is_even(&|offset| offset.map(|along| -along));
        let along = |axis: usize| {
            is_even(&|mut offset| {
                offset[axis] = -offset[axis];
                offset
            })
        };
        let even = [0, 1, 2].map(|axis| real && along(axis));
        // Earlier levels are those that were present before.
        for (field, level) in levels.all().filter(|(_, level)| *level > 0) {
            let (row, column) = (levels.place(field, level), levels.place(field, level - 1));
            entries.push(Entry { row, column, taps: vec![([0; 3], Double::new(1.0))] });
        }
        let (roots, sources) = (lengths.map(Roots::new), sources.to_vec());
        Self { levels, steps, entries, roots, sources, real, even, odd }
    }

    /// The levels of its fields.
    #[must_use]
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Whether all entries are real.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.real
    }

    /// Along which axes (z, y, x) entries are the same for opposite waves.
    #[must_use]
    pub fn even(&self) -> [bool; 3] {
        self.even
    }

    /// The roots of unity of an axis: cosine and sine of `2πk / length`.
    pub fn roots(&self, axis: usize) -> impl Iterator<Item = [Double<1>; 2]> {
        let Roots { cos, sin } = &self.roots[axis];
        cos.iter().zip(sin).map(|(cos, sin)| [*cos, *sin])
    }

    /// The matrix of a step that takes differences and makes differences, `D A D` with the backward differences D, which undo
    /// themselves: of each entry, by rows, offsets (z, y, x) and how many times the value there is taken. A source is added to all
    /// differences of its field.
    #[must_use]
    pub fn of_differences(&self) -> Vec<Vec<Tap>> {
        let levels: Vec<(usize, usize)> = self.levels.all().collect();
        let n = levels.len();
        let mut all: Vec<Vec<Tap>> = vec![Vec::new(); n * n];
        for Entry { row, column, taps } in &self.entries {
            for (to, of_row) in levels.iter().enumerate() {
                for (from, of_column) in levels.iter().enumerate() {
                    if of_row.0 != levels[*row].0 || of_column.0 != levels[*column].0 {
                        continue;
                    }
                    let times = in_difference(of_row.1, levels[*row].1)
                        * in_difference(levels[*column].1, of_column.1);
                    if times != 0.0 {
                        let own = &mut all[to * n + from];
                        taps.iter().for_each(|(offset, weight)| {
                            add_tap(own, *offset, weight.times(Double::new(times)));
                        });
                    }
                }
            }
        }
        all.iter_mut().for_each(|taps| taps.retain(|(_, weight)| *weight != Double::ZERO));
        all
    }

    /// What was the largest of these entries: those of powers by rows, then those of sums.
    ///
    /// # Panics
    /// Where they are not as many.
    #[must_use]
    pub fn largest_of(&self, entries: &[f64]) -> Largest {
        let mut largest = self.largest();
        assert_eq!(largest.0.len(), entries.len(), "an entry each");
        largest.merge(&Largest(entries.to_vec()));
        largest
    }

    /// Nothing yet of all waves.
    #[must_use]
    pub fn largest(&self) -> Largest {
        let variables = self.levels.variables();
        Largest(vec![0.0; variables * (variables + self.sources.len())])
    }

    /// The largest entry of A^T: how much it makes of one of these differences for the sake of another.
    #[must_use]
    pub fn of_power(&self, largest: &Largest, to: usize, from: usize) -> f64 {
        largest.0[to * self.levels.variables() + from]
    }

    /// The largest entry of the sum of powers: how much it makes of one of the sources for the sake of a difference.
    #[must_use]
    pub fn of_sum(&self, largest: &Largest, to: usize, source: usize) -> f64 {
        let variables = self.levels.variables();
        largest.0[variables * variables + to * self.sources.len() + source]
    }

    /// Multiplies waves that differ along one axis only, at fixed numbers of the waves along the other two: a line of
    /// each variable's differences, and of each source's waves, which stay as they are. Of real data there may be
    /// half a line. Returns the largest entries.
    #[inline(always)]
    pub fn multiply(
        &self,
        axis: usize,
        at: [usize; 3],
        lines: &mut [&mut [Complex64]],
        scratch: &mut Scratch,
    ) -> Largest {
        let mut largest = self.largest();
        let n = self.levels.variables();
        if (0..3).any(|other| other != axis && self.odd[other] && at[other] == 0) {
            lines[..n].iter_mut().for_each(|line| line.fill(Complex64::ZERO));
            return largest;
        }
        scratch.prepare(self, axis, at);
        let length = self.roots[axis].cos.len();
        let own = lines.first().map_or(0, |line| line.len());
        let count = if self.even[axis] { own.min(length / 2 + 1) } else { own };
        let start = usize::from(self.odd[axis]);
        if start == 1 {
            lines[..n].iter_mut().for_each(|line| line[0] = Complex64::ZERO);
        }
        for first in (start..count).step_by(LANES) {
            let waves: [usize; LANES] = std::array::from_fn(|w| (first + w).min(count - 1));
            if self.real {
                self.chunk::<Double<LANES>>(axis, waves, scratch);
            } else {
                self.chunk::<Complex<LANES>>(axis, waves, scratch);
            }
            let seen = scratch.sizes.iter().zip(&mut largest.0);
            seen.for_each(|(size, largest)| *largest = larger(*largest, *size));
            for (w, &wave) in waves[..LANES.min(count - first)].iter().enumerate() {
                self.apply(wave, w, lines, scratch);
                let opposite = length - wave;
                if self.even[axis] && wave > 0 && opposite != wave && opposite < own {
                    self.apply(opposite, w, lines, scratch);
                }
            }
        }
        largest
    }

    /// Multiplies one wave by the matrices of a lane.
    #[inline(always)]
    fn apply(
        &self,
        wave: usize,
        lane: usize,
        lines: &mut [&mut [Complex64]],
        scratch: &mut Scratch,
    ) {
        let (n, sources) = (self.levels.variables(), self.sources.len());
        for row in 0..n {
            let of_power = (0..n).map(|column| (row * n + column, column));
            let of_sum = (0..sources).map(|source| (n * n + row * sources + source, n + source));
            let parts = of_power.chain(of_sum);
            let part = |(entry, line): (usize, usize)| {
                scratch.factors[entry * LANES + lane] * lines[line][wave]
            };
            scratch.next[row] = parts.map(part).sum();
        }
        (0..n).for_each(|row| lines[row][wave] = scratch.next[row]);
    }

    /// The power and the sum of some waves, as factors of differences.
    #[inline(always)]
    fn chunk<N: MatrixElement>(&self, axis: usize, waves: [usize; LANES], scratch: &mut Scratch) {
        let (n, sources) = (self.levels.variables(), self.sources.len());
        let Scratch { along, real, complex, factors, sizes, .. } = scratch;
        let Matrices { step, power, sum, other } = N::matrices(real, complex);
        step.iter_mut().for_each(|entry| *entry = N::ZERO);
        for (entry, along) in self.entries.iter().zip(&*along) {
            let place = &mut step[entry.row * n + entry.column];
            for (offset, factor) in along {
                let root = self.root(axis, waves, *offset);
                *place = place.plus(N::of_product(*factor, root));
            }
        }
        self.raise(step, power, sum, other);
        // Rows and columns of differences instead of levels.
        self.to_differences(power, n, other);
        self.columns_to_differences(power, other);
        self.to_differences(sum, sources, other);
        for (at, entry) in power.iter().chain(sum.iter()).enumerate() {
            sizes[at] = entry.put(&mut factors[at * LANES..][..LANES]);
        }
    }

    #[inline(always)]
    fn root(&self, axis: usize, waves: [usize; LANES], offset: i32) -> Complex<LANES> {
        let (roots, mut out) = (&self.roots[axis], Complex::ZERO);
        for (w, wave) in waves.into_iter().enumerate() {
            let at = roots.place(wave, offset);
            (out.re.high[w], out.re.low[w]) = (roots.cos[at].high[0], roots.cos[at].low[0]);
            (out.im.high[w], out.im.low[w]) = (roots.sin[at].high[0], roots.sin[at].low[0]);
        }
        out
    }

    /// A^T and `1 + A + … + A^(T−1)`, of this the columns of sources.
    #[inline(always)]
    fn raise<N: MatrixElement>(&self, step: &[N], power: &mut [N], sum: &mut [N], other: &mut [N]) {
        let (n, sources) = (self.levels.variables(), self.sources.len());
        // Of no steps: 1 and 0.
        power.iter_mut().for_each(|entry| *entry = N::ZERO);
        (0..n).for_each(|at| power[at * n + at] = N::one());
        sum.iter_mut().for_each(|entry| *entry = N::ZERO);
        let bits = usize::BITS - self.steps.leading_zeros();
        for bit in (0..bits).rev() {
            if bit + 1 < bits {
                // Twice as many.
                product(power, sum, sources, other);
                add(sum, other);
                product(power, power, n, other);
                power.copy_from_slice(&other[..n * n]);
            }
            if self.steps >> bit & 1 == 1 {
                // One more.
                product(step, sum, sources, other);
                sum.copy_from_slice(&other[..n * sources]);
                for (source, field) in self.sources.iter().enumerate() {
                    let entry = &mut sum[self.levels.place(*field, 0) * sources + source];
                    *entry = entry.plus(N::one());
                }
                if bit + 1 == bits {
                    power.copy_from_slice(step);
                } else {
                    product(step, power, n, other);
                    power.copy_from_slice(&other[..n * n]);
                }
            }
        }
    }

    /// Rows of levels become rows of differences.
    #[inline(always)]
    fn to_differences<N: MatrixElement>(&self, matrix: &mut [N], columns: usize, other: &mut [N]) {
        for (row, (field, order)) in self.levels.all().enumerate() {
            for column in 0..columns {
                let mut sum = N::ZERO;
                for level in 0..=order {
                    let from = matrix[self.levels.place(field, level) * columns + column];
                    sum = sum.plus(from.times_number(in_difference(order, level)));
                }
                other[row * columns + column] = sum;
            }
        }
        let size = matrix.len();
        matrix.copy_from_slice(&other[..size]);
    }

    /// Columns that take levels become columns that take differences.
    #[inline(always)]
    fn columns_to_differences<N: MatrixElement>(&self, matrix: &mut [N], other: &mut [N]) {
        let n = self.levels.variables();
        for row in 0..n {
            for (column, (field, order)) in self.levels.all().enumerate() {
                let mut sum = N::ZERO;
                for (from, (of, level)) in self.levels.all().enumerate() {
                    if of == field && level >= order {
                        let times = in_difference(level, order);
                        sum = sum.plus(matrix[row * n + from].times_number(times));
                    }
                }
                other[row * n + column] = sum;
            }
        }
        matrix.copy_from_slice(&other[..n * n]);
    }
}

/// `out = a · b`, where a is square and b has so many columns.
#[inline(always)]
fn product<N: MatrixElement>(a: &[N], b: &[N], columns: usize, out: &mut [N]) {
    let n = a.len().isqrt();
    for row in 0..n {
        for column in 0..columns {
            let mut sum = N::ZERO;
            for at in 0..n {
                sum = sum.plus(a[row * n + at].times(b[at * columns + column]));
            }
            out[row * columns + column] = sum.without_faded();
        }
    }
}

#[inline(always)]
fn add<N: MatrixElement>(to: &mut [N], more: &[N]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to = to.plus(*more));
}

/// What one thread needs besides.
#[derive(Default)]
pub struct Scratch {
    /// Of each entry, by offset along the axis: the sum of weights times the roots of the other axes.
    along: Vec<Vec<(i32, Complex<1>)>>,
    real: [Vec<Double<LANES>>; 4],
    complex: [Vec<Complex<LANES>>; 4],
    /// The entries of the power, then those of the sum, of some waves.
    factors: Vec<Complex64>,
    /// The largest of them.
    sizes: Vec<f64>,
    next: Vec<Complex64>,
}

impl Scratch {
    fn prepare(&mut self, coupled: &Coupled, axis: usize, at: [usize; 3]) {
        let [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
        let of_entry = |entry: &Entry| {
            let mut along: Vec<(i32, Complex<1>)> = Vec::new();
            for (offset, weight) in &entry.taps {
                let root = |other: usize| coupled.roots[other].get(at[other], offset[other]);
                let weight = Complex { re: *weight, im: Double::ZERO };
                let part = weight.times(root(b).times(root(c)));
                match along.iter_mut().find(|(known, _)| *known == offset[axis]) {
                    Some((_, sum)) => *sum = sum.plus(part),
                    None => along.push((offset[axis], part)),
                }
            }
            along
        };
        self.along = coupled.entries.iter().map(of_entry).collect();
        let (n, sources) = (coupled.levels.variables(), coupled.sources.len());
        let sizes = [n * n, n * n, n * sources, n * n.max(sources)];
        for (which, size) in sizes.into_iter().enumerate() {
            if coupled.real {
                self.real[which].resize(size, Double::ZERO);
            } else {
                self.complex[which].resize(size, Complex::ZERO);
            }
        }
        let entries = n * (n + sources);
        self.factors.resize(entries * LANES, Complex64::ZERO);
        self.sizes.resize(entries, 0.0);
        self.next.resize(n, Complex64::ZERO);
    }
}

/// Bytes that the tables for a torus of these lengths take.
#[must_use]
pub fn bytes(lengths: [usize; 3]) -> u128 {
    lengths.into_iter().map(|length| 4 * size_of::<f64>() as u128 * length as u128).sum()
}
