// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lanes of a warp do together.

use super::*;

/// Every argument of every shuffle: the lane that PTX names, or one's own where it names none.
#[test]
fn shuffles_take_words_from_the_lanes_that_they_name() {
    for argument in 0..32 {
        type Words = fn(u32, u32) -> u32;
        let shuffles: [(Words, Words); 4] = [
            (warp::shuffle, |_, source| source),
            (warp::shuffle_xor, |lane, mask| lane ^ mask),
            (warp::shuffle_down, |lane, delta| if lane + delta < 32 { lane + delta } else { lane }),
            (warp::shuffle_up, |lane, delta| if lane >= delta { lane - delta } else { lane }),
        ];
        for (shuffle, source) in shuffles {
            let got = words(SHAPE, &mut Memory::new(), || {
                shuffle(1000 + thread::thread_idx_x(), argument)
            });
            let lanes =
                (0..64).map(|thread| 1000 + thread / 32 * 32 + source(thread % 32, argument));
            assert_eq!(got, lanes.collect::<Vec<u32>>(), "{argument}");
        }
    }
}

#[test]
fn a_transpose_exchanges_rows_and_columns() {
    // Element (row, column) is 8·row + column.
    let got = words(SHAPE, &mut Memory::new(), || {
        let (row, column) = (warp::lane_id() / 4, warp::lane_id() % 4 * 2);
        matrix::transpose((8 * row + column) | (8 * row + column + 1) << 16)
    });
    for (thread, word) in got.into_iter().enumerate() {
        let (row, column) = (thread as u32 % 32 / 4, thread as u32 % 4 * 2);
        assert_eq!((word & 0xffff, word >> 16), (8 * column + row, 8 * (column + 1) + row));
    }
}

#[test]
fn ldmatrix_deals_out_rows() {
    let shape = LaunchConfig { threads: 32, ..SHAPE };
    // Row r of the four matrices is 8 halves of value r, at byte 16·r.
    let got = words(shape, &mut Memory::new(), || {
        let lane = warp::lane_id();
        for word in 0..4 {
            shared::store(16 * lane + 4 * word, lane * 0x1_0001);
        }
        warp::sync();
        let matrices = matrix::load_x4(16 * lane);
        let [a, b, c, d] = matrices.map(|word| word & 0xff);
        a | b << 8 | c << 16 | d << 24
    });
    for (lane, word) in got.into_iter().enumerate() {
        let row = lane as u8 / 4;
        assert_eq!(word.to_le_bytes(), [row, 8 + row, 16 + row, 24 + row]);
    }
}

#[test]
fn stmatrix_writes_columns() {
    let shape = LaunchConfig { threads: 32, ..SHAPE };
    // Element (row, column) of matrix m is 64·m + 8·row + column; a row of shared memory is a column.
    let got = words(shape, &mut Memory::new(), || {
        let lane = warp::lane_id();
        let element = |matrix: u32, column| 64 * matrix + 8 * (lane / 4) + column;
        let column = lane % 4 * 2;
        let word = |matrix| element(matrix, column) | element(matrix, column + 1) << 16;
        matrix::store_transposed_x2(16 * lane, word(0), word(1));
        warp::sync();
        shared::load_v4(lane / 2 * 16)[lane as usize % 2]
    });
    for (lane, word) in got.into_iter().enumerate() {
        let (matrix, column) = (lane as u32 / 16, lane as u32 / 2 % 8);
        let row = lane as u32 % 2 * 2;
        let element = |row| 64 * matrix + 8 * row + column;
        assert_eq!((word & 0xffff, word >> 16), (element(row), element(row + 1)), "lane {lane}");
    }
}

/// Votes, matches, reductions and shuffles of groups of lanes that meet apart, in a block with a warp of 8 lanes.
#[test]
fn lanes_of_a_mask_execute_together() {
    let shape = LaunchConfig { threads: 40, ..SHAPE };
    let got = words(shape, &mut Memory::new(), || {
        let lane = warp::lane_id();
        let is_low = lane < 12;
        let mask = if is_low { 0xfff } else { !0xfff };
        if is_low {
            let all = warp::warp_vote_all(mask, lane < 12);
            let ballot = warp::warp_vote_ballot(mask, lane.is_multiple_of(3));
            let same = warp::match_any_b32(mask, lane / 4);
            let [next, is_there] = warp::shuffle_down_of(mask, lane, 1, 4);
            let last = warp::reduce_max_i32(mask, lane as i32 - 20);
            let lanes = if thread::thread_idx_x() < 32 { 0xfff } else { 0xff };
            assert_eq!((all, ballot), (true, 0x249 & lanes));
            assert_eq!(same, 0xf << (lane / 4 * 4));
            assert_eq!((next, is_there), if lane % 4 < 3 { (lane + 1, 1) } else { (lane, 0) });
            assert_eq!(last, if lanes == 0xff { -13 } else { -9 });
        } else {
            assert!(
                warp::warp_vote_any(mask, lane == 31) && !warp::warp_vote_all(mask, lane == 31)
            );
            assert_eq!(warp::match_all_b64(mask, 1 << 40), mask);
            assert_eq!(warp::match_all_b64(mask, u64::from(lane)), 0);
            assert_eq!(warp::reduce_xor_u32(mask, 1 << lane), mask);
        }
        assert_eq!(warp::activemask(), 1 << lane);
        warp::sync();
        let even = thread::sync_threads_count(u32::from(lane.is_multiple_of(2)));
        assert_eq!(thread::sync_threads_and(u32::from(lane < 32)), 1);
        assert_eq!(thread::sync_threads_or(u32::from(lane > 31)), 0);
        even
    });
    assert_eq!(got, [20; 40]);
}

/// A lane of two groups takes part in one after the other, whichever of their lanes come first.
#[test]
fn masks_may_overlap() {
    let shape = LaunchConfig { threads: 32, ..SHAPE };
    let got = words(shape, &mut Memory::new(), || {
        let lane = warp::lane_id();
        let other = |mask: u32, word| {
            let source = (mask & !(1 << lane)).trailing_zeros();
            warp::shuffle_idx_of(mask, word, source, 32)[0]
        };
        match lane {
            0 => other(0b011, 10),
            1 => 1000 * other(0b110, 11) + other(0b011, 12),
            2 => other(0b110, 13),
            // A chain: each lane meets the one before it, then the one after it.
            8..16 => {
                let before = if lane > 8 { other(0b11 << (lane - 1), lane) } else { 0 };
                let after = if lane < 15 { other(0b11 << lane, 100 + lane) } else { 0 };
                1000 * before + after
            }
            _ => 0,
        }
    });
    assert_eq!(got[..3], [12, 13_010, 11]);
    let chain = |lane: u32| {
        let before = if lane > 8 { 100 + lane - 1 } else { 0 };
        1000 * before + if lane < 15 { lane + 1 } else { 0 }
    };
    assert_eq!(got[8..16], (8..16).map(chain).collect::<Vec<u32>>());
}
