// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warps that multiply: from the ring to global memory.

use super::element::{FactorType, StorePlace};
use super::{Derived, Gather, STACK, STEP_WORDS, Segment, lead, least, tile};
use crate::overlap;
use crate::ring::Ring;
use crate::unroll::unroll;
use cuda_std::shared::Shared;
use cuda_std::{global, shared, thread, warp};

/// Groups of a unit.
const GROUPS: usize = STACK as usize;

/// What the table has for a lane in a step.
#[derive(Clone, Copy, Default)]
struct Step {
    a: [u32; 4],
    metadata: u32,
    /// Byte offset of the lane's chunk.
    chunk: u32,
}

/// The table, as a lane reads it.
#[derive(Clone, Copy)]
struct Table {
    a: *const u32,
    rest: *const u32,
}

impl Table {
    #[inline(always)]
    fn new(table: *const u32, lane: u32) -> Self {
        let rest = table.wrapping_add((4 * warp::SIZE + 2 * lane) as usize);
        Self { a: table.wrapping_add(4 * lane as usize), rest }
    }

    /// The entry of the step after so many.
    ///
    /// # Safety
    /// There is such a step.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn load(self, step: usize) -> Step {
        let words = step * STEP_WORDS as usize;
        // SAFETY: as the caller promises; the launch's table is aligned to 16 bytes.
        unsafe {
            let [metadata, chunk] = global::load_v2(self.rest.wrapping_add(words));
            Step { a: global::load_v4(self.a.wrapping_add(words)), metadata, chunk }
        }
    }
}

/// Computes a warp's units of segment after segment, in `HELD` steps whose table stays in registers, or if that
/// is 0, in as many as there are.
///
/// # Safety
/// One whole warp of the launch that the kernel's contract describes; `warp` of `warps`.
#[inline(always)]
pub(super) unsafe fn compute<E: FactorType, const ROWS: u32, const HELD: usize>(
    output: *mut u8,
    table: *const u32,
    launch: &Gather,
    ring: Ring,
    [warp, warps]: [u32; 2],
) {
    // SAFETY: reads special registers; the table is the launch's, which no launch writes.
    let (lane, blocks, mut index) = (warp::lane_id(), thread::grid_dim_x(), thread::block_idx_x());
    let table = Table::new(table, lane);
    let mut held = [Step::default(); HELD];
    // SAFETY: the table has so many steps.
    unroll!(i < HELD => held[i] = unsafe { table.load(i) });
    let lane = Lane::<HELD> {
        first: ring.data(),
        table,
        held,
        input: lead(E::BYTES) + lane / 4 * tile::<ROWS>()[1] * E::BYTES,
        output: E::column::<ROWS>(lane),
        lane,
    };
    let [deep, wide, long] = launch.derived.segments;
    let (mut newest, mut oldest) = (ring, ring);
    // SAFETY: the output is what the launch before reads.
    unsafe { overlap::wait_before_stores() };
    while index < deep * wide * long {
        let segment = launch.at(index);
        let [down, across] = segment.units;
        // SAFETY: the ring is set up, and the producer fills as many stages: a window, and one more for
        // each plane but the first. All lanes have read a stage when it is left.
        unsafe {
            let mut ahead = 1;
            while ahead < launch.window {
                newest.wait_full();
                newest.advance();
                ahead += 1;
            }
            let mut plane = 0;
            while plane < segment.planes {
                newest.wait_full();
                newest.advance();
                let (mut y, mut x) = (0, warp);
                loop {
                    while x >= across {
                        x -= across;
                        y += 1;
                    }
                    if y >= down {
                        break;
                    }
                    lane.unit::<E, ROWS>(output, launch, &segment, plane, [y, x], oldest.offset());
                    x += warps;
                }
                lane.leave(&mut oldest);
                plane += 1;
            }
            while ahead > 1 {
                lane.leave(&mut oldest);
                ahead -= 1;
            }
        }
        index += blocks;
    }
}

/// A lane's part.
struct Lane<const HELD: usize> {
    /// The first stage.
    first: Shared,
    table: Table,
    held: [Step; HELD],
    /// Byte offset in a row of the lane's tile in a group.
    input: u32,
    /// First column of the lane's outputs in a group.
    output: u32,
    lane: u32,
}

/// Where a lane's inputs of a unit lie.
#[derive(Clone, Copy)]
struct Window {
    first: Shared,
    /// Byte offset of the first group in the window's first stage.
    start: u32,
    ring_bytes: u32,
    /// Bytes from the first group to each.
    groups: [u32; GROUPS],
}

