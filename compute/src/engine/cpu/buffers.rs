// SPDX-License-Identifier: MIT OR Apache-2.0
//! The input, and the buffers that take turns as the result: no more of them than the steps need.

use tiles::padded::{Padded, PaddedLayout};

use crate::engine::{Input, State};
use problem::values::Element;

/// Buffers of a session: two that take turns, besides the input if that is kept.
pub const fn most(input: Input) -> u128 {
    match input {
        Input::Kept => 3,
        Input::Dropped => 2,
    }
}

/// Grids of one layout.
pub struct Buffers<T> {
    layout: PaddedLayout,
    all: Vec<Padded<T>>,
    /// Which of them holds the grid.
    current: usize,
    /// Which of them holds the input, as long as that is kept.
    input: Option<usize>,
}

impl<T: Element> Buffers<T> {
    /// None yet, to be laid out like this.
    pub fn new(layout: PaddedLayout) -> Self {
        Self { layout, all: Vec::new(), current: 0, input: None }
    }

    /// Takes a grid's values in C order, and poisons all other buffers; returns the grid, whose halo is as
    /// it was.
    pub fn load(&mut self, values: &[T]) -> &mut Padded<T> {
        if self.all.is_empty() {
            self.add();
        }
        let (first, others) = self.all.split_first_mut().expect("one was added");
        first.set(values);
        others.iter_mut().for_each(|other| other.fill(T::from_f64(f64::NAN)));
        (self.current, self.input) = (0, Some(0));
        first
    }

    /// Gives the input's buffer to the steps.
    pub fn drop_input(&mut self) {
        self.input = None;
    }

    /// Back to the input.
    ///
    /// # Panics
    /// Where it was dropped.
    pub fn restart(&mut self) {
        self.current = self.input.expect("the input was kept");
    }

    /// Allocates what so many steps and a copy need, so that they need not.
    pub fn reserve(&mut self, steps: usize) {
        let besides_input = match self.input {
            Some(input) if input == self.current => steps.min(2),
            Some(_) => 2,
            None => 1,
        };
        let needed = if steps == 0 { 0 } else { 1 + besides_input };
        while self.all.len() < needed {
            self.add();
        }
    }

    /// The grid, and the buffer for the next step, which becomes the grid.
    pub fn turn(&mut self) -> (&mut Padded<T>, &mut Padded<T>) {
        let free = |index: &usize| *index != self.current && Some(*index) != self.input;
        let next = (0..self.all.len()).find(free).unwrap_or_else(|| {
            self.add();
            self.all.len() - 1
        });
        let pair = self.all.get_disjoint_mut([self.current, next]).expect("two of the buffers");
        self.current = next;
        let [from, to] = pair;
        (from, to)
    }

    /// Two buffers other than the input's: the grid is among them, once there was a step.
    pub fn pair(&mut self) -> [&mut Padded<T>; 2] {
        let others = usize::from(self.input.is_some()) + 2;
        while self.all.len() < others {
            self.add();
        }
        let mut pair =
            self.all.iter_mut().enumerate().filter(|(index, _)| Some(*index) != self.input);
        let mut next = || pair.next().expect("two besides the input").1;
        [next(), next()]
    }

    /// One of its grids.
    ///
    /// # Panics
    /// Where the input was dropped.
    pub fn get(&self, state: State) -> &Padded<T> {
        match state {
            State::Now => &self.all[self.current],
            State::Loaded => &self.all[self.input.expect("the input was kept")],
        }
    }

    /// The grid as it is now, to be changed: a copy of the input, as long as it is that and that is kept.
    pub fn now(&mut self) -> &mut Padded<T> {
        if self.input == Some(self.current) {
            let (from, to) = self.turn();
            to.clone_from(from);
        }
        &mut self.all[self.current]
    }

    fn add(&mut self) {
        let mut buffer = Padded::new(self.layout);
        buffer.fill(T::from_f64(f64::NAN));
        self.all.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::region::Region;

    const VALUES: [f64; 3] = [1.0, 2.0, 3.0];

    fn loaded() -> Buffers<f64> {
        let mut buffers = Buffers::new(PaddedLayout::new("3".parse().unwrap(), [0, 0, 1], 8));
        buffers.load(&VALUES);
        buffers
    }

    fn values(buffers: &Buffers<f64>, state: State) -> Vec<f64> {
        buffers.get(state).get(Region::whole("3".parse().unwrap()))
    }

    /// Doubles all values.
    fn step(buffers: &mut Buffers<f64>) {
        let (from, to) = buffers.turn();
        let doubled: Vec<f64> =
            from.get(Region::whole("3".parse().unwrap())).iter().map(|value| 2.0 * value).collect();
        to.set(&doubled);
    }

    #[test]
    fn the_input_is_kept_in_three_buffers_and_dropped_in_two() {
        for (input, most) in [(Input::Kept, 3), (Input::Dropped, 2)] {
            let mut buffers = loaded();
            if input == Input::Dropped {
                buffers.drop_input();
            }
            for steps in 1..6 {
                buffers.reserve(1);
                step(&mut buffers);
                assert_eq!(
                    values(&buffers, State::Now),
                    VALUES.map(|value| value * f64::from(1 << steps))
                );
            }
            buffers.pair();
            assert_eq!((buffers.all.len(), super::most(input)), (most, most as u128));
        }
    }

    #[test]
    fn a_restart_finds_the_input() {
        let mut buffers = loaded();
        for steps in [0, 1, 2, 5] {
            (0..steps).for_each(|_| step(&mut buffers));
            assert_eq!(values(&buffers, State::Loaded), VALUES);
            buffers.pair();
            buffers.restart();
            assert_eq!(values(&buffers, State::Now), VALUES);
        }
    }

    #[test]
    fn a_change_leaves_the_input_as_it_is() {
        let mut all = loaded();
        let point = Region { low: [0, 0, 1], high: [1, 1, 2] };
        all.now().put(point, &[7.0]);
        assert_eq!(values(&all, State::Now), [1.0, 7.0, 3.0]);
        assert_eq!(values(&all, State::Loaded), VALUES);
        all.now().put(point, &[8.0]);
        assert_eq!((values(&all, State::Now)[1], all.all.len()), (8.0, 2));
    }

    #[test]
    fn no_more_is_allocated_than_the_steps_need() {
        for (steps, buffers) in [(0, 1), (1, 2), (2, 3), (100, 3)] {
            let mut all = loaded();
            all.reserve(steps);
            assert_eq!(all.all.len(), buffers, "{steps}");
            (0..steps).for_each(|_| step(&mut all));
            assert_eq!(all.all.len(), buffers, "{steps}");
        }
    }
}
