// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 3D stencil in one pass: a block runs through the planes of a tile of rows and columns.
//!
//! A thread has some rows and columns of every plane ([`super::slab`]). Neighbours in z are sums in registers, those in
//! x come from the lanes on either side, those in y from the thread's own rows or, through shared memory, from the
//! warps above and below, one barrier for a plane of every step. Tiles overlap by what all steps reach, because their
//! outermost rows and columns lack neighbours.
//!
//! **Zeros around the grid**, in every step: beyond the first and the last column of the grid a lane takes zeros for
//! what its neighbour gives, above a tile's first row and below its last one lie zeros, and no tile goes beyond the
//! grid; planes beyond it are set to zero after each step, by a loop of its own, because that would cost the others
//! what it takes. So a lane's columns must all be in the grid or none, and the grid must have the rows of a tile:
//! elsewhere [`crate::rim`] computes what is near the boundary.

use super::fetch::{Fetch, Slots};
use super::slab::{Beside, Rows, Slab};
#[cfg(not(target_arch = "nvptx64"))]
use super::step::Form;
use super::step::{BOX, Ends, MIRRORED, STAR};
use super::{load, margin, store, words};
use crate::boundary::Range;
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::fault::{Fault, planted};
use crate::overlap;
use crate::unroll::unroll;
use cuda_std::shared::{self, Shared};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{AnyCall, Entry};
use cuda_std::{kernel, thread, warp};

/// What a launch computes. `V` is the type of sums, `N` the number of weights.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch<V, const N: usize> {
    /// Where it does so.
    pub tiles: Tiles,
    /// The dense stencil in C order.
    pub weights: [V; N],
}

/// The tiles through which blocks run.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Extents (z, y, x) of the grid.
    pub extents: [i32; 3],
    /// The planes of outputs.
    pub planes: Range,
    /// The rows of outputs.
    pub rows: Range,
    /// The columns of outputs; the first is one at which 16 bytes start.
    pub columns: Range,
    /// Planes of outputs of a block.
    pub segment: i32,
    /// Elements from one row to the next.
    pub pitch: i64,
    /// Elements from one plane to the next.
    pub plane: i64,
}

impl Tiles {
    /// Tiles below each other and side by side, of so many rows and columns of outputs, to which the steps reach from
    /// so many rows on either side. The first and the last tile end with the grid.
    #[inline(always)]
    #[must_use]
    pub const fn across(&self, [rows, columns]: [u32; 2], reach: u32) -> [u32; 2] {
        let [_, ny, _] = self.extents;
        let down = (ny as u32).saturating_sub(2 * reach).div_ceil(rows);
        [if down > 1 { down } else { 1 }, (self.columns.len() as u32).div_ceil(columns)]
    }

    /// Blocks of a launch.
    #[must_use]
    pub const fn blocks(&self, tile: [u32; 2], reach: u32) -> u32 {
        let [down, across] = self.across(tile, reach);
        down * across * (self.planes.len() as u32).div_ceil(self.segment as u32)
    }
}

