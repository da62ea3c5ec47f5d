// SPDX-License-Identifier: MIT OR Apache-2.0
//! A checked system: every name is what it stands for, every number is known.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use transform::Stencil;

use super::boundary_terms;
use super::clock::{self, Rule, StepLength};
use super::constants;
use super::description::{Change, Description, FieldText, StartText, StencilText, Table};
use super::ends;
use super::expression::{
    Array, CoordinateScope, Function, Node, Purpose, Scope, is_name, is_taken, is_value,
};
use super::integrate::{self, Rate};
use super::origin::Origin;
use super::parts::{
    BatchNumbers, Coefficient, Field, Receiver, SOLID, Source, Start, StepWork, Trace, WallImage,
    Walls, WholeGrid, index,
};
use super::place_expressions::PlaceExpressions;
use super::pml;
use super::program::{Equation, MOST_REACH, Program};
use super::sides::Sides;
use super::solves;
use super::sourced;
use super::sponge;
use super::stages;
use super::stencils;
use super::tables;
use super::text::Text;
use super::totals::Totals;
use super::vanishing::Vanishing;
use files::io::npy;
use problem::boundary::Side;
use problem::check::rounded::Losses;
use problem::error::{Hint, Mistake};
use problem::job::Depth;
use problem::{Boundary, Clock, Dtype, Error, Grid, Shape};

/// Points of an axis whose coordinates f32 tells apart well enough to know those outside.
const MOST_COORDINATES: usize = 1 << 22;

/// A system of fields, ready to be computed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct System {
    pub(super) title: String,
    pub(super) shape: Shape,
    pub(super) dtype: Dtype,
    /// Where along z, y, x its first point lies in the whole grid, of which it may be a rank's part.
    pub(super) origin: [isize; 3],
    /// Distance of points along z, y, x.
    pub(super) spacing: [f64; 3],
    /// When steps are, and how long.
    pub(super) clock: Clock,
    /// The length of steps, if it follows from the values.
    pub(super) length: Option<StepLength>,
    pub(super) steps: usize,
    pub(super) stencils: Vec<Stencil>,
    pub(super) tables: Vec<Table>,
    pub(super) fields: Vec<Field>,
    pub(super) coefficients: Vec<Coefficient>,
    pub(super) works: Vec<StepWork>,
    /// Of a rank's part the grid on which it solves.
    pub(super) solved_on: Option<WholeGrid>,
    /// The coefficient that is 1 at solid points and 0 elsewhere.
    pub(super) solid: Option<usize>,
    /// The expressions of values and slopes at sides.
    pub(super) side_values: Vec<Node>,
    pub(super) sources: Vec<Source>,
    /// Of each of them which place of the description it is of, and with which weight; of a part of a system nothing.
    #[serde(skip)]
    pub(super) shares: Vec<(usize, f64)>,
    /// How many places of sources the description has; of a part of a system nothing.
    #[serde(skip)]
    pub(super) source_places: usize,
    /// What all points make together.
    pub(super) totals: Totals,
    /// Where a run has come to its end, if a condition says it.
    pub(super) end: Option<Node>,
    /// Arrays that are 0 at most points, or needed at few; where nothing is said, nothing is known.
    pub(super) vanishing: Vec<Vanishing>,
    /// Points whose values engines record.
    pub(super) receivers: Vec<Receiver>,
    /// What is recorded of them.
    pub(super) traces: Vec<Trace>,
    /// All equations.
    pub(super) program: Program,
    /// The equations of each stage of a step, in the order of the stages.
    pub(super) stages: Vec<Program>,
    /// Steps of a launch, where an engine can take several.
    pub(super) chain: Depth,
    /// Steps that are taken at once by Fourier transforms, at most.
    pub(super) jump: Depth,
    /// What may not be what was meant.
    pub(super) warnings: Vec<String>,
    /// The systems beside which it is computed by one kernel, if it is.
    #[serde(skip)]
    pub(super) beside: Option<BatchNumbers>,
    /// What it was made of; of a rank's part nothing.
    #[serde(skip)]
    pub(super) source: Option<Arc<Origin>>,
}

