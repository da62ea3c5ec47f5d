// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tensor maps of 3D grids, for kernels that load planes of a tile as boxes.

use crate::device::{Device, Memory, Plane};
use cuda_driver::{ElementType, L2Promotion, Swizzle, TensorMap2d};
use problem::Error;
use std::cell::RefCell;

/// The tensor maps of the planes that a kernel is launched on.
pub(super) struct Boxes {
    /// Words and rows of a box.
    extents: [u32; 2],
    /// By the address of the first grid point.
    maps: RefCell<Vec<(u64, Memory)>>,
}

impl Boxes {
    pub(super) fn new(extents: [u32; 2]) -> Self {
        Self { extents, maps: RefCell::default() }
    }

    /// Where the tensor map of a grid of 16-bit elements lies: words of two columns, and the rows of all
    /// planes.
    ///
    /// # Errors
    /// The device refuses.
    pub(super) fn of(&self, device: &dyn Device, plane: &Plane) -> Result<*const u8, Error> {
        let (origin, layout) = (plane.origin::<u8>() as u64, plane.layout());
        let mut maps = self.maps.borrow_mut();
        if let Some((_, map)) = maps.iter().find(|(of, _)| *of == origin) {
            return Ok(map.as_ptr());
        }
        let [nz, _, nx] = layout.extents;
        let [box_width, box_height] = self.extents;
        let map = TensorMap2d {
            // Copies do not look at what the words are.
            element: ElementType::F32,
            width: nx.div_ceil(2).into(),
            height: u64::from(nz) * u64::from(layout.plane_rows()),
            row_bytes: u64::from(layout.pitch()) * 2,
            box_width,
            box_height,
            l2_promotion: L2Promotion::None,
            swizzle: Swizzle::None,
        };
        let map = device.tensor_map(&map, origin)?;
        let address = map.as_ptr();
        maps.push((origin, map));
        Ok(address)
    }
}
