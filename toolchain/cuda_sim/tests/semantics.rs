// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels without mistakes: each device function does what the PTX ISA says, in every interleaving.

use cuda_sim::{
    Buffer, Chip, LaunchConfig, Memory, OnChip as _, Swizzle, TensorMap, barrier, copy, global,
    grid, launch, math, matrix, mma, shared, thread, warp,
};

const SHAPE: LaunchConfig = LaunchConfig {
    blocks: 1,
    threads: 64,
    blocks_yz: [1; 2],
    threads_yz: [1; 2],
    shared_bytes: 8192,
    seed: 0,
    registers: 32,
    cooperative: false,
    overlapping: false,
    steps: 1 << 22,
};

/// Runs a kernel under several seeds; each thread stores the word that it returns.
fn words(shape: LaunchConfig, memory: &mut Memory, kernel: impl Fn() -> u32) -> Vec<u32> {
    let threads = (shape.blocks * shape.threads) as usize;
    let run = |seed| {
        let out: Buffer<u32> = memory.output("out", threads);
        launch("tiny", LaunchConfig { seed, ..shape }, memory, || {
            let index = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
            global::store(out.as_mut_ptr().wrapping_add(index as usize), kernel());
        })
        .unwrap_or_else(|fault| panic!("{fault}"));
        memory.read(out)
    };
    let mut runs: Vec<Vec<u32>> = (0..16).map(run).collect();
    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "the seed changes no result");
    runs.remove(0)
}

#[test]
fn threads_know_their_indices() {
    let shape = LaunchConfig { blocks: 3, ..SHAPE };
    let got = words(shape, &mut Memory::new(), || {
        assert_eq!((thread::block_dim_x(), thread::grid_dim_x()), (64, 3));
        assert_eq!(warp::lane_id(), thread::thread_idx_x() % 32);
        thread::block_idx_x() * 1000 + thread::thread_idx_x()
    });
    let want: Vec<u32> = (0..3).flat_map(|block| (0..64).map(move |t| block * 1000 + t)).collect();
    assert_eq!(got, want);
}

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
fn a_block_barrier_shows_what_others_wrote() {
    let got = words(SHAPE, &mut Memory::new(), || {
        let thread = thread::thread_idx_x();
        shared::store(shared::dynamic() + 4 * thread, thread * thread);
        thread::sync_threads();
        let mirrored = 63 - thread;
        shared::load_v4(mirrored / 4 * 16)[(mirrored % 4) as usize]
    });
    let want: Vec<u32> = (0..64).map(|thread| (63 - thread) * (63 - thread)).collect();
    assert_eq!(got, want);
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

#[test]
fn the_chip_is_that_of_the_innermost_scope() {
    assert_eq!(Chip::current(), Chip::Sm90);
    Chip::Sm80.with(|| {
        assert_eq!(Chip::Sm90.with(Chip::current), Chip::Sm90);
        assert_eq!(Chip::current(), Chip::Sm80);
    });
    assert_eq!(Chip::current(), Chip::Sm90);
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
fn wide_accesses_to_global_memory_move_neighbouring_words() {
    let mut memory = Memory::new();
    let input = memory.in_out("input", &std::array::from_fn::<u32, 256, _>(|i| i as u32));
    let out: Buffer<u32> = memory.output("out", 128);
    launch("tiny", SHAPE, &mut memory, || {
        let thread = thread::thread_idx_x() as usize;
        let [a, b, c, d] = global::load_v4(input.as_ptr().wrapping_add(4 * thread));
        global::store_v2(out.as_mut_ptr().wrapping_add(2 * thread), [1000 * a + b, 1000 * c + d]);
    })
    .unwrap_or_else(|fault| panic!("{fault}"));
    let want: Vec<u32> = (0..128).map(|i| 1000 * (2 * i) + 2 * i + 1).collect();
    assert_eq!(memory.read(out), want);
}

/// Two launches that read the same and write one buffer side by side; the second ends after the first.
#[test]
fn launches_may_run_beside_each_other() {
    let mut memory = Memory::new();
    let input = memory.in_out("input", &[7u32; 64]);
    let half_each = memory.in_out("half each", &[7u32; 128]);
    let shape = LaunchConfig { overlapping: true, ..SHAPE };
    let half = |start: u32, waits_first: bool| {
        move || {
            if waits_first {
                grid::wait_for_previous();
            }
            let at = start + thread::thread_idx_x();
            let word = global::load(input.as_ptr());
            global::store(half_each.as_mut_ptr().wrapping_add(at as usize), word + at);
            if waits_first {
                grid::start_next();
            } else {
                grid::wait_for_previous();
            }
        }
    };
    for (start, waits_first) in [(0, true), (64, false)] {
        launch("half", shape, &mut memory, half(start, waits_first))
            .unwrap_or_else(|fault| panic!("{fault}"));
    }
    assert_eq!(memory.read(half_each), (7..135).collect::<Vec<u32>>());
}

/// A launch beside one whose counter has been freed: what lies there now is no counter.
#[test]
fn a_freed_counter_is_forgotten() {
    let mut memory = Memory::new();
    let shape = LaunchConfig { threads: 32, overlapping: true, ..SHAPE };
    let counter = memory.in_out("counter", &[0u32; 64]).as_mut_ptr();
    launch("counts", shape, &mut memory, || {
        grid::wait_for_previous();
        global::add_release(counter, 1);
        grid::start_next();
    })
    .unwrap_or_else(|fault| panic!("{fault}"));
    memory.free(counter);
    let data = memory.in_out("data", &[0u32; 64]);
    launch("stores", shape, &mut memory, || {
        let at = data.as_mut_ptr().wrapping_add(thread::thread_idx_x() as usize);
        global::store(at, 1);
        grid::wait_for_previous();
    })
    .unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(memory.read_at(data, 0, 32), [1; 32]);
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

#[test]
fn the_same_seed_gives_the_same_run() {
    let order = |seed| {
        let arrivals = std::cell::RefCell::new(Vec::new());
        let kernel = || {
            arrivals.borrow_mut().push((thread::block_idx_x(), thread::thread_idx_x() / 32));
        };
        let shape = LaunchConfig { blocks: 4, threads: 128, seed, ..SHAPE };
        launch("tiny", shape, &mut Memory::new(), kernel).unwrap();
        arrivals.into_inner()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

/// Grids and blocks of three dimensions: x goes first, and every thread has its own indices.
#[test]
fn threads_know_their_indices_along_all_dimensions() {
    let shape =
        LaunchConfig { blocks: 2, blocks_yz: [3, 2], threads: 5, threads_yz: [3, 2], ..SHAPE };
    let mut memory = Memory::new();
    let seen: Buffer<u32> = memory.zeros("seen", 12 * 30);
    launch("tiny", shape, &mut memory, || {
        let dims = [thread::grid_dim_x(), thread::grid_dim_y(), thread::grid_dim_z()];
        assert_eq!(dims, [2, 3, 2]);
        let dims = [thread::block_dim_x(), thread::block_dim_y(), thread::block_dim_z()];
        assert_eq!(dims, [5, 3, 2]);
        let (x, y, z) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z());
        let own = x + 5 * (y + 3 * z);
        assert_eq!(warp::lane_id(), own % 32);
        let (x, y, z) = (thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z());
        let at = (x + 2 * (y + 3 * z)) * 30 + own;
        global::store(seen.as_mut_ptr().wrapping_add(at as usize), 1 + at);
    })
    .unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(memory.read(seen), (1..=360).collect::<Vec<u32>>());
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
