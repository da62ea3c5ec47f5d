// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of the transforms on a GPU: twiddles, pairs of waves, images, and the factors of all waves.

use std::f64::consts::FRAC_PI_2;
use std::mem::take;

use kernels_gpu::spectral::columns::Share;
use kernels_gpu::spectral::complex::ComplexPart as Real;
use kernels_gpu::spectral::divisor::reciprocal;
use kernels_gpu::spectral::line::{STAGE, Stages, stages, wave};
use kernels_gpu::spectral::{Halves, NEGATIVE, NOTHING};
use num_complex::Complex64;
use rayon::prelude::*;
use transform::spectral::axis::TorusSource;
use transform::spectral::{LinePowers, Powers};

use super::torus::Torus;
use crate::device::{Device, Memory};
use problem::Error;

/// Numbers as a kernel reads them.
fn push<P: Real>(words: &mut Vec<u32>, value: f64) {
    if P::BYTES == 8 {
        let bits = value.to_bits();
        words.extend([bits as u32, (bits >> 32) as u32]);
    } else {
        words.push((value as f32).to_bits());
    }
}

/// `e^{−2πi k / length}`, right to the last digit: the angle is at most an eighth of a turn.
fn turn(k: usize, length: usize) -> Complex64 {
    let (quarter, rest) = (4 * k / length, 4 * k % length);
    // Beyond the middle of a quarter, from its end.
    let past = 2 * rest > length;
    let near = if past { length - rest } else { rest };
    let (sin, cos) = (FRAC_PI_2 * near as f64 / length as f64).sin_cos();
    let (sin, cos) = if past { (cos, sin) } else { (sin, cos) };
    match quarter % 4 {
        0 => Complex64::new(cos, -sin),
        1 => Complex64::new(-sin, -cos),
        2 => Complex64::new(-cos, sin),
        _ => Complex64::new(sin, cos),
    }
}

/// The tables of lines of one length.
pub struct LineTables {
    length: usize,
    plan: Vec<(usize, usize)>,
    stages: Memory,
    /// Of a line that is cut: where, and the table of the first part's stages, on values that lie as far apart as the
    /// other part's lines are long.
    first: Option<(LineCut, Memory)>,
    twiddles: Memory,
}

/// Where a line is cut into two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineCut {
    /// Stages of the first part.
    stages: usize,
    /// Values of the lines of the other part.
    rest: usize,
}

/// Which stages of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStages {
    /// All.
    Whole,
    /// The first ones of two parts.
    First,
    /// The others.
    Rest,
}

impl LineTables {
    /// For lines of so many complex values, in two parts if they are cut.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// Where the length has a prime factor above 7.
    pub fn new<P: Real>(device: &dyn Device, length: usize, is_cut: bool) -> Result<Self, Error> {
        let plan = stages(length).expect("a length of small factors");
        let (mut twiddles, mut counts) = (Vec::new(), Vec::new());
        for &(radix, span) in &plan {
            counts.push((twiddles.len() / (P::BYTES as usize / 2)) as u32);
            for k in 0..span {
                let Complex64 { re, im } = turn(k, radix * span);
                push::<P>(&mut twiddles, re);
                push::<P>(&mut twiddles, im);
            }
        }
        // Stages whose spans are so many times as long as those of lines that a block has.
        let table = |plan: &[(usize, usize)], times: usize| {
            let stage = |(&(radix, span), &count): (&(usize, usize), &u32)| {
                let span = (span / times) as u32;
                [radix as u32, span, reciprocal(span), count]
            };
            let words: Vec<u32> = plan.iter().zip(&counts).flat_map(stage).collect();
            device.constants("stages", &words)
        };
        let first = is_cut.then(|| {
            let cut = cut(&plan);
            Ok::<_, Error>((cut, table(&plan[..cut.stages], cut.rest)?))
        });
        let (stages, first) = (table(&plan, 1)?, first.transpose()?);
        let twiddles = device.constants("twiddles", at_least_one(&mut twiddles))?;
        Ok(Self { length, plan, stages, first, twiddles })
    }

