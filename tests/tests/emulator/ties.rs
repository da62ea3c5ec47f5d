// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums that lie exactly between two numbers of a 16-bit type are rounded to the even one, by every kernel:
//! of either sign, with the even neighbour above or below, and of several exponents.

use cuda_mma::fragment::Element;
use cuda_mma::number::{bits, value};
use half::{bf16, f16};
use kernels_gpu::direct::{rows::CLASSES, stream, tile};
use kernels_gpu::layout::CHUNK;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use stencil::families::direct::Variant;
use stencil::families::rim::SharedBudget;
use stencil::{Boundary, Dtype, Shape};
use tests::number::factor;
use tests::suite::TestCase;
use tests::{cases, cases_chain3d, cases_direct, cases_rim, cases3d, draw, gather, rows, stepped};
use transform::gather::OutputTile;
use transform::{Stencil, Tap};

const TYPES: [Dtype; 2] = [Dtype::F16, Dtype::Bf16];

/// Columns from one pair of values to the next, and rows and planes.
const APART: [usize; 3] = [8, 8, 32];

/// A box of ones of these radii, or what is on its axes.
fn ones(dims: usize, radii: [usize; 3], star: bool) -> Stencil {
    let offsets = draw::all_offsets(radii, |offset| !star || draw::is_on_axis(offset));
    let taps = offsets.into_iter().map(|offset| Tap { offset, weight: 1.0 });
    Stencil::new("ones", dims, taps.collect()).unwrap()
}

/// Pairs of neighbours, far from each other, whose sums are ties: a number and half of its spacing, of any
/// sign.
fn pairs(dtype: Dtype, shape: Shape) -> Vec<f64> {
    let spacing = 2f64.powi(if dtype == Dtype::F16 { -10 } else { -7 });
    let [_, ny, nx] = shape.extents();
    let point = |index: usize| {
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        let here = [0, 1, 2].map(|axis| at[axis] / APART[axis]);
        let [z, y, x] = [0, 1, 2].map(|axis| at[axis] % APART[axis]);
        let number = here[0] * 7 + here[1] * 3 + here[2];
        let exponent = 2f64.powi(here[2] as i32 % 5 - 2);
        let sign = |bit: usize| if number >> bit & 1 == 1 { -1.0 } else { 1.0 };
        match (z, y, x) {
            (0, 0, 4) => sign(0) * (1.0 + (number % 9) as f64 * spacing) * exponent,
            (0, 0, 5) => sign(1) * spacing / 2.0 * exponent,
            _ => 0.0,
        }
    };
    (0..shape.points()).map(point).collect()
}

/// Asserts that one step has rounded every sum to the nearest number, where there are two to the even one;
/// that there were ties of every kind at the points that count.
fn assert_even(
    name: &str,
    (dtype, stencil, boundary, shape): (Dtype, &Stencil, &Boundary, Shape),
    values: &[f64],
    got: &[f64],
    counts: impl Fn([usize; 3]) -> bool,
) {
    let sums = stepped::steps(stencil, boundary, shape, dtype, values, 1);
    let [_, ny, nx] = shape.extents();
    let mut seen = [[0; 2]; 2];
    for (index, (&sum, &got)) in sums.iter().zip(got).enumerate() {
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        if !counts(at) {
            continue;
        }
        let bits = |number: f64| match dtype {
            Dtype::F16 => f16::from_f64(number).to_bits(),
            _ => bf16::from_f64(number).to_bits(),
        };
        // The other number that is as near, if there is one.
        let other = 2.0 * sum - got;
        if other != got && dtype.round(other) == other {
            assert_eq!(bits(got) & 1, 0, "{name}: {at:?} is {got}, of a tie {sum}");
            seen[usize::from(sum < 0.0)][usize::from(got.abs() > sum.abs())] += 1;
        }
        assert_eq!(got, dtype.round(sum), "{name}: {at:?}, of {sum}");
    }
    assert!(seen.iter().flatten().all(|&count| count > 0), "{name}: {seen:?}");
}

