// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids of values in C order.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::region::Region;
use crate::values::{Dtype, Element, Values};
use crate::{Error, Shape, ValueLocation, memory, with_dtype, with_values};

/// Values on a regular grid, in C order (x fastest).
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Its extents.
    pub shape: Shape,
    /// Its values; as many as the shape has points.
    pub values: Values,
}

impl Grid {
    /// A grid from its extents, slowest axis first, and its values in C order.
    ///
    /// # Errors
    /// [`Error::Size`]: no such extents. [`Error::Points`]: more values than points, or fewer.
    pub fn new(extents: &[usize], values: impl Into<Values>) -> Result<Self, Error> {
        let (shape, values) = (Shape::new(extents)?, values.into());
        let found = values.len();
        if found != shape.points() {
            let (shape, points) = (shape.to_string(), shape.points());
            return Err(Error::Points { shape, points, found });
        }
        Ok(Self { shape, values })
    }

    /// Random values, uniform in [0, 1) and exact in `dtype`. They depend on the seed alone, not on
    /// the number of threads; a narrower type gets the same values, cut off.
    ///
    /// # Errors
    /// The grid does not fit in memory.
    pub fn random(shape: Shape, dtype: Dtype, seed: u64) -> Result<Self, Error> {
        Self::check_memory(shape, dtype)?;
        let values = with_dtype!(dtype, T => T::wrap(random::<T>(shape.points(), seed)));
        Ok(Self { shape, values })
    }

    /// Of the same values those of a region, in its C order, made by themselves.
    #[must_use]
    pub fn random_region(shape: Shape, dtype: Dtype, seed: u64, region: Region) -> Values {
        with_dtype!(dtype, T => T::wrap(random_of::<T>(region, shape, seed)))
    }

    /// Checks that a grid of this shape fits in memory.
    ///
    /// # Errors
    /// [`Error::Memory`] with both amounts.
    pub fn check_memory(shape: Shape, dtype: Dtype) -> Result<(), Error> {
        let what = format!("a grid of {shape} {dtype} values");
        memory::require(&what, shape.points() as u128 * dtype.bytes() as u128)
    }

    /// Its element type; f32 for tf32.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.values.dtype()
    }

    /// The grid with its values rounded to another element type.
    ///
    /// # Errors
    /// The new grid does not fit in memory.
    pub fn cast(self, dtype: Dtype) -> Result<Self, Error> {
        if dtype.stored() == self.dtype() {
            return Ok(self);
        }
        Self::check_memory(self.shape, dtype)?;
        Ok(Self { shape: self.shape, values: self.values.cast(dtype) })
    }

    /// The grid as a run with values of this type starts from it.
    ///
    /// # Errors
    /// [`Error::NotFinite`]: a value is infinite or not a number, or the type cannot hold it. [`Error::Memory`]:
    /// the new grid does not fit.
    pub fn stored_as(self, dtype: Dtype) -> Result<Self, Error> {
        self.check_finite(ValueLocation::Input)?;
        if dtype.stored() == self.dtype() {
            return Ok(self);
        }
        let grid = self.cast(dtype)?;
        grid.check_finite(ValueLocation::InputAs(dtype))?;
        Ok(grid)
    }

    /// All values in C order, without a copy; none if they are of another type than `T`.
    ///
    /// ```
    /// # use problem as stencil;
    /// # fn main() -> Result<(), stencil::Error> {
    /// let grid = stencil::Grid::new(&[2, 3], vec![1.0f32; 6])?;
    /// assert_eq!(grid.as_slice::<f32>(), Some(&[1.0; 6][..]));
    /// assert_eq!(grid.as_slice::<f64>(), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        T::unwrap(&self.values)
    }

    /// All values in C order as numbers of type `T`: without a copy if they are, else each is rounded to the
    /// nearest.
    ///
    /// # Errors
    /// [`Error::Memory`]: there is no room for a copy of another type.
    pub fn into_vec<T: Element>(self) -> Result<Vec<T>, Error> {
        Ok(T::take(self.cast(T::DTYPE)?.values).expect("they are of this type now"))
    }

    /// The values of a box of its points, in C order.
    #[must_use]
    pub fn read(&self, region: Region) -> Values {
        with_values!(&self.values, values => Element::wrap(region.of(values, self.shape)))
    }

    /// The value of a point, given its place in C order.
    #[must_use]
    pub fn get(&self, index: usize) -> f64 {
        with_values!(&self.values, values => Element::to_f64(values[index]))
    }

    /// Checks that no value is infinite or not a number; `holder` says in the error which grid it is.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the first such value and its position.
    pub fn check_finite(&self, holder: ValueLocation) -> Result<(), Error> {
        let Some((index, value)) = self.values.first_not_finite() else { return Ok(()) };
        let position = self.shape.position(index);
        Err(Error::NotFinite { holder, value, position })
    }
}