impl System {
    /// Checks a description but for its receivers, and says what its names mean; files that it names are looked for in `folder`.
    ///
    /// # Errors
    /// [`Error::System`] with the place and what may have been meant; those of the size, and of the files.
    pub(super) fn without_receivers(
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
    fn rates(
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
    fn absorb(
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
    fn memories(&self) -> usize {
        self.fields.iter().filter(|field| field.is_memory).count()
    }

    /// Gives fields that have rates next values.
    fn integrate(
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

    /// Finds out in which order a step computes, and makes programs of it.
    fn order(&mut self, description: &Description) -> Result<(), Mistake> {
        let texts = texts(description, self.memories());
        let inner = Text::new("an equation that was made of others", "");
        // What a work field is solved for is a part of its text.
        let own = self.fields.len();
        let solved_by: Vec<Option<usize>> =
            (0..self.works.len()).map(|work| self.solved_by(work)).collect();
        let text = |number: usize| {
            let work = number.checked_sub(own).and_then(|it| solved_by[it]);
            texts.get(work.map_or(number, |work| own + work)).copied().unwrap_or(&inner)
        };
        let fields = self.fields.iter().enumerate().map(|(number, field)| Equation {
            computes: Array::New(number),
            value: &field.next,
            text: text(number),
        });
        let read = self.read_works();
        let works = self.works.iter().enumerate().filter(|(number, _)| read.contains(number));
        let works = works.map(|(number, work)| Equation {
            computes: Array::Work(number),
            value: &work.value,
            text: text(self.fields.len() + number),
        });
        let equations: Vec<Equation> = fields.chain(works).collect();
        let has_source = |array| match array {
            Array::New(number) => self.sources.iter().any(|source| source.field == number),
            _ => false,
        };
        let name = |array| self.name_of(array).to_owned();
        let around = |array| self.around(array);
        let walls = |array| self.wall_image(array);
        let by = (self.stencils.as_slice(), &self.sides(&around, &walls));
        let wanted = |array| matches!(array, Array::Work(work) if self.keeps(work));
        let programs = stages::programs(by, &equations, (has_source, wanted), name)?;
        (self.program, self.stages) = programs;
        self.check_solves(|work| text(own + work))?;
        let mut totals = std::mem::take(&mut self.totals);
        let (around, walls) = (|array| self.around(array), |array| self.wall_image(array));
        let texts: Vec<&Text> = description.totals.iter().map(|total| &total.value).collect();
        let of_steps = description.tolerance.as_ref().unwrap_or(&description.dt);
        let texts = [&texts[..], &[of_steps]].concat();
        totals.compile((&self.stencils, &self.sides(&around, &walls)), &texts)?;
        self.totals = totals;
        Ok(())
    }

    /// Has no step compute fields, by name, whose next values are those that they have: their arrays stay as they are, and nobody reads
    /// what they become.
    pub(super) fn hold(&mut self, held: &[&str]) {
        for field in &mut self.fields {
            field.is_held = held.contains(&field.name.as_str());
        }
        let is_kept =
            |array: Array| !matches!(array, Array::New(field) if self.fields[field].is_held);
        self.program.keep(is_kept);
        self.stages.iter_mut().for_each(|stage| stage.keep(is_kept));
        self.stages.retain(|stage| !stage.writes.is_empty());
    }

    /// Checks that steps compute all fields.
    ///
    /// # Errors
    /// A field is held.
    pub(super) fn check_holds_nothing(&self) -> Result<(), String> {
        match self.fields.iter().find(|field| field.is_held) {
            None => Ok(()),
            Some(field) => Err(format!("the field '{}' is given before each step", field.name)),
        }
    }

    /// Calls `see` with all parts of all equations that a step computes.
    pub(super) fn visit(&self, mut see: impl FnMut(&Node)) {
        self.fields.iter().for_each(|field| field.next.visit(&mut see));
        self.read_works().into_iter().for_each(|work| self.works[work].value.visit(&mut see));
    }

    /// The work fields that a field's next values are made of.
    fn read_works(&self) -> BTreeSet<usize> {
        let (around, walls) = (|array| self.around(array), |array| self.wall_image(array));
        let sides = self.sides(&around, &walls);
        let mut found = BTreeSet::new();
        let mut left: Vec<&Node> = self.fields.iter().map(|field| &field.next).collect();
        let kept = (0..self.works.len()).filter(|work| self.keeps(*work));
        for work in kept {
            found.insert(work);
            left.push(&self.works[work].value);
        }
        while let Some(node) = left.pop() {
            for (array, _) in sides.computed_reads(node) {
                if let Array::Work(work) = array
                    && found.insert(work)
                {
                    left.push(&self.works[work].value);
                }
            }
        }
        found
    }

    /// A sentence on each work field that no field's next values are made of, and no receiver records.
    pub(super) fn unread(&self) -> Vec<String> {
        let mut read = self.read_works();
        read.extend(self.recorded_works());
        let works = self.works.iter().enumerate().filter(|(number, _)| !read.contains(number));
        let works = works.filter(|(number, _)| self.solved_by(*number).is_none());
        let told = works.map(|(_, work)| {
            format!("no field is made of the work field '{}', so it is not computed", work.name)
        });
        told.collect()
    }

    /// What an array is called.
    pub(super) fn name_of(&self, array: Array) -> &str {
        match array {
            Array::Field { field, .. } | Array::New(field) => &self.fields[field].name,
            Array::Coefficient(coefficient) => &self.coefficients[coefficient].name,
            Array::Work(work) => &self.works[work].name,
        }
    }

    /// What lies around an array.
    pub(super) fn boundary_of(&self, array: Array) -> &Boundary {
        match array {
            Array::Field { field, .. } | Array::New(field) => &self.fields[field].boundary,
            Array::Coefficient(coefficient) => &self.coefficients[coefficient].boundary,
            Array::Work(work) => &self.works[work].boundary,
        }
    }

    /// What lies around an array, and how many steps after the time before a step its values are.
    pub(super) fn around(&self, array: Array) -> (Boundary, f64) {
        let later = match array {
            Array::Field { level, .. } => -(level as f64),
            Array::New(_) => 1.0,
            Array::Work(work) => self.works[work].later,
            Array::Coefficient(_) => 0.0,
        };
        (*self.boundary_of(array), later)
    }

    /// Checks that nothing is asked for that has no walls.
    fn check_beside_solid(&self, description: &Description) -> Result<(), Mistake> {
        let Some(_) = self.solid else { return Ok(()) };
        for (work, text) in self.works.iter().zip(&description.works) {
            if matches!(work.value, Node::Solve(..)) {
                let wrong = text.value.wrong("a solve does not go with solid points");
                return Err(wrong.hint("transforms solve for all points of the grid"));
            }
        }
        match &description.pml {
            Some(text) => {
                let wrong = text.at.wrong("a [pml] layer does not go with solid points");
                Err(wrong.hint("a [sponge] absorbs waves beside solid points"))
            }
            None => Ok(()),
        }
    }

    /// How long a step is: a number, or what the clock says.
    pub(super) fn step_length(&self) -> Node {
        if self.varies_steps() { Node::StepLength } else { Node::Number(self.clock.dt) }
    }

    /// Checks that the time is known of whatever lies beyond sides: not of earlier values, where steps are as long as the
    /// values say.
    fn check_earlier_sides(&self, dt: &Text) -> Result<(), Mistake> {
        let wall_varies = |field: &Field| match &field.walls {
            Some(Walls::Value(value)) => !value.is_number(),
            _ => false,
        };
        let is_unknown =
            |field: &&Field| field.levels > 1 && (field.boundary.varies() || wall_varies(field));
        match self.fields.iter().find(is_unknown).filter(|_| self.varies_steps()) {
            None => Ok(()),
            Some(field) => {
                let what = format!(
                    "with steps of varying length, the sides of '{}' one step ago are not known",
                    field.name
                );
                Err(dt.wrong(what).hint("take steps of one length, or sides that do not change"))
            }
        }
    }

    /// The expressions at sides, with what lies around each array, and what is read instead of it at solid points.
    pub(super) fn sides<'a>(
        &'a self,
        of: &'a dyn Fn(Array) -> (Boundary, f64),
        walls: &'a dyn Fn(Array) -> Option<WallImage>,
    ) -> Sides<'a> {
        let Self { side_values, shape, spacing, .. } = self;
        let dt = self.step_length();
        Sides { expressions: side_values, shape: *shape, spacing: *spacing, dt, of, walls }
    }

    fn field(&mut self, text: &FieldText, scope: &Scope, folder: &Path) -> Result<Field, Error> {
        let boundary = self.boundary(&text.boundary, scope, Purpose::Next)?;
        let own = Array::Field { field: self.fields.len(), level: 0 };
        let walls = self.walls(text.walls.as_ref(), own, scope)?;
        let start = |text| self.start(text, (scope, Purpose::StartOfField), folder);
        Ok(Field {
            name: text.name.as_str().to_owned(),
            boundary,
            levels: 1,
            start: start(&text.start)?,
            before: text.before.iter().map(start).collect::<Result<_, _>>()?,
            next: match &text.change {
                Change::Next(next) => scope.number(next, Purpose::Next)?,
                Change::Rate(_) => Node::Number(0.0),
            },
            keep: match &text.keep {
                Some(keep) => Some(scope.condition(keep, Purpose::Points)?),
                None => None,
            },
            kept: None,
            is_memory: false,
            is_held: false,
            walls,
        })
    }

    fn start(
        &self,
        text: &StartText,
        (scope, purpose): (&Scope, Purpose),
        folder: &Path,
    ) -> Result<Start, Error> {
        let grid: Arc<Grid> = match text {
            StartText::Expression(text) => {
                return Ok(Start::Expression(scope.number(text, purpose)?));
            }
            StartText::File(name) => {
                npy::read_grid(&folder.join(name.as_str()), self.shape.dims())?.into()
            }
            StartText::Values(grid) => Arc::clone(grid),
            StartText::OnDevice(given) => {
                let is_as_stored =
                    given.shape() == self.shape && given.dtype() == self.dtype.stored();
                if is_as_stored && matches!(purpose, Purpose::StartOfField | Purpose::Start) {
                    return Ok(Start::OnDevice(Arc::clone(given)));
                }
                given.grid()?
            }
        };
        if grid.shape != self.shape {
            let (found, shape) = (grid.shape, self.shape);
            let what = format!("this holds {found} values, the grid has {shape} points");
            let text = match text {
                StartText::File(name) => name.clone(),
                _ => Text::new("values to start with", &found.to_string()),
            };
            return Err(text.wrong(what).into());
        }
        let given = |index: usize| grid.get(index);
        let losses = |stored: &Grid| {
            let of = |index| Losses::of(index, given(index), stored.get(index));
            let all = (0..stored.shape.points()).into_par_iter().map(of);
            all.reduce(Losses::default, Losses::and)
        };
        if self.dtype.stored() == grid.dtype() {
            return Ok(Start::Values(grid, Losses::default()));
        }
        let stored = Grid::clone(&grid).stored_as(self.dtype)?;
        let losses = losses(&stored);
        Ok(Start::Values(stored.into(), losses))
    }

    /// A boundary with its constants as they are stored, and expressions for some purpose.
    fn boundary(
        &mut self,
        text: &Text,
        scope: &Scope,
        purpose: Purpose,
    ) -> Result<Boundary, Error> {
        let (dims, mut mistake) = (self.shape.dims(), None);
        let mut varying = |part: &str, is_slope: bool| {
            let start = part.as_ptr() as usize - text.as_str().as_ptr() as usize;
            let start = text.range().start + start;
            let part = text.part(start..start + part.len());
            let node = scope.number(&part, purpose);
            let side = node.and_then(|node| self.side(node, is_slope, &part));
            side.map_err(|error| mistake = Some(error)).ok()
        };
        let boundary = Boundary::parse_with(text.as_str(), dims, &mut varying);
        let boundary =
            boundary.map_err(|error| mistake.unwrap_or_else(|| explain(text, &error)))?;
        let stored = boundary.map_constants(|value| self.dtype.round(value));
        let stored = stored.with_spacing(self.spacing);
        let is_finite = |side: &Side| match side {
            Side::Constant(value) | Side::Flux(value) => value.is_finite(),
            Side::Robin(_) => self.dtype.round(side.image(MOST_REACH as usize).added).is_finite(),
            _ => true,
        };
        if !stored.sides.iter().flatten().all(is_finite) {
            return Err(text.wrong(format!("{} cannot hold this constant", self.dtype)).into());
        }
        Ok(stored)
    }

    /// The side of an expression, which is a slope or else a value: of a number, or of what equations add.
    fn side(&mut self, node: Node, is_slope: bool, text: &Text) -> Result<Side, Mistake> {
        if let Node::Number(value) = node {
            return Ok(if is_slope { Side::Flux(value) } else { Side::Constant(value) });
        }
        Self::check_of_sides(&node, "a side's value", text)?;
        let longest = self.shape.extents().into_iter().max().unwrap_or(1);
        if self.dtype != Dtype::F64 && longest > MOST_COORDINATES {
            let what = format!("an axis of over {MOST_COORDINATES} points takes this in f64 only");
            return Err(text.wrong(what));
        }
        let number = self.side_values.len();
        self.side_values.push(node);
        Ok(if is_slope { Side::VaryingFlux(number) } else { Side::Varying(number) })
    }

    /// Checks that what lies outside of the equations needs no array.
    pub(super) fn check_of_sides(node: &Node, what: &str, text: &Text) -> Result<(), Mistake> {
        let mut other = false;
        node.visit(&mut |part| {
            other |= matches!(part, Node::Read(_) | Node::Noise(_) | Node::Total(_));
        });
        match other {
            false => Ok(()),
            true => Err(text.wrong(format!(
                "{what} is made of coordinates, time, constants and tables; this reads a field, a coefficient or a total, or is random"
            ))),
        }
    }

    /// Lets the points keep their values that are to: a coefficient says which.
    fn keep(&mut self) {
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

    fn count_levels(&mut self) {
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

    /// Checks that equations read all earlier values that are given, and no others of a field that has some.
    fn check_before(&self, description: &Description) -> Result<(), Mistake> {
        for (field, text) in self.fields.iter().zip(&description.fields) {
            let (read, given) = (field.levels - 1, text.before.len());
            if given > 0 && given != read {
                let name = &field.name;
                let what = match read {
                    0 => format!("no equation reads earlier values of '{name}'"),
                    1 => format!("{given} are given, and equations read prev({name}) only"),
                    _ => format!("{given} is given, and equations read prev2({name}), too"),
                };
                let place = match &text.before[given - 1] {
                    StartText::Expression(text) | StartText::File(text) => text,
                    StartText::Values(_) | StartText::OnDevice(_) => &text.name,
                };
                let hint =
                    "before = [values one step before the start, values two steps before it]";
                return Err(place.wrong(what).hint(hint));
            }
        }
        Ok(())
    }

    /// With so many steps to take instead of its own.
    #[must_use]
    pub fn with_steps(self, steps: usize) -> Self {
        Self { steps, ..self }
    }

    /// With so many steps taken at once on a GPU, which has the bits of single ones but for what its compiler makes
    /// of products and sums.
    #[must_use]
    pub fn with_chain(self, chain: Depth) -> Self {
        Self { chain, ..self }
    }

    /// With at most so many steps taken at once by Fourier transforms, which are asked for with that.
    #[must_use]
    pub fn with_jump(self, jump: Depth) -> Self {
        Self { jump, ..self }
    }

    /// What may not be what was meant, a sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What it is.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Its grid.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How fields are stored.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// From a point to the next along (z, y, x); 1 along an axis that the grid lacks.
    #[must_use]
    pub fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// Time of a step.
    #[must_use]
    pub fn dt(&self) -> f64 {
        self.clock.dt
    }

    /// Steps to take, if nothing else is said.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The arrays that change: fields, and what is kept of earlier steps.
    #[must_use]
    pub fn arrays(&self) -> usize {
        self.fields.iter().map(|field| field.levels).sum()
    }

    /// The names of its fields, but for those that a layer adds.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &str> {
        let named = self.fields.len() - self.memories();
        self.fields[..named].iter().map(|field| field.name.as_str())
    }

    /// What is recorded where: the name of a field or an expression, and the place in points, slowest axis first.
    pub fn receivers(&self) -> impl ExactSizeIterator<Item = (&str, &[f64])> {
        self.traces.iter().map(|it| (it.name.as_str(), it.at.as_slice()))
    }

    /// Which field has this name.
    pub(super) fn find(&self, name: &str) -> Result<usize, Error> {
        self.fields.iter().position(|field| field.name == name).ok_or_else(|| {
            let known = self.fields().map(str::to_owned).collect();
            Error::UnknownField { name: name.to_owned(), known }
        })
    }
}

/// The names of a system, each of which means one thing.
fn names(description: &Description, dims: usize) -> Result<Scope, Mistake> {
    let Description { constants, terms, stencils, tables, fields, coefficients, .. } = description;
    let Description { works, totals, solid, .. } = description;
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    seen.insert("dt".to_owned(), "a number that every system has");
    if solid.is_some() {
        seen.insert(SOLID.to_owned(), "the mask of solid points");
    }
    let mut list = |what: &'static str, names: &mut dyn Iterator<Item = &Text>| {
        let mut list = Vec::new();
        for text in names {
            let name = text.as_str();
            if !is_name(name) {
                let what = format!("'{name}' is no name for {what}");
                return Err(text.wrong(what).hint("names have letters, digits and _"));
            }
            if is_taken(name) {
                return Err(text.wrong(format!("'{name}' is a word of the language")));
            }
            // A constant of this name would be taken for the grid's.
            let is_of_grid = constants::OF_GRID.contains(&name);
            if what == "a total" && is_value(name) {
                let wrong = text.wrong(format!("'{name}' is a value that every system has"));
                return Err(wrong.hint("give the total another name"));
            }
            if ["a constant", "a total"].contains(&what) && is_of_grid {
                let wrong = text.wrong(format!("'{name}' is a number that every system has"));
                return Err(wrong.hint("it follows from [grid]"));
            }
            if let Some(before) = seen.insert(name.to_owned(), what) {
                return Err(text.wrong(format!("'{name}' is {before} already")));
            }
            list.push(name.to_owned());
        }
        Ok(list)
    };
    list("a constant", &mut constants.iter().map(|(name, _)| name))?;
    list("a term", &mut terms.iter().map(|(name, _)| name))?;
    let stencils = list("a stencil", &mut stencils.iter().map(|(name, _)| name))?;
    let tables = list("a table", &mut tables.iter().map(|(name, _)| name))?;
    let mut coefficients = list("a coefficient", &mut coefficients.iter().map(|it| &it.name))?;
    coefficients.extend(solid.as_ref().map(|_| SOLID.to_owned()));
    let works = list("a work field", &mut works.iter().map(|it| &it.name))?;
    list("a total", &mut totals.iter().map(|it| &it.name))?;
    let names = list("a field", &mut fields.iter().map(|it| &it.name))?;
    if names.is_empty() {
        let nothing = Text::new("the system", &description.title);
        return Err(nothing.wrong("there is no field").hint("give one under [fields]"));
    }
    let terms = terms.iter().map(|(name, text)| (name.as_str().to_owned(), text.clone()));
    let constants = BTreeMap::new();
    let fields = names;
    let (terms, totals) = (terms.collect(), Vec::new());
    Ok(Scope {
        dims,
        points: 0.0,
        constants,
        terms,
        fields,
        coefficients,
        works,
        stencils,
        tables,
        totals,
        varies_steps: false,
    })
}

/// The texts of all equations: of fields, of so many memories of a layer, then of work fields.
fn texts(description: &Description, memories: usize) -> Vec<&Text> {
    let fields = description.fields.iter().map(|field| field.change.text());
    let of_layer = description.pml.iter().flat_map(|pml| repeat_n(&pml.at, memories));
    fields.chain(of_layer).chain(description.works.iter().map(|work| &work.value)).collect()
}

/// A mistake in a boundary, at its place.
fn explain(text: &Text, error: &Error) -> Mistake {
    let Error::Boundary { reason, hint, .. } = error else { return text.wrong(error.to_string()) };
    let wrong = text.wrong(reason);
    match hint {
        Some(Hint::Meant(meant)) => wrong.hint(format!("did you mean {meant}?")),
        Some(Hint::Open) => wrong.hint(
            "no kind lets waves out: zero is a wall that reflects them. Give the system a [pml] or a [sponge]",
        ),
        Some(Hint::Slope) => wrong.hint("did you mean edge? For another slope than 0: flux=G"),
        _ => wrong.hint("such as periodic, or x:periodic,y-:constant=1,y+:reflect"),
    }
}
