// SPDX-License-Identifier: MIT OR Apache-2.0
//! What rounding does in launches that compute by Fourier transforms, which spread the errors of each value over all
//! points that are transformed together.

use problem::Jumped;

/// What the rounding of one launch does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// By how much a point is off at most, over the largest value before the launch.
    pub relative: f64,
    /// By how much values, and errors, grow at most.
    pub gain: f64,
}

impl Spread {
    /// Of a launch that rounds each sum by itself.
    #[must_use]
    pub fn none(gain: f64) -> Self {
        Self { relative: 0.0, gain }
    }

    /// The rounding and the largest value after so many launches, from those before them. No value around the grid is
    /// larger than `around`, or than the largest in the grid by more than `rise` in the steps of one launch.
    #[must_use]
    pub fn after(
        self,
        (mut jumped, mut largest): (Jumped, f64),
        [around, rise]: [f64; 2],
        launches: usize,
    ) -> (Jumped, f64) {
        let Self { relative, gain } = self;
        for _ in 0..launches {
            largest = largest.max(around) + rise;
            let made = if largest == 0.0 { 0.0 } else { relative * largest };
            let carried = if jumped.error == 0.0 { 0.0 } else { gain.max(1.0) * jumped.error };
            jumped = Jumped { count: jumped.count + 1, error: carried + made };
            largest *= gain.max(1.0);
        }
        (jumped, largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_launches_add_up_and_grow_with_the_values() {
        let after = |relative, gain, launches| {
            Spread { relative, gain }.after((Jumped::default(), 2.0), [1.0, 0.0], launches)
        };
        let (jumped, largest) = after(1e-3, 0.5, 3);
        assert_eq!((jumped.count, largest), (3, 2.0));
        assert!((jumped.error - 6e-3).abs() < 1e-15);
        let (jumped, largest) = after(1e-3, 2.0, 2);
        assert_eq!(largest, 8.0);
        assert!((jumped.error - 8e-3).abs() < 1e-15);
        assert_eq!(after(0.0, 2.0, 5).0.error, 0.0);
        let sloped = Spread::none(2.0).after((Jumped::default(), 2.0), [0.0, 0.5], 2);
        assert_eq!(sloped.1, 11.0);
    }
}
