// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a description says, part by part, until every equation stands.

use std::path::Path;

use crate::boundary_terms;
use crate::clock::{self, Rule, StepLength};
use crate::constants;
use crate::description::{Change, Description, FieldText, StencilText};
use crate::ends;
use crate::expression::{Array, CoordinateScope, Function, Node, Purpose, Scope};
use crate::integrate::{self, Rate};
use crate::parts::{Coefficient, Start, StepWork, index};
use crate::place_expressions::PlaceExpressions;
use crate::pml;
use crate::program::Program;
use crate::solves;
use crate::sourced;
use crate::sponge;
use crate::stencils;
use crate::tables;
use crate::text::Text;
use crate::totals::Totals;
use problem::error::Mistake;
use problem::job::Depth;
use problem::{Boundary, Clock, Dtype, Error, Shape};

use super::System;
use super::names::{names, texts};

impl System {
    /// Checks a description but for its receivers, and says what its names mean; files that it names are looked for in `folder`.
    ///
    /// # Errors
    /// [`Error::System`] with the place and what may have been meant; those of the size, and of the files.
    pub(crate) fn without_receivers(
        description: &Description,
        folder: &Path,
    ) -> Result<(Self, Scope), Error> {
        let shape = Shape::new(&description.size)?;
        let dims = shape.dims();
        let dtype = description.dtype;
        if dtype == Dtype::Tf32 {
            let text = Text::new("the element type", "tf32");
            return Err(text.wrong("systems are stored as f64, f32, f16 or bf16").into());
        }
        if ![1, dims].contains(&description.spacing.len()) {
            let found = description.spacing.len();
            let what =
                format!("{found} spacings for a grid of {dims} axes; give one, or one for each");
            let last = description.spacing.last().cloned();
            return Err(last.unwrap_or_else(|| Text::new("the spacing", "")).wrong(what).into());
        }
        let mut scope = names(description, dims)?;
        scope.points = shape.points() as f64;
        let numbers = constants::resolve(description, shape, &mut scope)?;
        let stencils = description
            .stencils
            .iter()
            .map(|(name, stencil)| stencils::stencil(name, stencil, dims, numbers.spacing));
        let tables = description.tables.iter().map(|table| tables::table(table, &scope, folder));
        let mut system = Self {
            title: description.title.clone(),
            shape,
            dtype,
            origin: [0; 3],
            spacing: numbers.spacing,
            clock: numbers.dt.map_or_else(Clock::unknown, Clock::of),
            length: None,
            steps: numbers.steps,
            stencils: stencils.collect::<Result<_, _>>()?,
            tables: tables.collect::<Result<_, _>>()?,
            fields: Vec::new(),
            coefficients: Vec::new(),
            works: Vec::new(),
            solved_on: None,
            solid: None,
            side_values: Vec::new(),
            sources: Vec::new(),
            source_places: 0,
            shares: Vec::new(),
            totals: Totals::default(),
            end: None,
            vanishing: Vec::new(),
            receivers: Vec::new(),
            traces: Vec::new(),
            program: Program::default(),
            stages: Vec::new(),
            chain: Depth::Auto,
            jump: Depth::Auto,
            warnings: Vec::new(),
            beside: None,
            source: None,
        };
        let solid = description.solid.as_ref().map(|_| description.coefficients.len());
        system.totals = Totals::new(&description.totals, &mut scope, solid)?;
        if numbers.dt.is_none() && description.tolerance.is_none() {
            let value = system.totals.step_length(&description.dt, &scope, solid)?;
            let (every, end) = (description.dt_every.unwrap_or(clock::EVERY), numbers.end);
            system.length = Some(StepLength { rule: Rule::Follows(value, every), end });
        }
        if let Some(text) = &description.tolerance {
            let (first, end) = (numbers.first, numbers.end);
            let rule = Rule::within(text, description.method, first, &scope)?;
            system.length = Some(StepLength { rule, end });
        }
        system.end = match &description.end {
            Some(end) => Some(scope.condition(end, Purpose::EachStep)?),
            None => None,
        };
        description.terms.iter().try_for_each(|(_, term)| scope.anything(term))?;
        for text in &description.coefficients {
            let start = system.start(&text.start, (&scope, Purpose::Start), folder)?;
            let boundary = match &text.boundary {
                Some(text) => system.boundary(text, &scope, Purpose::Constant)?,
                None => ends::UNREAD,
            };
            let name = text.name.as_str().to_owned();
            system.coefficients.push(Coefficient { name, boundary, start });
        }
        if let Some(points) = &description.solid {
            system.read_solid(points, &scope, folder)?;
        }
        for text in &description.fields {
            let field = system.field(text, &scope, folder)?;
            system.fields.push(field);
        }
        for text in &description.works {
            let (name, of) = (text.name.as_str().to_owned(), None);
            let boundary = system.boundary(&text.boundary, &scope, Purpose::Next)?;
            let value = scope.work(&text.value)?;
            let own = Array::Work(system.works.len());
            let walls = system.walls(text.walls.as_ref(), own, &scope)?;
            system.works.push(StepWork { name, boundary, value, of, later: 0.0, walls });
        }
        let mut rates = system.rates(description, &scope)?;
        system.absorb(description, &scope, &mut rates)?;
        system.integrate(description, rates)?;
        let unsaid = description.coefficients.iter().enumerate();
        let mut unsaid: Vec<(usize, Option<&Text>)> = unsaid
            .filter(|(_, text)| text.boundary.is_none())
            .map(|(number, text)| (number, Some(&text.name)))
            .collect();
        if let Some(text) = &description.sponge {
            unsaid.push((system.coefficients.len(), None));
            let System { fields, works, coefficients, shape, spacing, .. } = &mut system;
            let (name, boundary) = ("sponge".to_owned(), Boundary::default());
            let start = Start::Expression(sponge::factor(text, *shape, *spacing)?);
            sponge::damp((fields, works), text, coefficients.len(), &scope)?;
            coefficients.push(Coefficient { name, boundary, start });
        }
        let spacing = system.spacing;
        let places = PlaceExpressions { shape, spacing, scope: &scope, folder };
        let mut number = 0;
        for source in &description.sources {
            let field = index("field", &source.field, &scope.fields)?;
            let System { fields, sources, shares, .. } = &mut system;
            for place in places.of(&source.field, &source.at, source.units)? {
                let at = CoordinateScope { points: place, spacing };
                let add = scope.number_at(&source.add, Purpose::Next, at)?;
                for share in source.interpolation.weights(place, shape) {
                    sourced::add((fields, sources), field, share, &add);
                    shares.resize(sources.len(), (number, share.1));
                }
                number += 1;
            }
        }
        system.source_places = number;
        system.check_beside_solid(description)?;
        solves::split(&mut system.works);
        system.keep();
        system.make_solid();
        system.count_levels();
        system.check_before(description)?;
        system.check_earlier_sides(&description.dt)?;
        system.order(description)?;
        // What a layer remembers follows its fields, too.
        let named = system.fields.len() - system.memories();
        let Self { fields, program, coefficients, totals, .. } = &mut system;
        let read = ends::Equations {
            fields: &fields[..named],
            programs: [program, &totals.program],
            dims,
        };
        for (number, name) in unsaid {
            ends::follow(&read, number, &mut coefficients[number], name)?;
        }
        let equations = texts(description, 0).into_iter();
        system.warnings =
            boundary_terms::terms((&system.fields, &system.stencils), &scope, equations)?;
        Ok((system, scope))
    }

