// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values to start with that were given in the memory of a GPU.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use compute::device::{DeviceArray, DeviceGrid};
use problem::{Dtype, Error, Grid, Shape};

/// A copy there, and one in this machine's memory as soon as somebody asks for it: who computes elsewhere, makes an adjoint, or tells a
/// problem from others by its values. It leaves the GPU where a computation needs the room.
#[derive(Debug)]
pub struct DeviceStart {
    shape: Shape,
    dtype: Dtype,
    own: Mutex<Option<Arc<DeviceGrid>>>,
    here: OnceLock<Arc<Grid>>,
}

impl DeviceStart {
    /// A copy of an array, which is not needed after this.
    ///
    /// # Errors
    /// There is no room on the GPU, or it refuses.
    pub fn new(array: &DeviceArray) -> Result<Self, Error> {
        let own = DeviceGrid::copied(array)?;
        let (shape, dtype) = (own.shape(), own.dtype());
        Ok(Self { shape, dtype, own: Mutex::new(Some(own.into())), here: OnceLock::new() })
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

    /// The copy on the GPU, which stays as long as somebody has it; none if it has left.
    #[must_use]
    pub fn on_device(&self) -> Option<Arc<DeviceGrid>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its values in this machine's memory, which keeps them from then on.
    ///
    /// # Errors
    /// There is no memory for them, or the device refuses.
    pub fn grid(&self) -> Result<Arc<Grid>, Error> {
        // Before the values here are looked for: they come before the copy leaves.
        let own = self.on_device();
        if let Some(grid) = self.here.get() {
            return Ok(Arc::clone(grid));
        }
        let grid = Arc::new(own.expect("it has not left").download()?);
        Ok(Arc::clone(self.here.get_or_init(|| grid)))
    }

    /// Keeps the values in this machine's memory alone.
    ///
    /// # Errors
    /// As [`DeviceStart::grid`]: then they stay.
    pub fn leave_device(&self) -> Result<(), Error> {
        self.grid()?;
        self.own.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(())
    }
}
