// SPDX-License-Identifier: MIT OR Apache-2.0
//! A perfectly matched layer with memories: derivatives across it are stretched, so that waves fade in it and none turns back
//! where it begins.
//!
//! In the layer at x the derivative D u becomes D u + m, with a field m, the memory of D u, for which
//! dm/dt = -(d + alpha) m - d D u. Over a time step that is, with b = exp(-(d + alpha) dt),
//! m' = b m - (1 - b) d / (d + alpha) D u, and m' is what equations of the step read (Roden, Gedney, "Convolution PML (CPML):
//! an efficient FDTD implementation of the CFS-PML for arbitrary media" (2000); Komatitsch, Martin, "An unsplit
//! convolutional perfectly matched layer improved at grazing incidence for the seismic wave equation" (2007), equations 23 to
//! 26, with kappa = 1). A method of several stages integrates dm/dt as the rates of the fields (Martin, Komatitsch, Gedney,
//! Bruthiaux, "A high-order time and space formulation of the unsplit perfectly matched layer for the seismic wave equation
//! using auxiliary differential equations (ADE-PML)" (2010)).
//!
//! A second derivative is stretched twice (Pasalic, McGarry, "Convolutional perfectly matched layer for isotropic and
//! anisotropic acoustic wave equations" (2010)): with the memory m of the central first difference D1 u, D2 u becomes
//! s + n, where s = D2 u + D1 m and n is the memory of s. Staggered differences of D1 would be unstable: two of them
//! amplify the shortest waves more than D2 does, so that D2 u + D1 m has the wrong sign there.
//!
//! All of it is a part of the equations: memories are fields, and nobody else knows of the layer.

use transform::Stencil;

use super::description::PmlText;
use super::expression::{Array, Function, Node, Scope, show};
use super::parts::{Coefficient, Field, Start, StepWork};
use super::text::Text;
use super::vanishing::Vanishing;
use derivative::AXES;
use memory::{MemoryVariable, losses};
use problem::error::Mistake;
use profile::Profile;
pub use profile::Steps;
use stretch::Layer;

mod derivative;
mod memory;
mod profile;
mod settings;
mod stretch;

/// What a memory may fade by in a time step, as part of it, if a method integrates it by stages: all of them are stable there.
const MOST_FADING: f64 = 2.0;

/// The equations of a system whose derivatives are stretched.
pub struct Equations<'a> {
    /// Its fields, to which memories are added.
    pub fields: &'a mut Vec<Field>,
    /// The rates of those fields that have one.
    pub rates: &'a mut Vec<Option<Node>>,
    /// Its work fields.
    pub works: &'a mut [StepWork],
    /// Its coefficients, to which the layer adds its own.
    pub coefficients: &'a mut Vec<Coefficient>,
    /// Its stencils, to which parts of them and first differences are added.
    pub stencils: &'a mut Vec<Stencil>,
    /// Of which arrays is known that they vanish outside of the layer.
    pub vanishing: &'a mut Vec<Vanishing>,
}

/// Stretches the derivatives in the equations that a layer is for. `texts` are those of the equations of fields and of work
/// fields, for errors; `averages` tells which stencils are values between points.
///
/// # Errors
/// A number, a side or a field of the layer is none; it does not fit into the grid; a stencil takes no derivatives along axes;
/// or there is no derivative to stretch.
pub fn absorb(
    equations: Equations,
    text: &PmlText,
    (scope, averages): (&Scope, &[bool]),
    texts: &[&Text],
    steps: Steps,
) -> Result<(), Mistake> {
    let Equations { fields, rates, works, coefficients, stencils, vanishing } = equations;
    let own = fields.len();
    let chosen = settings::chosen(text, scope)?;
    let profile = settings::profile(text, scope, fields, steps)?;
    let mut layer = Layer::new((profile, scope, averages), fields, works, stencils);
    for (number, text) in texts.iter().enumerate().filter(|(number, _)| chosen[*number]) {
        let value = match number.checked_sub(own) {
            Some(work) => &mut works[work].value,
            None => rates[number].as_mut().unwrap_or(&mut fields[number].next),
        };
        if matches!(value, Node::Solve(..)) {
            let wrong = text.wrong("this layer stretches derivatives; a solve is not one");
            return Err(wrong.hint("name the others: [pml] fields = [\"u\"]"));
        }
        *value = layer.stretched(value, text)?;
    }
    let (memories, profile) = layer.into_memories();
    check(&memories, &profile, text)?;
    let losses = losses(&memories, own, &profile, (coefficients, vanishing));
    for (number, (memory, lost)) in memories.into_iter().zip(losses).enumerate() {
        let name = name(&memory.of, number, (fields, works, stencils));
        let before = Node::Read(Array::Field { field: own + number, level: 0 });
        let (next, rate) = match steps.by_stages {
            true => (Node::Number(0.0), Some(Node::call(Function::Negate, vec![lost]))),
            false => (Node::call(Function::Subtract, vec![before, lost]), None),
        };
        rates.push(rate);
        let array = Array::Field { field: own + number, level: 0 };
        vanishing.push(profile.vanishing(array, (memory.axis, memory.place)));
        let (boundary, start, before) = (memory.boundary, Start::default(), Vec::new());
        let (levels, is_memory) = (1, true);
        let (keep, kept, walls) = (None, None, None);
        fields.push(Field {
            name,
            boundary,
            levels,
            start,
            before,
            next,
            keep,
            kept,
            is_memory,
            is_held: false,
            walls,
        });
    }
    Ok(())
}

/// Checks that there is something to remember, and that the method can.
fn check(memories: &[MemoryVariable], profile: &Profile, text: &PmlText) -> Result<(), Mistake> {
    if memories.is_empty() {
        let axes = AXES.into_iter().zip(profile.layered()).filter(|(_, layered)| *layered);
        let axes: Vec<&str> = axes.map(|(axis, _)| axis).collect();
        let what = format!(
            "this layer has nothing to absorb: no equation takes a derivative along {}",
            axes.join(", ")
        );
        let hint = "a derivative is a stencil, such as dx = { derivative = \"x\", order = 4 }";
        return Err(text.at.wrong(what).hint(hint));
    }
    let fading = memories.iter().map(|it| profile.fastest_fading(it.axis, it.place));
    let fading = fading.fold(0.0, f64::max) * profile.steps.dt;
    if profile.steps.by_stages && fading > MOST_FADING {
        let what = format!(
            "memories of this layer fade by {fading:.1} in a step: a method of several stages takes up to {MOST_FADING}"
        );
        let wrong = text.at.wrong(what);
        return Err(wrong.hint("take more points, a smaller dt, or leave out 'method'"));
    }
    Ok(())
}

/// The name of a memory.
fn name(
    of: &Node,
    number: usize,
    (fields, works, stencils): (&[Field], &[StepWork], &[Stencil]),
) -> String {
    let array = |array: Array| match array {
        Array::Field { field, .. } | Array::New(field) => {
            fields.get(field).map_or_else(String::new, |field| field.name.clone())
        }
        Array::Work(work) => works[work].name.clone(),
        Array::Coefficient(_) => "a coefficient".to_owned(),
    };
    let stencil = |stencil: usize| stencils[stencil].name().to_owned();
    format!("memory {number} of {}", show(of, &array, &stencil))
}

#[cfg(test)]
mod tests;
