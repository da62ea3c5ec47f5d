// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes back out of layers, measured beside grids so large that nothing does; and what is left after many steps.

use std::path::Path;

use crate::tests::tier::is_thorough;
use crate::{Description, System, SystemSimulation};

/// Points between the layers, along each axis.
const INSIDE: usize = 60;

/// Pressure by an equation of second order.
const ACOUSTIC: &str = r#"
    [stencils]
    laplace = { derivative = "laplace", order = ORDER }
    [fields.p]
    start = 0
    next = "2*p - prev(p) + (c*dt)^2*laplace(p)"
    [[sources]]
    field = "p"
    at = ["around + 30", "around + 12"]
    add = "ricker(0.12, t - 10)"
"#;

/// Velocity and stress of second order in time; waves of two speeds.
const ELASTIC: &str = r#"
    [stencils]
    right = { derivative = "x+", order = ORDER }
    left = { derivative = "x-", order = ORDER }
    down = { derivative = "y+", order = ORDER }
    up = { derivative = "y-", order = ORDER }
    [fields.vx]
    start = 0
    next = "vx + dt*(right(txx) + down(txy))"
    [fields.p]
    start = 0
    next = "p + dt*(left(txy) + up(tyy))"
    [fields.txx]
    start = 0
    next = "txx + dt*(c^2*left(new(vx)) + (c^2 - 2*mu)*down(new(p)))"
    [fields.tyy]
    start = 0
    next = "tyy + dt*((c^2 - 2*mu)*left(new(vx)) + c^2*down(new(p)))"
    [fields.txy]
    start = 0
    next = "txy + dt*mu*(right(new(p)) + up(new(vx)))"
    [[sources]]
    field = "p"
    at = ["around + 30", "around + 12"]
    add = "ricker(0.06, t - 20)"
"#;

/// A wave with so many points around the inside.
fn wave(equations: &str, order: usize, around: usize, layer: &str) -> SystemSimulation {
    let size = INSIDE + 2 * around;
    let text = format!(
        "grid = {{ size = [{size}, {size}], dtype = \"f64\" }}\ntime = {{ dt = 0.5, steps = 0 }}\n\
         constants = {{ c = 1, mu = 0.3, around = {around} }}\n{}{layer}",
        equations.replace("ORDER", &order.to_string())
    );
    let description = Description::parse("wave.toml", &text).unwrap();
    let system = System::new(&description, Path::new("")).unwrap();
    SystemSimulation::new(&system).unwrap()
}

/// The inside of the field p every so many steps.
fn inside(mut wave: SystemSimulation, around: usize, looks: usize, every: usize) -> Vec<Vec<f64>> {
    let size = INSIDE + 2 * around;
    let look = |_| {
        wave.step(every).unwrap();
        let grid = wave.field("p").unwrap();
        let point = |at: usize| (around + at / INSIDE) * size + around + at % INSIDE;
        (0..INSIDE * INSIDE).map(|at| grid.get(point(at))).collect()
    };
    (0..looks).map(look).collect()
}

/// The largest difference of what is inside, as part of the largest value at the point where the wave meets the layer first.
fn reflection(equations: &str, order: usize, (width, layer): (usize, &str), steps: usize) -> f64 {
    let looks = steps / 5;
    let far = steps / 4 + 5;
    let free = inside(wave(equations, order, far, ""), far, looks, 5);
    let layered = inside(wave(equations, order, width, layer), width, looks, 5);
    let met = free.iter().map(|it| it[30 * INSIDE].abs()).fold(0.0, f64::max);
    let both = free.iter().zip(&layered).flat_map(|(a, b)| a.iter().zip(b));
    both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / met
}

#[test]
fn waves_that_meet_a_layer_are_gone() {
    let pml = |width: usize| (width, format!("[pml]\nwidth = {width}\nspeed = \"c\"\n"));
    for (equations, name, steps, most) in
        [(ACOUSTIC, "acoustic", 230, [0.001, 0.001]), (ELASTIC, "elastic", 330, [0.02, 0.003])]
    {
        for &order in if is_thorough() { &[4, 8][..] } else { &[8] } {
            let of = |(width, layer): (usize, String)| {
                reflection(equations, order, (width, &layer), steps)
            };
            let [ten, twenty] = [10, 20].map(|width| of(pml(width)));
            let sponge = of((20, "[sponge]\nwidth = 20\n".to_owned()));
            println!(
                "{name}, order {order}: 10 points {:.4} %, 20 points {:.4} %, sponge of 20 {:.1} %",
                100.0 * ten,
                100.0 * twenty,
                100.0 * sponge
            );
            assert!(ten < most[0] && twenty < most[1], "{name} of order {order}: {ten} {twenty}");
            assert!(sponge > 5.0 * twenty, "{name} of order {order}: {sponge}");
        }
    }
}

/// Waves fade for thousands of steps, near the largest time step that is stable without a layer.
#[test]
fn nothing_grows_in_a_layer() {
    let layer = |more: &str| format!("[pml]\nwidth = 8\nspeed = \"c\"\n{more}");
    for (equations, order) in [(ACOUSTIC, 2), (ACOUSTIC, 8), (ELASTIC, 2), (ELASTIC, 8)] {
        for (is_slow, more) in ["", "frequency = 0.06\n"].into_iter().enumerate() {
            // A quick run has each equation with both orders, of which one has slow waves.
            if !is_thorough() && (order == 8) != (is_slow == 1) {
                continue;
            }
            let mut wave = wave(equations, order, 8, &layer(more));
            let mut largest = |steps: usize| {
                wave.step(steps).unwrap();
                let grid = wave.field("p").unwrap();
                (0..grid.shape.points()).map(|at| grid.get(at).abs()).fold(0.0, f64::max)
            };
            let [first, second, third] = [100, 600, 2000].map(&mut largest);
            println!("{order} {more}: {first:.1e} {second:.1e} {third:.1e}");
            assert!(second < 0.01 * first && third < second, "{first} {second} {third}");
        }
    }
}
