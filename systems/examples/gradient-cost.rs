// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many forward runs a gradient costs, of acoustic waves and of heat: `gradient-cost [ENGINE] [EXTENT] [STEPS] [RANKS]`, such as
//! `gradient-cost cuda 1024 200`, or with `2` at the end on two GPUs. The least of some repetitions counts.

use std::path::Path;
use std::time::Instant;

use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::engine::Ranks;
use problem::{Dtype, Error};
use systems::simulation::{Cotangents, GradientBy};
use systems::{Description, FieldText, Simulation, System};

const REPETITIONS: usize = 3;

/// Waves of pressure on a staggered grid, with two receivers.
fn waves(extent: usize) -> Description {
    let at = |x: usize| [extent / 4, x];
    let mut description = Description::new(&[extent, extent])
        .dtype(Dtype::F32)
        .time_step(0.3)
        .coefficient("c", "1 + 0.3*sin(0.05*x)*cos(0.03*y)");
    for (name, axis) in [("px", "x+"), ("mx", "x-"), ("py", "y+"), ("my", "y-")] {
        description = description.derivative(name, axis, 4);
    }
    description
        .field(FieldText::new("p", "0", "p - dt*c^2*(mx(new(vx)) + my(new(vy)))"))
        .field(FieldText::new("vx", "0", "vx - dt*px(p)"))
        .field(FieldText::new("vy", "0", "vy - dt*py(p)"))
        .source("p", &at(extent / 2), "exp(-((t - 6)/2)^2)")
        .receiver("p", &at(extent / 3))
        .receiver("p", &at(2 * extent / 3))
}

/// Heat that spreads by a coefficient.
fn heat(extent: usize) -> Description {
    let mut description = Description::new(&[extent, extent])
        .dtype(Dtype::F32)
        .time_step(0.1)
        .coefficient("k", "1 + 0.3*sin(0.05*x)*cos(0.03*y)");
    for (name, axis) in [("px", "x+"), ("mx", "x-"), ("py", "y+"), ("my", "y-")] {
        description = description.derivative(name, axis, 2);
    }
    let next = "u + dt*(mx(k*px(u)) + my(k*py(u)))";
    description.field(FieldText::new("u", "sin(0.1*x)*cos(0.1*y)", next).boundary("edge"))
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let engine = arguments.next().unwrap_or_else(|| "cpu".into());
    let engine: EngineRequest = engine.parse().unwrap_or_else(|_| panic!("no engine '{engine}'"));
    let mut number =
        |usual: usize| arguments.next().map_or(usual, |it| it.parse().expect("a number"));
    let (extent, steps, ranks) = (number(1024), number(200), number(1));
    for (name, description, by) in [("waves", waves(extent), "c"), ("heat", heat(extent), "k")] {
        let system = System::new(&description, Path::new(""))?;
        let build = || {
            let simulation = Simulation::of(&system).engine(engine);
            if ranks == 1 {
                return simulation.build();
            }
            let devices = (engine == EngineRequest::Cuda).then(|| (0..ranks).collect());
            let sharing = Sharing { devices, ..Sharing::among(Ranks::Threads(ranks)) };
            simulation.shared(sharing).build()
        };
        let (mut forward, mut with_build) = (f64::MAX, f64::MAX);
        for _ in 0..REPETITIONS {
            let start = Instant::now();
            let mut simulation = build()?;
            let built = Instant::now();
            simulation.step(steps)?;
            forward = forward.min(built.elapsed().as_secs_f64());
            with_build = with_build.min(start.elapsed().as_secs_f64());
        }
        println!("{name}: a forward run {forward:.4} s, with its beginning {with_build:.4} s");
        // All on the way, and with so little memory that steps are taken again.
        let state = (system.arrays() * extent * extent * 4) as u64;
        for (told, memory) in [
            ("as usual", None),
            ("of all steps", Some(u64::MAX)),
            ("of 30 states", Some(30 * state)),
            ("of 10 states", Some(10 * state)),
        ] {
            let mut best = f64::MAX;
            let mut again = 0;
            for _ in 0..REPETITIONS {
                let mut simulation = build()?;
                let memory = memory.map(problem::memory::Bytes);
                let by =
                    GradientBy { coefficients: vec![by.into()], memory, ..GradientBy::default() };
                let start = Instant::now();
                let found = simulation.gradient(steps, &by, |after| {
                    let fields = vec![after.state()?.arrays.swap_remove(0)];
                    let records = after.records().iter().map(|row| row[1..].to_vec()).collect();
                    Ok(Cotangents { fields, records, totals: Vec::new() })
                })?;
                best = best.min(start.elapsed().as_secs_f64());
                again = found.steps_again;
            }
            println!(
                "{name}: a gradient with memory {told} {best:.4} s: {:.2} forward runs, {:.2} with their beginning; {again} steps again",
                best / forward,
                best / with_build
            );
        }
    }
    Ok(())
}
