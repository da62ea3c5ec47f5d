// SPDX-License-Identifier: MIT OR Apache-2.0
//! The box under a lid that slides: against loops which push what moves to where it goes, and against what others measured.

use std::ops::Range;

use super::{difference, example, simulate, text, values};

/// The speed of the lid.
const LID: f64 = 0.1;

/// The name of a direction (z, y, x).
fn name([z, y, x]: [isize; 3]) -> String {
    let part = |at: isize, names: [&str; 3]| names[(at + 1) as usize].to_owned();
    part(y, ["n", "", "s"]) + &part(x, ["w", "", "e"]) + &part(z, ["f", "", "b"])
}

/// The 19 directions with the field and the weight of each.
fn directions() -> Vec<([isize; 3], String, f64)> {
    let all = (0..27).map(|number| [number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1]);
    let of = |direction: [isize; 3]| match direction.map(isize::abs).iter().sum() {
        0 => Some((direction, "f0".to_owned(), 1.0 / 3.0)),
        1 => Some((direction, format!("f{}", name(direction)), 1.0 / 18.0)),
        2 => Some((direction, format!("f{}", name(direction)), 1.0 / 36.0)),
        _ => None,
    };
    all.filter_map(of).collect()
}

/// The box, with what leaves each point in each direction.
struct Cavity {
    extents: [isize; 3],
    directions: Vec<([isize; 3], String, f64)>,
    leaving: Vec<Vec<f64>>,
    /// Velocity (z, y, x).
    velocity: Vec<[f64; 3]>,
}

impl Cavity {
    fn new(size: [usize; 3]) -> Self {
        let (directions, points) = (directions(), size.iter().product());
        let still = directions.iter().map(|(.., weight)| *weight).collect();
        Self {
            extents: size.map(|extent| extent as isize),
            directions,
            leaving: vec![still; points],
            velocity: vec![[0.0; 3]; points],
        }
    }

    fn points(&self) -> Range<usize> {
        0..self.leaving.len()
    }

    fn place(&self, point: usize) -> [isize; 3] {
        let ([_, ny, nx], point) = (self.extents, point as isize);
        [point / (ny * nx), point / nx % ny, point % nx]
    }

    fn point(&self, place: [isize; 3]) -> Option<usize> {
        let [_, ny, nx] = self.extents;
        let inside = (0..3).all(|axis| (0..self.extents[axis]).contains(&place[axis]));
        inside.then(|| ((place[0] * ny + place[1]) * nx + place[2]) as usize)
    }

    fn step(&mut self, omega: f64) {
        let mut arrived = self.leaving.clone();
        for point in self.points() {
            let place = self.place(point);
            for (number, (direction, _, weight)) in self.directions.iter().enumerate() {
                let mass = self.leaving[point][number];
                let to: [isize; 3] = std::array::from_fn(|axis| place[axis] + direction[axis]);
                match self.point(to) {
                    Some(to) => arrived[to][number] = mass,
                    None => {
                        let back = self.directions.len() - 1 - number;
                        let speed = if to[1] < 0 { LID } else { 0.0 };
                        let given = 6.0 * weight * speed * direction[2] as f64;
                        arrived[point][back] = mass - given;
                    }
                }
            }
        }
        for (point, masses) in arrived.into_iter().enumerate() {
            let rho: f64 = masses.iter().sum();
            let along = |axis: usize| {
                let all = self.directions.iter().zip(&masses);
                all.map(|((direction, ..), mass)| mass * direction[axis] as f64).sum::<f64>() / rho
            };
            let velocity = [0, 1, 2].map(along);
            let square: f64 = velocity.iter().map(|speed| speed * speed).sum();
            for (number, (direction, _, weight)) in self.directions.iter().enumerate() {
                let along: f64 = (0..3).map(|axis| velocity[axis] * direction[axis] as f64).sum();
                let balance = 1.0 + 3.0 * along + 4.5 * along * along - 1.5 * square;
                let (mass, balance) = (masses[number], weight * rho * balance);
                self.leaving[point][number] = mass + omega * (balance - mass);
            }
            self.velocity[point] = velocity;
        }
    }

