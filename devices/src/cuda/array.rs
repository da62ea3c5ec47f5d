// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays in the memory of a GPU that do not lie as a [`Plane`](super::super::Plane) does: those of others, which grids
//! are taken from, and those that are given to others.
//!
//! A plane has rows at a pitch and a halo of zeros around them, so an array is copied into one, and a result out of
//! one: on the device, at the speed of its memory. Such copies are made on the default stream, and have ended when
//! a call returns.

use super::super::{ForeignMemory, MemoryRows, failed};
use super::bytes::{DeviceBytes, current};
use super::memory;
use super::strides::{check_number, rows};
use cuda_driver::sys;
use problem::values::Element;
use problem::{Dtype, Error, Grid, Shape, with_dtype, with_values};

/// An array in the memory of the GPU, of somebody else. It owns nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceArray {
    address: u64,
    shape: Shape,
    dtype: Dtype,
    /// From the address on.
    rows: MemoryRows,
}

impl DeviceArray {
    /// An array whose first value lies at an address of the memory of GPU `number`, as CUDA counts those that the
    /// process sees. `strides` are in values, one for each axis; without them the values lie in C order.
    ///
    /// # Errors
    /// [`Error::Size`]: no such extents. [`Error::DeviceArray`]: it is on another GPU than the one that computes, or
    /// the values of a row do not lie side by side, or rows overlap.
    ///
    /// # Safety
    /// From now on until the last use of it, or of a clone, the memory is there, holds values of the type (of tf32:
    /// f32) wherever extents and strides say, and nothing writes to it but what the default stream waits for.
    pub unsafe fn new(
        number: i32,
        address: u64,
        extents: &[usize],
        strides: Option<&[i64]>,
        dtype: Dtype,
    ) -> Result<Self, Error> {
        let shape = Shape::new(extents)?;
        check_number(number)?;
        let rows = rows(shape, strides, dtype.bytes())?;
        Ok(Self { address, shape, dtype, rows })
    }

    /// Its extents.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The type of its values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Where its first value lies.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Where it lies.
    pub fn memory(&self) -> ForeignMemory {
        ForeignMemory::new(self.address, self.rows)
    }

    /// Its values, in the memory of this machine.
    ///
    /// # Errors
    /// There is no memory for them, or the device refuses.
    pub fn download(&self) -> Result<Grid, Error> {
        Grid::check_memory(self.shape, self.dtype)?;
        let _current = current()?;
        let values = with_dtype!(self.dtype, T => {
            let mut values = vec![T::from_f64(f64::NAN); self.shape.points()];
            memory::read_from(self.address, self.rows, bytemuck::cast_slice_mut(&mut values))?;
            T::wrap(values)
        });
        Ok(Grid { shape: self.shape, values })
    }
}

/// A grid in memory of the GPU of its own, in C order, without a halo: for other libraries. Any thread may drop it.
#[derive(Debug)]
pub struct DeviceGrid {
    memory: DeviceBytes,
    shape: Shape,
    dtype: Dtype,
}

impl DeviceGrid {
    /// Memory with whatever is there.
    ///
    /// # Errors
    /// There is no GPU, or no room.
    pub fn allocate(shape: Shape, dtype: Dtype) -> Result<Self, Error> {
        let memory = DeviceBytes::allocate(shape.points() * dtype.bytes())?;
        Ok(Self { memory, shape, dtype })
    }

    /// Where it lies, as long as it is there.
    pub fn memory(&self) -> ForeignMemory {
        ForeignMemory::new(self.address(), self.rows())
    }

    /// A copy of a grid in the memory of this machine.
    ///
    /// # Errors
    /// There is no GPU, or it refuses.
    pub fn upload(grid: &Grid) -> Result<Self, Error> {
        let new = Self::allocate(grid.shape, grid.dtype())?;
        let _current = current()?;
        let bytes: &[u8] = with_values!(&grid.values, values => bytemuck::cast_slice(values));
        // SAFETY: both hold as many bytes.
        let copied =
            unsafe { sys::cuMemcpyHtoD_v2(new.address(), bytes.as_ptr().cast(), bytes.len()) };
        copied.map_err(failed("upload a grid"))?;
        memory::synchronise()?;
        Ok(new)
    }