/// Values of one stream of the generator, in C order.
const CHUNK: usize = 1 << 16;

/// One stream of the generator per chunk, so that chunks can be filled in any order.
fn random<T: Element>(points: usize, seed: u64) -> Vec<T> {
    let mut values = vec![T::default(); points];
    values.par_chunks_mut(CHUNK).enumerate().for_each(|(stream, chunk)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream as u64);
        chunk.fill_with(|| T::from_bits_of(rng.next_u64()));
    });
    values
}

/// Of the same values those of a region.
fn random_of<T: Element>(region: Region, shape: Shape, seed: u64) -> Vec<T> {
    let mut values = vec![T::default(); region.points()];
    let (starts, length) = region.runs(shape);
    let (mut rest, mut parts) = (&mut values[..], Vec::new());
    for (mut start, end) in starts.map(|start| (start, start + length)) {
        while start < end {
            let count = (end - start).min(CHUNK - start % CHUNK);
            let (part, others) = rest.split_at_mut(count);
            parts.push((start, part));
            (rest, start) = (others, start + count);
        }
    }
    parts.into_par_iter().for_each(|(start, part)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream((start / CHUNK) as u64);
        // A value takes two words.
        rng.set_word_pos(2 * (start % CHUNK) as u128);
        part.fill_with(|| T::from_bits_of(rng.next_u64()));
    });
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn random_values_depend_on_the_seed_alone() {
        let fill = |seed, threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Grid::random(shape("300x500"), Dtype::F64, seed).unwrap())
        };
        assert_eq!(fill(1, 1), fill(1, 3));
        assert_ne!(fill(1, 1), fill(2, 1));
    }

    #[test]
    fn any_region_has_the_random_values_of_the_whole() {
        for (size, low, high) in [
            ("300x500", [0, 0, 0], [1, 300, 500]),
            ("300x500", [0, 130, 0], [1, 263, 500]),
            ("300x500", [0, 131, 71], [1, 133, 72]),
            ("200000", [0, 0, 65535], [1, 1, 131073]),
            ("9x100x101", [3, 1, 7], [9, 99, 90]),
        ] {
            let (shape, region) = (shape(size), Region { low, high });
            let whole = Grid::random(shape, Dtype::F32, 5).unwrap();
            let part = Grid::random_region(shape, Dtype::F32, 5, region);
            assert_eq!(part, whole.read(region), "{size}");
        }
    }

    #[test]
    fn random_values_are_uniform_in_the_unit_interval() {
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
            let grid = Grid::random(shape("400x400"), dtype, 7).unwrap();
            let values: Vec<f64> = (0..160_000).map(|index| grid.get(index)).collect();
            let mean = values.iter().sum::<f64>() / 160_000.0;
            assert!((mean - 0.5).abs() < 0.005, "{dtype}: mean {mean}");
            assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        }
    }

    #[test]
    fn the_first_bad_value_is_named_with_its_position() {
        let mut values = vec![0.0; 35];
        values[12] = f64::NEG_INFINITY;
        values[30] = f64::NAN;
        let grid = Grid { shape: shape("7x5"), values: Values::F64(values) };
        let error = grid.check_finite(ValueLocation::Input).unwrap_err();
        assert_eq!(error.to_string(), "the input holds -inf at (y, x) = (2, 2)");
    }
}
