// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a warp does in a segment: all steps on its part of the tile.
//!
//! **Registers.** An operand of a product is four registers in a row. The planes of the input of a step
//! alternate between two of them: the one before the plane in the middle and the one behind it share one;
//! the plane in the middle shares the other one with what lies next to it, and when that has been
//! multiplied, with the plane that comes next. So nothing is ever moved; the price is a second A with
//! its halves exchanged. Where a plane is, is a constant, because 4 rounds are unrolled. For one step and
//! unit, with `p3` for plane 3 of its input and `n3` for what lies next to that plane:
//!
//! ```text
//! round, PHASE           0          1          2          3          0 again
//! operand 0, its halves  p0   p2    n2   p2    p4   p2    p4   n4    p4   p6
//! operand 1, its halves  p1   n1    p1   p3    n3   p3    p5   p3    p5   n5
//! first product          p0   p2    p1   p3    p4   p2    p5   p3    p4   p6    before and behind
//! then                   p1   n1    n2   p2    n3   p3    p4   n4    p5   n5    the middle
//! then arrives           p3 for n1  p4 for n2  p5 for n3  p6 for n4  p7 for n5
//! ```
//!
//! **Order.** Steps are two planes apart, so that in a round they do not depend on each other; and what a
//! warp leaves others in a round they read two rounds later, so that no warp has to wait for the
//! slowest one of its own round. While one step's sums are rounded and transposed, the next multiplies.
//! Round z of three steps, which compute planes z, z - 2 and z - 4:
//!
//! ```text
//! turn                0      1        2         3
//! multiplies          third  second   first
//! rounds, transposes         third    second    first
//! passes on to               the grid the third the second
//! ```
//!
//! **Inside.** Rounds in which all steps are inside the grid, and which are neither the first nor the last
//! ones of a segment, ask nothing ([`Stream::inside`]); the others do.
//!
//! **What is scarce** is the load and store unit, which also shuffles and transposes: less than one
//! shared-memory wavefront for each of its lanes' words is worth a few other instructions.

use super::load::{AHEAD, Input, ROUNDS, Stages};
use super::{
    EDGE_BYTES, ELEMENT, EXCHANGE_BYTES, MOST_ACROSS, ROW_BYTES, SIDE_BYTES, SIDES_BYTES, Segment,
    Sweep, UNIT_COLUMNS, UNIT_ROWS,
};
use crate::half::Half;
use crate::layout::CHUNK;
use crate::overlap;
use crate::unroll::unroll;
use core::marker::PhantomData;
use cuda_std::shared::{self, Shared};
use cuda_std::{barrier, global, math, matrix, warp};

/// Words of A and metadata that a lane is given for one product.
const WORDS_PER_STEP: usize = 5;

/// Which halves of two words the tile on the left of a lane's needs of it (lanes t < 2: column 0), and
/// the one on the right (column 3).
const LOW_HALVES: u32 = 0x5410;
const HIGH_HALVES: u32 = 0x7632;

/// What a lane has to do with other lanes and warps.
#[derive(Clone, Copy)]
struct Place {
    /// Whether it holds the second rows of its units' pairs (t odd).
    odd: bool,
    /// [`LOW_HALVES`] where it takes of the tile on the right (t < 2), or [`HIGH_HALVES`].
    halves: u32,
    /// The lane of that tile, or that at the other end of its row, which has fetched what it needs.
    source: u32,
    /// Whether the tile that takes of this lane is another warp's: not zero then. Such a lane leaves its
    /// halves to that warp, and fetches for the lane at the other end.
    side: u32,
    /// Byte offsets, in the exchange memory of a plane: of the words that it leaves those beside it, of
    /// those that it fetches, and the same of those for above or below.
    side_to: u32,
    side_from: u32,
    edge_to: u32,
    edge_from: u32,
    /// Byte offset of its words in a stage, and of those beside its first unit, and of those above the
    /// first or below the last one.
    own: u32,
    beside: u32,
    beyond: u32,
}