    /// The rates of those fields that have one.
    pub(super) fn rates(
        &self,
        description: &Description,
        scope: &Scope,
    ) -> Result<Vec<Option<Node>>, Mistake> {
        let of_field = |field: &FieldText| match &field.change {
            Change::Next(_) => Ok(None),
            Change::Rate(rate) => scope.number(rate, Purpose::Next).map(Some),
        };
        description.fields.iter().map(of_field).collect()
    }

    /// Stretches derivatives, if there is a layer that does.
    pub(super) fn absorb(
        &mut self,
        description: &Description,
        scope: &Scope,
        rates: &mut Vec<Option<Node>>,
    ) -> Result<(), Mistake> {
        let Some(text) = &description.pml else { return Ok(()) };
        let by_stages = description.method.has_stages();
        let follows = matches!(&self.length, Some(StepLength { rule: Rule::Follows(..), .. }));
        if follows || self.varies_steps() && !by_stages {
            let what = "memories of this layer fade in steps of one length, and these are as long as totals say";
            let wrong = text.at.wrong(what);
            return Err(wrong.hint("take a number for dt, or method = \"rk45\" with a tolerance"));
        }
        let dt = match &self.length {
            Some(StepLength { rule: Rule::Within { first, .. }, .. }) => *first,
            _ => self.clock.dt,
        };
        let Self { shape, spacing, fields, works, coefficients, stencils, vanishing, .. } = self;
        let steps = pml::Steps { shape: *shape, spacing: *spacing, dt, by_stages };
        let is_average = |(_, it): &(Text, StencilText)| matches!(it, StencilText::Average { .. });
        let averages: Vec<bool> = description.stencils.iter().map(is_average).collect();
        let equations = pml::Equations { fields, rates, works, coefficients, stencils, vanishing };
        pml::absorb(equations, text, (scope, &averages), &texts(description, 0), steps)
    }