/// The kernel: `STEPS` steps of radius `RADIUS`, `RING` = twice that; `ROWS` rows of `VECTOR` columns for a thread, which
/// are `WORDS`.
#[inline(always)]
#[track_caller]
unsafe fn march<
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const WARPS: u32,
    const ROWS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &Launch<E::Real, N>,
) {
    const { assert!(WORDS == words(VECTOR, E::BYTES) && WORDS.is_multiple_of(4), "16 bytes") };
    const { assert!(ROWS >= RADIUS, "neighbours are those of the next warp") };
    let tiles = &launch.tiles;
    let reach = (RADIUS * STEPS) as i32;
    let beside = margin(reach as u32, VECTOR as u32) as i32;
    let (width, height) = (warp::SIZE as i32 * VECTOR as i32, WARPS as i32 * ROWS as i32);
    let (columns, rows) = (width - 2 * beside, height - 2 * reach);
    let bytes = width as u32 * E::BYTES;
    // A step of a star gives the next one its plane at once.
    let delay = if FORM == STAR { 0 } else { STEPS as i32 };
    // SAFETY: the launch is as the kernel's contract says; planes and rows up to the radius outside the grid, and what
    // lies beside a tile's rows, are in the array.
    unsafe {
        let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
        // The assembler knows that what lane 0 gives is the same for all lanes.
        let warp = warp::shuffle(thread / warp::SIZE, 0);
        let slots = slots(WARPS, ROWS as u32, bytes);
        let (start, ring) = (shared::dynamic(), slots.shared_bytes());
        let fetch = Fetch::new(start.offset(warp * ring), slots);
        if lane == 0 {
            fetch.init();
        }
        overlap::wait_for_previous();
        overlap::start_next();

        let [down, across] = tiles.across([rows as u32, columns as u32], reach as u32);
        let block = thread::block_idx_x();
        let first = tiles.planes.low + (block / (down * across)) as i32 * tiles.segment;
        if first >= tiles.planes.high {
            return;
        }
        let end = least(first + tiles.segment, tiles.planes.high);
        let [nz, ny, nx] = tiles.extents;
        let tile = (block / across % down) as i32;
        let is_last = tile == down as i32 - 1;
        let top = if is_last && ny > height { ny - height } else { tile * rows };
        let left = tiles.columns.low + (block % across) as i32 * columns - beside;
        let (own, y) = ((lane * VECTOR as u32) as i32, top + warp as i32 * ROWS as i32);
        let x = left + own;
        let is_inner = own >= beside && own < width - beside;
        let to = i64::from(first) * tiles.plane + i64::from(y) * tiles.pitch;
        let low = if tile == 0 { 0 } else { tile * rows + reach };
        let high = if is_last { ny } else { (tile + 1) * rows + reach };
        let low = if low > tiles.rows.low { low } else { tiles.rows.low };
        let outputs = Range { low: low - y, high: least(high, tiles.rows.high) - y };
        let mut walk = Walk::<E, FORM, RADIUS, RING, STEPS, ROWS, VECTOR, WORDS, N> {
            launch,
            fetch,
            edges: start.offset(WARPS * ring),
            edge_bytes: WARPS * EDGES * RADIUS as u32 * width as u32 * E::Real::BYTES,
            warp,
            last: WARPS - 1,
            ends: Ends { left: x == 0, right: x + VECTOR as i32 == nx },
            lane,
            left,
            y,
            input,
            to: output.wrapping_offset((to + i64::from(x)) as isize),
            rows: outputs,
            stored: if is_inner { tiles.columns.high - x } else { 0 },
            asked: first - reach,
            at: first - reach,
            first: first + reach + delay,
            end: end + reach + delay,
            steps: [const { Slab::EMPTY }; STEPS],
            parity: 0,
        };
        walk.show_all();
        walk.show_zeros();
        let mut ahead = 0;
        // What was set up, and the zeros, must be seen.
        thread::sync_threads();
        while ahead < slots.ahead() {
            walk.ask();
            ahead += 1;
        }
        loop {
            let at = walk.at;
            // Where no step of these rounds computes a plane beyond the grid.
            if at >= reach + delay && at + RING as i32 <= nz {
                unroll!(newest < RING => {
                    if walk.at >= walk.end {
                        return;
                    }
                    walk.round::<false>(newest)
                });
            } else {
                unroll!(newest < RING => {
                    if walk.at >= walk.end {
                        return;
                    }
                    walk.round::<true>(newest)
                });
            }
        }
    }
}

/// Rows of a warp that others see: those at its top, and those at its bottom, in radii.
const EDGES: u32 = 2;

/// The ring of one of so many warps, for so many rows of so many bytes: as many slots as fit the shared memory of the
/// least chip beside the rows that warps show each other.
const fn slots(warps: u32, rows: u32, bytes: u32) -> Slots {
    let count = if warps > 8 { 4 } else { 6 };
    Slots { count, rows, bytes }
}

/// A block's way through a tile.
struct Walk<
    'a,
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const ROWS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
> {
    launch: &'a Launch<E::Real, N>,
    fetch: Fetch,
    /// Rows that warps show each other: of two rounds, of all steps, of all warps.
    edges: Shared,
    /// Of those of a step.
    edge_bytes: u32,
    warp: u32,
    last: u32,
    ends: Ends,
    lane: u32,
    /// The tile's first column, and the warp's first row.
    left: i32,
    y: i32,
    input: *const E::Stored,
    /// Where the thread's next outputs go.
    to: *mut E::Stored,
    /// The warp's rows that are outputs.
    rows: Range,
    /// Columns of outputs from the thread's first on, 0 for threads that store nothing.
    stored: i32,
    /// The next plane that is asked for, and the next that is read.
    asked: i32,
    at: i32,
    /// The first plane that completes outputs, and one past the last.
    first: i32,
    end: i32,
    steps: [Slab<E::Real, RADIUS, RING, ROWS, VECTOR>; STEPS],
    /// In which round's place the rows lie that other warps have shown.
    parity: u32,
}

