// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several spectra at once: each wave of all of them is multiplied by the power of a small matrix, made on the way in numbers of
//! twice the digits of f64 (`transform::spectral::coupled` says which, and makes the same on the CPU).
//!
//! A block has some columns of one row of the spectra, and with them the rows of opposite waves that have the same matrices. It
//! keeps the matrices of all its columns in shared memory, and each of its threads makes one entry at a time. So nothing depends
//! on how many fields there are, and no array is a thread's own.

use super::batch::divide;
use super::complex::Complex;
use super::divisor::{Divisor, reciprocal};
use super::double::{self, ComplexDouble, Double, MatrixElement};
use super::{NOTHING, line, of_spectra, to_spectra};
use crate::element::Real;
use crate::overlap;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::{self, Shared};
use cuda_std::{global, kernel, thread};

/// Words of a tap: its weight, and its offsets (z, y, x), of which the highest bit says that they are negative.
pub const TAP: usize = 8;
/// Words of an axis' place: a wave, its place, and that of the opposite wave, or [`NOTHING`] if that one has its own.
pub const PLACE: usize = 3;

/// What is multiplied by what.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct Coupled {
    /// The roots of unity of (z, y, x), one axis after the other: cosine and sine, each of twice the digits.
    pub roots: *const u32,
    /// Of each entry of the matrix of a step the number of its first tap, and how many there are in all.
    pub entries: *const u32,
    /// [`TAP`] words each.
    pub taps: *const u32,
    /// Of each source the first variable that it is added to, and how many there are.
    pub sources: *const u32,
    /// [`PLACE`] words for each place along z.
    pub along_z: *const u32,
    /// [`PLACE`] words for each place along y.
    pub along_y: *const u32,
    /// The wave of each column.
    pub along_x: *const u32,
    /// Of each block what entries had as the largest absolute values: f64s, of powers and then of sums.
    pub largest: *mut u8,
    /// How many steps.
    pub steps: u64,
    /// Complex values from one spectrum to the next: those of variables, then those of sources.
    pub spectrum: u64,
    /// Complex values from one plane of a spectrum to the next.
    pub plane: u64,
    /// Complex values from one row to the next.
    pub pitch: u32,
    /// Columns.
    pub count: u32,
    /// Places along z and y.
    pub places: [u32; 2],
    /// Points of the torus (z, y, x).
    pub lengths: [u32; 3],
    /// Along which of them (1, 2, 4) there is no constant part.
    pub odd: u32,
    /// Variables, up to [`MOST`].
    pub variables: u32,
    /// Sources.
    pub added: u32,
    /// A block has 1 << shift columns.
    pub shift: u32,
    /// By what all is multiplied besides.
    pub scale: f64,
}

/// The most variables.
pub const MOST: u32 = 12;

impl Coupled {
    /// Blocks that have something to do.
    #[must_use]
    pub const fn tiles(&self) -> u32 {
        self.count.div_ceil(1 << self.shift) * self.places[0] * self.places[1]
    }

    /// Entries of powers and sums.
    #[inline(always)]
    #[must_use]
    pub const fn factors(&self) -> u32 {
        self.variables * (self.variables + self.added)
    }

    /// Dynamic shared memory of a block, of so many parts of a number: 1 or 2.
    #[must_use]
    pub const fn shared_bytes(&self, parts: u32) -> u32 {
        let [square, sums] = [self.variables * self.variables, self.variables * self.added];
        ((3 * square + 2 * sums) * parts * double::BYTES + self.factors() * f64::BYTES)
            << self.shift
    }
}

/// Matrices of all waves of a block.
#[derive(Clone, Copy)]
struct Matrix {
    data: Shared,
    columns: Divisor,
    /// Entries.
    entries: u32,
    shift: u32,
}

impl Matrix {
    #[inline(always)]
    fn apart(&self) -> u32 {
        (self.entries << self.shift) * double::BYTES
    }

    #[inline(always)]
    fn place(&self, entry: u32, wave: u32) -> Shared {
        self.data.offset(((entry << self.shift) + wave) * double::BYTES)
    }

