// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any number of steps at once: a grid on a torus is transformed, its waves are multiplied by `λ^T`, and transformed
//! back (FlashFFTStencil §3, with the whole grid as its tile). `transform::spectral` says which torus, and which λ.
//!
//! | module | kernels |
//! | --- | --- |
//! | [`rows`] | rows of a grid, real values, to half a spectrum and back |
//! | [`columns`] | what lies above or behind each other in the spectra: there, multiplied, back |
//! | [`coupled`] | several spectra, whose waves are multiplied by powers of a matrix |
//! | [`size`] | how large the values of a grid are |
//! | [`tiles`] | all of it for parts of a 1D grid, each on a torus of its own |
//! | [`boxes`] | points that are stepped instead, to f64 and back |
//! | [`line`](mod@line) | lines in shared memory |
//! | [`stage`] | how a block transforms them |
//! | [`butterfly`] | transforms of a few values in registers |
//! | [`complex`] | complex numbers |
//! | [`double`] | numbers of twice the digits |
//!
//! In 2D the grid moves three times: rows there, columns there and back, rows back; in 3D five times. Only rows and
//! columns of the grid are kept in between; its images are made when a line is loaded. Values are f64 for grids of f64,
//! f32 for all others.

use crate::element::{Element, Real};
use complex::{Complex, ComplexPart};
use cuda_std::global;

mod batch;
pub mod boxes;
pub mod butterfly;
pub mod columns;
pub mod complex;
pub mod coupled;
pub mod divisor;
pub mod double;
mod halves;
pub mod line;
pub mod rows;
pub mod size;
pub mod stage;
pub mod tiles;

/// An image without a value: 0.
pub const NOTHING: u32 = u32::MAX;

/// The bit of an image that is a negative one.
pub const NEGATIVE: u32 = 1 << 31;

/// What the rows of a torus are made by, in global memory.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halves {
    /// For each pair of waves k and M − k of M complex values their places, two words: 0 and M first, which is in a place
    /// of its own; then pairs of which both waves matter, those of which the first one does, and the others.
    pub pairs: *const u32,
    /// For each pair `e^{−πik / M}`, complex.
    pub turns: *const u8,
    /// How many pairs.
    pub count: u32,
    /// Of how many pairs the first wave matters: these waves are the first columns of spectra, in the order of pairs.
    pub firsts: u32,
    /// Of how many the second one does, too: the columns after those.
    pub seconds: u32,
}

/// A field that is taken off before transforms, and added after: straight along one axis.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct Lift {
    /// At the first point outside.
    pub first: f64,
    /// From one point to the next.
    pub slope: f64,
    /// Along which of (z, y, x).
    pub axis: u32,
}

impl Lift {
    /// At the first point of a row, and from one point of it to the next.
    #[inline(always)]
    fn of_row<P: ComplexPart>(&self, z: u32, y: u32) -> (P, P) {
        let at = |place: u32| P::of(self.first + self.slope * f64::from(place + 1));
        match self.axis {
            0 => (at(z), P::ZERO),
            1 => (at(y), P::ZERO),
            _ => (at(0), P::of(self.slope)),
        }
    }
}

/// A row of the grid as a transform sees it.
struct Row<E: Element> {
    input: *const E::Stored,
    points: u32,
    first: E::Real,
    slope: E::Real,
}

impl<E: Element> Row<E>
where
    E::Real: ComplexPart,
{
    /// What is taken off a point's value.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    unsafe fn lift(&self, x: u32) -> E::Real {
        // SAFETY: as the caller promises.
        unsafe { E::Real::of(f64::from(x)).multiply_add(self.slope, self.first) }
    }

    /// The values of two points side by side.
    ///
    /// # Safety
    /// They lie in the grid, which nobody writes; x is even.
    #[inline(always)]
    #[track_caller]
    unsafe fn two(&self, x: u32) -> Complex<E::Real> {
        // SAFETY: as the caller promises; rows are aligned to two values.
        unsafe {
            let [re, im] = E::load_two(self.input.wrapping_add(x as usize));
            Complex { re: re - self.lift(x), im: im - self.lift(x + 1) }
        }
    }

    /// The value of a point.
    ///
    /// # Safety
    /// It lies in the grid, which nobody writes.
    #[inline(always)]
    #[track_caller]
    unsafe fn point(&self, x: u32) -> E::Real {
        // SAFETY: as the caller promises.
        unsafe { E::widen(E::load(self.input.wrapping_add(x as usize))) - self.lift(x) }
    }

    /// The value of an image.
    ///
    /// # Safety
    /// The word is one of those that [`Self::images`](Row) have.
    #[inline(always)]
    #[track_caller]
    unsafe fn image(&self, word: u32) -> E::Real {
        let x = word & !NEGATIVE;
        if x >= self.points {
            return E::Real::ZERO;
        }
        // SAFETY: it lies in the grid.
        let value = unsafe { self.point(x) };
        if word & NEGATIVE == 0 { value } else { -value }
    }
}

