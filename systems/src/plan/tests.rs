// SPDX-License-Identifier: MIT OR Apache-2.0
use std::path::Path;

use super::*;
use crate::Description;
use crate::examples::EXAMPLES;

fn example(name: &str, change: impl Fn(&mut Description)) -> System {
    let example = EXAMPLES.iter().find(|example| example.name == name).unwrap();
    let mut description = Description::parse(example.name, example.text).unwrap();
    change(&mut description);
    System::new(&description, Path::new("")).unwrap()
}

/// What comes first on CUDA cores is what is taken there, and each engine is ranked or refused.
#[test]
fn every_engine_is_ranked_or_refused() {
    for example in EXAMPLES {
        let description = Description::parse(example.name, example.text).unwrap();
        let system = System::new(&description, Path::new("")).unwrap();
        let planned = planned(&system, &Hardware::described(Machine::h200()));
        for engine in ["cuda", "sparse", "fft", "dense"] {
            let ranked = planned.ranked.iter().any(|way| way.engine == engine);
            let refused = planned.rejected.iter().any(|out| out.engine == engine);
            assert!(ranked || refused, "{}: {engine}", example.name);
        }
        let first = planned.ranked.iter().find(|way| way.engine == "cuda").unwrap();
        let chosen = on_cuda_cores(&system, Machine::h200()).unwrap();
        assert_eq!(first.kernel, chosen.way.kernel, "{}", example.name);
    }
}

/// On a GPU the cores of this machine come last, whatever their speed.
#[test]
fn cores_come_last_beside_a_gpu() {
    let system = example("gray-scott", |description| description.size = vec![3, 4]);
    let hardware = Hardware { cores: true, ..Hardware::described(Machine::h200()) };
    let planned = planned(&system, &hardware);
    assert_eq!(planned.ranked.last().unwrap().engine, "cpu");
    assert_eq!(planned.ranked[0].engine, "cuda");
}

/// A jump must be twice as fast as steps, with what passes before it.
#[test]
fn jumps_are_taken_where_they_are_much_faster() {
    let first = |steps: usize| {
        let system = example("membrane", |description| description.steps = steps);
        planned(&system, &Hardware::described(Machine::h200())).ranked[0].engine
    };
    assert_eq!(first(100_000), "fft");
    // Loading what it takes would take longer than the steps.
    assert_eq!(first(2000), "cuda");
}

/// What is asked for is all that is proposed.
#[test]
fn depths_that_are_asked_for_are_kept() {
    let system = example("membrane", |_| ());
    let hardware = Hardware::described(Machine::h200());
    let chains = planned(&system.clone().with_chain(problem::Depth::Steps(3)), &hardware);
    assert!(chains.ranked.iter().all(|way| way.chain == 3) && !chains.ranked.is_empty());
    let jumps = planned(&system.with_jump(problem::Depth::Steps(3)), &hardware);
    assert!(jumps.ranked.iter().all(|way| way.engine == "fft") && !jumps.ranked.is_empty());
}

