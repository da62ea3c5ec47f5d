// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plate in f16 with zeros around it: where its points lie, how a launch of it looks, and the plain loop in f64
//! that says what a step is.

use cuda_mma::fragment::Element::F16;
use cuda_mma::number::{bits, value};
use kernels_gpu::layout::Layout;
use kernels_gpu::sweep2d::{self, AppliedStep, TILE_COLUMNS};
use transform::Stencil;
use transform::factors::Factors;
use transform::window::window;

/// Stages of the ring in shared memory, and rows of a tile: what is fastest of f16 and radius 1 on an H200.
const STAGES: u32 = 5;
const TILE_ROWS: u32 = 26;

/// Growth in a step.
pub const DT: f32 = 1.0 / 16.0;

/// Points along y and x.
#[derive(Clone, Copy, Debug)]
pub struct Plate {
    pub ny: u32,
    pub nx: u32,
}

/// How it spreads in a step: αΔt/Δx² = 1/16.
pub fn spread() -> Stencil {
    let (arm, centre) = (1.0 / 16.0, 3.0 / 4.0);
    let weights = [0.0, arm, 0.0, arm, centre, arm, 0.0, arm, 0.0];
    Stencil::dense("spread", &[3, 3], &weights).expect("nine weights")
}

/// The operand that the kernel multiplies with.
pub fn operand() -> Vec<u32> {
    window(&spread()).expect("a stencil of radius 1").operand(Factors::One(F16))
}

impl Plate {
    fn layout(self) -> Layout {
        Layout::plane_2d(self.ny, self.nx)
    }

    /// Its values, row by row, rounded to f16 and laid out with zeros around them.
    pub fn lay_out(self, values: &[f64]) -> Vec<u16> {
        let layout = self.layout();
        let mut array = vec![0; layout.elements()];
        for (y, row) in (0..).zip(values.chunks(self.nx as usize)) {
            let at = layout.position(0, y, 0);
            array[at..at + row.len()]
                .iter_mut()
                .zip(row)
                .for_each(|(to, from)| *to = bits(F16, *from) as u16);
        }
        array
    }

    /// The values of an array.
    pub fn read(self, array: &[u16]) -> Vec<f64> {
        let row = |y| &array[self.layout().position(0, y, 0)..][..self.nx as usize];
        (0..self.ny).flat_map(row).map(|bits| value(F16, u32::from(*bits))).collect()
    }

    /// A launch from one array to another.
    pub fn step(
        self,
        input: *mut u16,
        output: *mut u16,
        fragments: *const u32,
        upwards: bool,
    ) -> AppliedStep {
        let Self { ny, nx } = self;
        let origin = self.layout().origin();
        AppliedStep {
            input: input.wrapping_add(origin).cast(),
            output: output.wrapping_add(origin).cast(),
            fragments,
            nx,
            ny,
            pitch: self.layout().pitch(),
            tile_rows: TILE_ROWS,
            stages: STAGES,
            upwards: u32::from(upwards),
        }
    }

    /// Blocks, at most so many, threads and shared memory of a launch.
    pub fn extents(self, most: u32) -> [u32; 3] {
        let tiles = self.ny.div_ceil(TILE_ROWS) * self.nx.div_ceil(TILE_COLUMNS);
        [tiles.min(most), sweep2d::threads(false), sweep2d::shared_bytes(2, 1, STAGES)]
    }

    /// How much of what rounding explains the worst point takes: a step from `before` to `after` against the plain
    /// loop in f64. Above 1 the step is wrong.
    pub fn used(self, before: &[f64], after: &[f64], dt: f32) -> f64 {
        let (ny, nx, spread) = (i64::from(self.ny), i64::from(self.nx), spread());
        let at = |y: i64, x: i64| {
            let inside = (0..ny).contains(&y) && (0..nx).contains(&x);
            if inside { before[(y * nx + x) as usize] } else { 0.0 }
        };
        let mut worst = 0.0f64;
        for (y, x) in (0..ny).flat_map(|y| (0..nx).map(move |x| (y, x))) {
            let (mut sum, mut size) = (0.0, 0.0);
            for tap in spread.taps() {
                let term =
                    tap.weight * at(y + i64::from(tap.offset[1]), x + i64::from(tap.offset[2]));
                (sum, size) = (sum + term, size + term.abs());
            }
            let u = at(y, x);
            let growth = f64::from(dt) * u * (1.0 - u);
            let (exact, size) = (sum + growth, size + growth.abs());
            // Two products of 16 kept terms (docs/developers/testing.md) and four operations in f32, then one rounding to f16.
            let bound = (82.0 + 4.0) * 2f64.powi(-24) * size
                + exact.abs() * 2f64.powi(-11)
                + 2f64.powi(-25);
            worst = worst.max((after[(y * nx + x) as usize] - exact).abs() / bound);
        }
        worst
    }
}
