// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filters of arrays of an emulated device, beside those of arrays of this machine.

use devices::{Device, Emulator, MemoryRows};
use problem::boundary::Side;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tiles::filter::{Filter, Stage, Term, Value};

use super::kind::with_kind;
use super::{FilterOnDevice, ValueType};

/// Filters an array on a device.
fn on_device<I: Value, O: Value>(
    device: &dyn Device,
    filter: &Filter,
    kinds: [ValueType; 2],
    input: &[I],
) -> Vec<O> {
    let bytes: &[u8] = bytemuck::cast_slice(input);
    let mut output = vec![O::zeroed(); input.len()];
    let from = device.allocate("array", bytes.len()).unwrap();
    device.write(&from, MemoryRows::first(bytes.len()), bytes).unwrap();
    let wanted = size_of_val(&output[..]);
    let to = device.allocate("array", wanted).unwrap();
    let prepared = FilterOnDevice::new(device, filter, kinds).unwrap();
    let between = device.allocate("values between", prepared.between().max(1)).unwrap();
    #[allow(unsafe_code, reason = "arrays of the device")]
    // SAFETY: both have as many values as the extents say.
    unsafe {
        prepared.queue(device, [from.address(), to.address()], between.address()).unwrap();
    }
    device.wait().unwrap();
    device.read(&to, MemoryRows::first(wanted), bytemuck::cast_slice_mut(&mut output)).unwrap();
    output
}

fn line(random: &mut ChaCha8Rng, axis: usize) -> Stage {
    let (first, count) = (random.random_range(-9..4), random.random_range(1..19));
    let weights = weights(random, count);
    let term = |(at, weight): (usize, &f64)| {
        let mut offset = [0; 3];
        offset[axis] = first + at as i32;
        Term { offset, weight: *weight }
    };
    let terms = weights.iter().enumerate().map(term).collect();
    let divisor = if random.random_bool(0.3) { count as f64 } else { 1.0 };
    Stage { terms, is_line: true, divisor }
}

/// Halves, any numbers, or some that mirror others; some are 0.
fn weights(random: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    let kind = random.random_range(0..4);
    let mut weights: Vec<f64> = (0..count)
        .map(|_| match kind {
            0 => f64::from(random.random_range(-3..4)) / 2.0,
            1 => f64::from(random.random_range(1..3)),
            _ => random.random_range(-0.3..0.6),
        })
        .collect();
    if kind == 3 {
        for at in 0..count / 2 {
            weights[count - 1 - at] = weights[at];
        }
    }
    weights
}

fn cuboid(random: &mut ChaCha8Rng) -> Stage {
    let first = [(); 3].map(|()| random.random_range(-3..2));
    let spans = [random.random_range(1..4), random.random_range(1..8), random.random_range(1..8)];
    let weights = weights(random, spans.iter().product());
    let term = |(at, weight): (usize, &f64)| {
        let place = [at / spans[2] / spans[1], at / spans[2] % spans[1], at % spans[2]];
        Term { offset: [0, 1, 2].map(|axis| first[axis] + place[axis] as i32), weight: *weight }
    };
    let terms = weights.iter().enumerate().map(term).filter(|term| term.weight != 0.0).collect();
    let mut stage = Stage { terms, is_line: false, divisor: 1.0 };
    if stage.terms.is_empty() {
        stage.terms.push(Term { offset: [0; 3], weight: 1.0 });
    }
    stage
}

fn drawn(random: &mut ChaCha8Rng) -> Filter {
    let step = *[1, 1, 2, 3, 5, 40].get(random.random_range(0..6)).unwrap();
    let extent =
        |random: &mut ChaCha8Rng| *[1, 2, 5, 7, 13, 40].get(random.random_range(0..6)).unwrap();
    let columns = if random.random_bool(0.2) { 300 } else { extent(random) };
    let extents =
        [random.random_range(1..3), random.random_range(1..4), extent(random), columns * step];
    let constant = f64::from(random.random_range(-2..9));
    let side = |random: &mut ChaCha8Rng| {
        let all =
            [Side::Symmetric, Side::Reflect, Side::Edge, Side::Periodic, Side::Constant(constant)];
        *all.get(random.random_range(0..5)).unwrap()
    };
    let sides = [(); 3].map(|()| side(random));
    let stages = match random.random_range(0..5) {
        0 => vec![line(random, 1), line(random, 2)],
        1 => vec![line(random, 2), line(random, 1)],
        2 => vec![line(random, 1)],
        3 => vec![line(random, 2)],
        _ => vec![cuboid(random)],
    };
    Filter { extents, step, sides, stages }
}

