// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a warp does in a march: all steps on its part of the tile.
//!
//! **Registers.** An operand of a product is four registers in a row. The planes of the input of a step
//! alternate between two of them: the one before the plane in the middle and the one behind it share one;
//! the plane in the middle shares the other one with what lies next to it, and when that has been
//! multiplied, with the plane that comes next. So nothing is ever moved; the price is a second A with
//! its halves exchanged. Where a plane is, is a constant, because 4 rounds are unrolled.
//!
//! **Order.** Steps are two planes apart, so that in a round they do not depend on each other; and what a
//! warp leaves others in a round they read two rounds later, so that no warp has to wait for the
//! slowest one of its own round.

use super::load::{AHEAD, Input, ROUNDS, Stages};
use super::{EDGE_BYTES, ELEMENT, March, ROW_BYTES, Sweep, UNIT_COLUMNS, UNIT_ROWS};
use crate::half::Half;
use crate::layout::CHUNK;
use crate::unroll::unroll;
use core::marker::PhantomData;
use cuda_std::shared::{self, Shared};
use cuda_std::{barrier, global, grid, math, matrix, warp};

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
    /// Whether it takes of the tile on the right (t < 2) or on the left.
    right: bool,
    /// [`LOW_HALVES`] or [`HIGH_HALVES`].
    halves: u32,
    /// The lane of that tile.
    source: u32,
    /// Whether that tile is another warp's.
    reads: bool,
    /// Whether another warp needs its halves.
    writes: bool,
    /// Byte offsets, in the exchange memory of a plane: of the words that it takes from those beside it
    /// or leaves them, and of those that it leaves those above or below.
    side: u32,
    edge: u32,
    /// From there to those that it takes.
    edge_from: u32,
    /// Byte offset of its words in a stage.
    own: u32,
}

impl Place {
    #[inline(always)]
    fn new(sweep: &Sweep, warp: u32, lane: u32) -> Self {
        let tile = sweep.tile;
        let (strip, band) = (warp % tile.across, warp / tile.across);
        let (g, t) = (lane / 4, lane % 4);
        let right = t < 2;
        let odd = t % 2 == 1;
        let reads = g == if right { 7 } else { 0 };
        // A strip and a band of zeros surround the tile.
        let side = match (reads, right) {
            (true, true) => strip + 2,
            (true, false) => strip,
            (false, _) => strip + 1,
        };
        let side_bytes = tile.side_bytes();
        let (row, column) = (t % 2 * 2, g * 4 + t / 2 * 2);
        Self {
            odd,
            right,
            halves: if right { LOW_HALVES } else { HIGH_HALVES },
            source: if right { lane + 4 } else { lane + 28 } % warp::SIZE,
            reads,
            writes: g == if right { 0 } else { 7 },
            side: (band * (tile.across + 2) + side) * side_bytes + t * side_bytes / 4,
            edge: tile.sides_bytes() + ((band + 1) * tile.across + strip) * EDGE_BYTES + lane * 4,
            edge_from: if odd {
                (tile.across * EDGE_BYTES).wrapping_neg()
            } else {
                tile.across * EDGE_BYTES
            },
            // A stage starts a row above and a chunk left of the tile.
            own: (band * tile.warp_rows() + row + 1) * ROW_BYTES
                + (strip * UNIT_COLUMNS + CHUNK + column) * ELEMENT,
        }
    }

    /// What the neighbouring tiles need of a lane's words of a unit.
    #[inline(always)]
    fn halves(&self, words: [u32; 2]) -> u32 {
        // SAFETY: computes on registers only.
        unsafe { math::permute(words[0], words[1], self.halves) }
    }
}

