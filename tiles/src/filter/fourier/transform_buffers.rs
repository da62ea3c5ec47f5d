// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transforms of a block of real values along the axes that a sum reaches along.

use std::sync::Arc;

use fourier::{ComplexToReal, Fft, Planner, RealToComplex};
use num_complex::Complex64;

/// Columns that are transformed together: their values at one row are two lines of the caches.
const GROUP: usize = 8;

/// Transforms of complex lines, there and back.
type Complex = (Arc<dyn Fft<f64>>, Arc<dyn Fft<f64>>);

/// Plans for blocks of some extents. An axis of extent 1 is not transformed.
pub struct TransformPlans {
    /// Along z, y and x.
    pub extents: [usize; 3],
    half: usize,
    x: (Arc<dyn RealToComplex<f64>>, Arc<dyn ComplexToReal<f64>>),
    others: [Option<Complex>; 2],
}

/// Memory for the transforms of a block.
#[derive(Default)]
pub struct TransformBuffers {
    /// The spectrum, row by row.
    values: Vec<Complex64>,
    line: Vec<f64>,
    group: Vec<Complex64>,
    scratch: Vec<Complex64>,
}

impl TransformPlans {
    /// For blocks of these extents; that of x is even.
    pub fn new(extents: [usize; 3]) -> Self {
        let mut planner = Planner::new();
        let [nz, ny, nx] = extents;
        let others = [nz, ny].map(|extent| (extent > 1).then(|| planner.complex(extent)));
        Self { extents, half: nx / 2 + 1, x: planner.real(nx), others }
    }

    /// Room for a block.
    pub fn room(&self) -> TransformBuffers {
        let [nz, ny, nx] = self.extents;
        let none = Complex64::default();
        let scratch = |plan: &Option<Complex>| match plan {
            Some((there, back)) => {
                there.get_inplace_scratch_len().max(back.get_inplace_scratch_len())
            }
            None => 0,
        };
        let of_x = self.x.0.get_scratch_len().max(self.x.1.get_scratch_len());
        let scratch = of_x.max(scratch(&self.others[0])).max(scratch(&self.others[1]));
        TransformBuffers {
            values: vec![none; nz * ny * self.half],
            line: vec![0.0; nx],
            group: vec![none; GROUP * nz.max(ny).max(self.half)],
            scratch: vec![none; scratch],
        }
    }

    /// The spectrum of a block whose first planes and rows `load` gives, and all others of which are 0: conjugated, in the order in
    /// which [`Self::convolve`] takes it, and divided so that it gives sums.
    pub fn kernel(
        &self,
        rows: [usize; 2],
        load: impl FnMut([usize; 2], &mut [f64]),
    ) -> Vec<Complex64> {
        let mut room = self.room();
        let mut kernel = Vec::with_capacity(room.values.len());
        let points: usize = self.extents.iter().product();
        self.forward(rows, load, &mut room);
        self.last(rows[0], &mut room, |group, _| {
            kernel.extend(group.iter().map(|it| it.conj() / points as f64));
        });
        kernel
    }

    /// Multiplies the spectrum of a block by that of a kernel: `store` takes rows of the sums, of so many first planes and rows.
    pub fn convolve(
        &self,
        kernel: &[Complex64],
        rows: [usize; 2],
        load: impl FnMut([usize; 2], &mut [f64]),
        results: [usize; 2],
        mut store: impl FnMut([usize; 2], &[f64]),
        room: &mut TransformBuffers,
    ) {
        self.forward(rows, load, room);
        let mut left = kernel;
        let back = self.others.iter().flatten().next().map(|(_, back)| back);
        self.last(rows[0], room, |group, scratch| {
            let (factors, rest) = left.split_at(group.len());
            left = rest;
            group.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
            if let Some(back) = back {
                back.process_with_scratch(group, scratch);
            }
        });
        let [nz, ny, _] = self.extents;
        if nz > 1
            && let Some((_, back)) = &self.others[1]
        {
            self.along(1, results[0], room, |group, scratch| {
                back.process_with_scratch(group, scratch)
            });
        }
        let scratch = &mut room.scratch[..self.x.1.get_scratch_len()];
        for z in 0..results[0] {
            for y in 0..results[1] {
                let row = &mut room.values[(z * ny + y) * self.half..][..self.half];
                // Real but for rounding, as the transform of real values is.
                row[0].im = 0.0;
                row[self.half - 1].im = 0.0;
                self.x
                    .1
                    .process_with_scratch(row, &mut room.line, scratch)
                    .expect("lengths of the plan");
                store([z, y], &room.line);
            }
        }
    }

    /// Transforms along x, and along y if z comes after it.
    fn forward(
        &self,
        rows: [usize; 2],
        mut load: impl FnMut([usize; 2], &mut [f64]),
        room: &mut TransformBuffers,
    ) {
        let [nz, ny, _] = self.extents;
        let scratch = &mut room.scratch[..self.x.0.get_scratch_len()];
        for z in 0..nz {
            for y in 0..ny {
                let row = &mut room.values[(z * ny + y) * self.half..][..self.half];
                if z < rows[0] && y < rows[1] {
                    load([z, y], &mut room.line);
                    self.x
                        .0
                        .process_with_scratch(&mut room.line, row, scratch)
                        .expect("lengths of the plan");
                } else {
                    row.fill(Complex64::default());
                }
            }
        }
        if nz > 1
            && let Some((there, _)) = &self.others[1]
        {
            self.along(1, rows[0], room, |group, scratch| {
                there.process_with_scratch(group, scratch)
            });
        }
    }

    /// Transforms along the last axis, and does something with each group of lines.
    fn last(
        &self,
        planes: usize,
        room: &mut TransformBuffers,
        mut each: impl FnMut(&mut [Complex64], &mut [Complex64]),
    ) {
        match &self.others {
            [Some((there, _)), _] => self.along(0, 0, room, |group, scratch| {
                there.process_with_scratch(group, scratch);
                each(group, scratch);
            }),
            [None, Some((there, _))] => self.along(1, planes, room, |group, scratch| {
                there.process_with_scratch(group, scratch);
                each(group, scratch);
            }),
            [None, None] => each(&mut room.values, &mut []),
        }
    }

    /// Does something with lines along z or y, a group at a time; those along y of so many planes.
    fn along(
        &self,
        axis: usize,
        planes: usize,
        room: &mut TransformBuffers,
        mut each: impl FnMut(&mut [Complex64], &mut [Complex64]),
    ) {
        let [nz, ny, _] = self.extents;
        let half = self.half;
        let (length, distance, outer, step) =
            if axis == 0 { (nz, ny * half, ny, half) } else { (ny, half, planes, ny * half) };
        for first in 0..outer {
            for column in (0..half).step_by(GROUP) {
                let width = GROUP.min(half - column);
                let start = first * step + column;
                let group = &mut room.group[..width * length];
                for at in 0..length {
                    let row = &room.values[start + at * distance..][..width];
                    row.iter().enumerate().for_each(|(i, value)| group[i * length + at] = *value);
                }
                each(group, &mut room.scratch);
                for at in 0..length {
                    let row = &mut room.values[start + at * distance..][..width];
                    row.iter_mut()
                        .enumerate()
                        .for_each(|(i, value)| *value = group[i * length + at]);
                }
            }
        }
    }
}