/// Where a sweep gains nothing, CUDA cores compute; what is no sweep is refused with the reason.
#[test]
fn sweeps_are_taken_where_they_are_faster() {
    let system = |size: usize, stencil: &str, dtype: &str, next: &str| {
        let text = format!(
            "[grid]\nsize = [{size}, {size}]\ndtype = \"{dtype}\"\n[time]\nsteps = 1000\n[stencils]\n\
             s = {{ name = \"{stencil}\" }}\n[fields.u]\nstart = 0\nnext = \"{next}\""
        );
        System::new(&Description::parse("a test", &text).unwrap(), Path::new("")).unwrap()
    };
    let hardware = Hardware::described(Machine::h200());
    let wave = "2*u - prev(u) + 0.001*(s(u) - u)";
    let first = |size, stencil, dtype| {
        let ranked = planned(&system(size, stencil, dtype, wave), &hardware).ranked;
        ranked.iter().find(|way| way.engine != "fft").unwrap().engine
    };
    assert_eq!(first(10240, "box2d7r", "f16"), "sparse");
    assert_eq!(first(10240, "box2d3r", "bf16"), "sparse");
    assert_eq!(first(10240, "star2d1r", "f16"), "cuda");
    assert_eq!(first(10240, "box2d7r", "f32"), "cuda");
    let asked = |stencil, dtype, next| {
        let system = system(64, stencil, dtype, next);
        let chosen = choose_on(
            &hardware,
            &system,
            Request { engine: EngineRequest::Sparse, steps: 1000, ..Request::default() },
        );
        chosen.map(|chosen| chosen.way.family.name()).map_err(|error| error.to_string())
    };
    assert_eq!(asked("star2d1r", "f16", wave), Ok("sweep"));
    for (stencil, dtype, next, part) in [
        ("box2d1r", "f32", wave, "f16 and bf16, not in f32"),
        ("box2d8r", "f16", wave, "reaches 8 points far; sweeps take up to 7"),
        ("box2d1r", "f16", "0.5*u", "no stencil of a field"),
        ("box2d1r", "f16", "s(u) + s(prev(u))", "more than one sum"),
        ("box2d1r", "f16", "s(u) + s(u*u)", "reads neighbours, in an expression"),
    ] {
        let refused = asked(stencil, dtype, next).unwrap_err();
        let start = "engine 'sparse' cannot run this";
        assert!(refused.starts_with(start) && refused.contains(part), "{refused}");
    }
}

/// A family that is asked for by name is taken, and one of another engine is refused.
#[test]
fn a_family_is_taken_by_name() {
    let system = example("gray-scott", |description| description.size = vec![1024, 1024]);
    let hardware = Hardware::described(Machine::h200());
    let asked = |engine, family| {
        let request = Request { engine, family: Some(family), steps: 100, ..Request::default() };
        choose_on(&hardware, &system, request).map(|chosen| chosen.way.family.name())
    };
    assert_eq!(asked(EngineRequest::Auto, "step").unwrap(), "step");
    assert_eq!(asked(EngineRequest::Cuda, "chain").unwrap(), "chain");
    assert!(asked(EngineRequest::Cpu, "chain").is_err());
    let refused = asked(EngineRequest::Auto, "jump").err().unwrap().to_string();
    assert!(refused.contains("not linear"), "{refused}");
}

/// Looks every ten steps end launches: then chains are taken of which whole ones make ten.
#[test]
fn looks_on_the_way_choose_how_many_steps_a_launch_takes() {
    let system = System::new(
        &Description::new(&[4096, 4096])
            .dtype(problem::Dtype::F32)
            .time_step(0.1)
            .derivative("laplace", "laplace", 2)
            .coefficient("k", "1 + 0.01*x")
            .field(crate::FieldText::new("u", "x", "u + dt*k*laplace(u)").boundary("edge"))
            .total("heat", "sum(u)"),
        Path::new(""),
    );
    let (system, hardware) = (system.unwrap(), Hardware::described(Machine::h200()));
    let chain = |steps: usize| {
        let chosen = choose_on(&hardware, &system, Request { steps, ..Request::default() });
        chosen.unwrap().way.chain
    };
    let (alone, with_looks) = (chain(2000), chain(10));
    assert!(alone > 5 && 10 % alone > 0, "{alone}");
    assert!(with_looks > 1 && 10 % with_looks == 0, "{with_looks}");
}

/// Layers along sides take time where they are: a step takes less the thinner they are, and no less than without any.
#[test]
fn layers_are_predicted_where_they_lie() {
    let seconds = |width: usize| {
        let wave = "2*p - prev(p) + (0.3*c)^2*laplace(p)";
        let mut wave = Description::new(&[300, 300])
            .coefficient("c", "1")
            .derivative("laplace", "laplace", 4)
            .field(crate::FieldText::new("p", 0.0, wave));
        if width > 0 {
            wave = wave.pml(width, 1);
        }
        crate::fft::stepped(&System::new(&wave, Path::new("")).unwrap(), 1)
    };
    let [none, thin, thick] = [0, 20, 120].map(seconds);
    println!("{none:.2e}, {thin:.2e} and {thick:.2e} s");
    assert!(none <= thin && thin < 0.6 * thick);
}
