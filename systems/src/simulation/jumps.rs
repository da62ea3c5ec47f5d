// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether `auto` takes many steps at once.

use crate::checked::System;
use crate::fft;
use crate::gpu::{self, Cores};
use crate::speeds::CORE;

/// Who takes steps, or jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Cpu,
    Gpu,
}

/// What is predicted of a run, in seconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    by_steps: (f64, Place),
    by_a_jump: (f64, Place),
}

/// Why so many steps are taken at once, if that is faster than one after the other: predicted for whatever there is.
pub(super) fn why_jump(system: &System, steps: usize) -> Option<String> {
    /// Seconds by steps on the CPU below which equations are not read again, nor is a GPU asked.
    const SHORT: f64 = 5e-3;
    let on_the_cpu = fft::stepped(system, steps);
    if steps < 2 || on_the_cpu < SHORT {
        return None;
    }
    let by_steps = match gpu::seconds_here(system, Cores::Any) {
        Some(seconds) => (seconds * steps as f64, Place::Gpu),
        None => (on_the_cpu, Place::Cpu),
    };
    let (seconds, is_on_gpu) = fft::seconds_here(system, steps)?;
    let place = if is_on_gpu { Place::Gpu } else { Place::Cpu };
    let times = Times { by_steps, by_a_jump: (seconds, place) };
    times.favour_a_jump().then(|| times.explain(steps))
}

impl Times {
    /// Whether a jump is clearly faster, with what it takes before it.
    fn favour_a_jump(self) -> bool {
        /// How many times as fast it must be predicted to be.
        const GAIN: f64 = 2.0;
        let ((steps, _), (jump, _)) = (self.by_steps, self.by_a_jump);
        steps > GAIN * jump + self.set_up()
    }

    /// Seconds that pass before a jump, but not before a step.
    fn set_up(self) -> f64 {
        let speeds = &CORE.set_up;
        let milliseconds = match (self.by_steps.1, self.by_a_jump.1) {
            (Place::Gpu, Place::Gpu) => speeds.kernels_ms,
            (Place::Cpu, Place::Gpu) => speeds.gpu_ms,
            (_, Place::Cpu) => speeds.tables_ms,
        };
        milliseconds * 1e-3
    }

    fn explain(self, steps: usize) -> String {
        let ((by_steps, device), (jump, place)) = (self.by_steps, self.by_a_jump);
        let device = if device == Place::Gpu { "cuda" } else { "cpu" };
        let place = if place == Place::Gpu { " on the GPU" } else { "" };
        // Short ones with more digits.
        let seconds = |of: f64| if of < 0.1 { format!("{of:.4} s") } else { format!("{of:.2} s") };
        let [jump, by_steps] = [jump, by_steps].map(seconds);
        format!("predicted: {steps} steps at once take {jump}{place}, on {device} {by_steps}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn favours(by_steps: (f64, Place), by_a_jump: (f64, Place)) -> bool {
        Times { by_steps, by_a_jump }.favour_a_jump()
    }

    /// A membrane of 255 x 255 points, 100,000 steps.
    #[test]
    fn a_jump_on_a_gpu_is_taken_also_for_a_fraction_of_a_second() {
        assert!(favours((0.203, Place::Gpu), (0.0008, Place::Gpu)));
        assert!(favours((0.09, Place::Gpu), (0.0008, Place::Gpu)));
        // Loading what it takes would cost as much.
        assert!(!favours((0.04, Place::Gpu), (0.0001, Place::Gpu)));
    }

    #[test]
    fn what_is_set_up_depends_on_where() {
        // Steps on the CPU are done before a GPU is open.
        assert!(!favours((0.3, Place::Cpu), (0.001, Place::Gpu)));
        assert!(favours((0.9, Place::Cpu), (0.001, Place::Gpu)));
        for steps in [Place::Cpu, Place::Gpu] {
            assert!(!favours((0.1, steps), (0.001, Place::Cpu)));
            assert!(favours((0.11, steps), (0.001, Place::Cpu)));
        }
    }

    #[test]
    fn it_is_twice_as_fast() {
        for place in [Place::Cpu, Place::Gpu] {
            assert!(!favours((10.0, place), (5.0, place)));
            assert!(favours((10.0, place), (4.5, place)));
        }
    }

    #[test]
    fn it_says_what_was_predicted() {
        let times = Times { by_steps: (0.203, Place::Gpu), by_a_jump: (0.0008, Place::Gpu) };
        let text = "predicted: 100000 steps at once take 0.0008 s on the GPU, on cuda 0.20 s";
        assert_eq!(times.explain(100_000), text);
        let times = Times { by_steps: (12.0, Place::Cpu), by_a_jump: (0.0571, Place::Cpu) };
        let text = "predicted: 1000 steps at once take 0.0571 s, on cpu 12.00 s";
        assert_eq!(times.explain(1000), text);
    }
}