fn shape(dims: usize) -> Shape {
    Shape::new([&[4000][..], &[21, 500], &[9, 11, 330]][dims - 1]).unwrap()
}

/// Radii of a full box of so many axes.
fn radii(dims: usize, radius: usize) -> [usize; 3] {
    [0, 1, 2].map(|axis| if axis < 3 - dims { 0 } else { radius })
}

#[test]
fn on_cuda_cores() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut cases = Vec::new();
    for dtype in TYPES {
        let element = dtype.to_string();
        let mut add = |stencil: &Stencil, variant: &dyn Fn(&Stencil, Shape) -> Variant| {
            let shape = shape(stencil.dims());
            let variant = |stencil: &Stencil| variant(stencil, shape);
            let case = cases_direct::Case::new(&mut random, stencil, shape, dtype, variant);
            let values = pairs(dtype, shape);
            cases.push(cases_direct::Case { values, ..case });
        };
        for kernel in tile::KERNELS.iter().filter(|kernel| kernel.element == element) {
            let radii = radii(kernel.dims, kernel.radius);
            add(&ones(kernel.dims, radii, kernel.star), &|stencil, shape| {
                Variant::tile(kernel, stencil, shape, dtype)
            });
        }
        for kernel in stream::KERNELS.iter().filter(|kernel| kernel.element == element) {
            let radii = radii(kernel.dims, kernel.radius);
            add(&ones(kernel.dims, radii, false), &|stencil, shape| {
                Variant::stream(kernel, stencil, shape, dtype)
            });
        }
        for class in CLASSES {
            add(&ones(2, [0, 1, class], false), &|stencil, shape| {
                Variant::rows(stencil, shape, dtype)
            });
        }
        add(&ones(2, [0, 1, 9], false), &|stencil, shape| {
            Variant::new(stencil, &Boundary::default(), shape, dtype)
        });
    }
    assert_eq!(cases.len(), 28);
    cases.par_iter().for_each(|case| {
        let cases_direct::Case { stencil, boundary, shape, dtype, values, .. } = case;
        let of = (*dtype, stencil, boundary, *shape);
        assert_even(&case.kernel(), of, values, &case.emulate().unwrap(), |_| true);
    });
}

#[test]
fn near_the_boundary() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let budget = SharedBudget::after(stencil::device::Limits::H200.shared_bytes);
    let mut kernels = Vec::new();
    for dtype in TYPES {
        for (dims, radius, star) in
            [(2, 1, false), (2, 2, false), (2, 3, false), (3, 1, false), (3, 2, true)]
        {
            let stencil = ones(dims, radii(dims, radius), star);
            let boundary = Boundary { sides: [[stencil::problem::boundary::Side::Periodic; 2]; 3] };
            let shape = Shape::new([&[][..], &[3, 640], &[3, 4, 640]][dims - 1]).unwrap();
            let of = (&stencil, boundary, shape, dtype);
            let case = cases_rim::Case::new(&mut random, of, 1, budget).unwrap();
            let values = pairs(dtype, shape);
            let case = cases_rim::Case { values, ..case };
            let got = case.emulate().unwrap();
            let of = (dtype, &case.stencil, &boundary, shape);
            assert_even(&case.kernel(), of, &case.values, &got, |at| case.is_near(at));
            kernels.push(case.kernel());
        }
    }
    kernels.dedup();
    assert_eq!(kernels.len(), 10, "{kernels:?}");
}

/// The bits of numbers in a type.
fn stored(dtype: Dtype, values: &[f64]) -> (Element, Vec<u32>) {
    let element = dtype.factors().unwrap().element().unwrap();
    (element, values.iter().map(|&value| bits(element, value)).collect())
}