/// What rounding explains, in units of the last digit of the largest sum of magnitudes.
fn compare<I: Value, O: Value + std::fmt::Debug + PartialEq>(
    what: &str,
    filter: &Filter,
    input: &[I],
    found: &[O],
) {
    let mut expected = vec![O::zeroed(); input.len()];
    filter.run(input, &mut expected);
    if O::LARGEST.is_some() {
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{what}: value {at} of {filter:?}");
        }
        return;
    }
    let wide: Vec<f64> = input.iter().map(|value| value.widen()).collect();
    let mut exact = vec![0.0; input.len()];
    filter.run(&wide, &mut exact);
    let mut sizes = filter.clone();
    for term in sizes.stages.iter_mut().flat_map(|stage| &mut stage.terms) {
        term.weight = term.weight.abs();
    }
    for side in &mut sizes.sides {
        if let Side::Constant(value) = side {
            *value = value.abs();
        }
    }
    let wide: Vec<f64> = wide.iter().map(|value| value.abs()).collect();
    let mut most = vec![0.0; input.len()];
    sizes.run(&wide, &mut most);
    let terms: usize = filter.stages.iter().map(|stage| stage.terms.len() + 2).sum();
    let unit = if size_of::<O>() == 4 { 2f64.powi(-24) } else { 2f64.powi(-53) };
    for at in 0..found.len() {
        let error = (found[at].widen() - exact[at]).abs();
        let allowed = (terms as f64 + 2.0) * unit * most[at];
        assert!(
            error <= allowed,
            "{what}: value {at} is off by {error:.2e}, {allowed:.2e} allowed, of {filter:?}"
        );
    }
}

fn values<V: Value>(random: &mut impl Rng, count: usize) -> Vec<V> {
    let largest = V::LARGEST.map_or(2.0, |largest| largest.min(1e6));
    (0..count)
        .map(|_| {
            let value: f64 = random.random_range(-largest..largest);
            V::cut(if V::cut(-1.0).widen() < 0.0 { value } else { value.abs() })
        })
        .collect()
}

/// Whole numbers have the bits of this machine; others differ by rounding.
#[test]
fn any_filter_is_that_of_this_machine() {
    let cases = std::env::var("FILTER_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let first = std::env::var("FILTER_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let kinds: Vec<ValueType> =
        ValueType::all().filter(|kind| !["float16", "bfloat16"].contains(&kind.name())).collect();
    for seed in first..first + cases {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let filter = drawn(&mut random);
        let pick = |random: &mut ChaCha8Rng| match random.random_range(0..3) {
            0 => ValueType::F32,
            _ => kinds[random.random_range(0..kinds.len())],
        };
        let kinds = [pick(&mut random), pick(&mut random)];
        let count: usize = filter.extents.iter().product();
        let what = format!("seed {seed}, {} to {}", kinds[0].name(), kinds[1].name());
        with_kind!(kinds[0], I => with_kind!(kinds[1], O => {
            let input: Vec<I> = values(&mut random, count);
            let found: Vec<O> = on_device(&Emulator::new(), &filter, kinds, &input);
            compare(&what, &filter, &input, &found);
        }));
    }
}

/// Bytes of which each array begins at a byte of a word.
fn bytes_on_device(filter: &Filter, input: &[u8], first: usize) -> Vec<u8> {
    let device = Emulator::new();
    let kinds = [ValueType::named("uint8").unwrap(); 2];
    let padded = [&vec![0; first], input].concat();
    let [from, to] = [(); 2].map(|()| device.allocate("array", padded.len()).unwrap());
    device.write(&from, MemoryRows::first(padded.len()), &padded).unwrap();
    device.write(&to, MemoryRows::first(padded.len()), &padded).unwrap();
    let prepared = FilterOnDevice::new(&device, filter, kinds).unwrap();
    let addresses = [&from, &to].map(|memory| memory.address() + first as u64);
    #[allow(unsafe_code, reason = "arrays of the device")]
    // SAFETY: both have as many values as the extents say.
    unsafe {
        prepared.queue(&device, addresses, 0).unwrap();
    }
    device.wait().unwrap();
    let mut output = padded;
    device.read(&to, MemoryRows::first(output.len()), &mut output).unwrap();
    output.split_off(first)
}

/// Small boxes of bytes with exact weights have the bits of this machine, wherever arrays begin.
#[test]
fn small_boxes_of_bytes_are_those_of_this_machine() {
    let pick = |random: &mut ChaCha8Rng, all: &[usize]| all[random.random_range(0..all.len())];
    for seed in 0..60 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let spans = [pick(&mut random, &[1, 2, 3, 5, 32]), random.random_range(1..9)];
        let first = [(); 2].map(|()| random.random_range(-4..2));
        let (most, shift) = (random.random_range(1..128), random.random_range(0..9));
        let least = if random.random_bool(0.5) { -most } else { 0 };
        let mut terms = Vec::new();
        for at in 0..spans[0] * spans[1] {
            let [y, x] = [at / spans[1], at % spans[1]].map(|at| at as i32);
            let weight = f64::from(random.random_range(least..=most)) / f64::from(1 << shift);
            if weight != 0.0 || at == 0 {
                terms.push(Term { offset: [0, first[0] + y, first[1] + x], weight });
            }
        }
        let extents = [
            random.random_range(1..3),
            random.random_range(1..3),
            pick(&mut random, &[1, 7, 40, 75]),
            pick(&mut random, &[4, 8, 12, 128, 132, 300]),
        ];
        let constant = f64::from(random.random_range(0..256));
        let all =
            [Side::Symmetric, Side::Reflect, Side::Edge, Side::Periodic, Side::Constant(constant)];
        let sides = [(); 3].map(|()| all[random.random_range(0..5)]);
        let stages = vec![Stage { terms, is_line: false, divisor: 1.0 }];
        let filter = Filter { extents, step: 1, sides, stages };
        let count = filter.extents.iter().product();
        let input: Vec<u8> = (0..count).map(|_| random.random_range(0..256) as u8).collect();
        let mut expected = vec![0; count];
        filter.run(&input, &mut expected);
        for first in [0, (seed % 3) as usize + 1] {
            let found = bytes_on_device(&filter, &input, first);
            assert_eq!(found, expected, "seed {seed}, from byte {first} on: {filter:?}");
        }
    }
}

