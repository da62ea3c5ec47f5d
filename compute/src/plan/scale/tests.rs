// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model at its limits.

use super::*;
use problem::{Boundary, Dtype};
use transform::catalogue;

/// Messages that take no time.
fn free() -> Network {
    Network {
        link_bytes_per_s: 1e30,
        link_latency_s: 0.0,
        fabric_bytes_per_s: 1e30,
        fabric_latency_s: 0.0,
        message_s: 0.0,
        pack_bytes_per_s: 1e30,
        exchange_s: 0.0,
        ..Network::h200_ndr()
    }
}

fn job(stencil: &str, size: &str, dtype: Dtype) -> Job {
    Job::new(catalogue::find(stencil).unwrap(), size.parse().unwrap(), dtype, 1000)
}

fn h200() -> RunTarget {
    RunTarget::described(Machine::h200())
}

fn predict(job: &Job, mode: ScalingMode, network: &Network, gpus: usize) -> Prediction {
    let target = h200();
    let scale = Scale::new(job, mode, &target, network).unwrap();
    scale.on(Cluster::of_full_nodes(gpus, 8)).unwrap()
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found:e} is not {expected:e}");
}

#[test]
fn one_gpu_is_what_others_are_compared_with() {
    for (stencil, size, dtype) in [
        ("box2d1r", "4096x4096", Dtype::F16),
        ("star3d1r", "256x256x256", Dtype::F32),
        ("star1d1r", "1000000", Dtype::F64),
    ] {
        let job = job(stencil, size, dtype);
        for mode in [ScalingMode::Strong, ScalingMode::Weak] {
            let one = predict(&job, mode, &Network::h200_ndr(), 1);
            let GhostExchange { times, exchange_s, traffic, period_steps, .. } = &one.after;
            near(times.efficiency, 1.0);
            assert!(times.vain_s < 1e-9 * times.own_s);
            assert_eq!((times.exposed_s, *exchange_s, traffic.bytes()), (0.0, 0.0, 0));
            assert!(period_steps.is_none() && one.beside.is_none() && !one.edges);
            // What the planner takes, and how long it says that takes; but for the steps that its launches leave.
            let planned = on_gpu(&h200(), &job);
            let first = &planned.ranked[0];
            assert_eq!(one.launch, first.to_string());
            let steps = 1000 / one.launch_steps * one.launch_steps;
            let whole = on_gpu(&h200(), &Job { steps, ..job.clone() });
            let same = whole.ranked.iter().find(|other| other.to_string() == one.launch).unwrap();
            near(times.seconds_per_step, same.seconds_per_step);
        }
    }
}

#[test]
fn without_communication_only_ghosts_are_in_vain() {
    let job = job("star3d1r", "512x512x512", Dtype::F32);
    for gpus in [2, 8, 64] {
        let of = predict(&job, ScalingMode::Strong, &free(), gpus).after;
        assert!(of.times.exposed_s < 1e-12 && of.exchange_s < 1e-12, "{of:?}");
        let Times { seconds_per_step, own_s, vain_s, exposed_s, efficiency } = of.times;
        near(own_s + vain_s + exposed_s, seconds_per_step);
        assert!(vain_s > 0.0 && efficiency < 1.0, "{of:?}");
        let slow = predict(&job, ScalingMode::Strong, &Network::h200_ndr(), gpus).after;
        near(slow.times.own_s, own_s);
        near(slow.times.vain_s, vain_s);
        near(slow.times.exposed_s, slow.exchange_s / slow.period_steps.unwrap() as f64);
    }
}

#[test]
fn bytes_are_those_of_the_faces() {
    // Two parts across z: each gets what lies on the other side of the one face, as deep as its ghosts.
    let job = job("star3d1r", "512x512x512", Dtype::F64);
    let two = predict(&job, ScalingMode::Strong, &Network::h200_ndr(), 2);
    assert_eq!((two.cut.as_str(), two.own.as_str()), ("2x1x1", "256x512x512"));
    let depth = |way: &GhostExchange| way.period_steps.unwrap().next_multiple_of(UNITS[0]);
    for way in [&two.after, two.beside.as_ref().unwrap()] {
        let depth = depth(way);
        assert_eq!(way.held, format!("{}x512x512", 256 + depth));
        assert_eq!((way.traffic.link_messages, way.traffic.fabric_messages), (1, 0));
        assert_eq!(way.traffic.link_bytes, (depth * 512 * 512 * 8) as u64);
    }
    // On a ring there are two faces, with the same neighbour: one message.
    let boundary = Boundary::parse("periodic", 3).unwrap();
    let ring = Job { boundary, ..job };
    let two = predict(&ring, ScalingMode::Strong, &Network::h200_ndr(), 2).after;
    assert_eq!(two.traffic.link_messages, 1);
    assert_eq!(two.traffic.link_bytes, (2 * depth(&two) * 512 * 512 * 8) as u64);
}

#[test]
fn what_a_launch_hides_is_not_exposed() {
    let job = job("star3d1r", "1024x1024x1024", Dtype::F32);
    // Slow enough that it counts, fast enough to be hidden.
    let network = Network { link_latency_s: 2e-4, ..free() };
    let of = predict(&job, ScalingMode::Strong, &network, 4);
    let beside = of.beside.unwrap();
    near(beside.exchange_s, 2e-4);
    assert_eq!(beside.times.exposed_s, 0.0);
    assert!(beside.times.vain_s > 0.0, "edges are launched by themselves: {beside:?}");
    let fixed = Network { exchange_s: 1e-4, ..network.clone() };
    let with = predict(&job, ScalingMode::Strong, &fixed, 4).beside.unwrap();
    near(with.times.exposed_s, 1e-4 / with.period_steps.unwrap() as f64);
    // What takes longer than the launch is exposed for the rest.
    let slow = |link_latency_s| {
        let network = Network { link_latency_s, ..network.clone() };
        let way = predict(&job, ScalingMode::Strong, &network, 4).beside.unwrap();
        way.times.exposed_s * way.period_steps.unwrap() as f64
    };
    near(slow(2.0) - slow(1.0), 1.0);
}