    /// # Safety
    /// In bounds, written, waited for.
    #[inline(always)]
    #[track_caller]
    unsafe fn get<N: MatrixElement>(&self, row: u32, column: u32, wave: u32) -> N {
        let place = self.place(row * self.columns.by() + column, wave);
        // SAFETY: as the caller promises.
        unsafe { N::load(place, self.apart()) }
    }

    /// # Safety
    /// In bounds; nobody else accesses it at the same time.
    #[inline(always)]
    #[track_caller]
    unsafe fn put<N: MatrixElement>(&self, entry: u32, wave: u32, number: N) {
        // SAFETY: as the caller promises.
        unsafe { number.store(self.place(entry, wave), self.apart()) };
    }

    /// The one after this, of as many entries.
    #[inline(always)]
    fn next<N: MatrixElement>(&self) -> Self {
        Self { data: self.data.offset(N::PARTS * self.apart()), ..*self }
    }
}

/// Calls for all entries of all waves, each by one thread, the same one each time.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn each(entries: u32, shift: u32, body: impl Fn(u32, u32)) {
    let (mut item, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    while item < entries << shift {
        body(item >> shift, item & ((1 << shift) - 1));
        item += threads;
    }
}

/// `out = a · b + more`, of as many columns as b has.
///
/// # Safety
/// `a` and `b` are written and waited for; nobody else accesses `out`.
#[inline(always)]
#[track_caller]
unsafe fn product<N: MatrixElement>(
    a: &Matrix,
    b: &Matrix,
    out: &Matrix,
    more: impl Fn(u32, u32, u32) -> N,
) {
    // SAFETY: as the caller promises.
    unsafe {
        each(b.entries, b.shift, |entry, wave| {
            let (row, column) = b.columns.split(entry);
            let (mut sum, mut at) = (more(row, column, wave), 0);
            while at < a.columns.by() {
                let [one, other] = [a.get::<N>(row, at, wave), b.get(at, column, wave)];
                sum = sum.plus(one.times(other));
                at += 1;
            }
            out.put(entry, wave, sum.without_faded());
        });
    }
}

/// The larger one; infinity for what is no number.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b >= f64::INFINITY || b.is_nan() {
        f64::INFINITY
    } else if b > a {
        b
    } else {
        a
    }
}

/// The columns of a block: the numbers of their waves.
#[derive(Clone, Copy)]
struct Tile {
    first: u32,
    z: u32,
    y: u32,
}

impl Tile {
    /// Whether a wave has no value.
    #[inline(always)]
    fn is_nothing(&self, of: &Coupled, x: u32) -> bool {
        let is = |axis: u32, wave: u32| of.odd >> axis & 1 == 1 && wave == 0;
        is(0, self.z) | is(1, self.y) | is(2, x)
    }
}

