// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pass over the grid: a few time steps of every tile.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fearless_simd::Level;
use rayon::prelude::*;
use transform::{Stencil, Tap};

use crate::cut::{TilePart, cut};
use crate::halo::Halo;
use crate::machine::{Machine, machine};
use crate::padded::{Padded, PaddedLayout};
use crate::steps::{Steps, TileBuffers};
use crate::storage::{ROWS, Storage, round_row, widen_row};
use crate::sweep::{Sweep, TiledSweep};
use crate::tiling::{Tiling, is_periodic};
use crate::window::Window;
use problem::check::seams::Seams;
use problem::{Boundary, Dtype, Shape};

/// A stencil, ready to be applied to grids of one layout: a few time steps of the whole grid at a time.
pub trait Pass<T>: Send + Sync {
    /// Whether one thread computes all of it.
    fn is_serial(&self) -> bool;

    /// Where tiles end.
    fn seams(&self) -> Seams;

    /// Sets the halo of a grid.
    fn close(&self, grid: &mut Padded<T>);

    /// Writes the grid after some time steps, no more than a pass takes, and its halo.
    fn run(&self, from: &Padded<T>, to: &mut Padded<T>, steps: usize);
}

/// A type of stored values whose loops are compiled in this crate, and nowhere else.
pub trait Passes: Storage {
    /// A stencil with weights that are rounded to `dtype`, whatever the type of the products.
    fn pass(
        stencil: &Stencil,
        boundary: &Boundary,
        dtype: Dtype,
        layout: PaddedLayout,
        tiling: Tiling,
    ) -> Box<dyn Pass<Self>>;

    /// A stencil for single steps between arrays of a shape, with weights that are rounded to `dtype`.
    fn sweep(
        stencil: &Stencil,
        boundary: &Boundary,
        dtype: Dtype,
        shape: Shape,
        tiling: Tiling,
    ) -> Box<dyn Sweep<Self>>;

    /// Values of a row as factors, each exactly.
    ///
    /// # Panics
    /// If there are not as many of both.
    fn widen_row(level: Level, stored: &[Self], wide: &mut [Self::Sum]);

    /// Sums of a row as they are stored: the nearest values, ties to even.
    ///
    /// # Panics
    /// If there are not as many of both.
    fn round_row(level: Level, sums: &[Self::Sum], stored: &mut [Self]);

    /// Machine code for single steps, where values lie in memory as they are computed with.
    fn machine(taps: &[Tap], layout: &PaddedLayout) -> Option<Box<dyn Machine<Self>>>;
}

macro_rules! passes {
    ($($type:ty: $taps:ident, $layout:ident => $machine:expr;)*) => {
        $(impl Passes for $type {
            fn pass(
                stencil: &Stencil,
                boundary: &Boundary,
                dtype: Dtype,
                layout: PaddedLayout,
                tiling: Tiling,
            ) -> Box<dyn Pass<Self>> {
                Box::new(Tiled::<Self>::new(stencil, boundary, dtype, layout, tiling))
            }

            fn sweep(
                stencil: &Stencil,
                boundary: &Boundary,
                dtype: Dtype,
                shape: Shape,
                tiling: Tiling,
            ) -> Box<dyn Sweep<Self>> {
                Box::new(TiledSweep::<Self>::new(stencil, boundary, dtype, shape, tiling))
            }

            fn widen_row(level: Level, stored: &[Self], wide: &mut [Self::Sum]) {
                widen_row(level, stored, wide);
            }

            fn round_row(level: Level, sums: &[Self::Sum], stored: &mut [Self]) {
                round_row(level, sums, stored);
            }

            fn machine($taps: &[Tap], $layout: &PaddedLayout) -> Option<Box<dyn Machine<Self>>> {
                $machine
            }
        })*
    };
}
passes! {
    half::f16: _taps, _layout => None;
    half::bf16: _taps, _layout => None;
    f32: taps, layout => machine(taps, layout, |weight| weight as f32);
    f64: taps, layout => machine(taps, layout, |weight| weight);
}

/// A pass by tiles.
struct Tiled<T: Storage> {
    window: Window<T>,
    /// For single steps.
    machine: Option<Box<dyn Machine<T>>>,
    layout: PaddedLayout,
    boundary: Boundary,
    reach: [usize; 3],
    tiling: Tiling,
    /// What lies around the grid; nothing to be done if that is zeros.
    halo: Option<Halo<T>>,
    room: TileBuffers,
    /// Buffers that no thread is using.
    steps: Mutex<Vec<Steps<T>>>,
}

impl<T: Passes> Pass<T> for Tiled<T> {
    fn is_serial(&self) -> bool {
        self.tiling.tile == self.layout.extents
    }

    fn seams(&self) -> Seams {
        let (tile, extents) = (self.tiling.tile, self.layout.extents);
        (0..3).fold(Seams::none(), |seams, axis| seams.every(axis, tile[axis], extents[axis]))
    }

    fn close(&self, grid: &mut Padded<T>) {
        if let Some(halo) = &self.halo {
            halo.close(grid, !self.is_serial());
        }
    }