/// Points that a lane needs of other warps: of each unit those beside it, and those above the first or
/// below the last unit.
#[derive(Clone, Copy)]
struct Neighbours<const UNITS: usize> {
    beside: [u32; UNITS],
    beyond: u32,
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
    /// middle with its neighbours. Gives their words, rounded, with zeros for what does not exist if that
    /// is not the `whole` plane of the tile.
    ///
    /// # Safety
    /// The whole warp calls it.
    #[inline(always)]
    unsafe fn step<const PHASE: usize>(
        &mut self,
        step: usize,
        neighbours: &Neighbours<UNITS>,
        whole: bool,
        exist: u32,
    ) -> [[u32; 2]; UNITS] {
        let mut sums = [[0.0; 4]; UNITS];
        let mut words = [[0; 2]; UNITS];
        // SAFETY: all lanes execute it; the host's encoder orders the metadata.
        unsafe {
            unroll!(unit < UNITS => {
                let (a, metadata) = (self.a[1][half(PHASE)], self.metadata[half(PHASE)]);
                let operand = self.operands[PHASE % 2][step][unit];
                sums[unit] = E::product(a, metadata, operand, [0.0; 4]);
            });
            unroll!(unit < UNITS => self.middle::<PHASE>(step, unit, neighbours, &mut sums[unit]));
            unroll!(unit < UNITS => {
                let sum = sums[unit];
                words[unit] = [
                    matrix::transpose(E::pack(sum[0], sum[1])),
                    matrix::transpose(E::pack(sum[2], sum[3])),
                ];
            });
            if !whole {
                // Keeps this a branch, which is taken at the sides of the grid alone.
                warp::sync();
                words.as_flattened_mut().iter_mut().for_each(|word| *word &= exist);
            }
        }
        words
    }

    #[inline(always)]
    unsafe fn middle<const PHASE: usize>(
        &mut self,
        step: usize,
        unit: usize,
        neighbours: &Neighbours<UNITS>,
        sum: &mut [f32; 4],
    ) {
        let Place { odd, source, reads, .. } = self.place;
        let half = half(PHASE + 1);
        let operands = &mut self.operands[(PHASE + 1) % 2][step];
        let words = get(operands[unit], half);
        // SAFETY: all lanes execute it; the host's encoder orders the metadata.
        unsafe {
            let shuffled = warp::shuffle(self.place.halves(words), source);
            let beside = if reads { neighbours.beside[unit] } else { shuffled };
            let above =
                if unit == 0 { neighbours.beyond } else { operands[unit - 1][2 * half + 1] };
            let below =
                if unit == UNITS - 1 { neighbours.beyond } else { operands[unit + 1][2 * half] };
            operands[unit][2 * (1 - half)] = beside;
            operands[unit][2 * (1 - half) + 1] = if odd { above } else { below };
            *sum = E::product(self.a[0][half], self.metadata[half], operands[unit], *sum);
        }
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

    /// What a lane needs of a stage besides.
    ///
    /// # Safety
    /// The stage is filled.
    #[inline(always)]
    unsafe fn neighbours_of_input(&self, stage: Shared) -> Neighbours<UNITS> {
        let place = &self.place;
        let own = stage.offset(place.own);
        let mut beside = [0; UNITS];
        // SAFETY: the stage has a row and a chunk more on each side.
        unsafe {
            if place.reads {
                let first = if place.right { own.0 + 4 * ELEMENT } else { own.0 - 4 * ELEMENT };
                for (unit, beside) in beside.iter_mut().enumerate() {
                    let at = Shared(first).offset(unit as u32 * UNIT_ROWS * ROW_BYTES);
                    *beside = place.halves([shared::load(at), shared::load(at.offset(ROW_BYTES))]);
                }
            }
            // Odd lanes hold the third row.
            let rows = if place.odd { 3u32.wrapping_neg() } else { UNITS as u32 * UNIT_ROWS };
            let beyond = shared::load(Shared(own.0.wrapping_add(rows.wrapping_mul(ROW_BYTES))));
            Neighbours { beside, beyond }
        }
    }

    /// What a lane needs of a plane of a step, which others have left two rounds before.
    ///
    /// # Safety
    /// They have been waited for.
    #[inline(always)]
    unsafe fn neighbours(&self, exchange: Shared) -> Neighbours<UNITS> {
        let place = &self.place;
        let mut beside = [0; UNITS];
        // SAFETY: the exchange memory is the tile's.
        unsafe {
            if place.reads {
                for (part, beside) in beside.chunks_mut(4).enumerate() {
                    let words = shared::load_v4(exchange.offset(place.side + 16 * part as u32));
                    beside.iter_mut().zip(words).for_each(|(beside, word)| *beside = word);
                }
            }
            let at = exchange.0.wrapping_add(place.edge).wrapping_add(place.edge_from);
            Neighbours { beside, beyond: shared::load(Shared(at)) }
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
            shared::store(exchange.offset(place.edge), edge);
            if place.writes {
                for (part, words) in words.chunks(4).enumerate() {
                    let mut sides = [0; 4];
                    sides
                        .iter_mut()
                        .zip(words)
                        .for_each(|(side, word)| *side = place.halves(*word));
                    shared::store_v4(exchange.offset(place.side + 16 * part as u32), sides);
                }
            }
        }
    }
}

/// Where a lane stores.
struct Target {
    /// Its first point in the plane that comes next.
    at: *mut u16,
    pitch: usize,
    plane: usize,
    /// A bit for each of its words that it stores.
    stored: u32,
}

impl Target {
    /// Stores a plane and goes on to the next.
    ///
    /// # Safety
    /// The whole warp calls it; no other lane stores the words of this one.
    #[inline(always)]
    unsafe fn store<const UNITS: usize>(&mut self, words: &[[u32; 2]; UNITS], wanted: bool) {
        let stored = if wanted { self.stored } else { 0 };
        let mut at = self.at;
        for (unit, words) in words.iter().enumerate() {
            for (row, &word) in words.iter().enumerate() {
                if stored >> (2 * unit + row) & 1 == 1 {
                    // SAFETY: the row exists, and is this lane's.
                    unsafe { global::store(at.wrapping_add(row * self.pitch).cast(), word) };
                }
            }
            at = at.wrapping_add(UNIT_ROWS as usize * self.pitch);
        }
        self.at = self.at.wrapping_add(self.plane);
    }
}

/// A march under way.
struct Way<'a, E, const STEPS: usize, const UNITS: usize> {
    sweep: &'a Sweep,
    part: Part<E, STEPS, UNITS>,
    target: Target,
    input: Input,
    stages: Stages,
    /// Barriers that count the warps which have ended an even or an odd round.
    ended: Shared,
    /// Exchange memory, and the bytes of a plane of a step.
    exchange: Shared,
    bytes: u32,
    /// Whether the tile lies in the grid, and the words of the lane's columns that do.
    whole: bool,
    columns: u32,
    /// The plane of the first step; the one where the last step begins to store, where the march ends,
    /// and where its inputs end.
    z: i32,
    stored: i32,
    end: i32,
    inputs: i32,
    /// Whether this thread copies planes, and whether it speaks for its warp.
    copies: bool,
    speaks: bool,
}