impl<
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const ROWS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
> Walk<'_, E, FORM, RADIUS, RING, STEPS, ROWS, VECTOR, WORDS, N>
{
    /// Asks for the warp's rows of the next plane: the nearest ones that there are, beyond those that outputs depend
    /// on.
    #[inline(always)]
    #[track_caller]
    unsafe fn ask(&mut self) {
        let Tiles { extents, pitch, plane, .. } = self.launch.tiles;
        if self.asked >= self.end {
            return;
        }
        let z = nearest(self.asked, extents[0], RADIUS as i32);
        let (left, y, input) = (self.left, self.y, self.input);
        let from = |row: u32| {
            let y = nearest(y + row as i32, extents[1], RADIUS as i32);
            let at = i64::from(z) * plane + i64::from(y) * pitch + i64::from(left);
            input.wrapping_offset(at as isize).cast()
        };
        // SAFETY: as the caller promises: rows of the grid or its halo.
        unsafe { self.fetch.ask(from, self.lane) };
        self.asked += 1;
    }

    /// Sets planes beyond the grid to zero.
    #[inline(always)]
    fn end(&self, plane: &mut Rows<E::Real, ROWS, VECTOR>, z: i32) {
        let is_beyond = z < 0 || z >= self.launch.tiles.extents[0];
        if is_beyond && !planted(Fault::RowsBeyond) {
            *plane = [[E::Real::ZERO; VECTOR]; ROWS];
        }
    }

    /// Takes what waits through all steps, and a plane to the first. `newest` is its number modulo `RING`; `ENDS` says
    /// that planes beyond the grid may be among them.
    #[inline(always)]
    #[track_caller]
    unsafe fn round<const ENDS: bool>(&mut self, newest: usize) {
        // SAFETY: as the caller promises; the lane's part of a plane that has arrived.
        unsafe {
            if !planted(Fault::NoBlockSync) {
                thread::sync_threads();
            }
            let at = self.fetch.data().offset(self.lane * 4 * WORDS as u32);
            let mut plane = [[E::Real::ZERO; VECTOR]; ROWS];
            unroll!(row < ROWS => plane[row] = Self::take(row, at));
            if FORM == STAR {
                unroll!(step < STEPS => {
                    let beside = self.beside(step);
                    plane = self.steps[step].add_star(plane, &beside, &self.launch.weights);
                    if ENDS && step + 1 < STEPS {
                        self.end(&mut plane, self.at - (step + 1) as i32);
                    }
                });
                self.store(plane);
            } else {
                // The last step first, since each gives the one after it what is to wait next.
                unroll!(later < STEPS => self.advance::<ENDS>(STEPS - 1 - later, newest));
                self.steps[0].waiting = plane;
            }
            self.ask();
            self.parity ^= 1;
            self.show_all();
        }
        self.at += 1;
    }

    /// One step of what waits.
    #[inline(always)]
    #[track_caller]
    unsafe fn advance<const ENDS: bool>(&mut self, step: usize, newest: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            let beside = self.beside(step);
            let mut rows = self.steps[step].add::<FORM, N>(&beside, newest, &self.launch.weights);
            if step + 1 < STEPS {
                if ENDS {
                    self.end(&mut rows, self.at - ((step + 1) * (RADIUS + 1)) as i32);
                }
                self.steps[step + 1].waiting = rows;
            } else {
                self.store(rows);
            }
        }
    }

    /// The rows beside those of this warp, of what waits for a step.
    ///
    /// # Safety
    /// They have been shown, and a barrier has come since.
    #[inline(always)]
    #[track_caller]
    unsafe fn beside(&self, step: usize) -> Beside<E::Real, RADIUS, VECTOR> {
        let rows = [[E::Real::ZERO; VECTOR]; RADIUS];
        let mut beside = Beside { above: rows, below: rows, ends: self.ends };
        for row in 0..RADIUS {
            let (mut above, mut below) = (self.zeros(row), self.zeros(row));
            if self.warp > 0 {
                above = self.edge(step, self.warp - 1, RADIUS + row);
            }
            if self.warp < self.last {
                below = self.edge(step, self.warp + 1, row);
            }
            // SAFETY: as the caller promises.
            unsafe {
                beside.above[row] = Self::seen(above);
                beside.below[row] = Self::seen(below);
            }
        }
        beside
    }

    /// Where rows of zeros lie.
    #[inline(always)]
    fn zeros(&self, row: usize) -> Shared {
        let thread = row as u32 * warp::SIZE + self.lane;
        let at = 2 * STEPS as u32 * self.edge_bytes + thread * VECTOR as u32 * E::Real::BYTES;
        self.edges.offset(at)
    }

    /// Where warps show a row of a step in this round: first those at the top of a warp, then those at its bottom.
    #[inline(always)]
    fn edge(&self, step: usize, warp: u32, row: usize) -> Shared {
        let round = (self.parity * STEPS as u32 + step as u32) * self.edge_bytes;
        let thread = (warp * EDGES * RADIUS as u32 + row as u32) * warp::SIZE + self.lane;
        self.edges.offset(round + thread * VECTOR as u32 * E::Real::BYTES)
    }

    /// # Safety
    /// The row has been shown, and a barrier has come since.
    #[inline(always)]
    #[track_caller]
    unsafe fn seen(at: Shared) -> [E::Real; VECTOR] {
        let mut values = [E::Real::ZERO; VECTOR];
        // SAFETY: as the caller promises.
        unsafe {
            let each = 16 / E::Real::BYTES as usize;
            for part in 0..VECTOR / each {
                let loaded = E::Real::load_sixteen_bytes(at.offset(16 * part as u32));
                for column in 0..each {
                    values[each * part + column] = loaded[column];
                }
            }
        }
        values
    }

    /// Shows other warps the rows that wait at the top and the bottom of this one, of all steps.
    #[inline(always)]
    #[track_caller]
    unsafe fn show_all(&mut self) {
        // SAFETY: as the caller promises.
        unroll!(step < STEPS => unsafe { self.show(step) });
    }

    /// Puts zeros where the outermost warps see the rows beyond.
    #[inline(always)]
    #[track_caller]
    unsafe fn show_zeros(&self) {
        for row in 0..RADIUS {
            // SAFETY: as the caller promises.
            unsafe {
                if self.warp == 0 {
                    E::Real::store_row(self.zeros(row), &[E::Real::ZERO; VECTOR]);
                }
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn show(&mut self, step: usize) {
        for row in 0..RADIUS {
            // SAFETY: what was there was seen before the last barrier.
            unsafe {
                let waiting = &self.steps[step].waiting;
                E::Real::store_row(self.edge(step, self.warp, row), &waiting[row]);
                let bottom = &waiting[ROWS - RADIUS + row];
                E::Real::store_row(self.edge(step, self.warp, RADIUS + row), bottom);
            }
        }
    }

    /// A row of the plane that has arrived.
    #[inline(always)]
    #[track_caller]
    unsafe fn take(row: usize, at: Shared) -> [E::Real; VECTOR] {
        let offset = (row * WORDS * 4) as u32 * warp::SIZE;
        let mut values = [E::Real::ZERO; VECTOR];
        // SAFETY: as the caller promises.
        unsafe {
            let words = load::<WORDS>(at.offset(offset));
            for column in 0..VECTOR {
                values[column] = E::element(&words, column);
            }
        }
        values
    }

    /// Stores a plane of outputs.
    #[inline(always)]
    #[track_caller]
    unsafe fn store(&mut self, mut rows: Rows<E::Real, ROWS, VECTOR>) {
        // SAFETY: as the caller promises: outputs that no other thread has.
        unsafe {
            for value in rows.as_flattened_mut() {
                *value = value.pin();
            }
            if self.at >= self.first {
                let mut to = self.to;
                for row in 0..ROWS {
                    if row as i32 >= self.rows.low && (row as i32) < self.rows.high {
                        store::<E, VECTOR, WORDS>(to, &rows[row], self.stored);
                    }
                    to = to.wrapping_offset(self.launch.tiles.pitch as isize);
                }
                self.to = self.to.wrapping_offset(self.launch.tiles.plane as isize);
            }
        }
    }
}

#[inline(always)]
const fn least(a: i32, b: i32) -> i32 {
    if a < b { a } else { b }
}

/// The coordinate, or the nearest one that is at most `radius` outside of the grid.
#[inline(always)]
const fn nearest(at: i32, extent: i32, radius: i32) -> i32 {
    let at = if at < -radius { -radius } else { at };
    if at < extent + radius { at } else { extent + radius - 1 }
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $type:literal, $real:ty, $form:ident, $radius:literal, $steps:literal, $warps:literal, $rows:literal, $vector:literal, $registers:literal;)*) => {
        $(
            /// Some time steps of a 3D stencil.
            ///
            /// # Safety
            /// Launch with [`Kernel::threads`] threads, as many blocks as [`Tiles::blocks`] says, and the shared memory
            /// of [`Kernel::shared_bytes`]. `input` and `output` point at grid point (0, 0, 0) of two different arrays
            /// laid out as in [`crate::layout`], of which `launch` has the strides; outputs lie in the grid.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                launch: Launch<$real, { (2 * $radius + 1) * (2 * $radius + 1) * (2 * $radius + 1) }>,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    march::<
                        $element,
                        { $form },
                        $radius,
                        { 2 * $radius },
                        $steps,
                        $warps,
                        $rows,
                        $vector,
                        { words($vector, <$element as Element>::BYTES) },
                        { (2 * $radius + 1) * (2 * $radius + 1) * (2 * $radius + 1) },
                    >(input.cast(), output.cast(), &launch);
                }
            }
        )*

        /// Every kernel of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: stringify!($name),
            element: $type,
            form: Form::of($form),
            radius: $radius,
            steps: $steps,
            warps: $warps,
            rows: $rows,
            vector: $vector,
            registers: $registers,
            bytes: <$element as Element>::BYTES,
            real_bytes: <$real as Real>::BYTES,
            call: |input, output, tiles, weights| {
                let weights = core::array::from_fn(|index| weights[index] as $real);
                Box::new(Entry::of::<$name>().with((input, output, Launch { tiles, weights })))
            },
        },)*];
    };
}

