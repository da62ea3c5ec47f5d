// SPDX-License-Identifier: MIT OR Apache-2.0
//! A look at a plane between two launches: whether all values are finite, which takes the device no longer than to read
//! them, and copies of some points that leave while the next launches run.
//!
//! ```text
//! work:    launches | pack into stage 0 | launches                | pack into stage 1 | launches
//! copies:                               | stage 0 to this machine |                   | stage 1 ...
//! ```

use std::cell::Cell;
use std::rc::Rc;

use cuda_driver::{AnyCall, Entry, Extents};
use kernels_gpu::look::{self, Exponents, StridedPoints};

use super::{Device, Fetch, Launch, Memory, MemoryRows, Plane, StartOrder};
use problem::observe::{CompletedCopy, PendingCopy};
use problem::{Dtype, Error, Grid, Shape, View, with_dtype};

/// Copies that are on their way at once.
const STAGES: usize = 3;
/// Bytes of a plane that are read in no more time than the driver takes to get a kernel ready; and looks after which
/// that time does not matter.
const FEW_BYTES: usize = 32 << 20;
const FEW_LOOKS: usize = 4;
/// Blocks of a launch, at most.
const MOST_BLOCKS: u64 = i32::MAX as u64;
/// Blocks of a multiprocessor that keep its memory busy.
const BLOCKS: u32 = 8;

/// What looks at planes need on a device.
#[derive(Default)]
pub struct PlaneReader {
    looks: usize,
    /// How many threads saw a value that is not finite.
    count: Option<Memory>,
    stages: Vec<PackStage>,
}

/// Where points are packed.
struct PackStage {
    memory: Memory,
    /// Whether they are still to leave.
    is_busy: Rc<Cell<bool>>,
}

impl PlaneReader {
    /// Whether all values are known to be finite after a look that takes less time than to read them. If not, whoever
    /// wants to know reads them. All launches have ended.
    ///
    /// # Errors
    /// The device refuses.
    pub fn knows_finite(&mut self, device: &dyn Device, plane: &Plane) -> Result<bool, Error> {
        self.looks += 1;
        if plane.memory().bytes() < FEW_BYTES && self.looks <= FEW_LOOKS {
            return Ok(false);
        }
        self.is_finite(device, plane)
    }

    /// Whether all values of an array of this type are known to be finite after a look, as above. Of what lies in its memory beside
    /// its values all has to be finite as well, as zeros are.
    ///
    /// # Errors
    /// The device refuses.
    pub fn knows_finite_array(
        &mut self,
        device: &dyn Device,
        memory: &Memory,
        dtype: Dtype,
    ) -> Result<bool, Error> {
        match memory.bytes() % look::VECTOR as usize {
            0 => self.is_finite_array(device, memory, dtype),
            _ => Ok(false),
        }
    }

    /// Looks at all values.
    fn is_finite(&mut self, device: &dyn Device, plane: &Plane) -> Result<bool, Error> {
        // Around the grid there are zeros: the array is looked at as it lies.
        self.is_finite_array(device, plane.memory(), plane.dtype())
    }

    fn is_finite_array(
        &mut self,
        device: &dyn Device,
        memory: &Memory,
        dtype: Dtype,
    ) -> Result<bool, Error> {
        let count = match self.count.take() {
            Some(count) => count,
            None => device.allocate("looks", size_of::<u32>())?,
        };
        let vectors = (memory.bytes() / look::VECTOR as usize) as u64;
        let exponents = Exponents::of(dtype.bytes(), dtype == Dtype::Bf16);
        let call = Entry::of::<look::not_finite>();
        let call = call.with((memory.as_ptr(), vectors, exponents, count.as_mut_ptr()));
        let most = vectors.div_ceil(look::THREADS.into()).max(1);
        launch(device, &call, most.min((device.multiprocessors() * BLOCKS).into()))?;
        device.wait()?;
        let mut seen = [0; size_of::<u32>()];
        device.read(&count, MemoryRows::first(seen.len()), &mut seen)?;
        let is_finite = seen == [0; 4];
        if is_finite {
            self.count = Some(count);
        }
        Ok(is_finite)
    }