/// Planes from a step to the next one.
const LAG: i32 = 2;

impl<E: Half, const STEPS: usize, const UNITS: usize> Way<'_, E, STEPS, UNITS> {
    /// One round, `PHASE` of those that are unrolled; says whether another one follows.
    ///
    /// # Safety
    /// Every warp of the block calls it for round after round.
    #[inline(always)]
    unsafe fn round<const PHASE: usize>(&mut self) -> bool {
        const { assert!(PHASE < ROUNDS) };
        let (part, stages, z) = (&mut self.part, &self.stages, self.z);
        let (exchange, bytes) = (self.exchange, self.bytes);
        let at = |step: usize, phase: usize| {
            exchange.offset((ROUNDS * (step - 1) + phase % ROUNDS) as u32 * bytes)
        };
        let ended = self.ended.offset((PHASE % 2) as u32 * barrier::BYTES);
        // SAFETY: what was left two rounds before is waited for (in the first two rounds, nothing is),
        // and with it for the readers of the stage that is filled. Planes are there before they are read.
        unsafe {
            barrier::wait(ended, 1 - PHASE as u32 / 2);
            if self.copies && z + (AHEAD as i32 - 1) < self.inputs {
                self.input.copy(z + (AHEAD as i32 - 1), stages, PHASE + AHEAD);
            }
            // All that comes from other warps first, because it takes time to arrive.
            let mut neighbours = [Neighbours { beside: [0; UNITS], beyond: 0 }; STEPS];
            unroll!(step < STEPS => {
                neighbours[step] = match step {
                    0 => part.neighbours_of_input(stages.data(PHASE + 1)),
                    _ => part.neighbours(at(step, PHASE + 2)),
                };
            });
            // The last step comes first, so that each finds its place for what the one before gives.
            unroll!(turn < STEPS => {
                let step = STEPS - 1 - turn;
                let inside = ((z - LAG * step as i32) as u32) < self.sweep.nz as u32;
                let exist = if inside { self.columns } else { 0 };
                let whole = inside && self.whole;
                let words = part.step::<PHASE>(step, &neighbours[step], whole, exist);
                if turn == 0 {
                    self.target.store(&words, z >= self.stored);
                } else {
                    part.leave(at(step + 1, PHASE), &words);
                    part.take(step + 1, PHASE + 3, &words);
                }
            });
            if z + LAG < self.inputs {
                stages.wait(PHASE + 3);
                part.take(0, PHASE + 3, &part.load(stages.data(PHASE + 3)));
            }
            warp::sync();
            if self.speaks {
                barrier::arrive(ended);
            }
        }
        self.z += 1;
        self.z < self.end
    }
}