#[test]
fn slower_messages_and_more_nodes_take_longer() {
    let job = job("box2d1r", "8192x8192", Dtype::F16);
    let target = h200();
    let seconds = |network: &Network, nodes| {
        let scale = Scale::new(&job, ScalingMode::Strong, &target, network).unwrap();
        let of = scale.on(Cluster::of_nodes(8, nodes).unwrap()).unwrap();
        of.after.times.seconds_per_step
    };
    let network = Network::h200_ndr();
    assert!(seconds(&network, 1) < seconds(&network, 8));
    let slow = Network { fabric_bytes_per_s: 1e9, ..network.clone() };
    near(seconds(&slow, 1), seconds(&network, 1));
    assert!(seconds(&slow, 8) > seconds(&network, 8));
}

/// Steps between exchanges, and whether edges come first, are those of a run with so many ranks.
#[test]
fn exchanges_are_those_of_a_run() {
    let target = h200();
    for (stencil, size, dtype, gpus) in [
        ("star3d1r", "1024x1024x1024", Dtype::F32, 2),
        ("box2d1r", "10240x10240", Dtype::F16, 2),
        ("star2d1r", "2048x2048", Dtype::F64, 8),
    ] {
        let job = job(stencil, size, dtype);
        let of = predict(&job, ScalingMode::Strong, &Network::h200_ndr(), gpus);
        let partition = Partition::for_ranks(job.shape, gpus, UNITS).unwrap();
        let planned = on_gpu(&target, &job);
        let candidate = planned.ranked.iter().find(|one| one.to_string() == of.launch).unwrap();
        let (limits, any) = (target.limits, (None, None));
        let run = shared(candidate, (&job, limits), &partition, Carrier::Auto, any).unwrap();
        let ExchangeInterval { period, edges } = run.rhythm;
        assert_eq!((of.edges, of.way().period_steps), (edges, Some(period)), "{stencil}");
    }
}

#[test]
fn weak_scaling_keeps_the_points_of_a_gpu() {
    let shape = |text: &str| text.parse::<Shape>().unwrap();
    for (from, times, to) in [
        ("100x200", 1, "100x200"),
        ("100x200", 2, "200x200"),
        ("100x200", 4, "200x400"),
        ("100x200", 24, "600x800"),
        ("10x20x30", 16, "40x40x60"),
        ("10x20x30", 4096, "160x320x480"),
        ("7", 6, "42"),
    ] {
        assert_eq!(grown(shape(from), times).unwrap(), shape(to), "{from} {times}");
    }
    assert!(grown(shape("1000000000x1000000000"), 4096).is_err());
    let job = job("star3d1r", "256x256x256", Dtype::F32);
    let of = predict(&job, ScalingMode::Weak, &Network::h200_ndr(), 8);
    assert_eq!(of.grid, "512x512x512");
    assert!(of.after.times.efficiency < 1.0 && of.after.times.efficiency > 0.2, "{of:?}");
}

/// Also where the whole grid is longer than a launch can address.
#[test]
fn long_lines_are_planned_by_their_parts() {
    let job = job("star1d1r", "100000000", Dtype::F32);
    let of = predict(&job, ScalingMode::Weak, &Network::h200_ndr(), 64);
    assert_eq!((of.grid.as_str(), of.cut.as_str()), ("6400000000", "64"));
    assert!(of.after.times.efficiency > 0.5, "{of:?}");
}

#[test]
fn what_does_not_fit_is_refused_with_both_numbers() {
    let target = h200();
    let network = Network::h200_ndr();
    let on = |job: &Job, gpus| {
        let scale = Scale::new(job, ScalingMode::Strong, &target, &network).unwrap();
        scale.on(Cluster::of_full_nodes(gpus, 8)).map_err(|error| error.to_string())
    };
    let small = job("star2d1r", "64x64", Dtype::F32);
    let error = on(&small, 8).unwrap_err();
    let text = "a grid of 64x64 cannot be cut into 8 parts of whole tiles (1x16x64 points)";
    assert_eq!(error, text);
    let large = job("star3d1r", "4096x4096x4096", Dtype::F32);
    let error = on(&large, 4).unwrap_err();
    assert!(error.contains("GiB of GPU memory; the GPU has 140.4 GiB"), "{error}");
    let eight = on(&large, 8).unwrap();
    assert!(eight.way().memory_bytes < Machine::h200().memory_bytes);
}

#[test]
fn curves_go_on_where_a_row_is_refused() {
    let job = job("star2d1r", "512x512", Dtype::F32);
    let curves = Curves::new(&job, &h200(), &Network::h200_ndr(), 8).unwrap();
    let numbers: Vec<usize> = curves.strong.iter().map(|row| row.cluster.gpus).collect();
    assert_eq!((numbers.len(), numbers[0], numbers[12]), (13, 1, MOST_GPUS));
    for row in curves.strong.iter().chain(&curves.weak) {
        assert_eq!(row.prediction.is_none(), row.refused.is_some());
    }
    let last = curves.strong.last().unwrap().refused.as_ref().unwrap();
    assert!(last.contains("512x512 cannot be cut into 4096 parts"), "{last}");
    assert!(curves.weak.last().unwrap().prediction.is_some());
}
