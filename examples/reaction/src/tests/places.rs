// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a function gets the sum, the centre and the place of each point, whatever the radius and the products:
//! with one that tells all points apart.

use cuda_mma::fragment::Element;
use cuda_mma::number::{bits, value};
use cuda_sim::{LaunchConfig, Memory, launch};
use kernels_gpu::half;
use kernels_gpu::layout::Layout;
use kernels_gpu::pointwise::{Point, Pointwise};
use kernels_gpu::product::{Dense, HalfProduct};
use kernels_gpu::sweep2d::{self, AppliedStep};
use transform::Stencil;
use transform::window::window;

const NY: usize = 45;
const NX: usize = 530;

#[derive(Clone, Copy)]
struct Places {
    scale: f32,
}

impl Pointwise for Places {
    fn apply(self, sum: f32, centre: f32, at: Point) -> f32 {
        sum + self.scale * centre * (1.0 - centre) + (at.y * 7 + at.x * 3) as f32 / 1024.0
    }
}

/// A number in [-1, 1) that the type holds.
fn number(element: Element, index: usize, seed: u64) -> f64 {
    let word =
        (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0xd6e8_feb8));
    value(element, bits(element, (word >> 40) as f64 / f64::from(1 << 23) - 1.0))
}

/// A step of a full box of weights, by an emulated GPU and by the plain loop.
fn compare<P: HalfProduct, const RADIUS: usize>(element: Element, seed: u64) {
    let width = 2 * RADIUS + 1;
    let weights: Vec<f64> =
        (0..width * width).map(|index| number(element, index, seed ^ 77)).collect();
    let stencil = Stencil::dense("box", &[width, width], &weights).unwrap();
    let values: Vec<f64> = (0..NY * NX).map(|index| number(element, index, seed)).collect();
    let rounding = if element == Element::F16 { 2f64.powi(-11) } else { 2f64.powi(-8) };
    let output = emulated::<P, RADIUS>(element, &stencil, &values, seed);

    let at = |y: isize, x: isize| {
        let inside = (0..NY as isize).contains(&y) && (0..NX as isize).contains(&x);
        if inside { values[y as usize * NX + x as usize] } else { 0.0 }
    };
    for (index, found) in output.into_iter().enumerate() {
        let [y, x] = [index / NX, index % NX].map(|at| at as isize);
        let terms = stencil.taps().iter().map(|tap| {
            let [_, dy, dx] = tap.offset.map(|offset| offset as isize);
            tap.weight * at(y + dy, x + dx)
        });
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), w| (sum + w, size + w.abs()));
        let (centre, place) = (at(y, x), (7 * y + 3 * x) as f64 / 1024.0);
        let more = 0.25 * centre * (1.0 - centre);
        let (exact, size) = (sum + more + place, size + more.abs() + place.abs());
        // As in `plate`, of RADIUS + 1 products, each of which may be two dense ones.
        let in_f32 = (82.0 * (RADIUS + 1) as f64 + 5.0) * 2f64.powi(-24) * size;
        let bound = in_f32 + exact.abs() * rounding + 2f64.powi(-25);
        assert!(
            (found - exact).abs() <= bound,
            "radius {RADIUS}, ({y}, {x}): {found}, not {exact}"
        );
    }
}

fn emulated<P: HalfProduct, const RADIUS: usize>(
    element: Element,
    stencil: &Stencil,
    values: &[f64],
    seed: u64,
) -> Vec<f64> {
    let encoded = window(stencil).unwrap().encode(element);
    let layout = Layout::plane_2d(NY as u32, NX as u32);
    let row = |y: usize| layout.position(0, y as u32, 0);
    let mut array = vec![0u16; layout.elements()];
    for (index, number) in values.iter().enumerate() {
        array[row(index / NX) + index % NX] = bits(element, *number) as u16;
    }
    let mut memory = Memory::new();
    let input = memory.input("input", &array);
    let operand = if P::IS_SPARSE { encoded.words } else { encoded.dense() };
    let operand = memory.input("operand", &operand);
    let output = memory.in_out("output", &vec![0u16; array.len()]);
    let (stages, tile_rows) = (3, 14);
    let step = AppliedStep {
        input: input.as_mut_ptr().wrapping_add(layout.origin()).cast(),
        output: output.as_mut_ptr().wrapping_add(layout.origin()).cast(),
        fragments: operand.as_ptr(),
        nx: NX as u32,
        ny: NY as u32,
        pitch: layout.pitch(),
        tile_rows,
        stages,
        upwards: seed as u32 % 2,
    };
    let shared_bytes = sweep2d::shared_bytes(2, RADIUS as u32, stages);
    let threads = sweep2d::threads(false);
    let config = LaunchConfig {
        blocks: 3,
        threads,
        shared_bytes,
        seed,
        registers: 96,
        ..LaunchConfig::default()
    };
    launch("places", config, &mut memory, || {
        let places = Places { scale: 0.25 };
        // SAFETY: two arrays in their layout, and the operand of this radius.
        unsafe {
            match RADIUS {
                1 => sweep2d::step::<P, 1, _>(&step, places),
                2 => sweep2d::step::<P, 2, _>(&step, places),
                _ => sweep2d::step::<P, 3, _>(&step, places),
            }
        }
    })
    .unwrap_or_else(|fault| panic!("{fault}"));
    let output = memory.read(output);
    let inside = (0..NY).flat_map(|y| &output[row(y)..][..NX]).filter(|bits| **bits != 0);
    let all = output.iter().filter(|bits| **bits != 0).count();
    assert_eq!(all, inside.count(), "what lies around the grid stays zero");
    (0..NY * NX).map(|at| value(element, u32::from(output[row(at / NX) + at % NX]))).collect()
}

#[test]
fn a_function_gets_each_points_sum_centre_and_place() {
    compare::<half::F16, 1>(Element::F16, 1);
    compare::<half::F16, 2>(Element::F16, 2);
    compare::<half::F16, 3>(Element::F16, 3);
    compare::<half::Bf16, 3>(Element::Bf16, 4);
    compare::<Dense<half::F16>, 2>(Element::F16, 5);
}
