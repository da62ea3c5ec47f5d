// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies by copy engines and by `cp.async`, and barriers that they arrive at.

use super::*;

/// A pipeline of one producer and one consumer warp through a ring of two stages.
#[test]
fn bulk_copies_and_barriers_make_a_pipeline() {
    const ROUNDS: u32 = 9;
    let mut memory = Memory::new();
    let source: Vec<u32> = (0..64 * ROUNDS).collect();
    let source = memory.input("source", &source);
    let got = words(SHAPE, &mut memory, || {
        let (full, empty) = (|stage| 16 * stage, |stage| 16 * stage + 8);
        if thread::thread_idx_x() == 0 {
            for stage in 0..2 {
                barrier::init(full(stage), 1);
                barrier::init(empty(stage), 1);
            }
            barrier::fence_init();
        }
        thread::sync_threads();
        let mut sum = 0;
        for round in 0..ROUNDS {
            let (stage, parity) = (round % 2, round / 2 % 2);
            let data = 128 + 256 * stage;
            if thread::thread_idx_x() >= 32 {
                barrier::wait(empty(stage), parity ^ 1);
                if warp::lane_id() == 0 {
                    barrier::arrive_expect(full(stage), 256);
                    let from = source.as_ptr().wrapping_add(64 * round as usize);
                    copy::bulk(data, from.cast(), 256, full(stage));
                }
            } else {
                barrier::wait(full(stage), parity);
                sum += shared::load_v4(data + 16 * (warp::lane_id() / 2)).iter().sum::<u32>();
                warp::sync();
                if warp::lane_id() == 0 {
                    barrier::arrive(empty(stage));
                }
            }
        }
        sum
    });
    for (thread, sum) in got.into_iter().enumerate() {
        let words = |round: u32| (0..4).map(move |i| 64 * round + 4 * (thread as u32 / 2) + i);
        let want = if thread < 32 { (0..ROUNDS).flat_map(words).sum() } else { 0 };
        assert_eq!(sum, want, "thread {thread}");
    }
}

#[test]
fn cp_async_data_is_there_after_the_wait() {
    let mut memory = Memory::new();
    let source: Vec<u32> = (0..256).collect();
    let source = memory.input("source", &source);
    let got = words(SHAPE, &mut memory, || {
        let thread = thread::thread_idx_x();
        copy::async_16(16 * thread, source.as_ptr().wrapping_add(4 * thread as usize).cast());
        copy::async_wait_all();
        thread::sync_threads();
        shared::load_v4(16 * (thread ^ 1))[2]
    });
    let want: Vec<u32> = (0..64).map(|thread| 4 * (thread ^ 1) + 2).collect();
    assert_eq!(got, want);
}

/// As `bulk_copies_and_barriers_make_a_pipeline`, on a chip without copy engine: each lane of the
/// producer copies 16 bytes twice and arrives when they are there.
#[test]
fn cp_async_and_barriers_make_a_pipeline_on_sm_80() {
    const ROUNDS: u32 = 9;
    let mut memory = Memory::new();
    let source: Vec<u32> = (0..256 * ROUNDS).collect();
    let source = memory.input("source", &source);
    let run = || {
        words(SHAPE, &mut memory, || {
            let (full, empty) = (|stage| 16 * stage, |stage| 16 * stage + 8);
            let (lane, consumes) = (warp::lane_id(), thread::thread_idx_x() < 32);
            if thread::thread_idx_x() == 0 {
                for stage in 0..2 {
                    barrier::init(full(stage), 32);
                    barrier::init(empty(stage), 1);
                }
            }
            thread::sync_threads();
            let mut sum = 0;
            for round in 0..ROUNDS {
                let (stage, parity) = (round % 2, round / 2 % 2);
                let data = 128 + 1024 * stage;
                if consumes {
                    barrier::wait(full(stage), parity);
                    // What another lane has copied.
                    sum += shared::load_v4(data + 16 * (63 - lane)).iter().sum::<u32>();
                    warp::sync();
                    if lane == 0 {
                        barrier::arrive(empty(stage));
                    }
                } else {
                    barrier::wait(empty(stage), parity ^ 1);
                    for piece in [lane, lane + 32] {
                        let from = source.as_ptr().wrapping_add((256 * round + 4 * piece) as usize);
                        copy::async_16(data + 16 * piece, from.cast());
                    }
                    copy::async_arrive(full(stage));
                }
            }
            if !consumes {
                copy::async_wait_all();
            }
            sum
        })
    };
    for (thread, sum) in Chip::Sm80.with(run).into_iter().enumerate() {
        let words = |round: u32| (0..4).map(move |i| 256 * round + 4 * (63 - thread as u32) + i);
        let want = if thread < 32 { (0..ROUNDS).flat_map(words).sum() } else { 0 };
        assert_eq!(sum, want, "thread {thread}");
    }
}

/// Two groups of copies to global memory, whose sources are used again as soon as they are read.
#[test]
fn bulk_stores_take_their_sources_before_the_wait_ends() {
    let mut memory = Memory::new();
    let out: Buffer<u32> = memory.output("copied", 16 * 64);
    let _ = words(SHAPE, &mut memory, || {
        let thread = thread::thread_idx_x();
        let to = |round: u32| out.as_mut_ptr().wrapping_add((16 * thread + 4 * round) as usize);
        for round in 0..4 {
            // Of the two groups under way, the older one uses these bytes.
            copy::wait_stores_read(1);
            let source = 32 * thread + 16 * (round % 2);
            shared::store_v4(source, [1000 * round + thread; 4]);
            copy::fence_shared();
            copy::bulk_store(to(round).cast(), source, 16);
            copy::commit_stores();
        }
        copy::wait_stores_read(0);
        thread
    });
    for (index, word) in memory.read(out).into_iter().enumerate() {
        let (thread, round) = (index as u32 / 16, index as u32 % 16 / 4);
        assert_eq!(word, 1000 * round + thread, "word {index}");
    }
}

#[test]
fn boxes_are_zero_outside_of_the_array() {
    let mut memory = Memory::new();
    // 16 × 4 words, value 100·y + x + 1, boxes of 8 × 2.
    let elements: Vec<u32> = (0..64).map(|i| i / 16 * 100 + i % 16 + 1).collect();
    let array = memory.input("array", &elements);
    let map = TensorMap {
        address: array.as_ptr().cast(),
        element_bytes: 4,
        dims: vec![16, 4],
        strides: vec![64],
        box_dims: vec![8, 2],
        swizzle: Swizzle::None,
    };
    let map = memory.tensor_map(map).unwrap();
    let shape = LaunchConfig { threads: 32, ..SHAPE };
    for (x, y) in [(0, 0), (-4, -1), (12, 3), (4, 2), (-8, 0), (16, 0), (0, 4), (8, -2)] {
        let got = words(shape, &mut memory, || {
            if thread::thread_idx_x() == 0 {
                barrier::init(0, 1);
                barrier::fence_init();
                barrier::arrive_expect(0, 64);
                copy::tensor_2d(128, map, x, y, 0);
            }
            thread::sync_threads();
            barrier::wait(0, 0);
            let word = thread::thread_idx_x() % 16;
            shared::load_v4(128 + word / 4 * 16)[(word % 4) as usize]
        });
        for (thread, word) in got.into_iter().enumerate() {
            let (x, y) = (x + thread as i32 % 8, y + thread as i32 % 16 / 8);
            let inside = (0..16).contains(&x) && (0..4).contains(&y);
            assert_eq!(word, if inside { (100 * y + x + 1) as u32 } else { 0 }, "({x}, {y})");
        }
    }
}
