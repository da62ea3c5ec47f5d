// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many forward runs a gradient costs, of acoustic waves, of heat, and of elastic waves with layers: `gradient-cost [ENGINE] [EXTENT]
//! [STEPS] [RANKS]`, such as `gradient-cost cuda 1024 200`, or with `2` at the end on two GPUs. The least of some repetitions counts; of
//! processor time, which other programs change less, the least is told with the part that the operating system has.

use std::path::Path;
use std::time::Instant;

use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::engine::Ranks;
use problem::{Dtype, Error};
use systems::simulation::{Cotangents, GradientBy};
use systems::{Description, FieldText, Simulation, System};

const REPETITIONS: usize = 3;

/// What passes: seconds, and those of all processors with those of the operating system among them.
#[derive(Clone, Copy)]
struct Passed([f64; 3]);

impl Passed {
    const MOST: Self = Self([f64::MAX; 3]);

    /// What a piece of work takes, if it is less than that before.
    fn least<V>(&mut self, work: impl FnOnce() -> Result<V, Error>) -> Result<V, Error> {
        let (begin, [all, system]) = (Instant::now(), processors());
        let value = work()?;
        let [all_after, system_after] = processors();
        self.0[0] = self.0[0].min(begin.elapsed().as_secs_f64());
        if all_after - all < self.0[1] {
            self.0[1..].copy_from_slice(&[all_after - all, system_after - system]);
        }
        Ok(value)
    }
}

impl std::fmt::Display for Passed {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self([seconds, all, system]) = self;
        write!(f, "{seconds:.4} s ({all:.2} s of processors, {system:.2} of them the system's)")
    }
}

/// Processor seconds that the process has had, and those of them that the operating system had for it.
fn processors() -> [f64; 2] {
    let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = told.rsplit(')').next().unwrap_or_default().split(' ').collect();
    // In hundredths: the 14th and 15th field, of which the first two are left out.
    let of = |field: usize| fields.get(field).and_then(|it| it.parse().ok()).unwrap_or(0.0) / 100.0;
    [of(12) + of(13), of(13)]
}

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

/// Elastic waves with three media, and a layer of 20 points that absorbs them.
fn elastic(extent: usize) -> Description {
    let mut description = Description::new(&[extent, extent])
        .dtype(Dtype::F32)
        .time_step(0.3)
        .coefficient("lame", "1 + 0.1*sin(0.05*x)*cos(0.03*y)")
        .coefficient("shear", "0.4 + 0.1*sin(0.04*y)")
        .coefficient("light", "1 + 0.1*cos(0.02*x)");
    for (name, axis) in [("px", "x+"), ("mx", "x-"), ("py", "y+"), ("my", "y-")] {
        description = description.derivative(name, axis, 4);
    }
    let stress =
        |along: &str, across: &str| format!("dt*((lame + 2*shear)*{along} + lame*{across})");
    let (along_x, along_y) = ("mx(new(vx))", "my(new(vy))");
    description
        .field(FieldText::new("vx", "0", "vx + dt*light*(px(sxx) + my(sxy))"))
        .field(FieldText::new("vy", "0", "vy + dt*light*(py(syy) + mx(sxy))"))
        .field(FieldText::new("sxx", "0", format!("sxx + {}", stress(along_x, along_y))))
        .field(FieldText::new("syy", "0", format!("syy + {}", stress(along_y, along_x))))
        .field(FieldText::new("sxy", "0", "sxy + dt*shear*(py(new(vx)) + px(new(vy)))"))
        .source("vy", &[extent / 2, extent / 2], "exp(-((t - 6)/2)^2)")
        .receiver("vy", &[extent / 3, extent / 3])
        .pml(20, 1.5)
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let engine = arguments.next().unwrap_or_else(|| "cpu".into());
    let engine: EngineRequest = engine.parse().unwrap_or_else(|_| panic!("no engine '{engine}'"));
    let mut number =
        |usual: usize| arguments.next().map_or(usual, |it| it.parse().expect("a number"));
    let (extent, steps, ranks) = (number(1024), number(200), number(1));
    let kinds: [(&str, Description, &[&str]); 3] = [
        ("waves", waves(extent), &["c"]),
        ("heat", heat(extent), &["k"]),
        ("elastic", elastic(extent), &["lame", "shear", "light"]),
    ];
    for (name, description, by) in kinds {
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
        let (mut forward, mut with_build) = (Passed::MOST, Passed::MOST);
        for _ in 0..REPETITIONS {
            with_build.least(|| {
                let mut simulation = build()?;
                forward.least(|| simulation.step(steps))
            })?;
        }
        println!("{name}: a forward run {forward}, with its beginning {with_build}");
        // All on the way, and with so little memory that steps are taken again.
        let state = (system.arrays() * extent * extent * 4) as u64;
        for (memory_of, memory) in [
            ("as usual", None),
            ("of all steps", Some(u64::MAX)),
            ("of 30 states", Some(30 * state)),
            ("of 10 states", Some(10 * state)),
        ] {
            let memory = memory.map(problem::memory::Bytes);
            let coefficients = by.iter().map(|name| (*name).to_owned()).collect();
            let by = GradientBy { coefficients, memory, ..GradientBy::default() };
            // The first one of a simulation, and those that find its memory.
            let mut best = [Passed::MOST; 2];
            let mut again = 0;
            for _ in 0..REPETITIONS {
                let mut simulation = build()?;
                for best in &mut best {
                    let found = best.least(|| {
                        simulation.gradient(steps, &by, |after| {
                            let fields = vec![after.state()?.arrays.swap_remove(0)];
                            let records = after.records().iter().rev().take(steps).rev();
                            let records = records.map(|row| row[1..].to_vec()).collect();
                            Ok(Cotangents { fields, records, totals: Vec::new() })
                        })
                    })?;
                    again = found.steps_again;
                }
            }
            println!("{name}: gradients with memory {memory_of}, {again} steps again");
            for (which, best) in ["the first", "the next"].iter().zip(best) {
                let [runs, with_beginning] = [forward, with_build].map(|it| best.0[0] / it.0[0]);
                let of_processors = best.0[1] / forward.0[1];
                println!(
                    "    {which} {best}: {runs:.2} forward runs, {of_processors:.2} by processors, {with_beginning:.2} with their beginning"
                );
            }
        }
    }
    Ok(())
}