impl Place {
    #[inline(always)]
    fn new(sweep: &Sweep, warp: u32, lane: u32) -> Self {
        let tile = sweep.tile;
        let (warp_column, warp_row) = (warp % tile.across, warp / tile.across);
        let (g, t) = (lane / 4, lane % 4);
        let right = t < 2;
        let odd = t % 2 == 1;
        // Places of zeros surround those of the tile's warps: a column on either side, a row above and below.
        let sides = |warp_column: u32| {
            (warp_row * (MOST_ACROSS + 2) + warp_column) * SIDE_BYTES + t * (SIDE_BYTES / 4)
        };
        let edges = |warp_row: u32| {
            SIDES_BYTES + (warp_row * MOST_ACROSS + warp_column) * EDGE_BYTES + lane * 4
        };
        let (row, column) = (t % 2 * 2, g * 4 + t / 2 * 2);
        // A stage starts a row above and a chunk left of the tile.
        let own = (warp_row * tile.warp_rows() + row + 1) * ROW_BYTES
            + (warp_column * UNIT_COLUMNS + CHUNK + column) * ELEMENT;
        Self {
            odd,
            halves: if right { LOW_HALVES } else { HIGH_HALVES },
            source: if right { lane + 4 } else { lane + 28 } % warp::SIZE,
            side: u32::from(g == if right { 0 } else { 7 }),
            side_to: sides(warp_column + 1),
            side_from: sides(if right { warp_column + 2 } else { warp_column }),
            edge_to: edges(warp_row + 1),
            edge_from: edges(if odd { warp_row } else { warp_row + 2 }),
            own,
            beside: if right { own + 4 * ELEMENT } else { own - 4 * ELEMENT },
            // Odd lanes hold the third row.
            beyond: if odd { own - 3 * ROW_BYTES } else { own + tile.warp_rows() * ROW_BYTES },
        }
    }

    /// What the neighbouring tiles need of a lane's words of a unit.
    #[inline(always)]
    fn halves(&self, words: [u32; 2]) -> u32 {
        // SAFETY: computes on registers only.
        unsafe { math::permute(words[0], words[1], self.halves) }
    }
}

/// Points next to those of a lane: of each unit those beside it, and those above or below it.
#[derive(Clone, Copy)]
struct Neighbours<const UNITS: usize> {
    beside: [u32; UNITS],
    beyond: [u32; UNITS],
}

/// The half of its operand that a plane takes.
const fn half(plane: usize) -> usize {
    plane / 2 % 2
}

/// Words of a half of an operand.
const fn get(operand: [u32; 4], half: usize) -> [u32; 2] {
    [operand[2 * half], operand[2 * half + 1]]
}

/// A warp's part of the tile.
struct Part<E, const STEPS: usize, const UNITS: usize> {
    place: Place,
    /// A of the products, as it is and with its halves exchanged.
    a: [[[u32; 4]; 2]; 2],
    metadata: [u32; 2],
    /// Operands of each step and unit, of the planes with even and with odd numbers.
    operands: [[[[u32; 4]; UNITS]; STEPS]; 2],
    element: PhantomData<E>,
}

impl<E: Half, const STEPS: usize, const UNITS: usize> Part<E, STEPS, UNITS> {
    /// Sums of a step: of the planes `PHASE` and `PHASE` + 2, before and behind, then of the one in the
    /// middle with its neighbours.
    ///
    /// # Safety
    /// The whole warp calls it.
    #[inline(always)]
    unsafe fn products<const PHASE: usize>(
        &mut self,
        step: usize,
        neighbours: &Neighbours<UNITS>,
    ) -> [[f32; 4]; UNITS] {
        let mut sums = [[0.0; 4]; UNITS];
        // SAFETY: all lanes execute it; the host's encoder orders the metadata.
        unsafe {
            unroll!(unit < UNITS => {
                let (a, metadata) = (self.a[1][half(PHASE)], self.metadata[half(PHASE)]);
                let operand = self.operands[PHASE % 2][step][unit];
                sums[unit] = E::product(a, metadata, operand, [0.0; 4]);
            });
            unroll!(unit < UNITS => {
                let half = half(PHASE + 1);
                let (a, metadata) = (self.a[0][half], self.metadata[half]);
                let operand = &mut self.operands[(PHASE + 1) % 2][step][unit];
                operand[2 * (1 - half)] = neighbours.beside[unit];
                operand[2 * (1 - half) + 1] = neighbours.beyond[unit];
                sums[unit] = E::product(a, metadata, *operand, sums[unit]);
            });
        }
        sums
    }

