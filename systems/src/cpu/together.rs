// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many steps are taken together, in bands of how many rows.

use super::stored;
use crate::checked::System;
use crate::expression::Array;
use problem::Depth;
use std::cmp::Ordering;
use x86_writer::RowFunction;

/// Rows that a step takes before the next one, where a chunk takes several, at least: of short rows it takes more, as each band takes some
/// time before it computes.
pub const BAND: usize = 8;
/// Steps of a plane that are taken together.
const DEPTH: usize = 8;
/// Bytes that stages go through while steps are taken together: Yee's grid of 1024 x 1024 in f64 takes 1.1 ms a step with eight steps
/// of 576 KiB and 2.2 ms with one, Burgers' equation of 512 x 512 by four stages 3.4 ms with two steps of 1.3 MiB and 4.0 ms with four.
const AT_HAND: usize = 1 << 20;
/// Bytes that a band of several steps goes through, and its rows, at most. Each band takes some time before it computes, which counts where
/// rows are short.
const BAND_BYTES: usize = 1 << 18;
const BAND_ROWS: usize = 32;

/// How many steps are taken together: as many as are asked for, else as are worth it.
///
/// # Errors
/// Why so many are not.
pub fn depth(system: &System) -> Result<usize, String> {
    let [_, ny, _] = system.shape.extents();
    let reach = rows_of_a_step(system);
    let together = match system.chain {
        Depth::Steps(1) => return Ok(1),
        _ => check_together(system),
    };
    match (together, system.chain) {
        (Err(_), Depth::Auto) => Ok(1),
        (Err(reason), Depth::Steps(_)) => Err(reason),
        (Ok(most), Depth::Steps(steps)) if steps > most => {
            Err(format!("of {ny} rows at most {most} steps are taken together"))
        }
        (Ok(_), Depth::Steps(steps)) => Ok(steps),
        // Of chunks of threads no more than half may be gaps.
        (Ok(_), Depth::Auto) => {
            let rows = ny / (2 * rayon::current_num_threads());
            Ok(fitting(rows, reach, DEPTH.min(staying(system))))
        }
    }
}

/// Bytes of a row of all arrays that steps of a system go through.
pub fn row_bytes(system: &System) -> usize {
    let [.., points] = system.shape.extents();
    // What is given is read in one step only.
    let held = system.fields.iter().filter(|field| field.is_held).count();
    let arrays = system.arrays() - held + system.coefficients.len() + system.works.len();
    arrays * points * stored(system).bytes()
}

/// Rows of a band, where several steps are taken together.
pub fn band(system: &System) -> usize {
    (BAND_BYTES / row_bytes(system).max(1)).clamp(BAND, BAND_ROWS)
}

/// As many steps as have the rows that their stages go through in the caches of a core; any number of steps that have one.
pub fn staying(system: &System) -> usize {
    if !system.is_staged() {
        return usize::MAX;
    }
    let [_, reach, _] = system.program.reach(|_| true);
    let rows = AT_HAND / row_bytes(system);
    (rows.saturating_sub(BAND) / (reach * system.stages.len()).max(1)).max(1)
}

/// Rows around those of a step that all of its stages read, each of the one before.
pub fn rows_of_a_step(system: &System) -> usize {
    let [_, rows, _] = system.program.reach(|_| true);
    rows * system.stages.len()
}

/// The most steps that can be taken together, or of which at least the stages follow each other through the rows.
///
/// # Errors
/// Why none can.
pub fn check_together(system: &System) -> Result<usize, String> {
    let [nz, ny, _] = system.shape.extents();
    let [planes, ..] = system.program.reach(|_| true);
    let reach = rows_of_a_step(system);
    system.check_solves_nothing()?;
    if nz > 1 || planes > 0 || ny == 1 {
        let what = "steps are taken together on grids of two axes, where no other plane is read";
        return Err(what.to_owned());
    }
    if !RowFunction::<f64>::is_possible() {
        let what = "steps are taken together by machine code, for which the processor has no AVX2";
        return Err(what.to_owned());
    }
    if system.is_staged() && ny < 2 * reach {
        return Err(format!("{ny} rows are too few for the stages of a step together"));
    }
    Ok(fitting(ny, reach, usize::MAX))
}

/// The oldest values of a field, if the stage that computes the next ones reads them at the point itself only, and no later
/// one does: then the next ones are written over them. A field that is held stays where it is.
pub fn own(system: &System, field: usize) -> Option<Array> {
    if system.takes_back() {
        return None;
    }
    let oldest = Array::Field { field, level: system.fields[field].levels - 1 };
    if system.fields[field].is_held {
        return Some(oldest);
    }
    let writes = system.stages.iter().position(|stage| stage.place_of(field).is_some())?;
    let may_read = |stage: usize, offset| match stage.cmp(&writes) {
        Ordering::Less => true,
        Ordering::Equal => offset == [0; 3],
        Ordering::Greater => false,
    };
    let mut reads = system.stages.iter().enumerate().flat_map(|(stage, program)| {
        let of_oldest = program.reads().filter(|(array, _)| *array == oldest);
        of_oldest.map(move |(_, offset)| (stage, offset))
    });
    reads.all(|(stage, offset)| may_read(stage, offset)).then_some(oldest)
}

/// The field whose next values are written over an array.
pub fn own_field(system: &System, array: Array) -> Option<usize> {
    match array {
        Array::Field { field, .. } if own(system, field) == Some(array) => Some(field),
        _ => None,
    }
}

/// Steps, at most so many, that can be taken together of so many rows.
pub fn fitting(rows: usize, reach: usize, most: usize) -> usize {
    (rows / (2 * reach).max(1)).clamp(1, most)
}
