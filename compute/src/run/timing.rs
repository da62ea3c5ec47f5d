// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the steps and a copy of the grid take.

use std::str::FromStr;
use std::time::Duration;

use crate::engine::{Input, Session};
use crate::report::Timing;
use problem::Error;
use problem::control::Stop;

/// A run of this length needs no repetition to be measured.
const LONG: Duration = Duration::from_millis(500);
/// Steps of one timing sample, at least, and their time, at most.
const SAMPLE_STEPS: usize = 10;
const SAMPLE_TIME: Duration = Duration::from_millis(200);
/// Timing samples, of which the median counts.
const SAMPLES: usize = 9;
/// The most that may be asked for.
const MOST_SAMPLES: usize = 1000;

/// What to measure besides the run itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Nothing.
    Off,
    /// A copy, and a short run again a few times.
    #[default]
    Auto,
    /// A copy, and the run again so many times.
    Repeat(usize),
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("off", _) => Ok(Self::Off),
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(count)) if (1..=MOST_SAMPLES).contains(&count) => Ok(Self::Repeat(count)),
            _ => {
                Err(format!("give off, auto, or a number of repetitions from 1 to {MOST_SAMPLES}"))
            }
        }
    }
}

/// The times of all steps and of a copy. The time of the steps is the run's own if the run was long and nothing else
/// is asked for. Otherwise it is the median of repetitions, in turns with the copies, so that both meet the same
/// conditions.
///
/// # Errors
/// Somebody asked for an end, or the device refuses.
pub fn measure(
    session: &mut dyn Session,
    steps: usize,
    own: Duration,
    time: Time,
    input: Input,
    stop: &Stop,
) -> Result<Timing, Error> {
    let (samples, count) = match time {
        Time::Off => return Ok(Timing::own(own)),
        Time::Auto if own > LONG => (SAMPLES, 0),
        Time::Auto => (SAMPLES, sample_steps(session, steps, own)),
        Time::Repeat(samples) if own > LONG => (samples, steps),
        Time::Repeat(samples) => (samples, sample_steps(session, steps, own)),
    };
    let (mut sweeps, mut copies) = (Vec::new(), Vec::new());
    // The first turn warms up.
    for turn in 0..=samples {
        stop.check()?;
        if input == Input::Kept {
            session.restart()?;
        }
        let sweep = session.advance(count)?;
        let copy = session.copy(count.clamp(2, MOST_COPIES))?;
        if turn > 0 {
            sweeps.push(sweep);
            copies.push(copy);
        }
    }
    let copy = Some(median(copies));
    if count == 0 {
        return Ok(Timing { copy, ..Timing::own(own) });
    }
    let steps = median(sweeps).mul_f64(steps as f64 / count as f64);
    Ok(Timing { steps, repetitions: samples, copy })
}

/// Copies of a sample: on small grids they need a few to be measured, but no time as long as the steps'.
const MOST_COPIES: usize = 1000;

/// Steps of a sample of a run that took so long: of whole launches, if the run has some, because the
/// steps that are left cost more.
fn sample_steps(session: &dyn Session, steps: usize, own: Duration) -> usize {
    let per_step = own.as_secs_f64() / steps.max(1) as f64;
    let most = (SAMPLE_TIME.as_secs_f64() / per_step.max(1e-9)) as usize;
    let count = steps.max(SAMPLE_STEPS).min(most.max(1));
    if count < steps { count.next_multiple_of(session.launch()).min(steps) } else { count }
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples[samples.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::super::tests::Counting;
    use super::*;

    #[test]
    fn samples_are_of_whole_launches_or_of_the_run() {
        // At 1 ms a step 200 are a sample: 204 are whole launches of 12.
        for (steps, count, repetitions) in
            [(5, 10, 9), (30, 30, 9), (203, 203, 9), (300, 204, 9), (501, 0, 0)]
        {
            let mut session = Counting::new(None);
            let (own, stop) = (Duration::from_millis(steps as u64), Stop::default());
            let timing = measure(&mut session, steps, own, Time::Auto, Input::Kept, &stop).unwrap();
            assert_eq!(session.asked, vec![count; 10], "{steps}");
            assert_eq!((timing.steps, timing.repetitions), (own, repetitions));
            assert_eq!(timing.copy, Some(Duration::from_millis(1)));
        }
    }

    #[test]
    fn what_is_asked_for_is_repeated_and_no_more() {
        let measured = |time, steps: usize, input| {
            let mut session = Counting::new(None);
            let own = Duration::from_millis(steps as u64);
            let timing = measure(&mut session, steps, own, time, input, &Stop::default()).unwrap();
            (session.asked, session.restarts, timing.repetitions, timing.copy.is_some())
        };
        assert_eq!(measured(Time::Off, 30, Input::Kept), (vec![], 0, 0, false));
        assert_eq!(measured(Time::Repeat(2), 30, Input::Kept), (vec![30; 3], 3, 2, true));
        assert_eq!(measured(Time::Repeat(2), 600, Input::Kept), (vec![600; 3], 3, 2, true));
        assert_eq!(measured(Time::Repeat(2), 600, Input::Dropped), (vec![600; 3], 0, 2, true));
    }

    #[test]
    fn it_reads_what_the_help_says() {
        assert_eq!("off".parse(), Ok(Time::Off));
        assert_eq!("auto".parse(), Ok(Time::Auto));
        assert_eq!("3".parse(), Ok(Time::Repeat(3)));
        for wrong in ["0", "1001", "-1", "fast", ""] {
            let text = "give off, auto, or a number of repetitions from 1 to 1000";
            assert_eq!(wrong.parse::<Time>(), Err(text.to_owned()));
        }
    }
}
