// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps in stages: which there are, and what is refused.

use std::path::Path;

use crate::{Description, System, SystemSimulation};
use compute::engine::EngineRequest;
use problem::Error;

/// A system of these tables.
fn system(time: &str, tables: &str) -> Result<System, Error> {
    let text = format!(
        "[grid]\nsize = [9, 12]\n[time]\nsteps = 3\ndt = 0.1\n{time}\n[stencils]\n\
         dx = {{ derivative = \"x\", order = 2 }}\n{tables}"
    );
    System::new(&Description::parse("staged.toml", &text)?, Path::new(""))
}

fn stages(tables: &str) -> usize {
    system("", tables).unwrap().stages.len()
}

const V: &str = "[fields.v]\nstart = 1\nnext = \"v + dt*dx(u)\"\n";

#[test]
fn what_is_read_at_its_own_point_is_computed_in_one_stage() {
    for (next, expected) in [
        ("u + dt*v", 1),
        ("u + dt*new(v)", 1),
        ("u + dt*dx(v)", 1),
        ("u + dt*dx(new(v))", 2),
        ("u + dt*dx(new(v))*new(v)", 2),
    ] {
        let tables = format!("[fields.u]\nstart = \"x\"\nnext = \"{next}\"\n{V}");
        assert_eq!(stages(&tables), expected, "{next}");
    }
    // What a source adds is there when the stage is over.
    let source = "[[sources]]\nfield = \"v\"\nat = [1, 2]\nadd = 1\n";
    let tables = format!("[fields.u]\nstart = \"x\"\nnext = \"u + new(v)\"\n{V}{source}");
    assert_eq!(stages(&tables), 2);
}

/// Ordinary differential equations at each point need one stage, whatever the method is; a stencil makes as many as there
/// are rates.
#[test]
fn a_method_has_a_stage_for_each_rate_that_is_read_around_a_point() {
    for (method, alone, around) in [("euler", 1, 1), ("rk2", 1, 2), ("ssprk3", 1, 3), ("rk4", 1, 4)]
    {
        for (rate, expected) in [("-u", alone), ("dx(u)", around)] {
            let tables = format!("[fields.u]\nstart = \"x\"\nrate = \"{rate}\"\n");
            let system = system(&format!("method = \"{method}\""), &tables).unwrap();
            assert_eq!(system.stages.len(), expected, "{method} of {rate}");
            assert_eq!(system.reach(), [0, 0, if rate == "-u" { 0 } else { expected }]);
        }
    }
}

/// Decay of each value: what each method makes of it is a polynomial.
#[test]
fn methods_have_the_polynomials_of_their_orders() {
    for (method, order) in [("euler", 1), ("rk2", 2), ("ssprk3", 3), ("rk4", 4)] {
        let tables = "[fields.u]\nstart = \"1 + x\"\nrate = \"-u + 0*dx(u)\"\n";
        let mut system = system(&format!("method = \"{method}\""), tables).unwrap();
        system.dtype = problem::Dtype::F64;
        let mut simulation = SystemSimulation::new(&system).unwrap();
        simulation.step(1).unwrap();
        let (mut term, mut factor) = (1.0, 1.0);
        for power in 1..=order {
            term *= -0.1 / f64::from(power);
            factor += term;
        }
        let u = simulation.field("u").unwrap();
        let error = (u.get(5) - 6.0 * factor).abs();
        assert!(error < 1e-14, "{method}: {error}");
    }
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let u = |change: &str| format!("[fields.u]\nstart = 0\n{change}\n");
    for (time, tables, expected) in [
        (
            "",
            u("next = \"new(v)\"") + "[fields.v]\nstart = 0\nnext = \"dx(new(u))\"\n",
            "'u' waits for 'v' waits for 'u'",
        ),
        ("", u("next = \"new(u)\""), "'u' waits for 'u'"),
        ("", u("next = \"new(u + 1)\""), "'new' takes a field, and nothing else"),
        (
            "",
            u("next = \"new(w)\"") + "[work.w]\nvalue = \"u\"\n",
            "always has its value of this step",
        ),
        ("", u("next = \"prev(w)\"") + "[work.w]\nvalue = \"u\"\n", "'prev' takes a field"),
        ("", u("next = \"w\"") + "[work.w]\nvalue = \"dx(w)\"\n", "'w' waits for 'w'"),
        ("", "[fields.u]\nstart = \"new(u)\"\nnext = \"u\"\n".into(), "cannot stand in"),
        ("", u("next = \"u\"\nrate = \"u\""), "has next values, and a rate"),
        ("", u(""), "the key 'next' is missing"),
        ("method = \"rk5\"", u("rate = \"u\""), "'rk5' is none of euler, rk2, ssprk3, rk4"),
        (
            "method = \"rk4\"",
            u("next = \"u\""),
            "'rk4' integrates rates, and this field has 'next'",
        ),
        ("method = \"rk4\"", u("rate = \"prev(u)\""), "which has no 'prev'"),
        ("method = \"rk2\"", u("rate = \"new(u)\""), "which has no 'new'"),
        ("", u("next = \"w\"") + "[work.w]\nvalue = \"u\"\nstart = 0\n", "no key 'start' here"),
        ("", u("next = \"u\"") + "[work.u]\nvalue = \"1\"\n", "'u' is a work field already"),
    ] {
        let error = system(time, &tables).unwrap_err().to_string();
        assert!(error.contains(expected), "{tables}: {error}");
        assert!(error.starts_with("staged.toml, line "), "{error}");
    }
}

