// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields and coefficients whose values lie on the GPU that computes: they are copied there, and looked at there.

use std::sync::Arc;

use crate::checked::System;
use crate::expression::Array;
use crate::parts::Start;
use crate::session::StepSession;
use crate::start::read_by_starts;
use crate::start_on_device::DeviceStart;
use problem::Error;

/// An array of a session, and its values.
pub type DeviceArrayStart = (Place, Arc<DeviceStart>);

/// Where a session has an array.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A level of a field: its number among those of all fields.
    Level(usize),
    /// A coefficient.
    Coefficient(usize),
}

/// The levels of fields that begin with values on a GPU, and the coefficients that have such values and are read by no start;
/// none where walls say something of them, too.
pub fn arrays(system: &System) -> Vec<DeviceArrayStart> {
    if system.solid.is_some() {
        return Vec::new();
    }
    let of = |(number, array): (usize, Array)| {
        let Array::Field { field, level } = array else { return None };
        let field = &system.fields[field];
        let before = level.checked_sub(1).and_then(|before| field.before.get(before));
        match before.unwrap_or(&field.start) {
            Start::OnDevice(given) => {
                given.on_device().is_some().then(|| (Place::Level(number), Arc::clone(given)))
            }
            Start::Values(..) | Start::Expression(_) => None,
        }
    };
    let read = read_by_starts(system);
    let coefficients = system.coefficients.iter().enumerate().filter_map(|(number, own)| {
        let Start::OnDevice(given) = &own.start else { return None };
        let stays = !read.contains(&number) && given.on_device().is_some();
        stays.then(|| (Place::Coefficient(number), Arc::clone(given)))
    });
    system.numbered().into_iter().enumerate().filter_map(of).chain(coefficients).collect()
}

/// Gives arrays of a session these values; false where one is not finite, lies on another GPU, or has left it. Then it has to begin anew.
pub fn take(session: &mut dyn StepSession, arrays: &[DeviceArrayStart]) -> Result<bool, Error> {
    for (place, given) in arrays {
        let Some(own) = given.on_device() else { return Ok(false) };
        let is_taken = match *place {
            Place::Level(number) => session.take_array(number, &own.array())?,
            Place::Coefficient(number) => session.take_coefficient(number, &own.array())?,
        };
        if !is_taken {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Frees the memory that they take there.
pub fn leave(arrays: &[DeviceArrayStart]) -> Result<(), Error> {
    arrays.iter().try_for_each(|(_, given)| given.leave_device())
}