    /// Fields that are what a layer remembers: the last ones.
    pub(super) fn memories(&self) -> usize {
        self.fields.iter().filter(|field| field.is_memory).count()
    }

    /// Gives fields that have rates next values.
    pub(super) fn integrate(
        &mut self,
        description: &Description,
        rates: Vec<Option<Node>>,
    ) -> Result<(), Mistake> {
        let texts = texts(description, self.memories());
        let rates = rates.into_iter().zip(&texts);
        let rates: Vec<Rate> = rates.map(|(rate, text)| Some((rate?, *text))).collect();
        let by = (description.method, self.step_length(), self.takes_back());
        let (fields, works) = (&mut self.fields, &mut self.works);
        let found = integrate::integrate(by, fields, &rates, works, &texts)?;
        if let Some(StepLength { rule: Rule::Within { off, estimates, .. }, .. }) = &mut self.length
        {
            // It holds the tolerance until then.
            *off = self.totals.off(found.clone(), off, self.solid);
            *estimates = found;
        }
        Ok(())
    }

    /// Lets the points keep their values that are to: a coefficient says which.
    pub(super) fn keep(&mut self) {
        for field in 0..self.fields.len() {
            let Some(keep) = self.fields[field].keep.clone() else { continue };
            let condition =
                Node::call(Function::If, vec![keep, Node::Number(1.0), Node::Number(0.0)]);
            let name = format!("keep({})", self.fields[field].name);
            let kept = self.coefficients.len();
            let (boundary, start) = (Boundary::default(), Start::Expression(condition));
            self.coefficients.push(Coefficient { name, boundary, start });
            self.fields[field].kept = Some(kept);
            let inside = self.works.iter_mut().filter(|work| work.of == Some(field));
            let inside = inside.map(|work| &mut work.value);
            for next in inside.chain([&mut self.fields[field].next]) {
                let changed = std::mem::replace(next, Node::Number(0.0));
                let kept = Node::Read(Array::Coefficient(kept));
                let kept = Node::call(Function::Less, vec![Node::Number(0.5), kept]);
                let same = Node::Read(Array::Field { field, level: 0 });
                *next = Node::call(Function::If, vec![kept, same, changed]);
            }
        }
    }

    pub(super) fn count_levels(&mut self) {
        let mut levels = vec![1; self.fields.len()];
        let mut count = |node: &Node| {
            if let Node::Read(array @ Array::Field { level, .. }) = node {
                let instead = self.wall_image(*array).map(|image| image.of);
                for array in [Some(*array), instead].into_iter().flatten() {
                    if let Array::Field { field, .. } = array {
                        levels[field] = levels[field].max(level + 1);
                    }
                }
            }
        };
        self.visit(&mut count);
        self.totals.reductions.iter().for_each(|reduction| reduction.value.visit(&mut count));
        self.fields.iter_mut().zip(levels).for_each(|(field, levels)| field.levels = levels);
    }
}
