// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emulated GPUs that share a grid: packing, order and the bits of one GPU.

use super::*;
use crate::engine::SumSession;
use crate::families::FAMILIES;
use problem::check::verify;
use problem::{Boundary, Dtype, Grid, Shape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::catalogue;

/// Extents that can be cut as the counts say, some of them no whole number of tiles.
fn job(rng: &mut ChaCha8Rng) -> (Job, [usize; 3]) {
    let dims = rng.random_range(1..=3);
    let (mut extents, mut counts) = ([1; 3], [1; 3]);
    let boundary = ["zero", "periodic", "reflect", "x:periodic", "x-:constant=1,x+:edge"];
    let boundary = boundary[rng.random_range(0..boundary.len())];
    let boundary = Boundary::parse(boundary, dims).unwrap();
    let most = if dims == 3 { [3, 2, 2] } else { [1, 3, 3] };
    for axis in 3 - dims..3 {
        let unit = UNITS[axis];
        let tiles = rng.random_range(1..=most[axis]);
        counts[axis] = rng.random_range(1..=tiles.min(3));
        // Now and then whole tiles, which rings keep the bits by.
        let less = if rng.random_bool(0.3) { 0 } else { rng.random_range(0..unit) };
        extents[axis] = tiles * unit - less;
    }
    let radius = rng.random_range(1..=2);
    let name = format!("{}{dims}d{radius}r", ["star", "box"][rng.random_range(0..2)]);
    let shape = Shape::new(&extents[3 - dims..]).unwrap();
    let dtype =
        [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32, Dtype::F64][rng.random_range(0..5)];
    let steps = rng.random_range(1..14);
    let mut job = Job::new(catalogue::find(&name).unwrap(), shape, dtype, steps);
    job.boundary = boundary;
    if rng.random_bool(0.4) {
        job.kernel = Some(FAMILIES[rng.random_range(0..FAMILIES.len())].name());
    }
    (job, counts)
}

fn advanced(session: &mut dyn SumSession, job: &Job, input: &Grid) -> Grid {
    session.load(input).unwrap();
    let first = job.steps / 2;
    session.advance(first).unwrap();
    session.advance(job.steps - first).unwrap();
    session.store().unwrap()
}

/// What is computed agrees with the oracle, and where nothing says otherwise has the bits of one device, whatever
/// is cut. `SHARED_CASES=1000` for more.
#[test]
fn emulated_gpus_have_the_bits_of_one() {
    let cases = std::env::var("SHARED_CASES").map_or(4, |cases| cases.parse().unwrap());
    let from = std::env::var("SHARED_FROM").map_or(0, |from| from.parse().unwrap());
    let (mut seen, mut otherwise, mut seed) = (0, 0, from);
    while seen < cases || otherwise == 0 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (job, counts) = job(&mut rng);
        seed += 1;
        let planned = on_gpu(&RunTarget::described(Machine::h200()), &job);
        let count = counts.iter().product();
        let among =
            |count, split| Sharing { split: Some(split), ..Sharing::among(Ranks::Threads(count)) };
        let of_limits = (&job, Limits::H200);
        let found = among(count, counts).on_devices(&planned, of_limits, RankEngine::Emulated);
        let Ok(Some(shared)) = found else { continue };
        // Transforms round by tiles, which lie elsewhere in parts.
        let rounds_by_points = job.kernel != Some("flashfft");
        if count == 1 || !rounds_by_points {
            continue;
        }
        let period = shared.rhythm.period * rng.random_range(1..3);
        let rhythm = ExchangeInterval { period, edges: rng.random_bool(0.5) };
        let shared = RankedEngine { rhythm, ..shared };
        let alone = RankedEngine {
            ranks: Ranks::Threads(1),
            partition: Partition::new(job.shape, [1; 3], UNITS).unwrap(),
            with: shared.with.clone(),
            ..shared
        };
        let input = Grid::random(job.shape, job.dtype, seed).unwrap();
        let what = format!("seed {}: {} of {job:?} by {:?}", seed - 1, alone.name, alone.with);
        let mut team = shared.prepare(&job).unwrap();
        let (device, how) = (team.device(), (team.arithmetic(), team.jumped()));
        let shared = advanced(&mut *team, &job, &input);
        let found = verify::whole(&job, how, &input, &shared).unwrap();
        assert!(found.holds(), "cut {counts:?}; {what}: {found:?}");
        seen += 1;
        if device.contains("last digits may differ") {
            otherwise += 1;
            continue;
        }
        let alone = advanced(&mut *alone.prepare(&job).unwrap(), &job, &input);
        let differ: Vec<usize> =
            (0..job.shape.points()).filter(|&at| alone.get(at) != shared.get(at)).collect();
        let first = differ.first().map(|&at| job.shape.position(at));
        assert!(
            differ.is_empty(),
            "{} of {} differ, first {first:?}; cut {counts:?}; {what}",
            differ.len(),
            job.shape.points()
        );
    }
}

/// Two of eight processes, on this machine.
struct Two;

