// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes planted in the kernels: each must be caught, in every interleaving, for its own reason; a
//! report must name the line of the access that came too early.

use cuda_sim::{Access, Chip, FaultKind, OnChip as _, SourceLine};
use kernels_gpu::chain2d::Stages;
use kernels_gpu::fault::{self, Fault};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use stencil::check::verify::Verify;
use stencil::engine::EngineRequest;
use stencil::run::{Request, run};
use stencil::{Depth, Job};
use stencil::{Dtype, Error, Grid, Shape};
use tests::cases_chain3d;
use tests::draw;
use tests::emulated::{EmulatedChain2d, EmulatedSweep2d};
use tests::plain::{full_box, random_values, step};
use tests::suite::TestCase as _;

/// How a mistake shows.
#[derive(Debug, PartialEq)]
enum Caught {
    /// The emulator reports it.
    Reported(cuda_sim::Fault),
    /// The result is wrong.
    WrongResult,
    /// Not at all.
    Missed,
}

/// One small launch of a sweep with a mistake planted, several tiles for each block.
fn in_sweep(planted: Fault, seed: u64) -> Caught {
    let sweep = EmulatedSweep2d {
        dtype: Dtype::F16,
        ny: 34,
        nx: 1030,
        blocks: 2,
        stages: 2,
        tile_rows: 12,
        seed,
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let stencil = full_box(&mut random, 2);
    let values = random_values(&mut random, 34 * 1030);
    match fault::with(planted, || sweep.run(&stencil, &values, 1)) {
        Err(fault) => Caught::Reported(fault),
        Ok((got, _)) => {
            let want = step(&stencil, 34, 1030, &values);
            let off = |(got, want): (&half::f16, &(f64, f64))| (got.to_f64() - want.0).abs() > 0.1;
            let wrong = got.iter().zip(&want).any(off);
            if wrong { Caught::WrongResult } else { Caught::Missed }
        }
    }
}

/// As [`in_sweep`], on a chip without copy engine.
fn in_sweep_on_sm_80(planted: Fault, seed: u64) -> Caught {
    Chip::Sm80.with(|| in_sweep(planted, seed))
}

/// One small launch of three steps of a sweep, two of them in a wavefront, with a mistake planted. Tiles end
/// with their last stages.
fn in_steps(planted: Fault, seed: u64) -> Caught {
    let sweep = EmulatedSweep2d {
        dtype: Dtype::F16,
        ny: 36,
        nx: 1030,
        blocks: 3,
        stages: 2,
        tile_rows: 14,
        seed,
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let stencil = full_box(&mut random, 2);
    let values = random_values(&mut random, 36 * 1030);
    match fault::with(planted, || sweep.run_together(&stencil, &values, 3, 3, 2)) {
        Err(fault) => Caught::Reported(fault),
        Ok(_) => Caught::Missed,
    }
}

/// One small launch of two chained steps with a mistake planted, every ring used several times over.
fn in_chain(planted: Fault, seed: u64) -> Caught {
    let stages = Stages { input: 2, ring: 3 };
    let (dtype, ny, nx, blocks) = (Dtype::F16, 34, 530, 1);
    let launch = EmulatedChain2d { dtype, chain: 2, ny, nx, blocks, stages, seed };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let stencil = full_box(&mut random, 2);
    let values = random_values(&mut random, 34 * 530);
    match fault::with(planted, || launch.run(&stencil, &values)) {
        Err(fault) => Caught::Reported(fault),
        Ok(_) => Caught::Missed,
    }
}

/// A chain in space of few planes, whose stages are cleared, with a mistake planted.
fn in_chain3d(planted: Fault, seed: u64) -> Caught {
    let few =
        |case: &&cases_chain3d::Case| case.config.segments.is_some_and(|[_, planes]| planes == 1);
    let cases = cases_chain3d::cases();
    let case = cases.iter().filter(few).nth(seed as usize).expect("many cases");
    match fault::with(planted, || case.emulate()) {
        Err(fault) => Caught::Reported(fault),
        Ok(_) => Caught::Missed,
    }
}

/// A launch of chained sweeps and the rim beside it, with a mistake planted, through the whole program.
fn in_rim(planted: Fault, seed: u64) -> Caught {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let stencil = draw::stencil(&mut random, 2, [0, 1, 1]);
    let shape = Shape::new(&[40, 90]).unwrap();
    let (fuse, chain) = (Depth::Steps(1), Depth::Steps(4));
    let kernel = Some("chain2d");
    let job = Job { kernel, fuse, chain, ..Job::new(stencil, shape, Dtype::F16, 4) };
    let input = Grid::random(shape, Dtype::F16, seed).unwrap();
    let (engine, verify) = (EngineRequest::Emulate, Some(Verify::Full));
    match fault::with(planted, || run(&Request { job, input, engine, verify })) {
        Err(Error::Fault(fault)) => Caught::Reported(fault),
        Err(_) => Caught::WrongResult,
        Ok(_) => Caught::Missed,
    }
}

fn assert_caught(
    plant: impl Fn(Fault, u64) -> Caught,
    planted: Fault,
    expected: impl Fn(&Caught) -> bool,
) {
    for seed in 0..4 {
        let caught = plant(planted, seed);
        if let Caught::Reported(fault) = &caught {
            println!("{planted:?}, seed {seed}: {fault}; {:?}", source_lines(fault));
        }
        assert!(expected(&caught), "{planted:?} with seed {seed}: {caught:?}");
    }
}

/// The line of the kernels' source at a place.
fn source_line(location: SourceLine) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(location.file());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let line = text.lines().nth(location.line() as usize - 1).expect("the file has this line");
    line.trim().to_owned()
}

/// The line that a report is about; of a race, which is found at the later access, both lines.
fn source_lines(fault: &cuda_sim::Fault) -> Vec<String> {
    let mut lines = vec![source_line(fault.site.location)];
    if let FaultKind::Race { other, .. } = &fault.kind {
        lines.push(source_line(other.location));
    }
    lines
}

/// Asserts that a planted mistake is reported as one of these kinds, each at a line with one of these
/// pieces of code.
macro_rules! assert_reported {
    ($plant:ident, $planted:ident, $($kind:pat => $code:expr),+ $(,)?) => {
        assert_caught($plant, Fault::$planted, |caught| {
            let Caught::Reported(fault) = caught else { return false };
            let lines = source_lines(fault);
            let has = |code: &&str| lines.iter().any(|line| line.contains(code));
            match fault.kind {
                $($kind => $code.iter().any(has),)+
                _ => false,
            }
        })
    };
}

#[test]
fn exchanged_metadata_halves_give_a_wrong_result() {
    assert_caught(in_sweep, Fault::MetadataHalf, |caught| *caught == Caught::WrongResult);
}

#[test]
fn swapped_chunks_give_a_wrong_result() {
    assert_caught(in_sweep, Fault::SwappedChunks, |caught| *caught == Caught::WrongResult);
}

#[test]
fn a_halo_that_starts_one_row_too_low_gives_a_wrong_result() {
    assert_caught(in_sweep, Fault::Halo, |caught| *caught == Caught::WrongResult);
}

#[test]
fn an_unaligned_copy_is_reported() {
    assert_reported!(in_sweep, UnalignedCopy,
        FaultKind::Misaligned { alignment: 16, .. } => ["copy::bulk("]);
    assert_reported!(in_sweep_on_sm_80, UnalignedCopy,
        FaultKind::Misaligned { alignment: 16, .. } => ["copy::async_16("]);
}

#[test]
fn a_missing_wait_for_a_full_stage_is_reported() {
    // Before the copy is issued, the bytes are unwritten, and the copy that comes later is a race with the read; from then on, the
    // wait is missing. A chain clears its rings: there the copy or the store comes late.
    assert_reported!(in_sweep, NoFullWait,
        FaultKind::Unwritten(_) | FaultKind::Race { .. } | FaultKind::MissingWait { .. }
            => ["shared::load_v2("]);
    assert_reported!(in_sweep_on_sm_80, NoFullWait,
        FaultKind::Unwritten(_) | FaultKind::Race { .. } | FaultKind::MissingWait { .. }
            => ["shared::load_v2("]);
    assert_reported!(in_chain, NoFullWait,
        FaultKind::AmbiguousPhase { .. } => ["wait_empty("],
        FaultKind::Race { .. } | FaultKind::MissingWait { .. }
            => ["shared::load_v4(", "copy::bulk_store("]);
}

#[test]
fn a_missing_wait_for_an_empty_stage_is_reported() {
    // Depending on who is first: a second announcement in a phase, or a copy over unread data.
    assert_reported!(in_sweep, NoEmptyWait,
        FaultKind::OverArrival { .. } => ["barrier::arrive_expect("],
        FaultKind::Race { .. } | FaultKind::MissingWait { .. } => ["copy::bulk("]);
    assert_reported!(in_sweep_on_sm_80, NoEmptyWait,
        FaultKind::OverArrival { .. } => ["copy::async_arrive("],
        FaultKind::Race { .. } | FaultKind::MissingWait { .. } => ["copy::async_16("]);
    assert_reported!(in_chain, NoEmptyWait,
        FaultKind::OverArrival { .. } => ["barrier::arrive_expect(", "self.output.publish("],
        FaultKind::Race { .. } | FaultKind::MissingWait { .. }
            => ["copy::bulk(", "matrix::store_transposed_x2("]);
}

#[test]
fn the_wrong_parity_is_reported() {
    assert_reported!(in_sweep, Parity,
        FaultKind::Unwritten(_) | FaultKind::Race { .. } | FaultKind::MissingWait { .. }
            => ["shared::load_v2("]);
    assert_reported!(in_chain, Parity,
        FaultKind::AmbiguousPhase { .. } => ["wait_empty("],
        FaultKind::Race { .. } | FaultKind::MissingWait { .. }
            => ["shared::load_v4(", "copy::bulk_store("]);
}

#[test]
fn a_stage_that_is_left_before_it_has_been_read_is_reported() {
    assert_reported!(in_sweep, EarlyRelease, FaultKind::Race { .. } => ["copy::bulk("]);
    assert_reported!(in_sweep_on_sm_80, EarlyRelease,
        FaultKind::Race { .. } => ["copy::async_16("]);
}

#[test]
fn a_stage_that_is_published_before_the_warp_has_written_it_is_reported() {
    assert_reported!(in_chain, NoSyncBeforePublish,
        FaultKind::Race { .. } => ["matrix::store_transposed_x2("]);
}

#[test]
fn a_stage_that_is_given_back_before_it_has_been_copied_is_reported() {
    assert_reported!(in_chain, NoWaitStoresRead,
        FaultKind::MissingWait { .. } => ["matrix::store_transposed_x2("]);
}

#[test]
fn a_missing_proxy_fence_is_reported() {
    assert_reported!(in_chain, NoFenceOfStores,
        FaultKind::Unfenced { access: Access::Read, fence: "fence_shared", .. }
            => ["copy::bulk_store("]);
    assert_reported!(in_chain, NoFenceOfZeros,
        FaultKind::Unfenced { access: Access::Write, .. } => ["copy::bulk("]);
    assert_reported!(in_chain3d, NoFenceOfZeros,
        FaultKind::Unfenced { access: Access::Write, .. } => ["copy::tensor_2d("]);
    assert_reported!(in_steps, NoFenceOfSteps,
        FaultKind::Unfenced { access: Access::Read, fence: "fence_global", .. } => ["copy::bulk("]);
}

#[test]
fn a_release_by_one_lane_for_its_warp_is_reported() {
    assert_reported!(in_sweep, OneLaneReleases,
        FaultKind::Deadlock { .. } => ["ring.wait_empty(", "ring.wait_full("]);
}

#[test]
fn an_unannounced_copy_is_reported() {
    assert_reported!(in_sweep, NoAnnouncement,
        FaultKind::Unannounced { .. } => ["copy::bulk("],
        FaultKind::Unwritten(_) | FaultKind::Race { .. } => ["shared::load_v2("],
        FaultKind::Deadlock { .. } => ["ring.wait_full("]);
    assert_reported!(in_sweep_on_sm_80, NoAnnouncement,
        FaultKind::Deadlock { .. } => ["ring.wait_full("]);
}

#[test]
fn a_producer_that_returns_before_its_copies_are_done_is_reported() {
    let caught = |seed| in_sweep_on_sm_80(Fault::NoFinish, seed);
    let unfinished = |caught: &Caught| matches!(caught, Caught::Reported(fault) if fault.kind == FaultKind::Unfinished);
    // Only where the last copies take longer than the producer's way to its end.
    assert!((0..4).map(caught).any(|caught| unfinished(&caught)));
}

#[test]
fn a_missing_block_barrier_is_reported() {
    assert_reported!(in_sweep, NoBlockSync,
        FaultKind::NoBarrier(_) | FaultKind::BarrierUnseen { .. }
            => ["ring.wait_full(", "ring.wait_empty("]);
}

#[test]
fn a_missing_wait_for_the_launch_before_is_reported() {
    assert_reported!(in_sweep, NoWaitForPrevious,
        FaultKind::EarlyStart => ["overlap::start_next("]);
    assert_reported!(in_sweep, NoWaitBeforeStores,
        FaultKind::NoWaitForPrevious(_) => ["global::store("]);
}

#[test]
fn a_missing_wait_for_the_step_before_is_reported() {
    // Of the block's own tiles, only the proxy fence that comes with the wait is missing.
    assert_reported!(in_steps, NoWaitForRows,
        FaultKind::Unfenced { .. } => ["copy::bulk("],
        FaultKind::Race { .. } | FaultKind::MissingWait { .. } => ["copy::bulk(", "global::store("]);
}

#[test]
fn a_missing_count_of_a_finished_tile_is_reported() {
    assert_reported!(in_steps, NoCount, FaultKind::Deadlock { .. } => ["global::wait_at_least("]);
}

#[test]
fn a_count_of_a_tile_that_is_not_finished_is_reported() {
    assert_reported!(in_steps, EarlyCount,
        FaultKind::Race { .. } | FaultKind::MissingWait { .. } => ["copy::bulk(", "global::store("]);
    assert_reported!(in_steps, NoSyncBeforePublish,
        FaultKind::Race { .. } => ["copy::bulk(", "global::store("]);
}

#[test]
fn a_launch_that_writes_what_the_rim_beside_it_writes_is_reported() {
    assert_reported!(in_rim, WholeGrid,
        FaultKind::NoWaitForPrevious(_) => ["kernels! {"]);
}

#[test]
fn a_rim_that_may_end_before_the_launch_beside_it_is_reported() {
    assert_caught(
        in_rim,
        Fault::NoWaitAtEnd,
        |caught| matches!(caught, Caught::Reported(fault) if matches!(fault.kind, FaultKind::EarlyEnd)),
    );
}

#[test]
fn without_a_planted_mistake_nothing_is_reported() {
    let sweep = EmulatedSweep2d {
        dtype: Dtype::F16,
        ny: 5,
        nx: 9,
        blocks: 1,
        stages: 2,
        tile_rows: 4,
        seed: 0,
    };
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let stencil = full_box(&mut random, 1);
    assert!(sweep.run(&stencil, &random_values(&mut random, 45), 1).is_ok());
}