/// Computes one march.
///
/// # Safety
/// One whole warp of the launch that the kernels' contract describes; all warps of the block call it.
#[inline(always)]
pub(super) unsafe fn compute<E: Half, const STEPS: usize, const UNITS: usize>(
    sweep: &Sweep,
    march: &March,
    stages: Stages,
    ended: Shared,
    exchange: Shared,
    fragments: *const u32,
    warp: u32,
) {
    // SAFETY: reads a special register.
    let lane = unsafe { warp::lane_id() };
    let word = |product: usize, index: usize| {
        let at = (product * WORDS_PER_STEP + index) * warp::SIZE as usize + lane as usize;
        // SAFETY: the launch gives 4 × WORDS_PER_STEP × 32 words, which nobody writes.
        unsafe { global::load_constant(fragments.add(at)) }
    };
    let a = |product| core::array::from_fn(|index| word(product, index));
    let tile = sweep.tile;
    let (t, strip, band) = (lane % 4, warp % tile.across, warp / tile.across);
    let x = march.x.start + (strip * UNIT_COLUMNS + lane / 4 * 4 + t / 2 * 2) as i32;
    let y = march.y.start + (band * tile.warp_rows() + t % 2 * 2) as i32;
    let mut stored = 0;
    for unit in 0..UNITS {
        for word in 0..2 {
            let row = y + (unit * UNIT_ROWS as usize + word) as i32;
            let inside = march.y.low <= row && row < march.y.high;
            stored |= u32::from(inside) << (2 * unit + word);
        }
    }
    let stores = march.x.low <= x && x < march.x.high;
    // The first step starts so many planes before the march, and the last one is as far behind the first
    // as their distance is.
    let before = STEPS as i32 - 1;
    let behind = LAG * before;
    let mut way = Way::<E, STEPS, UNITS> {
        sweep,
        part: Part {
            place: Place::new(sweep, warp, lane),
            a: [[a(0), a(2)], [a(1), a(3)]],
            metadata: [word(0, 4), word(2, 4)],
            operands: [[[[0; 4]; UNITS]; STEPS]; 2],
            element: PhantomData,
        },
        target: Target {
            at: sweep.output.wrapping_offset(sweep.offset(march.z - before - behind, y, x)),
            pitch: sweep.pitch as usize,
            plane: sweep.plane_rows as usize * sweep.pitch as usize,
            stored: if stores { stored } else { 0 },
        },
        input: Input::new(sweep, march),
        stages,
        ended,
        exchange,
        bytes: tile.exchange_bytes(),
        whole: march.x.start + tile.columns() as i32 <= sweep.nx,
        columns: match sweep.nx - x {
            2.. => 0xffff_ffff,
            1 => 0x0000_ffff,
            _ => 0,
        },
        z: march.z - before,
        stored: march.z + behind,
        end: march.z + march.planes as i32 + behind,
        inputs: march.z + march.planes as i32 + STEPS as i32,
        copies: warp == 0 && lane == 0,
        speaks: lane == 0,
    };
    // SAFETY: the whole block comes here.
    unsafe {
        grid::wait_for_previous();
        grid::start_next();
        let first = way.z - 1;
        unroll!(plane < AHEAD => {
            if way.copies && first + (plane as i32) < way.inputs {
                way.input.copy(first + plane as i32, &stages, plane);
            }
        });
        unroll!(plane < 3 => {
            stages.wait(plane);
            way.part.take(0, plane, &way.part.load(stages.data(plane)));
        });
        while way.round::<0>() && way.round::<1>() && way.round::<2>() && way.round::<3>() {
            way.stages.turn();
        }
    }
}
