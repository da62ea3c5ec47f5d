// SPDX-License-Identifier: MIT OR Apache-2.0
//! Walls: what is read at solid points. Of a field with an image as its walls 0 is stored there, so that what a point reads at an
//! offset k is a sum of products, without a condition:
//!
//! ```text
//! u[k]    is    u[k] + factor solid[k] of[0],        Σ w u[k]    is    Σ w u[k] + (Σ w solid[k]) factor of[0]
//! ```
//!
//! The program of a stage has that (`program`); the oracle looks at what is solid instead (`evaluate`).

use std::collections::BTreeSet;

use super::checked::System;
use super::expression::{Array, Function, Node, Purpose, Scope};
use super::parts::{Coefficient, SOLID, StepWork, WallImage, Walls, index};
use super::sides::later;
use super::text::Text;
use problem::Boundary;
use problem::boundary::{Side, SideSource};
use problem::error::Mistake;
use problem::similar_names::near;

/// What walls there are, as they are written.
const KINDS: &str = "no-flux, odd, value=E, bounce=FIELD";

impl System {
    /// What an array has at solid points: none where there are none.
    ///
    /// # Errors
    /// There are no such walls, or no solid points.
    pub(super) fn walls(
        &self,
        text: Option<&Text>,
        own: Array,
        scope: &Scope,
    ) -> Result<Option<Walls>, Mistake> {
        let Some(solid) = self.solid else {
            return text.map_or(Ok(None), |text| {
                let wrong = text.wrong("there are no solid points");
                Err(wrong.hint("[grid] solid = \"x^2 + y^2 < 9\" says which points are solid"))
            });
        };
        let image = |of, factor| Walls::Image(WallImage { of, factor, mask: solid });
        let Some(text) = text else { return Ok(Some(image(own, 1.0))) };
        let words = text.as_str();
        let given = words.split_once('=').map(|(kind, value)| (kind.trim(), value.trim()));
        let part = |part: &str| {
            let start = text.range().start + (part.as_ptr() as usize - words.as_ptr() as usize);
            text.part(start..start + part.len())
        };
        Ok(Some(match (words.trim(), given) {
            ("no-flux", _) => image(own, 1.0),
            ("odd", _) => image(own, -1.0),
            (_, Some(("value", value))) => self.value_of_walls(&part(value), scope)?,
            (_, Some(("bounce", name))) => {
                let name = part(name);
                let of = match own {
                    Array::Work(_) => Array::Work(index("work field", &name, &scope.works)?),
                    _ => Array::Field { field: index("field", &name, &scope.fields)?, level: 0 },
                };
                image(of, 1.0)
            }
            (word, _) => {
                let wrong = text.wrong(format!("'{word}' is none of {KINDS}"));
                return Err(match meant(word) {
                    Some(meant) => wrong.hint(format!("did you mean {meant}?")),
                    None => wrong,
                });
            }
        }))
    }

    fn value_of_walls(&self, text: &Text, scope: &Scope) -> Result<Walls, Mistake> {
        let node = scope.number(text, Purpose::Next)?;
        Self::check_of_sides(&node, "a wall's value", text)?;
        if let Node::Number(value) = node
            && !self.dtype.round(value).is_finite()
        {
            return Err(text.wrong(format!("{} cannot hold this value", self.dtype)));
        }
        Ok(Walls::Value(node))
    }

