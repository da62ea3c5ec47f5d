// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients of runs: kept states, engines, what is refused, built-in systems.

use std::rc::Rc;
use std::thread;

use super::{
    STEPS, SmoothKind, all_plus, differentiable, dot, from, grids, half_squares,
    half_squares_and_totals, like, of, plus, values,
};
use crate::adjoint::schedule::steps_again;
use crate::simulation::{Cotangents, Gradient, GradientBy, TapeStorage};
use crate::{Description, FieldText, Simulation, System};
use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::engine::Ranks;
use compute::ranks::{Messenger, Threads, member};
use problem::memory::Bytes;
use problem::{Dtype, Error, Grid};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A state takes 2 KiB.
fn reacting() -> System {
    reacting_on([8, 16], "cos(x) + 0.1*y")
}

fn reacting_on(extents: [usize; 2], start: &str) -> System {
    let own = Description::new(&extents)
        .dtype(problem::Dtype::F64)
        .time_step(0.1)
        .constant("k", 0.4)
        .derivative("laplace", "laplace", 4)
        .coefficient("c", "1 + 0.5*sin(x)")
        .field(
            FieldText::new("u", start, "u + dt*(laplace(u) + k*c*u*(1 - u*new(v)))")
                .boundary("x:periodic,y:symmetric"),
        )
        .field(FieldText::new("v", "0.2*x", "v + dt*sin(u)").boundary("edge"))
        .source("v", &[3, 4], "0.3*cos(t)")
        .receiver("u", &[2, 2]);
    of(&own)
}

/// Everything that a gradient tells.
pub fn told(found: &Gradient) -> Vec<f64> {
    let coefficients = found.coefficients.iter().flat_map(|(_, grid)| values(grid));
    let numbers = found.parameters.iter().map(|(_, value)| *value);
    let sources = found.sources.iter().flatten().copied();
    grids(&found.start).flat_map(values).chain(coefficients).chain(numbers).chain(sources).collect()
}

#[test]
fn kept_states_make_no_difference_but_to_the_steps_that_are_taken_again() {
    const STEPS: usize = 12;
    let system = reacting();
    let folder = tempfile::tempdir().unwrap();
    // Values in C order, of which the sizes are known here.
    let in_order = || TapeStorage::Folder(folder.path().to_owned());
    let within = |states: u64, place: TapeStorage| {
        let by = GradientBy {
            place,
            coefficients: vec!["c".into()],
            parameters: vec!["k".into()],
            // Besides the values of two times, and the state after all steps.
            memory: Some(Bytes((states + 3) * 2048)),
            ..GradientBy::default()
        };
        let mut simulation = Simulation::of(&system).build().unwrap();
        let found = simulation.gradient(STEPS, &by, |after| Ok(half_squares(after).1)).unwrap();
        assert_eq!((simulation.steps(), simulation.records().len()), (STEPS, STEPS + 1));
        found
    };
    let of = |states: u64| within(states, in_order());
    let all = of(100);
    assert_eq!(all.steps_again, 0);
    // The values of 13 times.
    assert_eq!(of(10).steps_again, 0);
    for states in 1..10 {
        let found = of(states);
        assert_eq!(told(&found), told(&all), "{states}");
        // Steps of the first sweep are not taken again.
        let most = steps_again(STEPS, states as usize - 1) as usize;
        assert!(found.steps_again <= most && most < found.steps_again + STEPS, "{states}");
        // What lies around values counts, too, so that fewer may fit.
        let laid = within(states, TapeStorage::Memory);
        assert_eq!(told(&laid), told(&all), "{states}");
        assert!(laid.steps_again >= found.steps_again, "{states}");
    }
    assert_eq!(within(100, TapeStorage::Memory).steps_again, 0);
    let none = GradientBy { memory: Some(Bytes(2047)), ..GradientBy::default() };
    let mut simulation = Simulation::of(&system).build().unwrap();
    let error = simulation.gradient(2, &none, |_| Ok(Cotangents::default())).unwrap_err();
    assert!(error.to_string().contains("a state of the system"), "{error}");
}

