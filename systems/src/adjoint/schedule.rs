// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which states are kept, so that steps can be gone back over with few of them: the binomial schedule of Griewank and Walther, "Algorithm 799: revolve"
//! (ACM Transactions on Mathematical Software 26, 2000), which takes the fewest steps again.

/// How steps are gone back over in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReversePlan {
    /// Steps of a unit, of which the values before each are kept at once.
    pub unit: usize,
    /// States at the beginnings of units, the first one among them; none where all steps are one unit.
    pub states: usize,
}

impl ReversePlan {
    /// The one that takes the least time, mostly in steps that are taken again, if a state and what is kept of a step take so many bytes, and there are no more than
    /// these; none if not one state fits. What a unit of one step keeps is not counted.
    #[must_use]
    pub fn new(steps: usize, (state, of_step): (u128, u128), bytes: u128) -> Option<Self> {
        if (steps.saturating_sub(1)) as u128 * of_step <= bytes {
            return Some(Self { unit: steps.max(1), states: 0 });
        }
        let states = |unit: usize| {
            let left = bytes.checked_sub((unit - 1) as u128 * of_step)?;
            let states = usize::try_from(left / state.max(1)).unwrap_or(usize::MAX);
            (states > 0).then_some(states.min(steps.div_ceil(unit)))
        };
        let plans = (1..steps).map_while(|unit| Some(Self { unit, states: states(unit)? }));
        plans.min_by_key(|plan| plan.cost(steps))
    }

    /// What it takes besides going over so many steps once and back, in steps: those that are taken again, and what begins units.
    #[must_use]
    pub fn cost(&self, steps: usize) -> u128 {
        let units = steps.div_ceil(self.unit) as u128;
        let again = if self.states == 0 { 0 } else { self.steps_again(steps) };
        again + units * Self::OF_A_UNIT
    }

    /// What it takes to begin a unit, in steps: the state that it begins with is taken, and steps that are taken together end with it.
    const OF_A_UNIT: u128 = 4;

    /// As [`ReversePlan::new`], where everything that is kept counts: values before each step of a unit, after it and so many times before it, and
    /// beside states that after all steps. A plan of one state and units of one step is made as soon as one state fits.
    #[must_use]
    pub fn within(
        (steps, lag): (usize, usize),
        (state, of_step): (u128, u128),
        bytes: u128,
    ) -> Option<Self> {
        let left = bytes.saturating_sub(Self::bytes_besides(lag, (0, of_step)));
        let whole = Self::new(steps, (state, of_step), left);
        if whole.is_some_and(|plan| plan.states == 0) {
            return whole;
        }
        let left = left.saturating_sub(state).max(state.min(bytes));
        Self::new(steps, (state, of_step), left)
    }

    /// What is kept besides the states and the values before each step of a unit but one.
    #[must_use]
    pub fn bytes_besides(lag: usize, (state, of_step): (u128, u128)) -> u128 {
        (lag as u128 + 2) * of_step + state
    }

    /// How many times there are on a tape.
    #[must_use]
    pub fn times(&self, steps: usize, lag: usize) -> usize {
        lag + self.unit.min(steps) + 1
    }

    /// How many states have a place: with that after all steps, to which the simulation returns.
    #[must_use]
    pub fn places(&self) -> usize {
        if self.states == 0 { 0 } else { self.states + 1 }
    }

    /// With about how many bytes each step is taken again once, and no more: of a state for each of so many units as there are steps in one.
    #[must_use]
    pub fn bytes_of_one_run(steps: usize, (state, of_step): (u128, u128)) -> u128 {
        let states = (steps as f64 * of_step as f64 / state.max(1) as f64).sqrt().ceil().max(1.0);
        let unit = (steps as f64 / states).ceil();
        states as u128 * state + unit as u128 * of_step
    }

    /// How many steps are taken again, at most: besides those that keep the values of the last unit first.
    fn steps_again(&self, steps: usize) -> u128 {
        let units = steps.div_ceil(self.unit);
        let more = steps_again(units, self.states - 1) - (units - 1) as u128;
        (more * self.unit as u128) + ((units - 1) * (self.unit - 1)) as u128
    }
}

