// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stream around a cylinder: against loops which ask of each neighbour whether it is solid, and against what others measured.

use super::{difference, example, set, simulate, text, values};

const SPEED: f64 = 0.1;

/// Directions (y, x) with the field and the weight of each; the opposite one of each but the first beside it.
const DIRECTIONS: [([isize; 2], &str, f64); 9] = [
    ([0, 0], "f0", 4.0 / 9.0),
    ([0, 1], "fe", 1.0 / 9.0),
    ([0, -1], "fw", 1.0 / 9.0),
    ([1, 0], "fs", 1.0 / 9.0),
    ([-1, 0], "fn", 1.0 / 9.0),
    ([1, 1], "fse", 1.0 / 36.0),
    ([-1, -1], "fnw", 1.0 / 36.0),
    ([1, -1], "fsw", 1.0 / 36.0),
    ([-1, 1], "fne", 1.0 / 36.0),
];

fn opposite(direction: usize) -> usize {
    if direction == 0 { 0 } else { ((direction - 1) ^ 1) + 1 }
}

/// A part of what differs from the mean that a velocity (y, x) makes of the mass in a direction.
fn balance([y, x]: [isize; 2], velocity: [f64; 2]) -> f64 {
    let along = y as f64 * velocity[0] + x as f64 * velocity[1];
    let square = velocity[0].powi(2) + velocity[1].powi(2);
    1.0 + 3.0 * along + 4.5 * along * along - 1.5 * square
}

/// The stream, with what leaves each point in each direction.
struct Stream {
    ny: isize,
    nx: isize,
    /// Whether what leaves on the right comes from the left.
    is_ring: bool,
    leaving: Vec<[f64; 9]>,
    /// Velocity (y, x).
    velocity: Vec<[f64; 2]>,
}

impl Stream {
    fn new(ny: isize, nx: isize, is_ring: bool) -> Self {
        let mut stream = Self { ny, nx, is_ring, leaving: vec![], velocity: vec![] };
        for index in 0..(ny * nx) as usize {
            let along = 4.0 * std::f64::consts::PI * (index % nx as usize) as f64 / nx as f64;
            let velocity = [0.3 * SPEED * along.sin(), SPEED];
            let is_solid = stream.is_solid(index);
            let start = DIRECTIONS.map(|(at, _, weight)| weight * balance(at, velocity));
            stream.leaving.push(if is_solid { [0.0; 9] } else { start });
            stream.velocity.push(if is_solid { [0.0; 2] } else { velocity });
        }
        stream
    }

    fn is_solid(&self, index: usize) -> bool {
        let (ny, nx) = (self.ny as f64, self.nx as f64);
        let [y, x] = [index / self.nx as usize, index % self.nx as usize].map(|at| at as f64);
        (x - 0.2 * nx).powi(2) + (y - 0.5 * (ny - 1.0)).powi(2) < (ny / 9.0).powi(2)
    }

    /// The place of a point beside another one; nothing is on the left of the stream.
    fn beside(&self, index: usize, [dy, dx]: [isize; 2]) -> Option<usize> {
        let [y, x] = [index as isize / self.nx + dy, index as isize % self.nx + dx];
        let x = if self.is_ring { x.rem_euclid(self.nx) } else { x.min(self.nx - 1) };
        (x >= 0).then(|| (y.rem_euclid(self.ny) * self.nx + x) as usize)
    }

    fn step(&mut self, omega: f64) {
        let before = self.leaving.clone();
        let fluid: Vec<usize> = (0..before.len()).filter(|index| !self.is_solid(*index)).collect();
        for index in fluid {
            let arrived: [f64; 9] = std::array::from_fn(|number| {
                let ([dy, dx], _, weight) = DIRECTIONS[number];
                match self.beside(index, [-dy, -dx]) {
                    Some(from) if self.is_solid(from) => before[index][opposite(number)],
                    Some(from) => before[from][number],
                    None => weight * (1.0 + 3.0 * SPEED + 3.0 * SPEED * SPEED),
                }
            });
            let rho: f64 = arrived.iter().sum();
            let velocity = [0, 1].map(|axis| {
                let all = DIRECTIONS.iter().zip(arrived);
                all.map(|((at, ..), mass)| mass * at[axis] as f64).sum::<f64>() / rho
            });
            for (number, (at, _, weight)) in DIRECTIONS.iter().enumerate() {
                let mass = arrived[number];
                let goal = weight * rho * balance(*at, velocity);
                self.leaving[index][number] = mass + omega * (goal - mass);
            }
            self.velocity[index] = velocity;
        }
    }