/// From the state that a run has come to.
#[test]
fn a_gradient_of_later_steps_is_that_of_a_run_that_begins_there() {
    let system = reacting();
    let by = GradientBy { coefficients: vec!["c".into()], ..GradientBy::default() };
    let gradient = |simulation: &mut Simulation, steps: usize| {
        simulation.gradient(steps, &by, |after| {
            let mut own = half_squares(after).1;
            own.records.clear();
            Ok(own)
        })
    };
    let mut one = Simulation::of(&system).build().unwrap();
    let whole = gradient(&mut one, 7).unwrap();
    let mut two = Simulation::of(&system).build().unwrap();
    two.step(3).unwrap();
    let later = gradient(&mut two, 4).unwrap();
    assert_eq!(two.field("u").unwrap(), one.field("u").unwrap());
    let mut first = Simulation::of(&system).build().unwrap();
    let earlier = first.gradient(3, &by, |_| {
        Ok(Cotangents { fields: later.start.clone(), ..Cotangents::default() })
    });
    let earlier = earlier.unwrap();
    let off = |a: &Grid, b: &Grid| {
        values(a).zip(values(b)).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f64::max)
    };
    for ((_, a), (_, b)) in whole.start.iter().zip(&earlier.start) {
        assert!(off(a, b) < 1e-13);
    }
    let sum = plus(&later.coefficients[0].1, 1.0, &earlier.coefficients[0].1);
    assert!(off(&whole.coefficients[0].1, &sum) < 1e-13);
}

/// The emulator's kernels, and several threads, compute the adjoint as the CPU does.
#[test]
fn engines_agree_on_a_gradient() {
    let system = reacting();
    let of = |engine: EngineRequest| {
        let by = GradientBy { coefficients: vec!["c".into()], ..GradientBy::default() };
        let mut simulation = Simulation::of(&system).engine(engine).build().unwrap();
        told(&simulation.gradient(3, &by, |after| Ok(half_squares(after).1)).unwrap())
    };
    let [cpu, emulated] = [EngineRequest::Cpu, EngineRequest::Emulate].map(of);
    let off = cpu.iter().zip(&emulated).map(|(a, b)| (a - b).abs() / (1.0 + a.abs()));
    let off = off.fold(0.0, f64::max);
    assert!(off < 1e-12, "{off:e}");
}

/// Wherever states are kept, with so little memory that steps are taken again or with enough; as what they are, or rounded.
#[test]
fn states_are_kept_where_it_is_asked() {
    const STEPS: usize = 7;
    let system = reacting();
    let folder = tempfile::tempdir().unwrap();
    let of = |engine: EngineRequest, place: TapeStorage, rounded: Option<Dtype>, states: u64| {
        let by = GradientBy {
            coefficients: vec!["c".into()],
            memory: Some(Bytes(states * 2048)),
            place,
            rounded,
            ..GradientBy::default()
        };
        let mut simulation = Simulation::of(&system).engine(engine).build().unwrap();
        let found = simulation.gradient(STEPS, &by, |after| Ok(half_squares(after).1));
        found.map(|found| told(&found)).map_err(|error| error.to_string())
    };
    let (cpu, emulated) = (EngineRequest::Cpu, EngineRequest::Emulate);
    let usual = [cpu, emulated].map(|it| of(it, TapeStorage::WhereTheyLie, None, 100).unwrap());
    let in_files = || TapeStorage::Folder(folder.path().to_owned());
    for (engine, usual) in [cpu, emulated].into_iter().zip(&usual) {
        for place in [TapeStorage::WhereTheyLie, TapeStorage::Memory, in_files()] {
            for states in [2, 4, 100] {
                let found = of(engine, place.clone(), None, states).unwrap();
                assert_eq!(&found, usual, "{engine}, {place:?}, {states} states");
            }
        }
    }
    assert_eq!(of(emulated, TapeStorage::Device, None, 3).unwrap(), usual[1]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let largest = usual[0].iter().copied().map(f64::abs).fold(0.0, f64::max);
    for (dtype, most) in [(Dtype::F32, 1e-6), (Dtype::F16, 5e-3), (Dtype::Bf16, 4e-2)] {
        for (engine, place) in
            [(cpu, TapeStorage::Memory), (emulated, TapeStorage::WhereTheyLie), (cpu, in_files())]
        {
            let found = of(engine, place, Some(dtype), 4).unwrap();
            let off = found.iter().zip(&usual[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            println!("{dtype}: off by {:.1e} of the largest value", off / largest);
            assert!(off > 0.0 && off < most * largest, "{dtype}: {off:e} of {largest:e}");
        }
    }
    let refusal = |engine, place, rounded| of(engine, place, rounded, 100).unwrap_err();
    assert!(refusal(cpu, TapeStorage::Device, None).contains("no GPU computes these steps"));
    assert!(
        refusal(emulated, TapeStorage::Device, Some(Dtype::F16)).contains("rounded or widened")
    );
    assert!(refusal(cpu, TapeStorage::Memory, Some(Dtype::Tf32)).contains("take f32"));
    let nowhere = TapeStorage::Folder(folder.path().join("nowhere"));
    assert!(refusal(cpu, nowhere, None).contains("cannot write"));
}

/// Steps that are taken together keep and record what single steps do, which files of states have them be; and single runs of one step.
#[test]
fn steps_together_have_the_gradients_and_records_of_single_ones() {
    const STEPS: usize = 13;
    let system = reacting_on([128, 16], "cos(x) + 0.8*sin(0.1*y)");
    let state = 2 * 8 * system.shape().points() as u64;
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            assert!(crate::cpu::depth(&system).unwrap() > 1, "{threads} threads");
            let folder = tempfile::tempdir().unwrap();
            let of = |place: TapeStorage, states: u64| {
                let by = GradientBy {
                    coefficients: vec!["c".into()],
                    memory: Some(Bytes(states * state)),
                    place,
                    ..GradientBy::default()
                };
                let simulation = Simulation::of(&system).engine(EngineRequest::Cpu);
                let mut simulation = simulation.build().unwrap();
                let found = simulation.gradient(STEPS, &by, |after| Ok(half_squares(after).1));
                (told(&found.unwrap()), simulation.records().to_vec())
            };
            let single = of(TapeStorage::Folder(folder.path().to_owned()), 100);
            for states in [2, 4, 9, 100] {
                assert!(
                    of(TapeStorage::Memory, states) == single,
                    "{threads} threads, {states} states"
                );
            }
            let mut one = Simulation::of(&system).engine(EngineRequest::Cpu).build().unwrap();
            (0..STEPS).for_each(|_| one.step(1).unwrap());
            assert!(one.records() == single.1, "{threads} threads");
        });
    }
}