    /// The words of sums, rounded; where they may be outside of the grid, zeros for what does not exist.
    ///
    /// # Safety
    /// The whole warp calls it.
    #[inline(always)]
    unsafe fn words<const INSIDE: bool>(sums: &[[f32; 4]; UNITS], exist: u32) -> [[u32; 2]; UNITS] {
        let mut words = [[0; 2]; UNITS];
        for (words, sum) in words.iter_mut().zip(sums) {
            // SAFETY: all lanes execute it.
            *words = unsafe {
                [
                    matrix::transpose(E::pack(sum[0], sum[1])),
                    matrix::transpose(E::pack(sum[2], sum[3])),
                ]
            };
        }
        if !INSIDE {
            words.as_flattened_mut().iter_mut().for_each(|word| *word &= exist);
        }
        words
    }

    /// Takes a plane of the input of a step, by its number from the first of those that are unrolled. Its
    /// place is free as soon as the plane two before has been in the middle.
    #[inline(always)]
    fn take(&mut self, step: usize, plane: usize, words: &[[u32; 2]; UNITS]) {
        for (operand, words) in self.operands[plane % 2][step].iter_mut().zip(words) {
            [operand[2 * half(plane)], operand[2 * half(plane) + 1]] = *words;
        }
    }

    /// A lane's words of a stage.
    ///
    /// # Safety
    /// The stage is filled.
    #[inline(always)]
    unsafe fn load(&self, stage: Shared) -> [[u32; 2]; UNITS] {
        let mut words = [[0; 2]; UNITS];
        for (unit, words) in words.iter_mut().enumerate() {
            for (word, to) in words.iter_mut().enumerate() {
                let row = unit as u32 * UNIT_ROWS + word as u32;
                // SAFETY: the row is in the stage.
                *to = unsafe { shared::load(stage.offset(self.place.own + row * ROW_BYTES)) };
            }
        }
        words
    }

    /// What a lane needs next to plane `PHASE` + 1 of the input.
    ///
    /// # Safety
    /// The stage is filled.
    #[inline(always)]
    unsafe fn neighbours_of_input<const PHASE: usize>(&self, stage: Shared) -> Neighbours<UNITS> {
        let Place { beside, beyond, .. } = self.place;
        // SAFETY: the stage has a row and a chunk more on each side.
        unsafe {
            let beyond = self.above_or_below::<PHASE>(0, shared::load(stage.offset(beyond)));
            let beside = core::array::from_fn(|unit| {
                let at = stage.offset(beside + unit as u32 * UNIT_ROWS * ROW_BYTES);
                self.place.halves([shared::load(at), shared::load(at.offset(ROW_BYTES))])
            });
            Neighbours { beside, beyond }
        }
    }

    /// What a lane needs above or below plane `PHASE` + 1 of a step, of which `edge` is in another warp.
    #[inline(always)]
    fn above_or_below<const PHASE: usize>(&self, step: usize, edge: u32) -> [u32; UNITS] {
        let operands = &self.operands[(PHASE + 1) % 2][step];
        let words = |unit: usize| get(operands[unit], half(PHASE + 1));
        core::array::from_fn(|unit| {
            let above = if unit == 0 { edge } else { words(unit - 1)[1] };
            let below = if unit == UNITS - 1 { edge } else { words(unit + 1)[0] };
            if self.place.odd { above } else { below }
        })
    }

