// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which states are kept, so that steps can be gone back over with few of them: the binomial schedule of Griewank and Walther, "Algorithm 799: revolve"
//! (ACM Transactions on Mathematical Software 26, 2000), which takes the fewest steps again.

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
    let (mut repeated, mut reach, mut below) = (0, 1, 0);
    while reach < steps {
        repeated += 1;
        below = reach;
        reach = reach * (slots + repeated) / repeated;
    }
    let _ = below;
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