impl crate::ranks::Messenger for Two {
    fn failure(&self) -> &std::cell::OnceCell<problem::error::RankFailure> {
        unreachable!("nobody fails")
    }
    fn rank(&self) -> usize {
        0
    }
    fn ranks(&self) -> usize {
        8
    }
    fn local_ranks(&self) -> usize {
        2
    }
    fn describe(&self) -> String {
        String::new()
    }
    fn send(&self, _: usize, _: crate::ranks::MessageKind, _: Vec<u8>) -> Result<(), Error> {
        unreachable!("nothing is sent")
    }
    fn receive(&self, _: usize, _: crate::ranks::MessageKind) -> Result<Vec<u8>, Error> {
        unreachable!("nothing is sent")
    }
}

/// Periodic axes of any length are cut: of less than a tile more than one part has, of primes, of so few points that ghosts
/// go around more than once.
#[test]
fn rings_of_any_length_are_cut() {
    for (name, size, split, dtype, steps, period) in [
        ("star1d1r", "131", [1, 1, 2], Dtype::F16, 24, None),
        ("star1d2r", "200", [1, 1, 3], Dtype::F32, 12, Some(4)),
        ("star2d1r", "17x70", [1, 2, 1], Dtype::F16, 9, None),
        ("box2d2r", "37x131", [1, 2, 2], Dtype::Bf16, 6, Some(6)),
        ("star2d1r", "50x33", [1, 3, 1], Dtype::F64, 7, None),
        ("star3d1r", "5x19x30", [1, 2, 1], Dtype::F32, 4, Some(2)),
        ("star3d1r", "5x19x30", [3, 1, 1], Dtype::F16, 4, Some(2)),
    ] {
        let shape = size.parse().unwrap();
        let mut job = Job::new(catalogue::find(name).unwrap(), shape, dtype, steps);
        job.boundary = Boundary::parse("periodic", shape.dims()).unwrap();
        let ranks = Ranks::Threads(split.iter().product());
        let sharing = Sharing { split: Some(split), period, ..Sharing::among(ranks) };
        let planned = on_gpu(&RunTarget::described(Machine::h200()), &job);
        let engine = sharing.on_devices(&planned, (&job, Limits::H200), RankEngine::Emulated);
        let mut team = engine.unwrap().unwrap().prepare(&job).unwrap();
        let input = Grid::random(shape, dtype, 1).unwrap();
        let output = advanced(&mut *team, &job, &input);
        let how = (team.arithmetic(), team.jumped());
        let found = verify::whole(&job, how, &input, &output).unwrap();
        assert!(found.holds(), "{name} {size} {dtype} cut {split:?}: {found:?}");
    }
}

#[test]
fn of_a_grid_that_processes_make_those_of_a_machine_have_their_parts() {
    let two = Sharing::among(Ranks::Processes(std::rc::Rc::new(Two)));
    assert_eq!(two.here(1001), 251);
    assert_eq!(Sharing::among(Ranks::Threads(4)).here(1001), 1001);
}

/// Steps of a jump that two H200s share, asked for or not.
fn jump(name: &str, size: &str, boundary: &str, steps: usize, asked: Option<usize>) -> usize {
    let mut job =
        Job::new(catalogue::find(name).unwrap(), size.parse().unwrap(), Dtype::F64, steps);
    job.boundary = Boundary::parse(boundary, job.shape.dims()).unwrap();
    let two = Sharing { period: asked, ..Sharing::among(Ranks::Threads(2)) };
    let partition = two.partition(job.shape, [1; 3]).unwrap();
    let abilities = choice::abilities(RunTarget::described(Machine::h200()));
    jumps::of_gpus(&job, &two, &partition, abilities).unwrap()
}

#[test]
fn shared_jumps_are_as_long_as_is_best() {
    // Of 10,000 steps of an average ghosts of some hundred rows are left, which cost less than a second jump.
    assert_eq!(jump("star2d1r", "10240x10240", "periodic", 10_000, None), 10_000);
    // Where rims are stepped, short ones.
    let short = jump("box2d3r", "10240x10240", "zero", 1000, None);
    assert!((20..500).contains(&short), "{short}");
    assert_eq!(jump("box2d3r", "10240x10240", "zero", 1000, Some(32)), 32);
}

#[test]
fn jumps_that_no_gpu_takes_are_refused() {
    let box2d3r = catalogue::find("box2d3r").unwrap();
    let mut job = Job::new(box2d3r, "64x30011".parse().unwrap(), Dtype::F64, 10);
    job.boundary = Boundary::parse("periodic", 2).unwrap();
    let two = Sharing { split: Some([1, 2, 1]), ..Sharing::among(Ranks::Threads(2)) };
    let partition = two.partition(job.shape, [1; 3]).unwrap();
    let abilities = choice::abilities(RunTarget::described(Machine::h200()));
    let refused = jumps::of_gpus(&job, &two, &partition, abilities).unwrap_err().to_string();
    assert!(refused.contains("fit 227.0 KiB of shared memory"), "{refused}");
}