    /// What a lane needs next to plane `PHASE` + 1 of a step, of which others have left their part two
    /// rounds before.
    ///
    /// # Safety
    /// The whole warp calls it. What others have left has been waited for.
    #[inline(always)]
    unsafe fn neighbours<const PHASE: usize>(
        &self,
        step: usize,
        exchange: Shared,
    ) -> Neighbours<UNITS> {
        let Place { halves, source, side, side_from, edge_from, .. } = self.place;
        let operands = &self.operands[(PHASE + 1) % 2][step];
        // SAFETY: the exchange memory is the tile's; all lanes shuffle.
        unsafe {
            let sides = shared::load_v4_if(side, exchange.offset(side_from));
            let edge = shared::load(exchange.offset(edge_from));
            let beyond = self.above_or_below::<PHASE>(step, edge);
            let beside = core::array::from_fn(|unit| {
                let [low, high] = get(operands[unit], half(PHASE + 1));
                let given = math::permute_unless(side, sides[unit % 4], low, high, halves);
                warp::shuffle(given, source)
            });
            Neighbours { beside, beyond }
        }
    }

    /// Leaves others what they need of a plane of a step.
    ///
    /// # Safety
    /// Nobody reads what was there any more.
    #[inline(always)]
    unsafe fn leave(&self, exchange: Shared, words: &[[u32; 2]; UNITS]) {
        let place = &self.place;
        let edge = if place.odd { words[UNITS - 1][1] } else { words[0][0] };
        // SAFETY: the words are this lane's alone.
        unsafe {
            shared::store(exchange.offset(place.edge_to), edge);
            if place.side != 0 {
                let mut sides = [0; 4];
                sides.iter_mut().zip(words).for_each(|(side, word)| *side = place.halves(*word));
                shared::store_v4(exchange.offset(place.side_to), sides);
            }
        }
    }
}

/// Where a lane stores.
struct Target<const UNITS: usize> {
    /// The first point of the plane that comes next.
    plane: u64,
    /// Bytes from there to the words of the lane's.
    words: [[u32; 2]; UNITS],
    /// Where in shared memory the bytes from plane to plane are. The compiler would like to compute the
    /// addresses of all rounds that are unrolled ahead, in registers that there are not.
    plane_bytes: Shared,
    /// A bit for each of its words that it stores.
    stored: u32,
}

impl<const UNITS: usize> Target<UNITS> {
    /// Stores a plane and goes on to the next. `pairs`: it stores both words of a unit or none.
    ///
    /// # Safety
    /// The whole warp calls it; no other lane stores the words of this one.
    #[inline(always)]
    unsafe fn store(&mut self, words: &[[u32; 2]; UNITS], wanted: bool, pairs: bool) {
        let stored = if wanted { self.stored } else { 0 };
        for (unit, words) in words.iter().enumerate() {
            for (row, &word) in words.iter().enumerate() {
                let bit = if pairs { 2 * unit } else { 2 * unit + row };
                let bytes = self.words[unit][row];
                if stored >> bit & 1 == 1 {
                    // SAFETY: the row exists, and is this lane's.
                    unsafe {
                        global::store(self.plane.wrapping_add(bytes.into()) as *mut u32, word);
                    };
                }
            }
        }
        // SAFETY: all threads have waited for it to be written.
        let [low, high] = unsafe { shared::load_v2(self.plane_bytes) };
        self.plane = self.plane.wrapping_add(u64::from(high) << 32 | u64::from(low));
    }
}

/// A segment under way.
struct Stream<'a, E, const STEPS: usize, const UNITS: usize> {
    sweep: &'a Sweep,
    part: Part<E, STEPS, UNITS>,
    target: Target<UNITS>,
    input: Input,
    stages: Stages,
    /// Barriers that count the warps which have ended an even or an odd round.
    ended: Shared,
    exchange: Shared,
    /// Whether the tile lies in the grid, and lanes store both rows of a unit or none; the words of the
    /// lane's columns that lie in the grid.
    whole: bool,
    columns: u32,
    /// The plane of the first step; the one where the last step begins to store, where the segment ends,
    /// and where its inputs end.
    z: i32,
    stored: i32,
    end: i32,
    inputs: i32,
    /// A bit for each of the rounds that are unrolled in which this warp copies a plane.
    copies: u32,
    /// Whether this thread does so for its warp.
    speaks: bool,
}

/// Planes from a step to the next one.
const LAG: i32 = 2;

