// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid in device memory, in its halo of zeros (`kernels_gpu::layout`).

use super::{Device, DeviceArray, DeviceGrid, Memory, MemoryRows, Packing};
use kernels_gpu::layout::Layout;
use problem::region::Region;
use problem::values::Element;
use problem::{Dtype, Error, Grid, Shape, Values, with_dtype, with_values};
use std::ptr;
use std::time::Duration;

/// Not a number in every element type, if repeated.
const NAN: u16 = 0x7fff;

/// One of the buffers that take turns as input and output.
pub struct Plane {
    memory: Memory,
    shape: Shape,
    dtype: Dtype,
    layout: Layout,
}

impl Plane {
    /// A grid of zeros.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn new(device: &dyn Device, shape: Shape, dtype: Dtype) -> Result<Self, Error> {
        let layout = layout(shape);
        let memory = device.allocate("grid", layout.elements() * dtype.bytes())?;
        Ok(Self { memory, shape, dtype, layout })
    }

    /// The extents of its grid.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How its values are stored.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The whole array, halo included.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Where its points lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Where the first grid point lies, for kernels that read it.
    pub fn origin<T>(&self) -> *const T {
        self.point([0; 3])
    }

    /// Where the first grid point lies, for kernels that write it.
    pub fn origin_mut<T>(&self) -> *mut T {
        self.point_mut([0; 3])
    }

    /// Where a grid point (z, y, x) lies, for kernels that read it.
    pub fn point<T>(&self, at: [isize; 3]) -> *const T {
        ptr::without_provenance(self.point_mut::<T>(at).addr())
    }

    /// Where a grid point (z, y, x) lies, for kernels that write it.
    pub fn point_mut<T>(&self, at: [isize; 3]) -> *mut T {
        let position = self.position(at.map(|along| along as usize));
        self.memory.as_mut_ptr::<u8>().wrapping_add(position).cast()
    }

    /// Makes sure of what kernels take for granted: two different planes of this layout, with elements
    /// of so many bytes.
    ///
    /// # Panics
    /// With others.
    pub fn check_pair(from: &Self, to: &Self, layout: Layout, bytes: usize) {
        for plane in [from, to] {
            let found = (plane.layout, plane.dtype.bytes());
            assert_eq!(found, (layout, bytes), "the planes that the launch was prepared for");
        }
        assert_ne!(from.memory.address(), to.memory.address(), "input and output are two planes");
    }

    /// Bytes from the start of the memory to a grid point (z, y, x).
    fn position(&self, [z, y, x]: [usize; 3]) -> usize {
        self.layout.position(z as u32, y as u32, x as u32) * self.dtype.bytes()
    }

    /// The rows of a box of grid points.
    fn rows(&self, region: Region) -> MemoryRows {
        let within = |axis: usize| {
            let (low, high) = (region.low[axis], region.high[axis]);
            0 <= low && low <= high && high as usize <= self.shape.extents()[axis]
        };
        assert!((0..3).all(within), "{region:?} lies in a grid of {}", self.shape);
        let [planes, rows, columns] = region.extents();
        let row_pitch = self.layout.pitch() as usize * self.dtype.bytes();
        MemoryRows {
            start: self.position(region.low.map(|low| low as usize)),
            width: columns * self.dtype.bytes(),
            rows,
            row_pitch,
            planes,
            plane_pitch: row_pitch * self.layout.plane_rows() as usize,
        }
    }

    /// Fills the grid, but not its halo, with NaN.
    ///
    /// # Errors
    /// The device refuses.
    pub fn poison(&mut self, device: &dyn Device) -> Result<(), Error> {
        device.fill(&self.memory, self.rows(Region::whole(self.shape)), NAN)
    }

    /// Takes the values of a grid of its shape and stored type.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where shapes or types differ.
    pub fn upload(&mut self, device: &dyn Device, grid: &Grid) -> Result<(), Error> {
        assert_eq!(grid.shape, self.shape, "a grid of this plane's kind");
        self.write(device, Region::whole(self.shape), &grid.values)
    }

    /// Takes the values of a box of grid points, in C order and of its stored type.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the box reaches out of the grid, has another number of points, or types differ.
    pub fn write(
        &mut self,
        device: &dyn Device,
        region: Region,
        values: &Values,
    ) -> Result<(), Error> {
        assert_eq!(values.dtype(), self.dtype.stored(), "values of this plane's kind");
        let bytes: &[u8] = with_values!(values, values => bytemuck::cast_slice(values));
        device.write(&self.memory, self.rows(region), bytes)
    }

    /// Queues that another plane, of the same stored type, takes the values of a box of this one as its whole grid.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the box reaches out of the grid, or is not as large as the other one.
    pub fn copy_box(&self, device: &dyn Device, region: Region, to: &Self) -> Result<(), Error> {
        let whole = to.rows(Region::whole(to.shape));
        device.copy_rows((&self.memory, self.rows(region)), (&to.memory, whole))
    }

    /// Takes the values of an array of the device's memory, of its shape and stored type. False where the device has no
    /// memory that others could use.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where shapes or types differ.
    pub fn take(&mut self, device: &dyn Device, array: &DeviceArray) -> Result<bool, Error> {
        let of_array = (array.shape(), array.dtype().stored());
        assert_eq!(of_array, (self.shape, self.dtype.stored()), "an array of this plane's kind");
        if !device.shares() {
            return Ok(false);
        }
        let rows = self.rows(Region::whole(self.shape));
        device.take(array.memory(), &self.memory, rows).map(|()| true)
    }

    /// A copy of the grid in the device's memory, for others. None where they could not use it.
    ///
    /// # Errors
    /// The device refuses, or has no room for it.
    pub fn give(&self, device: &dyn Device) -> Result<Option<DeviceGrid>, Error> {
        if !device.shares() {
            return Ok(None);
        }
        let grid = DeviceGrid::allocate(self.shape, self.dtype)?;
        device.give(&self.memory, self.rows(Region::whole(self.shape)), grid.memory())?;
        Ok(Some(grid))
    }

    /// The grid.
    ///
    /// # Errors
    /// The device refuses, or the grid does not fit in memory.
    pub fn download(&self, device: &dyn Device) -> Result<Grid, Error> {
        Grid::check_memory(self.shape, self.dtype)?;
        Ok(Grid { shape: self.shape, values: self.read(device, Region::whole(self.shape))? })
    }

    /// The values of a box of grid points, in C order.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the box reaches out of the grid.
    pub fn read(&self, device: &dyn Device, region: Region) -> Result<Values, Error> {
        let rows = self.rows(region);
        Ok(with_dtype!(self.dtype, T => {
            let mut values = vec![T::from_f64(f64::NAN); region.points()];
            device.read(&self.memory, rows, bytemuck::cast_slice_mut(&mut values))?;
            T::wrap(values)
        }))
    }

    /// Every byte of the array, halo included.
    ///
    /// # Errors
    /// The device refuses.
    pub fn bytes(&self, device: &dyn Device) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.memory.bytes()];
        device.read(&self.memory, MemoryRows::first(bytes.len()), &mut bytes)?;
        Ok(bytes)
    }

    /// Takes over the whole array of another plane of the same kind, halo included.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the kinds differ.
    pub fn clone_from(&mut self, device: &dyn Device, other: &Self) -> Result<(), Error> {
        assert_eq!((self.shape, self.dtype), (other.shape, other.dtype), "planes of one kind");
        device.copy(&other.memory, &self.memory, self.memory.bytes())
    }

    /// The mean time of so many such copies, back and forth between two planes: see [`Plane::copy_points`].
    ///
    /// # Errors
    /// The device refuses.
    pub fn time_copies(
        device: &dyn Device,
        planes: [&Self; 2],
        count: usize,
    ) -> Result<Duration, Error> {
        let time = device.time(&mut || {
            (0..count).try_for_each(|turn| {
                Self::copy_points(device, planes[turn % 2], planes[1 - turn % 2])
            })
        })?;
        Ok(time / count as u32)
    }

    /// Copies as many bytes as the grid has from the start of one plane to that of another, whatever
    /// lies there: the yardstick for a sweep. Between planes of one kind, the halo stays zero, and
    /// copies back and forth leave the grid that they began with as it is.
    ///
    /// # Errors
    /// The device refuses.
    pub fn copy_points(device: &dyn Device, from: &Self, to: &Self) -> Result<(), Error> {
        device.copy(&from.memory, &to.memory, from.shape.points() * from.dtype.bytes())
    }
}