    /// A copy of what a view shows, on its way; none if there is no memory for it on the device.
    ///
    /// # Errors
    /// The device refuses.
    pub fn capture(
        &mut self,
        device: &dyn Device,
        plane: &Plane,
        view: &View,
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        let (shape, dtype) = (view.shape(), plane.dtype());
        let points = points(plane, view);
        if points.blocks() > MOST_BLOCKS {
            return Ok(None);
        }
        let [z, y, x] = view.first().map(|along| along as isize);
        self.leave(device, (shape, dtype), |to| {
            if dtype.bytes() == size_of::<u16>() {
                let parameters = (plane.point([z, y, x]), points, to.as_mut_ptr());
                launch(device, &Entry::of::<look::pack_16>().with(parameters), points.blocks())
            } else {
                let parameters = (plane.point([z, y, x]), points, to.as_mut_ptr());
                launch(device, &Entry::of::<look::pack_32>().with(parameters), points.blocks())
            }
        })
    }

    /// A copy of a box of an array, whose values lie in these rows, on its way as the values of a grid of this shape; none if
    /// there is no memory for it on the device. It needs no kernel.
    ///
    /// # Errors
    /// The device refuses.
    pub fn capture_rows(
        &mut self,
        device: &dyn Device,
        from: (&Memory, MemoryRows),
        of: (Shape, Dtype),
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        let (_, own) = from;
        self.leave(device, of, |to| device.copy_rows(from, (to, own.packed(0))))
    }

    /// What is packed into a stage, on its way.
    fn leave(
        &mut self,
        device: &dyn Device,
        (shape, dtype): (Shape, Dtype),
        pack: impl FnOnce(&Memory) -> Result<(), Error>,
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        let bytes = shape.points() * dtype.bytes();
        let Some(stage) = self.stage(device, bytes)? else { return Ok(None) };
        pack(&stage.memory)?;
        let fetch = device.fetch(&stage.memory, bytes)?;
        stage.is_busy.set(true);
        let stage = StageGuard(Rc::clone(&stage.is_busy));
        Ok(Some(Box::new(PackedCopy { fetch, stage, shape, dtype })))
    }

    /// A place that nobody uses; none if there is no memory for it, or too many are in use.
    fn stage(&mut self, device: &dyn Device, bytes: usize) -> Result<Option<&PackStage>, Error> {
        self.stages.retain(|stage| stage.is_busy.get() || stage.memory.bytes() >= bytes);
        let free = self.stages.iter().position(|stage| !stage.is_busy.get());
        let place = match free {
            Some(place) => place,
            None if self.stages.len() == STAGES => return Ok(None),
            None => match device.allocate("snapshots", bytes) {
                Ok(memory) => {
                    self.stages.push(PackStage { memory, is_busy: Rc::default() });
                    self.stages.len() - 1
                }
                Err(Error::GpuFull { .. }) => return Ok(None),
                Err(other) => return Err(other),
            },
        };
        Ok(Some(&self.stages[place]))
    }
}

/// The points of a view in a plane.
fn points(plane: &Plane, view: &View) -> StridedPoints {
    let layout = plane.layout();
    let along =
        [u64::from(layout.plane_rows()) * u64::from(layout.pitch()), u64::from(layout.pitch()), 1];
    let stride = |step: [usize; 3]| step.iter().zip(along).map(|(n, one)| *n as u64 * one).sum();
    StridedPoints {
        strides: view.steps().map(stride),
        extents: view.shape().extents().map(|extent| extent as u32),
        units: plane.dtype().bytes().div_ceil(size_of::<u32>()) as u32,
    }
}

fn launch(device: &dyn Device, call: &dyn AnyCall, blocks: u64) -> Result<(), Error> {
    let extents = Extents { blocks: blocks as u32, threads: look::THREADS, shared_bytes: 0 };
    device.launch(&Launch { call, extents, order: StartOrder::After })
}

/// A stage that is free when this is dropped.
struct StageGuard(Rc<Cell<bool>>);