/// A GPU finds the same bits wherever states are kept, with all of them and with few, and what the cores of this machine find.
#[test]
#[ignore = "needs a GPU"]
fn gradients_on_the_gpu_are_those_of_this_machine() {
    let system = reacting();
    let folder = tempfile::tempdir().unwrap();
    let of = |engine: EngineRequest, place: TapeStorage, states: u64| {
        let by = GradientBy {
            coefficients: vec!["c".into()],
            memory: Some(Bytes(states * 2048)),
            place,
            ..GradientBy::default()
        };
        let mut simulation = Simulation::of(&system).engine(engine).build().unwrap();
        told(&simulation.gradient(40, &by, |after| Ok(half_squares(after).1)).unwrap())
    };
    let cpu = of(EngineRequest::Cpu, TapeStorage::WhereTheyLie, 100);
    let usual = of(EngineRequest::Cuda, TapeStorage::Device, 100);
    let off = cpu.iter().zip(&usual).map(|(a, b)| (a - b).abs() / (1.0 + a.abs()));
    let off = off.fold(0.0, f64::max);
    assert!(off < 1e-12, "{off:e}");
    let folder = || TapeStorage::Folder(folder.path().to_owned());
    for place in [TapeStorage::WhereTheyLie, TapeStorage::Device, TapeStorage::Memory, folder()] {
        for states in [2, 7, 100] {
            assert_eq!(
                of(EngineRequest::Cuda, place.clone(), states),
                usual,
                "{place:?}, {states}"
            );
        }
    }
}