    /// dv/dx - du/dy by central differences, with 0 in the middle between a point and a solid one.
    fn vorticity(&self) -> Vec<f64> {
        let speed = |index: usize, at: [isize; 2], axis: usize| match self.beside(index, at) {
            Some(other) if self.is_solid(other) => -self.velocity[index][axis],
            Some(other) => self.velocity[other][axis],
            None => [0.0, SPEED][axis],
        };
        let of = |index: usize| match self.is_solid(index) {
            true => 0.0,
            false => {
                let along_x = speed(index, [0, 1], 0) - speed(index, [0, -1], 0);
                (along_x - speed(index, [1, 0], 1) + speed(index, [-1, 0], 1)) / 2.0
            }
        };
        (0..self.velocity.len()).map(of).collect()
    }
}

#[test]
fn a_stream_around_a_cylinder_is_that_of_loops() {
    for is_ring in [false, true] {
        let (ny, nx) = (22, 30);
        let mut description = example("karman", &[ny, nx]);
        if is_ring {
            description.fields.iter_mut().for_each(|field| field.boundary = text("periodic"));
        }
        let mut stream = Stream::new(ny as isize, nx as isize, is_ring);
        let mass = |stream: &Stream| stream.leaving.iter().flatten().sum::<f64>();
        let before = mass(&stream);
        let mut turning = stream.vorticity();
        for _ in 0..40 {
            // The field reads the velocity of the step before.
            turning = stream.vorticity();
            stream.step(1.0 / (0.5 + 6.0 * SPEED * (ny as f64 / 9.0) / 120.0));
        }
        let mut simulation = simulate(&description, 40);
        for (number, (_, name, _)) in DIRECTIONS.iter().enumerate() {
            let own: Vec<f64> = stream.leaving.iter().map(|leaving| leaving[number]).collect();
            let error = difference(&values(&mut simulation, name), &own);
            assert!(error < 1e-13, "{name}: {error}");
        }
        for (axis, name) in [(1, "u"), (0, "v")] {
            let own: Vec<f64> = stream.velocity.iter().map(|velocity| velocity[axis]).collect();
            let error = difference(&values(&mut simulation, name), &own);
            assert!(error < 1e-13, "{name}: {error}");
        }
        let error = difference(&values(&mut simulation, "vorticity"), &turning);
        assert!(error < 1e-13, "{error}");
        // In a ring no liquid is lost, and none comes.
        assert!(!is_ring || (mass(&stream) - before).abs() < 1e-11 * before);
        let found: f64 = DIRECTIONS.iter().flat_map(|it| values(&mut simulation, it.1)).sum();
        assert!((found - mass(&stream)).abs() < 1e-11 * before, "{found} of {before}");
    }
}

/// How often vortices leave the cylinder: f times its width by the speed of the stream is 0.17 to 0.19 at Reynolds numbers from 100 to
/// 150 (Williamson, Annual Review of Fluid Mechanics 28, 1996), and more where others are beside it, here four and a half widths apart.
#[test]
fn vortices_leave_the_cylinder_in_turns() {
    const NY: usize = 45;
    let description = set(example("karman", &[NY, 150]), "re", "120");
    let description = description.receiver("v", &[22, 60]);
    let mut simulation = simulate(&description, 5000);
    let late: Vec<f64> = simulation.records()[2500..].iter().map(|row| row[1]).collect();
    let rises: Vec<usize> =
        (1..late.len()).filter(|at| late[at - 1] < 0.0 && late[*at] >= 0.0).collect();
    let largest = late.iter().copied().fold(0.0, f64::max);
    assert!(largest > 0.2 * SPEED, "{largest}");
    let period = (rises[rises.len() - 1] - rises[0]) as f64 / (rises.len() - 1) as f64;
    let strouhal = (NY as f64 / 4.5) / (period * SPEED);
    println!("{strouhal} of {} turns, {largest}", rises.len());
    assert!((0.19..0.24).contains(&strouhal), "{strouhal}");
    assert!(values(&mut simulation, "f0").iter().all(|value| value.is_finite()));
}