    fn run(&self, from: &Padded<T>, to: &mut Padded<T>, steps: usize) {
        assert!((1..=self.tiling.depth).contains(&steps), "a pass takes some steps");
        let parts = cut(to.rows_mut(), &self.layout, self.tiling.tile);
        if self.is_serial() {
            parts.into_iter().for_each(|part| self.part(from, part, steps));
        } else {
            parts.into_par_iter().for_each(|part| self.part(from, part, steps));
        }
        self.close(to);
    }
}

impl<T: Passes> Tiled<T> {
    /// Weights are rounded to `dtype`, whatever the type of the products.
    fn new(
        stencil: &Stencil,
        boundary: &Boundary,
        dtype: Dtype,
        layout: PaddedLayout,
        tiling: Tiling,
    ) -> Self {
        let reach = stencil.radii();
        let rounded = dtype.round_weights(stencil);
        let window = Window::new(rounded.taps(), reach[0]);
        let machine = T::machine(rounded.taps(), &layout);
        let halo = (!boundary.is_zero()).then(|| Halo::new(boundary, layout));
        let room = TileBuffers::new(boundary, layout.extents, reach, &tiling, size_of::<T>());
        let (boundary, steps) = (*boundary, Mutex::default());
        Self { window, machine, layout, boundary, reach, tiling, halo, room, steps }
    }

    fn part(&self, from: &Padded<T>, mut part: TilePart<T>, steps: usize) {
        if steps == 1 {
            let [planes, rows, columns] = self.needed(&part, 0);
            // On processors with wider vectors tiles are as fast.
            let level = self.window.level();
            let has_avx2 = level.as_avx2().is_some() && level.as_avx512().is_none();
            for z in planes {
                let to = &mut part.next_plane();
                if let Some(machine) = self.machine.as_ref().filter(|_| has_avx2) {
                    let plane =
                        (self.layout.margins[0] as isize + z) as usize * self.layout.plane();
                    let place = plane + self.at(&rows, &columns);
                    machine.rows(from.from(place.strict_add_signed(machine.first())), to);
                    continue;
                }
                let planes = self.planes(from, z);
                self.window.rows(
                    &planes,
                    self.layout.pitch,
                    self.at(&rows, &columns),
                    self.ahead(),
                    to,
                );
            }
            return;
        }
        let spare = || self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let known = spare().pop();
        let mut between = known.unwrap_or_else(|| Steps::new(self.room));
        self.several(from, part, steps, &mut between);
        spare().push(between);
    }

    /// Several steps of a part, each as far ahead of the next one as that needs.
    fn several(
        &self,
        from: &Padded<T>,
        mut part: TilePart<T>,
        steps: usize,
        between: &mut Steps<T>,
    ) {
        let tile = between.place(&self.boundary, part.low, part.high);
        let needed: Vec<_> = (1..=steps).map(|step| self.needed(&part, steps - step)).collect();
        let behind = self.reach[0] as isize;
        let first = part.low[0] as isize - (steps as isize - 1) * behind;
        let last = part.high[0] as isize + (steps as isize - 1) * behind;
        for front in first..last {
            for (step, [planes, rows, columns]) in (1..).zip(&needed) {
                let z = front - (step as isize - 1) * behind;
                if !planes.contains(&z) {
                    continue;
                }
                if step == 1 {
                    let origin = self.at(rows, columns);
                    let sources = self.planes(from, z);
                    between.step(&tile, step, z, [rows, columns], |_, to| {
                        self.window.rows(&sources, self.layout.pitch, origin, self.ahead(), to);
                    });
                } else {
                    let origin = between.at(&tile, rows.start, columns.start);
                    let pitch = between.pitch();
                    if step < steps {
                        between.step(&tile, step, z, [rows, columns], |sources, to| {
                            self.window.rows(sources, pitch, origin, 0, to);
                        });
                    } else {
                        let sources = between.planes(&tile, step - 1, z);
                        self.window.rows(&sources, pitch, origin, 0, &mut part.next_plane());
                    }
                }
            }
        }
    }

    /// The points of which a part needs the values so many steps before its own.
    fn needed(&self, part: &TilePart<T>, before: usize) -> [Range<isize>; 3] {
        std::array::from_fn(|axis| {
            let around = (before * self.reach[axis]) as isize;
            let (low, high) = (part.low[axis] as isize, part.high[axis] as isize);
            let (low, high) = (low - around, high + around);
            match is_periodic(&self.boundary, axis) {
                true => low..high,
                false => low.max(0)..high.min(self.layout.extents[axis] as isize),
            }
        })
    }

    /// The planes that the points of one are computed from.
    fn planes<'a>(&self, from: &'a Padded<T>, z: isize) -> Vec<&'a [T]> {
        let (margin, reach) = (self.layout.margins[0] as isize, self.reach[0] as isize);
        let size = self.layout.plane();
        let first = (margin + z - reach) as usize * size;
        from.planes()[first..].chunks(size).take(2 * self.reach[0] + 1).collect()
    }

    /// Where the first point of a region lies in a plane of the grid.
    fn at(&self, rows: &Range<isize>, columns: &Range<isize>) -> usize {
        self.layout.at(rows.start, columns.start)
    }

    /// How far ahead of the rows that are computed the next ones lie that are not in use yet.
    fn ahead(&self) -> usize {
        (ROWS + self.reach[1]) * self.layout.pitch
    }
}

#[cfg(test)]
mod tests;
