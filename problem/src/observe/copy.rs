// SPDX-License-Identifier: MIT OR Apache-2.0
//! A copy of some values of a computation, made where it stands.

use super::Snapshot;
use crate::values::Element;
use crate::{Error, Grid, Region, Values, View};

/// Bytes of an array that are read at a time.
const PIECE_BYTES: usize = 4 << 20;

/// A copy of what a view shows of an array, given by its place.
///
/// # Errors
/// There is no memory for it, or the device refuses.
pub fn copy(
    snapshot: &mut (impl Snapshot + ?Sized),
    array: usize,
    view: &View,
) -> Result<Grid, Error> {
    let mut all: Option<Values> = None;
    // Bytes of a value are known with the first one.
    let one = snapshot.read(array, Region { low: [0; 3], high: [1; 3] })?.dtype();
    Grid::check_memory(view.shape(), one)?;
    view.pieces(
        one,
        PIECE_BYTES,
        |region| snapshot.read(array, region),
        |part| {
            match &mut all {
                None => all = Some(part),
                Some(all) => append(all, part, view.shape().points()),
            }
            Ok::<(), Error>(())
        },
    )?;
    let values = all.expect("no grid is empty");
    Ok(Grid { shape: view.shape(), values })
}

/// Appends values of the same type to those of a grid of so many points.
fn append(all: &mut Values, part: Values, points: usize) {
    fn join<T: Element>(all: &mut Vec<T>, part: Vec<T>, points: usize) {
        all.reserve_exact(points.saturating_sub(all.len()));
        all.extend(part);
    }
    match (all, part) {
        (Values::F16(all), Values::F16(part)) => join(all, part, points),
        (Values::Bf16(all), Values::Bf16(part)) => join(all, part, points),
        (Values::F32(all), Values::F32(part)) => join(all, part, points),
        (Values::F64(all), Values::F64(part)) => join(all, part, points),
        _ => unreachable!("an array has one type"),
    }
}