#[test]
fn on_row_windows() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for dtype in TYPES {
        let (line, plane) = (shape(1), shape(2));
        let (element, values) = stored(dtype, &pairs(dtype, line));
        let (stencil, zero) = (ones(1, [0, 0, 7], false), Boundary::default());
        let case = rows::Case::line(&mut random, element, &stencil, line.points());
        let mut cases = vec![(values, case)];
        let (_, values) = stored(dtype, &pairs(dtype, plane));
        for radius in rows::wide_radii() {
            let stencil = ones(2, [0, radius.min(3) as usize, 7], false);
            let [_, ny, nx] = plane.extents();
            let case = rows::Case::wide(&mut random, element, &stencil, radius, [ny, nx]);
            cases.push((values.clone(), case));
        }
        for (values, case) in cases {
            let values: Vec<u16> = values.into_iter().map(|bits| bits as u16).collect();
            let case = rows::Case { values, ..case };
            let got = case.emulate().unwrap();
            let number = |&bits: &u16| value(element, bits.into());
            let got: Vec<f64> = got.iter().map(number).collect();
            let values: Vec<f64> = case.values.iter().map(number).collect();
            let of = (dtype, &case.stencil, &zero, case.shape);
            assert_even(&case.kernel(), of, &values, &got, |_| true);
        }
    }
}

#[test]
fn by_a_table() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for dtype in TYPES {
        for tile in OutputTile::ALL {
            for radius in [1, 3] {
                let (shape, stencil) = (shape(2), ones(2, radii(2, radius), false));
                let (element, values) = stored(dtype, &pairs(dtype, shape));
                let extents = [21, 500];
                let case = gather::Case::random(&mut random, element, tile, &stencil, &extents);
                let case = gather::Case { values, ..case };
                let got: Vec<f64> =
                    case.emulate().unwrap().iter().map(|&bits| value(element, bits)).collect();
                let of = (dtype, &stencil, &Boundary::default(), shape);
                assert_even(&case.kernel(), of, &pairs(dtype, shape), &got, |_| true);
            }
        }
    }
}

/// The first step of a chain makes ties; the others whatever follows.
#[test]
fn on_register_windows() {
    let kernels = cases::SweepKernel::all();
    let kernels: Vec<_> = kernels.iter().filter(|kernel| TYPES.contains(&kernel.dtype())).collect();
    kernels.par_iter().for_each(|kernel| {
        let shape = shape(2);
        let [_, ny, nx] = shape.extents().map(|extent| extent as u32);
        let stencil = ones(2, radii(2, kernel.radius() as usize), false);
        let values = pairs(kernel.dtype(), shape);
        let case = cases::cases(**kernel).into_iter().find(|case| case.exact).unwrap();
        let case = cases::Case { stencil, values, ny, nx, launches: 1, together: 1, ..case };
        let (got, want) = (case.emulate().unwrap(), case.plain());
        let difference = case.compare(&got, &want);
        assert!(difference.holds() && difference.points > 1000, "{case}: {difference:?}");
        if kernel.steps() == 1 {
            let of = (kernel.dtype(), &case.stencil, &Boundary::default(), shape);
            // A chain leaves a part of a chunk to others.
            let columns = if case.runs_on_sm_80() { nx } else { nx - nx % CHUNK } as usize;
            assert_even(&case.kernel(), of, &case.values, &got, |[_, _, x]| x < columns);
        }
    });
}

#[test]
fn in_volumes() {
    let mut seen = 0;
    for case in cases3d::cases().iter().filter(|case| case.exact && case.seed == 0) {
        let element = tests::grid3d::element(case.kernel.element);
        let (dtype, shape) = (tests::stored::dtype(element), shape(3));
        let star = case.kernel.reach == kernels_gpu::sweep3d::Reach::Diamond;
        let stencil = ones(3, radii(3, case.kernel.radius as usize), star);
        let extents = shape.extents().map(|extent| extent as u32);
        let values = stored(dtype, &pairs(dtype, shape)).1.into_iter().map(|x| x as u16).collect();
        let case = case.clone();
        let case = cases3d::Case { extents, stencil, exact: true, values, launches: 1, ..case };
        let number = |&bits: &u16| value(element, bits.into());
        let got: Vec<f64> = case.emulate().unwrap().iter().map(number).collect();
        let of = (dtype, &case.stencil, &Boundary::default(), shape);
        assert_even(&case.kernel(), of, &pairs(dtype, shape), &got, |_| true);
        seen += 1;
    }
    assert_eq!(seen, kernels_gpu::sweep3d::KERNELS.len());
}

