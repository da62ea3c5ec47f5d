// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases of the chained steps of 3D stars, as [`crate::cases3d`] has them of one step.

use cuda_sim::{Fault, Memory};
use kernels_gpu::chain3d::emulated::Chain3d;
use kernels_gpu::chain3d::{KERNELS, Kernel, Tile};
use kernels_gpu::layout::Layout;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::encode::{bits, value};
use transform::fragment::Element;
use transform::star3d::star3d;
use transform::{Stencil, Tap};

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// The launch: kernel, grid and tiles.
    pub launch: Chain3d,
    /// The stencil; its absolute weights sum to at most 1.
    pub stencil: Stencil,
    /// Whether every sum is exact in f32, in any order, so that results have one right value.
    pub exact: bool,
    /// The grid in C order, bits of the stored type; absolute values are at most 1.
    pub values: Vec<u16>,
    /// Launches, back and forth between two buffers.
    pub launches: usize,
}

/// Neighbours of a star, and the point itself.
const STAR: [[i32; 3]; 7] =
    [[-1, 0, 0], [0, -1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]];

/// The cases of every kernel: one tile and several, marches of any length, and columns that end within
/// a word, a chunk or a tile.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut cases = Vec::new();
    for &kernel in KERNELS {
        for exact in [true, false] {
            for columns in [1, 32, 37, 64, 96, 130].repeat(3) {
                cases.push(case(&mut random, kernel, exact, columns));
            }
        }
    }
    cases
}

fn case(random: &mut ChaCha8Rng, kernel: Kernel, exact: bool, columns: u32) -> Case {
    let tile = Tile {
        across: random.random_range(1..=3),
        down: random.random_range(1..=2),
        units: kernel.units,
    };
    let rows = tile.rows() + random.random_range(0..=tile.rows());
    let extents = [random.random_range(1..=9), rows, columns];
    let tiles: u32 = tile.tiles(kernel.steps, rows, columns).iter().product();
    let launch = Chain3d {
        kernel,
        extents,
        tile,
        whole: random.random_range(0..=tiles.min(2)),
        march_planes: random.random_range(1..=extents[0] + 1),
        seed: random.random(),
    };
    let launches = random.random_range(1..=2);
    let points = extents.iter().product::<u32>() as usize;
    let steps = launches * kernel.steps as usize;
    // As in `crate::cases`: so many bits of weights leave sums exact.
    let precision = (16 / steps as i32).clamp(3, 6);
    let exact = exact && steps as i32 * precision <= 16;
    let (weights, values): (Vec<f64>, Vec<f64>) = if exact {
        let mut units = [0i32; STAR.len()];
        for _ in 0..1 << precision {
            units[random.random_range(0..STAR.len())] += 1;
        }
        let sign = |random: &mut ChaCha8Rng| if random.random() { 1.0 } else { -1.0 };
        let weights = units.map(|n| f64::from(n) * 2f64.powi(-precision) * sign(random));
        let values = (0..points).map(|_| f64::from(random.random_range(-64..=64)) / 64.0);
        (weights.to_vec(), values.collect())
    } else {
        let weights = STAR.map(|_| random.random_range(-0.14..0.14));
        (weights.to_vec(), (0..points).map(|_| random.random_range(-1.0..1.0)).collect())
    };
    let taps = STAR.into_iter().zip(weights).map(|(offset, weight)| Tap { offset, weight });
    let stencil = Stencil::new("star", 3, taps.collect()).expect("finite weights");
    let values = values.into_iter().map(|x| bits(element(kernel), x) as u16).collect();
    Case { launch, stencil, exact, values, launches }
}

/// The stored type of a kernel.
///
/// # Panics
/// Where it has none of 16 bits.
#[must_use]
pub fn element(kernel: Kernel) -> Element {
    match kernel.element {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        other => panic!("{other} has not 16 bits"),
    }
}

