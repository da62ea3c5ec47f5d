// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors of f32 steps on a GPU, of split products on sparse tensor cores beside CUDA cores, on
//! several kinds of data: each against the f64 stencil at every point, as a multiple of
//! 2^-24 · Σ|w||x|. The mean is that of the errors' part away from zero: a bias.

use crate::random_stencil;
use clap::Args;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stencil::device::{Device as _, Gpu, Plane};
use stencil::families::Pass;
use stencil::families::direct::{Direct, Variant};
use stencil::families::sweep2d::{Config, Sweep2d, Wavefronts};
use stencil::{Boundary, Dtype, Error, Grid, Shape, Values};
use transform::Stencil;
use transform::factors::Factors;
use transform::window::window;

/// Measures the errors of f32 steps.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Rows and columns of the grid
    #[arg(long, default_value_t = 1000)]
    size: usize,
}

/// A kind of data: its name, and a value made of random bits and a place.
type Kind = (&'static str, fn(u32, usize, usize) -> f32);

const KINDS: [Kind; 8] = [
    ("0 to 1", |bits, _, _| (bits >> 8) as f32 / 16_777_216.0),
    ("-1 to 1", |bits, _, _| (bits as i32 >> 7) as f32 / 16_777_216.0),
    ("1 to 2", |bits, _, _| f32::from_bits(0x3f80_0000 | bits & 0x7f_ffff)),
    ("smooth", |_, y, x| (2.0 + (y as f64 / 70.0).sin() * (x as f64 / 50.0).cos()) as f32),
    ("2^-40 to 2^40", |bits, _, _| {
        f32::from_bits(bits & 0x807f_ffff | (87 + bits.wrapping_mul(0x9e37_79b9) % 80) << 23)
    }),
    ("2^-8 to 2^8", |bits, _, _| {
        f32::from_bits(bits & 0x807f_ffff | (119 + bits.wrapping_mul(0x9e37_79b9) % 16) << 23)
    }),
    ("huge", |bits, _, _| f32::from_bits(0x7f7f_ffff - (bits & 0x1_ffff))),
    ("tiny", |bits, _, _| f32::from_bits(bits & 0x8fff_ffff)),
];

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    let Arguments { size } = arguments;
    let gpu = Gpu::open()?;
    println!("{}", gpu.describe());
    let shape = Shape::new(&[size, size])?;
    for radius in 1..=3 {
        let stencil = random_stencil(radius, Dtype::F32);
        let window = window(&stencil).expect("radius 1 to 3");
        let config = Config::tuned(Factors::Split, radius);
        let wavefronts = Wavefronts::tuned(Factors::Split, radius, 4 * size * size);
        let extents = [size as u32; 2];
        let sweep = Sweep2d::new(&gpu, &window, Factors::Split, extents, config, wavefronts)?;
        let zero = Boundary::parse("zero", 2).expect("a boundary");
        let direct =
            Direct::new(&gpu, Variant::new(&stencil, &zero, shape, Dtype::F32), shape, Dtype::F32)?;
        for (kind, value) in KINDS {
            let mut random = ChaCha8Rng::seed_from_u64(5);
            let point = |index| value(random.next_u32(), index / size, index % size);
            let input = Grid { shape, values: Values::F32((0..size * size).map(point).collect()) };
            let of = |pass: &dyn Pass| -> Result<[f64; 3], Error> {
                let mut planes =
                    [Plane::new(&gpu, shape, Dtype::F32)?, Plane::new(&gpu, shape, Dtype::F32)?];
                planes[1].poison(&gpu)?;
                planes[0].upload(&gpu, &input)?;
                pass.repeat(&gpu, [&planes[0], &planes[1]], 1)?;
                gpu.wait()?;
                Ok(errors(&stencil, &input, &planes[1].download(&gpu)?))
            };
            let [worst, mean, absolute] = of(&sweep)?;
            let [of_direct, mean_of_direct, _] = of(&direct)?;
            println!(
                "r={radius} {kind:14} split: at most {worst:6.3}, mean {mean:6.3} \
                 ({absolute:.1e}); CUDA cores: at most {of_direct:6.3}, mean {mean_of_direct:6.3}"
            );
        }
    }
    Ok(())
}

/// The largest error and the mean one, of 2^-24 · Σ|w||x|, and the largest by itself.
fn errors(stencil: &Stencil, input: &Grid, output: &Grid) -> [f64; 3] {
    let [_, ny, nx] = input.shape.extents().map(|extent| extent as i64);
    let (mut worst, mut sum, mut absolute) = (0.0f64, 0.0, 0.0f64);
    for (y, x) in (0..ny).flat_map(|y| (0..nx).map(move |x| (y, x))) {
        let (mut expected, mut magnitude) = (0.0, 0.0);
        for tap in stencil.taps() {
            let (y, x) = (y + i64::from(tap.offset[1]), x + i64::from(tap.offset[2]));
            if (0..ny).contains(&y) && (0..nx).contains(&x) {
                let product = tap.weight * input.get((y * nx + x) as usize);
                expected += product;
                magnitude += product.abs();
            }
        }
        let error = output.get((y * nx + x) as usize) - expected;
        let relative = error / magnitude * 2f64.powi(24);
        let relative = if relative.is_nan() { f64::INFINITY } else { relative };
        worst = worst.max(relative.abs());
        absolute = absolute.max(error.abs());
        sum += relative * expected.signum();
    }
    [worst, sum / (ny * nx) as f64, absolute]
}