/// How many steps are taken again to go back over so many with so many states besides the one before the first step; the last step is
/// gone back over from the state before it.
#[must_use]
pub fn steps_again(steps: usize, states: usize) -> u128 {
    let (steps, states) = (steps as u128, states as u128);
    if steps <= 1 {
        return 0;
    }
    if states == 0 {
        return steps * (steps - 1) / 2;
    }
    // With s + 1 states in all and at most r repetitions of each step binomial(s + 1 + r, r) steps can be gone back over.
    let slots = states + 1;
    let (mut repeated, mut reach) = (0, 1);
    while reach < steps {
        repeated += 1;
        reach = reach * (slots + repeated) / repeated;
    }
    // r steps - binomial(s + 1 + r, r - 1)
    let less = binomial(slots + repeated, repeated - 1);
    repeated * steps - less
}

fn binomial(n: u128, k: u128) -> u128 {
    (1..=k).fold(1, |product, it| product * (n - k + it) / it)
}

/// After how many of so many steps the first of so many states is kept.
#[must_use]
pub fn first_kept(steps: usize, states: usize) -> usize {
    if states + 1 >= steps {
        return 1;
    }
    let cost = |kept: usize| {
        kept as u128 + steps_again(steps - kept, states - 1) + steps_again(kept, states)
    };
    // It falls, then it rises.
    let (mut low, mut high) = (1, steps - 1);
    while low < high {
        let middle = usize::midpoint(low, high);
        if cost(middle) <= cost(middle + 1) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fewest, by trying all.
    fn fewest(steps: usize, states: usize, known: &mut Vec<Vec<Option<u128>>>) -> u128 {
        if steps <= 1 {
            return 0;
        }
        if states == 0 {
            return (steps * (steps - 1) / 2) as u128;
        }
        if let Some(cost) = known[steps][states] {
            return cost;
        }
        let of = |kept: usize, known: &mut Vec<Vec<Option<u128>>>| {
            kept as u128 + fewest(steps - kept, states - 1, known) + fewest(kept, states, known)
        };
        let cost = (1..steps).map(|kept| of(kept, known)).min().unwrap();
        known[steps][states] = Some(cost);
        cost
    }

    /// With memory of a unit and as many states as there are units, each step is taken again once at most; with one byte for each value
    /// of all steps none is; with less than a state there is no plan.
    #[test]
    fn plans_use_the_memory_that_there_is() {
        for (steps, state, of_step) in [(200, 12, 8), (2000, 8, 4), (37, 5, 5), (1, 3, 1)] {
            let one_run = ReversePlan::bytes_of_one_run(steps, (state, of_step));
            let plan = |bytes| ReversePlan::new(steps, (state, of_step), bytes);
            let once = plan(one_run).unwrap();
            let again = if once.states == 0 { 0 } else { once.steps_again(steps) };
            assert!(again <= steps as u128, "{steps}: {once:?} takes {again}");
            let bytes = (once.unit - 1) as u128 * of_step + once.states as u128 * state;
            assert!(bytes <= one_run, "{steps}: {once:?}");
            assert_eq!(plan(steps as u128 * of_step), Some(ReversePlan { unit: steps, states: 0 }));
            assert_eq!(plan(state - 1).is_none(), steps > 1);
        }
    }

    /// All that is kept takes no more than is given, if that is enough for one state, units of one step and what is kept besides.
    #[test]
    fn plans_take_no_more_than_they_are_given() {
        for (steps, lag, state, of_step) in
            [(200, 0, 12, 8), (37, 2, 5, 5), (2, 1, 3, 1), (0, 1, 3, 1)]
        {
            let least = state + ReversePlan::bytes_besides(lag, (state, of_step));
            for bytes in state..least + 2 * steps as u128 * of_step {
                let plan = ReversePlan::within((steps, lag), (state, of_step), bytes).unwrap();
                let taken =
                    plan.times(steps, lag) as u128 * of_step + plan.places() as u128 * state;
                assert!(taken <= bytes.max(least), "{steps}: {plan:?} of {bytes} takes {taken}");
            }
            assert_eq!(
                ReversePlan::within((steps, lag), (state, of_step), state - 1).is_none(),
                steps > 2
            );
        }
    }

    #[test]
    fn no_schedule_takes_fewer_steps() {
        let mut known = vec![vec![None; 8]; 61];
        for steps in 1..=60 {
            for states in 0..8 {
                let least = fewest(steps, states, &mut known);
                assert_eq!(steps_again(steps, states), least, "{steps} steps, {states} states");
                if steps > 1 && states > 0 {
                    let kept = first_kept(steps, states);
                    let cost = kept as u128
                        + steps_again(steps - kept, states - 1)
                        + steps_again(kept, states);
                    assert_eq!(cost, least, "{steps} steps, {states} states: {kept}");
                }
            }
        }
    }
}