/// Shots that are computed at the same time have the gradients of shots one after the other, to the bits, and leave the values of the last
/// one; one that fails ends all.
#[test]
fn shots_side_by_side_have_the_gradients_of_single_ones() {
    let mut wave = Description::new(&[12, 10])
        .dtype(Dtype::F64)
        .time_step(0.3)
        .coefficient("c", "1 + 0.2*sin(x)")
        .derivative("laplace", "laplace", 2)
        .field(FieldText::new("p", 0.0, "2*p - prev(p) + (c*dt)^2*laplace(p) - 0.01*p^3"))
        .source("p", &[3, 4], 0)
        .source("p", &[7, 2], 0)
        .receiver("p", &[6, 6]);
    wave.set_series(&[vec![0.0; 9], vec![0.0; 9]]).unwrap();
    let system = of(&wave);
    let shots: Vec<Vec<Vec<f64>>> = (0..7)
        .map(|shot| {
            let row = |source: usize| {
                (0..9).map(move |n| ((n + source) as f64 + 0.1 * shot as f64).sin())
            };
            (0..2).map(|source| row(source).collect()).collect()
        })
        .collect();
    // What two levels of 8 bytes take of each point.
    let of_a_state = 2 * 8 * system.shape().points() as u64;
    let on = |engine: EngineRequest, threads: usize, fails: usize, states: Option<u64>| {
        let by = GradientBy {
            coefficients: vec!["c".into()],
            memory: states.map(|states| Bytes(states * of_a_state + 8)),
            ..GradientBy::default()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = Simulation::of(&system).engine(engine).build().unwrap();
            simulation.step(2).unwrap();
            let mut begin = (simulation.state().unwrap(), simulation.records().to_vec());
            let found = simulation.gradient_of_shots((9, &shots), &by, |after, shot| match shot {
                _ if shot == fails => Err(Error::Gradient { reason: "it fails".into() }),
                _ => {
                    let mut own = half_squares(after).1;
                    own.records.drain(..2);
                    Ok(own)
                }
            });
            if let Err(error) = found {
                // It goes on as if nothing had been asked.
                for step in 2..4 {
                    assert_eq!(simulation.steps(), step, "{threads} threads");
                    assert!(simulation.state().unwrap().arrays == begin.0.arrays);
                    assert!(simulation.records() == begin.1);
                    simulation.step(1).unwrap();
                    let mut plain = Simulation::of(&system).engine(engine).build();
                    let plain = plain.as_mut().unwrap();
                    plain.step(step + 1).unwrap();
                    begin = (plain.state().unwrap(), plain.records().to_vec());
                }
                return Err(error.to_string());
            }
            let found = found.unwrap();
            let sources = found.sources.into_iter().flatten().flatten();
            let left = simulation.state().unwrap();
            let records = simulation.records().to_vec();
            simulation.step(1).unwrap();
            let on = simulation.field("p").unwrap();
            let all = (told(&found.sum), sources.collect::<Vec<f64>>(), left.arrays, records, on);
            Ok::<_, String>(all)
        })
    };
    let gradient = |threads, fails, states| on(EngineRequest::Cpu, threads, fails, states);
    let one = gradient(1, 99, None).unwrap();
    assert_eq!(one.1.len(), 7 * 2 * 9);
    // As sessions of a GPU, each with a stream of its own.
    let emulated = on(EngineRequest::Emulate, 1, 99, None).unwrap();
    for (threads, states) in [(2, None), (5, None), (3, Some(5))] {
        assert!(on(EngineRequest::Emulate, threads, 99, states).unwrap() == emulated, "{threads}");
    }
    assert!(on(EngineRequest::Emulate, 3, 4, None).unwrap_err().contains("it fails"));
    // Little memory is enough for as many threads as for one: of a state, and of two that are side by side.
    for states in [1, 2, 5] {
        assert!(gradient(16, 99, Some(states)).unwrap() == one, "{states} states");
    }
    assert!(gradient(16, 99, Some(0)).unwrap_err().contains("a state of the system"));
    for threads in [1, 2, 3, 16] {
        assert!(gradient(threads, 99, None).unwrap() == one, "{threads} threads");
        assert!(gradient(threads, 4, None).unwrap_err().contains("it fails"));
    }
    let mut none = Simulation::of(&system).build().unwrap();
    let error = none
        .gradient_of_shots((9, &[]), &GradientBy::default(), |_, _| Ok(Cotangents::default()))
        .unwrap_err();
    assert!(error.to_string().contains("no shots"), "{error}");
}

/// Ranks of which each is there once for all computations, as processes are, and does what rank 0 says.
fn as_processes(count: usize) -> Ranks {
    let mut ends = Threads::new(count).into_iter();
    let own: Rc<dyn Messenger> = Rc::new(ends.next().expect("at least one rank"));
    for end in ends {
        thread::spawn(move || {
            let post: Rc<dyn Messenger> = Rc::new(end);
            let make = |message: &[u8], post: &Rc<dyn Messenger>| {
                crate::ranks::member(message, post, compute::plan::abilities_of)
            };
            // Rank 0 is told what it failed with.
            let _ = member::serve(&post, &make);
        });
    }
    Ranks::Processes(own)
}

