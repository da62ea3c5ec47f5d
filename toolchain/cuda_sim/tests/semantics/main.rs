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

mod copies;
mod lanes;
mod products;

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
fn the_chip_is_that_of_the_innermost_scope() {
    assert_eq!(Chip::current(), Chip::Sm90);
    Chip::Sm80.with(|| {
        assert_eq!(Chip::Sm90.with(Chip::current), Chip::Sm90);
        assert_eq!(Chip::current(), Chip::Sm80);
    });
    assert_eq!(Chip::current(), Chip::Sm90);
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
