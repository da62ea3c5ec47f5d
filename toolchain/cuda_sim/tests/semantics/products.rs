// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roundings and products of matrices.

use super::*;

#[test]
fn packing_rounds_to_nearest_even() {
    let half = |value: f32| matrix::pack_f16(value, 0.0) & 0xffff;
    assert_eq!(half(1.0), 0x3c00);
    assert_eq!(half(1.0 + 1.0 / 2048.0), 0x3c00, "a tie goes to the even neighbour");
    assert_eq!(half(1.0 + 3.0 / 2048.0), 0x3c02);
    assert_eq!(half(1e6), 0x7c00, "too large is infinite");
    assert_eq!(half(f32::NAN), 0x7fff, "the canonical NaN");
    assert_eq!(matrix::pack_f16(1.0, -2.0), 0xc000_3c00);
    let brain = |value: f32| matrix::pack_bf16(value, 0.0) & 0xffff;
    assert_eq!(brain(1.0 + 1.0 / 256.0), 0x3f80, "a tie goes to the even neighbour");
    assert_eq!(brain(1.0 + 3.0 / 256.0), 0x3f82);
    assert_eq!(brain(f32::MAX), 0x7f80, "too large is infinite");
    assert_eq!(brain(f32::NAN), 0x7fff, "the canonical NaN");
    assert_eq!(matrix::pack_bf16(1.0, -2.0), 0xc000_3f80);
}

#[test]
fn rounding_to_tf32_keeps_ten_bits() {
    let round = |value: f32| f32::from_bits(math::round_tf32(value));
    assert_eq!(round(-1.0 - 1.0 / 2048.0), -1.0, "a tie goes to the even neighbour");
    assert_eq!(round(1.0 + 3.0 / 2048.0), 1.0 + 2.0 / 1024.0);
    assert_eq!(round(f32::MAX), f32::INFINITY, "too large is infinite");
    assert!(round(f32::NAN).is_nan());
}

/// Row i of A is the unit vector of K index 2·(i mod 8) + i mod 2: kept column i mod 8.
#[test]
fn sparse_products_take_tf32() {
    let shape = LaunchConfig { threads: 32, ..SHAPE };
    let got = words(shape, &mut Memory::new(), || {
        let lane = warp::lane_id();
        let (group, pair) = (lane / 4, lane % 4);
        let a =
            [0, 1, 2, 3].map(|word| if pair + word / 2 * 4 == group { 1f32.to_bits() } else { 0 });
        let metadata = [0x4444_4444, 0xeeee_eeee][(group % 2) as usize];
        let b = [0, 1, 2, 3].map(|word| math::round_tf32((8 * (pair + 4 * word) + group) as f32));
        let d = mma::sp_m16n8k16_tf32_f32(a, metadata, b, [0.5; 4]);
        let expected = [0, 1, 2, 3].map(|word| {
            let column = 2 * pair + word % 2;
            (8 * (2 * group + group % 2) + column) as f32 + 0.5
        });
        u32::from(d == expected)
    });
    assert_eq!(got, [1; 32]);
}

#[test]
fn sparse_products_take_both_16_bit_types() {
    const ONE_F16: u32 = 0x3c00;
    const ONE_BF16: u32 = 0x3f80;
    let shape = LaunchConfig { threads: 32, ..SHAPE };
    // Row i of A is the unit vector of K index 2i, the first of its group's pair (0, 3) in even rows
    // and (2, 3) in odd ones: kept column 2·(i / 2).
    let a = |lane: u32, one: u32| {
        let kept = |row: u32, word: u32| {
            let column = lane % 4 * 2 + word / 2 * 8;
            if row / 2 * 2 == column { one } else { 0 }
        };
        [0, 1, 2, 3].map(|word| kept(lane / 4 + word % 2 * 8, word))
    };
    // (0, 3) is 0b1100, (2, 3) 0b1110, in each of the four groups of a lane.
    let metadata = |lane: u32| [0xcccc_cccc, 0xeeee_eeee][(lane / 4 % 2) as usize];
    for bf16 in [false, true] {
        let got = words(shape, &mut Memory::new(), || {
            let lane = warp::lane_id();
            let (group, pair) = (lane / 4, lane % 4);
            // B is 8k + n in even rows k, and what the identity ignores in odd ones.
            let value = |word: u32| (8 * (2 * pair + 8 * word) + group) as f32;
            let ignored = 3.0;
            let b = [0, 1, 2, 3].map(|word| {
                if bf16 {
                    matrix::pack_bf16(value(word), ignored)
                } else {
                    matrix::pack_f16(value(word), ignored)
                }
            });
            let c = [0.5; 4];
            let d = if bf16 {
                mma::sp_m16n8k32_bf16_f32(a(lane, ONE_BF16), metadata(lane), b, c)
            } else {
                mma::sp_m16n8k32_f16_f32(a(lane, ONE_F16), metadata(lane), b, c)
            };
            // D (row, column): rows g and g + 8, columns 2t and 2t + 1.
            let expected = [0, 1, 2, 3].map(|word| {
                let (row, column) = (group + word / 2 * 8, 2 * pair + word % 2);
                (16 * row + column) as f32 + 0.5
            });
            u32::from(d == expected)
        });
        assert_eq!(got, [1; 32], "bf16: {bf16}");
    }
}

