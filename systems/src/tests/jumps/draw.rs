// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems that are diagonal: linear, the same everywhere, with boundaries that a torus imitates.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::{Stencil, Tap};

use crate::{Description, FieldText};
use problem::Dtype;

const AXES: [&str; 3] = ["z", "y", "x"];

/// A drawn system.
pub struct Drawn {
    pub description: Description,
    /// Steps of a jump.
    pub steps: usize,
    /// Of each field Σ|weight| of its equation for all that it reads, and the largest number that is added.
    gains: Vec<(f64, f64)>,
}

impl Drawn {
    /// What rounding can make of so many steps, one after the other or at once: in the largest norm.
    pub fn allowed(&self, steps: usize) -> f64 {
        /// Roundings of a step, and of transforms.
        const ROUNDINGS: f64 = 400.0;
        let (gain, added) = self
            .gains
            .iter()
            .fold((1.0f64, 0.0f64), |most, of| (most.0.max(of.0), most.1.max(of.1)));
        // The largest start is 1.
        let largest = gain.powf(steps as f64) * (1.0 + added * steps as f64);
        ROUNDINGS * f64::EPSILON * (1 + steps) as f64 * largest
    }
}

/// What lies around an axis.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    Periodic,
    Mirrors,
    /// One of them constants: then stencils read one point far.
    Fixed,
}

struct Draw {
    random: ChaCha8Rng,
    around: Vec<Around>,
}

/// The one of a seed.
pub fn system(seed: u64) -> Drawn {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let dims = random.random_range(1..=3);
    let kinds = [Around::Periodic, Around::Mirrors, Around::Fixed];
    let around = (0..dims).map(|_| kinds[random.random_range(0..3)]).collect();
    Draw { random, around }.system()
}

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    fn weight(&mut self) -> f64 {
        self.random.random_range(-1.0..1.0)
    }

    fn system(mut self) -> Drawn {
        let dims = self.around.len();
        let most = [41, 13, 7][dims - 1];
        let size: Vec<usize> = (0..dims).map(|_| 1 + self.below(most)).collect();
        let (fields, stencils) = (1 + self.below(3), 1 + self.below(3));
        let mut description = Description::new(&size).dtype(Dtype::F64);
        let mut gains = Vec::new();
        for stencil in 0..stencils {
            let own = self.stencil();
            gains.push(own.gain());
            description = description.stencil(&format!("s{stencil}"), own);
        }
        // Next values of a group of fields, and of one field beside it that no other field depends on.
        let alone = fields > 1 && self.below(4) == 0;
        let mut of_fields = Vec::new();
        for field in 0..fields {
            let others = if alone { field..field + 1 } else { 0..fields };
            let (mut next, mut gain) = (Vec::new(), 0.0);
            for _ in 0..1 + self.below(4) {
                let of = others.start + self.below(others.len());
                let level = self.below(4).saturating_sub(1);
                let read = ["uN", "prev(uN)", "prev2(uN)"][level].replace('N', &of.to_string());
                let weight = self.weight();
                let (text, of) = match self.below(4) {
                    0 => (read, 1.0),
                    1 => (format!("(0.5*{read} - {read}/4)*2"), 1.5),
                    _ => {
                        let stencil = self.below(stencils);
                        (format!("s{stencil}({read})"), gains[stencil])
                    }
                };
                next.push(format!("{weight}*{text}"));
                gain += weight.abs() * of;
            }
            // Between growing by 2 and fading.
            let scale = self.random.random_range(0.5..1.3) / f64::max(gain, 0.1);
            let added = if self.below(2) == 0 { 0.0 } else { self.weight() };
            let text = format!("{scale}*({}) + {added}", next.join(" + "));
            let seed = self.below(1000);
            let boundary = self.boundary();
            let drawn = FieldText::new(
                &format!("u{field}"),
                format!("2*random({seed}) - 1").as_str(),
                text,
            );
            description = description.field(drawn.boundary(&boundary));
            of_fields.push((scale * gain, added.abs() + 1.0));
        }
        if self.below(3) == 0 {
            let at: Vec<usize> = size.iter().map(|extent| self.below(*extent)).collect();
            let field = self.below(fields);
            description = description.source(&format!("u{field}"), &at, "0.25");
        }
        let steps = [1, 2, 7, 30, 60][self.below(5)];
        Drawn { description, steps, gains: of_fields }
    }

    /// Symmetric in axes that are not periodic.
    fn stencil(&mut self) -> Stencil {
        let dims = self.around.len();
        let mut taps: Vec<Tap> = Vec::new();
        for _ in 0..1 + self.below(5) {
            let mut offset = [0; 3];
            for (axis, around) in (3 - dims..3).zip(self.around.clone()) {
                let far = if around == Around::Fixed { 1 } else { 4 };
                offset[axis] = self.random.random_range(-far..=far);
            }
            let weight = self.weight();
            let mut all = vec![offset];
            for (axis, _) in
                (3 - dims..3).zip(self.around.clone()).filter(|it| it.1 != Around::Periodic)
            {
                let mirrored: Vec<[i32; 3]> = all
                    .iter()
                    .map(|offset| {
                        let mut mirrored = *offset;
                        mirrored[axis] = -mirrored[axis];
                        mirrored
                    })
                    .collect();
                all.extend(mirrored);
            }
            all.sort_unstable();
            all.dedup();
            for offset in all {
                match taps.iter_mut().find(|tap| tap.offset == offset) {
                    Some(tap) => tap.weight += weight,
                    None => taps.push(Tap { offset, weight }),
                }
            }
        }
        Stencil::new("drawn", dims, taps).unwrap()
    }

    /// A boundary whose kinds are those of all fields, with constants of its own.
    fn boundary(&mut self) -> String {
        let dims = self.around.len();
        let mut parts = Vec::new();
        for (axis, around) in (3 - dims..3).zip(self.around.clone()) {
            let axis = AXES[axis];
            parts.push(match around {
                Around::Periodic => format!("{axis}:periodic"),
                Around::Mirrors => format!("{axis}:reflect"),
                Around::Fixed => {
                    let constants = ["zero".to_owned(), format!("constant={}", self.weight())];
                    let [a, b] = [self.below(2), self.below(2)];
                    format!("{axis}-:{},{axis}+:{}", constants[a], constants[b])
                }
            });
        }
        parts.join(",")
    }
}