impl Drop for StageGuard {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// A copy on its way. What it comes from is free after it.
struct PackedCopy {
    fetch: Box<dyn Fetch>,
    stage: StageGuard,
    shape: Shape,
    dtype: Dtype,
}

impl PendingCopy for PackedCopy {
    fn arrive(self: Box<Self>) -> Result<CompletedCopy, Error> {
        let Self { fetch, stage, shape, dtype } = *self;
        let fetched = fetch.wait()?;
        drop(stage);
        Ok(Box::new(move || {
            let values = with_dtype!(dtype, T => {
                problem::values::Element::wrap(bytemuck::pod_collect_to_vec::<u8, T>(&fetched))
            });
            Grid { shape, values }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Emulator;
    use problem::values::Element;
    use problem::{Slice, Values, with_values};

    /// A box of an array that is no plane, without a kernel; what is written afterwards makes no difference.
    #[test]
    fn rows_leave_as_they_lie() {
        let device = Emulator::new();
        let values: Vec<f32> = (0..60).map(|value| value as f32).collect();
        let memory = device.allocate("an array", 240).unwrap();
        device.write(&memory, MemoryRows::first(240), bytemuck::cast_slice(&values)).unwrap();
        let rows = MemoryRows {
            start: 48,
            width: 20,
            rows: 3,
            row_pitch: 40,
            planes: 1,
            plane_pitch: 240,
        };
        let of = (Shape::new(&[3, 5]).unwrap(), Dtype::F32);
        let mut look = PlaneReader::default();
        let coming = look.capture_rows(&device, (&memory, rows), of).unwrap().expect("memory");
        device.write(&memory, MemoryRows::first(240), &[0; 240]).unwrap();
        let grid = coming.arrive().unwrap()();
        let expected = [12, 13, 14, 15, 16, 22, 23, 24, 25, 26, 32, 33, 34, 35, 36];
        assert_eq!(grid.values, Values::F32(expected.map(|value| value as f32).to_vec()));
    }

    /// A plane of random values.
    fn plane(device: &Emulator, size: &str, dtype: Dtype) -> (Plane, Grid) {
        let shape = size.parse().unwrap();
        let grid = Grid::random(shape, dtype, 5).unwrap();
        let mut plane = Plane::new(device, shape, dtype).unwrap();
        plane.upload(device, &grid).unwrap();
        (plane, grid)
    }

    #[test]
    fn copies_are_what_a_view_shows() {
        let device = Emulator::new();
        for (size, dtype) in [
            ("300", Dtype::F16),
            ("9x130", Dtype::Bf16),
            ("6x70", Dtype::F64),
            ("5x7x20", Dtype::Tf32),
        ] {
            let (plane, grid) = plane(&device, size, dtype);
            let slices = [None, Some(Slice { axis: 2, at: Some(3) })];
            for (slice, stride) in slices.into_iter().flat_map(|slice| [1, 3].map(|k| (slice, k))) {
                if grid.shape.dims() == 1 && slice.is_some() {
                    continue;
                }
                let view = View::new(grid.shape, slice, stride).unwrap();
                let mut look = PlaneReader::default();
                let found = look.capture(&device, &plane, &view).unwrap().expect("memory");
                let found = found.arrive().unwrap()();
                let mut expected: Vec<Values> = Vec::new();
                let read = |region| Ok::<_, Error>(grid.read(region));
                let keep = |values| {
                    expected.push(values);
                    Ok(())
                };
                view.pieces(dtype, 1 << 20, read, keep).unwrap();
                assert_eq!(found, Grid { shape: view.shape(), values: expected.remove(0) });
            }
        }
    }

    #[test]
    fn stages_are_used_again_when_their_copies_have_come() {
        let device = Emulator::new();
        let (plane, grid) = plane(&device, "8x8", Dtype::F32);
        let (mut look, view) = (PlaneReader::default(), View::whole(grid.shape));
        let mut capture = || look.capture(&device, &plane, &view).unwrap();
        let mut under_way: Vec<Box<dyn PendingCopy>> =
            (0..STAGES).map(|_| capture().unwrap()).collect();
        assert!(capture().is_none(), "all stages are in use");
        under_way.remove(1).arrive().map(drop).unwrap();
        under_way.push(capture().expect("a stage is free"));
        drop(under_way);
        assert!(capture().is_some());
        assert_eq!(look.stages.len(), STAGES);
    }

    #[test]
    fn one_value_that_is_not_finite_is_seen_wherever_it_is() {
        let device = Emulator::new();
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
            let (mut plane, grid) = plane(&device, "3x21", dtype);
            let mut look = PlaneReader::default();
            assert!(look.is_finite(&device, &plane).unwrap());
            for (place, bad) in [(0, f64::NAN), (1, f64::INFINITY), (20, f64::NEG_INFINITY)] {
                let mut wrong = grid.clone();
                with_values!(&mut wrong.values, values => values[21 + place] = Element::from_f64(bad));
                plane.upload(&device, &wrong).unwrap();
                assert!(!look.is_finite(&device, &plane).unwrap(), "{dtype} {place}");
                plane.upload(&device, &grid).unwrap();
                assert!(look.is_finite(&device, &plane).unwrap(), "{dtype}");
            }
        }
    }

    #[test]
    fn of_an_array_that_is_not_of_whole_vectors_nothing_is_known() {
        let device = Emulator::new();
        for (bytes, known) in [(160, true), (168, false)] {
            let memory = device.allocate("an array", bytes).unwrap();
            let found = PlaneReader::default().knows_finite_array(&device, &memory, Dtype::F64);
            assert_eq!(found.unwrap(), known);
        }
    }
}