    fn cut(&self) -> &(LineCut, Memory) {
        self.first.as_ref().expect("a line that is cut")
    }

    /// Some of them, as kernels take them.
    pub fn stages(&self, part: LineStages) -> Stages {
        let twiddles = self.twiddles.as_ptr();
        let (stages, step) = match part {
            LineStages::Whole => (self.stages.as_ptr::<u32>(), 1),
            LineStages::First => (self.cut().1.as_ptr(), self.cut().0.rest),
            LineStages::Rest => {
                (self.stages.as_ptr::<u32>().wrapping_add(self.cut().0.stages * STAGE), 1)
            }
        };
        let (count, length) = (self.plan_of(part).len() as u32, self.length_of(part) as u32);
        Stages { stages, twiddles, count, length, step: step as u32, shift: 0 }
    }

    /// Which values of a line a block has that transforms a part.
    pub fn share(&self, part: LineStages) -> Share {
        let [count, apart, step] = match part {
            LineStages::Whole => [1, 0, 1],
            LineStages::First => [self.cut().0.rest, 1, self.cut().0.rest],
            LineStages::Rest => [self.length / self.cut().0.rest, self.cut().0.rest, 1],
        };
        Share { count: count as u32, apart: apart as u32, step: step as u32 }
    }

    fn plan_of(&self, part: LineStages) -> &[(usize, usize)] {
        match part {
            LineStages::Whole => &self.plan,
            LineStages::First => &self.plan[..self.cut().0.stages],
            LineStages::Rest => &self.plan[self.cut().0.stages..],
        }
    }

    /// Complex values of a line, or of a block's part of it.
    pub fn length_of(&self, part: LineStages) -> usize {
        match part {
            LineStages::Whole => self.length,
            LineStages::First => self.length / self.cut().0.rest,
            LineStages::Rest => self.cut().0.rest,
        }
    }

    /// The radices of the stages.
    pub fn radices(&self, part: LineStages) -> impl Iterator<Item = usize> {
        self.plan_of(part).iter().map(|&(radix, _)| radix)
    }

    /// Which wave is in each place.
    pub fn waves(&self) -> Vec<usize> {
        (0..self.length).map(|place| wave(&self.plan, place)).collect()
    }
}

/// Into two parts that are as alike as can be.
fn cut(plan: &[(usize, usize)]) -> LineCut {
    let length: usize = plan.iter().map(|(radix, _)| radix).product();
    let cuts = (1..plan.len()).map(|stages| LineCut { stages, rest: plan[stages - 1].1 });
    let longer = |cut: &LineCut| cut.rest.max(length / cut.rest);
    cuts.min_by_key(longer).expect("a line of several stages")
}

fn at_least_one(words: &mut Vec<u32>) -> &[u32] {
    words.resize(words.len().max(4), 0);
    words
}

/// The tables of real rows of twice as many values as a line has, of whose waves some matter.
pub struct Pairs {
    pairs: Memory,
    turns: Memory,
    /// Pairs, and of how many the first and the second wave matter.
    counts: [usize; 3],
}

/// The pairs of waves k and M − k, and the waves that are columns of spectra.
pub struct Columns {
    pairs: Vec<[usize; 2]>,
    firsts: usize,
    seconds: usize,
}

impl Columns {
    /// Of lines of these tables, whose waves 0 to M matter or not.
    pub fn new(lines: &LineTables, matters: &[bool]) -> Self {
        let half = lines.length;
        let waves = lines.waves();
        // In the order of their first places, so that threads side by side have neighbours.
        let all = waves.iter().filter(|&&wave| 2 * wave <= half).map(|&wave| [wave, half - wave]);
        let first_matters = |pair: [usize; 2]| {
            if matters[pair[0]] { pair } else { [pair[1], pair[0]] }
        };
        // Waves 0 and M are columns in any case: they have one place of values.
        let rank = |[first, second]: [usize; 2]| match () {
            () if first == 0 || second == 0 => 0,
            () if matters[first] && matters[second] && first != second => 1,
            () if matters[first] => 2,
            () => 3,
        };
        let all = all.map(|pair| if pair[0] == 0 { pair } else { first_matters(pair) });
        let mut pairs: Vec<[usize; 2]> = all.collect();
        pairs.sort_by_key(|&pair| rank(pair));
        let below = |most: i32| pairs.iter().filter(|&&pair| rank(pair) <= most).count();
        let (firsts, seconds) = (below(2), below(1));
        Self { pairs, firsts, seconds }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.firsts + self.seconds
    }