    /// A copy of an array that lies there.
    ///
    /// # Errors
    /// There is no room, or the device refuses.
    pub fn copied(array: &DeviceArray) -> Result<Self, Error> {
        let new = Self::allocate(array.shape, array.dtype)?;
        let _current = current()?;
        memory::copy_rows(array.memory(), new.memory())?;
        Ok(new)
    }

    /// It as an array of somebody, as long as it is there.
    #[must_use]
    pub fn array(&self) -> DeviceArray {
        let (address, shape, dtype, rows) = (self.address(), self.shape, self.dtype(), self.rows());
        DeviceArray { address, shape, dtype, rows }
    }

    fn rows(&self) -> MemoryRows {
        rows(self.shape, None, self.dtype.bytes()).expect("C order")
    }

    /// Where its first value lies.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Its memory.
    #[must_use]
    pub fn into_bytes(self) -> DeviceBytes {
        self.memory
    }

    /// Its extents.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The type of its values; of tf32 they are f32.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype.stored()
    }

    /// Its values, in the memory of this machine.
    ///
    /// # Errors
    /// There is no memory for them, or the device refuses.
    pub fn download(&self) -> Result<Grid, Error> {
        self.array().download()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(
        number: i32,
        extents: &[usize],
        strides: Option<&[i64]>,
        dtype: Dtype,
    ) -> Result<DeviceArray, Error> {
        // SAFETY: nothing is copied here.
        unsafe { DeviceArray::new(number, 0x7000, extents, strides, dtype) }
    }

    #[test]
    fn strides_of_rows_and_planes_are_taken() {
        let rows = |extents: &[usize], strides| {
            let MemoryRows { start, width, rows, row_pitch, planes, plane_pitch } =
                array(0, extents, strides, Dtype::F32).unwrap().rows;
            assert_eq!(start, 0);
            [width, rows, row_pitch, planes, plane_pitch]
        };
        assert_eq!(rows(&[7], None)[..2], [28, 1]);
        assert_eq!(rows(&[5, 7], None)[..4], [28, 5, 28, 1]);
        assert_eq!(rows(&[5, 7], Some(&[9, 1]))[..4], [28, 5, 36, 1]);
        assert_eq!(rows(&[3, 5, 7], Some(&[100, 9, 1])), [28, 5, 36, 3, 400]);
        // Planes between the rows of others, and one plane for all.
        assert_eq!(rows(&[3, 5, 7], Some(&[7, 21, 1])), [28, 5, 84, 3, 28]);
        assert_eq!(rows(&[3, 5, 7], Some(&[0, 7, 1])), [28, 5, 28, 3, 0]);
        // What axes of one point say does not matter.
        assert_eq!(rows(&[1, 5, 1], Some(&[-3, 9, 77]))[..4], [4, 5, 36, 1]);
    }

    #[test]
    fn what_rows_cannot_be_is_refused_with_its_numbers() {
        for (extents, strides, what) in [
            (
                &[5, 7][..],
                &[1, 5][..],
                "strides [1, 5], in values, of the extents [5, 7]: the values of",
            ),
            (&[7], &[2], "strides [2], in values, of the extents [7]: the values of the last axis"),
            (&[5, 7], &[0, 1], "its rows must not overlap"),
            (&[5, 7], &[-7, 1], "nor run backwards"),
            (
                &[2, 5, 7],
                &[-35, 7, 1],
                "its planes must not run backwards; make a copy of it in C order",
            ),
        ] {
            let error = array(0, extents, Some(strides), Dtype::F16).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(error.kind(), problem::ErrorKind::Input);
        }
    }

    #[test]
    fn another_gpu_is_refused() {
        let error = array(3, &[7], None, Dtype::F16).unwrap_err().to_string();
        assert!(error.contains("it lies on GPU 3, and GPU 0 computes"), "{error}");
    }
}
