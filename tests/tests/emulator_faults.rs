// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes planted in the kernels: each must be caught, in every interleaving, for its own reason.

use cuda_sim::FaultKind;
use kernels_gpu::fault::{self, Fault};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tests::emulated::Sweep2d;
use tests::plain::{random_stencil, random_values, step};

/// How a mistake shows.
#[derive(Debug, PartialEq)]
enum Caught {
    /// The emulator reports it, at a line of this file and as this kind.
    Reported(&'static str, FaultKind),
    /// The result is wrong.
    WrongResult,
    /// Not at all.
    Missed,
}

/// One small launch with a mistake planted, several tiles for each block.
fn plant(planted: Fault, seed: u64) -> Caught {
    let sweep = Sweep2d { ny: 34, nx: 1030, blocks: 2, stages: 2, tile_rows: 12, seed };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let stencil = random_stencil(&mut random, 2);
    let values = random_values(&mut random, 34 * 1030);
    match fault::with(planted, || sweep.run(&stencil, &values, 1)) {
        Err(fault) => {
            println!("{planted:?}, seed {seed}: {fault}");
            Caught::Reported(fault.site.location.file(), fault.kind)
        }
        Ok((got, _)) => {
            let want = step(&stencil, 34, 1030, &values);
            let off = |(got, want): (&half::f16, &(f64, f64))| (got.to_f64() - want.0).abs() > 0.1;
            let wrong = got.iter().zip(&want).filter(|pair| off(*pair)).count();
            println!("{planted:?}, seed {seed}: {wrong} points are wrong");
            if wrong > 0 { Caught::WrongResult } else { Caught::Missed }
        }
    }
}

fn assert_caught(planted: Fault, expected: impl Fn(&Caught) -> bool) {
    for seed in 0..4 {
        let caught = plant(planted, seed);
        assert!(expected(&caught), "{planted:?} with seed {seed}: {caught:?}");
    }
}

/// Asserts that a planted mistake is reported, at a line of `kernels-gpu`, as one of these kinds.
macro_rules! assert_reported {
    ($planted:ident, $($kind:tt)*) => {
        assert_caught(Fault::$planted, |caught| {
            matches!(caught, Caught::Reported(file, $($kind)*) if file.contains("kernels-gpu/src"))
        })
    };
}

#[test]
fn exchanged_metadata_halves_give_a_wrong_result() {
    assert_caught(Fault::MetadataHalf, |caught| *caught == Caught::WrongResult);
}

#[test]
fn swapped_chunks_give_a_wrong_result() {
    assert_caught(Fault::SwappedChunks, |caught| *caught == Caught::WrongResult);
}

#[test]
fn a_halo_that_starts_one_row_too_low_gives_a_wrong_result() {
    assert_caught(Fault::Halo, |caught| *caught == Caught::WrongResult);
}

#[test]
fn an_unaligned_copy_is_reported() {
    assert_reported!(UnalignedCopy, FaultKind::Misaligned { alignment: 16, .. });
}

#[test]
fn a_missing_wait_for_a_full_stage_is_reported() {
    // Before the copy is issued, the bytes are unwritten; from then on, the wait is missing.
    assert_reported!(NoFullWait, FaultKind::Unwritten(_) | FaultKind::MissingWait { .. });
}

#[test]
fn a_missing_wait_for_an_empty_stage_is_reported() {
    // Depending on who is first: a second announcement in a phase, or a copy over unread data.
    assert_reported!(
        NoEmptyWait,
        FaultKind::OverArrival { .. } | FaultKind::Race { .. } | FaultKind::MissingWait { .. }
    );
}

#[test]
fn the_wrong_parity_is_reported() {
    assert_reported!(Parity, FaultKind::Unwritten(_) | FaultKind::MissingWait { .. });
}

#[test]
fn a_missing_warp_barrier_is_reported() {
    assert_reported!(NoWarpSync, FaultKind::Race { .. });
}

#[test]
fn a_release_by_every_lane_is_reported() {
    assert_reported!(EveryLaneReleases, FaultKind::OverArrival { .. } | FaultKind::Race { .. });
}

#[test]
fn an_unannounced_copy_is_reported() {
    assert_reported!(
        NoAnnouncement,
        FaultKind::Unannounced { .. } | FaultKind::Unwritten(_) | FaultKind::Deadlock { .. }
    );
}

#[test]
fn a_missing_block_barrier_is_reported() {
    assert_reported!(NoBlockSync, FaultKind::NoBarrier(_) | FaultKind::BarrierUnseen { .. });
}

#[test]
fn without_a_planted_mistake_nothing_is_reported() {
    let sweep = Sweep2d { ny: 5, nx: 9, blocks: 1, stages: 2, tile_rows: 4, seed: 0 };
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let stencil = random_stencil(&mut random, 1);
    assert!(sweep.run(&stencil, &random_values(&mut random, 45), 1).is_ok());
}