/// Parts of a grid that threads compute, on the cores and in the emulator, have the gradient of the whole grid, whether steps are taken
/// again or not.
#[test]
fn ranks_make_no_difference_to_a_gradient() {
    let (mut cut, cases) = (0, super::cases() / 2);
    for seed in 0..cases {
        let description = differentiable(seed, SmoothKind::Smooth);
        let system = of(&description);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let state = Simulation::of(&system).build().unwrap().state().unwrap().arrays;
        let state: u64 = grids(&state).map(|grid| 8 * grid.shape.points() as u64).sum();
        let coefficients = description.coefficients.iter().map(|it| it.name.as_str().to_owned());
        let by = GradientBy {
            coefficients: coefficients.collect(),
            totals: system.totals().len() > 0,
            memory: Some(Bytes((2 + 20 * (seed % 2)) * state)),
            ..GradientBy::default()
        };
        let engine = if seed % 3 == 2 { EngineRequest::Emulate } else { EngineRequest::Cpu };
        let gradient = |sharing: Option<Sharing>| {
            let mut simulation = Simulation::of(&system).engine(engine).series(1);
            if let Some(sharing) = sharing {
                simulation = simulation.shared(sharing);
            }
            let mut simulation = simulation.build()?;
            let found =
                simulation.gradient(4, &by, |after| Ok(half_squares_and_totals(after).1))?;
            Ok::<_, Error>(told(&found))
        };
        let split = system.shape().extents().map(|extent| random.random_range(1..=extent.min(3)));
        let count = split.iter().product();
        // By turns threads that are started for each computation, and ranks that are there, as processes are.
        let ranks = match seed % 4 {
            0 | 1 => Ranks::Threads(count),
            _ => as_processes(count),
        };
        let shared = gradient(Some(Sharing { split: Some(split), ..Sharing::among(ranks) }));
        let shared = match shared {
            Ok(shared) => shared,
            Err(Error::Split { .. } | Error::Gradient { .. } | Error::Unsupported { .. }) => {
                continue;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let alone = gradient(None).unwrap();
        let largest = alone.iter().fold(1.0, |most: f64, value| most.max(value.abs()));
        let off = shared.iter().zip(&alone).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off <= 1e-13 * largest, "seed {seed}: {split:?}: {off:e} of {largest:e}");
        cut += usize::from(split != [1; 3]);
    }
    println!("{cut} of {cases} were cut");
    assert!(cut as u64 * 3 > cases, "{cut} of {cases}");
}

#[test]
fn what_has_no_adjoint_is_refused_with_its_name() {
    let field = |next: &str| {
        Description::new(&[6])
            .derivative("laplace", "xx", 2)
            .constant("k", 2)
            .field(FieldText::new("u", "x", next))
    };
    let refusal = |description: Description, by: GradientBy| {
        let mut simulation = Simulation::of(&of(&description)).build().unwrap();
        let found = simulation.gradient(2, &by, |_| Ok(Cotangents::default()));
        found.unwrap_err().to_string()
    };
    let none = GradientBy::default;
    let coefficients = |name: &str| GradientBy { coefficients: vec![name.into()], ..none() };
    let parameters = |name: &str| GradientBy { parameters: vec![name.into()], ..none() };
    let plain = || field("0.5*u");
    for (description, by, told) in [
        (field("u*noise(1)"), none(), "random numbers"),
        (plain(), coefficients("c"), "no coefficient 'c'"),
        (plain(), parameters("q"), "no constant 'q'"),
        (
            plain().time_step("0.1*k"),
            parameters("k"),
            "no gradient by 'k': it is needed as a number",
        ),
        (field("laplace(x*u)"), none(), ""),
    ] {
        if told.is_empty() {
            let periodic = Description::new(&[6]).derivative("laplace", "xx", 2);
            let periodic =
                periodic.field(FieldText::new("u", "x", "laplace(x*u)").boundary("periodic"));
            assert!(refusal(periodic, by).contains("the coordinate x"));
        } else {
            let found = refusal(description, by);
            assert!(found.contains(told), "{found}");
        }
    }
    let mut simulation = Simulation::of(&of(&plain())).build().unwrap();
    let wrong = |records: Vec<Vec<f64>>| Cotangents { records, ..Cotangents::default() };
    let found = simulation.gradient(2, &none(), |_| Ok(wrong(vec![vec![1.0]])));
    assert!(found.unwrap_err().to_string().contains("1 rows"));
}

/// Built-in systems on small grids, a little beside their starts, where `abs` has a derivative (`max` of a few points changes sides);
/// and why others have no gradient.
#[test]
fn built_in_systems_pass_the_test_of_taylor() {
    let (mut smooth, mut others) = (Vec::new(), Vec::new());
    for example in crate::examples::EXAMPLES {
        let mut description = Description::parse(example.name, example.text).unwrap();
        let most = [100, 24, 8][description.size.len() - 1];
        description.size.iter_mut().for_each(|extent| *extent = (*extent).min(most));
        description.dtype = problem::Dtype::F64;
        description.receivers.clear();
        let system = of(&description);
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let start = Simulation::of(&system).build().unwrap().state().unwrap().arrays;
        let start = all_plus(&start, 1e-3, &like(&start, &mut random));
        let direction = like(&start, &mut random);
        let mut simulation = from(&system, start.clone());
        let mut value = 0.0;
        let found = simulation.gradient(STEPS, &GradientBy::default(), |after| {
            let (own, cotangents) = half_squares(after);
            value = own;
            Ok(cotangents)
        });
        let found = match found {
            Ok(found) if found.constants.is_empty() => found,
            Ok(found) => {
                others.push((example.name, found.constants.join(", ")));
                continue;
            }
            Err(error) => {
                others.push((example.name, error.to_string()));
                continue;
            }
        };
        let [slope, _] = dot(grids(&direction), grids(&found.start));
        let left = |far: f64| {
            let mut simulation = from(&system, all_plus(&start, far, &direction));
            simulation.step(STEPS).unwrap();
            let there = half_squares(&mut simulation).0;
            (there - value - far * slope).abs() / (1.0 + value.abs())
        };
        let [far, near] = [1e-4, 1e-5].map(left);
        let rate = (far / near).log10();
        println!("{}: {far:e} and {near:e} are left: {rate:.3}", example.name);
        assert!(rate > 1.8 || near < 1e-12, "{}: {far:e}, {near:e}", example.name);
        smooth.push(example.name);
    }
    println!("{others:?}");
    let names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["life", "larger-than-life"], "{others:?}");
}