// Kernel: element, its name, type of sums, form, radius, time steps, warps, rows and columns of a thread, registers.
kernels! {
    temporal3d_f64_star1_t2: F64, "f64", f64, STAR, 1, 2, 12, 4, 2, 168;
    temporal3d_f64_star1_t4: F64, "f64", f64, STAR, 1, 4, 8, 4, 2, 255;
    temporal3d_f64_mirrored1_t3: F64, "f64", f64, MIRRORED, 1, 3, 8, 4, 2, 255;
    temporal3d_f64_box1_t2: F64, "f64", f64, BOX, 1, 2, 8, 4, 2, 255;
    temporal3d_f32_star1_t2: F32, "f32", f32, STAR, 1, 2, 12, 4, 4, 168;
    temporal3d_f32_star1_t4: F32, "f32", f32, STAR, 1, 4, 8, 4, 4, 255;
    temporal3d_f32_mirrored1_t3: F32, "f32", f32, MIRRORED, 1, 3, 8, 4, 4, 255;
    temporal3d_f32_box1_t2: F32, "f32", f32, BOX, 1, 2, 12, 4, 4, 168;
    temporal3d_f16_box1_t2: F16, "f16", f32, BOX, 1, 2, 12, 2, 8, 168;
    temporal3d_bf16_box1_t2: Bf16, "bf16", f32, BOX, 1, 2, 12, 2, 8, 168;
}

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// What it knows of the weights.
    pub form: Form,
    /// The largest radius of a stencil.
    pub radius: usize,
    /// Time steps.
    pub steps: usize,
    /// Warps of a block.
    pub warps: u32,
    /// Rows of a thread.
    pub rows: u32,
    /// Columns of a thread.
    pub vector: u32,
    /// The most registers of a thread.
    pub registers: u32,
    /// Bytes of an element.
    pub bytes: u32,
    /// Bytes of a sum.
    pub real_bytes: u32,
    /// The kernel with input, output, where it computes, and the weights in C order, as many as it has, which
    /// it takes in the type of its sums.
    pub call: fn(*const u8, *mut u8, Tiles, &[f64]) -> Box<dyn AnyCall>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Kernel {
    /// Threads of a block.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.warps * warp::SIZE
    }

    /// Rows on either side that all steps reach.
    #[must_use]
    pub const fn reach(&self) -> u32 {
        (self.radius * self.steps) as u32
    }

    /// Rows of a tile.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.warps * self.rows
    }

    /// Rows and columns of outputs of a tile in the middle of the grid.
    #[must_use]
    pub const fn tile(&self) -> [u32; 2] {
        let columns = warp::SIZE * self.vector - 2 * margin(self.reach(), self.vector);
        [self.height() - 2 * self.reach(), columns]
    }

    /// Dynamic shared memory of a block.
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        let (steps, radius, columns) =
            (self.steps as u32, self.radius as u32, warp::SIZE * self.vector);
        let shown = 2 * steps * EDGES * radius * columns * self.real_bytes;
        let slots = slots(self.warps, self.rows, columns * self.bytes);
        self.warps * (slots.shared_bytes() + shown) + radius * columns * self.real_bytes
    }
}