/// The first step of a chain makes ties; a wrong one changes what the others make of it.
#[test]
fn in_chained_volumes() {
    for kernel in kernels_gpu::chain3d::KERNELS {
        let cases = cases_chain3d::cases();
        let case = cases.iter().find(|case| case.kernel.name == kernel.name).unwrap();
        let dtype = tests::stored::dtype(tests::grid3d::element(kernel.element));
        // Rows as in the case, whose tile must not be larger than the grid.
        let shape = Shape::new(&[9, case.extents[1] as usize, 330]).unwrap();
        let extents = shape.extents().map(|extent| extent as u32);
        let values = pairs(dtype, shape);
        // Absolute weights of 1/8, so that values do not grow: exact, too.
        let stencil = ones(3, radii(3, 1), true).map_weights(|weight| weight / 8.0);
        let boundary = Boundary::default();
        let first = stepped::steps(&stencil, &boundary, shape, dtype, &values, 1);
        let first: Vec<f64> = first.into_iter().map(|sum| dtype.round(sum)).collect();
        let of = (dtype, &stencil, &boundary, shape);
        assert_even("the first step", of, &values, &first, |_| true);
        let values = stored(dtype, &values).1.into_iter().map(|bits| bits as u16).collect();
        let case = case.clone();
        let case =
            cases_chain3d::Case { extents, stencil, exact: true, values, launches: 1, ..case };
        let difference = case.compare(&case.emulate().unwrap(), &case.plain());
        assert!(difference.holds() && difference.points > 1000, "{case}: {difference:?}");
    }
}

/// Products in tf32 take values that are rounded: ties, too, to the even one.
#[test]
fn of_values_in_tf32() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let (shape, identity) = (shape(2), ones(2, [0, 0, 0], false));
    let value = |index: usize| {
        let sign = if index.is_multiple_of(3) { -1.0 } else { 1.0 };
        let exponent = 2f64.powi(index as i32 % 9 - 4);
        sign * (1.0 + (index % 1024) as f64 * 2f64.powi(-10) + 2f64.powi(-11)) * exponent
    };
    let values: Vec<f64> = (0..shape.points()).map(value).collect();
    let right: Vec<f64> = values.iter().map(|&value| factor(Dtype::Tf32, value)).collect();
    let is_even = |&number: &f64| (number as f32).to_bits() >> 13 & 1 == 0;
    assert!(right.iter().all(is_even) && right.iter().zip(&values).all(|(a, b)| a != b));
    let [_, ny, nx] = shape.extents().map(|extent| extent as u32);
    for kernel in cases::SweepKernel::all().into_iter().filter(|of| of.dtype() == Dtype::Tf32) {
        let case = cases::cases(kernel).into_iter().find(|case| case.exact).unwrap();
        let (stencil, values) = (identity.clone(), values.clone());
        let case = cases::Case { stencil, values, ny, nx, launches: 1, together: 1, ..case };
        // The kernel of this radius takes a smaller one only where its operand is made for it.
        if kernel.radius() == 1 {
            let difference = case.compare(&case.emulate().unwrap(), &right);
            assert!(difference.holds() && difference.points > 1000, "{case}: {difference:?}");
        }
    }
    for tile in OutputTile::ALL {
        let element = Element::Tf32;
        let case = gather::Case::random(&mut random, element, tile, &identity, &[21, 500]);
        let values = values.iter().map(|&value| (value as f32).to_bits()).collect();
        let case = gather::Case { values, ..case };
        let got: Vec<f64> =
            case.emulate().unwrap().iter().map(|&bits| f32::from_bits(bits).into()).collect();
        assert!(got == right, "{case}");
    }
}
