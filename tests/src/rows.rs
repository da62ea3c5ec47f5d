// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels on row windows in the emulator, and the plain stencil to check them by.

use cuda_sim::{Buffer, Fault, Memory};
use kernels_gpu::emulated::rows::{Line1d, Wide2d};
use kernels_gpu::layout::Layout;
use kernels_gpu::wide2d;
use rand::RngExt;
use std::ops::RangeInclusive;
use transform::encode::{bits, value};
use transform::fragment::Element;
use transform::row_operand::row_operand;
use transform::{Stencil, Tap};

/// The names of the kernels' entries.
#[must_use]
pub fn entries() -> Vec<String> {
    let of_type = |element: &'static str| {
        let wide = wide_radii().map(move |radius| format!("wide2d_{element}_r{radius}"));
        wide.chain([format!("line1d_{element}")])
    };
    ["f16", "bf16"].into_iter().flat_map(of_type).collect()
}

/// Radii of the kernels `wide2d`.
pub fn wide_radii() -> RangeInclusive<u32> {
    1..=wide2d::MOST_RADIUS
}

/// A grid of 1 or 2 dimensions, as the bits of a type, in C order.
#[derive(Clone, Debug)]
pub struct Bits {
    /// The type.
    pub element: Element,
    /// Where its points lie on the device.
    pub layout: Layout,
    /// The points.
    pub bits: Vec<u16>,
}

/// How `wide2d` is launched.
#[derive(Clone, Copy, Debug)]
pub struct WideShape {
    /// Radius of the kernel.
    pub radius: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Rows of a tile.
    pub tile_rows: u32,
}

impl Bits {
    /// Random values.
    #[must_use]
    pub fn random(random: &mut impl RngExt, element: Element, dims: u32, ny: u32, nx: u32) -> Self {
        let layout = Layout { dims, extents: [1, ny, nx] };
        let any = |_| bits(element, random.random_range(-1.0..1.0)) as u16;
        Self { element, layout, bits: (0..ny * nx).map(any).collect() }
    }

    fn extents(&self) -> (usize, usize) {
        let [_, ny, nx] = self.layout.extents;
        (ny as usize, nx as usize)
    }

    /// As the device has it, in a frame of zeros.
    fn plane(&self) -> Vec<u16> {
        let (_, nx) = self.extents();
        let mut plane = vec![0; self.layout.elements()];
        for (y, row) in self.bits.chunks(nx).enumerate() {
            plane[self.layout.position(0, y as u32, 0)..][..nx].copy_from_slice(row);
        }
        plane
    }

    /// One step of a kernel: `launch` is given the memory, input, output and operand.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where the kernel changes its input or the frame beside the grid.
    fn step(
        &self,
        words: &[u32],
        launch: impl FnOnce(&mut Memory, Buffer<u16>, Buffer<u16>, Buffer<u32>) -> Result<(), Fault>,
    ) -> Result<Self, Fault> {
        let mut memory = Memory::new();
        let words = memory.input("operand", words);
        let input = memory.in_out("input", &self.plane());
        let poisoned = Self { bits: vec![0x7fff; self.bits.len()], ..self.clone() };
        let output = memory.in_out("output", &poisoned.plane());
        launch(&mut memory, input, output, words)?;
        assert_eq!(memory.read(input), self.plane(), "the input stays as it was");
        let plane: Vec<u16> = memory.read(output);
        let (ny, nx) = self.extents();
        let row = |y: usize| &plane[self.layout.position(0, y as u32, 0)..][..nx];
        let stepped = Self { bits: (0..ny).flat_map(row).copied().collect(), ..self.clone() };
        assert!(stepped.plane() == plane, "the frame stays zero");
        Ok(stepped)
    }

    /// One step of [`kernels_gpu::line1d`].
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where the kernel does not take the stencil, or changes the frame.
    pub fn line(
        &self,
        stencil: &Stencil,
        blocks: u32,
        threads: u32,
        seed: u64,
    ) -> Result<Self, Fault> {
        let operand = row_operand(stencil, 0, self.element).expect("a 1D stencil");
        let nx = self.layout.extents[2];
        let line = Line1d { element: self.element, nx, blocks, threads, seed };
        self.step(&operand.words, |memory, input, output, words| {
            line.launch(memory, input, output, words).map(drop)
        })
    }

    /// One step of [`kernels_gpu::wide2d`] with the kernel of a radius, in tiles of so many rows.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where the kernel does not take the stencil, or changes the frame.
    pub fn wide(&self, stencil: &Stencil, shape: WideShape, seed: u64) -> Result<Self, Fault> {
        let WideShape { radius, blocks, stages, tile_rows } = shape;
        let element = self.element;
        let operand = row_operand(stencil, radius as usize, element).expect("rows that fit");
        let [_, ny, nx] = self.layout.extents;
        let element = self.element;
        let wide = Wide2d { element, radius, ny, nx, blocks, stages, tile_rows, seed };
        self.step(&operand.words, |memory, input, output, words| {
            wide.launch(memory, input, output, words).map(drop)
        })
    }

    /// Checks a step from this grid: each sum in f64, with zeros around the grid, may be rounded once
    /// to the type and 17 times to f32 for each of `products`.
    ///
    /// # Panics
    /// Where a point is farther off.
    pub fn assert_step(&self, stencil: &Stencil, products: u32, got: &Self) {
        let element = self.element;
        let (ny, nx) = self.extents();
        let at = |y: i64, x: i64| {
            let inside = (0..ny as i64).contains(&y) && (0..nx as i64).contains(&x);
            if inside {
                value(element, self.bits[y as usize * nx + x as usize].into())
            } else {
                0.0
            }
        };
        // Half the spacing of the type's numbers: relative, and of the smallest.
        let (relative, absolute) = match self.element {
            Element::F16 => (2f64.powi(-11), 2f64.powi(-25)),
            _ => (2f64.powi(-8), 2f64.powi(-134)),
        };
        for (index, &got) in got.bits.iter().enumerate() {
            let (y, x) = ((index / nx) as i64, (index % nx) as i64);
            let term = |tap: &Tap| {
                let [_, dy, dx] = tap.offset.map(i64::from);
                value(element, bits(element, tap.weight)) * at(y + dy, x + dx)
            };
            let terms = stencil.taps().iter().map(term);
            let (sum, size) = terms.fold((0.0, 0.0), |(s, a), term| (s + term, a + term.abs()));
            let summing = f64::from(17 * products) * 2f64.powi(-24) * size;
            let bound = sum.abs() * relative + absolute + summing;
            let got = value(element, got.into());
            let error = (got - sum).abs();
            assert!(error <= bound, "point ({y}, {x}) is {got}, but the stencil gives {sum}");
        }
    }
}

/// A stencil of so many rows and columns to either side, with random weights and holes; not
/// symmetrical.
#[must_use]
pub fn random_stencil(random: &mut impl RngExt, dims: usize, rows: usize, reach: usize) -> Stencil {
    let extents = [2 * rows + 1, 2 * reach + 1];
    let mut weights: Vec<f64> = (0..extents[0] * extents[1])
        .map(|_| if random.random_ratio(1, 4) { 0.0 } else { random.random_range(-1.0..1.0) })
        .collect();
    // A corner, so that the radii are what was asked for.
    weights[0] = 0.5;
    Stencil::dense("random", &extents[2 - dims..], &weights).expect("finite weights")
}
