// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields that begin with values which lie on the GPU that computes: they are copied there, and looked at there.

use std::sync::Arc;

use crate::checked::System;
use crate::expression::Array;
use crate::parts::Start;
use crate::session::StepSession;
use crate::start_on_device::DeviceStart;
use problem::Error;

/// The number of an array of a session, and what it begins with.
pub type DeviceArrayStart = (usize, Arc<DeviceStart>);

/// The levels of fields that begin with values on a GPU; none where walls say something of them, too.
pub fn levels(system: &System) -> Vec<DeviceArrayStart> {
    if system.solid.is_some() {
        return Vec::new();
    }
    let of = |(number, array): (usize, Array)| {
        let Array::Field { field, level } = array else { return None };
        let field = &system.fields[field];
        let before = level.checked_sub(1).and_then(|before| field.before.get(before));
        match before.unwrap_or(&field.start) {
            Start::OnDevice(given) => {
                given.on_device().is_some().then(|| (number, Arc::clone(given)))
            }
            Start::Values(..) | Start::Expression(_) => None,
        }
    };
    system.numbered().into_iter().enumerate().filter_map(of).collect()
}

/// Gives arrays of a session these values; false where one is not finite, lies on another GPU, or has left it. Then it has to begin anew.
pub fn take(session: &mut dyn StepSession, arrays: &[DeviceArrayStart]) -> Result<bool, Error> {
    for (number, given) in arrays {
        let Some(own) = given.on_device() else { return Ok(false) };
        if !session.take_array(*number, &own.array())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Frees the memory that they take there.
pub fn leave(arrays: &[DeviceArrayStart]) -> Result<(), Error> {
    arrays.iter().try_for_each(|(_, given)| given.leave_device())
}