#[inline(always)]
#[track_caller]
unsafe fn multiply<N: MatrixElement>(spectra: *mut u8, of: &Coupled) {
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let &Coupled { variables: n, added, shift, count, lengths: [lz, ly, lx], .. } = of;
        let [of_z, of_y] = [of.roots, of.roots.wrapping_add(ROOT * lz as usize)];
        let of_x = of_y.wrapping_add(ROOT * ly as usize);
        let columns = |by: u32| Divisor::with(by, reciprocal(if by == 0 { 1 } else { by }));
        let data = shared::dynamic();
        let step = Matrix { data, columns: columns(n), entries: n * n, shift };
        let mut power = step.next::<N>();
        let mut other = power.next::<N>();
        let after = other.next::<N>();
        let mut sum = Matrix { columns: columns(added), entries: n * added, ..after };
        let mut other_sum = sum.next::<N>();
        // What steps have room for is that of values in the end.
        let values = step.data;
        let value = |variable: u32, wave: u32| {
            values.offset(((variable << shift) + wave) * Complex::<f64>::BYTES)
        };
        let sizes = other_sum.next::<N>().data;
        let size = |factor: u32, wave: u32| sizes.offset(((factor << shift) + wave) * f64::BYTES);
        let of_sums = sum.entries;
        each(n * n, shift, |entry, wave| f64::store_shared(size(entry, wave), 0.0));
        each(of_sums, shift, |entry, wave| f64::store_shared(size(n * n + entry, wave), 0.0));

        let source = |row: u32, source: u32| {
            let at = of.sources.wrapping_add(2 * source as usize);
            let first = global::load_constant(at);
            let levels = global::load_constant(at.wrapping_add(1));
            if row.wrapping_sub(first) < levels { N::ONE } else { N::ZERO }
        };
        let across = (count + (1 << shift) - 1) >> shift;
        let [places_z, places_y] = of.places;
        let mut number = thread::block_idx_x();
        while number < across * places_y * places_z {
            let (rest, group) = divide(number, across);
            let (z, y) = divide(rest, places_y);
            let along_z = of.along_z.wrapping_add(PLACE * z as usize);
            let along_y = of.along_y.wrapping_add(PLACE * y as usize);
            let (z, y) = (global::load_constant(along_z), global::load_constant(along_y));
            let tile = Tile { first: group << shift, z, y };
            // Behind the last column once more that one.
            let wave_x = |wave: u32| {
                let column = tile.first + wave;
                let column = if column < count { column } else { count - 1 };
                global::load_constant(of.along_x.wrapping_add(column as usize))
            };

            each(n * n, shift, |entry, wave| {
                let x = wave_x(wave);
                let at = of.entries.wrapping_add(entry as usize);
                let mut tap = global::load_constant(at);
                let end = global::load_constant(at.wrapping_add(1));
                let mut all = N::ZERO;
                while tap < end {
                    let at = of.taps.wrapping_add(TAP * tap as usize);
                    let mut part = ComplexDouble::weight(at);
                    let [to_z, to_y, to_x, _] = global::load_v4(at.wrapping_add(TAP / 2));
                    if to_z != 0 {
                        part = part.at(of_z, lz, tile.z, to_z);
                    }
                    if to_y != 0 {
                        part = part.at(of_y, ly, tile.y, to_y);
                    }
                    if to_x != 0 {
                        part = part.at(of_x, lx, x, to_x);
                    }
                    all = all.plus(N::of(part));
                    tap += 1;
                }
                step.put(entry, wave, all);
                power.put(entry, wave, all);
            });
            each(of_sums, shift, |entry, wave| {
                let (row, column) = sum.columns.split(entry);
                sum.put(entry, wave, source(row, column));
            });
            line::wait();

            // Of the steps all but the highest bit.
            let mut bit = u64::BITS - 1 - of.steps.leading_zeros();
            while bit > 0 {
                bit -= 1;
                product(&power, &power, &other, |_, _, _| N::ZERO);
                let before = |row, column, wave| sum.get::<N>(row, column, wave);
                product(&power, &sum, &other_sum, before);
                line::wait();
                (power, other) = (other, power);
                (sum, other_sum) = (other_sum, sum);
                if of.steps >> bit & 1 == 1 {
                    product(&step, &power, &other, |_, _, _| N::ZERO);
                    product(&step, &sum, &other_sum, |row, column, _| source(row, column));
                    line::wait();
                    (power, other) = (other, power);
                    (sum, other_sum) = (other_sum, sum);
                }
            }

            let see = |factor: u32, wave: u32, number: N| {
                if !tile.is_nothing(of, wave_x(wave)) {
                    let at = size(factor, wave);
                    f64::store_shared(at, larger(f64::load_shared(at), number.size()));
                }
            };
            each(n * n, shift, |entry, wave| {
                let (row, column) = power.columns.split(entry);
                see(entry, wave, power.get(row, column, wave));
            });
            each(of_sums, shift, |entry, wave| {
                let (row, column) = sum.columns.split(entry);
                see(n * n + entry, wave, sum.get(row, column, wave));
            });

            // A row, and those of opposite waves.
            let mut which = 0;
            while which < 4 {
                let place_z = global::load_constant(along_z.wrapping_add(1 + which / 2));
                let place_y = global::load_constant(along_y.wrapping_add(1 + which % 2));
                which += 1;
                if place_z == NOTHING || place_y == NOTHING {
                    continue;
                }
                let row = u64::from(place_z) * of.plane + u64::from(place_y) * u64::from(of.pitch);
                let index = |spectrum: u32, wave: u32| {
                    let column = u64::from(tile.first + wave);
                    (u64::from(spectrum) * of.spectrum + row + column) as usize
                };
                each(n, shift, |variable, wave| {
                    if tile.first + wave < count {
                        let Complex { re, im } = of_spectra::<f64>(spectra, index(variable, wave));
                        store_pair(value(variable, wave), [re, im]);
                    }
                });
                line::wait();
                each(n, shift, |row, wave| {
                    if tile.first + wave >= count {
                        return;
                    }
                    let (mut all, mut at) = (Complex::ZERO, 0);
                    while at < n {
                        let number = Complex::of(load_pair(value(at, wave)));
                        all = all.plus(power.get::<N>(row, at, wave).scaled(number));
                        at += 1;
                    }
                    at = 0;
                    while at < added {
                        let number = of_spectra(spectra, index(n + at, wave));
                        all = all.plus(sum.get::<N>(row, at, wave).scaled(number));
                        at += 1;
                    }
                    let is_nothing = tile.is_nothing(of, wave_x(wave));
                    let all = if is_nothing { Complex::ZERO } else { all.scaled(of.scale) };
                    to_spectra(spectra, index(row, wave), all);
                });
                line::wait();
            }
            number += thread::grid_dim_x();
        }

        line::wait();
        let all = of.factors();
        let mut factor = thread::thread_idx_x();
        while factor < all {
            let (mut most, mut wave) = (0.0, 0);
            while wave < 1 << shift {
                most = larger(most, f64::load_shared(size(factor, wave)));
                wave += 1;
            }
            let at = (thread::block_idx_x() * all + factor) * f64::BYTES;
            store_words(of.largest.wrapping_add(at as usize), most);
            factor += thread::block_dim_x();
        }
    }
}