/// The time step is made shorter, and all that is made of it.
#[test]
fn a_run_ends_at_its_time() {
    let of = |until: &str| {
        let text = format!(
            "grid.size = [9]\ntime = {{ dt = \"k/10\", until = {until} }}\n[constants]\nk = 3\n\
             half = \"dt/2\"\n[fields.u]\nstart = 0\nnext = \"u + half\"\n"
        );
        System::new(&Description::parse("until.toml", &text)?, Path::new(""))
    };
    for (until, steps) in [("3", 10), ("3.01", 11), ("\"k\"", 10), ("0.1", 1), ("\"k/10\"", 1)] {
        let system = of(until).unwrap();
        assert_eq!(system.steps(), steps, "{until}");
        let mut simulation = SystemSimulation::new(&system).unwrap();
        simulation.step(steps).unwrap();
        let end = 2.0 * simulation.field("u").unwrap().get(0);
        assert!((end - system.dt() * steps as f64).abs() < 1e-6, "{until}: {end}");
    }
    assert!((of("3.01").unwrap().dt() * 11.0 - 3.01).abs() < 1e-15);
    // Fewer steps are as long.
    let fewer = of("3.01").unwrap().with_steps(0);
    assert_eq!((fewer.steps(), fewer.dt()), (0, 3.01 / 11.0));
    for (until, expected) in [
        ("0", "is no end time for a time step of 0.3"),
        ("-1", "is no end time"),
        ("1e30", "is no end time"),
        ("\"10*dt\"", "depends on the time step"),
        ("\"2*half\"", "depends on the time step"),
        ("\"k*t\"", "cannot stand in a constant"),
    ] {
        let error = of(until).unwrap_err().to_string();
        assert!(error.contains(expected), "{until}: {error}");
    }
}

/// A plate in balance with its sources: its start is made of them.
#[test]
fn a_field_starts_from_coefficients_and_stencils_of_them() {
    let tables = "[coefficients.c]\nstart = \"x^2\"\nboundary = \"edge\"\n\
                  [fields.u]\nstart = \"2*c + dx(c)\"\nnext = \"u\"\n";
    let u = SystemSimulation::new(&system("", tables).unwrap()).unwrap().field("u").unwrap();
    assert_eq!([0, 1, 5, 11].map(|at| u.get(at)), [0.5, 4.0, 60.0, 242.0 + 10.5]);
    for (start, expected) in [
        ("dx(random(1))", "there are no random numbers"),
        ("dx(u)", "'u' cannot stand in a value to start with"),
        ("c + w", "there is no 'w'"),
    ] {
        let tables = format!(
            "[coefficients.c]\nstart = \"x\"\n[fields.u]\nstart = \"{start}\"\nnext = \"u\"\n"
        );
        let error = system("", &tables).unwrap_err().to_string();
        assert!(error.contains(expected), "{start}: {error}");
    }
    let tables = "[coefficients.c]\nstart = \"dx(x)\"\n[fields.u]\nstart = 0\nnext = \"u\"\n";
    let error = system("", tables).unwrap_err().to_string();
    assert!(error.contains("cannot stand in a value of a coefficient"), "{error}");
}

