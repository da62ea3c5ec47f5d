// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texts of an adjoint system.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::reverse::{AdjointWorkField, Reverse};
use super::text::{Names, ReverseSteps, Writer};
use super::{Adjoint, AdjointOf, ForwardField, GradientField, GradientVariables, Misfit, refused};
use crate::checked::System;
use crate::description::{CoefficientText, Description, FieldText, StartText, TableText, WorkText};
use crate::expression::{Array, Fold, Node, Reduction};
use crate::parts::Start;
use crate::sides::later;
use crate::text::Text;
use crate::vanishing::Vanishing;
use problem::{Dtype, Error, Grid};

mod ends;

/// An adjoint system in the making.
pub struct AdjointBuilder<'a> {
    pub reverse: Reverse<'a>,
    /// The system that was asked for, with constants in the places of coefficients that the reversed one may have.
    pub asked: &'a System,
    /// Of each source of it whether what it adds counts.
    pub counts: Vec<bool>,
    /// The step that is the first one.
    pub first: usize,
    /// The step that the adjoint's first one goes back over.
    pub last: isize,
    /// The values of coefficients, where one of them says what is differentiated; else nothing.
    pub beginning: Vec<Arc<Grid>>,
    /// Whether the last step completes adjoints, and does nothing else.
    pub completes: bool,
    pub names: BTreeMap<Array, String>,
    pub own_names: Vec<String>,
    /// The names of the system's tables, and of those of what is sought by what each receiver records, and by each total.
    pub tables: Vec<String>,
    /// The names of reductions.
    pub totals: Vec<String>,
    pub files: Vec<(String, Arc<Grid>)>,
}

/// The next values of fields, the fields of gradients, of each field those of its levels, and what is recorded where sources are.
pub type Equations = (Vec<(Array, Node)>, Vec<Array>, Vec<Vec<Array>>, BTreeMap<usize, Array>);