impl<E: Half, const STEPS: usize, const UNITS: usize> Stream<'_, E, STEPS, UNITS> {
    /// Whether in all of the next rounds that are unrolled all steps are inside the grid, the last one
    /// stores, and planes are copied.
    #[inline(always)]
    fn inside(&self) -> bool {
        let (rounds, behind) = (ROUNDS as i32, LAG * (STEPS as i32 - 1));
        self.whole
            && behind <= self.z
            && self.z + rounds <= self.sweep.nz
            && self.stored <= self.z
            && self.z + (rounds - 1) + (AHEAD as i32 - 1) < self.inputs
    }

    /// One round, `PHASE` of those that are unrolled; says whether another one follows. `INSIDE`: as
    /// [`Stream::inside`] says, and one follows.
    ///
    /// # Safety
    /// Every warp of the block calls it for round after round.
    #[inline(always)]
    unsafe fn round<const PHASE: usize, const INSIDE: bool>(&mut self) -> bool {
        const { assert!(PHASE < ROUNDS) };
        let (part, stages, z) = (&mut self.part, &self.stages, self.z);
        let exchange = self.exchange;
        let at = |step: usize, phase: usize| {
            exchange.offset((ROUNDS * (step - 1) + phase % ROUNDS) as u32 * EXCHANGE_BYTES)
        };
        let ended = self.ended.offset((PHASE % 2) as u32 * barrier::BYTES);
        // SAFETY: what was left two rounds before is waited for (in the first two rounds, nothing is),
        // and with it for the readers of the stage that is filled. Planes are there before they are read.
        unsafe {
            barrier::wait(ended, 1 - PHASE as u32 / 2);
            let ahead = z + (AHEAD as i32 - 1);
            if self.copies >> PHASE & 1 == 1 && (INSIDE || ahead < self.inputs) {
                // Keeps this a branch, which few warps take.
                warp::sync();
                if self.speaks {
                    self.input.copy(ahead, stages, PHASE + AHEAD);
                }
            }
            let arrives = INSIDE || z + LAG < self.inputs;
            if arrives {
                stages.wait(PHASE + 3);
            }
            // All that comes from other warps first, because it takes time to arrive.
            let mut neighbours = [Neighbours { beside: [0; UNITS], beyond: [0; UNITS] }; STEPS];
            unroll!(step < STEPS => {
                neighbours[step] = match step {
                    0 => part.neighbours_of_input::<PHASE>(stages.data(PHASE + 1)),
                    _ => part.neighbours::<PHASE>(step, at(step, PHASE + 2)),
                };
            });
            // The last step comes first, so that each finds its place for what the one before gives. While a
            // step's sums are rounded and transposed, the next one multiplies.
            let mut sums = [[[0.0; 4]; UNITS]; STEPS];
            unroll!(turn < STEPS + 1 => {
                if turn < STEPS {
                    let step = (2 * STEPS - 1 - turn) % STEPS;
                    sums[step] = part.products::<PHASE>(step, &neighbours[step]);
                }
                if turn > 0 {
                    let step = STEPS - turn;
                    let exists = ((z - LAG * step as i32) as u32) < self.sweep.nz as u32;
                    let exist = if exists { self.columns } else { 0 };
                    let words = Part::<E, STEPS, UNITS>::words::<INSIDE>(&sums[step], exist);
                    if turn == 1 {
                        self.target.store(&words, INSIDE || z >= self.stored, INSIDE);
                    } else {
                        part.leave(at(step + 1, PHASE), &words);
                        part.take(step + 1, PHASE + 3, &words);
                    }
                }
                // Keeps the compiler from doing all of one kind before all of another.
                warp::sync();
            });
            if arrives {
                part.take(0, PHASE + 3, &part.load(stages.data(PHASE + 3)));
            }
            barrier::arrive(ended);
        }
        self.z += 1;
        INSIDE || self.z < self.end
    }

    /// The rounds that are unrolled; says whether another one follows.
    ///
    /// # Safety
    /// As for [`Stream::round`].
    #[inline(always)]
    unsafe fn rounds<const INSIDE: bool>(&mut self) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            self.round::<0, INSIDE>()
                && self.round::<1, INSIDE>()
                && self.round::<2, INSIDE>()
                && self.round::<3, INSIDE>()
        }
    }
}