/// A system that is a stencil is computed as one, forwards and backwards.
#[test]
fn a_system_that_is_a_stencil_has_a_gradient() {
    let heat = |k: f64| {
        let own = Description::new(&[30, 20])
            .dtype(problem::Dtype::F64)
            .constant("k", format!("{k:?}"))
            .derivative("laplace", "laplace", 2)
            .field(
                FieldText::new("u", "cos(x/3) + sin(y)", "u + k*laplace(u)")
                    .boundary("x:edge,y:periodic"),
            );
        of(&own)
    };
    let value = |k: f64| {
        let mut simulation = Simulation::of(&heat(k)).build().unwrap();
        simulation.step(7).unwrap();
        half_squares(&mut simulation).0
    };
    let quotient = (value(0.2 + 1e-6) - value(0.2 - 1e-6)) / 2e-6;
    let by = GradientBy {
        parameters: vec!["k".into()],
        memory: Some(Bytes(3 * 8 * 600)),
        ..GradientBy::default()
    };
    let mut simulation = Simulation::of(&heat(0.2)).build().unwrap();
    let found = simulation.gradient(7, &by, |after| Ok(half_squares(after).1)).unwrap();
    let by_k = found.parameters[0].1;
    assert!((by_k - quotient).abs() < 1e-6 * quotient.abs(), "{by_k} for {quotient}");
    assert!(found.steps_again > 0);
    let start = Simulation::of(&heat(0.2)).build().unwrap().state().unwrap().arrays;
    let direction = like(&start, &mut ChaCha8Rng::seed_from_u64(1));
    let only = GradientBy::default();
    let mut linear = Simulation::of(&heat(0.2)).build().unwrap();
    let again = linear.gradient(7, &only, |after| Ok(half_squares(after).1)).unwrap();
    let [one, size] = dot(grids(&direction), grids(&found.start));
    let [other, _] = dot(grids(&direction), grids(&again.start));
    assert!((one - other).abs() < 1e-13 * size && again.steps_again == 0, "{one} and {other}");
}