    /// Lets solid points have what walls say, and finds out what lies beyond the grid for each wall.
    pub(super) fn make_solid(&mut self) {
        let Some(solid) = self.solid else { return };
        let around = self.read_around();
        let dt = self.step_length();
        let Self { fields, works, coefficients, .. } = self;
        let own = fields.iter_mut().enumerate().map(|(number, field)| {
            let array = Array::Field { field: number, level: 0 };
            (array, &field.name, field.boundary, &mut field.walls)
        });
        let own = own.chain(works.iter_mut().enumerate().map(|(number, work)| {
            (Array::Work(number), &work.name, work.boundary, &mut work.walls)
        }));
        let mut masks: Vec<(Boundary, usize)> = Vec::new();
        for (array, name, boundary, walls) in own {
            let Some(Walls::Image(image)) = walls else { continue };
            if !around.contains(&array) {
                continue;
            }
            let boundary = boundary.without_added();
            let known = masks.iter().find(|(known, _)| *known == boundary);
            image.mask = known.map_or(coefficients.len(), |(_, mask)| *mask);
            if known.is_some() {
                continue;
            }
            // Who reads the mask by its name finds 1 beyond sides that change signs, too.
            if masks.is_empty() && boundary == plain(boundary) {
                image.mask = solid;
                coefficients[solid].boundary = boundary;
            } else {
                let name = format!("{SOLID}({name})");
                let start = coefficients[solid].start.clone();
                coefficients.push(Coefficient { name, boundary, start });
            }
            masks.push((boundary, image.mask));
        }
        if masks.iter().all(|(_, mask)| *mask != solid) {
            coefficients[solid].boundary = plain(fields[0].boundary.without_added());
        }
        let is_solid = Node::Read(Array::Coefficient(solid));
        let is_solid = Node::call(Function::Less, vec![Node::Number(0.5), is_solid]);
        let equations = fields.iter_mut().map(|field| (&field.walls, 1.0, &mut field.next));
        let equations = equations.chain(works.iter_mut().map(|work| {
            let StepWork { walls, later, value, .. } = work;
            (&*walls, *later, value)
        }));
        for (walls, steps, next) in equations {
            let value = match walls {
                None => continue,
                Some(Walls::Value(value)) => later(value, steps, &dt),
                Some(Walls::Image(_)) => Node::Number(0.0),
            };
            let outside = std::mem::replace(next, Node::Number(0.0));
            *next = Node::call(Function::If, vec![is_solid.clone(), value, outside]);
        }
    }

    /// The fields and work fields that are read around a point, whichever level of them.
    fn read_around(&self) -> BTreeSet<Array> {
        let mut all = BTreeSet::new();
        let mut see = |part: &Node| {
            if let Node::Stencil(_, argument) = part {
                argument.visit(&mut |part| match part {
                    Node::Read(Array::Field { field, .. } | Array::New(field)) => {
                        all.insert(Array::Field { field: *field, level: 0 });
                    }
                    Node::Read(array) => {
                        all.insert(*array);
                    }
                    _ => (),
                });
            }
        };
        self.fields.iter().for_each(|field| field.next.visit(&mut see));
        self.works.iter().for_each(|work| work.value.visit(&mut see));
        self.totals.reductions.iter().for_each(|reduction| reduction.value.visit(&mut see));
        all
    }

    /// What is read instead of an array at solid points, if anything is.
    pub(super) fn wall_image(&self, array: Array) -> Option<WallImage> {
        let (field, work) = match array {
            Array::Field { field, .. } | Array::New(field) => (self.fields.get(field), None),
            Array::Work(work) => (None, self.works.get(work)),
            Array::Coefficient(_) => return None,
        };
        let walls = field.map(|it| &it.walls).or(work.map(|it| &it.walls))?;
        let Some(Walls::Image(image)) = walls else { return None };
        let of = match (image.of, array) {
            (Array::Field { field, .. }, Array::Field { level, .. }) => {
                Array::Field { field, level }
            }
            (Array::Field { field, .. }, Array::New(_)) => Array::New(field),
            (of, _) => of,
        };
        Some(WallImage { of, ..*image })
    }
}

/// Sides that are images, without what they multiply by.
fn plain(boundary: Boundary) -> Boundary {
    let side = |side: Side| match side.source() {
        SideSource::Mirror => Side::Reflect,
        SideSource::HalfMirror => Side::Symmetric,
        SideSource::OtherEnd => Side::Periodic,
        SideSource::Nowhere | SideSource::Nearest => side,
    };
    Boundary { sides: boundary.sides.map(|axis| axis.map(side)) }
}

/// What may have been meant by what are no walls.
fn meant(word: &str) -> Option<String> {
    let kind = word.split_once('=').map_or(word, |(kind, _)| kind).trim();
    let known = match kind {
        "symmetric" | "reflect" | "edge" | "outflow" | "neumann" | "mirror" => "no-flux",
        "flux" | "slope" if word.trim_end().ends_with("=0") => "no-flux",
        "no-slip" | "noslip" | "odd-reflect" => "odd",
        "zero" => "value=0",
        "constant" | "dirichlet" | "fixed" => "value=E",
        "bounce-back" | "bounceback" | "bounce" => "bounce=FIELD",
        "value" => "value=E",
        _ => {
            let kinds = [("no-flux", "no-flux"), ("odd", "odd")];
            let kinds = kinds.into_iter().chain([("value=E", "value"), ("bounce=FIELD", "bounce")]);
            return near(kind, kinds).into_iter().next();
        }
    };
    Some(known.to_owned())
}