impl Window {
    /// Loads what a step takes.
    ///
    /// # Safety
    /// The window's stages are filled.
    #[inline(always)]
    unsafe fn load(&self, step: Step) -> [[u32; 4]; GROUPS] {
        // Stages behind the last one are the first ones: the smaller number, as one wraps.
        let at = self.start + step.chunk;
        let wrapped = at.wrapping_sub(self.ring_bytes);
        let at = self.first.offset(least(at, wrapped));
        let mut loaded = [[0u32; 4]; GROUPS];
        // SAFETY: chunks lie in stages of the window, at multiples of 16 bytes.
        unroll!(i < GROUPS => loaded[i] = unsafe { shared::load_v4(at.offset(self.groups[i])) });
        loaded
    }
}

/// Adds a step to the sums.
///
/// # Safety
/// The whole warp calls it.
#[inline(always)]
unsafe fn add<E: FactorType>(
    step: Step,
    loaded: [[u32; 4]; GROUPS],
    sums: &mut [[f32; 4]; GROUPS],
) {
    unroll!(i < GROUPS => {
        // SAFETY: all lanes execute it; the host's encoder orders the metadata.
        sums[i] = unsafe { E::product(step.a, step.metadata, loaded[i], sums[i]) }
    });
}

impl<const HELD: usize> Lane<HELD> {
    /// Leaves a stage.
    ///
    /// # Safety
    /// The whole warp calls it.
    #[inline(always)]
    unsafe fn leave(&self, ring: &mut Ring) {
        // SAFETY: all lanes arrive, one of them for the warp.
        unsafe {
            warp::sync();
            if self.lane == 0 {
                ring.release();
            }
        }
        ring.advance();
    }

    /// Computes a unit of a plane whose window's first stage starts at `stage` bytes.
    ///
    /// # Safety
    /// The whole warp calls it, with a unit of the segment; the window's stages are filled.
    #[inline(always)]
    unsafe fn unit<E: FactorType, const ROWS: u32>(
        &self,
        output: *mut u8,
        launch: &Gather,
        segment: &Segment,
        plane: u32,
        [down, across]: [u32; 2],
        stage: u32,
    ) {
        let Derived { unit, ring_bytes, unit_bytes, group_bytes, .. } = launch.derived;
        let [y, x] = [down * unit[0], across * unit[1]];
        // Groups behind the end of a row are not copied: the last one is read again, and nothing stored.
        let group_columns = 8 * tile::<ROWS>()[1];
        let [stack_rows, stack_columns] = launch.stack;
        let last = (launch.extents[2] - segment.x - x - 1) / group_columns;
        let last = if stack_columns == 0 { STACK - 1 } else { last };
        let mut window = Window {
            first: self.first,
            start: stage + down * unit_bytes[0] + across * unit_bytes[1] + self.input,
            ring_bytes,
            groups: [0; GROUPS],
        };
        unroll!(i < GROUPS => window.groups[i] = least(i as u32, last) * group_bytes);
        let mut sums = [[0.0f32; 4]; GROUPS];
        // SAFETY: all lanes come here; the stages are filled, and the table has two steps more than there
        // are, which are loaded ahead.
        unsafe {
            if HELD > 0 {
                unroll!(i < HELD => add::<E>(self.held[i], window.load(self.held[i]), &mut sums));
            } else {
                let (mut this, mut next) = (self.table.load(0), self.table.load(1));
                let mut loaded = window.load(this);
                let mut step = 0;
                while step < launch.steps {
                    let after_next = self.table.load(step as usize + 2);
                    let loaded_next = window.load(next);
                    add::<E>(this, loaded, &mut sums);
                    (this, next, loaded) = (next, after_next, loaded_next);
                    step += 1;
                }
            }
        }
        let [_, ny, nx] = launch.extents;
        let (y, x) = (segment.y + y, segment.x + x + self.output);
        let start = launch.offset((segment.z + plane) as i32, y as i32, x as i32);
        let mut place = StorePlace {
            at: output.wrapping_offset(start * E::BYTES as isize),
            pitch: launch.derived.pitch_bytes as usize,
            rows: (ny - y) as i32,
            columns: nx.wrapping_sub(x) as i32,
        };
        unroll!(i < GROUPS => {
            if i > 0 {
                place.at = place.at.wrapping_add(launch.derived.group_output_bytes as usize);
                place.rows -= stack_rows as i32;
                place.columns -= stack_columns as i32;
            }
            // SAFETY: all lanes execute it; the places are this lane's.
            unsafe { E::store::<ROWS>(sums[i], place) }
        });
    }
}