    /// The wave of each column.
    pub fn waves(&self) -> impl Iterator<Item = usize> {
        let of =
            |count: usize, which: usize| self.pairs[..count].iter().map(move |pair| pair[which]);
        of(self.firsts, 0).chain(of(self.seconds, 1))
    }
}

impl Pairs {
    /// For lines of these tables.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new<P: Real>(
        device: &dyn Device,
        lines: &LineTables,
        columns: &Columns,
    ) -> Result<Self, Error> {
        let half = lines.length;
        let mut places = vec![0; half + 1];
        lines.waves().iter().enumerate().for_each(|(place, &wave)| places[wave] = place as u32);
        places[half] = half as u32;
        let (mut pairs, mut turns) = (Vec::new(), Vec::new());
        for &[first, second] in &columns.pairs {
            pairs.extend([places[first], places[second]]);
            let Complex64 { re, im } = turn(first, 2 * half);
            push::<P>(&mut turns, re);
            push::<P>(&mut turns, im);
        }
        let pairs = device.constants("pairs", &pairs)?;
        let turns = device.constants("turns", at_least_one(&mut turns))?;
        let counts = [columns.pairs.len(), columns.firsts, columns.seconds];
        Ok(Self { pairs, turns, counts })
    }

    /// As kernels take them.
    pub fn halves(&self) -> Halves {
        let [count, firsts, seconds] = self.counts.map(|count| count as u32);
        Halves { pairs: self.pairs.as_ptr(), turns: self.turns.as_ptr(), count, firsts, seconds }
    }
}

/// Where images have their values from, a word each.
///
/// # Errors
/// The device refuses.
pub fn images(device: &dyn Device, sources: &[TorusSource]) -> Result<Memory, Error> {
    let word = |source: &TorusSource| match source.sign {
        0.0 => NOTHING,
        sign if sign < 0.0 => source.point | NEGATIVE,
        _ => source.point,
    };
    let mut words: Vec<u32> = sources.iter().map(word).collect();
    device.constants("images", at_least_one(&mut words))
}

/// By what the waves of a torus are multiplied, with the scale that transforms there and back leave out: for each plane
/// and each column the places of its last axis. Columns are those whose waves do not all fade to less than may be left out; in 1D all
/// are.
///
/// # Errors
/// The device refuses.
pub fn factors<P: Real>(
    device: &dyn Device,
    torus: &Torus,
    powers: &Powers,
    row: &LineTables,
    columns: [&LineTables; 2],
    dims: usize,
) -> Result<(Memory, Columns), Error> {
    let half = torus.spectra.half();
    let [along_z, along_y] = columns.map(LineTables::waves);
    let [lz, ly, _] = torus.spectra.lengths();
    let scale = 1.0 / (half * ly * lz) as f64;
    let all = Columns::new(row, &vec![true; half + 1]);
    if dims == 1 {
        let mut along_x = row.waves();
        along_x.push(half);
        let mut words = of_line::<P>(powers, &along_x, (2, [0; 3]), scale).words;
        return Ok((device.constants("factors", at_least_one(&mut words))?, all));
    }
    let (last, planes, waves) =
        if dims == 2 { (1, vec![0], along_y) } else { (0, along_y, along_z) };
    // Of each wave along x those of all planes.
    let of_wave = |x: usize| -> Vec<Factors> {
        let plane = |&y: &usize| of_line::<P>(powers, &waves, (last, [0, y, x]), scale);
        planes.iter().map(plane).collect()
    };
    let mut found: Vec<Vec<Factors>> = (0..=half).into_par_iter().map(of_wave).collect();
    let largest_of =
        |planes: &Vec<Factors>| planes.iter().map(|line| line.largest).fold(0.0, f64::max);
    let largest = found.iter().map(largest_of).fold(0.0, f64::max);
    let least = scale * torus.left_out.part() * (largest / scale).min(1.0);
    let matters: Vec<bool> = found.iter().map(|planes| largest_of(planes) > least).collect();
    let columns = Columns::new(row, &matters);
    let mut words = Vec::new();
    // Each is taken once: all planes of a wave lie together, and are wanted apart.
    let mut columns_of: Vec<_> =
        columns.waves().map(|wave| take(&mut found[wave]).into_iter()).collect();
    for _ in &planes {
        let next = columns_of.iter_mut().filter_map(Iterator::next);
        next.for_each(|mut line| words.append(&mut line.words));
    }
    Ok((device.constants("factors", at_least_one(&mut words))?, columns))
}