/// Where the points of a row are put.
struct Output<E: Element> {
    row: Row<E>,
    /// The first point.
    output: *mut E::Stored,
    /// What is added to each, or null.
    added: *const u8,
}

impl<E: Element> Output<E>
where
    E::Real: ComplexPart,
{
    /// With what was taken off, and what is added.
    ///
    /// # Safety
    /// The point lies in the grid; only in a kernel.
    #[inline(always)]
    #[track_caller]
    unsafe fn whole(&self, x: u32, value: E::Real) -> E::Real {
        // SAFETY: as the caller promises.
        unsafe {
            let value = value + self.row.lift(x);
            if self.added.is_null() {
                return value;
            }
            let at = self.added.wrapping_add((x * E::Real::BYTES) as usize);
            value + E::Real::load_constant(at.cast())
        }
    }

    /// Puts those of two points side by side that lie in the grid.
    ///
    /// # Safety
    /// Nobody else accesses them; x is even; only in a kernel.
    #[inline(always)]
    #[track_caller]
    unsafe fn put(&self, x: u32, Complex { re, im }: Complex<E::Real>) {
        let at = self.output.wrapping_add(x as usize);
        // SAFETY: as the caller promises; rows are aligned to two values.
        unsafe {
            if x + 1 < self.row.points {
                E::store_two(at, [self.whole(x, re), self.whole(x + 1, im)]);
            } else if x < self.row.points {
                E::store(at, self.whole(x, re));
            }
        }
    }
}

/// Of two waves k and M − k of a complex transform, those of the real values that it has in pairs: `e` is the transform
/// of those in even places, `o` that of the others.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn split<P: ComplexPart>(a: Complex<P>, b: Complex<P>, w: Complex<P>) -> [Complex<P>; 2] {
    let half = P::of(0.5);
    // SAFETY: as the caller promises.
    unsafe {
        let e = a.plus(b.conjugate()).scaled(half);
        let o = a.minus(b.conjugate()).scaled(half);
        // −i w o.
        let turned = o.times(w).turned();
        [e.plus(turned), e.minus(turned).conjugate()]
    }
}

/// The reverse of [`split`].
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn join<P: ComplexPart>(a: Complex<P>, b: Complex<P>, w: Complex<P>) -> [Complex<P>; 2] {
    let half = P::of(0.5);
    // SAFETY: as the caller promises.
    unsafe {
        let e = a.plus(b.conjugate()).scaled(half);
        let turned = a.minus(b.conjugate()).scaled(half);
        // i w̄ times it.
        let o = turned.times(w.conjugate()).turned();
        [e.minus(o), e.plus(o).conjugate()]
    }
}

/// A complex number of a table.
///
/// # Safety
/// It has one there.
#[inline(always)]
#[track_caller]
unsafe fn of_table<P: ComplexPart>(table: *const u8, index: u32) -> Complex<P> {
    let at = table.wrapping_add(index as usize * Complex::<P>::BYTES as usize);
    // SAFETY: as the caller promises.
    Complex::of(unsafe { P::load_global(at) })
}

/// A complex number of spectra.
///
/// # Safety
/// It lies in them, and nobody writes it.
#[inline(always)]
#[track_caller]
unsafe fn of_spectra<P: ComplexPart>(spectra: *const u8, index: usize) -> Complex<P> {
    let at = spectra.wrapping_add(index * Complex::<P>::BYTES as usize);
    // SAFETY: as the caller promises.
    Complex::of(unsafe { P::load_global(at) })
}

/// Puts one there.
///
/// # Safety
/// It lies in them, and nobody else accesses it.
#[inline(always)]
#[track_caller]
unsafe fn to_spectra<P: ComplexPart>(spectra: *mut u8, index: usize, number: Complex<P>) {
    let at = spectra.wrapping_add(index * Complex::<P>::BYTES as usize);
    // SAFETY: as the caller promises.
    unsafe { P::store_global(at, [number.re, number.im]) };
}

/// The columns of a pair of waves in spectra, [`NOTHING`] for a second one that does not matter.
#[inline(always)]
fn columns_of(halves: &Halves, pair: u32) -> [u32; 2] {
    [pair, if pair < halves.seconds { halves.firsts + pair } else { NOTHING }]
}

/// The two places of a pair of waves.
///
/// # Safety
/// The table has so many pairs.
#[inline(always)]
#[track_caller]
unsafe fn pair_of(halves: &Halves, pair: u32) -> [u32; 2] {
    let at = halves.pairs.wrapping_add(2 * pair as usize);
    // SAFETY: as the caller promises.
    unsafe { [global::load_constant(at), global::load_constant(at.wrapping_add(1))] }
}
