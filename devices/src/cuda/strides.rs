// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where arrays of others lie: on which GPU, and in which rows.

use super::super::MemoryRows;
use problem::{Error, Shape};

/// The GPU that computes, as CUDA counts those that the process sees.
pub(super) const NUMBER: i32 = 0;

/// That an array lies on the GPU that computes.
pub(super) fn check_number(number: i32) -> Result<(), Error> {
    if number == NUMBER {
        return Ok(());
    }
    let reason = format!(
        "it lies on GPU {number}, and GPU {NUMBER} computes: copy it there, or let CUDA_VISIBLE_DEVICES name the other \
         GPU first"
    );
    Err(Error::DeviceArray { reason })
}

/// The rows of an array with these strides.
pub(super) fn rows(
    shape: Shape,
    strides: Option<&[i64]>,
    bytes: usize,
) -> Result<MemoryRows, Error> {
    let [planes, rows, columns] = shape.extents();
    let axes = shape.axes();
    let packed = [(rows * columns) as i64, columns as i64, 1];
    let mut all = packed;
    if let Some(strides) = strides {
        assert_eq!(strides.len(), axes.len(), "a stride for each axis");
        for (axis, stride) in (3 - axes.len()..3).zip(strides) {
            // Of an axis of one point the stride says nothing.
            if shape.extents()[axis] > 1 {
                all[axis] = *stride;
            }
        }
    }
    let refused = |what: &str| Error::DeviceArray {
        reason: format!(
            "its strides {:?}, in values, of the extents {axes:?}: {what}; make a copy of it in C order, as by \
             tensor.contiguous() or cupy.ascontiguousarray",
            strides.unwrap_or_default(),
        ),
    };
    if all[2] != 1 {
        return Err(refused("the values of the last axis must lie side by side"));
    }
    if all[1] < columns as i64 {
        return Err(refused("its rows must not overlap, nor run backwards"));
    }
    if all[0] < 0 {
        return Err(refused("its planes must not run backwards"));
    }
    let [plane_pitch, row_pitch, _] = all.map(|stride| stride as usize * bytes);
    Ok(MemoryRows { start: 0, width: columns * bytes, rows, row_pitch, planes, plane_pitch })
}