/// Factors of a line of waves.
struct Factors {
    words: Vec<u32>,
    /// The largest absolute value.
    largest: f64,
}

/// The factors of some waves along an axis, at fixed places along the other two.
fn of_line<P: Real>(
    powers: &Powers,
    waves: &[usize],
    (axis, at): (usize, [usize; 3]),
    scale: f64,
) -> Factors {
    let of_waves = each_wave(&powers.line(axis, at), waves.len());
    let numbers = if powers.is_real() { 1 } else { 2 };
    let (mut words, mut largest) =
        (Vec::with_capacity(waves.len() * numbers * P::BYTES as usize / 4), 0.0);
    for &wave in waves {
        let factor = of_waves[wave] * scale;
        largest = f64::max(largest, factor.norm());
        push::<P>(&mut words, factor.re);
        if !powers.is_real() {
            push::<P>(&mut words, factor.im);
        }
    }
    Factors { words, largest }
}

/// The power of each wave of a line, or of the first `count` ones.
fn each_wave(line: &LinePowers, count: usize) -> Vec<Complex64> {
    let length = line.waves();
    let mut all: Vec<Complex64> = Vec::with_capacity(count);
    for k in 0..count {
        let mirrored = line.is_even() && k > length / 2;
        all.push(if mirrored { all[length - k] } else { line.power(k) });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn columns_are_the_waves_that_matter() {
        let device: &dyn Device = &crate::device::Emulator::new();
        for half in [1, 2, 3, 8, 15, 16] {
            let lines = LineTables::new::<f64>(device, half, false).unwrap();
            for chosen in 0..1u32 << (half + 1).min(10) {
                let matters: Vec<bool> = (0..=half).map(|wave| chosen >> wave & 1 == 1).collect();
                let columns = Columns::new(&lines, &matters);
                let mut waves: Vec<usize> = columns.waves().collect();
                assert_eq!(waves.len(), columns.count());
                waves.sort_unstable();
                // Waves 0 and M are there in any case.
                let wanted = (0..=half).filter(|&wave| matters[wave] || wave == 0 || wave == half);
                assert!(waves.into_iter().eq(wanted), "{half} {chosen:b}");
                let mut all: Vec<usize> = columns.pairs.iter().flatten().copied().collect();
                all.sort_unstable();
                all.dedup();
                assert!(all.into_iter().eq(0..=half) && columns.pairs[0] == [0, half]);
            }
        }
    }

    #[test]
    fn turns_are_those_of_the_circle() {
        let near = |a: Complex64, b: Complex64, most| assert!((a - b).norm() < most, "{a} {b}");
        for length in [1, 2, 3, 5, 8, 12, 1000, 10_240] {
            for k in 0..length {
                // Whose angle is rounded, of up to a whole turn.
                let (sin, cos) = (-TAU * k as f64 / length as f64).sin_cos();
                near(turn(k, length), Complex64::new(cos, sin), 2e-15);
                // Without such an angle: they have length 1, and follow each other.
                near(turn(k, length) * turn(k, length).conj(), Complex64::ONE, 5e-16);
                near(turn(k, length) * turn(1, length), turn(k + 1, length), 5e-16);
            }
        }
        assert_eq!(turn(1, 4), Complex64::new(0.0, -1.0));
        assert_eq!(turn(9, 12), Complex64::new(0.0, 1.0));
    }
}