/// Words of a root of unity.
const ROOT: usize = 2 * double::BYTES as usize / 4;

/// A complex number in shared memory.
///
/// # Safety
/// In bounds, written, aligned to its size; whoever wrote it has been waited for.
#[inline(always)]
#[track_caller]
unsafe fn load_pair(at: Shared) -> [f64; 2] {
    // SAFETY: as the caller promises.
    unsafe { <f64 as super::complex::ComplexPart>::load_pair(at) }
}

/// Puts a complex number into shared memory.
///
/// # Safety
/// In bounds, aligned to its size; nobody else accesses it at the same time.
#[inline(always)]
#[track_caller]
unsafe fn store_pair(at: Shared, pair: [f64; 2]) {
    // SAFETY: as the caller promises.
    unsafe { <f64 as super::complex::ComplexPart>::store_pair(at, pair) };
}

/// Puts a number into global memory.
///
/// # Safety
/// Valid, aligned to 8 bytes; no other thread accesses it.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn store_words(at: *mut u8, value: f64) {
    // SAFETY: as the caller promises.
    unsafe { global::store_v2(at.cast(), crate::element::to_words(value)) };
}

macro_rules! kernels {
    ($($name:ident: $number:ty, $registers:literal;)*) => {
        $(
            /// Multiplies the waves of some spectra.
            ///
            /// # Safety
            /// Launch at most [`Coupled::tiles`] blocks of any number of threads, with [`Coupled::shared_bytes`] of dynamic shared
            /// memory. `spectra` has those of all variables and of all sources, aligned to 16 bytes; tables are as `coupled` says,
            /// and `largest` has room for [`Coupled::factors`] of each block. There is a step, and a variable; products of
            /// offsets and lengths are below 2³².
            #[kernel(registers = $registers)]
            pub unsafe fn $name(spectra: *mut u8, coupled: Coupled) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { multiply::<$number>(spectra, &coupled) };
            }
        )*
    };
}

kernels! {
    spectral_coupled_real: Double, 48;
    spectral_coupled_complex: ComplexDouble, 56;
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*mut u8, Coupled);

/// Of real matrices.
#[cfg(not(target_arch = "nvptx64"))]
pub const REAL: Entry<Parameters> = Entry::of::<spectral_coupled_real>();

/// Of complex ones.
#[cfg(not(target_arch = "nvptx64"))]
pub const COMPLEX: Entry<Parameters> = Entry::of::<spectral_coupled_complex>();
