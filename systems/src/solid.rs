// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solid points: which points of the grid are obstacles. A coefficient, `solid`, is 1 there and 0 elsewhere; what is read there
//! `walls` say.

use std::path::Path;

use super::checked::System;
use super::description::StartText;
use super::evaluate::{Evaluator, NoArrays, PlainF64};
use super::expression::{Function, Node, Purpose, Scope};
use super::parts::{Coefficient, SOLID, Start};
use super::places::one_point;
use super::text::Text;
use super::unrounded::UnroundedCoefficients;
use files::io::read;
use problem::check::rounded::Losses;
use problem::error::Mistake;
use problem::{Boundary, Error, Grid};
use rayon::prelude::*;

impl System {
    /// Which points are solid, as the coefficient of the next number.
    ///
    /// # Errors
    /// It is no condition of points that never change, or a file of another size; all points are solid.
    pub(super) fn read_solid(
        &mut self,
        points: &StartText,
        scope: &Scope,
        folder: &Path,
    ) -> Result<(), Error> {
        let (start, text) = match points {
            StartText::Expression(text) => (self.solid_where(text, scope)?, text.clone()),
            StartText::File(name) => {
                let grid = read::grid(&folder.join(name.as_str()), self.shape.dims())?.grid;
                let is_picture = !name.as_str().ends_with(".npy");
                (self.solid_in(&grid, is_picture, name)?, name.clone())
            }
            StartText::OnDevice(given) => {
                let (grid, text) =
                    (given.grid()?, Text::new("the solid points", &given.shape().to_string()));
                (self.solid_in(&grid, false, &text)?, text)
            }
            StartText::Values(grid) => {
                let text = Text::new("the solid points", &grid.shape.to_string());
                (self.solid_in(grid, false, &text)?, text)
            }
        };
        if !self.has_fluid(&start) {
            let wrong = text.wrong("all points are solid, so that no equation is left");
            return Err(wrong.hint("the condition holds inside of obstacles").into());
        }
        self.solid = Some(self.coefficients.len());
        let (name, boundary) = (SOLID.to_owned(), Boundary::default());
        self.coefficients.push(Coefficient { name, boundary, start });
        Ok(())
    }

    fn solid_where(&self, text: &Text, scope: &Scope) -> Result<Start, Mistake> {
        let condition = scope.condition(text, Purpose::Start)?;
        let mut moves = false;
        condition.visit(&mut |part| moves |= matches!(part, Node::Time));
        if moves {
            let wrong = text.wrong("solid points do not move, but this condition holds the time");
            return Err(wrong.hint("a condition of coordinates says which points are solid"));
        }
        let numbers = vec![condition, Node::Number(1.0), Node::Number(0.0)];
        Ok(Start::Expression(Node::call(Function::If, numbers)))
    }

    /// What is not 0, or dark in a picture.
    fn solid_in(&self, grid: &Grid, is_picture: bool, text: &Text) -> Result<Start, Error> {
        if grid.shape != self.shape {
            let (found, shape) = (grid.shape, self.shape);
            let what = format!("this holds {found} values, the grid has {shape} points");
            return Err(text.wrong(what).into());
        }
        let mut values = Vec::with_capacity(grid.shape.points());
        for index in 0..grid.shape.points() {
            let value = grid.get(index);
            if value.is_nan() {
                let what = format!("value {index} is not a number");
                return Err(text.wrong(what).into());
            }
            let is_solid = if is_picture { value < 0.5 } else { value != 0.0 };
            values.push(f64::from(u8::from(is_solid)));
        }
        let mask = Grid { shape: grid.shape, values: problem::Values::F64(values) };
        Ok(Start::Values(mask.stored_as(self.dtype)?.into(), Losses::default()))
    }

    /// Whether some point is not solid: of most systems one of the first that are looked at, which lie all over the grid.
    fn has_fluid(&self, start: &Start) -> bool {
        match start {
            Start::Expression(Node::Number(solid)) => *solid == 0.0,
            _ => {
                /// Points that are looked at before all others.
                const SPREAD: usize = 500;
                let points = self.shape.points();
                let is_fluid = |index: usize| !self.is_solid(start, index);
                (0..points).step_by(points.div_ceil(SPREAD)).any(is_fluid)
                    || (0..points).into_par_iter().any(is_fluid)
            }
        }
    }

    /// Whether a point, by its place in C order, is solid, by what says which are.
    fn is_solid(&self, start: &Start, index: usize) -> bool {
        match start {
            Start::Expression(node) => {
                let values = UnroundedCoefficients { system: self, values: &NoArrays };
                let evaluator = Evaluator::new(self, PlainF64, &values, 0.0);
                evaluator.at(node, one_point(self.shape, index).low) != 0.0
            }
            Start::Values(grid, _) => grid.get(index) != 0.0,
            Start::OnDevice(_) => unreachable!("solid points are in this machine's memory"),
        }
    }

    /// Some points beside walls, by their places in C order: between random points that are solid and others. `random` gives a
    /// place below a number.
    pub(super) fn beside_walls(
        &self,
        most: usize,
        mut random: impl FnMut(usize) -> usize,
    ) -> Vec<usize> {
        let Some(solid) = self.solid else { return Vec::new() };
        let is_solid = |index: usize| self.is_solid(&self.coefficients[solid].start, index);
        let [_, ny, nx] = self.shape.extents();
        let (mut ends, mut found) = ([None, None], Vec::new());
        // As many as find an obstacle of a thousandth of the grid.
        for _ in 0..(16 * most) {
            let index = random(self.shape.points());
            ends[usize::from(is_solid(index))] = Some(index);
            let [Some(mut fluid), Some(mut inner)] = ends else { continue };
            ends = [None, None];
            loop {
                let [a, b] = [fluid, inner].map(|it| one_point(self.shape, it).low);
                let middle = [0, 1, 2].map(|axis| (a[axis] + b[axis]).div_euclid(2) as usize);
                let middle = (middle[0] * ny + middle[1]) * nx + middle[2];
                if middle == fluid || middle == inner {
                    break;
                }
                *(if is_solid(middle) { &mut inner } else { &mut fluid }) = middle;
            }
            found.push(fluid);
            if found.len() == most {
                break;
            }
        }
        found
    }
}