impl Case {
    /// What the kernel gives in the emulator.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where the frame beside the grid does not stay zero.
    pub fn emulate(&self) -> Result<Vec<u16>, Fault> {
        let layout = self.launch.layout();
        let operand = star3d(&self.stencil, element(self.launch.kernel)).expect("a star");
        let mut memory = Memory::new();
        let fragments = memory.input("fragments", &operand.words);
        let empty = vec![0u16; layout.elements()];
        let filled = in_frame(layout, &self.values);
        let planes = [memory.in_out("grid 0", &filled), memory.in_out("grid 1", &empty)];
        for turn in 0..self.launches {
            let (from, to) = (planes[turn % 2], planes[(turn + 1) % 2]);
            self.launch.launch(&mut memory, from, to, fragments)?;
        }
        let array = memory.read(planes[self.launches % 2]);
        let values: Vec<u16> = positions(layout).map(|position| array[position]).collect();
        assert!(in_frame(layout, &values) == array, "the frame stays zero");
        Ok(values)
    }

    /// What the stencil gives with zeros around the grid, summed in f64, rounded after each step.
    #[must_use]
    pub fn plain(&self) -> Vec<u16> {
        let Chain3d { kernel, extents, .. } = self.launch;
        let element = element(kernel);
        let [nz, ny, nx] = extents.map(i64::from);
        let rounded = |x: f64| value(element, bits(element, x));
        let weights = self.stencil.map_weights(rounded);
        let mut values: Vec<f64> =
            self.values.iter().map(|&x| value(element, u32::from(x))).collect();
        for _ in 0..self.steps() {
            let at = |[z, y, x]: [i64; 3]| {
                let inside = (0..nz).contains(&z) && (0..ny).contains(&y) && (0..nx).contains(&x);
                if inside { values[((z * ny + y) * nx + x) as usize] } else { 0.0 }
            };
            let point = |index: i64| {
                let here = [index / (ny * nx), index / nx % ny, index % nx];
                let term = |offset: [i32; 3]| {
                    at(std::array::from_fn(|axis| here[axis] + i64::from(offset[axis])))
                };
                weights.taps().iter().map(|tap| tap.weight * term(tap.offset)).sum::<f64>()
            };
            values = (0..nz * ny * nx).map(|index| rounded(point(index))).collect();
        }
        values.into_iter().map(|x| bits(element, x) as u16).collect()
    }

    fn steps(&self) -> usize {
        self.launches * self.launch.kernel.steps as usize
    }

    /// The largest part of what rounding explains by which two results of this case differ; more
    /// than 1 where it does not. Exact results must have the same bits.
    ///
    /// # Panics
    /// Where they have not as many points.
    #[must_use]
    pub fn compare(&self, got: &[u16], want: &[u16]) -> f64 {
        assert_eq!(got.len(), want.len(), "as many points");
        let element = element(self.launch.kernel);
        let pairs = got.iter().zip(want).filter(|(got, want)| got != want);
        pairs.fold(0.0, |most, (&got, &want)| {
            let [got, want] = [got, want].map(|x| value(element, u32::from(x)));
            let part = (got - want).abs() / self.bound(element, got.abs().max(want.abs()));
            if self.exact || part.is_nan() { f64::INFINITY } else { part.max(most) }
        })
    }

    /// How far results may be apart (`docs/testing.md`): for both products what summing in an order of
    /// its own loses, and the spacing of numbers there; in each step before, the spacing below 1.
    fn bound(&self, element: Element, larger: f64) -> f64 {
        let (precision, smallest) = if element == Element::F16 { (10, -14) } else { (7, -126) };
        let spacing = |x: f64| 2f64.powi((x.log2().floor() as i32).max(smallest) - precision);
        let sum = 2.0 * 41.0 * 2f64.powi(-24);
        let before = (self.steps() - 1) as f64;
        before * (sum + spacing(0.5)) + sum + spacing(larger)
    }
}

/// Positions of the points in C order.
fn positions(layout: Layout) -> impl Iterator<Item = usize> {
    let [nz, ny, nx] = layout.extents;
    let rows = (0..nz).flat_map(move |z| (0..ny).map(move |y| (z, y)));
    rows.flat_map(move |(z, y)| (0..nx).map(move |x| layout.position(z, y, x)))
}

/// A grid in its frame of zeros.
fn in_frame(layout: Layout, values: &[u16]) -> Vec<u16> {
    let mut array = vec![0; layout.elements()];
    positions(layout).zip(values).for_each(|(position, &value)| array[position] = value);
    array
}