/// Row i of A is the unit vector of K index i, that of the half of K after it where it has one: D is a part of B.
#[test]
fn dense_products_take_every_type() {
    let shape = LaunchConfig { threads: 32, ..SHAPE };
    let is = |there: bool, one: u32| if there { one } else { 0 };
    let rows = |lane: u32| move |word: u32| lane / 4 + word % 2 * 8;
    let of_d = |lane: u32, word: u32| (lane / 4 + word / 2 * 8, lane % 4 * 2 + word % 2);
    let got = words(shape, &mut Memory::new(), || {
        let lane = warp::lane_id();
        let (group, pair) = (lane / 4, lane % 4);
        let expected = [0, 1, 2, 3].map(|word| {
            let (row, column) = of_d(lane, word);
            (8 * row + column) as f32 + 0.5
        });
        // Of 16 bits: K indices 2t and 2t + 1 in the first two words, 8 further in the others.
        let of_16_bits = |bits: fn(f32) -> u32| {
            let k = |word: u32| 2 * pair + word * 8;
            let a = [0, 1, 2, 3].map(|word| {
                let (row, k) = (rows(lane)(word), k(word / 2));
                is(row == k, bits(1.0)) | is(row == k + 1, bits(1.0)) << 16
            });
            let b = [0, 1].map(|word| {
                let element = |k: u32| bits((8 * k + group) as f32);
                element(k(word)) | element(k(word) + 1) << 16
            });
            (a, b)
        };
        let (a, b) = of_16_bits(|value| half::f16::from_f32(value).to_bits().into());
        let f16 = mma::m16n8k16_f16_f32(a, b, [0.5; 4]) == expected;
        let (a, b) = of_16_bits(|value| half::bf16::from_f32(value).to_bits().into());
        let bf16 = mma::m16n8k16_bf16_f32(a, b, [0.5; 4]) == expected;
        // In tf32 rows 8 to 15 have the same unit vectors as rows 0 to 7.
        let a = [0, 1, 2, 3].map(|word| is(group == pair + word / 2 * 4, 1f32.to_bits()));
        let b = [0, 1].map(|word| ((8 * (pair + 4 * word) + group) as f32).to_bits());
        let tf32 = mma::m16n8k8_tf32_f32(a, b, [0.5; 4])
            == [0, 1, 2, 3].map(|word| expected[word as usize % 2]);
        u32::from(f16) | u32::from(bf16) << 1 | u32::from(tf32) << 2
    });
    assert_eq!(got, [7; 32]);
}

#[test]
fn dense_products_of_f64_are_exact_in_both_shapes() {
    let shape = LaunchConfig { threads: 32, ..SHAPE };
    // What no f32 holds.
    let tiny = 2f64.powi(-40);
    let got = words(shape, &mut Memory::new(), || {
        let lane = warp::lane_id();
        let (group, pair) = (lane / 4, lane % 4);
        let value = |k: u32, column: u32| f64::from(8 * k + column) + tiny;
        let a = [0, 1, 2, 3, 4, 5, 6, 7].map(|word| {
            let (row, k) = (group + word % 2 * 8, pair + word / 2 * 4);
            if row == k { 1.0 } else { 0.0 }
        });
        let b = [0, 1, 2, 3].map(|word| value(pair + 4 * word, group));
        let d = mma::m16n8k16_f64(a, b, [0.5; 4]);
        let large =
            d == [0, 1, 2, 3].map(|word| value(group + word / 2 * 8, 2 * pair + word % 2) + 0.5);
        // Row i of A is the unit vector of K index i mod 4.
        let a = if group % 4 == pair { 1.0 } else { 0.0 };
        let d = mma::m8n8k4_f64(a, value(pair, group), [0.5; 2]);
        let small = d == [0, 1].map(|word| value(group % 4, 2 * pair + word) + 0.5);
        u32::from(large) | u32::from(small) << 1
    });
    assert_eq!(got, [3; 32]);
    // Chips before sm_90 have the small shape only.
    let large = |chip: Chip| {
        let mut memory = Memory::new();
        chip.with(|| {
            launch("tiny", shape, &mut memory, || {
                let _ = mma::m16n8k16_f64([1.0; 8], [1.0; 4], [0.0; 4]);
            })
        })
    };
    assert!(large(Chip::Sm90).is_ok());
    let fault = large(Chip::Sm80).unwrap_err().to_string();
    assert!(fault.contains("mma.m16n8k16 of f64"), "{fault}");
}