impl AdjointBuilder<'_> {
    /// Gives all arrays names.
    pub fn name(&mut self) {
        let system = self.reverse.system;
        let mut names = Names::default();
        let mut note = |array: Array, wanted: &str| {
            self.names.insert(array, names.like(wanted));
        };
        for (field, of) in system.fields.iter().enumerate() {
            note(Array::Field { field, level: 0 }, &of.name);
        }
        for (number, of) in system.coefficients.iter().enumerate() {
            note(Array::Coefficient(number), &of.name);
        }
        for (number, of) in system.works.iter().enumerate() {
            note(Array::Work(number), &of.name);
        }
        for (field, of) in system.fields.iter().enumerate() {
            for level in 1..of.levels {
                note(Array::Field { field, level }, &format!("{}_{level}", of.name));
            }
            note(Array::New(field), &format!("new_{}", of.name));
        }
        for (number, of) in self.reverse.own.iter().enumerate() {
            note(Array::Work(system.works.len() + number), &of.name);
        }
        let stencils = (0..self.reverse.stencils.len()).map(|it| names.like(&format!("s{it}")));
        self.own_names = stencils.collect();
        let tables = (0..system.tables.len()).map(|number| format!("table_{number}"));
        let residuals = (0..system.traces.len()).map(|number| format!("residual_{number}"));
        let by_totals = (0..system.totals.names.len()).map(|number| format!("by_{number}"));
        let paced = ["time_of_step", "length_of_step"].map(str::to_owned);
        let tables = tables.chain(residuals).chain(by_totals).chain(paced);
        self.tables = tables.map(|wanted| names.like(&wanted)).collect();
        let totals = (0..self.reverse.totals.len()).map(|number| format!("total_{number}"));
        self.totals = totals.map(|wanted| names.like(&wanted)).collect();
    }

    /// The arrays and the reductions that these expressions read, with those that these are computed from.
    fn needed<'n>(
        &self,
        nodes: impl Iterator<Item = &'n Node>,
    ) -> (BTreeSet<Array>, BTreeSet<usize>) {
        let (mut found, mut totals) = (BTreeSet::new(), BTreeSet::new());
        let mut left = Vec::new();
        let mut note = |node: &Node, left: &mut Vec<Node>| {
            node.visit(&mut |part| {
                let is_new = match part {
                    Node::Read(array) => found.insert(*array),
                    Node::Total(number) => totals.insert(*number),
                    _ => false,
                };
                if is_new {
                    left.push(part.clone());
                }
            });
        };
        nodes.for_each(|node| note(node, &mut left));
        while let Some(next) = left.pop() {
            let array = match next {
                Node::Read(array) => array,
                Node::Total(number) => {
                    note(&self.reverse.totals[number].value, &mut left);
                    continue;
                }
                _ => unreachable!("these alone are noted"),
            };
            match self.reverse.own(array) {
                Some(own) => own.value.iter().for_each(|value| note(value, &mut left)),
                // What a step makes of a field is given, as it is after the step.
                None if matches!(array, Array::Work(_)) => {
                    note(self.reverse.value(array), &mut left)
                }
                None => (),
            }
        }
        (found, totals)
    }

    /// Has fields whose next values are those of a work field be computed as they are, and read as their new values: they are stored once.
    /// Those to which sources add are left, for what the work field has is less than that.
    fn join(
        &mut self,
        nexts: &mut [(Array, Node)],
        adjoints: &[Vec<Array>],
        misfit: &Misfit,
    ) -> BTreeSet<Array> {
        let mut joined = BTreeSet::new();
        if !self.reverse.totals.is_empty() {
            return joined;
        }
        let receivers = &self.reverse.system.receivers;
        let is_added_to = |own: Array| {
            let mut fields = receivers.iter().map(|receiver| adjoints[receiver.field][0]);
            !misfit.records.is_empty() && fields.any(|field| field == own)
        };
        for (own, next) in nexts {
            let Node::Read(work) = *next else { continue };
            let of = self.reverse.own(work).filter(|of| of.sides.is_none());
            let Some(AdjointWorkField { value: Some(value), periodic, .. }) = of else { continue };
            let is = self.reverse.own(*own).expect("it is its own");
            if is.periodic == *periodic && !is_added_to(*own) && joined.insert(work) {
                *next = value.clone();
                self.names.insert(work, format!("new({})", self.names[own]));
            }
        }
        joined
    }

    pub fn write(
        mut self,
        (mut nexts, gradients, adjoints, at_sources): Equations,
        wanted: &[(usize, &String)],
        by: &GradientVariables,
        (first, steps): (usize, usize),
        misfit: &Misfit,
    ) -> Result<Adjoint, Error> {
        let system = self.reverse.system;
        let (shape, dims) = (system.shape, system.shape.dims());
        let joined = self.join(&mut nexts, &adjoints, misfit);
        let (needed, totals) = self.needed(nexts.iter().map(|(_, node)| node));
        let mut description = Description::new(&shape.extents()[3 - dims..]);
        description.title = match system.title() {
            "" => "An adjoint".to_owned(),
            title => format!("The adjoint of: {title}"),
        };
        // Sums of many steps, and small adjoints, are lost in 16 bits.
        description.dtype = match system.dtype {
            Dtype::F16 | Dtype::Bf16 => Dtype::F32,
            dtype => dtype,
        };
        let spacing = &system.spacing[3 - dims..];
        description.spacing =
            spacing.iter().map(|it| Text::new("the spacing", &format!("{it:?}"))).collect();
        // Where the step length follows from the values, tables have their times.
        let dt = if system.varies_steps() { 1.0 } else { system.clock.dt };
        description = description.time_step(format!("{dt:?}"));
        description.steps = steps + usize::from(self.completes);
        let mut given = Vec::new();
        for array in needed.difference(&joined) {
            if let Some(own) = self.reverse.own(*array) {
                if let Some(value) = &own.value {
                    let value = self.text(value, *array)?;
                    let (name, around) = (&self.names[array], self.around(own)?);
                    description = description.work_with(name, value, &around);
                }
                continue;
            }
            match *array {
                Array::Coefficient(number) => self.coefficient(number, &mut description)?,
                Array::Field { field, .. } | Array::New(field) => {
                    let name = self.names[array].clone();
                    let boundary = self.boundary(*array)?;
                    let next = name.clone();
                    let own = FieldText::new(&name, 0.0, next).boundary(&boundary);
                    description = description.field(own);
                    let field = system.fields[field].name.clone();
                    let when = match *array {
                        Array::Field { level, .. } => -(level as isize),
                        _ => 1,
                    };
                    given.push(ForwardField { name, field, when });
                }
                Array::Work(_) => {
                    let name = self.names[array].clone();
                    let boundary = self.boundary(*array)?;
                    let value = self.text(self.reverse.value(*array), *array)?;
                    description = description.work_with(&name, value, &boundary);
                }
            }
        }
        for (array, next) in &nexts {
            let name = self.names[array].clone();
            let own = FieldText::new(&name, 0.0, self.text(next, *array)?);
            let boundary = self.around(self.reverse.own(*array).expect("it is its own"))?;
            description = description.field(own.boundary(&boundary));
        }
        for number in totals {
            let Reduction { fold, value } = &self.reverse.totals[number];
            let fold = match fold {
                Fold::Sum => "sum",
                Fold::Min => "min",
                Fold::Max => "max",
            };
            let value = self.written(value).map_err(|what| {
                refused(format!("a total needs {what}, which has no adjoint yet"))
            })?;
            description = description.total(&self.totals[number], format!("{fold}({value})"));
        }
        for (name, table) in self.tables.iter().zip(&system.tables) {
            let text = (Text::new("a name", name), TableText::Points(table.clone()));
            description.tables.push(text);
        }
        description = self.sources(description, &adjoints, steps, misfit)?;
        let (description, sources) = self.receivers(description, &adjoints, &at_sources);
        let description = self.stencils(description);
        let constants = self.reverse.constants.iter().copied().collect();
        let summed = gradients.iter().zip(wanted).enumerate();
        let summed = summed.map(|(number, (array, (_, by_name)))| GradientField {
            name: self.names[array].clone(),
            by: (*by_name).clone(),
            is_parameter: number >= by.coefficients.len(),
        });
        let of_field = |array: Array| match array {
            Array::Field { field, level } => AdjointOf {
                name: self.names[&adjoints[field][level]].clone(),
                field: system.fields[field].name.clone(),
                level,
            },
            _ => unreachable!("levels of fields have numbers"),
        };
        let fields = system.numbered().into_iter().map(of_field).collect();
        let folder = system.source.as_ref().map(|origin| origin.folder.clone());
        let checked = System::new(&description, &folder.unwrap_or_default());
        let mut checked = checked.map_err(|error| {
            refused(format!(
                "the adjoint of steps {first} to {} is no system: {error}",
                first + steps
            ))
        })?;
        checked.hold(
            &given.iter().map(|given: &ForwardField| given.name.as_str()).collect::<Vec<_>>(),
        );
        checked.vanish(&self.vanishing(&adjoints));
        let source_count = system.source_places;
        Ok(Adjoint {
            description,
            system: checked,
            given,
            fields,
            summed: summed.collect(),
            sources,
            source_count,
            looks_at_end: misfit.looks_at_end(system),
            completes: self.completes,
            constants,
            arrays: self.files,
        })
    }

    /// Arrays of the adjoint, by name, that vanish as those do of which they are the adjoints or the values.
    fn vanishing(&self, adjoints: &[Vec<Array>]) -> Vec<(String, Vanishing)> {
        let mut found = Vec::new();
        for known in &self.reverse.system.vanishing {
            let mut arrays = vec![known.array];
            if let Array::Field { field, .. } = known.array {
                arrays.push(Array::New(field));
                arrays.extend(&adjoints[field]);
            }
            let own = self.reverse.vanishing.iter().filter(|(_, of)| known.is_of(*of));
            arrays.extend(own.map(|(own, _)| *own));
            let names = arrays.iter().filter_map(|array| self.names.get(array));
            found.extend(names.map(|name| (name.clone(), *known)));
        }
        found
    }

    /// The steps of the adjoint.
    fn backwards(&self) -> ReverseSteps<'_> {
        let system = self.reverse.system;
        let times = system.tables.len() + system.traces.len() + system.totals.names.len();
        let paced = system.varies_steps().then_some(([times, times + 1], self.first));
        ReverseSteps { last: self.last, clock: &system.clock, paced }
    }

    /// The equation of an array as text, with the times that it had.
    fn text(&self, node: &Node, of: Array) -> Result<String, Error> {
        self.written(node).map_err(|what: String| {
            let name = match self.reverse.own(of) {
                Some(own) => own.name.clone(),
                None => self.reverse.system.name_of(of).to_owned(),
            };
            refused(format!("the equation of '{name}' needs {what}, which has no adjoint yet"))
        })
    }

    /// An expression as text, with the times that it had.
    fn written(&self, node: &Node) -> Result<String, String> {
        let node = self.backwards().of(node);
        let name = |array: Array| self.names[&array].clone();
        let (stencils, tables, totals) = (&self.own_names, &self.tables, &self.totals);
        let dims = self.reverse.system.shape.dims();
        Writer { array: &name, stencils, tables, totals, dims }.text(&node)
    }

    /// What lies around a forward array, with the times that it had.
    fn boundary(&self, array: Array) -> Result<String, Error> {
        let system = self.reverse.system;
        let (boundary, steps) = system.around(array);
        let expression = |number: usize| {
            let node = later(&system.side_values[number], steps, &system.step_length());
            self.backwards().of(&node)
        };
        let name = |array: Array| self.names[&array].clone();
        let writer = Writer {
            array: &name,
            stencils: &self.own_names,
            tables: &self.tables,
            totals: &[],
            dims: system.shape.dims(),
        };
        let text = writer.boundary(&boundary, system.spacing, &expression);
        text.map_err(|what| {
            refused(format!("the sides of '{}' need {what}", system.name_of(array)))
        })
    }

    /// What lies around an array of the adjoint: zeros, but for axes that are periodic, unless it is solved for.
    fn around(&self, own: &AdjointWorkField) -> Result<String, Error> {
        let dims = self.reverse.system.shape.dims();
        if let Some(sides) = &own.sides {
            let no_array = |_: Array| String::new();
            let writer = Writer { array: &no_array, stencils: &[], tables: &[], totals: &[], dims };
            let expression = |_: usize| unreachable!("what sides add is left out");
            let text = writer.boundary(sides, self.reverse.system.spacing, &expression);
            return text
                .map_err(|what| refused(format!("the sides of '{}' need {what}", own.name)));
        }
        let sides = (3 - dims..3).map(|axis| {
            let kind = if own.periodic[axis] { "periodic" } else { "zero" };
            format!("{}:{kind}", ["z", "y", "x"][axis])
        });
        Ok(sides.collect::<Vec<_>>().join(","))
    }

    /// A coefficient of the forward system.
    fn coefficient(&mut self, of: usize, description: &mut Description) -> Result<(), Error> {
        let array = Array::Coefficient(of);
        let own = &self.reverse.system.coefficients[of];
        let name = self.names[&array].clone();
        let mut reads = false;
        let start = match &own.start {
            Start::Values(grid, _) => StartText::Values(Arc::clone(grid)),
            Start::OnDevice(given) => StartText::Values(given.grid()?),
            Start::Expression(node) => {
                node.visit(&mut |part| reads |= matches!(part, Node::Read(_) | Node::Stencil(..)));
                match reads {
                    true => StartText::Values(Arc::clone(&self.beginning[of])),
                    false => {
                        let no_array = |_: Array| String::new();
                        let writer = Writer {
                            array: &no_array,
                            stencils: &[],
                            tables: &self.tables,
                            totals: &[],
                            dims: self.reverse.system.shape.dims(),
                        };
                        let text = writer.text(node).map_err(|what| {
                            refused(format!("the coefficient '{}' is made of {what}", own.name))
                        })?;
                        StartText::Expression(Text::new("a value to start with", &text))
                    }
                }
            }
        };
        if let StartText::Values(grid) = &start {
            self.files.push((name.clone(), Arc::clone(grid)));
        }
        let boundary = Some(Text::new("a boundary", &self.boundary(array)?));
        let name = Text::new("a name", &name);
        description.coefficients.push(CoefficientText { name, start, boundary });
        Ok(())
    }

    /// The stencils that the equations of the adjoint name.
    fn stencils(&self, mut description: Description) -> Description {
        let texts: Vec<String> = description
            .fields
            .iter()
            .map(|field| field.change.text())
            .chain(description.works.iter().map(|work: &WorkText| &work.value))
            .chain(description.totals.iter().map(|total| &total.value))
            .map(|text| text.as_str().to_owned())
            .collect();
        for (name, stencil) in self.own_names.iter().zip(&self.reverse.stencils) {
            let calls = [format!("{name}("), format!("solve({name}, ")];
            if texts.iter().any(|text| calls.iter().any(|call| text.contains(call))) {
                description = description.stencil(name, stencil.clone());
            }
        }
        description
    }
}