/// Boxes of single precision of all extents that kernels without shared memory take, wherever the array that is written begins.
#[test]
fn boxes_of_single_precision_are_those_of_this_machine() {
    let pick = |random: &mut ChaCha8Rng, all: &[usize]| all[random.random_range(0..all.len())];
    for seed in 0..48 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut across = 2 + seed as usize % 15;
        let down = random.random_range(1..17);
        let mut first = [(); 2].map(|()| random.random_range(-17..4));
        let mut columns = pick(&mut random, &[1, 4, 13, 16, 132, 300, 620]);
        if seed % 6 == 5 {
            // All that a block reads lies in the array, and some of what it would write does not.
            (across, first[1], columns) = (3, -7, 508);
        }
        let term = |at: usize| {
            let [y, x] = [at / across, at % across].map(|at| at as i32);
            Term { offset: [0, first[0] + y, first[1] + x], weight: random.random_range(0.1..0.3) }
        };
        let terms = (0..down * across).map(term).collect();
        let extents = [
            random.random_range(1..3),
            random.random_range(1..3),
            pick(&mut random, &[1, 7, 40, 75]),
            columns,
        ];
        let all = [Side::Symmetric, Side::Reflect, Side::Edge, Side::Periodic, Side::Constant(3.0)];
        let sides = [(); 3].map(|()| all[random.random_range(0..5)]);
        let stages = vec![Stage { terms, is_line: false, divisor: 1.0 }];
        let filter = Filter { extents, step: 1, sides, stages };
        let input: Vec<f32> = values(&mut random, filter.extents.iter().product());
        let found: Vec<f32> = on_device(&Emulator::new(), &filter, [ValueType::F32; 2], &input);
        compare(&format!("seed {seed}"), &filter, &input, &found);
    }
}

