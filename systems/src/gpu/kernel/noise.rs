// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers of a point and a step: the function of [`problem::noise`] as instructions.

use std::collections::HashMap;

use super::{Point, Writer};
use problem::noise::{DOUBLE, FACTORS, KEY_STEPS, Noise, ROUNDS, SEED_BITS, SINGLE, STEP_PART};
use ptx_writer::{B32, B64, F32, F64, Number, Register, S32, U32, U64};

/// What the function gives at a point, by key.
pub type Words = HashMap<[u32; 2], [Register<B32>; 4]>;

impl Writer<'_> {
    /// A random number at a point, of the lower and the higher part of the step; words that are there already are taken
    /// again.
    pub fn noise(
        &mut self,
        noise: Noise,
        step: [Number; 2],
        point: &mut dyn Point,
        known: &mut Words,
    ) -> Number {
        let key = noise.key();
        let words = match known.get(&key) {
            Some(words) => *words,
            None => {
                let words = self.words(key, step, point);
                known.insert(key, words);
                words
            }
        };
        let [first, second] = [words[2 * noise.part()], words[2 * noise.part() + 1]];
        let emitter = &mut self.emitter;
        match self.numbers.is_wide() {
            false => {
                let bits = emitter.shift_right(U32, first, 32 - SINGLE);
                let number = emitter.round(F32, S32, bits);
                emitter.product(F32, number, 0.5f64.powi(SINGLE as i32)).into()
            }
            true => {
                let [first, second] = [first, second].map(|it| emitter.convert(U64, U32, it));
                let bits = emitter.shift_left(B64, first, 32);
                let bits = emitter.or(B64, bits, second);
                let bits = emitter.shift_right(U64, bits, 64 - DOUBLE);
                let number = emitter.round(F64, U64, bits);
                emitter.product(F64, number, 0.5f64.powi(DOUBLE as i32)).into()
            }
        }
    }

    /// All words of a key at a point.
    fn words(
        &mut self,
        [low, high]: [u32; 2],
        step: [Number; 2],
        point: &mut dyn Point,
    ) -> [Register<B32>; 4] {
        let place = [2, 1, 0].map(|axis| {
            let origin = self.system.origin[axis] as i32;
            match axis < 3 - self.system.shape.dims() {
                true => self.emitter.mov(U32, 0),
                false => point.place(self, axis, origin),
            }
        });
        let emitter = &mut self.emitter;
        let [step_low, step_high] = step.map(|part| emitter.truncate(part));
        let step = emitter.mad(U32, step_high, STEP_PART, step_low);
        let more = emitter.shift_right(U32, step_high, 32 - STEP_PART.ilog2());
        let mut high = emitter.mad(U32, more, 1u32 << SEED_BITS, high);
        let mut counter = [place[0], place[1], place[2], step];
        for round in 0..ROUNDS {
            let [low_a, high_a] = emitter.halves_of_product(counter[0], FACTORS[0]);
            let [low_b, high_b] = emitter.halves_of_product(counter[2], FACTORS[1]);
            let key = low.wrapping_add(round.wrapping_mul(KEY_STEPS[0]));
            let first = emitter.xor(B32, high_b, counter[1]);
            let third = emitter.xor(B32, high_a, counter[3]);
            counter = [emitter.xor(B32, first, key), low_b, emitter.xor(B32, third, high), low_a];
            if round + 1 < ROUNDS {
                high = emitter.add(U32, high, KEY_STEPS[1]);
            }
        }
        counter
    }
}
