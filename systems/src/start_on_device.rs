// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values to start with that were given in the memory of a GPU.

use std::sync::{Arc, OnceLock};

use compute::device::{DeviceArray, DeviceGrid};
use problem::{Dtype, Error, Grid, Shape};

/// A copy there, and one in this machine's memory as soon as somebody asks for it: who computes elsewhere, makes an adjoint, or tells a
/// problem from others by its values.
#[derive(Debug)]
pub struct DeviceStart {
    own: DeviceGrid,
    here: OnceLock<Arc<Grid>>,
}

impl DeviceStart {
    /// A copy of an array, which is not needed after this.
    ///
    /// # Errors
    /// There is no room on the GPU, or it refuses.
    pub fn new(array: &DeviceArray) -> Result<Self, Error> {
        Ok(Self { own: DeviceGrid::copied(array)?, here: OnceLock::new() })
    }

    /// Its extents.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.own.shape()
    }

    /// The type of its values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.own.dtype()
    }

    /// Where it lies on the GPU, as long as it is there.
    #[must_use]
    pub fn array(&self) -> DeviceArray {
        self.own.array()
    }

    /// Its values in this machine's memory, which keeps them from then on.
    ///
    /// # Errors
    /// There is no memory for them, or the device refuses.
    pub fn grid(&self) -> Result<Arc<Grid>, Error> {
        if let Some(grid) = self.here.get() {
            return Ok(Arc::clone(grid));
        }
        let grid = Arc::new(self.own.download()?);
        Ok(Arc::clone(self.here.get_or_init(|| grid)))
    }
}