/// Linear equations in several stages are one sum of values before the step, where all sides are periodic.
#[test]
fn jumps_take_the_stages_of_a_step_together() {
    let sides = |x: &str| format!("boundary = \"y:periodic,x:{x}\"\n");
    let tables = |x: &str, method: &str| {
        format!(
            "[work.w]\nvalue = \"dx(u) - 0.5*u\"\n{}[fields.u]\nstart = \"sin(x) + y\"\n{}{method}",
            sides(x),
            sides(x)
        )
    };
    let leapfrog = "next = \"u + dt*dx(new(v))\"\n[fields.v]\nstart = 0\nboundary = \"periodic\"\n\
                    next = \"v + dt*w\"\n";
    for (time, method) in [("", leapfrog), ("method = \"rk4\"", "rate = \"dx(w) - 0.25*u\"\n")] {
        let mut system = system(time, &tables("periodic", method)).unwrap();
        system.dtype = problem::Dtype::F64;
        let of = |engine| {
            let mut simulation = SystemSimulation::on(&system, engine).unwrap();
            simulation.step(40).unwrap();
            simulation.checked_step().unwrap();
            simulation.field("u").unwrap()
        };
        let [jumped, stepped] = [of(EngineRequest::Fft), of(EngineRequest::Cpu)];
        for at in 0..jumped.shape.points() {
            let error = (jumped.get(at) - stepped.get(at)).abs();
            assert!(error < 1e-12, "{method}: {error} at {at}");
        }
    }
    let walls = system("", &tables("zero", leapfrog)).unwrap();
    let refused = SystemSimulation::on(&walls, EngineRequest::Fft).err().unwrap().to_string();
    assert!(refused.contains("not all sides of 'u' are periodic"), "{refused}");
}

/// A method of four stages whose rates wait for six work fields has twenty-eight.
#[test]
fn more_stages_than_a_gpu_takes_are_refused_before_a_kernel_is_written() {
    let names = ["u", "a", "b", "c", "d", "e", "f"];
    let work = |two: &[&str]| format!("[work.{}]\nvalue = \"dx({})\"\n", two[1], two[0]);
    let works: String = names.windows(2).map(work).collect();
    let tables = works + "[fields.u]\nstart = \"x\"\nrate = \"dx(f)\"\n";
    let system = system("method = \"rk4\"", &tables).unwrap();
    assert_eq!(system.stages.len(), 28);
    let refused = SystemSimulation::on(&system, EngineRequest::Emulate).err().unwrap().to_string();
    assert!(refused.contains("a step has 28 stages"), "{refused}");
    SystemSimulation::on(&system, EngineRequest::Cpu).unwrap().checked_step().unwrap();
}

/// Of a work field, too, earlier values are damped as often as steps have passed.
#[test]
fn a_sponge_damps_what_work_fields_read() {
    let of = |next: &str, work: &str| {
        let tables = format!(
            "[fields.u]\nstart = \"x\"\nnext = \"{next}\"\n{work}[sponge]\nwidth = 4\nstrength = 0.2\n"
        );
        let mut simulation = SystemSimulation::new(&system("", &tables).unwrap()).unwrap();
        simulation.step(6).unwrap();
        simulation.field("u").unwrap()
    };
    let plain = of("u + 0.5*(u - prev(u)) + dt*dx(u)", "");
    let work = of("u + 0.5*v + dt*dx(u)", "[work.v]\nvalue = \"u - prev(u)\"\n");
    assert_eq!(plain, work);
}

/// What is around a work field is not what is around the fields that it is made of.
#[test]
fn a_periodic_work_field_of_a_field_with_walls_is_no_stencil() {
    let tables = "[work.w]\nvalue = \"dx(u)\"\nboundary = \"periodic\"\n\
                  [fields.u]\nstart = \"x\"\nnext = \"u - 0.01*dx(w)\"\n";
    let walls = system("", tables).unwrap();
    assert!(crate::sum::job(&walls).is_err());
    let periodic = tables.replace("start = \"x\"", "start = \"x\"\nboundary = \"periodic\"");
    assert!(crate::sum::job(&system("", &periodic).unwrap()).is_ok());
}

#[test]
fn a_work_field_that_nothing_reads_is_told() {
    let tables = "[fields.u]\nstart = 0\nnext = \"u\"\n[work.w]\nvalue = \"dx(new(u))\"\n\
                  [work.v]\nvalue = \"dx(w) + x\"\n";
    let system = system("", tables).unwrap();
    assert_eq!((system.stages.len(), system.stages[0].writes.len()), (1, 1));
    for (warning, name) in system.warnings().iter().zip(["'w'", "'v'"]) {
        assert!(
            warning.contains(&format!("no field is made of the work field {name}")),
            "{warning}"
        );
    }
    assert_eq!(system.warnings().len(), 2);
}