/// Computes one segment.
///
/// # Safety
/// One whole warp of the launch that the kernels' contract describes; all warps of the block call it.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn compute<E: Half, const STEPS: usize, const UNITS: usize>(
    sweep: &Sweep,
    segment: &Segment,
    stages: Stages,
    ended: Shared,
    plane_bytes: Shared,
    exchange: Shared,
    fragments: *const u32,
    warp: u32,
) {
    let lane = warp::lane_id();
    let word = |product: usize, index: usize| {
        let at = (product * WORDS_PER_STEP + index) * warp::SIZE as usize + lane as usize;
        // SAFETY: the launch gives 4 × WORDS_PER_STEP × 32 words, which nobody writes.
        unsafe { global::load_constant(fragments.add(at)) }
    };
    let a = |product| core::array::from_fn(|index| word(product, index));
    let tile = sweep.tile;
    let (t, warp_column, warp_row) = (lane % 4, warp % tile.across, warp / tile.across);
    let x = segment.x.start + (warp_column * UNIT_COLUMNS + lane / 4 * 4 + t / 2 * 2) as i32;
    let y = segment.y.start + (warp_row * tile.warp_rows() + t % 2 * 2) as i32;
    let mut stored = 0;
    for unit in 0..UNITS {
        for word in 0..2 {
            let row = y + (unit * UNIT_ROWS as usize + word) as i32;
            let inside = segment.y.low <= row && row < segment.y.high;
            stored |= u32::from(inside) << (2 * unit + word);
        }
    }
    let stores = segment.x.low <= x && x < segment.x.high;
    // The first step starts so many planes before the segment, and the last one is as far behind the first
    // as their distance is.
    let before = STEPS as i32 - 1;
    let behind = LAG * before;
    let plane =
        sweep.output.wrapping_offset(sweep.offset(segment.z - before - behind, 0, 0)) as u64;
    // Warps take turns, so that none is always late.
    let mut turns = 0;
    for round in 0..ROUNDS as u32 {
        turns |= u32::from(warp == round * 3 % tile.warps()) << round;
    }
    let mut stream = Stream::<E, STEPS, UNITS> {
        sweep,
        part: Part {
            place: Place::new(sweep, warp, lane),
            a: [[a(0), a(2)], [a(1), a(3)]],
            metadata: [word(0, 4), word(2, 4)],
            operands: [[[[0; 4]; UNITS]; STEPS]; 2],
            element: PhantomData,
        },
        target: Target {
            plane,
            words: core::array::from_fn(|unit| {
                core::array::from_fn(|word| {
                    let row = y + (unit * UNIT_ROWS as usize + word) as i32;
                    (row * sweep.pitch + x) as u32 * ELEMENT
                })
            }),
            plane_bytes,
            stored: if stores { stored } else { 0 },
        },
        input: Input::new(sweep, segment),
        stages,
        ended,
        exchange,
        whole: segment.x.start + tile.columns() as i32 <= sweep.nx
            && (segment.y.low - segment.y.start) % 2 == 0
            && (segment.y.high - segment.y.start) % 2 == 0,
        columns: match sweep.nx - x {
            2.. => 0xffff_ffff,
            1 => 0x0000_ffff,
            _ => 0,
        },
        z: segment.z - before,
        stored: segment.z + behind,
        end: segment.z + segment.planes as i32 + behind,
        inputs: segment.z + segment.planes as i32 + STEPS as i32,
        copies: turns,
        speaks: lane == 0,
    };
    // SAFETY: the whole block comes here.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let first = stream.z - 1;
        unroll!(plane < AHEAD => {
            if warp == 0 && lane == 0 && first + (plane as i32) < stream.inputs {
                stream.input.copy(first + plane as i32, &stages, plane);
            }
        });
        unroll!(plane < 3 => {
            stages.wait(plane);
            stream.part.take(0, plane, &stream.part.load(stages.data(plane)));
        });
        while if stream.inside() { stream.rounds::<true>() } else { stream.rounds::<false>() } {
            stream.stages.turn();
        }
    }
}