    /// What turns in planes of z: dv/dx - du/dy by central differences, beside walls at rest and the lid.
    fn vorticity(&self) -> Vec<f64> {
        let speed = |place: [isize; 3], axis: usize| match self.point(place) {
            Some(point) => self.velocity[point][axis],
            None if place[1] < 0 && axis == 2 => LID,
            None => 0.0,
        };
        let of = |point: usize| {
            let [z, y, x] = self.place(point);
            let along_x = speed([z, y, x + 1], 1) - speed([z, y, x - 1], 1);
            (along_x - speed([z, y + 1, x], 2) + speed([z, y - 1, x], 2)) / 2.0
        };
        self.points().map(of).collect()
    }
}

#[test]
fn liquid_under_a_lid() {
    let size = [5, 6, 7];
    let description = example("lid-driven-cavity", &size);
    let mut cavity = Cavity::new(size);
    let mut turning = cavity.vorticity();
    for _ in 0..40 {
        // The field reads the velocity of the step before.
        turning = cavity.vorticity();
        cavity.step(1.0 / (0.5 + 3.0 * LID * 7.0 / 100.0));
    }
    let mut simulation = simulate(&description, 40);
    for (number, (_, name, _)) in cavity.directions.iter().enumerate() {
        let own: Vec<f64> = cavity.leaving.iter().map(|leaving| leaving[number]).collect();
        let error = difference(&values(&mut simulation, name), &own);
        assert!(error < 1e-14, "{name}: {error}");
    }
    for (axis, name) in [(2, "u"), (1, "v")] {
        let own: Vec<f64> = cavity.velocity.iter().map(|velocity| velocity[axis]).collect();
        let error = difference(&values(&mut simulation, name), &own);
        assert!(error < 1e-14, "{name}: {error}");
    }
    let error = difference(&values(&mut simulation, "vorticity"), &turning);
    assert!(error < 1e-14, "{error}");
    assert!(turning.iter().any(|turning| turning.abs() > 0.01));
    // No liquid is lost, and none comes.
    let mass: f64 = cavity.leaving.iter().flatten().sum();
    assert!((mass - 210.0).abs() < 1e-11, "{mass}");
}

/// Without walls in front and behind the flow is that in a plane, of which Ghia, Ghia and Shin (Journal of Computational
/// Physics 48, 1982, tables I and II, Reynolds number 100) give the velocities on the lines through the middle.
#[test]
fn a_flow_in_a_plane_is_that_of_others() {
    const POINTS: usize = 24;
    /// How far from the lid's opposite, and the speed along the lid, as a part of its speed.
    const ALONG: [(f64, f64); 6] = [
        (0.9531, 0.68717),
        (0.7344, 0.00332),
        (0.5, -0.20581),
        (0.4531, -0.2109),
        (0.2813, -0.15662),
        (0.1016, -0.06434),
    ];
    /// How far along the lid, and the speed towards it.
    const TOWARDS: [(f64, f64); 6] = [
        (0.9453, -0.10313),
        (0.8047, -0.24533),
        (0.5, 0.05454),
        (0.2344, 0.17527),
        (0.1563, 0.16077),
        (0.0938, 0.12317),
    ];
    let mut description = example("lid-driven-cavity", &[1, POINTS, POINTS]);
    for (name, term) in &mut description.terms {
        if ["front", "back"].contains(&name.as_str()) {
            *term = text("z < 0");
        }
    }
    for field in &mut description.fields {
        let boundary = if field.name.as_str() == "u" { ",y-:constant=0.1" } else { "" };
        field.boundary = text(&format!("z:periodic{boundary}"));
    }
    let mut simulation = simulate(&description, 15 * POINTS * 10);
    let [u, v] = ["u", "v"].map(|name| values(&mut simulation, name));
    // Between the middles of the two rows or columns beside the middle, and between points.
    let between = |line: &dyn Fn(usize) -> f64, part: f64| {
        let at = part * POINTS as f64 - 0.5;
        let (before, weight) = (at as usize, at.fract());
        (line(before) * (1.0 - weight) + line(before + 1) * weight) / LID
    };
    let beside = [POINTS / 2 - 1, POINTS / 2];
    for (height, speed) in ALONG {
        let line = |y: usize| beside.map(|x| u[y * POINTS + x]).iter().sum::<f64>() / 2.0;
        let found = between(&line, 1.0 - height);
        assert!((found - speed).abs() < 0.015, "at {height}: {found}, not {speed}");
    }
    for (along, speed) in TOWARDS {
        let line = |x: usize| beside.map(|y| -v[y * POINTS + x]).iter().sum::<f64>() / 2.0;
        let found = between(&line, along);
        assert!((found - speed).abs() < 0.015, "at {along}: {found}, not {speed}");
    }
}
