// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a quantity is from others' solution on each grid, and what is demanded of that.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use stencil::system::System;

use super::measure::Demand;
use super::problems::{SolutionProblem, Suite};

/// A quantity beside others' solution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Agreement {
    /// The problem.
    pub problem: String,
    /// Whose solution.
    pub peer: String,
    /// A field, or what receivers record.
    pub quantity: String,
    /// Extents of the grids, from coarse to fine, each slowest axis first.
    pub grids: Vec<Vec<usize>>,
    /// Steps on each.
    pub steps: Vec<usize>,
    /// How far apart both are on each, in the suite's measure.
    pub apart: Vec<f64>,
    /// What is demanded.
    pub demand: Demand,
}

impl Agreement {
    /// Names of the columns.
    pub const HEADER: &str = "| problem | beside | compared | grids | apart | order | demanded |\n\
                              | --- | --- | --- | --- | --- | --- | --- |";

    /// On no grid yet.
    #[must_use]
    pub fn new(suite: &Suite, problem: &SolutionProblem, quantity: &str) -> Self {
        let digits = problem.digits.map_or(String::new(), |digits| format!(", {digits} digits"));
        Self {
            problem: problem.name.to_owned(),
            peer: suite.peer.to_owned() + &digits,
            quantity: quantity.to_owned(),
            grids: Vec::new(),
            steps: Vec::new(),
            apart: Vec::new(),
            demand: problem.demand,
        }
    }

    /// Notes how far apart both are on the grid of a system.
    pub fn add(&mut self, system: &System, apart: f64) {
        self.grids.push(system.shape().axes().to_vec());
        self.steps.push(system.steps());
        self.apart.push(apart);
    }

    /// The orders from each grid to the next finer one.
    #[must_use]
    pub fn orders(&self) -> Vec<f64> {
        (1..self.grids.len()).map(|fine| self.order(fine - 1, fine)).collect()
    }

    /// The power of the spacing with which the distance falls between two grids.
    fn order(&self, coarse: usize, fine: usize) -> f64 {
        let finer = self.grids[fine][0] as f64 / self.grids[coarse][0] as f64;
        (self.apart[coarse] / self.apart[fine]).ln() / finer.ln()
    }

    /// Whether both agree as is demanded.
    ///
    /// # Errors
    /// They do not; with the numbers.
    pub fn check(&self) -> Result<()> {
        let Self { problem, peer, quantity, apart, demand, .. } = self;
        let place = format!("{problem} beside {peer}: {quantity}");
        ensure!(!apart.is_empty(), "{place} was compared on no grid");
        match *demand {
            Demand::Apart(most) => {
                let farthest = apart.iter().copied().find(|&apart| apart.is_nan() || apart > most);
                ensure!(
                    farthest.is_none(),
                    "{place} is {:.1e} apart, where at most {most:.0e} is demanded",
                    farthest.unwrap_or_default()
                );
            }
            Demand::Order(least) => {
                let order = self.order(0, apart.len() - 1);
                ensure!(
                    order >= least,
                    "{place} has the order {order:.2}, where at least {least} is demanded; apart: {}",
                    list(apart, |it| format!("{it:.1e}"))
                );
            }
        }
        Ok(())
    }

    /// Of quantities of one problem on the same grids: all names, with distances and orders of the one that is farthest on
    /// the finest grid.
    ///
    /// # Panics
    /// There are none.
    #[must_use]
    pub fn farthest(quantities: &[Self]) -> Self {
        let names: Vec<&str> = quantities.iter().map(|one| &*one.quantity).collect();
        let last = |one: &Self| one.apart.last().copied().unwrap_or(f64::INFINITY);
        let farthest = quantities.iter().max_by(|one, other| last(one).total_cmp(&last(other)));
        let farthest = farthest.expect("a quantity").clone();
        Self { quantity: names.join(", "), ..farthest }
    }

    /// A line of the table.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { problem, peer, quantity, grids, apart, demand, .. } = self;
        let extents = |grid: &Vec<usize>| list(grid, usize::to_string).replace(", ", "x");
        let grids = list(grids, extents);
        let apart = list(apart, |it| format!("{it:.1e}"));
        let (orders, demand) = match demand {
            Demand::Apart(most) => (String::new(), format!("{most:.0e} apart")),
            Demand::Order(least) => {
                (list(&self.orders(), |order| format!("{order:.2}")), format!("order {least}"))
            }
        };
        format!("| {problem} | {peer} | {quantity} | {grids} | {apart} | {orders} | {demand} |")
    }
}

fn list<T>(values: &[T], text: impl Fn(&T) -> String) -> String {
    values.iter().map(text).collect::<Vec<_>>().join(", ")
}