impl Packing for Plane {
    fn rows_of(&self, array: usize, region: Region) -> (&Memory, MemoryRows) {
        assert_eq!(array, 0, "a grid is one array");
        (&self.memory, self.rows(region))
    }
}

/// Where the points of a grid lie in device memory. Coordinates in a launch are 32-bit and signed, which
/// engines check.
#[must_use]
pub fn layout(shape: Shape) -> Layout {
    Layout { dims: shape.dims() as u32, extents: shape.extents().map(|extent| extent as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Emulator;

    #[test]
    fn boxes_of_a_grid_are_read_and_written_and_zeros_lie_around_it() {
        let device = Emulator::new();
        for (extents, dtype) in [
            (&[500][..], Dtype::F16),
            (&[7, 90], Dtype::Tf32),
            (&[3, 5, 70], Dtype::F64),
            (&[1, 1, 1], Dtype::Bf16),
        ] {
            let shape = Shape::new(extents).unwrap();
            let grid = Grid::random(shape, dtype, 1).unwrap();
            let mut plane = Plane::new(&device, shape, dtype).unwrap();
            let zeros = |plane: &Plane| {
                let bytes = plane.bytes(&device).unwrap();
                bytes.chunks(dtype.bytes()).filter(|value| value.iter().all(|&x| x == 0)).count()
            };
            let around = plane.layout().elements() - shape.points();
            plane.poison(&device).unwrap();
            assert_eq!(zeros(&plane), around, "nothing but the grid is poisoned");
            plane.upload(&device, &grid).unwrap();
            assert_eq!(plane.download(&device).unwrap(), grid);
            assert!(zeros(&plane) >= around);
            let high = shape.extents().map(|extent| extent as isize);
            let region = Region { low: high.map(|high| high / 2), high };
            let part = plane.read(&device, region).unwrap();
            let expected = with_values!(&grid.values, x => Element::wrap(region.of(x, shape)));
            assert_eq!(part, expected);
            plane.poison(&device).unwrap();
            plane.write(&device, region, &part).unwrap();
            assert_eq!(plane.read(&device, region).unwrap(), part);
            let mut copy = Plane::new(&device, shape, dtype).unwrap();
            copy.clone_from(&device, &plane).unwrap();
            assert!(copy.bytes(&device).unwrap() == plane.bytes(&device).unwrap());
        }
    }
}