/// Products of two lines of as many weights of single precision, in strips.
#[test]
fn products_of_lines_of_single_precision_are_those_of_this_machine() {
    let pick = |random: &mut ChaCha8Rng, all: &[usize]| all[random.random_range(0..all.len())];
    for seed in 0..40 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let count = 3 + 2 * (seed as usize % 8);
        let first = [0, random.random_range(-20..4), -(count as i32 / 2)];
        let line = |random: &mut ChaCha8Rng, axis: usize| {
            let term = |at: usize| {
                let mut offset = [0; 3];
                offset[axis] = first[axis] + at as i32;
                Term { offset, weight: random.random_range(0.1..0.3) }
            };
            let terms = (0..count).map(term).collect();
            let divisor = if random.random_bool(0.3) { count as f64 } else { 1.0 };
            Stage { terms, is_line: true, divisor }
        };
        let stages = vec![line(&mut random, 1), line(&mut random, 2)];
        let extents = [
            random.random_range(1..3),
            random.random_range(1..3),
            pick(&mut random, &[1, 7, 40, 75]),
            pick(&mut random, &[1, 4, 13, 16, 132, 300, 620]),
        ];
        let all = [Side::Symmetric, Side::Reflect, Side::Edge, Side::Periodic, Side::Constant(3.0)];
        let sides = [(); 3].map(|()| all[random.random_range(0..5)]);
        let filter = Filter { extents, step: 1, sides, stages };
        let input: Vec<f32> = values(&mut random, filter.extents.iter().product());
        let found: Vec<f32> = on_device(&Emulator::new(), &filter, [ValueType::F32; 2], &input);
        compare(&format!("seed {seed}"), &filter, &input, &found);
    }
}

/// Infinite values reach as far as the weights do, and no further.
#[test]
fn infinite_values_reach_as_far_as_weights() {
    let term = |offset, weight| Term { offset, weight };
    let line = |axis: usize, reach: i32| {
        let at = |at: i32| {
            let mut offset = [0; 3];
            offset[axis] = at;
            offset
        };
        let terms = (-reach..=reach).map(|place| term(at(place), 0.25)).collect();
        Stage { terms, is_line: true, divisor: 1.0 }
    };
    let star = [[0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1], [0, 0, 0]];
    let star = star.map(|offset| term(offset, 0.2)).to_vec();
    for stages in [
        vec![line(1, 1), line(2, 1)],
        vec![line(2, 2)],
        vec![line(1, 2)],
        vec![Stage { terms: star, is_line: false, divisor: 1.0 }],
    ] {
        let filter =
            Filter { extents: [1, 1, 20, 30], step: 1, sides: [Side::Symmetric; 3], stages };
        let mut input = vec![1.0f32; 600];
        input[7 * 30 + 11] = f32::INFINITY;
        let mut expected = vec![0.0f32; 600];
        filter.run(&input, &mut expected);
        let found: Vec<f32> = on_device(&Emulator::new(), &filter, [ValueType::F32; 2], &input);
        for at in 0..600 {
            assert_eq!(found[at].is_finite(), expected[at].is_finite(), "{at} of {filter:?}");
        }
    }
}

/// Sums that reach too far for one launch, of types that their own type of sums does not read.
#[test]
fn long_lines_into_wide_values_take_two_launches() {
    let line = |axis: usize| {
        let term = |at: i32| {
            let mut offset = [0; 3];
            offset[axis] = at;
            Term { offset, weight: 1.0 }
        };
        Stage { terms: (-150..=150).map(term).collect(), is_line: true, divisor: 301.0 }
    };
    let kinds = [ValueType::named("uint8").unwrap(), ValueType::named("int64").unwrap()];
    let stages = vec![line(1), line(2)];
    let filter = Filter { extents: [1, 1, 23, 41], step: 1, sides: [Side::Symmetric; 3], stages };
    let input: Vec<u8> = values(&mut ChaCha8Rng::seed_from_u64(3), 23 * 41);
    let device = Emulator::new();
    assert!(FilterOnDevice::new(&device, &filter, kinds).unwrap().between() > 0);
    let found: Vec<i64> = on_device(&device, &filter, kinds, &input);
    compare("long lines", &filter, &input, &found);
}

/// Arrays of no values need no launch.
#[test]
fn nothing_is_filtered_to_nothing() {
    for extents in [[1, 1, 0, 3], [1, 1, 3, 0], [0, 2, 3, 4]] {
        let stages = vec![line(&mut ChaCha8Rng::seed_from_u64(1), 2)];
        let filter = Filter { extents, step: 1, sides: [Side::Symmetric; 3], stages };
        assert!(FilterOnDevice::new(&Emulator::new(), &filter, [ValueType::F32; 2]).is_ok());
    }
}

#[test]
fn more_than_a_launch_counts_is_refused() {
    let stages = vec![line(&mut ChaCha8Rng::seed_from_u64(1), 2)];
    let filter =
        Filter { extents: [1, 1, 1, 1 << 32], step: 1, sides: [Side::Symmetric; 3], stages };
    let error =
        FilterOnDevice::new(&Emulator::new(), &filter, [ValueType::F32; 2]).map(drop).unwrap_err();
    assert!(error.to_string().contains("part by part"), "{error}");
}
